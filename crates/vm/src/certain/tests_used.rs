//! Variables that one word of an array uses, and the words of `set`.

use crate::formats::Kind;
use crate::{Choices, Document, fix, lint};

fn fixed(text: &str) -> String {
    let document = Document::of_kind("vm.sh", text.as_bytes(), Kind::Qemu).unwrap();
    fix(&document, &Choices::default()).unwrap().document.text.as_str().to_owned()
}

/// Returns the reasons why findings are not fixed.
fn left(text: &str) -> String {
    let document = Document::of_kind("vm.sh", text.as_bytes(), Kind::Qemu).unwrap();
    let findings = lint(&document).unwrap().findings.into_iter();
    findings.filter_map(|it| it.left).collect::<Vec<_>>().join("; ")
}

const RUN: &str = "qemu-system-x86_64 -enable-kvm -name win11";

#[test]
fn value_that_one_array_uses_once_is_edited() {
    for text in [
        format!("X=+ssse3,hv-relaxed\nA=(-M q35,hpet=off -cpu host,\"$X\")\n{RUN} \"${{A[@]}}\"\n"),
        format!(
            "X=hv-relaxed\nA=(-M q35,hpet=off)\nA+=(-cpu host,$X -S)\n{RUN} \"${{A[@]}}\" -m 1G\n"
        ),
        format!(
            "X=\"host,hv-relaxed\"\nA=(\n -cpu \"${{X}}\"\n -M q35,hpet=off\n)\n{RUN} \"${{A[@]}}\"\n"
        ),
    ] {
        assert_eq!(fixed(&text), text.replace("relaxed", "relaxed,hv-time"));
    }
}

#[test]
fn value_that_an_array_does_not_use_plainly_is_left_with_the_reason() {
    let array = "A=(-M q35,hpet=off -cpu \"$X\")";
    let x = "X=host,hv-relaxed";
    let run = format!("{RUN} \"${{A[@]}}\"");
    for (text, why) in [
        (format!("{x}\n{array}\n{run}\necho \"${{A[@]}}\""), "exactly once"),
        (format!("{x}\n{array}\n{run}\n{run} -S"), "exactly once"),
        (format!("{x}\n{array}\n{run}\n[ \"${{#A[@]}}\" = 4 ]"), "exactly once"),
        (format!("{x}\n{array}\n{RUN} ${{A[@]}}"), "used other than as"),
        (format!("{x}\n{array}\n{run}\necho $X"), "also used in another place"),
        (format!("{x}\n{array}\nB=(\"$X\")\n{run}"), "also used in another place"),
        (format!("{x}\nif [ $1 ]; then {array}; fi\n{run}"), "plain sequence"),
        (format!("{x}\nA=(-M q35,hpet=off -cpu)\nA+=(\"$X\")\n{run}"), "not the plain value"),
        (format!("{x}\nA=(-M q35,hpet=off -cpu \"${{X%,}}\")\n{run}"), ""),
        (format!("{x}\nO=\"-M q35,hpet=off -cpu $X\"\n{RUN} $O"), "a part of the value of O"),
        (format!("{array}\n{x}\n{run}"), ""),
        (format!("IFS=,\n{x}\nA=(-M q35,hpet=off -cpu $X)\n{run}"), ""),
        (format!("{x}\n{array}\n. ./more\n{run}"), ""),
    ] {
        assert_eq!(fixed(&text), text);
        assert!(left(&text).contains(why), "{:?} of\n{text}", left(&text));
    }
}

#[test]
fn words_after_the_options_of_set_are_parameters() {
    let run = format!("{RUN} -M q35,hpet=off -cpu host,hv-relaxed");
    for set in [
        "set -- -device vfio-pci,host=01:00.0 \"$@\"",
        "set -e -- -vga std",
        "set -e a -v",
        "set -eu\nset -- -v",
        "set -o pipefail -- -v",
        "set - -v",
    ] {
        let text = format!("#!/bin/bash\n{set}\n{run} \"$@\"\n");
        assert_eq!(fixed(&text), text.replace("relaxed", "relaxed,hv-time"), "{set}");
        let variable =
            format!("#!/bin/bash\n{set}\nC=host,hv-relaxed\n{RUN} -M q35,hpet=off -cpu $C\n");
        assert_eq!(fixed(&variable), variable.replace("relaxed", "relaxed,hv-time"), "{set}");
    }
    for set in
        ["set -v", "set -ev", "set -e -v --", "set -o verbose", "set -o pipefail -v", "set $A -v"]
    {
        let text = format!("#!/bin/bash\n{set}\n{run}\n");
        assert_eq!(fixed(&text), text, "{set}");
        assert!(left(&text).contains("prints the script"), "{set}");
    }
    // The words are those of another command.
    let text = format!("set -- -M q35,hpet=off -cpu host,hv-relaxed\n{RUN} \"$@\"\n");
    assert_eq!(fixed(&text), text);
    assert!(left(&text).contains("in another command"), "{}", left(&text));
}

#[test]
fn command_of_a_variable_is_left_with_the_reason() {
    let text = |program: &str| {
        format!(
            "#!/bin/sh\nQ={program}\n$Q -enable-kvm -M q35,hpet=off -cpu host,hv-relaxed -name win11\n"
        )
    };
    let known = text("/usr/bin/qemu-system-x86_64");
    assert_eq!(fixed(&known), known);
    assert!(left(&known).contains("is the value of Q"), "{}", left(&known));
}

use super::*;
use proptest::prelude::*;

fn tsc() -> Wanted {
    Wanted { clocksource: Some("tsc".to_owned()), ..Wanted::default() }
}

fn all() -> Wanted {
    let words = |text: &str| text.split(' ').map(str::to_owned).collect();
    Wanted { add: words("tsc=nowatchdog nohpet"), remove: words("clocksource=hpet notsc"), ..tsc() }
}

#[test]
fn every_text_has_reason_and_undo() {
    for format in Format::ALL {
        let text = render(format, &tsc()).unwrap();
        for part in ["Made by clocksmith", "Risk: ", "Undo: ", "tsc", "current_clocksource"] {
            assert!(text.contains(part), "{format}: no {part}\n{text}");
        }
        if format != Format::Tmpfiles {
            assert!(text.contains("available_clocksource"), "{format}");
        }
        assert!(text.ends_with('\n') && !text.ends_with("\n\n"), "{format}");
        for line in text.lines() {
            assert!(!line.ends_with(' ') && !line.contains('\t'), "{format}: {line:?}");
            let comment = line.trim_start().starts_with('#');
            assert!(!comment || line.trim_start().chars().count() <= 100, "{format}: {line}");
        }
        assert_eq!(format.name().parse(), Ok(format));
    }
    assert!("yaml".parse::<Format>().is_err());
}

#[test]
fn parameters_go_where_they_can() {
    for format in Format::ALL {
        match (format, render(format, &all())) {
            (Format::Ansible | Format::Ignition | Format::Butane, text) => {
                let text = text.unwrap();
                for word in ["tsc=nowatchdog", "nohpet", "clocksource=hpet", "notsc"] {
                    assert!(text.contains(word), "{format}: {word}");
                }
            }
            (_, text) => assert!(matches!(text, Err(FormatError::Unsupported { .. })), "{format}"),
        }
    }
    let add = Wanted { remove: Vec::new(), ..all() };
    assert!(render(Format::Nixos, &add).unwrap().contains("[ \"tsc=nowatchdog\" \"nohpet\" ]"));
    let tuned = render(Format::Tuned, &add).unwrap();
    assert!(tuned.contains("\ncmdline_clocksmith=+tsc=nowatchdog nohpet\n"), "{tuned}");
}

#[test]
fn ignition_is_what_it_shall_be() {
    let text = render(Format::Ignition, &all()).unwrap();
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["ignition"]["version"], "3.4.0");
    assert_eq!(value["kernelArguments"]["shouldNotExist"][0], "clocksource=hpet");
    assert_eq!(value["systemd"]["units"][0]["contents"], crate::unit::unit("tsc"));
}

/// The drop-in is shell: it is run here, with earlier settings that a machine may have.
#[test]
fn the_drop_in_of_grub_adds_and_removes() {
    let text = render(Format::Ansible, &all()).unwrap();
    let body = text.split("content: |\n").last().unwrap();
    let body: String = body
        .lines()
        .take_while(|line| line.starts_with("      "))
        .map(|l| format!("{l}\n"))
        .collect();
    let before =
        "GRUB_CMDLINE_LINUX='quiet clocksource=hpet'; GRUB_CMDLINE_LINUX_DEFAULT='notsc a=b'";
    let script =
        format!("{before}\n{body}\necho $GRUB_CMDLINE_LINUX / $GRUB_CMDLINE_LINUX_DEFAULT");
    let output = std::process::Command::new("/bin/sh").args(["-c", &script]).output().unwrap();
    let got = String::from_utf8(output.stdout).unwrap();
    assert_eq!(got.trim(), "quiet tsc=nowatchdog nohpet / a=b", "{body}");
}

#[test]
fn names_that_are_none_are_refused() {
    for name in ["", "tsc; reboot", "TSC", "$(x)", "a'b", "tsc\n", &"a".repeat(32)] {
        let wanted = Wanted { clocksource: Some(name.to_owned()), ..Wanted::default() };
        assert!(matches!(render(Format::Systemd, &wanted), Err(FormatError::Name(_))), "{name}");
    }
    for word in ["", "-x", "a b", "a\"b", "a=$b", "a%b", "a\nb", "{{ x }}"] {
        let wanted = Wanted { add: vec![word.to_owned()], ..Wanted::default() };
        let error = render(Format::Ansible, &wanted);
        assert!(matches!(error, Err(FormatError::Parameter(_))), "{word}");
    }
    assert_eq!(render(Format::Tuned, &Wanted::default()), Err(FormatError::Nothing));
}

proptest! {
    /// For any input, the output has as many lines as with harmless words in its place.
    #[test]
    fn nothing_is_injected(name in "(?s).{0,40}", word in "(?s).{0,40}") {
        for format in Format::ALL {
            let wanted = |name: &str, word: &str| Wanted {
                clocksource: Some(name.to_owned()),
                add: vec![word.to_owned()],
                remove: Vec::new(),
            };
            if let Ok(text) = render(format, &wanted(&name, &word)) {
                prop_assert!(is_name(&name) && is_parameter(&word));
                let plain = render(format, &wanted("tsc", "x")).unwrap();
                prop_assert_eq!(text.lines().count(), plain.lines().count());
            }
        }
    }
}

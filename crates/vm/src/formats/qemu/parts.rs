//! Parts of a command line in variables of a script whose command is in another file: `KVM_OPTS=",accel=kvm -enable-kvm"`,
//! `CPU_FEATURES+=",+invtsc"`.

use super::script::Script;
use crate::document::Document;
use crate::finding::Finding;
use crate::shell::name_length;

/// Returns what is known of such parts; `None` if the script has none.
pub(super) fn check(document: &Document, script: &Script) -> Option<Vec<Finding>> {
    let mut accelerated = false;
    let mut out = Vec::new();
    for (start, line) in document.text.lines() {
        // `enabled "$VM" && NAME+=...`.
        for part in line.split("&&") {
            let part = part.trim();
            let Some((name, value)) = assigned(part) else { continue };
            accelerated |= asks_for_accelerator(value);
            let at = start + crate::text::offset(line, value);
            let invtsc = value.split(',').any(|flag| flag.trim() == "+invtsc");
            // The -cpu is in another file: only that a condition decides on the flag is certain.
            if let Some(n) = value.find("+invtsc").filter(|_| invtsc && of_cpu(name)) {
                let span = at + n..at + n + "+invtsc".len();
                if script.sometimes(span.start, usize::MAX) {
                    out.push(Finding::new(rule!("q-invtsc-conditional-ok"), span));
                }
            }
        }
    }
    accelerated.then_some(out)
}

/// Returns the name and the value of an assignment, without quotes.
fn assigned(part: &str) -> Option<(&str, &str)> {
    let name = part.get(..name_length(part)).filter(|name| !name.is_empty())?;
    let rest = part.get(name.len()..)?;
    let value = rest.strip_prefix("+=").or_else(|| rest.strip_prefix('='))?;
    let quotes = ['"', '\''];
    Some((name, value.trim_end_matches(';').trim_matches(quotes)))
}

/// Returns whether a value has an option that only QEMU has, for what runs the guest.
fn asks_for_accelerator(value: &str) -> bool {
    let words: Vec<&str> = value.split_whitespace().collect();
    let accel = |text: &str| ["kvm", "tcg", "hvf"].iter().any(|it| text.starts_with(it));
    let pair = |option: &str, value: &dyn Fn(&str) -> bool| {
        words.iter().zip(words.iter().skip(1)).any(|(one, next)| *one == option && value(next))
    };
    words.contains(&"-enable-kvm")
        || pair("-accel", &accel)
        || pair("-global", &|next| next.starts_with("kvm-pit."))
        || words.iter().any(|word| word.split(",accel=").nth(1).is_some_and(accel))
}

/// Whether a variable is named after the flags of a processor.
fn of_cpu(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    name.contains("CPU") && ["FEATURE", "FLAG", "OPT", "ARG"].iter().any(|it| name.contains(it))
}

#[cfg(test)]
mod tests {
    use crate::formats::Kind;
    use crate::testing;

    const PARTS: &str = "#!/usr/bin/env bash\nset -eu\nKVM_OPTS=\",accel=kvm -enable-kvm -global kvm-pit.lost_tick_policy=discard\"\n\
        CPU_FEATURES=\"kvm=on\"\nif hasFlag \"tsc_scale\"; then\n  CPU_FEATURES+=\",+invtsc\"\nfi\n";

    #[test]
    fn parts_of_a_command_line_in_variables() {
        let found = testing::ids(Kind::Qemu, "proc.sh", PARTS);
        let found: Vec<_> = found.iter().map(|it| it.0).collect();
        assert_eq!(found, ["q-invtsc-conditional-ok"]);
        let emulated = "#!/bin/bash\nKVM_OPTS=\" -accel tcg,thread=multi\"\n";
        assert_eq!(testing::ids(Kind::Qemu, "proc.sh", emulated), []);
        for other in ["#!/bin/bash\nX=\"accel\"\n", "#!/bin/bash\nOPTS=\"--enable-kvm-x\"\n"] {
            testing::broken(Kind::Qemu, other);
        }
    }
}

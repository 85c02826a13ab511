//! Names and descriptions in words, which name a program as a command does: `description: The qemu-system-x86_64 -cpu
//! value`.

use std::ops::Range;

/// Keys whose values are for readers.
const KEYS: [&str; 6] = ["description", "help", "summary", "title", "name", "desc"];
/// Programs that such a value may name.
const PROGRAMS: [&str; 4] = ["qemu-", "virt-install", "virt-xml", "VBoxManage"];
/// The limit of values that are read.
const MOST: usize = 1024;

/// Returns the values of these keys that name a program, in YAML, JSON, TOML, Nix and the arguments of functions.
pub(super) fn described(text: &str) -> Vec<Range<usize>> {
    if !PROGRAMS.iter().any(|program| text.contains(program)) {
        return Vec::new();
    }
    let mut found = Vec::new();
    for key in KEYS {
        for (at, _) in text.match_indices(key) {
            found.extend(value(text, key, at).filter(|span| {
                let value = text.get(span.clone()).unwrap_or_default();
                PROGRAMS.iter().any(|program| value.contains(program))
            }));
            if found.len() >= MOST {
                return found;
            }
        }
    }
    found
}

/// Returns the place of the value of a key at an offset.
fn value(text: &str, key: &str, at: usize) -> Option<Range<usize>> {
    let front = text.get(..at)?;
    let line = front.rsplit('\n').next().unwrap_or_default();
    let begins = line.trim_start_matches(['-', ' ', '\t', '"', '\'']).is_empty();
    if !begins && !front.ends_with([' ', '(', ',', '{', '"', '\'', '.']) {
        return None;
    }
    let after = text.get(at + key.len()..)?;
    let rest = after.trim_start_matches(['"', '\'']).trim_start_matches([' ', '\t']);
    let sign = rest.chars().next().filter(|c| matches!(c, ':' | '='))?;
    // A variable may have this name.
    if sign == '=' && matches!(key, "name" | "title") {
        return None;
    }
    let value = rest.get(1..)?.trim_start_matches([' ', '\t']);
    let start = text.len() - value.len();
    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''));
    if let Some(quote) = quote {
        let inside = value.get(1..)?;
        let end = inside.find([quote, '\n'])?;
        return Some(start + 1..start + 1 + end);
    }
    if sign != ':' || !begins {
        return None;
    }
    let first = value.find('\n').unwrap_or(value.len());
    if !value.starts_with(['>', '|']) {
        return Some(start..start + first);
    }
    // A text of several lines, each indented more than its key.
    let indent = line.len() - line.trim_start().len();
    let mut end = first;
    for below in value.get(first + 1..).unwrap_or_default().split('\n') {
        if !below.trim().is_empty() && below.len() - below.trim_start().len() <= indent {
            break;
        }
        end += 1 + below.len();
    }
    let end = end.min(value.len());
    Some(start..start + end)
}

#[cfg(test)]
mod tests {
    use super::described;

    #[test]
    fn values_for_readers_are_found_and_commands_are_not() {
        let of = |text: &str| -> Vec<String> {
            described(text).into_iter().map(|span| text[span].to_owned()).collect()
        };
        for (text, value) in [
            (
                "a:\n  description: The qemu-system-x86_64 -cpu value\n  b: 1\n",
                "The qemu-system-x86_64 -cpu value",
            ),
            (
                "- name: start qemu-system-x86_64 -m 1G\n  command: x\n",
                "start qemu-system-x86_64 -m 1G",
            ),
            ("{\"description\": \"runs qemu-kvm -m 1\", \"a\": 1}", "runs qemu-kvm -m 1"),
            ("p.add_argument(\"--cpu\", help=\"for qemu-kvm -cpu X\")", "for qemu-kvm -cpu X"),
            ("description = \"Boot qemu-kvm -m 1G\"\n", "Boot qemu-kvm -m 1G"),
            (
                "description: >\n  runs qemu-kvm -m 1\n  and more\nrun: x\n",
                ">\n  runs qemu-kvm -m 1\n  and more",
            ),
        ] {
            assert_eq!(of(text), [value], "{text}");
        }
        for text in [
            "run: qemu-system-x86_64 -m 1G\n",
            "name = \"qemu-system-x86_64 -m 1G\"\n",
            "qemu-system-x86_64 -name description -m 1\n",
            "filename: qemu-system-x86_64 -m 1G\n",
        ] {
            assert!(of(text).is_empty(), "{text}");
        }
    }
}

//! Command lines that a script only prints: a hint for its user starts no machine.

use crate::words::{base, listed};

/// Commands that print or compare their arguments, or search for them.
const TALKS: &str = "echo printf log info warn warning error err die fail fatal abort msg usage grep egrep fgrep rg pgrep pkill \
    killall which sed awk logger notify-send write-host write-output write-error write-warning write-verbose \
    write-information write-debug";
/// Functions of other languages that print their arguments or raise them as an error.
const CALLS: &str = "print println eprintln eprint printf fprintf puts pprint log info warn warning error debug fatal fatalf \
    errorf warnf infof logf exit die secho echo exception runtimeerror systemexit panic bail";

/// Returns whether a command only prints, compares or searches for its arguments.
pub(super) fn talks<'a>(mut words: impl Iterator<Item = &'a str>) -> bool {
    let before = "if elif while until ! sudo then else do { exec command";
    let first = words.find(|word| !listed(before, word)).unwrap_or_default();
    let name = base(first.trim_start_matches(['@', '-']));
    // Names of PowerShell's commands have no case.
    listed(TALKS, name) || name.contains('-') && listed(TALKS, &name.to_ascii_lowercase())
}

/// Returns whether the string at an offset is the first argument of a function that prints it.
pub(super) fn in_call(text: &str, at: usize) -> bool {
    let front = text.get(..at).unwrap_or_default();
    // `f"..."` of Python, `format!("...")` and others are not looked through.
    let front = front.trim_end_matches(['"', '\'', '`']);
    let front =
        front.strip_suffix(['f', 'r', 'b', '$']).filter(|it| it.ends_with('(')).unwrap_or(front);
    let Some(call) = front.trim_end().strip_suffix('(') else { return false };
    let in_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '!');
    let name = call.rsplit(|c: char| !in_name(c)).next().unwrap_or_default();
    listed(CALLS, &name.trim_end_matches('!').to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::in_call;

    #[test]
    fn string_that_a_function_prints() {
        let of = |text: &str| in_call(text, text.find("qemu").unwrap());
        for text in [
            "print(\"qemu-system-x86_64 -m 1\")",
            "print(f'qemu-system-x86_64')",
            "  console.log(`qemu`)",
            "eprintln!(\n    \"qemu\")",
            "raise RuntimeError(\"qemu\")",
            "log.Fatalf(\"qemu\")",
        ] {
            assert!(of(text), "{text}");
        }
        for text in
            ["os.system(\"qemu\")", "x = \"qemu\"", "f.write('qemu')", "printed(\"qemu\")", "qemu"]
        {
            assert!(!of(text), "{text}");
        }
    }
}

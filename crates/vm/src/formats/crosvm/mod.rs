//! crosvm: command lines, and configurations in JSON.
//!
//! Only the kernel's command line affects a guest's clock. Source: crosvm, src/crosvm/cmdline.rs (RunCommand:
//! `--params`, `--cfg`).

#[cfg(test)]
mod tests;

use crate::detect::{Clues, Sign};
use crate::document::Document;
use crate::formats::Format;
use crate::guest::Guest;
use crate::guest::Known;
use crate::json;
use crate::limits::Limits;
use crate::lint::{LintError, Report};
use crate::parameters;
use crate::words::{base, listed};

/// The registry entry of this kind.
pub(super) const FORMAT: Format = Format {
    name: "crosvm",
    files: "crosvm",
    sample: ("vm.sh", "crosvm run --cpus 2 --params \"notsc\" vmlinux\n"),
    rules: rules!("crosvm"),
    detect,
    lint,
    limits: Limits { script: true, ..Limits::PLAIN },
    qemu: None,
};

/// Options that only `crosvm run` has.
const OPTIONS: &str = "--cpus --mem --params --rwdisk --rwroot --block --initrd --serial";

/// Their short forms, which other programs also have.
const SHORT: &str = "-c -m -p --root";

fn detect(clues: &Clues<'_>) -> Option<Sign> {
    let keys = ["params", "block", "serial", "kernel", "initrd", "net"];
    let json = clues.quotes("mem")
        && clues.quotes("cpus")
        && keys.iter().filter(|key| clues.quotes(key)).count() >= 2;
    if json && !clues.quotes("boot_vcpus") {
        return Some(Sign::Json);
    }
    let qemu = clues.text.contains("qemu-system-");
    let joined = || clues.lines.join("\n").replace("\\\n", " ").lines().any(command);
    let named = clues.text.contains("crosvm") || clues.text.contains("CROSVM");
    (named && !qemu && (clues.has(command) || joined())).then_some(Sign::Words)
}

/// The characters around a word, in a shell and in a list of another language.
const AROUND: [char; 8] = ['"', '\'', '@', '-', ',', '[', '(', ')'];

/// Whether a word is the program, or a variable that is named after it: `$CROSVM`, `${CROSVM_BIN:-crosvm}`.
fn is_program(word: &str) -> bool {
    let word = word.trim_matches(AROUND);
    let Some(name) = word.strip_prefix('$') else { return base(word) == "crosvm" };
    let name = name.trim_start_matches(['{', '(']).trim_end_matches(['}', ')']);
    let (name, default) = name.split_once(":-").unwrap_or((name, ""));
    base(default) == "crosvm"
        || name.rsplit('/').next().unwrap_or(name).to_ascii_lowercase().contains("crosvm")
}

/// Whether a line starts a machine.
fn command(line: &str) -> bool {
    let mut words = line.split_whitespace().peekable();
    let has = |list: &str| line.split_whitespace().any(|word| listed(list, option(word)));
    // A line is searched once, whatever it repeats.
    let (long, short) = (has(OPTIONS), has(SHORT));
    while let Some(word) = words.next() {
        if !is_program(word) {
            continue;
        }
        // `cargo run -p crosvm -- run`
        if line.contains("cargo run") {
            words.next_if_eq(&"--");
        }
        let word = word.trim_matches(AROUND);
        let variable = word.starts_with('$') && !word.ends_with("/crosvm");
        let mut before = 0;
        // Options of the program itself; some have a value.
        while words.next_if(|next| next.starts_with('-') && *next != "--").is_some() {
            words.next_if(|next| !next.starts_with('-') && *next != "run");
            before += 1;
        }
        let verb = words.peek().copied().unwrap_or_default().trim_matches(AROUND);
        // The command may be in a variable; then its options show it, as where only the name of a variable is known.
        let named = !variable && before == 0;
        if verb == "run" && (named || long || short) || verb.starts_with('$') && long {
            return true;
        }
    }
    false
}

/// The name of an option: `--cpus` of `--cpus=4`.
fn option(word: &str) -> &str {
    let word = word.trim_matches(['"', '\'', ',', '[', ']']);
    word.split('=').next().unwrap_or(word)
}

fn lint(document: &Document) -> Result<Report, LintError> {
    let text = document.text.as_str();
    let mut findings = Vec::new();
    if json::begins(text) && !text.trim_start_matches('\u{feff}').trim_start().starts_with('[') {
        let json = json::read(document)?;
        for leaf in &json.leaves {
            if leaf.path().contains(&"params")
                && let Some((text, base)) = json.plain(leaf)
            {
                findings.extend(parameters::lint(text, base, false));
            }
        }
    } else {
        for (base, line) in crate::words::statements(text) {
            if !line.trim_start().starts_with('#') {
                findings.extend(parameters::judge(&parameters::of_statement(line, base), false));
            }
        }
    }
    let guest = document.guest.unwrap_or(Guest::Linux);
    Ok(Report::of(Known::declared(guest), true, findings))
}

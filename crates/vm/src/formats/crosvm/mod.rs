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
use crate::words::base;

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

fn detect(clues: &Clues<'_>) -> Option<Sign> {
    let keys = ["params", "block", "serial", "kernel", "initrd", "net"];
    let json = clues.quotes("mem")
        && clues.quotes("cpus")
        && keys.iter().filter(|key| clues.quotes(key)).count() >= 2;
    if json && !clues.quotes("boot_vcpus") {
        return Some(Sign::Json);
    }
    let command = |line: &str| {
        let mut words = line.split_whitespace().peekable();
        while let Some(word) = words.next() {
            let program =
                word.trim_start_matches(['"', '\'', '@', '-']).trim_end_matches(['"', '\'']);
            if base(program) != "crosvm" {
                continue;
            }
            // `cargo run -p crosvm -- run`
            if line.contains("cargo run") {
                words.next_if_eq(&"--");
            }
            // The command may be in a variable; then its options show it.
            let verb = words.peek().copied().unwrap_or_default().trim_start_matches('"');
            let runs = || line.split_whitespace().any(|word| crate::words::listed(OPTIONS, word));
            if verb == "run" || verb.starts_with('$') && runs() {
                return true;
            }
        }
        false
    };
    let qemu = clues.text.contains("qemu-system-");
    let joined = || clues.lines.join("\n").replace("\\\n", " ").lines().any(command);
    let named = clues.text.contains("crosvm");
    (named && !qemu && (clues.has(command) || joined())).then_some(Sign::Words)
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

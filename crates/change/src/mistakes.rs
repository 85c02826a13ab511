//! Errors in the present boot configuration: words that never reach the kernel, settings that are
//! not in force yet, words that the kernel ignores.
//!
//! Pure. Errors in a command line itself are decided in the kernel model
//! ([`clocksmith_kernel::mistakes()`]).

use crate::boot::grub;
use crate::boot::shell::Shell;
use crate::system::System;
use crate::words;
use clocksmith_facts::cmdline::CommandLine;
use clocksmith_facts::shell::quote;
use clocksmith_kernel::MistakeKind;
use serde::Serialize;
use std::collections::BTreeMap;

/// One mistake.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Mistake {
    /// Stable id.
    pub id: MistakeId,
    /// Where: a file and a line counted from 1, or the kernel command line.
    pub at: String,
    /// The error.
    pub what: String,
    /// The correction.
    pub advice: String,
}

/// The id of a mistake. Ids are added, never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum MistakeId {
    /// A kernel parameter is on its own in a file of shell variables.
    BareWord,
    /// A variable is set twice in one file; the first value is lost.
    SetTwice,
    /// A later file sets the variable again, and words of the earlier one are lost.
    Overridden,
    /// `NAME+=`, which the shell that reads the file does not know.
    NotPosix,
    /// In the settings, not in grub.cfg.
    NotRegenerated,
    /// In grub.cfg, not in the running kernel's command line.
    NotRebooted,
    /// The kernel ignores the word.
    Ignored,
    /// Two words contradict each other.
    Contradictory,
    /// A word that disables a safety check.
    Dangerous,
}

/// Parameters about clocks that have a value.
const VALUED: [&str; 10] = [
    "clocksource",
    "clock",
    "tsc",
    "hpet",
    "tsc_early_khz",
    "highres",
    "nohz",
    "processor.max_cstate",
    "intel_idle.max_cstate",
    "clearcpuid",
];
/// Those that have none.
const BARE: [&str; 4] = ["notsc", "nohpet", "no-kvmclock", "no-kvmclock-vsyscall"];

fn is_about_clocks(word: &str) -> bool {
    match word.split_once('=') {
        Some((name, _)) => VALUED.contains(&name),
        None => BARE.contains(&word),
    }
}

/// The words about clocks in a file of boot configuration, in any format, without its comments.
#[must_use]
pub fn clock_words(text: &str) -> Vec<String> {
    let lines = text.lines().filter(|line| !line.trim_start().starts_with('#'));
    let parts = lines.flat_map(|line| line.split(|c: char| c.is_whitespace() || "\"'".contains(c)));
    let mut words: Vec<String> =
        parts.filter(|word| is_about_clocks(word)).map(str::to_owned).collect();
    words.sort();
    words.dedup();
    words
}

/// Finds the mistakes of a system.
#[must_use]
pub fn find(system: &System) -> Vec<Mistake> {
    let mut found = Vec::new();
    if grub::is_there(system) {
        settings(system, &mut found);
        generated(system, &mut found);
    }
    if let Some(line) = system.cmdline() {
        of_line(line, "/proc/cmdline", &mut found);
    }
    for name in [grub::VARIABLE, grub::ALL] {
        let value = grub::value(system, name);
        if grub::is_there(system) && system.cmdline().is_none_or(|line| !same_clocks(line, &value))
        {
            of_line(&value, name, &mut found);
        }
    }
    for path in ["/etc/kernel/cmdline"] {
        if let Some(text) = system.text(path) {
            of_line(text, path, &mut found);
        }
    }
    found.dedup();
    found
}

/// Whether every word about clocks of `value` is in the line, so that it has been judged there.
fn same_clocks(line: &str, value: &str) -> bool {
    words::words(value).filter(|word| is_about_clocks(word)).all(|word| words::has(line, word))
}

fn settings(system: &System, found: &mut Vec<Mistake>) {
    // Variable: file of its last value, and the value's words about clocks.
    let mut known: BTreeMap<String, (String, Vec<String>)> = BTreeMap::new();
    for (path, text) in grub::settings(system) {
        let path = path.display().to_string();
        let shell = Shell::parse(text);
        for assignment in &shell.assignments {
            let at = format!("{path}:{}", assignment.line);
            let word = format!("{}={}", assignment.name, assignment.raw);
            if is_about_clocks(&word) {
                bare(&at, &word, found);
                continue;
            }
            if assignment.name != grub::VARIABLE && assignment.name != grub::ALL {
                continue;
            }
            if assignment.append {
                found.push(Mistake {
                    id: MistakeId::NotPosix,
                    at: at.clone(),
                    what: format!(
                        "{}+= is not known to sh, which reads this file",
                        assignment.name
                    ),
                    advice: format!("write {0}=\"${0} ...\"", assignment.name),
                });
            }
            let clocks: Vec<String> = words::words(&assignment.raw)
                .filter(|word| is_about_clocks(word))
                .map(str::to_owned)
                .collect();
            let own = [format!("${}", assignment.name), format!("${{{}}}", assignment.name)];
            let keeps = assignment.append || own.iter().any(|own| assignment.raw.contains(own));
            let before = known.get(&assignment.name).cloned();
            if let Some((place, lost)) = before.filter(|_| !keeps) {
                let lost: Vec<String> =
                    lost.into_iter().filter(|word| !clocks.contains(word)).collect();
                let same = place.starts_with(&format!("{path}:"));
                if !lost.is_empty() {
                    found.push(Mistake {
                        id: if same { MistakeId::SetTwice } else { MistakeId::Overridden },
                        at: at.clone(),
                        what: format!(
                            "sets {} again: {} of {place} has no effect",
                            assignment.name,
                            lost.join(" ")
                        ),
                        advice: format!(
                            "write {0}=\"${0} ...\" here, or remove one of the two",
                            assignment.name
                        ),
                    });
                }
                known.insert(assignment.name.clone(), (at, clocks));
            } else {
                let entry = known.entry(assignment.name.clone()).or_default();
                entry.0 = at;
                entry.1.extend(clocks);
            }
        }
        for (line, text) in &shell.others {
            for word in text.split_whitespace().filter(|word| is_about_clocks(word)) {
                bare(&format!("{path}:{line}"), word, found);
            }
        }
    }
}

fn bare(at: &str, word: &str, found: &mut Vec<Mistake>) {
    found.push(Mistake {
        id: MistakeId::BareWord,
        at: at.to_owned(),
        what: format!(
            "{word} is not part of a setting: it sets a variable of the shell, and never reaches the kernel"
        ),
        advice: format!(
            "remove the line, then: clocksmith fix --param {}",
            word.trim_matches(['"', '\''])
        ),
    });
}

/// Settings, grub.cfg and the running kernel, which should agree.
fn generated(system: &System, found: &mut Vec<Mistake>) {
    let Some(config) = grub::config(system) else { return };
    let Some(text) = system.text(config) else { return };
    let command = if system.has("update-grub") {
        "update-grub".to_owned()
    } else {
        format!("grub2-mkconfig -o {config}")
    };
    let mut wanted = grub::value(system, grub::ALL);
    wanted.push(' ');
    wanted.push_str(&grub::value(system, grub::VARIABLE));
    let linux: Vec<&str> =
        text.lines().map(str::trim_start).filter(|line| line.starts_with("linux")).collect();
    // Entries may be in separate files (BLS): then grub.cfg has no such line.
    if linux.is_empty() {
        return;
    }
    for word in words::words(&wanted).filter(|word| is_about_clocks(word)) {
        let in_config = linux.iter().any(|line| words::has(line, word));
        if !in_config {
            found.push(Mistake {
                id: MistakeId::NotRegenerated,
                at: config.to_owned(),
                what: format!("{word} is in GRUB's settings and not in {config}"),
                advice: format!("{command}, and reboot"),
            });
        } else if system.cmdline().is_some_and(|line| !words::has(line, word)) {
            found.push(Mistake {
                id: MistakeId::NotRebooted,
                at: config.to_owned(),
                what: format!("{word} is in {config} and not in the running kernel's command line"),
                advice: "reboot; if it is still so afterwards, another boot loader or entry starts this \
                         machine"
                    .to_owned(),
            });
        }
    }
}

fn of_line(text: &str, at: &str, found: &mut Vec<Mistake>) {
    let line = CommandLine::parse(text);
    for mistake in clocksmith_kernel::mistakes(&line) {
        let id = match mistake.kind {
            MistakeKind::UnknownClocksource
            | MistakeKind::UnknownValue
            | MistakeKind::NoSuchParameter => MistakeId::Ignored,
            MistakeKind::Superseded | MistakeKind::Contradicted => MistakeId::Contradictory,
            MistakeKind::Trusted => MistakeId::Dangerous,
            // The diagnosis reports it, with its cost on this machine.
            MistakeKind::Slow => continue,
        };
        let word = line.words().get(mistake.word).map(|word| word.text()).unwrap_or_default();
        // People paste the command: a value may be an expansion.
        let pasted = quote(&word);
        let advice = match mistake.instead.as_deref() {
            Some("") => format!("remove it: clocksmith fix --remove-param {pasted}"),
            Some(instead) => {
                format!("clocksmith fix --remove-param {pasted} --param {}", quote(instead))
            }
            None => format!("clocksmith explain {pasted}"),
        };
        found.push(Mistake {
            id,
            at: at.to_owned(),
            what: format!("{word} {}", mistake.why),
            advice,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_for_a_word_that_a_shell_would_expand_is_quoted() {
        for value in ["$(touch${IFS}x)", "a;b", "`x`", "it's"] {
            let mut found = Vec::new();
            of_line(&format!("quiet clocksource={value}"), "here", &mut found);
            let advice = &found[0].advice;
            assert!(advice.ends_with(&quote(&format!("clocksource={value}"))), "{advice}");
            assert_ne!(*advice, format!("clocksmith explain clocksource={value}"));
        }
    }

    fn debian() -> System {
        let mut system = System::default();
        system.os.id = "debian".to_owned();
        system.programs.insert("update-grub".to_owned());
        system.with(
            "/etc/default/grub",
            "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet\"\nGRUB_CMDLINE_LINUX=\"\"\n",
        )
    }

    fn ids(system: &System) -> Vec<MistakeId> {
        find(system).iter().map(|mistake| mistake.id).collect()
    }

    #[test]
    fn what_is_right_is_silent() {
        let system = debian()
            .with("/boot/grub/grub.cfg", "\tlinux /vmlinuz root=UUID=1 ro quiet clocksource=tsc\n")
            .with(
                "/etc/default/grub.d/a.cfg",
                "GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX clocksource=tsc\"\n",
            )
            .with("/proc/cmdline", "BOOT_IMAGE=/vmlinuz root=UUID=1 ro quiet clocksource=tsc\n");
        assert_eq!(find(&system), []);
        assert_eq!(find(&System::default()), []);
    }

    #[test]
    fn words_that_stand_alone() {
        let system = debian().with(
            "/etc/default/grub",
            "GRUB_CMDLINE_LINUX=\"\"\nclocksource=tsc tsc=reliable\nnotsc\n",
        );
        let found = find(&system);
        assert_eq!(ids(&system), [MistakeId::BareWord; 3]);
        assert_eq!(found[0].at, "/etc/default/grub:2");
        assert!(found[0].what.contains("never reaches the kernel"));
        assert_eq!(found[2].at, "/etc/default/grub:3");
    }

    #[test]
    fn values_that_are_lost() {
        let system = debian().with(
            "/etc/default/grub",
            "GRUB_CMDLINE_LINUX=\"clocksource=tsc\"\nGRUB_CMDLINE_LINUX=\"\"\n",
        );
        assert_eq!(ids(&system), [MistakeId::SetTwice]);
        let system = debian()
            .with("/etc/default/grub", "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet clocksource=tsc\"\n")
            .with(
                "/etc/default/grub.d/50-cloudimg-settings.cfg",
                "GRUB_CMDLINE_LINUX_DEFAULT=\"console=ttyS0\"\n",
            );
        assert_eq!(ids(&system), [MistakeId::Overridden]);
        let system = debian().with("/etc/default/grub", "GRUB_CMDLINE_LINUX+=\" quiet\"\n");
        assert_eq!(ids(&system), [MistakeId::NotPosix]);
    }

    #[test]
    fn settings_not_in_force_are_reported() {
        let set = debian().with("/etc/default/grub", "GRUB_CMDLINE_LINUX=\"clocksource=tsc\"\n");
        let line = "BOOT_IMAGE=/vmlinuz ro quiet\n";
        let edited = set
            .clone()
            .with("/boot/grub/grub.cfg", "\tlinux /vmlinuz ro\n")
            .with("/proc/cmdline", line);
        assert_eq!(ids(&edited), [MistakeId::NotRegenerated]);
        let made = set
            .with("/boot/grub/grub.cfg", "\tlinux /vmlinuz ro clocksource=tsc\n")
            .with("/proc/cmdline", line);
        assert_eq!(ids(&made), [MistakeId::NotRebooted]);
    }

    #[test]
    fn words_that_do_nothing_or_harm() {
        let of = |line: &str| ids(&System::default().with("/proc/cmdline", line));
        assert_eq!(of("ro clocksource=tcs"), [MistakeId::Ignored]);
        assert_eq!(of("ro tsc=reliable,nowatchdog"), [MistakeId::Ignored]);
        assert_eq!(of("notsc clocksource=tsc"), [MistakeId::Contradictory]);
        assert_eq!(of("clocksource=hpet clocksource=tsc"), [MistakeId::Contradictory]);
        assert_eq!(of("tsc=reliable"), [MistakeId::Dangerous]);
    }
}

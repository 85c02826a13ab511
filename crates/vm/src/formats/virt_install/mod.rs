//! Command lines of `virt-install` and `virt-xml`: they become a domain, which is judged.
//!
//! Source: virt-install(1), 4.1; virtinst/domain/clock.py (the timers that it adds by itself), virtinst/domain/cpu.py.

mod asks;
mod hypervisor;
mod passed;
mod paths;
mod strings;
mod system;

#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_machines;

use crate::detect::{Clues, Sign};
use crate::document::Document;
use crate::finding::Severity;
use crate::formats::Format;
use crate::formats::libvirt::made::Made;
use crate::formats::libvirt::own;
use crate::formats::qemu::branches::conditions;
use crate::formats::qemu::manifest::joined;
use crate::formats::qemu::reach::Reach;
use crate::formats::qemu::script::{begin, expanded};
use crate::guest::Guest;
use crate::inner::nothing;
use crate::limits::Limits;
use crate::lint::{LintError, Report};
use crate::placed::UNKNOWN;
use crate::shell::{Piece, Programs, Statement, Word, name_length, statements};
use crate::words::{base, listed, only_named};
use std::ops::Range;
use system::System;

/// The registry entry of this kind.
pub(super) const FORMAT: Format = Format {
    name: "virt-install",
    files: "virt-install and virt-xml command lines",
    sample: ("vm.sh", "virt-install --name a --clock hpet_present=yes --import\n"),
    rules: rules!("virt_install"),
    detect,
    lint,
    limits: Limits { script: true, ..Limits::PLAIN },
    qemu: None,
};

fn detect(clues: &Clues<'_>) -> Option<Sign> {
    // The value of a variable begins with a quote.
    let quoted = |word: &str| {
        let (name, program) = word.split_once('=').unwrap_or_default();
        name_length(name) == name.len() && is_program(program.trim_start_matches(['"', '\'']))
    };
    let command = |line: &str| {
        let mut words = line.split_whitespace();
        words.any(|word| is_program(word) || quoted(word))
    };
    let domain = clues.element("<domain") && own::any(clues.text);
    let may = !domain && clues.has(command) && clues.text.contains("--");
    let started = || {
        let all = statements(clues.text);
        all.iter().any(|it| !only_package(it)) || !strings::commands(clues.text, &all).is_empty()
    };
    (may && started()).then_some(Sign::Words)
}

/// Returns whether a statement does not start the program: a package has the same name.
fn only_package(statement: &Statement) -> bool {
    let words = statement.words.iter().chain(statement.array.iter().flatten());
    let names: Vec<&str> = words.map(|word| word.literal().unwrap_or_default()).collect();
    match names.iter().position(|name| is_program(name)) {
        Some(first) => only_named(names.iter().take(first).copied()),
        // Lists and strings of other languages are not read.
        None => !statement.words.iter().any(|word| {
            word.literal()
                .is_some_and(|text| text.contains("virt-install") || text.contains("virt-xml"))
        }),
    }
}

fn is_program(word: &str) -> bool {
    matches!(base(word), "virt-install" | "virt-xml")
}

/// Returns the number of the word that is the program. Containers and their images have the same name.
fn program(words: &[Placed]) -> Option<usize> {
    const CONTAINERS: &str = "docker podman nerdctl";
    let container = words.iter().take(2).any(|(word, _)| listed(CONTAINERS, base(word)));
    let value = |at: usize| {
        let before = at.checked_sub(1).and_then(|at| words.get(at));
        before.is_some_and(|(word, _)| word.starts_with('-'))
    };
    let mut named = words.iter().enumerate().filter(|(_, (word, _))| is_program(word));
    named.find(|(at, _)| !(container && value(*at))).map(|(at, _)| at)
}

/// A word of a command line, and its place in the file.
type Placed = (String, Range<usize>);

/// A command line: its words, and what the script says of it.
struct Command {
    words: Vec<Placed>,
    /// The system that a variable names.
    system: Option<System>,
    /// Whether it is in a string.
    in_string: bool,
    /// The place where it starts, if variables are expanded in it.
    start: Option<usize>,
}

/// The value of a variable that only a run shows: it is treated as a placeholder.
const OPEN: &str = "${X}";

/// Returns a word after the expansion of its variables.
fn expanded_word(word: &crate::placed::Placed) -> Placed {
    (word.as_str().replace(UNKNOWN, OPEN), word.span())
}

/// Returns the text of a word; a variable stays as it is written, so that it is treated as a placeholder.
fn text(source: &str, word: &Word) -> String {
    let mut out = String::new();
    for piece in &word.pieces {
        match piece {
            Piece::Literal(text) => out.push_str(text.as_str()),
            Piece::Variable { .. } | Piece::Opaque { .. } => {
                let whole = source.get(word.span.clone()).unwrap_or_default();
                return whole.trim_matches(['"', '\'']).to_owned();
            }
        }
    }
    out
}

/// Whether a statement may start the program, possibly by a variable.
fn may_start(statement: &Statement) -> bool {
    statement.words.iter().any(|word| match word.literal() {
        Some(text) => is_program(text),
        None => word.ending().is_some_and(is_program) || word.pieces.len() == 1,
    })
}

/// Returns the command lines of statements, and of strings that the script runs.
fn commands(source: &str, all: &[Statement]) -> Vec<Command> {
    let programs = Programs::of(all, is_program);
    let starts = |statement: &Statement| statement.words.iter().any(|word| programs.named(word));
    let own = expanded(source, may_start).into_iter().filter(|(statement, _)| starts(statement));
    let own = own.map(|(statement, words)| Command {
        words: words.iter().map(expanded_word).collect(),
        system: system::of(source, &statement, all),
        in_string: false,
        start: Some(begin(&statement)),
    });
    let strings = strings::commands(source, all).into_iter().map(|words| Command {
        words,
        system: None,
        in_string: true,
        start: None,
    });
    own.chain(strings).collect()
}

fn lint(document: &Document) -> Result<Report, LintError> {
    let mut all: Option<Report> = None;
    // YAML joins the lines of a command.
    let name = document.name.to_ascii_lowercase();
    let yaml = name.ends_with(".yml") || name.ends_with(".yaml");
    let folded = yaml.then(|| joined(document.text.as_str()));
    let source = folded.as_deref().unwrap_or(document.text.as_str());
    let statements = statements(source);
    let reach = Reach::of(source, &statements, &conditions(&statements));
    let elsewhere = hypervisor::of_environment(&statements);
    let mut asked = false;
    for command in commands(source, &statements) {
        let words = &command.words;
        let Some(first) = program(words) else { continue };
        let options = words.get(first + 1..).unwrap_or_default();
        let before = words.iter().take(first).map(|(word, _)| word.as_str());
        if only_named(before) || options.is_empty() {
            continue;
        }
        if asks::only_prints(options) {
            asked = true;
            continue;
        }
        let edits = words.get(first).is_some_and(|(word, _)| word.ends_with("virt-xml"));
        let at = words.get(first).map_or(0..0, |(_, at)| at.clone());
        let (mut made, understood) = made(options, at, edits, command.system.as_ref());
        // A device that only a condition adds may not be there.
        let optional =
            |at: &Range<usize>| command.start.is_some_and(|home| reach.optional(at.start, &[home]));
        made.hostdev = made.hostdev.filter(|at| !optional(at));
        if let Some(kind) = elsewhere.filter(|_| made.kind.is_none()) {
            made.kind = Some((kind.to_owned(), made.whole.clone()));
        }
        // A part of a machine of another hypervisor has no element that names it.
        let kind = made.kind.as_ref().map_or("kvm", |(kind, _)| kind.as_str());
        if edits && !matches!(kind, "kvm" | "qemu") {
            asked = true;
            continue;
        }
        let mut report = made.judge(document, say)?;
        if command.in_string {
            for finding in &mut report.findings {
                finding.leave_edits("a variable holds the command line");
            }
        }
        if !understood {
            report.partial = true;
            report.findings.retain(|finding| finding.severity == Severity::Info);
        }
        // virt-install adds it for Windows, which it recognises from the installer or from a variable.
        let said = |timer: &[(String, String)]| timer.iter().any(|(_, it)| it == "hypervclock");
        let by_type = by_type_alone(options);
        if (made.declared.is_none() || by_type)
            && !(!by_type && command.system.is_none() && names_system(options))
            && !made.timers.iter().any(|(it, _)| said(it))
        {
            report.findings.retain(|finding| finding.rule.id != "lv-hypervclock-missing");
        }
        match &mut all {
            None => all = Some(report),
            Some(all) => {
                all.partial |= report.partial;
                all.findings.extend(report.findings);
            }
        }
    }
    // A command line that only prints makes no machine.
    let all = all.or_else(|| asked.then(|| nothing(document.guest.unwrap_or_default())));
    all.ok_or_else(|| {
        LintError::whole("it contains no virt-install or virt-xml command line with options")
    })
}

/// Returns whether a device of the host is a USB device: `usb_...`, `type=usb`, `001.003`, `0x1234:0x5678`. Such a
/// device does not prevent the guest's migration.
fn on_usb(value: &str) -> bool {
    let name = value.split(',').next().unwrap_or_default();
    let digits = |it: &str| !it.is_empty() && it.bytes().all(|b| b.is_ascii_digit());
    let numbered = name.split_once('.').is_some_and(|(bus, device)| digits(bus) && digits(device));
    let vendor =
        name.split_once(':').is_some_and(|(a, b)| a.starts_with("0x") && b.starts_with("0x"));
    name.starts_with("usb") || numbered || vendor || value.split(',').any(|it| it == "type=usb")
}

/// Returns whether only `--os-type` names the system, which virt-install ignores since 3.0 (man/virt-install.rst).
fn by_type_alone(options: &[(String, Range<usize>)]) -> bool {
    let has = |name: &str| options.iter().any(|(word, _)| word.split('=').next() == Some(name));
    has("--os-type") && !has("--os-variant") && !has("--osinfo")
}

/// Returns whether the guest's system is named explicitly.
fn names_system(options: &[(String, Range<usize>)]) -> bool {
    options.iter().enumerate().any(|(n, (word, _))| {
        let (option, value) = match word.split_once('=') {
            Some((option, value)) => (option, value),
            None => (word.as_str(), options.get(n + 1).map_or("", |(next, _)| next.as_str())),
        };
        let told = !value.is_empty() && !value.contains(['$', '`']) && !value.contains("detect");
        system::OPTIONS.contains(&option) && told
    })
}

/// Returns the domain of a command line, and whether each of its `--xml` is understood. `system` is that of a variable.
fn made(
    options: &[(String, Range<usize>)],
    whole: Range<usize>,
    part: bool,
    system: Option<&System>,
) -> (Made, bool) {
    let mut made = Made { whole: whole.clone(), part, ..Made::default() };
    match system {
        Some(System::Set(id)) => {
            made.declared = Guest::of_words(id);
            made.system = made.declared.map(|_| id.clone());
        }
        Some(System::Likely(id)) => made.hint = Some(id.clone()),
        Some(System::Unknown) | None => {}
    }
    let mut xml: Vec<(String, Range<usize>)> = Vec::new();
    let mut arm = false;
    let mut connected = None;
    let mut rest = options.iter().peekable();
    while let Some((word, at)) = rest.next() {
        let (option, value) = match word.split_once('=') {
            Some((option, value)) if option.starts_with("--") => (option, Some(value.to_owned())),
            _ => (word.as_str(), None),
        };
        if !option.starts_with('-') {
            continue;
        }
        let switch = hypervisor::of_switch(option).filter(|_| !part);
        connected = connected.or_else(|| switch.map(|kind| (kind, at.clone())));
        let mut at = at.clone();
        let value = value.or_else(|| {
            // A word with a blank in its name is not an option (argparse).
            let name = |next: &str| next.split('=').next().is_some_and(|it| it.contains(' '));
            let is_value = |next: &str| !next.starts_with('-') || name(next);
            let (next, place) = rest.next_if(|(next, _)| is_value(next))?;
            at = place.clone();
            Some(next.clone())
        });
        let Some(value) = value else { continue };
        match option {
            "--name" | "-n" => made.name = value,
            option if system::OPTIONS.contains(&option) => {
                let id = value.split(',').next().unwrap_or_default();
                let id = id.rsplit('=').next().unwrap_or(id);
                if made.declared.is_none() && system.is_none() {
                    made.declared = Guest::of_words(id);
                    made.system = made.declared.map(|_| id.to_owned());
                }
            }
            "--virt-type" => made.kind = Some((value, at)),
            "--arch" => made.arch = Some(value),
            "--machine" => made.machine = Some(value),
            "--hostdev" | "--host-device" if !on_usb(&value) => made.hostdev = Some(at),
            "--cpu" => cpu(&mut made, &value, &at),
            "--clock" => clock(&mut made, &value, &at),
            "--features" => features(&mut made, &value, &at),
            "--xml" => xml.push((value, at)),
            "--qemu-commandline" => made.arguments.extend(passed::words(&value, &at)),
            "--connect" | "-c" if value.contains(":/") => {
                connected = hypervisor::of_uri(&value).map(|kind| (kind, at)).or(connected);
            }
            "--disk" | "--cdrom" | "--location" | "-l" | "-c" => arm |= of_arm(&value),
            _ => {}
        }
    }
    // Rules of KVM hold only for QEMU.
    if let Some((kind, at)) = connected {
        made.kind = Some((kind.to_owned(), at));
    }
    // Without --arch the machine has the processor of its host, which the image shows.
    made.arch = made.arch.or_else(|| arm.then(|| "aarch64".to_owned()));
    if !part {
        // The options that virt-install adds by itself.
        if made.cpu.is_empty() {
            made.cpu.push(("mode", "host-passthrough".to_owned(), whole.clone()));
        }
        let windows = made.declared == Some(Guest::Windows) && !by_type_alone(options);
        // It adds timers only if --clock names none (virtinst/domain/clock.py, set_defaults()).
        let own = made.timers.is_empty();
        for (name, present, add) in [("hpet", "no", own), ("hypervclock", "yes", own && windows)] {
            if add {
                let timer = [("name", name), ("present", present)];
                let timer = timer.map(|(key, value)| (key.to_owned(), value.to_owned())).to_vec();
                made.timers.push((timer, whole.clone()));
            }
        }
    }
    // After all options that virt-install generates.
    let mut understood = true;
    for (value, at) in &xml {
        understood &= paths::take(&mut made, value, at);
    }
    (made, understood)
}

/// Whether the name of an image is of the 64-bit Arm architecture.
fn of_arm(value: &str) -> bool {
    let value = value.to_ascii_lowercase();
    ["arm64", "aarch64"].iter().any(|name| value.contains(name))
        && !["amd64", "x86_64"].iter().any(|name| value.contains(name))
}

fn cpu(made: &mut Made, value: &str, at: &Range<usize>) {
    for (index, part) in value.split(',').enumerate() {
        match part.split_once('=') {
            None if index == 0 => {
                let mode = match part {
                    "host-passthrough" | "host-model" | "maximum" => part,
                    "host" | "host-model-only" | "host-copy" => "host-model",
                    _ => "custom",
                };
                made.cpu.push(("mode", mode.to_owned(), at.clone()));
            }
            Some(("mode", mode)) => made.cpu.push(("mode", mode.to_owned(), at.clone())),
            Some(("migratable", state)) => {
                made.cpu.push(("migratable", state.to_owned(), at.clone()))
            }
            Some((policy @ ("require" | "disable" | "optional" | "force" | "forbid"), name)) => {
                made.features.push((name.to_owned(), policy.to_owned(), at.clone()));
            }
            // The short form of two of the policies (virtinst/cli.py, ParserCPU).
            None => {
                let short = part.strip_prefix('+').map(|name| (name, "force"));
                let short = short.or_else(|| Some((part.strip_prefix('-')?, "disable")));
                made.features.extend(
                    short.map(|(name, policy)| (name.to_owned(), policy.to_owned(), at.clone())),
                );
            }
            _ => {}
        }
    }
    numbered(value, "feature", |all| {
        let of =
            |key: &str| all.iter().find(|(name, _)| name == key).map(|(_, value)| value.clone());
        if let Some(name) = of("name") {
            made.features.push((
                name,
                of("policy").unwrap_or_else(|| "require".to_owned()),
                at.clone(),
            ));
        }
    });
}

/// Calls `each` with the pairs of each number in `timer0.name=tsc,timer0.frequency=...`.
fn numbered(value: &str, group: &str, mut each: impl FnMut(&[(String, String)])) {
    let mut all: Vec<(&str, Vec<(String, String)>)> = Vec::new();
    for part in value.split(',') {
        let Some((name, value)) = part.split_once('=') else { continue };
        let Some((owner, key)) = name.split_once('.') else { continue };
        if !owner.strip_prefix(group).is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit())) {
            continue;
        }
        let pair = (key.to_owned(), value.to_owned());
        match all.iter_mut().find(|(known, _)| *known == owner) {
            Some((_, pairs)) => pairs.push(pair),
            None => all.push((owner, vec![pair])),
        }
    }
    all.iter().for_each(|(_, pairs)| each(pairs));
}

fn clock(made: &mut Made, value: &str, at: &Range<usize>) {
    const TIMERS: [&str; 8] =
        ["platform", "hpet", "tsc", "rtc", "pit", "kvmclock", "hypervclock", "armvtimer"];
    for part in value.split(',') {
        let Some((key, state)) = part.split_once('=') else { continue };
        let Some((name, attribute)) = key.split_once('_').filter(|(name, _)| TIMERS.contains(name))
        else {
            continue;
        };
        let pairs = [("name", name), (attribute, state)];
        let pairs: Vec<(String, String)> =
            pairs.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
        let same = |pairs: &[(String, String)]| {
            pairs.iter().any(|(key, value)| key == "name" && value == name)
        };
        match made.timers.iter_mut().find(|(known, _)| same(known)) {
            Some((known, _)) => known.extend(pairs.into_iter().skip(1)),
            None => made.timers.push((pairs, at.clone())),
        }
    }
    numbered(value, "timer", |all| made.timers.push((all.to_vec(), at.clone())));
}

fn features(made: &mut Made, value: &str, at: &Range<usize>) {
    for part in value.split(',') {
        let Some((key, state)) = part.split_once('=') else { continue };
        let key = key.trim_end_matches(".state").replace('.', "_");
        if key == "kvm_hidden" {
            made.hidden = Some((state.to_owned(), at.clone()));
        } else if let Some(name) = key.strip_prefix("hyperv_")
            && name.bytes().all(|b| b.is_ascii_lowercase())
        {
            made.hyperv.push((name.to_owned(), state.to_owned(), at.clone()));
        }
    }
}

/// Returns the remedy for a rule, in the terms of virt-install.
fn say(id: &str) -> Option<&'static str> {
    Some(match id {
        "lv-hpet-on" | "lv-hpet-default-on" => "--clock hpet_present=no",
        "lv-hypervclock-missing" => "--clock hypervclock_present=yes",
        "lv-kvmclock-off-no-invtsc" => {
            "remove kvmclock_present=no, or --cpu host-passthrough,require=invtsc"
        }
        "lv-invtsc-no-freq" => {
            "--clock timer0.name=tsc,timer0.frequency=HERTZ (`virsh capabilities` shows the host's). Leave it if the \
             machine never migrates and is never saved"
        }
        "lv-cpu-override" => {
            "remove it from --qemu-commandline, and write the same in --cpu, --features and --clock: --cpu \
             host-passthrough,require=invtsc for +invtsc, --features kvm.hidden.state=on for kvm=off"
        }
        "q-no-hpet-removed" => "remove it: virt-install gives the machine no HPET by default",
        "q-no-acpi-removed" => "remove it, and write --features acpi=off",
        "lv-emulated" => "--virt-type kvm, if the host has KVM",
        "lv-kvm-hidden" => "remove kvm_hidden=on, or give the guest another clock",
        _ => return None,
    })
}

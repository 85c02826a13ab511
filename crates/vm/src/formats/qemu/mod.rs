//! QEMU command lines: alone, in scripts, in units and Makefiles, and after other tools' own.
//!
//! `crate::shell` splits a script into words, `variables` expands its variables, `script` finds the command lines,
//! `line` has the options that affect a clock, `property` reads their lists, `cpu` and `machine` judge them. The
//! command lines that other tools generate from their own files are in `libvirt` and `proxmox`.

mod appended;
mod argument;
mod batch;
mod beginnings;
pub(crate) mod branches;
mod called;
pub(crate) mod choice;
pub(crate) mod clocks;
mod code;
pub(crate) mod command;
pub(crate) mod confidential;
mod constants;
pub(crate) mod cpu;
mod guards;
mod kvm;
pub(crate) mod line;
pub(crate) mod machine;
pub(crate) mod manifest;
mod nix;
mod parts;
mod pooled;
mod powershell;
mod printed;
pub(crate) mod property;
mod python;
pub(crate) mod reach;
pub(crate) mod script;
mod spaced;
mod together;
mod unseen;
mod variables;
pub(crate) mod written;

use crate::certain::is_shell;
use crate::detect::{Clues, Sign};
use crate::document::Document;
use crate::finding::Finding;
use crate::formats::{Format, Qemu, libvirt};
use crate::guest::Guest;
use crate::guest::Known;
use crate::inner::nothing;
use crate::limits::Limits;
use crate::lint::{LintError, Report};
use crate::placed::Placed;
use crate::shell::is_unit;
use crate::words::listed;
use command::Command;
use confidential::{Confidential, Trust};
use line::Line;
use script::Script;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::Range;

/// The registry entry of this kind.
pub(super) const FORMAT: Format = Format {
    name: "qemu",
    files: "QEMU command lines in any script",
    sample: ("start.sh", "#!/bin/sh\nqemu-system-x86_64 -cpu host -m 1G -enable-kvm\n"),
    rules: rules!("qemu"),
    detect,
    lint,
    limits: Limits { script: true, ..Limits::PLAIN },
    qemu: Some(Qemu { choose: Some(choice::edits), predict: None }),
};

/// A QEMU command line, or options of such a line.
fn detect(clues: &Clues<'_>) -> Option<Sign> {
    let text = clues.text;
    let option = |name: &str| {
        text.match_indices(name).any(|(at, _)| {
            let before = text[..at].chars().next_back();
            let after = text[at + name.len()..].chars().next();
            let two = text[..at].strip_suffix('-').map(|before| before.chars().next_back());
            let begins =
                |c: Option<char>| c.is_none_or(|c| c.is_whitespace() || "\"'(=`".contains(c));
            (begins(before) || two.is_some_and(begins))
                && after.is_none_or(|c| c.is_whitespace() || "\"'`=".contains(c))
        })
    };
    let program = text.contains("qemu-system-")
        || text.contains("qemu-kvm")
        || text.contains("nixpkgs#qemu")
        || ["kvm", "/usr/bin/kvm", "/bin/kvm"].into_iter().any(option)
        || option("qemu")
        || clues.has(is_variable);
    // Options of these tools have the same names.
    let other = ["virt-install", "virt-xml"].iter().any(|tool| text.contains(tool));
    if other && !clues.has(|line| line.contains("qemu-system-")) {
        return None;
    }
    // A list of the programs that a script needs also names QEMU.
    if super::proxmox::makes(text) && !command::starts(text) {
        return None;
    }
    let python = clues.has(|line| line.starts_with("import ") || line.starts_with("from "));
    let installs = || (super::virt_install::FORMAT.detect)(clues).is_some();
    if other && !python && installs() && !command::starts(text) {
        return None;
    }
    let strong = ["-cpu", "-machine", "-enable-kvm", "-accel", "-no-hpet", "-smp", "-drive", "-M"];
    let options = strong.iter().filter(|name| option(name)).count();
    if (program && options >= 1) || options >= 3 {
        return Some(Sign::Words);
    }
    // A plain start of a machine has none of these; the reader distinguishes it from prose.
    let runs = |script: &Script| script.commands.iter().any(|command| command.program.is_some());
    // Nor has a script that another one writes, or that gets the name of the QEMU to use.
    let read = || Script::read(text);
    let told = |script: &Script| runs(script) || script.helper.is_some();
    if text.contains("qemu-system-") && (told(&read()) || clues.has(written::writes)) {
        return Some(Sign::Words);
    }
    if nix::options(text).is_some() {
        return Some(Sign::Words);
    }
    clues.ends(&["args"]).then_some(Sign::Ending)
}

/// Returns whether a line begins with a variable for the emulator: `$QEMU_I386 -M pc`, `"${QEMU}" -m 1G`.
fn is_variable(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let name = words.next().unwrap_or_default().trim_start_matches(['"', '@', '-']);
    let named = name.starts_with('$') && name.to_ascii_uppercase().contains("QEMU");
    named && !name.contains('=') && words.any(|word| listed("-M -machine -m -drive -cpu", word))
}

fn lint(document: &Document) -> Result<Report, LintError> {
    let script = Script::of(document);
    let Some(first) = script.commands.first() else {
        let mut report = nothing(Guest::Unknown);
        if written::add(document, &mut report) {
            return Ok(report);
        }
        if let Some(helper) = &script.helper {
            report.findings.push(unseen::helper(document, helper));
            return Ok(report);
        }
        if let Some(findings) = parts::check(document, &script) {
            report.findings = findings;
            return Ok(report);
        }
        return Err(LintError::whole(
            "it contains no QEMU command line; if it is of another kind, specify --kind",
        ));
    };
    // Words that were collected are those of a script that the file writes.
    let mut report = nothing(Guest::Unknown);
    if first.program.is_none() && written::add(document, &mut report) {
        return Ok(report);
    }
    let mut report =
        Report::of(Known::default(), first.program.is_none() || script.cut, Vec::new());
    let mut known: HashMap<(&str, Range<usize>), usize> = HashMap::new();
    let file = told(document);
    let mut unseen = None;
    let mut systems = Vec::new();
    for command in &script.commands {
        let line = Line::of_words(&command.words);
        let file = &file;
        let system = match machine::of_several(command, &line) {
            true => document.system(None, None, []),
            false => line.system(document, file),
        };
        let guest = system.guest;
        report.guessed |= system.guessed;
        // The system of a command in one branch does not apply to all others.
        let branch =
            guest == Guest::Windows && !system.guessed && in_branch(&script, command, &line);
        if !branch && guest != Guest::Unknown {
            systems.push(system);
        }
        report.partial |= line.unknown;
        let unseen = *unseen.get_or_insert_with(|| {
            // Options that a function gets may belong to any command.
            script.helper.is_some() && first.program.is_none()
                || machine::hpet_elsewhere(document, &script)
        });
        let around = Around { script: &script, unseen, old: line.old_windows(file), file };
        for mut finding in command_findings(document, &around, command, &line, guest) {
            if command.written {
                finding.leave_edits("a function of the script writes the command line");
            }
            match known.entry((finding.rule.id, finding.span.clone())) {
                Entry::Vacant(entry) => {
                    entry.insert(report.findings.len());
                    report.findings.push(finding);
                }
                // The same words may belong to several command lines.
                Entry::Occupied(entry) => {
                    if let Some(first) = report.findings.get_mut(*entry.get()) {
                        agree(first, finding);
                    }
                }
            }
        }
    }
    // Several command lines may be of one machine: one that names no system contradicts none.
    report.guest = Known::of_all(&systems);
    report.findings.extend(unseen::check(document, &script));
    if let Some(helper) = script.helper.as_ref().filter(|_| first.program.is_none()) {
        report.findings.push(unseen::helper(document, helper));
    }
    if document.name.ends_with(".nix")
        && let Some(timers) = libvirt::nix::judge(document)
    {
        // The words are arguments of a libvirt domain, which is a whole command line with its timers.
        report.findings.retain(|it| it.rule.id != rule!("q-hpet-default-on").id);
        report.findings.extend(timers.findings);
    }
    written::add(document, &mut report);
    Ok(report)
}

/// Returns the texts besides the command lines that may name the system: the file's name, and a unit's description.
fn told(document: &Document) -> String {
    let name = crate::guest::base(&document.name);
    let text = document.text.as_str();
    let unit = is_unit(text).then(|| text.lines());
    match unit.into_iter().flatten().find_map(|line| line.strip_prefix("Description=")) {
        Some(description) => format!("{name} {description}"),
        None => name.to_owned(),
    }
}

/// Joins a finding with that of another command line, which has the same words: the higher severity counts, and changes
/// are removed that the other one must not have.
fn agree(first: &mut Finding, other: Finding) {
    // For one of the machines it matters more.
    if other.severity > first.severity {
        first.severity = other.severity;
        (first.summary, first.fix) = (other.summary.clone(), other.fix.clone());
    }
    if !first.edits.is_empty() && first.edits != other.edits {
        first.edits.clear();
        let why = "another command line that may have the same words needs them as they are";
        first.left = Some(other.left.unwrap_or_else(|| why.to_owned()));
    }
}

/// Returns whether the Hyper-V flags apply only under a condition.
fn in_branch(script: &Script, command: &Command, line: &Line) -> bool {
    let flags = line.cpu().into_iter().flat_map(|cpu| &cpu.list);
    let mut hyperv = flags.filter(|flag| flag.name.starts_with("hv-")).peekable();
    hyperv.peek().is_some() && hyperv.all(|flag| script.conditional(command, flag.span().start))
}

/// The message about Windows on QEMU's own model.
pub(crate) const WITHOUT_CPU: &str =
    "Windows without a -cpu: QEMU's own model has no hv-time, so there is no reference TSC page";

/// The message about a guest that KVM runs only under a condition.
const WHERE_KVM: &str =
    "no invariant TSC: where KVM runs the guest, a Linux guest stays on kvm-clock";

/// Typographic quotes, which a shell treats as letters.
const TYPOGRAPHIC: [char; 6] =
    ['\u{2018}', '\u{2019}', '\u{201a}', '\u{201c}', '\u{201d}', '\u{201e}'];

/// Facts about a command besides its words.
struct Around<'a> {
    script: &'a Script,
    /// Whether the file mentions the HPET outside the commands that were found.
    unseen: bool,
    /// Whether a name is of a Windows that is older than Hyper-V's reference TSC page.
    old: bool,
    /// The file's name and description, which may name the system.
    file: &'a str,
}

/// Returns the program that emulates a processor because nothing requests KVM; a script may request it elsewhere.
pub(crate) fn emulator<'a>(
    script: &Script,
    command: &'a Command,
    line: &Line,
) -> Option<&'a Placed> {
    let emulator = command.program.as_ref().filter(|program| machine::emulates(program.as_str()));
    emulator.filter(|_| {
        line.kvm().is_none()
            && !may_ask_for_more(&command.words)
            && !script.cut
            // Another branch may be the one that requests KVM.
            && !command.apart
    })
}

/// The message about a command with words of which nothing is known.
const UNLESS_KVM: &str = "QEMU emulates the processor unless words that only a run shows enable KVM: reads of its clock are then \
                          the slowest of all";

/// Returns the program that emulates a processor unless words that only a run shows request KVM. A file that mentions an
/// accelerator anywhere may put it into them.
fn perhaps_emulator<'a>(
    document: &Document,
    script: &Script,
    command: &'a Command,
    line: &Line,
) -> Option<&'a Placed> {
    let program = command.program.as_ref().filter(|_| without_kvm_but_open(command, line))?;
    let text = document.text.as_str().to_ascii_lowercase();
    let mentions = ["kvm", "accel", "hvf", "whpx", "nvmm"].iter().any(|word| text.contains(word));
    (!mentions && !script.cut && !command.apart).then_some(program)
}

/// Returns whether no known word of a command requests KVM, and others may.
fn without_kvm_but_open(command: &Command, line: &Line) -> bool {
    let of_kvm = |cpu: &property::Properties| {
        matches!(cpu.head_name().as_str(), "host" | "max")
            || cpu.whole.unknown()
            || cpu.list.iter().any(|it| it.name.starts_with("hv-") || it.name == "invtsc")
    };
    let emulates = command.program.as_ref().is_some_and(|it| machine::emulates(it.as_str()));
    emulates
        && line.kvm().is_none()
        && !line.cpu().is_some_and(of_kvm)
        && may_ask_for_more(&command.words)
}

/// Returns whether nothing on this path of the script requests KVM, whatever other branches do: then QEMU emulates the
/// processor, which has no Hyper-V clock.
fn without_kvm(command: &Command, line: &Line) -> bool {
    let host = line.cpu().is_some_and(|cpu| cpu.head_name() == "host" || cpu.whole.unknown());
    let emulates = command.program.as_ref().is_some_and(|it| machine::emulates(it.as_str()));
    emulates && !host && line.kvm().is_none() && !may_ask_for_more(&command.words)
}

/// Options whose value is one word that chooses no accelerator.
const ONE_VALUE: &str = "-m -smp -hda -hdb -hdc -hdd -cdrom -fda -name -vnc -bios -kernel -initrd";

/// Whether a word that is known only at run time may choose what runs the guest: a word about which nothing is known,
/// an option, or the value of an option that chooses it. A number or the name of a disk does not.
fn may_ask_for_more(words: &[Placed]) -> bool {
    let before = std::iter::once("").chain(words.iter().map(Placed::as_str));
    words.iter().zip(before).any(|(word, before)| {
        let text = word.as_str();
        let nothing = text.chars().all(|c| c == crate::placed::UNKNOWN || c.is_whitespace());
        let chooses = crate::words::listed("machine M accel", before.trim_start_matches('-'));
        let nothing = nothing && !crate::words::listed(ONE_VALUE, before);
        word.unknown() && (nothing || text.starts_with('-') || chooses && before.starts_with('-'))
    })
}

/// Returns whether another run of a command whose guest has a command line is one whose TSC the host may not be able to
/// change.
fn protected_elsewhere(script: &Script, command: &Command, line: &Line) -> bool {
    let start = |command: &Command| command.program.as_ref().map(|it| it.span().start);
    let same = |other: &&Command| start(other).is_some() && start(other) == start(command);
    let protected = |other: &Command| {
        let asks = other.words.iter().any(|it| it.as_str().contains("confidential-guest-support"));
        let kind = || Line::of_words(&other.words).confidential().map(Confidential::trust);
        asks && kind().is_some_and(|trust| trust != Trust::Tested)
    };
    line.append.is_some() && script.commands.iter().filter(same).any(protected)
}

fn command_findings(
    document: &Document,
    around: &Around<'_>,
    command: &Command,
    line: &Line,
    guest: Guest,
) -> Vec<Finding> {
    let script = around.script;
    let emulator = emulator(script, command, line);
    let emulated = emulator.is_some() || line.kvm() == Some(false);
    let conditional = |at: usize| script.conditional(command, at) && script.asks;
    let mut out = Vec::new();
    let x86 = machine::of_x86(command, line);
    let said = document.guest.is_some() && !line.contradicted(around.file);
    // The guest may be protected in one branch only.
    let hidden = line.confidential();
    let at = line.confidential_at().filter(|at| !script.certainly(command, line, &[[*at; 2]]));
    let confidential = hidden.filter(|_| at.is_none());
    // Options of an x86 processor do not apply to another one.
    if let Some(cpu) = line.cpu().filter(|_| x86) {
        let context = cpu::Context {
            guest,
            names: &cpu::NAMES,
            kvm: line.kvm(),
            // The model `host` starts only with a hypervisor, which another file may request. No other hypervisor than
            // KVM has the leaves of KVM.
            emulated: line.kvm() == Some(false) || emulator.is_some() && cpu.head_name() != "host",
            conditional: &conditional,
            stays: script.certainly(command, line, &line.hostdevs),
            confidential,
            no_hyperv: emulated || around.old || without_kvm(command, line),
            unaware: line.unaware(guest, around.file),
            said,
        };
        if cpu.head_name() != "help" {
            out.extend(cpu::check(cpu, &context));
            // HVF offers it since QEMU 9.1 (target/i386/hvf/x86_cpuid.c, hvf_get_supported_cpuid()).
            out.retain(|finding| finding.rule.id != rule!("q-invtsc-tcg").id || line.tcg());
            if hidden.is_some() {
                confidential::leave(&mut out);
            }
            if machine::may_be_foreign(command, line, document.text.as_str()) {
                out.retain(|finding| finding.rule.id != rule!("q-no-invtsc").id);
            }
            if line.kvm_after_another() {
                out.iter_mut().for_each(kvm::only_there);
            }
            // The emulator has no kvm-clock.
            let stays = out.iter_mut().filter(|finding| finding.rule.id == rule!("q-no-invtsc").id);
            for finding in stays {
                if !kvm::is_certain(document, script, command, line) {
                    finding.summary = Some(WHERE_KVM.to_owned());
                }
            }
        }
    }
    if let Some(program) = command.program.as_ref().filter(|_| {
        guest == Guest::Windows
            && line.cpu().is_none()
            && line.kvm() == Some(true)
            && !(line.unknown || command.apart || script.cut || around.old)
            && line.confidential().is_none()
            && x86
    }) {
        out.push(
            Finding::new(rule!("q-hv-time-missing"), program.span())
                .summary(WITHOUT_CPU)
                .fix("-cpu host,hv-time"),
        );
    }
    let lists = line.cpu().into_iter().chain(&line.machines).map(|list| &list.whole);
    for word in lists.filter(|word| word.as_str().contains(TYPOGRAPHIC)) {
        out.push(
            Finding::new(rule!("q-typographic-quote"), word.span())
                .fix("write the quotes of a shell, \" or '"),
        );
    }
    // A branch next to one with the newer spelling is for an older QEMU.
    let asked = |at: usize| script.asked(at) || script.newer(at) || script.taken_out(at);
    let conditional = |at: usize| {
        let asks = script.asks || script.asked(at) || script.newer(at);
        script.conditional(command, at) && asks || script.taken_out(at)
    };
    let trust = hidden.map(Confidential::trust).unwrap_or_default();
    // In another branch the guest is not protected, or is.
    let trust = match trust {
        Trust::Given if at.is_some() => Trust::Open,
        Trust::Tested if hidden.is_none() && protected_elsewhere(script, command, line) => {
            Trust::Open
        }
        trust => trust,
    };
    let unseen = around.unseen;
    let surroundings =
        machine::Surroundings { document, emulated, unseen, said, asked: &asked, trust };
    let mut rest = machine::check(command, line, guest, &surroundings, &conditional);
    // A branch with another -cpu intends to replace the one before.
    let last = line.cpu().map_or(0, |cpu| cpu.whole.span().start);
    let option = |value: usize| {
        let mut of = line.cpus.iter().zip(&line.cpus_at).rev();
        of.find(|(cpu, _)| cpu.whole.span().start == value).map_or(value, |(_, at)| *at)
    };
    let replaced = |at: usize| {
        let (at, last) = (option(at), option(last));
        !script.branches.together(at, last) || script.sometimes(last, at)
    };
    rest.retain(|finding| {
        finding.rule.id != rule!("q-cpu-repeated").id
            || (!replaced(finding.span.start)
                // Strings of a program may belong to several lists, and arrays of a script to several machines.
                && (command.program.is_some() || is_shell(document))
                && script.of_one(command, finding.span.start, last))
    });
    out.extend(rest);
    if let Some(word) = &line.loadvm {
        out.push(Finding::new(rule!("q-loadvm-wall-clock"), word.span()));
    }
    if let Some(program) = emulator {
        out.push(
            Finding::new(rule!("q-emulated"), program.span())
                .fix("-accel kvm, if the host has KVM"),
        );
    } else if let Some(program) = perhaps_emulator(document, script, command, line) {
        out.push(
            Finding::new(rule!("q-emulated"), program.span())
                .summary(UNLESS_KVM)
                .fix("-accel kvm, where the host has KVM"),
        );
    }
    out
}

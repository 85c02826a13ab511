//! The checks besides `-cpu`: the HPET, removed options, the guest's own command line.

use super::clocks::Clocks;
use super::command::{Command, strong};
use super::confidential::{Trust, leave};
use super::line::Line;
use super::script::Script;
use crate::document::Document;
use crate::finding::{Finding, Severity};
use crate::guest::Guest;
use crate::parameters::{self, Parameter};
use crate::placed::{Placed, UNKNOWN};
use crate::words::{base, listed};
use std::ops::Range;

/// The surroundings of a command line.
pub(crate) struct Surroundings<'a> {
    pub(crate) document: &'a Document,
    /// Whether the processor is emulated.
    pub(crate) emulated: bool,
    /// Whether the file mentions the HPET outside the commands that were found.
    pub(crate) unseen: bool,
    /// Whether the user specified the guest, and nothing in the file contradicts it.
    pub(crate) said: bool,
    /// Whether a place runs only after a version of QEMU or a feature of the host was queried.
    pub(crate) asked: &'a dyn Fn(usize) -> bool,
    /// What is known of the guest's TSC.
    pub(crate) trust: Trust,
}

/// Returns the severity of an option that newer versions removed: a command under a condition may be for an older
/// version, if the condition queries the version; another condition only chooses which machines do not start.
fn gone(guarded: bool, asked: bool) -> Severity {
    match (guarded, asked) {
        (false, _) => Severity::Error,
        (true, false) => Severity::Warn,
        (true, true) => Severity::Info,
    }
}

/// Returns whether a file mentions the HPET outside of comments and of the commands that were found: an array that a
/// loop iterates over, `: "${X:=-no-hpet}"`. Only a run shows which command gets it.
pub(crate) fn hpet_elsewhere(document: &Document, script: &Script) -> bool {
    let text = document.text.as_str();
    let comment = |at: usize| {
        let line = text.get(..at).and_then(|before| before.rsplit('\n').next()).unwrap_or_default();
        line.trim_start().starts_with('#') || line.contains(" #") || line.contains("\t#")
    };
    let used = |at: usize| {
        script.commands.iter().any(|command| {
            // In a list of all words, a text of several words is not split.
            let taken = |word: &Placed| {
                command.program.is_some() || !word.as_str().contains(char::is_whitespace)
            };
            command.words.iter().any(|word| word.span().contains(&at) && taken(word))
        })
    };
    let mut found = ["no-hpet", "hpet="].iter().flat_map(|mark| text.match_indices(mark));
    found.by_ref().take(64).any(|(at, _)| !comment(at) && !used(at))
}

/// Returns whether a comment of the line mentions the HPET: then its author has considered it.
fn commented(document: &Document, at: usize) -> bool {
    let text = document.text.as_str();
    let start = text.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |n| n + 1);
    let line = text.get(start..).and_then(|rest| rest.lines().next()).unwrap_or_default();
    line.split_once('#').is_some_and(|(_, comment)| comment.to_ascii_lowercase().contains("hpet"))
}

/// The message about an HPET of a command line with words of which nothing is known.
const UNLESS: &str = "the machine has an HPET unless words that only a run shows disable it: QEMU \
                      gives one to pc and q35";
/// The reason why an HPET is left.
const COMMENTED: &str = "a comment on the line mentions the HPET";
/// The first remedy where the HPET is the best clock.
pub(crate) const FIRST: &str = "give the guest a better clock (kvm-clock, an invariant TSC; for Windows hv-time and hv-stimer), and then";

/// Reports `-no-acpi`, which was removed.
pub(crate) fn no_acpi(
    line: &Line,
    conditional: &dyn Fn(usize) -> bool,
    asked: &dyn Fn(usize) -> bool,
) -> Option<Finding> {
    let word = line.no_acpi.as_ref()?;
    let guarded = conditional(word.span().start);
    let severity = gone(guarded, asked(word.span().start));
    let finding = Finding::new(rule!("q-no-acpi-removed"), word.span())
        .severity(severity)
        .fix("replace it by -machine acpi=off");
    let said = line.machines.iter().any(|machine| machine.get("acpi").is_some());
    Some(finding.edit_at(word.exact().filter(|_| !guarded && !said), "-machine acpi=off"))
}

/// Finds a word that looks like the value of `-cpu` but has no `-cpu` before it.
pub(crate) fn stray_cpu(line: &Line) -> Option<Finding> {
    let word = line.stray_cpu.as_ref()?;
    Some(Finding::new(rule!("q-cpu-without-option"), word.span()).fix("put -cpu in front of it"))
}

/// Checks the rest of a command line.
pub(crate) fn check(
    command: &Command,
    line: &Line,
    guest: Guest,
    around: &Surroundings<'_>,
    conditional: &dyn Fn(usize) -> bool,
) -> Vec<Finding> {
    let mut out = Vec::new();
    if of_x86(command, line) {
        out.extend(hpet(command, line, guest, around, conditional));
    }
    // It was an option of x86 and Arm (qemu-options.hx, -no-acpi, before 9.0).
    if x86(command) {
        out.extend(no_acpi(line, conditional, around.asked));
    } else if arm(command) {
        let left = "of the Arm machines, only virt knows acpi=".to_owned();
        out.extend(no_acpi(line, conditional, around.asked).map(|finding| Finding {
            edits: Vec::new(),
            left: Some(left),
            ..finding
        }));
        if line.confidential().is_some() {
            leave(&mut out);
        }
    }
    if command.program.is_some() {
        out.extend(stray_cpu(line));
    }
    if let Some((last, others)) = line.cpus.split_last() {
        for cpu in others {
            // A text that is included in another one is still one -cpu.
            let same = cpu.whole.span() == last.whole.span();
            if !same && !conditional(cpu.whole.span().start) {
                let words = "put all properties into one -cpu";
                out.push(Finding::new(rule!("q-cpu-repeated"), cpu.whole.span()).fix(words));
            }
        }
    }
    if let Some(append) = &line.append {
        out.extend(guest_command_line(append, of_x86(command, line), around.trust));
    }
    out
}

/// Returns whether a command line is of a PC: by its program, or otherwise by its machine type.
pub(crate) fn of_x86(command: &Command, line: &Line) -> bool {
    let named = command.program.as_ref().is_some_and(|program| emulates(program.as_str()));
    x86(command) && (named || !foreign(&line.machine()))
}

/// Whether the program emulates a processor of Arm.
fn arm(command: &Command) -> bool {
    let program = command.program.as_ref().map(Placed::as_str).unwrap_or_default();
    let target = program.split_once("qemu-system-").map_or("", |(_, target)| target);
    target.starts_with("aarch64") || target.starts_with("arm")
}

/// Returns whether a machine type does not exist in a QEMU for x86.
pub(crate) fn foreign(machine: &str) -> bool {
    const TYPES: &str = "virt raspi0 raspi1ap raspi2b raspi3ap raspi3b raspi4b sbsa-ref pseries powernv s390-ccw-virtio \
        spike sifive_u sifive_e versatilepb vexpress-a9 vexpress-a15 g3beige mac99 malta";
    const FAMILIES: [&str; 5] = ["virt-", "pseries-", "s390-ccw-virtio-", "powernv", "sbsa-ref-"];
    listed(TYPES, machine) || FAMILIES.iter().any(|family| machine.starts_with(family))
}

/// Returns whether the program emulates a PC; a program without a target in its name is assumed to.
pub(crate) fn x86(command: &Command) -> bool {
    let program = command.program.as_ref().map(Placed::as_str).unwrap_or_default();
    match program.split_once("qemu-system-") {
        Some((_, target)) => {
            target.starts_with("x86_64") || target.starts_with("i386") || is_open(target)
        }
        None => !command.foreign,
    }
}

/// Beginnings of the processors that QEMU emulates besides x86.
const TARGETS: [&str; 20] = [
    "aarch64",
    "alpha",
    "arm",
    "avr",
    "cris",
    "hppa",
    "lm32",
    "loongarch",
    "m68k",
    "microblaze",
    "mips",
    "nios2",
    "or1k",
    "ppc",
    "riscv",
    "rx",
    "s390x",
    "sh4",
    "sparc",
    "xtensa",
];

/// Returns whether a text names emulators of other processors, and none of x86. Packages have similar names.
pub(super) fn names_only_foreign(text: &str) -> bool {
    let mut named = text.match_indices("qemu-system-").peekable();
    let kvm = text.contains("qemu-kvm");
    named.peek().is_some() && !kvm && named.all(|(at, mark)| names_foreign(text, at + mark.len()))
}

/// Whether a name of such a processor is at an offset.
fn names_foreign(text: &str, at: usize) -> bool {
    let target = text.get(at..).unwrap_or_default();
    TARGETS.iter().any(|name| target.starts_with(name))
}

/// Options with a value that is not an option itself.
const WITH_VALUE: &str = "-m -smp -cpu -hda -hdb -hdc -hdd -fda -cdrom -drive -device -net -netdev -nic -name -kernel -initrd -append \
    -dtb -bios -boot -vnc -vga -display -monitor -serial -k -rtc -pidfile -uuid -chardev -object -global -smbios -D -L -spice";

/// Whether words of which nothing is known may be options: those that are not the value of one.
fn may_disable(words: &[Placed]) -> bool {
    let before = std::iter::once("").chain(words.iter().map(Placed::as_str));
    words.iter().zip(before).any(|(word, before)| {
        let text = word.as_str();
        let nothing = text.chars().all(|c| c == UNKNOWN || c == '$' || c.is_whitespace());
        let before = before.strip_prefix('-').filter(|it| it.starts_with('-')).unwrap_or(before);
        word.unknown() && nothing && !listed(WITH_VALUE, before)
    })
}

/// Returns whether collected words are of several machines.
pub(super) fn of_several(command: &Command, line: &Line) -> bool {
    command.program.is_none() && line.machines.len() > 1
}

/// Whether only a run shows the processor in the name of a program: a variable, one that an inner shell expands, or a
/// placeholder (`@ARCH@`, `%ARCH%`, `__ARCH__`, `ARCH`).
fn is_open(target: &str) -> bool {
    target.contains(['\u{1}', '$', '@', '%', '{', '<'])
        || target.starts_with("__")
        || target.starts_with(|c: char| c.is_ascii_uppercase())
}

/// Whether the machine may not be a PC: only a run shows which processor the program emulates, and the machine type
/// does not.
pub(super) fn may_be_foreign(command: &Command, line: &Line, text: &str) -> bool {
    if !line.machine().is_empty() {
        return false;
    }
    let program = command.program.as_ref().map(Placed::as_str).unwrap_or_default();
    match program.split_once("qemu-system-") {
        Some((_, target)) => is_open(target),
        // One of several programs that the text names.
        None if program.is_empty() || program.contains(UNKNOWN) => {
            let mut named = text.match_indices("qemu-system-");
            named.any(|(at, name)| names_foreign(text, at + name.len()))
        }
        None => false,
    }
}

/// Returns whether a program emulates the processor of a PC by default; wrappers such as `qemu-kvm` do not.
pub(crate) fn emulates(program: &str) -> bool {
    let program = base(program);
    program.starts_with("qemu-system-x86_64") || program.starts_with("qemu-system-i386")
}

/// Returns whether the machine is certainly a PC.
fn pc(command: &Command, machine: &str) -> bool {
    let program = command.program.as_ref().map(Placed::as_str).unwrap_or_default();
    let named = program.contains("x86_64") || program.contains("i386");
    let is = |name: &str| machine == name || machine.starts_with(&format!("pc-{name}-"));
    is("q35") || is("pc") || machine.starts_with("pc-i440fx") || (machine.is_empty() && named)
}

/// Whether a machine type is one of a PC by its name, of QEMU or of a distribution.
fn is_pc_name(machine: &str) -> bool {
    let version = |it: &str| it.starts_with(|c: char| c.is_ascii_digit());
    machine == "pc"
        || ["q35", "pc-q35", "pc-i440fx", "rhel", "ubuntu"].iter().any(|it| machine.starts_with(it))
        || machine.strip_prefix("pc-").is_some_and(version)
}

/// Machine types without an HPET.
fn without_hpet(machine: &str) -> bool {
    [
        "microvm", "isapc", "none", "virt", "xenpv", "xenfv", "raspi", "nitro", "s390", "pseries",
        "spike", "sifive",
    ]
    .iter()
    .any(|name| machine.starts_with(name))
}

fn hpet(
    command: &Command,
    line: &Line,
    guest: Guest,
    around: &Surroundings<'_>,
    conditional: &dyn Fn(usize) -> bool,
) -> Vec<Finding> {
    let mut out = Vec::new();
    let asked = line.machines.iter().rev().find_map(|machine| machine.get("hpet"));
    if let Some(word) = &line.no_hpet {
        let guarded = conditional(word.span().start);
        let severity = gone(guarded, (around.asked)(word.span().start));
        let finding = Finding::new(rule!("q-no-hpet-removed"), word.span())
            .severity(severity)
            .fix("replace it by -machine hpet=off (QEMU 5.2 or later)");
        if without_hpet(&line.machine()) {
            // The property hpet belongs to PCs, also to isapc, which has no HPET (tried with QEMU 7.2); QEMU refuses it for
            // another machine.
            let machine = line.machine();
            let why = match machine.starts_with("isapc") {
                true => "isapc has no HPET; remove -no-hpet by hand".to_owned(),
                false => format!(
                    "{machine} has no HPET, and QEMU refuses hpet=off for it: for that machine, remove -no-hpet by hand"
                ),
            };
            let fix = format!("remove it: {machine} has no HPET");
            out.push(Finding { left: Some(why), ..finding }.fix(fix));
            return out;
        }
        if asked.is_some_and(|property| property.state() != Some(false)) {
            // The file does not show which of the two is intended.
            let why = "the same command line has hpet=on; remove one of the two".to_owned();
            out.push(Finding { left: Some(why), ..finding });
            return out;
        }
        let with = if asked.is_some() { "" } else { "-machine hpet=off" };
        out.push(finding.edit_at(word.exact().filter(|_| !guarded), with));
        return out;
    }
    if without_hpet(&line.machine()) {
        return out;
    }
    // An unknown program or machine may be of another architecture.
    let pc = pc(command, &line.machine());
    let may = guest != Guest::Macos && pc;
    if let Some(property) = asked {
        if property.state() == Some(true) {
            let mut clocks = Clocks::of_line(line);
            clocks.emulated |= around.emulated;
            clocks.said = around.said;
            let mut finding = asked_for(property.span(), &clocks, guest);
            if commented(around.document, property.span().start) {
                finding.left = Some(COMMENTED.to_owned());
            } else if finding.left.is_none() {
                let value = property.value.as_ref().and_then(Placed::exact);
                finding = finding.edit_at(value.filter(|_| may), "off");
            }
            out.push(finding);
        }
        return out;
    }
    // A pool, a default or a list of names may belong to this machine; and collected words may be of several machines.
    let text = around.document.text.as_str();
    if around.unseen || of_several(command, line) || may_be_foreign(command, line, text) {
        return out;
    }
    // Values of a number of processors and of memory show no machine.
    let sizes = |word: &Placed| !strong(word.as_str()) || listed("-smp -m", word.as_str());
    if command.program.is_none() && command.words.iter().all(sizes) {
        return out;
    }
    let name = line.machine();
    if !(name.is_empty() || name.contains([UNKNOWN, '$']) || is_pc_name(&name)) {
        return out;
    }
    let machine = line.machines.last();
    let span = machine
        .map(|machine| machine.whole.span())
        .or_else(|| command.program.as_ref().map(Placed::span))
        .or_else(|| command.words.iter().find(|it| strong(it.as_str())).map(Placed::span))
        .unwrap_or_default();
    if machine.is_some_and(|machine| machine.whole.unknown()) && line.machine().is_empty() {
        return out;
    }
    // A guest that uses the HPET has no better clock, and the removal of that clock is a separate finding; if it has a
    // better one, the HPET is harmless. So nothing is changed: a saved state also needs the HPET.
    let mut finding = Finding::new(rule!("q-hpet-default-on"), span);
    if may_disable(&command.words) {
        finding = finding.summary(UNLESS);
    }
    let mut clocks = Clocks::of_line(line);
    clocks.emulated |= around.emulated;
    out.push(match clocks.lack(guest) {
        Some(_) => {
            finding.fix(format!("nothing yet: {FIRST} -machine hpet=off (QEMU 5.2 or later)"))
        }
        None => finding.fix("-machine hpet=off (QEMU 5.2 or later)"),
    });
    out
}

/// Reports a requested HPET.
pub(crate) fn asked_for(span: Range<usize>, clocks: &Clocks, guest: Guest) -> Finding {
    let finding = Finding::new(rule!("q-hpet-on"), span);
    let Some(why) = clocks.keeps(guest) else {
        return finding.fix("-machine hpet=off");
    };
    let mut finding = match (clocks.emulated, clocks.lack(guest)) {
        (true, _) => finding.severity(Severity::Info),
        (false, Some(_)) => finding.fix(format!("{FIRST} -machine hpet=off")),
        (false, None) => finding.fix("-machine hpet=off, if the guest is Linux"),
    };
    finding.left = Some(why.to_owned());
    finding
}

/// Checks the guest kernel's command line. The TSC, the HPET and the PM timer are those of x86; on another processor a
/// word about them has no effect. With a TSC that the host cannot change, `tsc=reliable` says what the kernel knows, and
/// `no-kvmclock` omits a clock that the host writes.
pub(crate) fn guest_command_line(append: &Placed, x86: bool, trust: Trust) -> Vec<Finding> {
    let mut out = Vec::new();
    // Words after two dashes are for init.
    for word in append.words().into_iter().take_while(|word| word.as_str() != "--") {
        let text = word.as_str();
        if !x86 && (text.contains("tsc") || text.ends_with("=hpet") || text.ends_with("=acpi_pm")) {
            continue;
        }
        let (rule, words) = match word.as_str() {
            word @ ("notsc" | "tsc=unstable") => {
                let words =
                    format!("remove {word}, unless the TSC of that host is known to be wrong");
                (rule!("q-guest-notsc"), words)
            }
            "clocksource=hpet"
            | "clocksource=acpi_pm"
            | "clocksource=jiffies"
            | "clocksource=refined-jiffies" => {
                let words = "remove it; the kernel chooses the best by itself";
                (rule!("q-guest-clocksource"), words.to_owned())
            }
            "no-kvmclock" | "no-kvmclock-vsyscall" => (
                rule!("q-guest-no-kvmclock"),
                format!("remove {text}, unless kvm-clock of that host is known to be wrong"),
            ),
            "tsc=reliable" => (
                rule!("q-guest-tsc-reliable"),
                "remove it, unless `clocksmith verify` trusts the TSC there".to_owned(),
            ),
            _ => continue,
        };
        let mut finding = Finding::new(rule, word.span()).fix(words);
        if matches!(text, "no-kvmclock" | "no-kvmclock-vsyscall" | "tsc=reliable") {
            match trust {
                Trust::Tested => {}
                Trust::Open => {
                    finding = finding.severity(Severity::Info).fix(format!(
                        "nothing if the guest's TSC is one that its host cannot change (TDX, Secure TSC of SEV-SNP): {text} \
                         is right there; otherwise remove it"
                    ));
                }
                Trust::Given => continue,
            }
        }
        let cut = word.exact().filter(|_| rule.id == rule!("q-guest-notsc").id);
        out.push(finding.edit_at(cut, ""));
    }
    out.extend(mistakes(append, x86));
    out
}

/// Names and values that the guest's kernel does not know, and parameters that cancel each other.
fn mistakes(append: &Placed, x86: bool) -> Vec<Finding> {
    const RULES: [&str; 3] =
        ["cmdline-unknown-clocksource", "cmdline-unknown-value", "cmdline-contradicted"];
    let words = append.words().into_iter().take_while(|word| word.as_str() != "--");
    let given = words.filter(|word| !word.unknown() && (x86 || !word.as_str().contains("tsc")));
    let given: Vec<Parameter> = given
        .map(|word| Parameter { text: word.as_str().to_owned(), span: word.span() })
        .filter(|it| {
            it.text.starts_with("clocksource=")
                || it.text.starts_with("tsc=")
                || it.text.contains("kvmclock")
        })
        .collect();
    let mut found = parameters::judge(&given, false);
    found.retain(|finding| RULES.contains(&finding.rule.id));
    found
}

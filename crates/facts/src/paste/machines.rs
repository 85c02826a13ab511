//! Separates the machines of a text with whole boots by properties that their kernels print once in each boot: the
//! vendor, the board, the processor, the host before the lines.

use super::consoles::consoles;
use super::sections::{SECTIONS, Section};
use crate::log::{family_of, strip_prefix};

/// Number of lines after a banner within which a kernel has printed its machine.
const HEAD: usize = 400;

/// One kind of name for a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// `DMI: Dell Inc. PowerEdge R640/0H28RR, BIOS 2.1`.
    Dmi,
    /// `Machine model: StarFive VisionFive 2`, `MIPS: machine is Mikrotik RB532`, `Machine: ARM-Versatile PB`.
    Model,
    /// `Hardware name: Acme R1/B1, BIOS 2.1`, in reports of faults.
    Hardware,
    /// `Booting GENERIC on Jensen using machine vector Jensen from SRM`.
    Vector,
    /// `CPU0 revision is: 0001800a (MIPS 4Kc)`, `CPU: ARMv7 Processor [410fd034] ...`.
    Processor,
    /// The host before the lines, of syslog.
    Host,
    /// The processor family of the kernel, by its release or its compiler.
    Family,
    /// `smpboot: CPU0: Intel(R) Xeon(R) E-2288G CPU @ 3.70GHz (family: 0x6, ...)`.
    Cpu,
    /// The hardware itself, or a guest of a hypervisor.
    Under,
    /// The quotation depth of the banner: the log of a mail, and that of the mail which it answers.
    Quoted,
}

/// Words of a release or of a compiler's name. Kernels with 32 and with 64 bits run on one machine.
const FAMILIES: [(&str, &str); 13] = [
    ("x86_64", "x86"),
    ("amd64", "x86"),
    ("i686", "x86"),
    ("aarch64", "Arm"),
    ("arm64", "Arm"),
    ("arm-", "Arm"),
    ("armv7", "Arm"),
    ("riscv", "RISC-V"),
    ("mips", "MIPS"),
    ("ppc64", "POWER"),
    ("powerpc", "POWER"),
    ("s390x", "IBM Z"),
    ("loongarch", "LoongArch"),
];

/// The properties of the machine in one boot.
#[derive(Clone, Debug, Default)]
struct Names(Vec<(Kind, String)>);

impl Names {
    fn add(&mut self, (kind, name): (Kind, String)) {
        if !self.0.iter().any(|(known, _)| *known == kind) {
            self.0.push((kind, name));
        }
    }

    fn of(&self, kind: Kind) -> Option<&str> {
        self.0.iter().find(|(known, _)| *known == kind).map(|(_, name)| name.as_str())
    }

    /// Whether both boots have the same kind of name, with different values.
    fn differ(&self, other: &Self) -> bool {
        let same = |kind: Kind| self.of(kind).is_some() && self.of(kind) == other.of(kind);
        // A guest may boot on another processor, and a machine under a hypervisor.
        let weak = |kind: Kind| match kind {
            Kind::Cpu | Kind::Quoted => same(Kind::Host),
            Kind::Under => same(Kind::Host) || same(Kind::Dmi),
            _ => false,
        };
        self.0
            .iter()
            .any(|(kind, name)| !weak(*kind) && other.of(*kind).is_some_and(|other| other != name))
    }

    /// Whether nothing names the machine: any with such a kernel may have printed these lines.
    fn is_of_any(&self) -> bool {
        self.0.iter().all(|(kind, _)| *kind == Kind::Family)
    }

    /// The most common name.
    fn shown(&self) -> Option<String> {
        let order = [
            Kind::Host,
            Kind::Model,
            Kind::Vector,
            Kind::Dmi,
            Kind::Hardware,
            Kind::Processor,
            Kind::Cpu,
            Kind::Under,
        ];
        order.iter().find_map(|kind| self.of(*kind)).map(|name| name.chars().take(60).collect())
    }
}

/// Separates the machines in a text that contains the boots of several. Returns one section, or none, for a text of one
/// machine. `depths`: the quotation depth of each line; empty if it was not counted.
#[must_use]
pub fn machines(lines: &[String], depths: &[usize]) -> Vec<Section> {
    separated(lines, depths).unwrap_or_default()
}

/// The machines; `None` if they are too many.
pub(super) fn separated(lines: &[String], depths: &[usize]) -> Option<Vec<Section>> {
    let consoles = consoles(lines);
    if consoles.len() > 1 {
        return Some(consoles);
    }
    let banners: Vec<usize> =
        lines.iter().enumerate().filter(|(_, line)| is_banner(line)).map(|(at, _)| at).collect();
    if banners.len() < 2 {
        return Some(Vec::new());
    }
    let quoted = |at: &usize| depths.get(*at).copied().unwrap_or_default();
    let quoted: Vec<usize> = banners.iter().map(quoted).collect();
    let banners: Vec<usize> = banners.into_iter().map(|at| first_line(lines, at)).collect();
    let mut found: Vec<(Section, Names)> = Vec::new();
    let mut active = None;
    for (number, begin) in banners.iter().enumerate() {
        let end = banners.get(number + 1).copied().unwrap_or(lines.len());
        let mut names = names(&lines[*begin..end]);
        let goes_on =
            || banners[number + 1..].iter().any(|later| same_banner(lines, *begin, *later));
        if !(names.is_of_any() && !shows_clocks(&lines[*begin..end]) && goes_on()) {
            names.0.push((Kind::Quoted, quoted[number].to_string()));
        }
        // The lines before the first banner belong to it.
        let begin = if number == 0 { 0 } else { *begin };
        let same = |(_, known): &(Section, Names)| !known.differ(&names);
        // The previous machine, if nothing contradicts it; otherwise one with the same names.
        let place = active
            .filter(|at: &usize| found.get(*at).is_some_and(same))
            .or_else(|| found.iter().position(|one| same(one) && names.0.len() > 1));
        let at = place.unwrap_or_else(|| {
            found.push((Section::default(), Names::default()));
            found.len() - 1
        });
        let (section, known) = &mut found[at];
        section.add(begin, end);
        names.0.into_iter().for_each(|name| known.add(name));
        active = Some(at);
        if found.len() > SECTIONS {
            return None;
        }
    }
    let shown = |(section, names): (Section, Names)| Section { host: names.shown(), ..section };
    Some(found.into_iter().map(shown).collect())
}

/// Whether two lines are the banner of one build.
fn same_banner(lines: &[String], one: usize, other: usize) -> bool {
    let banner = |at: usize| lines.iter().skip(at).take(IN_FRONT + 1).find(|line| is_banner(line));
    let text = |at: usize| banner(at).map(|line| strip_prefix(line).0);
    text(one).is_some() && text(one) == text(other)
}

/// Whether lines may be evidence of a clocksource, so that it matters whose they are.
fn shows_clocks(lines: &[String]) -> bool {
    const WORDS: [&str; 4] = ["clock", "tsc", "TSC", "hpet"];
    lines.iter().any(|line| WORDS.iter().any(|word| super::has(line, word)))
}

/// Number of lines before a banner in which Arm's kernels print the processor on which they boot.
const IN_FRONT: usize = 2;

/// The first line of the boot with this banner: kernels for Arm print one before it (`smp_setup_processor_id()`).
fn first_line(lines: &[String], banner: usize) -> usize {
    let begins = |at: &usize| {
        let (message, stamped) = strip_prefix(&lines[*at]);
        stamped && message.starts_with("Booting Linux on physical CPU")
    };
    (banner.saturating_sub(IN_FRONT)..banner).find(begins).unwrap_or(banner)
}

/// Whether a line is a banner that a kernel printed: `/proc/version` has the same words, and so do users' texts.
fn is_banner(line: &str) -> bool {
    if !super::has(line, "Linux version ") {
        return false;
    }
    let (message, stamped) = strip_prefix(line);
    stamped && begins_boot(message)
}

/// Whether a message has the parts of a banner: the release, the builder and the compiler, the number of the build.
pub(super) fn begins_boot(message: &str) -> bool {
    message.strip_prefix("Linux version ").is_some_and(|rest| {
        rest.starts_with(|c: char| c.is_ascii_digit()) && rest.contains(" (") && rest.contains('#')
    })
}

fn names(lines: &[String]) -> Names {
    let mut names = Names::default();
    for line in lines.iter().take(HEAD) {
        let (message, stamped) = strip_prefix(line);
        if let Some(name) = name(message).filter(|_| stamped) {
            names.add(name);
        }
        if let Some(family) = family_of(message).filter(|_| stamped) {
            names.add((Kind::Family, family.to_owned()));
        }
    }
    if let Some(host) = host(lines) {
        names.add((Kind::Host, host));
    }
    let under = under(lines, names.of(Kind::Dmi));
    names.0.extend(under.map(|under| (Kind::Under, under.to_owned())));
    names
}

/// Words in the machine names that hypervisors give to their guests.
const VIRTUAL: [&str; 22] = [
    "QEMU",
    "KVM",
    "VMware",
    "VirtualBox",
    "innotek",
    "Xen",
    "Virtual Machine",
    "Amazon EC2",
    "Google",
    "OpenStack",
    "Bochs",
    "Standard PC",
    "Red Hat",
    "RHEV",
    "oVirt",
    "DigitalOcean",
    "Droplet",
    "Alibaba",
    "Nutanix",
    "Parallels",
    "BHYVE",
    "Cloud",
];

/// Whether a boot is on the hardware itself or in a guest, if it shows that. The initial Xen domain shows both.
fn under(lines: &[String], dmi: Option<&str>) -> Option<&'static str> {
    let said = lines.iter().take(HEAD).any(|line| {
        let (message, stamped) = strip_prefix(line);
        stamped
            && (message.starts_with("Hypervisor detected: ")
                || message.starts_with("Booting paravirtualized kernel on ")
                    && !message.ends_with("bare hardware"))
    });
    let real = dmi.is_some_and(|name| !VIRTUAL.iter().any(|word| super::has(name, word)));
    match (said, real) {
        (true, false) => Some("a guest"),
        (false, true) => Some("the hardware itself"),
        _ => None,
    }
}

/// The family in a banner: `6.1.0-rpi (a@b) (aarch64-linux-gnu-gcc 12) #1`. The text in between names the builder.
fn family(banner: &str) -> Option<&'static str> {
    let release = banner.split(' ').next()?;
    let compiler = banner.split_once(") (").map_or("", |(_, rest)| rest);
    let of = |text: &str| {
        FAMILIES.iter().find(|(word, _)| super::has(text, word)).map(|(_, family)| *family)
    };
    of(release).or_else(|| of(compiler))
}

/// The name of the machine in a message.
fn name(message: &str) -> Option<(Kind, String)> {
    let found = |kind, name: &str| {
        let name = name.trim();
        (!name.is_empty()).then(|| (kind, name.to_owned()))
    };
    if let Some(rest) = message.strip_prefix("Linux version ") {
        return found(Kind::Family, family(rest)?);
    }
    if let Some(rest) = message.strip_prefix("DMI: ") {
        // An update of the firmware does not change the machine.
        return found(Kind::Dmi, rest.split(", BIOS").next()?);
    }
    if let Some(rest) = message.strip_prefix("Hardware name: ") {
        return found(Kind::Hardware, rest.split(", BIOS").next()?);
    }
    for head in ["Machine model: ", "OF: fdt: Machine model: ", "OF: fdt:Machine model: "] {
        if let Some(rest) = message.strip_prefix(head) {
            return found(Kind::Model, rest);
        }
    }
    if let Some(rest) = message.strip_prefix("MIPS: machine is ") {
        return found(Kind::Model, rest);
    }
    if let Some(rest) = message.strip_prefix("Machine: ") {
        return found(Kind::Model, rest.split(',').next()?);
    }
    if let Some(rest) = message.strip_prefix("Booting ")
        && let Some((_, rest)) = rest.split_once(" using machine vector ")
    {
        return found(Kind::Vector, rest.split(' ').next()?);
    }
    for head in ["CPU0 revision is: ", "CPU revision is: "] {
        if let Some(rest) = message.strip_prefix(head) {
            return found(Kind::Processor, rest);
        }
    }
    let model = message.strip_prefix("smpboot: ").unwrap_or(message).strip_prefix("CPU0: ");
    if let Some(rest) = model {
        let end = [" (fam", " stepping"].iter().find_map(|word| rest.find(word))?;
        let words: Vec<&str> = rest[..end].split_ascii_whitespace().collect();
        return found(Kind::Cpu, &words.join(" "));
    }
    // The revision in the processor's main ID register; a kernel may boot on another core of the same machine.
    let rest = message.strip_prefix("CPU: ").filter(|rest| rest.contains("] revision "))?;
    found(Kind::Processor, rest.split(" revision ").next()?)
}

/// Host names of a machine before it knows its own name.
const UNNAMED: [&str; 5] = ["localhost", "(none)", "localhost.localdomain", "linux", "unknown"];

/// The host before the lines of the kernel: `Oct 19 18:39:37 web1 kernel: [...`, if there is only one.
fn host(lines: &[String]) -> Option<String> {
    let mut found: Option<&str> = None;
    for line in lines {
        let Some(at) = memchr::memmem::find(line.as_bytes(), b" kernel: ") else { continue };
        let head = line.get(..at)?.trim();
        let (date, name) = head.rsplit_once(' ')?;
        let is_date = date.ends_with(|c: char| c.is_ascii_digit() || c == 'Z')
            && date.contains(':')
            && date.len() < 40;
        let is_name = name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b));
        if !is_date || !is_name || UNNAMED.contains(&name) {
            continue;
        }
        match found {
            Some(known) if known != name => return None,
            _ => found = Some(name),
        }
    }
    found.map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Vec<(Option<String>, String)> {
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        machines(&lines, &[]).iter().map(|one| (one.host.clone(), one.shown())).collect()
    }

    const FIRST: &str = "[    0.000000] Linux version 6.1.0 (a@b) (gcc 12) #1 SMP\n";
    const OTHER: &str = "[    0.000000] Linux version 6.6.1 (a@b) (gcc 13) #1 SMP\n";

    #[test]
    fn boots_of_two_machines_are_told_apart_by_what_each_kind_of_machine_says() {
        for (one, two) in [
            ("DMI: Acme R1/B1, BIOS 1.0 01/02/2020", "DMI: Acme R2/B1, BIOS 1.0 01/02/2020"),
            ("Machine model: Board A", "OF: fdt: Machine model: Board B"),
            ("Hardware name: Acme R1/B1, BIOS 1.0", "Hardware name: Acme R2/B1, BIOS 1.0"),
            ("MIPS: machine is Router A", "MIPS: machine is Router B"),
            (
                "Booting GENERIC on Eiger using machine vector Eiger from SRM",
                "Booting on Noritake using machine vector Noritake from SRM",
            ),
            ("CPU0 revision is: 0001800a (MIPS 4Kc)", "CPU0 revision is: 00019655 (MIPS 24KEc)"),
            (
                "CPU: ARMv7 Processor [410fc075] revision 5 (ARMv7), cr=10c5387d",
                "CPU: ARMv7 Processor [413fc082] revision 2 (ARMv7), cr=10c5387d",
            ),
        ] {
            let text = format!("{FIRST}[    0.000000] {one}\n{OTHER}[    0.000000] {two}\n");
            let found = shown(&text);
            assert_eq!(found.len(), 2, "{one}");
            assert_eq!((found[0].1.as_str(), found[1].1.as_str()), ("1-2", "3-4"), "{one}");
            // Two boots of one machine, and boots that do not show it.
            let text = format!("{FIRST}[    0.000000] {one}\n{OTHER}[    0.000000] {one}\n{OTHER}");
            assert_eq!(shown(&text).len(), 1, "{one}");
        }
        let bios = format!(
            "{FIRST}[    0.000000] DMI: Acme R1/B1, BIOS 1.0\n{OTHER}[    0.000000] DMI: Acme R1/B1, BIOS 1.4\n"
        );
        assert_eq!(shown(&bios).len(), 1);
    }

    #[test]
    fn processors_guests_and_quotations_tell_machines_apart() {
        let intel = "[    0.200000] smpboot: CPU0: Intel(R) Xeon(R) E-2288G CPU @ 3.70GHz (family: 0x6, model: 0x9e)\n";
        let old = "[    0.200000] CPU0: Intel(R) Xeon(R)  E-2288G CPU @ 3.70GHz stepping 0d\n";
        let amd = "[    0.200000] smpboot: CPU0: AMD EPYC 7502 32-Core Processor (family: 0x17, model: 0x31)\n";
        assert_eq!(shown(&format!("{FIRST}{intel}{OTHER}{amd}")).len(), 2);
        assert_eq!(shown(&format!("{FIRST}{intel}{OTHER}{old}")).len(), 1);
        let dmi = "[    0.100000] DMI: LENOVO 20L7/20L7, BIOS N22ET 2020\n";
        let guest = "[    0.000000] Hypervisor detected: KVM\n";
        assert_eq!(shown(&format!("{FIRST}{dmi}{OTHER}{guest}")).len(), 2);
        assert_eq!(shown(&format!("{FIRST}{dmi}{OTHER}{dmi}{guest}")).len(), 1);
        let virtual_dmi = dmi.replace("LENOVO 20L7", "QEMU Standard PC");
        assert_eq!(shown(&format!("{FIRST}{virtual_dmi}{OTHER}{guest}")).len(), 1);
        let lines: Vec<String> = [FIRST, OTHER].map(str::to_owned).to_vec();
        assert_eq!(machines(&lines, &[1, 0]).len(), 2);
        assert_eq!(machines(&lines, &[1, 1]).len(), 1);
    }

    #[test]
    fn banner_that_a_mail_quotes_above_its_log_is_of_the_same_boot() {
        let of = |first: &str, second: &str| {
            let text = format!("{FIRST}{first}{FIRST}{second}");
            let lines: Vec<String> = text.lines().map(str::to_owned).collect();
            let mut depths = vec![0; lines.len()];
            depths[0] = 1;
            machines(&lines, &depths).len()
        };
        let dmi = "[    0.100000] DMI: LENOVO 20L7/20L7, BIOS N22ET 2020\n";
        let wireless = "[    6.300000] iwlwifi 0000:02:00.0: Failed to run INIT ucode: -5\n";
        let hpet = "[    6.300000] clocksource: Switched to clocksource hpet\n";
        assert_eq!(of(wireless, dmi), 1);
        // Another machine with this kernel may be meant.
        assert_eq!(of(hpet, dmi), 2);
        assert_eq!(of("[    0.100000] DMI: Acme R1/B1, BIOS 1.0\n", dmi), 2);
        let lines: Vec<String> = [FIRST, OTHER].map(str::to_owned).to_vec();
        assert_eq!(machines(&lines, &[1, 0]).len(), 2);
    }

    #[test]
    fn families_of_processors_tell_machines_apart() {
        assert_eq!(family("6.1.0-13-amd64 (a@arm64-builder) (gcc 12) #1 SMP"), Some("x86"));
        assert_eq!(
            family("6.1.0 (a@x86_64) (aarch64-linux-gnu-gcc (GCC) 12.2) #1 SMP"),
            Some("Arm")
        );
        assert_eq!(family("6.1.0 (a@x86_64) (gcc 12) #1 SMP"), None);
        let text = "[    0.000000] Linux version 6.1.0-13-amd64 (a@b) (gcc 12) #1 SMP\n\
                    [    0.000000] Linux version 6.1.0 (a@b) (riscv64-linux-gnu-gcc 12) #1 SMP\n";
        assert_eq!(shown(text).len(), 2);
        // By a message, if the banner does not show it.
        let arm = "[    0.000000] arch_timer: cp15 timer(s) running at 24.00MHz (phys).\n\
                   [    0.010000] clocksource: Switched to clocksource arch_sys_counter\n";
        let x86 = "[    0.500000] tsc: Marking TSC unstable due to TSCs unsynchronized\n";
        assert_eq!(shown(&format!("{FIRST}{x86}{OTHER}{arm}")).len(), 2);
        assert_eq!(shown(&format!("{FIRST}{x86}{OTHER}{x86}")).len(), 1);
    }

    #[test]
    fn console_of_a_guest_is_no_boot_of_its_host() {
        let text = format!(
            "root@kvm1:~# dmesg\n{FIRST}root@kvm1:~# virsh console web3\n{OTHER}root@kvm1:~# \n"
        );
        let (host, guest) = (Some("kvm1".to_owned()), Some("web3".to_owned()));
        let found = [(host, "1-3, 5-5".to_owned()), (guest, "4-4".to_owned())];
        assert_eq!(shown(&text), found);
    }

    #[test]
    fn hosts_in_front_of_the_lines_name_machines() {
        let boot = |host: &str| {
            format!(
                "Oct  3 10:00:01 {host} kernel: [    0.000000] Linux version 6.1.0 (a@b) (gcc 12) #1 SMP\n"
            )
        };
        let text = format!("{}{}{}", boot("web1"), boot("web2"), boot("web1"));
        let found = shown(&text);
        assert_eq!(found.len(), 2, "{found:?}");
        assert_eq!(found[0], (Some("web1".to_owned()), "1-1, 3-3".to_owned()));
        assert_eq!(shown(&format!("{}{}", boot("localhost"), boot("web1"))).len(), 1);
    }

    #[test]
    fn line_in_front_of_a_banner_belongs_to_its_boot() {
        let text = format!(
            "{FIRST}[    1.630000] clocksource: Switched to clocksource tsc\n\
             [    0.000000] Booting Linux on physical CPU 0x0000000000 [0x410fd490]\n{OTHER}\
             [    0.100000] arch_timer: cp15 timer(s) running at 25.00MHz (virt).\n"
        );
        let x86 = text
            .replace("(gcc 12) #1 SMP", "(gcc 12) #1 SMP x86_64")
            .replace("6.1.0 ", "6.1.0-amd64 ");
        let found = shown(&x86);
        assert_eq!((found[0].1.as_str(), found[1].1.as_str()), ("1-2", "3-5"));
    }

    #[test]
    fn words_of_people_are_no_banners() {
        let text = format!(
            "{FIRST}[    0.000000] DMI: Acme R1/B1, BIOS 1\nLinux version 6.6.1 (a@b) (gcc) #1 SMP\nDMI: Acme R2/B1\n"
        );
        assert!(shown(&text).is_empty());
    }
}

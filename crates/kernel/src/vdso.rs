//! Which clock ids are served without a system call.

use crate::expectation::{Candidate, Reason, VdsoClock};
use crate::feature::Feature;
use crate::{Expectation, Machine, arch_vdso};
use clocksmith_facts::Arch;

/// `hv_read_tsc_page_tsc()` in `include/clocksource/hyperv_timer.h`. The host writes the sequence into memory that no
/// file and no log shows; 0 is rare (a migration in progress, a host without a usable TSC).
const HYPERV_SEQUENCE: &str = "whether the host keeps Hyper-V's reference page valid: while its sequence number is 0, every read \
                               is a system call; a measurement on the machine shows it (clocksmith why)";

/// Fills `vdso`, `clocks`, and adds open questions to `undecided`.
pub(crate) fn decide(machine: &Machine, out: &mut Expectation) {
    let Some(current) = out.current.clone() else { return };
    let kernel = &machine.kernel.value;
    let line = &machine.cmdline.value;
    let candidate = out.candidates.iter().find(|c| c.name == current);
    let (precise, why) = precise(machine, &current, candidate);
    let off = line.last("vdso") == Some("0") && machine.arch.value == Arch::X86_64;
    let (precise, why) = if off {
        (Some(false), format!("vdso=0 on the command line{}", machine.cmdline.cite()))
    } else {
        (precise, why)
    };
    let coarse = if off { Some(false) } else { arch_vdso::serves_coarse(machine) };
    let mut push = |clock: &str, vdso: Option<bool>, why: &str| {
        out.clocks.push(VdsoClock { clock: clock.to_owned(), vdso, why: why.to_owned() });
    };
    push("CLOCK_REALTIME", precise, &why);
    push("CLOCK_MONOTONIC", precise, &why);
    let coarse_why = match coarse {
        _ if off => why.as_str(),
        Some(false) => "a system call on this kernel, which reads no counter: the last tick",
        _ => "the last tick: no counter is read",
    };
    push("CLOCK_REALTIME_COARSE", coarse, coarse_why);
    push("CLOCK_MONOTONIC_COARSE", coarse, coarse_why);
    let generic = Feature::GenericVdso.of(kernel);
    let later = |has: bool| if has { precise } else { Some(false) };
    let raw_why =
        if generic { why.as_str() } else { "a system call before 5.3, whatever the clocksource" };
    push("CLOCK_MONOTONIC_RAW", later(generic), raw_why);
    push("CLOCK_BOOTTIME", later(generic), raw_why);
    let tai = Feature::TaiVdso.of(kernel);
    let tai_why = if tai { why.as_str() } else { "a system call before 4.20" };
    push("CLOCK_TAI", later(tai), tai_why);
    let never = "always a system call: it reads the scheduler's accounting";
    push("CLOCK_PROCESS_CPUTIME_ID", Some(false), never);
    push("CLOCK_THREAD_CPUTIME_ID", Some(false), never);
    out.vdso = precise;
    if precise == Some(true) && current == "hyperv_clocksource_tsc_page" {
        out.undecided.push(HYPERV_SEQUENCE.to_owned());
    }
    out.reasons.push(Reason {
        rule: "vdso".to_owned(),
        because: why,
        source: "clocksource.vdso_clock_mode (5.7+), archdata.vclock_mode (3.1 to 5.6)".to_owned(),
    });
}

/// Whether the vDSO serves CLOCK_MONOTONIC on this kernel when that clocksource is current; `None` if nothing is known
/// of it.
#[must_use]
pub fn serves(machine: &Machine, name: &str) -> Option<bool> {
    let machine = &arch_vdso::with_arch_of(machine, name);
    let has_mode = arch_vdso::has_mode(machine, name)?;
    let candidate = Candidate { name: name.to_owned(), rating: 0, hres: true, vdso: has_mode };
    if machine.cmdline.value.last("vdso") == Some("0") {
        return Some(false);
    }
    // A read of the HPET through the vDSO is still a device access.
    if name == "hpet" {
        return Some(false);
    }
    precise(machine, name, Some(&candidate)).0
}

fn precise(
    machine: &Machine,
    current: &str,
    candidate: Option<&Candidate>,
) -> (Option<bool>, String) {
    let kernel = &machine.kernel.value;
    if let Some(source) = &machine.counter_trapped
        && matches!(machine.arch.value, Arch::Arm64 | Arch::Arm)
    {
        return (
            Some(false),
            format!("an erratum workaround traps the counter, so the vDSO is off [{source}]"),
        );
    }
    if machine.arch.value == Arch::Riscv
        && current == "riscv_clocksource"
        && Feature::RiscvVdso.of(kernel)
        && let Some(source) = &machine.time_csr_emulated
    {
        let why = format!("firmware emulates the time CSR, so each read of it traps [{source}]");
        return (Some(false), why);
    }
    if machine.arch.value == Arch::Arm && machine.vdso_nulled && current == "arch_sys_counter" {
        let why = "the device tree's timer makes this kernel disable the clock in its vDSO: every \
                   read is a system call";
        return (Some(false), why.to_owned());
    }
    if machine.arch.value == Arch::X86 && !Feature::Vdso32.of(kernel) {
        return (Some(false), "32-bit x86 has no clock_gettime in its vDSO before 3.15".to_owned());
    }
    if machine.arch.value == Arch::X86_64 && !Feature::Vdso64.of(kernel) {
        let why = "64-bit x86 has no vDSO before 2.6.23: its vsyscall page serves gettimeofday and time, and \
                   clock_gettime is a system call";
        return (Some(false), why.to_owned());
    }
    let Some(candidate) = candidate else {
        return (None, format!("nothing is known about the clocksource {current}"));
    };
    if !candidate.vdso {
        let why = match current {
            "xen" => match &machine.xen_no_vdso {
                Some(source) => format!("xen: the vDSO mode is refused on this host [{source}]"),
                None => "xen has a vDSO mode only since 4.15".to_owned(),
            },
            "kvm-clock" if machine.arch.value == Arch::X86 => {
                "32-bit x86 has no vDSO mode of kvm-clock: every read is a system call".to_owned()
            }
            _ => format!("{current} has no vDSO mode: every read is a system call"),
        };
        return (Some(false), why);
    }
    if matches!(current, "kvm-clock" | "xen") {
        let bit = &machine.pvclock_stable;
        let cite = bit.cite();
        return if bit.value {
            (Some(true), format!("{current} with the host's stable bit{cite} is read by the vDSO"))
        } else {
            (
                Some(false),
                format!(
                    "{current} without the host's stable bit{cite} falls back to the system call"
                ),
            )
        };
    }
    // glibc: sysdeps/unix/sysv/linux/i386/init-first.c, since 2.20 (2014).
    let library = match machine.arch.value {
        Arch::X86 => ", by programs whose C library calls the vDSO of 32 bits (glibc since 2.20)",
        _ => "",
    };
    (Some(true), format!("{current} is read by the vDSO{library}"))
}

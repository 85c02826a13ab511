//! CPUID on every CPU.
//!
//! The instruction answers for the CPU that runs it, so a helper thread is pinned to one CPU after
//! the other; the caller's affinity is not changed. Isolated CPUs are skipped (they are
//! isolated to keep other threads off them), and a CPU that does not run the helper
//! in time is skipped: it may be busy with a real-time task for ever.

use crate::cpu::CpuList;
use crate::cpuid::CpuidDump;
use crate::{Missing, Why};

/// The name of the source.
pub const SOURCE: &str = "cpuid";

/// CPUID of the online CPUs: all leaves of the first one, and the leaves about clocks of the others.
///
/// # Errors
/// Returns an error if the architecture has no CPUID, or if the kernel makes the instruction fault in this process.
#[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
pub fn dump(online: &CpuList, isolated: &CpuList) -> Result<CpuidDump, Missing> {
    x86::dump(online, isolated)
}

/// CPUID of the online CPUs: this architecture does not have it.
///
/// # Errors
/// Always returns an error.
#[cfg(not(any(target_arch = "x86_64", target_arch = "x86")))]
pub fn dump(_online: &CpuList, _isolated: &CpuList) -> Result<CpuidDump, Missing> {
    Err(Missing { why: Why::NotApplicable, at: None, how: None })
}

#[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
mod x86 {
    use super::{CpuList, CpuidDump, Missing, SOURCE, Why};
    use crate::cpuid::{Leaves, Regs, signature_at};
    use rustix::thread::{CpuSet, sched_setaffinity};
    use std::sync::mpsc;
    use std::time::{Duration, Instant};

    #[cfg(target_arch = "x86")]
    use std::arch::x86::__cpuid_count;
    #[cfg(target_arch = "x86_64")]
    use std::arch::x86_64::__cpuid_count;

    /// The time within which one CPU must run the helper; then it is skipped. A busy machine runs a new
    /// thread within a few tens of milliseconds.
    const PATIENCE: Duration = Duration::from_millis(250);
    /// The time for all of them together.
    const BUDGET: Duration = Duration::from_millis(500);

    /// Leaves of the CPUs after the first that are compared between CPUs.
    const BASIC: [u32; 6] = [0, 1, 6, 7, 0x15, 0x16];
    const EXTENDED: [u32; 4] = [0x8000_0000, 0x8000_0001, 0x8000_0007, 0x8000_0008];

    type Answer = (u32, Result<Leaves, String>);

    pub(super) fn dump(online: &CpuList, isolated: &CpuList) -> Result<CpuidDump, Missing> {
        if faulting() {
            let why = Why::Unreadable("CPUID faults in this process (arch_prctl)".to_owned());
            return Err(Missing::new(why, SOURCE));
        }
        let mut dump = CpuidDump::default();
        let mut wanted: Vec<u32> = online.0.difference(&isolated.0).copied().collect();
        for cpu in online.0.intersection(&isolated.0) {
            dump.unasked.insert(*cpu, "isolated, left alone".to_owned());
        }
        if wanted.is_empty() {
            wanted.extend(online.0.first());
        }
        let (sender, answers) = mpsc::channel();
        let asked = wanted.clone();
        let helper = std::thread::Builder::new()
            .name("cpuid".to_owned())
            .spawn(move || ask_each(&asked, &sender));
        if helper.is_ok() {
            let begun = Instant::now();
            for cpu in &wanted {
                let patience = PATIENCE.min(BUDGET.saturating_sub(begun.elapsed()));
                match answers.recv_timeout(patience) {
                    Ok((cpu, Ok(leaves))) => {
                        dump.cpus.insert(cpu, leaves);
                    }
                    Ok((cpu, Err(reason))) => {
                        dump.unasked.insert(cpu, reason);
                    }
                    Err(_) => {
                        // The helper is left behind: it waits for this CPU.
                        let late = wanted.iter().filter(|other| *other >= cpu);
                        dump.unasked.extend(late.map(|cpu| (*cpu, "no answer in time".to_owned())));
                        break;
                    }
                }
            }
        }
        if dump.cpus.is_empty() {
            // No CPU could be chosen: query the one that runs this thread now.
            let cpu = u32::try_from(rustix::thread::sched_getcpu()).unwrap_or(0);
            dump.cpus.insert(cpu, all_leaves());
            dump.unasked.remove(&cpu);
        }
        Ok(dump)
    }

    /// Runs in the helper thread; ends when the receiver is gone.
    fn ask_each(cpus: &[u32], answers: &mpsc::Sender<Answer>) {
        let mut first: Option<Leaves> = None;
        for cpu in cpus {
            let answer = pin(*cpu).map(|()| match &first {
                None => all_leaves(),
                Some(first) => some_leaves(first),
            });
            if let (None, Ok(leaves)) = (&first, &answer) {
                first = Some(leaves.clone());
            }
            if answers.send((*cpu, answer)).is_err() {
                return;
            }
        }
    }

    fn pin(cpu: u32) -> Result<(), String> {
        let index = cpu as usize;
        if index >= CpuSet::MAX_CPU {
            return Err(format!("CPUs from {} on cannot be chosen", CpuSet::MAX_CPU));
        }
        let mut set = CpuSet::new();
        set.set(index);
        sched_setaffinity(None, &set).map_err(|error| format!("cannot run there: {error}"))
    }

    /// Whether the kernel makes the instruction fault (`arch_prctl(ARCH_SET_CPUID, 0)`).
    fn faulting() -> bool {
        const ARCH_GET_CPUID: libc::c_ulong = 0x1011;
        #[cfg(target_arch = "x86_64")]
        const SYS_ARCH_PRCTL: libc::c_long = libc::SYS_arch_prctl;
        // Added to 32-bit x86 in 4.12, for this operation.
        #[cfg(target_arch = "x86")]
        const SYS_ARCH_PRCTL: libc::c_long = 384;
        // SAFETY: this operation only returns a flag of the calling thread and takes no pointer.
        // Kernels without it (before 4.12) return an error, and cannot make CPUID fault.
        unsafe { libc::syscall(SYS_ARCH_PRCTL, ARCH_GET_CPUID, 0) == 0 }
    }

    fn ask(leaf: u32, subleaf: u32) -> Regs {
        // SAFETY: every x86 CPU on which this target runs has the instruction; it reads no memory; `faulting()` was
        // checked first.
        #[allow(unused_unsafe)]
        let regs = unsafe { __cpuid_count(leaf, subleaf) };
        Regs { eax: regs.eax, ebx: regs.ebx, ecx: regs.ecx, edx: regs.edx }
    }

    fn all_leaves() -> Leaves {
        let mut leaves = Leaves::new();
        let highest = ask(0, 0).eax.min(0x40);
        for leaf in 0..=highest {
            let subleaves = match leaf {
                // The serial number of a Pentium III is private.
                3 => continue,
                4 | 7 | 0xb | 0xd | 0x1f => 4,
                _ => 1,
            };
            for subleaf in 0..subleaves {
                leaves.insert((leaf, subleaf), ask(leaf, subleaf));
            }
        }
        hypervisor_leaves(&mut leaves);
        let highest = ask(0x8000_0000, 0).eax.min(0x8000_0028);
        for leaf in 0x8000_0000..=highest {
            leaves.insert((leaf, 0), ask(leaf, 0));
        }
        leaves
    }

    /// Every base that has a signature, and the leaves after it.
    fn hypervisor_leaves(leaves: &mut Leaves) {
        for base in (0x4000_0000..=0x4001_0000).step_by(0x100) {
            let head = ask(base, 0);
            let Some(signature) = signature_at(base, &head) else { continue };
            leaves.insert((base, 0), head);
            if signature.kind.is_none() {
                continue;
            }
            for leaf in base + 1..=base + 0x10 {
                leaves.insert((leaf, 0), ask(leaf, 0));
            }
            // Xen: the time leaf has three parts.
            for subleaf in 1..=2 {
                leaves.insert((base + 3, subleaf), ask(base + 3, subleaf));
            }
        }
    }

    /// The leaves that are compared between CPUs, if the first CPU has them.
    fn some_leaves(first: &Leaves) -> Leaves {
        let bases = (0x4000_0000..=0x4001_0000).step_by(0x100);
        BASIC
            .into_iter()
            .chain(bases)
            .chain(EXTENDED)
            .filter(|leaf| first.contains_key(&(*leaf, 0)))
            .map(|leaf| ((leaf, 0), ask(leaf, 0)))
            .collect()
    }
}

#[cfg(all(test, any(target_arch = "x86_64", target_arch = "x86")))]
mod tests {
    use super::*;

    #[test]
    fn this_machine_answers_and_keeps_its_affinity() {
        let before = rustix::thread::sched_getaffinity(None).unwrap();
        let cpus = std::thread::available_parallelism().unwrap().get();
        let online = CpuList((0..u32::try_from(cpus).unwrap()).collect());
        let dump = dump(&online, &CpuList::default()).unwrap();
        assert!(dump.vendor().is_some_and(|vendor| vendor.len() == 12));
        assert_eq!(dump.cpus.len() + dump.unasked.len(), cpus.max(dump.cpus.len()));
        assert_eq!(rustix::thread::sched_getaffinity(None).unwrap(), before);
        let text = dump.to_string();
        assert_eq!(CpuidDump::parse(&text), Ok(dump));
    }

    #[test]
    fn cpus_that_are_not_there_are_named() {
        let dump = dump(&CpuList([0, 1000, 5000].into()), &CpuList::default()).unwrap();
        assert!(dump.unasked.contains_key(&1000) && dump.unasked.contains_key(&5000));
    }

    #[test]
    fn isolated_cpus_are_left_alone() {
        let dump = dump(&CpuList([0, 1].into()), &CpuList([1].into())).unwrap();
        // If CPU 0 is too busy to answer, the CPU that runs this test answers.
        if dump.cpus.contains_key(&0) {
            assert_eq!(dump.unasked.get(&1).map(String::as_str), Some("isolated, left alone"));
            assert!(!dump.cpus.contains_key(&1));
        }
    }
}

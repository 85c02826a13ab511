//! Questions about a machine that is not: what was observed stays, unless the question takes its ground away.
#![allow(clippy::unwrap_used)]

use clocksmith_facts::Facts;
use clocksmith_facts::log::KernelLog;
use clocksmith_kernel::{Machine, predict};

#[test]
fn set_cmdline_of_unsynchronized_machine_keeps_the_reason() {
    let log = "[    0.000000] Linux version 5.10.0-28-amd64 (build@example.org) (gcc-10 10.2.1) #1 SMP Debian 5.10.209-2\n\
               [    0.000000] Command line: quiet no-kvmclock\n\
               [    0.000000] Hypervisor detected: KVM\n\
               [    0.012000] smpboot: Allowing 4 CPUs, 0 hotplug CPUs\n\
               [    0.210000] smpboot: CPU0: AMD EPYC-Rome Processor (family: 0x17, model: 0x31, stepping: 0x0)\n\
               [    0.230000] clocksource: hpet: mask: 0xffffffff max_cycles: 0xffffffff, max_idle_ns: 19112604467 ns\n\
               [    0.270000] tsc: Marking TSC unstable due to TSCs unsynchronized\n\
               [    0.980000] clocksource: Switched to clocksource hpet\n";
    let facts = Facts::from_log(KernelLog::scan(log.as_bytes(), "dmesg").unwrap());
    let mut machine = Machine::of(&facts);
    machine.set_cmdline("quiet no-kvmclock panic=5");
    assert_eq!(predict(&machine).current.as_deref(), Some("hpet"));
    machine.set("constant_tsc", "yes").unwrap();
    assert_eq!(predict(&machine).current.as_deref(), Some("tsc"));
}

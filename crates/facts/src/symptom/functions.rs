//! Functions in profiles of programs that read the time, and the evidence of each.

use serde::Serialize;

/// The part of a function in reading the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Reads the hardware of one clocksource, in the kernel. The word is the clocksource's name.
    Reads(&'static str),
    /// Reads a paravirtual clock's page in the kernel: for the clocksource or for the scheduler's clock.
    Page,
    /// Reads the counter of Arm's generic timer: for the clocksource, for the scheduler's clock or for a delay.
    Counter,
    /// Reads the time in the kernel, for the kernel itself or for a system call.
    Keeps,
    /// The system call that reads a clock.
    SystemCall,
    /// The entry into the kernel of any system call.
    Entry,
    /// The function of the vDSO.
    Vdso,
    /// The function of a library or of a language's run time that programs call.
    Library,
}

/// The function's role, if it is involved in reading the time.
///
/// Names: `drivers/clocksource/acpi_pm.c`, `arch/x86/kernel/{hpet,tsc,kvmclock,pvclock}.c`, `arch/x86/xen/time.c`,
/// `drivers/clocksource/{hyperv_timer,i8253,arm_arch_timer}.c`, `kernel/time/{timekeeping,posix-timers,time}.c`,
/// `arch/x86/entry`, 2.6.32 to 7.1.
#[must_use]
pub fn role(name: &str) -> Option<Role> {
    let name = bare(name);
    Some(match name {
        "acpi_pm_read" | "acpi_pm_read_slow" | "acpi_pm_read_verified" | "acpi_pm_check_read" => {
            Role::Reads("acpi_pm")
        }
        "read_hpet" | "hpet_readl" => Role::Reads("hpet"),
        "kvm_clock_get_cycles" => Role::Reads("kvm-clock"),
        "xen_clocksource_get_cycles" => Role::Reads("xen"),
        "read_hv_clock_tsc" | "read_hv_clock_tsc_cs" => Role::Reads("hyperv_clocksource_tsc_page"),
        "read_hv_clock_msr" | "read_hv_clock_msr_cs" => Role::Reads("hyperv_clocksource_msr"),
        "read_hv_clock" => Role::Reads("hyperv_clocksource"),
        "read_tsc" => Role::Reads("tsc"),
        "pit_read" | "i8253_read" => Role::Reads("pit"),
        "jiffies_read" => Role::Reads("jiffies"),
        "arch_counter_get_cntvct"
        | "arch_counter_get_cntpct"
        | "arch_counter_get_cntvct_stable"
        | "arch_counter_get_cntpct_stable" => Role::Counter,
        "arch_counter_read" => Role::Reads("arch_sys_counter"),
        "pvclock_clocksource_read"
        | "pvclock_clocksource_read_nowd"
        | "kvm_clock_read"
        | "xen_clocksource_read" => Role::Page,
        "__vdso_clock_gettime"
        | "__vdso_gettimeofday"
        | "__vdso_time"
        | "__kernel_clock_gettime"
        | "__kernel_gettimeofday"
        | "[vdso]"
        | "__cvdso_clock_gettime"
        | "linux-vdso.so.1" => Role::Vdso,
        "clock_gettime"
        | "__clock_gettime"
        | "gettimeofday"
        | "__gettimeofday"
        | "__clock_gettime_2"
        | "time.now"
        | "time.Now"
        | "time.Since"
        | "runtime.nanotime"
        | "runtime.nanotime1"
        | "runtime.walltime"
        | "runtime.walltime1"
        | "os::javaTimeNanos"
        | "os::javaTimeMillis"
        | "JVM_NanoTime"
        | "JVM_CurrentTimeMillis"
        | "java.lang.System.nanoTime"
        | "java.lang.System.currentTimeMillis"
        | "java/lang/System.nanoTime"
        | "java/lang/System.currentTimeMillis"
        | "std::chrono::_V2::system_clock::now"
        | "std::chrono::_V2::steady_clock::now" => Role::Library,
        _ if is_system_call(name) => Role::SystemCall,
        "entry_SYSCALL_64"
        | "entry_SYSCALL_64_after_hwframe"
        | "entry_SYSCALL_64_fastpath"
        | "do_syscall_64"
        | "x64_sys_call"
        | "system_call_fastpath"
        | "system_call"
        | "sysenter_do_call"
        | "el0_svc"
        | "do_el0_svc"
        | "syscall_return_via_sysret" => Role::Entry,
        _ if name.starts_with("ktime_get") || name.starts_with("getnstimeofday") => Role::Keeps,
        "__getnstimeofday" | "__getnstimeofday64" | "do_gettimeofday" | "timekeeping_get_ns" => {
            Role::Keeps
        }
        _ => return None,
    })
}

/// Whether a function does the work itself, so that its own share counts: the read of a register or of a page. An interrupt
/// during the read is counted in the share with children.
pub(super) fn is_leaf(name: &str) -> bool {
    match role(name) {
        Some(Role::Reads(source)) => !matches!(source, "kvm-clock" | "xen"),
        Some(Role::Counter) => true,
        Some(Role::Page) => name.starts_with("pvclock_"),
        _ => false,
    }
}

/// Whether a clocksource is one of a guest, which no watchdog reads as a reference.
pub(super) fn is_of_a_guest(clocksource: &str) -> bool {
    clocksource == "kvm-clock" || clocksource == "xen" || clocksource.starts_with("hyperv_")
}

/// Whether the name of a function is one of the kernel: the function reads the time for the kernel itself, or calls
/// such a function.
///
/// Names: `kernel/{delayacct,sched,time,rcu,irq,softirq}`, `block`, `drivers/cpuidle`, `net/core`, 2.6.32 to 7.1.
pub(super) fn is_of_kernel(name: &str) -> bool {
    const BEGINS: [&str; 41] = [
        "swapper",
        "__delayacct_",
        "delayacct_",
        "tick_",
        "__tick_",
        "hrtimer_",
        "__hrtimer_",
        "clockevents_",
        "update_wall_time",
        "timekeeping_advance",
        "clocksource_watchdog",
        "do_idle",
        "cpu_idle",
        "cpuidle_",
        "cpu_startup_entry",
        "start_secondary",
        "menu_select",
        "irq_enter",
        "irq_exit",
        "__irq_",
        "smp_apic_timer",
        "sysvec_",
        "asm_sysvec_",
        "apic_timer_interrupt",
        "__do_softirq",
        "handle_softirqs",
        "run_timer_softirq",
        "rcu_",
        "scheduler_tick",
        "sched_clock",
        "update_rq_clock",
        "io_schedule",
        "try_to_wake_up",
        "__schedule",
        "blk_",
        "__blk_",
        "submit_bio",
        "ksys_",
        "vfs_",
        "kthread",
        "ret_from_fork",
    ];
    let of_a_call = |mark: &str| name.starts_with(mark) && name.len() > mark.len();
    BEGINS.iter().any(|begin| name.starts_with(begin))
        || ["__x64_sys_", "__ia32_sys_", "__arm64_sys_", "__se_sys_", "__do_sys_", "sys_", "SyS_"]
            .into_iter()
            .any(of_a_call)
}

/// Whether a function only passes the time on, so that its caller is the reader.
pub(super) fn is_passed(name: &str) -> bool {
    name.starts_with("timekeeping_get")
        || name.starts_with("read_seqcount")
        || name == "clocksource_read"
}

/// `sys_clock_gettime`, `__x64_sys_gettimeofday`, `__do_sys_clock_gettime` and what they call.
fn is_system_call(name: &str) -> bool {
    let of_a_call = name.find("sys_").filter(|at| {
        let before = &name[..*at];
        before.is_empty() || before.starts_with('_') || before.starts_with("compat_")
    });
    let call = name.strip_prefix("SyS_").or_else(|| of_a_call.map(|at| &name[at + 4..]));
    matches!(
        call,
        Some("clock_gettime" | "clock_gettime32" | "clock_gettime64" | "gettimeofday" | "time")
    ) || matches!(
        name,
        "posix_get_monotonic_timespec"
            | "posix_get_realtime_timespec"
            | "posix_ktime_get_ts"
            | "posix_clock_realtime_get"
            | "posix_get_monotonic_raw"
    )
}

/// A name without the additions of profilers: `read_hpet_[k]`, `clock_gettime@@GLIBC_2.17`, `read_tsc+0x9`,
/// `ktime_get.isra.0`.
pub(super) fn bare(name: &str) -> &str {
    let name = name.trim();
    let name = name.strip_suffix("_[k]").or_else(|| name.strip_suffix("_[j]")).unwrap_or(name);
    let name = name.strip_suffix("_[0]").unwrap_or(name);
    let end = name.find(['@', '+', '(']).filter(|at| *at > 0).unwrap_or(name.len());
    let name = name[..end].trim_end();
    for mark in [".isra.", ".part.", ".constprop.", ".llvm."] {
        if let Some(at) = name.find(mark) {
            return &name[..at];
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_what_profilers_add_are_known() {
        for (name, expected) in [
            ("acpi_pm_read", Some(Role::Reads("acpi_pm"))),
            ("read_hpet_[k]", Some(Role::Reads("hpet"))),
            ("ktime_get.isra.0", Some(Role::Keeps)),
            ("clock_gettime@@GLIBC_2.17", Some(Role::Library)),
            ("read_tsc+0x9", Some(Role::Reads("tsc"))),
            ("__x64_sys_clock_gettime", Some(Role::SystemCall)),
            ("sys_gettimeofday", Some(Role::SystemCall)),
            ("SyS_clock_gettime", Some(Role::SystemCall)),
            ("__ia32_compat_sys_gettimeofday", Some(Role::SystemCall)),
            ("SyS_write", None),
            ("pvclock_clocksource_read", Some(Role::Page)),
            // The scheduler's clock and the calibration are not clocksources.
            ("native_sched_clock", None),
            ("sys_clock_nanosleep", None),
            ("mysys_time", None),
            ("read_hpet_table", None),
        ] {
            assert_eq!(role(name), expected, "{name}");
        }
    }
}

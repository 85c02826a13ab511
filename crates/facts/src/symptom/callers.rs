//! The reason why the kernel reads the time, according to a stack: a program whose system call reads a clock, or the
//! kernel itself, for its accounting, its timers, its scheduler.

use super::functions::{self, Role};

/// The reader of the time in a stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Called {
    /// The kernel does not read the time in the stack, or the stack is truncated.
    Open,
    /// A system call that reads a clock, or a function that programs call, leads to the read.
    ByProgram,
    /// A function of the kernel reads the time for the kernel.
    ByKernel(String),
}

/// A stack, frame by frame, leaf first.
#[derive(Debug, Default)]
pub(super) struct Caller<'a> {
    /// Whether the kernel reads the time in this stack.
    reads: bool,
    /// The first frame outside the functions that read the time.
    first: Option<&'a str>,
    /// Whether that frame, or an outer one, is of the kernel.
    in_kernel: bool,
    by_program: bool,
}

impl<'a> Caller<'a> {
    /// Adds the next frame.
    pub(super) fn step(&mut self, frame: &'a str, role: Option<Role>) {
        match role {
            Some(Role::Reads(_) | Role::Page | Role::Counter | Role::Keeps)
                if self.first.is_none() =>
            {
                self.reads = true;
            }
            Some(Role::SystemCall | Role::Library | Role::Vdso) => self.by_program |= self.reads,
            // The entry into the kernel is outside a function of the kernel, and does not read the time.
            Some(Role::Entry) => self.in_kernel |= self.first.is_some(),
            _ if self.reads => {
                let frame = functions::bare(frame);
                self.in_kernel |= functions::is_of_kernel(frame);
                if self.first.is_none() && !functions::is_passed(frame) {
                    self.first = Some(frame);
                }
            }
            _ => {}
        }
    }

    pub(super) fn finish(self) -> Called {
        match self.first {
            _ if self.by_program => Called::ByProgram,
            Some(name) if self.in_kernel => Called::ByKernel(name.to_owned()),
            _ => Called::Open,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn called(stack: &str) -> Called {
        let mut caller = Caller::default();
        for frame in stack.split(';').rev() {
            caller.step(frame, functions::role(frame));
        }
        caller.finish()
    }

    #[test]
    fn stack_with_a_system_call_that_reads_a_clock_is_of_a_program() {
        for stack in [
            "java;JVM_NanoTime;clock_gettime;entry_SYSCALL_64_after_hwframe;do_syscall_64;__x64_sys_clock_gettime;ktime_get_ts64;read_hpet",
            "a;do_syscall_64;__x64_sys_gettimeofday;ktime_get_real_ts64;acpi_pm_read",
            "a;clock_gettime;read_hpet",
        ] {
            assert_eq!(called(stack), Called::ByProgram, "{stack}");
        }
    }

    #[test]
    fn stack_of_the_kernel_itself_names_what_reads() {
        for (stack, by) in [
            ("swapper;do_idle;tick_nohz_idle_enter;ktime_get;read_hpet", "tick_nohz_idle_enter"),
            (
                "dd;write;entry_SYSCALL_64_after_hwframe;do_syscall_64;ksys_write;io_schedule_timeout;__delayacct_blkio_start;ktime_get_ts;acpi_pm_read",
                "__delayacct_blkio_start",
            ),
            (
                "qemu;ioctl;do_syscall_64;kvm_arch_vcpu_ioctl_run;kvm_get_time;ktime_get;read_hpet_[k]",
                "kvm_get_time",
            ),
        ] {
            assert_eq!(called(stack), Called::ByKernel(by.to_owned()), "{stack}");
        }
    }

    #[test]
    fn stack_that_shows_neither_is_open() {
        for stack in [
            "main;work;read_hpet",
            "a;entry_SYSCALL_64_after_hwframe;do_syscall_64;read_hpet",
            "a;b",
            "",
        ] {
            assert_eq!(called(stack), Called::Open, "{stack}");
        }
    }
}

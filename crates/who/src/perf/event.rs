//! Opening events.

use crate::record::REGISTERS;
use crate::watched::patient;
use perf_event_open_sys as sys;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use sys::bindings as b;

/// The allowed content of samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Kernel and user space.
    Kernel,
    /// User space only, which the kernel allows without privilege.
    User,
}

/// The clock that is sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Beat {
    /// CPU time by a timer.
    CpuClock,
    /// Cycles by the processor's own counters.
    Cycles,
}

fn base(stack: u32) -> b::perf_event_attr {
    let mut attr = b::perf_event_attr {
        size: u32::try_from(size_of::<b::perf_event_attr>()).unwrap_or(0),
        sample_type: u64::from(
            b::PERF_SAMPLE_IP
                | b::PERF_SAMPLE_TID
                | b::PERF_SAMPLE_TIME
                | b::PERF_SAMPLE_CPU
                | b::PERF_SAMPLE_PERIOD
                | b::PERF_SAMPLE_CALLCHAIN
                | b::PERF_SAMPLE_REGS_USER
                | b::PERF_SAMPLE_STACK_USER,
        ),
        sample_regs_user: REGISTERS,
        sample_stack_user: stack,
        ..Default::default()
    };
    attr.set_disabled(1);
    attr.set_watermark(1);
    attr.__bindgen_anon_2.wakeup_watermark = 1 << 16;
    attr
}

/// Samples of a clock, `frequency` a second, with `stack` bytes of the user stack.
pub(super) fn sampling(
    beat: Beat,
    depth: Depth,
    frequency: u64,
    stack: u32,
    on_exec: bool,
    inherit: bool,
) -> b::perf_event_attr {
    let mut attr = base(stack);
    match beat {
        Beat::CpuClock => {
            attr.type_ = b::PERF_TYPE_SOFTWARE;
            attr.config = u64::from(b::PERF_COUNT_SW_CPU_CLOCK);
            // A fixed period, so that each sample represents the same time.
            attr.__bindgen_anon_1.sample_period = 1_000_000_000 / frequency.max(1);
        }
        Beat::Cycles => {
            attr.type_ = b::PERF_TYPE_HARDWARE;
            attr.config = u64::from(b::PERF_COUNT_HW_CPU_CYCLES);
            attr.set_freq(1);
            attr.__bindgen_anon_1.sample_freq = frequency;
        }
    }
    attr.set_exclude_kernel(u64::from(depth == Depth::User));
    attr.set_exclude_hv(1);
    attr.set_exclude_idle(1);
    attr.set_enable_on_exec(u64::from(on_exec));
    attr.set_inherit(u64::from(inherit));
    attr.set_comm(1);
    attr.set_comm_exec(1);
    attr.set_task(1);
    // To know the vDSO's addresses of a process that ends soon.
    attr.set_mmap(1);
    attr
}

/// A breakpoint on the execution of the instruction at an address.
pub(super) fn breakpoint(address: u64, stack: u32, leader: bool) -> b::perf_event_attr {
    let mut attr = base(stack);
    attr.type_ = b::PERF_TYPE_BREAKPOINT;
    attr.bp_type = HW_BREAKPOINT_X;
    attr.__bindgen_anon_3.bp_addr = address;
    // On x86 an execution breakpoint must be as long as a word.
    attr.__bindgen_anon_4.bp_len = size_of::<libc::c_long>() as u64;
    attr.__bindgen_anon_1.sample_period = 1;
    attr.set_exclude_kernel(1);
    attr.set_exclude_hv(1);
    // Only the leader is switched; the others follow it at the same instant.
    attr.set_disabled(u64::from(leader));
    attr
}

/// `HW_BREAKPOINT_X` (`include/uapi/linux/hw_breakpoint.h`).
const HW_BREAKPOINT_X: u32 = 4;

/// Opens an event on a thread (-1: all) and a processor (-1: any), perhaps in a group.
pub(super) fn open(
    attr: &mut b::perf_event_attr,
    tid: i32,
    cpu: i32,
    group: Option<BorrowedFd<'_>>,
) -> io::Result<OwnedFd> {
    let group = group.map_or(-1, |fd| fd.as_raw_fd());
    let flags = u64::from(b::PERF_FLAG_FD_CLOEXEC);
    let mut open = || {
        // SAFETY: the attributes are a live value of the type and size that they state.
        unsafe { sys::perf_event_open(attr, tid, cpu, group, flags as libc::c_ulong) }
    };
    // The kernel waits for the end of a change of its program.
    let fd = match u32::try_from(tid) {
        Ok(tid) => patient::ask(tid, &mut open),
        Err(_) => open(),
    };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just created this descriptor, and no other code owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Returns the count of an event, with those of its heirs: nanoseconds of CPU time for the CPU clock.
pub(super) fn count(event: BorrowedFd<'_>) -> io::Result<u64> {
    let mut value = 0u64;
    // SAFETY: writes at most eight bytes to a live value of eight; without a format, that is all there is.
    let read = unsafe { libc::read(event.as_raw_fd(), (&raw mut value).cast(), size_of::<u64>()) };
    match usize::try_from(read) {
        Ok(size) if size == size_of::<u64>() => Ok(value),
        Ok(_) => Ok(0),
        Err(_) => Err(io::Error::last_os_error()),
    }
}

/// Switches an event.
pub(super) fn switch(event: BorrowedFd<'_>, on: bool) -> io::Result<()> {
    // SAFETY: the descriptor is an event's; the operations take a number of flags.
    let result = unsafe {
        if on {
            sys::ioctls::ENABLE(event.as_raw_fd(), 0)
        } else {
            sys::ioctls::DISABLE(event.as_raw_fd(), 0)
        }
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Switches a sampling event on for this number of samples; then the kernel switches it off.
pub(super) fn arm(event: BorrowedFd<'_>, samples: u16) -> io::Result<()> {
    // SAFETY: the descriptor is an event's; the operation takes a number.
    let result = unsafe { sys::ioctls::REFRESH(event.as_raw_fd(), i32::from(samples)) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Sets the filter of a tracepoint's event: a condition on its fields, as in
/// `Documentation/trace/events.rst`.
pub(super) fn filter(event: BorrowedFd<'_>, condition: &str) -> io::Result<()> {
    let condition = std::ffi::CString::new(condition)?;
    // SAFETY: the descriptor is an event's; the kernel copies the string, which ends with a zero.
    let result =
        unsafe { sys::ioctls::SET_FILTER(event.as_raw_fd(), condition.as_ptr().cast_mut()) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Lets an event write to another one's ring.
pub(super) fn redirect(event: BorrowedFd<'_>, to: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: both descriptors are events'.
    let result = unsafe { sys::ioctls::SET_OUTPUT(event.as_raw_fd(), to.as_raw_fd()) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// The processors that are online: `/sys/devices/system/cpu/online`, or the number that this process
/// may use.
#[must_use]
pub fn online_cpus() -> Vec<i32> {
    let text = clocksmith_facts::given::text("/sys/devices/system/cpu/online").unwrap_or_default();
    let mut cpus = Vec::new();
    for part in text.trim().split(',') {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        if let (Ok(from), Ok(to)) = (from.parse::<i32>(), to.parse::<i32>()) {
            cpus.extend(from..=to.min(from.saturating_add(8192)));
        }
    }
    if cpus.is_empty() {
        let count = std::thread::available_parallelism().map_or(1, usize::from);
        cpus.extend(0..i32::try_from(count).unwrap_or(1));
    }
    cpus
}

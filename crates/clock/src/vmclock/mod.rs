//! The hypervisor's data about this machine's clock: whether the machine was migrated or restored, and the time.
//!
//! A VMCLOCK device is a page that the hypervisor writes and programs map (Linux 6.13 and later on x86 and arm64,
//! `/dev/vmclock0`, `drivers/ptp/ptp_vmclock.c`). When the machine has been moved to another host, or loaded from
//! a snapshot, its counter may have jumped and may run at another rate; no clock in the machine notices that until its
//! time daemon has measured again. The device's `disruption_marker` changes at that moment.
//!
//! ```
//! use clocksmith::vmclock::VmClock;
//!
//! match VmClock::open() {
//!     Ok(clock) => {
//!         let mut disruptions = clock.disruptions();
//!         // ... before each use of a time that must be right:
//!         if disruptions.happened() {
//!             // Leases, caches of time and measured rates from before are no longer valid.
//!         }
//!     }
//!     Err(why) => println!("{why}"),
//! }
//! ```
//!
//! Nothing is opened before the first call of [`VmClock::open`]. Most machines have no such device, and in many only
//! root may open it: the error reports either case.
//!
//! # Where it is not used
//!
//! [`realtime_bounded`](crate::realtime_bounded) does not use it. That is the kernel's clock with the kernel's bound; the
//! device is the hypervisor's statement about UTC ([`VmClock::utc_bounded`]). If the two contradict each other, nothing
//! here shows which one is wrong, and a smaller interval from both is right only if both are right. After a disruption
//! the kernel's bound is not to be trusted until the time daemon has set it again.

#[cfg(engine)]
mod device;
#[cfg(all(test, engine, clocksmith_loom))]
mod model;
#[cfg(engine)]
mod page;
#[cfg(all(test, engine, not(clocksmith_loom)))]
mod tests;

use core::ffi::CStr;
use core::fmt;

/// Which 64-bit word is the marker.
const MARKER: usize = 2;

/// The page of a VMCLOCK device, mapped for the life of the process. A copy is the same page.
///
/// All reads are async-signal-safe, never wait, and work in a forked child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VmClock(Page);

#[cfg(engine)]
use device::Mapped as Page;
/// Where there is no such device.
#[cfg(not(engine))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Page {}

impl VmClock {
    /// The first device, `/dev/vmclock0`.
    ///
    /// The first call in the process opens and maps it (a few system calls), or finds that this is not possible; every
    /// other call returns the same result, at the cost of a load.
    ///
    /// # Errors
    ///
    /// Returns the reason if there is no such device.
    #[inline]
    pub fn open() -> Result<Self, Unavailable> {
        #[cfg(engine)]
        return device::first().map(Self);
        #[cfg(not(engine))]
        Err(Unavailable::Unsupported)
    }

    /// Another device, or a file of one page with the same structure, for tests.
    ///
    /// Each call maps it again, and it stays mapped: call this once. A file must not become shorter: reading a mapped
    /// page after its end is fatal (SIGBUS).
    ///
    /// # Errors
    ///
    /// Returns the reason if the device or file cannot be used.
    pub fn open_at(path: &CStr) -> Result<Self, Unavailable> {
        #[cfg(engine)]
        return device::map(path).map(Self);
        #[cfg(not(engine))]
        {
            let _ = path;
            Err(Unavailable::Unsupported)
        }
    }

    /// A number that the hypervisor changes whenever this machine's counter was disrupted, by a migration or a restore
    /// from a snapshot. It never returns to an earlier value. Takes one load (two on 32-bit x86).
    ///
    /// The hypervisor writes it before the machine continues. So if it is the same before and after a program reads a
    /// clock, no disruption happened in between.
    #[inline]
    #[must_use]
    pub fn disruption_marker(&self) -> u64 {
        self.loaded(MARKER)
    }

    /// Watches the marker from now on.
    #[inline]
    #[must_use]
    pub fn disruptions(&self) -> Disruptions {
        Disruptions { clock: *self, seen: self.disruption_marker() }
    }

    /// Returns the content of the page, all of it at one moment. `None` if the hypervisor was writing it for the whole
    /// time that this function looked (a few microseconds): call it again.
    #[must_use]
    pub fn state(&self) -> Option<State> {
        #[cfg(engine)]
        return page::consistent(&self.0, page::copy).map(|copied| copied.state());
        #[cfg(not(engine))]
        match self.0 {}
    }

    /// The two times between which UTC lies according to the hypervisor: `(earliest, latest)` in
    /// nanoseconds since 1970.
    ///
    /// It is computed from the counter, the page's reference and its `maxerror` fields (of the time, and of the counter's
    /// rate since). It needs no time daemon in this machine, and is right immediately after a migration, as far as the
    /// hypervisor's statement is. UTC is not smeared here, and `CLOCK_REALTIME` may differ from it. While a
    /// leap second is due or under way the interval is a second wider on both sides.
    ///
    /// `None` if the hypervisor does not state both errors, does not declare its clock synchronised (see
    /// [`State::status`]), gives a time other than UTC or a counter other than this one, is writing the page; or if the
    /// counter must not be read (`PR_SET_TSC` for this thread; on x86 a system call determines that at each call).
    #[must_use]
    pub fn utc_bounded(&self) -> Option<(u64, u64)> {
        #[cfg(engine)]
        {
            use clocksmith_raw::counter::{Counter as _, Hardware};
            if !crate::kernel::keep_errno(crate::kernel::counter_is_allowed) {
                return None;
            }
            let both = |page: &Page| (Hardware::read_ordered(), page::copy(page));
            page::consistent(&self.0, both).and_then(|(counter, copied)| copied.utc(counter))
        }
        #[cfg(not(engine))]
        match self.0 {}
    }

    #[inline(always)]
    fn loaded(&self, index: usize) -> u64 {
        #[cfg(engine)]
        {
            use core::sync::atomic::{Ordering, compiler_fence};
            // The order in the program is enough: a processor that is stopped has done everything before, and nothing
            // after.
            compiler_fence(Ordering::SeqCst);
            let word = crate::paravirt::Words::word(&self.0, index);
            compiler_fence(Ordering::SeqCst);
            word
        }
        #[cfg(not(engine))]
        {
            let _ = index;
            match self.0 {}
        }
    }
}

/// Whether this machine was migrated or restored since the last check.
#[derive(Clone, Copy, Debug)]
pub struct Disruptions {
    clock: VmClock,
    seen: u64,
}

impl Disruptions {
    /// Whether the marker has changed since the last call, or since this was made. One load and a comparison. (On 32-bit
    /// x86 one disruption may be reported twice.)
    #[inline]
    pub fn happened(&mut self) -> bool {
        let marker = self.clock.disruption_marker();
        let changed = marker != self.seen;
        self.seen = marker;
        changed
    }
}

/// The content of the page at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct State {
    /// See [`VmClock::disruption_marker`].
    pub disruption_marker: u64,
    /// A number that changes when the machine was loaded from a snapshot, if the hypervisor has one: then identifiers,
    /// connections and seeds of random numbers may exist twice.
    pub vm_generation: Option<u64>,
    /// The state of the hypervisor's clock.
    pub status: Status,
    /// Leap seconds.
    pub leap: Leap,
    /// The field `tai_offset_sec`, if valid.
    pub tai_offset_seconds: Option<i16>,
    /// A disruption that the hypervisor announces.
    pub maintenance: Option<Maintenance>,
    /// Whether the page's time, except for leap seconds, never steps back when the hypervisor writes it.
    pub is_monotonic: bool,
    /// The estimated error of the time at the page's reference, in nanoseconds, if the hypervisor states one.
    pub esterror_ns: Option<u64>,
    /// The largest error of the time at the page's reference, in nanoseconds, if the hypervisor states one. It grows from there:
    /// [`VmClock::utc_bounded`] adds that.
    pub maxerror_ns: Option<u64>,
}

/// The state of the hypervisor's clock (`clock_status`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Status {
    /// The hypervisor does not report it.
    Unknown,
    /// It is being synchronised for the first time.
    Initialising,
    /// It is synchronised.
    Synchronised,
    /// It was synchronised, and now runs by itself.
    FreeRunning,
    /// It cannot be used.
    Unreliable,
    /// Another number.
    Other(u8),
}

impl Status {
    #[cfg(engine)]
    const fn of(number: u8) -> Self {
        match number {
            0 => Self::Unknown,
            1 => Self::Initialising,
            2 => Self::Synchronised,
            3 => Self::FreeRunning,
            4 => Self::Unreliable,
            other => Self::Other(other),
        }
    }

    /// The number in the page.
    #[must_use]
    pub const fn number(self) -> u8 {
        match self {
            Self::Unknown => 0,
            Self::Initialising => 1,
            Self::Synchronised => 2,
            Self::FreeRunning => 3,
            Self::Unreliable => 4,
            Self::Other(number) => number,
        }
    }

    /// A name in lower case, such as "free-running"; "other" for another number.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Initialising => "initialising",
            Self::Synchronised => "synchronised",
            Self::FreeRunning => "free-running",
            Self::Unreliable => "unreliable",
            Self::Other(_) => "other",
        }
    }
}

/// A leap second (`leap_indicator`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Leap {
    /// None is known to be near.
    None,
    /// A second is inserted at the end of this month.
    BeforeInserted,
    /// A second is left out at the end of this month.
    BeforeDeleted,
    /// This is the inserted second, 23:59:60.
    Inserted,
    /// A second was inserted.
    AfterInserted,
    /// A second was left out.
    AfterDeleted,
    /// Another number.
    Other(u8),
}

impl Leap {
    #[cfg(engine)]
    const fn of(number: u8) -> Self {
        match number {
            0 => Self::None,
            1 => Self::BeforeInserted,
            2 => Self::BeforeDeleted,
            3 => Self::Inserted,
            4 => Self::AfterInserted,
            5 => Self::AfterDeleted,
            other => Self::Other(other),
        }
    }

    /// The number in the page.
    #[must_use]
    pub const fn number(self) -> u8 {
        match self {
            Self::None => 0,
            Self::BeforeInserted => 1,
            Self::BeforeDeleted => 2,
            Self::Inserted => 3,
            Self::AfterInserted => 4,
            Self::AfterDeleted => 5,
            Self::Other(number) => number,
        }
    }

    /// A name in lower case, such as "before-inserted"; "other" for another number.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::BeforeInserted => "before-inserted",
            Self::BeforeDeleted => "before-deleted",
            Self::Inserted => "inserted",
            Self::AfterInserted => "after-inserted",
            Self::AfterDeleted => "after-deleted",
            Self::Other(_) => "other",
        }
    }
}

/// How near an announced disruption is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Maintenance {
    /// About a day.
    Soon,
    /// About an hour.
    Imminent,
}

/// The reason why no VMCLOCK device can be read. The text has the remedy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unavailable {
    /// Not Linux on x86 or aarch64.
    Unsupported,
    /// There is no such device.
    Absent,
    /// This process may not open or map it.
    Refused,
    /// The file is not the page of such a device.
    NotAVmClock,
    /// The structure has a version that this library does not know.
    Version(u16),
    /// Another error of the operating system.
    Failed(i32),
}

#[cfg(engine)]
impl Unavailable {
    /// As a number that is not zero and below 4096.
    fn code(self) -> usize {
        match self {
            Self::Unsupported => 1,
            Self::Absent => 2,
            Self::Refused => 3,
            Self::NotAVmClock => 4,
            Self::Version(version) => 1024 + usize::from(version).min(2047),
            Self::Failed(error) => 16 + usize::try_from(error).unwrap_or(0).min(1007),
        }
    }

    fn of_code(code: usize) -> Self {
        match code {
            1 => Self::Unsupported,
            2 => Self::Absent,
            3 => Self::Refused,
            1024.. => Self::Version(u16::try_from(code - 1024).unwrap_or(u16::MAX)),
            16.. => Self::Failed(i32::try_from(code - 16).unwrap_or(0)),
            _ => Self::NotAVmClock,
        }
    }
}

impl fmt::Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsupported => f.write_str("VMCLOCK devices are read on Linux on x86 and aarch64 only"),
            Self::Absent => f.write_str(
                "there is no VMCLOCK device: the hypervisor does not offer one, or the kernel has no driver for it \
                 (Linux 6.13 and later, CONFIG_PTP_1588_CLOCK_VMCLOCK)",
            ),
            Self::Refused => f.write_str(
                "opening the VMCLOCK device: permission denied; let the program's user read /dev/vmclock0 (a rule of udev)",
            ),
            Self::NotAVmClock => f.write_str("the file is not the page of a VMCLOCK device"),
            Self::Version(version) => {
                write!(f, "the VMCLOCK device has version {version} of its structure, and only version 1 is known")
            }
            Self::Failed(error) => write!(f, "opening the VMCLOCK device: error {error} of the operating system"),
        }
    }
}

impl core::error::Error for Unavailable {}

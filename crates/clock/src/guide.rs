//! The functions to call, how they work, and possible problems.

/// Which function do I call?
///
/// | I want to | call | costs |
/// |---|---|---|
/// | measure how long something took, in one thread | [`FastInstant::now`](crate::FastInstant::now) and `elapsed`, or [`monotonic_ns`](crate::monotonic_ns) | one counter read |
/// | compare times that *several threads* or async tasks took; replace `std::time::Instant` | [`Instant::now`](crate::Instant::now), or [`monotonic_ordered_ns`](crate::monotonic_ordered_ns) | a fence more |
/// | have the time of day as a value: compute, compare, show, parse and store it | [`Timestamp`](crate::Timestamp) | a fence more |
/// | stamp log lines with the time of day | [`realtime_ordered_ns`](crate::realtime_ordered_ns); in one thread [`realtime_ns`](crate::realtime_ns) | a fence more; one counter read |
/// | check a time-out now and then, where a few milliseconds do not matter | [`monotonic_coarse_ns`](crate::monotonic_coarse_ns) | two or three loads |
/// | the same, in a loop that runs a million times a second | [`CachedClock`](crate::CachedClock), updated once per iteration | one load |
/// | trace events on a very hot path, convert later | [`Ticks::now`](crate::Ticks::now), then [`TickAnchor`](crate::TickAnchor) | one counter read, no arithmetic |
/// | wait for something that must happen also after a suspend | [`boottime_ns`](crate::boottime_ns) | one counter read |
/// | measure an oscillator, or NTP itself | [`monotonic_raw_ns`](crate::monotonic_raw_ns) | one counter read |
/// | warn when the program starts that the kernel's clock is slow | [`is_slow`](crate::is_slow) | 0.3 ms |
/// | know how wrong the wall clock may be | [`realtime_bounded`](crate::realtime_bounded) | a fenced read, and a system call once a second |
/// | know that this machine was migrated, or restored from a snapshot | [`vmclock`](crate::vmclock) | a load, if the hypervisor offers it |
/// | test code that depends on time | [`Clock`](crate::Clock) with [`MockClock`](crate::MockClock) | nothing when not used |
/// | know the source that serves reads | [`source`](crate::source) | a read |
///
/// # When does order matter?
///
/// A processor may execute an unordered counter read before earlier loads have completed. Within a
/// thread this cannot be observed. Between threads it can:
///
/// ```text
/// thread 1:  t1 = monotonic_ns();  publish(t1)
/// thread 2:  t = wait for what was published;  t2 = monotonic_ns();   // t2 may be less than t
/// ```
///
/// In ordinary code this happens in one of 10^4 or 10^5 pairs, by a few tens of nanoseconds; in a loop
/// that waits for the other thread's value it is the normal case, by microseconds. If `t2 - t` is
/// computed with unsigned arithmetic, the result is an enormous number. So:
///
/// - one thread, or differences that are saturated and averaged: unordered, [`FastInstant`](crate::FastInstant);
/// - the order of events is concluded from times of several threads (queues, tracing, tokens, locks, leases): ordered,
///   [`Instant`](crate::Instant). The kernel's vDSO is ordered in the same way, and costs more;
/// - async code: ordered. A task may be on another thread after any `.await`.
///
/// In this crate [`SystemClock`](crate::SystemClock), `governor`, `tracing` and `compat` are ordered, because
/// their moments go from thread to thread; `compat::quanta`'s `Clock::raw` is not.
///
/// # What `std` programs should know
///
/// [`Instant`](crate::Instant) saturates where std's may panic (`+`, `-`); the `checked_` functions
/// return `None`. There is no moment before the zero of the clock, which on Linux is the start of the machine: a machine that has run
/// for a minute has no `now() - hour`, and returns the zero instead, so the interval is too short. Use
/// `Option<Instant>` to express that something is due at once. [`Anchor`](crate::Anchor) converts to and from
/// [`std::time::Instant`] and Unix time.
///
/// # Times of other crates
///
/// A [`Timestamp`](crate::Timestamp) converts by `into`, always, and is made by `try_from`, which fails before 1970 and after
/// July 2554:
///
/// | type | feature | |
/// |---|---|---|
/// | `std::time::SystemTime` | `std` | an ordered read and this cost what `SystemTime::now` costs |
/// | `jiff::Timestamp` | `jiff`; `jiff-02` for its versions 0.2 | |
/// | `chrono::DateTime<Utc>` | `chrono` | `try_from` of any time zone |
/// | `time::OffsetDateTime` | `time` | from its version 0.3.46 on it needs Rust 1.88 |
/// | text | | `to_string()` and `parse()`: RFC 3339 |
/// | formats of serde | `serde` | text where people read it, otherwise nanoseconds |
///
/// For a `tokio::time::Instant`: `Instant::from_std(anchor.std_instant(moment)?)`, with an [`Anchor`](crate::Anchor)
/// that is taken once.
pub mod which_function {}

/// Why each layer is sound.
///
/// A read is served by the first of these layers that has been proven *here*, in this process, and
/// that has not been contradicted since.
///
/// # 1. The kernel's own numbers ([`Source::Vvar`](crate::Source::Vvar))
///
/// Beside the vDSO is a page in which the kernel publishes, under a sequence lock, the input of the
/// vDSO: `mult`, `shift`, the counter at the last update, and a base for each clock
/// (`include/vdso/datapage.h`). Every tick, every NTP correction, every step of the wall clock and
/// every change of clocksource is written there. The same formula over the same numbers gives the
/// same time: *exact* is meant literally.
///
/// The page is not an ABI, so the library searches for it instead of assuming its address:
///
/// - The pages below the vDSO are tried up to the first one that belongs to the program. None of
///   them is read in the search: the kernel compares its words (`futex(FUTEX_CMP_REQUEUE)` for no
///   waiter), because reading a page that is not mapped is fatal, and another thread may unmap the
///   program's pages at any moment.
/// - A place is accepted as the clock only if it contains the coarse wall clock and the coarse
///   monotonic clock to the nanosecond, between two equal readings of them, in a page that does not
///   belong to a file and that the process cannot write. After a tick in between, the search starts
///   again.
/// - The fine clocks are then proven against `clock_gettime`: 32 times for CLOCK_MONOTONIC, and once
///   for each other one, the page's time must lie between two readings of the kernel's. Every
///   quarter of a second the next reader repeats the proof.
///
/// Every read also checks the page's `clock_mode`. When the kernel stops using the counter (its
/// watchdog, an administrator, a migration), the *very next* read sees that and uses the kernel.
/// When the kernel returns to the counter, the proof is repeated.
///
/// An ordered read does what the vDSO does: `lfence; rdtsc` between the two looks at the sequence
/// number (`isb` and a dependent load on aarch64). An unordered read takes
/// the counter before everything else, without a fence. If the kernel writes the page at that moment, the counter value
/// is *before* the beginning of the line. The library then returns the time of the beginning, as the kernel does; this
/// time lies between the beginning and the end of the read.
///
/// # 1b. A hypervisor's page under it ([`Source::Pvclock`](crate::Source::Pvclock), [`Source::HypervPage`](crate::Source::HypervPage))
///
/// If the kernel's clocksource is kvm-clock or Hyper-V's reference page, its numbers count in that clock's
/// cycles, and these come from the counter by a second page that the hypervisor writes (x86 only). A read takes
/// the counter and both pages, between two looks at the sequence lock of each, by the formulas of the vDSO
/// (`vread_pvclock()`, `vread_hvclock()`). It is as exact, and costs one counter read.
///
/// - The page is looked for among the kernel's own pages, between the one above and the vDSO, and proven in the
///   same way: 32 brackets, then one in a quarter of a second.
/// - `PVCLOCK_TSC_STABLE_BIT` is checked at each read: without it the page is valid for one processor only, and reads
///   use the kernel. The same applies if Hyper-V's sequence is 0.
/// - A hypervisor that moves the machine to another counter rewrites its page, so the next read is correct.
/// - In a time namespace, and for [`Ticks`](crate::Ticks)' rate, these pages are not used.
///
/// # 2. The library's own line ([`Source::Disciplined`](crate::Source::Disciplined))
///
/// If the page is not found, but the kernel's clock is the counter (sysfs says so, *and* reads behave
/// so: they are faster than a system call), a line is fitted to readings of the kernel's clock: the best
/// of eight brackets between two counter reads. The line has the kernel's form and is read by the same
/// code.
///
/// - The line lasts for a window of 1 to 16 ms. The first reader after its end takes a new reading;
///   there is no thread. After a long pause the first reader starts a new line *before* it answers:
///   the error is bounded by the window, not by the age of the process.
/// - The next line begins where the last one ends, at a counter value that is read after the
///   sequence number has become odd. A thread that still got a time from the old line read the
///   counter before that. So time never steps back.
/// - The rate is the kernel's over up to two seconds; it is measured again when the kernel changes
///   it. The difference from the kernel's clock is spread over the next window, by at most 1000
///   ppm.
/// - Without a page, brackets that become and stay three times as wide show that the kernel no
///   longer uses the counter; the library then does not use it again.
/// - A reading that does not fit (beyond 1500 ppm of the window and the noise) means that counter
///   and kernel do not match: the line is taken out of use, and reads go to the kernel. After 1, 2,
///   4 ... seconds it is tried again, six times in all.
///
/// While NTP slews the clock by 500 ppm from one moment to the next the error is at most 8 us, for
/// one window. Ordered reads, the wall clock and the others never come from this line.
///
/// The sequence lock is model-checked (`loom`), over all orders in which the steps of a writer and
/// of readers can be seen.
///
/// # 3. and 4. The vDSO and the system call
///
/// These layers call `clock_gettime`. If reading the counter is forbidden (`PR_SET_TSC`), only the system call is used,
/// because a read by the vDSO would kill the process.
///
/// # The counter where the kernel does not use it
///
/// It is used only after [`trust_counter`](crate::trust_counter) has tested the counters of all
/// processors against each other, and is watched as above from then on.
///
/// # What the library never does
///
/// No constructor runs when the library is linked. There is no calibration loop, and no allocation
/// or lock on any read path; waiting is bounded, so a read may interrupt another one in a signal
/// handler. `errno` is left alone.
pub mod design {}

/// Possible problems, and how the library behaves.
///
/// | problem | behaviour |
/// |---|---|
/// | `fork`, `vfork`, raw `clone` | the kernel's page is the same in the child; the library's own line is in memory that is cleared in a child (`MADV_WIPEONFORK`), so a child never finds a lock held by a thread of its parent |
/// | a time namespace | the page in front then holds offsets: they are added, after a proof of their own; entering and leaving one by `setns` is seen at the next read. A [`CachedClock`](crate::CachedClock) that was updated before shows its time until the clock of an earlier namespace has reached it |
/// | a signal handler interrupts any code | waits of reads are short and bounded; while a line is being written, reads use the kernel instead of waiting |
/// | seccomp, calls refused with an error | a source that needs a refused call is not used; the vDSO needs no call |
/// | seccomp, calls that kill | the first read asks `prctl(PR_GET_TSC)`, `futex` and, if the vDSO does not answer, `clock_gettime`; programs whose filter kills for these read a clock once *before* they install it. Later reads by the kernel's page make no call, nor do [`Ticks`](crate::Ticks). Others do: [`realtime_bounded`](crate::realtime_bounded) once a second (`adjtimex`), [`is_slow`](crate::is_slow) each time (`clock_gettime`, `prctl`, `openat`), the first `VmClock::open` (`openat` and `mmap`), and functions that start threads |
/// | `PR_SET_TSC` before the first read | system calls only, and `is_slow` does not test. Functions that use std's clock are as fatal there as std's clock itself: `Anchor::now`, `spawn_updater` |
/// | `PR_SET_TSC` after the first read, or in some threads only; seccomp's strict mode, which does the same | the next counter read is fatal, as it is in the vDSO |
/// | `/proc` or `/sys` absent, or another machine's | not used by layer 1; layer 2 needs sysfs, and checks the behaviour of reads as well |
/// | no vDSO (gVisor and others, `vdso=0`) | system calls |
/// | the clocksource changes while reads run | the next read is right |
/// | NTP slews or steps | layer 1 follows exactly; layer 2 within a window |
/// | the machine is paused, saved, loaded, migrated | layer 1 is the kernel's time; layer 2 notices at the end of its window. The kernel itself may not know how wrong its time is then: [`vmclock`](crate::vmclock) reports the event, and [`realtime_bounded`](crate::realtime_bounded) is not to be trusted until the time daemon has set its bound again |
/// | the counters of the processors differ | the kernel's clock is wrong in the same way (layer 1 is the kernel's clock); `clocksmith verify` finds it |
/// | checkpoint and restore (CRIU) onto another kernel | **not handled**: the page may be elsewhere. Call [`restrict`](crate::restrict) with [`Source::Syscall`](crate::Source::Syscall) before, and with [`Source::Vvar`](crate::Source::Vvar) after |
/// | kvm-clock, Hyper-V's page | layer 1b; without the stable bit, or with sequence 0, each read uses the kernel |
/// | VMware's, Xen's and other clocks | served by the vDSO or the system call, as the kernel does |
/// | `libfaketime` and others that replace `clock_gettime` | the faked time: the page contradicts it, and is not used |
/// | another thread unmaps memory beside the vDSO | the search makes the kernel compare, and reads none of that memory |
pub mod hazards {}

/*
 * clocksmith: the kernel's own time on Linux at the cost of one counter read.
 *
 * Every clock is one of the kernel's (see clock_gettime(2)), and gives the kernel's time. All times
 * are in nanoseconds, in an unsigned 64-bit number: enough for 584 years.
 *
 * No function here fails, waits, allocates or changes errno, except clocksmith_gettime(), which fails
 * as clock_gettime() does, clocksmith_is_slow() and clocksmith_trust_counter(), which test the machine, and
 * clocksmith_cached_start() and clocksmith_cached_stop(), which start and stop a thread; those of the VMCLOCK device
 * report if there is none. All others may be called by any thread at any time, in a signal handler, and in a child after
 * fork(). No setup or cleanup is needed: the first read in a process finds the source that serves it (25 to 50 us).
 *
 * Ordered and unordered. The processor may execute an unordered read a few nanoseconds early, before
 * loads that precede it have completed. Within one thread this is not visible: time does not
 * go backward. Compared with a time that another thread took and published it may seem too early by
 * this amount. An ordered read is never earlier than a time that was seen before it, as with
 * clock_gettime(); it costs a few nanoseconds more.
 *
 * Compile and link with the output of `pkg-config --cflags --libs clocksmith` (with --static for the
 * static library).
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#ifndef CLOCKSMITH_H
#define CLOCKSMITH_H

#include <stddef.h>
#include <stdint.h>

#define CLOCKSMITH_VERSION_MAJOR 0
#define CLOCKSMITH_VERSION_MINOR 1
#define CLOCKSMITH_VERSION_PATCH 0

#if defined(__cplusplus) && __cplusplus >= 201103L
#define CLOCKSMITH_NOEXCEPT noexcept
#else
#define CLOCKSMITH_NOEXCEPT
#endif

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The source that serves clocksmith_monotonic_ns(); the numbers do not show the cost. Later
 * versions may add others: treat a number that is not listed here as unknown.
 */
enum clocksmith_source_id {
    /* The kernel's own published parameters, in a page beside the vDSO, and one read of the counter.
     * Exact: the same formula with the same numbers as the vDSO. */
    CLOCKSMITH_SOURCE_VVAR = 1,
    /* A line through readings of the kernel's clock, renewed every few milliseconds: tens of
     * nanoseconds from the kernel's time. */
    CLOCKSMITH_SOURCE_DISCIPLINED = 2,
    /* clock_gettime() through the vDSO. */
    CLOCKSMITH_SOURCE_VDSO = 3,
    /* clock_gettime() by a system call: there is no vDSO, or it does not serve this clock here. */
    CLOCKSMITH_SOURCE_SYSCALL = 4,
    /* The standard library: not Linux, or an architecture without support. */
    CLOCKSMITH_SOURCE_STD = 5,
    /* The kernel's parameters over kvm-clock's page, and one read of the counter. Exact, and cheaper than
     * every source below VVAR. */
    CLOCKSMITH_SOURCE_PVCLOCK = 6,
    /* The same over Hyper-V's reference page. */
    CLOCKSMITH_SOURCE_HYPERV_PAGE = 7
};

/* CLOCK_MONOTONIC in nanoseconds, unordered: the fastest clock. */
uint64_t clocksmith_monotonic_ns(void) CLOCKSMITH_NOEXCEPT;

/* CLOCK_MONOTONIC in nanoseconds, ordered: for times that threads compare with each other. */
uint64_t clocksmith_monotonic_ordered_ns(void) CLOCKSMITH_NOEXCEPT;

/* CLOCK_MONOTONIC_COARSE in nanoseconds: the time at the kernel's last tick, 1 to 10 ms ago. */
uint64_t clocksmith_monotonic_coarse_ns(void) CLOCKSMITH_NOEXCEPT;

/* CLOCK_REALTIME in nanoseconds since 1970-01-01 00:00 UTC, unordered. Goes back when the
 * clock is set back. */
uint64_t clocksmith_realtime_ns(void) CLOCKSMITH_NOEXCEPT;

/* CLOCK_REALTIME in nanoseconds since 1970, ordered: for time stamps of several threads. */
uint64_t clocksmith_realtime_ordered_ns(void) CLOCKSMITH_NOEXCEPT;

/* CLOCK_REALTIME_COARSE in nanoseconds since 1970: the time at the kernel's last tick. */
uint64_t clocksmith_realtime_coarse_ns(void) CLOCKSMITH_NOEXCEPT;

/* Gets the two times between which true time lies, in nanoseconds since 1970: CLOCK_REALTIME minus and plus
 * the kernel's own bound of its error (maxerror of adjtimex(2)), which is requested once a second and grows by
 * 500 ppm meanwhile. Returns 0; or EAGAIN, with 0 and UINT64_MAX, when the error is not known: the kernel
 * marks its clock unsynchronised, or refuses the call. A pointer may be null. */
int clocksmith_realtime_bounded_ns(uint64_t *earliest, uint64_t *latest) CLOCKSMITH_NOEXCEPT;

/* CLOCK_BOOTTIME in nanoseconds, unordered: monotonic, and continues while the machine sleeps. */
uint64_t clocksmith_boottime_ns(void) CLOCKSMITH_NOEXCEPT;

/* CLOCK_MONOTONIC_RAW in nanoseconds, unordered: monotonic, with a rate that is not steered. */
uint64_t clocksmith_monotonic_raw_ns(void) CLOCKSMITH_NOEXCEPT;

/* CLOCK_TAI in nanoseconds since 1970, unordered: counts leap seconds, if their number has been
 * set in the kernel; otherwise the same as CLOCK_REALTIME. */
uint64_t clocksmith_tai_ns(void) CLOCKSMITH_NOEXCEPT;

#if defined(__linux__) && UINTPTR_MAX > 0xffffffffu
/* clock_gettime(2) with the same arguments, result and errno, for programs that have a pointer to that
 * function, or a macro. Ordered, as clock_gettime() is. Ids that the functions above do not have (clocks of
 * processes, threads and devices, alarms) go to clock_gettime(). On 64-bit Linux, where clockid_t is int. */
struct timespec;
int clocksmith_gettime(int clock, struct timespec *time) CLOCKSMITH_NOEXCEPT;
#endif

/* A clock that remembers: it returns the same time until it is updated. An event loop updates it once in each turn, and
 * everything in that turn reads the remembered time: a call and a load. Zero bytes are a clock that remembers nothing
 * yet, so a static one needs nothing, and another one `= {{0}}`. Its memory is the caller's: do not copy or move it.
 *
 *     static struct clocksmith_cached_clock now;
 *
 *     for (;;) {
 *         wait_for_events();
 *         clocksmith_cached_update(&now);
 *         ... clocksmith_cached_monotonic_ns(&now) ...
 *     }
 *
 * Before the first update, and after the last updater has been stopped, no time is remembered: reads then return the
 * kernel's coarse clock, which is at most one tick old. */
struct clocksmith_cached_clock {
    uint64_t reserved[8];
}
#ifdef __GNUC__
__attribute__((aligned(8)))
#endif
;

/* Reads the clocks and remembers their times. By any thread, by several, and in a signal handler. */
void clocksmith_cached_update(struct clocksmith_cached_clock *clock) CLOCKSMITH_NOEXCEPT;

/* The remembered CLOCK_MONOTONIC in nanoseconds. Never goes backward. */
uint64_t clocksmith_cached_monotonic_ns(const struct clocksmith_cached_clock *clock) CLOCKSMITH_NOEXCEPT;

/* The remembered CLOCK_REALTIME in nanoseconds since 1970. */
uint64_t clocksmith_cached_realtime_ns(const struct clocksmith_cached_clock *clock) CLOCKSMITH_NOEXCEPT;

/* Starts a thread that updates the clock at that interval, for programs without a loop. The clock is updated once
 * before this returns; a clock may have several updaters. The thread has all signals blocked, so that no handler runs
 * in it. Returns 0 and writes the updater to `updater`; EINVAL if the interval is 0 or `updater` is null; or another
 * number of errno: no thread or no memory, or a kernel before 4.14, which cannot clear memory in a child.
 *
 * A forked child does not have the thread. There, reads return the kernel's coarse clock until the child updates
 * the clock or starts an updater of its own. */
struct clocksmith_updater;
int clocksmith_cached_start(struct clocksmith_cached_clock *clock, uint64_t interval_ns,
                            struct clocksmith_updater **updater) CLOCKSMITH_NOEXCEPT;

/* Stops an updater's thread, waits until it has ended, and frees the updater; null is ignored. In a forked child only
 * the updater is freed. Do this before the clock's memory is freed: the page of memory that an updated clock has
 * used (4 KiB) stays with the process. */
void clocksmith_cached_stop(struct clocksmith_updater *updater) CLOCKSMITH_NOEXCEPT;

/* Tests whether reading the kernel's clock by clock_gettime() is slow here, as it is where the clocksource is
 * hpet or acpi_pm, or a hypervisor traps the counter: for programs that warn when they start. Returns 1 if a
 * read costs as much as a system call, 0 if it does not, -1 if the test does not show it. Writes the reason to
 * `reason`, cut to `size` bytes with the zero at its end; null leaves it out. Takes about a millisecond, or ten
 * where a read takes tens of microseconds. The functions of this library may be quicker than clock_gettime(). */
int clocksmith_is_slow(char *reason, size_t size) CLOCKSMITH_NOEXCEPT;

/* Raw readings of the counter, for events on a very hot path: no arithmetic, times come later. If the counter serves
 * as the machine's clock, a tick is one of its cycles; elsewhere it is a nanosecond of CLOCK_MONOTONIC. Which of the two is
 * decided at the first read in the process, and never changes. */
uint64_t clocksmith_ticks(void) CLOCKSMITH_NOEXCEPT;

/* The same, ordered. */
uint64_t clocksmith_ticks_ordered(void) CLOCKSMITH_NOEXCEPT;

/* Ticks in a second, by the numbers with which the kernel converts them now; 0 where it does not publish them: then
 * take two anchors. */
uint64_t clocksmith_ticks_per_second(void) CLOCKSMITH_NOEXCEPT;

/* A moment in ticks and on CLOCK_MONOTONIC in nanoseconds. Write some into the log, between the ticks. */
struct clocksmith_tick_anchor {
    uint64_t ticks;
    uint64_t monotonic_ns;
};
struct clocksmith_tick_anchor clocksmith_tick_anchor_now(void) CLOCKSMITH_NOEXCEPT;

/* The time of `ticks` on the straight line through two anchors: exact at both, and never backward. Ticks outside of
 * the two continue the line, up to 0 and UINT64_MAX. If there is no line, the time of the first one. */
uint64_t clocksmith_ticks_to_ns(struct clocksmith_tick_anchor first, struct clocksmith_tick_anchor second,
                                uint64_t ticks) CLOCKSMITH_NOEXCEPT;

/* Uses the counter although the kernel does not, for machines whose kernel has chosen hpet, acpi_pm or another slow
 * clocksource, when you know that the counter is good. Tests the counters of all processors against each other, with
 * threads, for about `limit_ms` at most: 100 is enough on a quiet machine. Then the unordered CLOCK_MONOTONIC follows
 * the kernel's with a line (CLOCKSMITH_SOURCE_DISCIPLINED), and is wrong by up to 16 ms' drift if the counter breaks.
 * Returns 0; or ENOTSUP with the reason, cut to `size` bytes with the zero at its end (null leaves it out), and
 * nothing has changed. */
int clocksmith_trust_counter(unsigned int limit_ms, char *reason, size_t size) CLOCKSMITH_NOEXCEPT;

/* Reverts clocksmith_trust_counter(). */
void clocksmith_distrust_counter(void) CLOCKSMITH_NOEXCEPT;

/* What the hypervisor reports about this machine's clock, by a VMCLOCK device (/dev/vmclock0, Linux 6.13 and later). The
 * first call of one of these three functions in a process opens and maps the device, or finds that this is not possible; the
 * result is kept. They return 0; ENODEV if there is no device, EACCES if this process may not open it, ENOTSUP if it cannot
 * be used, EAGAIN if it does not report it (it is being written, or see below). Then the results are 0, and UINT64_MAX for `latest`.
 * A pointer may be null. */

/* A number that the hypervisor changes when this machine was migrated or restored from a snapshot: its counter may have
 * jumped, and may run at another rate, and no clock of the machine shows it yet. If the number is the same before
 * and after a program read a clock, nothing of this kind happened in between. Costs two loads. */
int clocksmith_disruption_marker(uint64_t *marker) CLOCKSMITH_NOEXCEPT;

/* Bits of `valid`: which of the fields the hypervisor states. */
#define CLOCKSMITH_VMCLOCK_GENERATION 1u
#define CLOCKSMITH_VMCLOCK_ESTERROR 2u
#define CLOCKSMITH_VMCLOCK_MAXERROR 4u
#define CLOCKSMITH_VMCLOCK_TAI_OFFSET 8u

struct clocksmith_vmclock {
    uint64_t disruption_marker;
    uint64_t vm_generation;     /* changes when the machine was loaded from a snapshot */
    uint64_t esterror_ns;       /* estimated, and largest, error of the time at the page's reference */
    uint64_t maxerror_ns;
    int32_t tai_offset_seconds;
    uint32_t valid;
    uint8_t status;             /* 0 unknown, 1 initialising, 2 synchronised, 3 free-running, 4 unreliable */
    uint8_t leap;               /* 0 none, 1 before an inserted second, 2 before one that is left out, 3 in an inserted one,
                                 * 4 and 5 after one of either kind */
    uint8_t maintenance;        /* a disruption is announced: 1 in about a day, 2 in about an hour */
    uint8_t is_monotonic;       /* the page's time never steps back */
    uint8_t reserved[4];
};

/* What the page says, all of it at one moment. Writes the reason for a result other than 0 to `reason`, cut to `size`
 * bytes with the zero at its end. */
int clocksmith_vmclock_state(struct clocksmith_vmclock *state, char *reason, size_t size) CLOCKSMITH_NOEXCEPT;

/* Gets the two times between which UTC lies by the hypervisor's statement, in nanoseconds since 1970. EAGAIN also if it
 * states no largest error, does not declare its clock synchronised, gives a time other than UTC, or if the counter must
 * not be read (PR_SET_TSC). */
int clocksmith_vmclock_utc_bounded_ns(uint64_t *earliest, uint64_t *latest) CLOCKSMITH_NOEXCEPT;

/* The source that serves clocksmith_monotonic_ns() now. */
enum clocksmith_source_id clocksmith_source(void) CLOCKSMITH_NOEXCEPT;

/* The name of a source, in lower case: "vvar", "disciplined", "vdso", "syscall", "std", "pvclock",
 * "hyperv-page"; "unknown" for a number that is not a source. The string is static. */
const char *clocksmith_source_name(enum clocksmith_source_id source) CLOCKSMITH_NOEXCEPT;

/* Sets the best source that may be used, for the whole process: CLOCKSMITH_SOURCE_VDSO uses the
 * kernel's functions at every read, CLOCKSMITH_SOURCE_VVAR reverts that. A switch for operators and for
 * tests; times stay monotonic across it. Returns 0, or EINVAL if `best` is not a source; then nothing has
 * changed. */
int clocksmith_restrict(enum clocksmith_source_id best) CLOCKSMITH_NOEXCEPT;

/* The version of the library that is loaded, such as "0.1.0". The string is static. The macros
 * CLOCKSMITH_VERSION_* say which header was compiled. */
const char *clocksmith_version(void) CLOCKSMITH_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif

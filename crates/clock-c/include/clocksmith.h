/*
 * clocksmith: the kernel's own time on Linux at the cost of one counter read.
 *
 * Every clock is one of the kernel's (see clock_gettime(2)), and gives the kernel's time. All times
 * are in nanoseconds, in an unsigned 64-bit number: enough for 584 years.
 *
 * No function here fails, waits, allocates or changes errno. All of them may be called by any thread
 * at any time, in a signal handler, and in a child after fork(). Nothing is to be set up or torn
 * down: the first read in a process finds out what serves it (25 to 50 us).
 *
 * Ordered and unordered. The processor may execute an unordered read a few nanoseconds early, before
 * loads that precede it have completed. Within one thread that never shows: time does not go
 * backward. Compared with a time that another thread took and published it may look too early by
 * that much. An ordered read is never earlier than a time that was seen before it, as clock_gettime()
 * has it; it costs a few nanoseconds more.
 *
 * Compile and link with what `pkg-config --cflags --libs clocksmith` says (with --static for the
 * static library).
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#ifndef CLOCKSMITH_H
#define CLOCKSMITH_H

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
 * The way by which clocksmith_monotonic_ns() is served; the numbers say nothing of the cost. Later
 * versions may add others: treat a number that is not here as one that you do not know.
 */
enum clocksmith_source_id {
    /* The kernel's own published parameters, which lie beside the vDSO, and one read of the counter.
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

/* CLOCK_MONOTONIC in nanoseconds, unordered: the fastest clock there is. */
uint64_t clocksmith_monotonic_ns(void) CLOCKSMITH_NOEXCEPT;

/* CLOCK_MONOTONIC in nanoseconds, ordered: for times that threads compare with each other. */
uint64_t clocksmith_monotonic_ordered_ns(void) CLOCKSMITH_NOEXCEPT;

/* CLOCK_MONOTONIC_COARSE in nanoseconds: the time at the kernel's last tick, 1 to 10 ms ago. */
uint64_t clocksmith_monotonic_coarse_ns(void) CLOCKSMITH_NOEXCEPT;

/* CLOCK_REALTIME in nanoseconds since 1970-01-01 00:00 UTC, unordered. Goes back when somebody sets
 * the clock back. */
uint64_t clocksmith_realtime_ns(void) CLOCKSMITH_NOEXCEPT;

/* CLOCK_REALTIME in nanoseconds since 1970, ordered: for time stamps of several threads. */
uint64_t clocksmith_realtime_ordered_ns(void) CLOCKSMITH_NOEXCEPT;

/* CLOCK_REALTIME_COARSE in nanoseconds since 1970: the time at the kernel's last tick. */
uint64_t clocksmith_realtime_coarse_ns(void) CLOCKSMITH_NOEXCEPT;

/* Between which two times true time lies, in nanoseconds since 1970: CLOCK_REALTIME, less and plus the
 * kernel's own bound of its error (maxerror of adjtimex(2)), which is asked for once a second and grows by
 * 500 ppm meanwhile. Returns 0; or EAGAIN, with 0 and UINT64_MAX, when the error is not known: the kernel
 * calls its clock unsynchronised, or refuses the call. A pointer may be null. */
int clocksmith_realtime_bounded_ns(uint64_t *earliest, uint64_t *latest) CLOCKSMITH_NOEXCEPT;

/* CLOCK_BOOTTIME in nanoseconds, unordered: monotonic, and runs on while the machine sleeps. */
uint64_t clocksmith_boottime_ns(void) CLOCKSMITH_NOEXCEPT;

/* CLOCK_MONOTONIC_RAW in nanoseconds, unordered: monotonic, and nobody steers its rate. */
uint64_t clocksmith_monotonic_raw_ns(void) CLOCKSMITH_NOEXCEPT;

/* CLOCK_TAI in nanoseconds since 1970, unordered: counts leap seconds, if the kernel has been told
 * their number; else the same as CLOCK_REALTIME. */
uint64_t clocksmith_tai_ns(void) CLOCKSMITH_NOEXCEPT;

/* The way by which clocksmith_monotonic_ns() is served now. */
enum clocksmith_source_id clocksmith_source(void) CLOCKSMITH_NOEXCEPT;

/* The name of a source, in lower case: "vvar", "disciplined", "vdso", "syscall", "std", "pvclock",
 * "hyperv-page"; "unknown" for a number that is none. The string is static. */
const char *clocksmith_source_name(enum clocksmith_source_id source) CLOCKSMITH_NOEXCEPT;

/* Sets the best source that may be used, for the whole process: CLOCKSMITH_SOURCE_VDSO asks the
 * kernel at every read, CLOCKSMITH_SOURCE_VVAR takes that back. A switch for operators and for tests;
 * times stay monotonic over it. Returns 0, or EINVAL when `best` is no source; then nothing has
 * changed. */
int clocksmith_restrict(enum clocksmith_source_id best) CLOCKSMITH_NOEXCEPT;

/* The version of the library that is loaded, such as "0.1.0". The string is static. The macros
 * CLOCKSMITH_VERSION_* say which header was compiled. */
const char *clocksmith_version(void) CLOCKSMITH_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif

/*
 * probe reader --threads N: reads CLOCK_MONOTONIC through the vDSO in N threads and looks for what a
 * program must never see, until it gets SIGTERM.
 *
 * - A step back: every value is published in a shared maximum. A thread loads the maximum (acquire),
 *   reads the clock, and must not get less: whoever published that value had read it before.
 * - An error: between two system calls that read the same clock, the vDSO must say something that
 *   lies between what the two say.
 *
 * The system call is watched for steps back in the same way, to tell whether the kernel's own clock
 * went back. CLOCK_REALTIME is looked at as well, now and then: by how much it is off, and for how long on end
 * it is off by more than a millisecond (somebody may set it, and a reader may learn that a little later). Totals are printed twice a second, as one line of JSON.
 */
#define _GNU_SOURCE
#include "probe.h"
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 64, SOURCES = 16, BRACKET_EVERY = 8, WALL_EVERY = 32, WALL_OFF_NS = 1000000 };

static const char current_source[] = "/sys/devices/system/clocksource/clocksource0/current_clocksource";

/* Written by one thread each, read by the one that prints. */
struct totals {
    _Atomic uint64_t reads;
    _Atomic uint64_t back_steps, largest_back_step, kernel_back_steps, kernel_largest_back_step;
    _Atomic uint64_t largest_error;
    _Atomic uint64_t wall_largest_error, wall_longest_off;
    int64_t off_since;
    char apart[128];
};

static struct totals totals[THREADS];
static _Atomic int64_t newest;
static _Atomic int64_t kernel_newest;
static volatile sig_atomic_t stop;
static read_clock from_vdso;

static int64_t clock_by_vdso(int clock)
{
    struct timespec time;
    if (!from_vdso || from_vdso(clock, &time))
        clock_gettime(clock, &time);
    return time.tv_sec * 1000000000ll + time.tv_nsec;
}

static int64_t clock_by_system_call(int clock)
{
    struct timespec time;
    syscall(SYS_clock_gettime, clock, &time);
    return time.tv_sec * 1000000000ll + time.tv_nsec;
}

static int64_t by_vdso(void)
{
    return clock_by_vdso(CLOCK_MONOTONIC);
}

static int64_t by_system_call(void)
{
    return clock_by_system_call(CLOCK_MONOTONIC);
}

static void count(_Atomic uint64_t *total)
{
    atomic_store_explicit(total, atomic_load_explicit(total, memory_order_relaxed) + 1,
                          memory_order_relaxed);
}

static void at_least(_Atomic uint64_t *largest, int64_t value)
{
    if (value > (int64_t)atomic_load_explicit(largest, memory_order_relaxed))
        atomic_store_explicit(largest, value, memory_order_relaxed);
}

static int64_t ordered(int64_t (*clock)(void), _Atomic int64_t *maximum, _Atomic uint64_t *steps,
                       _Atomic uint64_t *largest)
{
    int64_t seen = atomic_load_explicit(maximum, memory_order_acquire);
    int64_t value = clock();
    if (value < seen) {
        count(steps);
        at_least(largest, seen - value);
    }
    while (value > seen && !atomic_compare_exchange_weak_explicit(maximum, &seen, value,
                                                                  memory_order_release,
                                                                  memory_order_relaxed))
        ;
    return value;
}

/* How long it was off is from the first to the last look that found it off: never too long. */
static void look_at_wall(struct totals *own)
{
    int64_t now = by_system_call();
    int64_t before = clock_by_system_call(CLOCK_REALTIME);
    int64_t value = clock_by_vdso(CLOCK_REALTIME);
    int64_t after = clock_by_system_call(CLOCK_REALTIME);
    /* Set back in between. */
    if (after < before)
        return;
    int64_t off = before - value > value - after ? before - value : value - after;
    at_least(&own->wall_largest_error, off);
    if (off <= WALL_OFF_NS) {
        own->off_since = 0;
        return;
    }
    if (!own->off_since)
        own->off_since = now;
    at_least(&own->wall_longest_off, now - own->off_since);
}

static void *thread(void *argument)
{
    struct totals *own = argument;
    for (uint64_t turn = 0;; turn++) {
        int bracket = turn % BRACKET_EVERY == 0;
        int64_t before = 0, after = 0;
        if (bracket)
            before = ordered(by_system_call, &kernel_newest, &own->kernel_back_steps,
                             &own->kernel_largest_back_step);
        int64_t value = ordered(by_vdso, &newest, &own->back_steps, &own->largest_back_step);
        if (bracket) {
            after = ordered(by_system_call, &kernel_newest, &own->kernel_back_steps,
                            &own->kernel_largest_back_step);
            at_least(&own->largest_error, before - value);
            at_least(&own->largest_error, value - after);
        }
        if (turn % WALL_EVERY == 0)
            look_at_wall(own);
        count(&own->reads);
    }
    return NULL;
}

/* The names of the clocksources seen so far, in order. */
static char sources[SOURCES][32];
static int source_count;

static void look_at_source(void)
{
    char name[32] = "";
    FILE *file = fopen(current_source, "r");
    if (!file)
        return;
    int found = fscanf(file, "%31s", name);
    fclose(file);
    if (found != 1 || (source_count && !strcmp(sources[source_count - 1], name)))
        return;
    if (source_count < SOURCES)
        strcpy(sources[source_count++], name);
}

/* One write, so that nothing else on the console gets into the line. */
static void print(int threads, int final)
{
    uint64_t reads = 0, steps = 0, step = 0, kernel_steps = 0, kernel_step = 0, error = 0;
    uint64_t wall_error = 0, wall_off = 0;
    for (int i = 0; i < threads; i++) {
        reads += totals[i].reads;
        steps += totals[i].back_steps;
        kernel_steps += totals[i].kernel_back_steps;
        step = totals[i].largest_back_step > step ? totals[i].largest_back_step : step;
        kernel_step = totals[i].kernel_largest_back_step > kernel_step
                          ? totals[i].kernel_largest_back_step
                          : kernel_step;
        error = totals[i].largest_error > error ? totals[i].largest_error : error;
        wall_error = totals[i].wall_largest_error > wall_error ? totals[i].wall_largest_error : wall_error;
        wall_off = totals[i].wall_longest_off > wall_off ? totals[i].wall_longest_off : wall_off;
    }
    char list[SOURCES * 36] = "", line[2048];
    for (int i = 0; i < source_count; i++)
        sprintf(list + strlen(list), "%s\"%s\"", i ? "," : "", sources[i]);
    int length = snprintf(
        line, sizeof line,
        "|reader {\"clock\":\"CLOCK_MONOTONIC by the vDSO\",\"threads\":%d,\"reads\":%llu,"
        "\"back_steps\":%llu,\"largest_back_step_ns\":%llu,\"largest_error_ns\":%llu,"
        "\"kernel_back_steps\":%llu,\"kernel_largest_back_step_ns\":%llu,"
        "\"wall_largest_error_ns\":%llu,\"wall_longest_off_ns\":%llu,"
        "\"source\":\"%s\",\"sources\":[%s],\"final\":%s}\n",
        threads, (unsigned long long)reads, (unsigned long long)steps, (unsigned long long)step,
        (unsigned long long)error, (unsigned long long)kernel_steps,
        (unsigned long long)kernel_step, (unsigned long long)wall_error, (unsigned long long)wall_off,
        source_count ? sources[source_count - 1] : "", list,
        final ? "true" : "false");
    if (write(STDOUT_FILENO, line, length) != length)
        _exit(1);
}

static void terminate(int signal)
{
    (void)signal;
    stop = 1;
}

int reader(int words, char **word)
{
    int threads = words == 2 && !strcmp(word[0], "--threads") ? atoi(word[1]) : 0;
    if (threads < 1 || threads > THREADS) {
        fprintf(stderr, "probe reader: give --threads N, with N from 1 to %d\n", THREADS);
        return 2;
    }
    from_vdso = vdso_reader();
    /* The signal is for the thread that prints, which sleeps. */
    sigset_t term, old;
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &term, &old);
    for (int i = 0; i < threads; i++) {
        pthread_t started;
        if (pthread_create(&started, NULL, thread, &totals[i])) {
            fprintf(stderr, "probe reader: thread %d cannot be started\n", i);
            return 1;
        }
    }
    struct sigaction action = { .sa_handler = terminate };
    sigaction(SIGTERM, &action, NULL);
    while (!stop) {
        struct timespec half = { 0, 500000000 };
        /* Waits with the signal let in, so that one that came just before ends the wait too. */
        ppoll(NULL, 0, &half, &old);
        look_at_source();
        if (!stop)
            print(threads, 0);
    }
    print(threads, 1);
    return 0;
}

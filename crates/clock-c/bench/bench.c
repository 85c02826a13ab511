/*
 * The read cost of each clock, beside clock_gettime(CLOCK_MONOTONIC) through the vDSO.
 *
 *   bench [--rounds N] [--calls N] [--json]
 *
 * The functions take turns: in every round each makes one batch of calls, so that a change of the
 * processor's speed, or a busy neighbour, affects all of them. The figure of a function is the median
 * over the rounds of (its batch / the vDSO's batch of the same round); nanoseconds are medians too, and
 * are for orientation. The process stays on its first processor.
 */
#define _GNU_SOURCE
#include <clocksmith.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static uint64_t vdso(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* The sum keeps the compiler from removing the calls; it is not read. */
static volatile uint64_t sink;

#define BATCH(name, read)                            \
    static uint64_t name(long calls) {               \
        uint64_t begun = vdso(), sum = 0;            \
        for (long i = 0; i < calls; i++) sum += read(); \
        sink = sum;                                  \
        return vdso() - begun;                       \
    }

/* The vDSO's in the loop itself: without a wrapper's cost, if the compiler had kept one. */
static uint64_t batch_vdso(long calls) {
    struct timespec now;
    uint64_t begun = vdso(), sum = 0;
    for (long i = 0; i < calls; i++) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        sum += (uint64_t)now.tv_nsec;
    }
    sink = sum;
    return vdso() - begun;
}

BATCH(batch_monotonic, clocksmith_monotonic_ns)
BATCH(batch_ordered, clocksmith_monotonic_ordered_ns)
BATCH(batch_coarse, clocksmith_monotonic_coarse_ns)
BATCH(batch_realtime, clocksmith_realtime_ns)
BATCH(batch_realtime_ordered, clocksmith_realtime_ordered_ns)
BATCH(batch_raw, clocksmith_monotonic_raw_ns)

static struct clocksmith_cached_clock cached;
static uint64_t read_cached(void) { return clocksmith_cached_monotonic_ns(&cached); }
BATCH(batch_cached, read_cached)

static const struct {
    const char *name;
    uint64_t (*batch)(long calls);
} WAYS[] = {
    {"clock_gettime", batch_vdso},
    {"clocksmith_monotonic_ns", batch_monotonic},
    {"clocksmith_monotonic_ordered_ns", batch_ordered},
    {"clocksmith_monotonic_coarse_ns", batch_coarse},
    {"clocksmith_realtime_ns", batch_realtime},
    {"clocksmith_realtime_ordered_ns", batch_realtime_ordered},
    {"clocksmith_monotonic_raw_ns", batch_raw},
    {"clocksmith_cached_monotonic_ns", batch_cached},
};
enum { COUNT = sizeof WAYS / sizeof WAYS[0] };

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, long count) {
    qsort(values, (size_t)count, sizeof *values, by_size);
    return values[count / 2];
}

static long number(const char *option, const char *text) {
    char *end = NULL;
    long value = text ? strtol(text, &end, 10) : 0;
    if (value < 1 || *end) {
        fprintf(stderr, "bench: %s wants a number from 1 on, such as 1000\n", option);
        exit(2);
    }
    return value;
}

int main(int argc, char **argv) {
    long rounds = 2000, calls = 1000;
    int json = 0;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--json")) json = 1;
        else if (!strcmp(argv[i], "--rounds")) rounds = number(argv[i], argv[i + 1]), i++;
        else if (!strcmp(argv[i], "--calls")) calls = number(argv[i], argv[i + 1]), i++;
        else {
            fprintf(stderr, "bench: unknown argument %s; bench [--rounds N] [--calls N] [--json]\n", argv[i]);
            return 2;
        }
    }
    clocksmith_cached_update(&cached);

    int cpu = sched_getcpu();
    cpu_set_t one;
    CPU_ZERO(&one);
    if (cpu >= 0) CPU_SET((size_t)cpu, &one);
    int pinned = cpu >= 0 && sched_setaffinity(0, sizeof one, &one) == 0;
    if (!pinned) fprintf(stderr, "bench: cannot stay on processor %d; the figures scatter more\n", cpu);

    double *ns[COUNT], *ratio[COUNT];
    for (int way = 0; way < COUNT; way++) {
        ns[way] = malloc(sizeof(double) * (size_t)rounds);
        ratio[way] = malloc(sizeof(double) * (size_t)rounds);
        if (!ns[way] || !ratio[way]) {
            fprintf(stderr, "bench: no memory for %ld rounds; give fewer by --rounds\n", rounds);
            return 1;
        }
        WAYS[way].batch(calls);
    }
    for (long round = 0; round < rounds; round++) {
        for (int i = 0; i < COUNT; i++) {
            /* Each round begins with another one, so that none always follows the same one. */
            int way = (int)((i + round) % COUNT);
            ns[way][round] = (double)WAYS[way].batch(calls) / (double)calls;
        }
        for (int way = 0; way < COUNT; way++) ratio[way][round] = ns[way][round] / ns[0][round];
    }

    const char *source = clocksmith_source_name(clocksmith_source());
    if (json)
        printf("{\"version\":\"%s\",\"source\":\"%s\",\"cpu\":%d,\"pinned\":%s,\"rounds\":%ld,"
               "\"calls\":%ld,\"ways\":[",
               clocksmith_version(), source, cpu, pinned ? "true" : "false", rounds, calls);
    else
        printf("source %s, %ld rounds of %ld calls each, processor %d\n", source, rounds, calls, cpu);
    for (int way = 0; way < COUNT; way++) {
        double of_vdso = median(ratio[way], rounds), each = median(ns[way], rounds);
        if (json)
            printf("%s{\"name\":\"%s\",\"ns\":%.2f,\"of_vdso\":%.3f}", way ? "," : "", WAYS[way].name,
                   each, of_vdso);
        else
            printf("%-34s %8.2f ns  %6.3f of the vDSO\n", WAYS[way].name, each, of_vdso);
    }
    if (json) printf("]}\n");
    return 0;
}

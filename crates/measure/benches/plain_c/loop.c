/* Reads the time as anybody would measure it: a plain loop, timed from outside. Prints nanoseconds a
   read for each way. Usage: loop CPU READS */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The loop, TIMES times; what is disturbed is not the median. */
#define TIMES 1001
#define LOOP(name, reads, body)                                   \
    do {                                                          \
        static double took[TIMES];                                     \
        for (int k = 0; k < TIMES; k++) {                         \
            double begun = now();                                 \
            for (long i = 0; i < (reads); i++) {                  \
                body;                                             \
            }                                                     \
            took[k] = (now() - begun) / (reads);                  \
        }                                                         \
        qsort(took, TIMES, sizeof *took, by_value);               \
        printf("%s %.4f\n", name, took[TIMES / 2]);               \
    } while (0)

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(atoi(argv[1]), &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0)
        return 1;
    long reads = atol(argv[2]);
    struct timespec t;
    struct timeval v;
    /* Warm up. */
    for (double begun = now(); now() - begun < 1e8;)
        clock_gettime(CLOCK_MONOTONIC, &t);
    LOOP("CLOCK_MONOTONIC/libc", reads, clock_gettime(CLOCK_MONOTONIC, &t));
    LOOP("CLOCK_REALTIME/libc", reads, clock_gettime(CLOCK_REALTIME, &t));
    LOOP("CLOCK_MONOTONIC_COARSE/libc", reads, clock_gettime(CLOCK_MONOTONIC_COARSE, &t));
    LOOP("gettimeofday/libc", reads, gettimeofday(&v, NULL));
    LOOP("CLOCK_MONOTONIC/syscall", reads / 4, syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &t));
    return 0;
}

/* Reads the clock from three functions and counts the reads; for libraries whose C code has no unwind tables. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

static long tick_reads, stamp_reads, log_reads;

__attribute__((noinline)) long long tick(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    tick_reads++;
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

__attribute__((noinline)) long long stamp(void) {
    struct timeval now;
    gettimeofday(&now, NULL);
    stamp_reads++;
    return now.tv_sec * 1000000LL + now.tv_usec;
}

/* Leaves return addresses of the output on the stack. */
__attribute__((noinline)) long long write_log(FILE *to) {
    struct timespec now;
    fprintf(to, "%ld %s\n", tick_reads, "a line");
    clock_gettime(CLOCK_REALTIME, &now);
    log_reads++;
    return now.tv_nsec;
}

int main(int argc, char **argv) {
    long long end = tick() + (long long)(atof(argv[argc - 1]) * 1e9);
    FILE *to = fopen("/dev/null", "w");
    volatile long long sum = 0;
    while (tick() < end) {
        for (int n = 0; n < 600; n++) sum += tick();
        for (int n = 0; n < 300; n++) sum += stamp();
        for (int n = 0; n < 100; n++) sum += write_log(to);
        fflush(to);
    }
    printf("tick %ld\nstamp %ld\nwrite_log %ld\n", tick_reads, stamp_reads, log_reads);
    return 0;
}

// A known mix of reads from known functions: 70 % hot_a, 20 % hot_b, 10 % hot_c. Runs for the seconds
// that it is told and prints the calls of each.
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

static volatile long sink;
static unsigned long calls[3];

__attribute__((noinline)) static void hot_a(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    sink += t.tv_nsec;
    calls[0]++;
}

__attribute__((noinline)) static void hot_b(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    sink += t.tv_nsec;
    calls[1]++;
}

__attribute__((noinline)) static void hot_c(void) {
    struct timeval t;
    gettimeofday(&t, 0);
    sink += t.tv_usec;
    calls[2]++;
}

__attribute__((noinline)) static void work(unsigned seed) {
    for (int i = 0; i < 20; i++) sink += seed * 2654435761u + i;
}

int main(int count, char **words) {
    double seconds = count > 1 ? atof(words[1]) : 1;
    time_t begun = time(0);
    struct timespec start, now;
    clock_gettime(CLOCK_MONOTONIC, &start);
    unsigned random = 1;
    for (;;) {
        for (int i = 0; i < 20000; i++) {
            random = random * 1664525u + 1013904223u;
            unsigned dice = (random >> 16) % 10;
            if (dice < 7) hot_a();
            else if (dice < 9) hot_b();
            else hot_c();
            work(random);
        }
        clock_gettime(CLOCK_MONOTONIC, &now);
        if (now.tv_sec - start.tv_sec + (now.tv_nsec - start.tv_nsec) / 1e9 > seconds) break;
    }
    printf("hot_a %lu\nhot_b %lu\nhot_c %lu\n", calls[0], calls[1], calls[2]);
    return begun == 0;
}

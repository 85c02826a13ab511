/* Reads clocks by known functions and counts each call in a file that is mapped: who watches can read the truth of any
   window. Arguments: the file, seconds, kind. Counters, as 64-bit numbers, by kind of read as below. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MONO, REAL, BOOT, DAY, COARSE, SECONDS, TSC, THREADS = 64 };
static _Atomic uint64_t (*counts)[8];
static __thread int row;
static volatile long sink;
static double until;

static void count(int kind, uint64_t calls) {
    _Atomic uint64_t *at = &counts[row][kind];
    atomic_store_explicit(at, atomic_load_explicit(at, memory_order_relaxed) + calls, memory_order_relaxed);
}
static void work(int rounds) {
    for (int i = 0; i < rounds; i++) sink += i ^ sink;
}
__attribute__((noinline)) static void f_mono(int n) {
    struct timespec t;
    for (int i = 0; i < n; i++) { clock_gettime(CLOCK_MONOTONIC, &t); sink += t.tv_nsec; }
    count(MONO, n);
}
__attribute__((noinline)) static void f_real(int n) {
    struct timespec t;
    for (int i = 0; i < n; i++) { clock_gettime(CLOCK_REALTIME, &t); sink += t.tv_nsec; }
    count(REAL, n);
}
__attribute__((noinline)) static void f_boot(int n) {
    struct timespec t;
    for (int i = 0; i < n; i++) { clock_gettime(CLOCK_BOOTTIME, &t); sink += t.tv_nsec; }
    count(BOOT, n);
}
__attribute__((noinline)) static void f_day(int n) {
    struct timeval t;
    for (int i = 0; i < n; i++) { gettimeofday(&t, 0); sink += t.tv_usec; }
    count(DAY, n);
}
/* Reads of a few nanoseconds. */
__attribute__((noinline)) static void f_coarse(int n) {
    struct timespec t;
    for (int i = 0; i < n; i++) { clock_gettime(CLOCK_MONOTONIC_COARSE, &t); sink += t.tv_nsec; }
    count(COARSE, n);
}
__attribute__((noinline)) static void f_time(int n) {
    for (int i = 0; i < n; i++) sink += time(0);
    count(SECONDS, n);
}
__attribute__((noinline)) static void f_tsc(int n) {
    for (int i = 0; i < n; i++) sink += __builtin_ia32_rdtsc();
    count(TSC, n);
}
/* One place that reads two clocks. */
__attribute__((noinline)) static void f_any(int n, clockid_t clock) {
    struct timespec t;
    for (int i = 0; i < n; i++) { clock_gettime(clock, &t); sink += t.tv_nsec; }
    count(clock == CLOCK_MONOTONIC ? MONO : REAL, n);
}
static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}
static void one(const char *kind) {
    unsigned dice = 12345 + row;
    while (now() < until) {
        for (int i = 0; i < 200; i++) {
            dice = dice * 1103515245 + 12345;
            if (!strcmp(kind, "mix")) { f_mono(7); f_real(2); f_day(1); work(200); }
            else if (!strcmp(kind, "half")) { f_mono(5); f_real(5); }
            else if (!strcmp(kind, "seldom")) { f_mono(1); f_real(1); work(3000); }
            else if (!strcmp(kind, "place")) { f_any(3, CLOCK_MONOTONIC); f_any(2, CLOCK_REALTIME); work(100); }
            else if (!strcmp(kind, "random")) f_any(1, (dice >> 16) % 10 < 7 ? CLOCK_MONOTONIC : CLOCK_REALTIME);
            else if (!strcmp(kind, "loops")) { if ((dice >> 16) % 3) f_mono(300); else f_real(300); }
            else if (!strcmp(kind, "four")) { f_mono(4); f_real(3); f_boot(2); f_day(1); work(50); }
            else if (!strcmp(kind, "coarse")) { f_coarse(9); f_time(3); }
            else if (!strcmp(kind, "cheap")) { f_mono(2); f_coarse(8); f_time(8); work(50); }
            else if (!strcmp(kind, "counter")) { f_tsc(4); f_mono(4); f_coarse(4); work(50); }
            else { f_mono(9); f_real(1); work(100); }
        }
    }
}
static void *thread(void *word) { row = (int)(intptr_t)word; one("threads"); return 0; }

int main(int argc, char **argv) {
    int fd = open(argv[1], O_RDWR | O_CREAT, 0600);
    if (argc < 4 || fd < 0 || ftruncate(fd, 8 * 8 * THREADS)) return 2;
    counts = mmap(0, 8 * 8 * THREADS, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    until = now() + atof(argv[2]);
    if (!strcmp(argv[3], "threads")) {
        pthread_t ids[THREADS];
        for (intptr_t i = 1; i < THREADS; i++) pthread_create(&ids[i], 0, thread, (void *)i);
        one("threads");
        for (int i = 1; i < THREADS; i++) pthread_join(ids[i], 0);
    } else if (!strcmp(argv[3], "forks")) {
        for (int i = 1; i < 8; i++) if (!fork()) { row = i; one("mix"); _exit(0); }
        one("mix");
        while (wait(0) > 0) {}
    } else if (!strcmp(argv[3], "brief")) {
        /* Children that live for a moment, one after the other. */
        while (now() < until) {
            if (!fork()) { until = now() + 0.004; one("half"); _exit(0); }
            wait(0);
        }
    } else if (!strcmp(argv[3], "execs")) {
        while (now() < until) {
            if (!fork()) { execl("/proc/self/exe", "brief", argv[1], "0.004", "half", (char *)0); _exit(1); }
            wait(0);
        }
    } else one(argv[3]);
    return 0;
}

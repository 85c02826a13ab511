/* Reads the clock for some seconds, from two functions, and prints how often: all, and the
   seconds of CPU time that it took. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
static volatile long sink;
__attribute__((noinline)) static void often(void) {
    struct timespec now;
    for (int i = 0; i < 9; i++) { clock_gettime(CLOCK_MONOTONIC, &now); sink += now.tv_nsec; }
}
__attribute__((noinline)) static void seldom(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    sink += now.tv_nsec;
}
int main(int count, char **words) {
    struct timespec now;
    double begin, end = 0, seconds = count > 1 ? atof(words[1]) : 1;
    long reads = 0;
    clock_gettime(CLOCK_MONOTONIC, &now);
    begin = now.tv_sec + now.tv_nsec * 1e-9;
    do {
        for (int i = 0; i < 100; i++) { often(); seldom(); }
        reads += 1000;
        clock_gettime(CLOCK_MONOTONIC, &now);
        end = now.tv_sec + now.tv_nsec * 1e-9;
    } while (end - begin < seconds);
    printf("%ld %.3f\n", reads, (double)clock() / CLOCKS_PER_SEC);
    return 0;
}

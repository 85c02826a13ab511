/* Makes code at run time that reads the clock, and a map of it with the mode of the first argument, or none (0). Prints how
   many reads there were in as many seconds as the last argument says. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* A function of a reader and a place, which calls the reader a thousand times. */
static const unsigned char code[] = {
    0x55, 0x48, 0x89, 0xe5, 0x53, 0x41, 0x54, 0x41, 0x55, 0x41, 0x56, 0x48, 0x89, 0xfb, 0x49, 0x89, 0xf4,
    0x41, 0xbd, 0xe8, 0x03, 0x00, 0x00, 0xbf, 0x01, 0x00, 0x00, 0x00, 0x4c, 0x89, 0xe6, 0xff, 0xd3,
    0x41, 0xff, 0xcd, 0x75, 0xf1, 0x41, 0x5e, 0x41, 0x5d, 0x41, 0x5c, 0x5b, 0x5d, 0xc3};

typedef void made(int (*)(clockid_t, struct timespec *), struct timespec *);

int main(int n, char **words) {
    void *page = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (n < 3 || page == MAP_FAILED) return 1;
    memcpy(page, code, sizeof code);
    mode_t mode = strtoul(words[1], 0, 8);
    char map[64];
    snprintf(map, sizeof map, "/tmp/perf-%d.map", getpid());
    if (mode) {
        FILE *file = fopen(map, "w");
        if (!file) return 1;
        fprintf(file, "%lx %lx made_function\n", (unsigned long)page, (unsigned long)sizeof code);
        fclose(file);
        chmod(map, mode);
    }
    struct timespec now, begin;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    unsigned long reads = 0;
    do {
        ((made *)page)(clock_gettime, &now);
        reads += 1000;
    } while (now.tv_sec - begin.tv_sec + (now.tv_nsec - begin.tv_nsec) / 1e9 < atof(words[n - 1]));
    if (mode) unlink(map);
    printf("made_function %lu\n", reads);
    return 0;
}

// Has the kernel print lines that look like its own words about clocks, as an ordinary user can, and reads the
// kernel's log as plainly as can be, for comparison.
//
//   forger forge RATE SECONDS   mounts with an unknown option, so many a second (0: without a pause)
//   forger odd PROGRAM          a program in a path with line breaks, started without arguments
//   forger spin                 reads the clock until it is ended
//   forger read SECONDS         reads each record of /dev/kmsg once a second; prints records and nanoseconds of CPU
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char *lines = "x\n"
    "tsc: Marking TSC unstable due to clocksource watchdog\n"
    "clocksource: Switched to clocksource hpet\n"
    "clocksource: Long readout interval, skipping watchdog check: cs_nsec: 4996145248 wd_nsec: 163802310\n"
    "Measured 512340 cycles TSC warp between CPUs, turning off TSC clock.\n"
    "x";

static double now(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

static void become_user(int flags) {
    if (setgid(1000) || setuid(1000) || (flags && unshare(flags))) {
        printf("0 %s\n", strerror(errno));
        exit(1);
    }
}

static int forge(long rate, double seconds) {
    become_user(CLONE_NEWUSER | CLONE_NEWNS);
    double begun = now(CLOCK_MONOTONIC);
    long mounts = 0;
    while (now(CLOCK_MONOTONIC) - begun < seconds) {
        mount("x", "/tmp", "tmpfs", 0, lines);
        mounts++;
        double ahead = rate ? begun + (double)mounts / rate - now(CLOCK_MONOTONIC) : 0;
        if (ahead > 0) usleep(ahead * 1e6);
    }
    printf("%ld\n", mounts);
    return 0;
}

static int odd(const char *program) {
    const char *path = "/tmp/x\ntsc: Marking TSC unstable due to clocksource watchdog\n"
                       "clocksource: Switched to clocksource hpet";
    unlink(path);
    if (symlink(program, path)) return 1;
    fflush(stdout);
    if (!fork()) {
        char *none[] = {NULL};
        become_user(0);
        execve(path, none, none);
        _exit(1);
    }
    wait(NULL);
    return 0;
}

static int spin(void) {
    become_user(0);
    while (now(CLOCK_MONOTONIC) > 0)
        ;
    return 0;
}

static int plain(double seconds) {
    int kmsg = open("/dev/kmsg", O_RDONLY | O_NONBLOCK);
    if (kmsg < 0 || lseek(kmsg, 0, SEEK_END) < 0) return 1;
    static char record[8192];
    double begun = now(CLOCK_MONOTONIC), cpu = now(CLOCK_PROCESS_CPUTIME_ID);
    long records = 0, lost = 0;
    while (now(CLOCK_MONOTONIC) - begun < seconds) {
        sleep(1);
        for (;;) {
            ssize_t n = read(kmsg, record, sizeof record);
            if (n > 0) records++;
            else if (n < 0 && errno == EPIPE) lost++;
            else break;
        }
    }
    printf("%ld %.0f %ld\n", records, (now(CLOCK_PROCESS_CPUTIME_ID) - cpu) * 1e9, lost);
    return 0;
}

int main(int count, char **words) {
    if (count == 4 && !strcmp(words[1], "forge")) return forge(atol(words[2]), atof(words[3]));
    if (count == 3 && !strcmp(words[1], "odd")) return odd(words[2]);
    if (count == 2 && !strcmp(words[1], "spin")) return spin();
    if (count == 3 && !strcmp(words[1], "read")) return plain(atof(words[2]));
    return 0;
}

/* Waits in one of several ways; some of them by the wall clock. Ends when it is killed. */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
static long long ns(int clock) { struct timespec t; clock_gettime(clock, &t); return t.tv_sec * 1000000000ll + t.tv_nsec; }
static int ends[2];
/* Somebody has something to say every few milliseconds. */
static void *talk(void *unused) { for (;;) { usleep(7000); (void)!write(ends[1], "x", 1); } return unused; }
static volatile long long spent;
static void spin(void) { for (int i = 0; i < 20000; i++) spent += i; }
/* Until a deadline, with what is left of it; perhaps with a line in a log each time. */
__attribute__((noinline)) static void until(int clock, int log) {
    char byte[64];
    struct pollfd in = { ends[0], POLLIN, 0 };
    long long end = ns(clock) + 900000000ll, left;
    while ((left = end - ns(clock)) > 0) {
        poll(&in, 1, (int)(left / 1000000));
        (void)!read(ends[0], byte, sizeof byte);
        if (log) spent += ns(CLOCK_REALTIME);
        spin();
    }
}
/* A log has the time of day in each line; the wait is always as long. */
__attribute__((noinline)) static void logs(void) {
    char byte[64];
    struct pollfd in = { ends[0], POLLIN, 0 };
    long long written = ns(CLOCK_REALTIME);
    spent += written;
    poll(&in, 1, 900);
    (void)!read(ends[0], byte, sizeof byte);
    spin();
}
__attribute__((noinline)) static void condition(void) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_nsec += 50000000;
    if (end.tv_nsec >= 1000000000) { end.tv_nsec -= 1000000000; end.tv_sec++; }
    pthread_mutex_lock(&lock);
    pthread_cond_timedwait(&never, &lock, &end);
    pthread_mutex_unlock(&lock);
    spin();
}
int main(int count, char **words) {
    pthread_t id;
    if (pipe(ends) || count < 2) return 1;
    pthread_create(&id, 0, talk, 0);
    for (;;) {
        if (!strcmp(words[1], "wall")) until(CLOCK_REALTIME, 0);
        else if (!strcmp(words[1], "monotonic")) until(CLOCK_MONOTONIC, 0);
        else if (!strcmp(words[1], "log")) logs();
        else if (!strcmp(words[1], "log-monotonic")) until(CLOCK_MONOTONIC, 1);
        else if (!strcmp(words[1], "sleep")) { spent += ns(CLOCK_REALTIME); sleep(1); }
        else condition();
    }
}

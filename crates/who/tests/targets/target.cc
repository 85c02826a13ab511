// As target.c, through std::chrono.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>

static volatile long sink;
static unsigned long calls[3];

namespace app {
struct Reader {
    __attribute__((noinline)) void hot_a() {
        sink = sink + std::chrono::steady_clock::now().time_since_epoch().count();
        calls[0]++;
    }
    __attribute__((noinline)) void hot_b() {
        sink = sink + std::chrono::system_clock::now().time_since_epoch().count();
        calls[1]++;
    }
};
__attribute__((noinline)) void hot_c() {
    timespec t;
    clock_gettime(CLOCK_BOOTTIME, &t);
    sink = sink + t.tv_nsec;
    calls[2]++;
}
__attribute__((noinline)) void work(unsigned seed) {
    for (int i = 0; i < 20; i++) sink = sink + seed * 2654435761u + i;
}
}

int main(int count, char **words) {
    double seconds = count > 1 ? atof(words[1]) : 1;
    auto start = std::chrono::steady_clock::now();
    app::Reader reader;
    unsigned random = 1;
    do {
        for (int i = 0; i < 20000; i++) {
            random = random * 1664525u + 1013904223u;
            unsigned dice = (random >> 16) % 10;
            if (dice < 7) reader.hot_a();
            else if (dice < 9) reader.hot_b();
            else app::hot_c();
            app::work(random);
        }
    } while (std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() < seconds);
    std::printf("hot_a %lu\nhot_b %lu\nhot_c %lu\n", calls[0], calls[1], calls[2]);
}

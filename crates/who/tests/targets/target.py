# As target.c.
import sys
import time

calls = [0, 0, 0]


def hot_a():
    time.monotonic()
    calls[0] += 1


def hot_b():
    time.time()
    calls[1] += 1


class Reader:
    def hot_c(self):
        time.perf_counter()
        calls[2] += 1


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    reader = Reader()
    start = time.monotonic()
    random = 1
    while time.monotonic() - start < seconds:
        for _ in range(5000):
            random = (random * 1664525 + 1013904223) & 0xFFFFFFFF
            dice = (random >> 16) % 10
            if dice < 7:
                hot_a()
            elif dice < 9:
                hot_b()
            else:
                reader.hot_c()
    print(f"hot_a {calls[0]}\nhot_b {calls[1]}\nReader.hot_c {calls[2]}")


main()

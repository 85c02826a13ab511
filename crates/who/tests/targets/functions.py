# Reads the clock from functions of several kinds, one after the other, and counts the reads; for Python 2.7 and 3.
import sys
import time

mono = getattr(time, "monotonic", time.time)
counts = {}


def count(name, n):
    counts[name] = counts.get(name, 0) + n


def f_time(n):
    for _ in range(n):
        time.time()
    count("f_time", n)


def f_mono(n):
    for _ in range(n):
        mono()
    count("f_mono", n)


class Reader(object):
    def method(self, n):
        for _ in range(n):
            mono()
        count("method", n)


def generated(n):
    count("generated", n)
    for _ in range(n):
        yield mono()


def inner():
    count("inner", 1)
    return mono()


def called_often(n):
    for _ in range(n):
        inner()


def sorts(n):
    def by_key(x):
        count("by_key", 1)
        return mono()

    sorted(range(n), key=by_key)


end = mono() + float(sys.argv[1])
reader = Reader()
while mono() < end:
    f_time(300)
    f_mono(700)
    reader.method(200)
    for _ in generated(100):
        pass
    called_often(100)
    sorts(100)
for name in counts:
    print("%s %d" % (name, counts[name]))

/** Whether times of threads are in order, and what a read costs; says "ok NANOSECONDS". */
public final class Clocks {
    private static final java.util.concurrent.atomic.AtomicLong NEWEST =
        new java.util.concurrent.atomic.AtomicLong(Long.MIN_VALUE);
    private static final java.util.concurrent.atomic.AtomicLong BAD =
        new java.util.concurrent.atomic.AtomicLong();

    public static void main(String[] arguments) throws Exception {
        Thread[] threads = new Thread[4];
        for (int i = 0; i < threads.length; i++) {
            threads[i] = new Thread(() -> {
                for (int read = 0; read < 200_000; read++) {
                    long seen = NEWEST.get();
                    long now = System.nanoTime();
                    if (now < seen) BAD.incrementAndGet();
                    NEWEST.accumulateAndGet(now, Math::max);
                }
            });
            threads[i].start();
        }
        for (Thread thread : threads) thread.join();
        if (BAD.get() != 0) {
            System.err.println(BAD.get() + " times were behind");
            System.exit(1);
        }
        double best = 1e9;
        long sum = 0;
        for (int round = 0; round < 8; round++) {
            long begin = System.nanoTime();
            for (int read = 0; read < 200_000; read++) sum += System.nanoTime();
            best = Math.min(best, (System.nanoTime() - begin) / 200_000.0);
        }
        System.out.printf("ok %.1f%s%n", best, sum == 0 ? " " : "");
    }
}

// As target.c.
public class Target {
    static long sink;
    static long[] calls = new long[3];

    static void hotA() {
        sink += System.nanoTime();
        calls[0]++;
    }

    static void hotB() {
        sink += System.currentTimeMillis();
        calls[1]++;
    }

    static void work(int seed) {
        for (int i = 0; i < 20; i++) sink += seed * 0x9e3779b1 ^ i;
    }

    public static void main(String[] words) {
        double seconds = words.length > 0 ? Double.parseDouble(words[0]) : 1;
        long start = System.nanoTime();
        int random = 1;
        while (System.nanoTime() - start < seconds * 1e9) {
            for (int i = 0; i < 20000; i++) {
                random = random * 1664525 + 1013904223;
                if ((random >>> 16) % 10 < 7) hotA();
                else hotB();
                work(random);
            }
        }
        System.out.println("Target.hotA " + calls[0] + "\nTarget.hotB " + calls[1]);
    }
}

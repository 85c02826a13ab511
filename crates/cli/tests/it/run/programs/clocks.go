// Whether times of goroutines are in order, and what a read costs; says "ok NANOSECONDS".
package main

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

func main() {
	begin := time.Now()
	var newest atomic.Int64
	var bad atomic.Int64
	var threads sync.WaitGroup
	for range 4 {
		threads.Add(1)
		go func() {
			defer threads.Done()
			for range 200000 {
				seen := newest.Load()
				now := int64(time.Since(begin))
				if now < seen {
					bad.Add(1)
				}
				for seen < now && !newest.CompareAndSwap(seen, now) {
					seen = newest.Load()
				}
			}
		}()
	}
	threads.Wait()
	if bad.Load() != 0 {
		fmt.Fprintln(os.Stderr, bad.Load(), "times were behind")
		os.Exit(1)
	}
	const reads = 300000
	best := 1e9
	for range 5 {
		start := time.Now()
		for range reads {
			_ = time.Since(begin)
		}
		best = min(best, float64(time.Since(start))/reads)
	}
	fmt.Printf("ok %.1f\n", best)
}

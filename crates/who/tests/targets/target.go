// As target.c. time.Now reads two clocks; it counts as two calls.
package main

import (
	"fmt"
	"os"
	"strconv"
	"time"
)

var sink int64
var calls [3]uint64
var start = time.Now()

//go:noinline
func hotA() {
	sink += int64(time.Since(start))
	calls[0]++
}

//go:noinline
func hotB() {
	sink += time.Now().UnixNano()
	calls[1] += 2
}

//go:noinline
func work(seed uint32) {
	for i := uint32(0); i < 20; i++ {
		sink += int64(seed*2654435761 + i)
	}
}

func main() {
	seconds := 1.0
	if len(os.Args) > 1 {
		seconds, _ = strconv.ParseFloat(os.Args[1], 64)
	}
	random := uint32(1)
	begun := time.Now()
	for time.Since(begun).Seconds() < seconds {
		for i := 0; i < 20000; i++ {
			random = random*1664525 + 1013904223
			if (random>>16)%10 < 7 {
				hotA()
			} else {
				hotB()
			}
			work(random)
		}
	}
	fmt.Printf("main.hotA %d\nmain.hotB %d\n", calls[0], calls[1])
}

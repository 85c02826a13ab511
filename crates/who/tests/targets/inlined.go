// Reads the clock in functions that the compiler inlines, and counts the reads. time.Now reads two clocks.
package main

import (
	"fmt"
	"os"
	"strconv"
	"time"
)

var sink int64

type server struct {
	start time.Time
	count uint64
}

// Inlined into its caller.
func (s *server) hotSince() {
	sink += int64(time.Since(s.start))
	s.count++
}

var nowCount uint64

//go:noinline
func hotNow() {
	sink += time.Now().UnixNano()
	nowCount += 2
}

var addCount uint64

// Inlined into its caller, which is inlined, too.
func hotInner() int64 {
	addCount++
	return int64(time.Since(begun))
}

func outer() { sink += hotInner() }

var begun = time.Now()

func main() {
	seconds, _ := strconv.ParseFloat(os.Args[len(os.Args)-1], 64)
	s := &server{start: time.Now()}
	for time.Since(begun).Seconds() < seconds {
		for i := 0; i < 5000; i++ {
			s.hotSince()
			s.hotSince()
			hotNow()
			outer()
		}
	}
	fmt.Printf("hotSince %d\nhotNow %d\nhotInner %d\n", s.count, nowCount, addCount)
}

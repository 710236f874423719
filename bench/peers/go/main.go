// What do goroutines cost, and how fair is Go's scheduler? The same scenarios
// and the same protocol as the C++ contestants; see duel.h and fairness.h.
package main

import (
	"fmt"
	"os"
	"runtime"
	"sort"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	wave         = 1000
	yielders     = 10
	longTask     = 300 * time.Millisecond
	sleepRequest = 100 * time.Microsecond
)

var start = time.Now()

// Nanoseconds of the steady clock.
func wallNow() int64 { return int64(time.Since(start)) }

// Nanoseconds of CPU that all threads of this process have used.
func cpuNow() int64 { return cpuOf(syscall.RUSAGE_SELF) }

// The same of this thread alone.
func threadCPUNow() int64 { return cpuOf(1) } // RUSAGE_THREAD, which the package does not name

func cpuOf(who int) int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(who, &u); err != nil {
		panic(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}

func residentBytes() int64 {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		panic(err)
	}
	pages, err := strconv.ParseInt(strings.Fields(string(text))[1], 10, 64)
	if err != nil {
		panic(err)
	}
	return pages * int64(os.Getpagesize())
}

// One run of one scenario.
type trial struct {
	scenario  string
	workers   int
	n         int64
	flavor    string
	wall, cpu int64
	answer    int64
	extra     string
}

func (t *trial) start() {
	t.cpu = -cpuNow()
	t.wall = -wallNow()
}

func (t *trial) stop() {
	t.wall += wallNow()
	t.cpu += cpuNow()
}

func (t *trial) report(name string, value float64) {
	t.extra += fmt.Sprintf(",\"%s\":%.9g", name, value)
}

func (t *trial) print() {
	fmt.Printf("{\"peer\":\"go\",\"scenario\":\"%s\",\"workers\":%d,\"n\":%d,\"ns\":%d,\"cpu_ns\":%d,\"answer\":%d%s}\n",
		t.scenario, t.workers, t.n, t.wall, t.cpu, t.answer, t.extra)
}

// ---- yield, spawn, join, ping-pong

func runYield(t *trial) {
	var steps atomic.Int64
	pass := func(n int64) {
		var all sync.WaitGroup
		all.Add(yielders)
		for i := 0; i < yielders; i++ {
			go func() {
				for k := int64(0); k < n/yielders; k++ {
					runtime.Gosched()
				}
				steps.Add(n / yielders)
				all.Done()
			}()
		}
		all.Wait()
	}
	pass(t.n / 10)
	steps.Store(0)
	t.start()
	pass(t.n)
	t.stop()
	t.answer = steps.Load()
}

func spawn(t *trial, warm, size int64) {
	var ran atomic.Int64
	pass := func(n int64) {
		for i := int64(0); i < n; i += size {
			var all sync.WaitGroup
			all.Add(int(size))
			for j := int64(0); j < size; j++ {
				go func() {
					ran.Add(1)
					all.Done()
				}()
			}
			all.Wait()
		}
	}
	pass(warm)
	ran.Store(0)
	t.start()
	pass(t.n)
	t.stop()
	t.answer = ran.Load()
}

func runSpawnWaves(t *trial) { spawn(t, t.n/10, wave) }
func runSpawnBurst(t *trial) { spawn(t, t.n, t.n) }

func runSpawnJoin(t *trial) {
	result := make(chan int64, 1)
	pass := func(n int64) (sum int64) {
		for i := int64(0); i < n; i++ {
			go func(i int64) { result <- i }(i)
			sum += <-result
		}
		return sum
	}
	pass(t.n / 10)
	t.start()
	t.answer = pass(t.n)
	t.stop()
}

func pong(n int64, there, back chan int64) {
	for i := int64(0); i < n; i++ {
		back <- <-there + 1
	}
}

func ping(n int64, there, back chan int64) (sum int64) {
	for i := int64(0); i < n; i++ {
		there <- i
		sum += <-back - i
	}
	return sum
}

func runPingpong(t *trial) {
	there, back := make(chan int64), make(chan int64)
	go pong(t.n/10+t.n, there, back)
	ping(t.n/10, there, back)
	t.start()
	t.answer = ping(t.n, there, back)
	t.stop()
}

func runPingpongAcross(t *trial) {
	there, back := make(chan int64), make(chan int64)
	runtime.GOMAXPROCS(2)
	runtime.LockOSThread()
	go func() {
		runtime.LockOSThread()
		pong(t.n, there, back)
	}()
	t.start()
	t.answer = ping(t.n, there, back)
	t.stop()
}

// ---- timers, sleep, memory, idle

func runTimers(t *trial) {
	timers := make([]*time.Timer, t.n)
	var fired atomic.Int64
	var all sync.WaitGroup
	all.Add(int(t.n / 2))
	t.start()
	begin := time.Now()
	cpu0 := cpuNow()
	for i := range timers {
		delay := time.Duration(4000+(int64(i)*7919)%1000) * time.Millisecond
		timers[i] = time.AfterFunc(delay-time.Since(begin), func() {
			fired.Add(1)
			all.Done()
		})
	}
	cpu1 := cpuNow()
	for i := 0; i < len(timers); i += 2 {
		timers[i].Stop()
	}
	cpu2 := cpuNow()
	all.Wait()
	t.stop()
	t.report("set_ns", float64(cpu1-cpu0)/float64(t.n))
	t.report("cancel_ns", float64(cpu2-cpu1)/float64(t.n)*2)
	t.answer = fired.Load()
}

func runSleep(t *trial) {
	beyond := make([]int64, 0, t.n)
	t.start()
	for i := int64(0); i < t.n; i++ {
		due := wallNow() + int64(sleepRequest)
		time.Sleep(sleepRequest)
		beyond = append(beyond, wallNow()-due)
	}
	t.stop()
	sort.Slice(beyond, func(a, b int) bool { return beyond[a] < beyond[b] })
	t.report("p50_us", float64(beyond[(len(beyond)-1)*50/100])/1000)
	t.report("p99_us", float64(beyond[(len(beyond)-1)*99/100])/1000)
	t.answer = int64(len(beyond))
}

func runParked(t *trial) {
	event := make(chan struct{})
	var parked, woken atomic.Int64
	var all sync.WaitGroup
	all.Add(int(t.n))
	before := residentBytes()
	t.start()
	for i := int64(0); i < t.n; i++ {
		go func() {
			parked.Add(1)
			<-event
			woken.Add(1)
			all.Done()
		}()
	}
	for parked.Load() < t.n {
		runtime.Gosched()
	}
	t.stop()
	t.report("bytes", float64(residentBytes()-before)/float64(t.n))
	close(event)
	all.Wait()
	t.answer = woken.Load()
}

func runIdleLong(t *trial) {
	done := make(chan int64)
	t.start()
	go func() {
		runtime.LockOSThread()
		own := threadCPUNow()
		for until := time.Now().Add(longTask); time.Now().Before(until); {
		}
		done <- threadCPUNow() - own
	}()
	own := <-done
	t.stop()
	t.report("own_ns", float64(own))
}

func runIdlePool(t *trial) {
	var all sync.WaitGroup
	all.Add(2)
	go all.Done()
	go all.Done()
	all.Wait()
	t.start()
	time.Sleep(longTask)
	t.stop()
}

func main() {
	scenarios := []struct {
		name string
		run  func(*trial)
	}{
		{"yield", runYield},
		{"spawn_waves", runSpawnWaves},
		{"spawn_burst", runSpawnBurst},
		{"spawn_join", runSpawnJoin},
		{"pingpong", runPingpong},
		{"pingpong_across", runPingpongAcross},
		{"timers", runTimers},
		{"sleep", runSleep},
		{"parked", runParked},
		{"idle_long", runIdleLong},
		{"idle_pool", runIdlePool},
		{"hogs_yield", runHogsYield},
		{"spawned_by_hog", runSpawnedByHog},
		{"woken_by_hog", runWokenByHog},
		{"other_thread", runOtherThread},
		{"pingpong_pairs", runPingpongPairs},
		{"respawn_chain", runRespawnChain},
		{"timer_under_load", runTimerUnderLoad},
		{"dispatch_loop", runDispatchLoop},
	}
	if len(os.Args) == 2 && os.Args[1] == "--list" {
		for _, s := range scenarios {
			fmt.Println(s.name)
		}
		return
	}
	t := trial{workers: 1, n: 1000}
	if len(os.Args) > 1 {
		t.scenario = os.Args[1]
	}
	for i := 2; i+1 < len(os.Args); i += 2 {
		number, _ := strconv.ParseInt(os.Args[i+1], 10, 64) // a flavor is no number
		switch os.Args[i] {
		case "--workers":
			t.workers = int(number)
		case "--n":
			t.n = number
		case "--flavor":
			t.flavor = os.Args[i+1]
		}
	}
	runtime.GOMAXPROCS(t.workers)
	for _, s := range scenarios {
		if s.name == t.scenario {
			s.run(&t)
			t.print()
			return
		}
	}
	fmt.Fprintf(os.Stderr, "go: no scenario \"%s\"; --list names them\n", t.scenario)
	os.Exit(2)
}

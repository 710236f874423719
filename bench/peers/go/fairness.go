// How many steps do the hogs make while a quiet goroutine is ready and does not
// run? The counterpart of fairness.h.
package main

/*
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <unistd.h>

extern void wakeQuiet(void);

static void* call_go(void* unused) {
	(void)unused;
	for (;;) wakeQuiet();
	return 0;
}

// What the thread that writes to the pipe shares with Go.
static _Atomic uint64_t steps, ran_at;
static _Atomic int64_t done;
static uint64_t delays[1000];
static int64_t wanted;
static int pipe_end;

static void* write_pipe(void* unused) {
	(void)unused;
	for (int64_t i = 0; i < wanted; ++i) {
		usleep(1500);
		ran_at = UINT64_MAX;
		if (write(pipe_end, "x", 1) != 1) break;
		uint64_t const woken_at = steps;
		while (ran_at == UINT64_MAX) usleep(200);
		delays[i] = ran_at > woken_at ? ran_at - woken_at : 0;
		done = i + 1;
	}
	while (write(pipe_end, "x", 1) == 1) usleep(1500);
	return 0;
}

static void start_thread(int64_t n, int fd) {
	pthread_t thread;
	wanted = n < 1000 ? n : 1000;
	pipe_end = fd;
	pthread_create(&thread, 0, fd < 0 ? call_go : write_pipe, 0);
	pthread_detach(thread);
}

static int64_t trials_done(void) { return done; }
static uint64_t delay_of(int64_t trial) { return delays[trial]; }
static void* steps_word(void) { return (void*)&steps; }
static void* ran_at_word(void) { return (void*)&ran_at; }
*/
import "C"

import (
	"os"
	"runtime"
	"sort"
	"sync/atomic"
	"time"
)

const (
	hogs     = 10
	pairs    = 5
	actEvery = 997
	settled  = 1000
	notYet   = ^uint64(0)
	patience = int64(2 * time.Second)
	budget   = int64(3 * time.Second)
)

type meter struct {
	t                *trial
	begin            int64
	steps            atomic.Uint64
	waiting          atomic.Bool
	ranAt            atomic.Uint64
	readyAt          uint64
	readyTime        int64
	deadline         atomic.Int64
	lateSteps        uint64
	delays, lateness []uint64
}

func newMeter(t *trial) *meter {
	t.start()
	return &meter{t: t, begin: wallNow()}
}

func (m *meter) step() {
	// One worker writes, so a load and a store do for an increment.
	s := m.steps.Load() + 1
	m.steps.Store(s)
	if s%256 == 0 && m.waiting.Load() && wallNow()-m.readyTime >= patience {
		if m.deadline.Load() != 0 {
			m.starved(m.lateSteps)
		}
		m.starved(s - m.readyAt)
	}
}

func (m *meter) stepAfterDeadline() {
	m.step()
	if d := m.deadline.Load(); d != 0 && wallNow() >= d {
		m.lateSteps++
	}
}

func (m *meter) act() bool {
	if m.steps.Load()%actEvery != 0 || m.waiting.Load() {
		return false
	}
	m.ready()
	return true
}

func (m *meter) ready() {
	m.readyAt = m.steps.Load()
	m.readyTime = wallNow()
	m.waiting.Store(true)
}

func (m *meter) ran() bool {
	m.waiting.Store(false)
	if m.steps.Load() < settled {
		if wallNow()-m.begin > patience {
			m.starved(0)
		}
		return true
	}
	m.delays = append(m.delays, m.steps.Load()-m.readyAt)
	return m.more()
}

func (m *meter) arm(deadline int64) {
	m.lateSteps = 0
	m.readyTime = deadline
	m.deadline.Store(deadline)
	m.waiting.Store(true)
}

func (m *meter) fired() bool {
	m.waiting.Store(false)
	m.delays = append(m.delays, m.lateSteps)
	late := wallNow() - m.deadline.Load()
	if late < 0 {
		late = 0
	}
	m.lateness = append(m.lateness, uint64(late))
	m.deadline.Store(0)
	return m.more()
}

func (m *meter) more() bool {
	return int64(len(m.delays)) < m.t.n && wallNow()-m.begin < budget
}

func (m *meter) starved(steps uint64) {
	m.t.stop()
	m.t.extra += ",\"starved\":true"
	m.t.report("steps_max", float64(steps))
	m.t.print()
	os.Exit(0)
}

func (m *meter) summary(name string, values []uint64, unit float64) {
	sort.Slice(values, func(a, b int) bool { return values[a] < values[b] })
	at := func(q float64) float64 { return float64(values[int(q*float64(len(values)-1))]) / unit }
	m.t.report(name+"_p50", at(0.5))
	m.t.report(name+"_p99", at(0.99))
	m.t.report(name+"_max", at(1))
}

func (m *meter) finish() {
	m.t.stop()
	m.t.answer = int64(len(m.delays))
	m.summary("steps", m.delays, 1)
	if len(m.lateness) > 0 {
		m.summary("late_us", m.lateness, 1000)
	}
	m.t.print()
	os.Exit(0)
}

func startHogs(step func()) {
	for i := 0; i < hogs; i++ {
		go func() {
			for {
				step()
				runtime.Gosched()
			}
		}()
	}
}

func quietYields(m *meter) {
	for again := true; again; {
		m.ready()
		runtime.Gosched()
		again = m.ran()
	}
	m.finish()
}

func runHogsYield(t *trial) {
	m := newMeter(t)
	startHogs(m.step)
	quietYields(m)
}

func runSpawnedByHog(t *trial) {
	m := newMeter(t)
	startHogs(func() {
		m.step()
		if m.act() {
			go func() {
				if !m.ran() {
					m.finish()
				}
			}()
		}
	})
	select {}
}

func runWokenByHog(t *trial) {
	m := newMeter(t)
	wake := make(chan struct{}, 1)
	startHogs(func() {
		m.step()
		if m.act() {
			wake <- struct{}{}
		}
	})
	for range wake {
		if !m.ran() {
			m.finish()
		}
	}
}

// A thread that C started wakes the quiet goroutine: it calls into Go and sends on
// a channel or, with the flavor "pipe", it writes to a pipe that the goroutine reads.
var (
	outsideMeter *meter
	outsideWake  = make(chan struct{}, 1)
)

//export wakeQuiet
func wakeQuiet() {
	m := outsideMeter
	time.Sleep(1500 * time.Microsecond)
	m.ranAt.Store(notYet)
	m.ready()
	outsideWake <- struct{}{}
	wokenAt := m.steps.Load()
	for m.ranAt.Load() == notYet {
		time.Sleep(200 * time.Microsecond)
	}
	delay := uint64(0)
	if r := m.ranAt.Load(); r > wokenAt {
		delay = r - wokenAt
	}
	m.delays = append(m.delays, delay)
	if !m.more() {
		m.finish()
	}
}

func runOtherThread(t *trial) {
	m := newMeter(t)
	if t.flavor == "pipe" {
		wokenByPipe(m)
	}
	outsideMeter = m
	C.start_thread(C.int64_t(t.n), -1)
	startHogs(m.step)
	for range outsideWake {
		m.waiting.Store(false)
		m.ranAt.Store(m.steps.Load())
	}
}

// The steps are counted from Go, though the counter is C's: with a call into C
// each step would be a system call to the scheduler.
func wokenByPipe(m *meter) {
	read, write, err := os.Pipe()
	if err != nil {
		panic(err)
	}
	C.start_thread(C.int64_t(m.t.n), C.int(write.Fd()))
	counter := (*atomic.Uint64)(C.steps_word())
	ranAt := (*atomic.Uint64)(C.ran_at_word())
	startHogs(func() { counter.Store(counter.Load() + 1) })
	buffer := make([]byte, 1)
	for C.trials_done() < C.int64_t(m.t.n) && wallNow()-m.begin < budget {
		if _, err := read.Read(buffer); err != nil {
			panic(err)
		}
		ranAt.Store(counter.Load())
	}
	for i := int64(0); i < int64(C.trials_done()); i++ {
		m.delays = append(m.delays, uint64(C.delay_of(C.int64_t(i))))
	}
	m.finish()
}

func runPingpongPairs(t *trial) {
	m := newMeter(t)
	player := func(out, in chan struct{}) {
		for {
			<-in
			m.step()
			out <- struct{}{}
		}
	}
	for i := 0; i < pairs; i++ {
		there, back := make(chan struct{}, 1), make(chan struct{}, 1)
		go player(there, back)
		go player(back, there)
		there <- struct{}{}
	}
	quietYields(m)
}

func linkOfChain(m *meter) {
	m.step()
	go linkOfChain(m)
}

func runRespawnChain(t *trial) {
	m := newMeter(t)
	go linkOfChain(m)
	quietYields(m)
}

func runTimerUnderLoad(t *trial) {
	m := newMeter(t)
	startHogs(m.stepAfterDeadline)
	for again := true; again; {
		m.arm(wallNow() + int64(time.Millisecond))
		time.Sleep(time.Millisecond)
		again = m.fired()
	}
	m.finish()
}

func runDispatchLoop(t *trial) {
	m := newMeter(t)
	own := make(chan struct{}, 1)
	go func() {
		for {
			m.step()
			own <- struct{}{}
			<-own
		}
	}()
	quietYields(m)
}

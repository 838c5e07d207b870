// Package goid tells goroutines apart.
//
// Go has no public goroutine identity, on purpose: state keyed by goroutine tends
// to leak and to surprise. zklock uses it for one thing only, to know whether the
// caller of Lock and Unlock is the owner, as Java's ReentrantLock knows its thread.
//
// # The guard
//
// petermattis/goid reads the id from the runtime's private g struct, whose layout
// may change with a Go release. A wrong id would give one lock two owners. So at
// start the package compares that id, in five goroutines, with the one that the
// runtime prints in a stack trace. If one of them differs, every id is read from the
// stack trace from then on: that is slow, microseconds instead of a nanosecond, and
// right under every Go release. If the stack trace has no id either, Get panics. A
// test fails when a new Go release no longer passes the comparison.
package goid

import (
	"bytes"
	"fmt"
	"math"
	"runtime"
	"strconv"

	petermattis "github.com/petermattis/goid"
)

// trusted reports whether petermattis/goid, which reads a field of the runtime's
// private g struct, is right in this binary: its newest build constraint has no
// upper bound, so that it compiles even under a Go release that moves the field.
var trusted = agrees(petermattis.Get)

// Unknown is no goroutine's id.
const Unknown int64 = math.MinInt64

// Get returns the id of the calling goroutine. It is positive, and never used
// again by another goroutine of the process.
func Get() int64 {
	if id := Fast(); id != Unknown {
		return id
	}
	return fromStack()
}

// Fast is Get without its fallback, so that the compiler inlines it: 1.4 ns
// instead of 2.7. It returns Unknown where only the fallback can be trusted; the
// caller must then call Get.
func Fast() int64 {
	if trusted {
		return petermattis.Get()
	}
	return Unknown
}

// agrees reports whether read returns the id that the runtime prints, in the
// calling goroutine and in a few others.
func agrees(read func() int64) bool {
	const others = 4
	ok := make(chan bool, others)
	for range others {
		go func() { ok <- read() == fromStack() }()
	}
	all := read() == fromStack()
	for range others {
		all = <-ok && all
	}
	return all
}

// fromStack reads the id from the first line of the goroutine's own stack trace.
// That takes microseconds, but the line has had one form in every Go release.
func fromStack() int64 {
	var buf [64]byte
	header := buf[:runtime.Stack(buf[:], false)]
	id, ok := parse(header)
	if !ok {
		// Any made-up id would let two goroutines own the same lock.
		panic(fmt.Sprintf("zklock: no goroutine id in stack header %q", header))
	}
	return id
}

// parse returns the 7 of "goroutine 7 [running]:".
func parse(header []byte) (id int64, ok bool) {
	rest, ok := bytes.CutPrefix(header, []byte("goroutine "))
	if !ok {
		return 0, false
	}
	digits, _, ok := bytes.Cut(rest, []byte(" "))
	if !ok {
		return 0, false
	}
	id, err := strconv.ParseInt(string(digits), 10, 64)
	return id, err == nil && id > 0
}

package cli

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// duration is a flag's value: with a unit, as Go writes it (1m30s), or in seconds
// without one, as flock and timeout have it.
type duration struct {
	time.Duration
	set bool
}

// longest is the longest time that a number of seconds may be.
const longest = 100 * 365 * 24 * time.Hour

func (d *duration) Set(text string) error {
	value, err := time.ParseDuration(text)
	if seconds, isNumber := strconv.ParseFloat(text, 64); isNumber == nil && math.Abs(seconds) <= longest.Seconds() {
		value, err = time.Duration(seconds*float64(time.Second)), nil
	}
	if err != nil {
		return fmt.Errorf("%q is not a time: write one such as 1m30s, or a number of seconds", text)
	}
	if value < 0 {
		return fmt.Errorf("%q is negative: a time is 0 or more", text)
	}
	d.Duration, d.set = value, true
	return nil
}

func (d *duration) Type() string { return "duration" }

func (d *duration) String() string {
	if d.Duration == 0 && !d.set {
		return ""
	}
	return d.Duration.String()
}

package ui

import (
	"fmt"
	"slices"
	"time"
)

// strip is the last hour of a lock as a picture: who had it when, who had waited for how long, and when
// nobody looked. Places are parts of its width.
type strip struct {
	Height, Foot    int // of all of it, and where the waits begin
	Bars            []bar
	Waits           []bar
	Unseen          []bar
	Handovers, Lost int
	Span            time.Duration
	Axis            []string // times, from the left
	Said            string   // what the picture shows, in words
}

// bar is one time. X and W are per cent, Y and H pixels.
type bar struct {
	X, W  string
	Y, H  int
	Class string
	Title string
	Mark  string // at its end
	End   string // per cent
}

const (
	laneHeight = 18
	mostLanes  = 5
	blur       = time.Second // two clocks, and when something is told, tell no shorter time apart
	waitLanes  = 4
	waitHeight = 4
)

// marks stand at the end of a hold that has not ended as it should, perhaps.
var marks = map[string]string{endSession: "!", endBroken: "×", endAsked: "↩"}

// spans are the times that a strip may be of.
var spans = []time.Duration{5 * time.Minute, 15 * time.Minute, remembered}

// spanOf is the shortest of them for which somebody has looked.
func spanOf(looks []span, now time.Time) time.Duration {
	for _, s := range spans {
		if len(looks) == 0 || now.Sub(looks[0].from) < s {
			return s
		}
	}
	return remembered
}

// stripOf is the picture of the shortest time that shows all that was seen, an hour at most.
func stripOf(past []tenure, looks []span, now time.Time) strip {
	s := strip{Span: spanOf(looks, now)}
	begin := now.Add(-s.Span)
	past = slices.DeleteFunc(slices.Clone(past), func(t tenure) bool { return !t.To.IsZero() && t.To.Before(begin) })
	part := func(t time.Time) float64 { return 100 * min(max(t.Sub(begin).Seconds()/s.Span.Seconds(), 0), 1) }
	place := func(from, to time.Time) (x, w string) {
		return fmt.Sprintf("%.3f%%", part(from)), fmt.Sprintf("%.3f%%", max(part(to)-part(from), 0.1))
	}
	for i := range 5 {
		s.Axis = append(s.Axis, "−"+age(s.Span*time.Duration(4-i)/4))
	}
	s.Axis[4] = "now"
	s.lay(past, now, part, place)
	s.shade(looks, begin, now, place)
	s.Said = fmt.Sprintf("%s, %s, %s", many(len(past), "hold"), many(s.Handovers, "hand-over"), many(s.Lost, "known loss"))
	return s
}

// lay places the holds, those at the same time below each other, and below all of them the waits.
func (s *strip) lay(past []tenure, now time.Time, part func(time.Time) float64, place func(from, to time.Time) (x, w string)) {
	lanes := 1
	free := make([]time.Time, mostLanes) // when each lane is
	for i, t := range past {
		to := t.To
		if to.IsZero() {
			to = now
		}
		lane := slices.IndexFunc(free, func(since time.Time) bool { return !since.After(t.From.Add(blur)) })
		lane = max(lane, 0)
		free[lane] = to
		lanes = max(lanes, lane+1)
		b := bar{Y: lane * laneHeight, H: laneHeight - 2, Class: []string{"even", "odd"}[i%2], Title: t.String(), Mark: marks[t.End]}
		b.X, b.W = place(t.From, to)
		b.End = fmt.Sprintf("%.3f%%", part(to))
		if t.To.IsZero() {
			b.Class += " now"
		}
		if t.End == endSession || t.End == endBroken {
			b.Class += " lost"
			s.Lost++
		}
		if i > 0 && t.Waited > 0 {
			s.Handovers++
		}
		s.Bars = append(s.Bars, b)
	}
	s.Foot = lanes * laneHeight
	for i, t := range past {
		if t.Waited >= time.Second {
			b := bar{Y: s.Foot + i%waitLanes*waitHeight, H: 2, Title: t.Who + " waited " + age(t.Waited)}
			b.X, b.W = place(t.From.Add(-t.Waited), t.From)
			s.Waits = append(s.Waits, b)
		}
	}
	s.Height = s.Foot + waitLanes*waitHeight
}

// shade marks when nobody looked.
func (s *strip) shade(looks []span, begin, now time.Time, place func(from, to time.Time) (x, w string)) {
	unseen := begin
	for _, l := range looks {
		if l.from.After(unseen) {
			b := bar{H: s.Height}
			b.X, b.W = place(unseen, l.from)
			s.Unseen = append(s.Unseen, b)
		}
		if unseen = l.to; l.to.IsZero() {
			unseen = now
		}
	}
}

// String says a tenure in words.
func (t tenure) String() string {
	said := t.Who + " from " + t.From.Format(time.TimeOnly)
	if !t.To.IsZero() {
		said += " to " + t.To.Format(time.TimeOnly) + ": " + t.End
	} else {
		said += " on"
	}
	if t.Waited >= time.Second {
		said += ", after a wait of " + age(t.Waited)
	}
	return said
}

// Sign is what the picture has at a tenure's end.
func (t tenure) Sign() string { return marks[t.End] }

// Last is of what time it is, in words.
func (s strip) Last() string {
	if s.Span == remembered {
		return "hour"
	}
	return many(int(s.Span/time.Minute), "minute")
}

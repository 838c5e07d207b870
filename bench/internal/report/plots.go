package report

import (
	"fmt"
	"image/color"
	"math"
	"os"
	"path/filepath"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	_ "gonum.org/v1/plot/vg/vgsvg" // the format of the files

	"github.com/zklock/zklock/bench/internal/result"
)

// curves is a plot of figures that differ in one number.
type curves struct {
	file, title, axis string
	points            []point
}

type point struct {
	x      float64
	figure string
}

var allCurves = []curves{
	{"goroutines", "One process, one lock: µs per cycle", "goroutines or threads", []point{
		{1, "uncontended-loopback/ns"},
		{8, "goroutines-8/ns"},
		{64, "goroutines-64/ns"},
		{1024, "goroutines-1024/ns"},
	}},
	{"sessions", "Sessions on one lock, loopback: µs per cycle", "sessions", []point{
		{1, "uncontended-loopback/ns"},
		{2, "sessions-2-loopback/ns"},
		{8, "sessions-8-loopback/ns"},
		{64, "sessions-64-loopback/ns"},
	}},
	{"sessions-5ms", "Sessions on one lock, 5 ms round trip: µs per cycle", "sessions", []point{
		{1, "uncontended-5ms/ns"},
		{2, "sessions-2-5ms/ns"},
		{8, "sessions-8-5ms/ns"},
		{64, "sessions-64-5ms/ns"},
	}},
	{"handover", "Hand-over to another session: µs", "waiters", []point{
		{1, "handover-1/ns"},
		{100, "handover-100/ns"},
		{1000, "handover-1000/ns"},
		{3000, "handover-3000/ns"},
		{5000, "handover-5000/ns"},
	}},
}

var allBars = []string{"uncontended-loopback/ns", "uncontended-5ms/ns"}

// colours are those of Okabe and Ito, which colour-blind people can tell apart.
var colours = map[string]color.Color{
	"zklock":               color.RGBA{0xd5, 0x5e, 0x00, 0xff},
	"zklock, WithoutOwner": color.RGBA{0xe6, 0x9f, 0x00, 0xff},
	withHandoff:            color.RGBA{0x80, 0x20, 0x00, 0xff},
	withRetention:          color.RGBA{0xf0, 0xe4, 0x42, 0xff},
	"zk.Lock":              color.RGBA{0x00, 0x72, 0xb2, 0xff},
	"Curator":              color.RGBA{0x00, 0x9e, 0x73, 0xff},
	"kazoo":                color.RGBA{0x56, 0xb4, 0xe9, 0xff},
	"etcd":                 color.RGBA{0xcc, 0x79, 0xa7, 0xff},
	"redsync":              color.RGBA{0x99, 0x99, 0x99, 0xff},
}

func colourOf(party string) color.Color {
	if c, ok := colours[party]; ok {
		return c
	}
	return color.Black
}

// plots writes every plot for which the run has data, and removes the others.
func plots(dir string, run *result.Run) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	old, err := filepath.Glob(filepath.Join(dir, "*.svg"))
	if err != nil {
		return err
	}
	for _, file := range old {
		if err := os.Remove(file); err != nil {
			return err
		}
	}
	for _, id := range allBars {
		if f, ok := run.Figure(id); ok && len(f.Rows) > 0 {
			if err := drawBars(filepath.Join(dir, filepath.Dir(id)+".svg"), f); err != nil {
				return fmt.Errorf("plot %s: %w", id, err)
			}
		}
	}
	for _, c := range allCurves {
		if err := c.draw(dir, run); err != nil {
			return fmt.Errorf("plot %s: %w", c.file, err)
		}
	}
	return nil
}

// room keeps names apart from bars, also in a font that is wider than ours.
const room = "            "

// wholeTicks are those of a linear axis, with no more digits than needed.
type wholeTicks struct{}

func (wholeTicks) Ticks(least, greatest float64) []plot.Tick {
	ticks := plot.DefaultTicks{}.Ticks(least, greatest)
	for i, t := range ticks {
		if !t.IsMinor() {
			ticks[i].Label = fmt.Sprint(t.Value)
		}
	}
	return ticks
}

// drawBars shows one figure, a bar for each party with the spread at its end.
func drawBars(file string, f result.Figure) error {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.X.Min = f.Title, f.Unit, 0
	names := make([]string, len(f.Rows))
	spread := errorBars{}
	for i := range f.Rows {
		row := f.Rows[len(f.Rows)-1-i] // the first on top
		s := row.Summary()
		bar, err := plotter.NewBarChart(plotter.Values{s.Median}, vg.Points(14))
		if err != nil {
			return err
		}
		bar.Horizontal, bar.XMin = true, float64(i)
		bar.LineStyle.Width, bar.Color = 0, colourOf(row.Party)
		p.Add(bar)
		names[i] = row.Party + room
		spread.add(s.Median, float64(i), s.Median-s.Min, s.Max-s.Median)
	}
	whiskers, err := plotter.NewXErrorBars(spread)
	if err != nil {
		return err
	}
	p.Add(whiskers)
	p.NominalY(names...)
	p.X.Max *= 1.05
	p.X.Tick.Marker = wholeTicks{}
	return p.Save(7*vg.Inch, vg.Length(len(names))*vg.Points(24)+vg.Inch, file)
}

// draw shows a line for each party, on logarithmic scales.
func (c curves) draw(dir string, run *result.Run) error {
	p := plot.New()
	p.Title.Text, p.X.Label.Text = c.title, c.axis
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.Y.Tick.Marker = plot.LogTicks{Prec: -1}
	var ticks plot.ConstantTicks
	for _, at := range c.points {
		ticks = append(ticks, plot.Tick{Value: at.x, Label: fmt.Sprint(at.x)})
	}
	p.X.Tick.Marker = ticks
	p.Legend.Top, p.Legend.Left, p.Legend.XOffs = true, true, 4.8*vg.Inch
	drawn := false
	for _, party := range c.parties(run) {
		line, whiskers, err := c.line(run, party)
		if err != nil {
			return err
		}
		if line == nil {
			continue
		}
		p.Add(line, whiskers)
		p.Legend.Add(party, line)
		drawn = true
	}
	if !drawn {
		return nil
	}
	first, last := c.points[0].x, c.points[len(c.points)-1].x
	p.X.Max = last * math.Sqrt(last/first) // the legend is beside the lines
	p.Y.Min = math.Pow(10, math.Floor(math.Log10(p.Y.Min)))
	p.Y.Max = math.Pow(10, math.Ceil(math.Log10(p.Y.Max)))
	return p.Save(8*vg.Inch, 5*vg.Inch, filepath.Join(dir, c.file+".svg"))
}

// parties are all that are in a figure behind the first, which has the floors.
func (c curves) parties(run *result.Run) []string {
	var names []string
	for _, at := range c.points[1:] {
		f, _ := run.Figure(at.figure)
		for _, row := range f.Rows {
			if !slices.Contains(names, row.Party) {
				names = append(names, row.Party)
			}
		}
	}
	return names
}

func (c curves) line(run *result.Run, party string) (*plotter.Line, *plotter.YErrorBars, error) {
	spread := errorBars{}
	for _, at := range c.points {
		f, _ := run.Figure(at.figure)
		if row, ok := f.Row(party); ok {
			s := row.Summary()
			spread.add(at.x, s.Median, s.Median-s.Min, s.Max-s.Median)
		}
	}
	if len(spread.XYs) == 0 {
		return nil, nil, nil
	}
	line, err := plotter.NewLine(spread)
	if err != nil {
		return nil, nil, err
	}
	whiskers, err := plotter.NewYErrorBars(spread)
	if err != nil {
		return nil, nil, err
	}
	line.Color, line.Width, whiskers.Color = colourOf(party), vg.Points(1.5), colourOf(party)
	return line, whiskers, nil
}

// errorBars are points with a spread to either side, along whichever axis they
// are drawn.
type errorBars struct {
	plotter.XYs
	spread [][2]float64
}

func (e *errorBars) add(x, y, below, above float64) {
	e.XYs = append(e.XYs, plotter.XY{X: x, Y: y})
	e.spread = append(e.spread, [2]float64{below, above})
}

func (e errorBars) XError(i int) (below, above float64) { return e.spread[i][0], e.spread[i][1] }
func (e errorBars) YError(i int) (below, above float64) { return e.spread[i][0], e.spread[i][1] }

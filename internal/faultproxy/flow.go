package faultproxy

import (
	"errors"
	"io"
	"net"
	"slices"
	"time"

	"github.com/zklock/zklock/internal/protocol"
)

// inFlight bounds what a flow has read and not yet written; beyond it the
// sender's connection fills up.
const inFlight = 1 << 12

// flow is one direction of a link. One goroutine reads, stamping each parcel
// with the time it is due, and one writes, so that a delay is latency and not
// a limit to throughput.
type flow struct {
	link     *link
	dir      Direction
	src, dst *net.TCPConn
	queue    chan parcel

	// Of the writer alone:
	held   *Held    // a reply waits for its release
	behind []parcel // that reply and what came after it, in order
}

// parcel is a frame, or some bytes of a raw connection, or the end of the
// stream.
type parcel struct {
	data   []byte
	end    error
	due    time.Time
	first  bool // of its connection
	judged bool // no order applies to it any more
}

func (f *flow) read() {
	next := readSome
	if f.link.proxy.framed {
		next = protocol.ReadFrame
	}
	for first := true; ; first = false {
		data, err := next(f.src)
		way, _ := f.link.proxy.way(f.dir)
		select {
		case f.queue <- parcel{data: data, end: err, first: first, due: time.Now().Add(way.delay)}:
		case <-f.link.ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

func readSome(src io.Reader) ([]byte, error) {
	data := make([]byte, 32<<10)
	n, err := src.Read(data)
	return data[:n], err
}

// write returns when the stream has ended or the link is cut.
func (f *flow) write() {
	for {
		var released <-chan struct{}
		if f.held != nil {
			released = f.held.released
		}
		select {
		case <-f.link.ctx.Done():
			return
		case <-released:
			waiting := f.behind
			f.held, f.behind = nil, nil
			for _, p := range waiting {
				if !f.forward(p) {
					return
				}
			}
		case p := <-f.queue:
			if !f.arrive(p) || !f.forward(p) {
				return
			}
		}
	}
}

// arrive waits until the parcel is due and its direction not frozen. It
// reports false if the link was cut first.
func (f *flow) arrive(p parcel) bool {
	due := time.NewTimer(time.Until(p.due))
	defer due.Stop()
	select {
	case <-due.C:
	case <-f.link.ctx.Done():
		return false
	}
	return f.link.proxy.awaitThaw(f.link.ctx, f.dir)
}

// forward disposes of a parcel as the proxy was told. It reports false when
// nothing more is to be written.
func (f *flow) forward(p parcel) bool {
	if f.held != nil && !p.isPing() {
		f.behind = append(f.behind, p)
		return true
	}
	if way, _ := f.link.proxy.way(f.dir); way.mode == dropping {
		return p.end == nil
	}
	if p.end != nil {
		f.finish(p.end)
		return false
	}
	if f.link.proxy.framed && !p.judged {
		switch o := f.judge(p); {
		case o == nil:
		case o.held != nil:
			p.judged = true
			f.held, f.behind = o.held, []parcel{p}
			close(o.held.arrived)
			return true
		default:
			f.link.cut()
			close(o.done)
			return false
		}
	}
	if err := f.send(p.data); err != nil {
		f.link.reset()
		return false
	}
	return true
}

func (f *flow) send(data []byte) error {
	n := f.link.proxy.sliceSize()
	if n <= 0 {
		n = max(len(data), 1)
	}
	for piece := range slices.Chunk(data, n) {
		if _, err := f.dst.Write(piece); err != nil {
			return err
		}
	}
	return nil
}

// finish passes the end of the stream on.
func (f *flow) finish(end error) {
	if errors.Is(end, io.EOF) && f.dst.CloseWrite() == nil {
		return
	}
	f.link.reset()
}

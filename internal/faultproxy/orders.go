package faultproxy

import (
	"slices"
	"sync"

	"github.com/zklock/zklock/internal/protocol"
)

// The operations that a fault can be for, and an observer look for.
const (
	OpConnect      = protocol.OpConnect
	OpCreate       = protocol.OpCreate
	OpDelete       = protocol.OpDelete
	OpExists       = protocol.OpExists
	OpGetData      = protocol.OpGetData
	OpGetChildren  = protocol.OpGetChildren
	OpSync         = protocol.OpSync
	OpGetChildren2 = protocol.OpGetChildren2
	OpMulti        = protocol.OpMulti
	OpCreate2      = protocol.OpCreate2
	OpSetAuth      = protocol.OpSetAuth
)

// An order is for the next request of an operation. What happens to it, or to
// its reply, ends the connection unless the reply is to be held.
type order struct {
	op      int32
	request bool          // the request itself is lost, not its reply
	held    *Held         // if not nil, the reply is held
	done    chan struct{} // closed when the frame has been lost
}

// DropRequest loses the next request of an operation: it does not reach the
// server, and the connection is cut. The channel closes when that has
// happened.
func (p *Proxy) DropRequest(op int32) <-chan struct{} {
	return p.order(&order{op: op, request: true, done: make(chan struct{})}).done
}

// DropReply loses the reply to the next request of an operation: the server
// executes the request, and when its reply arrives the connection is cut. The
// channel closes when that has happened. It stays open if the connection ends
// before the reply.
func (p *Proxy) DropReply(op int32) <-chan struct{} {
	return p.order(&order{op: op, done: make(chan struct{})}).done
}

// HoldReply keeps back the reply to the next request of an operation and, as a
// server does not change the order of its replies, everything behind it except
// the replies to pings. Holding OpConnect makes a server that accepts a
// connection and never answers.
func (p *Proxy) HoldReply(op int32) *Held {
	return p.order(&order{op: op, held: &Held{
		arrived:  make(chan struct{}),
		released: make(chan struct{}),
	}}).held
}

func (p *Proxy) order(o *order) *order {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.orders = append(p.orders, o)
	return o
}

// OnRequest has f see every request before it goes to the server, frame with
// its length and header. The request and those behind it wait until f returns,
// so that f decides what the server has seen by then. f must not keep frame.
func (p *Proxy) OnRequest(f func(op int32, frame []byte)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.observe = f
}

// Tap has a function of its own see every frame on each new connection, except the
// handshake's, with its length and before it goes on. The function is called for
// both directions, which may be at the same time, and must not keep frame.
func (p *Proxy) Tap(each func() func(dir Direction, frame []byte)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tap = each
}

// Held is a reply that is kept back.
type Held struct {
	arrived  chan struct{}
	released chan struct{}
	release  sync.Once
}

// Arrived returns a channel that closes when the server has replied.
func (h *Held) Arrived() <-chan struct{} { return h.arrived }

// Release delivers the reply, or lets it pass if it has not arrived yet. It
// may be called again.
func (h *Held) Release() { h.release.Do(func() { close(h.released) }) }

// judge returns the order that a frame falls under, or nil.
func (f *flow) judge(p parcel) *order {
	if f.link.tap != nil && !p.first {
		f.link.tap(f.dir, p.data)
	}
	if f.dir == ClientToServer {
		return f.link.judgeRequest(p)
	}
	return f.link.judgeReply(p)
}

func (l *link) judgeRequest(p parcel) *order {
	op, ok := p.op()
	if !ok {
		return nil
	}
	if observe := l.proxy.observer(); observe != nil {
		observe(op, p.data)
	}
	o := l.proxy.take(op)
	if o == nil || o.request {
		return o
	}
	xid, _ := p.xid()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.awaited[xid] = o
	return nil
}

func (l *link) judgeReply(p parcel) *order {
	xid, ok := p.xid()
	if !ok {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	o := l.awaited[xid]
	delete(l.awaited, xid)
	return o
}

// op returns the operation of a request.
func (p parcel) op() (op int32, ok bool) {
	if p.first {
		return OpConnect, true
	}
	return protocol.Op(p.data)
}

// xid returns that of a request or a reply; a handshake has none, and is like the
// other side's.
func (p parcel) xid() (xid int32, ok bool) {
	if p.first {
		return 0, true
	}
	return protocol.Xid(p.data)
}

func (p parcel) isPing() bool {
	xid, ok := p.xid()
	return ok && xid == protocol.XidPing
}

func (p *Proxy) newTap() func(dir Direction, frame []byte) {
	p.mu.Lock()
	each := p.tap
	p.mu.Unlock()
	if each == nil {
		return nil
	}
	return each()
}

func (p *Proxy) observer() func(op int32, frame []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.observe
}

// take returns the oldest order for the operation, which counts only once.
func (p *Proxy) take(op int32) *order {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.IndexFunc(p.orders, func(o *order) bool { return o.op == op })
	if i < 0 {
		return nil
	}
	o := p.orders[i]
	p.orders = slices.Delete(p.orders, i, i+1)
	return o
}

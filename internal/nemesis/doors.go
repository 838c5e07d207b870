package nemesis

import (
	"time"

	"github.com/zklock/zklock/internal/apachezk"
	"github.com/zklock/zklock/internal/faultproxy"
)

// Doors are one process's ways to the servers: a proxy to each, in their order.
type Doors []*faultproxy.Proxy

// OpenDoors makes ways to the servers for the duration of a test.
func OpenDoors(tb apachezk.TB, servers ...*apachezk.Server) Doors {
	tb.Helper()
	var doors Doors
	for _, s := range servers {
		doors = append(doors, faultproxy.Run(tb, s.Addr()))
	}
	return doors
}

// Addrs returns the addresses to connect to.
func (ds Doors) Addrs() []string {
	var addrs []string
	for _, d := range ds {
		addrs = append(addrs, d.Addr())
	}
	return addrs
}

func (ds Doors) each(f func(*faultproxy.Proxy)) {
	for _, d := range ds {
		f(d)
	}
}

// Cut closes the connections.
func (ds Doors) Cut() { ds.each((*faultproxy.Proxy).Cut) }

// Reset closes them by RST.
func (ds Doors) Reset() { ds.each((*faultproxy.Proxy).Reset) }

// Refuse makes new connections fail while on.
func (ds Doors) Refuse(on bool) { ds.each(func(d *faultproxy.Proxy) { d.Refuse(on) }) }

// Drop loses what is sent in the direction.
func (ds Doors) Drop(dir faultproxy.Direction) { ds.each(func(d *faultproxy.Proxy) { d.Drop(dir) }) }

// Freeze holds what is sent in the direction.
func (ds Doors) Freeze(dir faultproxy.Direction) {
	ds.each(func(d *faultproxy.Proxy) { d.Freeze(dir) })
}

// Slow delays what is sent in either direction, and hands it on in small pieces.
func (ds Doors) Slow(by time.Duration) {
	ds.each(func(d *faultproxy.Proxy) {
		d.Delay(faultproxy.Both, by)
		d.Slice(7)
	})
}

// Heal ends all but what Cut and Reset did.
func (ds Doors) Heal() {
	ds.each(func(d *faultproxy.Proxy) {
		d.Refuse(false)
		d.Thaw(faultproxy.Both)
		d.Delay(faultproxy.Both, 0)
		d.Slice(0)
	})
}

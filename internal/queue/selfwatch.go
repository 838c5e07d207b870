package queue

import (
	"time"

	"github.com/zklock/zklock/internal/client"
)

// A contender watches its own nodes: an operator may delete them, or somebody write there that he
// wants the lock. A short hold need not pay for it, nor one who waits and lists the queue when
// woken.
const (
	selfWatchDelay    = 20 * time.Millisecond // of a hold, and of who is handed the lock on
	listersWatchDelay = time.Second           // of who lists the queue first
)

// selfWatches are contenders whose nodes are to be watched that long after they were added. One
// timer does for all. The session's mutex guards it.
type selfWatches struct {
	delay time.Duration
	due   []selfWatch
	timer *time.Timer // runs while there are any
}

// selfWatch is a contender's turn in there, unless that has another one by then.
type selfWatch struct {
	contender *contender
	at        time.Time
}

// watchSelfLater has c's own nodes watched after the delay of these, or before if it is to be so
// already, unless c is gone by then. The session's mu is held.
func (c *contender) watchSelfLater(ws *selfWatches) {
	s, at := c.queue.session, time.Now().Add(ws.delay)
	if c.state >= ended || !c.selfWatch.IsZero() && c.selfWatch.Before(at) {
		return
	}
	c.selfWatch = at
	ws.due = append(ws.due, selfWatch{c, at})
	if ws.timer == nil {
		ws.timer = s.after(ws.delay, func() { s.watchSelves(ws) })
	}
}

// watchSelves watches those whose turn has come. s.mu is held.
func (s *Session) watchSelves(ws *selfWatches) {
	n, now := 0, time.Now()
	for ; n < len(ws.due) && !ws.due[n].at.After(now); n++ {
		c, at := ws.due[n].contender, ws.due[n].at
		ws.due[n] = selfWatch{}
		if c.selfWatch.Equal(at) {
			c.selfWatch = time.Time{} // the watch ends with its connection, and with a change of the data
			c.watchSelf()
		}
	}
	if ws.due = ws.due[n:]; len(ws.due) == 0 {
		ws.due, ws.timer = nil, nil
	} else {
		ws.timer.Reset(ws.due[0].at.Sub(now))
	}
}

// watchSelf sets watches on c's own nodes: what they find goes to lose and onContent. The session's mu
// is held.
func (c *contender) watchSelf() {
	for _, node := range c.nodes {
		c.queue.session.client.Watch(client.WatchKey{Path: node})
	}
}

// watchAgainLater sets the watches on the contenders' own nodes that have gone with the connection before.
// A proof goes ahead of them, however many they are. The session's mu is held.
func (s *Session) watchAgainLater() {
	if s.watchAgain != nil {
		s.watchAgain.Stop()
	}
	s.watchAgain = time.AfterFunc(selfWatchDelay, s.watchAgainByTimer)
}

func (s *Session) watchAgainByTimer() {
	s.mu.Lock()
	if s.link != s.client.Current() && !s.closed { // it is told of ahead of everybody
		s.watchAgainLater()
	}
	var nodes []string
	for _, c := range s.live {
		if (c.hold != nil || c.turn != nil) && c.state < ended {
			nodes = append(nodes, c.nodes...)
		}
	}
	s.mu.Unlock()
	s.client.WatchAgain(nodes)
}

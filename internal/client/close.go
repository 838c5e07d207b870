package client

import (
	"errors"
	"fmt"
	"time"
)

const (
	// RequestPatience is how long Close lets the requests under way go on, usually.
	RequestPatience = time.Second
	clientPatience  = 2 * time.Second // twice what go-zookeeper allows itself
)

// Shut has nothing begin any more: whatever waits for the client ends. It returns what tells
// the rest of the session's trace, the first time.
func (c *Client) Shut() (tell func()) {
	c.life.end()
	c.Pulse.Stop()
	c.watches.stop()
	c.mu.Lock()
	tell = c.trace.close()
	c.broadcast()
	c.mu.Unlock()
	c.cancel(errClosing)
	return tell
}

// Close ends the session, and gives the server so long to answer the requests under way, ahead
// of the end; without patience it asks none. When it returns no goroutine, timer or socket is
// left. Its error says that no server has confirmed the end, or that go-zookeeper did not end.
// Calling it again returns the first call's result.
func (c *Client) Close(patience time.Duration) error {
	c.closeOnce.Do(func() {
		defer c.Shut()() // when all else is done: it may panic
		defer func() {
			c.work.Wait()
			c.told.Wait()
			c.kept.Clear()
			c.Log.close()
		}()
		if c.Conn != nil {
			c.closeErr = c.hangUp(patience)
		}
	})
	return c.closeErr
}

func (c *Client) hangUp(patience time.Duration) error {
	c.mu.Lock()
	l, id := c.link, c.id
	c.mu.Unlock()
	connected := l != nil && patience > 0
	// A request that is queued while the client closes may be answered twice, which wedges the
	// client: ours end before.
	answered := make(chan struct{})
	go func() {
		c.work.Wait()
		close(answered)
	}()
	if connected {
		select {
		case <-answered:
		case <-time.After(patience):
			connected = false
		}
	}
	if !connected {
		c.dialer.Stop()
	}
	<-answered
	c.Conn.Close() // waits a second at most for the server's answer
	c.dialer.Cut()
	if !c.ends() {
		return errors.New("the client did not end")
	}
	c.dialer.Await()
	if !c.dialer.Ended() && id != 0 {
		return fmt.Errorf("no server confirmed it: its nodes may stay for its timeout of %v", c.Timeout())
	}
	return nil
}

// ends waits for go-zookeeper's last goroutine, and reports whether it has ended: requests that
// the caller made over Conn may have wedged it.
func (c *Client) ends() bool {
	late := time.After(clientPatience)
	for {
		select {
		case _, open := <-c.events:
			if !open {
				return true
			}
		case <-late:
			return false
		}
	}
}

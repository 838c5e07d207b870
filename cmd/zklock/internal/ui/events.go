package ui

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"time"
)

const (
	firstLook  = time.Second            // how long a page waits for the first list
	pushEvery  = 250 * time.Millisecond // at most
	pushTimes  = 10 * time.Second       // at least: the picture moves
	pushLimit  = 10 * time.Second       // for whoever does not read
	mostPages  = 100                    // that are shown at the same time
	lockAt     = "lock"
	ensembleAt = "ensemble"
)

// viewOf is the view that an address asks for.
func viewOf(path string, values url.Values) query {
	switch path {
	case "/lock":
		return queryOf(lockAt, values)
	case "/ensemble":
		return queryOf(ensembleAt, values)
	}
	return queryOf("list", values)
}

// show is a whole page. To ask for it is to look, for a while.
func (p *page) show(w http.ResponseWriter, r *http.Request) {
	defer p.hub.join()()
	late := time.After(firstLook)
	for changed := p.hub.whenChanged(); !p.hub.hasBegun(); changed = p.hub.whenChanged() {
		select {
		case <-changed:
			continue
		case <-late:
		case <-r.Context().Done():
		}
		break
	}
	http.SetCookie(w, &http.Cookie{Name: cookieName, Value: p.cookie, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: r.TLS != nil})
	p.write(w, "page", p.view(viewOf(r.URL.Path, r.URL.Query())), http.StatusOK)
}

func (p *page) write(w http.ResponseWriter, template string, data any, status int) {
	var b bytes.Buffer
	if err := p.templates.ExecuteTemplate(&b, template, data); err != nil {
		p.Log.Error("a page cannot be written", "error", err)
		http.Error(w, "the page cannot be written: see the log", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // whoever has gone is not told
}

// events tells a page of each change, as the part of it that has changed.
func (p *page) events(w http.ResponseWriter, r *http.Request) {
	if p.shown.Add(1) > mostPages {
		p.shown.Add(-1)
		http.Error(w, "too many pages are open", http.StatusServiceUnavailable)
		return
	}
	defer p.shown.Add(-1)
	defer p.hub.join()()
	at, err := url.Parse(r.URL.Query().Get("at"))
	if err != nil {
		http.Error(w, "at is no address", http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	control := http.NewResponseController(w)
	q := viewOf(at.Path, at.Query())
	var last []byte
	for {
		changed := p.hub.whenChanged()
		now, err := p.part(q)
		if err != nil {
			p.Log.Error("a page cannot be written", "error", err)
			return
		}
		_ = control.SetWriteDeadline(time.Now().Add(pushLimit))
		message := []byte(": still here\n\n")
		if !bytes.Equal(now, last) {
			message, last = append(append([]byte("data: "), now...), "\n\n"...), now
		}
		if _, err := w.Write(message); err != nil || control.Flush() != nil {
			return
		}
		if !p.pause(r, changed) {
			return
		}
	}
}

// pause waits until there may be something else to show, and reports whether somebody looks still.
func (p *page) pause(r *http.Request, changed <-chan struct{}) bool {
	gone := r.Context().Done()
	select {
	case <-time.After(pushEvery):
	case <-gone:
		return false
	}
	select {
	case <-changed:
	case <-time.After(pushTimes):
	case <-gone:
		return false
	}
	return true
}

// part is what a script puts into the page: what is live of it.
func (p *page) part(q query) ([]byte, error) {
	var b bytes.Buffer
	v := p.view(q)
	if err := p.templates.ExecuteTemplate(&b, "live", v); err != nil {
		return nil, err
	}
	return json.Marshal(map[string]any{"live": b.String()})
}

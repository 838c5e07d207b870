package ui

import (
	"crypto/subtle"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
)

const cookieName = "zklock-ui"

// asking is the form that asks once more.
type asking struct {
	view
	Action
	Who, Effect, Wrong string
	Name               string // of the node, which is to be typed
}

// done says what an action has come to.
type done struct {
	view
	Action
	Said, Failed string
}

// effects say what a verb does.
var effects = map[string]string{
	Revoke:          "The owner is asked to give the lock back. It decides by itself whether it does.",
	Break:           "It loses its place in the queue.",
	Break + " held": "The next in line has the lock at once. Until the holder notices, both may act: make sure that it is dead, or does no harm.",
}

// confirm shows the form.
func (p *page) confirm(w http.ResponseWriter, r *http.Request) {
	defer p.hub.join()()
	values := r.URL.Query()
	a := Action{Verb: values.Get("verb"), Path: values.Get("path"), Node: values.Get("node")}
	p.ask(w, a, "", http.StatusOK)
}

// ask shows the form for an action, with what is wrong with the last try.
func (p *page) ask(w http.ResponseWriter, a Action, wrong string, status int) {
	f := asking{view: p.view(queryOf(lockAt, url.Values{"path": {a.Path}})), Action: a, Name: path.Base(a.Node), Wrong: wrong}
	if !slices.Contains(p.Allow, a.Verb) {
		http.Error(w, "this page was started without --allow "+a.Verb, http.StatusForbidden)
		return
	}
	f.Effect = effects[a.Verb]
	there := false
	p.hub.mu.Lock()
	if l := p.hub.locks[a.Path]; l != nil {
		for i, c := range l.found {
			if c.Node == a.Node {
				there = true
				f.Action.Token, f.Action.Held = c.Token, c.Held
				f.Who = l.contender(i).Who()
			}
		}
	}
	p.hub.mu.Unlock()
	if f.Action.Held && a.Verb == Break {
		f.Effect = effects[Break+" held"]
	}
	if !there {
		p.write(w, "done", done{view: f.view, Action: a, Failed: "The node is not there any more, or is not known yet."}, http.StatusNotFound)
		return
	}
	p.write(w, "confirm", f, status)
}

// act does what the form says.
func (p *page) act(w http.ResponseWriter, r *http.Request) {
	defer p.hub.join()()
	r.Body = http.MaxBytesReader(w, r.Body, 1<<16)
	a := Action{Verb: r.PostFormValue("verb"), Path: r.PostFormValue("path"), Node: r.PostFormValue("node"), Held: r.PostFormValue("held") == "true"}
	a.Token, _ = strconv.ParseInt(r.PostFormValue("czxid"), 10, 64)
	log := p.Log.With("from", r.RemoteAddr, "verb", a.Verb, "path", a.Path, "node", a.Node)
	if why := p.refuses(r, a); why != "" {
		log.Warn("an action was refused", "why", why)
		http.Error(w, why, http.StatusForbidden)
		return
	}
	switch {
	case !same(r.PostFormValue("token"), p.Token):
		log.Warn("an action was refused", "why", "wrong token")
		p.ask(w, a, "That is not the token that zklock ui has written when it started.", http.StatusForbidden)
		return
	case r.PostFormValue("typed") != path.Base(a.Node):
		p.ask(w, a, "That is not the node's name.", http.StatusConflict)
		return
	}
	if a.Verb == Break {
		p.hub.breaks(a.Node, true)
	}
	result := done{Action: a}
	said, err := p.Act(r.Context(), a)
	status := http.StatusOK
	if result.Said = said; err != nil {
		p.hub.breaks(a.Node, false)
		result.Failed, status = err.Error(), http.StatusConflict
		log.Warn("an action has failed", "error", err)
	} else {
		log.Warn("an action was done", "result", said)
	}
	result.view = p.view(queryOf(lockAt, url.Values{"path": {a.Path}}))
	p.write(w, "done", result, status)
}

// refuses says why a request is none of our own form's, "" if it is.
func (p *page) refuses(r *http.Request, a Action) string {
	cookie, err := r.Cookie(cookieName)
	origin, failed := url.Parse(r.Header.Get("Origin"))
	switch {
	case !slices.Contains(p.Allow, a.Verb):
		return "this page was started without --allow " + a.Verb
	case p.Prefix != "/" && a.Path != p.Prefix && !strings.HasPrefix(a.Path, p.Prefix+"/"):
		return "this page shows what is at and below " + p.Prefix + " only"
	case failed != nil || origin.Host != r.Host || r.Header.Get("Sec-Fetch-Site") != "" && r.Header.Get("Sec-Fetch-Site") != "same-origin":
		return "another site's page has asked for this"
	case err != nil || !same(cookie.Value, p.cookie):
		return "the form is not of this page, or of before it was started anew: load it again"
	}
	return ""
}

// same compares secrets.
func same(a, b string) bool { return b != "" && subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

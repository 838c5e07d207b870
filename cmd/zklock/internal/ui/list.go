package ui

import (
	"cmp"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
)

// query is what somebody wants to see, as the address says it.
type query struct {
	View string // "list", "lock" or "ensemble"

	Filter string // all words of it are in the row
	Only   string // a key of choices
	Sort   string // a key of columns
	Desc   bool
	Page   int // from 1 up

	Path string // of a lock
	Node string // of it, by its name: the one of which all is shown; "" for the first
}

// rowsAPage is how many locks, or contenders, are shown at a time.
const rowsAPage = 100

// choices are which locks are shown.
var choices = []choice{
	{"", "all locks", func(*row) bool { return true }},
	{"waiting", "somebody waits", func(r *row) bool { return r.Waiting > 0 }},
	{"asked", "asked back", func(r *row) bool { return r.Asked }},
	{"strange", "not zklock's", func(r *row) bool { return r.Strange != "" }},
}

type choice struct {
	Key, Name string
	has       func(*row) bool
}

// columns are what the table is sorted by, in their order.
var columns = []column{
	{"path", "Path", func(a, b *row) int { return strings.Compare(a.Path, b.Path) }},
	{"kind", "Kind", func(a, b *row) int { return strings.Compare(a.Kind, b.Kind) }},
	{"holder", "Holder", func(a, b *row) int { return strings.Compare(a.Who, b.Who) }},
	{"session", "Session", func(a, b *row) int { return strings.Compare(a.Session, b.Session) }},
	{"held", "Held for", longer},
	{"waiting", "Waiting", func(a, b *row) int { return cmp.Compare(a.Waiting, b.Waiting) }},
	{"asked", "Notes", func(a, b *row) int { return cmp.Compare(a.noted(), b.noted()) }},
}

type column struct {
	Key, Name string
	compare   func(a, b *row) int
}

// longer compares for how long two are held: not at all is the least.
func longer(a, b *row) int {
	if a.Since.IsZero() || b.Since.IsZero() {
		return cmp.Compare(a.Since.Unix(), b.Since.Unix())
	}
	return b.Since.Compare(a.Since)
}

// KeyIsElsewhere reports whether the path does not say the key as it is.
func (r row) KeyIsElsewhere() bool { return r.Key != "" && r.Key != path.Base(r.Path) }

func (r *row) noted() int {
	n := 0
	if r.Asked {
		n += 2
	}
	if r.Strange != "" {
		n++
	}
	return n
}

// queryOf reads an address. What is wrong in it is as if it were not there.
func queryOf(view string, values url.Values) query {
	q := query{View: view, Filter: values.Get("q"), Only: values.Get("only"), Sort: values.Get("sort"), Desc: values.Get("dir") == "desc", Path: values.Get("path"), Node: values.Get("node")}
	q.Page, _ = strconv.Atoi(values.Get("page"))
	q.Page = max(q.Page, 1)
	if !slices.ContainsFunc(columns, func(c column) bool { return c.Key == q.Sort }) {
		q.Sort = "path"
	}
	return q
}

// address is the query as an address.
func (q query) address() string {
	v := url.Values{}
	add := func(key, value, usual string) {
		if value != usual {
			v.Set(key, value)
		}
	}
	at := "/"
	switch q.View {
	case "lock":
		at = "/lock"
		v.Set("path", q.Path)
		add("node", q.Node, "")
	case "ensemble":
		return "/ensemble"
	default:
		add("q", q.Filter, "")
		add("only", q.Only, "")
		add("sort", q.Sort, "path")
		if q.Desc {
			v.Set("dir", "desc")
		}
	}
	add("page", strconv.Itoa(q.Page), "1")
	if len(v) > 0 {
		at += "?" + v.Encode()
	}
	return at
}

// on is the query of another page.
func (q query) on(page int) query {
	q.Page = page
	return q
}

// of is the query with another node chosen.
func (q query) of(node string) query {
	q.Node = node
	return q
}

// by is the query sorted by another column, or by the same one the other way round. What is most is first,
// but for names.
func (q query) by(column string) query {
	named := column == "path" || column == "kind" || column == "holder" || column == "session"
	q.Page, q.Desc = 1, q.Sort == column && !q.Desc || q.Sort != column && !named
	q.Sort = column
	return q
}

// choose returns those rows that are asked for, in order.
func (q query) choose(rows []*row) []*row {
	words := strings.Fields(strings.ToLower(q.Filter))
	has := choices[0].has
	for _, c := range choices {
		if c.Key == q.Only {
			has = c.has
		}
	}
	rows = slices.DeleteFunc(rows, func(r *row) bool {
		return !has(r) || slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(r.searched, w) })
	})
	by := columns[slices.IndexFunc(columns, func(c column) bool { return c.Key == q.Sort })]
	slices.SortFunc(rows, func(a, b *row) int {
		order := by.compare(a, b)
		if q.Desc {
			order = -order
		}
		return cmp.Or(order, strings.Compare(a.Path, b.Path))
	})
	return rows
}

// pages are a window on so many rows.
type pages struct {
	Page, Last  int
	From, To, N int // rows From to To of N, from 1 up
	Prev, Next  string
}

func (q query) window(n int) pages {
	w := pages{Last: max((n+rowsAPage-1)/rowsAPage, 1), N: n}
	w.Page = min(q.Page, w.Last)
	w.From, w.To = (w.Page-1)*rowsAPage+1, min(w.Page*rowsAPage, n)
	if w.Page > 1 {
		w.Prev = q.on(w.Page - 1).address()
	}
	if w.Page < w.Last {
		w.Next = q.on(w.Page + 1).address()
	}
	return w
}

package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/zklock/zklock"
)

// view is who held a lock and who waited for it at a moment.
type view struct {
	path  string
	at    time.Time
	found []zklock.Contender
}

// writeJSON writes the view as one line.
func (v view) writeJSON(to io.Writer) error {
	return json.NewEncoder(plainWriter{to}).Encode(struct {
		Path       string      `json:"path"`
		Contenders []contender `json:"contenders"`
	}{v.path, describe(v.found)})
}

// writeTable writes the view for people, holders first.
func (v view) writeTable(to io.Writer) error {
	if len(v.found) == 0 {
		_, err := fmt.Fprintf(to, "%s is free.\n", v.path)
		return err
	}
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "STATE\tKIND\tWHO\tSINCE\tTOKEN\tSESSION\tNODE")
	for _, c := range describe(v.found) {
		state := "waits"
		if c.Held {
			state = "holds"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%d\t%s\t%s\n",
			state, c.Kind, c.who(), v.age(c.Created), c.Token, c.Session, strings.TrimPrefix(v.nodeOf(c), v.path+"/"))
	}
	t.Flush()
	_, err := io.WriteString(to, b.String())
	return err
}

// age is how long ago the node was created, by the server's clock then and ours
// now.
func (v view) age(created time.Time) string {
	return max(v.at.Sub(created), 0).Round(time.Second).String()
}

package mutants

import (
	"bufio"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// result is what became of a mutant, a line of a file that is only ever appended to.
type result struct {
	Key, Hash string // which one it is, and its text's hash
	Line      int
	outcome
	effort
}

// effort is how much a mutant was worth.
type effort struct {
	Programs int           // that the simulation may have run
	Slowest  time.Duration // of the tests
	Servers  bool          // tests had them
	Judges   string        `json:",omitempty"` // the packages whose tests judge; all if it is empty
}

// covers reports whether nothing is left to be tried by another effort.
func (e effort) covers(other effort) bool {
	return e.Programs >= other.Programs && e.Slowest >= other.Slowest && (e.Servers || !other.Servers) && (e.Judges == "" || e.Judges == other.Judges)
}

// results are those of all campaigns, the last of each mutant.
type results struct {
	mu   sync.Mutex
	file *os.File
	of   map[[2]string]result // by key and hash
}

// readResults opens the file, and reads what is there.
func readResults(t *testing.T, name string) *results {
	t.Helper()
	rs := &results{of: map[[2]string]result{}}
	text, err := os.ReadFile(name)
	require.True(t, err == nil || errors.Is(err, fs.ErrNotExist), "%v", err)
	for lines := bufio.NewScanner(strings.NewReader(string(text))); lines.Scan(); {
		var r result
		if json.Unmarshal(lines.Bytes(), &r) == nil { // the last line of a campaign that was killed may be torn
			rs.of[[2]string{r.Key, r.Hash}] = r
		}
	}
	rs.file, err = os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	require.NoError(t, err)
	t.Cleanup(func() { rs.file.Close() })
	return rs
}

// known returns the result of a mutant whose function is what it was.
func (rs *results) known(g *generated) (result, bool) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	r, ok := rs.of[[2]string{g.key(), g.hash()}]
	return r, ok
}

func (rs *results) add(t *testing.T, g *generated, o outcome, e effort) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	r := result{Key: g.key(), Hash: g.hash(), Line: g.line, outcome: o, effort: e}
	rs.of[[2]string{r.Key, r.Hash}] = r
	line, err := json.Marshal(r)
	require.NoError(t, err)
	_, err = rs.file.Write(append(line, '\n'))
	require.NoError(t, err)
}

// hash is that of the function as it is in the mutant.
func (g *generated) hash() string {
	sum := sha256.Sum256([]byte(g.text))
	return fmt.Sprintf("%x", sum[:6])
}

package mutants

import (
	"fmt"
	"go/ast"
	"go/importer"
	"go/token"
	"go/types"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// around is what the functions of the examples use.
const around = `package zk

import ("errors"; "sync"; "time")

const patience, digits, part = 250 * time.Millisecond, 3, 1.0 / 4
type state int
const (waiting state = iota; holding)

type ACL struct{}
type Conn struct{}
func (*Conn) Create(path string, data []byte, flags int32, acl []ACL) (string, error) { return "", nil }
func (*Conn) Delete(path string, version int32) error { return nil }
func (*Conn) Multi(ops ...any) error { return nil }
type DeleteRequest struct { Path string; Version int32 }
const FlagEphemeral, FlagSequence, PermRead = 1, 2, 1
func WorldACL(int) []ACL { return nil }

type Log struct{}
func (Log) Warn(string) {}

var (
	mu sync.Mutex
	a, b, c bool
	x, y int
	none = errors.New("none")
	in, out chan int
	conn *Conn
	log Log
	s struct { n int; on bool }
)
func do(int) error { return nil }
func length(d time.Duration, p float64) time.Duration { return d }
`

var examples = []struct {
	name, operator, code string
	want                 []string // old → new
}{
	{"a condition is negated", "not", `func f() { if a == b { do(1) } }`, []string{"a == b → !(a == b)"}},
	{"a negation is taken away", "not", `func f() { for !a { do(1) } }`, []string{"!a → a"}},
	{
		"each case of a switch without a tag is a condition", "never", `func f() { switch { case a: do(1); case b, c: do(2) } }`,
		[]string{"a → false && (a)", "b → false && (b)", "c → false && (c)"},
	},
	{"a case of a switch with a tag is none", "never", `func f() { switch x { case 1: do(1) } }`, nil},
	{"a condition always holds", "always", `func f() { if a { do(1) } }`, []string{"a → true || (a)"}},
	{"a loop that never ends is no mutant", "always", `func f() { for a { do(1) } }`, nil},
	{"an operand of && is dropped", "left", `func f() bool { return a && b }`, []string{"a → (true || (a))"}},
	{"an operand of || is dropped", "right", `func f() bool { return a || b }`, []string{"b → (false && (b))"}},
	{"a call is left out", "remove", `func f(n int) { do(n) }`, []string{"do(n) → { _ = n; }"}},
	{
		"so is what is deferred, sent, counted, or begun", "remove", `func f() { defer do(1); in <- 1; x++; go do(2) }`,
		[]string{"defer do(1) → {}", "in <- 1 → {}", "x++ → {}", "go do(2) → {}"},
	},
	{"and what is assigned, but not declared", "remove", `func f() { n := 1; s.n = n; _ = n }`, []string{"s.n = n → { _ = n; }"}},
	{
		"and the way out of a loop or a function", "remove", `func f() { for a { if b { continue }; if c { return } } }`,
		[]string{"continue → {}", "return → {}"},
	},
	{"a mutex is left alone", "remove", `func f() { mu.Lock(); defer mu.Unlock() }`, nil},
	{"what is inside a condition or a clause is no statement", "remove", `func f() { if err := do(1); err != nil { select { case in <- 1: } } }`, nil},
	{
		"a select does not hear a channel", "deaf", `func f() { select { case <-in: case n := <-out: do(n); case in <- 1: } }`,
		[]string{"in → neverReceived(in)", "out → neverReceived(out)", "in → neverSent(in)"},
	},
	{
		"a case is left out of a switch", "clause", `func f() { switch x { case 1: do(1); default: do(2) } }`,
		[]string{"case 1: do(1) → nothing", "default: do(2) → nothing"},
	},
	{"what is reported is the opposite", "opposite", `func f() (bool, int) { return a && b, 1 }`, []string{"a && b → !(a && b)"}},
	{"an error is none", "no-error", `func f() (int, error) { if a { return 0, none }; return 1, nil }`, []string{"none → nil"}},
	{"true is false", "flip", `func f() bool { s.on = false; return true }`, []string{"false → true", "true → false"}},
	{"a boundary is moved", "bound", `func f() bool { return x < y || x >= 2 }`, []string{"x < y → x <= y", "x >= 2 → x > 2"}},
	{
		"a sum is a difference, and least is most", "inverse", `func f() int { return min(x, 2) + y }`,
		[]string{"min(x, 2) + y → min(x, 2) - y", "min → max"},
	},
	{"a text is no sum", "inverse", `func f(t string) string { return t + t }`, nil},
	{"a number is one more", "one-more", `func f() int { return x / 8 }`, []string{"8 → (8 + 1)"}},
	{
		"a constant is larger by a tenth", "tenth-more", `func f() { length(patience, part) }`,
		[]string{"patience → (patience * 11 / 10)", "part → (part * 11 / 10)"},
	},
	{"a small one is smaller by one", "tenth-less", `func f() int { return digits }`, []string{"digits → (digits - 1)"}},
	{"a name for something is no amount", "tenth-more", `func f() state { return holding }`, nil},
	{
		"each argument of a request is another one", "request", `func f() { conn.Create("/a", nil, 3, nil); conn.Delete("/b", -1) }`,
		[]string{
			`"/a" → ("/a") + "-"`, "nil → []byte{1}", "3 → (3)^zk.FlagEphemeral", "3 → (3)^zk.FlagSequence", "nil → zk.WorldACL(zk.PermRead)",
			`"/b" → ("/b") + "-"`, "-1 → 0",
		},
	},
	{
		"each operation of a transaction is left out", "request", `func f() { conn.Multi(x, y) }`,
		[]string{"conn.Multi(x, y) → conn.Multi(y)", "conn.Multi(x, y) → conn.Multi(x)"},
	},
	{
		"the first or the last of a list of operations", "request", `func f(ops []any) { conn.Multi(ops...) }`,
		[]string{"ops → (ops)[1:]", "ops → (ops)[:len(ops)-1]"},
	},
	{
		"each field of an operation is another one", "request", `func f() any { return DeleteRequest{Path: "/a", Version: int32(x)} }`,
		[]string{`"/a" → ("/a") + "-"`, "int32(x) → -1"},
	},
}

func TestOperatorsMakeMutants(t *testing.T) {
	for _, e := range examples {
		t.Run(e.name, func(t *testing.T) {
			var got []string
			for _, g := range mutantsOf(t, e.code) {
				if g.operator == e.operator {
					got = append(got, shown(g.old)+" → "+shown(g.new))
				}
			}
			require.Equal(t, e.want, got)
		})
	}
}

func TestAMutantIsNamedByItsFunctionAndNotByItsLine(t *testing.T) {
	for _, above := range []string{"", "\n\n// A comment.\n"} {
		var keys []string
		for _, g := range compiledMutants(t, above+"func f() { if a && b { do(1) }; if c { do(2) } }") {
			keys = append(keys, g.key())
		}
		require.Subset(t, keys, []string{"example.go f not 1", "example.go f not 2", "example.go f left 1"})
	}
}

func TestAStatementThatOnlyLogsIsMarked(t *testing.T) {
	logs := map[bool][]string{}
	for _, g := range mutantsOf(t, `func f() { log.Warn("a"); do(1); if a { log.Warn("b") } }`) {
		logs[g.logs] = append(logs[g.logs], g.operator+" "+g.old)
	}
	require.Equal(t, []string{`remove log.Warn("a")`, `remove log.Warn("b")`}, logs[true])
	require.Equal(t, []string{"remove do(1)", "not a", "never a", "always a"}, logs[false])
}

func TestTwoChangesWithTheSameTextAreOneMutant(t *testing.T) {
	texts := map[string]bool{}
	for _, g := range mutantsOf(t, `func f() bool { for { if !a { return !a } } }`) {
		require.False(t, texts[g.text], "%s", g)
		texts[g.text] = true
	}
}

func TestMutantsThatDoNotCompileAreLeftOut(t *testing.T) {
	var left []string
	for _, g := range compiledMutants(t, `func f() int { if n := 1; x > n { return n }; switch { default: return 2 } }`) {
		left = append(left, g.operator)
	}
	require.Contains(t, left, "bound")
	require.NotContains(t, left, "clause", "a function without a return was taken")
}

func TestFunctionsOfEveryFormHaveMutants(t *testing.T) {
	for _, form := range []string{
		"func f() %s", "func f(int, string) %s", "func f(_ int, _, n string) %s", "func f(n ...int) %s", "func f[T any](n T) %s",
		"func (conn *Conn) f() %s", "func (*Conn) f(Conn) %s", "func (_ Conn) f() %s", "func f() (n bool) %s",
		"type list[T any] []T; func (l list[T]) f(n T) %s",
	} {
		body := "{ do(1); do(2) }"
		if strings.Contains(form, "bool") {
			body = "{ do(1); do(2); return true }"
		}
		require.GreaterOrEqual(t, len(compiledMutants(t, fmt.Sprintf(form, body))), 2, "%s", form)
	}
}

func TestTheLinesOfADiffAreThoseThatHaveChanged(t *testing.T) {
	changed := linesOf("--- a/one.go\n+++ b/one.go\n@@ -3 +4,2 @@ func f() {\n-x\n+y\n+z\n@@ -9,2 +11,0 @@\n-x\n-y\n")
	require.Equal(t, lines{"one.go": {4: true, 5: true, 11: true}}, changed)
}

// mutantsOf returns the mutants of the function f, as an example has it.
func mutantsOf(t *testing.T, code string) []*generated {
	t.Helper()
	_, l := example(t, code)
	for _, s := range l.sources {
		for key, f := range s.functions {
			if key == "f" || strings.HasSuffix(key, ".f") {
				return mutate(f, l.info)
			}
		}
	}
	t.Fatal("there is no f")
	return nil
}

// compiledMutants is mutantsOf for those that compile.
func compiledMutants(t *testing.T, code string) (mutants []*generated) {
	t.Helper()
	p, _ := example(t, code)
	for _, g := range p.generate(t) {
		if g.of == "f" || strings.HasSuffix(g.of, ".f") {
			mutants = append(mutants, g)
		}
	}
	return mutants
}

var standardLibrary = sync.OnceValue(func() types.Importer { return importer.ForCompiler(token.NewFileSet(), "source", nil) })

// example is a package with that code in it.
func example(t *testing.T, code string) (*packages, *loaded) {
	t.Helper()
	p := &packages{positions: token.NewFileSet(), importer: standardLibrary()}
	s := parseInto(t, p.positions, "example.go", around+code)
	l := &loaded{path: "example", sources: map[string]*source{"example.go": s}}
	info, problems := p.check(l.path, []*ast.File{s.file})
	require.Empty(t, problems)
	l.info, p.rooms = info, []*loaded{l}
	return p, l
}

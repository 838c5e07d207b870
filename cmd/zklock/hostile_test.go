package main_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
)

// hostile is what somebody may write on a node to be shown to an operator.
var hostile = map[string]string{
	"a cleared screen":        "\x1b[2J\x1b[H",
	"a title":                 "\x1b]0;gone\x07",
	"another line":            "x\r\nholds  exclusive  db1 pid 1",
	"a C1 control":            "\u009b31m\u0085",
	"a raw C1 control":        "\x9b31m",
	"half a character":        "caf\xc3",
	"an override":             "\u202eevil\u2066\u200f",
	"letters right to left":   "אבג",
	"nothing to see":          "\u200b\u2060\ufeff\u00ad",
	"another line of Unicode": "\u2028\u2029",
	"marks":                   "e\u0301\u0301\u0301",
	"a tab":                   "a\tb\vc\fd",
	"a long text":             strings.Repeat("long ", 20000),
	"a host":                  "host=\x1b[2Jdb1 pid=7\x1b[A start=\x07",
	"a long host":             "host=" + strings.Repeat("h", 5000) + " pid=" + strings.Repeat("1", 5000),
	"an escape of its own":    `\x1b`,
}

// contend puts a node with that data and access list into the queue.
func (at *site) contend(name, data string, acl []zk.ACL) (node string) {
	at.t.Helper()
	node, err := at.conn.Create(at.path+"/"+name, []byte(data), zk.FlagEphemeral|zk.FlagSequence, acl)
	require.NoError(at.t, err)
	return node
}

const lockName = "_c_00000000-0000-4000-8000-000000000000-lock-"

// requireHarmless finds what could do more to a terminal than to stand there.
func requireHarmless(t *testing.T, said string) {
	t.Helper()
	require.True(t, utf8.ValidString(said), "%q", said)
	for _, r := range said {
		harmless := unicode.IsPrint(r) && !unicode.In(r, unicode.Mn, unicode.Hebrew)
		require.True(t, harmless || r == '\n', "%q in %q", r, said)
	}
	for line := range strings.Lines(said) {
		require.Less(t, len(line), 2000, "a line is cut")
	}
}

func TestWhatOthersHaveWrittenIsShownAndDoesNothing(t *testing.T) {
	t.Parallel()
	for name, data := range hostile {
		t.Run(name, func(t *testing.T) {
			at := newSite(t)
			at.create(zk.WorldACL(zk.PermAll))
			node := at.contend(lockName, data, zk.WorldACL(zk.PermAll))

			table := at.zklock("status", at.path).rest()
			require.Len(t, table, 2, "a line for the one in the queue: %q", table)
			requireHarmless(t, strings.Join(table, "\n"))
			watched := at.zklock("status", "--watch", at.path)
			requireHarmless(t, watched.line()+watched.line())

			line, err := at.command("status", "--format", "json", at.path).Output()
			require.NoError(t, err)
			for _, r := range strings.TrimSuffix(string(line), "\n") {
				require.True(t, unicode.IsPrint(r), "%q in %q", r, line)
			}
			var whole struct {
				Contenders []struct {
					Data       string
					DataBase64 []byte `json:"data_base64"`
				}
			}
			require.NoError(t, json.Unmarshal(line, &whole))
			if utf8.ValidString(data) {
				require.Equal(t, data, whole.Contenders[0].Data)
			} else {
				require.Equal(t, []byte(data), whole.Contenders[0].DataBase64)
			}

			dry := at.zklock("break", at.path, "--node", node)
			said := strings.Join(dry.rest(), "\n")
			require.Len(t, strings.Split(said, "\n"), 2)
			requireHarmless(t, said+dry.stderr.String())
			asked := at.zklock("revoke", at.path)
			said = strings.Join(asked.rest(), "\n")
			require.Contains(t, said, "for "+node)
			require.Len(t, strings.Split(said, "\n"), 1)
			requireHarmless(t, said+asked.stderr.String())
		})
	}
}

func TestANameThatIsWrittenBackwardsIsShownAsItIs(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	at.create(zk.WorldACL(zk.PermAll))
	long := strings.Repeat("n", 3000)
	for _, name := range []string{"\u202e\u2066elif", long} {
		at.contend(name+"-lock-", "", zk.WorldACL(zk.PermRead))
	}
	require.Len(t, at.zklock("status", at.path).rest(), 3)
	for _, args := range [][]string{
		{"status", at.path},
		{"status", "--watch", at.path},
		{"revoke", at.path}, // which is refused
		{"revoke", at.path, "--node", at.queue()[0]},
		{"revoke", at.path, "--node", at.queue()[1]},
		{"break", at.path, "--node", at.queue()[0]},
		{"break", at.path, "--node", at.queue()[1]},
	} {
		p := at.zklock(args...)
		if args[1] == "--watch" {
			requireHarmless(t, p.line()+p.line()+p.line())
			continue
		}
		requireHarmless(t, strings.Join(p.rest(), "\n")+p.stderr.String())
	}
	whole := parse(t, at.zklock("status", "--format", "json", at.path).rest()[0])
	require.Contains(t, whole.Contenders[0].Node+whole.Contenders[1].Node, long)
}

func TestANodeThatMayNotBeReadHidesNothingElse(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	at.create(zk.WorldACL(zk.PermAll))
	at.holder()
	hidden := at.contend(lockName, "secret", zk.WorldACL(zk.PermWrite))
	table := at.zklock("status", at.path).rest()
	require.Len(t, table, 3)
	require.Contains(t, table[1], " pid ")
	require.Regexp(t, `^waits  exclusive  -  `, table[2])
	p := at.zklock("break", at.path, "--node", hidden, "--yes")
	require.Contains(t, strings.Join(p.rest(), "\n"), "deleted")
	require.Len(t, at.queue(), 1)
}

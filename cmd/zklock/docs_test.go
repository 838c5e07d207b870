package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/cmd/zklock/internal/cli"
)

func documentation(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/cli.md")
	require.NoError(t, err)
	return string(text)
}

func TestWhatTheDocumentationTypesWorks(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	blocks := regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(documentation(t), -1)
	require.NotEmpty(t, blocks)
	for _, b := range blocks {
		script := b[1]
		if strings.HasPrefix(script, "go build") {
			continue // which is how the binary of these tests was made
		}
		// The servers of the examples are not ours, nor are their paths.
		script = regexp.MustCompile(`(?m)^export ZKLOCK_SERVERS=.*$`).ReplaceAllString(script, "")
		script = strings.ReplaceAll(script, " /locks/", " "+at.path+"-")
		sh := exec.Command("sh", "-euc", script)
		sh.Env = append(at.command().Env, "PATH="+filepath.Dir(zklockBinary)+":"+os.Getenv("PATH"))
		p := at.start(sh)
		assert.Equal(t, 0, p.exit(), "%s\n%s", script, p.stderr)
	}
}

func TestTheDocumentationKnowsEveryCommandAndFlag(t *testing.T) {
	text := documentation(t)
	known := make(map[string]bool)
	var visit func(*cobra.Command)
	visit = func(c *cobra.Command) {
		if c.Hidden {
			return
		}
		assert.True(t, strings.Contains(text, c.CommandPath()), "cli.md knows %s", c.CommandPath())
		require.NoError(t, c.ParseFlags(nil)) // which adds those of the commands above
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Hidden {
				return
			}
			known[f.Name] = true
			switch f.Name {
			case "apache", "listen", "help": // for development; their help is enough
			default:
				assert.True(t, strings.Contains(text, "--"+f.Name), "cli.md knows --%s of %s", f.Name, c.CommandPath())
			}
		})
		for _, sub := range c.Commands() {
			visit(sub)
		}
	}
	visit(cli.New())
	for _, m := range regexp.MustCompile(`--([a-z][a-z-]+)`).FindAllStringSubmatch(text, -1) {
		assert.True(t, known[m[1]], "there is no flag --%s", m[1])
	}
}

func TestAShortFlagMeansTheSameEverywhere(t *testing.T) {
	meaning := make(map[string]string)
	var visit func(*cobra.Command)
	visit = func(c *cobra.Command) {
		c.InitDefaultHelpFlag()
		c.InitDefaultVersionFlag()
		require.NoError(t, c.ParseFlags(nil)) // which adds those of the commands above
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Shorthand == "" {
				return
			}
			if known := meaning[f.Shorthand]; known != "" {
				require.Equal(t, known, f.Name, "-%s of %s", f.Shorthand, c.CommandPath())
			}
			meaning[f.Shorthand] = f.Name
		})
		require.NotNil(t, c.Flags().Lookup("verbose"), c.CommandPath())
		for _, sub := range c.Commands() {
			visit(sub)
		}
	}
	visit(cli.New())
	require.Equal(t, "verbose", meaning["v"])
}

func TestTheDocumentationAndTheHelpTellTheSameExitCodes(t *testing.T) {
	run, _, err := cli.New().Find([]string{"run"})
	require.NoError(t, err)
	helped := regexp.MustCompile(`(?m)^  (\d+) +`).FindAllStringSubmatch(run.Long, -1)
	documented := regexp.MustCompile(`(?m)^\| (\d+) \| `).FindAllStringSubmatch(documentation(t), -1)
	require.NotEmpty(t, helped)
	require.Len(t, documented, len(helped))
	for i := range helped {
		require.Equal(t, helped[i][1], documented[i][1])
	}
}

package cli

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/zklock/zklock/internal/recipe"
)

// choice is a flag's value that is one of a few words.
type choice struct {
	value string
	words []string
}

// oneOf returns a choice of the words, of which the first is the default.
func oneOf(words ...string) *choice { return &choice{words[0], words} }

func (c *choice) Set(text string) error {
	if !slices.Contains(c.words, text) {
		return fmt.Errorf("%q is none of its values: %s", text, strings.Join(c.words, ", "))
	}
	c.value = text
	return nil
}

func (c *choice) Type() string   { return strings.Join(c.words, "|") }
func (c *choice) String() string { return c.value }

// add makes the choice a flag of cmd, which the shell completes.
func (c *choice) add(cmd *cobra.Command, name, usage string) {
	cmd.Flags().Var(c, name, usage)
	complete := func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return c.words, cobra.ShellCompDirectiveNoFileComp
	}
	if err := cmd.RegisterFlagCompletionFunc(name, complete); err != nil {
		panic(err) // the flag was added a line above
	}
}

// duration is a flag's value: with a unit, as Go writes it (1m30s), or in seconds
// without one, as flock and timeout have it.
type duration struct {
	time.Duration
	set bool
}

// longest is the longest time that may be given, in either way.
const longest = 100 * 365 * 24 * time.Hour

// inUnits is what has the form of a time with units, be it too long for a time.Duration.
var inUnits = regexp.MustCompile(`^[-+]?((\d+\.?\d*|\.\d+)([nuµμm]?s|m|h))+$`)

func (d *duration) Set(text string) error {
	value, err := time.ParseDuration(text)
	seconds, notNumber := strconv.ParseFloat(text, 64) // infinite if it is too large
	if notNumber == nil && math.Abs(seconds) <= longest.Seconds() {
		value, err = time.Duration(seconds*float64(time.Second)), nil
	}
	overflows := err != nil && inUnits.MatchString(text)
	switch {
	case value < 0, seconds < 0, overflows && text[0] == '-':
		return fmt.Errorf("%q is negative: a time is 0 or more", text)
	case value > longest, seconds > longest.Seconds(), overflows:
		return fmt.Errorf("%q is too long: a time is at most 100 years, which are %.0f seconds", text, longest.Seconds())
	case err != nil:
		return fmt.Errorf("%q is not a time: write one such as 1m30s, or a number of seconds", text)
	}
	d.Duration, d.set = value, true
	return nil
}

func (d *duration) Type() string { return "duration" }

func (d *duration) String() string {
	if d.Duration == 0 && !d.set {
		return ""
	}
	return d.Duration.String()
}

// nonEmpty is a flag's value that is a text. An empty one, as of a variable that is not set,
// is not taken for the lack of the flag.
type nonEmpty string

func (n *nonEmpty) Set(text string) error {
	if text == "" {
		return errors.New("it is empty: give it a value, or leave it out")
	}
	*n = nonEmpty(text)
	return nil
}

func (n *nonEmpty) Type() string   { return "string" }
func (n *nonEmpty) String() string { return string(*n) }

// inOurWords returns what is wrong with a flag. The flags that are numbers, or on or off, say it in
// the words of Go's parser.
func inOurWords(err error) error {
	var flag *pflag.InvalidValueError
	var parsed *strconv.NumError
	if !errors.As(err, &flag) || !errors.As(err, &parsed) {
		return err
	}
	rule := "a whole number"
	switch {
	case parsed.Func == "ParseBool":
		rule = "true or false"
	case errors.Is(parsed, strconv.ErrRange):
		rule = "a smaller number"
	}
	return usage("--%s %q: it must be %s", flag.GetFlag().Name, flag.GetValue(), rule)
}

// notTogether returns what is wrong if more than one of the flags says something else than its
// default.
func notTogether(cmd *cobra.Command, names ...string) error {
	given := slices.DeleteFunc(names, func(name string) bool {
		f := cmd.Flag(name)
		return f.Value.String() == f.DefValue
	})
	if len(given) < 2 {
		return nil
	}
	return usage("--%s and --%s exclude each other: give one of them", given[0], given[1])
}

// onePath takes a PATH as the only argument.
func onePath(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usage("there are %d arguments (%q): name one PATH, such as /locks/backup", len(args), args)
	}
	if !strings.HasPrefix(args[0], "/") {
		return usage("PATH %q: it must start with /, as in /locks/backup", args[0])
	}
	return nil
}

// oneLock takes the PATH of a lock as the only argument.
func oneLock(cmd *cobra.Command, args []string) error {
	if err := onePath(cmd, args); err != nil {
		return err
	}
	if err := recipe.CheckPath(args[0]); err != nil {
		return withCode(exitUsage, err)
	}
	return nil
}

func noArguments(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usage("there are arguments (%q): it takes none", args)
	}
	return nil
}

package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
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

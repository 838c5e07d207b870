package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// asking returns how to ask somebody at the terminal that in and out are, nil if they
// are none.
func asking(in io.Reader, out io.Writer) func(ctx context.Context, question string) (yes bool, err error) {
	for _, f := range []any{in, out} {
		if f, ok := f.(*os.File); !ok || !term.IsTerminal(int(f.Fd())) {
			return nil
		}
	}
	lines := bufio.NewReader(in)
	return func(ctx context.Context, question string) (bool, error) {
		if _, err := fmt.Fprint(output{ctx, out}, question); err != nil {
			return false, withCode(exitFailure, err)
		}
		answer := make(chan string, 1)
		go func() {
			line, _ := lines.ReadString('\n') // what ends without one is no answer
			answer <- line
		}()
		select {
		case line := <-answer:
			line = strings.ToLower(strings.TrimSuffix(line, "\n"))
			return line == "y" || line == "yes", nil
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
	}
}

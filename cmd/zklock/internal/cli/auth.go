package cli

import (
	"os"
	"strings"

	"github.com/zklock/zklock"
)

// authVariable has the credentials, unless a file does. They are never an
// argument, which everybody on the machine could read.
const authVariable = "ZKLOCK_AUTH"

// credentials reads them from the file, or, if none is named, from the
// environment. Its errors do not repeat them.
func credentials(file string) ([]zklock.SessionOption, error) {
	from, text := "$"+authVariable, os.Getenv(authVariable)
	if file != "" {
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, usage("--auth-file: %w", err)
		}
		from, text = "--auth-file "+file, string(content)
	}
	var options []zklock.SessionOption
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSuffix(line, "\r")
		if line == "" {
			continue
		}
		scheme, secret, ok := strings.Cut(line, ":")
		if !ok || scheme == "" {
			return nil, usage("%s, line %d: it must be scheme:credentials, such as digest:user:password", from, i+1)
		}
		options = append(options, zklock.WithAuth(scheme, []byte(secret)))
	}
	return options, nil
}

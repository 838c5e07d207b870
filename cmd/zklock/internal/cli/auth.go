package cli

import (
	"io"
	"os"
	"strings"
	"syscall"

	"github.com/zklock/zklock"
)

// authVariable has the credentials, unless a file does. They are never an
// argument, which everybody on the machine could read.
const authVariable = "ZKLOCK_AUTH"

// credentials reads them from the file, or, if none is named, from the
// environment. Its errors do not repeat them.
func (c *connection) credentials() ([]zklock.Credential, error) {
	from, text := "$"+authVariable, os.Getenv(authVariable)
	if c.authFile != "" {
		content, err := c.secret("auth-file", c.authFile)
		if err != nil {
			return nil, err
		}
		from, text = "--auth-file "+c.authFile, string(content)
	}
	var found []zklock.Credential
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSuffix(line, "\r")
		if line == "" {
			continue
		}
		scheme, secret, ok := strings.Cut(line, ":")
		if !ok || scheme == "" {
			return nil, usage("%s, line %d: it must be scheme:credentials, such as digest:user:password", from, i+1)
		}
		found = append(found, zklock.Credential{Scheme: scheme, Secret: []byte(secret)})
	}
	if c.authFile != "" && len(found) == 0 {
		return nil, usage("%s: there are no credentials in it: it must have a line such as digest:user:password", from)
	}
	return found, nil
}

// mechanism is how to log in by SASL now.
func (c *connection) mechanism() (zklock.SASLMechanism, error) {
	content, err := c.secret("sasl-password-file", c.saslFile)
	if err != nil {
		return nil, err
	}
	password := strings.TrimSuffix(strings.TrimSuffix(string(content), "\n"), "\r")
	if password == "" || strings.ContainsAny(password, "\r\n") {
		return nil, usage("--sasl-password-file %s: it must have one line, the password", c.saslFile)
	}
	return zklock.DigestMD5(c.saslUser, password), nil
}

// secret reads the file that the flag names, unless others may read or write it.
func (c *connection) secret(flag, name string) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, usage("--%s: %w", flag, err)
	}
	defer file.Close()
	if c.modeCheck.value == "on" {
		info, err := file.Stat() // of what is read, whatever has the name by now
		if err != nil {
			return nil, usage("--%s: %w", flag, err)
		}
		if mode, most := info.Mode().Perm(), mostOf(info); mode&0o666&^most != 0 {
			return nil, usage("--%s %s: its mode is %04o, by which others may use it: chmod %o %s, or --%s=off",
				flag, name, mode, mode&most, name, modeCheckFlag)
		}
	}
	content, err := io.ReadAll(file)
	if err != nil {
		return nil, usage("--%s: %w", flag, err)
	}
	return content, nil
}

const modeCheckFlag = "auth-file-mode-check"

// mostOf returns what the mode of a file of credentials may allow. One of another
// owner, as root makes it for a service, may be read by the group that it was given
// to.
func mostOf(info os.FileInfo) os.FileMode {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && int(stat.Uid) != os.Geteuid() {
		return 0o640
	}
	return 0o600
}

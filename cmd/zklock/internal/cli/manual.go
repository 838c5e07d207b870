package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// Section is a part of a manual page that cobra does not write.
type Section struct {
	Title   string
	Entries []Entry
}

// Entry is a term and what is said of it.
type Entry struct{ Term, Text string }

// exitCodesBegin the part of a command's help that its manual page has as a section.
const exitCodesBegin = "\n\nThe exit code is the command's, or 128 plus the number of the signal that ended it, or\none of these:\n"

// exitCodes is what a command's help says of its exit codes.
func exitCodes(codes []Entry) string {
	var b strings.Builder
	b.WriteString(exitCodesBegin)
	for _, c := range codes {
		fmt.Fprintf(&b, "  %-4s %s\n", c.Term, c.Text)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// runExits are the exit codes of run, beside the command's.
var runExits = []Entry{
	{"1", "anything else has failed, such as a quota that is used up"},
	{"64", "the command line, or what it names, is wrong"},
	{"69", "no server could be reached in time"},
	{"75", "somebody else has the lock (--nonblock), or had it until --timeout"},
	{"76", "the lock was lost before the command had ended"},
	{"77", "the credentials, or the permissions of the path"},
	{"126", "the command cannot be executed"},
	{"127", "the command does not exist"},
}

// electExits are those of elect.
var electExits = slices.Concat(runExits[:3], []Entry{{"76", "the process that held the leadership was killed while the command ran"}}, runExits[5:])

// endedAsMeant is how those end that go on until a signal.
var endedAsMeant = []Entry{{"0", "a signal has ended it, as is meant"}}

// ownExits are those that one other command has beside exits.
var ownExits = map[string][]Entry{
	"ls":     {{"66", "the answer is not whole: paths may not be read, and are listed"}},
	"status": {{"0, 1, 2", "with --exit-code: the lock is free, somebody holds it or waits for it, it cannot be told"}},
	"leader": {{"0, 1, 2", "with --exit-code: somebody leads, nobody does, it cannot be told"}},
	"revoke": {{"75", "the lock was not seen to be given back until --wait"}},
	"break":  {{"75", "the node has become the holder since it was shown, and there is nobody to ask again"}},
}

// exits are those of the other commands.
var exits = []Entry{
	{"0", "it did what it was asked"},
	{"1", "it could not"},
	{"64", "the command line, or what it names, is wrong"},
	{"69", "no server could be reached in time"},
	{"77", "the credentials, or the permissions of the path"},
	{"128+N", "signal N ended it"},
}

// given are the variables that all commands read which connect.
var given = []Entry{
	{"ZKLOCK_SERVERS", "the servers, as host:port,... or host:port,.../chroot, unless --servers names them"},
	{"ZKLOCK_AUTH", "credentials, as scheme:credentials, such as digest:user:password, unless --auth-file has them"},
}

// set are the variables that the command of run or elect finds.
var set = []Entry{
	{"ZKLOCK_PATH", "set for the command: the lock's path"},
	{"ZKLOCK_NODE", "set for the command: the lock's node, as a whole path, with the servers' chroot if there is one"},
	{"ZKLOCK_TOKEN", "set for the command: the fencing token, a number that grows with each holder"},
	{"ZKLOCK_SESSION", "set for the command: the ZooKeeper session, as ZooKeeper's own tools write it"},
}

// files are those that all commands read which connect.
var files = []Entry{
	{"--auth-file FILE", "credentials, one scheme:credentials a line. Only its owner may read or write it (chmod 600); if that is another user, such as root, its group may read it. Read for each connection, as the next ones"},
	{"--sasl-password-file FILE", "the password of --sasl-user, one line. Who may read or write it is as with --auth-file"},
	{"--tls-ca, --tls-cert, --tls-key FILE", "PEM: the authorities to trust, our certificate, and its key"},
}

// Manual returns the sections of a command's manual page, and its description without what they
// say.
func Manual(cmd *cobra.Command) (description string, sections []Section) {
	description, _, _ = strings.Cut(cmd.Long, exitCodesBegin)
	switch cmd.Name() {
	case "run", "elect":
		codes := append([]Entry{{"0-255", "the command's, or 128 plus the number of the signal that ended it; otherwise one of these"}},
			map[string][]Entry{"run": runExits, "elect": electExits}[cmd.Name()]...)
		return description, []Section{{"EXIT STATUS", codes}, {"ENVIRONMENT", slices.Concat(given, set)}, {"FILES", files}}
	case "ui":
		codes := slices.Concat(endedAsMeant, exits[1:5])
		return description, []Section{{"EXIT STATUS", codes}, {"ENVIRONMENT", given}, {"FILES", files}}
	case "ls", "status", "leader", "revoke", "break":
		codes := append(slices.Clip(exits), ownExits[cmd.Name()]...)
		return description, []Section{{"EXIT STATUS", codes}, {"ENVIRONMENT", given}, {"FILES", files}}
	case "server":
		return description, []Section{{"EXIT STATUS", slices.Concat(endedAsMeant, exits[1:3])}}
	case "zklock":
		codes := append(slices.Clip(exits), Entry{"others", "of zklock run and zklock elect: their pages have them"})
		return description, []Section{{"EXIT STATUS", codes}, {"ENVIRONMENT", given}, {"FILES", files}}
	}
	return description, []Section{{"EXIT STATUS", exits}}
}

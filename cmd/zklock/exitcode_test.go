package main_test

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/faultproxy"
	"github.com/zklock/zklock/internal/protocol"
)

func TestWhoFindsTheLockTakenIsToldByWhom(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	at.holder("--shared")
	at.holder("--shared")
	host, err := os.Hostname()
	require.NoError(t, err)
	said := fmt.Sprintf(`: lock is held by another.*: %s pid \d+ has it, since \d{4}-\d\d-\d\dT\S+( or later)?, and 1 more\n$`, regexp.QuoteMeta(host))
	for _, args := range [][]string{{"-n"}, {"-w", inSeconds}} {
		p := at.conflict(append(args, "--", "true")...)
		require.Equal(t, 75, p.exit())
		require.Regexp(t, said, p.stderr.String())
	}
	for _, args := range [][]string{{"-n", "-q"}, {"-n", "-E", "0"}} {
		p := at.run(append(args, "--", "true")...)
		p.exit()
		require.Empty(t, p.stderr.String())
	}
}

func TestATryOfAReadLockIsCalledWhatItIs(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	at.holder()
	p := at.run("--nonblock", "--shared", "--", "true")
	require.Equal(t, 75, p.exit())
	require.Contains(t, p.stderr.String(), "zklock: read-try "+at.path+": ")
}

func TestTheExitCodeIsTheCommands(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	for script, want := range map[string]int{
		"exit 0":        0,
		"exit 3":        3,
		"exit 255":      255,
		"kill -KILL $$": 128 + 9,
		"kill -TERM $$": 128 + 15,
		"kill -INT $$":  128 + 2,
		"kill -SEGV $$": 128 + 11,
	} {
		p := at.run("--", "sh", "-c", script)
		require.Equal(t, want, p.exit(), script)
		require.Empty(t, p.stderr.String(), "zklock adds nothing of its own")
	}
	at.awaitQueue(0)
}

func TestACommandThatCannotBeRunTakesNoLock(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, content string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(content), mode))
		return path
	}
	at := newSite(t)
	for name, c := range map[string]struct {
		command string
		code    int
		says    string
	}{
		"no such name":           {"no-such-command", 127, `"no-such-command": executable file not found in $PATH`},
		"no such file":           {dir + "/none", 127, "no such file"},
		"not executable":         {file("plain", "echo", 0o644), 126, "permission denied"},
		"a directory":            {dir, 126, "directory"},
		"no interpreter":         {file("script", "echo\n", 0o755), 126, "#!/bin/sh"},
		"not executable in PATH": {"plain", 126, dir + "/plain: permission denied"},
		"lost interpreter":       {file("lost", "#!/none\n", 0o755), 127, "no such file or directory: the file exists, and its interpreter does not"},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := at.command(at.runArgs("--", c.command)...)
			cmd.Env = append(cmd.Env, "PATH="+dir)
			p := at.start(cmd)
			require.Equal(t, c.code, p.exit())
			require.Contains(t, p.stderr.String(), "zklock: cannot run")
			require.Contains(t, p.stderr.String(), c.says)
			at.awaitQueue(0)
		})
	}
}

func TestAWrongCommandLineIsExplained(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	wrong, empty := filepath.Join(dir, "wrong"), filepath.Join(dir, "empty")
	require.NoError(t, os.WriteFile(wrong, []byte("nonsense\n"), 0o600))
	require.NoError(t, os.WriteFile(empty, []byte("\n"), 0o600))
	at := newSite(t)
	for line, says := range map[string]string{
		"run":                                      "there is no --",
		"run /p true":                              "there is no -- among the arguments [\"/p\" \"true\"]",
		"run -- true":                              "0 arguments before the --",
		"run /p /q -- true":                        "2 arguments before the --",
		"run /p --":                                "there is no command",
		"run p -- true":                            `PATH "p": it must start with /`,
		"run /p//q -- true":                        `"/p//q" has an empty node name`,
		"run --limit 0 /p -- true":                 "--limit 0: it must be at least 1",
		"run --exclusive=false /p -- true":         "--exclusive=false: without --shared or --limit a lock is exclusive",
		"run --exclusive=0 -s=0 /p -- true":        "--exclusive=false: without --shared or --limit a lock is exclusive",
		"run --limit x /p -- true":                 `--limit "x": it must be a whole number`,
		"run -E 99999999999999999999 /p -- true":   "it must be a smaller number",
		"run -n=perhaps /p -- true":                `--nonblock "perhaps": it must be true or false`,
		"run --connect-timeout 0 /p -- true":       "--connect-timeout 0: no server is reached in no time",
		"run --limit 2 -s /p -- true":              "--shared and --limit exclude each other",
		"run -n -w 1 /p -- true":                   "--nonblock and --timeout exclude each other",
		"run -x -s /p -- true":                     "--exclusive and --shared exclude each other",
		"run -q -v /p -- true":                     "--quiet and --verbose exclude each other",
		"run --acl creator /p -- true":             "--acl creator: it is for who has credentials",
		"run --acl world:anyone /p -- true":        `"world:anyone": it has no three parts`,
		"run --acl world:anyone:rx /p -- true":     "'x' is none of the permissions",
		"run --hold-at-least -1s /p -- true":       `"-1s" is negative`,
		"ls p":                                     `PATH "p": it must start with /`,
		"run -w soon /p -- true":                   `"soon" is not a time`,
		"run -w -1s /p -- true":                    `"-1s" is negative`,
		"run -w 3153600001 /p -- true":             `"3153600001" is too long: a time is at most 100 years`,
		"run --acl world:anyone: /p -- true":       `"world:anyone:": it has no permissions`,
		"run --acl :anyone:r /p -- true":           `":anyone:r": it has no scheme`,
		"run -w 876001h /p -- true":                `"876001h" is too long: a time is at most 100 years`,
		"run -E 256 /p -- true":                    "--conflict-exit-code 256: it must be from 0 to 255",
		"run --lost-exit-code -1 /p -- true":       "--lost-exit-code -1: it must be from 0 to 255",
		"run --on-lost panic /p -- true":           `"panic" is none of its values: term, kill, ignore`,
		"run --on-revoke kill /p -- true":          `"kill" is none of its values: ignore, term`,
		"run --log-format xml /p -- true":          `"xml" is none of its values: text, json`,
		"run --session-timeout 0 /p -- true":       "--session-timeout 0s",
		"run --servers a,,b /p -- true":            `--servers "a,,b": there is an empty server`,
		"run --servers a:1/app/ /p -- true":        `zklock: --servers: path "/app/" must not end with /`,
		"run --auth-file /none /p -- true":         "--auth-file: open /none",
		"run --auth-file " + wrong + " /p -- true": "line 1: it must be scheme:credentials",
		"run --auth-file " + empty + " /p -- true": "--auth-file " + empty + ": there are no credentials in it",
		"run --auth-file= /p -- true":              `"--auth-file" flag: it is empty`,
		"run --tls-ca= /p -- true":                 `"--tls-ca" flag: it is empty`,
		"run --tls-server-name= /p -- true":        `"--tls-server-name" flag: it is empty`,
		"status --servers= /p":                     `"--servers" flag: it is empty: give it a value, or leave it out`,
		"demo --servers=,":                         "--servers: the server list is empty",
		"run --tls-ca /none /p -- true":            "--tls-ca: open /none",
		"run --tls-ca " + wrong + " /p -- true":    "there is no certificate in it",
		"run --tls-cert a /p -- true":              `--tls-cert "a", --tls-key "": give both or none`,
		"run --tls-cert a --tls-key b /p -- true":  "--tls-cert a, --tls-key b: open a",
		"run --no-such-flag /p -- true":            "--no-such-flag",
		"status":                                   "there are 0 arguments",
		"status /p /q":                             "there are 2 arguments",
		"status p":                                 `PATH "p": it must start with /`,
		"status --format xml /p":                   `"xml" is none of its values: table, json`,
		"break /p":                                 "there is no --node",
		"revoke --node= /p":                        `"--node" flag: it is empty`,
		"server --listen bogus":                    `--listen "bogus": it must be host:port`,
		"server --listen :99999":                   "invalid port",
		"server --listen=":                         `"--listen" flag: it is empty`,
		"server --listen host":                     "missing port",
		"run --front=0 /p -- true":                 "descriptor 0 is no socket of the process",
		"run --front=-1 /p -- true":                "descriptor -1 is no socket of the process",
		"run --session-timeout 9999h /p -- true":   "ZooKeeper counts milliseconds in 32 bits",
		"run --servers a:b /p -- true":             `server "a:b": port "b" is not a number`,
		"status /p//q":                             `"/p//q" has an empty node name`,
		"server x":                                 `there are arguments (["x"])`,
		"no-such-command":                          `"no-such-command"`,
		"help no-such-command":                     `"no-such-command"`,
		"completion no-such-shell":                 `"no-such-shell"`,
		"-- run /p -- true":                        `no command of zklock before the -- (["run" "/p" "--" "true"] behind it)`,

		"run --sasl-user ann /p -- true":                                    `--sasl-user "ann", --sasl-password-file "": give both or none`,
		"run --sasl-password-file /none /p -- true":                         `--sasl-user "", --sasl-password-file "/none": give both or none`,
		"run --sasl-user ann --sasl-password-file /none /p -- true":         "--sasl-password-file: open /none",
		"run --sasl-user ann --sasl-password-file " + empty + " /p -- true": "--sasl-password-file " + empty + ": it must have one line",
	} {
		p := at.zklock(strings.Fields(line)...)
		require.Equal(t, 64, p.exit(), "zklock %s: %s", line, p.stderr)
		require.Contains(t, p.stderr.String(), says, "zklock %s", line)
		require.NotContains(t, p.stderr.String(), "nonsense", "what is in a file of credentials is kept")
	}
}

func TestWithoutServersItSaysHowToNameThem(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	cmd := at.command("run", "/p", "--", "true")
	cmd.Env = append(os.Environ(), "ZKLOCK_SERVERS=")
	p := at.start(cmd)
	require.Equal(t, 64, p.exit())
	require.Contains(t, p.stderr.String(), "give --servers host:port,... or set $ZKLOCK_SERVERS")
}

func TestServersThatCannotBeReachedEndTheWait(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	for name, flags := range map[string][]string{
		"within the time to wait":       {"--servers=127.0.0.1:1", "-w", "300ms"},
		"within the time to connect":    {"--servers=127.0.0.1:1", "--connect-timeout", "300ms"},
		"within the session timeout":    {"--servers=127.0.0.1:1", "--session-timeout", "300ms"},
		"a server that does not answer": {"--servers=" + silentServer(t), "--timeout=0.3"},
	} {
		p := at.run(append(flags, "--", "true")...)
		require.Equal(t, 69, p.exit(), name)
		require.Contains(t, p.stderr.String(), "zklock: connect 127.0.0.1:", name)
	}
}

func TestServersThatGoAwayWhileTheyAreAskedEndTheWait(t *testing.T) {
	t.Parallel()
	for name, asked := range map[string]struct {
		op   int32
		args []string
	}{
		"status": {protocol.OpGetChildren2, []string{"status"}},
		"revoke": {protocol.OpSetData, []string{"revoke"}},
		"break":  {protocol.OpMulti, []string{"break", "--node", lockName + "0000000000", "--yes"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := newSite(t)
			at.create(zk.WorldACL(zk.PermAll))
			at.contend(lockName, "host=a pid=1", zk.WorldACL(zk.PermAll))
			link := faultproxy.Run(t, at.addr)
			lost := link.DropRequest(asked.op)
			p := at.zklock(append(asked.args, "--servers", link.Addr(), "--session-timeout", "4s", at.path)...)
			select {
			case <-lost:
			case <-p.exited:
			}
			link.Refuse(true)
			link.Cut()
			require.Equal(t, 69, p.exit())
			require.Len(t, at.queue(), 1)
		})
	}
}

func TestATakenLockIsAConflict(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	holder := at.run("--", "cat")
	at.awaitQueue(1)
	for _, c := range []struct {
		flags []string
		code  int
	}{
		{[]string{"-n"}, 75},
		{[]string{"--nonblock"}, 75},
		{[]string{"-w", "0"}, 75},
		{[]string{"-w", inSeconds}, 75},
		{[]string{"--timeout", inUnits}, 75},
		{[]string{"-n", "-E", "0"}, 0},
		{[]string{"-w", inUnits, "--conflict-exit-code", "42"}, 42},
		{[]string{"-n", "--shared"}, 75},
		{[]string{"-n", "--exclusive"}, 75},
	} {
		p := at.conflict(append(c.flags, "--", "echo", "it must not run")...)
		require.Equal(t, c.code, p.exit(), "%v", c.flags)
		require.Empty(t, p.rest())
		if c.code == 0 { // which is what was asked for
			require.Empty(t, p.stderr.String(), "%v", c.flags)
			continue
		}
		require.Contains(t, p.stderr.String(), at.path+": lock is held by another", "%v", c.flags)
		q := at.conflict(append(c.flags, "--quiet", "--", "echo", "it must not run")...)
		require.Equal(t, c.code, q.exit(), "%v", c.flags)
		require.Empty(t, q.stderr.String(), "%v", c.flags)
	}
	at.awaitQueue(1)
	holder.stdin.Close()
	require.Equal(t, 0, holder.exit())
	require.Equal(t, 0, at.run("-n", "--", "true").exit(), "the lock is free again")
}

func TestARefusedLoginIsSaidToBeOne(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	at.create(zk.DigestACL(zk.PermAll, "zoe", "s3cret"))
	for name, auth := range map[string]string{
		"no credentials":     "",
		"wrong credentials":  "digest:zoe:guess",
		"an unknown scheme":  "nonsense:zoe:guess",
		"another's password": "digest:joe:s3cret",
	} {
		t.Run(name, func(t *testing.T) {
			cmd := at.command(at.runArgs("--", "true")...)
			cmd.Env = append(cmd.Env, "ZKLOCK_AUTH="+auth)
			p := at.start(cmd)
			require.Equal(t, 77, p.exit())
			require.NotContains(t, p.stderr.String(), "guess", "the secret is kept")
		})
	}
	secret := filepath.Join(t.TempDir(), "auth")
	require.NoError(t, os.WriteFile(secret, []byte("digest:other:x\r\n\ndigest:zoe:s3cret\n"), 0o600))
	require.Equal(t, 0, at.run("--auth-file", secret, "--", "true").exit())
	cmd := at.command(at.runArgs("--", "true")...)
	cmd.Env = append(cmd.Env, "ZKLOCK_AUTH=digest:zoe:s3cret")
	require.Equal(t, 0, at.start(cmd).exit())

	status := at.zklock("status", at.path)
	require.Equal(t, 77, status.exit(), "who may not read is told so")
}

// The same command with the list mended finds the path as the others do.
func TestAWrongAccessListLocksNoPath(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	path := at.path
	for list, code := range map[string]int{"digest:bob:typo:cdrwa": 77, "world:anyone:cdwa": 77, "sasl:bob:cdrwa": 64} {
		for i := range 3 {
			at.path = fmt.Sprintf("%s-%.4s-%d/below", path, list, i)
			p := at.run("--acl", list, "--", "echo", "ran")
			require.Equal(t, code, p.exit(), list)
			require.Empty(t, p.rest())
			require.Contains(t, p.stderr.String(), "ACL")
			require.NotContains(t, p.stderr.String(), "typo", "it may be a password")
			exists, _, err := at.conn.Exists(filepath.Dir(at.path))
			require.NoError(t, err)
			require.False(t, exists, "nothing is left")
			require.Equal(t, 0, at.run("--acl", "world:anyone:cdrwa", "--", "true").exit())
		}
	}
}

func TestAnAccessListThatKeepsUsOutIsRefusedBeforeTheCommandIsStarted(t *testing.T) {
	t.Parallel()
	for _, list := range []string{"digest:u:h:cdrwa", "world:anyone:cdwa"} {
		for _, exists := range []bool{true, false} { // one is open; the other gets the list too
			at := newSite(t)
			if exists {
				at.create(zk.WorldACL(zk.PermAll))
			}
			p := at.run("--acl", list, "--", "echo", "ran")
			require.Equal(t, 77, p.exit(), list)
			require.Empty(t, p.rest())
			if exists {
				require.Contains(t, p.stderr.String(), "--acl "+list+" does not let us read the lock's node")
				require.Empty(t, at.queue())
			}
		}
	}
}

func TestWhatTheServersRefuseIsNoWrongCommandLine(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	at.create(zk.WorldACL(zk.PermAll))
	node := at.path + "/_c_46dd068b-196d-4603-8000-000000000003-lock-0000000005"
	for _, path := range []string{node, node + "/child"} {
		_, err := at.conn.Create(path, nil, 0, zk.WorldACL(zk.PermAll))
		require.NoError(t, err)
	}
	require.Equal(t, 1, at.zklock("break", at.path, "--node", "0005", "--yes").exit())
}

func TestTheQuotaOfAPathIsNoWrongCommandLine(t *testing.T) {
	t.Parallel()
	at := newSiteWith(t, map[string]string{"enforceQuota": "true"})
	at.create(zk.WorldACL(zk.PermAll))
	quota := "/zookeeper/quota" + at.path
	for _, node := range []struct{ path, data string }{
		{path.Dir(quota), ""},
		{quota, ""},
		{quota + "/zookeeper_limits", "count=-1,bytes=-1=;byteHardLimit=-1;countHardLimit=1"},
		{quota + "/zookeeper_stats", "count=1,bytes=0"},
	} {
		_, err := at.conn.Create(node.path, []byte(node.data), 0, zk.WorldACL(zk.PermAll))
		require.NoError(t, err)
	}
	p := at.run("--", "true")
	require.Equal(t, 1, p.exit(), "%s", p.stderr)
}

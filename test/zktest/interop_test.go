package zktest_test

import (
	"bufio"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/apachezk"
	"github.com/zklock/zklock/zktest"
)

// foreign runs another client's program to its end and returns the lines it prints. A session that the program asks to
// have expired, in a line of its own, is expired.
func foreign(t *testing.T, s *zktest.Server, cmd *exec.Cmd) []string {
	t.Helper()
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	require.NoError(t, cmd.Start())
	var lines []string
	for scanner := bufio.NewScanner(stdout); scanner.Scan(); {
		lines = append(lines, scanner.Text())
		if id, found := strings.CutPrefix(scanner.Text(), "expire "); found {
			session, err := strconv.ParseInt(id, 10, 64)
			require.NoError(t, err)
			require.True(t, s.ExpireSession(session))
			lines[len(lines)-1] = "expired"
		}
	}
	require.NoError(t, cmd.Wait(), "%s\n%s", strings.Join(lines, "\n"), &stderr)
	return lines
}

func TestKazooWorksAgainstZktest(t *testing.T) {
	python := "/usr/bin/python3"
	if exec.Command(python, "-c", "import kazoo").Run() != nil {
		t.Skip("needs kazoo: apt-get install python3-kazoo")
	}
	s := zktest.NewServer(t)
	lines := foreign(t, s, exec.Command(python, "testdata/kazoo_client.py", s.Addr()))
	require.Equal(t, []string{
		"get data",
		"list ['node']",
		"event CHANGED /kazoo/node",
		"contenders ['a']",
		"busy False",
		"granted True",
		"list ['in-transaction', 'lock']",
		"expired",
		"lost True gone True",
	}, lines)
}

func TestCuratorWorksAgainstZktest(t *testing.T) {
	zookeeper, err := apachezk.Find()
	if err != nil {
		t.Skipf("needs ZooKeeper's jars: %v", err)
	}
	jars, _ := filepath.Glob("/usr/share/java/curator-*.jar")
	if len(jars) == 0 {
		t.Skip("needs Curator: apt-get install libcurator-recipes-java")
	}
	jars = append(jars, "/usr/share/java/guava.jar", "/usr/share/java/failureaccess.jar")
	s := zktest.NewServer(t)
	cmd := exec.Command(zookeeper.Java, "-cp", strings.Join(append(jars, zookeeper.Classpath...), ":"),
		"testdata/CuratorClient.java", s.Addr())
	require.Equal(t, []string{
		"get data",
		"list [node]",
		"event NodeDataChanged",
		"acquired true",
		"busy true",
		"granted true",
		"expired",
		"lost true",
		"again true",
	}, foreign(t, s, cmd))
}

func TestZkCliWorksAgainstZktest(t *testing.T) {
	zkCli := "/usr/share/zookeeper/bin/zkCli.sh"
	if _, err := os.Stat(zkCli); err != nil {
		t.Skip("needs zkCli.sh: apt-get install zookeeper")
	}
	s := zktest.NewServer(t)
	cmd := exec.Command(zkCli, "-server", s.Addr())
	cmd.Stdin = strings.NewReader(strings.Join([]string{
		"create /cli data",
		"create -e -s /cli/seq-",
		"create -c /container",
		"ls /cli",
		"get -s -w /cli",
		"set /cli other",
		"stat /cli",
		"addauth digest user:secret",
		"setAcl /cli auth::cdrwa",
		"getAcl /cli",
		"sync /cli",
		"whoami",
		"deleteall /cli",
		"ls /",
		"quit",
	}, "\n") + "\n")
	out, err := cmd.CombinedOutput()
	text := string(out)
	require.NoError(t, err, text)
	for _, want := range []string{
		"Created /cli\n", "Created /cli/seq-0000000000\n", "Created /container\n", "[seq-0000000000]", "data\n",
		"WatchedEvent state:SyncConnected type:NodeDataChanged path:/cli", "dataVersion = 1", "numChildren = 1",
		"'digest,'user:5w9W4eL3797Y4Wq8AcKUPPk8ha4=", ": cdrwa", "Sync is OK", "[container, zookeeper]",
	} {
		require.Contains(t, text, want)
	}
}

func TestASessionIsKilledByWhoeverComputesItsPassword(t *testing.T) {
	s := zktest.NewServer(t)
	w := dialWire(t, net.DialTimeout, s.Addr(), time.Second, nil)
	require.NoError(t, apachezk.KillSession(t.Context(), s.Addr(), w.session))
	w.closed(t)
	require.Empty(t, s.Sessions())
}

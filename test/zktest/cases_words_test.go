package zktest_test

import (
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
)

// wordCases are compared without the numbers, and without those lines of mntr and envi that zktest has not.
var wordCases = []conformanceCase{
	{"four-letter words", func(s *script) {
		for _, word := range []string{"ruok", "srvr", "stat", "mntr", "envi", "cons", "wchs"} {
			s.word(s.addr, word)
		}
	}},
	{"a four-letter word in a session is a length that is too large", func(s *script) {
		s.wire(0).nc.Write([]byte("ruok"))
		s.frame(0, "answer")
	}},
	{"a four-letter word that nobody knows", func(s *script) { s.word(s.addr, "kour") }},
}

// watched are the lines of mntr that zktest has.
var watched = strings.Fields(`version server_state avg_latency min_latency max_latency packets_received packets_sent
	num_alive_connections outstanding_requests znode_count watch_count ephemerals_count approximate_data_size global_sessions
	uptime quorum_size peer_state learners synced_followers pending_syncs`)

var (
	releaseMark = regexp.MustCompile(`(\d+\.\d+)\.\S+, built on .*`)
	numberMark  = regexp.MustCompile(`0x[0-9a-f]+|-?\d+(\.\d+)?`)
)

// word asks a four-letter word.
func (s *script) word(addr, word string) {
	nc, err := s.dial("tcp", addr, time.Second)
	require.NoError(s.t, err)
	defer nc.Close()
	_, err = nc.Write([]byte(word))
	require.NoError(s.t, err)
	answer, _ := io.ReadAll(nc) // which a reset may end
	var lines []string
	for line := range strings.Lines(string(answer)) {
		line = releaseMark.ReplaceAllString(line, "$1.x")
		key, _, isTab := strings.Cut(strings.TrimPrefix(line, "zk_"), "\t")
		switch {
		case isTab && !slices.Contains(watched, key):
		case word == "envi" && strings.Contains(line, "=") && !strings.HasPrefix(line, "zookeeper.version="):
		case strings.HasPrefix(line, " /") && strings.HasPrefix(lines[len(lines)-1], " /"): // one client stands for all
		default:
			lines = append(lines, numberMark.ReplaceAllString(line, "n"))
		}
	}
	if word == "mntr" {
		slices.Sort(lines)
	}
	s.note("%s: %s", word, strings.Join(lines, ""))
}

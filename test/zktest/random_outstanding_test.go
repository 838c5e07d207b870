package zktest_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/zklock/zklock/zktest"
)

// TestRandomRequestsAreDecidedAlikeBeforeThoseAheadAreCommitted sends random writes of two sessions, one of which may
// end, to a leader that can commit none of them, and compares the answers and what is there afterwards.
func TestRandomRequestsAreDecidedAlikeBeforeThoseAheadAreCommitted(t *testing.T) {
	theirs, ours := bothEnsembles(t)
	round := 0
	rapid.Check(t, func(rt *rapid.T) {
		sequence := steps().Draw(rt, "steps")
		closing := rapid.IntRange(0, 2*len(sequence)).Draw(rt, "closing")
		round++
		root := fmt.Sprintf("/outstanding-%d", round)
		require.Equal(rt, theirs(t).playOutstanding(root, sequence, closing), ours(t).playOutstanding(root, sequence, closing))
	})
}

// playOutstanding sends the writes of a sequence; session 1 closes ahead of step number closing.
func (s *ensembleScript) playOutstanding(root string, sequence []step, closing int) string {
	s.root = root
	open := []bool{true, true}
	sent := [2][]zktest.Op{}
	s.at(2)
	s.at(2)
	for _, path := range []string{"", "/a", "/b"} {
		s.raw(0, opCreate, create(s.script.at(path), 0))
	}
	s.raw(1, opCreate, create(s.script.at("/a/x"), 1))
	s.raw(1, opCreate, create(s.script.at("/b/x"), 1))
	s.stalled(func() {
		for i, st := range sequence {
			if i == closing {
				open[1] = false
				s.sent(1, int32(zktest.OpCloseSession), nil)
			}
			op, body := s.encode(st)
			if n := st.Session; body != nil && open[n] {
				s.sent(n, int32(op), body)
				sent[n] = append(sent[n], op)
			}
		}
	})
	for n, ops := range sent {
		for _, op := range ops {
			s.frame(n, op.String(), func(r *reply) string { return fmt.Sprint(op == zktest.OpCreate && asString(r) != "") })
		}
	}
	last := s.wire(0)
	if !open[1] {
		s.frame(1, "close")
	}
	for _, path := range []string{"", "/a", "/b", "/a/x", "/a/y", "/b/x", "/a/x/1", "/b/x/1", "/a-c"} {
		r := last.call(s.t, int32(zktest.OpExists), packet{}.string(s.script.at(path)).byte(0))
		s.note("%s: %d", path, r.code)
		if r.code == 0 {
			s.note("%s", statLine(r.stat()))
		}
	}
	last.call(s.t, int32(zktest.OpCloseSession), nil)
	if open[1] {
		s.wire(1).call(s.t, int32(zktest.OpCloseSession), nil)
	}
	return s.normal()
}

// encode returns the body of a step that writes, nil for one that reads.
func (s *ensembleScript) encode(st step) (zktest.Op, packet) {
	path := s.script.at(st.Path)
	acl := packet{}.int32(1).int32(st.Perms).string("world").string("anyone")
	switch st.Do {
	case "create":
		return zktest.OpCreate, append(packet{}.string(path).string(""), acl...).int32(st.Flags)
	case "container":
		return zktest.OpCreateContainer, append(packet{}.string(path+"-c").string(""), acl...).int32(4)
	case "delete":
		return zktest.OpDelete, packet{}.string(path).int32(st.Version)
	case "set":
		return zktest.OpSetData, packet{}.string(path).string("x").int32(st.Version)
	case "setACL":
		return zktest.OpSetACL, append(packet{}.string(path), acl...).int32(st.Version)
	case "check":
		return zktest.OpMulti, rawMulti(13, packet{}.string(path).int32(st.Version))
	case "multi":
		var ops []any
		for part := range slices.Values(st.Multi) {
			op, body := s.encode(part)
			if part.Do == "check" {
				op, body = zktest.OpCheck, packet{}.string(s.script.at(part.Path)).int32(part.Version)
			}
			ops = append(ops, int(op), body)
		}
		return zktest.OpMulti, rawMulti(ops...)
	}
	return 0, nil
}

package zktest_test

import (
	"fmt"
	"net"
	"slices"
	"testing"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/zklock/zklock/zktest"
)

// step is one operation of a random sequence.
type step struct {
	Do      string
	Session int
	Path    string
	Flags   int32
	Version int32
	Perms   int32
	Multi   []step
}

var (
	somePaths    = rapid.SampledFrom([]string{"/a", "/b", "/a/x", "/a/y", "/b/x", "/a/x/1", "/b/x/1"})
	someVersions = rapid.SampledFrom([]int32{-1, -1, -1, 0, 1, 2})
	someFlags    = rapid.SampledFrom([]int32{0, 0, 0, 1, 2, 3})
	somePerms    = rapid.SampledFrom([]int32{31, 31, 31, 1, 6, 15, 16, 0})
	someReads    = rapid.SampledFrom([]string{"get", "exists", "children", "getACL", "getW", "existsW", "childrenW"})
	someWrites   = rapid.SampledFrom([]string{"create", "create", "create", "delete", "delete", "set", "check"})
)

func steps() *rapid.Generator[[]step] {
	write := rapid.Custom(func(t *rapid.T) step {
		return step{
			Do: someWrites.Draw(t, "do"), Path: somePaths.Draw(t, "path"),
			Flags: someFlags.Draw(t, "flags"), Version: someVersions.Draw(t, "version"), Perms: somePerms.Draw(t, "perms"),
		}
	})
	everything := rapid.Custom(func(t *rapid.T) step {
		var s step
		switch rapid.IntRange(0, 9).Draw(t, "kind") {
		case 0, 1, 2:
			s = step{Do: someReads.Draw(t, "do"), Path: somePaths.Draw(t, "path")}
		case 3:
			s = step{Do: "multi", Multi: rapid.SliceOfN(write, 0, 5).Draw(t, "multi")}
		case 4:
			s = write.Draw(t, "step")
			s.Do = rapid.SampledFrom([]string{"setACL", "container", "sync"}).Draw(t, "do")
		default:
			s = write.Draw(t, "step")
		}
		s.Session = rapid.IntRange(0, 1).Draw(t, "session")
		return s
	})
	return rapid.SliceOfN(everything, 1, 40)
}

// TestRandomSequencesEndAlike plays random operations of two sessions, and compares every answer and every watch.
func TestRandomSequencesEndAlike(t *testing.T) {
	apache := apacheServer(t)
	double := zktest.NewServer(t, like(t, apache)...)
	theirs, ours := &script{t: t, dial: net.DialTimeout, addr: apache.Addrs()[0]}, &script{t: t, dial: double.Dial, addr: double.PipeAddr()}
	round := 0
	rapid.Check(t, func(rt *rapid.T) {
		sequence := steps().Draw(rt, "steps")
		round++
		root := fmt.Sprintf("/random-%d", round)
		require.Equal(rt, theirs.playSteps(root, sequence), ours.playSteps(root, sequence))
	})
}

// playSteps runs one sequence in a tree of its own, in sessions that all sequences share.
func (s *script) playSteps(root string, sequence []step) string {
	s.root, s.lines = root, nil
	_, err := s.zk(0).Create(root, nil, 0, open)
	require.NoError(s.t, err)
	var watches []<-chan zk.Event
	for _, st := range sequence {
		switch st.Do {
		case "getW", "existsW", "childrenW":
			if w := s.watch(st); w != nil {
				watches = append(watches, w)
			}
		default:
			s.step(st)
		}
	}
	for i, w := range watches {
		for n := range 2 {
			_, err := s.zk(n).Sync("/")
			require.NoError(s.t, err)
		}
		s.quiet(0, fmt.Sprint(i), w)
	}
	return s.normal()
}

func (s *script) watch(st step) <-chan zk.Event {
	var events <-chan zk.Event
	var err error
	switch c := s.zk(st.Session); st.Do {
	case "getW":
		_, _, events, err = c.GetW(s.at(st.Path))
	case "existsW":
		_, _, events, err = c.ExistsW(s.at(st.Path))
	case "childrenW":
		_, _, events, err = c.ChildrenW(s.at(st.Path))
	}
	s.note("%s %s: %v", st.Do, st.Path, err)
	if err != nil {
		return nil
	}
	return events
}

func (s *script) step(st step) {
	n := st.Session
	switch st.Do {
	case "create":
		s.createBy(n, st.Path, st.Path, st.Flags, zk.WorldACL(st.Perms))
	case "container":
		s.container(st.Path + "-c")
	case "delete":
		s.deleteBy(n, st.Path, st.Version)
	case "set":
		s.setBy(n, st.Path, fmt.Sprint(st.Flags), st.Version)
	case "check":
		s.multi(s.opCheck(st.Path, st.Version))
	case "setACL":
		s.setACLBy(n, st.Path, zk.WorldACL(st.Perms), st.Version)
	case "sync":
		s.sync(st.Path)
	case "get":
		s.getBy(n, st.Path)
	case "exists":
		s.exists(st.Path)
	case "children":
		s.childrenBy(n, st.Path)
	case "getACL":
		s.getACLBy(n, st.Path)
	case "multi":
		s.multi(s.ops(st.Multi)...)
	}
}

func (s *script) ops(sequence []step) []any {
	ops := make([]any, len(sequence))
	for i, st := range slices.All(sequence) {
		switch st.Do {
		case "create":
			ops[i] = s.opCreate(st.Path, st.Flags)
		case "delete":
			ops[i] = s.opDelete(st.Path, st.Version)
		case "set":
			ops[i] = s.opSet(st.Path, "x", st.Version)
		default:
			ops[i] = s.opCheck(st.Path, st.Version)
		}
	}
	return ops
}

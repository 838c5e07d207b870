package membership_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/membership"
	"github.com/zklock/zklock/zktest"
)

// crowd makes n members of one session.
func crowd(t *testing.T, conn *zk.Conn, n int) {
	t.Helper()
	for _, dir := range []string{"/app", path} {
		create(t, conn, dir, 0)
	}
	for i := range n {
		enlist(t, conn, i)
	}
}

func enlist(t *testing.T, conn *zk.Conn, i int) {
	t.Helper()
	_, err := conn.Create(fmt.Sprintf("%s/member-%d", path, i), fmt.Append(nil, i), zk.FlagEphemeral, everybody)
	require.NoError(t, err)
}

// enlisted is enlist that tells in which transaction.
func enlisted(t *testing.T, conn *zk.Conn, i int) (zxid int64) {
	t.Helper()
	enlist(t, conn, i)
	_, stat, err := conn.Exists(fmt.Sprintf("%s/member-%d", path, i))
	require.NoError(t, err)
	return stat.Czxid
}

// settings makes n nodes beside the members.
func settings(t *testing.T, conn *zk.Conn, n int) {
	t.Helper()
	for i := range n {
		create(t, conn, fmt.Sprintf("%s/settings-%d", path, i), 0)
	}
}

// look has s see n more nodes, above the list, which conn makes.
func look(t *testing.T, s *zklock.Session, conn *zk.Conn, n int) {
	t.Helper()
	for i := range n {
		create(t, conn, fmt.Sprintf("/app/%d", i), 0)
	}
	for _, err := range membership.Watch(t.Context(), s, "/app") {
		require.NoError(t, err)
		return
	}
}

// reads returns a function that tells what was read since the last call.
func reads(server *zktest.Server) func() map[zktest.Op]int {
	last := server.Requests()
	return func() map[zktest.Op]int {
		now, n := server.Requests(), make(map[zktest.Op]int)
		for _, op := range []zktest.Op{zktest.OpExists, zktest.OpGetData, zktest.OpGetChildren2} {
			if now[op] > last[op] {
				n[op] = now[op] - last[op]
			}
		}
		last = maps.Clone(now)
		return n
	}
}

func TestWatchingAListThatDoesNotChangeCostsAFewSmallReadsAnInterval(t *testing.T) {
	for name, more := range map[string]time.Duration{"one interval": 0, "intervals of their own": 50 * time.Millisecond} {
		runInBubble(t, name, func(t *testing.T, server *zktest.Server) {
			crowd(t, connect(t, server).Conn(), 99)
			s := connect(t, server)
			for i := range time.Duration(10) {
				seen := watch(t, s, membership.WithInterval(3*time.Second+i*more))
				eventually(t, "the list", func() bool { return len(seen.latest()) == 99 })
				time.Sleep(300 * time.Millisecond)
			}
			since := reads(server)
			time.Sleep(30 * time.Second)
			n := since()
			require.Zero(t, n[zktest.OpGetData])
			require.Zero(t, n[zktest.OpGetChildren2])
			require.LessOrEqual(t, n[zktest.OpExists], 100, "for all who watch, two an interval for the list and for each of four members")
			require.GreaterOrEqual(t, n[zktest.OpExists], 50)
		})
	}
}

func TestWatchesOfAPathThatIsNotThereAskTwiceAnIntervalAtMost(t *testing.T) {
	inSession(t, func(t *testing.T, server *zktest.Server, s *zklock.Session) {
		for range 10 {
			watch(t, s, membership.WithInterval(3*time.Second)).await(t)
			time.Sleep(300 * time.Millisecond)
		}
		since := reads(server)
		time.Sleep(30 * time.Second)
		n := since()
		require.Zero(t, n[zktest.OpGetChildren2])
		require.LessOrEqual(t, n[zktest.OpExists], 20)
		require.GreaterOrEqual(t, n[zktest.OpExists], 10)
	})
}

func TestWhatIsReadAfterAChangeIsWhatIsNew(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		writer := connect(t, server).Conn()
		crowd(t, writer, 500)
		seen := watch(t, connect(t, server), membership.WithInterval(time.Hour))
		eventually(t, "the list", func() bool { return len(seen.latest()) == 500 })
		since := reads(server)
		enlist(t, writer, 500)
		eventually(t, "the newcomer", func() bool { return len(seen.latest()) == 501 })
		require.Equal(t, map[zktest.Op]int{zktest.OpGetChildren2: 1, zktest.OpGetData: 1}, since())
		write(t, writer, path+"/member-7", "other")
		eventually(t, "the change", func() bool { return string(seen.latest()[7].Data) == "other" })
		require.Equal(t, map[zktest.Op]int{zktest.OpGetData: 1}, since())
		time.Sleep(time.Minute)
		require.NoError(t, writer.Delete(path+"/member-7", -1))
		eventually(t, "the end of one", func() bool { return len(seen.latest()) == 500 })
		require.Equal(t, map[zktest.Op]int{zktest.OpGetChildren2: 1}, since())
	})
}

func TestAfterAReconnectTheMembersAreNotReadAgainIfTheirWatchesStand(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		const n = 6000 // whose watches take more than one request
		writer := connect(t, server).Conn()
		crowd(t, writer, n)
		seen := watch(t, connect(t, server, zklock.WithDialer(server.Client("watching").Dial)), membership.WithInterval(3*time.Second))
		eventually(t, "the list", func() bool { return len(seen.latest()) == n })
		since := reads(server)
		for range 3 {
			server.Client("watching").Cut()
			time.Sleep(10 * time.Second)
		}
		require.Zero(t, since()[zktest.OpGetData])
		require.Greater(t, server.Requests()[zktest.OpSetWatches], 3)
		write(t, writer, path+"/member-7", "other")
		eventually(t, "the change", func() bool { return string(seen.latest()[7].Data) == "other" })
		require.Equal(t, 1, since()[zktest.OpGetData])
	})
}

func TestARollingRestartOfAThousandMembersIsReadOnceASecond(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		writer := connect(t, server).Conn()
		crowd(t, writer, 1000)
		seen := watch(t, connect(t, server))
		eventually(t, "the list", func() bool { return len(seen.latest()) == 1000 })
		since, start := reads(server), time.Now()
		for i := range 1000 {
			require.NoError(t, writer.Delete(fmt.Sprintf("%s/member-%d", path, i), -1))
			time.Sleep(20 * time.Millisecond)
			enlist(t, writer, i)
			time.Sleep(20 * time.Millisecond)
		}
		took := int(time.Since(start) / time.Second)
		eventually(t, "the last one", func() bool {
			list := seen.latest()
			return len(list) == 1000 && list[999].ID == "member-999" && list[0].ID == "member-0"
		})
		n := since()
		require.LessOrEqual(t, n[zktest.OpGetChildren2], took+2)
		require.LessOrEqual(t, n[zktest.OpGetData], 1100, "each newcomer once, and few that are gone")
		time.Sleep(time.Minute)

		changed := time.Now()
		require.NoError(t, writer.Delete(path+"/member-5", -1))
		eventually(t, "a change by itself", func() bool { return len(seen.latest()) == 999 })
		require.Less(t, time.Since(changed), 100*time.Millisecond)
	})
}

func TestALongListOfOthersIsReadOnceASecondToo(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		writer := connect(t, server).Conn()
		crowd(t, writer, 0)
		settings(t, writer, 1000)
		seen := watch(t, connect(t, server))
		seen.await(t)
		since, start := reads(server), time.Now()
		for range 200 {
			enlist(t, writer, 0)
			time.Sleep(20 * time.Millisecond)
			require.NoError(t, writer.Delete(path+"/member-0", -1))
			time.Sleep(20 * time.Millisecond)
		}
		require.LessOrEqual(t, since()[zktest.OpGetChildren2], int(time.Since(start)/time.Second)+2)
	})
}

func TestAChangeOfALongListShowsAtOnceAndTheNextWithinASecond(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		writer := connect(t, server).Conn()
		crowd(t, writer, 0)
		settings(t, writer, 2000)
		seen := watch(t, connect(t, server))
		seen.await(t)
		start := time.Now()
		enlist(t, writer, 0)
		seen.await(t, "0")
		require.Less(t, time.Since(start), 100*time.Millisecond)
		start = time.Now()
		require.NoError(t, writer.Delete(path+"/member-0", -1))
		seen.await(t)
		require.Less(t, time.Since(start), 3*time.Second/2)
	})
}

func TestAMemberThatMayNotBeReadIsMissingAndTheOthersAreThere(t *testing.T) {
	inSession(t, func(t *testing.T, server *zktest.Server, s *zklock.Session) {
		join(t, s, "ours")
		hidden, err := s.Conn().Create(path+"/hidden", []byte("theirs"), zk.FlagEphemeral, zk.WorldACL(zk.PermWrite|zk.PermAdmin))
		require.NoError(t, err)
		var log bytes.Buffer
		seen := watch(t, connect(t, server), membership.WithInterval(5*time.Second),
			membership.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
		seen.await(t, "ours")
		since := reads(server)
		other := join(t, s, "too")
		for i := range 20 {
			require.NoError(t, other.Update(t.Context(), fmt.Append(nil, i)))
			seen.await(t, "ours", fmt.Sprint(i))
		}
		require.LessOrEqual(t, since()[zktest.OpGetData], 21*2+1, "each change by the member and the watcher")
		time.Sleep(20 * time.Second)
		require.LessOrEqual(t, since()[zktest.OpGetData], 4, "one an interval")
		require.NoError(t, other.Update(t.Context(), []byte("too")))
		setACL(t, s.Conn(), hidden, zk.PermAll)
		seen.await(t, "ours", "theirs", "too")
		seen.cancel()
		<-seen.ended
		synctest.Wait()
		require.NoError(t, seen.err)
		require.Equal(t, 1, bytes.Count(log.Bytes(), []byte("membership: a member may not be read")))
	})
}

func TestAMemberThatMayNotBeReadAnyMoreShowsAsItWasUntilTheServerTells(t *testing.T) {
	for name, c := range map[string]struct {
		version string
		changes bool
	}{
		"that it has changed":                 {"3.8", true},
		"that it may not be asked for either": {"3.9", false},
	} {
		runInBubble(t, name, func(t *testing.T, server *zktest.Server) {
			conn := connect(t, server).Conn()
			crowd(t, conn, 2)
			seen := watch(t, connect(t, server))
			seen.await(t, "0", "1")
			setACL(t, conn, path+"/"+"member-0", zk.PermAll&^zk.PermRead)
			if c.changes {
				time.Sleep(3 * timeout)
				require.Equal(t, 1, seen.lists())
				write(t, conn, path+"/member-0", "new")
			}
			time.Sleep(timeout + time.Millisecond)
			require.Equal(t, []string{"1"}, textsOf(seen.latest()))
			enlist(t, conn, 2)
			time.Sleep(3 * timeout)
			require.Equal(t, []string{"1", "2"}, textsOf(seen.latest()))
			require.Equal(t, 3, seen.lists(), "it stays missing")
			setACL(t, conn, path+"/"+"member-0", zk.PermAll)
			time.Sleep(timeout + time.Millisecond)
			require.Len(t, seen.latest(), 3)
		}, zktest.WithVersion(c.version))
	}
}

func TestMembersThatMayNotBeReadAnyMoreTakeNoTurns(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		conn := connect(t, server).Conn()
		crowd(t, conn, 5)
		seen := watch(t, connect(t, server))
		eventually(t, "the list", func() bool { return len(seen.latest()) == 5 })
		for i := range 4 {
			setACL(t, conn, path+"/"+fmt.Sprintf("member-%d", i), zk.PermAll&^zk.PermRead)
		}
		time.Sleep(3 * timeout)
		writeUnseen(t, conn, "member-4", "new")
		time.Sleep(3 * timeout)
		require.Equal(t, []string{"new"}, textsOf(seen.latest()))
	})
}

func TestTheTurnOfSomeMembersIsOverThoughTheConnectionBreaksInIt(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		conn, place := connect(t, server).Conn(), server.Client("watching")
		crowd(t, conn, 4)
		seen := watch(t, connect(t, server, zklock.WithDialer(place.Dial)))
		seen.await(t, "0", "1", "2", "3")
		enlist(t, conn, 4)
		seen.await(t, "0", "1", "2", "3", "4")
		writeUnseen(t, conn, "member-4", "new")
		asked := server.HoldRequest(zktest.OpExists, zktest.OnPath(path+"/member-"))
		<-asked.Struck()
		synctest.Wait()
		place.Cut()
		asked.Release()
		time.Sleep(timeout + timeout/4)
		require.Equal(t, []string{"0", "1", "2", "3", "new"}, textsOf(seen.latest()))
	})
}

func TestAWatchShowsWhatAMemberBecameWhileItMightNotBeRead(t *testing.T) {
	for name, c := range map[string]struct{ members, others int }{
		"of few": {1, 0}, "of many": {31, 0}, "among others": {1, 100},
	} {
		runInBubble(t, name, func(t *testing.T, server *zktest.Server) {
			conn, watching := connect(t, server).Conn(), connect(t, server)
			crowd(t, conn, c.members)
			settings(t, conn, c.others)
			look(t, watching, conn, 100)
			seen := watch(t, watching, membership.WithInterval(100*time.Millisecond))
			eventually(t, "the list", func() bool { return len(seen.latest()) == c.members })
			last := c.members - 1
			writeUnseen(t, conn, fmt.Sprintf("member-%d", last), "new")
			start := time.Now()
			eventually(t, "what is new", func() bool { return string(seen.latest()[last].Data) == "new" })
			require.LessOrEqual(t, time.Since(start), time.Duration(last/4+2)*100*time.Millisecond, "each has its turn")
		})
	}
}

// Each list comes late, and with an alarm of each member that is busy.
func TestEachMemberHasItsTurnHoweverBusyTheOthersAndTheLoopsBody(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		const busy, quiet = 30, 8
		conn := connect(t, server).Conn()
		crowd(t, conn, busy+quiet)
		lists := 0
		for peers, err := range membership.Watch(t.Context(), connect(t, server), path) {
			require.NoError(t, err)
			if lists++; lists == 3 {
				require.Equal(t, slices.Repeat([]string{"new"}, quiet), textsOf(peers[busy:]))
				return
			}
			for i := range busy + quiet {
				name := fmt.Sprintf("member-%d", i)
				if i < busy {
					_, err := conn.Set(path+"/"+name, fmt.Append(nil, lists), -1)
					require.NoError(t, err)
				} else if lists == 1 {
					writeUnseen(t, conn, name, "new")
				}
			}
			time.Sleep(2 * timeout)
		}
	})
}

func TestWatchesOfABusyListShareItsTurns(t *testing.T) {
	for name, lost := range map[string]bool{"each list is read": false, "the answers are lost": true} {
		runInBubble(t, name, func(t *testing.T, server *zktest.Server) {
			conn, s := connect(t, server).Conn(), connect(t, server)
			crowd(t, conn, 99)
			for range 10 {
				watch(t, s, membership.WithInterval(3*time.Second))
				time.Sleep(300 * time.Millisecond)
			}
			since := reads(server)
			for i := range 30 {
				if lost {
					server.DropReply(zktest.OpGetChildren2)
				}
				enlist(t, conn, 99+i)
				time.Sleep(100 * time.Millisecond)
			}
			require.LessOrEqual(t, since()[zktest.OpExists], 8)
		})
	}
}

func TestAMemberMakesSureOfItsNodeEachIntervalWhateverItsProcessWatches(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		s, operator := connect(t, server), connect(t, server)
		m := join(t, s, "one")
		look(t, s, operator.Conn(), 100)
		setACL(t, operator.Conn(), path+"/"+m.ID(), zk.PermAll&^zk.PermRead)
		require.NoError(t, operator.Conn().Delete(path+"/"+m.ID(), -1))
		time.Sleep(timeout + time.Millisecond)
		require.Equal(t, 2, m.State().Registrations)
	})
}

func TestAMemberThatComesUnderTheNameOfOneThatMightNotBeReadShowsAtOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		operator := connect(t, server).Conn()
		crowd(t, operator, 1)
		create := &zk.CreateRequest{Path: path + "/web-1", Data: []byte("new"), Flags: zk.FlagEphemeral, Acl: zk.WorldACL(zk.PermWrite)}
		_, err := operator.Multi(create)
		require.NoError(t, err)
		seen := watch(t, connect(t, server), membership.WithInterval(time.Hour))
		seen.await(t, "0")
		create.Acl = everybody
		_, err = operator.Multi(&zk.DeleteRequest{Path: create.Path, Version: -1}, create)
		require.NoError(t, err)
		seen.await(t, "0", "new")
	})
}

// Of the end of a node that a session may not read it is not told by the node's watch, but by the list's.
func TestAMemberThatComesBackUnderTheNameOfOneThatWentUnreadShowsAtOnce(t *testing.T) {
	for name, look := range map[string]func(t *testing.T, server *zktest.Server, gone func()){
		"a Watch": func(_ *testing.T, _ *zktest.Server, gone func()) { gone() },
		"whose list fails once": func(_ *testing.T, server *zktest.Server, gone func()) {
			failed := server.RefuseRequest(zktest.OpGetChildren2, -7) // too late
			gone()
			<-failed.Struck()
		},
	} {
		runInBubble(t, name, func(t *testing.T, server *zktest.Server) {
			operator := connect(t, server).Conn()
			crowd(t, operator, 9)
			seen := watch(t, connect(t, server), membership.WithInterval(time.Hour))
			eventually(t, "the list", func() bool { return len(seen.latest()) == 9 })
			setACL(t, operator, path+"/member-7", zk.PermAll&^zk.PermRead)
			look(t, server, func() { require.NoError(t, operator.Delete(path+"/member-7", -1)) })
			eventually(t, "the end of one", func() bool { return len(seen.latest()) == 8 })
			back := enlisted(t, operator, 7)
			eventually(t, "its return", func() bool { return len(seen.latest()) == 9 })
			require.Equal(t, back, seen.latest()[8].Zxid)
		})
	}
}

func TestAMemberThatComesUnseenUnderTheNameOfAnotherNodeShows(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		conn := connect(t, server).Conn()
		crowd(t, conn, 0)
		settings(t, conn, 2)
		seen := watch(t, connect(t, server))
		seen.await(t)
		unseen(t, conn, "settings-1", func(node string) error {
			_, err := conn.Multi(&zk.DeleteRequest{Path: node, Version: -1},
				&zk.CreateRequest{Path: node, Data: []byte("new"), Flags: zk.FlagEphemeral, Acl: zk.WorldACL(zk.PermAdmin)})
			return err
		})
		seen.await(t, "new")
	})
}

package sim

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/virtual"
)

// refusing is a program of two machines that ask for one lock, and one fault.
func refusing(seed uint64, f Fault) *Program {
	p := &Program{
		Seed: seed, Focus: AllKinds,
		Cluster: Cluster{Servers: 1, Tick: tick, Latency: 2 * time.Millisecond, SyncLimit: 5},
		Faults:  []Fault{f},
	}
	for m := range 2 {
		p.Machines = append(p.Machines, Machine{Timeout: timeout})
		p.Lockers = append(p.Lockers, LockerSpec{Machine: m, Path: paths[0]})
		var sections []Section
		for range 3 {
			sections = append(sections, Section{Locker: m, Take: Acquire, Hold: 100 * time.Millisecond})
		}
		p.Actors = append(p.Actors, Actor{Machine: m, Sections: sections})
	}
	return p
}

func TestOperatorsAndServersThatRefuseAreHeardOfAndEverybodyGoesOn(t *testing.T) {
	for _, tc := range []struct {
		kind FaultKind
		seed uint64
		told string
	}{
		{Withdraw, 1, "the ACL of /a does not let this session"},
		{RefuseOne, 7, "refuses .* of m0 with -"},
		{RefuseMany, 3, "refuses .* of m0 with -"},
		{WrongList, 1, "asks for /wrong-50000000/lock with a wrong list: .* ACL (.|\n)*asks for /wrong-50000000/lock: <nil>"},
		{RefuseWatch, 1, "refuses getData of m0 with -127(.|\n)* data set /a/_c_"},
	} {
		t.Run(tc.kind.String(), func(t *testing.T) {
			virtual.Test(t, func(t *testing.T) {
				log := newTimeline()
				p := refusing(tc.seed, Fault{At: 50 * time.Millisecond, Kind: tc.kind, For: 400 * time.Millisecond})
				require.Nil(t, simulate(p, new(Stats), log))
				require.Regexp(t, tc.told, log)
			})
		})
	}
}

func TestARefusalExcusesACallInItsSpellOnly(t *testing.T) {
	began := time.Now()
	w := &world{checker: newChecker(newTimeline(), new(Stats))}
	c := &call{since: began, visit: &visit{
		actor: &actor{world: w, machine: &machine{name: "m0"}}, lock: &lock{spec: LockerSpec{Path: "/a"}},
	}}
	full, forbidden := errors.New("unknown error: -125"), fmt.Errorf("list: %w", zk.ErrNoAuth)
	for name, tc := range map[string]struct {
		spell spell
		err   error
		want  bool
	}{
		"by its machine":        {spell{by: "m0", code: overQuota}, full, true},
		"by another":            {spell{by: "m1", code: overQuota}, full, false},
		"another error":         {spell{by: "m0", code: noAuth}, full, false},
		"none of a server's":    {spell{by: "m0", code: overQuota}, context.Canceled, false},
		"for now":               {spell{by: "m0", code: throttled}, errors.New("unknown error: -127"), false},
		"by mischance":          {spell{by: "m0", code: systemError}, errors.New("unknown error: -1"), false},
		"of its lock":           {spell{of: "/a", code: noAuth}, forbidden, true},
		"of a node there":       {spell{of: "/a/_c_x-lock-0000000001", code: noAuth}, forbidden, true},
		"of another":            {spell{of: "/ab", code: noAuth}, forbidden, false},
		"by a server that lags": {spell{of: "/a", code: noAuth, until: began.Add(-stale)}, forbidden, true},
		"long over":             {spell{of: "/a", code: noAuth, until: began.Add(-stale - 1)}, forbidden, false},
	} {
		t.Run(name, func(t *testing.T) {
			w.checker.spells = []*spell{&tc.spell}
			require.Equal(t, tc.want, c.refusedInSpell(tc.err))
		})
	}
}

func TestASpellIsOverWhenItsConsequencesAre(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		ck := newChecker(newTimeline(), new(Stats))
		require.Zero(t, ck.recovery())
		s := &spell{tail: unheard}
		ck.begin(s)
		time.Sleep(unheard)
		require.Equal(t, unheard, ck.recovery(), "it goes on")
		ck.end(s)
		time.Sleep(unheard - time.Second)
		require.Equal(t, time.Second, ck.recovery())
		time.Sleep(time.Hour)
		require.Zero(t, ck.recovery())
	})
}

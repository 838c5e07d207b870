package recipe

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Curator and kazoo have made these nodes; who gets in is seen in test/interop.
func TestANodesNameTellsWhetherItsLockWaitsForOurs(t *testing.T) {
	const uuid = "_c_89828215-0848-46eb-9811-070aa416b844"
	for name, gets := range map[string]struct{ inALock, inReaders bool }{
		uuid + "-latch-0000000000":                            {true, true},
		"4f1c2d3e5a6b47988a9b0c1d2e3f4a5b__lock__0000000001":  {true, true},
		"4f1c2d3e5a6b47988a9b0c1d2e3f4a5b__rlock__0000000001": {true, true},
		uuid + "-lock-0000000003":                             {false, true},
		uuid + "-__READ__0000000003":                          {true, false},
		uuid + "-__WRIT__0000000003":                          {true, false},
		"_c_2ea2a3e7c1b24d0f8b6c5d4e3f2a1b0c-lock-0000000003": {false, false}, // zk.Lock's
		"lock-0000000003":                                     {false, false},
		"0000000003":                                          {false, false},
		uuid[len("_c_"):] + "-lock-0000000003":                {false, false},
		"_c_89828215-lock-0000000003":                         {false, false},
		Stem(id, Read) + "0000000003":                         {false, false}, // ours
		"settings":                                            {false, false},
		uuid + "-settings":                                    {false, false},
		uuid + "-member-0000000003":                           {false, false},
		uuid + "-lease-0000000003":                            {false, false},
		"door-latch-0000000003":                               {false, false}, // another lock's path
	} {
		for kind, want := range map[Kind]bool{Exclusive: gets.inALock, Read: gets.inReaders, Write: gets.inReaders, Permit: false} {
			p, ok := PeerOf(name, kind)
			require.Equal(t, want, ok, "%s beside %v", name, kind)
			require.Equal(t, ok, p.Lock != "" && p.Cure != "", name)
			require.Equal(t, ok && name == uuid+"-latch-0000000000", p.Never)
			require.Equal(t, ok && p.Lock == "kazoo's lock" && kind != Exclusive, strings.Contains(p.Cure, "ReadLock"), "a lock's cure for a reader")
		}
	}
}

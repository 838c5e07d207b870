package mutants

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var branches = flag.Int("branches", 0, "write docs/simulation.md: which ways so many programs of the simulation go in the rooms that decide")

// deciding are the rooms whose decisions the simulation is to take each way.
var deciding = []room{{directory: "internal/recipe"}, {directory: "internal/queue"}}

func TestTheSimulationGoesEachWay(t *testing.T) {
	if *branches == 0 {
		t.Skip("takes minutes: make reach runs it")
	}
	p := load(t, deciding)
	ways := p.ways(profileOfSimulation(t, p))
	reasons := explanationsIn(t, "untaken.txt")
	var rows, untaken, open strings.Builder
	for _, l := range p.rooms {
		for _, file := range slices.Sorted(maps.Keys(l.sources)) {
			of := slices.DeleteFunc(slices.Clone(ways), func(w *way) bool { return w.file != file })
			taken := 0
			for _, w := range of {
				reason := reasons[w.key()]
				switch {
				case w.times > 0:
					taken++
				case reason != "":
					fmt.Fprintf(&untaken, "- %s:%d, %s: %s: %s\n", w.file, w.at.Line, w.of, inCode(w.text), reason)
				default:
					fmt.Fprintf(&open, "- %s:%d, %s: %s\n", w.file, w.at.Line, w.of, inCode(w.text))
				}
			}
			if len(of) > 0 {
				fmt.Fprintf(&rows, "| `%s` | %d | %d | %s |\n", file, len(of), taken, rarest(of))
			}
		}
	}
	page := fmt.Sprintf(simulationPage, *branches, time.Now().Format("2 January 2006"), rows.String(), orNone(untaken.String()), orNone(open.String()))
	require.NoError(t, os.WriteFile(filepath.Join(root, "docs/simulation.md"), []byte(page), 0o644))
}

// rarest shows the way that is gone least often, but gone.
func rarest(ways []*way) string {
	var least *way
	for _, w := range ways {
		if w.times > 0 && (least == nil || w.times < least.times) {
			least = w
		}
	}
	if least == nil {
		return ""
	}
	return fmt.Sprintf("%d × line %d", least.times, least.at.Line)
}

func profileOfSimulation(t *testing.T, p *packages) counted {
	t.Helper()
	var paths []string
	for _, l := range p.rooms {
		paths = append(paths, l.path)
	}
	b := build(t, simulator, "-cover", "-covermode=atomic", "-coverpkg="+strings.Join(paths, ","))
	profile := filepath.Join(t.TempDir(), "profile")
	ran := b.run(0, limits{time.Hour, time.Hour}, only(simulating), fmt.Sprintf("-seeds=%d", *branches), "-test.coverprofile="+profile)
	require.True(t, ran.passed, "%s", ran.output)
	return readCounted(t, profile)
}

const simulationPage = `# What the simulation reaches

Where the recipe and the queue decide something, and whether %d programs of the simulation (` + "`make reach`" + `) have gone each way
there. Last measured on %s.

Some situations come about rarely unless somebody makes them. These are drawn as a kind of fault
(` + "`go test ./sim -run 'TestSimulation$' -focus KIND`" + `, in ` + "`test`" + `), or a named test forces them:

| situation | the simulation's fault | test |
|---|---|---|
| servers of one ensemble grant different timeouts | "server grants less than the others", "handshake's answer lost, then cut off" | sim ` + "`TestF28TheLeaseFollowsATimeoutThatShrinksAtAReconnect`" + ` |
| requests are held back, and come late by an old server | "requests arrive late by an old server", "request held" | sim ` + "`TestF07ACreateThatArrivesByAnOldServerMakesNoNode`, `TestAHandshakeMayBeCarriedOutLongAfterItsClientHasLeft`" + ` |
| an operator deletes a node in the middle of a downgrade, or of a turn at the permits | "operator deletes a node in the middle of a downgrade or a turn" | ` + "`TestPermitsAreTakenOnlyWithTheTurn`" + ` |
| an operator deletes a node between an event and the list | "operator deletes a node between an event and the list", "operator deletes a node before its owner sees it in a list" | sim ` + "`TestAWaiterWhoseNodeGoesAheadOfItsPredecessorsWatchTakesANewPlace`" + ` |
| two give back one lock without an owner at once | not drawn: each of them may find what a third has locked since | ` + "`TestWithoutOwnerOfTwoUnlocksAtOnceOnePanics`, `TestASecondUnlockWithoutOwnerGivesNobodyElsesHoldBack`" + ` |
| the leader is paused just before the first lock of a session | "leader paused" | sim ` + "`TestF22ALockAskedForWhileTheLeaderIsPausedIsNotGrantedByASessionThatEnds`" + ` |
| a wake-up comes when the watch on the own node has fired | "somebody writes on lock nodes" | ` + "`TestAWakeupProvesTheLockOnlyWithAllThatItTakes`" + ` |
| a lock could go on within a session, but for one condition | "operator deletes the nodes of a machine that is cut off", "session expires with several in line", "connection cut" | ` + "`TestOneContenderMayHandItsLockToAnotherOnlyIfNobodyCanBeBetweenThem`" + `, sim ` + "`TestASuccessorWhoseNodeIsGoneLosesTheLockBeforeTheNextIsGranted`" + ` |
| ZooKeeper does not tell of a change, since the access list kept that from the session meanwhile | "operator takes permissions away" | sim ` + "`TestOperatorsAndServersThatRefuseAreHeardOfAndEverybodyGoesOn`" + `, ` + "`TestAWaiterThatMayNoLongerReadTheQueueStopsNobodyBehindIt`" + ` |
| a server refuses single requests | "request refused", "requests refused for a while", "watches refused, then locks asked back" | sim ` + "`TestOperatorsAndServersThatRefuseAreHeardOfAndEverybodyGoesOn`" + `, ` + "`TestANodeWhoseDeleteWasRefusedIsDeletedAsSoonAsTheServerLetsIt`" + ` |
| a hold is lost while its session lives, and its node stays for ` + "`WithLossGrace`" + ` | "hold lost while its session lives" | ` + "`TestALostLockIsTheNextOnesWhenItsGraceIsOver`" + ` |
| all servers come back without their data | "servers lose their data" | ` + "`TestAServerThatHasLostItsDataIsUsedAgain`, `TestARealServerThatHasLostItsDataIsUsedAgain`" + ` |
| somebody asks with an access list that keeps him out, where there is no path yet | "somebody asks with an access list that keeps him out" | ` + "`TestAListThatKeepsItsOwnCallOutLeavesNothingThatRefusesOthers`" + ` |
| a session waits for longer than its lease lasts, next for nothing, and one of it gives up; or it keeps a lock (` + "`WithRetention`" + `) meanwhile and is cut off until that is lost | "session waits long and gives up a place" | ` + "`TestWhoGivesUpCostsNobodyElseOfItsSessionAPlace`, `TestANodeThatIsKeptWhenTheLeaseEndsGoesAndCostsNoOtherPlaceInLine`" + ` |
| an operator deletes a queue right behind a grant, others make it anew, and more of the holder's session come there | "operator deletes a queue behind a grant, and others make it anew" | ` + "`TestALockIsNotHandedOnFromAQueueThatWasDeletedToTheNext`" + ` |

| file | ways | taken | the rarest |
|---|---|---|---|
%s
## Never taken, and why

%s
## Never taken, and nobody has said why

%s`

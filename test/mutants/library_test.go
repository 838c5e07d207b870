package mutants

import (
	"errors"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// judged is a mutant that a named test finds.
type judged struct {
	mutant
	test string
}

// ofTheLibrary are mutants that a test of the library finds, in virtual time, since
// the simulation does not have what they take: stalled sockets, ports that refuse
// for ever, servers without containers, a log that is read; or has it too rarely.
var ofTheLibrary = []judged{
	{mutant{"a create's result is adopted whatever its session", []edit{
		{"internal/queue/create.go", "if carrier.ID != c.incarnation.id {", "if false {"},
	}}, "internal/queue.TestANodeThatWasMadeInAnotherSessionIsNoPlace"},
	{mutant{"Close waits for requests that nobody answers", []edit{
		{"internal/client/close.go", "case <-time.After(patience):", "case <-time.After(1000 * patience):"},
	}}, "test/sim.TestF37CloseDoesNotWaitForARequestThatNobodyAnswers"},
	{mutant{"recovery without the committed write", []edit{
		{"internal/queue/search.go", "list, err := s.client.JoinList(c.queue.dir).Wait(s.client.Context())", "listed := client.Children(c.queue.dir)\n\t_ = s.client.Ask(s.client.Context(), listed)\n\tlist, err := s.client.ListOf(c.queue.dir, listed)"},
	}}, "test/sim.TestF04ALostCreateIsFoundThoughTheNextServerLags"},
	{mutant{"a touch of ours counts from when its request was written", []edit{
		{"internal/wire/outbox.go", "\t\tfor _, r := range ours {\n\t\t\tr.wrote", "\t\tfor _, r := range ours {\n\t\t\tr.sent = l.dialer.Clock.Now()\n\t\t\tr.wrote"},
	}}, "internal/wire.TestAnAnswerToOursIsASignOfLifeAndAWriteThatWasAnsweredCatchesUp"},
	{mutant{"a request that an answer is not to ends with nothing", []edit{
		{"internal/wire/outbox.go", "\treturn o.sent.left()[0]\n", `	r := o.sent.left()[0]
	o.sent.drop()
	return r
`},
		{"internal/wire/outbox.go", "\to.sent.drop()\n\treturn true\n", "\treturn true\n"},
	}}, "internal/wire.TestAnAnswerThatIsNotToTheNextRequestOrCannotBeReadEndsTheConnection"},
	{mutant{"each request has a write of its own", []edit{
		{"internal/wire/outbox.go", "ours, o.ours, o.written = o.ours, o.written[:0], o.ours", "n := min(1, len(o.ours))\n\t\tours, o.ours = o.ours[:n:n], o.ours[n:]"},
	}}, "internal/wire.TestAllThatIsReadyGoesOutInOneWriteInTheOrderInWhichItCame"},
	{mutant{"a request that waits outlives its connection", []edit{
		{"internal/wire/outbox.go", "append(o.sent.left(), o.ours...)", "o.sent.left()"},
	}}, "internal/wire.TestARequestEndsWithItsConnectionWhateverHasBecomeOfIt"},
	{mutant{"a request that was written outlives its connection", []edit{
		{"internal/wire/outbox.go", "append(o.sent.left(), o.ours...)", "o.ours"},
	}}, "internal/wire.TestARequestEndsWithItsConnectionWhateverHasBecomeOfIt"},
	{mutant{"whoever sends a request that fails is called back at once", []edit{
		{"internal/wire/request.go", "go r.fail(err)", "r.fail(err)"},
	}}, "internal/wire.TestSendReturnsBeforeThenIsCalled"},
	{mutant{"a request that no server takes is sent", []edit{
		{"internal/wire/outbox.go", "> longestRequest {", "> 1<<30 {"},
	}}, "internal/wire.TestARequestThatNoServerTakesFailsAndThoseBesideItGoOut"},
	{mutant{"who waits for an answer goes on before it is taken", []edit{
		{"internal/wire/request.go", "\tif asker := r.asker; asker != nil {", "\tr.done.Close()\n\tif asker := r.asker; asker != nil {"},
	}}, "internal/wire.TestAnswersAndEventsAreSeenInTheServersOrderWhoeverTheyAreFor"},
	{mutant{"a negative count is an empty list", []edit{
		{"internal/wire/decode.go", "\tif n < 0 || n > len(r.left)/4 {", "\tif n = max(n, 0); n > len(r.left)/4 {"},
	}}, "internal/wire.TestACountOrALengthThatIsNotTrueIsRefusedAndMakesNoRoom"},
	{mutant{"a request for a container stands in a transaction", []edit{
		{"internal/client/parents.go", "wire.Op{Code: wire.OpCreate, Path: dir,", "wire.Op{Code: wire.OpCreateContainer, Path: dir,"},
	}}, "internal/client.TestWithPersistentParentsNoContainerIsAskedFor"},
	{mutant{"watches are set again from the last transaction", []edit{
		{"internal/wire/link.go", "naming(p, relativeAt, l.dialer.told.watched)", "naming(p, relativeAt, l.dialer.told.last)"},
	}}, "internal/wire.TestWatchesAreSetAgainFromWhereTheyHaveToldOfAllChanges"},
	{mutant{"a proof is quick if it takes no longer than the last", []edit{
		{"internal/lease/speed.go", "\tl.lastProof = answered.Most(begun)\n", "\tdefer func() { l.lastProof = answered.Most(begun) }()\n"},
		{"internal/lease/speed.go", "min(l.fastest, most)+most", "max(l.fastest, l.lastProof)+most"},
	}}, "internal/lease.TestWhatProofsHaveTakenMakesNoneQuick"},
	{mutant{"a proof may take two round trips and be quick", []edit{
		{"internal/lease/speed.go", "min(l.fastest, most)+most", "min(2*l.fastest, most)+most"},
	}}, "internal/lease.TestAWriteIsQuickWithinARoundTripAndA256thOfTheTimeout"},
	{mutant{"a proof is quick if it takes no longer than a network that was slow until now", []edit{
		{"internal/lease/speed.go", "min(l.fastest, most)+most", "l.fastest+most"},
	}}, "internal/lease.TestAWriteIsQuickWithinARoundTripAndA256thOfTheTimeout"},
	{mutant{"a hold begins that nothing can make longer in time", []edit{
		{"internal/lease/touches.go", "(l.isSlow() || l.carry(now))", "true"},
	}}, "internal/lease.TestWhereProofsTakeLongALeaseNeedsNotBeCarriedOn"},
	{mutant{"a proof that carries a lease on is to have all that is left of it", []edit{
		{"internal/lease/touches.go", "max(part(l.timeout, 2*sparePart), l.lastProof)", "proof"},
	}}, "TestALockIsHadAndKeptWhileAnswersTakeA12thOfTheTimeoutAtMost"},
	{mutant{"who reads on where a writer was asked is not asked", []edit{
		{"revoke.go", "return s.askDowngraded(ctx, path, found)", "return nil"},
	}}, "TestAWriterWhoIsAskedAsItGoesOnReadingIsAskedAsAReader"},
	{mutant{"a first proof counts a touch that a leader which is late has not heard of", []edit{
		{"internal/lease/lease.go", "l.restOn(p.Begun, p.Early, now)", "l.restOn(p.Begun, p.Touched, now)"},
	}}, "internal/lease.TestALeaseThatOneProofBeginsRestsOnATouchThatIsEarly"},
	{mutant{"what is ZooKeeper's own is taken for a lock's path", []edit{
		{"internal/recipe/path.go", "case path == reserved, strings.HasPrefix(path, reserved+\"/\"):", "case path == reserved && strings.HasPrefix(path, \"//\"):"},
	}}, "internal/recipe.TestAPathThatZooKeeperWouldRefuseIsRefusedAndTheReasonIsSaid"},
	{mutant{"the log writes a session in decimal", []edit{
		{"internal/client/errors.go", "fmt.Sprintf(\"%#x\", uint64(session))", "fmt.Sprint(session)"},
	}}, "internal/client.TestAnOutageIsToldWhenItHasLastedAndOnce"},
	{mutant{"servers are dialled whatever they look like", []edit{
		{"internal/client/servers.go", "if err := checkServer(server); err != nil {", "if err := checkServer(server); err != nil && false {"},
	}}, "internal/client.TestServersThatCannotBeDialledAreRefused"},
	{mutant{"a downgrade that finds no writer fails before the writer's loss is known", []edit{
		{"internal/queue/convert.go", "return err // after", "if client.Answers(err, zk.ErrNoNode) {\n\t\t\treturn client.Permanent(ErrLost)\n\t\t}\n\t\treturn err // after"},
	}}, "TestADowngradeThatFindsNoWriterIsTheWritersLossAndSaysWhy"},
	{mutant{"a loss does not say why", []edit{
		{"internal/queue/hold.go", "return h.contender.loss", "return ErrLost"},
	}}, "TestALossSaysWhyInEveryError"},
	{mutant{"a loss is another value each time", []edit{
		{"internal/queue/hold.go", "return h.contender.loss", "return &loss{h.contender.loss.cause}"},
	}}, "TestTheErrorOfALossIsTheSameEachTimeAndCostsNothing"},
	{mutant{"a connection ends an outage before it has logged in", []edit{
		{"internal/client/connection.go", "\tif !c.publish(l, l.ID) {", "\tc.outage.end(l)\n\tif !c.publish(l, l.ID) {"},
	}}, "internal/client.TestAnOutageLastsUntilAServerServes"},
	{mutant{"a call tells the cause of a connection that was lost before", []edit{
		{"internal/client/errors.go", "failure, stale := c.failure, c.stale", "failure, stale := error(errReplaced), c.stale"},
	}}, "internal/client.TestAnErrorWithoutAServerSaysWhatTheServersDo"},
	{mutant{"Ping is a read", []edit{
		{"session.go", "s.client.Transact(ctx, client.Check(\"/\"))", "s.client.Ask(ctx, client.Exists(\"/\"))"},
	}}, "TestPingFailsWhileTheServerIsCutOffFromItsLeader"},
	{mutant{"Ping needs a permission", []edit{
		{"session.go", "client.Answers(err, zk.ErrNoAuth) { // which a", "client.Answers(err, zk.ErrNoNode) { // which a"},
	}}, "TestPingNeedsNoPermission"},
	{mutant{"Close of a session waits for its trace before it asks the server", []edit{
		{"internal/client/close.go", "\t\tc.work.Wait()\n\t\tclose(answered)", "\t\tc.work.Wait()\n\t\tc.told.Wait()\n\t\tclose(answered)"},
	}}, "TestASessionTraceThatTakesItsTimeIsToldInOrder"},
	{mutant{"a session proves twice as often as it has to", []edit{
		{"internal/lease/lease.go", "return part(l.timeout, 2*doubtPart)", "return part(l.timeout, doubtPart)"},
	}}, "test/nemesis.TestASessionProvesEachEighthOfItsTimeoutHoweverMuchItHolds"},
	{mutant{"a member's path is refused as a lock's", []edit{
		{"membership/options.go", "return nil, errors.Unwrap(err)", "return nil, err"},
	}}, "membership.TestBadArgumentsAreRefused"},
	{mutant{"a member takes what it has seen for what a write without an answer has left", []edit{
		{"membership/keep.go", "case unsure || !u.sent", "case !u.sent"},
	}}, "membership.TestAnUpdateToWhatIsInPlaceIsConfirmedByTheServerToo"},
	{mutant{"messages that nobody reads pile up", []edit{
		{"internal/client/journal.go", "j.lines.Len() >= mostLines", "false"},
	}}, "internal/client.TestALogThatIsNotReadDropsWhatDoesNotFitAndSaysHowMuch"},
	{mutant{"it is not told that messages are missing", []edit{
		{"internal/client/journal.go", "log, dropped := j.logger, j.dropped; dropped > 0", "log, dropped := j.logger, j.dropped; false"},
	}}, "internal/client.TestALogThatIsNotReadDropsWhatDoesNotFitAndSaysHowMuch"},
	{mutant{"a look at a queue that was given up does not count", []edit{
		{"internal/client/request.go", "\t\tc.Leave(p)\n", ""},
	}}, "TestLookingAtAQueueAgainAndAgainPilesUpNothingWhileTheServerHangs/Inspect"},
	{mutant{"a wish for a lock that was given up does not count", []edit{
		{"revoke.go", "\t\ts.client.Leave(read)\n", ""},
	}}, "TestLookingAtAQueueAgainAndAgainPilesUpNothingWhileTheServerHangs/Revoke"},
	{mutant{"who has the lock is told by a list alone", []edit{
		{"inspect.go", "if found, err = s.read(ctx, found)", "markHolders(found)\n\t\tif found, err = s.read(ctx, found)"},
		{"inspect.go", "markHolders(found)\n\tif slices", "if slices"},
	}}, "TestInspectTellsWhoHasTheLockThatGoesOnMeanwhile"},
	{mutant{"a queue in which all have gone is taken to be empty", []edit{
		{"inspect.go", "leaving && (len(found) > 0 || listed == 0)", "leaving && listed >= 0"},
	}}, "test/sim.TestRevokeAsksWhoHasComeBetweenItsListAndWhatItReads"},
	{mutant{"a writer that has gone is taken to have left nobody", []edit{
		{"inspect.go", "c.Kind == Write }", "false }"},
	}}, "TestInspectTellsOfTheReaderThatAWriterHasBecomeMeanwhile"},
	{mutant{"who has left the line is taken to have no permits", []edit{
		{"inspect.go", "return !c.Held }", "return false }"},
	}}, "TestInspectTellsOfThePermitsThatSomebodyInLineHasTakenMeanwhile"},
	{mutant{"permits are listed ahead of the line", []edit{
		{"inspect.go", "inLine, err := s.children(ctx, locks)", "out, err := s.children(ctx, leases)"},
		{"inspect.go", "\t\tout, err := s.children(ctx, leases)\n\t\tif err != nil {\n\t\t\treturn nil, err\n\t\t}\n\t\tvar found", "\t\tinLine, err := s.children(ctx, locks)\n\t\tif err != nil {\n\t\t\treturn nil, err\n\t\t}\n\t\tvar found"},
	}}, "TestInspectTellsOfThePermitsThatSomebodyInLineHasTakenMeanwhile"},
	{mutant{"who has come to its turn at a semaphore forgets that it has waited for it", []edit{
		{"internal/queue/wait.go", "c.waited = true\n\t\t\th, err", "h, err"},
	}}, "internal/queue.TestAWaiterThatGivesUpSaysThatTheLockIsTakenAndListsNothing"},
	{mutant{"a try is refused for what its own session has left", []edit{
		{"internal/queue/queue.go", "case recipe.AnyBlocks(wanted, q.kind):", "case recipe.AnyBlocks(view.Names, q.kind):"},
	}}, "internal/queue.TestATryIsNotRefusedForTheNodeOfACallThatHasEnded"},
	{mutant{"a try waits for the end of a node that cannot be deleted", []edit{
		{"internal/queue/queue.go", "if again++; again > mostTries {", "if again++; false {"},
	}}, "TestATryDoesNotWaitForANodeThatItsSessionCannotDelete"},
	{mutant{"a try for permits is refused for those that its own session has left", []edit{
		{"internal/queue/semaphore.go", "len(session.wanted(out.Names))+n", "len(out.Names)+n"},
	}}, "internal/queue.TestATryForPermitsWaitsForNothingButTheEndOfWhatItsSessionHasLeft"},
	{mutant{"the place of a member that gives up is nobody's", []edit{
		{"internal/queue/handoff.go", "	t.place = c\n	return true", "	return false"},
	}}, "internal/queue.TestThePlaceOfAMemberThatGivesUpInTheQueueGoesToTheNextOne"},
	{mutant{"a call does not know that it would wait for the share of a hold that was released early", []edit{
		{"internal/queue/hold.go", "return !h.left && !s.closed", "return (h.IsHeld() || h.IsLost() && !h.left)"},
	}}, "TestACallInADoWhoseHoldWasReleasedIsRefusedAtOnceUntilTheDoReturns"},
	{mutant{"a try of several locks has the time of the first one's session", []edit{
		{"multi.go", "other.Before(deadline)", "false"},
	}}, "TestATryOfAMultiLockerEndsWithTheShortestOfItsLocksTries"},
	{mutant{"Inspect begins reads though its ctx has ended", []edit{
		{"inspect.go", "if ctx.Err() != nil {\n\t\t\treturn nil, client.Ended(ctx)\n\t\t}\n\t\treads", "reads"},
	}}, "TestInspectBeginsNoReadsWhenItsContextHasEnded"},
	{mutant{"each of a queue is compared with all ahead", []edit{
		{"internal/recipe/order.go", "if !slices.ContainsFunc(*f, func(ahead Node) bool { return ahead.Kind == n.Kind }) {", "{"},
	}}, "internal/recipe.TestEachOfALongQueueIsComparedWithOneOfEachKind"},
	{mutant{"a member says that the lock is taken though its handoff has lost its place", []edit{
		{"internal/queue/handoff.go", "t.standing.state < ended", "true"},
	}}, "internal/queue.TestAMemberIsNotToldThatTheLockIsTakenWhenItsHandoffHasLostItsPlace"},
	{mutant{"without an owner a reader gives the newest hold back, though one is lost", []edit{
		{"rwlocker.go", "return r.hold.Err() != nil", "return false"},
	}}, "TestWithoutOwnerAReaderThatHasLostTheLockGivesNobodyElsesHoldBack"},
	{mutant{"without an owner a reader is told of the newest hold's loss", []edit{
		{"rwlocker.go", "return held[max(i, 0)]", "return held[min(i, len(held)-1, -1)+len(held)]"},
	}}, "TestAnOwnerlessReaderThatHasLostTheLockIsNotToldThatItHasItAgain"},
	{mutant{"a MultiLocker's way out waits without its ctx", []edit{
		{"multi.go", "h.hold.SendReleaseUnused(ctx, l.leave)", "h.hold.SendReleaseUnused(context.Background(), l.leave)"},
	}}, "TestEveryCallReturnsWhenItsContextEnds/plain/MultiLocker.LockContext_last"},
	{mutant{"a MultiLocker leaves its callbacks at a long hold", []edit{
		{"multi.go", "for _, stop := range m.stop {\n\t\tstop()\n\t}", ""},
	}}, ".TestAskingAMultiLockerForItsLossLeavesNothingAtALongHold"},
	{mutant{"a MultiLocker that is unlocked leaves its callbacks at a long hold", []edit{
		{"multi.go", "return slices.Contains(holds, h) })", "return false })"},
	}}, ".TestAskingAMultiLockerForItsLossLeavesNothingAtALongHold"},
	{mutant{"a MultiLocker that is still held leaves no callback", []edit{
		{"multi.go", "if _, err := m.held(); err == nil {\n\t\treturn //", "if _, err := m.held(); err == nil && holds == nil {\n\t\treturn //"},
	}}, ".TestAskingAMultiLockerForItsLossLeavesNothingAtALongHold"},
	{mutant{"the channel of a MultiLocker's owner ends with another's unlock", []edit{
		{"multi.go", "return slices.Contains(holds, h) })", "return true })"},
	}}, ".TestAskingAMultiLockerForItsLossLeavesNothingAtALongHold"},
	{mutant{"the client is closed before it is answered", []edit{
		{"internal/client/close.go", "c.dialer.Stop()", "c.dialer.Cut()"},
	}}, "TestConnectReturnsWhenItsContextEndsAndLeavesNothing"},
	{mutant{"the client sleeps at a host provider's word", []edit{
		{"internal/wire/hosts.go", "server, _ = h.HostProvider.Next()\n\treturn server, false", "server, retryStart = h.HostProvider.Next()\n\treturn server, retryStart"},
	}}, "TestConnectReturnsWhenItsContextEndsAndLeavesNothing"},
	{mutant{"a writer that asks for reading does not wait for what it has left behind", []edit{
		{"internal/queue/convert.go", "if err := q.session.client.MakeRoom(ctx); err != nil {", "if err := error(nil); err != nil {"},
	}}, "internal/queue.TestADowngradeWaitsWhileTooMuchIsLeftByCallsBefore"},
	{mutant{"Connect waits for the answer to a login", []edit{
		{"internal/client/client.go", "c.Close(0) // no server", "c.Close(RequestPatience) // no server"},
	}}, "TestConnectReturnsWhenItsContextEndsAndLeavesNothing"},
	{mutant{"who is refused for a quota hears a number", []edit{
		{"internal/queue/errors.go", "return client.OverQuota(err, dir, \"another lock node\")", "return err"},
	}}, "internal/queue.TestARefusalOfALockNodeSaysWhatToChange"},
	{mutant{"who may not ask for a lock for a quota hears a number", []edit{
		{"revoke.go", "client.OverQuota(err, node, \"the mark\")", "err"},
	}}, "TestAQuotaThatLeavesNoRoomForWhatIsWrittenIsNamed"},
	{mutant{"who may not write a size for a quota hears a number", []edit{
		{"internal/queue/semaphore.go", "client.OverQuota(err, s.permits.dir, \"the semaphore's size\")", "err"},
	}}, "TestAQuotaThatLeavesNoRoomForWhatIsWrittenIsNamed"},
	{mutant{"a recheck sees other data only", []edit{
		{"internal/client/recheck.go", "return GenerationOf(w.Stat) == GenerationOf(before.Stat)", "return w.Stat.Mzxid == before.Stat.Mzxid"},
	}}, "internal/client.TestAWatchOfWhichTheServerDoesNotTellEndsWithinAMinute"},
	{mutant{"a watch that was refused once is never set", []edit{
		{"internal/client/watch.go", "c.pause(w.Link, backoff.Before(try))", "false"},
	}}, "internal/queue.TestAHoldIsAskedBackThoughItsWatchWasRefusedOnce"},
	{mutant{"a lock is retained unseen by who may not read its queue", []edit{
		{"internal/queue/contention.go", "\t\treturn others // for all", "\t\treturn unknown // for all"},
	}}, "internal/queue.TestACohortThatHasSeenOthersKnowsThemWhenOneMoreComes"},
	{mutant{"containers are asked for until they are had", []edit{
		{"internal/client/parents.go", "case failed >= 0 && failed < p.missing && err == zk.ErrBadArguments:", "case false:"},
	}}, "internal/client.TestWithoutContainersParentsArePersistentAndTheLogSaysSoOnce"},
	{mutant{"the parents are made ahead of their first node", []edit{
		{"internal/client/parents.go", "\tcase p.missing > 0:\n", `	case p.missing > 0:
		for _, parent := range p.creates(data) {
			_ = p.client.Ask(p.client.ctx, wire.NewRequest(parent))
		}
`},
	}}, "TestAListThatKeepsItsOwnCallOutLeavesNothingThatRefusesOthers"},
	{mutant{"who stands in the queue is told to get nowhere", []edit{
		{"internal/client/stall.go", "case v.queued, ", "case "},
	}}, "internal/client.TestACallInTheQueueIsNotTold"},
	{mutant{"a try goes to the servers while an owner in the process has lost the lock", []edit{
		{"gate.go", "return s.taken.Load() > allShares-n", "return false"},
	}}, "TestALatecomerKeepsTheLockFromOthersAsAnyOwnerDoesAndNoLonger"},
	{mutant{"every call tells that there is no connection", []edit{
		{"internal/client/stall.go", "!st.told[about].getsNowhere()", "(true || about == \"\")"},
	}}, "internal/client.TestTheLackOfAConnectionIsToldOnceForAllUntilThereIsOne"},
	{mutant{"a call that was told, and stands in the queue by now, speaks for the others", []edit{
		{"internal/client/stall.go", "!st.told[about].getsNowhere()", "st.told[about] == nil"},
	}}, "internal/client.TestOneCallTellsForAllThatWantTheSameLock"},
	{mutant{"a call that gets nowhere is told again and again", []edit{
		{"internal/client/stall.go", "!st.told[about].getsNowhere() {\n\t\t\tst.told[about] = v\n\t\t\tdelete(st.calls, v)", "about != \"\" {"},
	}}, "internal/client.TestACallThatGetsNowhereIsToldOnceWithWhatItWaitsFor"},
	{mutant{"a pause between tries outlives the session", []edit{
		{"internal/client/retry.go", "case <-c.ctx.Done():\n\t\treturn ErrClosed\n", ""},
	}}, "internal/client.TestAPauseEndsWithItsCallAndWithTheSession"},
	{mutant{"nobody looks whether a successor's node is there", []edit{
		{"internal/queue/deletion.go", "checks(a.holders)...", "checks(nil)..."},
	}}, "test/sim.TestASuccessorWhoseNodeIsGoneLosesTheLockBeforeTheNextIsGranted"},
	{mutant{"several locks are had without a look at the clock", []edit{
		{"multi.go", "!h.Valid()", "h.Err() != nil"},
	}}, ".TestAMultiLockerStartsOverIfItHasALockNoMoreWhenItHasTakenAll"},
	{mutant{"deletes overtake each other", []edit{
		{"internal/queue/deletion.go", "\t\t\ts.link.Send(b.first.request)\n", "\t\t\tgo s.link.Send(b.first.request)\n"},
		{"internal/queue/deletion.go", "\ts.link.Send(r.sent)\n", "\tgo s.link.Send(r.sent)\n"},
	}}, "TestALockThatAllHaveUnlockedIsFreeToItsSessionAtOnce"},
	{mutant{"a proof that follows one in doubt comes as late as after a failure", []edit{
		{"internal/queue/keeper.go", "doubted := s.lease.Doubted(now); doubted > 0 { //", "doubted := max(pause, s.lease.Doubted(now)); doubted > 0 { //"},
		{"internal/queue/keeper.go", "pause = min(backoff.Before(try), s.lease.Interval(now))", "pause = backoff.Before(try)"},
	}}, "test/sim.TestAProofAfterManyThatFailedIsInTime"},
	{mutant{"a counter that cannot start afresh is waited for", []edit{
		{"internal/queue/counter.go", "client.Answers(err, zk.ErrNoAuth) && time.Since(begun) < reaped", "err != nil && !begun.IsZero()"},
	}}, "TestTheEndOfACounterThatCannotStartAfreshIsAnErrorAtOnce"},
	{mutant{"a number that is there twice is the end of the counter", []edit{
		{"internal/recipe/order.go", "return at, ErrTwice", "return at, ErrUnordered"},
	}}, "internal/recipe.TestAListThatCannotPlaceAContenderSaysWhy"},
	{mutant{"Close gives a server up for functions of the traces that take their time", []edit{
		{"internal/queue/incarnation.go", "s.client.Tell(c.hold.history.Tell)", "s.client.Spawn(c.hold.history.Tell)"},
	}}, "TestCloseIsHeardThoughFunctionsOfTracesTakeTheirTime"},
	{mutant{"a second Close does not wait for the first", []edit{
		{"session.go", "<-s.closed.Done() //", "_ = s.closed.Done() //"},
	}}, "TestASecondCloseWaitsForTheFirst"},
	{mutant{"a member is not told of a quota", []edit{
		{"membership/keep.go", "return client.OverQuota(client.ExplainACL(err, acl), m.path, \"the member's node\")", "return err"},
	}}, "membership.TestAMemberIsToldOfTheQuotaThatLeavesItNoRoom"},
	{mutant{"who joins does not wait for the members that earlier calls have left behind", []edit{
		{"membership/member.go", "client.Of(s).CleanUp(m.awaitEnd)", "_ = m.awaitEnd"},
	}}, "membership.TestJoiningAgainAndAgainWithoutAServerDoesNotPileUpWork"},
	{mutant{"with a node that is gone all others of its request are left", []edit{
		{"internal/queue/deletion.go", "asked[i]); !errors.Is(err, zk.ErrNoNode) {", "asked[i]); err != nil && !errors.Is(err, zk.ErrNoNode) {"},
	}}, "internal/queue.TestNodesThatAreGoneKeepNoOtherOfTheirRequestFromBeingDeleted"},
	{mutant{"who has a lock from a node that is gone is not checked", []edit{
		{"internal/queue/deletion.go", "case len(a.nodes)+len(a.holders) == 0:", "case len(a.nodes) == 0:"},
	}}, "TestASuccessorWhoseQueueIsDeletedLosesTheLockAtOnce"},
	{mutant{"whom a lock went on to is not checked", []edit{
		{"internal/queue/deletion.go", "results[first:first+1]) {\n\t\t\t\treturn err\n\t\t\t}", `results[first:first+1]) {
				return err
			}
			batch = nil`},
	}}, "internal/queue.TestWhomALockWentOnToIsCheckedBeforeTheNodeGoesThatKeepsOthersFromIt"},
	{mutant{"calls that end wait for the deletes of others", []edit{
		{"internal/queue/deletion.go", "case c.holder() != nil: //", "case c.holder() != nil || c.hold == nil: //"},
	}}, "internal/queue.TestTheNodesOfCallsThatEndTogetherAreDeletedByOneRequest"},
	{mutant{"deletes that are refused keep the others waiting", []edit{
		{"internal/queue/deletion.go", "alone.SetLimit(client.MostAsking)", "alone.SetLimit(1)"},
	}}, "internal/queue.TestNodesThatCannotBeDeletedDelayNoneOfAnotherLock"},
	{mutant{"a node that is only kept costs the others of its session their places", []edit{
		{"internal/queue/keeper.go", "c.handoff == nil || !c.handoff.keeps(c) {", "c != nil {"},
	}}, "internal/queue.TestANodeThatIsKeptWhenTheLeaseEndsGoesAndCostsNoOtherPlaceInLine"},
	{mutant{"a hold that was released waits for a later owner's delete", []edit{
		{"internal/queue/hold.go", "return h.deletion, first", "return c.leaving, first"},
	}}, "TestReleasingAgainIsDoneWhateverBecomesOfTheNodeThatOthersHaveHadSince"},
	{mutant{"a Watch waits for a logger that does not return", []edit{
		{"membership/watch.go", "select {\n\tcase <-logged:", "<-logged\n\tselect {\n\tcase <-logged:"},
	}}, "membership.TestAWatchEndsThoughItsLoggerDoesNotReturn"},
	{mutant{"a member of a closed session has not left", []edit{
		{"membership/member.go", "if isClosed(m.session) || m.State().Err == ErrLeft { // the node goes with it", "if false { // the node goes with it"},
	}}, "membership.TestLeavingAgainTellsOfTheRefusalUntilTheSessionIsClosed"},
	{mutant{"a closed server listens", []edit{
		{"zktest/listen.go", "s.openOrClose()\n\t}\n\treturn s.addr", "}\n\treturn s.addr"},
	}}, "zktest.TestNobodyListensAtTheAddressOfAClosedServer"},
	{mutant{"each hold knows the next", []edit{
		{"internal/queue/succession.go", "next.succession, c.succession.holder = c.succession, next", "c.succession.holder = next"},
	}}, "internal/queue.TestAnOldHoldKeepsNoLaterOnesInMemory"},
	{mutant{"an Unlock takes whatever hold there is", []edit{
		{"reentrant.go", "!o.hold.CompareAndSwap(h, nil)", "h = o.hold.Swap(nil); h == nil"},
	}}, ".TestASecondUnlockWithoutOwnerGivesNobodyElsesHoldBack"},
	{mutant{"nobody is told that a member's session is closed", []edit{
		{"membership/keep.go", "m.sessionClosed()\n\t\t\treturn\n\t\tcase client.Refused(err):", "return\n\t\tcase client.Refused(err):"},
	}}, "membership.TestAMemberOfAClosedSessionIsNotRegistered"},
	{mutant{"a lock of a least length is handed over within its session", []edit{
		{"internal/queue/contender.go", "\tif c.linger() {\n\t\treturn nil\n\t}\n\tif held {\n\t\tc.handOver()\n\t}", "\tif held {\n\t\tc.handOver()\n\t}\n\tif c.linger() {\n\t\treturn nil\n\t}"},
	}}, "TestALockIsNotHandedOnInsideASessionBeforeItsMinimum"},
	{mutant{"a node that is to stay is taken for one that is being deleted", []edit{
		{"internal/queue/strays.go", "c.state == leaving || c.state == abandoned", "c.state == leaving || c.state == lingering || c.state == abandoned"},
	}}, "TestAMinHoldKeepsTheLockFromEverybodyThoughUnlockReturnsAtOnce"},
	{mutant{"a lost hold's node does not stay for its least length", []edit{
		{"internal/queue/state.go", "ended:     {lingering, leaving}", "ended:     {leaving}"},
	}}, "TestALeaseThatIsOverDoesNotEndTheMinimum"},
	{mutant{"the locks of a MultiLocker that cannot have all stay for their least length", []edit{
		{"multi.go", "\t\t\t\th.hold.SendReleaseUnused(ctx, l.leave)", "\t\t\t\th.hold.SendRelease(ctx, l.leave)"},
	}}, "TestACallThatFailsLeavesNothingForTheMinimum"},
	{mutant{"a turn at a semaphore stays for its least length", []edit{
		{"internal/queue/semaphore.go", "o.NewHistory, o.MinHold, o.MaxHold, o.LossGrace = nil, 0, 0, 0", "o.NewHistory, o.MaxHold, o.LossGrace = nil, 0, 0"},
	}}, "TestEveryKindOfLockHasAMinimum"},
	{mutant{"who goes on waits until nobody writes on its node", []edit{
		{"internal/queue/convert.go", "if client.Answers(err, zk.ErrBadVersion) {", "for client.Answers(err, zk.ErrBadVersion) {"},
		{"internal/queue/convert.go", "e.check = client.Check(c.node)", "e.check = c.checkUnasked()"},
	}}, "TestWhoGoesOnDoesNotWaitUntilNobodyWritesOnItsNode"},
	{mutant{"who has a lock is looked for once when it is asked for", []edit{
		{"revoke.go", "case looks == mostLooks:", "default:"},
	}}, "TestAWishForALockThatGoesOnMeanwhileIsForItsNextHolder"},
	{mutant{"the timer of a node that stays outlives its session", []edit{
		{"internal/queue/contender.go", "if c.unused || s.isOver(c) {", "if c.unused {"},
	}}, "internal/queue.TestWhatStaysIsForgottenWithItsSession"},
	{mutant{"somebody else's node gets more than Curator's mark", []edit{
		{"revoke.go", "case !recipe.Ours(recipe.Base(node)), ", "case recipe.Ours(\"\"), "},
	}}, "TestSomebodyElsesNodeGetsCuratorsMarkAndNothingElse"},
	{mutant{"a second request to give back is put ahead of the first", []edit{
		{"revoke.go", "rest, _ := recipe.Revocation(said.Data)", "rest := said.Data"},
	}}, "TestARequestLeavesWhatANodeSaysOfItsOwner"},
	{mutant{"who waits for a lock is asked for it", []edit{
		{"revoke.go", "if !c.Held {", "if false {"},
	}}, "TestAllWhoHoldALockAreAskedForIt"},
	{mutant{"permits are given up for lost when the first of them is gone", []edit{
		{"internal/queue/search.go", "err = client.ErrStale // of several", "err = errNotThere // of several"},
	}}, "TestPermitsThatArePartlyDeletedWhileTheyAreLookedForDoNotStay"},
	{mutant{"a turn is given up when the permits cannot be taken at once", []edit{
		{"internal/queue/semaphore.go", "turn.Err() != nil {\n\t\t\treturn client.Permanent(err)", "true {\n\t\t\treturn client.Permanent(err)"},
	}}, "TestPermitsThatCannotBeTakenAtOnceKeepTheirTurn"},
	{mutant{"a negative number has ten digits", []edit{
		{"internal/recipe/name.go", "strings.TrimPrefix(number, \"-\")", "digits"},
	}}, "internal/recipe.TestTheNamesOfEveryClientAreRead"},
	{mutant{"a wall clock that is set back makes up for a sleep", []edit{
		{"internal/clock/clock.go", "k.slept += max(lead-k.lead, 0)", "k.slept = lead"},
	}}, "internal/lease.TestAWallClockThatIsSetBackDoesNotMakeUpForALaterSleep"},
	{mutant{"a MultiLocker that nobody has made may be unlocked", []edit{
		{"errors.go", "m != nil && len(m.lockers) > 0", "m != nil"},
	}}, "TestEveryMethodOfAValueThatNoConstructorMadeSaysSo"},
	{mutant{"a member does not tell why its ctx has ended", []edit{
		{"membership/member.go", "return client.Ended(ctx)", "return ctx.Err()"},
	}}, "TestTheCauseOfACtxIsToldAndNotTakenForAnAnswerOfTheServer"},
	{mutant{"a member's call does not tell why no server serves the session", []edit{
		{"membership/errors.go", "return wrap(op, path, client.Of(s).Explain(err))", "return wrap(op, path, err)"},
		{"membership/errors.go", "\t\"github.com/zklock/zklock/internal/client\"\n", ""},
	}}, "membership.TestACallThatEndsWhileThereIsNoConnectionSaysWhyThereIsNone"},
	{mutant{"the error of a connection is passed on", []edit{
		{"internal/wire/link.go", "\tif l.pass(p) == nil {", "\terr := l.pass(p)\n\tif err == nil {"},
		{"internal/wire/link.go", "return 0, zk.ErrConnectionClosed", "return 0, err"},
	}}, "internal/wire.TestAWriteThatFailsEndsTheConnectionWhoeverHearsOfIt"},
	{mutant{"a member whose time is up as its turn comes is told nothing of the lock", []edit{
		{"internal/queue/handoff.go", "return nil, TimedOut(ctx, client.Ended(ctx))", "return nil, client.Ended(ctx)"},
	}}, "internal/queue.TestAMemberWhoseTimeIsUpAsItsTurnComesIsToldSoAndTheNextHasTheTurn"},
	{mutant{"a channel of a MultiLocker stands for the last of its holds alone", []edit{
		{"multi.go", "if wasLost || !slices", "if lasts != nil || !slices"},
	}}, "TestAMultiLockersChannelTellsOfALossAsLongAsAnyOfItsHoldsLasts"},
	{mutant{"all tries end by the same error", []edit{
		{"trylock.go", "up := errors.New(\"the time is up\")", "up := errLostMeanwhile"},
	}}, "TestTheTimeOfAnotherTryIsNotTakenForTheCallsOwn"},
	{mutant{"all watches are asked for at once", []edit{
		{"internal/client/watch.go", "if ws.asking == MostAsking {", "if ws.asking < 0 {"},
	}}, "internal/client.TestOfManyWatchesSomeAreAskedForAtATimeAndNoneOverAnotherConnection"},
	{mutant{"a MultiLocker asks what a ctx carries before it asks whether that has ended", []edit{
		{"multi.go", "\tif client.HasEnded(ctx) {\n\t\treturn m.fail(op, client.Ended(ctx))\n\t}\n\tfor", "\tfor"},
	}}, "TestTheEndOfAContextOutweighsTheHoldsThatItCarriesForAMultiLockerToo"},
	{mutant{"a MultiLocker finds that its caller's lock is lost when it comes to it", []edit{
		{"multi.go", "for i, h := range by.held() {\n\t\t\tif h.Err() != nil {", "for i, h := range by.held() {\n\t\t\tif h.Err() != nil && false {"},
		{"multi.go", "needed := by.held()", "var needed []*Hold"},
	}}, "TestAMultiLockerWaitsForNothingWhenTheCallersOwnLockIsLost"},
	{mutant{"a member that could not leave is registered though its session is gone", []edit{
		{"membership/keep.go", "if m.leaveErr != nil {", "if false {"},
	}}, "membership.TestAMemberThatTheServerKeptOnTheListIsRegisteredAsLongAsItsSession"},
	{mutant{"a member that could not leave is gone with its connection", []edit{
		{"membership/keep.go", "case m.session.ID() != session:\n\t\t\tm.left()", "case client.Of(m.session).Current() == nil:\n\t\t\tm.left()"},
	}}, "membership.TestAMemberThatTheServerKeptOnTheListIsRegisteredAsLongAsItsSession"},
	{mutant{"a member that could not leave is not told that its session is closed", []edit{
		{"membership/keep.go", "m.sessionClosed()\n\t\t\treturn\n\t\tcase m.session.ID()", "return\n\t\tcase m.session.ID()"},
	}}, "membership.TestLeavingAgainTellsOfTheRefusalUntilTheSessionIsClosed"},
	{mutant{"a member whose node has not been seen is not kept by the server", []edit{
		{"membership/keep.go", "cmp.Or(m.state.Session, m.session.ID())", "cmp.Or(m.state.Session, 0*m.session.ID())"},
	}}, "membership.TestAMemberThatTheServerKeepsOnTheListUnseenHasNotLeft"},
	{mutant{"a member that has left is told of its session's Close", []edit{
		{"membership/member.go", "case isClosed(m.session) && m.State().Err != ErrLeft:", "case isClosed(m.session):"},
	}}, "membership.TestAnUpdateOfAMemberThatHasLeftSaysSoAlsoAfterTheEndOfItsSession"},
	{mutant{"a container is taken for a node that goes with its session", []edit{
		{"internal/client/stat.go", " && owner != math.MinInt64", " && owner != math.MaxInt64"},
	}}, "internal/client.TestContainersAndNodesWithATimeToLiveGoWithNoSession"},
	{mutant{"a node with a time to live is taken for one that goes with its session", []edit{
		{"internal/client/stat.go", ">>56 != 0xff", ">>56 != 0x100"},
	}}, "internal/client.TestContainersAndNodesWithATimeToLiveGoWithNoSession"},
	{mutant{"a lock that is called as nodes are is asked for as one of them", []edit{
		{"revoke.go", "\tcase said.Stat != nil && !client.IsEphemeral(said.Stat):\n\t\treturn nil, 0, errPersistent\n", ""},
	}}, "TestALockWhoseNameIsThatOfANodeIsALock"},
	{mutant{"containers that are never to be looked for are looked for all the time", []edit{
		{"zktest/leader.go", "interval > 0 && l.reaper", "l.reaper"},
	}}, "zktest.TestAServerThatIsToldToLookForContainersNeverKeepsThem"},
	{mutant{"a turn is handed over while its write of the size is under way", []edit{
		{"internal/queue/semaphore.go", "turn.check(), wire.Op{Code: wire.OpSetData", "client.Check(turn.contender.node), wire.Op{Code: wire.OpSetData"},
	}}, "internal/queue.TestATurnInWhichTheSizeIsWrittenIsOverWhenItsNodeIsGone"},
	{mutant{"a list that is refused passes for a create that is", []edit{
		{"internal/queue/queue.go", "	return c, view, err\n}\n\n// enterOnce", "	return c, view, q.describe(err)\n}\n\n// enterOnce"},
	}}, "TestANodeThatMayBeLeftSinceTheQueueMayNotBeListedIsToldOf"},
	{mutant{"a MultiLocker takes a lock without an owner for reentrant", []edit{
		{"multi.go", "if l.ownedBy(goid.Get()) {\n\t\treturn nil", "if l.Held() != nil {\n\t\treturn nil"},
	}}, "TestAMultiLockerUnderAHoldOfALockWithoutAnOwnerIsADeadlockAtOnce"},
	{mutant{"the list of a watch that has ended is believed", []edit{
		{"internal/queue/semaphore.go", "if client.GenerationOf(w.Stat).Before(client.GenerationOf(said.Stat)) {", "if client.GenerationOf(w.Stat).Before(client.GenerationOf(said.Stat)) && !w.HasFired() {"},
	}}, "test/sim.TestPermitsAreNotOversoldByWhoLooksAsTheWatchesAreRechecked"},
	{mutant{"a refusal by a bare number is left without its meaning", []edit{
		{"internal/client/errors.go", "return withMeaning(err)", "return err"},
	}}, "internal/client.TestARefusalByABareNumberSaysWhatItMeans"},
	{mutant{"a call returns with a hold that was lost while its trace was told", []edit{
		{"trace.go", "if a == nil || err != nil || h.Valid() {", "if true {"},
	}}, "TestACallWhoseLockIsLostWhileItsTraceIsToldGetsItAgain"},
	{mutant{"a downgrade returns with a hold that was lost while its trace was told", []edit{
		{"rwlocker.go", "err == nil && !h.Valid() {", "false {"},
	}}, "TestACallWhoseLockIsLostWhileItsTraceIsToldGetsItAgain"},
	{mutant{"permits that were lost while the trace was told are returned", []edit{
		{"semaphore.go", "a.keep(ctx, func(ctx context.Context, a queue.Call) (*queue.Hold, error) { return by(s, ctx, n, a) })", "by(s, ctx, n, a)"},
	}}, "TestACallWhoseLockIsLostWhileItsTraceIsToldGetsItAgain"},
	{mutant{"a member that might not leave stays", []edit{
		{"membership/keep.go", "\t\tcase <-again.C:", "\t\tcase <-(chan time.Time)(nil):"},
	}}, "membership.TestAMemberThatMayNotLeaveLeavesAsSoonAsItMay"},
	{mutant{"a lock that was lost while its trace was told is had again when the time is up", []edit{
		{"trace.go", "if ctx.Err() != nil {\n\t\t\treturn nil, client.Ended(ctx)", "if false {\n\t\t\treturn nil, client.Ended(ctx)"},
	}}, "TestACallWhoseLockAndTimeEndWhileItsTraceIsToldGetsNoOther"},
	{mutant{"a MultiLocker's Do waits for the owner that runs it", []edit{
		{"do.go", "(*Locker).barred)", "(*Locker).deadlock)"},
	}}, "TestACallInADoWhoseHoldWasReleasedIsRefusedAtOnceUntilTheDoReturns"},
	{mutant{"a MultiLocker waits for the owner that it runs under", []edit{
		{"multi.go", "return l.barred(ctx)", "return l.deadlock(ctx)"},
	}}, "TestACallInADoWhoseHoldWasReleasedIsRefusedAtOnceUntilTheDoReturns"},
	{mutant{"what a MultiLocker starts over for is not told to the trace", []edit{
		{"while.go", "end(fmt.Errorf(\"another of the locks is held no more: %w\", cause))", "end(fmt.Errorf(\"%v\", cause))"},
	}}, "TestAMultiLockerThatStartsOverTellsTheTraceOfTheLockThatItLost"},
	{mutant{"a look that comes late leaves the timer that was set", []edit{
		{"internal/queue/keeper.go", "s.stopLooking() // the timer", "s.expiry = nil // the timer"},
	}}, "internal/queue.TestTheLeaseIsLookedAtByOneTimer"},
	{mutant{"a proof that is taken late takes back what a newer one has proved", []edit{
		{"internal/lease/lease.go", "if l.isUnheard(now) {\n\t\tend = clock", "if false {\n\t\tend = clock"},
		{"internal/lease/lease.go", "\tl.proved = now\n", "\tif l.isUnheard(now) {\n\t\tl.shorten(unheardEnd(p.Begun, l.timeout))\n\t}\n\tl.proved = now\n"},
	}}, "internal/queue.TestAProofThatIsTakenLateLeavesTheLeaseToANewerOne"},
	{mutant{"a proof counts from its answer", []edit{
		{"internal/queue/keeper.go", "s.lease.Prove(", "p.Begun = now\n\ts.lease.Prove("},
	}}, "internal/queue.TestAProofThatIsTakenLateLeavesTheLeaseToANewerOne"},
	{mutant{"a connect request leaves the next look where it is", []edit{
		{"internal/queue/observer.go", "s.look(s.client.Clock.Now()) // the next", "s.expire(s.incarnation, s.client.Clock.Now()) // the next"},
	}}, "internal/queue.TestALeaseThatAConnectRequestShortensIsLookedAtMoreOftenFromThenOn"},
	{mutant{"a connection is counted when everybody has it", []edit{
		{"internal/wire/handshake.go", "l.dialer.told.connected() //", "//"},
		{"internal/wire/handshake.go", "l.dialer.session.Connected(l, timeout)\n", "l.dialer.session.Connected(l, timeout)\n\tl.dialer.told.connected()\n"},
	}}, "internal/wire.TestAConnectionIsCountedBeforeAnybodyHasIt"},
	{mutant{"a request to set watches again is the last if it is a little short of full", []edit{
		{"internal/wire/told.go", "FullRequest = 120 << 10", "FullRequest = 127 << 10"},
	}}, "internal/queue.TestAllRequestsThatSetWatchesAgainButTheLastAreFull"},
	{mutant{"a server that has lost its data is never used again", []edit{
		{"internal/wire/lostdata.go", "d.asks = servers\n", "d.asks = 0\n"},
	}}, "internal/wire.TestServersThatHangUpForTwoTimeoutsAreEachAskedOnceWithNoTransactionNamed"},
	{mutant{"who asks whether a session is over does not show that it is its own", []edit{
		{"internal/wire/handshake.go", "p = naming(p, seenAt, named)\n", "p = naming(p, seenAt, named)\n\tif l.trust == asked {\n\t\tclear(p[len(p)-16:])\n\t}\n"},
	}}, "internal/wire.TestASessionThatLivesAtAServerThatIsBehindIsNotUsedThereAndNotLost"},
	{mutant{"a session goes on at a server that may be behind", []edit{
		{"internal/wire/handshake.go", "l.trust = lagging\n\t\tl.dialer.lostData.lives(timeout)\n\t\treturn\n", "l.dialer.lostData.lives(timeout)\n"},
	}}, "internal/wire.TestASessionThatLivesAtAServerThatIsBehindIsNotUsedThereAndNotLost"},
	{mutant{"a server that was restored is asked for the session before it may have expired there", []edit{
		{"internal/wire/lostdata.go", "lostDataTimeouts = 2", "lostDataTimeouts = 1"},
	}}, "internal/wire.TestServersThatHangUpForTwoTimeoutsAreEachAskedOnceWithNoTransactionNamed"},
	{mutant{"one node of a downgrade is in nobody's way", []edit{
		{"internal/recipe/order.go", "max(n+1, at.Ahead)", "n + 1"},
	}}, "internal/recipe.TestBothNodesOfADowngradeAreInTheWayOfAWriter"},
	{mutant{"what a MultiLocker's loss stands for is looked at ahead of its mutex", []edit{
		{"multi.go", "m.mu.Lock()\n\tdefer m.mu.Unlock() // whoever", "// whoever"},
		{"multi.go", "\tif !slices.Equal(m.of, holds) {", "\tm.mu.Lock()\n\tdefer m.mu.Unlock()\n\tif !slices.Equal(m.of, holds) {"},
	}}, ".TestWhatAMultiLockerIsAskedLastCountsForItsLoss"},
	{mutant{"a lost lock goes to the next though its grace is not over", []edit{
		{"internal/queue/contender.go", "return c.queue.options.LossGrace -", "return 0*c.queue.options.LossGrace -"},
	}}, "test/lock.TestALostLockIsTheNextOnesWhenItsGraceIsOver"},
	{mutant{"a member of servers that have lost their data is taken for the one before", []edit{
		{"membership/peer.go", "p.Session == q.Session && ", ""},
	}}, "membership.TestAMemberOfServersThatHaveLostTheirDataIsAnother"},
	{mutant{"a refusal says that a member's node is there", []edit{
		{"membership/keep.go", " || errors.Is(err, zk.ErrNoAuth) && m.outlived()", ""},
	}}, "membership.TestAMemberWhoseNodeWentWithItsSessionHasLeftThoughItMayNotDelete"},
	{mutant{"a node that may not be deleted is taken for an earlier session's", []edit{
		{"membership/keep.go", "err == nil && stat.EphemeralOwner != m.session.ID()", "err == nil && stat != nil"},
	}}, "membership.TestAMemberThatTheServerKeptOnTheListIsRegisteredAsLongAsItsSession"},
	{mutant{"a provider that counts no servers has none asked", []edit{
		{"internal/wire/dial.go", "max(d.Hosts.Len(), 1)", "d.Hosts.Len()"},
	}}, "internal/wire.TestAServerIsAskedThoughItsProviderCountsNone"},
	{mutant{"a hold that was given back and is not used ends the next one's grace", []edit{
		{"internal/queue/hold.go", "if unused && c.hold == h {", "if unused {"},
	}}, "test/lock.TestAMultiLockerThatGivesBackWhatWasReleasedEndsNobodyElsesGrace"},
	{mutant{"the grace of a hold that the context carries is waited for", []edit{
		{"internal/queue/hold.go", "(h.IsHeld() || h.hasGrace())", "h.IsHeld()"},
	}}, "test/lock.TestACallDoesNotWaitForTheGraceOfWhatItsOwnContextCarries"},
	{mutant{"a grace outlasts the session's Close", []edit{
		{"internal/queue/contender.go", "IsZero() || s.isOver(c)", "IsZero() || c.incarnation.id != s.id"},
	}}, "test/lock.TestWhereThereIsNoNodeThereIsNoGrace"},
	{mutant{"a node that somebody has deleted has a grace", []edit{
		{"internal/queue/contender.go", "isLost && !c.isGoneBy(cause)", "isLost"},
	}}, "test/lock.TestWhereThereIsNoNodeThereIsNoGrace"},
	{mutant{"a hold by a node that nobody had a use for has no grace", []edit{
		{"internal/queue/contender.go", "c.hold, c.unused = new(Hold), false", "c.hold = new(Hold)"},
	}}, "test/lock.TestAHoldByANodeThatWasKeptHasItsGrace"},
	{mutant{"a grace outlasts its session", []edit{
		{"internal/queue/contender.go", "IsZero() || s.isOver(c)", "IsZero() || s.closed"},
	}}, "test/lock.TestAGraceEndsWithItsSession"},
	{mutant{"a member's data are measured without the chroot", []edit{
		{"membership/member.go", "client.CheckCreate(client.Of(s).Below(path)", "client.CheckCreate(path"},
	}}, "membership.TestDataThatDoesNotFitARequestBelowTheChrootIsRefused"},
	{mutant{"what a server grants that is behind does not count", []edit{
		{"internal/wire/lostdata.go", "max(timeout, d.granted)", "timeout"},
	}}, "internal/wire.TestServersAreAskedAgainWhenWhatOneHasGrantedIsOver"},
	{mutant{"a session that replaces ours is taken for ours at a server that is behind", []edit{
		{"internal/wire/handshake.go", "l.ID == l.dialer.session.ID()", "l.ID != 0"},
	}}, "internal/wire.TestAnotherSessionIsUsedAtAServerThatIsBehind"},
	{mutant{"only the first server is asked whether the session is over", []edit{
		{"internal/wire/lostdata.go", "d.asks = servers\n", "d.asks = 1\n"},
	}}, "internal/wire.TestServersThatHangUpForTwoTimeoutsAreEachAskedOnceWithNoTransactionNamed"},
	{mutant{"a new session is taken for one that lives", []edit{
		{"internal/wire/handshake.go", "named != 0 &&", "true &&"},
	}}, "internal/wire.TestANewSessionIsUsedHoweverLongServersHaveHungUp"},
	{mutant{"who serves nobody is waited for until it says so", []edit{
		{"internal/wire/handshake.go", "case <-late.C:\n\t\tl.hangUp = hangUp\n", ""},
	}}, "internal/wire.TestAServerThatHangsUpBehindTheRequestIsHeard"},
	{mutant{"a handshake has no limit but the connection's own", []edit{
		{"internal/wire/handshake.go", "l.bearSilence(l.limit)\n", "l.Conn.SetDeadline(time.Now().Add(l.limit))\n"},
	}}, "internal/wire.TestAServerThatReadsNothingIsGivenUp"},
	{mutant{"silence has no limit but the connection's own", []edit{
		{"internal/wire/link.go", "l.bearSilence(time.Until(t))", "return l.Conn.SetReadDeadline(t)"},
	}}, "internal/wire.TestAServerThatSaysNothingUntilTheClientsDeadlineLosesTheConnection"},
	{mutant{"after a reconnect the watches go ahead of the proof", []edit{
		{"internal/queue/incarnation.go", "s.watchAgainLater()", "go s.watchAgainByTimer()"},
	}}, "internal/queue.TestANewConnectionIsProvedAtOnceWheneverItComes"},
	{mutant{"who may not list the permits is told no more than that", []edit{
		{"internal/client/watch.go", "= childrenOf(key.Path, r)", "= r.Children()"},
	}}, "TestWhoMayNotListThePermitsLearnsWhichListThatIs"},
	{mutant{"while a connect request is unheard a lease lasts though its touch soon is old", []edit{
		{"internal/lease/touches.go", "l.inTime(min(l.Left(now)-l.interval(now), byTouch))", "l.inTime(l.Left(now)-l.interval(now)+0*byTouch)"},
	}}, "internal/lease.TestALeaseLastsIfItLeavesTimeForAProof"},
	{mutant{"while a connect request is unheard, who is a little slow gets no lock", []edit{
		{"internal/lease/speed.go", "max(part(l.timeout, sparePart), l.lastProof)", "max(part(l.timeout, 2*sparePart), l.lastProof)"},
	}}, "TestALockIsHadAndKeptWhileAnswersTakeA12thOfTheTimeoutAtMost"},
	{mutant{"who is a little slow gets a lock that nothing can make longer in time", []edit{
		{"internal/lease/lease.go", "slowPart  = 1.0 / 12", "slowPart  = 1.0 / 16"},
	}}, "TestALockIsHadAndKeptWhileAnswersTakeA12thOfTheTimeoutAtMost"},
	{mutant{"a server is given up though it answers one of two proofs", []edit{
		{"internal/queue/keeper.go", "ctx, c, s.lease.Patience(0))", "ctx, c, s.lease.Patience(func() time.Duration { _, left := s.Left(); return left }()))"},
	}}, "TestAHoldIsKeptThoughOthersAreAskedForWhileItsProofsAreUnderWay"},
	{mutant{"a lease lasts if it runs until the next proof", []edit{
		{"internal/lease/touches.go", "l.inTime(min(l.Left(now)-l.interval(now), byTouch))", "l.Left(now)-l.interval(now)+0*byTouch > 0"},
	}}, "internal/lease.TestALeaseLastsIfItLeavesTimeForAProof"},
	{mutant{"a grant leaves no time for the next proof", []edit{
		{"internal/lease/touches.go", "l.inTime(min(l.Left(now)-l.interval(now), byTouch))", "l.Left(now)-l.interval(now)+0*byTouch > 0"},
		{"internal/lease/touches.go", "(l.isSlow() || l.carry(now))", "true"},
	}}, "test/sim.TestAGrantLeavesTimeForTheNextProof"},
	{mutant{"a grant waits out a doubt, and makes no proof then", []edit{
		{"internal/lease/touches.go", "l.inTime(min(l.Left(now)-l.interval(now), byTouch))", "l.Left(now)-l.interval(now)+0*byTouch > 0"},
		{"internal/lease/touches.go", "(l.isSlow() || l.carry(now))", "true"},
	}}, "test/sim.TestAGrantLeavesTimeForTheNextProofWhileAConnectRequestIsUnheard"},
	{mutant{"a proof right behind a slow delete begins a lease", []edit{
		{"internal/wire/link.go", "l.dialer.Lease.Answered(sent, l.dialer.Clock.Now(), write)", "l.dialer.Lease.Answered(sent, l.dialer.Clock.Now(), false)"},
	}}, "internal/wire.TestASlowWriteLeavesADoubtAndASlowReadNone"},
	{mutant{"a proof right behind a slow read begins no lease", []edit{
		{"internal/wire/link.go", "l.dialer.Lease.Answered(sent, l.dialer.Clock.Now(), write)", "l.dialer.Lease.Answered(sent, l.dialer.Clock.Now(), true)"},
	}}, "internal/wire.TestASlowWriteLeavesADoubtAndASlowReadNone"},
	{mutant{"who is in doubt waits for as long as others write slowly", []edit{
		{"internal/lease/speed.go", "min(l.slow.Least(now), l.ripe.Least(now))", "l.slow.Least(now)"},
	}}, "internal/lease.TestAProofCountsAsAQuickOneOrAsTheSecondOfTwo"},
	{mutant{"a lock that was waited for leaves no time for the next proof", []edit{
		{"internal/lease/touches.go", "l.inTime(min(l.Left(now)-l.interval(now), byTouch))", "l.Left(now)-l.interval(now)+0*byTouch > 0"},
		{"internal/lease/touches.go", "(l.isSlow() || l.carry(now))", "true"},
	}}, "test/sim.TestAGrantAfterAWaitLeavesTimeForTheNextProof"},
	{mutant{"a server that is slow all the time is taken for one that hangs", []edit{
		{"internal/lease/speed.go", "max(left/2, min(2*l.lastProof, left))", "left/2"},
	}}, "test/sim.TestAHoldOutlivesServersThatAreSlowAllTheTime"},
	{mutant{"the first proof over a connection has half of what the lease has left, however far the server", []edit{
		{"internal/wire/handshake.go", "roundTrip := l.dialer.Clock.Now().Least(l.Asked)", "roundTrip := time.Duration(0)"},
	}}, "test/sim.TestF19AHungServerCostsNoHoldWhileAnotherAnswersFromFarAway"},
	{mutant{"the first proof over a connection has no time for the logins ahead of it", []edit{
		{"internal/wire/handshake.go", "1 + l.dialer.logins.Load()", "1"},
	}}, "test/lock.TestAHoldOutlivesAConnectionWhoseLoginsGoAheadOfItsProof"},
	{mutant{"a connection is had before its login by SASL", []edit{
		{"internal/wire/handshake.go", "l.ID == 0 || l.authenticate()", "true"},
	}}, "internal/wire.TestALoginBySASLIsOverBeforeAnybodyHasTheConnection"},
	{mutant{"a login by SASL may take as long as the server likes", []edit{
		{"internal/wire/sasl.go", "l.bearSilence(l.limit)", "l.silence.Stop()"},
	}}, "internal/wire.TestALoginBySASLHasAsMuchTimeAsTheHandshake"},
	{mutant{"a server that answers a login may say as much as it likes", []edit{
		{"internal/wire/answer.go", "longest = longestLogin", "longest = longestAnswer"},
	}}, "internal/wire.TestALoginBySASLThatFailsEndsTheConnectionAndTheSessionIsKnown"},
	{mutant{"a server need not know the password", []edit{
		{"sasl.go", "return nil, true, answer.Check(challenge)", "return nil, true, nil"},
	}}, ".TestDigestMD5TrustsAServerThatKnowsThePassword"},
	{mutant{"each hold's node is seen to before the next hold is lost", []edit{
		{"internal/queue/session.go", "rest = append(rest, c.markLost(cause))", "c.lose(cause)"},
	}}, "internal/queue.TestAllHoldsAreLostBeforeTheirNodesAreSeenTo"},
	{mutant{"a context is asked under the session's lock before a grant", []edit{
		{"internal/queue/contender.go", "if s.link != seen {", "if ctx.Err() != nil || s.link != seen {"},
	}}, "TestTheMethodsOfAContextMayAskTheSession"},
	{mutant{"a context is asked under the session's lock before a lock is taken over", []edit{
		{"internal/queue/succession.go", "if ctx.Err() != nil { //", "c.queue.session.mu.Lock()\n\tover := ctx.Err() != nil\n\tc.queue.session.mu.Unlock()\n\tif over { //"},
	}}, "TestTheMethodsOfAContextMayAskTheSession"},
	{mutant{"the end of a hold calls methods of its parent context", []edit{
		{"while.go", "child, end = context.WithCancelCause(between)", "_ = between\n\tchild, end = context.WithCancelCause(parent)"},
	}}, "TestTheMethodsOfAContextMayAskTheSession"},
	{mutant{"a hold that began without a connection is not told of the next one's loss", []edit{
		{"internal/queue/incarnation.go", "if s.incarnation != nil {\n\t\ts.incarnation.suspended = s.tell", "if s.incarnation != nil && !s.incarnation.suspended {\n\t\ts.incarnation.suspended = s.tell"},
	}}, "TestAHoldThatBeganWithoutAConnectionIsToldOfTheLossOfTheNext"},
	{mutant{"a hold is suspended twice", []edit{
		{"trace.go", "if !h.cut.IsZero() {\n\t\treturn false\n\t}\n\th.cut", "h.cut"},
	}}, "TestAHoldThatBeganWithoutAConnectionIsToldOfTheLossOfTheNext"},
	{mutant{"a context is asked while its create is on its way", []edit{
		{"internal/queue/create.go", "case <-done:\n\t\tc.leaveWhenCreated(func() error { return", "case <-ctx.Done():\n\t\tc.leaveWhenCreated(func() error { return"},
	}}, "TestAContextThatPanicsCostsNobodyTheLock"},
	{mutant{"a context that panics keeps a turn at the permits", []edit{
		{"internal/queue/semaphore.go", "\tdefer func() {\n\t\tturn.SendRelease(ctx, nil)\n\t\treleased = true\n\t}()\n", "\treleased = true\n\tdefer func() {\n\t\tif h != nil || err != nil {\n\t\t\tturn.SendRelease(ctx, nil)\n\t\t}\n\t}()\n"},
	}}, "TestAContextThatPanicsCostsNobodyTheLock"},
	{mutant{"a context that panics as the turn is given back keeps the permits", []edit{
		{"internal/queue/semaphore.go", "if !released && h != nil {", "if !released && h != nil && err != nil {"},
	}}, "TestAContextThatPanicsCostsNobodyTheLock"},
	{mutant{"a context that panics keeps a node that is granted at once", []edit{
		{"internal/queue/convert.go", "if h == nil {", "if err != nil {"},
	}}, "TestAContextThatPanicsCostsNobodyTheLock"},
	{mutant{"a context that panics keeps the hold of who waits for an owner here", []edit{
		{"gate.go", "\t\tif !entered {", "\t\tif err := recover(); err != nil {\n\t\t\tpanic(err)\n\t\t}\n\t\tif !entered {"},
	}}, "TestAContextThatPanicsCostsNobodyTheLockOfALatecomer"},
	{mutant{"a context that panics keeps Connect's session", []edit{
		{"internal/client/client.go", "if !stands {", "if !stands && ctx.Err() != nil {"},
	}}, "TestAContextThatPanicsLeavesNoSession"},
	{mutant{"a context that panics keeps a member", []edit{
		{"membership/member.go", "joined := false", "joined := true"},
	}}, "TestAContextThatPanicsLeavesNoMember"},
	{mutant{"who clears up behind a Join waits for the user's functions", []edit{
		{"membership/member.go", "case <-m.off:", "case <-m.done:"},
	}}, "membership.TestMembersWhoseUserIsBusyKeepNobodyFromALock"},
	{mutant{"a Watch that has ended asks once more", []edit{
		{"membership/sights.go", "if ctx.Err() != nil { // nothing", "if false { // nothing"},
	}}, "membership.TestAWatchWhoseContextHasEndedAsksForNothing"},
	{mutant{"the error of a Watch names the path below the chroot", []edit{
		{"membership/watch.go", "\t\tpath := client.Of(s).Below(path)\n", ""},
		{"membership/watch.go", "path: path, options", "path: client.Of(s).Below(path), options"},
	}}, "membership.TestTheErrorOfAWatchNamesTheWholePath"},
	{mutant{"a watch that the server has used up without an event stands", []edit{
		{"membership/sights.go", "if fresh {", "if fresh || v.of == data {"},
	}}, "membership.TestAWatchShowsWhatAMemberBecameWhileItMightNotBeRead"},
	{mutant{"a watch that was set again is asked for beside the one that stands", []edit{
		{"membership/sights.go", "if g.connection != standing.Connection && !standing.Set {", "if g.connection != standing.Connection {"},
	}}, "membership.TestAfterAReconnectTheMembersAreNotReadAgainIfTheirWatchesStand"},
	{mutant{"a watch that was not set again stands if nothing has changed", []edit{
		{"membership/sights.go", "if g.connection != standing.Connection && !standing.Set {", "if false {"},
	}}, "membership.TestAChangeShowsWithinTheIntervalIfTheWatchesAreLost"},
	{mutant{"the same members are made sure of each time", []edit{
		{"membership/sights.go", "return a.waiting.Compare(b.waiting)", "return 0 * a.waiting.Compare(b.waiting)"},
	}}, "membership.TestEachMemberHasItsTurnHoweverBusyTheOthersAndTheLoopsBody"},
	{mutant{"children that are no members take the turns of those", []edit{
		{"membership/sights.go", "if c.stat.EphemeralOwner == 0 {", "if left == nil {"},
	}}, "membership.TestAWatchShowsWhatAMemberBecameWhileItMightNotBeRead"},
	{mutant{"children that are no members are never made sure of", []edit{
		{"membership/watch.go", "askedOthers = 1", "askedOthers = 0"},
	}}, "membership.TestAMemberThatComesUnseenUnderTheNameOfAnotherNodeShows"},
	{mutant{"many alarms hide that the interval is over", []edit{
		{"membership/watch.go", "case <-w.doubting.C:\n", "case <-alarm(nil):\n"},
	}}, "membership.TestEachMemberHasItsTurnHoweverBusyTheOthersAndTheLoopsBody"},
	{mutant{"all members are made sure of", []edit{
		{"membership/watch.go", "each = undoubted", "each = doubt"},
	}}, "membership.TestWatchingAListThatDoesNotChangeCostsAFewSmallReadsAnInterval"},
	{mutant{"each Watch makes sure of other members", []edit{
		{"membership/sights.go", "if now.Sub(all.turns[path].at) < interval/2 {", "if false {"},
	}}, "membership.TestWatchingAListThatDoesNotChangeCostsAFewSmallReadsAnInterval"},
	{mutant{"a new list has its members made sure of at once", []edit{
		{"membership/sights.go", "all.of[v] = g\n", "all.of[v] = g\n\tdelete(all.turns, v.path)\n"},
	}}, "membership.TestWatchesOfABusyListShareItsTurns/each_list_is_read"},
	{mutant{"a list that was lost has its members made sure of at once", []edit{
		{"membership/sights.go", "if g.err != nil && v.of == data {\n\t\t\tall.drop", "if g.err != nil {\n\t\t\tall.mu.Lock()\n\t\t\tdelete(all.turns, v.path)\n\t\t\tall.mu.Unlock()\n\t\t\tall.drop"},
	}}, "membership.TestWatchesOfABusyListShareItsTurns/the_answers_are_lost"},
	{mutant{"the turns of lists that have gone are kept", []edit{
		{"membership/sights.go", "time.Since(t.at) >= t.interval/2 })", "t.interval < 0 })"},
	}}, "membership.TestListsThatComeAndGoAreForgotten"},
	{mutant{"members whose connection has broken have the next turn too", []edit{
		{"membership/sights.go", "due[c.name], c.waiting = true, now", "due[c.name] = true"},
		{"membership/sights.go", "g.confirmed = time.Now()", "g.confirmed, g.waiting = time.Now(), time.Now()"},
	}}, "membership.TestTheTurnOfSomeMembersIsOverThoughTheConnectionBreaksInIt"},
	{mutant{"a member that may not be asked for shows whenever the list has changed", []edit{
		{"membership/sights.go", "if client.Refused(r.Err) { //", "if client.Refused(r.Err) && false { //"},
	}}, "membership.TestAMemberThatMayNotBeReadAnyMoreShowsAsItWasUntilTheServerTells"},
	{mutant{"members that may not be asked for have every turn", []edit{
		{"membership/sights.go", "if client.Refused(r.Err) { //", "if client.Refused(r.Err) && false { //"},
		{"membership/sights.go", "due[c.name], c.waiting = true, now", "due[c.name] = true"},
		{"membership/sights.go", "g.confirmed = time.Now()", "g.confirmed, g.waiting = time.Now(), time.Now()"},
	}}, "membership.TestMembersThatMayNotBeReadAnyMoreTakeNoTurns"},
	{mutant{"a member that comes back is read if its watch has told that it went", []edit{
		{"membership/sights.go", "if before != nil {\n\t\t\tall.leave", "if before == g {\n\t\t\tall.leave"},
	}}, "membership.TestAMemberThatComesBackUnderTheNameOfOneThatWentUnreadShowsAtOnce"},
	{mutant{"a list that fails forgets who was on the one before", []edit{
		{"membership/sights.go", "if g.err != nil && v.of == data {", "if g.err != nil {"},
	}}, "membership.TestAMemberThatComesBackUnderTheNameOfOneThatWentUnreadShowsAtOnce"},
	{mutant{"each Watch looks by itself whether a path is there", []edit{
		{"membership/sights.go", "if g.err != nil && v.of == data {\n\t\t\tall.drop", "if g.err != nil || g.stat == nil {\n\t\t\tall.drop"},
	}}, "membership.TestWatchesOfAPathThatIsNotThereAskTwiceAnIntervalAtMost"},
	{mutant{"a path that is made meanwhile is taken for missing", []edit{
		{"internal/client/children.go", "err = conn.ExistsW(path); !there {", "err = conn.ExistsW(path); !there || there {"},
	}}, "membership.TestAPathThatIsMadeWhileAWatchLooksForItIsSeen"},
	{mutant{"a Join that fails tells of the end of its member", []edit{
		{"membership/state.go", "state.Registrations == 0 || !m.options.users", "!m.options.users"},
	}}, "membership.TestOfAJoinThatFailsNobodyHears"},
	{mutant{"an update is confirmed by what was in place before", []edit{
		{"membership/keep.go", "unsure || !u.sent ||", "unsure ||"},
	}}, "membership.TestAnUpdateToWhatIsInPlaceIsConfirmedByTheServerToo"},
	{mutant{"what Join has created is written too", []edit{
		{"membership/keep.go", "func (m *Member) create(u *update) error {\n\tu.sent = true\n", "func (m *Member) create(u *update) error {\n"},
	}}, "membership.TestAnUpdateToWhatIsInPlaceIsConfirmedByTheServerToo"},
	{mutant{"a member relies on its watch", []edit{
		{"membership/keep.go", "doubt = m.options.interval", "doubt = undoubted"},
	}}, "membership.TestAMemberMakesSureOfItsNodeEachIntervalWhateverItsProcessWatches"},
	{mutant{"a name that might not be read is not tried with a new list", []edit{
		{"membership/watch.go", "doubt == 0 && list == w.list", "doubt == 0"},
	}}, "membership.TestAMemberThatComesUnderTheNameOfOneThatMightNotBeReadShowsAtOnce"},
	{mutant{"names that may not be read are tried at each change", []edit{
		{"membership/watch.go", "doubt == 0 && list == w.list", "false && list == w.list"},
	}}, "membership.TestAMemberThatMayNotBeReadIsMissingAndTheOthersAreThere"},
	{mutant{"what was seen of a node counts after a write", []edit{
		{"membership/keep.go", "sightsOf(m.session).drop(node, g)", "_ = node"},
	}}, "membership.TestAMemberThatMayNotReadItsNodeWritesItOnce"},
	{mutant{"a refusal is believed though the write before had no answer", []edit{
		{"membership/keep.go", "case refused && unsure:", "case false && unsure:"},
	}}, "membership.TestAnUpdateIsNotRefusedIfItIsInPlace"},
	{mutant{"an update that is refused keeps the one before it waiting", []edit{
		{"membership/keep.go", "\t\tm.wake()\n", ""},
	}}, "membership.TestBehindAnUpdateThatIsRefusedTheOneBeforeItIsWritten"},
	{mutant{"updates that nobody waits for pile up", []edit{
		{"membership/member.go", "defer m.stopWaiting(u)\n", ""},
	}}, "membership.TestUpdatesWhoseCallsHaveEndedDoNotPileUp"},
	{mutant{"an update that was refused keeps an older one from being written", []edit{
		{"membership/member.go", "if v.alone {", "if v.alone && v.number > u.number {"},
	}}, "membership.TestBehindAnUpdateThatIsRefusedTheOneBeforeItIsWritten"},
	{mutant{"a member whose Join is refused goes on with nothing to write", []edit{
		{"membership/keep.go", "i >= 0 && m.placed != nil {", "i >= 0 {"},
	}}, "membership.TestJoiningAgainAndAgainWhereNobodyMayDoesNotPileUpWork"},
	{mutant{"an update that was refused is asked for again", []edit{
		{"membership/keep.go", "i >= 0 && m.placed != nil {", "false && i >= 0 {"},
	}}, "membership.TestAnUpdateThatIsRefusedLeavesTheMemberAsItWas"},
	{mutant{"a write without an answer is remembered when its node has gone", []edit{
		{"membership/keep.go", "m.unsure == g.stat.Czxid", "m.unsure != 0"},
	}}, "membership.TestAWriteWithoutAnAnswerIsForgottenWithItsNode"},
	{mutant{"Close of a session leaves its members' goroutines to the user's functions", []edit{
		{"membership/keep.go", "if m.news.Add(func() { close(m.done) }) { // behind", "told := make(chan struct{})\n\tm.tell(func() { close(told) })\n\t<-told\n\tif m.news.Add(func() { close(m.done) }) { // behind"},
		{"membership/member.go", "if !client.Of(s).Spawn(m.keep) {", "go m.keep()\n\tif false {"},
	}}, "membership.TestOfAMemberOnlyItsUsersFunctionOutlivesItsSession"},
	{mutant{"a member waits for the user's functions", []edit{
		{"membership/state.go", "go m.news.Run()", "done := make(chan struct{})\n\t\tgo func() { defer close(done); m.news.Run() }()\n\t\t<-done"},
	}}, "membership.TestAMemberDoesNotWaitForUsersCode"},
	{mutant{"the client remembers every watch", []edit{
		{"internal/client/watch.go", "func (c *Client) arm(u unasked, try int) {\n", "func (c *Client) arm(u unasked, try int) {\n\tc.Spawn(func() { _, _, _, _ = c.Conn.GetW(u.key.Path) })\n"},
	}}, "internal/client.TestWatchesThatStoodAreSetAgainByOneRequestThatTellsWhatHasChanged"},
	{mutant{"several locks are kept when the trace of one panics", []edit{
		{"multi.go", "if !complete {\n\t\t\tlast", "if p := recover(); p != nil {\n\t\t\tpanic(p)\n\t\t}\n\t\tif !complete {\n\t\t\tlast"},
	}}, "TestAFunctionOfATraceThatDoesNotReturnLeavesNothingBehind"},
	{mutant{"who hears that a node is gone goes on before its hold is over", []edit{
		{"internal/client/connection.go", "c.observer.Deleted(event.Path)", "defer c.observer.Deleted(event.Path)"},
	}}, "internal/client.TestTheObserverKnowsThatANodeIsGoneBeforeItsWatchEnds"},
	{mutant{"a verification of the user's own does not learn the server's name", []edit{
		{"internal/wire/dial.go", "if config.ServerName == \"\" {", "if config.ServerName == \"\" && !config.InsecureSkipVerify {"},
	}}, "internal/wire.TestAServerHasToBeWhomItWasDialledAsUnlessTheUserSaysOtherwise"},
	{mutant{"TLS takes its leave of a server that hangs", []edit{
		{"internal/wire/dial.go", "return secureConn{secure}, nil", "return secure, nil"},
	}}, "TestAHoldOutlivesATunnelThatHangs"},
	{mutant{"the cause of a ctx is the end of a counter", []edit{
		{"internal/queue/queue.go", "if client.Answers(err, recipe.ErrUnordered) {", "if errors.Is(err, recipe.ErrUnordered) {"},
	}}, "internal/queue.TestTheCauseOfACtxIsNotTakenForTheEndOfACounter"},
	{mutant{"a place whose number does not count is shown to hold", []edit{
		{"internal/recipe/order.go", "Holds: !n.Unordered() && !ahead.blocks(n)", "Holds: !ahead.blocks(n)"},
	}}, "internal/recipe.TestAPlaceWhoseNumberDoesNotCountHoldsNothing"},
	{mutant{"a reconnect waits for the close of the connection before", []edit{
		{"internal/wire/link.go", `		go func() {
			defer l.dialer.unclosed.Done()
			l.Conn.Close()
			l.out.writers.Wait()
		}()
`, "\t\tdefer l.dialer.unclosed.Done()\n\t\tl.Conn.Close()\n"},
	}}, "TestCloseWaitsForTheCloseOfEachConnectionAndAReconnectDoesNot"},
	{mutant{"a name is dialled at the same address each time", []edit{
		{"internal/wire/resolved.go", "rs.begun[name] = append(begun, addresses[0])", "rs.begun[name] = begun"},
	}}, "internal/wire.TestANameIsDialledAtAnotherOfItsAddressesEachTime"},
	{mutant{"that a server is of another protocol is forgotten with the next dial", []edit{
		{"internal/client/connection.go", "case wire.Attempt, wire.SASLError:", "case wire.SASLError:"},
	}}, "internal/client.TestTheLastFailureIsThatOfTheLoginUntilAServerServes"},
	{mutant{"a node that may not be looked at hides the queue", []edit{
		{"inspect.go", "return client.Content{}, nil", "return client.Content{}, err"},
	}}, "test/lock.TestANodeThatMayNotBeLookedAtHidesNoOthersAndCanBeAskedForItsLock"},
	{mutant{"who may not ask one holder asks no other", []edit{
		{"revoke.go", "case client.Refused(err), err", "case client.Refused(err) && false, err"},
	}}, "test/lock.TestAHolderThatMayNotBeAskedKeepsNobodyFromAskingTheOthers"},
	{mutant{"a reader is not told of the readers ahead of its writer", []edit{
		{"internal/queue/trace.go", "at.InTheWay(nodes)", "at.Ahead"},
	}}, "test/lock.TestTheTraceCountsTheReadersAheadOfAReadersWriter"},
	{mutant{"who may not make the path anew does not wait for others", []edit{
		{"internal/queue/counter.go", "time.Since(begun) < reaped", "begun.IsZero()"},
	}}, "internal/queue.TestWhoMayNotMakeThePathAnewWaitsForOthersWhoMay"},
	{mutant{"a path whose counter begins anew loses what it says", []edit{
		{"internal/queue/counter.go", "Data: content.Data, ACL: acl}", "Data: content.Data[:0], ACL: acl}"},
	}}, "internal/queue.TestAPathWhoseCounterBeginsAnewSaysWhatItSaidAndHasItsACL"},
	{mutant{"a path that somebody has made anew has to be empty", []edit{
		{"internal/queue/counter.go", "case view.Missing, view.Stat.Czxid > spent:", "case view.Missing:"},
	}}, "internal/queue.TestAPathThatSomebodyHasMadeAnewIsEnteredWhoeverIsThere"},
	{mutant{"who comes at the counter's end comes back at once", []edit{
		{"internal/queue/counter.go", "\t\treturn err\n\t})\n}\n\n// renew", "\t\tif client.Transient(err) {\n\t\t\treturn nil\n\t\t}\n\t\treturn err\n\t})\n}\n\n// renew"},
	}}, "internal/queue.TestACrowdAtTheEndOfTheCounterStaysAwayUntilItBeginsAnew"},
	{mutant{"members at the end of the counter are known by pzxid alone", []edit{
		{"internal/client/list.go", "Generation{stat.Pzxid, stat.NumChildren}", "Generation{stat.Pzxid, 0}"},
	}}, "membership.TestAMemberThatJoinsAtTheEndOfTheCounterIsShown"},
	{mutant{"a lock that was waited for is retained unseen", []edit{
		{"internal/queue/contention.go", "t.contention == unknown && c.alone)", "t.contention == unknown)"},
	}}, "internal/queue.TestALockWhoseQueueHasChangedIsTakenByANewNode"},
	{mutant{"a handoff forgets whom it has seen when one more comes", []edit{
		{"internal/queue/contention.go", "case w.Err != nil:\n\t\treturn unknown\n\tcase q.othersAmong", "case w.Err != nil || w.HasFired():\n\t\treturn unknown\n\tcase q.othersAmong"},
	}}, "internal/queue.TestACohortThatHasSeenOthersKnowsThemWhenOneMoreComes"},
	{mutant{"a retained lock is taken again by a list from before the queue changed", []edit{
		{"internal/queue/contention.go", "t.contention, c.alone = unknown, false", "t.contention = unknown"},
	}}, "internal/queue.TestALockWhoseQueueHasChangedIsTakenByANewNode"},
	{mutant{"a handoff hears of the others of its session from the queue", []edit{
		{"internal/queue/handoff.go", "(t.contention != alone || c.othersInLine() > 0)", "t.contention != alone"},
	}}, "internal/queue.TestAHandoffSharesNoTurnBeyondItsLimitUntilTheQueueTellsThatNobodyHasCome"},
	{mutant{"a handoff's turn has no limit while it is not known who has come", []edit{
		{"internal/queue/handoff.go", "(t.contention != alone || c.othersInLine() > 0)", "(t.contention == others || c.othersInLine() > 0)"},
	}}, "internal/queue.TestAHandoffSharesNoTurnBeyondItsLimitUntilTheQueueTellsThatNobodyHasCome"},
	{mutant{"a hold that the context carries is waited for", []edit{
		{"gate.go", "if err := g.deadlock(ctx); err != nil {", "if err := error(nil); err != nil {"},
	}}, "TestACallThatWouldWaitForTheHoldOfItsContextIsRefusedAtOnce"},
	{mutant{"of the holds that a context carries the innermost counts", []edit{
		{"gate.go", "c != nil; c = c.outer {", "c != nil; c = nil {"},
	}}, "TestACallThatWouldWaitForTheHoldOfItsContextIsRefusedAtOnce"},
	{mutant{"a hold that has ended keeps its context from the lock", []edit{
		{"internal/queue/hold.go", "own.dir == q.dir && (h.IsHeld() || h.hasGrace())", "own.dir == q.dir"},
	}}, "TestACallThatWouldWaitForTheHoldOfItsContextIsRefusedAtOnce"},
	{mutant{"the permits that a context carries do not count", []edit{
		{"semaphore.go", "carried+n > s.size", "false"},
	}}, "TestPermitsOfAContextCountEachAndItsEndOutweighsThem"},
	{mutant{"a MultiLocker waits on for the others without a lock that was lost", []edit{
		{"multi.go", "ctx, detach := while(others, ctx)", "detach := func() {}"},
	}}, "TestAMultiLockerThatStartsOverTellsTheTraceOfTheLockThatItLost"},
	{mutant{"a semaphore does not look for locks on its path", []edit{
		{"internal/queue/mixed.go", "if isLock(names) {", "if isLock(names[:0]) {"},
	}}, "internal/queue.TestALockAndASemaphoreRefuseToShareAPath"},
	{mutant{"a look for a lock or a semaphore that came to nothing is one", []edit{
		{"internal/queue/mixed.go", "return names, err", "return names, nil"},
		{"internal/queue/mixed.go", "case client.Refused(err):", "default:"},
	}}, "internal/queue.TestALookForTheOtherKindIsTakenOnceAndEndsWithItsCall"},
	{mutant{"a permit is known by its marker alone", []edit{
		{
			"internal/recipe/name.go", "_, ok := sequenceAfter(permitMarker, name)\n\treturn ok",
			"at := len(name) - sequenceDigits\n\treturn at > 0 && strings.HasSuffix(name[:at], permitMarker)",
		},
	}}, "internal/recipe.TestWhatIsNoLockNodeIsIgnored"},
	{mutant{"a member's path is not below the chroot", []edit{
		{"membership/member.go", "path = client.Of(s).Below(path)\n", ""},
	}}, "TestAllPathsOfASessionWithAChrootAreBelowIt"},
	{mutant{"what is inspected is not below the chroot", []edit{
		{"inspect.go", "s.look(ctx, whole)", "s.look(ctx, path)"},
	}}, "TestAllPathsOfASessionWithAChrootAreBelowIt"},
	{mutant{"a zero value passes for a lock", []edit{
		{"errors.go", "s != nil && s.queue != nil, op, errUnmadeLock", "s != nil, op, errUnmadeLock"},
	}}, "TestEveryMethodOfAValueThatNoConstructorMadeSaysSo"},
	{mutant{"a hold that was forgotten is deleted before its owner is told", []edit{
		{"internal/queue/limit.go", "\t\th.contender.lose(errHeldTooLong)\n", "\t\tgo s.client.Conn.Delete(h.Node(), -1)\n"},
	}}, "TestAHoldThatIsForgottenIsLostBeforeItsNodeGoes"},
	{mutant{"a hold's limit counts while its call waits for another lock", []edit{
		{"multi.go", "\t\t\th.hold.AwaitOthers()\n", ""},
	}}, "TestTheTimeOfAMultiLockerBeginsWhenItHasAll"},
	{mutant{"a hold's limit goes on when the hold has ended", []edit{
		{"internal/queue/hold.go", "\th.stopLimit()\n\th.mu.Lock()\n\tdefer", "\th.mu.Lock()\n\tdefer"},
	}}, "TestALimitEndsWithItsHold"},
	{mutant{"a hold is valid beyond its limit", []edit{
		{"internal/queue/limit.go", "max(min(left, h.toLimit(now)), 0)", "max(left, 0)"},
	}}, "TestALimitIsHeededByWhatIsValidForAWhile"},
	{mutant{"the lock of a key stays when nobody uses it", []edit{
		{"keyed.go", "used.users == 0 && !k.options.striped", "used.users < 0"},
	}}, ".TestNothingIsKeptOfAKeyThatNobodyUses"},
	{mutant{"a key's lock is another one while a function runs that has lost it", []edit{
		{"keyed.go", "\tdefer leave()\n\treturn l.Do(ctx, fn)", "\tleave()\n\treturn l.Do(ctx, fn)"},
	}}, ".TestALostKeyIsNobodyElsesInThisProcessUntilItsFunctionReturns"},
	{mutant{"a key's node may be called as a lock's node is", []edit{
		{"internal/recipe/key.go", "case name == \".\", name == \"..\", isOfLock(name):", "case name == \".\", name == \"..\":"},
	}}, "internal/recipe.TestEachKeyHasANameOfItsOwnThatIsNoLockNodes"},
	{mutant{"a long key's node does not say it", []edit{
		{"keyed.go", "\to.Says = says\n", ""},
	}}, "TestALongKeyIsSaidAgainWhenItsNodeHasBeenRemoved"},
	{mutant{"a member that Join has not made may be asked", []edit{
		{"membership/errors.go", "m != nil && m.session != nil", "m != nil"},
	}}, "TestEveryMethodOfAValueThatNoConstructorMadeSaysSo"},
	{mutant{"all wait for the first in the queue", []edit{
		{"internal/recipe/order.go", "case at.Ahead == 0 || other.Sequence > at.Nearest.Sequence:", "case at.Ahead == 0 || other.Sequence < at.Nearest.Sequence:"},
	}}, "test/sim.TestAReleaseWakesWhoIsNextAndAtMostOneMore"},
	{mutant{"of readers and writers all wait for the first", []edit{
		{"internal/recipe/order.go", "case at.Ahead == 0 || other.Sequence > at.Nearest.Sequence:", "case at.Ahead == 0 || other.Sequence < at.Nearest.Sequence:"},
	}}, "test/sim.TestAReleaseAmongReadersAndWritersWakesTwoMoreAtMost"},
	{mutant{"a create that has come to nothing ends its call", []edit{
		{"internal/queue/search.go", "case errors.Is(err, errNotThere):\n\t\t\treturn client.Permanent(err)", "case errors.Is(err, errNotThere):\n\t\t\treturn client.Permanent(client.Final(\"there is no node\"))"},
	}}, "test/sim.TestF03ACreateThatWasNeverSentLeavesOneNode"},
	{mutant{"the node of a call that has ended during its create stays", []edit{
		{"internal/queue/create.go", "return a.settle(s.client.Context(), s.client.Context().Done())", "_ = a.settle(s.client.Context(), s.client.Context().Done())\n\t\t\treturn errNotThere"},
	}}, "test/sim.TestF08ACallWhoseCtxEndsReturnsAtOnceAndLeavesNoNode"},
	{mutant{"a node that no call knows of stays", []edit{
		{"internal/queue/strays.go", "ours && s.live[id] == nil {", "false && ours && s.live[id] == nil {"},
	}}, "test/sim.TestF07ANodeThatNoCallKnowsOfIsDeletedWhenAListShowsIt"},
	{mutant{"a lock node outlives its session", []edit{
		{"internal/queue/create.go", "zk.FlagEphemeralSequential", "zk.FlagSequence"},
	}}, "test/sim.TestF38AReaderThatCrashesLetsTheWriterIn"},
	{mutant{"Valid does not look at the clocks", []edit{
		{"internal/queue/hold.go", "case runs:", "case runs || true:"},
	}}, "test/sim.TestF12TheFirstLookOfAHolderThatWasStoppedSaysThatTheLockIsLost"},
	{mutant{"a place that goes with its session is not taken anew", []edit{
		{"internal/client/retry.go", "&& !Refused(err)\n", "&& !Refused(err) && !errors.Is(err, ErrSessionOver)\n"},
	}}, "test/sim.TestF15ASessionThatExpiresWhileItWaitsTakesANewPlace"},
	{mutant{"the end of the nearest one ahead is a turn", []edit{
		{"internal/recipe/order.go", "at.Ahead++", "at.Ahead = 1"},
	}}, "test/sim.TestF16AWaiterThatDiesLetsNobodyPastTheHolder"},
	{mutant{"a server that leaves a proof unanswered keeps its connection", []edit{
		{"internal/queue/keeper.go", "time.AfterFunc(limit, func() { s.cut(p) })", "time.AfterFunc(time.Hour, p.link.CutOff)"},
	}}, "test/sim.TestF19AHungServerCostsNoHoldWhileAnotherAnswers"},
	{mutant{"the end of a session is not taken from the answer to a connect request", []edit{
		{"internal/queue/incarnation.go", "if l.ID != s.id {", "if l.ID != s.id && l.ID != 0 {"},
	}}, "test/sim.TestF21TheEndOfASessionIsNoticedBehindManyEvents"},
	{mutant{"a slow write begins a lease", []edit{
		{"internal/lease/lease.go", "if quick && !held", "if !held"},
	}}, "test/sim.TestF22ALockAskedForWhileTheLeaderIsPausedIsNotGrantedByASessionThatEnds"},
	{mutant{"a timeout that shrinks is not taken", []edit{
		{"internal/lease/lease.go", "if timeout < l.timeout {", "if timeout < 0 {"},
	}}, "test/sim.TestF28TheLeaseFollowsATimeoutThatShrinksAtAReconnect"},
	{mutant{"a hold does not watch its own node", []edit{
		{"internal/queue/contender.go", "c.newHold()\n\t\tc.watchSelfLater(&c.queue.session.selfWatches)", "c.newHold()"},
	}}, "internal/queue.TestTheNodesOfAHoldAreWatchedUnlessItIsShort"},
	{mutant{"a child that is no lock node is in the way", []edit{
		{"internal/recipe/order.go", "if n, ok := Parse(name); ok {", "if n, _ := Parse(name); true {"},
	}}, "test/sim.TestF32ForeignAndMalformedChildrenAreIgnored"},
	{mutant{"half a reply is one", []edit{
		{"internal/wire/frame.go", "if at += n; err != nil {\n				return nil, err", "if at += n; err != nil {\n				return frame, nil"},
	}}, "test/sim.TestHalfAReplyToACreateSaysNothing"},
	{mutant{"what was refused is tried again", []edit{
		{"internal/client/retry.go", "return !errors.As(err, &final) && !Refused(err)", "return !errors.As(err, &final)"},
	}}, "test/sim.TestF35ARefusalByAnACLIsToldOnceAndNotTriedAgain"},
	{mutant{"an end of the session that no server has confirmed is a success", []edit{
		{"internal/client/close.go", "if !c.dialer.Ended() && id != 0 {", "if !c.dialer.Ended() && id < 0 && id > 0 {"},
	}}, "test/sim.TestF37CloseWhileDisconnectedIsQuickAndLeavesNothing"},
	{mutant{"readers wait for nobody", []edit{
		{"internal/recipe/name.go", "return k != Read || other != Read", "return other != Read"},
	}}, "test/sim.TestF38ReadersThatComeLaterDoNotStarveAWriter"},
	{mutant{"nothing ends a lease", []edit{
		{"internal/lease/lease.go", "return touch.Add(part(l.timeout, touchPart))", "return touch.Add(100 * l.timeout)"},
		{"internal/lease/lease.go", "if l.isUnheard(now) {\n\t\tend = clock", "if false {\n\t\tend = clock"},
		{"internal/queue/observer.go", "s.lease.Asks(at)", "_ = at"},
	}}, "test/sim.TestF20WhenAllServersHangCtxAndLeaseStillEnd"},
	{mutant{"a lock that is given back without a connection is left to its session", []edit{
		{"internal/queue/deletion.go", "if s.isOver(c) {", "if s.isOver(c) || s.link == nil {"},
	}}, "test/sim.TestF10AnUnlockWhileDisconnectedIsCarriedOutLater"},
	{mutant{"a ctx that has ended already locks once more", []edit{
		{"context.go", "if client.HasEnded(ctx) {\n\t\treturn s.fail(\"lock\", client.Ended(ctx))\n\t}\n\treturn s.ask", "return s.ask"},
	}}, "TestWhatTheCallsOfALockerComeToWhenTheirContextEnds"},
	{mutant{"Lock returns without the lock", []edit{
		{"locker.go", "must(l.LockContext(context.Background()))", "_ = l.LockContext(context.Background())"},
	}}, "TestWhatTheCallsOfALockerComeToWhenTheSessionIsClosedOrCutOff"},
	{mutant{"a reader may ask to write", []edit{
		{"rwlocker.go", "if l.readers", "if false && l.readers"},
	}}, "test/sim.TestF38AnUpgradeIsRefusedInsteadOfWaitingForItself"},
	{mutant{"the check of a hold that has ended passes", []edit{
		{"internal/queue/hold.go", "if !h.expose(true) {", "if !h.expose(true) && false {"},
	}}, "TestAReleasedHandlesCheckNeverPasses"},
	{mutant{"a release is told as a loss", []edit{
		{"internal/queue/hold.go", "if state == lost {\n", "if true {\n"},
	}}, "TestWhatTheCallsOfAHoldComeTo"},
	{mutant{"each change is told by itself", []edit{
		{"watch.go", "w.session.client.Sleep(ctx, gatherTime)", "w.session.client.Sleep(ctx, 0)"},
	}}, "TestWatchReadsAChangedNodeOnceAndNoQueue"},
	{mutant{"a semaphore is not told to have changed with its permits", []edit{
		{"watch.go", "w.changed[recipe.Parent(path)] = true", "_ = path"},
	}}, "TestWatchTellsWhatListWouldAfterEachChange"},
	{mutant{"the watch on all that is below stays when nobody looks", []edit{
		{"watch.go", "\t\tdefer below.End()\n", ""},
	}}, "TestWatchEndsWithItsContextItsSessionAndItsLoop"},
	{mutant{"a queue is looked at until nobody comes or goes", []edit{
		{"inspect.go", "for range mostLooks {", "for {"},
	}}, "TestInspectLooksThreeTimesAtMost"},
	{mutant{"a lost hold is taken once more under its owner", []edit{
		{"reentrant.go", "hold.Err(); err != nil {", "hold.Err(); err != nil && false {"},
	}}, "TestALostHoldIsNeverTakenAgainUnderItsOwner"},
	{mutant{"an owner that has lost the lock keeps nobody waiting", []edit{
		{"gate.go", "g.shares.TryAcquire(g.share) || g.enter(ctx, h)", "g.shares.TryAcquire(g.share) || ctx != nil"},
	}}, "TestALostHoldIsNeverTakenAgainUnderItsOwner"},
	{mutant{"a Watch begins with the first change", []edit{
		{"membership/watch.go", "changed := first || ", "changed := first && false || "},
	}}, "membership.TestAWatchWaitsForAPathThatIsNotThere"},
	{mutant{"a Watch relies on its watches for ever", []edit{
		{"membership/watch.go", "if w.await(ctx, alarms) {", "if w.await(ctx, alarms) && false {"},
	}}, "membership.TestAChangeShowsWithinTheIntervalIfTheWatchesAreLost"},
	{mutant{"a Watch rests for as long as its list is", []edit{
		{"membership/watch.go", "min(time.Duration(len(w.list.names))*perChild, maxRest)", "time.Duration(len(w.list.names)) * perChild"},
	}}, "membership.TestAChangeOfALongListShowsAtOnceAndTheNextWithinASecond"},
	{mutant{"a Watch rests behind its first list", []edit{
		{"membership/watch.go", "if !first && (changed || doubt == 0) {", "if changed || doubt == 0 {"},
	}}, "membership.TestAChangeOfALongListShowsAtOnceAndTheNextWithinASecond"},
	{mutant{"a reconnect to the same server counts as caught up", []edit{
		{"internal/wire/dial.go", "if previous != nil {\n\t\tprevious.Close()", "if previous != nil {\n\t\tl.caughtUp.Store(previous.CaughtUp() && previous.Server == address)\n\t\tprevious.Close()"},
	}}, "test/sim.TestALostCreateIsFoundThoughTheServerIsTheOneBeforeAndLags"},
	{mutant{"a new connection goes on with what had been relayed over the one before", []edit{
		{"internal/lease/touches.go", "l.connection = connection{sure: asked, next: asked,", "l.connection = connection{sure: l.sure, next: l.next,"},
	}}, "internal/queue.TestALeaseRestsOnTheHandshakeOfANewConnectionAtOnce"},
	{mutant{"everybody has a connection before the observer is told of it", []edit{
		{"internal/client/connection.go", "\tc.observer.Connected(l, timeout)\n\tif !c.publish(l, l.ID) {", "\tpublished := c.publish(l, l.ID)\n\tc.observer.Connected(l, timeout)\n\tif !published {"},
	}}, "internal/client.TestNobodyHasAConnectionThatTheObserverDoesNotKnow"},
	{mutant{"a touch counts from when its request's write has returned", []edit{
		{"internal/wire/link.go", "\tif l.pass(p) == nil {", `	err := l.pass(p)
	l.mu.Lock()
	if r, noted := l.pending[xidOf(p)]; noted {
		r.sent = l.dialer.Clock.Now()
		l.pending[xidOf(p)] = r
	}
	l.mu.Unlock()
	if err == nil {`},
	}}, "internal/queue.TestATouchCountsFromWhenItsRequestMayHaveBeenWithTheServer"},
	{mutant{"a delete counts as sent before it is written", []edit{
		{"internal/wire/outbox.go", `		_, err := l.Conn.Write(buf)
		for _, r := range ours {
			r.wrote()
		}
`, `		for _, r := range ours {
			r.wrote()
		}
		_, err := l.Conn.Write(buf)
`},
	}}, "internal/wire.TestAllThatIsReadyGoesOutInOneWriteInTheOrderInWhichItCame"},
	{mutant{"several locks of which the last panics are not given back", []edit{
		{"multi.go", "if !complete {\n\t\t\tlast", "if !complete && err != nil {\n\t\t\tlast"},
	}}, "TestOfSeveralLocksNoneIsHeldWhenTakingOneOfThemPanics"},
	{mutant{"several locks are taken in the order in which they are given", []edit{
		{"multi.go", "slices.SortFunc(m.lockers, func(a, b *Locker) int { return strings.Compare(a.Path(), b.Path()) })", "_ = strings.Compare"},
	}}, "TestMultiLockersNeverWaitForEachOther"},
	{mutant{"TryLock waits for a connection", []edit{
		{"trylock.go", "if c.Current() == nil {", "if c.Current() == nil && false {"},
	}}, "TestATryEndsAtOnceWithoutAConnectionAndElseWithinAThirdOfTheSessionTimeout"},
	{mutant{"TryLock waits for all of the session timeout", []edit{
		{"trylock.go", "lease.TryLimit(s.queue.Client().Timeout()))", "s.queue.Client().Timeout() + 0*lease.TryLimit(0))"},
	}}, "test/sim.TestATryOfSeveralLocksHasOneDeadline"},
	{mutant{"a place that a list has shown is not told of", []edit{
		{"internal/queue/trace.go", "\tcall.Enqueued(", "\tif view != nil {\n\t\treturn\n\t}\n\tcall.Enqueued("},
	}}, "TestTheTraceTellsOfACallAndItsHold"},
	{mutant{"every wake-up lists the queue", []edit{
		{"internal/queue/wait.go", "if !c.succeeds(at, w) {", "if !c.succeeds(at, w) || true {"},
	}}, "test/sim.TestReadersBehindTheSameWriterAreWokenOnce"},
	{mutant{"a dialer has as long as the session timeout leaves", []edit{
		{"internal/wire/dial.go", "min(timeout, d.patience())", "d.patience()"},
	}}, "internal/wire.TestADialHasItsTimeAndCountsAsSlowOnlyIfItHasUsedThatUp"},
	{mutant{"a watch on a node that is gone is waited for", []edit{
		{"internal/client/watch.go", "w.fire(err == zk.ErrNoNode)", "if err != zk.ErrNoNode {\n\t\t\tw.fire(false)\n\t\t}"},
	}}, "test/sim.TestF17APredecessorThatGoesBetweenListAndWatchIsNoticed"},
	{mutant{"what a hold lasts for sure is all that its lease has left", []edit{
		{"internal/queue/limit.go", "s.lease.Sure(now)", "s.lease.Left(now)"},
	}}, "TestWhatIsValidForAWhileLastsWhateverServersDo"},
	{mutant{"the limit of a hold counts while its owner waits for another", []edit{
		{"gate.go", "\th.hold.AwaitOthers()\n", ""},
	}}, "TestTheTimeOfWhoWaitsForAnOwnerThatLostTheLockBeginsWhenThatUnlocks"},
	{mutant{"a release is told as the loss of several locks", []edit{
		{"hold.go", "if errors.Is(cause, ErrLost) {\n\t\t\tlost.Close()", "if cause != nil {\n\t\t\tlost.Close()"},
	}}, "TestAMultiHoldStandsForAllItsLocks"},
}

// besides are tests that find a mutant of the tables too: docs/faults.md and
// docs/claims.md say so.
var besides = []struct{ mutant, test string }{
	{"a lost create is not looked for", "test/sim.TestF02ACreateWhoseReplyIsLostLeavesOneNode"},
	{"a list decides before the server has caught up", "test/sim.TestF04ALostCreateIsFoundThoughTheNextServerLags"},
	{"no session-id comparison", "test/sim.TestF05TheNodeOfADeadSessionIsNotAdopted"},
	{"a delete is tried once", "internal/queue.TestDeletesOfManyNodesWhoseAnswerIsLostAreMadeSureOfByOneMoreTransaction"},
	{"no deadline", "test/sim.TestF13AHolderThatIsCutOffIsToldBeforeTheServerEndsItsSession"},
	{"no list after a reconnect", "test/sim.TestF18APredecessorThatGoesWhileTheWaiterIsDisconnectedIsNoticed"},
	{"answered pings extend the lease", "test/sim.TestF23AFollowerThatIsCutOffWithItsClientCostsTheHoldInTime"},
	{"a lost create is not looked for", "test/nemesis.TestF24ALeaderThatIsKilledDuringCreatesAndDeletesLeavesOneNodeOrNone"},
	{"no proofs", "test/sim.TestAHoldOutlivesAHandshakeThatIsNeverAnsweredAfterARestartBehindAProxy"},
	{"no deadline", "test/nemesis.TestF27WithoutAMajorityCallsEndWithTheirContextsAndLeasesEndHolds"},
	{"the token is the sequence", "test/sim.TestF30ThePathGoesBetweenTwoLocksAndTokensGoOnRising"},
	{"the sequence's end is ignored", "test/sim.TestF31TheEndOfTheCounterGrantsNobodyTwiceAndHeals"},
	{"the wall clock does not count", "test/sim.TestF33AHolderWhoseMachineSleptIsToldBeforeItsSessionEnds"},
	{"no session-id comparison", "test/sim.TestF36AnotherSessionIDWithoutAnExpiredEventCostsTheHold"},
}

// judgements are the mutants of the library with the tests that find them.
func judgements(t *testing.T) []judged {
	t.Helper()
	named := map[string]mutant{}
	for _, m := range all {
		named[m.name] = m
	}
	for _, m := range ofTheLibrary {
		named[m.name] = m.mutant
	}
	found := slices.Clone(ofTheLibrary)
	if !*tables { // some take servers, and minutes
		return found
	}
	for _, b := range besides {
		require.Contains(t, named, b.mutant)
		found = append(found, judged{named[b.mutant], b.test})
	}
	return found
}

func TestTheTestsOfTheLibraryFindEveryMutant(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the library's tests")
	}
	mutants := map[string][]mutant{} // by the package whose test finds them
	judgements := chosenOf(judgements(t), 5)
	for _, m := range judgements {
		of, _ := m.place()
		if !slices.ContainsFunc(mutants[of], func(known mutant) bool { return known.name == m.name }) {
			mutants[of] = append(mutants[of], m.mutant)
		}
	}
	built := map[string]binaries{}
	for of, m := range mutants {
		built[of] = combine(t, of, m)
	}
	tested := map[string]bool{}
	for _, m := range judgements {
		of, test := m.place()
		run := func(m mutant) ([]byte, error) {
			return built[of].of(t, m, "-test.run", "^"+strings.ReplaceAll(test, "/", "$/^")+"$", "-test.timeout", "2m").CombinedOutput()
		}
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			// The runtime chooses among goroutines and channels that are ready at one instant, so
			// some mutants show in most runs only.
			out, err := run(m.mutant)
			for again := 0; err == nil && again < 20; again++ {
				out, err = run(m.mutant)
			}
			var exit *exec.ExitError
			require.True(t, errors.As(err, &exit), "%s did not notice (%v): %s", test, err, out)
			noticed := regexp.MustCompile(`(?m)^(--- FAIL: ` + strings.Split(test, "/")[0] + `|panic: [^t])`) // not: test timed out
			require.Regexp(t, noticed, string(out))
		})
		if tested[m.test] {
			continue
		}
		tested[m.test] = true
		t.Run("none for "+m.test, func(t *testing.T) {
			t.Parallel()
			out, err := run(mutant{})
			require.NoError(t, err, "%s", out)
		})
	}
}

// place returns the directory of the package whose test finds the mutant, test/lock if none is
// named, and the test.
func (m judged) place() (of, test string) {
	if dot := strings.Index(m.test, ".Test"); dot >= 0 {
		return filepath.Join(root, m.test[:dot]), m.test[dot+1:]
	}
	return filepath.Join(root, "test/lock"), m.test
}

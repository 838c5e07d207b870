package mutants

import (
	"errors"
	"os/exec"
	"path/filepath"
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
	{mutant{"a member's path is refused as a lock's", []edit{
		{"membership/options.go", "return nil, errors.Unwrap(err)", "return nil, err"},
	}}, "membership.TestBadArgumentsAreRefused"},
	{mutant{"a member takes what it has seen for what a write without an answer has left", []edit{
		{"membership/keep.go", "case m.unsure || ", "case "},
	}}, "membership.TestAnUpdateBehindOneWithoutAnAnswerIsConfirmedByTheServer"},
	{mutant{"messages that nobody reads pile up", []edit{
		{"journal.go", "j.lines.Len() >= mostLines", "false"},
	}}, "TestMessagesThatNobodyReadsDoNotPileUp"},
	{mutant{"it is not told that messages are missing", []edit{
		{"journal.go", "log, dropped := j.logger, j.dropped; dropped > 0", "log, dropped := j.logger, j.dropped; false"},
	}}, "TestMessagesThatNobodyReadsDoNotPileUp"},
	{mutant{"a look at a queue that was given up does not count", []edit{
		{"inspect.go", "listed.leave(s)\n", ""},
	}}, "TestLookingAtAQueueAgainAndAgainPilesUpNothingWhileTheServerHangs/Inspect"},
	{mutant{"a wish for a lock that was given up does not count", []edit{
		{"revoke.go", "written.leave(s)\n", ""},
	}}, "TestLookingAtAQueueAgainAndAgainPilesUpNothingWhileTheServerHangs/Revoke"},
	{mutant{"who has the lock is told by a list alone", []edit{
		{"inspect.go", "if found, err = s.read(ctx, found)", "markHolders(found)\n\t\tif found, err = s.read(ctx, found)"},
		{"inspect.go", "markHolders(found)\n\tif slices", "if slices"},
	}}, "TestInspectTellsWhoHasTheLockThatGoesOnMeanwhile"},
	{mutant{"a writer that has gone is taken to have left nobody", []edit{
		{"inspect.go", "look < mostLooks && writersIn", "look < 1 && writersIn"},
	}}, "TestInspectTellsOfTheReaderThatAWriterHasBecomeMeanwhile"},
	{mutant{"who has left the line is taken to have no permits", []edit{
		{"inspect.go", "look < mostLooks && waitersIn", "look < 1 && waitersIn"},
	}}, "TestInspectTellsOfThePermitsThatSomebodyInLineHasTakenMeanwhile"},
	{mutant{"permits are listed ahead of the line", []edit{
		{"inspect.go", "inLine, err := present(s.children(locks).wait(ctx))", "out, err := present(s.children(leases).wait(ctx))"},
		{"inspect.go", "\t\tout, err := present(s.children(leases).wait(ctx))\n\t\tif err != nil {\n\t\t\treturn nil, err\n\t\t}\n\t\tfound = nil", "\t\tinLine, err := present(s.children(locks).wait(ctx))\n\t\tif err != nil {\n\t\t\treturn nil, err\n\t\t}\n\t\tfound = nil"},
	}}, "TestInspectTellsOfThePermitsThatSomebodyInLineHasTakenMeanwhile"},
	{mutant{"who looks at the permits when its time is up forgets that it has waited for them", []edit{
		{"semaphore.go", "turn.contender.behind = true\n", ""},
	}}, "TestAWaiterForPermitsSaysThatTheyAreTakenAlsoIfItsTimeIsUpWhileItLooks"},
	{mutant{"who has come to its turn at a semaphore forgets that it has waited for it", []edit{
		{"wait.go", "c.behind = true\n\t\t\th, err", "h, err"},
	}}, "TestAWaiterForPermitsSaysThatTheyAreTakenAlsoIfItsTimeIsUpWhileItLooks"},
	{mutant{"a try is refused for what its own session has left", []edit{
		{"queue.go", "recipe.AnyBlocks(q.session.wanted(view.names), q.kind)", "true"},
	}}, "TestATryIsNotRefusedForWhatItsOwnSessionHasLeft"},
	{mutant{"a node that is left as soon as it is known counts as wanted", []edit{
		{"contender.go", "c.quit = true\n", ""},
	}}, "TestATryIsNotRefusedForWhatItsOwnSessionHasLeft"},
	{mutant{"a try waits for the end of a node that cannot be deleted", []edit{
		{"queue.go", "again > mostTries ||", ""},
	}}, "TestATryDoesNotWaitForANodeThatItsSessionCannotDelete"},
	{mutant{"a try for permits is refused for those that its own session has left", []edit{
		{"semaphore.go", "len(session.wanted(out.names))+n", "len(out.names)+n"},
	}}, "TestATryForPermitsIsNotRefusedForWhatItsOwnSessionHasLeft"},
	{mutant{"a member says that the lock is taken though its cohort has not reached the queue", []edit{
		{"cohort.go", "case !queued:", "case !queued && false:"},
	}}, "TestAMemberIsToldThatTheLockIsTakenIfItsCohortStandsInTheQueue"},
	{mutant{"without an owner a reader gives the newest hold back, though one is lost", []edit{
		{"readers.go", "return r.hold.Err() != nil", "return false"},
	}}, "TestWithoutOwnerAReaderThatHasLostTheLockGivesNobodyElsesHoldBack"},
	{mutant{"without an owner a reader is told of the newest hold's loss", []edit{
		{"readers.go", "return held[0]", "return held[len(held)-1]"},
	}}, "TestWithoutOwnerAReaderIsToldOfTheLossThoughAnotherHasUnlockedMeanwhile"},
	{mutant{"a MultiLocker's way out waits without its ctx", []edit{
		{"multi.go", "l.unlockSlow(ctx, l.tenancy.end)", "l.unlockSlow(context.Background(), l.tenancy.end)"},
	}}, "TestEveryCallReturnsWhenItsContextEnds/plain/MultiLocker.LockContext_last"},
	{mutant{"a MultiLocker leaves its callbacks at a long hold", []edit{
		{"multi.go", "for _, stop := range m.stop {\n\t\tstop()\n\t}", ""},
	}}, "TestAskingAMultiLockerForItsLossLeavesNothingAtALongHold"},
	{mutant{"the client is closed before it is answered", []edit{
		{"session.go", "s.dialer.Stop()", "s.dialer.Cut()"},
	}}, "TestConnectReturnsWhenItsContextEndsAndLeavesNothing"},
	{mutant{"the client sleeps at a host provider's word", []edit{
		{"internal/wire/hosts.go", "server, _ = h.HostProvider.Next() })\n\treturn server, false", "server, retryStart = h.HostProvider.Next() })\n\treturn server, retryStart"},
	}}, "TestConnectReturnsWhenItsContextEndsAndLeavesNothing"},
	{mutant{"a writer that asks for reading does not wait for what it has left behind", []edit{
		{"downgrade.go", "if err := q.session.makeRoom(ctx); err != nil {", "if err := error(nil); err != nil {"},
	}}, "TestAWriterThatPollsForReadingWhileTheServerHangsPilesUpNothing"},
	{mutant{"Connect waits for the answer to a login", []edit{
		{"session.go", "s.close(0)", "s.close(requestPatience)"},
	}}, "TestConnectReturnsWhenItsContextEndsAndLeavesNothing"},
	{mutant{"Connect waits for a server that has refused its credentials", []edit{
		{"session.go", "s.close(0)", "s.close(map[bool]time.Duration{true: requestPatience}[ctx.Err() == nil])"},
	}}, "TestConnectDoesNotWaitForAServerThatHasRefusedItsCredentials"},
	{mutant{"Connect passes on that a dial's time was up", []edit{
		{"session.go", "case looksEnded(failure):", "case false:"},
	}}, "TestConnectThatIsCancelledDoesNotSayThatADeadlineHasPassed"},
	{mutant{"containers are asked for until they are had", []edit{
		{"parents.go", "case s.containers == containersDoubted:", "case false:"},
	}}, "TestALockBelowAMissingPathOnAServerWithoutContainersSuspendsTheOthersOnce"},
	{mutant{"an answer that there are no containers is forgotten", []edit{
		{"parents.go", "case client.Unimplemented(err):", "case false:"},
	}}, "TestALockBelowAMissingPathOnAServerWithoutContainersSuspendsTheOthersOnce"},
	{mutant{"a hold is resumed while containers are in doubt", []edit{
		{"proof.go", "&& s.containers != containersDoubted", ""},
	}}, "TestALockBelowAMissingPathOnAServerWithoutContainersSuspendsTheOthersOnce"},
	{mutant{"containers are asked for side by side from the start", []edit{
		{"parents.go", "if s.containersAre(containersServed) {", "if !s.containersAre(containersRefused) {"},
	}}, "TestManyLocksBelowMissingPathsWithoutContainersSuspendTheOthersOnce"},
	{mutant{"a doubt about containers is left with its caller", []edit{
		{"parents.go", "return struct{}{}, s.persist(s.ctx, func() error {", "return struct{}{}, s.persist(ctx, func() error {"},
	}}, "TestADoubtAboutContainersIsSettledWhenItsCallerHasLeft"},
	{mutant{"one lost connection speaks against containers", []edit{
		{"parents.go", "default:\n\t\ts.containers = containersDoubted", "default:\n\t\ts.refuseContainers(cause)"},
	}}, "TestALostConnectionIsNoWordAgainstContainers"},
	{mutant{"a connection that we cut speaks against containers", []edit{
		{"epoch.go", "if hungUp {", "if _ = hungUp; true {"},
	}}, "TestALostConnectionIsNoWordAgainstContainers"},
	{mutant{"who stands in the queue is told to get nowhere", []edit{
		{"watchdog.go", "case v.queued:", "case false:"},
	}}, "TestWhoStandsInTheQueueIsNotTold"},
	{mutant{"every call tells that there is no connection", []edit{
		{"watchdog.go", "other != nil && !other.stands()", "other != nil && false"},
	}}, "TestALockWithoutAConnectionIsToldOnceForAll"},
	{mutant{"a call that was told, and stands in the queue by now, speaks for the others", []edit{
		{"watchdog.go", "other != nil && !other.stands()", "other != nil"},
	}}, "TestACallThatHasGotIntoTheQueueKeepsNoOtherFromBeingTold"},
	{mutant{"a call that gets nowhere is told again and again", []edit{
		{"watchdog.go", "case !v.tell():", "default:\n\t\tclear(v.session.told)\n\t\tv.tell()"},
	}}, "TestALockWhoseServerDoesNotAnswerIsTold"},
	{mutant{"connect requests without an answer are kept for ever", []edit{
		{"internal/lease/unheard.go", "u.Any(now, timeout) //", "//"},
	}}, "internal/lease.TestConnectRequestsWithoutAnAnswerAreForgottenInTime"},
	{mutant{"a pause between tries outlives the session", []edit{
		{"retry.go", "case <-s.ctx.Done():\n\t\treturn ErrClosed\n", ""},
	}}, "TestALockThatIsTriedAgainAndAgainEndsWithItsSession"},
	{mutant{"nobody looks whether a successor's node is there", []edit{
		{"janitor.go", "checks(holders)...", "checks(nil)..."},
	}}, "internal/sim.TestASuccessorWhoseNodeIsGoneLosesTheLockBeforeTheNextIsGranted"},
	{mutant{"several locks are had without a look at the clock", []edit{
		{"multi.go", "!h.Valid()", "h.Err() != nil"},
	}}, "internal/sim.TestSeveralLocksOfTwoSessionsAreHadWhileBothLeasesRun"},
	{mutant{"deletes overtake each other", []edit{
		{"janitor.go", "before := b.before; before != nil && before.link != nil", "before := b.before; false"},
	}}, "TestALockThatAllHaveUnlockedIsFreeToItsSessionAtOnce"},
	{mutant{"a counter that cannot start afresh is waited for", []edit{
		{"queue.go", "if err := q.startAfresh(ctx); err != nil {", "if err := q.startAfresh(ctx); false {"},
	}}, "TestTheEndOfACounterThatCannotStartAfreshIsAnError"},
	{mutant{"a number that is there twice is the end of the counter", []edit{
		{"internal/recipe/order.go", "return at, ErrTwice", "return at, ErrUnordered"},
	}}, "TestANodeWithTheNumberOfAContenderIsNotTheEndOfTheCounter"},
	{mutant{"who joins does not wait for the members that earlier calls have left behind", []edit{
		{"membership/member.go", "client.CleanUp(s, m.awaitEnd)", "_ = m.awaitEnd"},
	}}, "membership.TestJoiningAgainAndAgainWithoutAServerDoesNotPileUpWork"},
	{mutant{"a lock that came from a node that is gone is not looked at again", []edit{
		{"janitor.go", "if !reviewed {", "if reviewed {"},
	}}, "TestALockIsNotHandedOnFromAQueueThatWasDeletedToTheNext"},
	{mutant{"a lock that has gone on meanwhile is not looked at again", []edit{
		{"janitor.go", "holder := c.holder()\n\tswitch", "holder := c\n\tswitch"},
	}}, "TestALockIsNotHandedOnFromAQueueThatWasDeletedToTheNext"},
	{mutant{"the counter starts afresh without a look at the successor", []edit{
		{"janitor.go", "len(s.holders(batch)) == 0 && s.resetCounter", "s.resetCounter"},
	}}, "TestASuccessorWhoseNodeIsDeletedNearTheCountersEndLosesTheLockAtOnce"},
	{mutant{"a review of a lock that is free by now does not end", []edit{
		{"janitor.go", "case holder == nil:\n\t\treturn nil", "case holder == nil:\n\t\treturn c"},
	}}, "TestAReviewOfTheQueueEndsTheHoldOfOneThatDoesNotLeadItAndNoOther"},
	{mutant{"a review goes on for as long as the lock does", []edit{
		{"janitor.go", "case err == nil && at.Ahead == 0:\n", "case holder != c:\n\t\treturn holder\n\tcase err == nil && at.Ahead == 0:\n"},
	}}, "TestAReviewOfTheQueueEndsTheHoldOfOneThatDoesNotLeadItAndNoOther"},
	{mutant{"a node of ours that is gone since the list was made is in the way", []edit{
		{"janitor.go", "(other == nil || other.leaving != nil)", "other != nil && other.leaving != nil"},
	}}, "TestAReviewOfTheQueueEndsTheHoldOfOneThatDoesNotLeadItAndNoOther"},
	{mutant{"a review without a reply takes the lock away", []edit{
		{"janitor.go", "if err != nil && transient(err) {\n\t\t\t\treturn err", "if false {\n\t\t\t\treturn err"},
	}}, "TestAReviewOfTheQueueWithoutAReplyIsMadeAgainAndCostsNoHold"},
	{mutant{"whom a lock went on to is not checked", []edit{
		{"janitor.go", "responses[first:first+1])", "responses[first:first+1])\n\t\t\tbatch = nil"},
	}}, "TestWhomALockWentOnToIsCheckedBeforeTheNodeGoesThatKeepsOthersFromIt"},
	{mutant{"all that waits to be deleted is one request", []edit{
		{"janitor.go", "batches(s.removals, (*removal).size)", "batches(s.removals, func(*removal) int { return 1 })"},
	}}, "TestDeletesOfLongPathsAreRequestsThatAServerTakes"},
	{mutant{"Unlock waits for the first of the deletes that go ahead", []edit{
		{"janitor.go", "last := b.requests[len(b.requests)-1]", "last := b.requests[0]"},
	}}, "TestUnlockReturnsWhenItsOwnDeleteHasBeenSent"},
	{mutant{"each hold knows the next", []edit{
		{"succession.go", "next.succession, c.succession.holder = c.succession, next", "c.succession.holder = next"},
	}}, "TestAnOldHoldKeepsNoLaterOnesInMemory"},
	{mutant{"an Unlock takes whatever hold there is", []edit{
		{"reentrant.go", "!o.hold.CompareAndSwap(h, nil)", "h = o.hold.Swap(nil); h == nil"},
	}}, "TestASecondUnlockWithoutOwnerGivesNobodyElsesHoldBack"},
	{mutant{"nobody is told that a member's session is closed", []edit{
		{"membership/keep.go", "m.sessionClosed()\n", ""},
	}}, "membership.TestAMemberOfAClosedSessionIsNotRegistered"},
	{mutant{"an answer by another connection is believed", []edit{
		{"listing.go", "case err == nil, errors.Is(err, zk.ErrNoNode):", "case err == nil:"},
	}}, "TestAnAnswerByAnotherConnectionCatchesNobodyUp"},
	{mutant{"a connection that is gone is caught up on", []edit{
		{"listing.go", "<-l.CatchingUp }()\n\tif s.current() != l {", "<-l.CatchingUp }()\n\tif false {"},
	}}, "TestNobodyCatchesUpOnAConnectionThatIsGone"},
	{mutant{"a lock is handed over though its node may be checked", []edit{
		{"succession.go", "if c.checked || next == nil", "if next == nil"},
	}}, "TestACheckFailsOnceTheLockWentToAnotherOfTheSession"},
	{mutant{"permits are adopted though some of them are gone", []edit{
		{"create.go", "if len(nodes) < c.entry.nodes {", "if false {"},
	}}, "TestAHoldHasAllItsPermitsOrIsNone"},
	{mutant{"permits are given up for lost when the first of them is gone", []edit{
		{"create.go", "err = errStale // of several", "err = errNotThere // of several"},
	}}, "TestPermitsThatArePartlyDeletedWhileTheyAreLookedForDoNotStay"},
	{mutant{"a turn is given up when the permits cannot be taken at once", []edit{
		{"semaphore.go", "if err == nil || turn.Err() != nil {", "if true {"},
	}}, "TestPermitsThatCannotBeTakenAtOnceKeepTheirTurn"},
	{mutant{"a permit's number has no sign", []edit{
		{"internal/recipe/name.go", "|| strings.HasSuffix(name[:marker], permitMarker+\"-\"))", ")"},
	}}, "TestPermitsAtTheEndOfTheCounterAreSeenAndAskedFor"},
	{mutant{"a node is watched once", []edit{
		{"contender.go", "c.guarded = nil //", "//"},
	}}, "TestADeletionAfterARevocationIsSeenByTheOneThatWaited"},
	{mutant{"a negative number has ten digits", []edit{
		{"internal/recipe/name.go", "strings.TrimPrefix(number, \"-\")", "digits"},
	}}, "TestANodeOfAnyNegativeNumberIsInTheWay"},
	{mutant{"a wall clock that is set back makes up for a sleep", []edit{
		{"internal/clock/clock.go", "k.slept += max(lead-k.lead, 0)", "k.slept = lead"},
	}}, "internal/lease.TestAWallClockThatIsSetBackDoesNotMakeUpForALaterSleep"},
	{mutant{"what a pause took is what proofs take", []edit{
		{"internal/lease/speed.go", "&& (followed || took <= least)", ""},
	}}, "internal/lease.TestAProofThatMayHaveWaitedForAPausedLeaderMakesTheNextOneNoQuicker"},
	{mutant{"the cause of a ctx is taken for an answer of the server", []edit{
		{"errors.go", " && !looksEnded(err)", ""},
	}}, "TestTheCauseOfACtxIsToldAndNotTakenForAnAnswerOfTheServer"},
	{mutant{"a member does not tell why its ctx has ended", []edit{
		{"membership/member.go", "return ended(ctx)", "return ctx.Err()"},
	}}, "TestTheCauseOfACtxIsToldAndNotTakenForAnAnswerOfTheServer"},
	{mutant{"the error of a connection is passed on", []edit{
		{"internal/wire/link.go", "err = zk.ErrConnectionClosed", "_ = zk.ErrConnectionClosed"},
	}}, "TestTheErrorOfAConnectionIsNotTakenForTheEndOfACtx"},
	{mutant{"a member whose time is up as its turn comes is told nothing of the lock", []edit{
		{"cohort.go", "return nil, timedOut(ctx, ended(ctx))", "return nil, ended(ctx)"},
	}}, "TestTheLockIsHeldByAnotherUntilTheMomentOfItsHandover"},
	{mutant{"whatever ends the hold of a MultiLocker's owner is a loss", []edit{
		{"multi.go", "return over\n", "return ErrLost\n"},
	}}, "TestAMultiLockerThatIsLockedOnceMoreAsItsSessionIsClosedIsNotLost"},
	{mutant{"a look that comes late leaves the timer that was set", []edit{
		{"proof.go", "s.stopLooking() // the timer", "s.expiry = nil // the timer"},
	}}, "TestTheLeaseIsLookedAtByOneTimer"},
	{mutant{"a proof that is taken late takes back what a newer one has proved", []edit{
		{"internal/lease/lease.go", "if in.Unheard {\n\t\tend = clock", "if false {\n\t\tend = clock"},
		{"internal/lease/lease.go", "l.proved = now\n", "if in.Unheard {\n\t\tl.Shorten(UnheardEnd(p.Begun, in.Timeout))\n\t}\n\tl.proved = now\n"},
	}}, "TestAProofThatIsTakenLateLeavesTheLeaseToANewerOne"},
	{mutant{"a proof counts from its answer", []edit{
		{"proof.go", "s.epoch.Prove(", "p.Begun = now\n\ts.epoch.Prove("},
	}}, "TestAProofThatIsTakenLateLeavesTheLeaseToANewerOne"},
	{mutant{"a connect request leaves the end of the lease to the timer", []edit{
		{"connection.go", "s.look(s.clock.Now()) //", "//"},
	}}, "TestALeaseThatIsOverWhenAConnectRequestGoesOutIsOverAtOnce"},
	{mutant{"a connect request leaves the next look where it is", []edit{
		{"connection.go", "s.look(s.clock.Now()) //", "s.lapse(s.epoch, s.clock.Now()) //"},
	}}, "TestALeaseThatAConnectRequestShortensIsLookedAtMoreOftenFromThenOn"},
	{mutant{"a connection is counted when everybody has it", []edit{
		{"internal/wire/handshake.go", "l.dialer.rewatch.connected() //", "//"},
		{"internal/wire/handshake.go", "l.dialer.session.Connected(l, timeout)\n", "l.dialer.session.Connected(l, timeout)\n\tl.dialer.rewatch.connected()\n"},
	}}, "TestAConnectionIsCountedBeforeAnybodyHasIt"},
	{mutant{"a user's own request for a container puts containers in doubt", []edit{
		{"parents.go", "case s.containersAsked == 0:", "case false:"},
	}}, "TestAUsersOwnRequestForAContainerSaysNothingOfWhatTheSessionMayAskFor"},
	{mutant{"a proof is waited for on whatever connection", []edit{
		{"proof.go", "}).waitOn(ctx, p.link)", "}).wait(ctx)"},
	}}, "TestAServerThatHangsWithAProofOfTheConnectionBeforeIsLeftInTime"},
	{mutant{"a semaphore's size is read on whatever connection", []edit{
		{"semaphore.go", "case err == nil && session.current() != l:", "case err == nil && l == nil:"},
	}}, "TestASemaphoresSizeCountsOnTheConnectionOnWhichItIsAsNewAsHasToBe"},
	{mutant{"a request to set watches again is the last if it is a little short of full", []edit{
		{"internal/wire/rewatch.go", "FullRequest = 120 << 10", "FullRequest = 127 << 10"},
	}}, "TestAllRequestsThatSetWatchesAgainButTheLastAreFull"},
	{mutant{"a user's error is asked for its text under the session's mutex", []edit{
		{"watchdog.go", "because{\"there is no connection\", s.failure}", "because{\"there is no connection\", s.failure}.Error()"},
	}}, "TestAUsersErrorMayCallTheSessionThatLogsIt"},
	{mutant{"a user's error is asked for what it is under the session's mutex", []edit{
		{"epoch.go", "hungUp := hungUp(cause) // which calls methods of a user's error\n\ts.mu.Lock()\n\tdefer s.mu.Unlock()", "s.mu.Lock()\n\tdefer s.mu.Unlock()\n\thungUp := hungUp(cause)"},
	}}, "TestAUsersErrorMayCallTheSessionThatLogsIt"},
	{mutant{"who serves nobody is waited for until it says so", []edit{
		{"internal/wire/handshake.go", "case <-late.C:\n\t\tl.hangUp = hangUp\n", ""},
	}}, "TestAHoldOutlivesAReconnectWithoutDeadlines"},
	{mutant{"a handshake has no limit but the connection's own", []edit{
		{"internal/wire/handshake.go", "l.bearSilence(l.limit)\n", "l.Conn.SetDeadline(time.Now().Add(l.limit))\n"},
	}}, "TestAHandshakeWithoutDeadlinesIsGivenUp"},
	{mutant{"silence has no limit but the connection's own", []edit{
		{"internal/wire/link.go", "l.bearSilence(time.Until(t))", "return l.Conn.SetReadDeadline(t)"},
	}}, "TestAHalfOpenConnectionWithoutDeadlinesIsGivenUp"},
	{mutant{"after a reconnect the watches go ahead of the proof", []edit{
		{"epoch.go", "c.guardLater()", "c.guard()"},
	}}, "TestAfterAReconnectAProofGoesAheadOfTheWatches"},
	{mutant{"a grant leaves no time for the next proof", []edit{
		{"internal/lease/lease.go", "left > part(in.Timeout, sparePart) ||", "left > 0 ||"},
	}}, "internal/sim.TestAGrantLeavesTimeForTheNextProof"},
	{mutant{"who is so slow that a proof leaves no time for the next gets no lock", []edit{
		{"internal/lease/lease.go", "left > 0 && l", "false && l"},
	}}, "internal/sim.TestASlowServerGetsAClientBackWhoseSessionHasExpired"},
	{mutant{"a server that is slow all the time is taken for one that hangs", []edit{
		{"internal/lease/speed.go", "max(left/2, min(2*s.lastProof, left))", "left/2"},
	}}, "internal/sim.TestAHoldOutlivesServersThatAreSlowAllTheTime"},
	{mutant{"the first proof over a connection has half of what the lease has left, however far the server", []edit{
		{"internal/wire/handshake.go", "lease.NewSpeed(l.dialer.Clock.Now().Least(l.Asked))", "lease.NewSpeed(0)"},
	}}, "internal/sim.TestF19AHungServerCostsNoHoldWhileAnotherAnswersFromFarAway"},
	{mutant{"each hold's node is seen to before the next hold is lost", []edit{
		{"epoch.go", "rest = append(rest, c.lose(cause))", "c.vanish(cause)"},
	}}, "TestAllHoldsAreLostBeforeTheirNodesAreSeenTo"},
	{mutant{"a context that does not say why it has ended is a success", []edit{
		{"errors.go", "return context.Canceled\n", "return nil\n"},
	}}, "TestACallWhoseContextDoesNotSayWhyItHasEndedIsNoSuccess/Locker,_hand-off,_LockContext"},
	{mutant{"a context is asked under the session's lock before a grant", []edit{
		{"contender.go", "if s.link != seen {", "if ctx.Err() != nil || s.link != seen {"},
	}}, "TestTheMethodsOfAContextMayAskTheSession"},
	{mutant{"a context is asked under the session's lock before a lock is taken over", []edit{
		{"succession.go", "over := ctx.Err() != nil //", "c.queue.session.mu.Lock()\n\tover := ctx.Err() != nil\n\tc.queue.session.mu.Unlock() //"},
	}}, "TestTheMethodsOfAContextMayAskTheSession"},
	{mutant{"the end of a hold calls methods of its parent context", []edit{
		{"hold.go", "ctx, end := context.WithCancelCause(between)", "_ = between\n\tctx, end := context.WithCancelCause(context.WithValue(parent, holdKey{}, h))"},
	}}, "TestTheMethodsOfAContextMayAskTheSession"},
	{mutant{"a hold that began without a connection is not told of the next one's loss", []edit{
		{"epoch.go", "if s.epoch != nil {\n\t\ts.epoch.suspended = s.tell", "if s.epoch != nil && !s.epoch.suspended {\n\t\ts.epoch.suspended = s.tell"},
	}}, "TestAHoldThatBeganWithoutAConnectionIsToldOfTheLossOfTheNext"},
	{mutant{"a hold is suspended twice", []edit{
		{"history.go", "if h == nil || !h.cut.IsZero() {", "if h == nil {"},
	}}, "TestAHoldThatBeganWithoutAConnectionIsToldOfTheLossOfTheNext"},
	{mutant{"a path is left that a call has made for nothing", []edit{
		{"queue.go", "above.leave()", "_ = above"},
	}}, "TestACallThatEndsWhileItsPathIsMadeLeavesNoPath/a_lock"},
	{mutant{"the path of permits is left that a call has made for nothing", []edit{
		{"semaphore.go", "above.leave()", "_ = above"},
	}}, "TestACallThatEndsWhileItsPathIsMadeLeavesNoPath/a_semaphore"},
	{mutant{"a path is taken back that somebody has written to", []edit{
		{"parents.go", "s.conn.Delete(p.ours, p.version)", "s.conn.Delete(p.ours, -1)"},
	}}, "TestAPathThatSomebodyElseUsesIsNotTakenBack"},
	{mutant{"a path is taken back that somebody has made anew", []edit{
		{"parents.go", "p.ours = \"\"", "_ = p.ours"},
	}}, "TestAPathThatSomebodyElseUsesIsNotTakenBack/since_it_was_made_anew"},
	{mutant{"a path that was made in part is left", []edit{
		{"parents.go", "p.ours = dir", "if p.ours = \"\"; dir == p.dir {\n\t\t\t\tp.ours = dir\n\t\t\t}"},
	}}, "TestAPathThatCannotBeMadeWholeIsTakenBack"},
	{mutant{"a path is left that a member has made for nothing", []edit{
		{"membership/keep.go", "m.leavePath()", "_ = m.leavePath"},
	}}, "membership.TestAJoinThatEndsWhileItsPathIsMadeLeavesNoPath"},
	{mutant{"what goes on in the background uses its call's context", []edit{
		{"watchdog.go", "v, kept := ctx.(*watchdog)", "v, kept := ctx.Value(0).(*watchdog)"},
	}}, "TestWhatACallLeavesToTheBackgroundDoesNotUseItsContext"},
	{mutant{"the client's goroutines ask a user's error for its text", []edit{
		{"journal.go", "j.add(func() { j.logger.Debug(fmt.Sprintf(\"zk: \"+format, args...)) })", "j.Debug(fmt.Sprintf(\"zk: \"+format, args...))"},
	}}, "TestAnErrorThatEndsTheGoroutineThatReadsItCostsTheSessionNothing"},
	{mutant{"a context is asked while its create is on its way", []edit{
		{"create.go", "case <-done:\n\t\tc.quitLater()\n\t\ts.cleanUp(func() {\n\t\t\t<-created.done", "case <-ctx.Done():\n\t\ts.cleanUp(func() {\n\t\t\t<-created.done"},
	}}, "TestAContextThatPanicsCostsNobodyTheLock"},
	{mutant{"a context that panics keeps a turn at the permits", []edit{
		{"semaphore.go", "\tdefer func() {\n\t\tturn.sendRelease(ctx, nil)\n\t\treleased = true\n\t}()\n", "\treleased = true\n\tdefer func() {\n\t\tif h != nil || err != nil {\n\t\t\tturn.sendRelease(ctx, nil)\n\t\t}\n\t}()\n"},
	}}, "TestAContextThatPanicsCostsNobodyTheLock"},
	{mutant{"a context that panics as the turn is given back keeps the permits", []edit{
		{"semaphore.go", "if !released && h != nil {", "if !released && h != nil && err != nil {"},
	}}, "TestAContextThatPanicsCostsNobodyTheLock"},
	{mutant{"a context that panics keeps a node that is granted at once", []edit{
		{"create.go", "if h == nil {", "if err != nil {"},
	}}, "TestAContextThatPanicsCostsNobodyTheLock"},
	{mutant{"a context that panics keeps the hold of who waits for an owner here", []edit{
		{"tenancy.go", "confirmed := h.contender.confirm(held) == nil\n\tdetach()\n", "confirmed := h.contender.confirm(held) == nil\n"},
	}}, "TestAContextThatPanicsCostsNobodyTheLockOfALatecomer"},
	{mutant{"a context that panics keeps Connect's session", []edit{
		{"session.go", "if !stands {", "if !stands && ctx.Err() != nil {"},
	}}, "TestAContextThatPanicsLeavesNoSession"},
	{mutant{"a context that panics keeps a member", []edit{
		{"membership/member.go", "joined := false", "joined := true"},
	}}, "TestAContextThatPanicsLeavesNoMember"},
	{mutant{"a member waits for the user's functions", []edit{
		{"membership/state.go", "m.telling.Go(m.news.Run)", "done := make(chan struct{})\n\t\tgo func() { defer close(done); m.news.Run() }()\n\t\t<-done"},
	}}, "membership.TestAMemberDoesNotWaitForUsersCode"},
	{mutant{"the client remembers every watch", []edit{
		{"watch.go", "w.data, w.stat, err = s.conn.Get(key.path)", "w.data, w.stat, _, err = s.conn.GetW(key.path)"},
	}}, "TestTheClientRemembersNoWatchThroughReconnects"},
	{mutant{"the link asks for no watch", []edit{
		{"internal/wire/link.go", "p[len(p)-1] = 1 //", "_ = p //"},
	}}, "TestTheClientRemembersNoWatchThroughReconnects"},
	{mutant{"several locks are kept when the trace of one panics", []edit{
		{"multi.go", "if taken < len(m.lockers) {", "if p := recover(); p != nil {\n\t\t\tpanic(p)\n\t\t}\n\t\tif taken < len(m.lockers) {"},
	}}, "TestAFunctionOfATraceThatDoesNotReturnLeavesNothingBehind/MultiLocker,_Lock,_Acquired_panics,_2"},
	{mutant{"a connection that was given up is taken for the session's", []edit{
		{"epoch.go", "!latch.IsClosed(l.Down())", "true"},
	}}, "TestAConnectionThatIsGivenUpAsItIsAnsweredIsNone"},
	{mutant{"TLS takes its leave of a server that hangs", []edit{
		{"internal/wire/dial.go", "return secureConn{secure}, nil", "return secure, nil"},
	}}, "TestAHoldOutlivesATunnelThatHangs"},
	{mutant{"Unlock near the counter's end waits for the wrong delete", []edit{
		{"janitor.go", "ops := append([]any{&zk.CheckVersionRequest{Path: dir, Version: -1}}, deletes(nodes)...)", "ops := deletes(nodes)"},
	}}, "TestUnlockNearTheEndOfACounterThatCannotStartAfreshLeavesTheLockFree"},
	{mutant{"a lock that was waited for is retained unseen", []edit{
		{"cohort.go", "t.company == unknown && c.alone)", "t.company == unknown)"},
	}}, "TestALockIsNotRetainedPastOneWhoWaits"},
	{mutant{"a lock is retained past the others of its session", []edit{
		{"cohort.go", "!t.queue.inLineLocked() && (t.company", "(t.company"},
	}}, "TestALockIsNotRetainedPastOneWhoWaits"},
	{mutant{"a retained lock is taken again past the others of its session", []edit{
		{"cohort.go", "case t.queue.inLineLocked():", "case false:"},
	}}, "TestARetainedLockIsNotTakenAgainPastOneOfItsSessionWhoWaits"},
	{mutant{"a cohort forgets whom it has seen when one more comes", []edit{
		{"cohort.go", "case w.err != nil:\n\t\treturn unknown\n\tcase othersAmong", "case w.err != nil || w.hasFired():\n\t\treturn unknown\n\tcase othersAmong"},
	}}, "TestACohortThatHasSeenOthersKnowsThemWhenOneMoreComes"},
	{mutant{"a cohort hears of the others of its session from the queue", []edit{
		{"cohort.go", "(t.company != alone || t.queue.inLineLocked())", "t.company != alone"},
	}}, "TestACohortEndsItsTurnForAnotherOfItsSession"},
}

func TestTheTestsOfTheLibraryFindEveryMutant(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the library's tests")
	}
	mutants := map[string][]mutant{} // by the package whose test finds them
	for _, m := range ofTheLibrary {
		of, _ := m.place()
		mutants[of] = append(mutants[of], m.mutant)
	}
	built := map[string]binaries{}
	for of, m := range mutants {
		built[of] = combine(t, of, m)
	}
	tested := map[string]bool{}
	for _, m := range ofTheLibrary {
		of, test := m.place()
		run := func(m mutant) ([]byte, error) {
			return built[of].of(t, m, "-test.run", "^"+strings.ReplaceAll(test, "/", "$/^")+"$", "-test.timeout", "2m").CombinedOutput()
		}
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			out, err := run(m.mutant)
			var exit *exec.ExitError
			require.True(t, errors.As(err, &exit), "%s did not notice (%v): %s", test, err, out)
			require.Contains(t, string(out), "--- FAIL: "+strings.Split(test, "/")[0])
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

// place returns the directory of the package whose test finds the mutant, and the test.
func (m judged) place() (of, test string) {
	if dot := strings.Index(m.test, ".Test"); dot > 0 {
		return filepath.Join(root, m.test[:dot]), m.test[dot+1:]
	}
	return root, m.test
}

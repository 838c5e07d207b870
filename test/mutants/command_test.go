package mutants

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
)

const (
	command = "cmd/zklock"
	job     = command + "/internal/job"
	cli     = command + "/internal/cli"
	uiPage  = command + "/internal/ui"
)

// ofTheCommand are mutants that a test of the command finds, on a real ZooKeeper.
var ofTheCommand = []struct {
	mutant
	of, test string
}{
	{mutant{"a process that is born during the search for it keeps no lock", []edit{
		{job + "/search_linux.go", "again, nothing := search(k, others, everything)", "again := first"},
	}}, command, "TestTheLockIsKeptWhileEachProcessLeavesItsWorkToTheNext"},
	{mutant{"a process that is left to another during the search for it keeps no lock", []edit{
		{job + "/search_linux.go", "nothing && slices.Equal(first, again)", "nothing || slices.Equal(first, again)"},
	}}, job, "TestNobodyIsOverlookedWhileProcessesLeaveTheirWorkToOthers"},
	{mutant{"one that ends during the search was there for nobody", []edit{
		{job + "/search_linux.go", "case counts && !k.isOver(pid):\n\t\t\t\treturn nil, false", "case counts && k.isOver(pid):\n\t\t\t\tcontinue\n\t\t\tcase counts:\n\t\t\t\treturn nil, false"},
	}}, job, "TestNobodyIsOverlookedWhileProcessesLeaveTheirWorkToOthers"},
	{mutant{"a daemon at work keeps the lock", []edit{
		{job + "/search_linux.go", "!counts && session != pid", "!counts && false"},
	}}, job, "TestADaemonThatIsBusyHoldsNobodyUp"},
	{mutant{"who loses the parent after a loss is left alone", []edit{
		{job + "/supervisor.go", "\t\t\ts.group.endStrays()\n", ""},
	}}, command, "TestWhoLosesTheParentAfterALossIsToldToEndToo"},
	{mutant{"the key that has ended the command gives the lock back", []edit{
		{job + "/master.go", "m.echo.Store(int32(sig))", ""},
	}}, command, "TestTheKeyThatEndsTheCommandDoesNotGiveTheLockBack"},
	{mutant{"a killed keeper's command has all the time that it wants", []edit{
		{job + "/front.go", "return n.KillAfter }", "return time.Hour }"},
	}}, command, "TestAKilledKeepersCommandIsGoneBeforeTheServerGivesTheLockAway"},
	{mutant{"a killed keeper's command has its time once more", []edit{
		{job + "/front.go", "w.said.left()", "w.said.commandState"},
		{job + "/front.go", "-time.Since(r.ending)", ""},
	}}, job, "TestACommandThatIsBeingEndedIsGivenNoMoreTime"},
	{mutant{"a killed keeper's command has more time with each thing that it has told of", []edit{
		{job + "/front.go", "n.Ending && !r.Ending {", "n.Ending {"},
	}}, job, "TestACommandThatIsBeingEndedIsGivenNoMoreTime"},
	{mutant{"a keeper does not tell that the command is to end", []edit{
		{job + "/supervisor.go", "Ending: s.ending, KillAfter", "KillAfter"},
	}}, job, "TestAFrontHearsThatTheCommandIsToEnd"},
	{mutant{"a keeper that is killed when the command is over has lost its lock", []edit{
		{job + "/front.go", "case w.said.Over && code", "case false && code"},
	}}, command, "TestAKeeperThatIsKilledWhileTheLockIsKeptLeavesTheExitCode"},
	{mutant{"a signal at the keeper's beginning is a loss", []edit{
		{job + "/front.go", "status.Signaled() && !w.said.began", "false"},
	}}, job, "TestASignalThatEndsAKeeperAtItsBeginningIsNoLoss"},
	{mutant{"a keeper that is killed while it waits has failed", []edit{
		{cli + "/guarded.go", "errors.As(err, &interrupted)", "errors.As(err, &interrupted) && false"},
	}}, command, "TestAKeeperThatIsKilledWhileItWaitsHasLostNoLock"},
	{mutant{"a signal that comes before the front has heard of the command is lost", []edit{
		{job + "/front.go", "Catch(signals, passed)", "Catch(signals, Ending)"},
	}}, job, "TestASignalIsPassedOnBeforeTheFrontHasHeardOfTheCommand"},
	{mutant{"the first process writes a trace before it dies", []edit{
		{job + "/front.go", "\tdieAtOnce()\n", ""},
	}}, command, "TestASignalThatAbortsEitherProcessEndsTheCommandWhileNobodyReadsErrors"},
	{mutant{"the second process writes a trace before it dies", []edit{
		{job + "/master.go", "\tdieAtOnce()\n", ""},
	}}, command, "TestASignalThatAbortsEitherProcessEndsTheCommandWhileNobodyReadsErrors"},
	{mutant{"a signal that few systems have is left to Go's runtime", []edit{
		{job + "/signals.go", ` "SIGSTKFLT",`, ""},
	}}, job, "TestASignalThatAbortsKillsAtOnce"},
	{mutant{"a signal that is for the command ends the wait", []edit{
		{job + "/signals.go", "slices.Contains(Ending, sig)", "slices.Contains(passed, sig)"},
	}}, command, "TestASignalEndsTheWaitForTheLock"},
	{mutant{"what a killed keeper has not told of goes on", []edit{
		{job + "/front.go", "if !n.Running {", "if n.Group == 0 {"},
	}}, job, "TestACommandWhoseKeeperDiedBeforeItCouldTellIsEnded"},
	{mutant{"the terminal is left to a job of a shell that was killed with it", []edit{
		{job + "/supervisor.go", " && !s.tty.isAbandoned()", ""},
	}}, command, "TestAScriptHasTheTerminalAfterAShellInItWasKilledWithItsJob"},
	{mutant{"the terminal stays with a group that is gone while the rest is waited for", []edit{
		{job + "/supervisor.go", "s.group.ended && s.tty.isAbandoned()", "false"},
	}}, command, "TestTheKeysReachWhatIsLeftOfACommandWhenItsGroupIsGone"},
	{mutant{"a killed keeper's terminal modes are those that its command has set", []edit{
		{job + "/front.go", "\t\tw.end(w.said.left())", "\t\tw.tty = openTerminal(unix.Getpgrp())\n\t\tw.end(w.said.left())"},
	}}, command, "TestAKilledCommandsTerminalModesAreUndone"},
	{mutant{"a command whose end was told with its keeper's is waited for", []edit{
		{job + "/front.go", "s.reap()               //", "//"},
	}}, job, "TestACommandThatEndsWithItsKeeperIsNotWaitedFor"},
	{mutant{"a command that ends with its keeper has ended by itself", []edit{
		{job + "/front.go", "\ts.end()                //", "\t//"},
	}}, command, "TestADaemonOfTheCommandEndsWithAKilledKeeper"},
	{mutant{"what a lost lock's command leaves is said to keep it", []edit{
		{job + "/supervisor.go", "!s.gone() && !s.ending {", "!s.gone() {"},
	}}, command, "TestALostLockIsNotSaidToBeKept"},
	{mutant{"a file of PATH that cannot be executed is not found", []edit{
		{job + "/job.go", "refused = cmp.Or(", "_ = cmp.Or("},
	}}, command, "TestACommandThatCannotBeRunTakesNoLock"},
	{mutant{"without PATH no command is found", []edit{
		{job + "/job.go", "if !set {", "if !set && false {"},
	}}, job, "TestACommandIsFoundByTheRulesOfExecvp"},
	{mutant{"a flag that says its default excludes others", []edit{
		{cli + "/flags.go", "return f.Value.String() == f.DefValue", "return !f.Changed"},
	}}, cli, "TestAFlagThatSaysNoMoreThanItsDefaultExcludesNoOther"},
	{mutant{"a command line behind a -- is passed over", []edit{
		{cli + "/root.go", "len(args) > 0 {", "false {"},
	}}, command, "TestAWrongCommandLineIsExplained"},
	{mutant{"help of what there is not is no mistake", []edit{
		{cli + "/root.go", "_, _, err := root.Find(args)\n\t\treturn err", "return nil"},
	}}, command, "TestAWrongCommandLineIsExplained"},
	{mutant{"a file without credentials is as good as none", []edit{
		{cli + "/auth.go", `c.authFile != "" && len(found) == 0`, "false"},
	}}, command, "TestAWrongCommandLineIsExplained"},
	{mutant{"a time that is too long for Go is none", []edit{
		{cli + "/flags.go", "err != nil && inUnits", "false && inUnits"},
	}}, cli, "TestATimeIsWrittenWithAUnitOrInSeconds"},
	{mutant{"an empty value of a flag is as good as none", []edit{
		{cli + "/flags.go", "if text == \"\" {\n\t\treturn errors.New(\"it is empty", "if false {\n\t\treturn errors.New(\"it is empty"},
	}}, command, "TestAWrongCommandLineIsExplained"},
	{mutant{"a process of another namespace is taken for the front", []edit{
		{job + "/family_linux.go", "if !procIsOurs() {\n\t\treturn false, true", "if false {\n\t\treturn false, true"},
	}}, job, "TestAProcessOfAnotherNamespaceIsNotTakenForOneOfOurs"},
	{mutant{"other children are ended with a killed keeper's command", []edit{
		{job + "/front.go", ", others: w.others,", ","},
	}}, command, "TestAKilledKeeperCostsNobodyHisLifeButTheCommand"},
	{mutant{"other grandchildren are ended with a killed keeper's command", []edit{
		{job + "/front.go", "others, _ := new(group).family()", "others, _ := children(os.Getpid())"},
	}}, command, "TestAKilledKeeperCostsNobodyHisLifeButTheCommand"},
	{mutant{"a command that exits with 130 is taken for one that a key has ended", []edit{
		{job + "/front.go", "if w.said.Interrupted {", "if true {"},
	}}, command, "TestACommandThatExitsAsIfByCtrlCDoesNotEndTheScriptItIsIn"},
	{mutant{"a lock is kept on for one that was killed while the command ran", []edit{
		{cli + "/run.go", "&& !lost && !master.Died() {", "&& !lost {"},
	}}, command, "TestALockIsNotKeptForOneThatWasKilled"},
	{mutant{"a command is started for a front that is stopped", []edit{
		{job + "/master.go", "for m.stopped() {", "for false {"},
	}}, command, "TestACommandWhoseTurnComesWhileWeAreStoppedIsStartedWhenWeGoOn"},
	{mutant{"the number of a group of which nothing is left is signalled", []edit{
		{job + "/group.go", "if !g.void {", "if true {"},
	}}, job, "TestAnotherGroupWithTheNumberOfTheCommandsIsNotSignalled"},
	{mutant{"the keys of a container's terminal are for all that run in it", []edit{
		{job + "/master.go", "case m.group == 1:", "case false:"},
	}}, command, "TestAKeyInAContainerReachesNobodyButTheJob"},
	{mutant{"revoke waits for ever for servers that have gone", []edit{
		{cli + "/revoke.go", "ask(ctx, session, c.Node)", "zklock.Revoke(ctx, session, c.Node)"},
	}}, command, "TestServersThatGoAwayWhileTheyAreAskedEndTheWait"},
	{mutant{"a command fails with the connection that it asks over", []edit{
		{cli + "/connect.go", "errors.Is(err, lost) }) {", "errors.Is(err, lost) && false }) {"},
	}}, cli, "TestAConnectionThatIsLostOnTheWayIsNoFailureOfACommand"},
	{mutant{"no signal is heard while a file of the flags is read", []edit{
		{cli + "/connect.go", "await(ctx, c.options)", "await(context.WithoutCancel(ctx), c.options)"},
	}}, command, "TestAFileThatIsAPipeWithNothingInItHoldsNobodyUp/--auth-file_of_status"},
	{mutant{"who has another parent in another PID namespace is taken for gone", []edit{
		{job + "/group.go", "(g.void || len(members(g.id)) == 0)", "(true || len(members(g.id)) == 0)"},
	}}, command, "TestAProcessThatTheCommandLeavesInAnotherPIDNamespaceKeepsTheLock"},
	{mutant{"the lock is the next one's while a command is ended that has lost it", []edit{
		{cli + "/guarded.go", "g.killIn(session) + session.Timeout()", "0*session.Timeout()"},
	}}, command, "TestNobodyElseRunsWhileACommandThatHasLostTheLockIsEnded"},
	{mutant{"the page answers to any name that leads to it", []edit{
		{uiPage + "/guard.go", "case !p.Open && !IsLoopback(r.Host):", "case false:"},
	}}, uiPage, "TestAPageOnlyShowsUnlessItMayDoMore"},
	{mutant{"the page acts though it may only show", []edit{
		{uiPage + "/act.go", "case !slices.Contains(p.Allow, a.Verb):", "case false:"},
	}}, uiPage, "TestAnActionTakesTheTokenTheNodesNameAndOurOwnForm"},
	{mutant{"the page acts beyond the path that it shows", []edit{
		{uiPage + "/act.go", "case p.Prefix != \"/\" && a.Path", "case false && a.Path"},
	}}, uiPage, "TestAnActionIsForWhatIsAtAndBelowThePathOfThePageOnly"},
	{mutant{"the page asks for a node back that is not as it was shown", []edit{
		{cli + "/revoke.go", "if agreed != nil && *agreed", "if agreed != nil && false && *agreed"},
	}}, cli, "TestAPageDoesToANodeOnlyWhatWasAgreedToAsItWasShown"},
	{mutant{"the page acts for another site's form", []edit{
		{uiPage + "/act.go", "origin.Host != r.Host || r.Header", "origin == nil || r.Header"},
	}}, uiPage, "TestAnActionTakesTheTokenTheNodesNameAndOurOwnForm"},
	{mutant{"the page acts without the cookie of its form", []edit{
		{uiPage + "/act.go", "err != nil || !same(cookie.Value, p.cookie)", "err != nil && cookie != nil"},
	}}, uiPage, "TestAnActionTakesTheTokenTheNodesNameAndOurOwnForm"},
	{mutant{"the page acts without its token", []edit{
		{uiPage + "/act.go", "!same(r.PostFormValue(\"token\"), p.Token)", "false"},
	}}, uiPage, "TestAnActionTakesTheTokenTheNodesNameAndOurOwnForm"},
	{mutant{"the page acts though the node's name was not typed", []edit{
		{uiPage + "/act.go", "r.PostFormValue(\"typed\") != path.Base(a.Node)", "false"},
	}}, uiPage, "TestAnActionTakesTheTokenTheNodesNameAndOurOwnForm"},
	{mutant{"the page reads on when nobody looks", []edit{
		{uiPage + "/hub.go", "h.leaving = time.AfterFunc(lingers, h.rest)", "_ = h.rest"},
	}}, uiPage, "TestNothingIsReadWhileNobodyLooks"},
	{mutant{"a command to copy has words that a shell takes apart", []edit{
		{uiPage + "/format.go", "words[i] = quoted(w)", "words[i] = w"},
	}}, uiPage, "TestACommandToCopyIsOneWordEach"},
	{mutant{"ls takes a lock that is called as permits are for a semaphore's", []edit{
		{"tree.go", "!(recipe.Base(path) == recipe.Turns && ", "!((recipe.Base(path) == recipe.Turns || recipe.Base(path) == recipe.Permits) && "},
	}}, cli, "TestLsListsALockThatIsCalledAsPermitsAre"},
	{mutant{"revoke does not say that it could not say whom it has asked", []edit{
		{cli + "/revoke.go", "failed = append(failed, say(\"asked %s for %s\\n\", shown.Of(c).Who(), node))", "_ = say(\"asked %s for %s\\n\", shown.Of(c).Who(), node)"},
	}}, cli, "TestRevokeFailsIfItsOutputCannotBeWritten"},
	{mutant{"a node below a chroot is shown by its whole path", []edit{
		{cli + "/view.go", "whole: client.Of(session).Below(path), at:", "whole: path, at:"},
	}}, cli, "TestANodeBelowAChrootIsShownByItsName"},
	{mutant{"ls fails at a part of a path that may not be read", []edit{
		{"tree.go", "if s.names != nil && client", "if s.names == nil && client"},
	}}, cli, "TestLsGoesOnPastAPathThatMayNotBeRead"},
	{mutant{"a message in JSON has nothing of what was chosen", []edit{
		{cli + "/guarded.go", `"on_revoke", g.onRevoke.value)`, `"on_revoke", g.onRevoke)`},
	}}, command, "TestAMessageInJSONSaysWhatWasChosen"},
	{mutant{"the delete of a node with children is tried for ever", []edit{
		{cli + "/break.go", "errors.Is(err, zk.ErrNotEmpty) || ", ""},
	}}, cli, "TestANodeThatHasChildrenIsNotTriedForEver"},
	{mutant{"ls takes the root for a lock", []edit{
		{"tree.go", `return path != "/" && !(`, "return !("},
		{"tree.go", `return path != "/" && t.places`, "return t.places"},
	}}, cli, "TestLsListsWhatIsBelowPathsWithTheNamesOfASemaphoresNodes"},
	{mutant{"ls takes two paths below the root for a semaphore's nodes", []edit{
		{"tree.go", `return path != "/" && t.places`, "return t.places"},
	}}, cli, "TestLsListsWhatIsBelowPathsWithTheNamesOfASemaphoresNodes"},
	{mutant{"ls takes whatever has the names of a semaphore's nodes for them", []edit{
		{"tree.go", `t.isPlace(path, name) && `, "t.isPlace(path, name) && name != recipe.Turns && "},
	}}, cli, "TestLsListsWhatIsBelowPathsWithTheNamesOfASemaphoresNodes"},
	{mutant{"ls takes the line of a semaphore for a lock", []edit{
		{"tree.go", "recipe.Base(path) == recipe.Turns && t.hasPermits", "false && t.hasPermits"},
	}}, cli, "TestLsListsWhatIsBelowPathsWithTheNamesOfASemaphoresNodes"},
	{mutant{"the server with the chroot is never heard of", []edit{
		{cli + "/reached.go", "servers = addresses", "_ = addresses"},
	}}, cli, "TestServersThatCannotBeReachedAreNamedWithoutTheirChroot"},
	{mutant{"a loss that comes before there is a command is told to nobody", []edit{
		{job + "/supervisor.go", " || s.begun != nil { // nothing", " { // nothing"},
	}}, job, "TestWhatComesBeforeThereIsACommandWaitsForIt"},
	{mutant{"what waits for execve keeps the only processor", []edit{
		{job + "/group.go", "runtime.GOMAXPROCS(0) + 1", "runtime.GOMAXPROCS(0)"},
	}}, command, "TestWhoeverWaitsForExecveLeavesAProcessorToTheOthers"},
	{mutant{"a trace of Go's runtime that nobody reads holds everything up", []edit{
		{job + "/traces.go", "quiet == said", "quiet == said || true"},
	}}, command, "TestTracesOfGoThatNobodyReadsHoldNothingUp"},
	{mutant{"the command has not the traces of Go that were asked for", []edit{
		{job + "/traces.go", "if !changed {", "if !changed || true {"},
	}}, command, "TestTracesOfGoThatNobodyReadsHoldNothingUp"},
	{mutant{"the command has settings of Go that we were not started with", []edit{
		{job + "/traces.go", "if !strings.HasPrefix(", "if false && !strings.HasPrefix("},
	}}, job, "TestTheCommandHasTheSettingsOfGoThatThisProcessWasStartedWith"},
	{mutant{"what the resolver of Go tells of itself is left", []edit{
		{job + "/traces.go", "case name == \"netdns\" && ", "case false && "},
	}}, job, "TestOfTheSettingsOfGoItsTracesAreLeft"},
	{mutant{"a job that no shell could continue is stopped and continued for ever", []edit{
		{job + "/supervisor.go", "if wants && !s.hungUp && isOrphaned(s.master.group) {", "if false && wants && !s.hungUp && isOrphaned(s.master.group) {"},
	}}, command, "TestAJobThatNoShellCouldContinueIsHungUpWhenItReads"},
	{mutant{"a job that no shell could continue is hung up each time that it wants the terminal", []edit{
		{job + "/supervisor.go", "s.hungUp = true", "s.hungUp = false"},
	}}, command, "TestAJobIsHungUpOnceHoweverOftenItReads"},
	{mutant{"every job that wants the terminal is hung up", []edit{
		{job + "/family_linux.go", "return above == session\n", "return false && above == session\n"},
	}}, command, "TestAJobInTheBackgroundStopsWhenItReadsAndGoesOnInTheForeground"},
	{mutant{"a job of which /proc hides the leader is hung up", []edit{
		{job + "/family_linux.go", "_, err = readProcess(p.parent)", "_, _ = readProcess(p.parent)"},
	}}, command, "TestAJobInTheBackgroundStopsThoughItsLeaderCannotBeSeen"},
	{mutant{"the keys do not continue who is stopped when the command has ended", []edit{
		{job + "/supervisor.go", "s.group.ended && Ends(sig)", "false"},
	}}, command, "TestTheKeysReachAStoppedJobThatTheCommandHasLeft"},
	{mutant{"a container's first process tries to kill itself, and goes on", []edit{
		{job + "/signals.go", "os.Exit(bySignal + int(sig.(syscall.Signal)))", "_ = sig"},
	}}, command, "TestASignalThatAbortsEndsTheFirstProcessOfAContainer"},
	{mutant{"the garbage collector waits for execve", []edit{
		{job + "/group.go", "debug.SetGCPercent(-1)", "debug.SetGCPercent(1)"},
	}}, job, "TestNoGarbageIsCollectedUntilExecveHasCome"},
	{mutant{"a limit of memory has the garbage collector wait for execve", []edit{
		{job + "/group.go", "debug.SetMemoryLimit(math.MaxInt64)", "debug.SetMemoryLimit(-math.MaxInt64)"},
	}}, job, "TestNoGarbageIsCollectedUntilExecveHasCome"},
	{mutant{"a process that cannot be executed is taken for a command that has ended", []edit{
		{job + "/supervisor.go", "func (s *supervisor) reap() {\n\tif s.begun != nil {", "func (s *supervisor) reap() {\n\tif false {"},
	}}, job, "TestACommandThatCannotBeExecutedIsNotTakenForOneThatHasEnded"},
	{mutant{"a signal that comes before there is a command is lost", []edit{
		{job + "/supervisor.go", "family, _ := s.group.family(); len(", "family, _ := s.group.family(); false && len("},
	}}, job, "TestWhatComesBeforeThereIsACommandWaitsForIt"},
	{mutant{"a keeper that is stopped before it is executed stays so", []edit{
		{job + "/front.go", "starting.signal(syscall.SIGCONT)", "_ = starting"},
	}}, command, "TestAKeeperThatIsNotExecutedYetIsLookedAfter"},
	{mutant{"a command that is stopped before its execve is left so", []edit{
		{job + "/supervisor.go", "s.group.signal(syscall.SIGCONT) // stopped before", "// stopped before"},
	}}, command, "TestACommandThatIsStoppedBeforeItIsExecutedGoesOn"},
	{mutant{"the front listens to a command that is not executed yet", []edit{
		{job + "/front.go", "\tnoMore(w.conn)\n", ""},
	}}, command, "TestTheFirstProcessDoesNotWaitForACommandThatIsNotExecutedYet"},
	{mutant{"a signal to end is left to a keeper that is not executed yet", []edit{
		{job + "/front.go", "if Ends(sig) {\n\t\t\t\tstarting", "if false {\n\t\t\t\tstarting"},
	}}, command, "TestAKeeperThatIsNotExecutedYetIsLookedAfter"},
	{mutant{"a front is not told that the group is gone", []edit{
		{job + "/supervisor.go", "if n != s.told {", "if n != s.told && (n.Group != 0 || s.told.Group == 0) {"},
	}}, job, "TestAFrontThatIsLeftAloneEndsWhatIsLeftAndNoGroupThatIsGone"},
	{mutant{"a front is not told of another time to end", []edit{
		{job + "/supervisor.go", "if n != s.told {", "if n.Group != s.told.Group || !s.told.Running {"},
	}}, job, "TestAFrontHearsOfAnotherTimeToEnd"},
	{mutant{"a command ends in a quarter of the timeout that its session has had first", []edit{
		{cli + "/guarded.go", "session.Timeout()), session.Timeout())", "session.Timeout()))"},
	}}, cli, "TestACommandEndsInAQuarterOfTheShortestTimeoutOfItsSession"},
	{mutant{"a command ends in a quarter of a timeout that has become longer", []edit{
		{cli + "/guarded.go", "min(cmp.Or(g.shortest, session.Timeout()), session.Timeout())", "cmp.Or(session.Timeout(), g.shortest)"},
	}}, cli, "TestACommandEndsInAQuarterOfTheShortestTimeoutOfItsSession"},
	{mutant{"a group that is gone is said to keep the lock", []edit{
		{job + "/supervisor.go", "if !s.group.void {\n\t\ts.log", "if true {\n\t\ts.log"},
	}}, command, "TestTheKeysReachWhatIsLeftOfACommandWhenItsGroupIsGone"},
	{mutant{"a file whose interpreter is missing is said to be missing", []edit{
		{job + "/job.go", "&& missing == nil", "&& missing == nil && false"},
	}}, command, "TestACommandThatCannotBeRunTakesNoLock"},
	{mutant{"a node that goes with its session is said to be a lock", []edit{
		{cli + "/view.go", "case client.IsEphemeral(stat), ", "case client.IsEphemeral(stat) && false, "},
	}}, cli, "TestAPathThatGoesWithASessionIsNoLock"},
	{mutant{"a lock that is not to be exclusive is", []edit{
		{cli + "/lock.go", "Changed(\"exclusive\") &&", "Changed(\"exclusive\") && false &&"},
	}}, cli, "TestAFlagThatSaysNoMoreThanItsDefaultExcludesNoOther"},
	{mutant{"a time that is too long is said to be none", []edit{
		{cli + "/flags.go", "case value > longest, seconds > longest.Seconds(), overflows:", "case false:"},
	}}, cli, "TestATimeIsWrittenWithAUnitOrInSeconds"},
	{mutant{"a process that cannot be looked at is taken for gone", []edit{
		{job + "/family_linux.go", "return err == nil || errors.Is(err, unix.ENOENT)", "return true || errors.Is(err, unix.ENOENT)"},
	}}, job, "TestAProcessThatCannotBeLookedAtIsNotTakenForGone"},
	{mutant{"what a process that cannot be looked at has started is taken for gone", []edit{
		{job + "/search_linux.go", "if !known {", "if !known && false {"},
	}}, job, "TestAProcessThatCannotBeLookedAtIsNotTakenForGone"},
	{mutant{"a front that cannot be looked at goes on", []edit{
		{job + "/master.go", "stopped, known := isStopped(m.pid); known {", "stopped, _ := isStopped(m.pid); true {"},
	}}, job, "TestAFrontThatCannotBeLookedAtIsAsItWas"},
	{mutant{"without a descriptor our children are not known", []edit{
		{job + "/family_linux.go", "if pid == os.Getpid() {", "if false {"},
	}}, command, "TestAKeeperWithoutADescriptorKillsAJobAfterALoss"},
	{mutant{"without a descriptor our children are taken for gone", []edit{
		{job + "/family_linux.go", "if pid == os.Getpid() {", "if false {"},
		{job + "/family_linux.go", "return err == nil || errors.Is(err, unix.ENOENT)", "return true || errors.Is(err, unix.ENOENT)"},
	}}, command, "TestAKeeperWithoutADescriptorKeepsTheLockForAJob"},
	{mutant{"a lock that was asked for while the command ran is kept when it has ended", []edit{
		{cli + "/run.go", "|| r.isAsked(hold) {", "{"},
	}}, command, "TestALockThatWasAskedForWhileTheCommandRanIsKeptOnlyIfRequestsAreIgnored"},
	{mutant{"a request that is ignored keeps a lock from being kept", []edit{
		{cli + "/run.go", "return r.onRevoke.value == \"term\"", "return true"},
	}}, command, "TestALockThatWasAskedForWhileTheCommandRanIsKeptOnlyIfRequestsAreIgnored"},
	{mutant{"the age of a lock is that of the node that happens to be listed first", []edit{
		{cli + "/view.go", "oldest.IsZero() || !c.Created.IsZero() && c.Created.Before(oldest)", "oldest.IsZero()"},
	}}, cli, "TestTheAgeOfALockIsThatOfItsOldestNode"},
	{mutant{"a node of which nobody knows when it was created is the oldest", []edit{
		{cli + "/view.go", "!c.Created.IsZero() && c.Created", "c.Created"},
	}}, cli, "TestTheAgeOfALockIsThatOfItsOldestNode"},
	{mutant{"a lock of which nobody knows how old it is, is as old as can be", []edit{
		{cli + "/view.go", "if created.IsZero() {\n\t\treturn 0", "if false {\n\t\treturn 0"},
	}}, cli, "TestTheAgeOfALockIsThatOfItsOldestNode"},
	{mutant{"a node of which nobody knows when it was created is shown as new", []edit{
		{cli + "/view.go", "if created.IsZero() {\n\t\treturn \"-\"", "if false {\n\t\treturn \"-\""},
	}}, cli, "TestWhatTheServersDoNotTellOfANodeIsShownAsUnknown"},
	{mutant{"a token that the servers do not tell is shown as 0", []edit{
		{cli + "/view.go", "if c.Token == 0 {", "if false {"},
	}}, cli, "TestWhatTheServersDoNotTellOfANodeIsShownAsUnknown"},
	{mutant{"an empty name of the servers is as good as no TLS", []edit{
		{cli + "/tls.go", "flags.Var((*nonEmpty)(&t.serverName), \"tls-server-name\",", "flags.StringVar(&t.serverName, \"tls-server-name\", \"\","},
	}}, cli, "TestAnEmptyValueIsNotTakenForTheLackOfAFlag"},
	{mutant{"nothing is shown on a terminal that says no size", []edit{
		{cli + "/screen.go", "cmp.Or(width, usualWidth), cmp.Or(height, usualHeight)", "cmp.Or(width), cmp.Or(height)"},
	}}, cli, "TestATerminalThatSaysNoSizeIsTakenForAUsualOne"},
	{mutant{"files are read once", []edit{
		{cli + "/connect.go", "if !begun || slices", "if begun = false; !begun || slices"},
	}}, command, "TestCertificatesThatAreRenewedAreReadForTheNextConnection"},
	{mutant{"what a pipe has given is asked for again", []edit{
		{cli + "/connect.go", "return err == nil && !info.Mode().IsRegular()", "return err != nil && !info.Mode().IsRegular()"},
	}}, command, "TestAFileThatIsAPipeIsReadOnce"},
	{mutant{"what may not be read is no part of the answer of ls", []edit{
		{cli + "/ls.go", "if len(l.hidden) > 0 {\n\t\treturn exitPartial", "if false {\n\t\treturn exitPartial"},
	}}, cli, "TestWhatMayNotBeReadIsAPartOfTheAnswerOfLs"},
	{mutant{"revoke --wait ends at the next change of the queue", []edit{
		{cli + "/revoke.go", "if len(left) == 0 {", "if true {"},
	}}, command, "TestRevokeWaitsUntilTheLockIsGivenBack"},
	{mutant{"revoke --wait waits for an answer as long as that takes", []edit{
		{cli + "/revoke.go", "look(limited, session, path)", "look(ctx, session, path)"},
	}}, cli, "TestRevokeWaitsForAnAnswerNoLongerThanItIsTold"},
	{mutant{"a command is started by a process that was stopped until its lock was over", []edit{
		{cli + "/guarded.go", "!master.Died() && hold.Valid()", "!master.Died() && hold.Err() == nil"},
	}}, cli, "TestAProcessThatWasStoppedBetweenTheGrantAndTheForkStartsNoCommand"},
	{mutant{"break does not look again when it has the version of a node's data", []edit{
		{cli + "/break.go", "\tv, err = look(ctx, b.session, b.path)\n\treturn v, index(), stat, err", "\treturn v, index(), stat, err"},
	}}, cli, "TestANodeWhoseDataChangesBeforeItsVersionIsReadIsShownAsItIsThen"},
	{mutant{"a command is started with a lock whose node may not be read", []edit{
		{cli + "/guarded.go", "if !g.acl.isList() {", "if true {"},
	}}, command, "TestAnAccessListThatKeepsUsOutIsRefusedBeforeTheCommandIsStarted"},
	{mutant{"a command is started for a leader that was told to end after the grant", []edit{
		{cli + "/elect.go", "if errors.As(context.Cause(ctx), &interrupted) {", "if errors.As(context.Cause(ctx), &interrupted) && false {"},
	}}, command, "TestASignalToEndThatComesAfterTheGrantKeepsTheCommandFromBeingStarted"},
	{mutant{"what a terminal sends ends a candidacy where there is none", []edit{
		{cli + "/elect.go", "return result.Terminal && status", "return status"},
	}}, command, "TestACommandThatSuchASignalHasEndedIsRunAgainWithoutATerminal"},
	{mutant{"a command runs on that leads and cannot be seen to", []edit{
		{cli + "/elect.go", "command.Lost = signals, e.lost(ctx, term, hold)", "command.Lost = signals, hold.Lost()"},
	}}, command, "TestALeaderWhomTheServersDoNotLetSayThatItLeadsLeadsNoMore"},
}

func TestTheTestsOfTheCommandFindEveryMutant(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the command many times")
	}
	ofCommand := build(t, command) // without the mutants: it builds what it tests
	var judges errgroup.Group
	judges.SetLimit(3 * runtime.GOMAXPROCS(0)) // many wait for what the mutant keeps from happening
	for _, m := range chosenOf(ofTheCommand, 3) {
		t.Run(m.name, func(*testing.T) {
			flags := "GOFLAGS=-overlay=" + overlay(t, m.texts(t))
			run := func() ([]byte, error) {
				test := exec.Command("go", "test", "-vet=off", "-count=1", "-run", "^"+m.test+"$", ".")
				if m.of == command {
					test = exec.Command(ofCommand.binary, "-test.run", "^"+m.test+"$", "-test.failfast", "-patience=15s")
				}
				test.Dir = filepath.Join(root, m.of)
				test.Env = append(os.Environ(), flags)
				return test.CombinedOutput()
			}
			judges.Go(func() error {
				out, err := run()
				for again := 0; err == nil && again < 5; again++ { // on a busy machine some do not show each time
					out, err = run()
				}
				if assert.Error(t, err, "%s: %s did not notice: %s", m.name, m.test, out) {
					assert.Contains(t, string(out), "--- FAIL: "+m.test, m.name)
				}
				return nil
			})
		})
	}
	require.NoError(t, judges.Wait())
}

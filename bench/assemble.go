package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/zklock/zklock/bench/internal/driver"
	"github.com/zklock/zklock/bench/internal/result"
	"github.com/zklock/zklock/bench/internal/rig"
	"github.com/zklock/zklock/bench/internal/work"
)

// assembly puts a bench together, and notes what takes part and what does not.
type assembly struct {
	options
	dir   string // for temporary files
	bench *work.Bench
	run   *result.Run
	say   func(text string)
}

// assemble starts the services and the workers. Without ZooKeeper there is
// nothing to measure; without a peer, the rest is.
func assemble(ctx context.Context, o options, dir string, run *result.Run, say func(text string)) (_ *work.Bench, err error) {
	a := &assembly{
		options: o, dir: dir, run: run, say: say,
		bench: &work.Bench{Processes: make(map[string]*driver.Process)},
	}
	a.bench.Start = a.start
	defer func() {
		if err != nil {
			a.bench.Close()
		}
	}()
	say("ZooKeeper starts")
	if a.bench.ZooKeeper, err = rig.StartZooKeeper(ctx, o.servers); err != nil {
		return nil, err
	}
	a.version("ZooKeeper", a.bench.ZooKeeper.Version)
	a.version("Go", runtime.Version())
	if err := a.bench.Prepare(); err != nil {
		return nil, err
	}
	if err := a.services(ctx); err != nil {
		return nil, err
	}
	if err := a.workers(ctx); err != nil {
		return nil, err
	}
	say("Curator warms up")
	return a.bench, a.bench.WarmUp(ctx, 10*o.window)
}

func (a *assembly) version(name, version string) {
	a.run.Versions = append(a.run.Versions, result.Version{Name: name, Version: version})
}

// services are those that a user may lock with instead of ZooKeeper.
func (a *assembly) services(ctx context.Context) (err error) {
	for _, s := range []struct {
		name, party string
		start       func(context.Context) (*rig.Store, error)
		store       **rig.Store
	}{
		{"etcd server", "etcd", rig.StartEtcd, &a.bench.Etcd},
		{"Redis server", "redsync", rig.StartRedis, &a.bench.Redis},
	} {
		if !a.parties.MatchString(s.party) {
			continue
		}
		a.say(s.name + " starts")
		*s.store, err = s.start(ctx)
		switch {
		case err != nil && a.expendable(err):
			a.skip(s.name, err)
		case err != nil:
			return err
		default:
			a.version(s.name, (*s.store).Version)
		}
	}
	return nil
}

// start starts the worker of a party.
func (a *assembly) start(ctx context.Context, name string) (*driver.Process, error) {
	dir, err := os.MkdirTemp(a.dir, "worker-")
	if err != nil {
		return nil, err
	}
	switch name {
	case "Curator":
		return driver.Curator(ctx, dir)
	case "kazoo":
		return driver.Kazoo(ctx, dir)
	}
	return driver.Go(ctx, name, a.profiles)
}

func (a *assembly) workers(ctx context.Context) error {
	for _, name := range []string{"zklock", "zk.Lock", "Curator", "kazoo", "etcd", "redsync", "floor"} {
		lacking := name == "etcd" && a.bench.Etcd == nil || name == "redsync" && a.bench.Redis == nil
		if lacking || !a.parties.MatchString(name) {
			continue
		}
		a.say(name + " starts")
		p, err := a.start(ctx, name)
		switch {
		case err != nil && name != "zklock" && a.expendable(err):
			a.skip(name, err)
			continue
		case err != nil:
			return err
		}
		a.bench.Processes[name] = p
		if name != "floor" {
			a.version(name, p.Version)
		}
	}
	return nil
}

// expendable reports whether the run goes on without what does not start. A smoke
// run goes on only without what is not there.
func (a *assembly) expendable(err error) bool {
	return errors.Is(err, rig.ErrMissing) || !a.smoke
}

func (a *assembly) skip(name string, why error) {
	note := strings.ReplaceAll(fmt.Sprintf("%s is skipped: %v", name, why), a.dir, "...")
	a.run.Notes = append(a.run.Notes, note)
	fmt.Fprintln(os.Stderr, note)
}

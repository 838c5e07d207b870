package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/zklock/zklock/bench/internal/driver"
	"github.com/zklock/zklock/bench/internal/result"
	"github.com/zklock/zklock/bench/internal/rig"
	"github.com/zklock/zklock/bench/internal/work"
	"github.com/zklock/zklock/bench/internal/worker"
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
		bench: &work.Bench{Processes: make(map[string]*driver.Process), Warm: o.warm, Window: o.window},
	}
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
	return a.bench, a.bench.WarmUp(ctx)
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
		case errors.Is(err, rig.ErrMissing):
			a.skip(s.name, err)
		case err != nil:
			return err
		default:
			a.version(s.name, (*s.store).Version)
		}
	}
	return nil
}

func (a *assembly) workers(ctx context.Context) error {
	starts := map[string]func() (*driver.Process, error){
		"Curator": func() (*driver.Process, error) { return driver.Curator(ctx, filepath.Join(a.dir, "curator")) },
		"kazoo":   func() (*driver.Process, error) { return driver.Kazoo(ctx, a.dir) },
	}
	for _, name := range worker.Names() {
		starts[name] = func() (*driver.Process, error) { return driver.Go(ctx, name, a.profiles) }
	}
	for _, name := range []string{"zklock", "zk.Lock", "Curator", "kazoo", "etcd", "redsync", "floor"} {
		lacking := name == "etcd" && a.bench.Etcd == nil || name == "redsync" && a.bench.Redis == nil
		if lacking || !a.parties.MatchString(name) {
			continue
		}
		a.say(name + " starts")
		p, err := starts[name]()
		switch {
		case errors.Is(err, rig.ErrMissing):
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

func (a *assembly) skip(name string, why error) {
	note := fmt.Sprintf("%s is skipped: %v", name, why)
	a.run.Notes = append(a.run.Notes, note)
	fmt.Fprintln(os.Stderr, note)
}

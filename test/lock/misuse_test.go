package lock_test

import (
	"context"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/membership"
)

func TestEveryMethodOfAValueThatNoConstructorMadeSaysSo(t *testing.T) {
	args := map[reflect.Type]any{
		reflect.TypeFor[context.Context]():             t.Context(),
		reflect.TypeFor[string]():                      "key",
		reflect.TypeFor[int]():                         1,
		reflect.TypeFor[[]byte]():                      []byte("data"),
		reflect.TypeFor[time.Duration]():               time.Second,
		reflect.TypeFor[func(context.Context) error](): func(context.Context) error { panic("it ran") },
	}
	for constructor, values := range map[string][]any{
		"make it with New":          {(*zklock.Locker)(nil), new(zklock.Locker)},
		"NewRW":                     {(*zklock.RWLocker)(nil), new(zklock.RWLocker)},
		"make it with NewSemaphore": {(*zklock.Semaphore)(nil), new(zklock.Semaphore)},
		"make it with NewMulti":     {(*zklock.MultiLocker)(nil), new(zklock.MultiLocker)},
		"make it with NewKeyed":     {(*zklock.Keyed)(nil), new(zklock.Keyed)},
		"make it with Connect":      {(*zklock.Session)(nil), new(zklock.Session)},
		"make it with Join":         {(*membership.Member)(nil), new(membership.Member)},
		"not held by the caller":    {(*zklock.Hold)(nil), new(zklock.Hold), (*zklock.MultiHold)(nil), new(zklock.MultiHold)},
	} {
		for _, v := range values {
			of := reflect.ValueOf(v)
			for i := range of.NumMethod() {
				method := of.Type().Method(i)
				if method.Name == "RLocker" {
					continue // returns what says so
				}
				var in []reflect.Value
				for n := range method.Func.Type().NumIn() - 1 {
					in = append(in, reflect.ValueOf(args[method.Func.Type().In(n+1)]))
				}
				err := misuseOf(of.Method(i), in)
				require.ErrorContains(t, err, "is nil or a zero value", "%T, %s", v, method.Name)
				require.ErrorContains(t, err, constructor, "%T, %s", v, method.Name)
				require.Regexp(t, `^zklock: [a-z ]+: the `, err.Error(), "%T, %s", v, method.Name)
			}
		}
	}
	for _, l := range []*zklock.RWLocker{nil, {}} {
		require.ErrorContains(t, misuseOf(reflect.ValueOf(l.RLocker().Lock), nil), "the lock is nil or a zero value")
		require.ErrorContains(t, misuseOf(reflect.ValueOf(l.RLocker().Unlock), nil), "the lock is nil or a zero value")
	}
}

// misuseOf returns the error that a call returns or, if it returns none at all, panics with.
func misuseOf(call reflect.Value, in []reflect.Value) (err error) {
	returns := call.Type().NumOut() > 0 && call.Type().Out(call.Type().NumOut()-1) == reflect.TypeFor[error]()
	if !returns {
		defer func() { err, _ = recover().(error) }()
	}
	out := slices.DeleteFunc(call.Call(in), func(v reflect.Value) bool { return v.Type() != reflect.TypeFor[error]() })
	if len(out) == 1 {
		err, _ = out[0].Interface().(error)
	}
	return err
}

func TestANilSessionIsRefusedByEveryFunctionThatTakesOne(t *testing.T) {
	for _, s := range []*zklock.Session{nil, {}} {
		for name, call := range map[string]func() error{
			"new":     func() error { _, err := zklock.New(s, "/lock"); return err },
			"inspect": func() error { _, err := zklock.Inspect(t.Context(), s, "/lock"); return err },
			"revoke":  func() error { return zklock.Revoke(t.Context(), s, "/lock/node") },
		} {
			err := call()
			require.ErrorContains(t, err, "zklock: "+name+" /lock")
			require.ErrorContains(t, err, "the session is nil or a zero value: make it with Connect")
		}
	}
}

func TestDoOfANilFunctionTakesNoLock(t *testing.T) {
	at := newSite(t)
	l := at.locker(at.session())
	require.ErrorContains(t, l.Do(t.Context(), nil), "the function is nil")
	require.True(t, l.TryLock())
	l.Unlock()
}

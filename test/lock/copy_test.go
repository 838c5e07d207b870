package lock_test

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/membership"
	"github.com/zklock/zklock/zktest"
)

// uncopied are the types that are used by their pointers alone.
var uncopied = []reflect.Type{
	reflect.TypeFor[zklock.Session](), reflect.TypeFor[zklock.Locker](), reflect.TypeFor[zklock.RWLocker](),
	reflect.TypeFor[zklock.Semaphore](), reflect.TypeFor[zklock.MultiLocker](), reflect.TypeFor[zklock.Hold](),
	reflect.TypeFor[zklock.MultiHold](), reflect.TypeFor[zklock.Keyed](),
	reflect.TypeFor[membership.Member](),
	reflect.TypeFor[zktest.Ensemble](), reflect.TypeFor[zktest.Server](), reflect.TypeFor[zktest.Client](), reflect.TypeFor[zktest.Fault](),
}

func TestVetObjectsToACopyOfEveryTypeThatMustNotBeCopied(t *testing.T) {
	for _, of := range uncopied {
		require.True(t, isUncopied(of), "%v has no field that go vet's copylocks finds", of)
	}
	require.False(t, isUncopied(reflect.TypeFor[zklock.TraceInfo]()))
}

// isUncopied reports whether go vet objects to a copy, by the rule of its copylocks: of what
// has Lock and Unlock as a pointer and not as a value, or contains that.
func isUncopied(of reflect.Type) bool {
	switch of.Kind() {
	case reflect.Array:
		return isUncopied(of.Elem())
	case reflect.Struct:
	default:
		return false
	}
	_, value := of.MethodByName("Lock")
	_, pointer := reflect.PointerTo(of).MethodByName("Lock")
	if pointer && !value {
		return true
	}
	for i := range of.NumField() {
		f := of.Field(i)
		if f.Type.Name() == "noCopy" || isUncopied(f.Type) {
			return true
		}
	}
	return false
}

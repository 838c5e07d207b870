package zktest

import "fmt"

// Op is an operation of ZooKeeper's protocol, by its number on the wire.
type Op int32

// The operations that a client can send. OpConnect stands for the handshake, which has no number of its own;
// ZooKeeper logs it as createSession.
const (
	OpCreate               Op = 1
	OpDelete               Op = 2
	OpExists               Op = 3
	OpGetData              Op = 4
	OpSetData              Op = 5
	OpGetACL               Op = 6
	OpSetACL               Op = 7
	OpGetChildren          Op = 8
	OpSync                 Op = 9
	OpPing                 Op = 11
	OpGetChildren2         Op = 12
	OpCheck                Op = 13
	OpMulti                Op = 14
	OpCreate2              Op = 15
	OpReconfig             Op = 16
	OpCheckWatches         Op = 17
	OpRemoveWatches        Op = 18
	OpCreateContainer      Op = 19
	OpCreateTTL            Op = 21
	OpMultiRead            Op = 22
	OpAuth                 Op = 100
	OpSetWatches           Op = 101
	OpGetEphemerals        Op = 103
	OpGetAllChildrenNumber Op = 104
	OpSetWatches2          Op = 105
	OpAddWatch             Op = 106
	OpWhoAmI               Op = 107
	OpConnect              Op = -10
	OpCloseSession         Op = -11

	opError           Op = -1
	opDeleteContainer Op = 20
)

var opNames = map[Op]string{
	OpCreate: "create", OpDelete: "delete", OpExists: "exists", OpGetData: "getData", OpSetData: "setData",
	OpGetACL: "getACL", OpSetACL: "setACL", OpGetChildren: "getChildren", OpSync: "sync", OpPing: "ping",
	OpGetChildren2: "getChildren2", OpCheck: "check", OpMulti: "multi", OpCreate2: "create2",
	OpReconfig: "reconfig", OpCheckWatches: "checkWatches", OpRemoveWatches: "removeWatches",
	OpCreateContainer: "createContainer", OpCreateTTL: "createTTL", OpMultiRead: "multiRead", OpAuth: "auth",
	OpSetWatches: "setWatches", OpGetEphemerals: "getEphemerals", OpGetAllChildrenNumber: "getAllChildrenNumber",
	OpSetWatches2: "setWatches2", OpAddWatch: "addWatch", OpWhoAmI: "whoAmI", OpConnect: "connect", OpCloseSession: "closeSession",
	opDeleteContainer: "deleteContainer",
}

func (o Op) String() string {
	if name, ok := opNames[o]; ok {
		return name
	}
	return fmt.Sprintf("op(%d)", int32(o))
}

// writes reports whether o is decided by the leader and takes a zxid, even if it fails.
func (o Op) writes() bool {
	switch o {
	case OpCreate, OpCreate2, OpCreateContainer, OpCreateTTL, OpDelete, OpSetData, OpSetACL, OpMulti, OpCheck, OpReconfig,
		OpConnect, OpCloseSession, opDeleteContainer:
		return true
	}
	return false
}

// creates reports whether o makes a node.
func (o Op) creates() bool {
	return o == OpCreate || o == OpCreate2 || o == OpCreateContainer || o == OpCreateTTL
}

// code is an error number as it stands in a reply.
type code int32

// ZooKeeper's own numbers (KeeperException.Code).
const (
	ok                      code = 0
	runtimeInconsistency    code = -2
	marshallingError        code = -5
	unimplemented           code = -6
	badArguments            code = -8
	noNode                  code = -101
	noAuth                  code = -102
	badVersion              code = -103
	noChildrenForEphemerals code = -108
	nodeExists              code = -110
	notEmpty                code = -111
	sessionExpired          code = -112
	invalidACL              code = -114
	authFailed              code = -115
	sessionMoved            code = -118
	noWatcher               code = -121
	reconfigDisabled        code = -123
)

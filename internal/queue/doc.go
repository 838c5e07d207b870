// Package queue has the recipe carried out: a contender gets its node, waits behind those
// ahead of it, is granted the lock, and has its node deleted
// (https://zookeeper.apache.org/doc/current/recipes.html#sc_recipes_Locks).
//
// All that may make a hold, or end one, is judged under one mutex, that of [Session]: which
// connection there is, which incarnation of the ZooKeeper session it carries, whether the
// lease runs, and who stands where. It is the only mutex that is held while another
// package is called, and only of those below: client, lease, recipe.
package queue

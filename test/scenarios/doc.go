// Package scenarios holds the decisions of Ebb's registry side as stories:
// each file of testdata is a world, the objects that own it, what a person
// chose, and the plan that follows, in words that name images and not digests.
//
// Run its tests with -update to write the plans anew, and read every line of
// the difference: a plan that changed is a promise that changed. It has no code
// beside its tests.
package scenarios

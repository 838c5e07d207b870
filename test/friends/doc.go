// Package friends is the code of the page beside it, README.md.
package friends

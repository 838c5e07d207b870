//go:build !unix

package zklockgocron_test

func asInstance() {}

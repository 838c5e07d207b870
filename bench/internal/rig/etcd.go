package rig

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// Watchers returns how many watches an etcd server holds.
func (s *Store) Watchers(ctx context.Context) (int, error) {
	const gauge = "etcd_debugging_mvcc_watcher_total "
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.Direct[0]+"/metrics", nil)
	if err != nil {
		return 0, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		if value, ok := strings.CutPrefix(lines.Text(), gauge); ok {
			return strconv.Atoi(value)
		}
	}
	return 0, fmt.Errorf("rig: etcd does not tell its %s", gauge)
}

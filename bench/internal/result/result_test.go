package result

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSummary(t *testing.T) {
	for name, c := range map[string]struct {
		values []float64
		want   Summary
	}{
		"none":       {nil, Summary{}},
		"one":        {[]float64{3}, Summary{Median: 3, Min: 3, Max: 3}},
		"odd":        {[]float64{9, 1, 4}, Summary{Median: 4, Min: 1, Max: 9}},
		"even":       {[]float64{8, 2, 4, 1}, Summary{Median: 3, Min: 1, Max: 8}},
		"an outlier": {[]float64{2, 2, 2, 2, 99}, Summary{Median: 2, Min: 2, Max: 99}},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, Row{Values: c.values}.Summary()) })
	}
}

func TestTheValuesStayInTheirOrder(t *testing.T) {
	values := []float64{3, 1, 2}
	Row{Values: values}.Summary()
	require.Equal(t, []float64{3, 1, 2}, values)
}

func TestMedianOfDurations(t *testing.T) {
	require.Equal(t, 2*time.Second, Median([]time.Duration{time.Second, 3 * time.Second, 2 * time.Second}))
}

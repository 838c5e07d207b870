package line

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAMessageSurvivesItsLine(t *testing.T) {
	for _, m := range []Message{
		{Word: "close", Fields: map[string]string{}},
		{Word: "cycle", Fields: map[string]string{"sessions": "8", "servers": "127.0.0.1:1,127.0.0.1:2"}},
		{Word: "error", Fields: map[string]string{"text": "it said: \"no = way\"\nand more"}},
	} {
		parsed, err := Parse(m.String())
		require.NoError(t, err)
		require.Equal(t, m, parsed)
	}
}

func TestWhatIsNoMessageIsRefused(t *testing.T) {
	for _, text := range []string{"", " ", "cycle sessions", "cycle sessions=%zz"} {
		_, err := Parse(text)
		require.Error(t, err, text)
	}
}

func TestFields(t *testing.T) {
	m, err := Parse("cycle sessions=8 servers=a:1%2Cb:2")
	require.NoError(t, err)
	require.Equal(t, 8, m.Int("sessions"))
	require.Zero(t, m.Int("workers"))
	require.Equal(t, []string{"a:1", "b:2"}, m.List("servers"))
}

package wire

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestALoginIsWrittenAsTheCredentialsAreNow(t *testing.T) {
	a, b, c, d := Credential{"digest", []byte("a")}, Credential{"digest", []byte("b")}, Credential{"digest", nil}, Credential{"x", []byte("d")}
	for name, tc := range map[string]struct {
		first, now []Credential
		repeated   Credential
		written    []Credential
	}{
		"as they were":               {[]Credential{a, b}, []Credential{a, b}, b, []Credential{b}},
		"another":                    {[]Credential{a}, []Credential{b}, a, []Credential{b}},
		"of another scheme":          {[]Credential{a, b}, []Credential{a, d}, b, []Credential{d}},
		"more, behind the last":      {[]Credential{a, b}, []Credential{a, b, c, d}, b, []Credential{b, c, d}},
		"more, and not the last":     {[]Credential{a, b}, []Credential{c, b, d}, a, []Credential{c}},
		"fewer":                      {[]Credential{a, b, c}, []Credential{d}, c, []Credential{d}},
		"a login of the user's own":  {[]Credential{a}, []Credential{b}, c, []Credential{c}},
		"a connection that has none": {nil, nil, a, []Credential{a}},
	} {
		l := &Link{dialer: &Dialer{Options: Options{Logins: tc.first}}, logIn: tc.now}
		want := tc.written[0].login(7)
		for _, added := range tc.written[1:] {
			want = append(want, added.login(xidLogin)...)
		}
		require.Equal(t, want, l.renewed(tc.repeated.login(7)), name)
	}
}

func TestALoginWithoutASecretIsKnownAmongThoseOfGoZookeeper(t *testing.T) {
	none, now := Credential{"x", nil}, Credential{"x", []byte("now")}
	written := []byte("\x00\x00\x00\x15\x00\x00\x00\x07\x00\x00\x00\x64\x00\x00\x00\x00\x00\x00\x00\x01x\xff\xff\xff\xff")
	l := &Link{dialer: &Dialer{Options: Options{Logins: []Credential{none}}}, logIn: []Credential{now}}
	require.Equal(t, now.login(7), l.renewed(written))
}

// counter counts warnings.
type counter struct {
	Log
	warned int
}

func (c *counter) Warn(string, ...any) { c.warned++ }

func TestWhatIsNotToBeHadForAConnectionIsAsItWasForTheLast(t *testing.T) {
	now, failure := "first", error(nil)
	p, err := Provide("credentials", func() (string, error) { return now, failure })
	require.NoError(t, err)
	require.Equal(t, "first", p.Last())
	require.Empty(t, (*Provided[string])(nil).Last())
	log := new(counter)
	for _, c := range []struct {
		now, want string
		failure   error
		told      int // in all
	}{
		{"second", "second", nil, 0},
		{"", "second", errors.New("no such file"), 1},
		{"", "second", errors.New("no such file"), 1},
		{"", "second", errors.New("not readable"), 2},
		{"third", "third", nil, 2},
		{"", "third", errors.New("not readable"), 3},
	} {
		now, failure = c.now, c.failure
		require.Equal(t, c.want, p.next(log))
		require.Equal(t, c.told, log.warned, "once as long as the reason stays")
	}
}

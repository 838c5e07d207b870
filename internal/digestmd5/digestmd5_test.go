package digestmd5

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// chris is RFC 2831's example, in section 4.
var chris = Login{User: "chris", Password: "secret", URI: "imap/elwood.innosoft.com", Nonce: "OA6MHXh6VqTrRk"}

const (
	challenge = `realm="elwood.innosoft.com",nonce="OA6MG9tEQGm2hh",qop="auth",algorithm=md5-sess,charset=utf-8`
	lastWord  = "rspauth=ea40f60335c427b5527b84dbabcdfffd"
)

func TestTheStandardsExample(t *testing.T) {
	answer, err := chris.Answer([]byte(challenge))
	require.NoError(t, err)
	require.Equal(t, `charset=utf-8,username="chris",realm="elwood.innosoft.com",nonce="OA6MG9tEQGm2hh",nc=00000001,`+
		`cnonce="OA6MHXh6VqTrRk",digest-uri="imap/elwood.innosoft.com",response=d388dad90d4bbd760a152321f2143af7,qop=auth`, answer.Response)
	require.NoError(t, answer.Check([]byte(lastWord)))
	for _, last := range []string{"", "rspauth=", "rspauth", lastWord[:len(lastWord)-1], "rspauth=d388dad90d4bbd760a152321f2143af7", "x=" + lastWord[8:]} {
		require.Error(t, answer.Check([]byte(last)), "%q", last)
	}
}

func TestAChallengeIsReadAsItIsMeant(t *testing.T) {
	for challenge, fails := range map[string]string{
		`nonce="n",algorithm=md5-sess`: "",
		"realm=\"a\\\"b\" ,\r\n nonce = n , qop=\"auth-int, auth\" ,ALGORITHM=md5-sess,": "",
		"":                            "no nonce",
		`nonce="",algorithm=md5-sess`: "no nonce",
		`nonce="n"`:                   `algorithm ""`,
		`nonce="n",algorithm=md5`:     `algorithm "md5"`,
		`nonce="n",algorithm=md5-sess,qop=auth-conf`: `demands "auth-conf"`,
		`nonce="n`:   "no list",
		`nonce="n\`:  "no list",
		`nonce=`:     "no list",
		`="n"`:       "no list",
		"\x00\xff\n": "no list",
	} {
		_, err := chris.Answer([]byte(challenge))
		if fails == "" {
			require.NoError(t, err, challenge)
		} else {
			require.ErrorContains(t, err, fails, challenge)
		}
	}
	told, err := parse(`realm="a\"b\\", realm=c`)
	require.NoError(t, err)
	require.Equal(t, directives{"realm": {`a"b\`, "c"}}, told)
	require.Equal(t, `"a\"b\\"`, quote(`a"b\`))
}

func TestTextIsInLatinIfItCanBe(t *testing.T) {
	for text, want := range map[string]string{"zoë": "zo\xeb", "☃ë": "☃ë", "": "", "\xff": "\xff"} {
		require.Equal(t, want, string(charset(text)), text)
	}
}

func FuzzNoChallengeIsTooMuch(f *testing.F) {
	f.Add(challenge)
	f.Add(lastWord)
	f.Fuzz(func(t *testing.T, text string) {
		if answer, err := chris.Answer([]byte(text)); err == nil {
			_ = answer.Check([]byte(text))
		}
	})
}

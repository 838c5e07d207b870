package zklock_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
)

func TestDigestMD5TrustsAServerThatKnowsThePassword(t *testing.T) {
	const challenge = `realm="zk-sasl-md5",nonce="n",charset=utf-8,algorithm=md5-sess`
	mechanism := zklock.DigestMD5("ann", "secret")
	step, err := mechanism.Start("zk1:2181")
	require.NoError(t, err)
	says, done, err := step(nil)
	require.NoError(t, err)
	require.False(t, done)
	require.Empty(t, says, "the server has the first word")
	says, done, err = step([]byte(challenge))
	require.NoError(t, err)
	require.False(t, done)
	require.Contains(t, string(says), `username="ann",realm="zk-sasl-md5"`)
	require.NotContains(t, string(says), "secret")
	for _, last := range []string{"", "rspauth=" + strings.Repeat("0", 32)} {
		_, _, err = step([]byte(last))
		require.ErrorContains(t, err, "the server has not shown that it knows the password")
	}

	another, err := mechanism.Start("zk1:2181")
	require.NoError(t, err)
	_, _, err = another(nil)
	require.NoError(t, err)
	again, _, err := another([]byte(challenge))
	require.NoError(t, err)
	require.NotEqual(t, string(says), string(again), "nothing of one login is of use for another")
	require.Equal(t, "DIGEST-MD5 as ann, DIGEST-MD5 as ann", fmt.Sprintf("%v, %#v", mechanism, mechanism))
	field := struct{ login zklock.SASLMechanism }{mechanism}
	require.NotContains(t, fmt.Sprintf("%v, %+v, %#v", field, field, field), "secret")
}

func TestAMechanismThatIsNoneFailsConnect(t *testing.T) {
	for option, want := range map[string]zklock.SessionOption{
		"WithSASL: the mechanism is nil":        zklock.WithSASL(nil),
		"WithSASLProvider: the provider is nil": zklock.WithSASLProvider(nil),
	} {
		_, err := zklock.Connect(t.Context(), []string{"127.0.0.1:1"}, time.Second, want)
		require.ErrorContains(t, err, option)
	}
}

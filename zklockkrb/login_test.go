package zklockkrb

import (
	"bytes"
	"encoding/hex"
	"testing"
	"time"

	"github.com/jcmturner/gofork/encoding/asn1"
	"github.com/jcmturner/gokrb5/v8/asn1tools"
	"github.com/jcmturner/gokrb5/v8/client"
	"github.com/jcmturner/gokrb5/v8/config"
	"github.com/jcmturner/gokrb5/v8/crypto"
	"github.com/jcmturner/gokrb5/v8/gssapi"
	"github.com/jcmturner/gokrb5/v8/iana/asnAppTag"
	"github.com/jcmturner/gokrb5/v8/iana/etypeID"
	"github.com/jcmturner/gokrb5/v8/iana/keyusage"
	"github.com/jcmturner/gokrb5/v8/iana/msgtype"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"
	"github.com/stretchr/testify/require"
)

func key(fill byte) types.EncryptionKey {
	return types.EncryptionKey{KeyType: etypeID.AES256_CTS_HMAC_SHA1_96, KeyValue: bytes.Repeat([]byte{fill}, 32)}
}

// begun is a login that has shown its ticket.
func begun(t *testing.T) *login {
	t.Helper()
	name := types.NewPrincipalName(1, "zookeeper/localhost")
	l := &login{
		client: client.NewWithPassword("ledger", "X", "", config.New()),
		ticket: ticket{messages.Ticket{TktVNO: 5, Realm: "X", SName: name, EncPart: types.EncryptedData{EType: 18, Cipher: make([]byte, 64)}}, key(1)},
		next:   (*login).ask,
	}
	said, done, err := l.step(nil)
	require.NoError(t, err)
	require.False(t, done)
	require.NotEmpty(t, said)
	return l
}

// proof is what a server says that has read the ticket with that key.
func proof(t *testing.T, by types.EncryptionKey, part messages.EncAPRepPart) []byte {
	t.Helper()
	plain, err := asn1.Marshal(part)
	require.NoError(t, err)
	sealed, err := crypto.GetEncryptedData(asn1tools.AddASNAppTag(plain, asnAppTag.EncAPRepPart), by, keyusage.AP_REP_ENCPART, 0)
	require.NoError(t, err)
	return reply(t, sealed)
}

func reply(t *testing.T, sealed types.EncryptedData) []byte {
	t.Helper()
	said, err := asn1.Marshal(messages.APRep{PVNO: 5, MsgType: msgtype.KRB_AP_REP, EncPart: sealed})
	require.NoError(t, err)
	oid, err := asn1.Marshal(gssapi.OIDKRB5.OID())
	require.NoError(t, err)
	return asn1tools.AddASNAppTag(append(append(oid, 2, 0), asn1tools.AddASNAppTag(said, asnAppTag.APREP)...), 0)
}

// offer is what a server says that offers those kinds of protection.
func offer(t *testing.T, by types.EncryptionKey, kinds ...byte) []byte {
	t.Helper()
	w := gssapi.WrapToken{Flags: 1, EC: 12, Payload: kinds}
	require.NoError(t, w.SetCheckSum(by, keyusage.GSSAPI_ACCEPTOR_SEAL))
	token, err := w.Marshal()
	require.NoError(t, err)
	return token
}

func TestAServerHasToShowThatItHasReadTheTicket(t *testing.T) {
	for name, c := range map[string]struct {
		by     types.EncryptionKey
		change func(*messages.EncAPRepPart)
		fails  string
	}{
		"the server":           {key(1), func(*messages.EncAPRepPart) {}, ""},
		"without the key":      {key(2), func(*messages.EncAPRepPart) {}, "the server has not shown who it is"},
		"an earlier login":     {key(1), func(p *messages.EncAPRepPart) { p.CTime = p.CTime.Add(-time.Second) }, "the server has answered another login"},
		"another login of now": {key(1), func(p *messages.EncAPRepPart) { p.Cusec++ }, "the server has answered another login"},
	} {
		l := begun(t)
		part := messages.EncAPRepPart{CTime: l.asked.CTime, Cusec: l.asked.Cusec, Subkey: key(3)}
		c.change(&part)
		said, done, err := l.step(proof(t, c.by, part))
		require.False(t, done)
		require.Empty(t, said)
		if c.fails == "" {
			require.NoError(t, err, name)
		} else {
			require.ErrorContains(t, err, c.fails, name)
		}
	}
	_, done, err := begun(t).step(reply(t, types.EncryptedData{EType: 18, Cipher: []byte{1}}))
	require.ErrorContains(t, err, "the server")
	require.False(t, done)
	for _, nothing := range []string{"", "00", "60", "6000", "600b06092a864886f712010202", "600d06092a864886f7120102020300"} {
		token, err := hex.DecodeString(nothing)
		require.NoError(t, err)
		_, done, err := begun(t).step(token)
		require.Error(t, err, nothing)
		require.False(t, done)
	}
}

func TestNothingIsProtectedAfterALogin(t *testing.T) {
	subkey := key(3)
	trusted := func() *login {
		l := begun(t)
		_, _, err := l.step(proof(t, key(1), messages.EncAPRepPart{CTime: l.asked.CTime, Cusec: l.asked.Cusec, Subkey: subkey}))
		require.NoError(t, err)
		return l
	}
	l := trusted()
	said, done, err := l.step(offer(t, subkey, 7, 0, 0x10, 0))
	require.NoError(t, err)
	require.False(t, done, "the server has the last word")
	var choice gssapi.WrapToken
	require.NoError(t, choice.Unmarshal(said, false))
	require.Equal(t, []byte{1, 0, 0, 0}, choice.Payload)
	require.EqualValues(t, acceptorSubkey, choice.Flags)
	ok, err := choice.Verify(subkey, keyusage.GSSAPI_INITIATOR_SEAL)
	require.NoError(t, err)
	require.True(t, ok)
	_, done, err = l.step(nil)
	require.NoError(t, err)
	require.True(t, done)

	for fails, says := range map[string][]byte{
		"the server's offer is not its own":                     offer(t, key(1), 7, 0, 0x10, 0),
		"the server demands that what follows be protected (06": offer(t, subkey, 6, 0, 0x10, 0),
		"the server demands that what follows be protected ()":  offer(t, subkey, []byte{}...),
		"bytes shorter than header length":                      nil,
	} {
		_, done, err := trusted().step(says)
		require.ErrorContains(t, err, fails)
		require.False(t, done)
	}
}

func FuzzWhateverAServerSaysIsNoPanic(f *testing.F) {
	f.Add([]byte("\x60\x0d\x06\x09\x2a\x86\x48\x86\xf7\x12\x01\x02\x02\x02\x00"), []byte("\x05\x04\x01\xff"))
	f.Fuzz(func(t *testing.T, first, second []byte) {
		l := begun(t)
		if _, _, err := l.step(first); err == nil {
			_, _, _ = l.step(second)
		}
	})
}

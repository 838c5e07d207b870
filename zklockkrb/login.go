package zklockkrb

import (
	"errors"
	"fmt"

	"github.com/jcmturner/gokrb5/v8/client"
	"github.com/jcmturner/gokrb5/v8/crypto"
	"github.com/jcmturner/gokrb5/v8/gssapi"
	"github.com/jcmturner/gokrb5/v8/iana/etypeID"
	"github.com/jcmturner/gokrb5/v8/iana/flags"
	"github.com/jcmturner/gokrb5/v8/iana/keyusage"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/spnego"
	"github.com/jcmturner/gokrb5/v8/types"
)

// ticket is for a server, with the key that it shares with the client.
type ticket struct {
	messages.Ticket
	key types.EncryptionKey
}

// login is that of one connection, by RFC 4752: the two show each other their tickets, and agree that what
// follows is not protected.
type login struct {
	client *client.Client
	ticket ticket
	asked  types.Authenticator
	key    types.EncryptionKey // of what is signed
	subkey bool                // it is the server's own
	next   func(l *login, challenge []byte) (response []byte, err error)
}

// step is one of four. What a server has sent is taken apart by code that may panic at it.
func (l *login) step(challenge []byte) (response []byte, done bool, err error) {
	if l.next == nil {
		return nil, true, nil
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the server has sent what cannot be read: %v", p)
		}
	}()
	response, err = l.next(l, challenge)
	return response, false, err
}

// ask shows the server the ticket, and wants to be shown that it can read it.
func (l *login) ask([]byte) ([]byte, error) {
	switch l.ticket.key.KeyType {
	case etypeID.AES128_CTS_HMAC_SHA1_96, etypeID.AES256_CTS_HMAC_SHA1_96,
		etypeID.AES128_CTS_HMAC_SHA256_128, etypeID.AES256_CTS_HMAC_SHA384_192:
	default:
		return nil, fmt.Errorf("the ticket's key is of encryption type %d, and only those of AES are known", l.ticket.key.KeyType)
	}
	token, err := spnego.NewKRB5TokenAPREQ(l.client, l.ticket.Ticket, l.ticket.key,
		[]int{gssapi.ContextFlagInteg, gssapi.ContextFlagMutual}, []int{flags.APOptionMutualRequired})
	if err != nil {
		return nil, err
	}
	request, err := token.Marshal()
	if err != nil {
		return nil, err
	}
	if err := token.APReq.DecryptAuthenticator(l.ticket.key); err != nil { // it tells what was sent in no other way
		return nil, err
	}
	l.asked, l.next = token.APReq.Authenticator, (*login).trust
	return request, nil
}

// trust takes the server's proof that it has read the ticket.
func (l *login) trust(challenge []byte) ([]byte, error) {
	if len(challenge) == 0 {
		return nil, errors.New("the server has no answer to the ticket: it may have no login for clients (java.security.auth.login.config)")
	}
	var token spnego.KRB5Token
	if err := token.Unmarshal(challenge); err != nil {
		return nil, err
	}
	if !token.IsAPRep() {
		return nil, errors.New("the server has not shown who it is")
	}
	shown, err := crypto.DecryptEncPart(token.APRep.EncPart, l.ticket.key, keyusage.AP_REP_ENCPART)
	if err != nil {
		return nil, fmt.Errorf("the server has not shown who it is: %w", err)
	}
	var proof messages.EncAPRepPart
	if err := proof.Unmarshal(shown); err != nil {
		return nil, err
	}
	if !proof.CTime.Equal(l.asked.CTime) || proof.Cusec != l.asked.Cusec {
		return nil, errors.New("the server has answered another login")
	}
	l.key, l.next = l.ticket.key, (*login).agree
	if proof.Subkey.KeyType != 0 {
		l.key, l.subkey = proof.Subkey, true
	}
	return nil, nil
}

// Protection of what follows: the first byte of what is wrapped says which are offered, or chosen.
const unprotected = 1

// acceptorSubkey is the flag of a token that was signed by the server's own key.
const acceptorSubkey = 4

// agree chooses that nothing be protected, if the server takes that.
func (l *login) agree(challenge []byte) ([]byte, error) {
	var offer gssapi.WrapToken
	if err := offer.Unmarshal(challenge, true); err != nil {
		return nil, err
	}
	if ok, err := offer.Verify(l.key, keyusage.GSSAPI_ACCEPTOR_SEAL); !ok {
		return nil, fmt.Errorf("the server's offer is not its own: %w", err)
	}
	if len(offer.Payload) != 4 || offer.Payload[0]&unprotected == 0 {
		return nil, fmt.Errorf("the server demands that what follows be protected (%x), which is not known here: use TLS", offer.Payload)
	}
	choice := gssapi.WrapToken{EC: offer.EC, SndSeqNum: uint64(l.asked.SeqNumber), Payload: []byte{unprotected, 0, 0, 0}}
	if l.subkey {
		choice.Flags = acceptorSubkey
	}
	if err := choice.SetCheckSum(l.key, keyusage.GSSAPI_INITIATOR_SEAL); err != nil {
		return nil, err
	}
	l.next = nil
	return choice.Marshal()
}

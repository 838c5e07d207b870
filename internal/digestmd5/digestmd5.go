// Package digestmd5 answers a challenge of the SASL mechanism DIGEST-MD5, as RFC 2831 has it, for
// authentication alone. A password is shown to nobody, and the server has to know it too.
package digestmd5

import (
	"crypto/md5"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Login is who logs in where.
type Login struct {
	User, Password string
	URI            string // the service and its host, as service/host
	Nonce          string // of the client's own: drawn anew for each login
}

// Answer is the response to a challenge.
type Answer struct {
	Response string
	final    string // what a server says to it that knows the password
}

// Answer answers the challenge.
func (l Login) Answer(challenge []byte) (Answer, error) {
	told, err := parse(string(challenge))
	if err != nil {
		return Answer{}, err
	}
	offered := strings.FieldsFunc(told.first("qop"), func(r rune) bool { return r == ',' || r == ' ' })
	switch {
	case told.first("nonce") == "":
		return Answer{}, errors.New("the server's challenge has no nonce")
	case told.first("algorithm") != "md5-sess":
		return Answer{}, fmt.Errorf("the server's challenge has the algorithm %q; it is md5-sess", told.first("algorithm"))
	case len(offered) > 0 && !slices.Contains(offered, "auth"):
		return Answer{}, fmt.Errorf("the server demands %q, and only auth is known: no integrity, no privacy", told.first("qop"))
	}
	const count = "00000001"
	nonce, realm := told.first("nonce"), told.first("realm")
	secret := md5.Sum(join(charset(l.User), charset(realm), charset(l.Password)))
	key := digest(join(secret[:], []byte(nonce), []byte(l.Nonce)))
	proof := func(method string) string {
		return digest([]byte(strings.Join([]string{key, nonce, count, l.Nonce, "auth", digest([]byte(method + ":" + l.URI))}, ":")))
	}
	response := fmt.Sprintf(`username=%s,realm=%s,nonce=%s,nc=%s,cnonce=%s,digest-uri=%s,response=%s,qop=auth`,
		quote(l.User), quote(realm), quote(nonce), count, quote(l.Nonce), quote(l.URI), proof("AUTHENTICATE"))
	if told.first("charset") == "utf-8" {
		response = "charset=utf-8," + response
	}
	return Answer{response, proof("")}, nil
}

// Check returns an error unless the server's last word shows that it knows the password.
func (a Answer) Check(last []byte) error {
	told, err := parse(string(last))
	if err != nil {
		return err
	}
	if subtle.ConstantTimeCompare([]byte(told.first("rspauth")), []byte(a.final)) == 0 {
		return errors.New("the server has not shown that it knows the password")
	}
	return nil
}

func join(parts ...[]byte) []byte {
	var all []byte
	for i, part := range parts {
		if i > 0 {
			all = append(all, ':')
		}
		all = append(all, part...)
	}
	return all
}

func digest(text []byte) string {
	sum := md5.Sum(text)
	return hex.EncodeToString(sum[:])
}

// charset returns the text in ISO 8859-1 if that has all of it, and otherwise in UTF-8.
func charset(text string) []byte {
	latin := make([]byte, 0, len(text))
	for _, r := range text {
		if r > 0xff {
			return []byte(text)
		}
		latin = append(latin, byte(r))
	}
	if !utf8.ValidString(text) {
		return []byte(text)
	}
	return latin
}

// quote writes a quoted string.
func quote(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}

// directives are what a server says, by name.
type directives map[string][]string

func (d directives) first(name string) string {
	if values := d[name]; len(values) > 0 {
		return values[0]
	}
	return ""
}

// parse takes apart a list of name=value or name="value".
func parse(text string) (directives, error) {
	found := directives{}
	for {
		text = strings.TrimLeft(text, ", \t\r\n")
		if text == "" {
			return found, nil
		}
		name, rest, _ := strings.Cut(text, "=")
		value, left, ok := cutValue(strings.TrimLeft(rest, " \t"))
		if name = strings.ToLower(strings.TrimSpace(name)); name == "" || !ok {
			return nil, errors.New("what the server says is no list of directives")
		}
		found[name], text = append(found[name], value), left
	}
}

// cutValue cuts a value off, which may be quoted.
func cutValue(text string) (value, left string, ok bool) {
	if !strings.HasPrefix(text, `"`) {
		end := strings.IndexByte(text, ',')
		if end < 0 {
			end = len(text)
		}
		return strings.TrimSpace(text[:end]), text[end:], end > 0
	}
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '"':
			return b.String(), text[i+1:], true
		case '\\':
			if i++; i == len(text) {
				return "", "", false
			}
		}
		b.WriteByte(text[i])
	}
	return "", "", false
}

package ui

import (
	"net"
	"net/http"
)

// policy lets a page load nothing but its own files, run no script of another's, and be in no frame.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// guarded refuses requests that another site's page makes, and has browsers keep our pages to themselves.
func (p *page) guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "same-origin") // without any, a browser does not say the origin of our own form
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		switch site := r.Header.Get("Sec-Fetch-Site"); {
		case !p.Open && !IsLoopback(r.Host):
			http.Error(w, "the address has another name than localhost or a loopback address", http.StatusMisdirectedRequest)
		case site != "" && site != "same-origin" && site != "none" && r.Header.Get("Sec-Fetch-Mode") != "navigate":
			http.Error(w, "another site's page has asked for this", http.StatusForbidden)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// IsLoopback reports whether a host, with a port or without, is this machine for itself alone.
func IsLoopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if len(host) > 1 && host[0] == '[' {
		host = host[1 : len(host)-1]
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

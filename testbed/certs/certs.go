// Package certs makes certificates to try TLS with: those of the examples below examples/secure, for tests and for users.
package certs

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// Write makes a CA, which signs what is called gateway, a server with these names and addresses, and what is called agent and
// reader, its clients. Into dir go NAME.pem and NAME.key of each and ca.pem; the key of the CA is kept nowhere.
func Write(dir string, hosts []string, validFor time.Duration) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	ca, err := newAuthority(validFor)
	if err != nil {
		return err
	}
	if err := write(filepath.Join(dir, "ca.pem"), "CERTIFICATE", ca.certificate.Raw); err != nil {
		return err
	}
	for _, name := range []string{"gateway", "agent", "reader"} {
		template := ca.template(name, validFor)
		template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
		if name == "gateway" {
			template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
			template.DNSNames, template.IPAddresses = split(hosts)
		}
		if err := ca.issue(filepath.Join(dir, name), template); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func split(hosts []string) (names []string, addresses []net.IP) {
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			addresses = append(addresses, ip)
		} else {
			names = append(names, host)
		}
	}
	return names, addresses
}

type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	issued      int64
}

func newAuthority(validFor time.Duration) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	a := &authority{key: key}
	template := a.template("otel-topk trial CA", validFor)
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign
	encoded, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	a.certificate, err = x509.ParseCertificate(encoded)
	return a, err
}

func (a *authority) template(name string, validFor time.Duration) *x509.Certificate {
	a.issued++
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: big.NewInt(a.issued),
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    now.Add(-time.Hour), // clocks differ
		NotAfter:     now.Add(validFor),
		KeyUsage:     x509.KeyUsageDigitalSignature,
	}
}

// issue a certificate and its key into path.pem and path.key.
func (a *authority) issue(path string, template *x509.Certificate) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, a.certificate, &key.PublicKey, a.key)
	if err != nil {
		return err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	if err := write(path+".pem", "CERTIFICATE", certificate); err != nil {
		return err
	}
	return write(path+".key", "PRIVATE KEY", private)
}

func write(file, kind string, content []byte) error {
	return os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content}), 0o600)
}

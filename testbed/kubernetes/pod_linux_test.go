package kubernetes_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"

	"github.com/otel-topk/collector/testbed/collector"
	"github.com/otel-topk/collector/testbed/examples"
)

// cluster runs pods as processes, each with an address of its own on the loopback network.
type cluster struct {
	*manifests
	secrets map[string]map[string]string
	network [2]byte
	pods    int
	names   map[string]string // addresses by DNS name
}

func newCluster(t *testing.T) *cluster {
	return &cluster{
		manifests: everything(t), secrets: makeSecrets(t), names: make(map[string]string),
		network: [2]byte{byte(1 + rand.IntN(254)), byte(rand.IntN(256))},
	}
}

// pod is a collector that runs.
type pod struct {
	name    string
	ip      string
	of      workload
	cmd     *exec.Cmd
	root    string            // of the paths that it sees
	volumes map[string]string // folders by the path where they are mounted
	said    *lockedBuffer
	ended   chan struct{}
}

// address of a pod that will have a DNS name.
func (c *cluster) address(dns string) string {
	if c.names[dns] == "" {
		c.pods++
		c.names[dns] = fmt.Sprintf("127.%d.%d.%d", c.network[0], c.network[1], c.pods)
	}
	return c.names[dns]
}

// dnsName of a pod, as its Service gives it.
func dnsName(w workload, name string) string {
	if w.service == "" {
		return name + "." + w.meta.Namespace
	}
	return name + "." + w.service + "." + w.meta.Namespace + ".svc"
}

// start one pod of a workload and wait until its probes succeed.
func (c *cluster) start(t *testing.T, w workload, number int) *pod {
	t.Helper()
	name := fmt.Sprint(w.meta.Name, "-", number)
	p := &pod{name: name, ip: c.address(dnsName(w, name)), of: w, root: t.TempDir(), volumes: make(map[string]string)}
	c.mount(t, p)
	p.run(t, p.command(c.environment(t, p)))
	return p
}

// run what was made ready.
func (p *pod) run(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	p.cmd, p.said, p.ended = cmd, &lockedBuffer{}, make(chan struct{})
	cmd.Stdout, cmd.Stderr = p.said, p.said
	require.NoError(t, cmd.Start())
	ended := p.ended
	go func() {
		_ = cmd.Wait() // how it ended is in ProcessState
		close(ended)
	}()
	t.Cleanup(func() { p.stop(t) })
	p.awaitProbe(t, p.of.collector.StartupProbe)
	p.awaitProbe(t, p.of.collector.ReadinessProbe)
	p.awaitProbe(t, p.of.collector.LivenessProbe)
}

// again is the pod after its end, with the same volumes.
func (p *pod) again(t *testing.T) {
	t.Helper()
	cmd := exec.Command(p.cmd.Path, p.cmd.Args[1:]...)
	cmd.Env, cmd.Dir, cmd.SysProcAttr = p.cmd.Env, p.cmd.Dir, p.cmd.SysProcAttr
	p.run(t, cmd)
}

func (p *pod) command(env []string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(p.root, "otelcol-topk"))
	for _, arg := range p.of.collector.Args {
		cmd.Args = append(cmd.Args, p.local(arg))
	}
	cmd.Env = env
	return cmd
}

// local is a text with the paths of the pod replaced by those of this machine.
func (p *pod) local(text string) string {
	for path, folder := range p.volumes {
		text = strings.ReplaceAll(text, path, folder)
	}
	return text
}

// mount the volumes, each of what the manifest says it holds.
func (c *cluster) mount(t *testing.T, p *pod) {
	t.Helper()
	require.NoError(t, os.Link(collector.Binary(t, "otelcol-topk"), filepath.Join(p.root, "otelcol-topk")))
	for _, m := range p.of.collector.VolumeMounts {
		folder := filepath.Join(p.root, m.MountPath)
		require.NoError(t, os.MkdirAll(folder, 0o700))
		p.volumes[m.MountPath] = folder
	}
	for _, m := range p.of.collector.VolumeMounts {
		files, writable := c.content(t, p.of, m.Name)
		assert.NotEqual(t, writable, m.ReadOnly, "%s: %s", p.of.meta.Name, m.Name)
		for name, text := range files {
			if name == "config.yaml" {
				text = c.adapted(t, p, text)
			}
			require.NoError(t, os.WriteFile(filepath.Join(p.volumes[m.MountPath], name), []byte(text), 0o600))
		}
	}
}

// content of a volume.
func (c *cluster) content(t *testing.T, w workload, name string) (files map[string]string, writable bool) {
	t.Helper()
	if slices.ContainsFunc(w.claims, func(claim corev1.PersistentVolumeClaim) bool { return claim.Name == name }) {
		return nil, true
	}
	i := slices.IndexFunc(w.pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == name })
	require.GreaterOrEqual(t, i, 0, "%s: there is no volume %s", w.meta.Name, name)
	v := w.pod.Spec.Volumes[i]
	files = make(map[string]string)
	switch {
	case v.EmptyDir != nil:
		return nil, true
	case v.ConfigMap != nil:
		require.Contains(t, c.files, v.ConfigMap.Name)
		maps.Copy(files, c.files[v.ConfigMap.Name])
	case v.Secret != nil:
		require.Contains(t, c.secrets, w.meta.Namespace+"/"+v.Secret.SecretName)
		maps.Copy(files, c.secrets[w.meta.Namespace+"/"+v.Secret.SecretName])
	case v.Projected != nil:
		for _, source := range v.Projected.Sources {
			require.Contains(t, c.files, source.ConfigMap.Name)
			maps.Copy(files, c.files[source.ConfigMap.Name])
		}
	default:
		t.Fatalf("unknown volume %+v", v)
	}
	return files, false
}

// inside is the address that is localhost in the pod: other processes of this machine may listen there.
func (p *pod) inside() string {
	ip := net.ParseIP(p.ip).To4()
	ip[3] += 100 // there are fewer pods
	return ip.String()
}

// adapted is a configuration for this machine: paths are those of its volumes, localhost is the pod's own, and the names of gateways
// are their addresses; the certificate that they show is still held against the name.
func (c *cluster) adapted(t *testing.T, p *pod, text string) string {
	t.Helper()
	var config map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(strings.ReplaceAll(p.local(text), "localhost:", p.inside()+":")), &config))
	for _, g := range gatewaysOf(config) {
		host, port, err := net.SplitHostPort(g["endpoint"].(string))
		require.NoError(t, err)
		tls := maps.Clone(g["tls"].(map[string]any))
		tls["server_name_override"] = host
		g["endpoint"], g["tls"] = net.JoinHostPort(c.address(host), port), tls
	}
	adapted, err := yaml.Marshal(config)
	require.NoError(t, err)
	return string(adapted)
}

func gatewaysOf(config map[string]any) (gateways []map[string]any) {
	processors, _ := config["processors"].(map[string]any)
	topk, _ := processors["topk"].(map[string]any)
	list, _ := topk["gateways"].([]any)
	for _, g := range list {
		gateways = append(gateways, g.(map[string]any))
	}
	return gateways
}

// environment of the container.
func (c *cluster) environment(t *testing.T, p *pod) (env []string) {
	t.Helper()
	for _, e := range p.of.collector.Env {
		value := e.Value
		switch from := e.ValueFrom; {
		case from == nil:
		case from.FieldRef != nil && from.FieldRef.FieldPath == "status.podIP":
			value = p.ip
		case from.FieldRef != nil && from.FieldRef.FieldPath == "metadata.name":
			value = p.name
		case from.FieldRef != nil && from.FieldRef.FieldPath == "spec.nodeName":
			value = "node-of-" + p.name
		case from.SecretKeyRef != nil:
			secret := c.secrets[p.of.meta.Namespace+"/"+from.SecretKeyRef.Name]
			require.Contains(t, secret, from.SecretKeyRef.Key, from.SecretKeyRef.Name)
			value = secret[from.SecretKeyRef.Key]
		default:
			t.Fatalf("unknown source of %s", e.Name)
		}
		env = append(env, e.Name+"="+value)
	}
	return env
}

// awaitProbe asks as the kubelet does.
func (p *pod) awaitProbe(t *testing.T, probe *corev1.Probe) {
	t.Helper()
	require.NotNil(t, probe, p.name)
	port := portNamed(t, p.of.collector, probe.HTTPGet.Port.String())
	url := "http://" + net.JoinHostPort(p.ip, strconv.Itoa(port)) + probe.HTTPGet.Path
	for deadline := time.Now().Add(patience); ; {
		select {
		case <-p.ended:
			t.Fatalf("%s ended:\n%s", p.name, p.said.String())
		case <-time.After(50 * time.Millisecond):
		}
		answer, err := http.Get(url)
		if err == nil {
			_ = answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: %s does not answer 200 (%v):\n%s", p.name, url, err, p.said.String())
		}
	}
}

// stop ends the pod as a kubelet does; it must end by itself and without an error.
func (p *pod) stop(t *testing.T) {
	select {
	case <-p.ended:
		return
	default:
	}
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.ended:
		assert.Zero(t, p.cmd.ProcessState.ExitCode(), "%s:\n%s", p.name, p.said.String())
	case <-time.After(time.Duration(gracePeriod(p.of)) * time.Second):
		t.Errorf("%s did not end in the grace period", p.name)
		p.kill()
	}
}

func gracePeriod(w workload) int64 {
	if g := w.pod.Spec.TerminationGracePeriodSeconds; g != nil {
		return *g
	}
	return 30
}

// kill the pod at once.
func (p *pod) kill() {
	_ = p.cmd.Process.Kill()
	<-p.ended
}

// makeSecrets runs what the README says, with a kubectl that keeps what it is told: files by name, by namespace and name of the Secret.
func makeSecrets(t *testing.T) map[string]map[string]string {
	t.Helper()
	dir := t.TempDir()
	stub := "#!/bin/bash\nprintf '%s\\n' \"$*\" >> \"$KUBECTL_LOG\"\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "kubectl"), []byte(stub), 0o700))
	log := filepath.Join(dir, "log")
	script := exec.Command("bash", "-euo", "pipefail", "-c", snippet(t, "sh", "kubectl create secret"))
	script.Dir = examples.Path(t, ".")
	script.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "KUBECTL_LOG="+log, "TOPK_CERTS="+filepath.Join(dir, "certs"))
	said, err := script.CombinedOutput()
	require.NoError(t, err, "%s", said)
	calls, err := os.ReadFile(log)
	require.NoError(t, err)
	secrets := make(map[string]map[string]string)
	for line := range strings.Lines(string(calls)) {
		words := strings.Fields(line)
		if len(words) < 4 || words[1] != "secret" {
			continue
		}
		namespace, secret := "", make(map[string]string)
		for _, word := range words[4:] {
			flag, value, _ := strings.Cut(word, "=")
			key, from, _ := strings.Cut(value, "=")
			switch flag {
			case "--namespace":
				namespace = value
			case "--from-file":
				text, err := os.ReadFile(from)
				require.NoError(t, err)
				secret[key] = string(text)
			case "--from-literal":
				secret[key] = from
			default:
				t.Fatalf("unknown flag %s", word)
			}
		}
		secrets[namespace+"/"+words[3]] = secret
	}
	return secrets
}

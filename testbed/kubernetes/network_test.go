package kubernetes_test

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
	networkingv1 "k8s.io/api/networking/v1"
)

// place is where a pod may be: what policies know of it.
type place struct {
	name, namespace string
	namespaceLabels map[string]string
	podLabels       map[string]string
}

// outside are pods that are not of this repository, one of each kind that the policies speak of.
var outside = []place{
	{"program", "shop", map[string]string{"otel-topk/sends": "true"}, map[string]string{"app": "program"}},
	{"reader", "dashboards", map[string]string{"otel-topk/reads": "true"}, map[string]string{"app": "reader"}},
	{"prometheus", "monitoring", map[string]string{"otel-topk/scrapes": "true"}, map[string]string{"app": "prometheus"}},
	{"sidecar elsewhere", "elsewhere", nil, map[string]string{"otel-topk/sidecar": "true"}},
	{"stranger", "elsewhere", nil, map[string]string{"app": "stranger"}},
	{"names", "kube-system", map[string]string{"kubernetes.io/metadata.name": "kube-system"}, map[string]string{"k8s-app": "kube-dns"}},
	{"stranger in kube-system", "kube-system", map[string]string{"kubernetes.io/metadata.name": "kube-system"}, nil},
}

// TestNothingMayBeReachedButWhatIsConfigured holds the policies against the flows that the configurations need: from who sends
// states to the gateways that it names, from others to the ports that are for them, and to the server of names.
func TestNothingMayBeReachedButWhatIsConfigured(t *testing.T) {
	m := everything(t)
	places := slices.Clone(outside)
	var wanted []string
	ports := map[int]bool{53: true, 80: true, 443: true}
	for _, w := range m.workloads {
		here := place{w.meta.Name, w.meta.Namespace, map[string]string{"kubernetes.io/metadata.name": w.meta.Namespace}, w.pod.Labels}
		if w.kind == "Deployment" {
			here.namespaceLabels["otel-topk/sends"] = "true"
		}
		places = append(places, here)
		for _, p := range w.collector.Ports {
			ports[int(p.ContainerPort)] = true
		}
		for _, g := range gatewaysOf(m.config(t, w)) {
			host, port, err := net.SplitHostPort(g["endpoint"].(string))
			require.NoError(t, err)
			parts := strings.Split(host, ".")
			require.Len(t, parts, 4)
			set := m.named(t, parts[0][:strings.LastIndex(parts[0], "-")])
			require.Equal(t, []string{set.service, set.meta.Namespace, "svc"}, parts[1:], "the name of a pod of a StatefulSet")
			wanted = append(wanted, fmt.Sprint(w.meta.Name, " -> ", set.meta.Name, ":", port))
			if w.kind != "Deployment" {
				wanted = append(wanted, w.meta.Name+" -> names:53")
			}
		}
		if w.kind == "Deployment" {
			continue // what may reach a program is for its owner to say
		}
		for _, p := range w.collector.Ports {
			for _, client := range clientsOf[p.Name] {
				wanted = append(wanted, fmt.Sprint(client, " -> ", w.meta.Name, ":", p.ContainerPort))
			}
		}
	}
	var allowed []string
	for _, from := range places {
		for _, to := range places {
			if from.namespace != "otel-topk" && to.namespace != "otel-topk" {
				continue
			}
			for port := range ports {
				if m.allow(t, true, from, to, port) && m.allow(t, false, from, to, port) {
					allowed = append(allowed, fmt.Sprint(from.name, " -> ", to.name, ":", port))
				}
			}
		}
	}
	slices.Sort(wanted)
	assert.ElementsMatch(t, slices.Compact(wanted), allowed)
}

// clientsOf a port by its name: who needs it, besides those that send states. Only nodes ask for health.
var clientsOf = map[string][]string{
	"otlp":      {"program", "checkout"},
	"otlp-http": {"program", "checkout"},
	"lists":     {"reader"},
	"metrics":   {"prometheus"},
	"states":    nil,
	"health":    nil,
}

// allow says whether the policies of one end let it through: of the receiver (ingress) or of the sender.
func (m *manifests) allow(t *testing.T, ingress bool, from, to place, port int) bool {
	t.Helper()
	at, peer := from, to
	if ingress {
		at, peer = to, from
	}
	held := false
	for _, p := range m.policies {
		kind := networkingv1.PolicyTypeEgress
		if ingress {
			kind = networkingv1.PolicyTypeIngress
		}
		if p.Namespace != at.namespace || !slices.Contains(p.Spec.PolicyTypes, kind) || !matches(t, &p.Spec.PodSelector, at.podLabels) {
			continue
		}
		held = true
		if ingress {
			for _, rule := range p.Spec.Ingress {
				if onPort(rule.Ports, port) && among(t, rule.From, p.Namespace, peer) {
					return true
				}
			}
			continue
		}
		for _, rule := range p.Spec.Egress {
			if onPort(rule.Ports, port) && among(t, rule.To, p.Namespace, peer) {
				return true
			}
		}
	}
	return !held
}

func onPort(ports []networkingv1.NetworkPolicyPort, port int) bool {
	return len(ports) == 0 || slices.ContainsFunc(ports, func(p networkingv1.NetworkPolicyPort) bool { return p.Port == nil || p.Port.IntValue() == port })
}

func among(t *testing.T, peers []networkingv1.NetworkPolicyPeer, namespace string, who place) bool {
	t.Helper()
	return len(peers) == 0 || slices.ContainsFunc(peers, func(p networkingv1.NetworkPolicyPeer) bool {
		if p.NamespaceSelector == nil && who.namespace != namespace || p.NamespaceSelector != nil && !matches(t, p.NamespaceSelector, who.namespaceLabels) {
			return false
		}
		return p.PodSelector == nil || matches(t, p.PodSelector, who.podLabels)
	})
}

// config of the collector of a workload.
func (m *manifests) config(t *testing.T, w workload) (config map[string]any) {
	t.Helper()
	for name, files := range m.files {
		kind := strings.TrimPrefix(w.meta.Name, "topk-")
		if w.kind == "Deployment" {
			kind = "sidecar"
		}
		if strings.HasPrefix(name, "topk-"+kind+"-") {
			require.NoError(t, yaml.Unmarshal([]byte(files["config.yaml"]), &config))
		}
	}
	require.NotEmpty(t, config, w.meta.Name)
	return config
}

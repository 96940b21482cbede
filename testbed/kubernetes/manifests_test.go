// Package kubernetes_test holds deploy/kubernetes to what it says: it is rendered as kubectl renders it, decoded into the types
// of the API, and its configurations run as the pods would run them, on addresses of this machine.
package kubernetes_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"

	"github.com/otel-topk/collector/testbed/collector"
	"github.com/otel-topk/collector/testbed/examples"
)

// workload is what makes pods that hold a collector.
type workload struct {
	kind      string
	meta      metav1.ObjectMeta
	replicas  int
	selector  *metav1.LabelSelector
	pod       corev1.PodTemplateSpec
	claims    []corev1.PersistentVolumeClaim
	service   string // that names its pods
	collector corev1.Container
}

// manifests are the objects of a folder.
type manifests struct {
	workloads []workload
	services  []corev1.Service
	budgets   []policyv1.PodDisruptionBudget
	policies  []networkingv1.NetworkPolicy
	files     map[string]map[string]string // of ConfigMaps, by name
}

// render a folder as `kubectl apply -k` does, every field of it known to the API.
func render(t *testing.T, folder string) *manifests {
	t.Helper()
	kustomize := exec.Command(collector.File(t, "_build/tools/kustomize", "test"), "build", folder)
	var said bytes.Buffer
	kustomize.Stderr = &said
	text, err := kustomize.Output()
	require.NoError(t, err, said.String())
	m := &manifests{files: make(map[string]map[string]string)}
	for _, document := range bytes.Split(text, []byte("\n---\n")) {
		m.add(t, document)
	}
	return m
}

func (m *manifests) add(t *testing.T, document []byte) {
	t.Helper()
	var kind metav1.TypeMeta
	require.NoError(t, yaml.Unmarshal(document, &kind))
	switch kind.APIVersion + " " + kind.Kind {
	case "apps/v1 StatefulSet":
		set := decode[appsv1.StatefulSet](t, document)
		m.workloads = append(m.workloads, workload{
			kind.Kind, set.ObjectMeta, int(*set.Spec.Replicas), set.Spec.Selector,
			set.Spec.Template, set.Spec.VolumeClaimTemplates, set.Spec.ServiceName, set.Spec.Template.Spec.Containers[0],
		})
	case "apps/v1 DaemonSet":
		set := decode[appsv1.DaemonSet](t, document)
		m.workloads = append(m.workloads, workload{
			kind.Kind, set.ObjectMeta, 1, set.Spec.Selector, set.Spec.Template, nil, "", set.Spec.Template.Spec.Containers[0],
		})
	case "apps/v1 Deployment":
		set := decode[appsv1.Deployment](t, document)
		if beside := set.Spec.Template.Spec.InitContainers; len(beside) > 0 {
			m.workloads = append(m.workloads, workload{kind.Kind, set.ObjectMeta, 1, set.Spec.Selector, set.Spec.Template, nil, "", beside[0]})
		}
	case "v1 Service":
		m.services = append(m.services, decode[corev1.Service](t, document))
	case "policy/v1 PodDisruptionBudget":
		m.budgets = append(m.budgets, decode[policyv1.PodDisruptionBudget](t, document))
	case "networking.k8s.io/v1 NetworkPolicy":
		m.policies = append(m.policies, decode[networkingv1.NetworkPolicy](t, document))
	case "v1 ConfigMap":
		c := decode[corev1.ConfigMap](t, document)
		m.files[c.Name] = c.Data
	case "v1 Namespace":
		decode[corev1.Namespace](t, document)
	default:
		t.Fatalf("unknown kind:\n%s", document)
	}
}

func decode[T any](t *testing.T, document []byte) (object T) {
	t.Helper()
	require.NoError(t, yaml.UnmarshalStrict(document, &object), "%s", document)
	return object
}

const fleetFolder = "deploy/kubernetes"

// program is a folder with what its owner writes to have a sidecar: what the README shows, beside a checkout of this repository.
func program(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.Symlink(examples.Path(t, "."), filepath.Join(dir, "otel-topk")))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "shop"), 0o700))
	for name, text := range map[string]string{
		"kustomization.yaml": snippet(t, "yaml", "kind: Kustomization"),
		"program.yaml":       examples.Read(t, "testbed/kubernetes/testdata/program.yaml"),
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "shop", name), []byte(text), 0o600))
	}
	return filepath.Join(dir, "shop")
}

var fence = regexp.MustCompile("(?ms)^```([a-z]+)\n(.*?)^```$")

// snippet of the README in a language that holds a text.
func snippet(t *testing.T, language, text string) string {
	t.Helper()
	for _, block := range fence.FindAllStringSubmatch(examples.Read(t, fleetFolder+"/README.md"), -1) {
		if block[1] == language && strings.Contains(block[2], text) {
			return block[2]
		}
	}
	t.Fatalf("no snippet has %q", text)
	return ""
}

// everything is the fleet, and a program with a sidecar.
func everything(t *testing.T) *manifests {
	t.Helper()
	m, beside := render(t, examples.Path(t, fleetFolder)), render(t, program(t))
	require.Len(t, m.workloads, 3, "agent, shard, gateway")
	require.Len(t, beside.workloads, 1, "the Deployment with the label has a sidecar, the other none")
	m.workloads = append(m.workloads, beside.workloads...)
	for name, files := range beside.files {
		if has, ok := m.files[name]; ok {
			require.Equal(t, has, files, "%s: all count by the same rules", name)
		}
		m.files[name] = files
	}
	return m
}

// named workload.
func (m *manifests) named(t *testing.T, name string) workload {
	t.Helper()
	for _, w := range m.workloads {
		if w.meta.Name == name {
			return w
		}
	}
	t.Fatalf("no workload is called %s", name)
	return workload{}
}

func matches(t *testing.T, selector *metav1.LabelSelector, of map[string]string) bool {
	t.Helper()
	s, err := metav1.LabelSelectorAsSelector(selector)
	require.NoError(t, err)
	return s.Matches(labels.Set(of))
}

func TestSelectorsFindThePodsTheyAreFor(t *testing.T) {
	m := everything(t)
	for _, w := range m.workloads {
		for _, other := range m.workloads {
			assert.Equal(t, w.meta.Name == other.meta.Name, matches(t, w.selector, other.pod.Labels), "%s selects %s", w.meta.Name, other.meta.Name)
		}
		for _, spread := range w.pod.Spec.TopologySpreadConstraints {
			assert.True(t, matches(t, spread.LabelSelector, w.pod.Labels), w.meta.Name)
		}
	}
	budgets := make(map[string]int)
	for _, b := range m.budgets {
		for _, w := range m.workloads {
			if matches(t, b.Spec.Selector, w.pod.Labels) {
				budgets[w.meta.Name]++
				assert.Equal(t, b.Namespace, w.meta.Namespace)
				assert.Less(t, b.Spec.MaxUnavailable.IntValue(), w.replicas, "%s: some stay", b.Name)
			}
		}
	}
	assert.Equal(t, map[string]int{"topk-gateway": 1, "topk-shard": 1}, budgets)
}

func TestServicesLeadToPortsOfPods(t *testing.T) {
	m := everything(t)
	found := make(map[string]corev1.Service)
	for _, s := range m.services {
		found[s.Name] = s
		pods := 0
		for _, w := range m.workloads {
			if w.meta.Namespace != s.Namespace || !labels.SelectorFromSet(s.Spec.Selector).Matches(labels.Set(w.pod.Labels)) {
				continue
			}
			pods++
			for _, p := range s.Spec.Ports {
				assert.EqualValues(t, p.Port, portNamed(t, w.collector, p.TargetPort.String()), "%s: %s", s.Name, p.Name)
			}
		}
		assert.Equal(t, 1, pods, "%s leads to one kind of pod", s.Name)
	}
	for _, w := range m.workloads {
		if w.service != "" {
			assert.Equal(t, corev1.ClusterIPNone, found[w.service].Spec.ClusterIP, "%s: each pod has a name", w.meta.Name)
		}
	}
	assert.Equal(t, corev1.ServiceInternalTrafficPolicyLocal, *found["topk-agent"].Spec.InternalTrafficPolicy, "what has no TLS stays on the node")
}

func portNamed(t *testing.T, c corev1.Container, name string) int {
	t.Helper()
	for _, p := range c.Ports {
		if p.Name == name {
			return int(p.ContainerPort)
		}
	}
	t.Errorf("container %s has no port called %q", c.Name, name)
	return 0
}

func TestContainersMayDoNothingButRun(t *testing.T) {
	for _, w := range everything(t).workloads {
		of, pod := w.collector.SecurityContext, w.pod.Spec.SecurityContext
		if pod == nil {
			pod = &corev1.PodSecurityContext{}
		}
		if w.kind == "Deployment" { // the pod is the program's, so the container says it itself
			pod.RunAsNonRoot, pod.RunAsUser, pod.SeccompProfile = of.RunAsNonRoot, of.RunAsUser, of.SeccompProfile
		} else {
			assert.False(t, *w.pod.Spec.AutomountServiceAccountToken, w.meta.Name)
			assert.Equal(t, pod.RunAsUser, pod.FSGroup, "%s: volumes can be written", w.meta.Name)
		}
		assert.True(t, *pod.RunAsNonRoot, w.meta.Name)
		assert.EqualValues(t, userOfTheImage(t), *pod.RunAsUser, w.meta.Name)
		assert.Equal(t, corev1.SeccompProfileTypeRuntimeDefault, pod.SeccompProfile.Type, w.meta.Name)
		assert.False(t, *of.AllowPrivilegeEscalation, w.meta.Name)
		assert.True(t, *of.ReadOnlyRootFilesystem, w.meta.Name)
		assert.Equal(t, &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}, of.Capabilities, w.meta.Name)
		assert.Equal(t, "registry.example.com/otelcol-topk:0.1.0", w.collector.Image)
		assert.False(t, w.pod.Spec.HostNetwork || w.pod.Spec.HostPID || w.pod.Spec.HostIPC, w.meta.Name)
		for _, v := range w.pod.Spec.Volumes {
			assert.Nil(t, v.HostPath, w.meta.Name)
		}
	}
}

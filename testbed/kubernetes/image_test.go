package kubernetes_test

import (
	"debug/elf"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/testbed/collector"
	"github.com/otel-topk/collector/testbed/examples"
)

// instructions of the Dockerfile by stage, each as its words.
func instructions(t *testing.T) (stages [][][]string) {
	t.Helper()
	for line := range strings.Lines(examples.Read(t, "Dockerfile")) {
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		if words[0] == "FROM" {
			stages = append(stages, nil)
		}
		last := len(stages) - 1
		stages[last] = append(stages[last], words)
	}
	return stages
}

// final is the one instruction of a name in the last stage.
func final(t *testing.T, name string) []string {
	t.Helper()
	stages := instructions(t)
	var found [][]string
	for _, words := range stages[len(stages)-1] {
		if words[0] == name {
			found = append(found, words[1:])
		}
	}
	require.Len(t, found, 1, name)
	return found[0]
}

func userOfTheImage(t *testing.T) int {
	t.Helper()
	user, group, _ := strings.Cut(final(t, "USER")[0], ":")
	require.Equal(t, user, group)
	id, err := strconv.Atoi(user) // a name would not prove to Kubernetes that it is not root
	require.NoError(t, err)
	return id
}

func TestTheImageHoldsTheBinariesAlone(t *testing.T) {
	stages := instructions(t)
	require.Len(t, stages, 2)
	assert.Equal(t, []string{"gcr.io/distroless/static-debian12:nonroot"}, final(t, "FROM"))
	assert.Equal(t, []string{"--from=build", "/src/bin/otelcol-topk", "/src/bin/topk", "/usr/local/bin/"}, final(t, "COPY"))
	assert.Equal(t, []string{`["/usr/local/bin/otelcol-topk"]`}, final(t, "ENTRYPOINT"))
	assert.NotZero(t, userOfTheImage(t))
	for _, words := range stages[1] {
		assert.NotContains(t, []string{"RUN", "ADD", "SHELL"}, words[0])
	}
	for _, w := range everything(t).workloads {
		assert.Empty(t, w.collector.Command, "%s starts what the image starts", w.meta.Name)
		exposed := final(t, "EXPOSE")
		for _, p := range w.collector.Ports {
			assert.Contains(t, exposed, strconv.Itoa(int(p.ContainerPort)), w.meta.Name)
		}
	}
}

// The image is built from what .dockerignore lets in: all that the binaries are made of must be there.
func TestTheImageIsBuiltFromAllThatTheBinariesNeed(t *testing.T) {
	var in []string
	for line := range strings.Lines(examples.Read(t, ".dockerignore")) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "!"); ok {
			_, err := os.Stat(examples.Path(t, name))
			assert.NoError(t, err)
			in = append(in, name)
		}
	}
	packages := []string{"./cmd/topk"}
	for line := range strings.Lines(examples.Read(t, "builder-config.yaml")) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "import: github.com/otel-topk/collector/"); ok {
			packages = append(packages, "./"+name)
		}
	}
	require.Greater(t, len(packages), 5)
	list := exec.Command("go", append([]string{"list", "-deps", "-f", `{{with .Module}}{{if .Main}}{{$.ImportPath}}{{range $.EmbedFiles}} {{.}}{{end}}{{end}}{{end}}`}, packages...)...)
	list.Dir = examples.Path(t, ".")
	said, err := list.Output()
	require.NoError(t, err)
	for _, line := range strings.Split(strings.TrimSpace(string(said)), "\n") {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		folder, _, _ := strings.Cut(strings.TrimPrefix(words[0], "github.com/otel-topk/collector/"), "/")
		assert.Contains(t, in, folder, words[0])
		for _, embedded := range words[1:] {
			assert.NotContains(t, embedded, "testdata", words[0])
		}
	}
}

func TestTheBinariesNeedNoLibraries(t *testing.T) {
	for _, name := range []string{"otelcol-topk", "topk"} {
		file, err := elf.Open(collector.Binary(t, name))
		require.NoError(t, err)
		defer file.Close()
		libraries, err := file.ImportedLibraries()
		require.NoError(t, err)
		assert.Empty(t, libraries, name)
		for _, p := range file.Progs {
			assert.NotContains(t, []elf.ProgType{elf.PT_INTERP, elf.PT_DYNAMIC}, p.Type, name)
		}
	}
}

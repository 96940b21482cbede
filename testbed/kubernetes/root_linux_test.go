package kubernetes_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestAPodRunsAsTheImageDoes runs a gateway with a root that holds the binary and the volumes and nothing else, as the user of the
// image, who may write nothing but the storage. Only root may make such a root: for others it is the pod as in the other tests.
func TestAPodRunsAsTheImageDoes(t *testing.T) {
	c := newCluster(t)
	w := c.named(t, "topk-gateway")
	p := &pod{name: "topk-gateway-0", of: w, root: t.TempDir(), volumes: make(map[string]string)}
	p.ip = c.address(dnsName(w, p.name))
	c.mount(t, p)
	cmd := p.command(c.environment(t, p))
	if os.Geteuid() == 0 {
		cmd = p.imprisoned(t, c)
	}
	p.run(t, cmd)
	p.stop(t)
	written, err := filepath.Glob(filepath.Join(p.volumes["/var/lib/otelcol"], "storage", "*"))
	require.NoError(t, err)
	assert.NotEmpty(t, written, "it has stored something")
	assert.NotContains(t, p.said.String(), "permission denied")
	assert.NotContains(t, p.said.String(), "read-only")
}

// imprisoned is the command in a root of its own. Files there belong to root and may be read alone, as in an image.
func (p *pod) imprisoned(t *testing.T, c *cluster) *exec.Cmd {
	t.Helper()
	user := userOfTheImage(t)
	require.NoError(t, filepath.WalkDir(p.root, func(path string, entry os.DirEntry, err error) error {
		if err == nil && path != filepath.Join(p.root, "otelcol-topk") { // which is a link of what was built
			err = os.Chmod(path, 0o555)
		}
		return err
	}))
	storage := p.volumes["/var/lib/otelcol"]
	require.NoError(t, os.Chown(storage, user, user))
	require.NoError(t, os.Chmod(storage, 0o700))
	for path, folder := range p.volumes { // where the volume is for the pod
		files, _ := c.content(t, p.of, mountAt(p, path))
		if text, ok := files["config.yaml"]; ok {
			inside := *p
			inside.volumes = nil // paths stay as they are
			require.NoError(t, os.WriteFile(filepath.Join(folder, "config.yaml"), []byte(c.adapted(t, &inside, text)), 0o444))
		}
	}
	cmd := exec.Command("/otelcol-topk", p.of.collector.Args...)
	cmd.Env, cmd.Dir = c.environment(t, p), "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Chroot:     p.root,
		Credential: &syscall.Credential{Uid: uint32(user), Gid: uint32(user)},
	}
	return cmd
}

func mountAt(p *pod, path string) string {
	for _, m := range p.of.collector.VolumeMounts {
		if m.MountPath == path {
			return m.Name
		}
	}
	return ""
}

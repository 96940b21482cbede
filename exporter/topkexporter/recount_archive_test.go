package topkexporter

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otel-topk/collector/internal/archive"
	"github.com/otel-topk/collector/internal/rule"
)

// twoHoursAgo is the last hour but one, which is closed and whole.
func twoHoursAgo() time.Time { return time.Now().UTC().Truncate(time.Hour).Add(-2 * time.Hour) }

// archived writes so many records of each tenant, alternating between two regions, spread over an hour; every third has no region.
func archived(t *testing.T, folder string, hour time.Time, counts map[string]int) (path string) {
	store, err := archive.OpenStore(t.Context(), "file://"+folder)
	require.NoError(t, err)
	defer store.Close()
	f := archive.File{Signal: rule.SignalLogs, Hour: archive.HourOf(hour.UnixNano()), Name: archive.FileName("shard", "0123456789abcdef")}
	columns, err := archive.ParseColumns([]string{`log.attributes["tenant.id"]`})
	require.NoError(t, err)
	_, err = store.Put(t.Context(), f.Path(), func(w io.Writer) error {
		writer, err := archive.NewWriter(w, archive.Meta{Signal: f.Signal, Hour: f.Hour, Shard: "shard", Segment: "0123456789abcdef", Columns: columns})
		if err != nil {
			return err
		}
		n := 0
		for _, tenant := range sortedKeys(counts) {
			for range counts[tenant] {
				rl := plog.NewResourceLogs()
				if n%3 < 2 {
					rl.Resource().Attributes().PutStr("cloud.region", []string{"eu", "us"}[n%3])
				}
				record := rl.ScopeLogs().AppendEmpty().LogRecords().AppendEmpty()
				record.SetTimestamp(pcommon.NewTimestampFromTime(hour.Add(time.Duration(n) * time.Second)))
				record.Attributes().PutStr("tenant.id", tenant)
				if err := writer.Log(rl, rl.ScopeLogs().At(0), record, hour.UnixNano()); err != nil {
					return err
				}
				n++
			}
		}
		return writer.Close()
	})
	require.NoError(t, err)
	return filepath.Join(folder, f.Path())
}

// archiveServer is an exporter as a collector runs it, whose recounts read folder.
func archiveServer(t *testing.T, folder string, edits ...func(settings map[string]any)) (url string) {
	settings := recountSettings()
	for _, edit := range edits {
		edit(settings)
	}
	settings["archive"] = "file://" + folder
	settings["memory_limit"] = 16 << 20
	config, err := load(t, map[string]any{"recount": settings})
	require.NoError(t, err)
	_, address := started(t, componenttest.NewNopHost(), func(c *Config) { c.Recount = config.Recount })
	return "http://" + address
}

// post starts a recount.
func post(t *testing.T, url, body string) (status int, answer, location string) {
	client := &http.Client{}
	defer client.CloseIdleConnections()
	response, err := client.Post(url+recountsRoute, "application/json", strings.NewReader(body))
	require.NoError(t, err)
	defer response.Body.Close()
	b, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(b), response.Header.Get("Location")
}

// recounted is the answer to an order once its job has ended.
func recounted(t *testing.T, url, body string) jobAnswer {
	status, text, location := post(t, url, body)
	require.Equal(t, http.StatusAccepted, status, text)
	var a jobAnswer
	require.Eventually(t, func() bool {
		status, text := fetch(t, &http.Client{}, url+location)
		require.Equal(t, http.StatusOK, status, text)
		a = decodeText[jobAnswer](t, text)
		return a.Ended != nil
	}, 30*time.Second, 5*time.Millisecond)
	return a
}

func TestARecountReadsWhatIsArchived(t *testing.T) {
	folder, hour := t.TempDir(), twoHoursAgo()
	counts := map[string]int{"acme": 300, "globex": 200, "initech": 7, "": 5}
	archived(t, folder, hour, counts)
	url := archiveServer(t, folder)
	span := fmt.Sprintf(`"rule":"tenants","from":%d,"to":%d`, hour.Add(-time.Hour).Unix(), hour.Add(time.Hour).Unix())

	a := recounted(t, url, `{`+span+`,"keys":["acme","nobody",""]}`)
	require.Equal(t, "done", a.Status, a.Error)
	assert.EqualValues(t, 512, *a.Total)
	assert.EqualValues(t, 512, *a.Records)
	assert.Equal(t, 1, *a.Files)
	assert.Equal(t, []string{hour.Add(-time.Hour).Format(time.RFC3339)}, a.MissingHours, "an hour without a file is named")
	for i, want := range []uint64{300, 0, 5} {
		assert.Equal(t, want, a.Results[i].Count)
		assert.Equal(t, want, a.Results[i].Records)
	}

	a = recounted(t, url, `{`+span+`,"k":3}`)
	require.Equal(t, "done", a.Status, a.Error)
	assert.EqualValues(t, 4, *a.Distinct)
	require.Len(t, a.Results, 3)
	for i, want := range []exactCount{{Key: "acme", Count: 300}, {Key: "globex", Count: 200}, {Key: "initech", Count: 7}} {
		assert.Equal(t, want.Key, a.Results[i].Key)
		assert.Equal(t, want.Count, a.Results[i].Count)
		assert.Equal(t, i+1, *a.Results[i].Rank)
	}

	var groups uint64
	for _, list := range []string{`"group":"eu"`, `"group":"us"`, `"scope":"missing"`} {
		a := recounted(t, url, `{`+span+`,`+list+`}`)
		require.Equal(t, "done", a.Status, a.Error)
		assert.InDelta(t, 512/3, *a.Total, 1, list)
		groups += *a.Total
	}
	assert.EqualValues(t, 512, groups)
	a = recounted(t, url, `{`+span+`,"group":"nowhere"}`)
	assert.Equal(t, "done", a.Status)
	assert.Zero(t, *a.Total)
	assert.Empty(t, a.Results)
}

func TestARecountOfPartOfAnHourReadsThatPart(t *testing.T) {
	folder, hour := t.TempDir(), twoHoursAgo()
	archived(t, folder, hour, map[string]int{"acme": 100})
	url := archiveServer(t, folder)
	a := recounted(t, url, fmt.Sprintf(`{"rule":"tenants","from":%d,"to":%d}`, hour.Unix()+10, hour.Unix()+30))
	require.Equal(t, "done", a.Status, a.Error)
	assert.EqualValues(t, 20, *a.Total)
}

// M10, and what else may be wrong with an archive: an answer that says so.
func TestARecountOfAnArchiveThatLacksOrLostSomethingSaysSo(t *testing.T) {
	folder, hour := t.TempDir(), twoHoursAgo()
	path := archived(t, folder, hour, map[string]int{"acme": 100})
	url := archiveServer(t, folder)
	order := func(from time.Time) string {
		return fmt.Sprintf(`{"rule":"tenants","from":%d,"to":%d}`, from.Unix(), from.Add(time.Hour).Unix())
	}
	a := recounted(t, url, order(hour.Add(-5*time.Hour)))
	assert.Equal(t, "failed", a.Status)
	assert.Equal(t, fmt.Sprintf("the archive has no file in the range: file://%s from %s to %s", folder,
		hour.Add(-5*time.Hour).Format(time.RFC3339), hour.Add(-4*time.Hour).Format(time.RFC3339)), *a.Error)

	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, whole[:len(whole)/2], 0o600))
	a = recounted(t, url, order(hour))
	assert.Equal(t, "failed", a.Status)
	assert.Contains(t, *a.Error, filepath.Base(path))
	assert.Contains(t, *a.Error, "; recount.skip_damaged: true leaves such files out")

	require.NoError(t, os.Rename(folder, filepath.Join(t.TempDir(), "gone"))) // at once: hours are closed there meanwhile
	a = recounted(t, url, order(hour))
	assert.Equal(t, "failed", a.Status)

	status, text, _ := post(t, url, `{"reason":"`+strings.Repeat("x", 70_000)+`"}`)
	assert.Equal(t, http.StatusRequestEntityTooLarge, status, text)
	assert.Contains(t, text, "body: it is longer than 65536 bytes; allowed: what max_request_body_size says, and 4194304 at most")
}

func TestADamagedFileIsLeftOutAndNamedWhereThatIsAskedFor(t *testing.T) {
	folder, hour := t.TempDir(), twoHoursAgo()
	archived(t, folder, hour, map[string]int{"acme": 100})
	before := archived(t, folder, hour.Add(-time.Hour), map[string]int{"acme": 10})
	require.NoError(t, os.Truncate(before, 100))
	foreign := filepath.Join(filepath.Dir(before), "notes.parquet")
	require.NoError(t, os.WriteFile(foreign, []byte("PAR1"), 0o600))
	url := archiveServer(t, folder, func(settings map[string]any) { settings["skip_damaged"] = true })
	a := recounted(t, url, fmt.Sprintf(`{"rule":"tenants","from":%d,"to":%d}`, hour.Add(-time.Hour).Unix(), hour.Add(time.Hour).Unix()))
	require.Equal(t, "done", a.Status, a.Error)
	assert.EqualValues(t, 100, *a.Total)
	assert.Equal(t, 1, *a.Files)
	assert.Equal(t, 2, a.LeftOutFiles)
	for i, path := range []string{foreign, before} {
		assert.Contains(t, a.LeftOut[i], filepath.Base(path))
	}
}

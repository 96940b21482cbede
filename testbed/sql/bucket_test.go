package sql_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otel-topk/collector/testbed/bucket"
)

// inBucket heads the block that makes a view of a bucket's archive, which stands behind the question.
const inBucket = "A bucket in ClickHouse"

func TestClickHouseReadsABucket(t *testing.T) {
	server := bucket.Start(t)
	want := answers(writeLogs(t, server.Create(t, "archive"), perDay), nil)
	var question string
	e := start(t, engines["ClickHouse"])
	for _, b := range page(t, "https://archive.s3.eu-west-1.amazonaws.com", "http://"+server.Address+"/archive",
		"ACCESS_KEY", bucket.AccessKey, "SECRET_KEY", bucket.SecretKey) {
		switch b.heading {
		case inBucket:
			e.run(t, b.sql)
		case "The list of a day":
			question = b.sql
		}
	}
	assert.Equal(t, want["The list of a day"], e.run(t, question))
}

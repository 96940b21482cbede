package shared

import (
	_ "embed"

	"github.com/redis/go-redis/v9"
)

//go:embed put.lua
var putText string

var put = redis.NewScript(putText)

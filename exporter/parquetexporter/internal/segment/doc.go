// Package segment keeps requests in a folder of files until they are archived: what Append took is durable. FORMAT.md has the bytes.
package segment

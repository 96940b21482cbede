package rule

import "github.com/zeebo/xxh3"

// SeedOf is the hash seed that the text of `seed:` stands for: 0 for none.
func SeedOf(text string) uint64 {
	if text == "" {
		return 0
	}
	return xxh3.HashString(text)
}

package topk

import "github.com/zeebo/xxh3"

// identity of a key: 128 bits of seeded xxh3. Place chooses group and tag in the table, id is compared; the rows of the
// tail take them in turn. Id is odd, so that a cleared slot matches no key.
type identity struct{ place, id uint64 }

// identify is small enough to be inlined where it counts.
func identify(key string, seed uint64) identity {
	return identityOf(xxh3.HashString128Seed(key, seed))
}

func identityOf(h xxh3.Uint128) identity { return identity{h.Lo, h.Hi | 1} }

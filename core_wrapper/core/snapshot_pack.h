/* snapshot_pack.h - packed snapshots: whole, or as the difference to an older one. net/ROOMS.md §7,
 * Snapshots. */
#ifndef KLW_SNAPSHOT_PACK_H
#define KLW_SNAPSHOT_PACK_H

#include <stddef.h>
#include <stdint.h>

#define KL_SNAPSHOT_WINDOW_LOG 20 /* of zstd; the largest that a relay takes */

/* Packs by zstd. Heap; NULL without memory. */
uint8_t *kl_snapshot_pack(const uint8_t *bytes, size_t len, size_t *packed_len);
/* The same in slices, each by the same slice of the base (net/relay/heal/unpack.h puts them together). */
uint8_t *kl_snapshot_pack_against(const uint8_t *base, size_t base_len, const uint8_t *bytes, size_t len,
                                  size_t *packed_len);
/* Unpacks a snapshot of `bytes` bytes and this BLAKE2b hash. Heap; NULL if size or hash differ. */
uint8_t *kl_snapshot_unpack(const uint8_t *packed, size_t len, uint32_t bytes, const uint8_t hash[32]);

#endif

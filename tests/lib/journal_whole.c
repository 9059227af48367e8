#include "tests/lib/journal_whole.h"

uint32_t journal_whole_frames(const uint8_t relays_secret[32], const uint8_t *bytes, size_t len,
                              uint64_t *end) {
    struct kl_journal_cursor c;
    uint8_t key[32], id[KL_JOURNAL_ID];
    uint32_t frames = 0;
    *end = 0;
    if (kl_journal_head_open(relays_secret, bytes, len, id) != KL_OK) return 0;
    kl_journal_key(relays_secret, id, key);
    kl_journal_seek(&c, key, bytes, len);
    while (kl_journal_next(&c)) {
        if (c.type != KL_JOURNAL_FRAMES) continue;
        const uint8_t *piece = c.body;
        frames = (uint32_t)(piece[0] | piece[1] << 8 | piece[2] << 16) + piece[4];
    }
    *end = c.at;
    return frames;
}

#include "tests/lib/journal_whole.h"

#include <string.h>

#include "net/engine/wire.h"

/* Frames [first, end) of a piece. */
static uint32_t first_of(const uint8_t *piece) {
    return (uint32_t)(piece[0] | piece[1] << 8 | piece[2] << 16);
}
static uint32_t end_of(const uint8_t *piece) {
    return first_of(piece) + piece[4];
}

/* Frames of the recording's whole PIECES, each with its DIGEST behind it. */
static uint32_t in_recording(const struct journal_bytes *b, uint64_t *good, bool *starts) {
    struct kl_klr_cursor c;
    uint32_t frames = 0, coming = 0;
    *good = 0;
    *starts = false;
    if (!kl_klr_open(&c, b->recording, b->recording_len)) return 0;
    while (kl_klr_next(&c) == KL_KLR_BLOCK) {
        *starts |= c.type == KL_KLR_START;
        for (size_t at = 0; c.type == KL_KLR_PIECES && at < c.body_len;
             at += 2 + c.body[at] + 256 * (size_t)c.body[at + 1])
            coming = end_of(c.body + at + 2);
        if (c.type == KL_KLR_DIGEST) frames = coming;
        if (frames == coming) *good = c.place.at;
    }
    return frames;
}

uint32_t journal_whole_frames(const uint8_t relays_secret[32], const uint8_t id[KL_STORE_ID],
                              const struct journal_bytes *b, uint64_t *good) {
    struct kl_tail_cursor slot[2];
    uint8_t key[32];
    uint64_t ignored;
    bool starts, has_ticket = false;
    uint32_t frames = in_recording(b, good ? good : &ignored, &starts);
    kl_tail_key(relays_secret, id, key);
    size_t wrong;
    unsigned slots = kl_tail_open(slot, key, b->tail, b->tail_len, &wrong);
    for (unsigned i = 0; i < slots; i++)
        for (struct kl_tail_cursor *c = &slot[i]; kl_tail_next(c, &wrong);) {
            has_ticket |= c->type == KL_TAIL_TICKET;
            bool follows = c->type == KL_TAIL_FRAMES && first_of(c->body) <= frames;
            if (follows && end_of(c->body) > frames) frames = end_of(c->body);
        }
    return has_ticket && starts ? frames : 0;
}

void journal_read_rooms(struct kl_lobby *l, uint64_t now_us) {
    for (bool more = true; more;) {
        more = false;
        for (unsigned i = 0; i < l->limits.rooms; i++)
            if (l->room[i] && kl_journal_is_unread(l->room[i])) {
                kl_journal_read(l->room[i], now_us);
                more = true;
            }
    }
}

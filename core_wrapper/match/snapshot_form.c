#include "core_wrapper/match/snapshot_form.h"

#include <stdlib.h>
#include <string.h>

#include "net/engine/msg.h"

#define HEAD_BYTES 64 /* at most, with the length of the state */

static const uint8_t magic[4] = {'K', 'L', 'P', '2'};

/* --- writing --- */

static void write_head(struct kl_writer *w, const struct kl_snapshot_head *h) {
    kl_write_bytes(w, magic, sizeof magic);
    kl_write_u32(w, h->frame);
    kl_write_u64(w, h->chance);
    kl_write_u64(w, (uint64_t)h->time.base_ns);
    kl_write_u32(w, h->time.base_frame);
    kl_write_bytes(w, h->plays, sizeof h->plays);
    kl_write_u8(w, h->policy);
    kl_write_u16(w, h->wait_budget_ms);
    kl_write_u8(w, h->spacing_fixed);
    kl_mask_write(w, &h->mask);
}

uint8_t *kl_snapshot_begin(const struct kl_snapshot_head *head, const struct kl_outside *outside,
                           const struct kl_fileset *files, size_t state_len, uint8_t **state, size_t *len) {
    size_t bound = HEAD_BYTES + (head->mask.count + 1) * KL_MASK_BOUND + kl_outside_bound(outside) +
                   kl_files_bound(files);
    struct kl_writer w;
    if (state_len > KL_SNAPSHOT_MAX || bound > KL_SNAPSHOT_MAX) return NULL;
    uint8_t *bytes = calloc(1, bound + state_len);
    if (!bytes) return NULL;
    kl_writer_init(&w, bytes, bound);
    write_head(&w, head);
    kl_outside_write(&w, outside);
    kl_files_write(&w, files);
    kl_write_var(&w, state_len);
    *state = w.at;
    *len = (size_t)(w.at - bytes) + state_len;
    if (!w.failed && *len <= KL_SNAPSHOT_MAX) return bytes;
    free(bytes);
    return NULL;
}

/* --- reading --- */

static void read_head(struct kl_reader *r, struct kl_snapshot_head *h) {
    const uint8_t *m = kl_read_bytes(r, sizeof magic);
    if (!m || memcmp(m, magic, sizeof magic) != 0) r->failed = true;
    h->frame = kl_read_u32(r);
    h->chance = kl_read_u64(r);
    h->time.base_ns = (int64_t)kl_read_u64(r);
    h->time.base_frame = kl_read_u32(r);
    const uint8_t *plays = kl_read_bytes(r, sizeof h->plays);
    if (plays) memcpy(h->plays, plays, sizeof h->plays);
    h->policy = kl_read_u8(r);
    h->wait_budget_ms = kl_read_u16(r);
    h->spacing_fixed = kl_read_u8(r);
    kl_mask_read(r, &h->mask);
    for (unsigned s = 0; s < KL_MAX_SEATS; s++)
        if (h->plays[s] >= KL_MAX_SEATS) r->failed = true;
    bool clock = h->time.base_ns >= 0 && h->time.base_frame <= h->frame;
    if (!clock || h->policy > KL_POLICY_OPTIMISTIC || h->spacing_fixed > KL_SPACING_MAX) r->failed = true;
}

int kl_snapshot_open(struct kl_snapshot_view *v, const uint8_t *bytes, size_t len) {
    struct kl_reader r;
    memset(v, 0, sizeof *v);
    kl_reader_init(&r, bytes, len);
    read_head(&r, &v->head);
    kl_outside_read(&r, &v->outside);
    v->files = r;
    kl_files_read(&r);
    v->head.time.fps_uhz = v->outside.fps_uhz;
    v->state_len = (size_t)kl_read_var(&r, KL_SNAPSHOT_MAX);
    v->state = kl_read_bytes(&r, v->state_len);
    return r.failed || v->state_len == 0 || kl_reader_left(&r) > 0 ? KL_E_MALFORMED : KL_OK;
}

#include "core_wrapper/match/snapshot_form.h"

#include <stdlib.h>
#include <string.h>

#include "net/engine/msg.h"

static const uint8_t magic[4] = {'K', 'L', 'P', '1'};

/* --- writing --- */

static void write_head(struct kl_writer *w, const struct kl_snapshot_head *h) {
    kl_write_bytes(w, magic, sizeof magic);
    kl_write_u32(w, h->frame);
    kl_write_u64(w, h->chance);
    kl_write_u64(w, (uint64_t)h->time.base_ns);
    kl_write_u32(w, h->time.base_frame);
    kl_write_u32(w, h->time.fps_uhz);
    kl_write_bytes(w, h->plays, sizeof h->plays);
    kl_write_u8(w, h->policy);
    kl_write_u16(w, h->wait_budget_ms);
    kl_write_u8(w, h->spacing_fixed);
    kl_write_u8(w, h->tray_open);
    kl_write_u32(w, h->tray_frame);
    kl_write_u16(w, h->tray_index);
    kl_write_u16(w, h->disk);
    kl_write_u8(w, h->ejected);
}

/* A value that a reader would refuse is not written, here or elsewhere. */
static bool fits(const struct kl_option *o) {
    return o->key && o->value && strlen(o->key) < KL_SNAPSHOT_KEY_MAX &&
           strlen(o->value) < KL_SNAPSHOT_VALUE_MAX;
}

static unsigned count_options(const struct kl_options *o) {
    unsigned count = 0;
    for (unsigned i = 0; i < o->count; i++)
        count += fits(&o->at[i]);
    return count < KL_SNAPSHOT_OPTIONS ? count : KL_SNAPSHOT_OPTIONS;
}

static void write_options(struct kl_writer *w, const struct kl_options *o) {
    unsigned left = count_options(o);
    kl_write_var(w, left);
    for (unsigned i = 0; i < o->count && left; i++) {
        if (!fits(&o->at[i])) continue;
        kl_write_string(w, o->at[i].key);
        kl_write_string(w, o->at[i].value);
        left--;
    }
}

uint8_t *kl_snapshot_begin(const struct kl_snapshot_head *head, const struct kl_options *options,
                           size_t state_len, uint8_t **state, size_t *len) {
    size_t bound = 128 + (size_t)options->count * (KL_SNAPSHOT_KEY_MAX + KL_SNAPSHOT_VALUE_MAX + 8);
    struct kl_writer w;
    if (state_len > KL_SNAPSHOT_MAX || bound > KL_SNAPSHOT_MAX) return NULL;
    uint8_t *bytes = calloc(1, bound + state_len);
    if (!bytes) return NULL;
    kl_writer_init(&w, bytes, bound);
    write_head(&w, head);
    write_options(&w, options);
    kl_write_var(&w, state_len);
    *state = w.at;
    *len = (size_t)(w.at - bytes) + state_len;
    if (!w.failed && *len <= KL_SNAPSHOT_MAX) return bytes;
    free(bytes);
    return NULL;
}

/* --- reading --- */

static bool read_flag(struct kl_reader *r) {
    uint8_t v = kl_read_u8(r);
    if (v > 1) r->failed = true;
    return v == 1;
}

static void read_head(struct kl_reader *r, struct kl_snapshot_head *h) {
    const uint8_t *m = kl_read_bytes(r, sizeof magic);
    if (!m || memcmp(m, magic, sizeof magic) != 0) r->failed = true;
    h->frame = kl_read_u32(r);
    h->chance = kl_read_u64(r);
    h->time.base_ns = (int64_t)kl_read_u64(r);
    h->time.base_frame = kl_read_u32(r);
    h->time.fps_uhz = kl_read_u32(r);
    const uint8_t *plays = kl_read_bytes(r, sizeof h->plays);
    if (plays) memcpy(h->plays, plays, sizeof h->plays);
    h->policy = kl_read_u8(r);
    h->wait_budget_ms = kl_read_u16(r);
    h->spacing_fixed = kl_read_u8(r);
    h->tray_open = read_flag(r);
    h->tray_frame = kl_read_u32(r);
    h->tray_index = kl_read_u16(r);
    h->disk = kl_read_u16(r);
    h->ejected = read_flag(r);
    for (unsigned s = 0; s < KL_MAX_SEATS; s++)
        if (h->plays[s] >= KL_MAX_SEATS) r->failed = true;
    bool clock = h->time.base_ns >= 0 && h->time.base_frame <= h->frame && h->time.fps_uhz >= KL_FPS_MIN &&
                 h->time.fps_uhz <= KL_FPS_MAX;
    if (!clock || h->policy > KL_POLICY_OPTIMISTIC || h->spacing_fixed > KL_SPACING_MAX) r->failed = true;
}

int kl_snapshot_open(struct kl_snapshot_view *v, const uint8_t *bytes, size_t len) {
    char key[KL_SNAPSHOT_KEY_MAX], value[KL_SNAPSHOT_VALUE_MAX];
    struct kl_reader r;
    memset(v, 0, sizeof *v);
    kl_reader_init(&r, bytes, len);
    read_head(&r, &v->head);
    v->options = (unsigned)kl_read_var(&r, KL_SNAPSHOT_OPTIONS);
    v->option = r;
    for (unsigned i = 0; i < v->options && !r.failed; i++) {
        kl_read_string(&r, key, sizeof key);
        kl_read_string(&r, value, sizeof value);
    }
    v->state_len = (size_t)kl_read_var(&r, KL_SNAPSHOT_MAX);
    v->state = kl_read_bytes(&r, v->state_len);
    return r.failed || v->state_len == 0 || kl_reader_left(&r) > 0 ? KL_E_MALFORMED : KL_OK;
}

bool kl_snapshot_option(struct kl_snapshot_view *v, char key[KL_SNAPSHOT_KEY_MAX],
                        char value[KL_SNAPSHOT_VALUE_MAX]) {
    if (!v->options) return false;
    v->options--;
    kl_read_string(&v->option, key, KL_SNAPSHOT_KEY_MAX);
    kl_read_string(&v->option, value, KL_SNAPSHOT_VALUE_MAX);
    return !v->option.failed;
}

#include "core_wrapper/start/start.h"

#include <stdio.h>
#include <string.h>

#include "net/engine/plain.h"
#include "net/engine/wire.h"

static const uint8_t magic[4] = {'K', 'L', 'S', '2'};

enum { SHOW_ALL = 1, LOAD_OWN = 2, STATES_EQUAL = 4, NO_SNAPSHOTS = 8, HAS_STATE = 16, KNOWN = 31 };

bool kl_start_path_ok(const char *path) {
    size_t len = strlen(path);
    if (len == 0 || len >= KL_START_PATH_MAX || path[0] == '/' || path[len - 1] == '/') return false;
    for (const char *p = path; *p;) {
        size_t n = strcspn(p, "/");
        if (n == 0 || (n == 1 && p[0] == '.') || (n == 2 && p[0] == '.' && p[1] == '.')) return false;
        for (size_t i = 0; i < n; i++)
            if ((unsigned char)p[i] < 0x20 || p[i] == 0x7f || p[i] == '\\') return false;
        p += n;
        if (*p) p++;
    }
    return true;
}

bool kl_start_text_ok(const char *text, size_t cap) {
    uint8_t wire[520];
    char back[512];
    struct kl_writer w = kl_writer(wire, sizeof wire);
    kl_write_var(&w, strlen(text)); /* unchanged; kl_write_string would correct the text */
    kl_write_bytes(&w, text, strlen(text));
    if (w.failed) return false;
    struct kl_reader r = kl_reader(wire, (size_t)(w.at - wire));
    kl_read_string(&r, back, cap < sizeof back ? cap : sizeof back);
    return !r.failed;
}

#define USUAL_SYSTEM "Linux"
#define STATE_BOUND  (KL_MATCH_MAX + KL_START_WHO_MAX + 128) /* bytes without the state's own */

void kl_start_put_system(struct kl_start *s, const char *system) {
    if (!strcmp(system, USUAL_SYSTEM) || s->option_count == KL_START_OPTIONS) return;
    struct kl_start_option *o = &s->option[s->option_count++];
    snprintf(o->key, sizeof o->key, "%s", KL_START_SYSTEM);
    snprintf(o->value, sizeof o->value, "%s", system);
}

const char *kl_start_system(const struct kl_start *s) {
    for (unsigned i = 0; i < s->option_count; i++)
        if (!strcmp(s->option[i].key, KL_START_SYSTEM)) return s->option[i].value;
    return USUAL_SYSTEM;
}

void kl_start_state_words(const struct kl_start_state *s, char out[KL_START_WORDS]) {
    char of[KL_MATCH_MAX + 8] = "a recording";
    unsigned any = 0;
    for (unsigned i = 0; i < sizeof s->room_id; i++)
        any |= s->room_id[i];
    if (*s->match)
        snprintf(of, sizeof of, "match %s", s->match);
    else if (any)
        snprintf(of, sizeof of, "room %02x%02x%02x%02x%02x%02x", s->room_id[0], s->room_id[1], s->room_id[2],
                 s->room_id[3], s->room_id[4], s->room_id[5]);
    snprintf(out, KL_START_WORDS, "frame %u of %s%s%s", s->frame, of, *s->players ? ": " : "", s->players);
    (void)kl_plain(out);
}

size_t kl_start_bound(const struct kl_start *s) {
    size_t n = sizeof magic + 1 + 6 * 10 + s->profile.mask.count * KL_MASK_BOUND;
    for (unsigned i = 0; i < s->option_count; i++)
        n += strlen(s->option[i].key) + strlen(s->option[i].value) + 20;
    n += s->device_count * 5u;
    for (unsigned i = 0; i < s->memory_count; i++)
        n += 14 + s->memory[i].len;
    for (unsigned i = 0; i < s->file_count; i++)
        n += 20 + strlen(s->file[i].path) + s->file[i].len;
    return n + STATE_BOUND + s->state.packed_len;
}

static void encode_profile(struct kl_writer *w, const struct kl_start *s) {
    const struct kl_profile_room *p = &s->profile;
    kl_write_u8(w,
                (uint8_t)(p->show_all * SHOW_ALL | p->load_own * LOAD_OWN | p->states_equal * STATES_EQUAL |
                          p->no_snapshots * NO_SNAPSHOTS | (s->state.bytes > 0) * HAS_STATE));
    kl_mask_write(w, &p->mask);
}

static void encode_state(struct kl_writer *w, const struct kl_start_state *s) {
    kl_write_u32(w, s->frame);
    kl_write_bytes(w, s->room_id, sizeof s->room_id);
    kl_write_string(w, s->match);
    kl_write_string(w, s->players);
    kl_write_u64(w, s->chance);
    kl_write_u32(w, s->bytes);
    kl_write_bytes(w, s->hash, sizeof s->hash);
    kl_write_var(w, s->packed_len);
    kl_write_bytes(w, s->packed, s->packed_len);
}

int kl_start_encode(const struct kl_start *s, uint8_t *buf, size_t cap) {
    struct kl_writer w = kl_writer(buf, cap);
    kl_write_bytes(&w, magic, sizeof magic);
    encode_profile(&w, s);
    kl_write_var(&w, s->option_count);
    for (unsigned i = 0; i < s->option_count; i++) {
        kl_write_string(&w, s->option[i].key);
        kl_write_string(&w, s->option[i].value);
    }
    kl_write_var(&w, s->device_count);
    for (unsigned i = 0; i < s->device_count; i++) {
        kl_write_u8(&w, s->device[i].port);
        kl_write_u32(&w, s->device[i].device);
    }
    kl_write_var(&w, s->memory_count);
    for (unsigned i = 0; i < s->memory_count; i++) {
        kl_write_u32(&w, s->memory[i].id);
        kl_write_var(&w, s->memory[i].len);
        kl_write_bytes(&w, s->memory[i].bytes, s->memory[i].len);
    }
    kl_write_var(&w, s->file_count);
    for (unsigned i = 0; i < s->file_count; i++) {
        kl_write_string(&w, s->file[i].path);
        kl_write_var(&w, s->file[i].len);
        kl_write_bytes(&w, s->file[i].bytes, s->file[i].len);
    }
    if (s->state.bytes) encode_state(&w, &s->state);
    return w.failed ? KL_E_SPACE : (int)(w.at - buf);
}

/* Returns whether a state follows the files. */
static bool decode_profile(struct kl_profile_room *p, struct kl_reader *r) {
    uint8_t flags = kl_read_u8(r);
    p->show_all = flags & SHOW_ALL;
    p->load_own = flags & LOAD_OWN;
    p->states_equal = flags & STATES_EQUAL;
    p->no_snapshots = flags & NO_SNAPSHOTS;
    kl_mask_read(r, &p->mask);
    if (flags & ~KNOWN || (p->states_equal && p->mask.count)) r->failed = true;
    return flags & HAS_STATE;
}

static void decode_devices(struct kl_start *s, struct kl_reader *r) {
    unsigned n = (unsigned)kl_read_var(r, KL_MAX_SEATS), seen = 0;
    for (unsigned i = 0; i < n && !r->failed; i++) {
        struct kl_start_device *d = &s->device[s->device_count++];
        d->port = kl_read_u8(r);
        d->device = kl_read_u32(r);
        if (d->port >= KL_MAX_SEATS || (seen >> d->port & 1))
            r->failed = true;
        else
            seen |= 1u << d->port;
    }
}

static void decode_memories(struct kl_start *s, struct kl_reader *r) {
    unsigned n = (unsigned)kl_read_var(r, KL_START_MEMORIES);
    for (unsigned i = 0; i < n && !r->failed; i++) {
        struct kl_start_memory *m = &s->memory[s->memory_count++];
        m->id = kl_read_u32(r);
        m->len = (size_t)kl_read_var(r, KL_START_MAX);
        m->bytes = kl_read_bytes(r, m->len);
        for (unsigned k = 0; k < i; k++)
            if (s->memory[k].id == m->id) r->failed = true;
    }
}

/* The same path twice would write the second file through the result of the first. */
static bool path_taken(const struct kl_start *s, unsigned count, const char *path) {
    for (unsigned i = 0; i < count; i++)
        if (!strcmp(s->file[i].path, path)) return true;
    return false;
}

static void decode_files(struct kl_start *s, struct kl_reader *r) {
    unsigned n = (unsigned)kl_read_var(r, KL_START_FILES);
    for (unsigned i = 0; i < n && !r->failed; i++) {
        struct kl_start_file *f = &s->file[s->file_count++];
        kl_read_string(r, f->path, sizeof f->path);
        f->len = (size_t)kl_read_var(r, KL_START_MAX);
        f->bytes = kl_read_bytes(r, f->len);
        if (!kl_start_path_ok(f->path) || path_taken(s, i, f->path)) r->failed = true;
    }
}

static void decode_state(struct kl_start_state *s, struct kl_reader *r) {
    s->frame = kl_read_u32(r);
    const uint8_t *id = kl_read_bytes(r, sizeof s->room_id);
    if (id) memcpy(s->room_id, id, sizeof s->room_id);
    kl_read_string(r, s->match, sizeof s->match);
    kl_read_string(r, s->players, sizeof s->players);
    s->chance = kl_read_u64(r);
    s->bytes = kl_read_u32(r);
    const uint8_t *hash = kl_read_bytes(r, sizeof s->hash);
    if (hash) memcpy(s->hash, hash, sizeof s->hash);
    s->packed_len = (size_t)kl_read_var(r, KL_START_MAX);
    s->packed = kl_read_bytes(r, s->packed_len);
    if (!s->bytes || s->bytes > KL_SNAPSHOT_MAX || !s->packed_len) r->failed = true;
}

int kl_start_decode(struct kl_start *s, const uint8_t *buf, size_t len) {
    s->option_count = s->device_count = s->memory_count = s->file_count = 0;
    memset(&s->profile, 0, sizeof s->profile);
    memset(&s->state, 0, sizeof s->state);
    struct kl_reader r = kl_reader(buf, len);
    const uint8_t *m = kl_read_bytes(&r, sizeof magic);
    if (!m || memcmp(m, magic, sizeof magic) != 0) return KL_E_MALFORMED;
    bool has_state = decode_profile(&s->profile, &r);
    unsigned n = (unsigned)kl_read_var(&r, KL_START_OPTIONS);
    for (unsigned i = 0; i < n && !r.failed; i++) {
        struct kl_start_option *o = &s->option[s->option_count++];
        kl_read_string(&r, o->key, sizeof o->key);
        kl_read_string(&r, o->value, sizeof o->value);
        if (!o->key[0]) r.failed = true;
    }
    decode_devices(s, &r);
    decode_memories(s, &r);
    decode_files(s, &r);
    if (has_state) decode_state(&s->state, &r);
    return r.failed || kl_reader_left(&r) ? KL_E_MALFORMED : 0;
}

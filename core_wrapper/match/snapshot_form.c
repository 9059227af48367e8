#include "core_wrapper/match/snapshot_form.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core_wrapper/start/start.h"
#include "net/engine/msg.h"
#include "net/platform/file.h"

/* --- a snapshot --- */

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
    if (state_len > KL_SNAPSHOT_MAX || bound > KL_SNAPSHOT_MAX) return NULL;
    uint8_t *bytes = calloc(1, bound + state_len);
    if (!bytes) return NULL;
    struct kl_writer w = kl_writer(bytes, bound);
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
    memset(v, 0, sizeof *v);
    struct kl_reader r = kl_reader(bytes, len);
    read_head(&r, &v->head);
    kl_outside_read(&r, &v->outside);
    v->files = r;
    kl_files_read(&r);
    v->head.time.fps_uhz = v->outside.fps_uhz;
    v->state_len = (size_t)kl_read_var(&r, KL_SNAPSHOT_MAX);
    v->state = kl_read_bytes(&r, v->state_len);
    return r.failed || v->state_len == 0 || kl_reader_left(&r) > 0 ? KL_E_MALFORMED : KL_OK;
}

/* --- its files --- */

#define FILE_BYTES  (KL_FILESET_NAME + 24) /* at most, without the content */
#define PLACE_BYTES 16

/* --- writing --- */

static bool fits_everywhere(const char *name) {
    char part[KL_FILESET_NAME];
    if (!kl_start_path_ok(name) || !kl_start_text_ok(name, KL_FILESET_NAME)) return false;
    for (const char *at = name; *at; at += strspn(at, "/")) {
        size_t n = strcspn(at, "/");
        snprintf(part, sizeof part, "%.*s", (int)n, at);
        if (!kl_file_name_portable(part)) return false;
        at += n;
    }
    return true;
}

const char *kl_files_kept_back(const struct kl_fileset *k) {
    for (unsigned i = 0; k && i < k->files; i++)
        if (k->file[i].local || !fits_everywhere(k->file[i].name)) return k->file[i].name;
    return NULL;
}

size_t kl_files_bound(const struct kl_fileset *k) {
    size_t bound = 16;
    for (unsigned i = 0; k && i < k->files; i++)
        bound += FILE_BYTES + (k->file[i].blob ? k->file[i].blob->len : 0);
    return bound + (k ? k->places * (size_t)PLACE_BYTES : 0);
}

void kl_files_write(struct kl_writer *w, const struct kl_fileset *k) {
    unsigned places = 0;
    kl_write_var(w, k ? k->files : 0);
    for (unsigned i = 0; k && i < k->files; i++) {
        const struct kl_fileset_file *f = &k->file[i];
        kl_write_string(w, f->name);
        kl_write_u8(w, f->blob != NULL);
        kl_write_u64(w, (uint64_t)f->date_ns);
        kl_write_var(w, f->blob ? f->blob->len : 0);
        if (f->blob) kl_write_bytes(w, f->blob->bytes, f->blob->len);
    }
    for (unsigned i = 0; k && i < k->places; i++)
        places += k->place[i].file < k->files;
    kl_write_var(w, places);
    for (unsigned i = 0; k && i < k->places; i++) {
        if (k->place[i].file >= k->files) continue;
        kl_write_u16(w, (uint16_t)k->place[i].file);
        kl_write_u64(w, k->place[i].offset);
    }
}

/* --- reading --- */

struct read_file {
    char name[KL_FILESET_NAME];
    bool kept;
    int64_t date_ns;
    size_t len;
    const uint8_t *bytes;
};
static void read_file(struct kl_reader *r, struct read_file *f) {
    kl_read_string(r, f->name, sizeof f->name);
    uint8_t kept = kl_read_u8(r);
    f->kept = kept;
    f->date_ns = (int64_t)kl_read_u64(r);
    f->len = (size_t)kl_read_var(r, KL_FILESET_BYTES);
    f->bytes = kl_read_bytes(r, f->len);
    if (kept > 1 || f->date_ns < 0 || (!kept && f->len) || !kl_start_path_ok(f->name)) r->failed = true;
}

static void read_place(struct kl_reader *r, unsigned files, struct kl_fileset_place *p) {
    *p = (struct kl_fileset_place){.file = kl_read_u16(r), .offset = kl_read_u64(r)};
    if (p->file >= files || p->offset > INT64_MAX) r->failed = true;
}

void kl_files_read(struct kl_reader *r) {
    char before[KL_FILESET_NAME] = "";
    struct kl_fileset_place p;
    struct read_file f;
    unsigned files = (unsigned)kl_read_var(r, KL_FILESET_FILES);
    for (unsigned i = 0; i < files && !r->failed; i++) {
        read_file(r, &f);
        if (strcmp(before, f.name) >= 0) r->failed = true;
        strcpy(before, f.name);
    }
    unsigned places = (unsigned)kl_read_var(r, KL_FILESET_PLACES);
    for (unsigned i = 0; i < places && !r->failed; i++)
        read_place(r, files, &p);
}

bool kl_files_make(struct kl_reader r, struct kl_fileset **out) {
    struct read_file f;
    unsigned files = (unsigned)kl_read_var(&r, KL_FILESET_FILES);
    struct kl_fileset *k = *out = files ? kl_fileset_make(files) : NULL;
    bool good = k || !files;
    for (unsigned i = 0; k && i < files && good; i++) {
        read_file(&r, &f);
        struct kl_fileset_file *to = &k->file[k->files++];
        strcpy(to->name, f.name);
        to->date_ns = f.date_ns;
        to->blob = f.kept ? kl_blob_make(f.bytes, f.len) : NULL;
        good = fits_everywhere(f.name) && (to->blob || !f.kept);
    }
    unsigned places = k ? (unsigned)kl_read_var(&r, KL_FILESET_PLACES) : 0;
    for (; k && good && k->places < places; k->places++)
        read_place(&r, files, &k->place[k->places]);
    if (good) return true;
    kl_fileset_free(k);
    *out = NULL;
    return false;
}

#include "core_wrapper/match/files_form.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core_wrapper/start/start.h"
#include "net/platform/file.h"

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

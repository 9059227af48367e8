#include "core_wrapper/world/fileset.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

struct kl_blob *kl_blob_make(const void *bytes, size_t len) {
    struct kl_blob *b = malloc(sizeof *b + len);
    if (!b) return NULL;
    b->keepers = 1;
    b->len = len;
    if (len) memcpy(b->bytes, bytes, len);
    b->hash = XXH3_64bits(b->bytes, len);
    return b;
}

struct kl_blob *kl_blob_keep(struct kl_blob *b) {
    b->keepers++;
    return b;
}

void kl_blob_drop(struct kl_blob *b) {
    if (b && --b->keepers == 0) free(b);
}

struct kl_fileset *kl_fileset_make(unsigned files) {
    return calloc(1, sizeof(struct kl_fileset) + files * sizeof(struct kl_fileset_file));
}

void kl_fileset_free(struct kl_fileset *k) {
    for (unsigned i = 0; k && i < k->files; i++)
        kl_blob_drop(k->file[i].blob);
    free(k);
}

static bool equal(const struct kl_fileset_file *a, const struct kl_fileset_file *b) {
    if (!a->blob || !b->blob) return a->blob == b->blob;
    return a->blob == b->blob || (a->blob->hash == b->blob->hash && a->blob->len == b->blob->len);
}

uint64_t kl_fileset_hash(const struct kl_fileset *k) {
    uint64_t h = 0;
    for (unsigned i = 0; k && i < k->files; i++) {
        const struct kl_fileset_file *f = &k->file[i];
        if (f->local) continue;
        h = XXH3_64bits_withSeed(f->name, strlen(f->name), h + 1);
        h = XXH3_64bits_withSeed(&(uint64_t){f->blob ? f->blob->hash : 0}, sizeof(uint64_t), h);
    }
    return h;
}

/* The next file that is compared, from i on; NULL: no more. */
static const struct kl_fileset_file *next(const struct kl_fileset *k, unsigned *i) {
    while (k && *i < k->files && k->file[*i].local)
        ++*i;
    return k && *i < k->files ? &k->file[*i] : NULL;
}

const char *kl_fileset_differs(const struct kl_fileset *a, const struct kl_fileset *b) {
    unsigned i = 0, j = 0;
    for (;; i++, j++) {
        const struct kl_fileset_file *x = next(a, &i), *y = next(b, &j);
        if (!x || !y) return x ? x->name : y ? y->name : NULL;
        int order = strcmp(x->name, y->name);
        if (order != 0 || !equal(x, y)) return order <= 0 ? x->name : y->name;
    }
}

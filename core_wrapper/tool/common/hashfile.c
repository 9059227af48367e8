#include "net/platform/file.h"
#include "core_wrapper/tool/common/hashfile.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct kl_hashline kl_hashline_of(uint32_t frame, const struct kl_statehash *h) {
    return (struct kl_hashline){
        .frame = frame, .has_ram = h->has_ram, .has_state = h->has_state, .ram = h->ram, .state = h->state};
}

void kl_hash_text(char out[KLT_HASH_TEXT], bool has, uint64_t hash) {
    if (has)
        snprintf(out, KLT_HASH_TEXT, "%016" PRIx64, hash);
    else
        memcpy(out, "-", 2);
}

int kl_hashline_write(FILE *f, const struct kl_hashline *line) {
    char ram[KLT_HASH_TEXT], state[KLT_HASH_TEXT];
    kl_hash_text(ram, line->has_ram, line->ram);
    kl_hash_text(state, line->has_state, line->state);
    return fprintf(f, "%" PRIu32 " %s %s\n", line->frame, ram, state) < 0 || fflush(f) != 0 ? -1 : 0;
}

int kl_hashreader_open(struct kl_hashreader *r, const char *path, char *err, size_t err_len) {
    memset(r, 0, sizeof(*r));
    r->path = path;
    r->file = kl_file_stream(path, "r");
    if (r->file) return 0;
    snprintf(err, err_len, "cannot read %s: %s", path, strerror(errno));
    return -1;
}

void kl_hashreader_close(struct kl_hashreader *r) {
    if (r->file) fclose(r->file);
    r->file = NULL;
}

static bool parse_frame(const char *text, uint32_t *out) {
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    *out = (uint32_t)value;
    return isdigit((unsigned char)*text) && !*end && !errno && value <= UINT32_MAX;
}

static bool parse_hash(const char *text, bool *has, uint64_t *out) {
    *has = strcmp(text, "-") != 0;
    *out = 0;
    if (!*has) return true;
    if (strlen(text) != 16 || strspn(text, "0123456789abcdefABCDEF") != 16) return false;
    *out = strtoull(text, NULL, 16);
    return true;
}

static bool parse_line(char *line, struct kl_hashline *out) {
    char *word[4], *rest = NULL;
    unsigned n = 0;
    for (char *w = strtok_r(line, " \t", &rest); w && n < 4; w = strtok_r(NULL, " \t", &rest))
        word[n++] = w;
    return n == 3 && parse_frame(word[0], &out->frame) && parse_hash(word[1], &out->has_ram, &out->ram) &&
           parse_hash(word[2], &out->has_state, &out->state);
}

/* Takes one line of at most cap - 1 bytes; the rest of a longer one is read away. */
static bool take_line(FILE *f, char *line, size_t cap) {
    if (!fgets(line, (int)cap, f)) return false;
    if (!strchr(line, '\n'))
        for (int c = fgetc(f); c != EOF && c != '\n';)
            c = fgetc(f);
    line[strcspn(line, "\r\n")] = '\0';
    return true;
}

int kl_hashreader_next(struct kl_hashreader *r, struct kl_hashline *out, char *err, size_t err_len) {
    char line[128], parsed[128];
    if (!take_line(r->file, line, sizeof(line))) {
        if (!ferror(r->file)) return 0;
        snprintf(err, err_len, "cannot read %s: %s", r->path, strerror(errno));
        return -1;
    }
    r->line++;
    memcpy(parsed, line, sizeof(parsed));
    if (!parse_line(parsed, out)) {
        snprintf(err, err_len,
                 "%s:%u: expected \"FRAME RAM STATE\" (decimal frame, hashes of 16 hexadecimal digits or -), "
                 "got \"%.80s\"",
                 r->path, r->line, line);
        return -1;
    }
    if (r->any && out->frame <= r->frame) {
        snprintf(err, err_len, "%s:%u: expected a frame above %" PRIu32 ", got %" PRIu32, r->path, r->line,
                 r->frame, out->frame);
        return -1;
    }
    r->any = true;
    r->frame = out->frame;
    return 1;
}

static void compare(struct kl_hashdiff *d, const struct kl_hashline *a, const struct kl_hashline *b) {
    bool any_ram = a->has_ram || b->has_ram, any_state = a->has_state || b->has_state;
    bool ram_differs = a->has_ram != b->has_ram || a->ram != b->ram;
    bool state_differs = a->has_state != b->has_state || a->state != b->state;
    if (!any_ram && !any_state) return;
    if (d->shared++ == 0) d->first = a->frame;
    d->last = a->frame;
    bool hard = any_ram ? ram_differs : state_differs;
    if (hard && d->hard++ == 0) {
        d->hard_first = a->frame;
        d->hard_in_state = !any_ram;
        d->a = *a;
        d->b = *b;
    }
    if (!hard && state_differs && d->soft++ == 0) {
        d->soft_first = a->frame;
        if (!d->hard) d->a = *a, d->b = *b;
    }
}

static int walk(struct kl_hashdiff *d, struct kl_hashreader *ra, struct kl_hashreader *rb, char *err,
                size_t err_len) {
    struct kl_hashline a, b;
    int more_a = kl_hashreader_next(ra, &a, err, err_len);
    int more_b = more_a < 0 ? 0 : kl_hashreader_next(rb, &b, err, err_len);
    while (more_a > 0 || more_b > 0) { /* to the end of both, so that every line is checked */
        bool step_a = more_a > 0 && (more_b <= 0 || a.frame <= b.frame);
        bool step_b = more_b > 0 && (more_a <= 0 || b.frame <= a.frame);
        if (step_a && step_b) compare(d, &a, &b);
        if (step_a) more_a = kl_hashreader_next(ra, &a, err, err_len);
        if (more_a < 0) return -1;
        if (step_b) more_b = kl_hashreader_next(rb, &b, err, err_len);
        if (more_b < 0) return -1;
    }
    return more_a < 0 || more_b < 0 ? -1 : 0;
}

int kl_hashdiff(struct kl_hashdiff *d, const char *path_a, const char *path_b, char *err, size_t err_len) {
    struct kl_hashreader a = {0}, b = {0};
    memset(d, 0, sizeof(*d));
    int result = kl_hashreader_open(&a, path_a, err, err_len);
    if (result == 0) result = kl_hashreader_open(&b, path_b, err, err_len);
    if (result == 0) result = walk(d, &a, &b, err, err_len);
    kl_hashreader_close(&a);
    kl_hashreader_close(&b);
    return result;
}

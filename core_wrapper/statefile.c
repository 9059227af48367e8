#include "core_wrapper/statefile.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "net/engine/facts.h"

static const char magic[8] = "RASTATE\1", rzip[8] = "#RZIPv\1#";

static uint32_t get_u32(const uint8_t *p) {
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* ---- reading ---- */

static void take_line(struct kl_origin *o, const char *line) {
    char *end = NULL;
    if (strncmp(line, "core ", 5) == 0) kl_copy_cut(o->core, sizeof o->core, line + 5);
    if (strncmp(line, "content ", 8) == 0) kl_copy_cut(o->content, sizeof o->content, line + 8);
    if (strncmp(line, "frame ", 6) == 0) {
        o->frame = (uint32_t)strtoul(line + 6, &end, 10);
        o->has_frame = end != line + 6 && !*end;
    }
    if (strncmp(line, "world ", 6) == 0)
        o->has_world = sscanf(line + 6, "%" SCNu64 " %" SCNx64, &o->epoch_s, &o->chance) == 2;
}

static void take_origin(struct kl_origin *o, const uint8_t *text, size_t len) {
    char line[KL_STATEFILE_TEXT + 16];
    for (size_t at = 0; at < len;) {
        const uint8_t *nl = memchr(text + at, '\n', len - at);
        size_t n = nl ? (size_t)(nl - (text + at)) : len - at;
        snprintf(line, sizeof line, "%.*s", (int)(n < sizeof line ? n : sizeof line - 1),
                 (const char *)text + at);
        take_line(o, line);
        at += n + 1;
    }
}

static int take_bytes(struct kl_statefile *s, const uint8_t *data, size_t len, char *err, size_t err_len) {
    free(s->bytes);
    s->bytes = malloc(len ? len : 1);
    s->len = len;
    if (s->bytes) return memcpy(s->bytes, data, len), 0;
    snprintf(err, err_len, "out of memory");
    return -1;
}

static int parse_blocks(struct kl_statefile *s, const uint8_t *data, size_t len, const char *name, char *err,
                        size_t err_len) {
    size_t at = sizeof magic;
    bool seen = false, ended = false;
    while (!ended && len - at >= 8) {
        const uint8_t *block = data + at;
        size_t size = get_u32(block + 4), left = len - at - 8;
        if (size > left) {
            snprintf(err, err_len, "%s is cut short: its block \"%.4s\" should have %zu bytes, %zu are there",
                     name, (const char *)block, size, left);
            return -1;
        }
        if (memcmp(block, "KLCK", 4) == 0) take_origin(&s->origin, block + 8, size);
        if (memcmp(block, "MEM ", 4) == 0) {
            if (take_bytes(s, block + 8, size, err, err_len) != 0) return -1;
            seen = true;
        }
        ended = memcmp(block, "END ", 4) == 0;
        size_t padded = (size + 7) & ~(size_t)7;
        at += 8 + (padded < left ? padded : left);
    }
    if (seen && ended) return 0;
    snprintf(err, err_len, "%s is cut short: expected a block \"%s\" before its end after %zu bytes", name,
             seen ? "END " : "MEM ", len);
    return -1;
}

int kl_statefile_parse(struct kl_statefile *s, const void *data, size_t len, const char *name, char *err,
                       size_t err_len) {
    memset(s, 0, sizeof *s);
    int result = 0;
    if (len == 0) {
        snprintf(err, err_len, "%s: expected a savestate, it is empty", name);
        return -1;
    }
    if (len >= 8 && memcmp(data, rzip, 8) == 0) {
        snprintf(err, err_len,
                 "%s is compressed: expected a plain savestate (RetroArch: Settings, Saving, Save State "
                 "Compression "
                 "off)",
                 name);
        return -1;
    }
    if (len >= 8 && memcmp(data, magic, 8) == 0)
        result = parse_blocks(s, data, len, name, err, err_len);
    else
        result = take_bytes(s, data, len, err, err_len);
    if (result != 0) kl_statefile_free(s);
    return result;
}

int kl_statefile_read(struct kl_statefile *s, const char *path, char *err, size_t err_len) {
    struct stat st;
    memset(s, 0, sizeof *s);
    FILE *f = fopen(path, "rbe");
    if (!f || fstat(fileno(f), &st) != 0 || !S_ISREG(st.st_mode) || (uint64_t)st.st_size > KL_STATEFILE_MAX) {
        snprintf(err, err_len, "cannot read %s: %s", path,
                 f ? "expected a file below 1 GiB" : strerror(errno));
        if (f) fclose(f);
        return -1;
    }
    size_t len = (size_t)st.st_size;
    uint8_t *data = malloc(len ? len : 1);
    int result = -1;
    if (!data || fread(data, 1, len, f) != len)
        snprintf(err, err_len, "cannot read %s: %s", path,
                 data ? "it is shorter than it says" : "out of memory");
    else
        result = kl_statefile_parse(s, data, len, path, err, err_len);
    free(data);
    fclose(f);
    return result;
}

void kl_statefile_free(struct kl_statefile *s) {
    free(s->bytes);
    s->bytes = NULL;
    s->len = 0;
}

/* ---- writing ---- */

static void put_block(FILE *f, const char *name, const void *bytes, size_t len) {
    static const uint8_t zeros[8];
    uint8_t head[8] = {(uint8_t)name[0], (uint8_t)name[1],    (uint8_t)name[2],     (uint8_t)name[3],
                       (uint8_t)len,     (uint8_t)(len >> 8), (uint8_t)(len >> 16), (uint8_t)(len >> 24)};
    fwrite(head, 1, 8, f);
    if (len) fwrite(bytes, 1, len, f);
    fwrite(zeros, 1, (8 - len % 8) % 8, f);
}

int kl_statefile_write(const char *path, const struct kl_origin *o, const void *bytes, size_t len) {
    char text[3 * KL_STATEFILE_TEXT];
    size_t used = 0;
    if (o->core[0]) used += (size_t)snprintf(text + used, sizeof text - used, "core %s\n", o->core);
    if (o->content[0]) used += (size_t)snprintf(text + used, sizeof text - used, "content %s\n", o->content);
    if (o->has_frame)
        used += (size_t)snprintf(text + used, sizeof text - used, "frame %" PRIu32 "\n", o->frame);
    if (o->has_world)
        used += (size_t)snprintf(text + used, sizeof text - used, "world %" PRIu64 " %016" PRIx64 "\n",
                                 o->epoch_s, o->chance);
    FILE *f = fopen(path, "wbe");
    if (!f) return -1;
    fwrite(magic, 1, sizeof magic, f);
    put_block(f, "KLCK", text, used);
    put_block(f, "MEM ", bytes, len);
    put_block(f, "END ", NULL, 0);
    bool bad = ferror(f) != 0;
    return fclose(f) != 0 || bad ? -1 : 0;
}

void kl_statefile_name(char *out, size_t cap, const char *dir, uint32_t frame) {
    snprintf(out, cap, "%s/%09" PRIu32 ".state", dir, frame);
}

#include "core_wrapper/core/statefile.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/platform/file.h"
#include "net/engine/facts.h"
#include "net/engine/wire.h"

static const char magic[8] = "RASTATE\1", rzip[8] = "#RZIPv\1#";

/* --- reading --- */

static void take_origin(struct kl_origin *o, const uint8_t *text, size_t len) {
    char line[KL_STATEFILE_TEXT + 16];
    for (size_t at = 0; at < len;) {
        const uint8_t *nl = memchr(text + at, '\n', len - at);
        size_t n = nl ? (size_t)(nl - (text + at)) : len - at;
        snprintf(line, sizeof line, "%.*s", (int)(n < sizeof line ? n : sizeof line - 1),
                 (const char *)text + at);
        char *end = NULL;
        if (strncmp(line, "core ", 5) == 0) kl_copy_cut(o->core, sizeof o->core, line + 5);
        if (strncmp(line, "content ", 8) == 0) kl_copy_cut(o->content, sizeof o->content, line + 8);
        if (strncmp(line, "frame ", 6) == 0) {
            o->frame = (uint32_t)strtoul(line + 6, &end, 10);
            o->has_frame = end != line + 6 && !*end;
        }
        if (strncmp(line, "world ", 6) == 0)
            o->has_world = sscanf(line + 6, "%" SCNu64 " %" SCNx64, &o->epoch_s, &o->chance) == 2;
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
        size_t size = kl_u32_at(block + 4), left = len - at - 8;
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
    void *data;
    size_t len;
    memset(s, 0, sizeof *s);
    if (kl_file_read(path, KL_STATEFILE_MAX, 0, &data, &len, err, err_len) != 0) return -1;
    int result = kl_statefile_parse(s, data, len, path, err, err_len);
    free(data);
    return result;
}

void kl_statefile_free(struct kl_statefile *s) {
    free(s->bytes);
    s->bytes = NULL;
    s->len = 0;
}

/* --- writing --- */

struct out {
    uint8_t *at, *end;
};

static void put(struct out *o, const void *bytes, size_t len) {
    assert((size_t)(o->end - o->at) >= len);
    if (len) memcpy(o->at, bytes, len);
    o->at += len;
}

static size_t block_bytes(size_t len) {
    return 8 + (len + 7) / 8 * 8;
}

static void put_block(struct out *o, const char *name, const void *bytes, size_t len) {
    static const uint8_t zeros[8];
    uint8_t head[8] = {(uint8_t)name[0], (uint8_t)name[1],    (uint8_t)name[2],     (uint8_t)name[3],
                       (uint8_t)len,     (uint8_t)(len >> 8), (uint8_t)(len >> 16), (uint8_t)(len >> 24)};
    put(o, head, 8);
    put(o, bytes, len);
    put(o, zeros, (8 - len % 8) % 8);
}

int kl_statefile_write(const char *path, const struct kl_origin *o, const void *bytes, size_t len, char *err,
                       size_t err_len) {
    char text[3 * KL_STATEFILE_TEXT];
    size_t used = 0;
    if (o->core[0]) used += (size_t)snprintf(text + used, sizeof text - used, "core %s\n", o->core);
    if (o->content[0]) used += (size_t)snprintf(text + used, sizeof text - used, "content %s\n", o->content);
    if (o->has_frame)
        used += (size_t)snprintf(text + used, sizeof text - used, "frame %" PRIu32 "\n", o->frame);
    if (o->has_world)
        used += (size_t)snprintf(text + used, sizeof text - used, "world %" PRIu64 " %016" PRIx64 "\n",
                                 o->epoch_s, o->chance);
    size_t all = sizeof magic + block_bytes(used) + block_bytes(len) + block_bytes(0);
    uint8_t *file = malloc(all);
    if (!file) {
        snprintf(err, err_len, "cannot write %s: out of memory", path);
        return -1;
    }
    struct out out = {file, file + all};
    put(&out, magic, sizeof magic);
    put_block(&out, "KLCK", text, used);
    put_block(&out, "MEM ", bytes, len);
    put_block(&out, "END ", NULL, 0);
    int result = kl_file_write_whole(path, file, all, KL_FILE_QUICK, err, err_len);
    free(file);
    return result;
}

void kl_statefile_name(char *out, size_t cap, const char *dir, uint32_t frame) {
    snprintf(out, cap, "%s/%09" PRIu32 ".state", dir, frame);
}

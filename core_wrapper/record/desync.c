#include "core_wrapper/record/desync.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/platform/dir.h"

/* --- states kept --- */

static bool has_room(const struct kl_keep *k, size_t len) {
    size_t sum = len;
    for (unsigned i = 0; i < k->count; i++)
        sum += k->slot[i].len;
    return k->count < 2 || (k->count < KL_KEEP_SLOTS && sum <= KL_KEEP_BYTES);
}

void kl_keep_add(struct kl_keep *k, uint32_t frame, uint64_t chance, const void *bytes, size_t len) {
    if (!k->dir[0] || !len) return;
    while (!has_room(k, len))
        k->count--; /* the oldest; its memory serves the next */
    struct kl_kept s = k->slot[k->count];
    if (s.cap < len) {
        uint8_t *grown = realloc(s.bytes, len);
        if (!grown) return;
        s.bytes = grown;
        s.cap = len;
    }
    memcpy(s.bytes, bytes, len);
    s.len = len;
    s.frame = frame;
    s.chance = chance;
    memmove(&k->slot[1], &k->slot[0], k->count * sizeof k->slot[0]);
    k->slot[0] = s;
    k->count++;
}

int kl_keep_write(struct kl_keep *k, const struct kl_origin *origin, char *err, size_t err_len) {
    char path[4128];
    int written = 0;
    if (!k->dir[0]) return 0;
    if (kl_dir_make(k->dir, false, err, err_len) != 0) return -1;
    for (unsigned i = 0; i < k->count; i++) {
        struct kl_origin o = *origin;
        o.has_frame = true;
        o.frame = k->slot[i].frame;
        o.chance = k->slot[i].chance;
        kl_statefile_name(path, sizeof path, k->dir, o.frame);
        if (kl_statefile_write(path, &o, k->slot[i].bytes, k->slot[i].len, err, err_len) != 0) return -1;
        written++;
    }
    k->count = 0;
    return written;
}

void kl_keep_free(struct kl_keep *k) {
    for (unsigned i = 0; i < KL_KEEP_SLOTS; i++)
        free(k->slot[i].bytes);
    memset(k, 0, sizeof *k);
}

/* --- planted desyncs --- */

#define STATE "state:"

int kl_corrupt_parse(struct kl_corrupt *c, const char *text, char *err, size_t err_len) {
    char *end = NULL;
    errno = 0;
    memset(c, 0, sizeof *c);
    unsigned long long frame = strtoull(text, &end, 10), offset = 0;
    bool good = *text >= '0' && *text <= '9' && frame < UINT32_MAX;
    if (good && *end == ':') {
        const char *from = end + 1;
        c->in_state = !strncmp(from, STATE, strlen(STATE));
        if (c->in_state) from += strlen(STATE);
        offset = strtoull(from, &end, 0);
        good = *from >= '0' && *from <= '9';
        c->has_offset = true;
    }
    if (!good || *end || errno) {
        snprintf(err, err_len, "expected FRAME, FRAME:OFFSET or FRAME:state:OFFSET, got \"%s\"", text);
        return -1;
    }
    c->set = true;
    c->frame = (uint32_t)frame;
    c->offset = offset;
    return 0;
}

static int too_far(const struct kl_corrupt *c, const char *what, uint64_t len, char *line, size_t line_len) {
    snprintf(line, line_len,
             "nothing planted at frame %" PRIu32 ": expected an offset below %" PRIu64
             ", the size of %s, got %" PRIu64,
             c->frame, len, what, c->offset);
    return -1;
}

static int in_ram(struct kl_corrupt *c, const struct kl_ram *ram, char *line, size_t line_len) {
    uint64_t len = 0, before = 0;
    for (unsigned i = 0; i < ram->count; i++)
        len += ram->piece[i].len;
    if (!c->has_offset) c->offset = len / 2;
    if (c->offset >= len) return too_far(c, "system RAM", len, line, line_len);
    for (unsigned i = 0; i < ram->count; before += ram->piece[i++].len) {
        if (c->offset - before >= ram->piece[i].len) continue;
        uint8_t *byte = (uint8_t *)ram->piece[i].ptr + (c->offset - before);
        *byte = (uint8_t) ~*byte;
        snprintf(line, line_len,
                 "planted before frame %" PRIu32 ": byte %" PRIu64 " (0x%" PRIx64
                 ") of system RAM %02x -> %02x",
                 c->frame, c->offset, c->offset, (uint8_t) ~*byte, *byte);
        break;
    }
    return 0;
}

static int in_state(struct kl_corrupt *c, const struct kl_core *core, char *line, size_t line_len) {
    size_t len = core->serialize_size();
    uint8_t *state = len ? calloc(1, len) : NULL;
    int result = -1;
    if (!c->has_offset) c->offset = len / 2;
    if (!state || !core->serialize(state, len)) {
        snprintf(line, line_len, "nothing planted at frame %" PRIu32 ": the core gives no state", c->frame);
    } else if (c->offset >= len) {
        result = too_far(c, "the savestate", len, line, line_len);
    } else {
        state[c->offset] = (uint8_t)~state[c->offset];
        result = core->unserialize(state, len) ? 0 : -1;
        snprintf(line, line_len,
                 "%s frame %" PRIu32 ": byte %" PRIu64 " (0x%" PRIx64 ") of the savestate %02x -> %02x%s",
                 result ? "nothing planted at" : "planted before", c->frame, c->offset, c->offset,
                 (uint8_t)~state[c->offset], state[c->offset],
                 result ? ": the core does not take that state" : "");
    }
    free(state);
    return result;
}

int kl_corrupt_do(struct kl_corrupt *c, const struct kl_core *core, const struct retro_memory_map *map,
                  char *line, size_t line_len) {
    struct kl_ram ram;
    kl_ram_find(&ram, core, map);
    c->in_state = c->in_state || ram.count == 0;
    return c->in_state ? in_state(c, core, line, line_len) : in_ram(c, &ram, line, line_len);
}

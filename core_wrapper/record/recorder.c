/* A recording, written (recording.h). */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core_wrapper/record/recording.h"
#include "net/record/klr_pack.h"

#define WRITE_FRAMES  60   /* whole intervals wait so long for the file, at most */
#define DIGEST_FRAMES 1024 /* between digests */

/* One that cannot be packed is good as it is. */
static void pack(const char *path) {
    char ignored[256];
    (void)kl_klr_pack(path, ignored, sizeof ignored);
}

int kl_recorder_open(struct kl_recorder *r, const char *path) {
    memset(r, 0, sizeof *r);
    r->pieces = malloc(sizeof *r->pieces);
    if (!r->pieces) {
        errno = ENOMEM;
        return -1;
    }
    if (kl_spool_open(&r->spool, path) != 0) {
        free(r->pieces);
        r->pieces = NULL;
        return -1;
    }
    r->spool.then = pack;
    r->on = true;
    r->place = kl_klr_begin();
    kl_spool_put(&r->spool, (const char *)kl_klr_magic, KL_KLR_MAGIC);
    return 0;
}

static void put(struct kl_recorder *r, enum kl_klr_type type, const void *body, size_t len) {
    struct kl_klr_around a = kl_klr_around(&r->place, type, body, (uint32_t)len);
    kl_spool_put(&r->spool, (const char *)a.before, sizeof a.before);
    kl_spool_put(&r->spool, body, len);
    kl_spool_put(&r->spool, (const char *)a.check, sizeof a.check);
}

/* put_small(HEAD, head): the body that this writer makes. */
#define put_small(r, TYPE, name, value)                                                                      \
    do {                                                                                                     \
        uint8_t small[KL_KLR_SMALL];                                                                         \
        struct kl_writer w;                                                                                  \
        w = kl_writer(small, sizeof small);                                                                  \
        kl_klr_write_##name(&w, value);                                                                      \
        if (!w.failed) put(r, KL_KLR_##TYPE, small, (size_t)(w.at - small));                                 \
    } while (0)

void kl_recorder_head(struct kl_recorder *r, unsigned client, const struct kl_klr_head *head,
                      const struct kl_klr_room *room, const void *start, size_t start_len) {
    if (!r->on) return;
    r->client = client < KL_MAX_CLIENTS ? (uint16_t)(1u << client) : 0;
    kl_pieces_init(r->pieces, head->room_id, &(struct kl_digest){0}, r->chat);
    put_small(r, HEAD, head, head);
    put_small(r, ROOM, room, room);
    if (start) put(r, KL_KLR_START, start, start_len);
}

/* The frames that have come: whole intervals, or all. */
static void put_frames(struct kl_recorder *r, bool all) {
    size_t len = kl_pieces_take(r->pieces, all);
    const struct kl_digest *c = &r->pieces->chain;
    if (len) put(r, KL_KLR_PIECES, r->pieces->body, len);
    r->written = r->pieces->coded;
    if (!r->pieces->knows || c->end == r->digested || (!all && c->end < r->digested + DIGEST_FRAMES)) return;
    put_small(r, DIGEST, digest, c);
    r->digested = c->end;
}

void kl_recorder_snapshot(struct kl_recorder *r, const struct kl_klr_snapshot *s) {
    if (!r->on) return;
    put_frames(r, true);
    kl_pieces_init(r->pieces, r->pieces->room_id, &s->before, r->chat);
    r->digested = s->before.end;
    put_small(r, SNAPSHOT, snapshot, s);
}

void kl_recorder_seal(struct kl_recorder *r, const struct kl_proof *p) {
    if (r->on) put_small(r, SEAL, seal, p);
}

void kl_recorder_event(struct kl_recorder *r, const struct kl_klr_event *e) {
    struct kl_klr_event clean = *e;
    if (!r->on) return;
    for (char *c = clean.text; *c; c++)
        if ((unsigned char)*c < ' ') *c = ' ';
    put_small(r, EVENT, event, &clean);
}

void kl_recorder_commands(struct kl_recorder *r, const struct kl_commands *c) {
    if (r->on) r->commands = *c;
}

void kl_recorder_frame(struct kl_recorder *r, const struct kl_frame *f) {
    if (!r->on) return;
    if (f->number < r->pieces->next) {
        put_frames(r, true);
        kl_recorder_event(r, &(struct kl_klr_event){.kind = KL_KLR_CUT, .frame = f->number});
    }
    bool known = r->commands.count && r->commands.keyframe == f->number;
    (void)kl_pieces_add(r->pieces, f, known ? &r->commands : NULL);
    r->frames = f->number + 1;
    if (r->pieces->whole >= r->written + WRITE_FRAMES || kl_pieces_due(r->pieces)) put_frames(r, false);
}

void kl_recorder_hash(struct kl_recorder *r, const struct klw_hash *h) {
    struct kl_klr_hash hash = {.label = h->frame, .clients = r->client, .ram = h->ram, .state = h->state};
    if (!r->on || !(h->has_ram || h->has_state)) return;
    hash.has = (uint8_t)((h->has_ram ? KL_HASH_RAM : 0) | (h->has_state ? KL_HASH_STATE : 0));
    put_small(r, HASH, hash, &hash);
}

void kl_recorder_finish(struct kl_recorder *r) {
    struct kl_klr_end end = {.frames = r->frames, .why = "the run ended"};
    if (!r->on) return;
    put_frames(r, true);
    put_small(r, END, end, &end);
    r->on = false;
    free(r->pieces);
    r->pieces = NULL;
    kl_spool_finish(&r->spool);
}

int kl_recorder_close(struct kl_recorder *r) {
    kl_recorder_finish(r);
    return kl_spool_close(&r->spool);
}

void kl_hash_line(struct kl_spool *s, const struct klw_hash *h) {
    char ram[17] = "-", state[17] = "-";
    if (h->has_ram) snprintf(ram, sizeof ram, "%016" PRIx64, h->ram);
    if (h->has_state) snprintf(state, sizeof state, "%016" PRIx64, h->state);
    kl_spool_print(s, "%" PRIu32 " %s %s\n", h->frame, ram, state);
}

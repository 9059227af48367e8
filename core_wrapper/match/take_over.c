#include "core_wrapper/match/take_over.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core_wrapper/core/snapshot_pack.h"
#include "core_wrapper/env/reload.h"
#include "core_wrapper/match/command.h"
#include "core_wrapper/match/snapshot.h"
#include "core_wrapper/match/match.h"
#include "core_wrapper/world/fileset.h"
#include "net/engine/facts.h"

#define ANSWER_US UINT64_C(45000000) /* the relay waits for 60 s, and bars those whom it waited for */
#define TOLD_MS   5000
#define SAVE_ROOT "save/"

/* --- the state --- */

/* The core as it stands; packed is heap. NULL, or why not. */
static const char *take_state(struct kl_match *m, struct kl_start_state *s, uint8_t **packed) {
    const struct kl_recording *rec = m->play.replay.rec;
    size_t bytes = m->emu.core.serialize_size();
    if (!kl_snapshot_given(m)) return "no state of this core may be given to others";
    if (!bytes || bytes > KL_SNAPSHOT_MAX) return "this core gives no savestate";
    uint8_t *state = calloc(1, bytes);
    if (state && kl_core_serialize(&m->emu.core, state, bytes)) {
        *packed = kl_snapshot_pack(state, bytes, &s->packed_len);
        crypto_generichash(s->hash, sizeof s->hash, state, bytes, NULL, 0);
    }
    free(state);
    if (!*packed) return "this core gives no savestate";
    s->packed = *packed;
    s->bytes = (uint32_t)bytes;
    s->frame = m->play.next_frame;
    s->chance = kl_world_chance(m->emu.world);
    memcpy(s->room_id, rec->head.room_id, sizeof s->room_id);
    kl_copy_cut(s->match, sizeof s->match, rec->room.match);
    /* Names and seats of those who play at this frame. */
    const struct kl_roster *r = &m->status.roster;
    char all[KL_MAX_CLIENTS * (KL_NAME_SHOWN + 2)];
    size_t used = 0;
    *all = 0;
    for (unsigned i = 0; i < r->count && i < KL_MAX_CLIENTS; i++)
        if (r->member[i].seats)
            used += (size_t)snprintf(all + used, sizeof all - used, "%s%s", used ? ", " : "",
                                     kl_command_shown(m, &r->member[i]).text);
    kl_copy_cut(s->players, KL_START_WHO_MAX, all);
    return NULL;
}

/* --- saves and files --- */

static struct kl_start_file *file_at(struct kl_start *s, const char *path) {
    for (unsigned i = 0; i < s->file_count; i++)
        if (!strcmp(s->file[i].path, path)) return &s->file[i];
    if (s->file_count == KL_START_FILES) return NULL;
    struct kl_start_file *f = &s->file[s->file_count++];
    snprintf(f->path, sizeof f->path, "%s", path);
    return f;
}

/* NULL, or why not. */
static const char *put_files(struct kl_start *s, const struct kl_fileset *files) {
    for (unsigned i = 0; files && i < files->files; i++) {
        const struct kl_fileset_file *is = &files->file[i];
        const char *path = is->name + strlen(SAVE_ROOT);
        if (strncmp(is->name, SAVE_ROOT, strlen(SAVE_ROOT)) != 0 || !kl_start_path_ok(path))
            return "the core has written files outside of its save folder";
        struct kl_start_file *f = file_at(s, path);
        if (!f) return "the core has written too many files";
        f->bytes = is->blob ? is->blob->bytes : NULL;
        f->len = is->blob ? is->blob->len : 0;
        if (!is->blob) *f = s->file[--s->file_count]; /* it was removed */
    }
    return NULL;
}

static const char *encode(struct kl_take_over *t, const struct kl_start *s) {
    size_t bound = kl_start_bound(s);
    uint8_t *bytes = malloc(bound);
    int n = bytes ? kl_start_encode(s, bytes, bound) : -1;
    if (n > 0 && n <= (int)KL_START_MAX) {
        t->start = bytes;
        t->len = (size_t)n;
        return NULL;
    }
    free(bytes);
    return "its state and saves are too large for a room";
}

/* t->start, of the recording's with what is in force now; s: zero. NULL, or why not. */
static const char *make_start(struct kl_match *m, struct kl_take_over *t, struct kl_start *s) {
    const struct kl_recording *rec = m->play.replay.rec;
    struct kl_fileset *files = NULL;
    uint8_t *packed = NULL;
    if (kl_start_decode(s, rec->start, rec->start_len) != 0) return "its start data is damaged";
    const char *why = take_state(m, &s->state, &packed);
    if (!why && !kl_files_give(m, &files)) why = "the core's files cannot be given to others";
    if (!why) why = put_files(s, files);
    if (!why) {
        s->option_count = 0;
        kl_emulator_put_options(&m->emu, s);
        kl_start_put_system(s, kl_world_system);
        unsigned kept = 0;
        for (unsigned i = 0; i < s->memory_count; i++) {
            struct kl_start_memory *is = &s->memory[i];
            const uint8_t *now = m->emu.core.get_memory_data(is->id);
            if (!now || m->emu.core.get_memory_size(is->id) != is->len) continue;
            s->memory[kept] = *is;
            s->memory[kept++].bytes = now;
        }
        s->memory_count = kept;
        why = encode(t, s);
    }
    memcpy(t->agreed, s->state.hash, sizeof t->agreed);
    kl_fileset_free(files);
    free(packed);
    return why;
}

bool kl_take_over_make(struct kl_match *m, const char *room, unsigned seat, char *err, size_t err_len) {
    struct kl_take_over *t = &m->join.take_over;
    static struct kl_config scratch;
    struct kl_start *s = calloc(1, sizeof *s);
    kl_take_over_free(m);
    const char *why = !s ? "out of memory" : !*m->config.host ? "no relay is set" : make_start(m, t, s);
    free(s);
    if (why) snprintf(err, err_len, "%s", why);
    if (why || kl_config_set(&scratch, "room", room, err, err_len) != 0) return false;
    snprintf(t->room, sizeof t->room, "%s", scratch.room);
    t->seat = seat;
    return true;
}

int kl_take_over_start_data(struct kl_match *m, uint8_t **out, size_t *len, char *err, size_t err_len) {
    bool bare = m->status.bare || !m->config.saves;
    const struct kl_take_over *t = &m->join.take_over;
    if (!t->start || strcmp(t->room, m->join.request.room) != 0) return 1;
    struct kl_start *s = calloc(1, sizeof *s);
    int n = -1;
    *out = malloc(t->len); /* with fewer saves it is no longer */
    if (s && *out && kl_start_decode(s, t->start, t->len) == 0) {
        if (bare) s->memory_count = s->file_count = 0;
        n = kl_start_encode(s, *out, t->len);
    }
    free(s);
    if (n > 0) {
        *len = (size_t)n;
        return 0;
    }
    free(*out);
    *out = NULL;
    snprintf(err, err_len, "out of memory");
    return -1;
}

/* --- the question --- */

bool kl_take_over_agreed(struct kl_match *m, const struct kl_start_state *s) {
    if (m->play.replay.rec) return m->join.request.consent == KL_CONSENT_ROOM;
    return memcmp(m->join.take_over.agreed, s->hash, sizeof s->hash) == 0;
}

enum kl_take_over_answer kl_take_over_answer(struct kl_match *m, uint64_t now_us) {
    struct kl_take_over *t = &m->join.take_over;
    if (t->asks) return now_us - t->asked_us < ANSWER_US ? KL_TAKE_OVER_WAIT : KL_TAKE_OVER_NO;
    struct kl_start *s = m->status.start ? calloc(1, sizeof *s) : NULL;
    bool has = s && kl_start_decode(s, m->status.start, m->status.start_len) == 0 && s->state.bytes;
    bool open = has && !kl_take_over_agreed(m, &s->state);
    t->words[0] = 0;
    if (has) kl_start_state_words(&s->state, t->words);
    if (open && m->config.trust != KL_TRUST_OFF) {
        t->asks = true;
        t->asked_us = now_us;
        memcpy(t->asked, s->state.hash, sizeof t->asked);
        kl_frontend_log(&m->front, "asked: begin with %s", t->words);
    }
    free(s);
    return !open ? KL_TAKE_OVER_GO : t->asks ? KL_TAKE_OVER_WAIT : KL_TAKE_OVER_NO;
}

bool kl_take_over_agree(struct kl_match *m) {
    struct kl_take_over *t = &m->join.take_over;
    if (!*kl_take_over_asks(m)) return false;
    memcpy(t->agreed, t->asked, sizeof t->agreed);
    t->asks = false;
    kl_frontend_log(&m->front, "agreed: begin with %s", t->words);
    return true;
}

const char *kl_take_over_asks(const struct kl_match *m) {
    const struct kl_take_over *t = &m->join.take_over;
    return t->asks && m->status.phase == KL_PARTICIPANT_LOAD ? t->words : "";
}

/* --- a way into a room --- */

unsigned kl_take_over_begin(struct kl_match *m) {
    const struct kl_take_over *t = &m->join.take_over;
    if (!*t->words) return 0;
    kl_frontend_say(&m->front, KL_SCREEN_INFO, TOLD_MS, "begun with %s", t->words);
    bool ours = t->start && !strcmp(t->room, m->join.request.room) && m->status.welcome.host;
    return ours ? t->seat : 0;
}

void kl_take_over_joins(struct kl_match *m) {
    m->join.take_over.asks = false;
    m->join.take_over.words[0] = 0;
}

void kl_take_over_free(struct kl_match *m) {
    free(m->join.take_over.start);
    memset(&m->join.take_over, 0, sizeof m->join.take_over);
}

#include "core_wrapper/match/room_profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core_wrapper/match/match.h"
#include "core_wrapper/start/identity.h"
#include "core_wrapper/start/seat_file.h"
#include "net/engine/command.h"
#include "net/engine/wire.h"
#include "net/platform/clock.h"
#include "net/platform/dir.h"
#include "net/platform/file.h"
#include "net/platform/library.h"

/* --- the profile of a room --- */

#define SHOWN_MS 5000

/* --- finding ours --- */

/* Of the loaded core, with its very version. */
static const char *core_fact(struct kl_match *m) {
    static struct kl_facts loaded;
    struct retro_system_info info = {0};
    loaded.count = 0;
    m->emu.core.get_system_info(&info);
    kl_identity_core(&loaded, &info);
    return loaded.fact[0].value;
}

/* The file, and whether it was named itself. False: there is nowhere to look. */
static bool find_path(struct kl_match *m, char *out, size_t cap, bool *named, const char *core,
                      const char *content) {
    char usual[KL_FILE_PATH], name[KL_PROFILE_NAME_MAX], err[256];
    const char *said = m->config.profile;
    kl_profile_name(name, core, content);
    *named = *said && !kl_dir_exists(said);
    if (*named) return snprintf(out, cap, "%s", said) < (int)cap;
    if (!*said && kl_state_folder("profiles", usual, err, sizeof err) != 0) return false;
    return snprintf(out, cap, "%s/%s", *said ? said : usual, name) < (int)cap;
}

static void tell(struct kl_match *m, const char *path, const struct kl_profile_room *p) {
    kl_frontend_log(
        &m->front,
        "profile file=%s state_bytes=%u mask_bytes=%llu states_equal=%d load_own=%d hide=%d snapshots=%d "
        "hash_every=%u",
        path, p->mask.state_bytes, (unsigned long long)kl_mask_bytes(&p->mask), p->states_equal, p->load_own,
        !p->show_all, !p->no_snapshots, p->hash_every);
}

bool kl_room_profile_find(struct kl_match *m, const struct kl_facts *facts) {
    char path[KL_CONFIG_PATH_MAX + KL_PROFILE_NAME_MAX], err[KLW_TEXT_MAX] = "";
    const char *core = core_fact(m), *content = kl_facts_value(facts, "content");
    bool named = false;
    memset(&m->profile.own, 0, sizeof m->profile.own);
    m->profile.size_bytes = m->emu.core.serialize_size();
    if (!strcmp(m->config.profile, "off") || !*core || !*content) return true;
    if (!find_path(m, path, sizeof path, &named, core, content)) return true;
    int result = kl_profile_read(&m->profile.own, path, err, sizeof err);
    if (result == 0 && kl_profile_fits(&m->profile.own, core, content, err, sizeof err)) {
        tell(m, path, &m->profile.own.room);
        return true;
    }
    memset(&m->profile.own, 0, sizeof m->profile.own);
    if (result == 0)
        kl_frontend_say(&m->front, KL_SCREEN_WARNING, SHOWN_MS, "the profile %s is ignored: %s", path, err);
    else if (named)
        kl_frontend_fail(&m->front, "KEYLOCK_PROFILE: %s", err);
    else if (result < 0)
        kl_frontend_say(&m->front, KL_SCREEN_WARNING, SHOWN_MS, "a profile is ignored: %s", err);
    return result == 0 || !named;
}

bool kl_room_profile_known(struct kl_match *m) {
    return m->profile.own.core[0];
}

void kl_room_profile_wish(struct kl_match *m, struct kl_params *p) {
    if (m->profile.own.room.hash_every && !m->config.hash_every_set)
        p->hash_every = m->profile.own.room.hash_every;
}

bool kl_room_profile_find_any(struct kl_match *m) {
    char path[KL_CONFIG_PATH_MAX + KL_PROFILE_NAME_MAX], err[KLW_TEXT_MAX], any[KL_FACT_VAL_MAX];
    size_t bytes = m->profile.size_bytes;
    bool named = false;
    memset(&m->profile.for_core, 0, sizeof m->profile.for_core);
    if (!strcmp(m->config.profile, "off") || !bytes) return false;
    for (unsigned i = 0; i < 2; i++) { /* states of this size, then of no constant size */
        kl_profile_any(any, i ? 0 : bytes);
        if (!find_path(m, path, sizeof path, &named, core_fact(m), any) || named) return false;
        if (kl_profile_read(&m->profile.for_core, path, err, sizeof err) == 0 &&
            kl_profile_fits(&m->profile.for_core, core_fact(m), any, err, sizeof err))
            return true;
        memset(&m->profile.for_core, 0, sizeof m->profile.for_core);
    }
    return false;
}

const char *kl_room_profile_no_ahead(struct kl_match *m) {
    if (kl_room_profile_known(m)) return m->profile.own.no_ahead;
    return kl_room_profile_find_any(m) ? m->profile.for_core.no_ahead : "";
}

bool kl_room_profile_pages(struct kl_match *m) {
    if (kl_room_profile_known(m)) return m->profile.own.pages;
    return kl_room_profile_find_any(m) && m->profile.for_core.pages;
}

/* --- the room's --- */

void kl_room_profile_put(struct kl_match *m, struct kl_profile_room *out) {
    *out = m->profile.own.room;
    if (!m->profile.own.core[0] && kl_room_profile_find_any(m)) *out = m->profile.for_core.room;
    out->show_all = out->show_all || !m->config.hide;
    out->load_own = out->load_own || m->config.load_own;
}

void kl_room_profile_take(struct kl_match *m, const struct kl_profile_room *in, const char *system) {
    m->profile.room = *in;
    m->profile.foreign = strcmp(system, kl_world_system) != 0;
    m->profile.said_size = false;
    memset(&m->profile.said, 0, sizeof m->profile.said);
    m->profile.show_all = m->profile.room.show_all || !m->config.hide;
    m->profile.load_own = m->profile.room.load_own;
    m->profile.no_snapshots = m->profile.room.no_snapshots;
    tell(m, "the-room's", &m->profile.room);
    if (m->profile.foreign)
        kl_frontend_log(&m->front, "the host's system is %s, this is %s: states alone are no desync", system,
                        kl_world_system);
}

void kl_room_profile_said(struct kl_match *m, const struct kl_command *c, uint32_t frame) {
    static struct kl_mask mask; /* large */
    if (m->profile.room.mask.count || m->profile.room.states_equal) return;
    if (!kl_mask_hear(&m->profile.said, c, &mask)) return;
    m->profile.room.mask = mask;
    kl_frontend_log(&m->front, "[f %u] mask state_bytes=%u mask_bytes=%llu", frame, mask.state_bytes,
                    (unsigned long long)kl_mask_bytes(&mask));
}

uint64_t kl_room_profile_hash(struct kl_match *m, const uint8_t *state, size_t len, struct kl_hash *h) {
    bool used;
    uint64_t hash = kl_mask_hash(&m->profile.room.mask, state, len, &used);
    h->has |= m->profile.foreign                     ? KL_HASH_NOTED
              : used && m->profile.room.mask.count   ? KL_HASH_MASKED
              : used && m->profile.room.states_equal ? KL_HASH_FULL
                                                     : 0;
    if (!used)
        kl_frontend_say_once(
            &m->front, &m->profile.said_size,
            "the room's profile of this core is ignored for its hashes: it is of states of %u "
            "bytes, this one has %zu",
            m->profile.room.mask.state_bytes, len);
    return hash;
}

/* --- findings of this machine --- */

#define LEARN_US (180 * UINT64_C(1000000)) /* a measurement that takes longer is ended */
#define AGAIN_US (10 * 1000000)            /* the mask was given, and has not come */
#define TRIES    3

/* --- measuring --- */

/* A path as it is, a name on PATH; without that the wrapper's own file (tool/own). */
static bool find_program(struct kl_match *m, char *out, size_t cap, bool *own) {
    static const char here;
    const char *name = m->config.learn;
    *own = false;
    if (strchr(name, '/')) return snprintf(out, cap, "%s", name) < (int)cap && kl_file_runnable(out);
    if (kl_process_find(name, out, cap)) return true;
    *own = true;
    return kl_library_file_of(&here, out, cap);
}

void kl_learn_begin(struct kl_match *m) {
    char program[KL_FILE_PATH], err[KLW_TEXT_MAX];
    /* The child loads the game by its path. */
    const struct kl_content *c = &m->emu.content;
    const char *content = !c->special && c->count == 1 ? c->item[0].path : NULL;
    bool own, off = !strcmp(m->config.learn, "off") || !strcmp(m->config.profile, "off");
    m->profile.learn.found = false;
    if (off || m->profile.learn.measuring.id || !content || !kl_file_readable(content) ||
        *m->emu.content.refusal)
        return;
    if (!m->profile.size_bytes || kl_room_profile_known(m)) return;
    m->profile.learn.found = kl_room_profile_find_any(m);
    if (m->profile.learn.found) return;
    if (!find_program(m, program, sizeof program, &own)) return;
    const char *arguments[] = {
        "keylock",           "probe",     "--learn", "--core",
        m->emu.core.path,    "--content", content,   *m->front.system_dir ? "--system" : NULL,
        m->front.system_dir, NULL};
    struct kl_process_setup setup = {
        .program = own ? NULL : program, .library = own ? program : NULL, .arguments = arguments};
    m->profile.learn.begun_us = kl_now_us();
    if (kl_process_start(&m->profile.learn.measuring, &setup, err, sizeof err) == 0)
        kl_frontend_log(&m->front, "measures the core's states in the background");
    else
        kl_frontend_log(&m->front, "the core's states are not measured: %s", err);
}

bool kl_learn_busy(struct kl_match *m) {
    struct kl_learn *l = &m->profile.learn;
    if (!l->measuring.id) return false;
    bool late = kl_now_us() > l->begun_us + LEARN_US;
    if (!kl_process_gone(&l->measuring) && !late) return true;
    kl_learn_end(m);
    l->found = kl_room_profile_find_any(m);
    kl_frontend_log(&m->front, "the core's states are measured in %u s%s",
                    (unsigned)((kl_now_us() - l->begun_us) / 1000000), l->found ? "" : ": nothing was found");
    return false;
}

void kl_learn_end(struct kl_match *m) {
    if (m->profile.learn.measuring.id) kl_process_end(&m->profile.learn.measuring, 0, NULL);
}

/* --- giving --- */

/* A mask that is too long for the room's commands waits for the next room. */
static void give(struct kl_match *m, const struct kl_mask *mask) {
    uint8_t bytes[KL_MASK_PIECES * KL_MASK_PIECE], data[KL_COMMAND_BYTES];
    struct kl_writer w = kl_writer(bytes, sizeof bytes);
    kl_mask_write(&w, mask);
    if (w.failed) return;
    size_t len = (size_t)(w.at - bytes);
    uint8_t pieces = (uint8_t)((len + KL_MASK_PIECE - 1) / KL_MASK_PIECE);
    struct kl_participant *participant = kl_link_hold(m->link);
    int result = KL_OK;
    for (uint8_t i = 0; i < pieces && result == KL_OK; i++) {
        size_t at = (size_t)i * KL_MASK_PIECE, n = len - at < KL_MASK_PIECE ? len - at : KL_MASK_PIECE;
        data[0] = i;
        data[1] = pieces;
        memcpy(data + 2, bytes + at, n);
        result = kl_participant_order(participant, KL_COMMAND_MASK, data, n + 2);
    }
    kl_link_release(m->link);
}

void kl_learn_turn(struct kl_match *m, uint64_t now_us) {
    struct kl_learn *l = &m->profile.learn;
    const struct kl_mask *mask = &m->profile.for_core.room.mask, *room = &m->profile.room.mask;
    if (m->emu.phase != KL_PHASE_PLAYING || m->status.phase != KL_PARTICIPANT_PLAYING) return;
    if (kl_learn_busy(m) || !l->found || l->tries == TRIES || now_us < l->given_us + AGAIN_US) return;
    if (!mask->count || room->count || m->profile.room.states_equal || !m->status.welcome.host) return;
    if (mask->state_bytes != m->play.buffer.size) return; /* none was hashed yet, or of another size */
    l->given_us = now_us;
    l->tries++;
    give(m, mask);
}

void kl_learn_game(struct kl_match *m) {
    m->profile.learn.tries = 0;
    m->profile.learn.given_us = 0;
}

#include "core_wrapper/match/learn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/engine/command.h"
#include "net/engine/wire.h"
#include "net/platform/clock.h"
#include "net/platform/file.h"
#include "net/platform/library.h"
#include "core_wrapper/match/room_profile.h"
#include "core_wrapper/match/match.h"

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
    struct kl_writer w;
    kl_writer_init(&w, bytes, sizeof bytes);
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

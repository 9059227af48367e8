#include "core_wrapper/abi/keylock_api.h"

#include <stdio.h>
#include <string.h>

#include <sodium.h>

#include "core_wrapper/abi/browse.h"
#include "core_wrapper/match/choice.h"
#include "core_wrapper/match/command.h"
#include "core_wrapper/match/join.h"
#include "core_wrapper/match/state.h"
#include "core_wrapper/match/wanted_room.h"
#include "core_wrapper/abi/the_match.h"

static int check(const char *key, const char *value, char *err, size_t err_len) {
    static struct kl_config scratch;
    memset(&scratch, 0, sizeof scratch);
    int r = kl_wish_check(&scratch, key, value, err, err_len);
    sodium_memzero(&scratch, sizeof scratch);
    return r;
}

static void leave(void) {
    kl_choice_leave(m);
}

static enum keylock_state of_link(void) {
    switch (m->status.phase) {
    case KL_PARTICIPANT_CONNECTING: return KEYLOCK_JOINING;
    case KL_PARTICIPANT_PLAYING: return KEYLOCK_PLAYING;
    case KL_PARTICIPANT_RETURNING: return KEYLOCK_LOST;
    case KL_PARTICIPANT_ENDED: return KEYLOCK_ENDED;
    case KL_PARTICIPANT_WAITING:
    case KL_PARTICIPANT_SEND_START:
    case KL_PARTICIPANT_FETCHING:
    case KL_PARTICIPANT_LOAD:
    case KL_PARTICIPANT_READY: return KEYLOCK_WAITING;
    }
    return KEYLOCK_IDLE;
}

static enum keylock_state find_state(void) {
    if (!m->emu.core.game_loaded || m->state == KL_MATCH_NONE) return KEYLOCK_IDLE;
    if (m->state == KL_MATCH_DEAD) return KEYLOCK_ENDED;
    if (kl_match_looks(m->state)) return KEYLOCK_LOOKING;
    return m->link ? of_link() : KEYLOCK_ALONE;
}

static void describe(enum keylock_state s, char *line) {
    const struct kl_roster *r = &m->status.roster;
    const char *room = m->join.request.room;
    switch (s) {
    case KEYLOCK_IDLE: snprintf(line, KEYLOCK_LINE, "no content is loaded"); break;
    case KEYLOCK_ALONE: snprintf(line, KEYLOCK_LINE, "in no room"); break;
    case KEYLOCK_LOOKING: snprintf(line, KEYLOCK_LINE, "looking for a match"); break;
    case KEYLOCK_JOINING:
        snprintf(line, KEYLOCK_LINE, "room %s: reaching the relay %.120s", room, m->join.request.host);
        break;
    case KEYLOCK_WAITING:
        snprintf(line, KEYLOCK_LINE, "room %s: waiting for players, %u of %u", room, r->filled, r->players);
        break;
    case KEYLOCK_PLAYING:
        snprintf(line, KEYLOCK_LINE, "room %s: playing, %u of %u seats taken", room, r->filled, r->players);
        break;
    case KEYLOCK_LOST: snprintf(line, KEYLOCK_LINE, "room %s: the connection is lost", room); break;
    case KEYLOCK_ENDED: snprintf(line, KEYLOCK_LINE, "%.255s", m->front.error); break;
    }
}

static enum keylock_state state(char *line) {
    enum keylock_state s = find_state();
    if (line) describe(s, line);
    return s;
}

static bool link_of_ours(char *out, size_t cap) {
    return kl_join_write_link(m, out, cap, m->status.fingerprint);
}

static int say(const char *line, char *err, size_t err_len) {
    char words[KL_COMMAND_BYTES + sizeof "say "], answer[KLW_TEXT_MAX];
    size_t len = strlen(line);
    if (!line[strspn(line, " \t\r\n")]) return 0;
    if (!m->link) {
        snprintf(err, err_len, "you are in no room");
        return -1;
    }
    if (len > KL_COMMAND_BYTES) {
        snprintf(err, err_len, "the line is too long: expected at most %d bytes, got %zu", KL_COMMAND_BYTES,
                 len);
        return -1;
    }
    snprintf(words, sizeof words, "say %s", line);
    if (kl_command_do(m, words, answer, sizeof answer) == 0) return 0;
    snprintf(err, err_len, "%s", answer);
    return -1;
}

static int join(const struct keylock_setting *want, size_t count, char *err, size_t err_len) {
    return kl_wish_set(&m->wish, want, count, err, err_len);
}

RETRO_API const struct keylock_api *keylock_api(void) {
    static const struct keylock_api api = {
        .version = KEYLOCK_API_VERSION,
        .check = check,
        .browse = kl_browse_begin,
        .rooms = kl_browse_rooms,
        .browse_end = kl_browse_end,
        .join = join,
        .leave = leave,
        .state = state,
        .link = link_of_ours,
        .say = say,
    };
    return &api;
}

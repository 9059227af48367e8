#include "lobby_command.h"

#include <stdio.h>
#include <string.h>

#include "../engine/command.h"

/* --- what members ask for --------------------------------------------------------------------------------
 */

#define ANSWERS_UNDER_WAY 64     /* messages under way to a member behind which no answer is sent */
#define CHAT_US           100000 /* between two lines while the room pauses */

static void answer(struct kl_lobby_room *r, unsigned member, const char *format, const char *what) {
    const struct kl_lobby_net *net = &r->lobby->net;
    struct kl_msg m = {.kind = KL_MSG_NOTICE};
    if (net->pending(net->ctx, r->member[member].peer) > ANSWERS_UNDER_WAY) return;
    snprintf(m.text.text, sizeof m.text.text, format, what);
    kl_lobby_send(r->lobby, r->member[member].peer, &m);
}

static const char *host_name(const struct kl_lobby_room *r) {
    return r->host == KL_NO_HOST ? "nobody" : r->member[r->host].name;
}

static int hand_over(struct kl_lobby_room *r, unsigned member, const struct kl_order *o) {
    if (o->len != 1 || o->data[0] >= KL_MAX_CLIENTS) return KL_E_MALFORMED;
    const struct kl_lobby_member *to = &r->member[o->data[0]];
    if (!to->here || to->leaving) return KL_E_STATE;
    if (o->data[0] == r->host) return KL_OK;
    kl_lobby_notice(r, "%s makes %s the host", r->member[member].name, to->name);
    r->host = o->data[0];
    r->roster_changed = r->busy = true;
    return KL_OK;
}

/* Nothing in it: the other of the two. Who says which he means cannot undo another's who says the same. */
static int pause_or_resume(struct kl_lobby_room *r, unsigned client, const char *who, const uint8_t *data,
                           size_t len, uint64_t now_us) {
    bool paused = r->lock.paused || r->lock.pausing;
    if (len > 1 || (len == 1 && data[0] > 1)) return KL_E_MALFORMED;
    bool pause = len ? data[0] == 1 : !paused;
    if (pause == paused) return KL_OK;
    if (pause) return kl_room_command(&r->lock, client, KL_COMMAND_PAUSE, NULL, 0);
    int result = kl_room_resume(&r->lock, now_us);
    if (result == KL_OK) kl_lobby_notice(r, "%s goes on with the game", who);
    return result;
}

/* A room that pauses has no next keyframe, and people talk just then: the line is shown at once, with the
 * frame that it stands before. */
static int chat_in_pause(struct kl_lobby_room *r, const char *who, const uint8_t *data, size_t len,
                         uint64_t now_us) {
    if (now_us < r->chat_us) return KL_E_FULL;
    r->chat_us = now_us + CHAT_US;
    kl_lobby_notice(r, "[f %u] %s: %.*s", r->lock.next_close, who, (int)len, (const char *)data);
    return KL_OK;
}

static bool for_the_host(uint8_t kind) {
    return kind == KL_COMMAND_POLICY || kind == KL_COMMAND_SWAP || kind == KL_COMMAND_HOST;
}

static int obey(struct kl_lobby_room *r, unsigned member, const struct kl_order *o, uint64_t now_us) {
    const char *name = r->member[member].name;
    if (r->phase != KL_ROOM_PLAYING) return KL_E_STATE;
    if (for_the_host(o->kind) && r->host != member) {
        answer(r, member, "that is for the host of the room, %s", host_name(r));
        return KL_E_STATE;
    }
    if (o->kind == KL_COMMAND_HOST) return hand_over(r, member, o);
    if (o->kind == KL_COMMAND_PAUSE) return pause_or_resume(r, member, name, o->data, o->len, now_us);
    if (o->kind == KL_COMMAND_CHAT && r->lock.paused) return chat_in_pause(r, name, o->data, o->len, now_us);
    return kl_room_command(&r->lock, member, o->kind, o->data, o->len);
}

void kl_lobby_play_command(struct kl_lobby_room *r, unsigned member, const struct kl_order *o,
                           uint64_t now_us) {
    int result = obey(r, member, o, now_us);
    if (result == KL_E_FULL) answer(r, member, "too many commands at once: %s", "the last one was dropped");
    enum kl_log_level level =
        result == KL_OK ? KL_LOG_INFO : KL_LOG_DEBUG; /* nobody fills the log with what was not done */
    kl_lobby_log_member(level, "command", r, member, "kind=%u bytes=%u frame=%u result=%d", o->kind, o->len,
                        r->lock.next_close, result);
}

/* --- what the operator asks for --------------------------------------------------------------------------
 */

const struct kl_lobby_room *kl_lobby_room_at(const struct kl_lobby *l, unsigned i) {
    return i < l->limits.rooms ? l->room[i] : NULL;
}

struct kl_lobby_room *kl_lobby_room_named(struct kl_lobby *l, const char *name) {
    for (unsigned i = 0; i < l->limits.rooms; i++)
        if (l->room[i] && strcmp(l->room[i]->name, name) == 0) return l->room[i];
    return NULL;
}

static int logged(struct kl_lobby_room *r, uint8_t kind, int result) {
    kl_lobby_log_room(KL_LOG_INFO, "command", r, "client=relay kind=%u frame=%u result=%d", kind,
                      r->lock.next_close, result);
    r->busy = true;
    return result;
}

int kl_lobby_order_say(struct kl_lobby_room *r, const char *text, uint64_t now_us) {
    size_t len = strlen(text);
    int result = KL_E_SPACE;
    if (r->phase != KL_ROOM_PLAYING) {
        kl_lobby_notice(r, "relay: %s", text);
        result = KL_OK;
    } else if (len <= KL_COMMAND_BYTES && r->lock.paused)
        result = chat_in_pause(r, "relay", (const uint8_t *)text, len, now_us);
    else if (len <= KL_COMMAND_BYTES)
        result = kl_room_command(&r->lock, KL_RELAY_CLIENT, KL_COMMAND_CHAT, (const uint8_t *)text, len);
    return logged(r, KL_COMMAND_CHAT, result);
}

int kl_lobby_order_pause(struct kl_lobby_room *r, bool pause, uint64_t now_us) {
    uint8_t want = pause;
    int result = KL_E_STATE;
    if (r->phase == KL_ROOM_PLAYING) result = pause_or_resume(r, KL_RELAY_CLIENT, "relay", &want, 1, now_us);
    return logged(r, KL_COMMAND_PAUSE, result);
}

int kl_lobby_order_policy(struct kl_lobby_room *r, uint8_t policy, uint16_t budget_ms) {
    uint16_t w = budget_ms ? budget_ms : r->lock.params.wait_budget_ms;
    uint8_t data[] = {policy, (uint8_t)w, (uint8_t)(w >> 8), r->lock.params.spacing_fixed};
    bool no_clock = policy == KL_POLICY_OPTIMISTIC && !(r->params.clocked && r->params.subframes);
    int result = KL_E_STATE;
    if (r->phase == KL_ROOM_PLAYING && !no_clock)
        result = kl_room_command(&r->lock, KL_RELAY_CLIENT, KL_COMMAND_POLICY, data, sizeof data);
    return logged(r, KL_COMMAND_POLICY, result);
}

int kl_lobby_order_kick(struct kl_lobby_room *r, const char *name, uint64_t now_us) {
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        const struct kl_lobby_member *m = &r->member[i];
        if (!m->here || m->leaving || strcmp(m->name, name) != 0) continue;
        kl_lobby_put_out(r, i, KL_REFUSE_CLOSED, "put out by the relay's operator", now_us);
        return KL_OK;
    }
    return KL_E_STATE;
}

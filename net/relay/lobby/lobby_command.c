
#include <stdio.h>
#include <string.h>

#include "net/engine/command.h"
#include "net/engine/wire.h"
#include "net/relay/durable/journal.h"
#include "net/relay/lobby/lobby_parts.h"
#include "net/session/command_words.h"

/* --- members' commands --- */

#define OPERATOR "the relay's operator"

#define CHAT_US 100000 /* between two lines while the room pauses */

/* Behind so many messages under way no answer is sent. */
static void answer(struct kl_lobby_room *r, unsigned member, const char *format, const char *what) {
    if (kl_lobby_is_behind(r, r->member[member]->v.peer, 64)) return;
    kl_lobby_tell(r, member, 0, format, what);
}

static int hand_over(struct kl_lobby_room *r, unsigned to, const char *who) {
    if (!kl_lobby_reaches(r->member[to]) || kl_lobby_start_under_way(r)) return KL_E_STATE;
    if (to == r->host) return KL_OK;
    kl_lobby_notice(r, "%s makes %s the host", who, kl_lobby_name(r, to).text);
    r->host = to;
    kl_lobby_changed(r, true);
    return KL_OK;
}

static int about_desyncs(struct kl_lobby_room *r, unsigned member, const struct kl_order *o, const char *who,
                         uint64_t now_us) {
    if (o->data[0] > KL_DESYNC_IGNORE) return KL_E_MALFORMED;
    if (!kl_lobby_heal_policy(r, o->data[0], who, now_us))
        answer(r, member, "tried less than %s ago: say it again later", "a minute");
    return KL_OK;
}

/* Puts out all watchers of that name; ban: they may not come back. who: the giver of the order, for their
 * screens. Returns their number. */
static unsigned expel(struct kl_lobby_room *r, const char *name, bool ban, const char *who) {
    char text[KL_TEXT_MAX];
    unsigned count = 0;
    snprintf(text, sizeof text, "%s by %s", ban ? "banned" : "put out", who);
    for (unsigned i = r->watch.count; i-- > 0;) {
        struct kl_lobby_watcher *w = r->watch.at[i];
        if (!kl_name_fits(&(struct kl_name_entry){w->v.name, 0}, name)) continue;
        if (ban) kl_lobby_bar(r, KL_BAR_BAN, &w->v.who, 0);
        kl_lobby_watch_put_out(r, w, ban ? KL_REFUSE_DOOR : KL_REFUSE_CLOSED, text);
        count++;
    }
    return count;
}

/* A line holds some twenty. */
static void tell_watchers(struct kl_lobby_room *r, unsigned member) {
    char line[KL_TEXT_MAX - 24];
    unsigned i = 0;
    if (r->watch.count == 0) kl_lobby_tell(r, member, 0, "there are no watchers");
    while (i < r->watch.count) {
        unsigned first = i;
        size_t n = 0;
        for (; i < r->watch.count && n + KL_NAME_MAX + 2 < sizeof line; i++)
            n += (size_t)snprintf(line + n, sizeof line - n, "%s%s", i > first ? ", " : "",
                                  r->watch.at[i]->v.name);
        kl_lobby_tell(r, member, 0, first ? "and %u: %s" : "%u watchers: %s",
                      first ? i - first : r->watch.count, line);
    }
}

/* Data is 0xff and a watcher's name. */
static int put_out_watcher(struct kl_lobby_room *r, unsigned member, const struct kl_order *o,
                           const char *who, uint64_t now_us) {
    char name[KL_NAME_MAX];
    if (o->data[0] != KL_WATCHER || o->len > sizeof name) return KL_E_MALFORMED;
    snprintf(name, sizeof name, "%.*s", o->len - 1, (const char *)o->data + 1);
    unsigned count = expel(r, name, o->kind == KL_COMMAND_BAN, who);
    if (o->kind == KL_COMMAND_BAN) kl_lobby_put_out_banned(r, who, now_us);
    if (count)
        kl_lobby_tell(r, member, 0, "%u watchers named %s were put out", count, name);
    else
        answer(r, member, "nobody in this room is called %s", name);
    return count ? KL_OK : KL_E_STATE;
}

static int set_delay(struct kl_lobby_room *r, unsigned member, const struct kl_order *o, const char *who) {
    if (o->len != 2) return KL_E_MALFORMED;
    int result = kl_lobby_watch_delay(r, o->data[0] | (unsigned)o->data[1] << 8, who);
    if (result != KL_OK) answer(r, member, "expected a delay of %s", "0 to 300 s");
    return result;
}

/* Kinds 4, 6 to 8, 10, 14 and 24: the relay's alone, they stand at no keyframe and need no game. */
static int order_of_the_host(struct kl_lobby_room *r, unsigned member, const struct kl_order *o,
                             uint64_t now_us) {
    char who[KL_NAME_SHOWN + 10];
    snprintf(who, sizeof who, "the host %s", kl_lobby_name(r, member).text);
    if ((o->kind == KL_COMMAND_KICK || o->kind == KL_COMMAND_BAN) && o->len > 1)
        return put_out_watcher(r, member, o, who, now_us);
    if (o->kind == KL_COMMAND_DELAY) return set_delay(r, member, o, who);
    if (o->len != 1) return KL_E_MALFORMED;
    if (o->kind == KL_COMMAND_VOICE) return kl_lobby_voice_allow(r, o->data[0], who);
    if (o->kind == KL_COMMAND_DESYNC) return about_desyncs(r, member, o, who, now_us);
    if (o->data[0] >= KL_MAX_CLIENTS) return KL_E_MALFORMED;
    unsigned whom = o->data[0];
    if (o->kind == KL_COMMAND_LOCK) {
        if (whom > 1) return KL_E_MALFORMED;
        kl_lobby_lock(r, whom, who);
        return KL_OK;
    }
    const struct kl_lobby_member *m = r->member[whom];
    if (!kl_lobby_stays(m)) return KL_E_STATE;
    if (o->kind == KL_COMMAND_HOST) {
        if (kl_lobby_start_under_way(r))
            answer(r, member, "you are sending the room's start data: %s", "hand over when the game begins");
        return hand_over(r, whom, kl_lobby_name(r, member).text);
    }
    if (whom == member) return KL_E_STATE; /* a member leaves by BYE */
    if (o->kind == KL_COMMAND_KICK)
        kl_lobby_kick(r, whom, who, now_us);
    else
        kl_lobby_ban(r, whom, who, now_us);
    return KL_OK;
}

#define REPORTS_PER_MIN 1
#define DISKS_PER_MIN   12 /* of one member: each has all machines look at a file */

static int put_in_disk(struct kl_lobby_room *r, unsigned member, const struct kl_order *o, uint64_t now_us) {
    if (o->len != 2) return KL_E_MALFORMED;
    uint16_t disk = (uint16_t)(o->data[0] | o->data[1] << 8);
    if (!kl_bucket_take(&r->member[member]->v.spent.of[KL_SPENDS_DISKS], DISKS_PER_MIN, now_us)) {
        answer(r, member, "too many disks a minute: the last one %s", "was dropped");
        return KL_E_STATE;
    }
    int result = kl_lobby_files_disk(r, member, disk, now_us);
    if (result == KL_E_STATE) answer(r, member, "another disk is being %s: wait for it", "checked");
    return result;
}

/* A room that pauses has no next keyframe, and people talk just then: the line is shown at once, with the
 * frame that it stands before. */
static int chat_in_pause(struct kl_lobby_room *r, const char *who, const uint8_t *data, size_t len,
                         uint64_t now_us) {
    if (now_us < r->talk.chat_us) return KL_E_FULL;
    r->talk.chat_us = now_us + CHAT_US;
    kl_lobby_notice(r, "[f %u] %s: %.*s", r->lock.next_close, who, (int)len, (const char *)data);
    return KL_OK;
}

static int report(struct kl_lobby_room *r, unsigned member, const struct kl_order *o, uint64_t now_us) {
    char text[KL_COMMAND_BYTES + 1];
    struct kl_command said = {.kind = o->kind, .len = o->len};
    if (!o->len) return KL_E_MALFORMED;
    memcpy(said.data, o->data, o->len);
    kl_words_text(&said, text);
    if (!kl_bucket_take(&r->member[member]->v.spent.of[KL_SPENDS_REPORTS], REPORTS_PER_MIN, now_us)) {
        answer(r, member, "one report a minute: this one %s", "was dropped");
        return KL_E_STATE;
    }
    bool recorded = kl_journal_report(r, member, text);
    answer(r, member, recorded ? "reported: %s" : "not reported: this match is not recorded%s",
           recorded ? text : "");
    return recorded ? KL_OK : KL_E_STATE;
}

/* Kinds 12 and 13: the relay's alone as well. */
static int order_of_seats(struct kl_lobby_room *r, unsigned member, const struct kl_order *o,
                          uint64_t now_us) {
    bool hands_on = o->kind == KL_COMMAND_SEAT && o->data[0] == KL_SEAT_NEXT;
    if (o->len != 1 || (o->data[0] > KL_MAX_SEATS && !hands_on)) return KL_E_MALFORMED;
    if (o->kind == KL_COMMAND_SEAT) return kl_lobby_take_seat(r, member, o->data[0], now_us);
    int result = kl_lobby_set_places(r, o->data[0], kl_lobby_name(r, member).text);
    if (result != KL_OK) answer(r, member, "the game cannot have so %s seats here", "many or few");
    return result;
}

/* --- the core's frame rate ---
 *
 * Every machine reports a change. One wrong or hostile machine could set the room's pace, so a rate counts
 * once more than half of the players' votes are for it (verdict.h). */

static bool most_say(const struct kl_lobby_room *r, uint32_t rate_uhz) {
    uint16_t all = 0, same = 0;
    for (KL_MEMBERS(i, r, kl_lobby_reaches)) {
        const struct kl_lobby_member *m = r->member[i];
        if (!m->seats) continue;
        all |= kl_only(i); /* also who runs old frames, and has no word yet */
        if (m->rate_uhz == rate_uhz && kl_lobby_plays_now(r, i)) same |= kl_only(i);
    }
    return kl_lobby_carries(r, false, all, same);
}

static int change_rate(struct kl_lobby_room *r, unsigned member) {
    uint32_t rate_uhz = r->member[member]->rate_uhz;
    uint8_t data[4];
    struct kl_writer w = kl_writer(data, sizeof data);
    kl_write_u32(&w, rate_uhz);
    for (KL_MEMBERS(i, r, kl_lobby_here))
        if (r->member[i]->rate_uhz == rate_uhz) r->member[i]->rate_uhz = 0;
    return kl_lock_command(&r->lock, member, KL_COMMAND_RATE, data, sizeof data);
}

static int rate_said(struct kl_lobby_room *r, unsigned member, const struct kl_order *o) {
    struct kl_reader in = kl_reader(o->data, o->len);
    uint32_t rate_uhz = kl_read_u32(&in);
    if (in.failed || kl_reader_left(&in) || rate_uhz < KL_FPS_MIN || rate_uhz > KL_FPS_MAX)
        return KL_E_MALFORMED;
    r->member[member]->rate_uhz = rate_uhz;
    return kl_lobby_plays_now(r, member) && most_say(r, rate_uhz) ? change_rate(r, member) : KL_OK;
}

void kl_lobby_rate_look(struct kl_lobby_room *r) {
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        if (r->member[i]->rate_uhz && kl_lobby_plays_now(r, i) && most_say(r, r->member[i]->rate_uhz))
            (void)change_rate(r, i);
}

/* --- the room's saved state --- */

/* The room's saved state lies with its clients, each has a copy. LOAD loads all of them or none: it goes to
 * the room only if every member has reported its copy, and all copies are equal.
 *
 * A member that is absent, or watches, may not have run the SAVE yet: it runs SAVE and LOAD in their order.
 * LOAD does not wait for it, unless it has reported that it could not save. */

static int slot_said(struct kl_lobby_room *r, unsigned member, const struct kl_order *o) {
    struct kl_lobby_slot *s = &r->member[member]->slot;
    if (o->len != KL_SAVED_BYTES) return KL_E_MALFORMED;
    struct kl_reader in = kl_reader(o->data, o->len);
    uint32_t keyframe = kl_read_u32(&in);
    uint8_t has = kl_read_u8(&in);
    uint64_t hash = kl_read_u64(&in);
    if (has > 1 || keyframe >= r->lock.next_close) return KL_E_MALFORMED;
    *s = (struct kl_lobby_slot){.said = true, .has = has, .keyframe = keyframe, .hash = hash};
    return KL_OK;
}

static bool slot_newest(const struct kl_lobby_room *r, uint32_t *keyframe) {
    bool any = false;
    for (KL_MEMBERS(i, r, kl_lobby_stays)) {
        const struct kl_lobby_slot *slot = &r->member[i]->slot;
        if (!slot->said || (any && slot->keyframe <= *keyframe)) continue;
        *keyframe = slot->keyframe;
        any = true;
    }
    return any;
}

/* The reason why this member cannot load; NULL: it can. */
static const char *objection(const struct kl_lobby_room *r, unsigned member, uint32_t keyframe,
                             uint64_t hash) {
    const struct kl_lobby_slot *s = &r->member[member]->slot;
    if (!s->said || s->keyframe < keyframe)
        return kl_lobby_plays_now(r, member) ? "has not run that save yet" : NULL;
    if (s->keyframe > keyframe) return "has a newer save";
    if (!s->has) return "could not save it";
    return s->hash == hash ? NULL : "has another save, out of sync";
}

/* The hash of the first member that has a copy. */
static uint64_t hash_of(const struct kl_lobby_room *r, uint32_t keyframe) {
    for (KL_MEMBERS(i, r, kl_lobby_stays)) {
        const struct kl_lobby_slot *slot = &r->member[i]->slot;
        if (slot->said && slot->has && slot->keyframe == keyframe) return slot->hash;
    }
    return 0;
}

bool kl_lobby_slot_agreed(struct kl_lobby_room *r, const struct kl_order *o) {
    struct kl_reader in = kl_reader(o->data, o->len);
    uint32_t keyframe = kl_read_u32(&in);
    if (in.failed || o->len != KL_LOAD_BYTES) return false;
    uint64_t hash = hash_of(r, keyframe);
    for (KL_MEMBERS(i, r, kl_lobby_stays)) {
        const char *why = objection(r, i, keyframe, hash);
        if (!why) continue;
        kl_lobby_notice(r, "did not load the save of frame %u: %s %s", keyframe, kl_lobby_name(r, i).text,
                        why);
        return false;
    }
    return true;
}

/* --- orders --- */

static bool for_the_relay(uint8_t kind) {
    return kind == KL_COMMAND_HOST || kind == KL_COMMAND_LOCK || kind == KL_COMMAND_KICK ||
           kind == KL_COMMAND_BAN || kind == KL_COMMAND_DESYNC || kind == KL_COMMAND_DELAY ||
           kind == KL_COMMAND_VOICE;
}

static bool for_the_host(uint8_t kind) {
    return kind == KL_COMMAND_POLICY || kind == KL_COMMAND_SWAP || kind == KL_COMMAND_PLACES ||
           kind == KL_COMMAND_WATCHERS || kind == KL_COMMAND_MASK || for_the_relay(kind);
}

static bool needs_agreement(uint8_t kind) {
    return kind == KL_COMMAND_RESET || kind == KL_COMMAND_LOAD || kind == KL_COMMAND_OPTION;
}

static int obey(struct kl_lobby_room *r, unsigned member, const struct kl_order *o, uint64_t now_us) {
    const struct kl_name_shown name = kl_lobby_name(r, member);
    if (for_the_host(o->kind) && r->host != member) {
        answer(r, member, "only the host of the room can do that, %s",
               r->host == KL_NO_HOST ? "nobody" : kl_lobby_name(r, r->host).text);
        return KL_E_STATE;
    }
    if (o->kind == KL_COMMAND_SEAT || o->kind == KL_COMMAND_PLACES)
        return order_of_seats(r, member, o, now_us);
    if (o->kind == KL_COMMAND_WATCHERS) {
        tell_watchers(r, member);
        return KL_OK;
    }
    if (for_the_relay(o->kind)) return order_of_the_host(r, member, o, now_us);
    if (r->phase != KL_ROOM_PLAYING) return KL_E_STATE;
    if (o->kind == KL_COMMAND_SNAPSHOT) return KL_E_STATE; /* the relay's own */
    if (o->kind == KL_COMMAND_RATE) return rate_said(r, member, o);
    if (o->kind == KL_COMMAND_SAVED) return slot_said(r, member, o);
    if (o->kind == KL_COMMAND_REPORT) return report(r, member, o, now_us);
    if (needs_agreement(o->kind) && !(o->kind == KL_COMMAND_OPTION && r->host == member))
        return kl_lobby_wish(r, member, o, now_us);
    if (o->kind == KL_COMMAND_DISK) return put_in_disk(r, member, o, now_us);
    if (o->kind == KL_COMMAND_PAUSE) return kl_lobby_pause(r, member, name.text, o->data, o->len, now_us);
    if (o->kind == KL_COMMAND_CHAT && r->lock.paused)
        return chat_in_pause(r, name.text, o->data, o->len, now_us);
    return kl_lock_command(&r->lock, member, o->kind, o->data, o->len);
}

void kl_lobby_play_command(struct kl_lobby_room *r, unsigned member, const struct kl_order *o,
                           uint64_t now_us) {
    bool answers = o->kind == KL_COMMAND_SAVED; /* others' SAVE: not counted as its own */
    enum kl_visitor_order taken =
        answers ? KL_ORDER_TAKEN : kl_visitor_orders(r, &r->member[member]->v, o->kind, now_us);
    if (taken == KL_ORDER_TOO_MANY) kl_lobby_put_out(r, member, KL_REFUSE_LIMIT, "too many commands", now_us);
    if (taken != KL_ORDER_TAKEN) return;
    int result = obey(r, member, o, now_us);
    if (result == KL_E_FULL) answer(r, member, "too many commands at once: %s", "the last one was dropped");
    /* refused commands do not fill the log */
    enum kl_log_level level = result == KL_OK && !answers ? KL_LOG_INFO : KL_LOG_DEBUG;
    kl_lobby_log_member(level, "command", r, member, "kind=%u bytes=%u frame=%u result=%d", o->kind, o->len,
                        r->lock.next_close, result);
}

/* --- the operator's orders --- */

static int logged(struct kl_lobby_room *r, uint8_t kind, int result) {
    kl_lobby_log_room(KL_LOG_INFO, "command", r, "client=relay kind=%u frame=%u result=%d", kind,
                      r->lock.next_close, result);
    kl_lobby_busy(r);
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
        result = kl_lock_command(&r->lock, KL_RELAY_CLIENT, KL_COMMAND_CHAT, (const uint8_t *)text, len);
    return logged(r, KL_COMMAND_CHAT, result);
}

int kl_lobby_order_pause(struct kl_lobby_room *r, bool pause, uint64_t now_us) {
    uint8_t want = pause;
    int result = KL_E_STATE;
    if (r->phase == KL_ROOM_PLAYING) result = kl_lobby_pause(r, KL_RELAY_CLIENT, "relay", &want, 1, now_us);
    return logged(r, KL_COMMAND_PAUSE, result);
}

int kl_lobby_order_policy(struct kl_lobby_room *r, uint8_t policy, uint16_t budget_ms) {
    uint16_t w = budget_ms ? budget_ms : r->lock.params.wait_budget_ms;
    uint8_t data[] = {policy, (uint8_t)w, (uint8_t)(w >> 8), r->lock.params.spacing_fixed,
                      r->lock.params.lead_max};
    bool no_clock = policy == KL_POLICY_OPTIMISTIC && !(r->params.clocked && r->params.subframes);
    int result = KL_E_STATE;
    if (r->phase == KL_ROOM_PLAYING && !no_clock)
        result = kl_lock_command(&r->lock, KL_RELAY_CLIENT, KL_COMMAND_POLICY, data, sizeof data);
    return logged(r, KL_COMMAND_POLICY, result);
}

/* Names the newest saved state. The room is told about members that lack it. */
static bool names_a_state(struct kl_lobby_room *r, struct kl_order *o) {
    uint32_t keyframe = 0;
    if (o->kind != KL_COMMAND_LOAD) return true;
    if (!slot_newest(r, &keyframe)) return false;
    struct kl_writer w = kl_writer(o->data, sizeof o->data);
    kl_write_u32(&w, keyframe);
    o->len = KL_LOAD_BYTES;
    return kl_lobby_slot_agreed(r, o);
}

int kl_lobby_order_command(struct kl_lobby_room *r, const struct kl_order *order, uint64_t now_us) {
    struct kl_order filled = *order, *o = &filled;
    bool nobodys =
        o->kind == KL_COMMAND_SWAP && (o->data[0] >= r->params.players || o->data[1] >= r->params.players);
    int result = KL_E_STATE;
    if (r->phase == KL_ROOM_PLAYING && o->kind == KL_COMMAND_DISK && o->len == 2)
        result = kl_lobby_files_disk(r, KL_RELAY_CLIENT, (uint16_t)(o->data[0] | o->data[1] << 8), now_us);
    else if (r->phase == KL_ROOM_PLAYING && !nobodys && names_a_state(r, o))
        result = kl_lock_command(&r->lock, KL_RELAY_CLIENT, o->kind, o->data, o->len);
    return logged(r, o->kind, result);
}

int kl_lobby_order_lock(struct kl_lobby_room *r, bool locked) {
    kl_lobby_lock(r, locked, OPERATOR);
    return KL_OK;
}

int kl_lobby_order_delay(struct kl_lobby_room *r, unsigned seconds) {
    return logged(r, KL_COMMAND_DELAY, kl_lobby_watch_delay(r, seconds, OPERATOR));
}

/* The member that is meant; KL_MAX_CLIENTS: the watchers of that name; -1, with the reason in err. */
static int find(const struct kl_lobby_room *r, const char *who, char *err, size_t err_len) {
    struct kl_name_entry e[KL_MAX_CLIENTS + 1];
    unsigned at[KL_MAX_CLIENTS + 1], n = 0;
    for (KL_MEMBERS(i, r, kl_lobby_stays)) {
        const struct kl_lobby_member *m = r->member[i];
        at[n] = i;
        e[n++] = (struct kl_name_entry){m->v.name, kl_lock_played(&r->lock, m->seats)};
    }
    for (unsigned i = 0; i < r->watch.count && (!n || at[n - 1] < KL_MAX_CLIENTS); i++) {
        at[n] = KL_MAX_CLIENTS;
        e[n] = (struct kl_name_entry){r->watch.at[i]->v.name, 0};
        n += kl_name_fits(&e[n], who);
    }
    int found = kl_name_find(e, n, who, err, err_len);
    return found < 0 ? -1 : (int)at[found];
}

int kl_lobby_order_member(struct kl_lobby_room *r, enum kl_lobby_order order, const char *who, char *err,
                          size_t err_len, uint64_t now_us) {
    int i = find(r, who, err, err_len);
    if (i < 0) return KL_E_STATE;
    if (i == KL_MAX_CLIENTS && order != KL_ORDER_HOST) {
        (void)expel(r, who, order == KL_ORDER_BAN, OPERATOR);
        if (order == KL_ORDER_BAN) kl_lobby_put_out_banned(r, OPERATOR, now_us);
        return KL_OK;
    }
    snprintf(err, err_len, "%s cannot be the host now", who);
    switch (order) {
    case KL_ORDER_KICK: kl_lobby_kick(r, (unsigned)i, OPERATOR, now_us); return KL_OK;
    case KL_ORDER_BAN: kl_lobby_ban(r, (unsigned)i, OPERATOR, now_us); return KL_OK;
    case KL_ORDER_HOST: return i < KL_MAX_CLIENTS ? hand_over(r, (unsigned)i, OPERATOR) : KL_E_STATE;
    }
    return KL_E_STATE;
}

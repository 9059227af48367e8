/* Giving a command: fills in open values, checks the known conditions, sends the order. */
#include <stdio.h>
#include <string.h>

#include "core_wrapper/match/command.h"
#include "net/session/command_words.h"
#include "core_wrapper/match/run_ahead.h"
#include "core_wrapper/match/slot.h"
#include "core_wrapper/match/talking.h"
#include "core_wrapper/match/match.h"
#include "core_wrapper/match/take_over.h"

#define SHOWN_MS     4000
#define GIVEN_FRAMES 120 /* by then a given command has taken effect, or never will */

static int refuse(char *answer, size_t cap, const char *why) {
    snprintf(answer, cap, "%s", why);
    return -1;
}

/* --- members --- */

/* Clients whose pads play one of these seats. */
static const struct kl_member *playing(struct kl_match *m, uint8_t played) {
    const struct kl_roster *r = &m->status.roster;
    uint8_t pads = kl_command_pads(m, played);
    for (unsigned i = 0; i < r->count && i < KL_MAX_CLIENTS; i++)
        if (r->member[i].state != KL_MEMBER_GONE && r->member[i].seats & pads) return &r->member[i];
    return NULL;
}

/* A player's number, or a name (kl_name_find()). */
static const struct kl_member *find(struct kl_match *m, const char *who, char *answer, size_t cap) {
    const struct kl_roster *r = &m->status.roster;
    struct kl_name_entry e[KL_MAX_CLIENTS];
    unsigned at[KL_MAX_CLIENTS] = {0}, n = 0;
    for (unsigned i = 0; i < r->count && i < KL_MAX_CLIENTS; i++) {
        if (r->member[i].state == KL_MEMBER_GONE) continue;
        at[n] = i;
        e[n++] = (struct kl_name_entry){r->member[i].name, kl_command_played(m, r->member[i].seats)};
    }
    int found = kl_name_find(e, n, who, answer, cap);
    return found < 0 ? NULL : &r->member[at[found]];
}

/* --- open values --- */

static int fit_policy(struct kl_match *m, struct kl_words *w, char *answer, size_t cap) {
    bool newer = m->command.given.any && m->play.next_frame - m->command.given.frame < GIVEN_FRAMES;
    struct kl_params p = newer ? m->command.given.params : m->command.params;
    struct kl_command said = {.len = w->order.len};
    struct kl_params want;
    memcpy(said.data, w->order.data, w->order.len);
    if (!kl_words_get_policy(&said, &want)) return -1;
    if (w->has_policy) p.policy = want.policy;
    if (w->has_budget) p.wait_budget_ms = want.wait_budget_ms;
    if (w->has_spacing) p.spacing_fixed = want.spacing_fixed;
    if (w->has_lead_max) p.lead_max = want.lead_max;
    if (p.policy == KL_POLICY_OPTIMISTIC && !(p.clocked && p.subframes))
        return refuse(answer, cap, "the optimistic policy needs a room with a clock and sub-frames");
    m->command.given.any = true;
    m->command.given.frame = m->play.next_frame;
    m->command.given.params = p;
    kl_words_put_policy(&w->order, p.policy, p.wait_budget_ms, p.spacing_fixed, p.lead_max);
    return 0;
}

static int fit_option(struct kl_match *m, const struct kl_words *w, char *answer, size_t cap) {
    char key[KL_COMMAND_BYTES + 1], value[KL_COMMAND_BYTES + 1];
    struct kl_command c = {.len = w->order.len};
    memcpy(c.data, w->order.data, w->order.len);
    if (!kl_words_option(&c, key, value)) return refuse(answer, cap, "expected option KEY=VALUE");
    return kl_options_check(&m->emu.options, key, value, answer, cap);
}

/* From "no disk" the next is the first, and the one before is the last. */
static unsigned step_disk(unsigned now, unsigned n, int step) {
    if (now >= n) return step > 0 ? 0 : n - 1;
    return (now + n + (step > 0 ? 1 : n - 1)) % n;
}

static int fit_disk(struct kl_match *m, struct kl_words *w, char *answer, size_t cap) {
    const struct retro_disk_control_ext_callback *d = &m->emu.told.disk_control;
    unsigned n = d->get_num_images ? d->get_num_images() : 0;
    unsigned index = (unsigned)(w->order.data[0] | w->order.data[1] << 8);
    if (!n) return refuse(answer, cap, "this core has no disks to swap");
    if (w->disk_step && !d->get_image_index)
        return refuse(answer, cap, "this core does not tell its disk: name a number");
    if (w->disk_step) {
        index = step_disk(d->get_image_index(), n, w->disk_step);
        kl_words_put_disk(&w->order, (uint16_t)index);
    }
    if (index < n || index == KL_DISK_NONE) return 0;
    snprintf(answer, cap, "expected a disk from 1 to %u (0: none), got %u", n, index + 1);
    return -1;
}

/* The samples of a seat come from the client that got the seat when it joined. A swap moves them, and
 * nothing else does. */
static int fit_give(struct kl_match *m, struct kl_words *w, char *answer, size_t cap) {
    const struct kl_member *member = find(m, w->who, answer, cap);
    if (!member) return -1;
    if (!member->seats) {
        snprintf(answer, cap, "%s watches: only a player can get another seat", member->name);
        return -1;
    }
    uint8_t seat = w->order.data[0];
    if (kl_command_pads(m, (uint8_t)(1u << seat)) & member->seats) {
        snprintf(answer, cap, "%s is already player %u", member->name, seat + 1u);
        return -1;
    }
    for (uint8_t s = KL_MAX_SEATS; s-- > 0;) /* of several the first */
        if (kl_command_pads(m, (uint8_t)(1u << s)) & member->seats) w->order.data[1] = s;
    return 0;
}

static int fit_swap(struct kl_match *m, struct kl_words *w, char *answer, size_t cap) {
    if (*w->who && fit_give(m, w, answer, cap) != 0) return -1;
    if (playing(m, (uint8_t)(1u << w->order.data[0] | 1u << w->order.data[1]))) return 0;
    return refuse(answer, cap, "both seats are free: nothing to swap");
}

static int fit_host(struct kl_match *m, struct kl_words *w, char *answer, size_t cap) {
    const struct kl_member *member = find(m, w->who, answer, cap);
    if (member) w->order.data[0] = member->client;
    return member ? 0 : -1;
}

/* A watcher from outside the game is in no roster. The relay knows whether there is one of that name. */
static bool fit_watcher(struct kl_match *m, struct kl_words *w) {
    size_t len = strlen(w->who);
    if (!m->status.roster.watchers || len >= KL_NAME_MAX) return false;
    w->order.data[0] = KL_WATCHER;
    w->order.len = (uint8_t)(1 + len);
    memcpy(w->order.data + 1, w->who, len);
    return true;
}

static int fit_put_out(struct kl_match *m, struct kl_words *w, char *answer, size_t cap) {
    if (fit_host(m, w, answer, cap) != 0) return fit_watcher(m, w) ? 0 : -1;
    if (w->order.data[0] != m->status.welcome.client) return 0;
    return refuse(answer, cap, "you cannot put yourself out: leave the room instead");
}

static bool is_the_hosts(uint8_t kind) {
    switch (kind) {
    case KL_COMMAND_POLICY:
    case KL_COMMAND_SWAP:
    case KL_COMMAND_PLACES:
    case KL_COMMAND_DELAY:
    case KL_COMMAND_WATCHERS:
    case KL_COMMAND_VOICE:
    case KL_COMMAND_HOST:
    case KL_COMMAND_LOCK:
    case KL_COMMAND_KICK:
    case KL_COMMAND_BAN:
    case KL_COMMAND_DESYNC: return true;
    default: return false;
    }
}

static int fit_pause(struct kl_match *m, const struct kl_words *w, char *answer, size_t cap) {
    bool paused = m->status.lock.paused;
    bool asked = m->overlay.panel.question[0]; /* whether to play on: some frames before that pause */
    if (w->order.data[0] && paused) return refuse(answer, cap, "the room is already paused");
    if (!w->order.data[0] && !paused && !asked) return refuse(answer, cap, "the room is not paused");
    return 0;
}

static int fit_seat(struct kl_match *m, struct kl_words *w, char *answer, size_t cap) {
    bool plays = m->status.welcome.seats, next = w->order.data[0] == KL_SEAT_NEXT;
    if (next && !plays) w->order.data[0] = 1;
    if (w->order.data[0] && plays && !next) return refuse(answer, cap, "you already play");
    return 0;
}

/* Asking the core itself would be a serialize at a frame of our own. */
static int fit_save(struct kl_match *m, char *answer, size_t cap) {
    return m->play.no_states ? refuse(answer, cap, "this core has no savestates") : 0;
}

int kl_command_fit(struct kl_match *m, struct kl_words *w, char *answer, size_t cap) {
    uint8_t kind = w->order.kind;
    if (is_the_hosts(kind) && !m->status.welcome.host)
        return refuse(answer, cap, "only the host of the room can do that");
    switch (kind) {
    case KL_COMMAND_POLICY: return fit_policy(m, w, answer, cap);
    case KL_COMMAND_SWAP: return fit_swap(m, w, answer, cap);
    case KL_COMMAND_PAUSE: return fit_pause(m, w, answer, cap);
    case KL_COMMAND_OPTION: return fit_option(m, w, answer, cap);
    case KL_COMMAND_DISK: return fit_disk(m, w, answer, cap);
    case KL_COMMAND_HOST: return fit_host(m, w, answer, cap);
    case KL_COMMAND_KICK:
    case KL_COMMAND_BAN: return fit_put_out(m, w, answer, cap);
    case KL_COMMAND_SEAT: return fit_seat(m, w, answer, cap);
    case KL_COMMAND_SAVE: return fit_save(m, answer, cap);
    case KL_COMMAND_LOAD: return kl_slot_wanted(m, &w->order, answer, cap) ? 0 : -1;
    default: return 0;
    }
}

/* --- giving --- */

static int give(struct kl_match *m, const struct kl_order *o, char *answer, size_t cap) {
    int result = kl_participant_order(kl_link_hold(m->link), o->kind, o->data, o->len);
    kl_link_release(m->link);
    switch (result) {
    case KL_OK:
        if (m->emu.phase == KL_PHASE_PLAYING)
            snprintf(answer, cap, "given to the room at frame %u", m->play.next_frame);
        else
            snprintf(answer, cap, "given to the room");
        return 0;
    case KL_E_FULL: return refuse(answer, cap, "too many commands at once: wait a moment");
    default: return refuse(answer, cap, "the game has not begun");
    }
}

static int mute(struct kl_match *m, const char *who, char *answer, size_t cap) {
    const struct kl_member *member = m->link ? find(m, who, answer, cap) : NULL;
    if (!m->link) return refuse(answer, cap, "you are in no room");
    if (!member) return -1;
    snprintf(answer, cap, "%s is %s", kl_command_shown(m, member).text,
             kl_talking_mute(m, member->client) ? "muted" : "heard again");
    return 0;
}

static int volume(struct kl_match *m, const struct kl_words *w, char *answer, size_t cap) {
    const struct kl_member *member = m->link ? find(m, w->who, answer, cap) : NULL;
    if (!m->link) return refuse(answer, cap, "you are in no room");
    if (!member) return -1;
    kl_talking_volume(m, member->client, w->percent);
    snprintf(answer, cap, "%s is heard at %u %%", kl_command_shown(m, member).text, w->percent);
    return 0;
}

static size_t add_name(char *out, size_t cap, size_t used, bool first, const char *name) {
    int n = used < cap ? snprintf(out + used, cap - used, "%s%s", first ? "" : ", ", name) : 0;
    return used + (n > 0 ? (size_t)n : 0);
}

/* "ann (1), ben (2) play; waiting for a seat: 1 cat (has the turn), 2 dan" */
static int tell_queue(struct kl_match *m, char *answer, size_t cap) {
    const struct kl_roster *r = &m->status.roster;
    char name[KL_NAME_MAX + 24];
    size_t used = 0;
    bool first = true;
    if (!m->link || !r->players) return refuse(answer, cap, "you are in no room");
    for (unsigned i = 0; i < r->count && i < KL_MAX_CLIENTS; i++) {
        if (!r->member[i].seats) continue;
        used = add_name(answer, cap, used, first, kl_command_shown(m, &r->member[i]).text);
        first = false;
    }
    used =
        add_name(answer, cap, used, true, r->waiting ? " play; waiting for a seat: " : " play; nobody waits");
    for (unsigned i = 0; i < r->waiting && i < KL_QUEUE_MAX; i++) {
        snprintf(name, sizeof name, "%u %s%s", i + 1, r->queue[i].name,
                 r->queue[i].turn ? " (has the turn)" : "");
        used = add_name(answer, cap, used, i == 0, name);
    }
    return 0;
}

void kl_command_on(struct kl_match *m, bool (*again)(struct kl_match *), bool (*leave)(struct kl_match *)) {
    m->command.again = again;
    m->command.leave = leave;
}

static int leave(struct kl_match *m, char *answer, size_t cap) {
    if (!m->command.leave || !m->command.leave(m)) return refuse(answer, cap, "you are in no room");
    snprintf(answer, cap, "leaving");
    return 0;
}

static int try_again(struct kl_match *m, char *answer, size_t cap) {
    if (kl_take_over_agree(m)) {
        snprintf(answer, cap, "agreed");
        return 0;
    }
    if (!m->command.again || !m->command.again(m))
        return refuse(answer, cap, "there is nothing to try again");
    snprintf(answer, cap, "trying again");
    return 0;
}

bool kl_command_may_chat(struct kl_match *m) {
    return m->emu.phase == KL_PHASE_PLAYING && m->link && !m->emu.runner;
}

static int open_chat(struct kl_match *m, char *answer, size_t cap) {
    if (!kl_command_may_chat(m)) return refuse(answer, cap, "the game has not begun");
    kl_chat_open(&m->control.chat);
    snprintf(answer, cap, "type a line");
    return 0;
}

static bool is_for_now(struct kl_match *m, uint8_t kind) {
    bool open =
        m->emu.phase == KL_PHASE_WAITING || m->emu.phase == KL_PHASE_FREE || m->emu.phase == KL_PHASE_READY;
    return m->emu.phase == KL_PHASE_PLAYING || (open && kl_participant_takes_early(kind));
}

int kl_command_do(struct kl_match *m, const char *words, char *answer, size_t cap) {
    struct kl_words w;
    if (kl_words_parse(&w, words, answer, cap) != 0) return -1;
    if (w.panel) {
        snprintf(answer, cap, "the panel is %s", kl_screen_panel_toggle(&m->front.screen) ? "on" : "off");
        return 0;
    }
    if (w.ahead) {
        snprintf(answer, cap, "%s", kl_run_ahead_toggle(m));
        return 0;
    }
    if (w.voice) return kl_talking_switch(m, w.voice, answer, cap);
    if (w.mute) return mute(m, w.who, answer, cap);
    if (w.volume) return volume(m, &w, answer, cap);
    if (w.talk) return kl_talking_key(m, answer, cap);
    if (w.queue) return tell_queue(m, answer, cap);
    if (w.chat) return open_chat(m, answer, cap);
    if (w.leave) return leave(m, answer, cap);
    if (w.again && m->emu.phase != KL_PHASE_PLAYING) return try_again(m, answer, cap);
    if (!m->link || !is_for_now(m, w.order.kind))
        return refuse(answer, cap,
                      m->emu.phase == KL_PHASE_LOCAL ? "the room is gone" : "the game has not begun");
    if (kl_command_fit(m, &w, answer, cap) != 0) return -1;
    return give(m, &w.order, answer, cap);
}

void kl_command_key(struct kl_match *m, const char *words) {
    char answer[KLW_TEXT_MAX];
    bool pause = !strcmp(words, "pause") && m->status.lock.paused;
    if (kl_command_do(m, pause ? "resume" : words, answer, sizeof answer) != 0)
        kl_frontend_say(&m->front, KL_SCREEN_WARNING, SHOWN_MS, "%s: %s", words, answer);
}

int kl_command_disk(struct kl_match *m, uint16_t index) {
    char words[32];
    snprintf(words, sizeof words, "disk %u", index == KL_DISK_NONE ? 0u : index + 1u);
    char answer[KLW_TEXT_MAX];
    if (kl_command_do(m, words, answer, sizeof answer) == 0) return 0;
    kl_frontend_say(&m->front, KL_SCREEN_WARNING, SHOWN_MS, "%s", answer);
    return -1;
}

void kl_command_give_begin(struct kl_match *m) {
    m->command.given.any = false;
}

#include "command.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command_words.h"

/* A machine that was emulated for no time with its tray open has not seen it open. */
#define TRAY_FRAMES 60
#define SHOWN_MS    4000

static struct {
    uint8_t plays[KL_MAX_SEATS]; /* by whose pads: the seat they play */
    uint8_t *state;              /* the slot; NULL: empty */
    size_t state_bytes;
    uint32_t state_frame;
    bool tray_open; /* until tray_frame; then tray_index goes in */
    uint32_t tray_frame;
    uint16_t tray_index;
} room;

/* ---- giving ---- */

static const struct kl_member *member(unsigned client) {
    const struct kl_roster *r = &kl_w.status.roster;
    for (unsigned i = 0; i < r->count && i < KL_MAX_CLIENTS; i++)
        if (r->member[i].client == client) return &r->member[i];
    return NULL;
}

const char *kl_command_name(unsigned client) {
    static char name[KL_NAME_MAX];
    const struct kl_member *m = member(client);
    if (client == KL_RELAY_CLIENT) return "relay";
    if (!m) snprintf(name, sizeof name, "client %u", client % 1000);
    return m ? m->name : name;
}

static bool is_host(void) {
    const struct kl_member *m = member(kl_w.status.welcome.client);
    return m && m->host;
}

static int find_client(const char *name, char *answer, size_t cap) {
    const struct kl_roster *r = &kl_w.status.roster;
    for (unsigned i = 0; i < r->count && i < KL_MAX_CLIENTS; i++)
        if (r->member[i].state != KL_MEMBER_GONE && !strcmp(r->member[i].name, name))
            return r->member[i].client;
    snprintf(answer, cap, "nobody in this room is called \"%s\"", name);
    return -1;
}

static int refuse(char *answer, size_t cap, const char *why) {
    snprintf(answer, cap, "%s", why);
    return -1;
}

static int fit_policy(struct kl_words *w, char *answer, size_t cap) {
    const struct kl_params *p = &kl_w.room;
    struct kl_order *o = &w->order;
    if (o->data[0] == KL_POLICY_OPTIMISTIC && !(p->clocked && p->subframes))
        return refuse(answer, cap,
                      "optimistic means nothing in a room without a clock or without sub-frames");
    unsigned said = o->data[1] | (unsigned)o->data[2] << 8;
    uint16_t budget_ms = w->has_budget ? (uint16_t)said : p->wait_budget_ms;
    kl_words_put_policy(o, o->data[0], budget_ms, p->spacing_fixed);
    return 0;
}

static int fit_option(const struct kl_words *w, char *answer, size_t cap) {
    char key[KL_COMMAND_BYTES + 1], value[KL_COMMAND_BYTES + 1];
    struct kl_command c = {.len = w->order.len};
    memcpy(c.data, w->order.data, w->order.len);
    if (!kl_words_option(&c, key, value)) return refuse(answer, cap, "expected option KEY=VALUE");
    return kl_options_check(&kl_w.options, key, value, answer, cap);
}

static int fit_disk(const struct kl_words *w, char *answer, size_t cap) {
    unsigned (*count)(void) = kl_w.told.disk_control.get_num_images;
    unsigned n = count ? count() : 0, index = (unsigned)(w->order.data[0] | w->order.data[1] << 8);
    if (!n) return refuse(answer, cap, "this core has no disks to swap");
    if (index < n || index == KL_DISK_NONE) return 0;
    snprintf(answer, cap, "expected a disk from 1 to %u (0: none), got %u", n, index + 1);
    return -1;
}

static int fit_swap(const struct kl_words *w, char *answer, size_t cap) {
    unsigned seats = 0;
    for (unsigned i = 0; i < kl_w.status.roster.count && i < KL_MAX_CLIENTS; i++)
        seats |= kl_w.status.roster.member[i].seats;
    for (unsigned i = 0; i < 2; i++)
        if (seats >> w->order.data[i] & 1) return 0;
    return refuse(answer, cap, "nobody has those seats");
}

static int fit_pause(const struct kl_words *w, char *answer, size_t cap) {
    bool paused = kl_w.status.lock.paused;
    if (w->order.data[0] && paused) return refuse(answer, cap, "the room pauses already");
    if (!w->order.data[0] && !paused) return refuse(answer, cap, "the room does not pause");
    return 0;
}

/* What the words leave open, and what can be known before the room is asked. */
static int fit(struct kl_words *w, char *answer, size_t cap) {
    uint8_t kind = w->order.kind;
    int client;
    if ((kind == KL_COMMAND_POLICY || kind == KL_COMMAND_SWAP || kind == KL_COMMAND_HOST) && !is_host())
        return refuse(answer, cap, "that is for the host of the room");
    switch (kind) {
    case KL_COMMAND_POLICY: return fit_policy(w, answer, cap);
    case KL_COMMAND_SWAP: return fit_swap(w, answer, cap);
    case KL_COMMAND_PAUSE: return fit_pause(w, answer, cap);
    case KL_COMMAND_OPTION: return fit_option(w, answer, cap);
    case KL_COMMAND_DISK: return fit_disk(w, answer, cap);
    case KL_COMMAND_LOAD:
        if (!room.state) return refuse(answer, cap, "no state is saved in this room");
        return 0;
    case KL_COMMAND_HOST:
        client = find_client(w->host, answer, cap);
        w->order.data[0] = (uint8_t)client;
        return client < 0 ? -1 : 0;
    default: return 0;
    }
}

static int give(const struct kl_order *o, char *answer, size_t cap) {
    switch (kl_link_order(kl_w.link, o->kind, o->data, o->len)) {
    case KL_OK: snprintf(answer, cap, "given to the room at frame %u", kl_w.play.next_frame); return 0;
    case KL_E_FULL: return refuse(answer, cap, "too many commands at once");
    default: return refuse(answer, cap, "the game has not begun");
    }
}

static int show_panel(char *answer, size_t cap) {
    snprintf(answer, cap, "the panel is %s", kl_screen_panel_toggle() ? "on" : "off");
    return 0;
}

int kl_command_do(const char *words, char *answer, size_t cap) {
    struct kl_words w;
    if (kl_words_parse(&w, words, answer, cap) != 0) return -1;
    if (w.panel) return show_panel(answer, cap);
    if (!kl_w.link || kl_w.phase != KL_PHASE_PLAYING)
        return refuse(answer, cap,
                      kl_w.phase == KL_PHASE_LOCAL ? "the room is gone" : "the game has not begun");
    if (fit(&w, answer, cap) != 0) return -1;
    return give(&w.order, answer, cap);
}

void kl_command_key(const char *words) {
    char answer[KLW_TEXT_MAX];
    bool pause = !strcmp(words, "pause") && kl_w.status.lock.paused;
    if (!strcmp(words, "swap")) words = "swap 1 2";
    if (kl_command_do(pause ? "resume" : words, answer, sizeof answer) != 0)
        kl_wrapper_say(KL_SCREEN_WARNING, SHOWN_MS, "%s: %s", words, answer);
}

int kl_command_disk(uint16_t index) {
    char words[32];
    snprintf(words, sizeof words, "disk %u", index == KL_DISK_NONE ? 0 : index + 1u);
    char answer[KLW_TEXT_MAX];
    if (kl_command_do(words, answer, sizeof answer) == 0) return 0;
    kl_wrapper_say(KL_SCREEN_WARNING, SHOWN_MS, "%s", answer);
    return -1;
}

/* ---- doing ---- */

/* Everybody's screen tells who did what, and when. */
__attribute__((format(printf, 3, 4))) static void tell(const struct kl_command *c, uint32_t frame,
                                                       const char *format, ...) {
    char what[KLW_TEXT_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    kl_wrapper_say(KL_SCREEN_INFO, SHOWN_MS, "[f %u] %s: %s", frame, kl_command_name(c->client), what);
}

static void do_policy(const struct kl_command *c, uint32_t frame) {
    uint8_t policy, spacing;
    uint16_t budget_ms;
    bool has_clock = kl_w.room.clocked && kl_w.room.subframes;
    if (!kl_words_get_policy(c, &policy, &budget_ms, &spacing)) return;
    if (policy == KL_POLICY_OPTIMISTIC && !has_clock) return; /* the relay passes over it as well */
    kl_w.room.policy = policy;
    kl_w.room.wait_budget_ms = budget_ms;
    kl_w.room.spacing_fixed = spacing;
    if (policy == KL_POLICY_STRICT)
        tell(c, frame, "policy strict");
    else
        tell(c, frame, "policy %s, %u ms", kl_config_policy_name(policy), budget_ms);
}

static void do_swap(const struct kl_command *c, uint32_t frame) {
    if (c->len != 2 || c->data[0] >= KL_MAX_SEATS || c->data[1] >= KL_MAX_SEATS) return;
    for (unsigned s = 0; s < KL_MAX_SEATS; s++) {
        uint8_t seat = room.plays[s];
        if (seat == c->data[0]) room.plays[s] = c->data[1];
        if (seat == c->data[1]) room.plays[s] = c->data[0];
    }
    tell(c, frame, "players %u and %u swap", c->data[0] + 1u, c->data[1] + 1u);
}

static void do_option(const struct kl_command *c, uint32_t frame) {
    char key[KL_COMMAND_BYTES + 1], value[KL_COMMAND_BYTES + 1], why[256];
    if (!kl_words_option(c, key, value)) return;
    bool good = kl_options_check(&kl_w.options, key, value, why, sizeof why) == 0;
    if (good) good = kl_options_set(&kl_w.options, key, value, true, why, sizeof why) == 0;
    if (good)
        tell(c, frame, "option %s = %s", key, value);
    else
        tell(c, frame, "option %s not changed: %s", key, why);
}

static void insert_disk(void) {
    const struct retro_disk_control_ext_callback *d = &kl_w.told.disk_control;
    room.tray_open = false;
    if (!d->set_eject_state || !d->set_image_index) return;
    unsigned count = d->get_num_images ? d->get_num_images() : 0;
    d->set_image_index(room.tray_index < count ? room.tray_index : count); /* count: none */
    d->set_eject_state(false);
}

static void do_disk(const struct kl_command *c, uint32_t frame) {
    const struct retro_disk_control_ext_callback *d = &kl_w.told.disk_control;
    uint16_t index;
    if (!kl_words_get_disk(c, &index)) return;
    if (!d->set_eject_state || !d->set_image_index) {
        tell(c, frame, "no disk is swapped: this core has none");
        return;
    }
    d->set_eject_state(true);
    room.tray_open = true;
    room.tray_frame = frame + TRAY_FRAMES;
    room.tray_index = index;
    if (index == KL_DISK_NONE)
        tell(c, frame, "the disk is taken out");
    else
        tell(c, frame, "disk %u", index + 1u);
}

/* Everybody serializes, or nobody: for some cores it is not without effect. */
static void do_save(const struct kl_command *c, uint32_t frame) {
    size_t bytes = kl_w.core.serialize_size();
    uint8_t *state = bytes ? calloc(1, bytes) : NULL;
    if (!state || !kl_w.core.serialize(state, bytes)) {
        free(state);
        tell(c, frame, "no state saved: this core cannot do it now");
        return;
    }
    free(room.state);
    room.state = state;
    room.state_bytes = bytes;
    room.state_frame = frame;
    tell(c, frame, "state saved for all");
}

static void do_load(const struct kl_command *c, uint32_t frame) {
    if (!room.state)
        tell(c, frame, "no state is saved in this room");
    else if (kl_w.core.unserialize(room.state, room.state_bytes))
        tell(c, frame, "back to the state of frame %u", room.state_frame);
    else
        tell(c, frame, "the core did not take the state of frame %u", room.state_frame);
}

void kl_command_obey(const struct kl_command *c, uint32_t frame) {
    char text[KL_COMMAND_BYTES + 1];
    switch (c->kind) {
    case KL_COMMAND_POLICY: do_policy(c, frame); break;
    case KL_COMMAND_SWAP: do_swap(c, frame); break;
    case KL_COMMAND_PAUSE: tell(c, frame, "pause"); break;
    case KL_COMMAND_RESET:
        kl_w.core.reset();
        tell(c, frame, "reset");
        break;
    case KL_COMMAND_OPTION: do_option(c, frame); break;
    case KL_COMMAND_DISK: do_disk(c, frame); break;
    case KL_COMMAND_CHAT:
        kl_words_text(c, text);
        tell(c, frame, "%s", text);
        break;
    case KL_COMMAND_SAVE: do_save(c, frame); break;
    case KL_COMMAND_LOAD: do_load(c, frame); break;
    default: break; /* of a later version, or nothing to us */
    }
}

void kl_command_pending(uint32_t frame) {
    if (room.tray_open && frame >= room.tray_frame) insert_disk();
}

void kl_command_before(const struct kl_frame *f) {
    struct kl_commands set;
    kl_command_pending(f->number);
    if (!(f->flags & KL_FRAME_COMMANDS) || !kl_w.link) return;
    if (!kl_link_commands(kl_w.link, f->number, &set)) {
        kl_screen_log(&kl_w.screen, kl_w.front.environment, "commands lost frame=%u", f->number);
        return;
    }
    for (unsigned i = 0; i < set.count && i < KL_COMMANDS_MAX; i++)
        kl_command_obey(&set.at[i], f->number);
}

unsigned kl_command_seat(unsigned s) {
    return s < KL_MAX_SEATS ? room.plays[s] : s;
}

/* ---- a session ---- */

void kl_command_begin(void) {
    kl_command_end();
    kl_w.room = kl_w.status.welcome.params;
}

void kl_command_end(void) {
    free(room.state);
    memset(&room, 0, sizeof room);
    for (uint8_t s = 0; s < KL_MAX_SEATS; s++)
        room.plays[s] = s;
}

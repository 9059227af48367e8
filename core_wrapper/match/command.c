#include "core_wrapper/match/command.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core_wrapper/words/command_words.h"
#include "core_wrapper/record/record.h"
#include "core_wrapper/match/slot.h"
#include "core_wrapper/match/snapshot.h"
#include "core_wrapper/match/snapshot_form.h"

/* A machine that was emulated for no time with its tray open has not seen it open. */
#define TRAY_FRAMES 60
#define SHOWN_MS    4000
#define NEWS_FRAMES 600

static struct {
    uint8_t plays[KL_MAX_SEATS]; /* by whose pads: the seat they play */
    bool tray_open;              /* until tray_frame; then tray_index goes in */
    uint32_t tray_frame;
    uint16_t tray_index;
    bool quiet; /* the effects have been told before */
} room = {.plays = {0, 1, 2, 3, 4, 5, 6, 7}};

const struct kl_member *kl_command_member(unsigned client) {
    const struct kl_roster *r = &kl_w.status.roster;
    for (unsigned i = 0; i < r->count && i < KL_MAX_CLIENTS; i++)
        if (r->member[i].client == client) return &r->member[i];
    return NULL;
}

struct kl_name_shown kl_command_shown(const struct kl_member *m) {
    return kl_name_shown(m->name, kl_command_played(m->seats));
}

struct kl_name_shown kl_command_name(unsigned client) {
    struct kl_name_shown name = {"relay"};
    const struct kl_member *m = kl_command_member(client);
    if (client == KL_RELAY_CLIENT) return name;
    if (!m) snprintf(name.text, sizeof name.text, "client %u", client % 1000);
    return m ? kl_command_shown(m) : name;
}

/* ---- doing ---- */

/* Every screen tells a command's giver and effect; the log has the frame as well. */
__attribute__((format(printf, 3, 4))) static void tell(const struct kl_command *c, uint32_t frame,
                                                       const char *format, ...) {
    char what[KLW_TEXT_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    if (room.quiet) return;
    const struct kl_name_shown name = kl_command_name(c->client);
    const char *who = name.text;
    char line[KLW_TEXT_MAX + KL_NAME_SHOWN + 2];
    bool old = kl_w.play.pace.mode == KL_PACE_FLAT_OUT && kl_w.play.pace.behind > NEWS_FRAMES;
    kl_screen_log(&kl_w.screen, kl_w.front.environment, "[f %u] %s: %s", frame, who, what);
    snprintf(line, sizeof line, "%s: %s", who, what);
    size_t words = c->kind == KL_COMMAND_CHAT ? strlen(who) + 2 : KL_SCREEN_NONE;
    if (!old) kl_screen_news(&kl_w.screen, kl_w.front.environment, KL_SCREEN_INFO, SHOWN_MS, line, words);
}

static void do_policy(const struct kl_command *c, uint32_t frame) {
    struct kl_params was = kl_w.room, now = was;
    if (!kl_words_get_policy(c, &now)) return;
    if (now.policy == KL_POLICY_OPTIMISTIC && !(was.clocked && was.subframes))
        return; /* the relay passes over it as well */
    char wait[24] = "", fixed[48] = "", most[32] = "";
    if (now.policy != KL_POLICY_STRICT) snprintf(wait, sizeof wait, ", %u ms", now.wait_budget_ms);
    if (now.spacing_fixed) snprintf(fixed, sizeof fixed, ", spacing %u", now.spacing_fixed);
    if (!now.spacing_fixed && was.spacing_fixed) strcpy(fixed, ", spacing follows the link");
    if (now.lead_max != was.lead_max) snprintf(most, sizeof most, ", lead-max %u", now.lead_max);
    kl_w.room = now;
    tell(c, frame, "policy %s%s%s%s", kl_config_policy_name(now.policy), wait, fixed, most);
}

static void do_swap(const struct kl_command *c, uint32_t frame) {
    if (c->len != 2 || c->data[0] >= KL_MAX_SEATS || c->data[1] >= KL_MAX_SEATS) return;
    for (unsigned s = 0; s < KL_MAX_SEATS; s++) {
        uint8_t seat = room.plays[s];
        if (seat == c->data[0]) room.plays[s] = c->data[1];
        if (seat == c->data[1]) room.plays[s] = c->data[0];
    }
    tell(c, frame, "players %u and %u swap seats", c->data[0] + 1u, c->data[1] + 1u);
}

static void do_option(const struct kl_command *c, uint32_t frame) {
    char key[KL_COMMAND_BYTES + 1], value[KL_COMMAND_BYTES + 1], why[256];
    if (!kl_words_option(c, key, value)) return;
    bool good = kl_options_check(&kl_w.emu.options, key, value, why, sizeof why) == 0;
    if (good) good = kl_options_set(&kl_w.emu.options, key, value, true, why, sizeof why) == 0;
    if (good)
        tell(c, frame, "option %s = %s", key, value);
    else
        tell(c, frame, "option %s not changed: %s", key, why);
}

static void insert_disk(void) {
    const struct retro_disk_control_ext_callback *d = &kl_w.emu.told.disk_control;
    room.tray_open = false;
    if (!d->set_eject_state || !d->set_image_index) return;
    unsigned count = d->get_num_images ? d->get_num_images() : 0;
    d->set_image_index(room.tray_index < count ? room.tray_index : count); /* count: none */
    d->set_eject_state(false);
}

static void do_disk(const struct kl_command *c, uint32_t frame) {
    const struct retro_disk_control_ext_callback *d = &kl_w.emu.told.disk_control;
    uint16_t index;
    if (!kl_words_get_disk(c, &index)) return;
    if (!d->set_eject_state || !d->set_image_index) {
        tell(c, frame, "no disk swapped: this core has no disks");
        return;
    }
    d->set_eject_state(true);
    room.tray_open = true;
    room.tray_frame = frame + TRAY_FRAMES;
    room.tray_index = index;
    if (index == KL_DISK_NONE)
        tell(c, frame, "disk taken out");
    else
        tell(c, frame, "disk %u", index + 1u);
}

static void do_save(const struct kl_command *c, uint32_t frame) {
    kl_snapshot_forget_own();
    if (kl_slot_save(frame))
        tell(c, frame, "state saved for all");
    else
        tell(c, frame, "no state saved: the core gave none");
}

static void do_load(const struct kl_command *c, uint32_t frame) {
    char why[KLW_TEXT_MAX];
    if (kl_slot_load(c, why, sizeof why) == 0)
        tell(c, frame, "loaded the state of frame %u",
             c->data[0] | c->data[1] << 8 | c->data[2] << 16 | (unsigned)c->data[3] << 24);
    else
        tell(c, frame, "%s", why);
}

void kl_command_obey(const struct kl_command *c, uint32_t frame) {
    char text[KL_COMMAND_BYTES + 1];
    switch (c->kind) {
    case KL_COMMAND_POLICY: do_policy(c, frame); break;
    case KL_COMMAND_SWAP: do_swap(c, frame); break;
    case KL_COMMAND_PAUSE: tell(c, frame, "pause"); break;
    case KL_COMMAND_RESET:
        kl_w.emu.core.reset();
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
    case KL_COMMAND_SNAPSHOT:
        if (c->client == KL_RELAY_CLIENT) kl_snapshot_take(frame);
        break;
    default: break; /* of a later version, or nothing to us */
    }
}

void kl_command_pending(uint32_t frame) {
    if (room.tray_open && frame >= room.tray_frame) insert_disk();
}

/* How many of them a snapshot taken among them has in it. */
static unsigned in_snapshot(const struct kl_commands *set, unsigned count) {
    unsigned i = 0;
    while (i < count && (set->at[i].client != KL_RELAY_CLIENT || set->at[i].kind != KL_COMMAND_SNAPSHOT))
        i++;
    return i < count ? i + 1 : count;
}

void kl_command_before(const struct kl_frame *f, bool from_snapshot) {
    struct kl_commands set;
    if (!from_snapshot) kl_command_pending(f->number);
    if (!(f->flags & KL_FRAME_COMMANDS) || !kl_w.link) return;
    if (!kl_link_commands(kl_w.link, f->number, &set)) {
        kl_screen_log(&kl_w.screen, kl_w.front.environment, "commands lost frame=%u", f->number);
        return;
    }
    for (unsigned i = from_snapshot ? in_snapshot(&set, set.count) : 0; i < set.count; i++) {
        kl_command_obey(&set.at[i], f->number);
        kl_record_command(&set.at[i], f->number);
    }
}

/* ---- going back to a snapshot ---- */

void kl_command_again(const struct kl_frame *f, const struct kl_commands *set, bool from_snapshot) {
    unsigned count = f->flags & KL_FRAME_COMMANDS ? set->count : 0;
    room.quiet = true;
    if (!from_snapshot) kl_command_pending(f->number);
    for (unsigned i = from_snapshot ? in_snapshot(set, count) : 0; i < count; i++)
        kl_command_obey(&set->at[i], f->number);
    room.quiet = false;
}

void kl_command_keep(struct kl_snapshot_head *h) {
    const struct retro_disk_control_ext_callback *d = &kl_w.emu.told.disk_control;
    memcpy(h->plays, room.plays, sizeof h->plays);
    h->tray_open = room.tray_open;
    h->tray_frame = room.tray_open ? room.tray_frame : 0;
    h->tray_index = room.tray_open ? room.tray_index : 0;
    h->disk = d->get_image_index ? (uint16_t)d->get_image_index() : KL_SNAPSHOT_NO_DISK;
    h->ejected = d->get_eject_state && d->get_eject_state();
}

void kl_command_restore(const struct kl_snapshot_head *h) {
    const struct retro_disk_control_ext_callback *d = &kl_w.emu.told.disk_control;
    memcpy(room.plays, h->plays, sizeof room.plays);
    room.tray_open = h->tray_open;
    room.tray_frame = h->tray_frame;
    room.tray_index = h->tray_index;
    if (h->disk == KL_SNAPSHOT_NO_DISK || !d->get_image_index || !d->set_eject_state || !d->set_image_index)
        return;
    if (d->get_image_index() == h->disk && d->get_eject_state && d->get_eject_state() == h->ejected) return;
    d->set_eject_state(true);
    d->set_image_index(h->disk);
    d->set_eject_state(h->ejected);
}

unsigned kl_command_seat(unsigned s) {
    return s < KL_MAX_SEATS ? room.plays[s] : s;
}

int kl_command_pad(unsigned port) {
    unsigned seats = kl_w.emu.phase == KL_PHASE_PLAYING ? kl_w.status.welcome.seats : 0;
    int pad = 0;
    for (unsigned s = 0; s < KL_MAX_SEATS; s++) {
        if (!(seats >> s & 1)) continue;
        if (kl_command_seat(s) == port) return pad;
        pad++;
    }
    return -1;
}

uint8_t kl_command_played(uint8_t pads) {
    uint8_t played = 0;
    for (unsigned s = 0; s < KL_MAX_SEATS; s++)
        if (pads >> s & 1) played |= (uint8_t)(1u << room.plays[s]);
    return played;
}

uint8_t kl_command_pads(uint8_t played) {
    uint8_t pads = 0;
    for (unsigned s = 0; s < KL_MAX_SEATS; s++)
        if (played >> room.plays[s] & 1) pads |= (uint8_t)(1u << s);
    return pads;
}

/* ---- a session ---- */

void kl_command_begin(void) {
    kl_command_end();
    kl_w.room = kl_w.status.welcome.params;
}

void kl_command_end(void) {
    kl_slot_clear();
    kl_snapshot_clear();
    memset(&room, 0, sizeof room);
    for (uint8_t s = 0; s < KL_MAX_SEATS; s++)
        room.plays[s] = s;
}

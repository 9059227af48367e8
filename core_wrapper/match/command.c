#include "core_wrapper/match/command.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "net/session/command_words.h"
#include "core_wrapper/record/record.h"
#include "core_wrapper/match/room_profile.h"
#include "core_wrapper/match/slot.h"
#include "core_wrapper/match/snapshot.h"
#include "core_wrapper/match/match.h"

#define SHOWN_MS    4000
#define NEWS_FRAMES 600

const struct kl_member *kl_command_member(struct kl_match *m, unsigned client) {
    const struct kl_roster *r = &m->status.roster;
    for (unsigned i = 0; i < r->count && i < KL_MAX_CLIENTS; i++)
        if (r->member[i].client == client) return &r->member[i];
    return NULL;
}

struct kl_name_shown kl_command_shown(struct kl_match *m, const struct kl_member *member) {
    return kl_name_shown(member->name, kl_command_played(m, member->seats));
}

struct kl_name_shown kl_command_name(struct kl_match *m, unsigned client) {
    struct kl_name_shown name = {"relay"};
    const struct kl_member *member = kl_command_member(m, client);
    if (client == KL_RELAY_CLIENT) return name;
    if (!member) snprintf(name.text, sizeof name.text, "client %u", client % 1000);
    return member ? kl_command_shown(m, member) : name;
}

/* --- doing --- */

/* Every screen tells a command's giver and effect; the log has the frame as well. */
__attribute__((format(__printf__, 4, 5))) static void tell(struct kl_match *m, const struct kl_command *c,
                                                           uint32_t frame, const char *format, ...) {
    char what[KLW_TEXT_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    if (m->command.quiet) return;
    const struct kl_name_shown name = kl_command_name(m, c->client);
    const char *who = name.text;
    char line[KLW_TEXT_MAX + KL_NAME_SHOWN + 2];
    bool old = m->play.pace.mode == KL_PACE_FLAT_OUT && m->play.pace.behind > NEWS_FRAMES;
    kl_frontend_log(&m->front, "[f %u] %s: %s", frame, who, what);
    snprintf(line, sizeof line, "%s: %s", who, what);
    size_t words = c->kind == KL_COMMAND_CHAT ? strlen(who) + 2 : KL_SCREEN_NONE;
    if (!old)
        kl_screen_news(&m->front.screen, m->front.call.environment, KL_SCREEN_INFO, SHOWN_MS, line, words);
}

static void do_policy(struct kl_match *m, const struct kl_command *c, uint32_t frame) {
    struct kl_params was = m->room, now = was;
    if (!kl_words_get_policy(c, &now)) return;
    if (now.policy == KL_POLICY_OPTIMISTIC && !(was.clocked && was.subframes))
        return; /* the relay passes over it as well */
    char wait[24] = "", fixed[48] = "", most[32] = "";
    if (now.policy != KL_POLICY_STRICT) snprintf(wait, sizeof wait, ", %u ms", now.wait_budget_ms);
    if (now.spacing_fixed) snprintf(fixed, sizeof fixed, ", spacing %u", now.spacing_fixed);
    if (!now.spacing_fixed && was.spacing_fixed) strcpy(fixed, ", spacing follows the link");
    if (now.lead_max != was.lead_max) snprintf(most, sizeof most, ", lead-max %u", now.lead_max);
    m->room = now;
    tell(m, c, frame, "policy %s%s%s%s", kl_policy_name(now.policy), wait, fixed, most);
}

static void do_swap(struct kl_match *m, const struct kl_command *c, uint32_t frame) {
    if (!kl_words_swap(c, m->command.plays)) return;
    tell(m, c, frame, "players %u and %u swap seats", c->data[0] + 1u, c->data[1] + 1u);
}

static void do_option(struct kl_match *m, const struct kl_command *c, uint32_t frame) {
    char key[KL_COMMAND_BYTES + 1], value[KL_COMMAND_BYTES + 1], why[256];
    if (!kl_words_option(c, key, value)) return;
    bool good = kl_options_check(&m->emu.options, key, value, why, sizeof why) == 0;
    if (good) good = kl_options_set(&m->emu.options, key, value, true, why, sizeof why) == 0;
    if (good)
        tell(m, c, frame, "option %s = %s", key, value);
    else
        tell(m, c, frame, "option %s not changed: %s", key, why);
}

static void do_disk(struct kl_match *m, const struct kl_command *c, uint32_t frame) {
    uint16_t index;
    if (!kl_words_get_disk(c, &index)) return;
    if (!kl_emulator_swap_disk(&m->emu, index, frame))
        tell(m, c, frame, "no disk swapped: this core has no disks");
    else if (index == KL_DISK_NONE)
        tell(m, c, frame, "disk taken out");
    else
        tell(m, c, frame, "disk %u", index + 1u);
}

static void do_save(struct kl_match *m, const struct kl_command *c, uint32_t frame) {
    kl_snapshot_forget_own(m);
    if (kl_slot_save(m, frame))
        tell(m, c, frame, "state saved for all");
    else
        tell(m, c, frame, "no state saved: the core gave none");
}

static void do_load(struct kl_match *m, const struct kl_command *c, uint32_t frame) {
    char why[KLW_TEXT_MAX];
    if (kl_slot_load(m, c, why, sizeof why) == 0)
        tell(m, c, frame, "loaded the state of frame %u",
             c->data[0] | c->data[1] << 8 | c->data[2] << 16 | (unsigned)c->data[3] << 24);
    else
        tell(m, c, frame, "%s", why);
}

void kl_command_obey(struct kl_match *m, const struct kl_command *c, uint32_t frame) {
    char text[KL_COMMAND_BYTES + 1];
    switch (c->kind) {
    case KL_COMMAND_POLICY: do_policy(m, c, frame); break;
    case KL_COMMAND_SWAP: do_swap(m, c, frame); break;
    case KL_COMMAND_PAUSE: tell(m, c, frame, "pause"); break;
    case KL_COMMAND_RESET:
        m->emu.core.reset();
        memset(&m->emu.lasting, 0, sizeof m->emu.lasting);
        tell(m, c, frame, "reset");
        break;
    case KL_COMMAND_OPTION: do_option(m, c, frame); break;
    case KL_COMMAND_DISK: do_disk(m, c, frame); break;
    case KL_COMMAND_CHAT:
        kl_words_text(c, text);
        tell(m, c, frame, "%s", text);
        break;
    case KL_COMMAND_SAVE: do_save(m, c, frame); break;
    case KL_COMMAND_LOAD: do_load(m, c, frame); break;
    case KL_COMMAND_SNAPSHOT:
        if (c->client == KL_RELAY_CLIENT) kl_snapshot_take(m, frame);
        break;
    case KL_COMMAND_MASK: kl_room_profile_said(m, c, frame); break;
    default: break; /* of a later version, or nothing to us */
    }
}

void kl_command_pending(struct kl_match *m, uint32_t frame) {
    kl_emulator_tray(&m->emu, frame);
}

/* How many of them a snapshot taken among them has in it. */
static unsigned in_snapshot(const struct kl_commands *set, unsigned count) {
    unsigned i = 0;
    while (i < count && (set->at[i].client != KL_RELAY_CLIENT || set->at[i].kind != KL_COMMAND_SNAPSHOT))
        i++;
    return i < count ? i + 1 : count;
}

void kl_command_before(struct kl_match *m, const struct kl_frame *f, bool from_snapshot) {
    struct kl_commands set;
    if (!from_snapshot) kl_command_pending(m, f->number);
    if (!(f->flags & KL_FRAME_COMMANDS) || !m->link) return;
    const struct kl_commands *held = kl_stay_commands(kl_link_hold(m->link), f->number);
    if (held) set = *held;
    kl_link_release(m->link);
    if (!held) {
        kl_frontend_log(&m->front, "commands lost frame=%u", f->number);
        return;
    }
    kl_record_commands(&m->record, &set);
    for (unsigned i = from_snapshot ? in_snapshot(&set, set.count) : 0; i < set.count; i++) {
        kl_command_obey(m, &set.at[i], f->number);
        if (set.at[i].kind == KL_COMMAND_SNAPSHOT && kl_snapshot_given(m))
            kl_record_serialized(&m->record, f->number, m->profile.load_own);
    }
}

/* --- going back to a snapshot --- */

void kl_command_again(struct kl_match *m, const struct kl_frame *f, const struct kl_commands *set,
                      bool from_snapshot) {
    unsigned count = f->flags & KL_FRAME_COMMANDS ? set->count : 0;
    m->command.quiet = true;
    if (!from_snapshot) kl_command_pending(m, f->number);
    for (unsigned i = from_snapshot ? in_snapshot(set, count) : 0; i < count; i++)
        kl_command_obey(m, &set->at[i], f->number);
    m->command.quiet = false;
}

unsigned kl_command_seat(struct kl_match *m, unsigned s) {
    return s < KL_MAX_SEATS ? m->command.plays[s] : s;
}

int kl_command_pad(struct kl_match *m, unsigned port) {
    unsigned seats = m->emu.phase == KL_PHASE_PLAYING ? m->status.welcome.seats : 0;
    int pad = 0;
    for (unsigned s = 0; s < KL_MAX_SEATS; s++) {
        if (!(seats >> s & 1)) continue;
        if (kl_command_seat(m, s) == port) return pad;
        pad++;
    }
    return -1;
}

uint8_t kl_command_played(struct kl_match *m, uint8_t pads) {
    uint8_t played = 0;
    for (unsigned s = 0; s < KL_MAX_SEATS; s++)
        if (pads >> s & 1) played |= (uint8_t)(1u << m->command.plays[s]);
    return played;
}

uint8_t kl_command_pads(struct kl_match *m, uint8_t played) {
    uint8_t pads = 0;
    for (unsigned s = 0; s < KL_MAX_SEATS; s++)
        if (played >> m->command.plays[s] & 1) pads |= (uint8_t)(1u << s);
    return pads;
}

/* --- a session --- */

void kl_command_begin(struct kl_match *m) {
    kl_command_end(m);
    m->room = m->status.welcome.params;
}

void kl_command_end(struct kl_match *m) {
    kl_slot_clear(m);
    kl_snapshot_clear(m);
    m->command = (struct kl_command_state){.again = m->command.again, .leave = m->command.leave};
    memset(&m->emu.tray, 0, sizeof m->emu.tray);
    for (uint8_t s = 0; s < KL_MAX_SEATS; s++)
        m->command.plays[s] = s;
}

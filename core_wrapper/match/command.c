#include "core_wrapper/match/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core_wrapper/match/match.h"
#include "core_wrapper/match/room_profile.h"
#include "core_wrapper/match/slot.h"
#include "core_wrapper/match/snapshot.h"
#include "core_wrapper/record/record.h"
#include "net/platform/buffer.h"
#include "net/platform/clock.h"

#define SHOWN_MS    4000
#define NEWS_FRAMES 600

/* The client's entry in the roster, borrowed from it; NULL if there is none. */
static const struct kl_member *member_of(struct kl_match *m, unsigned client) {
    const struct kl_roster *r = &m->status.roster;
    for (unsigned i = 0; i < r->count && i < KL_MAX_CLIENTS; i++)
        if (r->member[i].client == client) return &r->member[i];
    return NULL;
}

struct kl_name_shown kl_command_shown(struct kl_match *m, const struct kl_member *member) {
    return kl_name_shown(member->name, kl_command_played(m, member->seats));
}

/* A client of the roster as shown to people; "relay" for KL_RELAY_CLIENT. */
static struct kl_name_shown name_of(struct kl_match *m, unsigned client) {
    struct kl_name_shown name = {"relay"};
    const struct kl_member *member = member_of(m, client);
    if (client == KL_RELAY_CLIENT) return name;
    if (!member) snprintf(name.text, sizeof name.text, "client %u", client % 1000);
    return member ? kl_command_shown(m, member) : name;
}

/* --- doing --- */

/* Every screen tells a command's giver and effect; the log has the frame as well. */
__attribute__((format(__printf__, 4, 5))) static void
tell(struct kl_match *m, const struct kl_core_run *r, const struct kl_command *c, const char *format, ...) {
    char what[KLW_TEXT_MAX];
    KL_FORMAT(what, sizeof what, format);
    if (r->how != KL_RUN_NEW) return;
    const struct kl_name_shown name = name_of(m, c->client);
    const char *who = name.text;
    char line[KLW_TEXT_MAX + KL_NAME_SHOWN + 2];
    bool old = m->play.pace.mode == KL_PACE_FLAT_OUT && m->play.pace.behind > NEWS_FRAMES;
    kl_frontend_log(&m->front, "[f %u] %s: %s", r->number, who, what);
    snprintf(line, sizeof line, "%s: %s", who, what);
    size_t words = c->kind == KL_COMMAND_CHAT ? strlen(who) + 2 : KL_SCREEN_NONE;
    if (!old)
        kl_screen_news(&m->front.screen, m->front.call.environment, KL_SCREEN_INFO, SHOWN_MS, line, words);
}

static void do_policy(struct kl_match *m, struct kl_core_run *r, const struct kl_command *c) {
    struct kl_params was = m->command.params, now = was;
    if (!kl_words_get_policy(c, &now)) return;
    if (now.policy == KL_POLICY_OPTIMISTIC && !(was.clocked && was.subframes))
        return; /* the relay passes over it as well */
    char wait[24] = "", fixed[48] = "", most[32] = "";
    if (now.policy != KL_POLICY_STRICT) snprintf(wait, sizeof wait, ", %u ms", now.wait_budget_ms);
    if (now.spacing_fixed) snprintf(fixed, sizeof fixed, ", spacing %u", now.spacing_fixed);
    if (!now.spacing_fixed && was.spacing_fixed) strcpy(fixed, ", spacing follows the link");
    if (now.lead_max != was.lead_max) snprintf(most, sizeof most, ", lead-max %u", now.lead_max);
    m->command.params = now;
    tell(m, r, c, "policy %s%s%s%s", kl_policy_name(now.policy), wait, fixed, most);
}

static void do_swap(struct kl_match *m, struct kl_core_run *r, const struct kl_command *c) {
    if (!kl_words_swap(c, r->plays)) return;
    tell(m, r, c, "players %u and %u swap seats", c->data[0] + 1u, c->data[1] + 1u);
}

static void do_option(struct kl_match *m, struct kl_core_run *r, const struct kl_command *c) {
    char key[KL_COMMAND_BYTES + 1], value[KL_COMMAND_BYTES + 1], why[256];
    if (!kl_words_option(c, key, value)) return;
    bool good = kl_options_check(&r->emu->options, key, value, why, sizeof why) == 0;
    if (good) good = kl_options_set(&r->emu->options, key, value, true, why, sizeof why) == 0;
    if (good)
        tell(m, r, c, "option %s = %s", key, value);
    else
        tell(m, r, c, "option %s not changed: %s", key, why);
}

static void do_disk(struct kl_match *m, struct kl_core_run *r, const struct kl_command *c) {
    uint16_t index;
    if (!kl_words_get_disk(c, &index)) return;
    if (!kl_emulator_swap_disk(r->emu, index, r->number))
        tell(m, r, c, "no disk swapped: this core has no disks");
    else if (index == KL_DISK_NONE)
        tell(m, r, c, "disk taken out");
    else
        tell(m, r, c, "disk %u", index + 1u);
}

static void do_save(struct kl_match *m, struct kl_core_run *r, const struct kl_command *c) {
    /* own states from before are of no use: frames after them may load the old save */
    kl_own_states_clear(&m->snapshots.mine);
    if (kl_slot_save(m, r->number))
        tell(m, r, c, "state saved for all");
    else
        tell(m, r, c, "no state saved: the core gave none");
}

static bool do_load(struct kl_match *m, struct kl_core_run *r, const struct kl_command *c) {
    char why[KLW_TEXT_MAX];
    bool good = kl_slot_load(m, r->emu, c, why, sizeof why) == 0;
    if (r->how != KL_RUN_AHEAD) kl_outside_tell(r->emu);
    if (good)
        tell(m, r, c, "loaded the state of frame %u", kl_u32_at(c->data));
    else
        tell(m, r, c, "%s", why);
    return good || r->how != KL_RUN_AHEAD;
}

/* The true core does the same in kl_snapshot_take(). */
static bool load_own(struct kl_core *core) {
    size_t bytes = core->serialize_size();
    uint8_t *state = bytes ? calloc(1, bytes) : NULL;
    bool good = state && kl_core_serialize(core, state, bytes) && core->unserialize(state, bytes);
    free(state);
    return good;
}

static bool do_snapshot(struct kl_match *m, struct kl_core_run *r, const struct kl_command *c) {
    bool given = kl_snapshot_given(m), ours = c->client == KL_RELAY_CLIENT;
    if (r->how == KL_RUN_AHEAD) return !ours || !given || !m->profile.load_own || load_own(&r->emu->core);
    if (ours) kl_snapshot_take(m, r->number);
    if (r->how == KL_RUN_NEW && given) kl_record_serialized(r->record, r->number, m->profile.load_own);
    return true;
}

bool kl_command_obey(struct kl_match *m, struct kl_core_run *r, const struct kl_command *c) {
    char text[KL_COMMAND_BYTES + 1];
    bool rooms = r->how != KL_RUN_AHEAD;
    switch (c->kind) {
    case KL_COMMAND_POLICY:
        if (rooms) do_policy(m, r, c);
        break;
    case KL_COMMAND_SWAP: do_swap(m, r, c); break;
    case KL_COMMAND_PAUSE: tell(m, r, c, "pause"); break;
    case KL_COMMAND_RESET:
        r->emu->core.reset();
        memset(&r->emu->lasting, 0, sizeof r->emu->lasting);
        tell(m, r, c, "reset");
        break;
    case KL_COMMAND_OPTION: do_option(m, r, c); break;
    case KL_COMMAND_DISK: do_disk(m, r, c); break;
    case KL_COMMAND_CHAT:
        kl_words_text(c, text);
        tell(m, r, c, "%s", text);
        break;
    case KL_COMMAND_SAVE:
        if (rooms) do_save(m, r, c);
        break;
    case KL_COMMAND_LOAD: return do_load(m, r, c);
    case KL_COMMAND_SNAPSHOT: return do_snapshot(m, r, c);
    case KL_COMMAND_MASK:
        if (rooms) kl_room_profile_said(m, c, r->number);
        break;
    default: break; /* of a later version, or nothing to us */
    }
    return true;
}

unsigned kl_command_seat(struct kl_match *m, unsigned s) {
    return s < KL_MAX_SEATS ? m->play.run.plays[s] : s;
}

int kl_command_pad(struct kl_match *m, unsigned port) {
    unsigned seats = m->emu.phase == KL_PHASE_PLAYING ? m->status.welcome.seats : 0;
    int pad = 0;
    for (KL_EACH(s, seats)) {
        if (kl_command_seat(m, s) == port) return pad;
        pad++;
    }
    return -1;
}

uint8_t kl_command_played(struct kl_match *m, uint8_t pads) {
    uint8_t played = 0;
    for (KL_EACH(s, pads))
        played |= (uint8_t)(1u << m->play.run.plays[s]);
    return played;
}

uint8_t kl_command_pads(struct kl_match *m, uint8_t played) {
    uint8_t pads = 0;
    for (unsigned s = 0; s < KL_MAX_SEATS; s++)
        if (played >> m->play.run.plays[s] & 1) pads |= (uint8_t)(1u << s);
    return pads;
}

/* --- a session --- */

void kl_command_begin(struct kl_match *m) {
    kl_command_end(m);
    m->command.params = m->status.welcome.params;
}

void kl_command_end(struct kl_match *m) {
    kl_slot_clear(m);
    kl_snapshot_clear(m);
    m->command = (struct kl_command_state){.again = m->command.again, .leave = m->command.leave};
    memset(&m->emu.tray, 0, sizeof m->emu.tray);
    for (uint8_t s = 0; s < KL_MAX_SEATS; s++)
        m->play.run.plays[s] = s;
}

/* --- running a frame after its commands --- */

/* How many of them a snapshot taken among them has in it. */
static unsigned in_snapshot(const struct kl_commands *set) {
    unsigned i = 0;
    while (i < set->count && (set->at[i].client != KL_RELAY_CLIENT || set->at[i].kind != KL_COMMAND_SNAPSHOT))
        i++;
    return i < set->count ? i + 1 : i;
}

bool kl_core_run_frame(struct kl_match *m, struct kl_core_run *r, const struct kl_frame *f,
                       const struct kl_commands *set, bool from_snapshot, bool hidden) {
    r->number = f->number;
    r->hidden = hidden;
    kl_world_frame(r->emu->world, f->number);
    if (!from_snapshot) kl_emulator_tray(r->emu, f->number);
    for (unsigned i = set && from_snapshot ? in_snapshot(set) : 0; set && i < set->count; i++)
        if (!kl_command_obey(m, r, &set->at[i])) return false;
    if (r->how == KL_RUN_NEW && kl_record_frame(r->record, f)) kl_chain_reloaded(&m->play.chain);
    kl_emulator_run(r->emu, f, hidden && !m->profile.show_all && !m->play.draws);
    if (r->how != KL_RUN_AHEAD) kl_chain_frame(&m->play.chain);
    r->hidden = false;
    return true;
}

struct kl_spent kl_core_spent(struct kl_spent since) {
    return (struct kl_spent){kl_now_us() - since.time_us, kl_thread_us() - since.thread_us};
}

/* A frontend may wait here for its screen. */
void kl_core_show(struct kl_match *m, const void *data, unsigned width, unsigned height, size_t pitch,
                  bool hidden) {
    struct kl_spent since = kl_core_spent((struct kl_spent){0});
    kl_picture_take(&m->emu.picture, data, width, height, pitch, hidden, m->front.call.video);
    struct kl_spent spent = kl_core_spent(since), *all = &m->play.showing;
    *all = (struct kl_spent){all->time_us + spent.time_us, all->thread_us + spent.thread_us};
}

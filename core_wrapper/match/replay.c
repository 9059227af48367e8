#include "core_wrapper/match/replay.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core_wrapper/draw/font.h"
#include "core_wrapper/match/command.h"
#include "core_wrapper/match/snapshot.h"
#include "core_wrapper/match/load.h"
#include "core_wrapper/match/match.h"
#include "core_wrapper/match/play.h"
#include "core_wrapper/match/slot.h"
#include "core_wrapper/match/state.h"
#include "core_wrapper/match/take_over.h"
#include "core_wrapper/start/identity.h"
#include "net/platform/clock.h"
#include "net/platform/process.h"

#define EPOCH_DEFAULT 946684800u /* of `keylock run` */
#define SEEK_US       200000     /* unseen frames in one call */
#define BAR_US        3000000
#define BAR_MS        1000 /* the line stays so long after it was last said; a turn of seeking is long */
#define SEEK_S        10   /* a press of left or right */
#define HELD_US       400000
#define MOVE_US       50000 /* between moves of a held button */
#define MOVES         200   /* of them along all of the recording, at least */
#define HELP_MS       6000
#define PRESSES_NAME  10  /* characters of a name before its buttons */
#define PRESSES_WIDE  230 /* units from which on both have place in one row */

/* --- opening --- */

static bool is_token(const struct kl_recording *r) {
    return *kl_facts_value(&r->room.facts, KL_KLR_CHALLENGE) && !r->frames;
}

/* The reason why this program does not play it; NULL: none. */
static const char *refusal(struct kl_match *m, const struct kl_recording *r, char *err, size_t err_len) {
    struct kl_facts file = {0}, here = {0};
    struct retro_system_info info = {0};
    if (r->first || (r->deeds && r->deed[0].kind == KL_DEED_ALIEN && !r->deed[0].frame))
        return "it begins with a state of another machine: take a recording from frame 0";
    if (!r->start || !(r->frames || is_token(r))) return *r->damage ? r->damage : "it has no frames";
    if (r->head.rules != KL_KLR_RULES) return "it was made by a Keylock of other rules";
    m->emu.core.get_system_info(&info);
    kl_facts_add(&file, "core", r->core);
    kl_facts_add(&file, "content", r->content);
    if (strstr(r->core, ", any version"))
        kl_identity_any_version(&here, &info);
    else
        kl_identity_core(&here, &info);
    kl_identity_content(&here, &m->emu.content, NULL);
    return kl_facts_differ(&file, &here, err, err_len) ? err : NULL;
}

bool kl_replay_on(const struct kl_match *m) {
    return m->play.replay.rec;
}

bool kl_replay_open(struct kl_match *m) {
    const char *path = kl_config_replay(), *seat = kl_environment_get("KEYLOCK_TAKE_OVER");
    char err[KLW_TEXT_MAX] = "no memory";
    struct kl_recording *rec = calloc(1, sizeof *rec);
    int read = rec ? kl_recording_read(rec, path, err, sizeof err) : -1;
    const char *why = read < 0 ? err : read > 0 ? "it is no recording" : refusal(m, rec, err, sizeof err);
    if (!why && !kl_replay_states_init(&m->play.replay.states, rec->frames, KL_REPLAY_MOST))
        why = "no memory";
    if (why) {
        kl_frontend_fail(&m->front, "cannot replay %s: %s", path, why);
        if (rec) kl_recording_free(rec);
        free(rec);
        return false;
    }
    if (rec->whole < rec->frames) rec->frames = rec->whole;
    m->play.replay.rec = rec;
    m->play.replay.token = is_token(rec);
    m->play.replay.seat = seat ? (unsigned)strtoul(seat, NULL, 10) : 0;
    if (m->play.replay.seat > KL_MAX_SEATS) m->play.replay.seat = 0;
    m->play.replay.room = kl_environment_get("KEYLOCK_TAKE_OVER_ROOM");
    m->join.request.consent = m->config.trust == KL_TRUST_ON ? KL_CONSENT_ROOM : KL_CONSENT_NONE;
    kl_record_open(&m->record);
    kl_match_on(m, KL_ON_REPLAY);
    return true;
}

void kl_replay_close(struct kl_match *m) {
    if (m->play.replay.locked) kl_file_unlock(&m->play.replay.lock, NULL);
    if (m->play.replay.rec) kl_recording_free(m->play.replay.rec);
    free(m->play.replay.rec);
    kl_replay_states_free(&m->play.replay.states);
    memset(&m->play.replay, 0, sizeof m->play.replay);
}

/* --- the players --- */

static void seat_client(struct kl_roster *r, unsigned client, uint8_t seats, const char *name) {
    struct kl_member *at = NULL;
    for (unsigned i = 0; i < r->count; i++)
        if (r->member[i].client == client) at = &r->member[i];
    if (!at && r->count < KL_MAX_CLIENTS) at = &r->member[r->count++];
    if (!at) return;
    at->client = (uint8_t)client;
    at->seats = seats;
    at->state = seats ? KL_MEMBER_PLAYING : KL_MEMBER_GONE;
    if (seats) kl_copy_cut(at->name, sizeof at->name, name);
}

/* As they were before that frame. */
static void seat_all(struct kl_match *m, uint32_t frame) {
    const struct kl_recording *rec = m->play.replay.rec;
    struct kl_roster *r = &m->status.roster;
    memset(r, 0, sizeof *r);
    for (unsigned i = 0; i < rec->seatings; i++)
        if (rec->seats[i].frame <= frame)
            seat_client(r, rec->seats[i].client, rec->seats[i].seats, rec->seats[i].name);
    r->players = r->filled = r->count;
}

/* --- the core at a place --- */

bool kl_replay_begin(struct kl_match *m) {
    struct kl_replay *r = &m->play.replay;
    const struct kl_klr_head *head = &r->rec->head;
    char err[KLW_TEXT_MAX];
    struct kl_participant_status *s = &m->status;
    s->phase = KL_PARTICIPANT_PLAYING;
    s->welcome.client = KL_WATCHER;
    s->welcome.params = r->rec->room.params;
    s->welcome.params.clocked = true;
    s->prepare.epoch_s = head->flags & KL_KLR_HAS_EPOCH ? head->epoch_s : EPOCH_DEFAULT;
    kl_command_end(m);
    if (kl_load_afresh(m, r->rec->start, r->rec->start_len, s->prepare.epoch_s, err, sizeof err) != 0) {
        kl_frontend_fail(&m->front, "%s", err);
        kl_match_on(m, KL_ON_DIE);
        return false;
    }
    kl_match_on(m, KL_ON_SHOW);
    kl_command_begin(m);
    kl_play_begin(m);
    seat_all(m, 0);
    r->loaded = r->from_state = false;
    return true;
}

static bool is_marked(const struct kl_recording *r, uint32_t frame) {
    unsigned lo = 0, hi = r->marks ? r->marks : r->hashes;
    while (lo < hi) { /* a run without a room has labels alone */
        unsigned mid = (lo + hi) / 2;
        uint32_t at = r->marks ? r->mark[mid] : r->hash[mid].label + 1;
        if (at == frame) return frame > 0;
        if (at < frame)
            lo = mid + 1;
        else
            hi = mid;
    }
    return false;
}

static bool is_recorded(const struct kl_recording *r, const struct klw_hash *is) {
    for (unsigned i = 0; i < r->hashes && r->hash[i].label <= is->frame; i++) {
        const struct kl_klr_hash *h = &r->hash[i];
        if (h->label != is->frame) continue;
        if (h->has & KL_HASH_RAM && is->has_ram) return h->ram == is->ram;
        return !(h->has & KL_HASH_STATE) || !is->has_state || h->state == is->state;
    }
    return true;
}

/* After a state was loaded the state is to blame: some do not hold all of their core. */
static void compare(struct kl_match *m) {
    struct kl_replay *r = &m->play.replay;
    if (r->again || is_recorded(r->rec, &m->play.hashed)) return;
    if (r->from_state)
        r->no_states = r->again = true;
    else
        kl_frontend_say_once(&m->front, &r->told_parted,
                             "this run is not the match from frame %" PRIu32 " on: keylock verify tells more",
                             m->play.hashed.frame);
}

/* The core stands before that frame, and was serialized. */
static void lay_state(struct kl_match *m, uint32_t frame) {
    uint8_t *bytes;
    size_t len;
    struct kl_fileset *files;
    if (m->play.replay.no_states || !kl_replay_states_wants(&m->play.replay.states, frame)) return;
    if (kl_snapshot_machine(m, frame, &bytes, &len, &files))
        kl_replay_states_add(&m->play.replay.states, frame, kl_slot_saved(m), bytes, len, files);
}

/* Everything as the room did it: the hash before a marked frame leaves its trace in some cores. */
static void run_next(struct kl_match *m, bool hidden) {
    struct kl_replay *r = &m->play.replay;
    struct kl_frame f = {.number = m->play.next_frame};
    struct kl_commands set;
    if (!r->loaded && is_marked(r->rec, f.number)) {
        kl_play_hash(m, f.number - 1);
        kl_chain_label(&m->play.chain);
        compare(m);
        lay_state(m, f.number);
    }
    r->loaded = false;
    for (unsigned i = 0; i < r->rec->seatings; i++)
        if (r->rec->seats[i].frame == f.number) seat_all(m, f.number);
    memcpy(f.in, kl_recording_at(r->rec, f.number), sizeof f.in);
    bool any = kl_recording_commands(r->rec, f.number, &set);
    m->play.run.how = hidden ? KL_RUN_AGAIN : KL_RUN_NEW;
    (void)kl_core_run_frame(m, &m->play.run, &f, any ? &set : NULL, false, hidden);
    m->play.run.how = KL_RUN_NEW;
    m->play.next_frame = f.number + 1;
}

static bool load_state(struct kl_match *m, const struct kl_replay_state *s) {
    uint8_t *bytes = kl_replay_states_unpack(&m->play.replay.states, s);
    bool good = bytes && kl_heal_put(m, bytes, s->len, s->files);
    free(bytes);
    if (!good) return false;
    m->play.next_frame = s->frame;
    m->play.replay.loaded = m->play.replay.from_state = true;
    seat_all(m, s->frame);
    return true;
}

/* The frame that is run next, and seen. Frames before it run unseen: from where the core is, or from the
 * newest state before it, or from the beginning. */
static void seek(struct kl_match *m, uint32_t frame) {
    struct kl_replay *r = &m->play.replay;
    if (frame >= r->rec->frames) frame = r->rec->frames - 1;
    const struct kl_replay_state *s =
        r->no_states ? NULL : kl_replay_states_find(&r->states, frame, kl_slot_saved(m));
    bool ahead = !r->again && m->play.next_frame <= frame && (!s || s->frame <= m->play.next_frame);
    r->again = false;
    if (!r->seeking) r->sought_us = kl_now_us();
    if (!ahead && !(s && load_state(m, s)) && !kl_replay_begin(m)) return;
    r->target = frame;
    r->seeking = true;
    r->told_end = false;
    r->steps = r->paused;
    m->emu.quiet = true;
}

static void seek_on(struct kl_match *m, uint64_t from_us) {
    struct kl_replay *r = &m->play.replay;
    while (m->play.next_frame < r->target && !r->again && kl_now_us() - from_us < SEEK_US)
        run_next(m, true);
    if (m->play.next_frame < r->target || r->again) return;
    r->seeking = false;
    m->emu.quiet = false;
    kl_outside_tell(&m->emu);
    kl_frontend_log(&m->front, "replay at frame=%" PRIu32 " after=%.2f s", r->target,
                    (double)(kl_now_us() - r->sought_us) / 1e6);
}

/* --- the players' buttons --- */

static bool down(uint16_t pad, unsigned id) {
    return pad >> id & 1;
}

/* The players' buttons: a row for each seat, behind the name or, on a narrow picture, below it. */
static void paint_presses(struct kl_match *m, const struct kl_canvas *c) {
    static const char *const label[] = {"B", "Y", "Sel", "Sta", "^", "v", "<", ">",
                                        "A", "X", "L",   "R",   "l", "r", "",  ""};
    static const uint8_t order[] = {6, 4, 5, 7, 0, 8, 1, 9, 10, 11, 12, 13, 2, 3};
    const struct kl_roster *players = &m->status.roster;
    const struct kl_input *in =
        kl_recording_at(m->play.replay.rec, m->play.next_frame ? m->play.next_frame - 1 : 0);
    bool narrow = c->columns < PRESSES_WIDE;
    int y = 2, line = KL_FONT_HEIGHT + 1, high = line * (1 + narrow) + 2;
    for (unsigned s = 0; s < KL_MAX_SEATS; s++) {
        const char *name = NULL;
        for (unsigned i = 0; i < players->count; i++)
            if (players->member[i].seats >> s & 1) name = players->member[i].name;
        if (!name && !(players->count == 0 && s < 2)) continue;
        kl_canvas_shade(c, 0, y - 2, c->columns, high);
        int cells = narrow ? KL_NAME_CHARS : PRESSES_NAME, below = narrow ? line : 0;
        int x = kl_canvas_text(c, 2, y, cells, 0xffffff, name ? name : s ? "2" : "1") + KL_FONT_WIDTH;
        if (narrow) x = 2;
        for (unsigned i = 0; i < sizeof order; i++)
            x = kl_canvas_text(c, x, y + below, 3, down(in[s].joypad, order[i]) ? 0xffe040 : 0x505458,
                               label[order[i]]) +
                KL_FONT_WIDTH / 2;
        y += high;
    }
}

/* --- this player's buttons --- */

static double fps_of(const struct kl_match *m) {
    return m->emu.av.timing.fps > 0 ? m->emu.av.timing.fps : 60;
}

static void move_wish(struct kl_match *m, int way, uint32_t frames) {
    struct kl_replay *r = &m->play.replay;
    int64_t to = (int64_t)r->wish + way * (int64_t)frames, last = (int64_t)r->rec->frames - 1;
    r->wish = (uint32_t)(to < 0 ? 0 : to > last ? last : to);
}

/* Left and right move along the bar; the core goes there once they are let go. */
static void follow_bar(struct kl_match *m, uint64_t now_us) {
    struct kl_replay *r = &m->play.replay;
    int way = down(r->pad, RETRO_DEVICE_ID_JOYPAD_RIGHT) - down(r->pad, RETRO_DEVICE_ID_JOYPAD_LEFT);
    uint32_t step = (uint32_t)(SEEK_S * fps_of(m)), far = r->rec->frames / MOVES;
    if (way && !r->moves) {
        r->moves = true;
        r->wish = r->seeking ? r->target : m->play.next_frame;
        r->held_us = r->moved_us = now_us;
        move_wish(m, way, step);
    } else if (way && now_us - r->held_us >= HELD_US && now_us - r->moved_us >= MOVE_US) {
        r->moved_us = now_us;
        move_wish(m, way, far > step ? far : step);
    } else if (!way && r->moves) {
        r->moves = false;
        seek(m, r->wish);
    }
    if (way || r->seeking) r->bar_until_us = now_us + BAR_US;
}

/* The game goes on from here, with the first pad in that seat. */
static void take_over(struct kl_match *m) {
    const char *room = m->play.replay.room;
    char why[KLW_TEXT_MAX];
    if (room && !kl_take_over_make(m, room, m->play.replay.seat, why, sizeof why)) {
        kl_frontend_say(&m->front, KL_SCREEN_WARNING, HELP_MS, "no room from here: %s", why);
        return;
    }
    m->play.replay.taken = true;
    m->play.replay.above = NULL;
    kl_screen_forget(&m->front.screen); /* they tell how to replay */
    if (room) {
        kl_frontend_log(&m->front, "replay opens room=%s frame=%" PRIu32 " seat=%u", room, m->play.next_frame,
                        m->play.replay.seat);
        return;
    }
    m->status.welcome.seats = (uint8_t)(1u << (m->play.replay.seat - 1));
    kl_match_on(m, KL_ON_GONE);
    kl_frontend_log(&m->front, "replay taken over frame=%" PRIu32 " seat=%u", m->play.next_frame,
                    m->play.replay.seat);
    kl_frontend_say(&m->front, KL_SCREEN_INFO, HELP_MS, "you play on as player %u", m->play.replay.seat);
}

static void follow_buttons(struct kl_match *m, uint64_t now_us) {
    struct kl_replay *r = &m->play.replay;
    uint16_t pressed = (uint16_t)(m->control.pad & ~r->pad);
    uint32_t next = m->play.next_frame;
    r->pad = m->control.pad;
    if (pressed) r->bar_until_us = now_us + BAR_US;
    if (down(pressed, RETRO_DEVICE_ID_JOYPAD_A)) r->above = r->above ? NULL : paint_presses;
    if (down(pressed, RETRO_DEVICE_ID_JOYPAD_START)) {
        r->paused = !r->paused;
        if (!r->paused && next >= r->rec->frames) seek(m, 0);
    }
    if (down(pressed, RETRO_DEVICE_ID_JOYPAD_L) && !r->seeking) {
        r->paused = true;
        seek(m, next > 2 ? next - 2 : 0);
    }
    if (down(pressed, RETRO_DEVICE_ID_JOYPAD_R) && !r->seeking) {
        r->paused = true;
        r->steps++;
    }
    if (down(pressed, RETRO_DEVICE_ID_JOYPAD_Y) && r->seat && !r->seeking) take_over(m);
    follow_bar(m, now_us);
}

/* --- on the screen --- */

static void put_time(const struct kl_match *m, uint32_t frame, char out[16]) {
    unsigned s = (unsigned)(frame / fps_of(m));
    if (s >= 3600)
        snprintf(out, 16, "%u:%02u:%02u", s / 3600, s / 60 % 60, s % 60);
    else
        snprintf(out, 16, "%u:%02u", s / 60, s % 60);
}

/* "1:02 of 10:00  paused  ann, bob" */
static void show_bar(struct kl_match *m, uint64_t now_us) {
    struct kl_replay *r = &m->play.replay;
    const struct kl_roster *players = &m->status.roster;
    char line[KL_SCREEN_LINE], at[16], all[16];
    uint32_t frame = r->moves ? r->wish : m->play.next_frame;
    if (now_us >= r->bar_until_us && !r->paused) return;
    put_time(m, frame, at);
    put_time(m, r->rec->frames, all);
    size_t used = (size_t)snprintf(line, sizeof line, "%s of %s  %s", at, all,
                                   r->seeking  ? "seeking  "
                                   : r->paused ? "paused  "
                                               : ""),
           words = used;
    for (unsigned i = 0; i < players->count && used < sizeof line; i++)
        if (players->member[i].seats)
            used += (size_t)snprintf(line + used, sizeof line - used, "%s%s", used > words ? ", " : "",
                                     players->member[i].name);
    kl_screen_show(&m->front.screen, m->front.call.environment, KL_SCREEN_INFO, BAR_MS, line, words,
                   (int)((uint64_t)frame * 100 / r->rec->frames));
}

/* --- a turn --- */

static void poll(struct kl_match *m) {
    if (m->front.call.input_poll) m->front.call.input_poll();
    if (m->front.call.input_state) kl_latch_poll(&m->emu.latch, m->front.call.input_state, 0);
    m->play.stats.next_sample++; /* a runner's script goes by polls */
}

static void report(struct kl_match *m) {
    m->play.report.run = 1;
    m->play.report.first = m->play.report.last = m->play.next_frame - 1;
}

static void show_next(struct kl_match *m, uint64_t now_us) {
    kl_pace_call(&m->play.pace, now_us);
    run_next(m, false);
    kl_audio_call(&m->emu.audio, 1, now_us, m->play.pace.interval_us, m->front.call.audio_batch);
    if (m->play.replay.steps) m->play.replay.steps--;
    report(m);
}

static bool begin_first(struct kl_match *m) {
    struct kl_replay *r = &m->play.replay;
    if (!kl_replay_begin(m)) return false;
    r->begun = true;
    r->bar_until_us = kl_now_us() + BAR_US;
    if (*r->rec->damage) kl_frontend_log(&m->front, "replay damaged: %s", r->rec->damage);
    kl_frontend_say(&m->front, KL_SCREEN_INFO, HELP_MS, "Start pause, Left/Right seek, L/R step, A buttons%s",
                    !r->seat  ? ""
                    : r->room ? ", Y room"
                              : ", Y play on");
    return true;
}

/* All frames have run: it stands there. */
static void stand_at_end(struct kl_match *m) {
    struct kl_replay *r = &m->play.replay;
    r->paused = true;
    r->steps = 0;
    if (!r->told_end) kl_frontend_log(&m->front, "replay ended frames=%" PRIu32, r->rec->frames);
    r->told_end = true;
}

void kl_replay_turn(struct kl_match *m, uint64_t now_us) {
    struct kl_replay *r = &m->play.replay;
    if (m->emu.phase == KL_PHASE_DEAD || (!r->begun && !begin_first(m))) {
        kl_play_idle(m, now_us);
        return;
    }
    if (r->taken && r->room) {
        kl_play_idle(m, now_us);
        kl_replay_close(m);
        return;
    }
    if (r->taken) {
        kl_play_local(m, false, now_us);
        report(m);
        return;
    }
    poll(m);
    follow_buttons(m, now_us);
    if (r->again) {
        kl_frontend_log(&m->front, "replay without states: they are not all of this core");
        seek(m, r->seeking ? r->target : m->play.next_frame);
    }
    if (m->emu.phase == KL_PHASE_PLAYING && r->seeking) seek_on(m, now_us);
    if (m->play.next_frame >= r->rec->frames && !r->seeking) stand_at_end(m);
    if (m->emu.phase != KL_PHASE_PLAYING || r->seeking || (r->paused && !r->steps))
        kl_play_idle(m, now_us);
    else
        show_next(m, now_us);
    if (!r->taken) show_bar(m, now_us);
}

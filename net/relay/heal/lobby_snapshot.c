/* Snapshots: all clients serialize at one keyframe and report size and hash. If enough trusted clients agree,
 * one of them gives its state, and the relay keeps it if its hash is the agreed one. net/ROOMS.md §7,
 * Snapshots.
 *
 *     ordered -> (the keyframe has closed) -> hashing -> (they agree) -> giving -> kept
 *
 * If a step fails, the snapshot kept before stays. */
#include <stdlib.h>
#include <string.h>

#include "net/engine/command.h"
#include "net/engine/lock_relay_return.h"
#include "net/relay/heal/lobby_heal.h"
#include "net/relay/heal/unpack.h"

#define SAY_US        3000000 /* for the last client to report */
#define GIVE_US       5000000 /* for the next piece */
#define GIVE_LEAST    32768   /* bytes a second of a giver at least, after GIVE_GRACE_US */
#define GIVE_GRACE_US 10000000
#define WISH_US       60000000 /* between two orders because history fills */
#define AGAIN_US      60000000 /* older failures do not count */

/* Limits unpacking, for all rooms together, to a third of the relay's time. A hostile giver could otherwise
 * stall the relay: a few packed bytes may be 64 MiB. */
#define UNPACK_A_MS     (256U * 1024) /* bytes, unpacked plus packed */
#define UNPACK_AHEAD_NS UINT64_C(1000000)

/* --- memory --- */

static uint64_t most_bytes(const struct kl_lobby_room *r) {
    uint64_t most = r->lobby->limits.snapshot_kib * UINT64_C(1024);
    return most < KL_SNAPSHOT_MAX ? most : KL_SNAPSHOT_MAX;
}

static struct kl_lobby_packed *take(struct kl_lobby_room *r, uint32_t len) {
    struct kl_lobby_packed *p = malloc(sizeof *p + len);
    if (!p) return NULL;
    *p = (struct kl_lobby_packed){.refs = 1, .len = len};
    r->snapshot.bytes += len;
    r->lobby->snapshot_bytes += len;
    return p;
}

static void stop_unpacking(struct kl_lobby_room *r) {
    kl_unpack_free(r->snapshot.unpack);
    r->snapshot.unpack = NULL;
    kl_lobby_packed_drop(r, &r->snapshot.made);
}

/* Drops the upload. */
static void drop_coming(struct kl_lobby_room *r) {
    if (r->snapshot.coming) r->snapshot.coming->failed = true;
    stop_unpacking(r);
    kl_lobby_packed_drop(r, &r->snapshot.coming);
    r->snapshot.have = 0;
}

static void end(struct kl_lobby_room *r, const char *why) {
    struct kl_lobby_snapshot *s = &r->snapshot;
    drop_coming(r);
    s->phase = KL_SNAPSHOT_NONE;
    if (!why) return;
    s->failures++;
    s->in_a_row++;
    s->failed_us = s->since_us;
    s->failed_why = why;
    kl_lobby_log_room(KL_LOG_INFO, "snapshot_failed", r, "frame=%u reason=\"%s\"", s->keyframe, why);
}

void kl_lobby_snapshot_free(struct kl_lobby_room *r) {
    end(r, NULL);
    kl_lobby_packed_drop(r, &r->snapshot.kept);
    for (KL_MEMBERS(i, r, kl_lobby_here))
        kl_lobby_fetch_end(r, &r->member[i]->v.fetch);
}

/* --- reports --- */

static uint16_t playing_members(const struct kl_lobby_room *r) {
    uint16_t mask = 0;
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        if (kl_lobby_plays_now(r, i)) mask |= kl_only(i);
    return mask;
}

/* The clients that report the same as `one`. */
static uint16_t agreeing(const struct kl_lobby_snapshot *s, uint16_t among, unsigned one) {
    const struct kl_state_said *w = s->word;
    uint16_t mask = 0;
    for (KL_EACH(i, among & s->has))
        if (w[i].bytes == w[one].bytes && !memcmp(w[i].hash, w[one].hash, sizeof w[i].hash))
            mask |= kl_only(i);
    return mask;
}

/* The camp of more than half of the jury's votes; 0: there is none. */
static uint16_t agreed(const struct kl_lobby_room *r, uint16_t among) {
    const struct kl_lobby_snapshot *s = &r->snapshot;
    for (KL_EACH(i, among & s->has)) {
        uint16_t with = agreeing(s, among, i);
        if (kl_lobby_carries(r, true, among, with)) return with;
    }
    return 0;
}

/* True if more than half of the players say so. One client alone cannot leave the room without snapshots. */
static bool most_of_who_play(const struct kl_lobby_room *r, uint16_t say_so) {
    uint16_t all = playing_members(r);
    return kl_size(all & say_so) * 2 > kl_size(all);
}

/* --- ordering --- */

bool kl_lobby_snapshot_order(struct kl_lobby_room *r, uint16_t trusted, uint64_t now_us) {
    struct kl_lobby_snapshot *s = &r->snapshot;
    if (r->phase != KL_ROOM_PLAYING || s->phase != KL_SNAPSHOT_NONE || s->unfit) return false;
    if (!trusted && r->heal.phase >= KL_HEAL_ORDERING) return false; /* healing orders its own first */
    if (kl_lock_command(&r->lock, KL_RELAY_CLIENT, KL_COMMAND_SNAPSHOT, NULL, 0) != KL_OK) return false;
    s->phase = KL_SNAPSHOT_ORDERED;
    s->since_us = now_us;
    s->trusted = trusted;
    s->said = s->has = s->failed = s->too_large = s->anew = 0;
    s->apart = s->whole = false;
    kl_lobby_busy(r);
    return true;
}

void kl_lobby_snapshot_closed(struct kl_lobby_room *r, uint32_t keyframe, uint64_t now_us) {
    struct kl_commands commands;
    const struct kl_commands *set = kl_lock_commands(&r->lock, keyframe, &commands);
    struct kl_lobby_snapshot *s = &r->snapshot;
    if (s->phase != KL_SNAPSHOT_ORDERED || !set) return;
    for (unsigned i = 0; i < set->count; i++) {
        if (set->at[i].client != KL_RELAY_CLIENT || set->at[i].kind != KL_COMMAND_SNAPSHOT) continue;
        s->phase = KL_SNAPSHOT_HASHING;
        s->keyframe = keyframe;
        s->interval = r->past.history.intervals; /* intervals below are complete */
        memcpy(s->digest, r->past.digest.digest, sizeof s->digest);
        if (s->interval == 0 && keyframe > 0) s->interval = 1; /* without history no client begins there */
        s->since_us = now_us;
        kl_lobby_log_room(KL_LOG_DEBUG, "snapshot", r, "frame=%u", keyframe);
    }
}

void kl_lobby_snapshot_said(struct kl_lobby_room *r, unsigned member, const struct kl_state_said *w) {
    struct kl_lobby_snapshot *s = &r->snapshot;
    if (s->phase != KL_SNAPSHOT_HASHING || w->keyframe != s->keyframe || kl_has(s->said | s->anew, member))
        return;
    s->said |= kl_only(member);
    if (w->has) s->has |= kl_only(member);
    s->word[member] = *w;
}

/* --- giving --- */

/* True if a is the better giver than b: first fewer failed requests, then the shorter RTT. */
static bool gives_better(const struct kl_lobby_room *r, unsigned a, unsigned b) {
    uint8_t failed = r->member[a]->failed_gives, others = r->member[b]->failed_gives;
    if (failed != others) return failed < others;
    return r->lock.client[a].rtt.srtt_us < r->lock.client[b].rtt.srtt_us;
}

static unsigned choose_giver(const struct kl_lobby_room *r, uint16_t among) {
    unsigned best = KL_MAX_CLIENTS;
    for (KL_EACH(i, among)) {
        if (!kl_lobby_reaches(r->member[i])) continue;
        if (best == KL_MAX_CLIENTS || gives_better(r, i, best)) best = i;
    }
    return best;
}

/* A client that also took the kept snapshot may give the difference to it. */
static void send_ask(struct kl_lobby_room *r) {
    const struct kl_lobby_snapshot *s = &r->snapshot;
    struct kl_msg m = {.kind = KL_MSG_ASK, .ask = {.keyframe = s->keyframe}};
    m.ask.based = s->kept && !s->whole;
    if (m.ask.based) {
        m.ask.base = s->kept->keyframe;
        memcpy(m.ask.hash, s->kept->hash, sizeof m.ask.hash);
    }
    kl_lobby_send(r->lobby, r->member[s->giver]->v.peer, &m);
}

/* Asks the same giver again, for the whole snapshot. */
static void ask_whole(struct kl_lobby_room *r, const char *why, uint64_t now_us) {
    struct kl_lobby_snapshot *s = &r->snapshot;
    kl_lobby_log_member(KL_LOG_INFO, "snapshot_whole", r, s->giver, "frame=%u reason=\"%s\"", s->keyframe,
                        why);
    drop_coming(r);
    s->whole = true;
    s->since_us = s->heard_us = now_us;
    send_ask(r);
}

static void ask(struct kl_lobby_room *r, uint64_t now_us) {
    struct kl_lobby_snapshot *s = &r->snapshot;
    unsigned giver = choose_giver(r, s->agreed & (uint16_t)~s->failed);
    drop_coming(r);
    if (giver == KL_MAX_CLIENTS) {
        s->unfit = !(s->agreed & (uint16_t)~s->too_large) && most_of_who_play(r, s->too_large);
        end(r, s->unfit ? "too large" : "no machine gave it");
        return;
    }
    s->phase = KL_SNAPSHOT_GIVING;
    s->giver = giver;
    s->since_us = s->heard_us = now_us;
    send_ask(r);
}

static void next_giver(struct kl_lobby_room *r, uint64_t now_us) {
    r->snapshot.failed |= kl_only(r->snapshot.giver);
    ask(r, now_us);
}

/* Tells the room that machines in sync give different states. */
static void tell_apart(struct kl_lobby_room *r) {
    if (r->snapshot.told_apart) return;
    r->snapshot.told_apart = true;
    kl_lobby_notice(
        r,
        "no snapshot of this room: the machines' states differ; latecomers run the game from the beginning");
}

/* Decides on the reports. A core that gives no state now will give none later, and a state that is too large
 * stays so. */
static void decide(struct kl_lobby_room *r, uint64_t now_us) {
    struct kl_lobby_snapshot *s = &r->snapshot;
    /* The jury: a client that is away has not run that frame. */
    uint16_t playing = playing_members(r), among = s->trusted ? playing & s->trusted : playing;
    uint16_t late = among & (uint16_t)~s->said;
    uint16_t none = s->said & (uint16_t)~s->has;
    bool tired = now_us >= s->since_us + SAY_US;
    bool over = (among && !late) || tired; /* an empty jury: all players stand still */
    uint16_t with = agreed(r, among);
    if (over && !with) with = agreed(r, among & s->said);
    if (with) {
        s->agreed = with;
        s->wanted = s->word[kl_first(with)];
        ask(r, now_us);
    } else if (over) {
        bool nothing = (among & s->said) && !(among & s->has);
        if (nothing && !tired && (playing & (uint16_t)~s->said))
            return; /* wait for the other players' reports */
        s->unfit = nothing && most_of_who_play(r, none);
        s->apart = among & s->has;
        if (s->apart && !s->trusted && s->in_a_row) tell_apart(r); /* second failure in a row */
        end(r, nothing    ? "the core gives no state"
               : s->apart ? "no two machines agree"
                          : "no machine answered");
    }
}

static bool has_memory(const struct kl_lobby_room *r, uint32_t total) {
    return r->lobby->snapshot_bytes + total <= KL_SNAPSHOT_BYTES_TOTAL && kl_lobby_maker_has(r, total);
}

/* The worst packing of the state has no more. */
static uint64_t worst_packed(const struct kl_lobby_snapshot *s) {
    return s->wanted.bytes + s->wanted.bytes / 8 + UINT64_C(1024);
}

/* Memory for an upload; of a difference also for the largest possible snapshot that comes of it. */
static bool begin_coming(struct kl_lobby_room *r, uint32_t total, bool based) {
    struct kl_lobby_snapshot *s = &r->snapshot;
    uint64_t most = worst_packed(s) < most_bytes(r) ? worst_packed(s) : most_bytes(r);
    uint32_t cap = based ? (uint32_t)most : 0;
    if (!based && !has_memory(r, total)) kl_lobby_watch_drop_snapshots(r); /* players need the memory more */
    if (total > most_bytes(r) || !has_memory(r, total + cap)) return false;
    s->coming = take(r, total);
    if (s->coming && based) s->made = take(r, cap);
    if (s->made)
        s->unpack = kl_unpack_begin_slices(s->kept->packed, s->kept->len, s->kept->bytes, s->wanted.bytes,
                                           s->made->packed, cap);
    else if (s->coming && !based)
        s->unpack = kl_unpack_begin(s->wanted.bytes);
    if (!s->unpack) {
        drop_coming(r);
        return false;
    }
    struct kl_lobby_packed *k = based ? s->made : s->coming;
    k->keyframe = s->keyframe;
    k->interval = s->interval;
    k->bytes = s->wanted.bytes;
    memcpy(k->hash, s->wanted.hash, sizeof k->hash);
    memcpy(k->digest, s->digest, sizeof k->digest);
    return true;
}

/* One giver's report is not enough: a hostile one could leave the room without snapshots. */
static void no_place(struct kl_lobby_room *r, uint32_t total, uint64_t now_us) {
    struct kl_lobby_snapshot *s = &r->snapshot;
    bool too_large = total > most_bytes(r);
    if (too_large) s->too_large |= kl_only(s->giver);
    bool others = s->agreed & ~(s->failed | kl_only(s->giver));
    if (!others && too_large)
        kl_lobby_notice(r, "no snapshot of this room: the state has %u KiB, this relay takes at most %llu",
                        total / 1024, (unsigned long long)most_bytes(r) / 1024);
    else if (!others)
        kl_lobby_notice(r, "no snapshot of this room now: the relay has less than %u KiB left", total / 1024);
    next_giver(r, now_us);
}

/* A client that is not the giver now may have been asked before. */
bool kl_lobby_snapshot_given(struct kl_lobby_room *r, unsigned member, const struct kl_snapshot_piece *p,
                             uint64_t now_us) {
    struct kl_lobby_snapshot *s = &r->snapshot;
    const struct kl_piece *piece = &p->piece;
    if (s->phase != KL_SNAPSHOT_GIVING || member != s->giver || p->keyframe != s->keyframe) return true;
    if (p->based && (s->whole || !s->kept)) return true; /* sent before the whole one was asked for */
    struct kl_lobby_packed *k = s->coming;
    if (piece->offset != s->have || piece->total > worst_packed(s) ||
        (k && (piece->total != k->len || p->based != (s->made != NULL))))
        return false;
    if (!k && !begin_coming(r, piece->total, p->based)) {
        if (p->based)
            ask_whole(r, "no memory", now_us);
        else
            no_place(r, piece->total, now_us);
        return true;
    }
    k = s->coming;
    memcpy(k->packed + k->have, piece->bytes, piece->len);
    s->have = k->have += piece->len;
    s->packed_waits = r->lobby->packed_waits = true;
    s->heard_us = now_us;
    return true;
}

/* The upload is the snapshot, or `len` bytes were made of it and the one kept before. */
static void keep(struct kl_lobby_room *r, uint32_t len) {
    struct kl_lobby_snapshot *s = &r->snapshot;
    struct kl_lobby_packed **from = s->made ? &s->made : &s->coming;
    if (s->made) {
        /* Gives unneeded memory back. No client fetches the snapshot yet. */
        struct kl_lobby_packed *k = realloc(*from, sizeof *k + len);
        if (k) *from = k;
        r->snapshot.bytes -= (*from)->len - len;
        r->lobby->snapshot_bytes -= (*from)->len - len;
        (*from)->len = (*from)->have = len;
    }
    struct kl_lobby_packed *k = *from;
    *from = NULL;
    stop_unpacking(r); /* the kept snapshot was the base */
    kl_lobby_packed_drop(r, &s->coming);
    kl_lobby_packed_drop(r, &s->kept);
    s->kept = k;
    k->good = true;
    r->member[s->giver]->failed_gives = 0;
    s->phase = KL_SNAPSHOT_NONE;
    s->in_a_row = 0;
    kl_lobby_busy(r);
    kl_lobby_log_member(KL_LOG_INFO, "snapshot_kept", r, s->giver,
                        "frame=%u bytes=%u packed=%u given=%u agreed=%u", k->keyframe, k->bytes, k->len,
                        s->have, kl_size(s->agreed));
}

/* One step. done: the work of this step. True: the giver's bytes do not match its reported hash. One that
 * gave a difference may have had another base: it is not accused yet. */
static bool is_forged(struct kl_lobby_room *r, uint64_t *done, uint64_t now_us) {
    struct kl_lobby_snapshot *s = &r->snapshot;
    uint64_t before = kl_unpack_done(s->unpack);
    bool more = kl_unpack_step(s->unpack, s->coming->packed, s->have);
    *done = kl_unpack_done(s->unpack) - before;
    bool whole = !more && s->have == s->coming->len, based = s->made;
    uint32_t len = whole ? kl_unpack_good(s->unpack, s->have, s->wanted.hash) : 0;
    bool bad = kl_unpack_failed(s->unpack) || (whole && !len);
    s->packed_waits = more && !bad;
    if (len) keep(r, len);
    if (bad && based) ask_whole(r, "it does not match its hash", now_us);
    return bad && !based;
}

static bool is_late(const struct kl_lobby_snapshot *s, uint64_t now_us) {
    const struct kl_lobby_packed *k = s->coming;
    if (k && s->packed_waits && s->have == k->len) return false; /* the upload is complete and waits for us */
    uint64_t whole_us = GIVE_GRACE_US;
    if (k) whole_us += k->len * UINT64_C(1000000) / GIVE_LEAST;
    return now_us >= s->heard_us + GIVE_US || now_us >= s->since_us + whole_us;
}

static struct kl_lobby_room *next_in_turn(struct kl_lobby *l) {
    for (unsigned i = 0; i < l->limits.rooms; i++) {
        unsigned at = (l->unpack_turn + i) % l->limits.rooms;
        struct kl_lobby_room *r = l->room[at];
        if (!r || !r->snapshot.packed_waits || !r->snapshot.coming) continue;
        l->unpack_turn = at + 1;
        return r;
    }
    return NULL;
}

/* The generic cell rate algorithm, as in the hub. */
struct kl_lobby_room *kl_lobby_snapshot_unpack(struct kl_lobby *l, uint64_t now_us) {
    uint64_t now_ns = now_us * 1000, done;
    while (l->packed_waits && l->unpack_ns < now_ns + UNPACK_AHEAD_NS) {
        struct kl_lobby_room *r = next_in_turn(l);
        l->packed_waits = r;
        if (!r) return NULL;
        bool forged = is_forged(r, &done, now_us);
        l->unpack_ns = (l->unpack_ns > now_ns ? l->unpack_ns : now_ns) + done * 1000000 / UNPACK_A_MS;
        if (forged) return r;
    }
    return NULL;
}

uint64_t kl_lobby_snapshot_due_us(const struct kl_lobby *l) {
    uint64_t from_ns = l->unpack_ns > UNPACK_AHEAD_NS ? l->unpack_ns - UNPACK_AHEAD_NS : 0;
    return l->packed_waits ? from_ns / 1000 + 1 : UINT64_MAX;
}

/* --- now --- */

void kl_lobby_snapshot_left(struct kl_lobby_room *r, unsigned member, uint64_t now_us) {
    struct kl_lobby_snapshot *s = &r->snapshot;
    uint16_t bit = kl_only(member);
    kl_lobby_fetch_end(r, &r->member[member]->v.fetch);
    s->said &= (uint16_t)~bit;
    s->has &= (uint16_t)~bit;
    s->agreed &= (uint16_t)~bit;
    if (s->phase == KL_SNAPSHOT_GIVING && s->giver == member) next_giver(r, now_us);
}

void kl_lobby_snapshot_again(struct kl_lobby_room *r, unsigned member, uint64_t now_us) {
    if (r->snapshot.phase < KL_SNAPSHOT_HASHING) return;
    r->snapshot.anew |= kl_only(member);
    kl_lobby_snapshot_left(r, member, now_us);
}

/* Orders a snapshot before the history has used up its memory, to replace the history's beginning. */
static bool history_fills(const struct kl_lobby_room *r) {
    const struct kl_history *h = &r->past.history;
    uint64_t most = r->lobby->limits.history_kib * UINT64_C(1024);
    bool recent = r->snapshot.kept && r->snapshot.kept->keyframe >= h->first + (h->next - h->first) / 2;
    return r->past.bytes * 4 >= most * 3 && !recent;
}

void kl_lobby_snapshot_run(struct kl_lobby_room *r, uint64_t now_us) {
    struct kl_lobby_snapshot *s = &r->snapshot;
    if (s->in_a_row && now_us >= s->failed_us + AGAIN_US) s->in_a_row = 0;
    if (now_us >= s->wish_us && history_fills(r)) {
        s->wish_us = now_us + WISH_US;
        (void)kl_lobby_snapshot_order(r, 0, now_us);
    }
    if (s->phase == KL_SNAPSHOT_HASHING) decide(r, now_us);
    if (s->phase == KL_SNAPSHOT_GIVING && is_late(s, now_us)) {
        struct kl_lobby_member *giver = r->member[s->giver];
        if (giver->failed_gives < UINT8_MAX) giver->failed_gives++;
        next_giver(r, now_us);
    }
    for (KL_MEMBERS(i, r, kl_lobby_reaches))
        if (kl_visitor_send_snapshot(r, &r->member[i]->v)) kl_lobby_busy(r);
}

/* Claims that must hold. All frames equal: canon_check(). Nobody is put out who has not earned it: client.c.
 * Here: who is out of sync is found, and healed, by the state of those who are right. */
#include "tests/rooms/rooms.h"

#define LOOK_US  100000
#define STEADY   (3 * SECOND)  /* so long nothing happened to it: it takes part in everything */
#define FOUND_US (4 * SECOND)  /* the next hash, everybody's or a second, what the links take */
#define HEAL_US  (25 * SECOND) /* with one who is gone in the midst of it, and is waited for */
#define BEHIND   400 /* frames that who watches is behind at most: 3 s of delay, and what batches take */

#define ASKED_US    (31 * SECOND)
#define ANSWERED_US (8 * SECOND) /* by links that lose and break */

struct counts counts;
static uint64_t stands_us; /* since then the room asks, and pauses; 0: it does not */
static uint64_t looked_us, differing_us;
static uint64_t flow_us = 1,
                told_us; /* time in which frames flow, and when in it a difference was last told */
static uint32_t looked_end;
static uint16_t healed;
static uint64_t given_up_us; /* the relay last said that nothing helps: the machines part again and again */
static bool doubt;           /* as many are wrong as are right: whoever wins */
static uint64_t doubt_us[64];
static unsigned doubt_count;

struct kl_lobby_room *the_room(void) {
    return kl_lobby_find(lobby[0], "room");
}

static bool is_steady(const struct client *c) {
    return is_playing(c) && !c->watches && now_us >= c->steady_us + STEADY &&
           c->machine.next + 60 >= canon_end && c->p.participant.lock.standing == KL_STANDING_IN;
}

/* Those whose words count, or would. */
static bool is_in_game(const struct client *c) {
    return is_playing(c) && !c->watches;
}

static bool agree(const struct client *a, const struct client *b) {
    uint32_t f = a->machine.next < b->machine.next ? a->machine.next : b->machine.next;
    if (f < a->machine.first || f < b->machine.first) return true; /* one has not come so far */
    return a->machine.was[f] == b->machine.was[f];
}

static bool all_agree(bool (*who)(const struct client *)) {
    const struct client *first = NULL;
    for (unsigned i = 0; i < CLIENTS; i++) {
        if (!who(&client[i])) continue;
        if (first && !agree(first, &client[i])) return false;
        first = &client[i];
    }
    return true;
}

static void look_for_doubt(void) {
    unsigned right = 0, wrong = 0;
    for (unsigned i = 0; i < CLIENTS; i++) {
        const struct client *c = &client[i];
        if (!is_playing(c) || !c->p.participant.lock.seats) continue;
        wrong += is_wrong(c);
        right += !is_wrong(c) && is_steady(c);
    }
    if (!doubt && wrong && wrong >= right) {
        doubt = true;
        doubt_us[doubt_count++ % 64] = now_us;
        counts.doubts++;
        story("in doubt at frame %u: %u wrong, %u right", canon_end, wrong, right);
    }
    if (!doubt || !all_agree(is_in_game)) return;
    for (unsigned i = 0; i < CLIENTS; i++)
        if (is_steady(&client[i])) {
            truth_is(&client[i].machine);
            doubt = false;
            story("agreed on at frame %u", canon_end);
            return;
        }
}

/* Somebody waits for the others' state, or loads it. */
static bool is_healing(void) {
    const struct kl_lobby_room *r = the_room();
    for (unsigned i = 0; r && i < KL_MAX_CLIENTS; i++)
        if (kl_lobby_heal_busy(r, i)) return true;
    return false;
}

/* A difference is told once, perhaps before its machine is steady here; until he is healed that stands. */
static void look_at_verdicts(void) {
    if (is_healing()) told_us = flow_us;
    for (unsigned i = 0; i < CLIENTS; i++) {
        struct client *c = &client[i];
        if (!c->any_verdict || c->watches) continue;
        if (c->verdict.differs) told_us = flow_us;
        if (c->verdict.healed > healed) counts.healed++;
        if (c->verdict.healed != healed) healed = c->verdict.healed;
        c->any_verdict = false;
    }
}

unsigned doubts_since(uint64_t us) {
    unsigned n = doubt;
    for (unsigned i = 0; i < doubt_count && i < 64; i++)
        n += doubt_us[i] + us > now_us;
    return n;
}

/* A watcher out of sync begins anew, and is in sync then: where the game is what the frames make it. */
static void look_at_watchers(bool frames_flow) {
    for (unsigned i = 0; i < CLIENTS; i++) {
        struct client *c = &client[i];
        if (!is_playing(c) || !c->watches || rewritten || doubt || !is_wrong(c))
            c->apart_us = 0;
        else if (frames_flow)
            c->apart_us += LOOK_US;
        if (c->apart_us > HEAL_US) fail("%s watches another game than is played", c->name);
    }
}

/* Nobody loads another's state on a tie: without the game's beginning some rooms stay apart, and are told so.
 */
static bool is_given_up(void) {
    return given_up_us && now_us < given_up_us + 5 * SECOND;
}

static void look_for_despair(void) {
    const struct kl_lobby_room *r = the_room();
    if (!r || !r->heal.hopeless) return;
    if (!is_given_up()) counts.given_up++;
    given_up_us = now_us;
}

/* No room stands because machines differ: it asks its players for 30 s at most, and goes on as soon as all
 * have answered. */
static void look_at_question(void) {
    const struct kl_lobby_room *r = the_room();
    bool stands = r && r->heal.play_on.until_us && r->lock.paused, all_answer = true;
    for (unsigned i = 0; i < CLIENTS; i++) /* those that were there all the time: others were asked later */
        all_answer &= !client[i].forges && now_us > client[i].steady_us + ANSWERED_US;
    counts.asked += stands && !stands_us;
    if (!stands) stands_us = 0;
    if (stands && !stands_us) stands_us = now_us;
    if (!stands) return;
    if (now_us > stands_us + ASKED_US)
        fail("the room stands for %.0f s because machines differ", ASKED_US / 1e6);
    if (all_answer && now_us > stands_us + ANSWERED_US) fail("all have agreed, and the room stands");
}

void judge_step(void) {
    look_for_despair();
    look_at_question();
    if (now_us < looked_us + LOOK_US) return;
    bool frames_flow = canon_end > looked_end;
    looked_us = now_us;
    looked_end = canon_end;
    if (frames_flow) flow_us += LOOK_US;
    look_at_verdicts();
    look_for_doubt();
    look_at_watchers(frames_flow);
    if (all_agree(is_steady) || is_given_up())
        differing_us = 0;
    else if (frames_flow)
        differing_us += LOOK_US;
    if (differing_us > FOUND_US && told_us + differing_us < flow_us)
        fail("a difference of %.1f s is not found", (double)differing_us / 1e6);
    if (differing_us > HEAL_US) fail("a difference of %.1f s is not healed", (double)differing_us / 1e6);
}

static void expect_in_sync(const struct client *c) {
    if (is_given_up()) return;
    if (c->machine.next + (c->watches ? BEHIND : 90) < canon_end)
        fail("%s has run %u of %u frames", c->name, c->machine.next, canon_end);
    if (!doubt && is_wrong(c)) fail("%s is not what it should be at the end", c->name);
    if (c->p.participant.lock.standing != KL_STANDING_IN) fail("%s is not in the game at the end", c->name);
    if (c->verdict.differs || !c->verdict.complete) fail("%s heard no good verdict at the end", c->name);
}

/* No player is left. Its watchers see the last frames for some seconds more. */
static bool is_over(const struct kl_lobby_room *r) {
    for (unsigned i = 0; r && i < KL_MAX_CLIENTS; i++)
        if (kl_lobby_here(r->member[i])) return false;
    return true;
}

/* In a game that went on by a state it is wrong, however often it runs that game from the beginning: the
 * relay lets it do so KL_STRIKES - 1 times, and then puts it out. The room may end before. */
static bool tries_again(const struct kl_lobby_room *r, const struct client *c) {
    unsigned member = c->p.participant.status.welcome.client;
    bool tries = member < KL_MAX_CLIENTS && r->member[member]->heal.anew > 0;
    if (tries && r->member[member]->heal.anew >= KL_STRIKES) fail("%s begins anew without end", c->name);
    return tries && !c->consents && rewritten;
}

void judge_end(void) {
    struct kl_lobby_room *r = the_room();
    bool over = is_over(r);
    unsigned playing = 0;
    for (unsigned i = 0; i < CLIENTS; i++) /* a watcher looks for its room for a minute more */
        playing += client[i].state != OFF && !(client[i].watches && (over || client[i].state == LOST));
    bool never_full = r && r->phase < KL_ROOM_PLAYING && (canon_end == 0 || fate_game_is_gone()) &&
                      kl_size(kl_lobby_seats_filled(r)) < r->params.players;
    if (never_full || (!playing && over)) {
        counts.ended++;
        return;
    }
    if (!r || r->phase != KL_ROOM_PLAYING) fail("%u clients, and no game at the end", playing);
    bool forged = false; /* healing is tried again and again then */
    for (unsigned i = 0; i < CLIENTS; i++)
        forged |= client[i].forges && is_playing(&client[i]);
    if (r->heal.phase != KL_HEAL_NONE && !forged)
        fail("it is still being healed at the end: phase %d", r->heal.phase);
    char why[KL_TEXT_MAX];
    for (unsigned i = 0; i < CLIENTS; i++) {
        if (client[i].state == OFF || client[i].forges) continue;
        /* one that loads no state of others has no way if nobody keeps the beginning */
        if (!client[i].consents && kl_lobby_catchup_closed(r, false, why, sizeof why)) continue;
        if (tries_again(r, &client[i])) continue;
        if (!is_playing(&client[i])) fail("%s is not in the game at the end", client[i].name);
        expect_in_sync(&client[i]);
    }
    if (!is_given_up() && !all_agree(is_in_game)) fail("they are not in sync at the end");
}

#include "tests/rooms/liar.h"

#include "tests/lib/numbers.h"

#define AGAIN_US 300000 /* from a liar's end to its next HELLO */

static const struct number number[LIAR_NUMBERS] = {
    [LIAR_PLAYERS] = {"players", 2, 4},   [LIAR_LIARS] = {"liars", 1, 3},
    [LIAR_APART] = {"apart", 0, 1},       [LIAR_NEAR] = {"near", 0, 1},
    [LIAR_HOST] = {"host", 0, 1},         [LIAR_TRUST] = {"trust", 0, 1},
    [LIAR_RTT_MS] = {"rtt", 5, 100},      [LIAR_HASH] = {"hash", 0, 100},
    [LIAR_OWN] = {"own", 0, 100},         [LIAR_STATE] = {"state", 0, 100},
    [LIAR_MUTE] = {"mute", 0, 100},       [LIAR_UNFIT] = {"unfit", 0, 100},
    [LIAR_KEEPS] = {"keeps", 0, 100},     [LIAR_CLAIM] = {"claim", 0, 100},
    [LIAR_DENY] = {"deny", 0, 100},       [LIAR_LABEL] = {"label", -300, 300},
    [LIAR_PAUSE] = {"pause", 0, 20000},   [LIAR_CHAT] = {"chat", 0, 20000},
    [LIAR_SEAT] = {"seat", 0, 20000},     [LIAR_RULE] = {"rule", 0, 20000},
    [LIAR_RESET] = {"reset", 0, 20000},   [LIAR_RATE] = {"rate", 0, 20000},
    [LIAR_SAVE] = {"save", 0, 20000},     [LIAR_HEALED] = {"healed", 0, 20000},
    [LIAR_WORD] = {"word", 0, 20000},     [LIAR_READY] = {"ready", 0, 20000},
    [LIAR_GIVE] = {"give", 0, 20000},     [LIAR_DESYNC] = {"desync", 0, 20000},
    [LIAR_CUT] = {"cut", 0, 20000},       [LIAR_FRESH] = {"fresh", 0, 20000},
    [LIAR_LEAVE] = {"leave", 0, 20000},   [LIAR_KEY] = {"key", 0, 1},
    [LIAR_ON] = {"on", 0, 20000},         [LIAR_OFF] = {"off", 0, 20000},
    [LIAR_OPTION] = {"option", 0, 20000}, [LIAR_ASLEEP] = {"asleep", 0, 1},
    [LIAR_STANDS] = {"stands", 0, 1},     [LIAR_UNREADY] = {"unready", 0, 1},
    [LIAR_PASS] = {"pass", 0, 1},         [LIAR_TOGETHER] = {"together", 0, 1},
    [LIAR_DUMB] = {"dumb", 0, 1},         [LIAR_DISK] = {"disk", 0, 20000},
    [LIAR_FILE] = {"file", 0, 20000},
};

static const int32_t *lie; /* NULL: nobody lies yet */
static uint64_t from_us, next_us[CLIENTS][LIAR_NUMBERS], over_us[CLIENTS];
static uint32_t turn[CLIENTS];
static struct rng lie_rng = {0x11a2};

/* --- numbers --- */

/* The liars' votes are at most as many as the others'; and if the host is one of them, they are no more. One
 * more player comes if there is a place: for one liar that is not READY, or if one has a seat and another one
 * waits. */
static bool is_fit(const int32_t is[LIAR_NUMBERS]) {
    if (is[LIAR_UNREADY] && (is[LIAR_PASS] || is[LIAR_LIARS] != 1)) return false;
    if (is[LIAR_PASS] && (is[LIAR_HOST] || is[LIAR_LIARS] < 2)) return false;
    int32_t honest = is[LIAR_PLAYERS] - is[LIAR_LIARS];
    bool one_address = is[LIAR_NEAR] && honest == 1 && (!is[LIAR_APART] || is[LIAR_LIARS] == 1);
    if (is[LIAR_HOST] && is[LIAR_LIARS] > honest) return false;
    if (is[LIAR_TOGETHER] && (is[LIAR_HOST] || is[LIAR_NEAR] || is[LIAR_LIARS] != 1 || honest < 2))
        return false;
    return honest >= 1 && (is[LIAR_APART] || one_address ? is[LIAR_LIARS] : 1) <= honest;
}

bool liar_read(int32_t is[LIAR_NUMBERS], const char *spec) {
    char name[16];
    int value, used;
    for (; *spec; spec += used) {
        if (sscanf(spec, "%15[a-z]=%d%n", name, &value, &used) != 2) return false;
        if (spec[used] == ',') used++;
        if (!number_read(number, is, LIAR_NUMBERS, name, value)) return false;
    }
    return is_fit(is);
}

void liar_write(const int32_t is[LIAR_NUMBERS], char *out, size_t cap) {
    numbers_write(number, is, LIAR_NUMBERS, out, cap);
}

void liar_draw(int32_t is[LIAR_NUMBERS], struct rng *r) {
    memset(is, 0, LIAR_NUMBERS * sizeof is[0]);
    do {
        is[LIAR_NEAR] = rng_chance(r, 0.2);
        is[LIAR_PLAYERS] = (int32_t)rng_range(r, 2, 4);
        is[LIAR_LIARS] = rng_chance(r, 0.5) ? 1 : (int32_t)rng_range(r, 1, 3);
        is[LIAR_APART] = rng_chance(r, 0.4);
    } while (!is_fit(is));
    is[LIAR_HOST] = rng_chance(r, 0.3) && 2 * is[LIAR_LIARS] <= is[LIAR_PLAYERS];
    is[LIAR_UNREADY] = is[LIAR_LIARS] == 1 && rng_chance(r, 0.1);
    is[LIAR_PASS] = is[LIAR_LIARS] > 1 && !is[LIAR_HOST] && rng_chance(r, 0.2);
    is[LIAR_TRUST] = rng_chance(r, 0.5);
    is[LIAR_RTT_MS] = (int32_t)rng_range(r, 5, 100);
    if (rng_chance(r, 0.5)) is[LIAR_HASH] = rng_chance(r, 0.5) ? 100 : number_draw(&number[LIAR_HASH], r);
    for (unsigned n = rng_range(r, 1, 5); n > 0; n--) {
        unsigned i = rng_range(r, LIAR_DEEDS, LIAR_NUMBERS - 1);
        is[i] = number_draw(&number[i], r);
    }
    is[LIAR_TOGETHER] = is[LIAR_TOGETHER] && is_fit(is);
}

void liar_change(int32_t is[LIAR_NUMBERS], struct rng *r) {
    numbers_change(number + LIAR_DEEDS, is + LIAR_DEEDS, LIAR_NUMBERS - LIAR_DEEDS, r);
    is[LIAR_TOGETHER] = is[LIAR_TOGETHER] && is_fit(is);
}

/* --- when --- */

void liar_begin(const int32_t is[LIAR_NUMBERS]) {
    lie = is;
    from_us = now_us;
}

static bool lies_now(const struct client *c) {
    if (!lie || !c->lies) return false;
    uint64_t on_us = (uint64_t)lie[LIAR_ON] * 1000, off_us = (uint64_t)lie[LIAR_OFF] * 1000;
    return !on_us || !off_us || (now_us - from_us) % (on_us + off_us) < on_us;
}

int32_t liar_is(const struct client *c, enum liar_number n) {
    return lies_now(c) ? lie[n] : 0;
}

bool liar_does(const struct client *c, enum liar_number n, uint32_t frame) {
    return (int32_t)(((frame + 1) * UINT32_C(2654435761) >> 7) % 100) < liar_is(c, n);
}

static bool is_due(const struct client *c, enum liar_number n) {
    uint64_t *at_us = &next_us[c->number][n];
    if (!lies_now(c) || !lie[n] || now_us < *at_us) return false;
    *at_us = now_us + (uint64_t)lie[n] * 1000;
    return true;
}

/* --- deeds --- */

static void say(const struct client *c, const struct kl_msg *m) {
    uint8_t bytes[KL_MSG_MAX];
    int len = kl_msg_encode(m, bytes, sizeof bytes);
    if (len > 0) wire_say(c->session, bytes, (size_t)len);
}

static void order(const struct client *c, uint8_t kind, const void *data, size_t len) {
    struct kl_msg m = {.kind = KL_MSG_COMMAND, .order = {.kind = kind, .len = (uint8_t)len}};
    memcpy(m.order.data, data, len);
    say(c, &m);
}

static void order_of_the_host(const struct client *c) {
    static const uint8_t data[][6] = {
        {KL_COMMAND_KICK, 1, 0}, {KL_COMMAND_BAN, 1, 1},         {KL_COMMAND_LOCK, 1, 1},
        {KL_COMMAND_HOST, 1, 3}, {KL_COMMAND_DESYNC, 1, 2},      {KL_COMMAND_PLACES, 1, 1},
        {KL_COMMAND_SWAP, 2, 0}, {KL_COMMAND_DELAY, 2, 44},      {KL_COMMAND_POLICY, 4, 0},
        {KL_COMMAND_LOAD, 4, 0}, {KL_COMMAND_SNAPSHOT, 0, 0, 0},
    };
    const uint8_t *d = data[turn[c->number]++ % (sizeof data / sizeof data[0])];
    if (!c->host) order(c, d[0], d + 2, d[1]);
}

static void give_orders(const struct client *c) {
    static const uint8_t text[200] = "all that there is to say, again and again",
                         rate[] = {0x80, 0xc3, 0xc9, 1};
    static const uint8_t pause = 1, heal = KL_DESYNC_HEAL, disk[] = {99, 0},
                         seats[] = {0, 1, KL_SEAT_NEXT, 2};
    if (is_due(c, LIAR_PAUSE)) order(c, KL_COMMAND_PAUSE, &pause, 1);
    if (is_due(c, LIAR_CHAT)) order(c, KL_COMMAND_CHAT, text, strlen((const char *)text));
    if (is_due(c, LIAR_SEAT)) order(c, KL_COMMAND_SEAT, &seats[turn[c->number]++ % 4], 1);
    if (is_due(c, LIAR_RULE)) order_of_the_host(c);
    if (is_due(c, LIAR_RESET)) order(c, KL_COMMAND_RESET, "", 0);
    if (is_due(c, LIAR_OPTION)) order(c, KL_COMMAND_OPTION, turn[c->number]++ % 2 ? "speed=a" : "speed=b", 7);
    if (is_due(c, LIAR_RATE)) order(c, KL_COMMAND_RATE, rate, sizeof rate);
    if (is_due(c, LIAR_SAVE)) order(c, KL_COMMAND_SAVE, "", 0);
    if (is_due(c, LIAR_DISK)) order(c, KL_COMMAND_DISK, disk, sizeof disk);
    if (is_due(c, LIAR_DESYNC) && c->host) order(c, KL_COMMAND_DESYNC, &heal, 1);
}

/* Of frames about now. */
static uint32_t some_frame(const struct client *c) {
    uint32_t back = rng_range(&lie_rng, 0, 90);
    return c->machine.next > back ? c->machine.next - back : 0;
}

static void say_words(const struct client *c) {
    struct kl_msg m = {0};
    if (is_due(c, LIAR_HEALED)) {
        m = (struct kl_msg){.kind = KL_MSG_HEALED,
                            .healed = {some_frame(c), some_frame(c), (uint8_t)rng_range(&lie_rng, 0, 2)}};
        say(c, &m);
    }
    if (is_due(c, LIAR_WORD)) {
        uint32_t frame = rng_chance(&lie_rng, 0.5) ? c->p.state_keyframe : some_frame(c);
        m = (struct kl_msg){.kind = KL_MSG_STATE,
                            .state = {.keyframe = frame, .bytes = SHOT_BYTES, .has = true}};
        m.state.hash[0] = (uint8_t)rng_next(&lie_rng);
        say(c, &m);
    }
    if (is_due(c, LIAR_READY)) {
        m = (struct kl_msg){.kind = KL_MSG_READY};
        kl_facts_add(&m.ready.facts, "system", rng_chance(&lie_rng, 0.5) ? "a" : "b");
        say(c, &m);
    }
    if (is_due(c, LIAR_FILE)) {
        m = (struct kl_msg){.kind = KL_MSG_FILE};
        files_say_of(&m.file, turn[c->number]++);
        m.file.hash = rng_next(&lie_rng);
        say(c, &m);
    }
    if (is_due(c, LIAR_GIVE)) {
        m = (struct kl_msg){.kind = KL_MSG_GIVE, .snapshot = {.keyframe = c->p.state_keyframe}};
        m.snapshot.piece = (struct kl_piece){.total = 4000, .len = 1000};
        say(c, &m);
    }
}

static void come_again(struct client *c) {
    uint64_t *at_us = &over_us[c->number];
    if (*at_us == 0) *at_us = now_us + AGAIN_US;
    if (now_us < *at_us) return;
    *at_us = 0;
    if (lie[LIAR_KEY])
        client_enter_again(c);
    else
        client_enter(c);
}

/* One seat is free, and all liars wait for it, or will: each is offered it in turn. */
static void let_turns_pass(const struct client *c) {
    const struct kl_lobby_room *r = the_room();
    const uint8_t seat = c->p.participant.lock.seats == 0;
    uint64_t *at_us = &next_us[c->number][LIAR_PASS];
    if (!liar_is(c, LIAR_PASS) || !r || now_us < *at_us) return;
    *at_us = now_us + 500000;
    bool waits = r->member[c->p.participant.status.welcome.client]->v.turn.number;
    if (!waits && (c->p.participant.lock.seats || kl_lobby_waiting(r, NULL)))
        order(c, KL_COMMAND_SEAT, &seat, 1);
}

bool liar_keeps_quiet(const struct client *c, const int32_t is[LIAR_NUMBERS]) {
    const struct kl_lobby_room *r = the_room();
    return c->lies && is[LIAR_UNREADY] && r && r->phase < KL_ROOM_PLAYING;
}

unsigned liar_addresses(const int32_t is[LIAR_NUMBERS]) {
    return is[LIAR_APART] ? (unsigned)is[LIAR_LIARS] : 1;
}

static void go(struct client *c) {
    if (is_due(c, LIAR_CUT)) client_lose(c, 0, false);
    if (is_due(c, LIAR_FRESH)) client_lose(c, 0, true);
    if (c->state != OFF && !c->crashed && is_due(c, LIAR_LEAVE)) client_leave(c);
}

void liar_step(struct client *c) {
    if (!lie || !c->lies) return;
    if (c->state == OFF) {
        come_again(c);
        return;
    }
    if (c->state != IN || !c->session) return;
    give_orders(c);
    say_words(c);
    let_turns_pass(c);
    go(c);
}

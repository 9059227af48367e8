/* A client as the wrapper and its link are together (core_wrapper, net/transport/link*.c): what it does with
 * each message is theirs to do, here without threads, files and sockets. */
#include "tests/rooms/rooms.h"

struct client client[CLIENTS];

bool is_playing(const struct client *c) {
    return c->state == IN && c->welcomed && c->load == LOADED && !c->begins;
}

bool is_wrong(const struct client *c) {
    return c->machine.next <= canon_end && c->machine.is != truth.was[c->machine.next];
}

void client_say(struct client *c, const struct kl_msg *m) {
    uint8_t bytes[KL_MSG_MAX];
    int len = kl_msg_encode(m, bytes, sizeof bytes);
    if (len < 0) fail("%s says something that cannot be encoded", c->name);
    kl_msg_is_bulk(m->kind) ? wire_say_bulk(c->session, bytes, (size_t)len)
                            : wire_say(c->session, bytes, (size_t)len);
}

/* --- in and out -------------------------------------------------------------------------------------------
 */

/* Nothing is known any more, a game begins at frame 0. */
static void begin_anew(struct client *c) {
    machine_begin(&c->machine);
    if (!c->watches) c->strike_us[c->strikes++ % 64] = now_us;
    c->owed_put = c->owed_got = 0;
    c->tags_put = 0;
    c->load = UNLOADED;
    c->begun = c->strayed = c->unloaded = false;
    c->anew_us = now_us;
    c->from = 0;
    shot_forget(c);
}

static void add_facts(struct kl_facts *f) {
    kl_facts_add(f, "content", "x");
}

void client_enter(struct client *c) {
    struct kl_msg m = {.kind = KL_MSG_HELLO};
    c->session = wire_open(c);
    c->state = ENTERING;
    c->steady_us = now_us;
    c->welcomed = c->fresh = c->any_reveal = c->gave = c->watches = false;
    c->ticket_len = 0;
    begin_anew(c);
    uint8_t seed[KL_SEAT_SEED] = {(uint8_t)rng_next(&wire_rng), (uint8_t)rng_next(&wire_rng),
                                  (uint8_t)c->number};
    kl_seat_from_seed(&c->key, seed);
    m.hello.version = KL_PROTOCOL_VERSION;
    m.hello.seats_wanted = c->seats_wanted;
    snprintf(m.hello.name, sizeof m.hello.name, "%s", c->name);
    snprintf(m.hello.room, sizeof m.hello.room, "room");
    m.hello.params = c->params;
    add_facts(&m.hello.facts);
    memcpy(m.hello.seat_key, c->key.pub, sizeof m.hello.seat_key);
    client_say(c, &m);
}

uint32_t client_newest_tag(const struct client *c, const uint8_t **tag, uint32_t *count) {
    uint32_t end = 0;
    *tag = NULL;
    *count = 0;
    for (uint32_t i = 0; i < TAGS && i < c->tags_put; i++) {
        if (c->tags[i].end > c->machine.next || c->tags[i].end < c->machine.first) continue;
        if (c->tags[i].count <= *count) continue;
        *count = c->tags[i].count;
        *tag = c->tags[i].tag;
        end = c->tags[i].end;
    }
    return end;
}

static void describe_past(const struct client *c, struct kl_return *b) {
    struct kl_digest d;
    const uint8_t *tag;
    uint32_t end = client_newest_tag(c, &tag, &b->tags);
    b->have = c->machine.next;
    b->can_bring = can_bring(c);
    kl_digest_begin(&d, tag);
    if (end < c->machine.first) end = b->have; /* no tag, and no beginning: nobody can tell what it has */
    for (uint32_t f = end; f < b->have; f++)
        kl_digest_frame(&d, &canon[f], canon_commands(f));
    kl_digest_end(&d, b->digest);
    if (c->strayed) b->digest[0] ^= 1; /* of frames that canon does not have any more */
}

void client_return(struct client *c) {
    struct kl_msg m = {.kind = KL_MSG_RETURN};
    c->session = wire_open(c);
    c->state = ENTERING;
    c->steady_us = now_us;
    snprintf(m.back.room, sizeof m.back.room, "room");
    memcpy(m.back.token, c->token, sizeof m.back.token);
    memcpy(m.back.seat_key, c->key.pub, sizeof m.back.seat_key);
    kl_seat_sign(&c->key, wire_binding(c->session), c->token, m.back.signature);
    if (c->fresh) {
        c->welcomed = c->gave = false;
        begin_anew(c);
    }
    m.back.fresh = c->fresh || c->unloaded;
    if (m.back.fresh)
        add_facts(&m.back.facts);
    else
        describe_past(c, &m.back);
    client_say(c, &m);
}

static void over(struct client *c) {
    c->session = 0;
    c->state = OFF;
    c->welcomed = c->watches = false;
    memset(c->token, 0, sizeof c->token);
    shot_forget(c);
}

void client_lose(struct client *c, uint64_t back_us, bool fresh) {
    wire_break(c->session, rng_range(&wire_rng, 0, 6000000));
    c->session = 0;
    c->state = LOST;
    c->again_us = now_us + back_us;
    c->fresh = fresh || !c->welcomed;
    c->steady_us = now_us;
    c->unloaded |= c->begins;
    shot_forget(c);
    if (c->watches || (!c->token[0] && !c->welcomed)) over(c);
}

void client_leave(struct client *c) {
    client_say(c, &(struct kl_msg){.kind = KL_MSG_BYE});
    wire_detach(c->session);
    over(c);
}

void client_hung_up(struct client *c) {
    if (c->state != LOST) over(c);
}

void client_order(struct client *c, uint8_t kind, const uint8_t *data, size_t len) {
    struct kl_msg m = {.kind = KL_MSG_COMMAND, .order = {.kind = kind, .len = (uint8_t)len}};
    if (len) memcpy(m.order.data, data, len);
    client_say(c, &m);
}

/* --- what comes --------------------------------------------------------------------------------------------
 */

static void commit_to(struct client *c, const struct kl_msg *hash) {
    struct kl_msg m = {.kind = KL_MSG_COMMIT, .commit = {.kind = KL_MSG_HASH, .frame = hash->hash.frame}};
    kl_commit_make(hash, c->room_id, c->id, m.commit.commitment);
    client_say(c, &m);
}

static void on_welcome(struct client *c, const struct kl_welcome *w) {
    bool watched = c->watches, returns = c->welcomed && !watched;
    if (watched) story("%s is a client of the game", c->name);
    memcpy(c->token, w->token, sizeof c->token);
    memcpy(c->room_id, w->room_id, sizeof c->room_id);
    c->id = w->client;
    c->host = w->host;
    c->params = w->params;
    c->any_reveal = false;
    c->state = IN;
    c->watches = w->client == KL_WATCHER;
    counts.watched += c->watches;
    if (watched) c->steady_us = now_us;
    if (c->welcomed) {
        for (uint32_t i = c->owed_got; i != c->owed_put; i++)
            commit_to(c, &c->owed[i % OWED]);
        kl_client_watch(&c->lock, c->watches);
        if (w->seats != c->lock.seats) kl_client_reseat(&c->lock, w->seats);
        if (returns) kl_client_drop(&c->lock);
        kl_client_return(&c->lock, now_us);
    } else {
        kl_client_init(&c->lock, &w->params, w->seats, c->held, HELD, now_us);
        kl_client_watch(&c->lock, c->watches);
        if (c->fresh) kl_client_return(&c->lock, now_us);
    }
    c->welcomed = true;
    c->fresh = false;
    c->turn_us = now_us;
}

static void on_roster(struct client *c, const struct kl_roster *r) {
    for (unsigned i = 0; i < r->count; i++)
        if (r->member[i].client == c->id) c->host = r->member[i].host;
}

static void start_is_here(struct client *c) {
    c->load = LOADING;
    c->loaded_us = now_us + rng_range(&wire_rng, 5000, 400000);
}

static void say_ready(struct client *c) {
    struct kl_msg m = {.kind = KL_MSG_READY};
    kl_facts_add(&m.ready.facts, "system", "a");
    client_say(c, &m);
}

static void on_prepare(struct client *c, const struct kl_prepare *p) {
    if (c->load == LOADED && !c->begun) say_ready(c); /* again, after a return */
    if (c->load == LOADING || (c->load == LOADED && !c->begun)) return;
    if (c->load == LOADED) { /* in the game: all over again */
        begin_anew(c);
        kl_client_init(&c->lock, &c->params, c->lock.seats, c->held, HELD, now_us);
        kl_client_watch(&c->lock, c->watches);
        kl_client_return(&c->lock, now_us);
    }
    if (p->data_bytes != 4) fail("%s: start data of %u bytes", c->name, p->data_bytes);
    c->load = FETCHING;
    if (c->gave) start_is_here(c); /* who gave it gets none back */
}

static void on_send(struct client *c) {
    struct kl_msg m = {.kind = KL_MSG_DATA, .data = {.total = 4, .len = 4, .bytes = START_TEXT}};
    c->gave = true;
    client_say(c, &m);
}

static void on_data(struct client *c, const struct kl_data *d) {
    if (c->load != FETCHING) return;
    if (d->len != 4 || memcmp(d->bytes, START_TEXT, 4) != 0) fail("%s gets other start data", c->name);
    start_is_here(c);
}

static void on_history(struct client *c, const struct kl_past *p) {
    int left = kl_client_history(&c->lock, p->bytes, p->len, now_us);
    if (left == KL_E_WINDOW && kl_client_have(&c->lock) == 0) return; /* of before: PREPARE was quicker */
    if (left) fail("%s: a piece of history does not follow: %d", c->name, left);
}

static void on_tags(struct client *c, const struct kl_tags *t) {
    unsigned i = c->tags_put++ % TAGS;
    c->tags[i].count = t->first + t->count;
    c->tags[i].end = t->end_frame;
    memcpy(c->tags[i].tag, t->tag[t->count - 1], KL_TAG_BYTES);
}

static void on_ticket(struct client *c, const struct kl_piece *p) {
    if (p->offset == 0) c->ticket_coming = 0;
    if (p->offset != c->ticket_coming) return;
    memcpy(c->ticket_new + p->offset, p->bytes, p->len);
    c->ticket_coming += p->len;
    if (c->ticket_coming != p->total) return;
    memcpy(c->ticket, c->ticket_new, p->total);
    c->ticket_len = p->total;
}

static void on_verdict(struct client *c, const struct kl_verdict *v) {
    c->verdict = *v;
    c->any_verdict = true;
}

/* Three times within a minute, and it was he each time, or those who were wrong were more: nobody else is put
 * out. */
static bool deserves_it(const struct client *c) {
    unsigned count = doubts_since(75 * SECOND);
    if (c->watches && (count || rewritten)) return true; /* what it replays is not what they have */
    for (uint32_t i = 0; i < c->strikes && i < 64; i++)
        count += c->strike_us[i] + 75 * SECOND > now_us;
    return count >= 3;
}

static void on_refuse(struct client *c, const struct kl_text *t) {
    story("%s: refused %u: %s", c->name, t->code, t->text);
    if (t->code == KL_REFUSE_DESYNC && deserves_it(c)) return;
    if (strstr(t->text, "nothing has come")) fail("%s is not heard", c->name);
    if (t->code == KL_REFUSE_SEAT || t->code == KL_REFUSE_FULL || t->code == KL_REFUSE_STARTED ||
        t->code == KL_REFUSE_CLOSED)
        return;
    fail("%s is refused: %u %s", c->name, t->code, t->text);
}

void client_hears(struct client *c, const uint8_t *bytes, size_t len) {
    static struct kl_msg m;
    if (kl_msg_decode(&m, bytes, len) != KL_OK)
        fail("%s: the relay says kind %u, malformed", c->name, bytes[0]);
    if (c->state != ENTERING && c->state != IN) return;
    switch (m.kind) {
    case KL_MSG_WELCOME: on_welcome(c, &m.welcome); break;
    case KL_MSG_ROSTER: on_roster(c, &m.roster); break;
    case KL_MSG_SEND: on_send(c); break;
    case KL_MSG_PREPARE: on_prepare(c, &m.prepare); break;
    case KL_MSG_DATA: on_data(c, &m.data); break;
    case KL_MSG_HISTORY: on_history(c, &m.past); break;
    case KL_MSG_TAGS: on_tags(c, &m.tags); break;
    case KL_MSG_TICKET: on_ticket(c, &m.piece); break;
    case KL_MSG_WANT: bring(c, &m.want); break;
    case KL_MSG_SEAT: kl_client_reseat(&c->lock, m.seat.seats); break;
    case KL_MSG_REVEAL:
        c->reveal = c->any_reveal && c->reveal > m.reveal.frame ? c->reveal : m.reveal.frame;
        c->any_reveal = true;
        break;
    case KL_MSG_VERDICT: on_verdict(c, &m.verdict); break;
    case KL_MSG_ASK: shot_asked(c, &m.ask); break;
    case KL_MSG_OFFER: shot_offered(c, &m.offer); break;
    case KL_MSG_SNAPSHOT: shot_comes(c, &m.shot); break;
    case KL_MSG_REFUSE: on_refuse(c, &m.text); break;
    case KL_MSG_NOTICE: story("%s hears: %s", c->name, m.text.text); break;
    default: fail("%s: the relay says kind %u", c->name, m.kind);
    }
}

void client_update(struct client *c, const uint8_t *body, size_t len) {
    if (c->state != IN) return;
    if (kl_client_receive(&c->lock, body, len, now_us) == KL_OK) return;
    bool of_before = now_us < c->anew_us + SECOND; /* it knows samples of a game that begins anew */
    if (!of_before) fail("%s: an UPDATE is malformed", c->name);
}

/* --- playing ----------------------------------------------------------------------------------------------
 */

static void commit(struct client *c, uint32_t label) {
    struct kl_msg m = {.kind = KL_MSG_HASH, .hash = {.frame = label, .has_ram = true, .has_state = true}};
    m.hash.ram = m.hash.state = c->machine.is;
    for (unsigned i = 0; i < sizeof m.nonce; i++)
        m.nonce[i] = (uint8_t)rng_next(&wire_rng);
    if (c->watches) {
        client_say(c, &m); /* its word counts for nothing */
        return;
    }
    commit_to(c, &m);
    if (c->owed_put - c->owed_got == OWED) fail("%s: no REVEAL for %u hashes", c->name, OWED);
    c->owed[c->owed_put++ % OWED] = m;
}

static void reveal(struct client *c) {
    while (c->owed_got != c->owed_put && c->any_reveal && c->owed[c->owed_got % OWED].hash.frame <= c->reveal)
        client_say(c, &c->owed[c->owed_got++ % OWED]);
}

static void run_frame(struct client *c) {
    struct kl_frame f;
    uint8_t shot[SHOT_BYTES];
    if (!kl_client_take(&c->lock, &f)) fail("%s: no frame where one was planned", c->name);
    if (f.number != c->machine.next) fail("%s: frame %u comes behind %u", c->name, f.number, c->machine.next);
    const struct kl_commands *set =
        f.flags & KL_FRAME_COMMANDS ? kl_client_commands(&c->lock, f.number) : NULL;
    bool begun_here = c->from && f.number == c->from; /* hashed and partly obeyed before the snapshot */
    if (f.flags & KL_FRAME_HASH && !begun_here) commit(c, f.number - 1);
    canon_check(c->name, &f, set);
    if (begun_here)
        machine_run_behind(&c->machine, f.number);
    else if (machine_run(&c->machine, &f, set, shot))
        shot_taken(c, f.number, shot);
}

static void take_turn(struct client *c) {
    struct kl_plan plan = kl_client_plan(&c->lock, now_us, c->turn_frames);
    uint32_t n = c->lock.stats.next_sample;
    struct kl_input in[KL_MAX_SEATS] = {{.joypad = (uint16_t)((n / 7 + c->number) * 0x9e37)}};
    for (uint32_t i = 0; i < plan.samples; i++)
        (void)kl_client_sample(&c->lock, in, now_us);
    for (uint32_t i = 0; i < plan.runs; i++)
        run_frame(c);
    c->turn_us += 16667;
}

/* --- a step -----------------------------------------------------------------------------------------------
 */

static void send_datagrams(struct client *c) {
    uint8_t body[KL_DATAGRAM_MAX];
    size_t len;
    while (now_us >= kl_client_send_at(&c->lock) &&
           (len = kl_client_send(&c->lock, now_us, body, sizeof body)) > 0)
        wire_datagram(c->session, body, len);
}

void client_step(struct client *c) {
    if (c->state == LOST && now_us >= c->again_us) client_return(c);
    if (c->state != IN) return;
    if (c->load == LOADING && now_us >= c->loaded_us) {
        c->load = LOADED;
        say_ready(c);
    }
    c->begun |= c->load == LOADED && c->lock.started;
    while (c->load == LOADED && now_us >= c->turn_us)
        take_turn(c);
    reveal(c);
    shot_step(c);
    send_datagrams(c);
}

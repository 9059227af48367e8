#include "tests/lib/lobby_net.h"

#include "net/relay/lobby/lobby_parts.h"

struct kl_lobby *lobby;
uint64_t now_us;
const char *address_of_peers;
struct kl_lobby_limits limits_for_tests = {.peers = PEERS, .rooms = 2, .seats = 4, .catch_up_s = 3600};
struct inbox inbox[PEERS_MAX];
uint32_t strangers;
void (*on_message)(unsigned peer, const struct kl_msg *m);
void (*on_update)(unsigned peer, const uint8_t *body, size_t len);
void (*on_voice)(unsigned peer, const uint8_t *body, size_t len);
size_t (*on_bulk_room)(unsigned peer);
static uint8_t sessions; /* so far: each has a binding of its own */

static void empty(struct inbox *in) {
    struct inbox was = *in;
    memset(in, 0, sizeof *in);
    memcpy(in->newest, was.newest, sizeof in->newest);
    in->notice = was.notice;
    for (unsigned kind = 0; kind <= KL_MSG_LAST; kind++)
        if (in->newest[kind]) in->newest[kind]->kind = 0;
}

static void *get(void *block, size_t len) {
    if (!block) block = calloc(1, len);
    MUST(block);
    return block;
}

static void keep(struct inbox *in, const struct kl_msg *m) {
    in->newest[m->kind] = get(in->newest[m->kind], sizeof *m);
    *in->newest[m->kind] = *m;
    in->count++;
    if (m->kind != KL_MSG_NOTICE) return;
    in->notice = get(in->notice, NOTICES * sizeof *in->notice);
    in->notice[in->noticed++ % NOTICES] = m->text;
}

/* --- the lobby's calls --- */

static int net_send(void *ctx, unsigned peer, const uint8_t *bytes, size_t len) {
    struct inbox *in = &inbox[peer];
    (void)ctx;
    MUST(!in->hung_up);
    static struct kl_msg m;
    MUST(kl_msg_decode(&m, bytes, len) == KL_OK); /* whatever the lobby heard */
    keep(in, &m);
    wire_count_down(&in->traffic, true, len);
    if (!in->gone) wire_count_ack(&in->traffic, true);
    if (on_message) on_message(peer, &m);
    return 0;
}
static size_t net_bulk_room(void *ctx, unsigned peer) {
    const struct inbox *in = &inbox[peer];
    (void)ctx;
    MUST(!in->hung_up);
    if (on_bulk_room) return on_bulk_room(peer);
    return in->pending || in->gone || (in->slow && in->takes == 0) ? 0 : 4000;
}
static int net_send_bulk(void *ctx, unsigned peer, const uint8_t *bytes, size_t len) {
    MUST(kl_msg_is_bulk(bytes[0]));
    MUST(net_bulk_room(ctx, peer) > 0);
    if (inbox[peer].slow) inbox[peer].takes--;
    return net_send(ctx, peer, bytes, len);
}
static const uint8_t *net_binding(void *ctx, unsigned peer) {
    (void)ctx;
    return inbox[peer].binding;
}
static unsigned net_pending(void *ctx, unsigned peer) {
    (void)ctx;
    return inbox[peer].pending;
}
static void net_datagram(void *ctx, unsigned peer, const uint8_t *body, size_t len) {
    (void)ctx;
    MUST(!inbox[peer].hung_up);
    inbox[peer].datagrams++;
    wire_count_down(&inbox[peer].traffic, false, len);
    if (on_update) on_update(peer, body, len);
}
static void net_voice(void *ctx, unsigned peer, const uint8_t *body, size_t len) {
    (void)ctx;
    MUST(!inbox[peer].hung_up);
    wire_count_down(&inbox[peer].traffic, false, len);
    if (on_voice) on_voice(peer, body, len);
}
static void net_hang_up(void *ctx, unsigned peer) {
    (void)ctx;
    MUST(!inbox[peer].hung_up);
    inbox[peer].hung_up = true;
}
static struct kl_traffic net_traffic(void *ctx, unsigned peer) {
    (void)ctx;
    return inbox[peer].traffic;
}
static uint32_t net_session(void *ctx, unsigned peer) {
    (void)ctx;
    return 1000 + peer;
}

/* --- its life --- */

void open_newborn(const struct kl_lobby_limits *limits, uint64_t time_us) {
    static const struct kl_lobby_net net = {.send = net_send,
                                            .send_bulk = net_send_bulk,
                                            .bulk_room = net_bulk_room,
                                            .binding = net_binding,
                                            .pending = net_pending,
                                            .datagram = net_datagram,
                                            .voice = net_voice,
                                            .traffic = net_traffic,
                                            .hang_up = net_hang_up,
                                            .session = net_session};
    MUST(limits->peers <= PEERS_MAX);
    kl_log_set_level(getenv("KL_TEST_LOG") ? KL_LOG_DEBUG : KL_LOG_ERROR);
    for (unsigned i = 0; i < limits->peers; i++)
        empty(&inbox[i]);
    sessions = 0;
    now_us = time_us;
    address_of_peers = "192.0.2.1:5";
    on_message = NULL;
    on_update = NULL;
    on_voice = NULL;
    on_bulk_room = NULL;
    lobby = kl_lobby_create(limits, &net);
    MUST(lobby);
}

void open_lobby(const struct kl_lobby_limits *limits) {
    open_newborn(limits, 100 * SECOND);
    run();
    now_us += 60 * SECOND;
}

int set_up(void **state) {
    (void)state;
    open_lobby(&limits_for_tests);
    return 0;
}
int tear_down(void **state) {
    (void)state;
    kl_lobby_destroy(lobby);
    return 0;
}

void live_at(unsigned last) {
    static char address[24];
    snprintf(address, sizeof address, "192.0.2.%u:5", last);
    address_of_peers = address;
}

void reopen(const struct kl_lobby_limits *limits) {
    kl_lobby_destroy(lobby);
    open_lobby(limits);
}
void begin_again(void) {
    reopen(&limits_for_tests);
}

void run(void) {
    kl_lobby_run(lobby, now_us);
}
void pass(uint64_t us) {
    for (uint64_t end_us = now_us + us; now_us < end_us; now_us += 100000)
        run();
}

/* --- the network's side --- */

void connect_peer(unsigned peer) {
    empty(&inbox[peer]);
    inbox[peer].binding[0] = ++sessions;
    inbox[peer].binding[1] = (uint8_t)peer;
    kl_lobby_opened(lobby, peer, address_of_peers, now_us);
}

void lose(unsigned peer) {
    inbox[peer].hung_up = true; /* nothing more may go there */
    kl_lobby_lost(lobby, peer, now_us);
    run();
}

void speak(unsigned peer, const struct kl_msg *m) {
    uint8_t bytes[KL_MSG_MAX];
    int len = kl_msg_encode(m, bytes, sizeof bytes);
    MUST(len > 0);
    wire_count_up(&inbox[peer].traffic, true, (size_t)len);
    wire_count_ack(&inbox[peer].traffic, false);
    kl_lobby_message(lobby, peer, bytes, (size_t)len, now_us);
}

void say(unsigned peer, const struct kl_msg *m) {
    speak(peer, m);
    run();
}

void enter(unsigned peer, const struct kl_msg *m) {
    connect_peer(peer);
    say(peer, m);
}

void say_datagram(unsigned peer, const uint8_t *body, size_t len) {
    wire_count_up(&inbox[peer].traffic, false, len);
    kl_lobby_datagram(lobby, peer, body, len, 0, 0, now_us);
}

void say_voice(unsigned peer, const uint8_t *body, size_t len) {
    wire_count_up(&inbox[peer].traffic, false, len);
    kl_lobby_voice(lobby, peer, body, len, 0, now_us);
}

const struct kl_msg *heard(unsigned peer, uint8_t kind) {
    const struct kl_msg *m = inbox[peer].newest[kind];
    return m && m->kind ? m : NULL;
}

void forget(unsigned peer, uint8_t kind) {
    if (inbox[peer].newest[kind]) inbox[peer].newest[kind]->kind = 0;
    if (kind == KL_MSG_NOTICE) inbox[peer].noticed = 0;
}

bool told(unsigned peer, const char *text) {
    const struct inbox *in = &inbox[peer];
    for (unsigned i = 0; i < in->noticed && i < NOTICES; i++)
        if (strstr(in->notice[i].text, text)) return true;
    return false;
}

void expect_notice(unsigned peer, const char *text) {
    const struct kl_msg *m = heard(peer, KL_MSG_NOTICE);
    if (!m || !strstr(m->text.text, text))
        fprintf(stderr, "notice: %s\nwanted: %s\n", m ? m->text.text : "none", text);
    MUST(m && strstr(m->text.text, text));
}

void expect_refusal(unsigned peer, uint8_t code, const char *text) {
    const struct kl_msg *m = heard(peer, KL_MSG_REFUSE);
    MUST(m);
    if (!strstr(m->text.text, text)) fprintf(stderr, "refusal: %s\nwanted: %s\n", m->text.text, text);
    MUST(strstr(m->text.text, text));
    MUST(m->text.code == code);
    MUST(inbox[peer].hung_up);
}

const struct kl_member *member_of(unsigned peer, unsigned client) {
    const struct kl_msg *m = heard(peer, KL_MSG_ROSTER);
    MUST(m);
    for (unsigned i = 0; i < m->roster.count; i++)
        if (m->roster.member[i].client == client) return &m->roster.member[i];
    return NULL;
}
uint8_t state_of(unsigned peer, unsigned client) {
    const struct kl_member *m = member_of(peer, client);
    return m ? m->state : KL_MEMBER_GONE;
}

struct kl_lobby_room *the_room(void) {
    return kl_lobby_find(lobby, "room");
}

/* --- a player's words --- */

const struct kl_seat_key *seat_key(unsigned peer) {
    static struct kl_seat_key key;
    uint8_t seed[KL_SEAT_SEED] = {(uint8_t)(peer + 1), 7};
    kl_seat_from_seed(&key, seed);
    return &key;
}

static uint8_t consent_of(unsigned peer) {
    return strangers >> peer & 1 ? KL_CONSENT_NONE : KL_CONSENT_ROOM;
}

struct kl_msg a_hello(unsigned peer, const char *room, unsigned seats, unsigned players,
                      const char *content) {
    struct kl_msg m = {.kind = KL_MSG_HELLO};
    m.hello.version = KL_PROTOCOL_VERSION;
    m.hello.seats_wanted = (uint8_t)seats;
    m.hello.consent = consent_of(peer);
    snprintf(m.hello.name, sizeof m.hello.name, "p%u", peer);
    snprintf(m.hello.room, sizeof m.hello.room, "%s", room);
    m.hello.params = (struct kl_params){.subframes = true,
                                        .clocked = true,
                                        .players = (uint8_t)players,
                                        .fps_uhz = 60000000,
                                        .hash_every = 60};
    kl_facts_add(&m.hello.facts, "content", content);
    memcpy(m.hello.seat_key, seat_key(peer)->pub, sizeof m.hello.seat_key);
    return m;
}

void hello(unsigned peer, const char *room, unsigned seats, unsigned players, const char *content) {
    struct kl_msg m = a_hello(peer, room, seats, players, content);
    enter(peer, &m);
}

void give(unsigned peer, const char *bytes) {
    struct kl_msg m = {.kind = KL_MSG_DATA};
    m.data.total = (uint32_t)strlen(bytes);
    m.data.len = (uint16_t)m.data.total;
    memcpy(m.data.bytes, bytes, m.data.len);
    say(peer, &m);
}

void ready(unsigned peer, const char *files) {
    struct kl_msg m = {.kind = KL_MSG_READY};
    kl_facts_add(&m.ready.facts, "system", files);
    say(peer, &m);
}

void bye(unsigned peer) {
    say(peer, &(struct kl_msg){.kind = KL_MSG_BYE});
}

void order(unsigned peer, uint8_t kind, uint8_t data) {
    say(peer, &(struct kl_msg){.kind = KL_MSG_COMMAND, .order = {.kind = kind, .len = 1, .data = {data}}});
}

struct kl_msg a_return(unsigned whose, unsigned peer, const char *room, const uint8_t *token) {
    struct kl_msg m = {.kind = KL_MSG_RETURN, .back.consent = consent_of(whose)};
    const struct kl_seat_key *k = seat_key(whose);
    snprintf(m.back.room, sizeof m.back.room, "%s", room);
    memcpy(m.back.token, token, sizeof m.back.token);
    memcpy(m.back.seat_key, k->pub, sizeof m.back.seat_key);
    kl_seat_sign(k, inbox[peer].binding, token, m.back.signature);
    return m;
}

void start_game_of(unsigned players) {
    for (unsigned i = 0; i < players; i++)
        hello(i, "room", 1, players, "x");
    give(0, "save");
    for (unsigned i = 0; i < players; i++)
        ready(i, "a");
    MUST(state_of(players - 1, players - 1) == KL_MEMBER_PLAYING);
}

/* --- kept seats --- */

uint8_t kept_token[PEERS][KL_TOKEN_BYTES];

void keep_token(unsigned whose, unsigned peer) {
    const struct kl_msg *m = heard(peer, KL_MSG_WELCOME);
    MUST(m);
    memcpy(kept_token[whose], m->welcome.token, KL_TOKEN_BYTES);
}

void start_kept_game(unsigned players) {
    start_game_of(players);
    for (unsigned i = 0; i < players; i++)
        keep_token(i, i);
}

void seat_come_back_with(unsigned whose, unsigned peer, bool fresh, const char *content) {
    connect_peer(peer);
    struct kl_msg m = a_return(whose, peer, "room", kept_token[whose]);
    m.back.fresh = fresh;
    if (fresh) kl_facts_add(&m.back.facts, "content", content);
    say(peer, &m);
}

void seat_come_back(unsigned whose, unsigned peer, bool fresh) {
    seat_come_back_with(whose, peer, fresh, "x");
    keep_token(whose, peer);
}

/* A hostile relay: whatever it may say to a client inside a session (messages, UPDATE datagrams), and what
 * the wrapper's side then does with it: status, frames, commands, start data, the panel. Records: extra =
 * what (4 bits), an argument (4 bits).
 *
 * The participant (net/client/participant.h) in a link without its thread and without a network. All that it
 * says must be what the protocol knows. */
#include "tests/fuzz/fuzz.h"

#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <sodium.h>

#include "core_wrapper/match/match.h"
#include "core_wrapper/match/command.h"
#include "core_wrapper/match/overlay.h"
#include "net/transport/link_state.h"

static struct kl_match match;

enum {
    MESSAGE,
    MESSAGE_TOO,
    UPDATE,
    UPDATE_TOO,
    FRONTEND,
    ANSWER,
    PASS,
    LOST,
    SAY,
    PANEL,
    ORDER,
    TURN,
    STRANGER,
    PATH,
    STRAIGHT
};

static struct kl_link *l;
static struct kl_held *held;
static uint64_t now_us;
static uint32_t next_frame;

uint64_t kl_now_us(void) {
    return now_us;
}

/* --- stand-ins for frontend and core --- */

static bool front(unsigned cmd, void *data) {
    if (cmd != RETRO_ENVIRONMENT_SET_MESSAGE) return cmd == RETRO_ENVIRONMENT_GET_LOG_INTERFACE;
    for (const char *c = ((const struct retro_message *)data)->msg; *c; c++)
        MUST((unsigned char)*c >= 0x20 && *c != 0x7f); /* no relay and no player writes to a terminal */
    return true;
}
static void no_log(enum retro_log_level level, const char *format, ...) {
    (void)level, (void)format;
}
static uint8_t machine[16];
static void reset(void) {}
static size_t serialize_size(void) {
    return sizeof machine;
}
static bool serialize(void *data, size_t size) {
    memcpy(data, machine, size);
    return true;
}
static bool unserialize(const void *data, size_t size) {
    memcpy(machine, data, size);
    return true;
}
static void *no_memory(unsigned id) {
    (void)id;
    return NULL;
}
static size_t no_bytes(unsigned id) {
    (void)id;
    return 0;
}
static bool eject(bool out) {
    (void)out;
    return true;
}
static bool insert(unsigned i) {
    MUST(i <= 3);
    return true;
}
static unsigned images(void) {
    return 3;
}

static void begin_wrapper(void) {
    static const struct retro_variable options[] = {{"speed", "Speed; normal|fast"}, {NULL, NULL}};
    kl_options_free(&match.emu.options);
    kl_world_release(match.emu.world);
    memset(&match, 0, sizeof match);
    kl_match_init(&match);
    match.emu.world = kl_world_take();
    match.control.socket = -1;
    match.front.call.environment = front;
    match.front.screen = (struct kl_screen){.log = no_log, .asked = true};
    match.emu.core.reset = reset;
    match.emu.core.serialize_size = serialize_size;
    match.emu.core.serialize = serialize;
    match.emu.core.unserialize = unserialize;
    match.emu.core.get_memory_data = no_memory;
    match.emu.core.get_memory_size = no_bytes;
    match.emu.told.disk_control.set_eject_state = eject;
    match.emu.told.disk_control.set_image_index = insert;
    match.emu.told.disk_control.get_num_images = images;
    MUST(kl_options_declare(&match.emu.options, RETRO_ENVIRONMENT_SET_VARIABLES, options));
    match.link = l;
    kl_latch_init(&match.emu.latch, false);
    kl_overlay_reset(&match);
    kl_command_begin(&match);
}

/* --- the link --- */

/* A session with keys, as if the relay had answered; ENet is connected. */
static void connect_again(void) {
    l->participant.dial.s.heard_us = l->participant.dial.s.answered_us = now_us;
    kl_participant_connected(&l->participant);
}

static void begin(const uint8_t kind) {
    if (!l) {
        MUST(sodium_init() >= 0);
        held = calloc(KL_HELD_FRAMES, sizeof *held);
        l = calloc(1, sizeof *l);
        MUST(held && l);
    }
    memset(l, 0, sizeof *l);
    now_us = 1000000;
    next_frame = 0;
    struct kl_participant_config config = {.relay = "relay:1",
                                           .fresh = kind & 1,
                                           .has_password = kind & 2,
                                           .direct = kind & 8,
                                           .held = held,
                                           .held_frames = KL_HELD_FRAMES};
    static const uint8_t seed[KL_SEAT_SEED] = {1};
    kl_seat_from_seed(&config.seat, seed);
    strcpy(config.hello.room, "arcade");
    strcpy(config.hello.name, "ann");
    config.hello.consent = kind & 8 ? KL_CONSENT_ROOM : KL_CONSENT_NONE;
    config.hello.params = (struct kl_params){.players = 2, .fps_uhz = 60000000};
    kl_participant_init(&l->participant, &config);
    kl_participant_begin(&l->participant, now_us);
    if (kind & 4) l->participant.door.state = KL_PARTICIPANT_PASSED;
    l->kick_fd = eventfd(0, EFD_NONBLOCK);
    connect_again();
    begin_wrapper();
}

static void end(void) {
    kl_command_end(&match);
    match.link = NULL; /* its thread has never been started */
    kl_participant_free(&l->participant);
    close(l->kick_fd);
}

static void say_straight(void) {
    uint8_t bytes[KL_PARTICIPANT_DIRECT_BYTES], host[KL_PEER_HOST];
    uint16_t port;
    unsigned n = 0;
    while (kl_participant_direct_out(&l->participant, now_us, host, &port, bytes) > 0)
        MUST(++n <= KL_PEERS_MAX && kl_participant_knows(&l->participant, host, port));
}

/* From a player that PEERS has named: bytes as they are, or sealed with its key. */
static void straight(const struct record *r, unsigned argument) {
    static uint8_t bytes[70000];
    const struct kl_participant_direct *d = &l->participant.direct;
    if (d->count == 0 || r->len > sizeof bytes - KL_SEAL_OVERHEAD) return;
    const struct kl_participant_peer *p = &d->peer[(argument >> 1) % d->count];
    const struct kl_peer *is = &p->is;
    size_t len = r->len;
    memcpy(bytes, r->bytes, len);
    if (argument & 1) {
        struct kl_session_keys keys = {.cipher = KL_CIPHER_CHACHA20, .session = is->session};
        struct kl_sealer sealer;
        kl_sealer_init(&sealer, &keys, is->in);
        sealer.counter = p->opener.highest;
        len = kl_seal(&sealer, KL_SEAL_DIRECT, r->bytes, r->len, bytes);
    }
    kl_participant_direct_in(&l->participant, is->host, is->port, bytes, len, now_us);
}

/* Sends as the thread would now. */
static void say(void) {
    say_straight();
    static struct kl_msg m, read;
    uint8_t bytes[KL_MSG_MAX], kind;
    const struct kl_channels room = {.bulk_room = 1};
    for (unsigned n = 0; n < 20 && kl_participant_say(&l->participant, &room, now_us, &m); n++) {
        int len = kl_msg_encode(&m, bytes, sizeof bytes);
        MUST(len > 0 && kl_msg_decode(&read, bytes, (size_t)len) == KL_OK);
    }
    for (unsigned n = 0; n < KL_BURST_MAX; n++)
        MUST(kl_participant_send(&l->participant, now_us, &kind, bytes, KL_DATAGRAM_MAX) <= KL_DATAGRAM_MAX);
}

static void message(const struct record *r) {
    uint8_t salt[KL_DOOR_SALT];
    static const uint8_t secret[KL_DOOR_SECRET] = {9};
    static struct kl_msg m;
    if (kl_msg_decode(&m, r->bytes, r->len) != KL_OK) return; /* it would be over */
    kl_participant_heard(&l->participant, now_us);
    kl_participant_message(&l->participant, r->bytes, r->len, now_us);
    (void)kl_participant_welcomed(&l->participant);
    if (kl_participant_wants_secret(&l->participant, salt))
        kl_participant_secret(&l->participant, salt[0] & 1 ? NULL : secret);
}

/* --- the frontend's thread --- */

static void look(void) {
    static struct kl_participant_status *const s = &match.status;
    struct kl_text notice;
    kl_participant_status(kl_link_hold(l), s);
    kl_link_release(l);
    MUST(memchr(s->reason, 0, sizeof s->reason) && s->roster.count <= KL_MAX_CLIENTS);
    MUST(!s->start || s->start_len == s->data_total);
    MUST(s->data_done <= s->data_total && (s->data_total <= KL_START_BYTES_MAX || s->reason[0]));
    while (kl_participant_notice(&l->participant, &notice))
        kl_frontend_say(&match.front, KL_SCREEN_INFO, 4000, "%s", notice.text);
}

static void obey(const struct kl_frame *f) {
    const struct kl_commands *set =
        f->flags & KL_FRAME_COMMANDS ? kl_participant_commands(&l->participant, f->number) : NULL;
    match.play.run.number = f->number;
    for (unsigned i = 0; set && i < set->count; i++)
        MUST(
            kl_command_obey(&match, &match.play.run, &set->at[i])); /* only the shown core may be unable to */
}

static void run_frames(unsigned most) {
    static struct kl_frame f;
    struct kl_input in[KL_MAX_SEATS] = {{.joypad = (uint16_t)now_us}};
    struct kl_plan p = kl_participant_plan(&l->participant, most, now_us);
    MUST(p.runs <= most && p.runs <= p.backlog && p.samples <= KL_WINDOW_FRAMES);
    for (uint32_t i = 0; i < p.samples; i++)
        kl_participant_sample(&l->participant, in, now_us);
    for (uint32_t i = 0; i < p.runs && kl_participant_take(&l->participant, &f); i++) {
        if (f.number == 0) next_frame = 0; /* begun anew */
        MUST(f.number == next_frame++);
        obey(&f);
        kl_latch_frame(&match.emu.latch, &f, NULL, NULL);
        for (unsigned port = 0; port < KL_MAX_SEATS; port++)
            MUST(kl_command_seat(&match, port) < KL_MAX_SEATS);
        if (f.flags & KL_FRAME_HASH)
            kl_participant_hash(&l->participant, &(struct kl_hash){.frame = f.number, .has = KL_HASH_RAM});
    }
}

/* The things that the link waits for. */
static void answer(const struct record *r) {
    struct kl_facts facts = {0};
    static struct kl_participant_status s;
    uint8_t *given;
    switch (l->participant.status.phase) {
    case KL_PARTICIPANT_SEND_START:
        given = malloc(r->len + 1);
        MUST(given);
        memcpy(given, r->bytes, r->len);
        if (!kl_participant_give_start(&l->participant, given, r->len)) free(given);
        break;
    case KL_PARTICIPANT_LOAD:
        kl_participant_status(&l->participant, &s);
        MUST(s.start && s.start_len == s.data_total);
        for (size_t i = 0; i < s.start_len; i += 4096)
            machine[0] ^= s.start[i];
        kl_participant_ready(&l->participant, &facts);
        break;
    default: break;
    }
}

static void panel(unsigned turn) {
    static uint8_t pixels[160 * 100 * 2];
    static struct kl_panel p;
    static struct kl_graph graph;
    static struct kl_card card;
    struct kl_canvas c = {.pixels = pixels, .width = 160, .height = 100, .pitch = 320, .turn = turn};
    char line[KL_PANEL_LINE];
    int percent;
    c.format = RETRO_PIXEL_FORMAT_RGB565;
    kl_canvas_measure(&c);
    match.overlay.away.shown = (uint8_t)match.status.lock.away;
    kl_panel_fill(&match, &p);
    enum kl_panel_tone tone = kl_panel_state(&p, line, &percent);
    MUST(memchr(line, 0, sizeof line) && percent >= -1 && percent <= 100);
    kl_panel_draw_line(&c, c.rows, &(struct kl_panel_words){line, 0, tone, percent});
    if (kl_panel_card(&p, &card)) kl_panel_draw_card(&card, &c);
    kl_panel_begin(&p, line);
    MUST(memchr(line, 0, sizeof line));
    kl_panel_draw(&p, &graph, &c);
    kl_panel_desync(&p, line);
}

/* Nobody answers while it returns: it asks, and then ENet is connected all the same. */
static void lose(bool bye) {
    uint8_t init[KL_INIT_BYTES];
    kl_participant_hung_up(&l->participant, bye, now_us);
    while (kl_dial_send(&l->participant.dial, init)) {
    }
}

static void step(const struct record *r) {
    unsigned argument = r->extra >> 4;
    switch (r->extra & 15) {
    case UPDATE:
    case UPDATE_TOO: kl_participant_update(&l->participant, r->bytes, r->len, now_us); break;
    case FRONTEND: run_frames(argument + 1); break;
    case ANSWER: answer(r); break;
    case PASS: now_us += (r->len ? r->bytes[0] + 1u : 1u) * 4000u; break;
    case LOST: lose(argument & 1); break;
    case SAY: say(); break;
    case PANEL: panel(argument & 3); break;
    case ORDER: kl_participant_order(&l->participant, (uint8_t)argument, r->bytes, r->len); break;
    case TURN: kl_participant_turn(&l->participant, now_us); break;
    case STRANGER: kl_participant_stranger(&l->participant, r->bytes, r->len, now_us); break;
    case STRAIGHT: straight(r, argument); break;
    case PATH: kl_participant_challenge(&l->participant, r->bytes, r->len); break;
    default: message(r);
    }
    if (l->participant.dial.s.stage != KL_DIAL_CONNECTED) connect_again();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct record r;
    if (size < 1) return 0;
    begin(*data);
    data++, size--;
    for (unsigned n = 0; n < 300 && !kl_participant_is_over(&l->participant) && next_record(&data, &size, &r);
         n++) {
        step(&r);
        look();
    }
    end();
    return 0;
}

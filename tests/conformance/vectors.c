/* vectors - the C code's words on the wire, for a decoder written from net/PROTOCOL.md alone (decode.py).
 *
 *   vectors          JSON lines: {"what": …, "seats": N, "hex": …, "fields": …} (fields.h)
 *   vectors --judge  reads lines "WHAT SEATS HEX" and answers each with the fields, or
 *                    "malformed", or "version"
 *
 * seats: of the client, for a CTRL; else 0. Strings stand as hex. The fields are laid out in decode.py. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core_wrapper/netplay/channel.h"
#include "tests/conformance/fields.h"
#include "net/engine/lock_wire.h"
#include "net/engine/msg.h"
#include "net/platform/output.h"

static void vector(const char *what, unsigned seats, const uint8_t *b, size_t len) {
    if (len == 0) abort();
    printf("{\"what\":\"%s\",\"seats\":%u,\"hex\":", what, seats);
    print_hex(b, len);
    printf(",\"fields\":");
    if (print_fields(what, seats, b, len) != 0) abort();
    printf("}\n");
}

/* Every group moves now and then, each at its own rhythm. */
static struct kl_input input_at(uint32_t n) {
    struct kl_input in = {.joypad = (uint16_t)(n / 2 * 0x1111), .mouse_buttons = (uint16_t)(n / 5)};
    if (n % 3 == 1) in.mouse_x = (int16_t)(n * 700), in.mouse_y = (int16_t) - (int32_t)n;
    for (unsigned i = 0; i < 4; i++)
        in.stick[i] = (int16_t)(n / 4 * 9000 * (i + 1));
    in.trigger[1] = (int16_t)(n / 6 * 5000);
    in.gun_x = (int16_t)(n / 7 * 31);
    in.gun_buttons = n / 7 * 0x12345 & 0xfffff;
    in.touch[n & 1] = (struct kl_touch){(int16_t)(n / 8), -5, n % 8 > 3};
    in.key_count = (uint8_t)(n % 5 == 4 ? 1 + n % KL_KEYS : 0);
    for (unsigned i = 0; i < in.key_count; i++)
        in.key[i] = (struct kl_key){(uint16_t)(n * 77 + i), (uint16_t)(n * 13),
                                    (n % 2 ? 0x10ffff - n : 0) & KL_UTF32, i % 2};
    return in;
}

static void ctrl_vectors(void) {
    static struct kl_input ring[KL_WINDOW_FRAMES][KL_MAX_SEATS];
    uint8_t buf[KL_DATAGRAM_MAX];
    for (uint32_t n = 0; n < KL_WINDOW_FRAMES; n++)
        for (unsigned s = 0; s < KL_MAX_SEATS; s++)
            if (n % 50 < 20) ring[n][s] = input_at(n + 17 * s);
    for (unsigned seats = 0; seats <= KL_MAX_SEATS; seats += seats < 2 ? 1 : 3)
        for (uint32_t count = 0; count < 12; count += 3) {
            struct kl_ctrl c = {.stamp = 0xfffffff0 + count,
                                .has_echo = count > 3,
                                .echo = 12345,
                                .hold_us = 300000,
                                .frame_acked = 1000000,
                                .backlog = 3,
                                .away = seats % 2,
                                .resume = count % 2,
                                .sparing = seats % 3 == 1,
                                .sample_late = 9,
                                .turn_late = count == 6 ? 300 : 0,
                                .sample_batch = (uint8_t)count,
                                .sample_first = 250 + count};
            c.sample_count = seats ? count : 0;
            c.need_count = (uint8_t)(count * 2);
            c.need_first = c.need_count ? 999000 : 0;
            for (unsigned i = 0; i < c.need_count; i++)
                c.need[i] = (uint8_t)(i * 11);
            size_t len = kl_ctrl_write(&c, ring, seats, buf, sizeof buf);
            if (len > 0) vector("ctrl", seats, buf, len);
        }
}

/* Commands before keyframe f, of every length that the room allows. */
static struct kl_commands commands_at(uint32_t f, unsigned count) {
    struct kl_commands set = {.keyframe = f, .count = (uint8_t)count};
    for (unsigned i = 0; i < count; i++) {
        struct kl_command *c = &set.at[i];
        c->client = i % 3 == 2 ? KL_RELAY_CLIENT : (uint8_t)i;
        c->kind = (uint8_t)(i < 3 ? i + 1 : 13 + i);
        c->len = (uint8_t)(count == 1 ? KL_COMMAND_BYTES : i * 380 / count / count);
        for (unsigned k = 0; k < c->len; k++)
            c->data[k] = (uint8_t)(f + k * 7);
    }
    return set;
}

static struct kl_frame ring[KL_KEPT_FRAMES];
static struct kl_commands commands[KL_COMMAND_SETS];

static void fill_ring(void) {
    unsigned sets = 0;
    static const uint16_t spacing[] = {1, 4, 30, 5, 2};
    for (uint32_t f = 0, k = 0, i = 0; f < KL_WINDOW_FRAMES; f++) {
        if (f == k + spacing[i % 5]) k = f, i++;
        ring[f] = (struct kl_frame){
            .number = f, .keyframe = k, .spacing = spacing[i % 5], .active = (uint8_t)(i | 1)};
        if (f == k) ring[f].flags = (uint8_t)(KL_FRAME_KEY | (i % 3 == 2 ? KL_FRAME_HASH : 0));
        if (i % 7 > 4) ring[f].flags |= KL_FRAME_BY_CLOCK;
        if (f == k && i % 2 && sets < KL_COMMAND_SETS) {
            ring[f].flags |= KL_FRAME_COMMANDS;
            commands[sets] = commands_at(f, 1 + sets % KL_COMMANDS_MAX);
            sets++;
        }
        for (unsigned s = 0; s < KL_MAX_SEATS; s++)
            if (f % 60 < 15 && (f / 60 + s) % 3 == 0) ring[f].in[s] = input_at(f + s);
    }
}

static void update_vectors(void) {
    uint8_t buf[KL_DATAGRAM_MAX];
    for (uint32_t first = 0; first < 200; first += 9)
        for (uint32_t count = 0; count < 50; count += 7) {
            struct kl_update u = {.stamp = first * 1000,
                                  .has_echo = first % 2,
                                  .echo = UINT32_MAX,
                                  .hold_us = UINT32_MAX,
                                  .next_sample = first + 3,
                                  .waiting_for = (uint8_t)first,
                                  .away = (uint8_t)(first * 5),
                                  .presence = (uint8_t)(first % 3),
                                  .paused = count % 3 == 1,
                                  .has_schedule = count % 2,
                                  .due_us = (int64_t)first * 100000 - 5000000,
                                  .has_mark = count % 2,
                                  .mark = {1, (uint8_t)first, 3, 4, 5, 6, 7, (uint8_t)count},
                                  .first = first,
                                  .count = count};
            struct kl_frames_from from = {ring, KL_KEPT_FRAMES, commands, KL_COMMAND_SETS, NULL};
            size_t len = kl_update_write(&u, &from, buf, sizeof buf);
            if (len > 0) vector("update", 0, buf, len);
        }
}

static void message(const struct kl_msg *m) {
    static uint8_t buf[KL_MSG_MAX];
    int len = kl_msg_encode(m, buf, sizeof buf);
    vector("message", 0, buf, len > 0 ? (size_t)len : 0);
}

static void count_up(uint8_t *out, size_t len, uint8_t from) {
    for (size_t i = 0; i < len; i++)
        out[i] = (uint8_t)(from * 40 + i);
}

static void seat_messages(void) {
    static struct kl_msg m;
    for (unsigned n = 0; n < 3; n++) {
        m = (struct kl_msg){
            .kind = KL_MSG_RETURN,
            .back = {.room = "arcade", .fresh = n == 0, .can_bring = n == 1, .consent = (uint8_t)n}};
        count_up(m.back.token, sizeof m.back.token, 1);
        count_up(m.back.seat_key, sizeof m.back.seat_key, 2);
        count_up(m.back.signature, sizeof m.back.signature, 3);
        if (n) count_up(m.back.digest, sizeof m.back.digest, 4);
        if (n) m.back.have = 70000, m.back.first = n == 2 ? 70000 : 0, m.back.tags = 9000;
        if (n == 0) kl_facts_add(&m.back.facts, "core", "nestopia 1.52");
        message(&m);
    }
    for (uint8_t what = 0; what < 2; what++) {
        m = (struct kl_msg){.kind = KL_MSG_DOOR, .door.what = what};
        count_up(m.door.salt, sizeof m.door.salt, 4);
        if (what == KL_PROVE) count_up(m.door.share, sizeof m.door.share, 5);
        message(&m);
        m = (struct kl_msg){.kind = KL_MSG_PROVE, .prove.what = what};
        count_up(m.prove.share, sizeof m.prove.share, 1);
        if (what == KL_PROVE) count_up(m.prove.mac, sizeof m.prove.mac, 2);
        message(&m);
    }
    m = (struct kl_msg){.kind = KL_MSG_PROVED};
    count_up(m.proved.mac, sizeof m.proved.mac, 3);
    message(&m);
}

static void put_piece(struct kl_past *p, uint32_t first) {
    struct kl_frames_from from = {ring, KL_KEPT_FRAMES, commands, KL_COMMAND_SETS, NULL};
    uint32_t count;
    p->len = (uint16_t)kl_piece_write(&from, first, KL_PIECE_FRAMES, p->bytes, sizeof p->bytes, &count);
}

static void bulk_messages(void) {
    static struct kl_msg m;
    for (uint32_t first = 0; first < 200; first += 60) {
        m = (struct kl_msg){.kind = KL_MSG_HISTORY};
        put_piece(&m.past, first);
        message(&m);
    }
    m = (struct kl_msg){.kind = KL_MSG_TAGS, .tags = {.first = 9000, .end_frame = 70010, .count = 2}};
    count_up(m.tags.tag[1], KL_TAG_BYTES, 1);
    message(&m);
    m = (struct kl_msg){.kind = KL_MSG_TICKET,
                        .piece = {.offset = 4, .total = 10, .len = 6, .bytes = "sealed"}};
    message(&m);
    for (uint8_t what = KL_BRING_TICKET; what <= KL_BRING_START; what++) {
        m = (struct kl_msg){.kind = KL_MSG_BRING, .bring.what = what};
        m.bring.piece = (struct kl_piece){.offset = 4, .total = 10, .len = 6, .bytes = "pieces"};
        message(&m);
    }
    m.bring.piece = (struct kl_piece){0};
    message(&m);
    m.bring.what = KL_BRING_HISTORY;
    put_piece(&m.bring.past, 40);
    message(&m);
    m.bring.what = KL_BRING_TAGS;
    m.bring.tags = (struct kl_tags){.first = 1, .end_frame = 5, .count = KL_TAGS_MAX};
    message(&m);
    m.bring.what = KL_BRING_MARK;
    m.bring.mark = (struct kl_mark){.end = UINT32_MAX, .mark = {8, 7, 6, 5, 4, 3, 2, 1}};
    message(&m);
    m.bring.what = KL_BRING_END;
    message(&m);
    m = (struct kl_msg){.kind = KL_MSG_WANT, .want = {3, 70000}};
    message(&m);
}

static void snapshot_messages(void) {
    static struct kl_msg m;
    m = (struct kl_msg){.kind = KL_MSG_STATE, .state = {.keyframe = 606}};
    message(&m);
    m.state = (struct kl_state_said){.keyframe = 607, .bytes = KL_SNAPSHOT_MAX, .has = true};
    count_up(m.state.hash, sizeof m.state.hash, 4);
    message(&m);
    for (uint8_t kind = KL_MSG_GIVE; kind; kind = kind == KL_MSG_GIVE ? KL_MSG_SNAPSHOT : 0) {
        m = (struct kl_msg){.kind = kind,
                            .shot = {600, {.total = 4004, .len = KL_BULK_MAX, .bytes = {1, 2}}}};
        message(&m);
        m.shot.piece = (struct kl_piece){.offset = KL_SNAPSHOT_MAX - 3, .total = KL_SNAPSHOT_MAX, .len = 3};
        m.shot.based = kind == KL_MSG_GIVE;
        message(&m);
    }
    for (uint8_t how = 0; how <= KL_HEALED_NOT; how++) {
        m = (struct kl_msg){.kind = KL_MSG_HEALED, .healed = {600, 660, how}};
        message(&m);
    }
    m = (struct kl_msg){.kind = KL_MSG_ASK, .ask = {600}};
    message(&m);
    m.ask = (struct kl_ask){600, true, 540, {0}};
    count_up(m.ask.hash, sizeof m.ask.hash, 5);
    message(&m);
    m = (struct kl_msg){.kind = KL_MSG_OFFER, .offer = {600, 100, 20000, 1500, true, {9}}};
    message(&m);
}

static const struct kl_params params = {KL_POLICY_BOUNDED, true, true, 8, 30, 12, 250, 60, 60098800, true,
                                        KL_DESYNC_IGNORE};

static void joining_messages(void) {
    static struct kl_msg m;
    m = (struct kl_msg){.kind = KL_MSG_HELLO,
                        .hello = {.version = KL_PROTOCOL_VERSION,
                                  .name = "Zo\xc3\xab",
                                  .room = "arcade",
                                  .seats_wanted = 2,
                                  .params = params}};
    message(&m);
    m.hello.door = KL_DOOR_UNLISTED | KL_DOOR_PASSWORD | KL_DOOR_LET_GO;
    m.hello.consent = KL_CONSENT_ROOM;
    m.hello.seat_time_s = 300;
    count_up(m.hello.seat_key, sizeof m.hello.seat_key, 1);
    kl_facts_add(&m.hello.facts, "core", "nestopia 1.52");
    kl_facts_add(&m.hello.facts, "content", "xxh3 0123 (\xe2\x82\xac.nes)");
    m.hello.params = (struct kl_params){.players = 1, .fps_uhz = 1000000};
    message(&m);
    m = (struct kl_msg){.kind = KL_MSG_DATA,
                        .data = {.offset = 1000, .total = 1u << 24, .len = 5, .bytes = {1, 2, 3}}};
    message(&m);
    m.data.len = 0;
    message(&m);
    m = (struct kl_msg){.kind = KL_MSG_READY};
    kl_facts_add(&m.ready.facts, "system", "none");
    message(&m);
}

static void clients_messages(void) {
    static struct kl_msg m;
    for (unsigned has = 0; has < 24; has++) {
        if (has & 24 && !(has & 2)) continue;
        m = (struct kl_msg){.kind = KL_MSG_HASH,
                            .hash = {59, has & 1, has & 2, has & 4, 1, UINT64_MAX, 3, has & 8, has & 16}};
        message(&m);
    }
    static const uint8_t texts[] = {KL_MSG_BYE, KL_MSG_REFUSE, KL_MSG_NOTICE};
    for (unsigned i = 0; i < 3; i++) {
        m = (struct kl_msg){.kind = texts[i],
                            .text = {(uint8_t)(i + 1), "content differs: room has a, you have b"}};
        message(&m);
    }
    m = (struct kl_msg){.kind = KL_MSG_COMMAND, .order = {3, 0, {0}}};
    message(&m);
    m.order = (struct kl_order){255, KL_COMMAND_BYTES, {1, 2, 3, [KL_COMMAND_BYTES - 1] = 4}};
    message(&m);
}

static void relays_messages(void) {
    static struct kl_msg m;
    m = (struct kl_msg){.kind = KL_MSG_WELCOME, .welcome = {0xfeedbeef, 15, 0xc0, true, params}};
    count_up(m.welcome.room_id, sizeof m.welcome.room_id, 2);
    count_up(m.welcome.token, sizeof m.welcome.token, 3);
    m.welcome.seat_time_s = 60;
    message(&m);
    m.welcome = (struct kl_welcome){7, KL_WATCHER, 0, false, params, {1}, {0}, 0};
    message(&m);
    m = (struct kl_msg){
        .kind = KL_MSG_ROSTER,
        .roster = {2,
                   8,
                   3,
                   5,
                   15,
                   {{0, 1, 5, true, "ann"}, {3, 2, 6, false, "bob"}, {15, 0xfe, 0, false, ""}},
                   300,
                   5,
                   3,
                   {{15, true, "cat"}, {255, false, "dan"}, {0, false, ""}}}};
    message(&m);
    m = (struct kl_msg){.kind = KL_MSG_PREPARE, .prepare = {1700000000, 4000}};
    message(&m);
    m = (struct kl_msg){.kind = KL_MSG_SEND};
    message(&m);
    m.bare = true;
    message(&m);
    m = (struct kl_msg){.kind = KL_MSG_VERDICT, .verdict = {119, 59, 2, true, 0x8001, 513, 60}};
    message(&m);
    m = (struct kl_msg){.kind = KL_MSG_REWIND, .rewind = {600}};
    message(&m);
    m = (struct kl_msg){.kind = KL_MSG_SEAT, .seat = {15, 0x81}};
    message(&m);
}

static void message_vectors(void) {
    joining_messages();
    clients_messages();
    relays_messages();
    seat_messages();
    bulk_messages();
    snapshot_messages();
}

/* --- RetroArch's packet channel --- */

static void packet(const struct kl_channel_packet *p) {
    uint8_t b[KL_CHANNEL_MAX];
    int len = kl_channel_encode(p, b, sizeof b);
    if (len > 0)
        vector("channel", 0, b, (size_t)len);
    else
        abort();
}

static void channel_vectors(void) {
    struct kl_channel_packet p = {.kind = KL_CHANNEL_GREET, .version = KL_CHANNEL_VERSION, .protocol = 515};
    packet(&p);
    p = (struct kl_channel_packet){.kind = KL_CHANNEL_TICKET, .hosted = true, .url.port = 55435};
    strcpy(p.url.host, "198.51.100.7");
    strcpy(p.url.room, "np \xc3\xa9%/#");
    strcpy(p.url.fingerprint, "wgythom7kfxgzawo3kes55npkd5ewttr");
    packet(&p);
    packet(&(struct kl_channel_packet){.kind = KL_CHANNEL_OUTCOME, .outcome = KL_CHANNEL_FAILED});
    packet(&(struct kl_channel_packet){.kind = KL_CHANNEL_REFUSE, .text = "no room"});
    packet(&(struct kl_channel_packet){.kind = KL_CHANNEL_BEAT});
    p = (struct kl_channel_packet){.kind = KL_CHANNEL_CARRY, .taken = 0xfeedbeef};
    packet(&p);
    p.len = KL_CARRY_MAX;
    count_up(p.datagram, p.len, 7);
    packet(&p);
}

/* --- judging --- */

static size_t parse_hex(const char *text, uint8_t *out, size_t cap) {
    size_t n = 0;
    for (; n < cap && isxdigit((unsigned char)text[0]) && isxdigit((unsigned char)text[1]); text += 2) {
        char pair[3] = {text[0], text[1], 0};
        out[n++] = (uint8_t)strtoul(pair, NULL, 16);
    }
    return n;
}

static void judge(void) {
    static char line[40000], what[16], hex[32000];
    static uint8_t bytes[16000];
    while (fgets(line, sizeof line, stdin)) {
        unsigned seats = 0;
        hex[0] = 0;
        if (sscanf(line, "%15s %u %31999s", what, &seats, hex) < 2) return;
        size_t len = parse_hex(hex, bytes, sizeof bytes);
        uint8_t *exact = malloc(len ? len : 1);
        if (!exact) abort();
        memcpy(exact, bytes, len);
        int result = print_fields(what, seats, exact, len);
        puts(result == 0 ? "" : result == KL_E_VERSION ? "version" : "malformed");
        free(exact);
    }
}

int main(int argc, char **argv) {
    kl_output_plain();
    if (argc == 2 && strcmp(argv[1], "--judge") == 0) return judge(), 0;
    if (argc > 1) return fputs("vectors [--judge]\n", stderr), 2;
    fill_ring();
    ctrl_vectors();
    update_vectors();
    message_vectors();
    channel_vectors();
    return 0;
}

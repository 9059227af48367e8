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
#include "net/platform/standard.h"
#include "tests/lib/any_message.h"

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
    in.all_up = n % 10 > 7;
    for (unsigned i = 0; i < in.key_count; i++)
        in.key[i] = (struct kl_key){(uint16_t)((n * 77 + i) % KL_KEY_CODES), (uint16_t)(n * 13),
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
                                .guesses = count == 9,
                                .sample_late = 9,
                                .turn_late = count == 6 ? 300 : 0,
                                .sample_batch = (uint8_t)count,
                                .sample_first = 250 + count};
            c.sample_count = seats ? count : 0;
            c.need_count = (uint8_t)(count * 2);
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

static void hints_at(struct kl_hints *h, uint32_t next) {
    h->first = next - 1 - next % 9;
    h->ports = (uint8_t)(next % 255 + 1);
    h->held = h->ports & 0x22;
    for (unsigned s = 0; s < KL_MAX_SEATS; s++) {
        h->count[s] = (uint8_t)(1 + (next + s) % KL_HINTS_MAX);
        for (unsigned i = 0; i < h->count[s]; i++)
            h->joypad[s][i] = (uint16_t)(i / 5 * 1000 * s);
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
                                  .first = first,
                                  .count = count};
            struct kl_frames_from from = {
                .ring = ring, .places = KL_KEPT_FRAMES, .sets = commands, .set_count = KL_COMMAND_SETS};
            if (first % 4 == 1) hints_at(&u.hints, first + count);
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

static void put_piece(struct kl_past *p, uint32_t first) {
    struct kl_frames_from from = {
        .ring = ring, .places = KL_KEPT_FRAMES, .sets = commands, .set_count = KL_COMMAND_SETS};
    uint32_t count;
    p->len = (uint16_t)kl_piece_write(&from, first, KL_PIECE_FRAMES, p->bytes, sizeof p->bytes, &count);
}

static void history_messages(void) {
    static struct kl_msg m;
    for (uint32_t first = 0; first < 200; first += 60) {
        m = (struct kl_msg){.kind = KL_MSG_HISTORY};
        put_piece(&m.past, first);
        message(&m);
    }
}

/* Some of each kind, from its table. */
static void message_vectors(void) {
    static struct kl_msg m;
    struct rng rng = {1};
    for (uint8_t kind = 0; kind <= KL_MSG_LAST; kind++)
        for (unsigned n = 0; n < 16 && any_message(&m, kind, &rng); n++)
            message(&m);
    history_messages();
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

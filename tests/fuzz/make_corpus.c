/* make_corpus FOLDER - writes the seed corpus of every target: FOLDER/<target>/<name>.
 *
 * Made by our own encoders, so that mutations start from what is nearly right. Run it again where the wire
 * changes: make corpus */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core_wrapper/match/snapshot_form.h"
#include "core_wrapper/core/snapshot_pack.h"
#include "tests/fuzz/corpus.h"
#include "tests/lib/any_message.h"
#include "tests/lib/engine_turn.h"
#include "tests/fuzz/fuzz.h"
#include "net/session/handshake.h"
#include "net/transport/strangers.h"
#include "net/engine/lock_client.h"
#include "net/engine/msg.h"
#include "tests/lib/lock_memory.h"
#include "core_wrapper/start/start.h"

static const char *top;

void save(const char *target, const char *name, const void *bytes, size_t len) {
    char path[600];
    snprintf(path, sizeof path, "%s/%s", top, target);
    if (mkdir(path, 0755) != 0 && errno != EEXIST) perror(path), exit(1);
    snprintf(path, sizeof path, "%s/%s/%s", top, target, name);
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(bytes, 1, len, f) != len || fclose(f) != 0) perror(path), exit(1);
}

static void save_text(const char *target, const char *name, const char *text) {
    save(target, name, text, strlen(text));
}

void add(struct list *l, uint8_t extra, const uint8_t *bytes, size_t len) {
    if (l->len + 3 + len > sizeof l->bytes) return;
    uint8_t *at = l->bytes + l->len;
    at[0] = extra;
    at[1] = (uint8_t)len;
    at[2] = (uint8_t)(len >> 8);
    if (len) memcpy(at + 3, bytes, len);
    l->len += 3 + len;
}

static void fill(struct kl_input *in, unsigned n, bool rich) {
    memset(in, 0, sizeof *in);
    in->joypad = (uint16_t)(n / 3 % 5);
    if (!rich) return;
    in->stick[n % 4] = (int16_t)(n * 1000);
    in->mouse_x = (int16_t)(n % 7 - 3);
    in->mouse_buttons = n % 2;
    in->gun_x = (int16_t)n;
    in->touch[0] = (struct kl_touch){(int16_t)n, 5, n % 2};
    in->key_count = (uint8_t)(n % 3);
    in->all_up = n % 16 == 15;
    for (unsigned i = 0; i < in->key_count; i++)
        in->key[i] = (struct kl_key){(uint16_t)(97 + i), 0, (97 + i) & KL_UTF32, n % 2};
}

static const unsigned at_index[] = {0, 3, 9};
static struct kl_lock_relay room;
static struct kl_client client[3];

static void press(void *rich, uint32_t sample, struct kl_input in[KL_MAX_SEATS]) {
    for (unsigned s = 0; s < KL_MAX_SEATS; s++)
        fill(&in[s], sample + s, *(const bool *)rich);
}

static void turn(unsigned i, uint64_t now, bool rich) {
    engine_turn(&(struct engine_player){.client = &client[i], .ctx = &rich, .press = press}, now, 4);
}

/* A short match; what goes up and what goes down to the first player is written down. */
static void play(const char *name, uint8_t kind, unsigned steps, bool rich) {
    static struct list up, down;
    static struct kl_held held[3][KL_WINDOW_FRAMES];
    struct kl_params p = {.subframes = kind & 1,
                          .clocked = kind & 2,
                          .players = 2,
                          .fps_uhz = 60098800,
                          .spacing_fixed = 3,
                          .hash_every = 60};
    uint8_t buf[KL_DATAGRAM_MAX];
    size_t len;
    up = down = (struct list){.len = 1};
    up.bytes[0] = (uint8_t)(kind | 3 << 2);
    down.bytes[0] = (uint8_t)(kind | 1 << 2);
    lock_begin(&room, &p, NULL);
    static const uint8_t seats[] = {1, 6, 0};
    for (unsigned i = 0; i < 3; i++) {
        kl_client_init(&client[i], &p, seats[i], held[i], KL_WINDOW_FRAMES, 1000000);
        kl_lock_add(&room, at_index[i], seats[i], 0);
    }
    kl_lock_start(&room, 1000000);
    for (unsigned n = 0; n < steps; n++) {
        uint64_t now = 1000000 + n * 16000;
        for (unsigned i = 0; i < 3; i++) {
            while ((len = kl_lock_send(&room, at_index[i], now, buf, sizeof buf)) > 0) {
                if (i == 0) add(&down, 16, buf, len);
                kl_client_receive(&client[i], buf, len, now);
            }
            turn(i, now, rich);
            while ((len = kl_client_send(&client[i], now, buf, sizeof buf)) > 0) {
                add(&up, (uint8_t)(i | 11 << 2), buf, len);
                kl_lock_receive(&room, at_index[i], buf, len, 0, 0, now);
            }
        }
    }
    save("fuzz_ctrl", name, up.bytes, up.len);
    save("fuzz_update", name, down.bytes, down.len);
}

static void inputs(const char *name, unsigned count, bool rich) {
    uint8_t buf[4000];
    struct kl_input_coder c;
    struct kl_input in;
    kl_input_coder_init(&c);
    struct kl_writer w = kl_writer(buf, sizeof buf);
    for (unsigned n = 0; n < count; n++) {
        fill(&in, n, rich);
        kl_input_encode(&c, &w, &in);
    }
    save("fuzz_input", name, buf, (size_t)(w.at - buf));
}

static void message(const char *name, const struct kl_msg *m) {
    static uint8_t buf[KL_MSG_MAX];
    int len = kl_msg_encode(m, buf, sizeof buf);
    if (len < 0) abort();
    save("fuzz_msg", name, buf, (size_t)len);
}

static void history(void) {
    static struct kl_msg m = {.kind = KL_MSG_HISTORY};
    static struct kl_frame ring[KL_PIECE_FRAMES];
    for (uint32_t n = 0; n < KL_PIECE_FRAMES; n++)
        ring[n] = (struct kl_frame){n, n / 4 * 4, 4, 0, 3, {{.joypad = (uint16_t)(n / 9)}}};
    struct kl_frames_from from = {.ring = ring, .places = KL_PIECE_FRAMES};
    uint32_t count;
    m.past.len = (uint16_t)kl_piece_write(&from, 2, 40, m.past.bytes, sizeof m.past.bytes, &count);
    message("history", &m);
}

/* Two of each kind, from its table. */
static void messages(void) {
    static struct kl_msg m;
    for (uint8_t kind = 0; kind <= KL_MSG_LAST; kind++) {
        struct rng rng = {kind};
        for (unsigned n = 0; n < 2 && any_message(&m, kind, &rng); n++) {
            char name[16];
            snprintf(name, sizeof name, "%02u%c", kind, 'a' + n);
            message(name, &m);
        }
    }
    history();
}

/* The input of fuzz_snapshot.c: a byte, then a snapshot, or a packed one. */
static void snapshots(void) {
    static uint8_t file[8192];
    static const uint8_t list[] = "\1\12core_speed\0022x\2\0022x\0021x\1\5other\1y"; /* NUL apart */
    struct kl_snapshot_head head = {.frame = 600, .mask = {1000, 2, {{4, 7}, {12, 12}}}};
    struct kl_outside outside = {.base_width = 320,
                                 .base_height = 240,
                                 .max_width = 640,
                                 .max_height = 480,
                                 .aspect_e6 = 1333333,
                                 .fps_uhz = 60000000,
                                 .rate_mhz = 44100000,
                                 .disk = KL_OUTSIDE_NO_DISK,
                                 .disks = KL_OUTSIDE_NO_DISK,
                                 .held = {[1] = {{[12] = 2}}},
                                 .only_count = 1,
                                 .only = {{"SET_KEYBOARD_CALLBACK", 7}},
                                 .options = list,
                                 .options_len = sizeof list - 1};
    uint8_t *state;
    size_t len, packed_len;
    uint8_t *bytes = kl_snapshot_begin(&head, &outside, NULL, 200, &state, &len);
    if (!bytes || len >= sizeof file) abort();
    memset(state, 7, 100);
    memcpy(file + 1, bytes, len);
    save("fuzz_snapshot", "plain", file, len + 1);
    uint8_t *packed = kl_snapshot_pack(bytes, len, &packed_len);
    if (!packed || packed_len >= sizeof file) abort();
    file[0] = 1;
    memcpy(file + 1, packed, packed_len);
    save("fuzz_snapshot", "packed", file, packed_len + 1);
    free(packed);
    static uint8_t base[FUZZ_BASE], slices[2 * KL_SNAPSHOT_SLICE];
    fuzz_base(base);
    memset(slices, 1, sizeof slices);
    memcpy(slices, base, sizeof base);
    packed = kl_snapshot_pack_against(base, sizeof base, slices, FUZZ_BASED, &packed_len);
    if (!packed || packed_len >= sizeof file) abort();
    file[0] = 3;
    memcpy(file + 1, packed, packed_len);
    save("fuzz_snapshot", "slices", file, packed_len + 1);
    free(packed);
    free(bytes);
}

/* One file a way in, the numbers being fuzz_session.c's. Fixed keys: the corpus is the same every time. */
static void sessions(void) {
    struct list l = {0};
    struct kl_keypair k = {.secret = "the corpus's client"};
    struct kl_hs_client c = {.offers = KL_CIPHER_CHACHA20 | KL_CIPHER_AES256GCM};
    uint8_t init[KL_INIT_BYTES], reply[103] = {KL_SEAL_MAGIC, KL_HS_COOKIE}, sealed[9] = {KL_SEAL_CTRL, 1};
    kl_keypair_complete(&k);
    c.ephemeral = k;
    kl_hs_client_init(&c, init);
    add(&l, 0, init, sizeof init);
    add(&l, 1, init, sizeof init);
    add(&l, 10, init, 250);
    add(&l, 1, init, sizeof init);
    init[2] ^= 1;
    add(&l, 0, init, sizeof init);
    save("fuzz_session", "init", l.bytes, l.len);
    l.len = 0;
    for (uint8_t i = 0; i < 6; i++) {
        reply[20] = i;
        add(&l, i % 2 ? 3 : 2, reply, 66);
    }
    reply[1] = KL_HS_REFUSAL, add(&l, 3, reply, 21);
    reply[1] = KL_HS_ANSWER, reply[18] = 1, reply[22] = KL_CIPHER_CHACHA20;
    memcpy(reply + 23, k.pub, 32), memcpy(reply + 55, k.pub, 32);
    add(&l, 3, reply, sizeof reply);
    save("fuzz_session", "replies", l.bytes, l.len);
    l.len = 0;
    static const uint16_t counters[] = {1, 3, 2, 3, 2050, 2, 3, 2051, 4200, 64, 0};
    for (unsigned i = 0; i < sizeof counters / sizeof *counters; i++) {
        sealed[0] = (uint8_t)(1 + i % 4);
        sealed[1] = (uint8_t)counters[i], sealed[2] = (uint8_t)(counters[i] >> 8);
        add(&l, 5, sealed, sizeof sealed);
    }
    static const uint8_t forged[40] = {KL_SEAL_MAGIC, KL_SEAL_UPDATE, 1, 0x20, 0, 0, 7};
    add(&l, 4, forged, sizeof forged);
    save("fuzz_session", "sealed", l.bytes, l.len);
    l.len = 0;
    static const char *links[] = {"keylock://example.org:55435/arcade#wgythom7kfxgzawo3kes55npkd5ewttr",
                                  "keylock://192.0.2.7/caf%C3%A9%20%231",
                                  "keylock://h/r?core=nestopia&game=a%20game.nes&crc=0123abcd&size=24592"};
    for (unsigned i = 0; i < 3; i++)
        add(&l, 6, (const uint8_t *)links[i], strlen(links[i]));
    static const uint8_t share[48] = {0x2c, 0x3c, 0x6b, 0x8c, 0x4f, 0x38, 0x00, 0xe7, 0xae, 0xf6, 0x86,
                                      0x40, 0x25, 0xb4, 0xed, 0x79, 0xbd, 0x59, 0x91, 0x17, 0xe4, 0x27,
                                      0xc4, 0x1b, 0xd4, 0x7d, 0x93, 0xd6, 0x54, 0xb4, 0xa5, 0x1c};
    add(&l, 7, share, sizeof share);
    add(&l, 8, init, sizeof init);
    add(&l, 9, init, 112);
    save("fuzz_session", "papers", l.bytes, l.len);
}

static bool two_lines(void *ctx, unsigned *from, struct kl_room_line *out) {
    (void)ctx;
    *out = (struct kl_room_line){.name = "arcade",
                                 .content = "croom.nes",
                                 .core = "Nestopia 1.52",
                                 .players = 2,
                                 .filled = 1,
                                 .open = 1,
                                 .watchers = 9,
                                 .password = true,
                                 .quick = true,
                                 .rtt_ms = 40,
                                 .identity = {1, 2, 3}};
    return ++*from <= 2;
}

static void strangers(void) {
    uint8_t b[KL_LIST_BYTES];
    struct kl_question q = {.kind = KL_STRANGER_PING, .version = KL_PROTOCOL_VERSION, .echo = "12345678"};
    save("fuzz_strangers", "ping", b, kl_question_write(&q, b));
    q.kind = KL_STRANGER_LIST;
    save("fuzz_strangers", "list", b, kl_question_write(&q, b));
    save("fuzz_strangers", "rooms", b, kl_rooms_write(&q, two_lines, NULL, b));
    struct kl_pong pong = {.echo = "12345678", .version = KL_PROTOCOL_VERSION, .rooms = 3, .clients = 7};
    save("fuzz_strangers", "pong", b, kl_pong_write(&pong, b));
}

/* As ENet writes them: header with time and connect id, then commands. */
static void enet(void) {
    static const uint8_t connect[] = {0x8f, 0xff, 0, 0, 0, 0,    0, 0, 0x82, 0xff, 0,    1,    0, 0,
                                      0xff, 0xff, 0, 0, 4, 0x92, 0, 1, 0,    0,    0,    0,    0, 2,
                                      0,    0,    0, 0, 0, 0,    0, 0, 0,    0,    0x13, 0x88, 0, 0,
                                      0,    32,   0, 0, 0, 0,    1, 2, 3,    4,    0,    0,    0, 0};
    static const uint8_t reliable[] = {0x80, 3,   0,   0,    1,    2,    3, 4, 0x86, 0, 0, 1, 0,
                                       3,    'a', 'b', 'c',  0x85, 0xff, 0, 3, 1,    0, 0, 3, 0,
                                       3,    0,   9,   0x84, 0xff, 0,    4, 0, 0,    0, 1};
    static const uint8_t fragment[] = {0x80, 3,  0, 0, 1, 2, 3, 4, 0x88, 1,   0, 7, 0, 7, 0, 4, 0, 0,
                                       0,    12, 0, 0, 0, 1, 0, 0, 23,   112, 0, 0, 4, 0, 1, 2, 3, 4};
    struct list l = {0};
    for (uint8_t extra = 0; extra < 4; extra++) {
        add(&l, extra, connect, sizeof connect);
        add(&l, extra, reliable, sizeof reliable);
        add(&l, extra, fragment, sizeof fragment);
    }
    save("fuzz_enet", "each", l.bytes, l.len);
}

static void start_data(void) {
    static struct kl_start s;
    s = (struct kl_start){.option_count = 2, .device_count = 2, .memory_count = 1, .file_count = 2};
    s.profile =
        (struct kl_profile_room){.mask = {.state_bytes = 5050, .count = 2, .range = {{0, 3}, {320, 331}}},
                                 .show_all = true,
                                 .load_own = true};
    s.option[0] = (struct kl_start_option){"nestopia_blargg_ntsc_filter", "disabled"};
    s.option[1] = (struct kl_start_option){"nestopia_palette", "consumer"};
    s.device[1].port = 1;
    s.device[1].device = 257;
    s.memory[0] = (struct kl_start_memory){0, (const uint8_t *)"saveram", 7};
    s.file[0] = (struct kl_start_file){"croom.srm", (const uint8_t *)"abc", 3};
    s.file[1] = (struct kl_start_file){"fbneo/kof98.fs", (const uint8_t *)"", 0};
    static uint8_t buf[4000];
    int len = kl_start_encode(&s, buf, sizeof buf);
    if (len < 0) abort();
    save("fuzz_start", "small", buf, (size_t)len);
    s = (struct kl_start){.profile = {.mask = {.state_bytes = 1 << 20}, .states_equal = true}};
    len = kl_start_encode(&s, buf, sizeof buf);
    save("fuzz_start", "states-equal", buf, (size_t)len);
    s = (struct kl_start){0};
    len = kl_start_encode(&s, buf, sizeof buf);
    save("fuzz_start", "empty", buf, (size_t)len);
    s.state = (struct kl_start_state){.frame = 600,
                                      .room_id = {1, 2},
                                      .match = "cup-3",
                                      .players = "ann (1), bob (2)",
                                      .chance = 3,
                                      .bytes = 7,
                                      .packed = (const uint8_t *)"packed",
                                      .packed_len = 6};
    len = kl_start_encode(&s, buf, sizeof buf);
    save("fuzz_start", "begun", buf, (size_t)len);
}

int main(int argc, char **argv) {
    if (argc != 2) return fputs("make_corpus FOLDER\n", stderr), 2;
    top = argv[1];
    if (mkdir(top, 0755) != 0 && errno != EEXIST) return perror(top), 1;
    play("pads", 3, 24, false);
    play("devices", 3, 16, true);
    play("no-subframes", 2, 24, false);
    play("no-clock", 1, 12, false);
    inputs("pads", 60, false);
    inputs("devices", 12, true);
    messages();
    snapshots();
    corpus_rooms();
    sessions();
    strangers();
    enet();
    start_data();
    corpus_link();
    corpus_hub();
    corpus_journal();
    corpus_files();
    corpus_channel();
    corpus_voice();
    save_text("fuzz_hashfile", "both",
              "59 0123456789abcdef fedcba9876543210\n119 0000000000000001 0000000000000002\n");
    save_text("fuzz_hashfile", "state-only", "59 - fedcba9876543210\n119 - 0000000000000002\n");
    save_text("fuzz_hashfile", "crlf", "59 0123456789abcdef -\r\n");
    corpus_recording();
    save("fuzz_statefile", "ours", "RASTATE\1KLCK\x08\0\0\0frame 5\nMEM \3\0\0\0abc\0\0\0\0\0END \0\0\0\0",
         48);
    save_text("fuzz_statefile", "bare", "some bytes");
    save_text(
        "fuzz_profile", "mask",
        "{\"keylock_profile\":2,\"key\":{\"core\":\"mGBA 0.10\",\"content\":{\"xxh3\":\"0123456789abcdef\"},"
        "\"state_bytes\":528448,\"state_bytes_constant\":true},\"room\":{\"mask\":[[304,307],[320,323]],"
        "\"states_equal\":false,\"load_own\":true,\"snapshots\":true,\"hide\":false,\"hash_every\":60},"
        "\"fit\":true}\n");
    save_text(
        "fuzz_profile", "equal",
        "{\"keylock_profile\":2,\"key\":{\"core\":\"a\",\"content\":null,\"state_bytes\":0,"
        "\"state_bytes_constant\":false},\"room\":{\"mask\":[],\"states_equal\":true,\"load_own\":false,"
        "\"snapshots\":false,\"hide\":true,\"hash_every\":3600}}");
    save_text("fuzz_config", "usual",
              "# keylock\nrelay = example.org:55455\nroom = \"arcade # 1\"\nseats = 2\nname = ann\n");
    save_text("fuzz_config", "all",
              "core = /usr/lib/libretro/nestopia_libretro.so\nsubframes = off\nspacing = 4\nplayers = 3\n"
              "hash_every = 60\nspeed = max\nepoch = 1700000000\nlock = strict\n");
    return 0;
}

/* corpus_more.c - the seed corpus of fuzz_link, fuzz_journal, fuzz_recording and fuzz_files: a whole session
 * as a relay tells it to a client, and what a relay and a client keep on disk. Part of make_corpus. */
#include "core_wrapper/netplay/channel.h"
#include "tests/fuzz/corpus.h"
#include "tests/lib/engine_turn.h"

#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "net/engine/command.h"
#include "net/engine/lock_client.h"
#include "net/record/klr_body.h"
#include "net/relay/durable/lobby_ticket.h"
#include "net/platform/file.h"
#include "net/record/klr.h"
#include "net/session/seal.h"
#include "tests/lib/lock_memory.h"
#include "net/transport/strangers.h"
#include "net/engine/wire.h"

#define RING 64

static const struct kl_params params = {.policy = KL_POLICY_BOUNDED,
                                        .subframes = true,
                                        .clocked = true,
                                        .players = 1,
                                        .hash_every = 8,
                                        .wait_budget_ms = 250,
                                        .fps_uhz = 60098800};

/* --- a relay to a client: fuzz_link.c says what extra is --- */

enum {
    TELL = 0,
    UPDATE = 2,
    FRONTEND = 4 | 3 << 4,
    ANSWER = 5,
    WAIT = 6,
    LOSE = 7,
    SAY = 8,
    PANEL = 9,
    ORDER = 10,
    STRAIGHT = 14
};

static struct kl_lock_relay room;
static struct kl_client player;
static struct kl_frame ring[RING];
static uint64_t now_us;

static void tell(struct list *l, const struct kl_msg *m) {
    static uint8_t buf[KL_MSG_MAX];
    int len = kl_msg_encode(m, buf, sizeof buf);
    if (len < 0) abort();
    add(l, TELL, buf, (size_t)len);
}
static void nudge(struct list *l, uint8_t what) {
    add(l, what, (const uint8_t *)"\x03", 1);
}
static void welcome(struct list *l, bool as_host) {
    static struct kl_msg m;
    m = (struct kl_msg){.kind = KL_MSG_WELCOME, .welcome = {7, 0, 1, as_host, params, {1}, {2}, 60, ""}};
    tell(l, &m);
    m = (struct kl_msg){.kind = KL_MSG_ROSTER};
    m.roster = (struct kl_roster){1,
                                  1,
                                  2,
                                  0,
                                  KL_WATCHER,
                                  {{0, 1, 1, as_host, "ann"}, {3, 0, 5, false, "ben"}},
                                  3,
                                  5,
                                  30,
                                  1,
                                  {{KL_WATCHER, true, "cat"}}};
    tell(l, &m);
}

/* Into the room, up to its first frame. */
static void enter(struct list *l, bool as_host) {
    static struct kl_msg m;
    static struct kl_held held[KL_WINDOW_FRAMES];
    welcome(l, as_host);
    tell(l, &(struct kl_msg){.kind = KL_MSG_NOTICE, .text = {0, "good evening"}});
    tell(l, &(struct kl_msg){.kind = KL_MSG_SEND});
    if (as_host) add(l, ANSWER, (const uint8_t *)"save", 4);
    tell(l, &(struct kl_msg){.kind = KL_MSG_PREPARE, .prepare = {1700000000, 4}});
    nudge(l, PANEL);
    m = (struct kl_msg){.kind = KL_MSG_DATA, .data = {.total = 4, .len = 4, .bytes = "save"}};
    if (!as_host) tell(l, &m);
    nudge(l, ANSWER);
    now_us = 1000000;
    lock_begin(&room, &params, NULL);
    kl_lock_add(&room, 0, 1, now_us);
    kl_lock_start(&room, now_us);
    kl_client_init(&player, &params, 1, held, KL_WINDOW_FRAMES, now_us);
}

static void order(unsigned n) {
    static const struct {
        uint8_t kind, len;
        const char *data;
    } all[] = {{KL_COMMAND_POLICY, 5, "\x00\x00\x00\x04\x0c"},
               {KL_COMMAND_SWAP, 2, "\x00\x01"},
               {KL_COMMAND_RESET, 0, ""},
               {KL_COMMAND_OPTION, 10, "speed=fast"},
               {KL_COMMAND_DISK, 2, "\x01\x00"},
               {KL_COMMAND_CHAT, 5, "hello"},
               {KL_COMMAND_SAVE, 0, ""},
               {KL_COMMAND_LOAD, 0, ""},
               {KL_COMMAND_MASK, 7, "\x00\x01\xe8\x07\x01\x04\x04"}};
    n %= sizeof all / sizeof *all;
    kl_lock_command(&room, KL_RELAY_CLIENT, all[n].kind, (const uint8_t *)all[n].data, all[n].len);
}

static void press(void *ctx, uint32_t sample, struct kl_input in[KL_MAX_SEATS]) {
    (void)ctx, (void)sample;
    in->joypad = 1;
}

static void frontend(struct list *l) {
    engine_turn(&(struct engine_player){.client = &player, .press = press}, now_us, 4);
    nudge(l, FRONTEND);
}

/* Frames as a room closes them, with a command of each kind among them. */
static void frames(struct list *l, unsigned steps) {
    uint8_t buf[KL_DATAGRAM_MAX];
    size_t len;
    struct kl_frame f;
    for (unsigned n = 0; n < steps; n++, now_us += 16000) {
        if (n % 3 == 0) order(n / 3);
        kl_lock_tick(&room, now_us);
        while ((len = kl_lock_send(&room, 0, now_us, buf, sizeof buf)) > 0) {
            add(l, UPDATE, buf, len);
            kl_client_receive(&player, buf, len, now_us);
        }
        frontend(l);
        while ((len = kl_client_send(&player, now_us, buf, sizeof buf)) > 0)
            kl_lock_receive(&room, 0, buf, len, 0, 0, now_us);
        while (kl_lock_take(&room, &f))
            ring[f.number % RING] = f;
        nudge(l, WAIT);
    }
}

/* The link is lost; the relay welcomes it back and says what it missed. */
static void come_back(struct list *l) {
    static struct kl_msg m;
    uint32_t count, from = player.stats.next_closed;
    struct kl_frames_from have = {.ring = ring, .places = RING};
    nudge(l, LOSE);
    nudge(l, PANEL);
    welcome(l, false);
    tell(l, &(struct kl_msg){.kind = KL_MSG_SEAT, .seat = {0, 2}});
    m = (struct kl_msg){.kind = KL_MSG_HISTORY};
    if (room.next_hand > from) {
        m.past.len = (uint16_t)kl_piece_write(&have, from, room.next_hand - from, m.past.bytes,
                                              sizeof m.past.bytes, &count);
        tell(l, &m);
    }
    frontend(l);
}

void corpus_link(void) {
    static struct list l;
    for (int as_host = 0; as_host < 2; as_host++) {
        l = (struct list){.len = 1}; /* kind 0: no password, no seat of before */
        enter(&l, as_host);
        frames(&l, as_host ? 12 : 30);
        add(&l, ORDER | 3 << 4, (const uint8_t *)"hi", 2);
        tell(&l, &(struct kl_msg){.kind = KL_MSG_VERDICT, .verdict = {7, 7, 1, KL_HASH_RAM, true, 1}});
        nudge(&l, PANEL);
        come_back(&l);
        frames(&l, 6);
        if (as_host) tell(&l, &(struct kl_msg){.kind = KL_MSG_PREPARE, .prepare = {1700000001, 4}});
        if (as_host)
            tell(&l, &(struct kl_msg){.kind = KL_MSG_REFUSE, .text = {KL_REFUSE_CLOSED, "good night"}});
        save("fuzz_link", as_host ? "host" : "guest", l.bytes, l.len);
    }
    /* The host's data are not sent back; others were announced before. */
    l = (struct list){.len = 1};
    welcome(&l, true);
    tell(&l, &(struct kl_msg){.kind = KL_MSG_SEND});
    add(&l, ANSWER, (const uint8_t *)"save", 4);
    tell(&l, &(struct kl_msg){.kind = KL_MSG_PREPARE, .prepare = {1700000000, 65}});
    tell(&l, &(struct kl_msg){.kind = KL_MSG_PREPARE, .prepare = {1700000000, 4}});
    save("fuzz_link", "prepared-twice", l.bytes, l.len);
    l = (struct list){.len = 1, .bytes = {2}};
    tell(&l, &(struct kl_msg){.kind = KL_MSG_PROVED, .proved.mac = {9}});
    welcome(&l, false);
    save("fuzz_link", "door", l.bytes, l.len);
    /* Samples straight from another player, sealed and not. */
    static struct kl_msg m;
    l = (struct list){.len = 1, .bytes = {8}};
    enter(&l, false);
    nudge(&l, SAY);
    m = (struct kl_msg){.kind = KL_MSG_PEERS};
    m.peers.count = 2;
    for (uint8_t i = 0; i < 2; i++)
        m.peers.peer[i] =
            (struct kl_peer){.seats = (uint8_t)(2u << i), .session = 9u + i, .port = 5, .in = {i}};
    tell(&l, &m);
    frames(&l, 6);
    add(&l, STRAIGHT | 1 << 4, (const uint8_t *)"\0\0\0\0\x82\1\0\2\0", 9);
    add(&l, STRAIGHT | 3 << 4, (const uint8_t *)"\5\0\0\0\x01\1\0", 7);
    add(&l, STRAIGHT, (const uint8_t *)"K\5\0\0\0\x01\1\0", 8);
    nudge(&l, SAY);
    frames(&l, 6);
    save("fuzz_link", "straight", l.bytes, l.len);
}

/* --- journals: fuzz_journal.c --- */

enum { AS_IT_IS = 8, CUT = 16 };
enum { A_TICKET, TAIL_FRAMES, SLOT, BLOCK };

/* Frames of intervals of eight, with nothing pressed. */
static size_t quiet_piece(uint32_t from, uint32_t count, uint8_t *out) {
    static struct kl_frame quiet[KL_PIECE_FRAMES];
    struct kl_frames_from have = {.ring = quiet, .places = KL_PIECE_FRAMES};
    for (uint32_t n = from; n < from + count; n++)
        quiet[n % KL_PIECE_FRAMES] = (struct kl_frame){
            .number = n, .keyframe = n / 8 * 8, .spacing = 8, .flags = n % 8 ? 0 : KL_FRAME_KEY, .active = 1};
    return kl_piece_write(&have, from, count, out, KL_PIECE_BYTES, &count);
}

static void journal_frames(struct list *l, uint32_t from, uint32_t to) {
    uint8_t body[KL_PIECE_BYTES];
    add(l, TAIL_FRAMES, body, quiet_piece(from, to - from, body));
}

static void journal_block(struct list *l, enum kl_klr_type type, const void *body, size_t len) {
    static uint8_t with_type[8000];
    with_type[0] = (uint8_t)type;
    memcpy(with_type + 1, body, len);
    add(l, BLOCK, with_type, 1 + len);
}

/* PIECES of the frames from..to, which d becomes the digest of, and that DIGEST. */
static void journal_pieces(struct list *l, uint32_t from, uint32_t to, struct kl_digest *d) {
    static uint8_t body[6000], piece[KL_PIECE_BYTES];
    static const uint8_t room_id[KL_DIGEST_ROOM_ID] = {2}; /* as fuzz_journal has it */
    struct kl_writer w = kl_writer(body, sizeof body);
    for (; from < to; from += KL_PIECE_FRAMES) {
        size_t len = quiet_piece(from, to - from < KL_PIECE_FRAMES ? to - from : KL_PIECE_FRAMES, piece);
        kl_write_u16(&w, (uint16_t)len);
        kl_write_bytes(&w, piece, len);
    }
    if (w.failed) abort();
    journal_block(l, KL_KLR_PIECES, body, (size_t)(w.at - body));
    while (d->end < to) {
        size_t len = quiet_piece(d->end, 8, piece);
        kl_digest_next(d, room_id, piece + 5, len - 5, d->end + 8); /* without the piece's own head */
    }
    w = kl_writer(body, sizeof body);
    kl_klr_write_digest(&w, d);
    journal_block(l, KL_KLR_DIGEST, body, (size_t)(w.at - body));
}

/* The room's record. */
static void journal_ticket(struct list *l) {
    static struct kl_lobby_ticket t;
    static uint8_t body[KL_TICKET_BODY_MAX];
    t = (struct kl_lobby_ticket){
        .number = 1, .seat_time_s = 60, .epoch_s = 1700000000, .params = params, .joins = 1, .bans = 1};
    strcpy(t.name, "arcade");
    strcpy(t.maker, "192.0.2.1");
    kl_facts_add(&t.facts, "content", "x");
    t.member[0] = (struct kl_ticket_member){.here = true, .seats = 1, .name = "ann"};
    strcpy(t.ban[0].host, "192.0.2.9");
    int len = kl_lobby_ticket_encode(&t, body, sizeof body);
    if (len < 0) abort();
    add(l, A_TICKET, body, (size_t)len);
}

void corpus_journal(void) {
    static struct list l;
    static const uint8_t junk[40] = {1, 2, 3};
    struct kl_digest d = {0};
    l.len = 0;
    journal_block(&l, KL_KLR_START, "save", 4);
    journal_ticket(&l);
    struct list begun = l;
    save("fuzz_journal", "unplayed", l.bytes, l.len);
    journal_frames(&l, 0, 20);
    journal_frames(&l, 16, 48);
    save("fuzz_journal", "whole", l.bytes, l.len);
    add(&l, AS_IT_IS, junk, sizeof junk);
    save("fuzz_journal", "spoilt", l.bytes, l.len);
    /* Whole intervals in the recording; the frames since are those that UPDATEs may still repeat. */
    l = begun;
    journal_pieces(&l, 0, 64, &d);
    journal_pieces(&l, 64, 64 + KL_KEPT_FRAMES, &d);
    add(&l, SLOT, junk, 0);
    journal_ticket(&l);
    for (uint32_t n = d.end; n < d.end + KL_KEPT_FRAMES; n += KL_PIECE_FRAMES)
        journal_frames(&l, n, n + KL_PIECE_FRAMES);
    save("fuzz_journal", "recorded", l.bytes, l.len);
    add(&l, CUT, junk, 7);
    save("fuzz_journal", "torn", l.bytes, l.len);
    /* Frames that do not follow. */
    l = begun;
    journal_frames(&l, 0, 20);
    journal_frames(&l, 40, 48);
    save("fuzz_journal", "misfit", l.bytes, l.len);
}

void corpus_files(void) {
    char text[400] = "";
    strcat(text + 1, "keylock seat 1\n");
    memset(text + strlen(text + 1) + 1, 'a', 64);
    strcat(text + 1, "\n");
    memset(text + strlen(text + 1) + 1, 'b', 2 * KL_TOKEN_BYTES);
    strcat(text + 1, "\n");
    save("fuzz_files", "seat", text, 1 + strlen(text + 1));
    static const char relays[] = "\001"
                                 "192.0.2.7:55435 wgythom7kfxgzawo3kes55npkd5ewttr\n"
                                 "example.org:1 wgythom7kfxgzawo3kes55npkd5ewttr\n";
    save("fuzz_files", "relays", relays, sizeof relays - 1);
    static const char cue[] = "\006FILE \"set.m3u\" BINARY\n  TRACK 01 AUDIO\nFILE set.gdi WAVE\n",
                      m3u[] = "\002#EXTM3U\nset.cue\nset.toc|two\n\"set.chd\"\n",
                      gdi[] = "\0122\n1 0 4 2352 set.bin 0\n2 756 0 2352 \"set 2.raw\" 0\n";
    save("fuzz_files", "cue", cue, sizeof cue - 1);
    save("fuzz_files", "m3u", m3u, sizeof m3u - 1);
    save("fuzz_files", "gdi", gdi, sizeof gdi - 1);
}

static void channel(const char *name, struct kl_channel_packet p) {
    uint8_t bytes[KL_CHANNEL_MAX];
    int len = kl_channel_encode(&p, bytes, sizeof bytes);
    if (len > 0) save("fuzz_channel", name, bytes, (size_t)len);
}

void corpus_channel(void) {
    struct kl_channel_packet ticket = {.kind = KL_CHANNEL_TICKET, .url.port = 55435};
    strcpy(ticket.url.host, "relay.example.org");
    strcpy(ticket.url.room, "np-0123456789");
    strcpy(ticket.url.fingerprint, "wgythom7kfxgzawo3kes55npkd5ewttr");
    channel("ticket", ticket);
    channel("greet", (struct kl_channel_packet){.kind = KL_CHANNEL_GREET,
                                                .version = KL_CHANNEL_VERSION,
                                                .protocol = KL_PROTOCOL_VERSION});
    channel("outcome", (struct kl_channel_packet){.kind = KL_CHANNEL_OUTCOME, .outcome = KL_CHANNEL_FAILED});
    channel("refuse", (struct kl_channel_packet){.kind = KL_CHANNEL_REFUSE, .text = "the room is full"});
    channel("beat", (struct kl_channel_packet){.kind = KL_CHANNEL_BEAT});
    struct kl_channel_packet carry = {.kind = KL_CHANNEL_CARRY};
    channel("carry-none", carry);
    carry.len = 300, carry.datagram[0] = 0x4b, carry.datagram[1] = 1;
    channel("carry", carry);
    /* a stream: a datagram of ours, a frame, what the other says of it, a frame */
    uint8_t stream[49] = {1, 30, 0, 0x4b, 1};
    static const uint8_t then[] = {2, 0, 0, 0, 7, 0, 6, 30, 0, 0, 0, 0x4b, 2, 2, 0, 0};
    memcpy(stream + 33, then, sizeof then);
    save("fuzz_channel", "stream", stream, sizeof stream);
}

/* The golden file as it is, and its blocks. */
void corpus_recording(void) {
    static struct list l;
    static uint8_t whole[8192] = {0};
    struct kl_klr_cursor c;
    void *bytes;
    size_t len;
    char err[300];
    if (kl_file_read("tests/conformance/golden/match.klr", sizeof whole - 1, 0, &bytes, &len, err,
                     sizeof err) != 0)
        abort();
    memcpy(whole + 1, bytes, len);
    save("fuzz_recording", "whole", whole, 1 + len);
    l.bytes[0] = 1;
    l.len = 1;
    if (!kl_klr_open(&c, bytes, len)) abort();
    while (kl_klr_next(&c) == KL_KLR_BLOCK)
        add(&l, c.type, c.body, c.body_len);
    save("fuzz_recording", "blocks", l.bytes, l.len);
    free(bytes);
    if (kl_file_read("tests/conformance/golden/packed.klr", sizeof whole - 1, 0, &bytes, &len, err,
                     sizeof err) != 0)
        abort();
    memcpy(whole + 1, bytes, len);
    save("fuzz_recording", "packed", whole, 1 + len);
    l.bytes[0] = 2;
    l.len = 1;
    for (const uint8_t *b = bytes, *end = b + len; b < end;) {
        size_t frame = b[16] | (size_t)b[17] << 8;
        memcpy(l.bytes + l.len, b + 20, 4);
        memcpy(l.bytes + l.len + 4, b + 16, 2);
        memcpy(l.bytes + l.len + 6, b + 24, frame);
        l.len += 6 + frame;
        b += 24 + frame;
    }
    save("fuzz_recording", "packed-frames", l.bytes, l.len);
    free(bytes);
}

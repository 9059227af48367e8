/* test_journal_recording.c - the recording that a relay writes of a match: its hashes, seats, signatures,
 * reports and seals. net/record/klr.h. */
#include "tests/unit/unit.h"
#include "tests/lib/journal_lives.h"
#include "tests/lib/lobby_players.h"

#include "net/engine/command.h"
#include "net/record/klr_body.h"
#include "net/session/digest.h"
#include "net/session/proof.h"

static uint32_t wrong_at; /* from there on player 2 says another hash */

static void say_a_hash(struct lobby_player *p, const struct kl_frame *f) {
    struct kl_msg m = {.kind = KL_MSG_HASH, .hash = {.frame = f->number - 1, .has = KL_HASH_RAM}};
    m.hash.ram = m.hash.frame + (p == &player[2] && m.hash.frame >= wrong_at);
    if (f->flags & KL_FRAME_HASH) say(p->peer, &m);
}

/* A match of 20 s, in which each player says this of a frame; then its recording. */
static void play_saying(void (*words)(struct lobby_player *, const struct kl_frame *),
                        struct kl_klr_cursor *c) {
    begin_game(KL_POLICY_BOUNDED);
    on_frame = words;
    play(20 * SECOND);
    on_frame = NULL;
    open_recording(c);
}

TEST_WITH(hashes_of_all_players_are_in_it, make_folder, remove_folder) {
    struct kl_klr_cursor c;
    struct kl_reader r;
    unsigned hashes = 0, others = 0;
    wrong_at = 600;
    play_saying(say_a_hash, &c);
    while (next_block(&c, KL_KLR_HASH, &r)) {
        struct kl_klr_hash h;
        kl_klr_read_hash(&r, &h);
        bool wrong = h.ram != h.label;
        assert_int_equal(h.clients, h.label < wrong_at ? 7 : wrong ? 4 : 3);
        hashes += !wrong;
        others += wrong;
        assert_false(r.failed);
    }
    assert_in_range(hashes, 12, 40); /* of the 17 s that are in it */
    assert_in_range(others, 1, hashes - 8);
}

TEST_WITH(seats_are_in_it, make_folder, remove_folder) {
    struct kl_klr_cursor c;
    struct kl_reader r;
    unsigned seats = 0;
    play_saying(NULL, &c);
    for (; next_block(&c, KL_KLR_EVENT, &r); seats++) {
        struct kl_klr_event e;
        kl_klr_read_event(&r, &e);
        assert_int_equal(e.kind, KL_KLR_SEATS);
        assert_int_equal(e.seats, 1u << e.client);
        assert_string_equal(e.text, the_room()->member[e.client]->v.name);
        assert_false(r.failed);
    }
    assert_int_equal(seats, PLAYERS);
}

/* --- players' signatures --- */

static struct kl_sign own[PLAYERS];

static void say_signed(struct lobby_player *p, const struct kl_frame *f) {
    unsigned i = (unsigned)(p - player);
    struct kl_msg m = {.kind = KL_MSG_SIGN};
    say_a_hash(p, f);
    if (!(f->flags & KL_FRAME_HASH)) return;
    struct kl_hash h = {.frame = f->number - 1, .has = KL_HASH_RAM, .ram = f->number - 1};
    kl_sign_add(&own[i], &h);
    kl_sign_make(&own[i], the_room()->id, seat_key(p->peer));
    m.sign = own[i];
    if (i == 2) m.sign.count++; /* not what it signed */
    say(p->peer, &m);
}

/* Those that are their players', two of each in a part. */
TEST_WITH(good_signatures_are_in_it, make_folder, remove_folder) {
    struct kl_klr_cursor c;
    struct kl_reader r;
    struct kl_klr_sign s;
    unsigned signs[PLAYERS] = {0};
    memset(own, 0, sizeof own);
    wrong_at = UINT32_MAX;
    play_saying(say_signed, &c);
    while (next_block(&c, KL_KLR_SIGN, &r)) {
        kl_klr_read_sign(&r, &s);
        assert_false(r.failed || kl_reader_left(&r));
        assert_true(kl_sign_is_good(&s.sign, the_room()->id, s.seat_pub));
        assert_memory_equal(s.seat_pub, the_room()->member[s.client]->v.seat_key, sizeof s.seat_pub);
        signs[s.client]++;
    }
    assert_true(signs[0] == 2 && signs[1] == 2 && signs[2] == 0);
}

TEST_WITH(a_report_is_in_it, make_folder, remove_folder) {
    static const char words[] = "he hit \x80 me";
    struct kl_msg m = {.kind = KL_MSG_COMMAND, .order = {.kind = KL_COMMAND_REPORT, .len = sizeof words - 1}};
    struct kl_klr_cursor c;
    struct kl_reader r;
    unsigned reports = 0;
    memcpy(m.order.data, words, sizeof words - 1);
    begin_game(KL_POLICY_BOUNDED);
    play(4 * SECOND);
    uint32_t now = the_room()->lock.next_close;
    say(player[2].peer, &m);
    assert_true(told(player[2].peer, "not reported: this match is not recorded"));
    the_room()->door.recorded = true;
    say(player[1].peer, &m);
    assert_true(told(player[1].peer, "reported: he hit ? me"));
    assert_false(told(player[0].peer, "reported: he hit ? me"));
    say(player[1].peer, &m);
    assert_true(told(player[1].peer, "one report a minute: this one was dropped"));
    play(20 * SECOND);
    open_recording(&c);
    while (next_block(&c, KL_KLR_EVENT, &r)) {
        struct kl_klr_event e;
        kl_klr_read_event(&r, &e);
        if (e.kind != KL_KLR_REPORT) continue;
        assert_in_range(e.frame, now - 30, now + 30);
        assert_int_equal(e.client, 1);
        assert_string_equal(e.text, "he hit ? me");
        reports++;
    }
    assert_int_equal(reports, 1);
}

/* --- seals --- */

/* Each SEAL of the recording is of the frames before it, and the players have got the newest. */
static unsigned count_seals(const struct kl_relay_key *key) {
    struct kl_proof_match of = {.epoch_s = the_room()->start.epoch_s};
    struct kl_klr_cursor c;
    struct kl_reader r;
    struct kl_proof p = {0};
    unsigned seals = 0;
    memcpy(of.room_id, the_room()->id, sizeof of.room_id);
    kl_identity(the_room()->facts, of.identity);
    open_recording(&c);
    assert_true(next_block(&c, KL_KLR_START, &r));
    kl_proof_start(c.body, c.body_len, of.start);
    for (; next_block(&c, KL_KLR_SEAL, &r); seals++) {
        kl_klr_read_seal(&r, &p);
        assert_false(r.failed);
        assert_int_equal(kl_proof_check(&p, &of, key->exchange.pub), KL_PROOF_GOOD);
        struct kl_digest d = digest_of(the_room()->id, p.end);
        assert_memory_equal(d.digest, p.digest, sizeof p.digest);
        assert_int_equal(d.intervals, p.intervals);
        assert_int_equal(p.has, KL_HASH_RAM); /* the newest that all said */
        assert_true(p.ram == p.label && p.label < p.end && p.label + 120 > p.end);
    }
    if (seals) assert_memory_equal(&heard(0, KL_MSG_SEAL)->seal, &p, sizeof p);
    return seals;
}

TEST_WITH(it_is_sealed_each_minute, make_folder, remove_folder) {
    struct kl_relay_key key;
    begin_game(KL_POLICY_BOUNDED);
    sign_recordings(&key);
    wrong_at = UINT32_MAX;
    on_frame = say_a_hash;
    play(12 * SECOND);
    assert_int_equal(count_seals(&key), 0);
    play(10 * SECOND);
    assert_int_equal(count_seals(&key), 1);
    play(70 * SECOND);
    assert_int_equal(count_seals(&key), 2);
    on_frame = NULL;
}

static void no_seal_comes_early(void) {
    for (unsigned i = 0; i < 2; i++) {
        const struct kl_msg *m = heard(AT_PEER + i, KL_MSG_SEAL);
        assert_true(!m || m->seal.end <= kl_client_have(&watcher[i].p.participant.lock));
    }
}

TEST_WITH(a_watcher_gets_the_seals_of_its_frames, make_folder, remove_folder) {
    struct kl_relay_key key;
    lobby->limits.watchers = WATCHERS;
    start_room(KL_POLICY_BOUNDED);
    sign_recordings(&key);
    assert_int_equal(kl_lobby_watch_delay(the_room(), 30, "the host"), KL_OK);
    on_step = no_seal_comes_early;
    play(5 * SECOND);
    watches(0);
    play(20 * SECOND);
    assert_null(heard(AT_PEER, KL_MSG_SEAL));
    struct kl_proof first = heard(0, KL_MSG_SEAL)->seal;
    play(30 * SECOND);
    assert_memory_equal(&heard(AT_PEER, KL_MSG_SEAL)->seal, &first, sizeof first);
    play(35 * SECOND);
    struct kl_proof second = heard(0, KL_MSG_SEAL)->seal;
    assert_true(second.end > first.end);
    watches(1);
    cut(2);
    come_back(2, 12);
    play(5 * SECOND);
    assert_memory_equal(&heard(12, KL_MSG_SEAL)->seal, &second, sizeof second);
    for (unsigned i = 0; i < 2; i++)
        assert_memory_equal(&heard(AT_PEER + i, KL_MSG_SEAL)->seal, &first, sizeof first);
    play(30 * SECOND);
    for (unsigned i = 0; i < 2; i++)
        assert_memory_equal(&heard(AT_PEER + i, KL_MSG_SEAL)->seal, &second, sizeof second);
}

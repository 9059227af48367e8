/* test_lobby_ticket.c - a room's record, and the buckets that hold wrong tries. */
#include <stdio.h>

#include "tests/unit/unit.h"

#include "net/relay/log/lobby_limit.h"
#include "net/relay/durable/lobby_ticket.h"

static void fill(void *out, size_t len, unsigned seed) {
    for (size_t i = 0; i < len; i++)
        ((uint8_t *)out)[i] = (uint8_t)(seed * 37 + i * 3);
}

static void longest_facts(struct kl_facts *f) {
    char key[KL_FACT_KEY_MAX], value[KL_FACT_VAL_MAX];
    memset(key, 'k', sizeof key);
    memset(value, 'v', sizeof value);
    key[sizeof key - 1] = value[sizeof value - 1] = 0;
    for (unsigned i = 0; i < KL_FACTS_MAX; i++)
        assert_int_equal(kl_facts_add(f, key, value), 0);
}

static struct kl_lobby_ticket t, got;
static uint8_t buf[KL_TICKET_BODY_MAX], again[KL_TICKET_BODY_MAX + 1];

static void a_small_one(void) {
    memset(&t, 0, sizeof t);
    t = (struct kl_lobby_ticket){.number = 7,
                                 .frame = 70000,
                                 .name = "room",
                                 .maker = "192.0.2.1",
                                 .doors = KL_DOOR_PASSWORD,
                                 .seat_time_s = 60,
                                 .delay_s = 300,
                                 .epoch_s = 1700000000,
                                 .start_bytes = 4000,
                                 .host = 3,
                                 .joins = 9};
    fill(t.id, sizeof t.id, 1), fill(t.salt, sizeof t.salt, 2), fill(t.secret, sizeof t.secret, 3);
    fill(t.start_hash, sizeof t.start_hash, 4);
    t.params = (struct kl_params){.subframes = true, .clocked = true, .players = 2, .fps_uhz = 60098800};
    kl_facts_add(&t.facts, "content", "xxh3 1");
    kl_facts_add(&t.ready, "system", "none");
    for (unsigned i = 2; i < 4; i++) {
        struct kl_ticket_member *m = &t.member[i];
        *m = (struct kl_ticket_member){
            .here = true, .seats = (uint8_t)(1U << i), .joined = 5 + i, .name = "ann"};
        fill(m->seat_key, sizeof m->seat_key, i), fill(m->token_hash, sizeof m->token_hash, 10 + i);
    }
    t.bans = 1;
    fill(t.ban[0].seat_key, sizeof t.ban[0].seat_key, 20);
    strcpy(t.ban[0].host, "198.51.100.1");
}

TEST(there_and_back) {
    a_small_one();
    int len = kl_lobby_ticket_encode(&t, buf, sizeof buf);
    assert_true(len > 0);
    assert_int_equal(kl_lobby_ticket_decode(&got, buf, (size_t)len), KL_OK);
    assert_memory_equal(&got, &t, sizeof t); /* both were zeroed whole */
    for (int cap = 0; cap < len; cap++) {
        assert_int_equal(kl_lobby_ticket_encode(&t, again, (size_t)cap), KL_E_SPACE);
        assert_int_equal(kl_lobby_ticket_decode(&got, buf, (size_t)cap), KL_E_MALFORMED);
    }
    memcpy(again, buf, (size_t)len);
    again[len] = 0;
    assert_int_equal(kl_lobby_ticket_decode(&got, again, (size_t)len + 1), KL_E_MALFORMED);
    again[0] = KL_LOBBY_TICKET_VERSION + 1;
    assert_int_equal(kl_lobby_ticket_decode(&got, again, (size_t)len), KL_E_VERSION);
    t.recorded = true; /* older tickets end before that */
    assert_int_equal(kl_lobby_ticket_encode(&t, buf, sizeof buf), len + 1);
    assert_int_equal(kl_lobby_ticket_decode(&got, buf, (size_t)len + 1), KL_OK);
    assert_memory_equal(&got, &t, sizeof t);
    t.recorded = false;
    t.voice = KL_VOICE_NONE; /* and before that */
    assert_int_equal(kl_lobby_ticket_encode(&t, buf, sizeof buf), len + 3);
    assert_int_equal(kl_lobby_ticket_decode(&got, buf, (size_t)len + 3), KL_OK);
    assert_memory_equal(&got, &t, sizeof t);
    buf[len + 2] = KL_VOICE_ALL + 1;
    assert_int_equal(kl_lobby_ticket_decode(&got, buf, (size_t)len + 3), KL_E_MALFORMED);
}

TEST(the_longest_fits) {
    a_small_one();
    wide_name(t.name, KL_NAME_CHARS), memset(t.maker, '1', sizeof t.maker - 1);
    t.facts.count = t.ready.count = 0;
    longest_facts(&t.facts), longest_facts(&t.ready);
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        t.member[i] = t.member[2];
        t.member[i].seats = (uint8_t)(i < 8 ? 1U << i : 0);
        wide_name(t.member[i].name, KL_NAME_CHARS);
    }
    t.bans = KL_BANS_MAX;
    for (unsigned i = 0; i < KL_BANS_MAX; i++)
        memset(t.ban[i].host, '9', KL_NET_TEXT - 1);
    int len = kl_lobby_ticket_encode(&t, buf, sizeof buf);
    assert_true(len > 15000);
    assert_int_equal(kl_lobby_ticket_decode(&got, buf, (size_t)len), KL_OK);
    assert_memory_equal(&got, &t, sizeof t);
}

static void rejected(void) {
    int len = kl_lobby_ticket_encode(&t, buf, sizeof buf);
    assert_true(len > 0);
    assert_int_equal(kl_lobby_ticket_decode(&got, buf, (size_t)len), KL_E_MALFORMED);
    a_small_one();
}

TEST(contradictory_tickets_are_refused) {
    a_small_one();
    t.member[3].seats = t.member[2].seats, rejected();
    t.host = 5, rejected(); /* nobody is there */
    t.host = KL_NO_HOST + 1, rejected();
    t.name[0] = 0, rejected();
    t.doors = 32, rejected();
    t.params.players = 0, rejected();
}

/* Whatever comes out of a damaged one is whole in itself. */
TEST(damaged_ones) {
    a_small_one();
    uint32_t random = 20241121;
    int len = kl_lobby_ticket_encode(&t, buf, sizeof buf);
    unsigned taken = 0;
    for (unsigned n = 0; n < 20000; n++) {
        memcpy(again, buf, (size_t)len);
        for (unsigned i = 0; i < 1 + n % 3; i++) {
            random = random * 1664525 + 1013904223;
            again[(random >> 8) % (unsigned)len] ^= (uint8_t)(1U << (random >> 28 & 7));
        }
        if (kl_lobby_ticket_decode(&got, again, (size_t)len) != KL_OK) continue;
        taken++;
        assert_int_equal(kl_lobby_ticket_encode(&got, buf + len, 0), KL_E_SPACE);
        assert_true(got.host == KL_NO_HOST || got.member[got.host].here);
        assert_true(got.bans <= KL_BANS_MAX && got.facts.count <= KL_FACTS_MAX);
    }
    assert_true(taken > 1000); /* keys and hashes may be anything */
}

TEST(a_bucket_leaks) {
    struct kl_bucket b = {0};
    uint64_t now_us = 5000000;
    for (unsigned i = 0; i < 6; i++)
        assert_true(kl_bucket_take(&b, 6, now_us));
    assert_false(kl_bucket_take(&b, 6, now_us));
    assert_int_equal(kl_bucket_wait_s(&b, 6, now_us), 10);
    for (unsigned i = 0; i < 99; i++) /* small steps count */
        assert_false(kl_bucket_take(&b, 6, now_us += 100000));
    assert_true(kl_bucket_take(&b, 6, now_us += 100000));
    assert_false(kl_bucket_take(&b, 6, now_us));
    now_us += 3600 * 1000000ULL; /* never more than a minute's worth */
    for (unsigned i = 0; i < 6; i++)
        assert_true(kl_bucket_take(&b, 6, now_us));
    assert_false(kl_bucket_take(&b, 6, now_us));
    struct kl_bucket none = {0};
    assert_false(kl_bucket_take(&none, 0, now_us));
}

TEST(triers_are_told_apart) {
    static struct kl_triers triers;
    char host[KL_NET_TEXT];
    memcpy(host, kl_address_host("192.0.2.1:5555").text, sizeof host);
    assert_string_equal(host, "192.0.2.1");
    assert_string_equal(kl_address_host("[::ffff:192.0.2.1]:7").text, host);
    assert_string_equal(kl_address_host("[2001:db8::1:0:0:7]:5555").text, "2001:db8::");
    assert_string_equal(kl_address_host("2001:db8::").text, "2001:db8::"); /* as it is kept */
    struct kl_trier *one = kl_triers_of(&triers, host, 1);
    assert_true(kl_bucket_take(&one->wrong, 1, 1));
    for (unsigned i = 0; i < KL_TRIERS - 1; i++) {
        snprintf(host, sizeof host, "10.0.%u.%u", i / 250, i % 250);
        assert_true(kl_bucket_take(&kl_triers_of(&triers, host, 2 + i)->wrong, 1, 2 + i));
    }
    assert_ptr_equal(kl_triers_of(&triers, "192.0.2.1", 1000), one);
    struct kl_trier *new = kl_triers_of(&triers, "203.0.113.9", 1001); /* the longest unused makes way */
    assert_true(kl_bucket_take(&new->wrong, 1, 1001));
    assert_ptr_equal(kl_triers_of(&triers, "192.0.2.1", 1002), one);
    for (unsigned i = 0; i < 4 * KL_TRIERS;
         i++) { /* a player who goes on trying is not forgotten, however many others come */
        snprintf(host, sizeof host, "10.1.%u.%u", i / 250, i % 250);
        (void)kl_triers_of(&triers, host, 1003 + i);
        if (i % 100 == 0) assert_ptr_equal(kl_triers_of(&triers, "192.0.2.1", 1003 + i), one);
    }
    assert_false(kl_bucket_take(&one->wrong, 1, 3000));
}

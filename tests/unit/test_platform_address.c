/* Addresses as text and back, in one form for IPv6 and IPv4; whose they are, and whom they serve.
 * runs: working, test, 1 s */
#include "tests/unit/unit.h"

#include "net/platform/address.h"

static struct kl_address read_address(const char *text) {
    struct kl_address a;
    if (!kl_address_parse(text, &a)) fail_msg("not read: %s", text);
    return a;
}

TEST(an_address_is_text_and_back) {
    static const char *const same[] = {
        "192.0.2.255", "0.0.0.0",    "::",      "::1",         "2001:db8::1",     "2001:db8:1:2:3:4:5:6",
        "1:0:0:2::3",  "1::2:0:0:3", "fe80::1", "::1:0:0:0:1", "1:2:3:4:5:6:7:0", "64:ff9b::1"};
    static const struct {
        const char *text, *written;
    } other[] = {
        {"2001:DB8:0:0:0:0:0:1", "2001:db8::1"},   {"2001:0db8::0001", "2001:db8::1"},
        {"::ffff:192.0.2.1", "192.0.2.1"},         {"::FFFF:c000:201", "192.0.2.1"},
        {"0:0:0:0:0:ffff:192.0.2.1", "192.0.2.1"}, {"64:ff9b::192.0.2.1", "64:ff9b::c000:201"},
        {"1::2:3:4:5:6:7", "1:0:2:3:4:5:6:7"},     {"0:0:0:0:0:0:0:0", "::"},
    };
    char text[KL_ADDRESS_TEXT];
    for (unsigned i = 0; i < sizeof same / sizeof *same; i++) {
        struct kl_address a = read_address(same[i]);
        assert_string_equal(kl_address_text(text, &a), same[i]);
        assert_int_equal(kl_address_is_v4(&a), strchr(same[i], '.') != NULL);
    }
    for (unsigned i = 0; i < sizeof other / sizeof *other; i++) {
        struct kl_address a = read_address(other[i].text);
        assert_string_equal(kl_address_text(text, &a), other[i].written);
    }
}

TEST(anything_else_is_no_address) {
    static const char *const bad[] = {"",
                                      "localhost",
                                      "1.2.3",
                                      "1.2.3.256",
                                      "1.2.3.4 ",
                                      "01.2.3.4",
                                      "1.2.3.4.5",
                                      ":",
                                      ":::",
                                      "1:",
                                      ":1",
                                      "1:2",
                                      "1:2:3:4:5:6:7",
                                      "1:2:3:4:5:6:7:8:9",
                                      "1::2::3",
                                      "12345::",
                                      "::g",
                                      "::1 ",
                                      "[::1]",
                                      "::1%eth0",
                                      "::1.2.3",
                                      "1:2:3:4:5:6:7:1.2.3.4",
                                      "::1.2.3.4:5",
                                      "1:2:3:4:5:6:7::8",
                                      "::ffff:1.2.3.256",
                                      "fe80::1:",
                                      "1:::2"};
    struct kl_address a = kl_address_loopback(5);
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++)
        if (kl_address_parse(bad[i], &a)) fail_msg("read: %s", bad[i]);
    assert_int_equal(a.port, 5);
}

TEST(a_port_stands_behind_it) {
    static const char *const same[] = {"192.0.2.1:5", "[2001:db8::1]:55435", "[::1]:65535"};
    static const char *const bad[] = {"2001:db8::1",  "[192.0.2.1]:5", "192.0.2.1:0", "192.0.2.1:65536",
                                      "[::1]5",       "[::1]:",        "[::1",        "::1]:5",
                                      "192.0.2.1:05", "a:1",           "[::1]:5 ",    ""};
    char text[KL_PLACE_TEXT];
    struct kl_address a;
    for (unsigned i = 0; i < sizeof same / sizeof *same; i++) {
        assert_true(kl_address_parse_place(same[i], &a));
        assert_string_equal(kl_address_place(text, &a), same[i]);
    }
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++)
        if (kl_address_parse_place(bad[i], &a)) fail_msg("read: %s", bad[i]);
    assert_true(kl_address_parse_place("[::ffff:192.0.2.1]:7", &a));
    assert_string_equal(kl_address_place(text, &a), "192.0.2.1:7");
    assert_true(kl_address_parse_place("[2001:db8::1]", &a) && a.port == 0);
    assert_string_equal(kl_host_port("relay.example.org", 7).text, "relay.example.org:7");
    assert_string_equal(kl_host_port("2001:db8::1", 7).text, "[2001:db8::1]:7");
}

TEST(a_network_of_64_bits_is_one_person) {
    static const struct {
        const char *a, *b, *person;
        bool one, around;
    } pairs[] = {
        {"2001:db8:0:1::7", "2001:db8:0:1:ffff::9", "2001:db8:0:1::", true, true},
        {"2001:db8:0:1::7", "2001:db8:0:2::7", "2001:db8:0:1::", false, true},
        {"2001:db8:0:1::7", "2001:db8:1:1::7", "2001:db8:0:1::", false, false},
        {"ffff:ffff:ffff:ffff::1", "ffff:ffff:ffff:fffe::1", "ffff:ffff:ffff:ffff::", false, true},
        {"192.0.2.1", "::ffff:192.0.2.1", "192.0.2.1", true, true},
        {"192.0.2.1", "192.0.2.2", "192.0.2.1", false, true},
        {"192.0.2.1", "192.0.3.1", "192.0.2.1", false, false},
        {"::1", "127.0.0.1", "::", false, false},
    };
    char text[KL_NET_TEXT];
    for (unsigned i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        struct kl_address a = read_address(pairs[i].a), b = read_address(pairs[i].b);
        uint64_t one = kl_address_person(&a), other = kl_address_person(&b);
        assert_int_equal(one == other, pairs[i].one);
        assert_int_equal(kl_address_around(one) == kl_address_around(other), pairs[i].around);
        assert_true(one && other);
        assert_string_equal(kl_address_net(text, &a), pairs[i].person);
    }
}

TEST(an_address_tells_whom_it_serves) {
    static const struct {
        const char *text;
        enum kl_audience audience;
    } known[] = {
        {"203.0.113.7", KL_AUDIENCE_ALL},
        {"2001:db8::1", KL_AUDIENCE_ALL},
        {"172.15.0.1", KL_AUDIENCE_ALL},
        {"172.32.0.1", KL_AUDIENCE_ALL},
        {"100.63.0.1", KL_AUDIENCE_ALL},
        {"100.128.0.1", KL_AUDIENCE_ALL},
        {"172.16.0.1", KL_AUDIENCE_NETWORK},
        {"172.31.9.9", KL_AUDIENCE_NETWORK},
        {"192.168.1.5", KL_AUDIENCE_NETWORK},
        {"169.254.8.8", KL_AUDIENCE_NETWORK},
        {"100.64.0.1", KL_AUDIENCE_NETWORK},
        {"64:ff9b::1", KL_AUDIENCE_ALL},
        {"10.1.2.3", KL_AUDIENCE_NETWORK},
        {"fe80::1", KL_AUDIENCE_NETWORK},
        {"fd00::1", KL_AUDIENCE_NETWORK},
        {"fec0::1", KL_AUDIENCE_NETWORK},
        {"127.0.0.1", KL_AUDIENCE_MACHINE},
        {"::1", KL_AUDIENCE_MACHINE},
        {"::ffff:127.0.0.1", KL_AUDIENCE_MACHINE},
        {"0.0.0.1", KL_AUDIENCE_NOBODY},
        {"::", KL_AUDIENCE_NOBODY},
        {"::2", KL_AUDIENCE_NOBODY},
        {"0:ffff::1", KL_AUDIENCE_NOBODY},
        {"224.0.0.1", KL_AUDIENCE_NOBODY},
        {"255.255.255.255", KL_AUDIENCE_NOBODY},
        {"ff02::1", KL_AUDIENCE_NOBODY},
    };
    for (unsigned i = 0; i < sizeof known / sizeof *known; i++) {
        struct kl_address a = read_address(known[i].text);
        if (kl_address_audience(&a) != known[i].audience) fail_msg("%s", known[i].text);
    }
}

TEST(a_relay_of_the_internet_names_no_address_of_a_local_network) {
    static const struct {
        const char *relay, *to;
        bool concerns;
    } row[] = {
        {"203.0.113.7", "198.51.100.1", true}, {"203.0.113.7", "192.168.1.1", false},
        {"203.0.113.7", "127.0.0.1", false},   {"203.0.113.7", "224.0.0.1", false},
        {"192.168.1.5", "198.51.100.1", true}, {"192.168.1.5", "192.168.1.1", true},
        {"127.0.0.1", "127.0.0.1", true},      {"192.168.1.5", "224.0.0.1", false},
    };
    for (unsigned i = 0; i < COUNT(row); i++) {
        struct kl_address relay = read_address(row[i].relay), to = read_address(row[i].to);
        if (kl_address_concerns(&relay, &to) != row[i].concerns) fail_msg("row %u", i);
    }
}

TEST(both_kinds_are_tried_by_turns) {
    static const char *const given[] = {"2001:db8::1", "2001:db8::2", "2001:db8::1",
                                        "192.0.2.1",   "2001:db8::3", "192.0.2.2"};
    static const char *const tried[] = {"2001:db8::1", "192.0.2.1", "2001:db8::2", "192.0.2.2",
                                        "2001:db8::3"};
    struct kl_addresses list = {0};
    char text[KL_ADDRESS_TEXT];
    for (unsigned i = 0; i < sizeof given / sizeof *given; i++) {
        struct kl_address a = read_address(given[i]);
        kl_addresses_add(&list, &a);
    }
    kl_addresses_mix(&list);
    assert_int_equal(list.count, 5);
    for (unsigned i = 0; i < list.count; i++)
        assert_string_equal(kl_address_text(text, &list.at[i]), tried[i]);
    for (unsigned i = 0; i < 20; i++) {
        struct kl_address a = kl_address_v4((const uint8_t[]){10, 0, 0, (uint8_t)i}, 0);
        kl_addresses_add(&list, &a);
    }
    assert_int_equal(list.count, KL_ADDRESSES_MAX);
}

/* test_lobby_door.c - passwords, locks, kicks, bans and lists of the relay's rooms. PROTOCOL.md §7. */
#include "tests/unit/unit.h"
#include "tests/lib/lobby_net.h"

#include "net/engine/command.h"
#include "net/session/door.h"
#include "net/session/digest.h"

static void hello_with(unsigned peer, const char *room, uint8_t door) {
    struct kl_msg m = a_hello(peer, room, 1, 2, "x");
    m.hello.door = door;
    enter(peer, &m);
}

/* Stretching takes 0.1 s: once a salt and password. */
static const uint8_t *stretched(const char *password, const uint8_t salt[KL_SALT_BYTES]) {
    static struct {
        char password[20];
        uint8_t salt[KL_SALT_BYTES], secret[KL_DOOR_SECRET];
    } known[16];
    static unsigned count;
    for (unsigned i = 0; i < count; i++)
        if (!strcmp(known[i].password, password) && !memcmp(known[i].salt, salt, KL_SALT_BYTES))
            return known[i].secret;
    assert_true(count < 16);
    snprintf(known[count].password, sizeof known[count].password, "%s", password);
    memcpy(known[count].salt, salt, KL_SALT_BYTES);
    assert_int_equal(kl_door_stretch(password, salt, known[count].secret), KL_OK);
    return known[count++].secret;
}

static void make_with_password(unsigned peer, const char *room, const char *password, uint8_t door) {
    struct kl_msg m = {.kind = KL_MSG_PROVE, .prove.what = KL_PROVE_SET};
    hello_with(peer, room, door | KL_DOOR_PASSWORD);
    const struct kl_msg *asked = heard(peer, KL_MSG_DOOR);
    assert_non_null(asked);
    assert_int_equal(asked->door.what, KL_PROVE_SET);
    assert_null(heard(peer, KL_MSG_WELCOME));
    memcpy(m.prove.share, stretched(password, asked->door.salt), KL_SHARE_BYTES);
    say(peer, &m);
}

static struct kl_door run_of[PEERS];

/* After the hello. expected: the relay's mac. */
static struct kl_msg proof(unsigned peer, const char *password, uint8_t expected[KL_MAC_BYTES]) {
    struct kl_msg m = {.kind = KL_MSG_PROVE, .prove.what = KL_PROVE};
    const struct kl_msg *asked = heard(peer, KL_MSG_DOOR);
    struct kl_door_macs macs;
    assert_non_null(asked);
    assert_int_equal(asked->door.what, KL_PROVE);
    kl_door_begin(&run_of[peer], KL_DOOR_CLIENT, stretched(password, asked->door.salt), inbox[peer].binding);
    memcpy(m.prove.share, run_of[peer].share, KL_SHARE_BYTES);
    assert_int_equal(kl_door_finish(&run_of[peer], asked->door.share, &macs), KL_OK);
    memcpy(m.prove.mac, macs.own, KL_MAC_BYTES);
    memcpy(expected, macs.expected, KL_MAC_BYTES);
    return m;
}

static void prove(unsigned peer, const char *password) {
    uint8_t expected[KL_MAC_BYTES];
    struct kl_msg m = proof(peer, password, expected);
    say(peer, &m);
    const struct kl_msg *proved = heard(peer, KL_MSG_PROVED);
    if (proved) assert_memory_equal(proved->proved.mac, expected, KL_MAC_BYTES);
}

TEST_WITH(a_password_lets_in_who_knows_it, set_up, tear_down) {
    make_with_password(0, "room", "open sesame", 0);
    assert_non_null(heard(0, KL_MSG_WELCOME));
    assert_int_equal(heard(0, KL_MSG_ROSTER)->roster.doors, KL_DOOR_PASSWORD);
    hello_with(1, "room", KL_DOOR_PASSWORD);
    assert_null(heard(1, KL_MSG_WELCOME));
    prove(1, "open sesame");
    assert_non_null(heard(1, KL_MSG_PROVED));
    assert_non_null(heard(1, KL_MSG_WELCOME));
    assert_int_equal(kl_lobby_members(lobby), 2);
}

TEST_WITH(and_nobody_else, set_up, tear_down) {
    make_with_password(0, "room", "open sesame", 0);
    hello_with(1, "room", 0);
    expect_refusal(1, KL_REFUSE_DOOR, "it has a password, and you gave none");
    hello_with(2, "room", KL_DOOR_PASSWORD);
    prove(2, "open barley");
    expect_refusal(2, KL_REFUSE_DOOR, "wrong password for room room");
    assert_null(heard(2, KL_MSG_PROVED)); /* nothing to test guesses on */
    assert_null(heard(2, KL_MSG_WELCOME));
    hello_with(3, "room", KL_DOOR_PASSWORD);
    struct kl_msg m = {.kind = KL_MSG_PROVE, .prove.what = KL_PROVE}; /* a share that is none */
    say(3, &m);
    expect_refusal(3, KL_REFUSE_DOOR, "wrong password");
    hello_with(4, "room", KL_DOOR_PASSWORD);
    m.prove.what = KL_PROVE_SET; /* would set another */
    say(4, &m);
    expect_refusal(4, KL_REFUSE_DOOR, "try again");
    hello_with(5, "room", KL_DOOR_PASSWORD);
    bye(5);
    expect_refusal(5, KL_REFUSE_PROTOCOL, "expected a PROVE");
    assert_int_equal(kl_lobby_members(lobby), 1);
}

/* One session's proof says nothing in another. */
TEST_WITH(a_proof_is_for_one_session, set_up, tear_down) {
    uint8_t expected[KL_MAC_BYTES];
    make_with_password(0, "room", "open sesame", 0);
    hello_with(1, "room", KL_DOOR_PASSWORD);
    struct kl_msg m = proof(1, "open sesame", expected);
    hello_with(2, "room", KL_DOOR_PASSWORD);
    say(2, &m);
    expect_refusal(2, KL_REFUSE_DOOR, "wrong password");
    say(1, &m);
    assert_non_null(heard(1, KL_MSG_WELCOME));
}

/* A room's game is shown to those who know the password. */
TEST_WITH(the_door_comes_before_the_game, set_up, tear_down) {
    make_with_password(0, "room", "open sesame", 0);
    struct kl_msg m = a_hello(1, "room", 1, 2, "another game");
    m.hello.door = KL_DOOR_PASSWORD;
    enter(1, &m);
    assert_null(heard(1, KL_MSG_REFUSE));
    prove(1, "open sesame");
    expect_refusal(1, KL_REFUSE_IDENTITY, "content differs");
}

TEST_WITH(a_password_for_a_room_without, set_up, tear_down) {
    hello(0, "room", 1, 2, "x");
    hello_with(1, "room", KL_DOOR_PASSWORD);
    expect_refusal(1, KL_REFUSE_DOOR, "it has no password, and you gave one");
}

TEST_WITH(two_who_make_the_room_at_once, set_up, tear_down) {
    struct kl_msg m = {.kind = KL_MSG_PROVE, .prove.what = KL_PROVE_SET};
    hello_with(0, "room", KL_DOOR_PASSWORD);
    make_with_password(1, "room", "open sesame", 0);
    assert_non_null(heard(1, KL_MSG_WELCOME));
    say(0, &m);
    expect_refusal(0, KL_REFUSE_DOOR, "made or ended a moment ago");
    hello_with(2, "room", KL_DOOR_PASSWORD);
    bye(1);
    make_with_password(3, "room", "another", 0); /* made anew: another salt */
    uint8_t expected[KL_MAC_BYTES];
    m = proof(2, "open sesame", expected);
    say(2, &m);
    expect_refusal(2, KL_REFUSE_DOOR, "made or ended a moment ago");
}

TEST_WITH(a_client_that_stands_in_the_door_is_sent_away, set_up, tear_down) {
    hello_with(0, "room", KL_DOOR_PASSWORD);
    pass(14 * SECOND);
    assert_false(inbox[0].hung_up);
    pass(2 * SECOND);
    expect_refusal(0, KL_REFUSE_PROTOCOL, "no PROVE within 15 s");
    assert_int_equal(kl_lobby_rooms(lobby), 0);
    hello_with(1, "room", KL_DOOR_PASSWORD);
    kl_lobby_lost(lobby, 1, now_us); /* the memory kept for him is freed: valgrind and ASan see */
    hello_with(2, "room", KL_DOOR_PASSWORD);
}

static void guess(unsigned peer) {
    hello_with(peer, "room", KL_DOOR_PASSWORD);
    if (heard(peer, KL_MSG_DOOR)) say(peer, &(struct kl_msg){.kind = KL_MSG_PROVE, .prove.what = KL_PROVE});
}

TEST_WITH(guessing_gets_slow, set_up, tear_down) {
    make_with_password(0, "room", "open sesame", 0);
    for (unsigned i = 0; i < 20; i++) {
        guess(1);
        expect_refusal(1, KL_REFUSE_DOOR, "wrong password");
    }
    guess(1);
    expect_refusal(1, KL_REFUSE_DOOR, "too many wrong passwords; try again in 3 s");
    address_of_peers = "192.0.2.2:5"; /* others may */
    guess(2);
    expect_refusal(2, KL_REFUSE_DOOR, "wrong password for");
    hello_with(3, "room", KL_DOOR_PASSWORD);
    prove(3, "open sesame");
    assert_non_null(heard(3, KL_MSG_WELCOME));
    address_of_peers = "192.0.2.1:77";
    now_us += 3 * SECOND;
    guess(1);
    expect_refusal(1, KL_REFUSE_DOOR, "wrong password for");
    guess(1);
    expect_refusal(1, KL_REFUSE_DOOR, "too many");
}

/* A token is nothing to guess; who tries all the same has fewer passwords. */
TEST_WITH(wrong_returns_count, set_up, tear_down) {
    make_with_password(0, "room", "open sesame", 0);
    for (unsigned i = 0; i < 20; i++) {
        const uint8_t token[KL_TOKEN_BYTES] = {(uint8_t)i};
        connect_peer(1);
        struct kl_msg m = a_return(0, 1, "room", token);
        say(1, &m);
        expect_refusal(1, KL_REFUSE_SEAT, "keeps no seat for you");
    }
    guess(1);
    expect_refusal(1, KL_REFUSE_DOOR, "too many wrong passwords");
    address_of_peers = "192.0.2.2:5";
    guess(2);
    expect_refusal(2, KL_REFUSE_DOOR, "wrong password for");
}

static void guess_from(unsigned i) {
    static char address[30];
    snprintf(address, sizeof address, "198.51.100.%u:5", i);
    address_of_peers = address;
    guess(1);
}

/* From many addresses: the room itself slows down, but not for addresses that were right before, and by
 * itself for those that have never failed. */
TEST_WITH(guessing_from_everywhere_gets_slow, set_up, tear_down) {
    make_with_password(0, "room", "open sesame", 0);
    address_of_peers = "203.0.113.7:5";
    hello_with(2, "room", KL_DOOR_PASSWORD);
    prove(2, "open sesame");
    assert_non_null(heard(2, KL_MSG_WELCOME));
    bye(2);
    for (unsigned i = 0; i < 20; i++) {
        guess_from(i);
        expect_refusal(1, KL_REFUSE_DOOR, "wrong password for");
    }
    guess_from(20);
    expect_refusal(1, KL_REFUSE_DOOR, "too many");
    for (unsigned i = 0; i < 40; i++) { /* those that failed have their own share */
        guess_from(i % 20);
        expect_refusal(1, KL_REFUSE_DOOR, "wrong password for");
    }
    guess_from(0);
    expect_refusal(1, KL_REFUSE_DOOR, "too many");
    address_of_peers = "203.0.113.7:6"; /* a friend comes again */
    hello_with(3, "room", KL_DOOR_PASSWORD);
    prove(3, "open sesame");
    assert_non_null(heard(3, KL_MSG_WELCOME));
    bye(3);
    address_of_peers = "192.0.2.1:5"; /* so does the maker */
    hello_with(4, "room", KL_DOOR_PASSWORD);
    prove(4, "open sesame");
    assert_non_null(heard(4, KL_MSG_WELCOME));
}

/* Runs begun at once are no more tries. */
TEST_WITH(guesses_at_once_are_no_more, set_up, tear_down) {
    char address[30];
    make_with_password(0, "room", "open sesame", 0);
    for (unsigned i = 0; i < 30; i++) {
        snprintf(address, sizeof address, "203.0.113.%u:5", i);
        address_of_peers = address;
        hello_with(2 + i, "room", KL_DOOR_PASSWORD);
        assert_non_null(heard(2 + i, KL_MSG_DOOR));
    }
    unsigned judged = 0;
    for (unsigned i = 0; i < 30; i++) {
        say(2 + i, &(struct kl_msg){.kind = KL_MSG_PROVE, .prove.what = KL_PROVE});
        judged += strstr(heard(2 + i, KL_MSG_REFUSE)->text.text, "wrong password for") != NULL;
    }
    assert_int_equal(judged, 20);
}

TEST_WITH(locked_is_for_newcomers, set_up, tear_down) {
    hello(0, "room", 1, 3, "x");
    hello(1, "room", 1, 3, "x");
    order(1, KL_COMMAND_LOCK, 1);
    assert_int_equal(heard(0, KL_MSG_ROSTER)->roster.doors, 0); /* not his to lock */
    order(0, KL_COMMAND_LOCK, 1);
    assert_int_equal(heard(1, KL_MSG_ROSTER)->roster.doors, KL_DOOR_LOCKED);
    expect_notice(1, "the host p0 (1) locks the room");
    hello(2, "room", 1, 3, "x");
    expect_refusal(2, KL_REFUSE_DOOR, "its host has locked it");
    lose(1);
    connect_peer(11);
    struct kl_msg m = a_return(1, 11, "room", heard(1, KL_MSG_WELCOME)->welcome.token);
    say(11, &m);
    assert_non_null(heard(11, KL_MSG_WELCOME)); /* he is no newcomer */
    order(0, KL_COMMAND_LOCK, 0);
    hello(2, "room", 1, 3, "x");
    assert_non_null(heard(2, KL_MSG_WELCOME));
}

/* One comes in each time that the host opens; a second with the same ticket stands before a shut door. */
TEST_WITH(a_door_for_one_at_a_time, set_up, tear_down) {
    hello_with(0, "room", KL_DOOR_ONCE | KL_DOOR_UNLISTED);
    assert_int_equal(heard(0, KL_MSG_ROSTER)->roster.doors, KL_DOOR_LOCKED | KL_DOOR_UNLISTED);
    hello(1, "room", 1, 3, "x");
    expect_refusal(1, KL_REFUSE_DOOR, "its host has locked it");
    order(0, KL_COMMAND_LOCK, 0);
    assert_int_equal(heard(0, KL_MSG_ROSTER)->roster.doors, KL_DOOR_UNLISTED);
    hello(2, "room", 1, 3, "x");
    assert_non_null(heard(2, KL_MSG_WELCOME));
    assert_int_equal(heard(0, KL_MSG_ROSTER)->roster.doors, KL_DOOR_LOCKED | KL_DOOR_UNLISTED);
    hello(3, "room", 1, 3, "x");
    expect_refusal(3, KL_REFUSE_DOOR, "its host has locked it");
}

/* A player who wants a match ends in no room that is not for that, and never among its watchers. */
TEST_WITH(matches_and_named_rooms_are_apart, set_up, tear_down) {
    struct kl_lobby_listing room;
    unsigned from = 0;
    hello(0, "friends", 1, 2, "x");
    hello_with(1, "friends", KL_DOOR_QUICK | KL_DOOR_SEAT);
    expect_refusal(1, KL_REFUSE_FULL, "was not opened for a quick match");
    hello_with(1, "quick-a", KL_DOOR_QUICK | KL_DOOR_SEAT);
    assert_non_null(heard(1, KL_MSG_WELCOME));
    assert_int_equal(kl_lobby_list(lobby, &from, &room, 1), 1);
    assert_false(room.doors & KL_DOOR_QUICK);
    assert_int_equal(room.rtt_ms, KL_RTT_UNKNOWN);
    assert_int_equal(kl_lobby_list(lobby, &from, &room, 1), 1);
    assert_string_equal(room.name, "quick-a");
    assert_true(room.doors & KL_DOOR_QUICK);
    hello_with(2, "quick-a", KL_DOOR_QUICK | KL_DOOR_SEAT);
    assert_int_equal(heard(2, KL_MSG_WELCOME)->welcome.seats, 2);
    hello_with(3, "quick-a", KL_DOOR_QUICK | KL_DOOR_SEAT);
    expect_refusal(3, KL_REFUSE_FULL, "its 2 seats are taken");
    struct kl_msg m = a_hello(4, "quick-a", 1, 2, "another game"); /* not told what is played there */
    m.hello.door = KL_DOOR_SEAT;
    enter(4, &m);
    expect_refusal(4, KL_REFUSE_FULL, "its 2 seats are taken");
}

/* Chat shows NAME: TEXT, and the relay's operator speaks as "relay". */
TEST_WITH(nobody_is_called_relay, set_up, tear_down) {
    static const char *const refused[] = {
        "relay", "Relay", "RELAY", " relay", "relay ", "rel\xc3\xa0y", "\xc2\xa0r\xc3\x89lay"};
    static const char *const taken[] = {"relayer", "re lay", "relay2"};
    unsigned peer = 0;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        struct kl_msg m = a_hello(peer, "room", i % 2, 2, "x"); /* plays or watches */
        strcpy(m.hello.name, refused[i]);
        enter(peer, &m);
        expect_refusal(peer++, KL_REFUSE_DOOR, "the relay's own; choose another name");
    }
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++) {
        struct kl_msg m = a_hello(peer, "room", 1, 3, "x");
        strcpy(m.hello.name, taken[i]);
        enter(peer, &m);
        assert_non_null(heard(peer++, KL_MSG_WELCOME));
    }
}

/* A name may hold anything that is text: in the log it stays a name. */
/* A player or a room called so would read as the begin of a line. */
TEST_WITH(no_name_has_a_colon, set_up, tear_down) {
    struct kl_msg m = a_hello(1, "room", 1, 2, "x");
    strcpy(m.hello.name, "relay: paused");
    enter(1, &m);
    expect_refusal(1, KL_REFUSE_DOOR, "a name has no colon: choose another than \"relay: paused\"");
    hello(2, "the relay: paused", 1, 2, "x");
    expect_refusal(2, KL_REFUSE_DOOR, "a name has no colon: choose another than \"the relay: paused\"");
    assert_int_equal(kl_lobby_rooms(lobby), 0);
}

TEST_WITH(no_name_writes_the_log, set_up, tear_down) {
    char *text = NULL, quoted[20];
    size_t len;
    FILE *log = open_memstream(&text, &len);
    struct kl_msg m = a_hello(0, "room", 1, 3, "x");
    strcpy(m.hello.name, "a\" code=0 b=\"");
    enter(0, &m);
    kl_log_set_level(KL_LOG_INFO);
    kl_log_to(log);
    order(0, KL_COMMAND_LOCK, 1);
    kl_log_to(NULL);
    kl_log_set_level(KL_LOG_ERROR);
    fclose(log);
    assert_non_null(strstr(text, "event=locked room=\"room\" by=\"the host a\\\" code=0 b=\\\" (1)\"\n"));
    free(text);
    assert_string_equal(kl_log_quote(quoted, sizeof quoted,
                                     "a\xc2\x9b"
                                     "2J\xc3\xa4"),
                        "\"a\\xc2\\x9b2J\xc3\xa4\"");
}

TEST_WITH(kicked_may_come_again_and_banned_may_not, set_up, tear_down) {
    hello(0, "room", 1, 4, "x");
    address_of_peers = "192.0.2.9:5";
    hello(1, "room", 1, 4, "x");
    order(1, KL_COMMAND_KICK, 0);
    assert_false(inbox[0].hung_up);
    expect_notice(1, "only the host of the room can do that, p0");
    order(0, KL_COMMAND_KICK, 1);
    expect_refusal(1, KL_REFUSE_CLOSED, "put out by the host p0");
    hello(1, "room", 1, 4, "x");
    assert_non_null(heard(1, KL_MSG_WELCOME));
    uint8_t token[KL_TOKEN_BYTES];
    memcpy(token, heard(1, KL_MSG_WELCOME)->welcome.token, sizeof token);
    order(0, KL_COMMAND_BAN, 1);
    expect_refusal(1, KL_REFUSE_DOOR, "banned by the host p0");
    hello(1, "room", 1, 4, "x");
    expect_refusal(1, KL_REFUSE_DOOR, "you are banned from it");
    hello(3, "room", 1, 4, "x"); /* another key, the same address */
    expect_refusal(3, KL_REFUSE_DOOR, "you are banned from it");
    address_of_peers = "192.0.2.10:5";
    hello(1, "room", 1, 4, "x"); /* another address, the same key */
    expect_refusal(1, KL_REFUSE_DOOR, "you are banned from it");
    connect_peer(11);
    struct kl_msg m = a_return(1, 11, "room", token);
    say(11, &m);
    expect_refusal(11, KL_REFUSE_SEAT, "no seat");
    hello(4, "room", 1, 4, "x");
    assert_non_null(heard(4, KL_MSG_WELCOME));
    hello(1, "other", 1, 4, "x"); /* in other rooms he may be */
    assert_non_null(heard(1, KL_MSG_WELCOME));
}

/* Wherever he was when he came, and wherever he is when he is banned. at: came there, moved to the same
 * place, and to another; then others come from both places, and from a third. */
static void is_banned_at(const char *const at[6]) {
    hello(0, "room", 1, 4, "x");
    address_of_peers = at[0];
    hello(1, "room", 1, 4, "x");
    kl_lobby_moved(lobby, 1, at[1]);
    kl_lobby_moved(lobby, 1, at[2]);
    order(0, KL_COMMAND_BAN, 1);
    expect_refusal(1, KL_REFUSE_DOOR, "banned");
    address_of_peers = at[3];
    hello(2, "room", 1, 4, "x"); /* another key, where he came from */
    expect_refusal(2, KL_REFUSE_DOOR, "you are banned from it");
    address_of_peers = at[4];
    hello(3, "room", 1, 4, "x"); /* another key, at the address that he went to */
    expect_refusal(3, KL_REFUSE_DOOR, "you are banned from it");
    address_of_peers = at[5];
    hello(4, "room", 1, 4, "x");
    assert_non_null(heard(4, KL_MSG_WELCOME));
}

TEST_WITH(a_client_that_moves_is_banned_all_the_same, set_up, tear_down) {
    is_banned_at((const char *const[]){"192.0.2.9:5", "192.0.2.9:6", "192.0.2.10:7", "[::ffff:192.0.2.9]:5",
                                       "192.0.2.10:8", "192.0.2.11:8"});
}

TEST_WITH(a_ban_is_of_64_bits_of_ipv6, set_up, tear_down) {
    is_banned_at((const char *const[]){"[2001:db8:0:1::9]:5", "[2001:db8:0:1:a:b:c:d]:5", "192.0.2.10:7",
                                       "[2001:db8:0:1::1]:9", "192.0.2.10:8", "[2001:db8:0:2::9]:5"});
}

/* A client that has used up its tries somewhere has none for a session that it began elsewhere. */
TEST_WITH(tries_count_where_one_is, set_up, tear_down) {
    make_with_password(0, "room", "open sesame", 0);
    address_of_peers = "192.0.2.9:5";
    for (unsigned i = 0; i < 20; i++)
        guess(1);
    address_of_peers = "192.0.2.10:5";
    for (unsigned i = 0; i < 3; i++) {
        hello_with(2 + i, "room", KL_DOOR_PASSWORD);
        kl_lobby_moved(lobby, 2 + i, "192.0.2.9:6");
        say(2 + i, &(struct kl_msg){.kind = KL_MSG_PROVE, .prove.what = KL_PROVE});
        expect_refusal(2 + i, KL_REFUSE_DOOR, "too many wrong passwords");
    }
}

TEST_WITH(orders_that_make_no_sense, set_up, tear_down) {
    hello(0, "room", 1, 4, "x");
    order(0, KL_COMMAND_KICK, 0); /* himself */
    order(0, KL_COMMAND_BAN, 3);  /* nobody */
    order(0, KL_COMMAND_KICK, 200);
    order(0, KL_COMMAND_LOCK, 2);
    order(0, KL_COMMAND_HOST, 5);
    say(0, &(struct kl_msg){.kind = KL_MSG_COMMAND, .order.kind = KL_COMMAND_BAN});
    assert_false(inbox[0].hung_up);
    assert_int_equal(kl_lobby_members(lobby), 1);
}

/* Also before the game: then the new host is asked for the start data. */
TEST_WITH(handing_over, set_up, tear_down) {
    hello(0, "room", 1, 3, "x");
    hello(1, "room", 1, 3, "x");
    order(0, KL_COMMAND_HOST, 1);
    assert_true(member_of(0, 1)->host);
    hello(2, "room", 1, 3, "x");
    assert_non_null(heard(1, KL_MSG_SEND));
    give(1, "save");
    assert_non_null(heard(0, KL_MSG_PREPARE));
    assert_non_null(heard(0, KL_MSG_DATA));
    order(1, KL_COMMAND_HOST, 0); /* while they load */
    assert_true(member_of(2, 0)->host);
}

/* Not between SEND and the last of the start data: what is under way would be a stranger's. */
TEST_WITH(no_handing_over_while_the_host_sends, set_up, tear_down) {
    hello(0, "room", 1, 2, "x");
    hello(1, "room", 1, 2, "x");
    assert_non_null(heard(0, KL_MSG_SEND));
    order(0, KL_COMMAND_HOST, 1);
    expect_notice(0, "you are sending the room's start data");
    assert_true(member_of(0, 0)->host);
    assert_null(heard(1, KL_MSG_SEND));
    give(0, "save");
    assert_false(inbox[0].hung_up);
    ready(0, "a"), ready(1, "a");
    pass(70 * SECOND); /* nothing is waited for any more */
    assert_false(inbox[0].hung_up);
    assert_int_equal(state_of(1, 0), KL_MEMBER_PLAYING);
}

TEST_WITH(strangers_see_public_rooms, set_up, tear_down) {
    struct kl_lobby_listing list[4];
    unsigned from = 0;
    struct kl_facts f = {0};
    uint8_t identity[16];
    hello_with(0, "hidden", KL_DOOR_UNLISTED);
    make_with_password(1, "open", "pass", 0);
    assert_int_equal(kl_lobby_list(lobby, &from, list, 4), 1);
    assert_int_equal(kl_lobby_list(lobby, &from, list + 1, 3), 0);
    assert_string_equal(list[0].name, "open");
    assert_string_equal(list[0].content, "x");
    assert_int_equal(list[0].players, 2);
    assert_int_equal(list[0].filled, 1);
    assert_int_equal(list[0].open, 3);
    assert_int_equal(list[0].doors, KL_DOOR_PASSWORD);
    assert_false(list[0].playing);
    kl_facts_add(&f, "content", "x (under another name)");
    kl_identity(&f, identity);
    assert_memory_equal(list[0].identity, identity, 16);
    order(1, KL_COMMAND_LOCK, 1);
    from = 0;
    kl_lobby_list(lobby, &from, list, 4);
    assert_int_equal(list[0].open, 0);
    hello(2, "hidden", 1, 2, "x"); /* anybody who knows its name comes in */
    assert_non_null(heard(2, KL_MSG_WELCOME));
}

TEST_WITH(an_identity_counts_what_counts, set_up, tear_down) {
    struct kl_facts a = {0}, b = {0};
    uint8_t one[16], two[16];
    kl_facts_add(&a, "core", "n 1");
    kl_facts_add(&a, "content", "c (file)");
    kl_facts_add(&b, "content", "c");
    kl_facts_add(&b, "core", "n 1 (here)");
    kl_identity(&a, one), kl_identity(&b, two);
    assert_memory_equal(one, two, 16);
    strcpy(b.fact[1].value, "n 2");
    kl_identity(&b, two);
    assert_memory_not_equal(one, two, 16);
    a = b;
    strcpy(a.fact[0].key, "content2"), strcpy(a.fact[0].value, "");
    strcpy(b.fact[0].key, "content"), strcpy(b.fact[0].value, "2");
    kl_identity(&a, one), kl_identity(&b, two);
    assert_memory_not_equal(one, two, 16);
}

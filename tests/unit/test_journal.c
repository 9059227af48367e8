/* test_journal.c - the relay writes down what its rooms need, is killed, and loads them. journal.h. */
#include "lobby_players.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "net/engine/command.h"
#include "net/relay/journal.h"
#include "net/relay/journal_file.h"
#include "net/relay/lobby_again.h"

#define MIB       (UINT64_C(1) << 20)
#define BYTES_MAX (4 * MIB)

static char folder[64], err[300];
static struct kl_journal *journal;
static uint64_t limit;
static uint8_t bytes[BYTES_MAX]; /* of the one file */
static size_t bytes_len;
static uint32_t unwritten; /* datagrams that went out before what they carry was written */

/* --- folder and file --------------------------------------------------------------------------------------
 */

static const char *path_of(const char *name) {
    static char path[400];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

/* The name of the only file there; NULL: there is none. */
static const char *only_file(void) {
    static char name[256];
    DIR *dir = opendir(folder);
    unsigned count = 0;
    assert_non_null(dir);
    for (const struct dirent *e; (e = readdir(dir));)
        if (e->d_name[0] != '.') {
            snprintf(name, sizeof name, "%s", e->d_name);
            count++;
        }
    closedir(dir);
    assert_in_range(count, 0, 1);
    return count ? name : NULL;
}

static void put_file(const char *name, const void *from, size_t len, unsigned mode) {
    int fd = open(path_of(name), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0 && fchmod(fd, mode) == 0);
    assert_int_equal(write(fd, from, len), (ssize_t)len);
    close(fd);
}

static size_t get_file(const char *name, uint8_t *to, size_t cap) {
    int fd = open(path_of(name), O_RDONLY);
    assert_true(fd >= 0);
    ssize_t n = read(fd, to, cap);
    close(fd);
    assert_in_range(n, 0, cap - 1);
    return (size_t)n;
}

static void read_only_file(void) {
    assert_non_null(only_file());
    bytes_len = get_file(only_file(), bytes, sizeof bytes);
}

/* --- the relay's lives ------------------------------------------------------------------------------------
 */

static struct kl_lobby_room *the_room(void) {
    return kl_lobby_find(lobby, "room");
}

/* Frames in the file: all that anybody can have; some more may be closed since, and have not gone out. */
static uint32_t written(void) {
    assert_true(the_room()->journal.frames >= canon_end);
    return the_room()->journal.frames;
}

static void watch_update(unsigned peer, const uint8_t *body, size_t len) {
    const struct kl_lobby_room *r = the_room();
    bool writes = r && r->journal.state == KL_JOURNAL_OPEN && !r->journal.failing;
    if (writes && r->journal.frames < r->lock.next_close) unwritten++;
    listen_update(peer, body, len);
}

static void open_journal(void) {
    if (kl_journal_open(&journal, folder, limit, err, sizeof err) != 0) fail_msg("%s", err);
    kl_lobby_set_journal(lobby, journal, now_us);
}

static void begin_life(uint64_t time_us) {
    open_lobby(&limits_for_tests);
    now_us = lobby->born_us = time_us;
    on_message = listen_message;
    on_update = watch_update;
    kl_lobby_set_secret(lobby, secret);
    open_journal();
}

/* As kill -9: nobody is told, nothing is put in order. */
static void die(void) {
    kl_lobby_destroy(lobby);
    kl_journal_close(journal);
    for (unsigned i = 0; i < PLAYERS; i++)
        player[i].linked = false;
}

static void die_and_begin_again(void) {
    die();
    begin_life(now_us);
    play(SECOND); /* the players run what they have */
}

static int make_folder(void **state) {
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/test_journal.XXXXXX");
    assert_non_null(mkdtemp(folder));
    limit = BYTES_MAX;
    unwritten = 0;
    begin_life(100 * SECOND);
    return 0;
}

static int remove_folder(void **state) {
    (void)state;
    die();
    kl_log_to(NULL);
    DIR *dir = opendir(folder);
    for (const struct dirent *e; (e = readdir(dir));)
        if (e->d_name[0] != '.') unlink(path_of(e->d_name));
    closedir(dir);
    return rmdir(folder);
}

static void begin_game(enum kl_policy policy) {
    start_room(policy);
    on_update = watch_update;
}

static void all_come_back(unsigned peer) {
    for (unsigned i = 0; i < PLAYERS; i++) {
        struct kl_msg m = prepare_return(i, peer + i);
        say(peer + i, &m);
    }
    pass(200000);
    for (unsigned i = 0; i < PLAYERS; i++) {
        assert_non_null(heard(peer + i, KL_MSG_WELCOME));
        assert_null(heard(peer + i, KL_MSG_PREPARE)); /* with what it has */
    }
}

/* --- bytes ------------------------------------------------------------------------------------------------
 */

static const uint8_t id_of_test[KL_JOURNAL_ID] = {1, 2, 3};

static size_t put_record(const uint8_t key[32], size_t at, enum kl_journal_type type, const char *body) {
    uint32_t len = (uint32_t)strlen(body);
    kl_journal_record(key, at, type, body, len, bytes + at, bytes + at + KL_JOURNAL_BEFORE + len);
    memcpy(bytes + at + KL_JOURNAL_BEFORE, body, len);
    return at + KL_JOURNAL_AROUND + len;
}

static void records_are_read_as_written(void **state) {
    (void)state;
    uint8_t key[32], id[KL_JOURNAL_ID], other[32] = {9};
    struct kl_journal_cursor c;
    kl_journal_key(secret, id_of_test, key);
    kl_journal_head(key, id_of_test, bytes);
    size_t second = put_record(key, KL_JOURNAL_HEAD, KL_JOURNAL_TICKET, "ticket");
    size_t end = put_record(key, second, KL_JOURNAL_START, "");
    assert_int_equal(kl_journal_head_open(secret, bytes, end, id), KL_OK);
    assert_memory_equal(id, id_of_test, sizeof id);
    assert_int_equal(kl_journal_head_open(other, bytes, end, id), KL_E_MALFORMED);
    kl_journal_seek(&c, key, bytes, end);
    assert_true(kl_journal_next(&c));
    assert_int_equal(c.type, KL_JOURNAL_TICKET);
    assert_memory_equal(c.body, "ticket", 6);
    assert_true(kl_journal_next(&c));
    assert_int_equal(c.type, KL_JOURNAL_START);
    assert_int_equal(c.body_len, 0);
    assert_false(kl_journal_next(&c));
    assert_int_equal(c.at, end);
    memmove(bytes + KL_JOURNAL_HEAD, bytes + second, end - second); /* a record at another's place is none */
    kl_journal_seek(&c, key, bytes, KL_JOURNAL_HEAD + end - second);
    assert_false(kl_journal_next(&c));
    bytes[KL_JOURNAL_MAGIC]++;
    assert_int_equal(kl_journal_head_open(secret, bytes, end, id), KL_E_VERSION);
}

/* --- killed and started again -----------------------------------------------------------------------------
 */

static void the_match_goes_on(void **state) {
    (void)state;
    begin_game(KL_POLICY_BOUNDED);
    play(10 * SECOND);
    for (unsigned life = 1; life <= 3; life++) {
        uint32_t before = canon_end, closed = written();
        die_and_begin_again();
        assert_non_null(the_room());
        assert_int_equal(the_room()->lock.next_close, closed); /* nothing that was written is lost */
        assert_int_equal(kl_lobby_members(lobby), PLAYERS);
        all_come_back(10 * (life % 3));
        play(5 * SECOND);
        expect_all_at_the_end();
        assert_true(canon_end > before + 3 * 60); /* run_frame() compares */
    }
    expect_tags(&player[1], the_room()->id); /* one chain through all lives */
    assert_int_equal(unwritten, 0);
}

static void give_commands(void) {
    static const char words[] = "what they say in the room is a part of what was played";
    struct kl_msg m = {.kind = KL_MSG_COMMAND, .order.kind = KL_COMMAND_CHAT, .order.len = sizeof words - 1};
    memcpy(m.order.data, words, sizeof words - 1);
    for (unsigned i = 0; i < 20; i++) {
        say(player[i % PLAYERS].peer, &m);
        if (i % 3 == 0) order(player[0].peer, KL_COMMAND_RESET, 0);
        play(150000);
    }
}

/* Their tags are compared when they are loaded. */
static void commands_come_back(void **state) {
    (void)state;
    begin_game(KL_POLICY_BOUNDED);
    play(SECOND);
    give_commands();
    play(2 * SECOND);
    read_only_file();
    assert_true(memmem(bytes, bytes_len, "a part of what was played", 25) != NULL);
    uint32_t closed = written();
    die_and_begin_again();
    assert_int_equal(the_room()->lock.next_close, closed);
    all_come_back(10);
    play(3 * SECOND);
    expect_all_at_the_end();
}

static void a_player_with_nothing_comes_back_too(void **state) {
    (void)state;
    begin_game(KL_POLICY_OPTIMISTIC);
    play(4 * SECOND);
    die_and_begin_again();
    for (unsigned i = 0; i < 2; i++) {
        struct kl_msg m = prepare_return(i, 10 + i);
        say(10 + i, &m);
    }
    pass(1200000);
    come_back_with_nothing(2, 12);
    assert_memory_equal(heard(12, KL_MSG_DATA)->data.bytes, "save", 4);
    play(6 * SECOND);
    expect_all_at_the_end();
}

static void the_file_goes_with_the_room(void **state) {
    (void)state;
    struct stat st;
    assert_null(only_file());
    begin_game(KL_POLICY_BOUNDED);
    play(SECOND);
    assert_non_null(only_file());
    assert_int_equal(stat(path_of(only_file()), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(stat(folder, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    for (unsigned i = 0; i < PLAYERS; i++) {
        bye(i);
        player[i].linked = false;
    }
    pass(15 * SECOND);
    assert_int_equal(kl_lobby_rooms(lobby), 0);
    assert_null(only_file());
}

static void who_does_not_come_back_ends_it(void **state) {
    (void)state;
    begin_game(KL_POLICY_BOUNDED);
    play(SECOND);
    die_and_begin_again();
    assert_non_null(the_room());
    pass(59 * SECOND); /* the seat time, from the restart on */
    assert_non_null(the_room());
    pass(3 * SECOND);
    assert_null(the_room());
    assert_null(only_file());
}

/* --- torn and changed -------------------------------------------------------------------------------------
 */

static uint32_t frames_in(const struct kl_lobby_room *r) {
    static struct kl_history_cursor c;
    struct kl_frame f;
    uint32_t count = 0;
    kl_history_seek(&c, &r->past.history, 0);
    for (; kl_history_next(&c, &f); count++) {
        assert_int_equal(f.number, count);
        assert_int_equal(f.spacing, canon[count].spacing);
        for (unsigned s = 0; s < KL_MAX_SEATS; s++)
            assert_true(kl_input_equal(&f.in[s], &canon[count].in[s]));
    }
    assert_int_equal(count, r->lock.next_close);
    return count;
}

/* The frames that whole records within len bytes hold. */
static uint32_t whole_frames(size_t len, uint64_t *end) {
    struct kl_journal_cursor c;
    uint8_t key[32], id[KL_JOURNAL_ID];
    uint32_t frames = 0;
    *end = 0;
    if (kl_journal_head_open(secret, bytes, len, id) != KL_OK) return 0;
    kl_journal_key(secret, id, key);
    kl_journal_seek(&c, key, bytes, len);
    while (kl_journal_next(&c)) {
        if (c.type != KL_JOURNAL_FRAMES) continue;
        const uint8_t *piece = c.body + 5 + c.body[4] * KL_TAG;
        frames = (uint32_t)(piece[0] | piece[1] << 8 | piece[2] << 16) + piece[4];
    }
    *end = c.at;
    return frames;
}

static char journal_name[256];

/* Hundreds of warnings, all deserved. */
static void be_quiet(void) {
    static FILE *nothing;
    if (!nothing) nothing = fopen("/dev/null", "w");
    kl_log_to(nothing);
}

static void make_small_journal(void) {
    be_quiet();
    begin_game(KL_POLICY_BOUNDED);
    play(800000);
    pass(0);
    die();
    read_only_file();
    snprintf(journal_name, sizeof journal_name, "%s", only_file());
    uint64_t end;
    assert_true(whole_frames(bytes_len, &end) >= 30);
    assert_int_equal(end, bytes_len);
}

/* Loads what is given; the frames of the room that comes of it, 0 where none does. */
static uint32_t load(const uint8_t *from, size_t len) {
    put_file(journal_name, from, len, 0600);
    begin_life(now_us);
    uint32_t frames = the_room() ? frames_in(the_room()) : 0;
    die();
    return frames;
}

static void torn_at_any_byte(void **state) {
    (void)state;
    struct stat st;
    uint32_t rooms = 0;
    uint64_t end;
    make_small_journal();
    for (size_t len = 0; len <= bytes_len; len++) {
        uint32_t want = whole_frames(len, &end);
        assert_int_equal(load(bytes, len), want);
        bool there = stat(path_of(journal_name), &st) == 0;
        assert_true(there || (want == 0 && len == end));           /* whole, and nothing played: it goes */
        if (there) assert_int_equal(st.st_size, want ? end : len); /* cut off, or left alone */
        rooms += want > 0;
        if (want == 0 && len > end && len > KL_JOURNAL_HEAD)
            len += 60; /* the ticket: not each of its bytes */
    }
    assert_true(rooms > 500);
    begin_life(now_us);
}

static void changed_at_any_byte(void **state) {
    (void)state;
    static uint8_t changed[BYTES_MAX];
    make_small_journal();
    uint64_t end;
    uint32_t all = whole_frames(bytes_len, &end);
    for (size_t at = 0; at < bytes_len; at++) {
        memcpy(changed, bytes, bytes_len);
        changed[at] ^= (uint8_t)(1u << at % 8);
        uint32_t frames = load(changed, bytes_len); /* compares each with what was played */
        assert_true(frames < all);
    }
    begin_life(now_us);
}

/* Goes on behind the last whole record, and can be loaded again. */
static void a_torn_journal_is_written_on(void **state) {
    (void)state;
    make_small_journal();
    put_file(journal_name, bytes, bytes_len - 7, 0600);
    begin_life(now_us);
    uint32_t had = the_room()->lock.next_close;
    assert_true(had < canon_end + 60);
    canon_end = had < canon_end ? had : canon_end;
    for (unsigned i = 0; i < PLAYERS; i++)
        player[i].plays = false; /* they had run more: nobody can bring it, all begin anew */
    assert_int_equal(kl_lobby_again_open(the_room(), 0, now_us), KL_OK);
    for (unsigned i = 0; i < PLAYERS; i++)
        come_back_with_nothing(i, 10 + i);
    play(4 * SECOND);
    expect_all_at_the_end();
    uint32_t closed = written();
    die_and_begin_again();
    assert_int_equal(frames_in(the_room()), closed);
}

/* --- files that are not ours ------------------------------------------------------------------------------
 */

static void others_files_are_left_alone(void **state) {
    (void)state;
    static uint8_t again[BYTES_MAX];
    static const char foreign[] = "00000000000000000000000000000000.journal";
    make_small_journal();
    put_file(foreign, bytes, bytes_len, 0600); /* another room's name */
    put_file("ffffffffffffffffffffffffffffffff.journal", "", 0, 0600);
    put_file("notes.txt", "mine", 4, 0600);
    put_file(journal_name, bytes, bytes_len, 0644);
    begin_life(now_us);
    assert_int_equal(kl_lobby_rooms(lobby), 0);
    die();
    assert_int_equal(get_file(foreign, again, sizeof again), bytes_len);
    assert_memory_equal(again, bytes, bytes_len);
    assert_int_equal(get_file("notes.txt", again, sizeof again), 4);
    put_file(journal_name, bytes, bytes_len, 0600);
    open_lobby(&limits_for_tests);
    uint8_t other[32] = {7};
    kl_lobby_set_secret(lobby, other); /* another relay's key */
    open_journal();
    assert_int_equal(kl_lobby_rooms(lobby), 0);
    die();
    assert_int_equal(get_file(journal_name, again, sizeof again), bytes_len);
    assert_int_equal(unlink(path_of(journal_name)), 0);
    assert_int_equal(symlink(foreign, path_of(journal_name)), 0);
    begin_life(now_us);
    assert_int_equal(kl_lobby_rooms(lobby), 0);
}

static void one_relay_a_folder(void **state) {
    (void)state;
    struct kl_journal *second;
    char deep[100];
    assert_int_equal(kl_journal_open(&second, folder, MIB, err, sizeof err), -1);
    assert_non_null(strstr(err, "another relay"));
    snprintf(deep, sizeof deep, "%s/x", folder);
    assert_int_equal(mkdir(deep, 0700), 0);
    assert_int_equal(chmod(deep, 0777), 0);
    assert_int_equal(kl_journal_open(&second, deep, MIB, err, sizeof err), -1);
    assert_non_null(strstr(err, "others may write"));
    rmdir(deep);
    put_file("file", "", 0, 0600);
    snprintf(deep, sizeof deep, "%s/file", folder);
    assert_int_equal(kl_journal_open(&second, deep, MIB, err, sizeof err), -1);
}

static bool holds(const void *what, size_t len) {
    return memmem(bytes, bytes_len, what, len) != NULL;
}

static void nothing_in_clear(void **state) {
    (void)state;
    begin_game(KL_POLICY_BOUNDED);
    play(2 * SECOND);
    read_only_file();
    const struct kl_lobby_room *r = the_room();
    for (unsigned i = 0; i < PLAYERS; i++) {
        assert_false(holds(player[i].token, KL_TOKEN_BYTES));
        assert_false(holds(r->member[i].token_hash[0], KL_SEAT_HASH));
        assert_false(holds(r->member[i].seat_key, KL_SEAT_KEY_BYTES));
    }
    assert_false(holds(secret, sizeof secret));
    assert_false(holds(r->journal.key, 32));
    assert_false(holds("192.0.2.1", 9));
    assert_true(holds(r->id, 16)); /* holds() finds what there is */
}

/* --- a disk that is full ----------------------------------------------------------------------------------
 */

static void limit_files(rlim_t size) {
    struct rlimit l;
    getrlimit(RLIMIT_FSIZE, &l);
    l.rlim_cur = size;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &l), 0);
}

static unsigned lines_with(FILE *log, const char *what) {
    char line[1000];
    unsigned count = 0;
    rewind(log);
    while (fgets(line, sizeof line, log))
        count += strstr(line, what) != NULL;
    return count;
}

static void a_full_disk_stops_no_room(void **state) {
    (void)state;
    signal(SIGXFSZ, SIG_IGN);
    begin_game(KL_POLICY_BOUNDED);
    play(2 * SECOND);
    read_only_file();
    FILE *log = tmpfile();
    kl_log_set_level(KL_LOG_INFO);
    kl_log_to(log);
    uint32_t before = canon_end;
    limit_files(bytes_len + 150); /* half a record fits */
    play(5 * SECOND);
    be_quiet();
    limit_files(RLIM_INFINITY);
    assert_true(canon_end > before + 4 * 60);
    expect_all_at_the_end();
    assert_int_equal(lines_with(log, "event=journal_fails"), 1);
    assert_in_range(kl_lobby_stats(lobby).journal.failures, 4, 7); /* once a second */
    fclose(log);
    read_only_file();
    uint64_t end;
    assert_true(whole_frames(bytes_len, &end) < canon_end - 200);
    assert_int_equal(end, bytes_len); /* no half record stays */
    play(2 * SECOND);                 /* there is room again */
    uint32_t closed = written();
    die_and_begin_again();
    assert_int_equal(frames_in(the_room()), closed);
    all_come_back(10);
    play(3 * SECOND);
    expect_all_at_the_end();
}

static void no_room_for_a_new_file(void **state) {
    (void)state;
    signal(SIGXFSZ, SIG_IGN);
    limit_files(10);
    begin_game(KL_POLICY_BOUNDED);
    play(2 * SECOND);
    assert_true(canon_end > 60);
    read_only_file();
    assert_int_equal(bytes_len, 0);
    limit_files(RLIM_INFINITY);
    play(2 * SECOND);
    uint32_t closed = written();
    die_and_begin_again();
    assert_int_equal(frames_in(the_room()), closed);
}

/* Above the limit the file stays as it is; what it has can be loaded, and it goes with the room. */
static void no_more_than_the_limit(void **state) {
    (void)state;
    die();
    limit = 12000;
    begin_life(100 * SECOND);
    begin_game(KL_POLICY_BOUNDED);
    play(20 * SECOND);
    assert_true(canon_end > 18 * 60);
    read_only_file();
    assert_in_range(bytes_len, 10000, limit);
    assert_int_equal(kl_lobby_stats(lobby).journal.over, 1);
    uint64_t end;
    uint32_t has = whole_frames(bytes_len, &end);
    die_and_begin_again();
    assert_int_equal(frames_in(the_room()), has);
    struct kl_msg m = prepare_return(1, 11); /* clients bring what is missing */
    m.back.can_bring = true;
    say(11, &m);
    pass(400000);
    assert_non_null(heard(11, KL_MSG_WANT));
    assert_int_equal(heard(11, KL_MSG_WANT)->want.from, has);
    pass(120 * SECOND);
    assert_null(only_file());
}

int main(void) {
#define T(f) cmocka_unit_test_setup_teardown(f, make_folder, remove_folder)
    const struct CMUnitTest tests[] = {
        T(records_are_read_as_written),
        T(the_match_goes_on),
        T(commands_come_back),
        T(a_player_with_nothing_comes_back_too),
        T(the_file_goes_with_the_room),
        T(who_does_not_come_back_ends_it),
        T(torn_at_any_byte),
        T(changed_at_any_byte),
        T(a_torn_journal_is_written_on),
        T(others_files_are_left_alone),
        T(one_relay_a_folder),
        T(nothing_in_clear),
        T(a_full_disk_stops_no_room),
        T(no_room_for_a_new_file),
        T(no_more_than_the_limit),
    };
    return cmocka_run_group_tests_name("journal", tests, NULL, NULL);
}

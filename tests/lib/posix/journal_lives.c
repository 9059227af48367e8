#include "tests/lib/journal_lives.h"

#include "tests/unit/unit.h"
#include "tests/lib/files.h"

char folder[64], err[300];
struct kl_journal *journal;
uint64_t limit;
uint8_t bytes[BYTES_MAX];
size_t bytes_len;
uint32_t unwritten;

/* --- folder and file --- */

const char *path_of(const char *name) {
    static char path[400];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

const char *only_file(void) {
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

void put_file(const char *name, const void *from, size_t len, unsigned mode) {
    file_write(path_of(name), from, len, mode);
}

size_t get_file(const char *name, uint8_t *to, size_t cap) {
    return file_read(path_of(name), to, cap);
}

void read_only_file(void) {
    assert_non_null(only_file());
    bytes_len = get_file(only_file(), bytes, sizeof bytes);
}

/* --- the relay's lives --- */

uint32_t written(void) {
    assert_true(the_room()->journal.frames >= canon_end);
    return the_room()->journal.frames;
}

static void watch_update(unsigned peer, const uint8_t *body, size_t len) {
    const struct kl_lobby_room *r = the_room();
    bool writes = r && r->journal.state == KL_JOURNAL_OPEN && !r->journal.failing;
    if (writes && r->journal.frames < r->lock.next_close) unwritten++;
    listen_update(peer, body, len);
}

void open_journal(void) {
    if (kl_journal_open(&journal, folder, limit, err, sizeof err) != 0) fail_msg("%s", err);
    kl_lobby_set_journal(lobby, journal, now_us);
}

void begin_life(uint64_t time_us) {
    open_newborn(&limits_for_tests, time_us);
    on_message = listen_message;
    on_update = watch_update;
    kl_lobby_set_secret(lobby, secret);
    open_journal();
}

void die(void) {
    kl_lobby_destroy(lobby);
    kl_journal_close(journal);
    for (unsigned i = 0; i < PLAYERS; i++)
        player[i].linked = false;
}

void die_and_begin_again(void) {
    die();
    begin_life(now_us);
    play(SECOND); /* the players run what they have */
}

int make_folder(void **state) {
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/test_journal.XXXXXX");
    assert_non_null(mkdtemp(folder));
    limit = BYTES_MAX;
    unwritten = 0;
    begin_life(100 * SECOND);
    return 0;
}

int remove_folder(void **state) {
    (void)state;
    die();
    kl_log_to(NULL);
    DIR *dir = opendir(folder);
    for (const struct dirent *e; (e = readdir(dir));)
        if (e->d_name[0] != '.') unlink(path_of(e->d_name));
    closedir(dir);
    return rmdir(folder);
}

void begin_game(enum kl_policy policy) {
    start_room(policy);
    on_update = watch_update;
}

void all_come_back(unsigned peer) {
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

/* --- the content of a file --- */

uint32_t frames_in(const struct kl_lobby_room *r) {
    static struct kl_history_cursor c;
    struct kl_frame f;
    uint32_t count = 0;
    kl_history_seek(&c, &r->past.history, 0);
    for (; kl_history_next(&c, &f); count++) {
        assert_int_equal(f.number, count);
        if (count >= canon_end) continue; /* closed, and nobody has run it */
        assert_int_equal(f.spacing, canon[count].spacing);
        for (unsigned s = 0; s < KL_MAX_SEATS; s++)
            assert_true(kl_input_equal(&f.in[s], &canon[count].in[s]));
    }
    assert_int_equal(count, r->lock.next_close);
    return count;
}

uint32_t whole_frames(size_t len, uint64_t *end) {
    return journal_whole_frames(secret, bytes, len, end);
}

void be_quiet(void) {
    static FILE *nothing;
    if (!nothing) nothing = fopen("/dev/null", "w");
    kl_log_to(nothing);
}

char journal_name[256];

void make_small_journal(void) {
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

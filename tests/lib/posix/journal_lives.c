#include "tests/lib/journal_lives.h"

#include <signal.h>

#include "tests/unit/unit.h"
#include "tests/lib/files.h"

char folder[64], err[300];
struct kl_journal *journal;
struct kl_journal_limits journal_limits;
char room_name[KL_STORE_NAME];
uint8_t bytes[BYTES_MAX], tail[KL_TAIL_BYTES + 1];
size_t bytes_len, tail_len;
uint32_t unwritten;
bool reads = true;

/* --- folder and files --- */

const char *path_of(const char *name) {
    static char path[400];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

const char *file_of(const char *ending) {
    char name[sizeof room_name + 8];
    snprintf(name, sizeof name, "%s.%s", room_name, ending);
    return path_of(name);
}

const char *only_room(void) {
    static char name[sizeof room_name];
    DIR *dir = opendir(folder);
    unsigned files = 0;
    assert_non_null(dir);
    for (const struct dirent *e; (e = readdir(dir));) {
        if (e->d_name[0] == '.') continue;
        if (files++) assert_memory_equal(name, e->d_name, sizeof name - 1);
        memcpy(name, e->d_name, sizeof name - 1);
    }
    closedir(dir);
    assert_in_range(files, 0, 2);
    return files ? name : NULL;
}

void put_file(const char *name, const void *from, size_t len, unsigned mode) {
    file_write(path_of(name), from, len, mode);
}

size_t get_file(const char *name, uint8_t *to, size_t cap) {
    return file_read(path_of(name), to, cap);
}

void put_files(void) {
    file_write(file_of(KL_ENDING_RECORDING), bytes, bytes_len, 0600);
    file_write(file_of(KL_ENDING_TAIL), tail, tail_len, 0600);
}

void read_files(void) {
    assert_non_null(only_room());
    snprintf(room_name, sizeof room_name, "%s", only_room());
    bytes_len = file_read(file_of(KL_ENDING_RECORDING), bytes, sizeof bytes);
    tail_len = file_read(file_of(KL_ENDING_TAIL), tail, sizeof tail);
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
    if (kl_journal_open(&journal, folder, journal_limits, err, sizeof err) != 0) fail_msg("%s", err);
    kl_lobby_set_journal(lobby, journal, now_us);
    if (reads) journal_read_rooms(lobby, now_us);
}

void begin_life(uint64_t time_us) {
    open_newborn(&limits_for_tests, time_us);
    on_message = listen_message;
    on_update = watch_update;
    kl_lobby_set_secret(lobby, secret);
    open_journal();
}

void die(void) {
    if (!lobby) return;
    kl_lobby_destroy(lobby);
    lobby = NULL;
    kl_journal_close(journal);
    for (unsigned i = 0; i < PLAYERS; i++)
        player[i].linked = false;
}

void die_and_begin_again(void) {
    die();
    begin_life(now_us);
    play(SECOND); /* the players run what they have */
}

void begin_life_unread(void) {
    reads = false;
    begin_life(now_us);
    reads = true;
}

void sign_recordings(struct kl_relay_key *key) {
    static const uint8_t seed[KL_RELAY_SEED] = {1};
    kl_relay_key_from_seed(key, seed);
    kl_lobby_set_signer(lobby, key);
}

void open_recording(struct kl_klr_cursor *c) {
    read_files();
    assert_true(kl_klr_open(c, bytes, bytes_len));
}

bool next_block(struct kl_klr_cursor *c, enum kl_klr_type type, struct kl_reader *r) {
    while (kl_klr_next(c) == KL_KLR_BLOCK) {
        if (c->type != type) continue;
        *r = kl_reader(c->body, c->body_len);
        return true;
    }
    return false;
}

int make_folder(void **state) {
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/test_journal.XXXXXX");
    assert_non_null(mkdtemp(folder));
    journal_limits = (struct kl_journal_limits){BYTES_MAX, BYTES_MAX};
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
        struct kl_msg m = prepare_return(&player[i], peer + i);
        say(peer + i, &m);
    }
    pass(200000);
    for (unsigned i = 0; i < PLAYERS; i++) {
        assert_non_null(heard(peer + i, KL_MSG_WELCOME));
        assert_null(heard(peer + i, KL_MSG_PREPARE)); /* with what it has */
    }
}

/* --- their content --- */

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

uint32_t whole_frames(size_t of_recording, size_t of_tail, uint64_t *good) {
    const struct journal_bytes b = {bytes, tail, of_recording, of_tail};
    uint8_t id[KL_STORE_ID];
    sodium_hex2bin(id, sizeof id, room_name, sizeof room_name - 1, NULL, NULL, NULL);
    return journal_whole_frames(secret, id, &b, good);
}

void be_quiet(void) {
    static FILE *nothing;
    if (!nothing) nothing = fopen("/dev/null", "w");
    kl_log_to(nothing);
}

unsigned lines_with(FILE *log, const char *what) {
    char line[1000];
    unsigned count = 0;
    rewind(log);
    while (fgets(line, sizeof line, log))
        count += strstr(line, what) != NULL;
    return count;
}

void limit_files(rlim_t size) {
    struct rlimit l;
    signal(SIGXFSZ, SIG_IGN); /* the write fails */
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &l), 0);
    l.rlim_cur = size;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &l), 0);
}

void make_journal(uint64_t play_us) {
    be_quiet();
    begin_game(KL_POLICY_BOUNDED);
    play(play_us);
    pass(0);
    die();
    read_files();
    uint64_t good;
    assert_true(whole_frames(bytes_len, tail_len, &good) >= 30);
    assert_int_equal(good, bytes_len);
}

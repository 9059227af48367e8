/* Seats that processes leave behind and take up again. Each process here is a real one. */
#include "tests/unit/folder.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <sodium.h>

#include "core_wrapper/start/seat_file.h"

static const uint8_t id[KL_SEAT_FILE_ID] = {0xab, 1}, other[KL_SEAT_FILE_ID] = {0xab, 2};
static const uint8_t lounge[KL_SEAT_ROOM] = {0xcd, 3};

static void take(struct kl_seat_file *f, const uint8_t *which) {
    assert_int_equal(kl_seat_file_open(f, dir, which, err, sizeof err), 0);
}
static void keep(struct kl_seat_file *f, uint8_t first) {
    const uint8_t token[KL_SEAT_TOKEN] = {first, 2, 3};
    assert_int_equal(kl_seat_file_keep(f, token, lounge, err, sizeof err), 0);
}

/* A process that plays with this token until it is killed. */
static pid_t player(uint8_t first) {
    int done[2];
    char c;
    assert_int_equal(pipe(done), 0);
    pid_t pid = fork();
    if (pid == 0) {
        struct kl_seat_file f;
        const uint8_t token[KL_SEAT_TOKEN] = {first};
        if (kl_seat_file_open(&f, dir, id, err, sizeof err) != 0 || f.left ||
            kl_seat_file_keep(&f, token, lounge, err, sizeof err) != 0 || write(done[1], "x", 1) != 1)
            _exit(1);
        alarm(20); /* if the test fails before it kills us */
        for (;;)
            pause();
    }
    close(done[1]);
    assert_int_equal(read(done[0], &c, 1), 1);
    close(done[0]);
    return pid;
}
static void kill_it(pid_t pid) {
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

TEST_WITH(first_one_is_new, make_folder, remove_folder) {
    struct kl_seat_file f;
    struct stat st;
    take(&f, id);
    assert_false(f.left);
    assert_string_equal(strrchr(f.name, '-'), "-0");
    keep(&f, 7);
    assert_int_equal(stat(at(f.name), &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    kl_seat_file_close(&f, true);
    has_names(0);
}

TEST_WITH(left_by_a_killed_process, make_folder, remove_folder) {
    struct kl_seat_file f, g;
    pid_t one = player(1), two = player(2);
    take(&f, id); /* both are held */
    assert_false(f.left);
    assert_string_equal(strrchr(f.name, '-'), "-2");
    kill_it(two);
    take(&g, other); /* another game's */
    assert_false(g.left);
    kl_seat_file_close(&g, true);
    take(&g, id);
    assert_true(g.left);
    assert_int_equal(g.token[0], 2);
    kill_it(one);
    kl_seat_file_close(&f, true);
    take(&f, id);
    assert_true(f.left);
    assert_int_equal(f.token[0], 1);
    assert_memory_not_equal(f.key.pub, g.key.pub, sizeof f.key.pub);
    kl_seat_file_close(&f, true);
    kl_seat_file_close(&g, true);
    has_names(0);
}

TEST_WITH(the_same_key_and_the_newest_token, make_folder, remove_folder) {
    struct kl_seat_file f;
    uint8_t pub[KL_SEAT_PUB];
    take(&f, id);
    memcpy(pub, f.key.pub, sizeof pub);
    strcpy(f.where, "relay:7 room");
    keep(&f, 1);
    keep(&f, 9);
    kl_seat_file_close(&f, false);
    take(&f, id);
    assert_true(f.left);
    assert_memory_equal(f.key.pub, pub, sizeof pub);
    assert_int_equal(f.token[0], 9);
    assert_string_equal(f.relays, ""); /* as in a file of a program that kept none */
    assert_string_equal(f.where, "relay:7 room");
    strcpy(f.relays, "192.0.2.1:5 [2001:db8::1]:5");
    keep(&f, 9);
    kl_seat_file_close(&f, false);
    take(&f, id);
    assert_string_equal(f.relays, "192.0.2.1:5 [2001:db8::1]:5");
    assert_string_equal(f.where, "relay:7 room");
    kl_seat_file_renew(&f); /* the relay knows it no more */
    assert_false(f.left);
    assert_memory_not_equal(f.key.pub, pub, sizeof pub);
    kl_seat_file_close(&f, false);
    take(&f, id);
    assert_false(f.left);
    kl_seat_file_close(&f, true);
}

/* --- keys of seats that were given up --- */

static struct kl_seat_file found[8];
static unsigned finds;
static bool note(void *ctx, const struct kl_seat_file *f) {
    (void)ctx;
    assert_true(finds < 8);
    found[finds++] = *f;
    return true;
}
static unsigned look(void) {
    finds = 0;
    assert_int_equal(kl_seat_file_each(dir, note, NULL, err, sizeof err), 0);
    return finds;
}

TEST_WITH(key_outlives_its_seat, make_folder, remove_folder) {
    struct kl_seat_file f, g;
    struct stat st;
    uint8_t pub[KL_SEAT_PUB];
    take(&f, id);
    strcpy(f.where, "relay:7 l\xc3\xa4 lounge");
    keep(&f, 7);
    memcpy(pub, f.key.pub, sizeof pub);
    kl_seat_file_retire(&f);
    kl_seat_file_close(&f, true);
    has_names(1);
    take(&g, id); /* it is nobody's way back */
    assert_false(g.left);
    kl_seat_file_close(&g, true);
    assert_int_equal(look(), 1);
    assert_memory_equal(found[0].key.pub, pub, sizeof pub);
    assert_memory_equal(found[0].room, lounge, sizeof lounge);
    assert_string_equal(found[0].where, "relay:7 l\xc3\xa4 lounge");
    assert_int_equal(stat(at(found[0].name), &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
}

TEST_WITH(key_of_a_seat_that_the_relay_knows_no_more, make_folder, remove_folder) {
    struct kl_seat_file f;
    uint8_t pub[KL_SEAT_PUB];
    take(&f, id);
    keep(&f, 7);
    memcpy(pub, f.key.pub, sizeof pub);
    kl_seat_file_close(&f, false);
    assert_int_equal(look(), 1); /* a killed player's */
    take(&f, id);
    assert_true(f.left);
    kl_seat_file_renew(&f);
    kl_seat_file_retire(&f); /* it has been in no room yet */
    kl_seat_file_close(&f, true);
    assert_int_equal(look(), 1);
    assert_memory_equal(found[0].key.pub, pub, sizeof pub);
}

TEST_WITH(keys_are_bounded, make_folder, remove_folder) {
    struct kl_seat_file f;
    char path[KL_FILE_PATH];
    unsigned long now = (unsigned long)time(NULL);
    for (unsigned i = 0; i < KL_SEAT_KEPT + 3; i++) {
        snprintf(path, sizeof path, "%s/kept-%010lu-%u", dir, i ? now - i : 1700000000, i);
        fclose(fopen(path, "w"));
    }
    take(&f, id);
    keep(&f, 7);
    kl_seat_file_retire(&f);
    kl_seat_file_close(&f, true);
    has_names(KL_SEAT_KEPT);
    assert_int_equal(look(), 1); /* the others are no keys */
    kl_dir_remove_tree(dir);
    assert_int_equal(kl_dir_make_new(dir, err, sizeof err), 0);
    snprintf(path, sizeof path, "%s/kept-%010lu-0", dir, now - (KL_SEAT_KEPT_DAYS + 1) * 86400ul);
    fclose(fopen(path, "w"));
    take(&f, id);
    keep(&f, 7);
    kl_seat_file_retire(&f);
    kl_seat_file_close(&f, true);
    has_names(1); /* the other was too old */
}

TEST_WITH(damage_is_a_new_seat, make_folder, remove_folder) {
    struct kl_seat_file f;
    char path[KL_FILE_PATH];
    take(&f, id);
    keep(&f, 1);
    snprintf(path, sizeof path, "%s/%s", dir, f.name);
    assert_int_equal(truncate(path, 40), 0);
    kl_seat_file_close(&f, false);
    take(&f, id);
    assert_false(f.left);
    keep(&f, 1);
    assert_int_equal(chmod(path, 0644), 0); /* others may have read it */
    kl_seat_file_close(&f, false);
    take(&f, id);
    assert_false(f.left);
    kl_seat_file_close(&f, true);
}

TEST(seats_are_told_apart_by_room_and_relay) {
    static struct kl_hello h;
    uint8_t a[KL_SEAT_FILE_ID], b[KL_SEAT_FILE_ID];
    strcpy(h.room, "friends"), strcpy(h.name, "ann");
    kl_facts_add(&h.facts, "content", "xxh3 1 (a.nes)");
    kl_seat_file_id(a, "relay", 1, &h);
    strcpy(h.facts.fact[0].value, "xxh3 1 (b.nes)");
    kl_seat_file_id(b, "relay", 1, &h);
    assert_memory_equal(a, b, sizeof a);
    strcpy(h.facts.fact[0].value, "xxh3 2 (a.nes)");
    kl_seat_file_id(b, "relay", 1, &h);
    assert_memory_not_equal(a, b, sizeof a);
    strcpy(h.facts.fact[0].value, "xxh3 1 (a.nes)");
    kl_seat_file_id(b, "relay", 2, &h);
    assert_memory_not_equal(a, b, sizeof a);
    strcpy(h.name, "bob");
    kl_seat_file_id(b, "relay", 1, &h);
    assert_memory_not_equal(a, b, sizeof a);
}

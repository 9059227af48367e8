/* test_durability.c - the table of net/relay/durable/README.md, "Loss of the relay": each of its cells is
 * played, with the real journal in a folder of its own. The test reads the page, and takes the words in ** **
 * for what is to happen. So no row of the page is without a test, and no test without its row.
 * runs: working, check, 2 s
 *
 * The relay's half is the real one, and a client is its RETURN: core_wrapper goes back in
 * tests/e2e/relay/restart.sh and in tests/rooms. */
#include "tests/unit/unit.h"
#include "tests/lib/journal_lives.h"

#include "net/engine/lock_relay_private.h"
#include "net/platform/file.h"

#define PAGE    "net/relay/durable/README.md"
#define SECTION "## Loss of the relay"
#define CELL    400
#define LOST    90 /* frames that a client has and the record lacks, at least */

/* --- the events --- */

static void kill_it(void) {
    die();
    begin_life(now_us);
}

/* The tail's last writes did not reach the disk. */
static void cut_the_power(void) {
    die();
    read_files();
    uint32_t frames = whole_frames(bytes_len, tail_len, NULL);
    size_t used = KL_TAIL_SLOT;
    while (!tail[KL_TAIL_HEAD + used - 1] && !tail[KL_TAIL_HEAD + KL_TAIL_SLOT + used - 1])
        used--;
    for (size_t end = used; whole_frames(bytes_len, tail_len, NULL) + LOST > frames; end -= 7)
        for (unsigned slot = 0; slot < 2; slot++)
            memset(tail + KL_TAIL_HEAD + slot * (size_t)KL_TAIL_SLOT + end - 7, 0, 7);
    put_files();
    begin_life(now_us);
}

/* The tail has place for a while; then frames are lost. */
static void fill_the_disk(void) {
    read_files();
    limit_files(bytes_len + 150);
    play(120 * SECOND);
    assert_true(the_room()->journal.frames + LOST < canon_end);
    die();
    limit_files(RLIM_INFINITY);
    begin_life(now_us);
}

static void exceed_the_limit(void) {
    while (the_room()->journal.state != KL_JOURNAL_OVER)
        play(SECOND);
    play(3 * SECOND);
    kill_it();
}

static void begin_without_journal(void) {
    kl_lobby_destroy(lobby);
    kl_journal_close(journal);
    for (unsigned i = 0; i < PLAYERS; i++)
        player[i].linked = false;
    read_files();
    unlink(file_of(KL_ENDING_RECORDING));
    unlink(file_of(KL_ENDING_TAIL));
    begin_life(now_us);
}

static const struct event {
    const char *name; /* the row begins with it */
    void (*happen)(void);
    bool loses; /* frames that clients have run */
    bool room;  /* it is there again */
    struct kl_journal_limits limits;
} events[] = {
    {"relay killed", kill_it, false, true, {BYTES_MAX, BYTES_MAX}},
    {"power cut", cut_the_power, true, true, {BYTES_MAX, BYTES_MAX}},
    {"disk full", fill_the_disk, true, true, {BYTES_MAX, BYTES_MAX}},
    {"more than `--journal-mib`", exceed_the_limit, true, true, {3000, BYTES_MAX}},
    {"more than `--journal-total-mib`", exceed_the_limit, true, false, {BYTES_MAX, KL_TAIL_BYTES + 3000}},
    {"`--journal off`", begin_without_journal, false, false, {BYTES_MAX, BYTES_MAX}}};

/* --- the clients --- */

static uint8_t room_id[KL_ROOM_ID_BYTES];
static uint32_t had; /* frames that all have run */

/* Player 0 comes back with frames below `have`, and with own states of these keyframes. */
static void come_with(unsigned peer, uint32_t have, const uint32_t *own, unsigned owns) {
    static uint8_t coded[KL_INTERVAL_BYTES];
    struct kl_frames_from from = {.ring = canon, .places = FRAMES};
    struct kl_msg m = prepare_return(&player[0], peer);
    struct kl_digest d = digest_of(room_id, have);
    struct kl_writer w = kl_writer(coded, sizeof coded);
    if (have > d.end) kl_frames_write(&w, &from, d.end, have - d.end);
    m.back.have = have;
    m.back.intervals = d.intervals;
    memcpy(m.back.digest, d.digest, sizeof d.digest);
    kl_digest_open(&d, room_id, coded, (size_t)(w.at - coded), m.back.open);
    for (unsigned i = 0; i < owns; i++) {
        d = digest_of(room_id, own[i]);
        m.back.state[i].intervals = d.intervals;
        memcpy(m.back.state[m.back.states++].digest, d.digest, sizeof d.digest);
    }
    player[0].plays = false;
    say(peer, &m);
}

static uint32_t keyframe_before(uint32_t frame) {
    return digest_of(room_id, frame).end;
}

/* The answer of the relay to its RETURN. */
static const char *answer(unsigned peer) {
    const struct kl_msg *refused = heard(peer, KL_MSG_REFUSE);
    if (refused && strstr(refused->text.text, "has no room room: it ended, or was lost")) return "ended";
    if (refused) return "refused";
    if (heard(peer, KL_MSG_PREPARE)) return "begins anew";
    if (heard(peer, KL_MSG_REWIND) && heard(peer, KL_MSG_REWIND)->rewind.lost) return "goes back";
    const struct kl_lock_relay *lock = &the_room()->lock;
    return lock->client[0].frame_acked == lock->next_close ? "goes on" : "gets frames";
}

static uint32_t end_of_record(void) {
    return the_room() ? the_room()->lock.next_close : had;
}

static const char *lacks_some(const struct event *e) {
    (void)e;
    come_with(10, end_of_record() - 50, NULL, 0);
    return answer(10);
}

static const char *equal(const struct event *e) {
    (void)e;
    come_with(10, end_of_record() < had ? end_of_record() : had, NULL, 0);
    const char *what = answer(10);
    /* the record of a relay that was killed has frames that nobody has got yet */
    bool newer = strcmp(what, "gets frames") == 0 && end_of_record() > had;
    return newer && end_of_record() < had + 30 ? "goes on" : what;
}

static const char *ahead(const struct event *e) {
    uint32_t end = end_of_record();
    if (e->room && !e->loses) return end >= had ? "there is none" : "is there";
    const uint32_t own[] = {keyframe_before(120), keyframe_before(end - 40), keyframe_before(had)};
    come_with(10, had, own, 3);
    const char *what = answer(10);
    if (strcmp(what, "goes back") != 0) return what;
    assert_int_equal(heard(10, KL_MSG_REWIND)->rewind.keyframe, own[1]); /* the newest that is covered */
    struct kl_msg m = {.kind = KL_MSG_HEALED, .healed = {own[1], own[1], KL_HEALED_SAME}};
    say(10, &m);
    assert_null(heard(10, KL_MSG_PREPARE));
    assert_int_equal(the_room()->lock.client[0].frame_acked, own[1]);
    return what;
}

static const char *without_states(const struct event *e) {
    if (e->room && !e->loses) return end_of_record() >= had ? "there is none" : "is there";
    come_with(10, had, NULL, 0);
    return answer(10);
}

static struct kl_msg comer(unsigned peer, uint8_t door) {
    struct kl_msg m = a_hello(peer, "room", door & KL_DOOR_AGAIN ? 0 : 1, PLAYERS, "x");
    m.hello.door = door;
    return m;
}

/* Its HELLO before the first member is back, and after. */
static const char *try_twice(uint8_t door, const char *not_yet) {
    struct kl_msg m = comer(20, door);
    enter(20, &m);
    if (heard(20, KL_MSG_WELCOME)) return "makes the room";
    if (the_room()) expect_refusal(20, KL_REFUSE_STARTED, "is restoring room");
    if (!the_room()) {
        expect_refusal(20, KL_REFUSE_SEAT, "there is no room");
        return "finds no room";
    }
    come_with(10, end_of_record() - 50, NULL, 0);
    m = comer(21, door);
    enter(21, &m);
    return heard(21, KL_MSG_WELCOME) ? not_yet : "is turned away";
}

static const char *a_watcher(const struct event *e) {
    (void)e;
    return try_twice(KL_DOOR_AGAIN, "comes again");
}

static const char *newcomer(const struct event *e) {
    (void)e;
    return try_twice(0, "waits");
}

static const struct column {
    const char *name;
    const char *(*play)(const struct event *e);
} columns[] = {{"client behind the record", lacks_some},
               {"client equal to it", equal},
               {"client ahead of it", ahead},
               {"ahead, core without states", without_states},
               {"watcher", a_watcher},
               {"newcomer", newcomer}};

/* --- the page --- */

static char heads[8][CELL], cells[16][8][CELL];
static unsigned rows, width;

static unsigned split(char *line, char to[8][CELL]) {
    unsigned count = 0;
    for (char *cell = strtok(line, "|\n"); cell && count < 8; cell = strtok(NULL, "|\n")) {
        while (*cell == ' ')
            cell++;
        snprintf(to[count++], CELL, "%s", cell);
    }
    return count;
}

static int read_page(void **state) {
    (void)state;
    char line[3000];
    bool here = false;
    FILE *f = fopen(PAGE, "r");
    if (!f) return -1;
    while (fgets(line, sizeof line, f)) {
        if (line[0] == '#') here = strncmp(line, SECTION, sizeof SECTION - 1) == 0;
        if (!here || line[0] != '|' || strncmp(line, "| ---", 5) == 0) continue;
        if (!width)
            width = split(line, heads);
        else
            assert_int_equal(split(line, cells[rows++]), width);
    }
    fclose(f);
    return 0;
}

static bool begins(const char *text, const char *with) {
    return strncmp(text, with, strlen(with)) == 0;
}

TEST(the_page_has_these_rows_and_columns) {
    assert_int_equal(rows, COUNT(events));
    for (unsigned i = 0; i < rows; i++)
        if (!begins(cells[i][0], events[i].name)) fail_msg("no test plays the row \"%s\"", cells[i][0]);
    assert_int_equal(width, COUNT(columns) + 1);
    for (unsigned i = 0; i < COUNT(columns); i++)
        if (!begins(heads[i + 1], columns[i].name)) fail_msg("no test plays the column \"%s\"", heads[i + 1]);
}

static void play_cell(const struct event *e, const struct column *c, const char *cell) {
    char wanted[CELL] = "";
    die();
    journal_limits = e->limits;
    begin_life(100 * SECOND);
    fixed_spacing = 4;
    begin_game(KL_POLICY_BOUNDED);
    play(8 * SECOND);
    memcpy(room_id, the_room()->id, sizeof room_id);
    e->happen();
    play(SECOND); /* the players run what they have */
    had = canon_end;
    const char *is = c->play(e);
    sscanf(cell, "**%399[^*]", wanted);
    if (strcmp(is, wanted) != 0)
        fail_msg("%s, %s: the page says \"%s\", and it %s", e->name, c->name, wanted, is);
    kl_lobby_destroy(lobby); /* with its journal's files */
    kl_journal_close(journal);
    if (only_room()) {
        read_files();
        unlink(file_of(KL_ENDING_RECORDING));
        unlink(file_of(KL_ENDING_TAIL));
    }
    begin_life(100 * SECOND);
}

TEST_WITH(each_cell_is_as_the_page_says, make_folder, remove_folder) {
    be_quiet();
    limits_for_tests.watchers = 4;
    for (unsigned i = 0; i < rows; i++)
        for (unsigned k = 0; k < COUNT(columns); k++)
            play_cell(&events[i], &columns[k], cells[i][k + 1]);
    fixed_spacing = 0;
}

int main(void) {
    return run_all_tests(read_page, NULL);
}

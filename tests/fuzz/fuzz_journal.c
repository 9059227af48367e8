/* A journal as a relay finds it: torn, spoilt, or whole and hostile: blocks and records with good checks and
 * any body.
 * Records: extra = kind (3 bits), 8: its bytes stand in the recording as they are, 16: cut so many bytes off
 * the recording's end.
 *
 * The ticket's id and the hash of the start data are put right, for nobody guesses them. */
#include "tests/fuzz/fuzz.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sodium.h>

#include "net/record/klr_body.h"
#include "net/relay/durable/journal_private.h"
#include "net/relay/durable/lobby_ticket.h"
#include "net/relay/durable/tail.h"
#include "tests/lib/lobby_net.h"

enum { KIND = 7, AS_IT_IS = 8, CUT = 16 };
enum { A_TICKET, FRAMES, SLOT, BLOCK }; /* BLOCK: its first byte is its type. Frames are the tail's */

static char folder[40], path[2][128]; /* of the recording, of the tail */
static const uint8_t secret[32] = {1}, id[KL_STORE_ID] = {2};
static uint8_t file[200000], tail_bytes[KL_TAIL_BYTES];
static size_t len;
static struct kl_klr_place place;
static struct kl_tail tail;

/* --- the file --- */

static void clean_up(void) {
    unlink(path[0]);
    unlink(path[1]);
    rmdir(folder);
}

static void prepare(void) {
    char name[KL_STORE_NAME];
    MUST(sodium_init() >= 0 && fuzz_folder(folder));
    kl_tail_key(secret, id, tail.key);
    sodium_bin2hex(name, sizeof name, id, sizeof id);
    snprintf(path[0], sizeof path[0], "%s/%s.klr", folder, name);
    snprintf(path[1], sizeof path[1], "%s/%s.tail", folder, name);
    kl_log_set_level(getenv("KL_FUZZ_LOG") ? KL_LOG_DEBUG : KL_LOG_ERROR);
    if (!getenv("KL_FUZZ_LOG")) kl_log_to(fopen("/dev/null", "w"));
    atexit(clean_up);
}

static void append(const void *bytes, size_t n) {
    if (n > sizeof file - len) n = sizeof file - len;
    if (n) memcpy(file + len, bytes, n);
    len += n;
}

static void append_block(enum kl_klr_type type, const void *body, size_t n) {
    struct kl_klr_around a = kl_klr_around(&place, type, body, (uint32_t)n);
    append(a.before, sizeof a.before);
    append(body, n);
    append(a.check, sizeof a.check);
}

static void begin_slot(void) {
    const struct kl_tail_base base = {.klr = place};
    MUST(kl_tail_turn(&tail, &base) && kl_tail_keep(&tail));
}

static void append_record(enum kl_tail_type type, const void *body, size_t n) {
    if (tail.slot.number == 0) begin_slot();
    (void)kl_tail_add(&tail, type, body, n);
}

static void append_ticket(const struct record *r, const struct record *start) {
    static struct kl_lobby_ticket t;
    static uint8_t body[KL_TICKET_BODY_MAX], sealed[KL_TICKET_MAX];
    const void *plain = r->bytes;
    int n = (int)(r->len < sizeof body ? r->len : sizeof body);
    if (kl_lobby_ticket_decode(&t, r->bytes, r->len) == KL_OK) {
        memcpy(t.id, id, sizeof t.id);
        t.start_bytes = (uint32_t)start->len;
        crypto_generichash(t.start_hash, sizeof t.start_hash, start->bytes, start->len, NULL, 0);
        n = kl_lobby_ticket_encode(&t, body, sizeof body);
        plain = body;
        MUST(n > 0);
    }
    n = kl_ticket_seal(secret, plain, (size_t)n, sealed);
    MUST(n > 0);
    append_record(KL_TAIL_TICKET, sealed, (size_t)n);
}

static bool is_block(const struct record *r) {
    return (r->extra & (KIND | AS_IT_IS | CUT)) == BLOCK && r->len > 0;
}

static struct record first_start(const uint8_t *data, size_t size) {
    struct record r;
    while (next_record(&data, &size, &r))
        if (is_block(&r) && r.bytes[0] == KL_KLR_START)
            return (struct record){.bytes = r.bytes + 1, .len = r.len - 1};
    return (struct record){.bytes = (const uint8_t *)"", .len = 0};
}

static void begin_files(void) {
    struct kl_klr_head head = {.rules = KL_KLR_RULES};
    uint8_t body[KL_KLR_SMALL];
    memcpy(head.room_id, id, sizeof id);
    struct kl_writer w = kl_writer(body, sizeof body);
    kl_klr_write_head(&w, &head);
    len = 0;
    place = kl_klr_begin();
    append(kl_klr_magic, KL_KLR_MAGIC);
    append_block(KL_KLR_HEAD, body, (size_t)(w.at - body));
    memset(tail_bytes, 0, sizeof tail_bytes);
    tail.slab = (struct kl_slab){.bytes = tail_bytes, .len = sizeof tail_bytes, .mapped = true};
    tail.slot = (struct kl_tail_slot){.which = 1};
}

static void build(const uint8_t *data, size_t size) {
    struct record r, start = first_start(data, size);
    begin_files();
    while (next_record(&data, &size, &r)) {
        if (r.extra & CUT)
            len -= r.len < len ? r.len : len;
        else if (r.extra & AS_IT_IS)
            append(r.bytes, r.len);
        else if ((r.extra & KIND) == A_TICKET)
            append_ticket(&r, &start);
        else if ((r.extra & KIND) == FRAMES)
            append_record(KL_TAIL_FRAMES, r.bytes, r.len);
        else if ((r.extra & KIND) == SLOT)
            begin_slot();
        else if (is_block(&r))
            append_block(r.bytes[0], r.bytes + 1, r.len - 1);
    }
}

static void write_file(const char *to, const uint8_t *bytes, size_t n) {
    int fd = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    MUST(fd >= 0 && write(fd, bytes, n) == (ssize_t)n && close(fd) == 0);
}

/* --- a relay that finds it --- */

/* Frames of the room that there is now; 0: there is none. The room goes on for a while. ended: and was over
 * then. */
static uint32_t load(bool *ended) {
    const struct kl_lobby_limits limits = {.peers = 4, .rooms = 2, .seats = 8, .history_kib = 192};
    struct kl_journal *journal;
    char err[300];
    uint32_t frames = 0;
    open_newborn(&limits, 1000000);
    for (unsigned i = 0; i < limits.peers; i++)
        inbox[i].hung_up = true; /* nobody is connected: nothing may be said */
    MUST(kl_journal_open(&journal, folder, (struct kl_journal_limits){1 << 20, 1 << 24}, err, sizeof err) ==
         0);
    kl_lobby_set_secret(lobby, secret);
    kl_lobby_set_journal(lobby, journal, now_us);
    for (unsigned i = 0; i < limits.rooms; i++)
        while (lobby->room[i] && kl_journal_is_unread(lobby->room[i]))
            kl_journal_read(lobby->room[i], now_us);
    for (unsigned i = 0; i < limits.rooms; i++)
        if (lobby->room[i]) frames = lobby->room[i]->lock.next_close;
    MUST(kl_lobby_rooms(lobby) == (frames > 0));
    for (; now_us < 9 * SECOND; now_us += SECOND / 2)
        run();
    *ended = kl_lobby_rooms(lobby) == 0;
    kl_lobby_destroy(lobby); /* as kill -9: the files stay as they are */
    kl_journal_close(journal);
    return frames;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct stat st;
    if (!*path[0]) prepare();
    build(data, size);
    write_file(path[0], file, len);
    write_file(path[1], tail_bytes, sizeof tail_bytes);
    bool ended;
    uint32_t frames = load(&ended);
    if (frames == 0 || ended) return 0;
    MUST(stat(path[0], &st) == 0 && (size_t)st.st_size >= KL_KLR_MAGIC);
    MUST(load(&ended) >= frames); /* the part that was cut off did not count; the room may have gone on */
    return 0;
}

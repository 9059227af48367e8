/* A journal as a relay finds it: torn, spoilt, or whole and hostile: records with good macs and any body.
 * Records: extra = type (3 bits), 8: its bytes stand in the file as they are, 16: cut so many bytes off the
 * end.
 *
 * The ticket's id and the hash of the start data are put right, for nobody guesses them. */
#include "tests/fuzz/fuzz.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sodium.h>

#include "net/relay/durable/journal_private.h"
#include "net/relay/durable/lobby_again.h"
#include "tests/lib/lobby_net.h"

enum { TYPE = 7, AS_IT_IS = 8, CUT = 16 };

static char folder[40], path[128];
static const uint8_t secret[32] = {1}, id[KL_JOURNAL_ID] = {2};
static uint8_t key[32];
static uint8_t file[200000];
static size_t len;

/* --- the file --- */

static void clean_up(void) {
    unlink(path);
    rmdir(folder);
}

static void prepare(void) {
    char name[KL_JOURNAL_NAME];
    MUST(sodium_init() >= 0 && fuzz_folder(folder));
    kl_journal_key(secret, id, key);
    kl_journal_name(name, id);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    kl_log_set_level(getenv("KL_FUZZ_LOG") ? KL_LOG_DEBUG : KL_LOG_ERROR);
    if (!getenv("KL_FUZZ_LOG")) kl_log_to(fopen("/dev/null", "w"));
    atexit(clean_up);
}

static void append(const void *bytes, size_t n) {
    if (n > sizeof file - len) n = sizeof file - len;
    if (n) memcpy(file + len, bytes, n);
    len += n;
}

static void append_record(enum kl_journal_type type, const void *body, size_t n) {
    uint8_t before[KL_JOURNAL_BEFORE], mac[KL_JOURNAL_MAC];
    kl_journal_record(key, len, type, body, (uint32_t)n, before, mac);
    append(before, sizeof before);
    append(body, n);
    append(mac, sizeof mac);
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
    append_record(KL_JOURNAL_TICKET, sealed, (size_t)n);
}

static struct record first_start(const uint8_t *data, size_t size) {
    struct record r;
    while (next_record(&data, &size, &r))
        if ((r.extra & (TYPE | AS_IT_IS | CUT)) == KL_JOURNAL_START) return r;
    return (struct record){.bytes = (const uint8_t *)"", .len = 0};
}

static void build(const uint8_t *data, size_t size) {
    uint8_t head[KL_JOURNAL_HEAD];
    struct record r, start = first_start(data, size);
    len = 0;
    kl_journal_head(key, id, head);
    append(head, sizeof head);
    while (next_record(&data, &size, &r)) {
        if (r.extra & CUT)
            len -= r.len < len ? r.len : len;
        else if (r.extra & AS_IT_IS)
            append(r.bytes, r.len);
        else if ((r.extra & TYPE) == KL_JOURNAL_TICKET)
            append_ticket(&r, &start);
        else
            append_record(r.extra & TYPE, r.bytes, r.len);
    }
}

static void write_file(void) {
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    MUST(fd >= 0 && write(fd, file, len) == (ssize_t)len && close(fd) == 0);
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
    MUST(kl_journal_open(&journal, folder, 1 << 20, err, sizeof err) == 0);
    kl_lobby_set_secret(lobby, secret);
    kl_lobby_set_journal(lobby, journal, now_us);
    for (unsigned i = 0; i < limits.rooms; i++)
        if (lobby->room[i]) frames = lobby->room[i]->lock.next_close;
    MUST(kl_lobby_rooms(lobby) == (frames > 0));
    for (; now_us < 9 * SECOND; now_us += SECOND / 2)
        run();
    *ended = kl_lobby_rooms(lobby) == 0;
    kl_lobby_destroy(lobby); /* as kill -9: the file stays as it is */
    kl_journal_close(journal);
    return frames;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct stat st;
    if (!*path) prepare();
    build(data, size);
    write_file();
    bool ended;
    uint32_t frames = load(&ended);
    if (frames == 0 || ended) return 0;
    MUST(stat(path, &st) == 0 && (size_t)st.st_size >= KL_JOURNAL_HEAD);
    MUST(load(&ended) >= frames); /* the part that was cut off did not count; the room may have gone on */
    return 0;
}

/* /api/matches: the newest matches that `keylock verify --watch --database FILE` has written down, with their
 * verdicts, by SQLite, which is loaded when it is wanted. For the host alone: they name players of unlisted
 * rooms, too. Of the matches of a listed room's name others see game, length and verdict: rooms of that name
 * before it may have been unlisted. */
#include <string.h>

#include "net/platform/library.h"
#include "net/relay/program/window_http.h"

/* --- the library: its own names and numbers, the same since 2009 --- */

#define LIBRARY "libsqlite3.so.0"
enum { OK = 0, OPEN_READONLY = 1 };
#define BUSY_MS 100
#define VERSION "2" /* of the tables: core_wrapper/tool/desync/database.c */

typedef struct sqlite3 sqlite3;
static struct {
    int (*open_v2)(const char *path, sqlite3 **db, int flags, const char *vfs);
    int (*close)(sqlite3 *db);
    int (*busy_timeout)(sqlite3 *db, int ms);
    const char *(*errmsg)(sqlite3 *db);
    char *(*mprintf)(const char *format, ...);
    void (*free)(void *text);
    int (*exec)(sqlite3 *db, const char *sql, int (*row)(void *, int, char **, char **), void *ctx, char **e);
} sq;

static bool load(char *err, size_t err_len) {
    static const struct kl_library_symbol want[] = {{"sqlite3_open_v2", (void **)&sq.open_v2},
                                                    {"sqlite3_close", (void **)&sq.close},
                                                    {"sqlite3_busy_timeout", (void **)&sq.busy_timeout},
                                                    {"sqlite3_errmsg", (void **)&sq.errmsg},
                                                    {"sqlite3_mprintf", (void **)&sq.mprintf},
                                                    {"sqlite3_free", (void **)&sq.free},
                                                    {"sqlite3_exec", (void **)&sq.exec}};
    return sq.exec || kl_library_load(LIBRARY, want, sizeof want / sizeof *want, err, err_len);
}

/* --- the rows --- */

static const char version_sql[] = "PRAGMA user_version";
#define NUMBERS 2 /* the first columns; the others are text */
#define HOST_COLUMNS                                                                                         \
    "m.frames, m.reported, m.seen, m.room, m.words AS match, (SELECT group_concat(name, ', ') FROM player "  \
    "WHERE match = m.id) AS players, m.core, m.content, v.verdict, v.why, m.file"
#define PUBLIC_COLUMNS "m.frames, NULL AS reported, m.seen, m.core, m.content, v.verdict"
#define FROM_MATCHES   " FROM match m LEFT JOIN verdict v ON v.match = m.id "
static const char all_sql[] = "SELECT " HOST_COLUMNS FROM_MATCHES "ORDER BY m.id DESC LIMIT 50";
/* So many are looked at: anybody may ask. */
static const char room_sql[] =
    "SELECT %s" FROM_MATCHES "WHERE m.room = %Q AND m.id > (SELECT max(id) FROM match) - 2000 "
    "ORDER BY m.id DESC LIMIT 10";

static int look_at_version(void *is_ours, int columns, char **value, char **name) {
    (void)columns, (void)name;
    *(bool *)is_ours = value[0] && !strcmp(value[0], VERSION);
    return 0;
}

static int tell_match(void *text, int columns, char **value, char **name) {
    struct kl_buffer *to = text;
    kl_buffer_add(to, to->at[to->len - 1] == '[' ? "{" : ",{");
    for (int i = 0; i < columns; i++) {
        kl_buffer_add(to, "%s\"%s\":", i ? "," : "", name[i]);
        if (value[i] && i >= NUMBERS)
            kl_rooms_text_quote(to, value[i]);
        else
            kl_buffer_add(to, "%s", value[i] ? value[i] : "null");
    }
    kl_buffer_add(to, "}");
    return 0;
}

/* room: NULL: of all. False with a line in err. */
static bool tell_matches(struct kl_buffer *to, const char *path, const char *room, bool to_host, char *err,
                         size_t err_len) {
    sqlite3 *db = NULL;
    bool is_ours = false, good = load(err, err_len);
    if (!good) return false;
    char *sql = room ? sq.mprintf(room_sql, to_host ? HOST_COLUMNS : PUBLIC_COLUMNS, room) : NULL;
    kl_buffer_add(to, "\"matches\":[");
    good = (sql || !room) && sq.open_v2(path, &db, OPEN_READONLY, NULL) == OK &&
           sq.busy_timeout(db, BUSY_MS) == OK &&
           sq.exec(db, version_sql, look_at_version, &is_ours, NULL) == OK &&
           (!is_ours || sq.exec(db, sql ? sql : all_sql, tell_match, to, NULL) == OK);
    if (!good)
        snprintf(err, err_len, "%s", db ? sq.errmsg(db) : "no memory");
    else if (!is_ours)
        snprintf(err, err_len, "expected a database of version " VERSION ", got another");
    sq.close(db);
    sq.free(sql);
    kl_buffer_add(to, "]");
    return good && is_ours;
}

void kl_window_matches_of(struct kl_buffer *to, const struct kl_window *w, const char *room, bool to_host) {
    struct kl_buffer text = {0};
    char err[256];
    if (*w->config.matches && tell_matches(&text, w->config.matches, room, to_host, err, sizeof err) &&
        !text.failed)
        kl_buffer_add(to, ",%s", text.at);
    kl_buffer_free(&text);
}

int kl_window_matches(struct MHD_Connection *c, const struct kl_window *w) {
    struct kl_buffer text = {0};
    char err[256] = "", line[320];
    int result = NO;
    enum kl_window_reader reader = kl_window_reader(w, c, &result);
    if (reader == KL_WINDOW_WRONG) return result;
    if (reader == KL_WINDOW_PUBLIC)
        return kl_window_put_text(c, 401, "expected the token of this relay's file http.token, got none\n");
    if (!*w->config.matches)
        return kl_window_put_text(c, 404, "expected --http-matches with a verifier's database, got none\n");
    kl_buffer_add(&text, "{");
    const bool good = tell_matches(&text, w->config.matches, NULL, true, err, sizeof err);
    kl_buffer_add(&text, "}\n");
    snprintf(line, sizeof line, "the matches cannot be read: %s\n", err);
    if (!good)
        result = kl_window_put_text(c, 503, line);
    else if (!text.failed)
        result = kl_window_put(c, 200, "application/json", text.at, text.len);
    kl_buffer_free(&text);
    return result;
}

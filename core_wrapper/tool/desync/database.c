#include "core_wrapper/tool/desync/verify.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "core_wrapper/tool/common/report.h"
#include "net/engine/plain.h"
#include "net/platform/clock.h"
#include "net/platform/library.h"

/* --- the library: its own names and numbers, the same since 2009 --- */

enum { OK = 0, ROW = 100, DONE = 101, NULL_TYPE = 5, INTEGER_TYPE = 1 };
enum { OPEN_READWRITE = 2, OPEN_CREATE = 4 };
#define BUSY_MS 10000

typedef struct sqlite3 sqlite3;
typedef struct sqlite3_stmt sqlite3_stmt;
static struct {
    int (*open_v2)(const char *path, sqlite3 **db, int flags, const char *vfs);
    int (*close)(sqlite3 *db);
    int (*busy_timeout)(sqlite3 *db, int ms);
    const char *(*errmsg)(sqlite3 *db);
    int (*exec)(sqlite3 *db, const char *sql, int (*row)(void *, int, char **, char **), void *ctx, char **e);
    long long (*last_insert_rowid)(sqlite3 *db);
    int (*prepare_v2)(sqlite3 *db, const char *sql, int bytes, sqlite3_stmt **s, const char **tail);
    int (*bind_text)(sqlite3_stmt *s, int at, const char *text, int bytes, void (*free)(void *));
    int (*bind_int64)(sqlite3_stmt *s, int at, long long value);
    int (*step)(sqlite3_stmt *s);
    int (*finalize)(sqlite3_stmt *s);
    int (*column_count)(sqlite3_stmt *s);
    int (*column_type)(sqlite3_stmt *s, int at);
    const char *(*column_name)(sqlite3_stmt *s, int at);
    const unsigned char *(*column_text)(sqlite3_stmt *s, int at);
    long long (*column_int64)(sqlite3_stmt *s, int at);
} sq;

static bool load(char *err, size_t err_len) {
#define WANT(symbol)                                                                                         \
    { "sqlite3_" #symbol, (void **)&sq.symbol }
    static const struct kl_library_symbol want[] = {
        WANT(open_v2),           WANT(close),        WANT(busy_timeout), WANT(errmsg),      WANT(exec),
        WANT(last_insert_rowid), WANT(prepare_v2),   WANT(bind_text),    WANT(bind_int64),  WANT(step),
        WANT(finalize),          WANT(column_count), WANT(column_type),  WANT(column_name), WANT(column_text),
        WANT(column_int64)};
    char why[256];
    if (sq.column_int64 ||
        kl_library_load("libsqlite3.so.0", want, sizeof(want) / sizeof(*want), why, sizeof(why)))
        return true;
    snprintf(err, err_len, "a database needs SQLite: %s", why);
    return false;
}

/* --- statements --- */

struct kl_database {
    sqlite3 *db;
    char path[1024];
};

static int fail(struct kl_database *d, char *err, size_t err_len) {
    snprintf(err, err_len, "%s: %s", d->path, d->db ? sq.errmsg(d->db) : "out of memory");
    return -1;
}

/* A statement with its values: "t" const char *, NULL for none; "i" long long; "n" the same, and -1 for none.
 * NULL: the database says why. */
static sqlite3_stmt *prepare(struct kl_database *d, const char *sql, const char *types, ...) {
    sqlite3_stmt *s = NULL;
    va_list args;
    if (sq.prepare_v2(d->db, sql, -1, &s, NULL) != OK) return NULL;
    va_start(args, types);
    for (int at = 1; *types; at++, types++) {
        const char *text = *types == 't' ? va_arg(args, const char *) : NULL;
        long long number = *types == 't' ? -1 : va_arg(args, long long);
        if (text) sq.bind_text(s, at, text, -1, (void (*)(void *)) - 1); /* copied */
        if (!text && (*types == 'i' || (*types == 'n' && number != -1))) sq.bind_int64(s, at, number);
    }
    va_end(args);
    return s;
}

/* Runs it to its end, and it is gone. */
static bool finish(sqlite3_stmt *s) {
    int result = s ? sq.step(s) : 1;
    while (result == ROW)
        result = sq.step(s);
    sq.finalize(s);
    return result == DONE;
}

static bool do_all(struct kl_database *d, const char *sql) {
    return sq.exec(d->db, sql, NULL, NULL, NULL) == OK;
}

/* --- the tables --- */

#define VERSION 2
static const char tables[] =
    "CREATE TABLE match(id INTEGER PRIMARY KEY, sum TEXT NOT NULL UNIQUE, seen TEXT NOT NULL, file TEXT, "
    "room TEXT, words TEXT, core TEXT, content TEXT, frames INTEGER, ended INTEGER, reported INTEGER);"
    "CREATE INDEX match_file ON match(file);"
    "CREATE INDEX match_seen ON match(seen);"
    "CREATE TABLE player(id INTEGER PRIMARY KEY, match INTEGER NOT NULL REFERENCES match(id) ON DELETE "
    "CASCADE, "
    "client INTEGER, name TEXT, key TEXT, presses INTEGER, fastest INTEGER, away INTEGER, desyncs INTEGER);"
    "CREATE INDEX player_match ON player(match);"
    "CREATE INDEX player_name ON player(name);"
    "CREATE TABLE report(id INTEGER PRIMARY KEY, match INTEGER NOT NULL REFERENCES match(id) ON DELETE "
    "CASCADE, "
    "frame INTEGER, client INTEGER, name TEXT, text TEXT);"
    "CREATE INDEX report_match ON report(match);"
    "CREATE TABLE verdict(id INTEGER PRIMARY KEY AUTOINCREMENT, match INTEGER NOT NULL UNIQUE REFERENCES "
    "match(id) "
    "ON DELETE CASCADE, at TEXT NOT NULL, code INTEGER NOT NULL, verdict TEXT NOT NULL, why TEXT, "
    "label INTEGER, agreed INTEGER, hashes INTEGER, sealed_by TEXT, sealed INTEGER);"
    "PRAGMA user_version=2;";

static long long version_of(struct kl_database *d) {
    sqlite3_stmt *s = prepare(d, "PRAGMA user_version", "");
    long long version = s && sq.step(s) == ROW ? sq.column_int64(s, 0) : -1;
    sq.finalize(s);
    return version;
}

/* Version 1 may lack the players' keys. */
static bool bring_up(struct kl_database *d) {
    sqlite3_stmt *key = prepare(d, "SELECT key FROM player", "");
    bool good = key || do_all(d, "ALTER TABLE player ADD COLUMN key TEXT");
    sq.finalize(key);
    return good && do_all(d, "PRAGMA user_version=2");
}

/* Makes the tables of a new file, and brings those of an older one up. */
static int look_at_tables(struct kl_database *d, bool writes, char *err, size_t err_len) {
    long long version = version_of(d);
    if ((version == 0 || version == 1) && writes) {
        bool good = do_all(d, "BEGIN IMMEDIATE");
        version = good ? version_of(d) : -1; /* another may have done it meanwhile */
        good = good && (version != 0 || do_all(d, tables)) && (version != 1 || bring_up(d));
        good &= do_all(d, good ? "COMMIT" : "ROLLBACK");
        if (!good) return fail(d, err, err_len);
        version = version_of(d);
    }
    if (version < 0) return fail(d, err, err_len);
    if (version == VERSION) return 0;
    snprintf(err, err_len, "%s: expected a database of version %d, got %lld%s", d->path, VERSION, version,
             version < VERSION ? ": keylock verify --watch brings it up" : "");
    return -1;
}

struct kl_database *kl_database_open(const char *path, bool writes, char *err, size_t err_len) {
    struct kl_database *d = calloc(1, sizeof(*d));
    if (!load(err, err_len) || !d) {
        free(d);
        return NULL;
    }
    snprintf(d->path, sizeof(d->path), "%s", path);
    int flags = OPEN_READWRITE | (writes ? OPEN_CREATE : 0);
    bool good = sq.open_v2(path, &d->db, flags, NULL) == OK;
    /* FULL: a verdict is on the disk before its file is moved */
    if (good) sq.busy_timeout(d->db, BUSY_MS);
    good = good && do_all(d, "PRAGMA foreign_keys=ON");
    good = good && (!writes || do_all(d, "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL"));
    if (!good) (void)fail(d, err, err_len);
    if (good && look_at_tables(d, writes, err, err_len) == 0) return d;
    kl_database_close(d);
    return NULL;
}

void kl_database_close(struct kl_database *d) {
    if (d) sq.close(d->db);
    free(d);
}

/* --- writing --- */

static const char *text_of(json_object *j, const char *key) {
    json_object *value = NULL;
    return json_object_object_get_ex(j, key, &value) && value ? json_object_get_string(value) : NULL;
}

static long long number_of(json_object *j, const char *key) {
    json_object *value = NULL;
    return json_object_object_get_ex(j, key, &value) && value ? json_object_get_int64(value) : -1;
}

/* Element i of the list `key`; NULL: it has no more. */
static json_object *at_of(json_object *j, const char *key, size_t i) {
    json_object *list = NULL;
    if (!json_object_object_get_ex(j, key, &list) || !list || i >= json_object_array_length(list))
        return NULL;
    return json_object_array_get_idx(list, i);
}

static bool put_lists(struct kl_database *d, long long match, json_object *found) {
    json_object *j;
    for (size_t i = 0; (j = at_of(found, "players", i)); i++)
        if (!finish(prepare(d,
                            "INSERT INTO player(match, client, name, key, presses, fastest, away, desyncs) "
                            "VALUES(?, ?, ?, ?, ?, ?, ?, ?)",
                            "iittnnnn", match, number_of(j, "client"), text_of(j, "name"), text_of(j, "key"),
                            number_of(j, "presses"), number_of(j, "fastest"), number_of(j, "away"),
                            number_of(j, "desyncs"))))
            return false;
    for (size_t i = 0; (j = at_of(found, "reports", i)); i++)
        if (!finish(prepare(d, "INSERT INTO report(match, frame, client, name, text) VALUES(?, ?, ?, ?, ?)",
                            "inntt", match, number_of(j, "frame"), number_of(j, "client"), text_of(j, "name"),
                            text_of(j, "text"))))
            return false;
    return true;
}

static bool put_match(struct kl_database *d, const char *sum, const char *file, json_object *found) {
    char now[KL_WALL_TEXT];
    kl_wall_text(now, kl_wall_us());
    bool good =
        finish(prepare(d, "DELETE FROM match WHERE sum = ?", "t", sum)) &&
        finish(prepare(d,
                       "INSERT INTO match(sum, seen, file, room, words, core, content, frames, ended, "
                       "reported) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                       "tttttttnni", sum, now, *file ? file : NULL, text_of(found, "room"),
                       text_of(found, "match"), text_of(found, "core"), text_of(found, "content"),
                       number_of(found, "recorded"), number_of(found, "ended"),
                       (long long)(at_of(found, "reports", 0) != NULL)));
    long long match = good ? sq.last_insert_rowid(d->db) : 0;
    if (!good || !put_lists(d, match, found)) return false;
    if (!text_of(found, "verdict")) return true;
    return finish(prepare(d,
                          "INSERT INTO verdict(match, at, code, verdict, why, label, agreed, hashes, "
                          "sealed_by, sealed) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                          "ititt"
                          "nnntn",
                          match, now, number_of(found, "exit"), text_of(found, "verdict"),
                          text_of(found, "why"), number_of(found, "label"), number_of(found, "agreed"),
                          number_of(found, "hashes"), text_of(found, "sealed_by"),
                          number_of(found, "sealed")));
}

int kl_database_put(struct kl_database *d, const char *sum, const char *file, json_object *found, char *err,
                    size_t err_len) {
    if (do_all(d, "BEGIN IMMEDIATE") && put_match(d, sum, file, found) && do_all(d, "COMMIT")) return 0;
    (void)fail(d, err, err_len);
    (void)do_all(d, "ROLLBACK");
    return -1;
}

/* Those without a report of which `which` is true, with this text in it. */
static int forget(struct kl_database *d, const char *which, const char *text,
                  void (*tell)(void *ctx, const char *file), void *ctx, char *err, size_t err_len) {
    char sql[256];
    snprintf(sql, sizeof(sql), "SELECT file FROM match WHERE %s AND NOT reported AND file NOT NULL", which);
    sqlite3_stmt *s = prepare(d, sql, "t", text);
    while (s && sq.step(s) == ROW)
        tell(ctx, (const char *)sq.column_text(s, 0));
    sq.finalize(s);
    snprintf(sql, sizeof(sql), "DELETE FROM match WHERE %s AND NOT reported", which);
    return finish(prepare(d, sql, "t", text)) ? 0 : fail(d, err, err_len);
}

int kl_database_forget(struct kl_database *d, uint64_t before_us, void (*tell)(void *ctx, const char *file),
                       void *ctx, char *err, size_t err_len) {
    char before[KL_WALL_TEXT];
    return forget(d, "seen < ?", kl_wall_text(before, before_us), tell, ctx, err, err_len);
}

int kl_database_forget_room(struct kl_database *d, const char *room,
                            void (*tell)(void *ctx, const char *file), void *ctx, char *err, size_t err_len) {
    return forget(d, "instr(file, '-' || ?) > 0", room, tell, ctx, err, err_len);
}

bool kl_database_drop(struct kl_database *d, const char *sum) {
    return finish(prepare(d, "DELETE FROM match WHERE sum = ?", "t", sum));
}

/* --- reading --- */

bool kl_database_find(struct kl_database *d, const char *sum, int *code, char file[KLT_FILE]) {
    sqlite3_stmt *s =
        prepare(d,
                "SELECT coalesce(v.code, -1), coalesce(m.file, '') FROM match m LEFT JOIN verdict v "
                "ON v.match = m.id WHERE m.sum = ?",
                "t", sum);
    bool found = s && sq.step(s) == ROW;
    if (found) {
        *code = (int)sq.column_int64(s, 0);
        snprintf(file, KLT_FILE, "%s", (const char *)sq.column_text(s, 1));
    }
    sq.finalize(s);
    return found;
}

bool kl_database_has_file(struct kl_database *d, const char *file, const char *sum) {
    sqlite3_stmt *s = prepare(d, "SELECT 1 FROM match WHERE file = ? AND sum <> ?", "tt", file, sum);
    bool found = s && sq.step(s) == ROW;
    sq.finalize(s);
    return found;
}

#define NEWEST " DESC LIMIT 50"
static const struct {
    const char *what, *sql;
} lists[] = {
    {"matches",
     "SELECT m.seen, m.room, m.words AS match, (SELECT group_concat(name, ', ') FROM player WHERE match = "
     "m.id) AS players, m.core, m.frames, m.reported, v.verdict, m.file FROM match m LEFT JOIN verdict v ON "
     "v.match = m.id ORDER BY m.id" NEWEST},
    {"players",
     "SELECT m.seen, p.name, p.key, m.room, m.words AS match, p.presses, p.fastest, p.away, p.desyncs, "
     "v.verdict, m.file FROM player "
     "p JOIN match m ON m.id = p.match LEFT JOIN verdict v ON v.match = m.id ORDER BY p.id" NEWEST},
    {"reports",
     "SELECT m.seen, r.name, r.frame, r.text, m.room, v.verdict, m.file FROM report r JOIN match m ON m.id "
     "= r.match LEFT JOIN verdict v ON v.match = m.id ORDER BY r.id" NEWEST},
    {"verdicts",
     "SELECT v.at, v.verdict, v.why, v.label, v.hashes, v.sealed_by, m.room, m.file FROM verdict v JOIN "
     "match m ON m.id = v.match ORDER BY v.id" NEWEST},
};

static const char *list_sql(const char *what) {
    for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++)
        if (!strcmp(what, lists[i].what)) return lists[i].sql;
    return NULL;
}

bool kl_database_lists(const char *what) {
    return list_sql(what) != NULL;
}

static json_object *row_of(sqlite3_stmt *s) {
    json_object *j = json_object_new_object();
    for (int i = 0; i < sq.column_count(s); i++) {
        int type = sq.column_type(s, i);
        json_object_object_add(j, sq.column_name(s, i),
                               type == NULL_TYPE ? NULL
                               : type == INTEGER_TYPE
                                   ? json_object_new_int64(sq.column_int64(s, i))
                                   : json_object_new_string((const char *)sq.column_text(s, i)));
    }
    return j;
}

int kl_database_list(struct kl_database *d, const char *what, bool json, FILE *out, char *err,
                     size_t err_len) {
    sqlite3_stmt *s = prepare(d, list_sql(what), "");
    int result;
    while (s && (result = sq.step(s)) == ROW)
        if (json)
            (void)kl_report_put(out, row_of(s));
        else {
            /* "TIME  name=Ann  room=lounge": without what is not there. */
            for (int i = 0; i < sq.column_count(s); i++) {
                const char *text = (const char *)sq.column_text(s, i);
                char line[4096];
                if (!text || !*text) continue;
                snprintf(line, sizeof(line), "%s%s%s%s", i ? "  " : "", i ? sq.column_name(s, i) : "",
                         i ? "=" : "", text);
                fputs(kl_plain(line), out);
            }
            fputc('\n', out);
        }
    sq.finalize(s);
    if (!s || result != DONE) return fail(d, err, err_len);
    return fflush(out) == 0 && !ferror(out) ? 0 : -2;
}

/* database.h - the findings of `keylock verify --watch`, in SQLite: matches, their players, reports and
 * verdicts. docs/hosting.md has the tables.
 *
 * libsqlite3 is loaded when a database is opened (as libarchive for a 7z): no program links it, no build
 * needs it. One process writes; any number read meanwhile. */
#ifndef KLT_DATABASE_H
#define KLT_DATABASE_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define KLT_SUM  33  /* bytes of a file's sum as text: BLAKE2b-128; NUL included */
#define KLT_FILE 256 /* of a file's name, without folders */

struct kl_database;

/* Opens it; writes: also makes it if it is not there. NULL with a line in err: that, no library, another
 * version. */
struct kl_database *kl_database_open(const char *path, bool writes, char *err, size_t err_len);
void kl_database_close(struct kl_database *d); /* NULL is allowed */

/* The match whose file has this sum. code: of its verdict, or -1. file: the name that it is kept by, or "".
 * False: there is no such match. */
bool kl_database_find(struct kl_database *d, const char *sum, int *code, char file[KLT_FILE]);
/* Is another match than that of this sum kept under this name? */
bool kl_database_has_file(struct kl_database *d, const char *file, const char *sum);
/* Writes a match, its players and reports, and its verdict if `found` has one (kl_verify_json()), in the
 * place of what there is of this sum; all of it is on the disk, or nothing. 0, or -1 with a line in err. */
int kl_database_put(struct kl_database *d, const char *sum, const char *file, json_object *found, char *err,
                    size_t err_len);
/* Forgets all matches without a report that were seen before that time. tell() gets the names of their
 * files. */
int kl_database_forget(struct kl_database *d, uint64_t before_us, void (*tell)(void *ctx, const char *file),
                       void *ctx, char *err, size_t err_len);

/* Forgets the match of this sum; or all without a report whose file's name has this room's id, 32 digits, and
 * tell() gets the names. */
bool kl_database_drop(struct kl_database *d, const char *sum);
int kl_database_forget_room(struct kl_database *d, const char *room,
                            void (*tell)(void *ctx, const char *file), void *ctx, char *err, size_t err_len);

/* The newest 50 of matches, players, reports or verdicts, a line each. 0; -1 with a line in err; -2: `out`
 * cannot be written. */
bool kl_database_lists(const char *what);
int kl_database_list(struct kl_database *d, const char *what, bool json, FILE *out, char *err,
                     size_t err_len);

#endif

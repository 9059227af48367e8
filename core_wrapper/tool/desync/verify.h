/* verify.h - one recording, run again in a process of its own and held against the hashes that it says. */
#ifndef KLT_VERIFY_H
#define KLT_VERIFY_H

#include <json-c/json.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "core_wrapper/record/recording.h"
#include "core_wrapper/tool/common/tool.h"
#include "core_wrapper/tool/desync/machine.h"
#include "net/platform/file.h"
#include "net/session/keys.h"

struct kl_database;

#define KLT_VERIFY_PLACES 64 /* cores, and places of contents, that the user names at most */

/* The user's wishes, the same for all files. */
struct kl_verify_wish {
    const char *core[KLT_VERIFY_PLACES], *content[KLT_VERIFY_PLACES]; /* names or paths; folders or files */
    unsigned cores, contents;
    const char *system_dir, *states; /* NULL: none */
    const char *relay;               /* the fingerprint of the relay that must have sealed them; NULL: any */
    const char *pieces; /* a folder for states between pieces of a run, a later one's to begin with; NULL */
    uint64_t jobs;      /* pieces at once, if there is one file */
    char **file;        /* the recordings */
    unsigned files;
    bool look; /* reads them, and runs nothing */
    bool tie;  /* runs up to a frame whose hashes differ, and says who is right */
    bool labelled;
    uint32_t label; /* if labelled: that frame; else the first one on which the players differ */
    bool child;     /* this process works for a parent, and stops without it */
};

enum kl_verdict_code {
    KLT_VERIFIED = 0, /* of a tie: decided, somebody is right */
    KLT_PARTED = 1,   /* from the hashes that it says; and two runs here are equal */
    KLT_CANNOT = 2,
    KLT_DAMAGED = 3,   /* and all before it verified */
    KLT_UNSEALED = 4,  /* by the relay that the user named; nothing was run */
    KLT_LOOKED_AT = 5, /* by the user's wish nothing was run: no verdict */
};

struct kl_verify {
    const struct kl_verify_wish *wish;
    const char *path;
    struct kl_recording rec;
    atomic_uint done, frames; /* of the run, for a look from another thread; frames 0: not known yet */

    enum kl_verdict_code code;
    const char *unsealed;                  /* "": the frames below rec.seal.end are signed, by */
    char sealer[KL_FINGERPRINT_CHARS + 1]; /* this relay; else why not */
    char why[2048];                        /* CANNOT's reason, PARTED's words, DAMAGED's block */
    uint32_t from;                         /* the frame that the run began with */
    char base[KL_FILE_PATH]; /* the recording whose run gave the state of that frame; "": from power-on */
    unsigned hashes, parts;  /* labels that were equal; KL_HASH_…, all that were compared at them */
    char note[256];          /* on a part that does not count; or "" */
    uint32_t label, agreed;  /* PARTED: the first one that differs, the last one before; UINT32_MAX: none */
    uint32_t planted;        /* PARTED: before that frame by the file's own word; UINT32_MAX: none was */
    unsigned differs;        /* PARTED: KL_HASH_… */
    uint16_t clients;        /* PARTED: whose hash, a bit each; 0: a watcher's, or a run's without a room */
    uint32_t tie;            /* its label; UINT32_MAX: none is to be decided */
    struct kl_klr_hash
        found; /* the run's hashes after it, by those that said the same; has 0: the run did not
                                 come so far */
    char state[KL_FILE_PATH]; /* PARTED: the state of the run here after `label`; "": not kept */

    /* of the run */
    struct kl_machine_setup setup;
    char core[KL_FILE_PATH], content[KL_FILE_PATH];
    uint8_t *what;              /* by frame from rec.first on: the hashes that are taken */
    struct kl_statefile begin;  /* the state that the run begins with, if from > 0 */
    unsigned counts, next_hash; /* KL_HASH_…; place in rec.hash */
    struct kl_hashline line[KLT_MACHINE_BATCH];
};

/* Fills in all from code on. v: zero but for wish and path; large. */
void kl_verify_run(struct kl_verify *v);
void kl_verify_free(struct kl_verify *v);

/* Of verify.c, for verify_pieces.c. The machine stands before frame v->from. 0, or -1: told. */
int kl_verify_begin(struct kl_verify *v, struct kl_machine *m);
/* Some frames more, up to frame `to`: their number, with their hashes in v->line. -1: told. */
int kl_verify_run_on(struct kl_verify *v, struct kl_machine *m, uint32_t to);
/* True: all hashes of this label are equal to the run's. Else v->differs and v->clients say which are not. */
bool kl_verify_agrees(struct kl_verify *v, const struct kl_hashline *l);

/* verify_pieces.c. True: the run is verified, in pieces that ran at once, each from a state that an earlier
 * run of this file here has kept. A piece's last state is the next one's first, so all of them are one run
 * from the beginning. False: there are no such states, or they are not to be trusted: run it whole. */
bool kl_verify_pieces(struct kl_verify *v);
/* The frame up to which a whole run goes on from here, to keep a state there: it is behind a label. */
uint32_t kl_verify_pieces_next(const struct kl_verify *v, uint32_t at);
/* Keeps it. A failure is noted, and costs a later run its time. */
void kl_verify_pieces_keep(struct kl_verify *v, struct kl_machine *m);

/* "verified"; "" of KLT_LOOKED_AT. tie: "decided". */
const char *kl_verify_word(enum kl_verdict_code code, bool tie);
/* An object for --json. */
json_object *kl_verify_json(const struct kl_verify *v);

/* "RAM, state" of KL_HASH_… bits. */
const char *kl_verify_parts(unsigned parts);

/* Players' hands and machines as numbers, from a recording. They judge nobody:
 * docs/hosting.md says what each means, and how it lies. */

#define KLT_COUNTED 64 /* players of one recording at most: others are left out */

struct kl_counted {
    uint8_t client;
    char name[KL_NAME_MAX];
    uint32_t presses; /* of the buttons of a pad */
    uint32_t fastest; /* presses of one button within a second of frames, at most */
    uint32_t away;    /* frames of a seat that were played without its player */
    uint32_t desyncs; /* hashes that were not those of most machines; of a tie both sides */
};
/* The players in order of their coming; their number. */
unsigned kl_counts(const struct kl_recording *r, struct kl_counted out[KLT_COUNTED]);

/* The verifier beside a relay (docs/hosting.md, "A verifier"): takes recordings from DIR/new one by
 * one, reported ones first, each in a process of its own, writes down what was found, moves them away. */

struct kl_watch_wish {
    const char *dir, *database;
    const char *on_verdict;     /* a command that gets each verdict as JSON; NULL: none */
    uint64_t share, days;       /* percent of the files without a report; that files are kept, 0: for ever */
    bool keep_parted;           /* keeps those alone that are reported, or not verified */
    bool once, json;            /* ends when there is no file left; how verdicts are printed */
    const char *const *options; /* of each child: those of cmd_verify(), NULL at the end */
};
/* Until it is stopped. An exit status, after a line on standard error unless it is KLT_OK. */
int kl_watch(const struct kl_watch_wish *wish);

/* The findings of `keylock verify --watch`, in SQLite: matches, their players, reports and
 * verdicts. docs/hosting.md has the tables.
 *
 * libsqlite3 is loaded when a database is opened (as libarchive for a 7z): no program links it, no build
 * needs it. One process writes; any number read meanwhile. */

#define KLT_SUM  33  /* bytes of a file's sum as text: BLAKE2b-128; NUL included */
#define KLT_FILE 256 /* of a file's name, without folders */

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

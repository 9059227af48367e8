/* store.h - the place of the journal's bytes: two files a room, DIR/ROOMID.klr and DIR/ROOMID.tail, in a
 * folder that one relay holds. Rooms are known by their ids, and nobody else in net/relay/durable has a path.
 *
 * Functions that give a bool are false, and those that give an int are -1, with the reason in why or err. */
#ifndef KL_STORE_H
#define KL_STORE_H

#include "net/platform/dir.h"
#include "net/platform/file.h"

#define KL_STORE_ID   16
#define KL_STORE_NAME (2 * KL_STORE_ID + 1) /* an id in digits, with its NUL */

#define KL_ENDING_RECORDING "klr"
#define KL_ENDING_TAIL      "tail"

enum kl_store_kind { KL_STORE_OTHER, KL_STORE_RECORDING, KL_STORE_TAIL };

struct kl_store; /* NULL: closed */

/* Makes the folder (mode 0700) if it is missing, and holds it. -1 also if another relay holds it (errno is
 * EBUSY), or others may write there. held: the process that this one is a copy of holds it. */
int kl_store_open(struct kl_store **out, const char *dir, bool held, char *err, size_t err_len);
void kl_store_close(struct kl_store *s);

/* All names there. */
int kl_store_list(const struct kl_store *s, struct kl_dir_list *names, char *err, size_t err_len);
/* The kind of a file with this name; and its room, unless it is another. */
enum kl_store_kind kl_store_kind_of(const char *name, uint8_t id[KL_STORE_ID]);
/* Bytes of a file; 0: there is none. */
uint64_t kl_store_size(const struct kl_store *s, const uint8_t id[KL_STORE_ID], enum kl_store_kind kind);

/* A new file, open. One that is there already is an error. */
bool kl_store_make(const struct kl_store *s, const uint8_t id[KL_STORE_ID], enum kl_store_kind kind,
                   struct kl_file *file, char *why, size_t why_len);
/* The parts at the file's end, which is byte `at`: all of them, or none. */
bool kl_store_append(const struct kl_file *file, uint64_t at, const struct kl_file_part *part, unsigned parts,
                     char *why, size_t why_len);

/* A file as it was found; place for `cap`, which the next one uses again. */
struct kl_store_found {
    struct kl_file file; /* open */
    uint8_t *bytes;
    uint64_t len, cap;
};
/* 0; KL_FILE_ABSENT; -1. */
int kl_store_load(const struct kl_store *s, const uint8_t id[KL_STORE_ID], enum kl_store_kind kind,
                  struct kl_store_found *to, char *why, size_t why_len);
/* Without a copy, to look at some pages. False: not there, or not this relay's own. */
bool kl_store_look(const struct kl_store *s, const uint8_t id[KL_STORE_ID], enum kl_store_kind kind,
                   const void **bytes, size_t *len);
void kl_store_look_away(const void *bytes, size_t len);

/* Removes both files, or the tail alone; false if one stays. */
bool kl_store_remove(const struct kl_store *s, const uint8_t id[KL_STORE_ID], bool tail_alone, char *err,
                     size_t err_len);

/* Writes the first `bytes` bytes of a recording, which may grow meanwhile, as a new file at that path. From
 * any thread. False with one line in err. */
bool kl_store_copy(const struct kl_store *s, const uint8_t id[KL_STORE_ID], uint64_t bytes, const char *to,
                   char *err, size_t err_len);

/* A closed recording's file gets this path, on the same file system. 0; KL_FILE_ABSENT; -1. */
int kl_store_give(const struct kl_store *s, const uint8_t id[KL_STORE_ID], const char *to, char *why,
                  size_t why_len);
/* Tries that with a file of nobody's. -1 also if the folder is on another file system. */
int kl_store_can_give(const struct kl_store *s, const char *dir, char *err, size_t err_len);

#endif

/* journal_lives.h - a relay that keeps a journal, killed and started again in one process. */
#ifndef TEST_JOURNAL_LIVES_H
#define TEST_JOURNAL_LIVES_H

#include "tests/lib/lobby_players.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "net/relay/durable/journal.h"
#include "net/relay/durable/lobby_again.h"
#include "tests/lib/journal_whole.h"

#define MIB       (UINT64_C(1) << 20)
#define BYTES_MAX (4 * MIB)

extern char folder[64], err[300];
extern struct kl_journal *journal;
extern uint64_t limit;
extern uint8_t bytes[BYTES_MAX]; /* of the one file */
extern size_t bytes_len;
extern uint32_t unwritten; /* datagrams that went out before what they carry was written */

/* --- folder and file --- */

const char *path_of(const char *name);

/* The name of the only file there; NULL: there is none. */
const char *only_file(void);

void put_file(const char *name, const void *from, size_t len, unsigned mode);

size_t get_file(const char *name, uint8_t *to, size_t cap);

void read_only_file(void);

/* --- the relay's lives --- */

/* Frames in the file: all that anybody can have; some more may be closed since, and have not gone out. */
uint32_t written(void);

void open_journal(void);

void begin_life(uint64_t time_us);

/* As kill -9: nobody is told, nothing is put in order. */
void die(void);

void die_and_begin_again(void);

void begin_game(enum kl_policy policy);

void all_come_back(unsigned peer);

/* --- the content of a file --- */

/* Compares each with what was played. */
uint32_t frames_in(const struct kl_lobby_room *r);

/* The frames that whole records within len bytes hold. */
uint32_t whole_frames(size_t len, uint64_t *end);

/* Hundreds of warnings, all deserved. */
void be_quiet(void);

extern char journal_name[256];

void make_small_journal(void);

int make_folder(void **state);
int remove_folder(void **state);
#define T(f) cmocka_unit_test_setup_teardown(f, make_folder, remove_folder)

#endif

/* journal_lives.h - a relay that keeps a journal, killed and started again in one process. */
#ifndef TEST_JOURNAL_LIVES_H
#define TEST_JOURNAL_LIVES_H

#include "tests/lib/lobby_players.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "net/relay/durable/journal.h"
#include "net/relay/durable/lobby_ticket.h"
#include "tests/lib/journal_whole.h"

#define MIB       (UINT64_C(1) << 20)
#define BYTES_MAX (4 * MIB)

extern char folder[64], err[300];
extern struct kl_journal *journal;
extern struct kl_journal_limits journal_limits;
extern char room_name[KL_STORE_NAME]; /* of the one room whose files were read */
extern uint8_t bytes[BYTES_MAX];      /* of its recording */
extern size_t bytes_len;
extern uint8_t tail[KL_TAIL_BYTES + 1];
extern size_t tail_len;
extern bool reads;         /* a new life reads all rooms at once, as if somebody had come back to each */
extern uint32_t unwritten; /* datagrams that went out before what they carry was written */

/* --- folder and files --- */

const char *path_of(const char *name);
/* The same of the read room's file with this ending. */
const char *file_of(const char *ending);

/* The name of the only room with files there; NULL: there is none. */
const char *only_room(void);

void put_file(const char *name, const void *from, size_t len, unsigned mode);
/* Both, as they are in memory. */
void put_files(void);

size_t get_file(const char *name, uint8_t *to, size_t cap);

void read_files(void);

/* --- the relay's lives --- */

/* Frames in the files: all that anybody can have; some more may be closed since, and have not gone out. */
uint32_t written(void);

void open_journal(void);

void begin_life(uint64_t time_us);

/* As kill -9: nobody is told, nothing is put in order. */
void die(void);

void die_and_begin_again(void);

/* A new life in which nobody has come back yet: rooms are known by their names and seats alone. */
void begin_life_unread(void);

/* This relay signs recordings from now on. */
void sign_recordings(struct kl_relay_key *key);

void begin_game(enum kl_policy policy);

void all_come_back(unsigned peer);

/* --- their content --- */

/* Reads the files, and opens the recording. */
void open_recording(struct kl_klr_cursor *c);

/* The recording's next block of this type; r is at the begin of its body. */
bool next_block(struct kl_klr_cursor *c, enum kl_klr_type type, struct kl_reader *r);

/* Compares each with what was played. */
uint32_t frames_in(const struct kl_lobby_room *r);

/* The frames that both files prove, of which so many bytes are there. good: NULL, or the end of the
 * recording's good part. */
uint32_t whole_frames(size_t of_recording, size_t of_tail, uint64_t *good);

/* Hundreds of warnings, all deserved. */
void be_quiet(void);

/* How many lines of this log have that. */
unsigned lines_with(FILE *log, const char *what);

/* No file of this process may be longer from now on. */
void limit_files(rlim_t size);

/* Plays so long, dies, and reads the files. */
void make_journal(uint64_t play_us);

int make_folder(void **state);
int remove_folder(void **state);

#endif

/* relay_log.h - the relay's log, and a way out for its lines that never blocks. */
#ifndef KL_RELAY_LOG_H
#define KL_RELAY_LOG_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "net/platform/seqlock.h"

struct kl_outlet;

/* --- the log --- */

/* The relay's log: one line an event, key=value, to standard error. It reads as a story. */

enum kl_log_level { KL_LOG_ERROR, KL_LOG_INFO, KL_LOG_DEBUG };

void kl_log_set_level(enum kl_log_level level);
/* Sets the stream of the lines; NULL, the default: standard error. */
void kl_log_to(FILE *to);
/* Sends the lines through an outlet instead, which is borrowed; NULL: no more. */
void kl_log_through(struct kl_outlet *outlet);
bool kl_log_wants(enum kl_log_level level);

/* Limits the lines of one kind a minute about one client, room or address (lobby_limit.h); 0, the default: no
 * limit. Errors are not limited. */
void kl_log_set_lines(unsigned per_min);
/* Reports lines that were left out and not yet reported; all: also those of the last seconds. To be called
 * now and then. */
void kl_log_left_out(bool all);

/* Counts of lines by their event, also of those that the limit left out. One process at a time writes a
 * table; others may read it. */
#define KL_LOG_EVENTS 256
struct kl_log_count {
    char event[24];          /* "": free. Before lines */
    _Atomic(uint64_t) lines; /* 0: not yet */
};
/* From now on lines are counted in count[KL_LOG_EVENTS], which the caller keeps; NULL: no more. */
void kl_log_count(struct kl_log_count *count);

/* A room's story: its newest lines, "TIME EVENT THE REST\n" without its name, oldest first; no debug lines.
 * Its relay's process writes it, others may read it. */
#define KL_LOG_STORY_BYTES 8000
struct kl_log_story {
    kl_seqlock lock;
    struct kl_log_told {
        uint32_t number;     /* another room of this place has another one */
        uint32_t lines, len; /* lines: so far, with those that are forgotten */
        char text[KL_LOG_STORY_BYTES];
    } told;
};
/* From now on the room at place i has story[i], which the caller keeps; NULL, 0: there are none. */
void kl_log_stories(struct kl_log_story *story, unsigned count);
/* The room at this place is a new one. */
void kl_log_story_begin(unsigned place);

/* From now on kl_log_address() hashes, with a key made now, which no file and no line ever has. So equal
 * addresses are equal in this run's log, and nobody can find an address by hashing them all. */
void kl_log_hash_addresses(void);
/* Every client's address passes through this function on its way into the log. Returns the address as given;
 * or the hash of its host, without the port. It stays until the next call. */
const char *kl_log_address(const char *address);

/* 2024-05-06T07:08:09.123Z info event=<event> <the rest>. From any thread; the other functions are for the
 * relay's own. */
void kl_log(enum kl_log_level level, const char *event, const char *format, ...)
    __attribute__((format(__printf__, 3, 4)));
/* The same of a room: the rest begins with room="…", and the line stands in the story of its place, too. */
#define KL_LOG_NO_PLACE UINT_MAX
void kl_log_of_room(unsigned place, enum kl_log_level level, const char *event, const char *format, ...)
    __attribute__((format(__printf__, 4, 5)));

#define KL_LOG_QUOTED(bytes) (4 * (bytes) + 3) /* the most that a text with its NUL takes in quotes */
/* Writes s in quotes. Quotes and backslashes have a backslash before them, and each byte of an unfit
 * character (plain.h) is \xNN: the console takes a name so. Returns out. cap >= 3; longer text is cut. */
const char *kl_log_quote(char *out, size_t cap, const char *s);
/* "0,2" for the mask 5; "none" for 0. Returns out. */
const char *kl_log_seats(char out[20], uint8_t seats);

/* --- its way out --- */

/* A way out for lines that never blocks its writer. A terminal stopped with ^S or a full pipe blocks its
 * writers; the relay must not wait for a reader. So lines go into a bounded buffer, and a thread writes them
 * out from a second buffer that it swaps with the first. (A non-blocking descriptor would be shared with the
 * operator's shell.) Lines that do not fit are dropped whole; a line in their place says how many. */

#define KL_OUTLET_BYTES 65536

/* fd stays the caller's and must outlive the outlet. NULL without memory or thread. */
struct kl_outlet *kl_outlet_open(int fd);
/* Takes lines; never waits. Any thread may call it. */
void kl_outlet_put(struct kl_outlet *o, const char *lines, size_t len);
/* Lines dropped so far. */
uint64_t kl_outlet_dropped(struct kl_outlet *o);
/* Waits until all is written, or that long. NULL is fine. If the reader still does not read, the thread and
 * the outlet stay until the program ends. */
void kl_outlet_close(struct kl_outlet *o, unsigned wait_ms);

#endif

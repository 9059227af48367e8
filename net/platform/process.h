/* process.h - programs that we start and ask, and this process itself.
 *
 * A program is started by its arguments; none of our code runs between. Parent and child exchange messages: a
 * mark, a length, the bytes. Every wait of the parent has a deadline. A core crashes or hangs only its own
 * process. */
#ifndef KL_PLATFORM_PROCESS_H
#define KL_PLATFORM_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* ---- the parent's side ---- */

struct kl_process {
    long id;     /* 0: none */
    int channel; /* -1: closed */
};

struct kl_process_setup {
    const char *program;            /* its path; NULL: this program again */
    const char *const *arguments;   /* the first is the program's name; NULL ends them */
    const char *const *environment; /* "NAME=VALUE" beside this process's own; NULL ends them. NULL: none */
    const char *log;                /* the file that gets what the child prints, made anew; NULL: nowhere */
    bool printed; /* what the child prints comes over the channel, without frames: kl_process_read_text() */
};

/* Starts a process. 0, or -1 with a line in err that names the program. */
int kl_process_start(struct kl_process *p, const struct kl_process_setup *setup, char *err, size_t err_len);

enum kl_process_result {
    KL_PROCESS_OK,
    KL_PROCESS_ENDED,   /* the child closed the channel before the message was whole: ended, or crashed */
    KL_PROCESS_LATE,    /* the deadline passed */
    KL_PROCESS_GARBAGE, /* no frame of ours, or one above max */
    KL_PROCESS_STOPPED, /* kl_process_stopped() */
    KL_PROCESS_MEMORY,
};

struct kl_process_part {
    const void *bytes;
    size_t len;
};

/* After any result but OK only kl_process_end() is left. timeout_ms: for the whole call. */

/* Sends one message of several parts. */
enum kl_process_result kl_process_send(struct kl_process *p, const struct kl_process_part *part,
                                       unsigned parts, unsigned timeout_ms);
/* The next message of at most max bytes. *bytes: from malloc, the caller frees it; a NUL follows the *len
 * bytes. NULL after any result but OK. */
enum kl_process_result kl_process_answer(struct kl_process *p, size_t max, unsigned timeout_ms, void **bytes,
                                         size_t *len);
/* The output of a child with setup.printed, up to its end, cap - 1 bytes or the deadline, as text. */
enum kl_process_result kl_process_read_text(struct kl_process *p, char *out, size_t cap, unsigned timeout_ms);

/* How a process ended. */
struct kl_process_end {
    bool crashed; /* by a signal; why names it */
    bool killed;  /* by us: it did not end by itself in time */
    int code;     /* its exit status, where neither */
    char why[64];
};

/* Closes the channel, gives the child grace_ms to end, kills it if it has not, and takes note of its end. p
 * is empty afterwards; an empty one is left alone. how: may be NULL. */
void kl_process_end(struct kl_process *p, unsigned grace_ms, struct kl_process_end *how);

/* ---- the child's side ---- */

/* Sends one message to the parent. False: there is none, or it has gone. */
bool kl_process_tell(const struct kl_process_part *part, unsigned parts);
/* Waits for the parent's next message of at most max bytes; as kl_process_answer(). False: the parent has
 * gone, or what came is no message. */
bool kl_process_hear(size_t max, void **bytes, size_t *len);

/* ---- this process, and others ---- */

long kl_process_self(void);
/* Is there a process of this number? */
bool kl_process_alive(long id);
/* Does a program of this name run with NAME=VALUE in its environment? Other users' processes do not count. */
bool kl_process_runs(const char *name, const char *variable);
/* The path of this program. 0, or -1. */
int kl_process_own_path(char *out, size_t cap);
/* Becomes another program, which has this process's open files that are inherited. Returns only if that
 * failed: -1 with a line in err. */
int kl_process_become(const char *program, const char *const *arguments, char *err, size_t err_len);
/* Standard error is a terminal, where somebody reads along. */
bool kl_process_has_terminal(void);

/* All output of this process, a core's too, goes to standard error from now on; the stream returned leads
 * to what was standard output. NULL: that failed. */
FILE *kl_process_take_output(void);

/* From now on the user's Ctrl-C and a request to end are only noted; a second one ends the process. */
void kl_process_catch_stop(void);
bool kl_process_stopped(void);
/* Ctrl-C is the parent's matter. */
void kl_process_ignore_stop(void);
/* A crash still ends the process by its signal; this line (kept, with its newline) is printed before. */
void kl_process_catch_crashes(const char *line);

#endif

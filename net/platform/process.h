/* process.h - this process and others of this machine, and the environment that a process hands on. */
#ifndef KL_PLATFORM_PROCESS_H
#define KL_PLATFORM_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* --- processes --- */

/* Child processes, and this process itself.
 *
 * A child is a new program, never a bare fork (copies.h has those). Parent and child exchange messages: a
 * mark, a length, the bytes. Every wait of the parent has a deadline. So a core crashes or hangs only its own
 * process. */

/* --- the parent's side --- */

struct kl_process {
    long id;       /* 0: none */
    int channel;   /* -1: closed */
    int of_system; /* Windows: its handle, which keeps the number from being given to another process */
};

struct kl_process_setup {
    const char *program;          /* path of the program; NULL: this program */
    const char *library;          /* path of a library that is run as a program, in place of that; or NULL */
    const char *const *arguments; /* the first is the program's name; NULL ends them */
    const char *const
        *environment;    /* "NAME=VALUE" added to this process's environment; NULL ends them. NULL: none */
    const char *log;     /* file for the child's output, made anew; NULL: the output is dropped */
    bool printed;        /* the child's output comes over the channel as plain text: kl_process_read_text() */
    bool same_addresses; /* its memory is where that of another such child is; Windows, and systems that
                          * forbid it: as usual */
};

/* The function that a library exports on Windows to be run as a program, as rundll32 calls it (the name there
 * has a W behind it). */
#define KL_PROCESS_LIBRARY_MAIN "keylock_main"

/* Starts a process. A library runs by the system's loader, which takes its file as a program's, or on Windows
 * by rundll32. 0, or -1 with a line in err that names the program. */
int kl_process_start(struct kl_process *p, const struct kl_process_setup *setup, char *err, size_t err_len);

/* Starts a program that shares this process's terminal, input, output and inherited files, as a shell does.
 * Its channel carries no messages: it becomes readable when the program has ended. 0, or -1 with a line in
 * err. */
int kl_process_run(struct kl_process *p, const char *program, const char *const *arguments, char *err,
                   size_t err_len);
/* Asks a running process to end, as the end of a service does (SIGTERM). Windows: kl_wake_at_quit() or
 * kl_process_catch_stop() hears of it; another program's windows are asked to close; one without any is
 * ended. */
void kl_process_ask_end(const struct kl_process *p);

enum kl_process_result {
    KL_PROCESS_OK,
    KL_PROCESS_ENDED, /* the child closed the channel before the message was complete: it ended or crashed */
    KL_PROCESS_LATE,  /* the deadline passed */
    KL_PROCESS_GARBAGE, /* the message has no mark, or is longer than max */
    KL_PROCESS_STOPPED, /* kl_process_stopped() */
    KL_PROCESS_MEMORY,
};

struct kl_process_part {
    const void *bytes;
    size_t len;
};

/* After any result but OK the caller may only call kl_process_end(). timeout_ms: for the whole call. */

/* Sends one message of several parts. */
enum kl_process_result kl_process_send(struct kl_process *p, const struct kl_process_part *part,
                                       unsigned parts, unsigned timeout_ms);
/* The next message of at most max bytes. *bytes: from malloc, the caller frees it; a NUL follows the *len
 * bytes. NULL after any result but OK. */
enum kl_process_result kl_process_answer(struct kl_process *p, size_t max, unsigned timeout_ms, void **bytes,
                                         size_t *len);
/* The output of a child with setup.printed, up to its end, cap - 1 bytes or the deadline, as text. */
enum kl_process_result kl_process_read_text(struct kl_process *p, char *out, size_t cap, unsigned timeout_ms);

/* The end of a process. */
struct kl_process_end {
    bool crashed; /* a signal ended the process; why names it */
    bool killed;  /* the parent killed the process after the grace time */
    int code;     /* exit status, if neither crashed nor killed */
    char why[64];
};

/* True if the child has ended; also for an empty p. It may not be one with setup.printed. */
bool kl_process_gone(const struct kl_process *p);
/* Closes the channel, gives the child grace_ms to end, then kills it, and reports its end in how (may be
 * NULL). p is empty afterwards; an empty p is allowed. */
void kl_process_end(struct kl_process *p, unsigned grace_ms, struct kl_process_end *how);

/* --- the child's side --- */

/* Sends one message to the parent. False: there is no parent, or it has ended. */
bool kl_process_tell(const struct kl_process_part *part, unsigned parts);
/* Waits for the parent's next message of at most max bytes; as kl_process_answer(). False: the parent has
 * ended, or the bytes are no message. */
bool kl_process_hear(size_t max, void **bytes, size_t *len);

/* The channel's number, for kl_wait_for(): readable if the parent has sent or has ended. */
int kl_process_parent(void);

/* --- this process, and others --- */

/* Call it first in a program's main, with its arguments. On Windows they become UTF-8, standard streams carry
 * bytes as on Linux, a crash shows no dialog, and abort() is told as a crash. No effect elsewhere. */
void kl_process_begin(int *argc, char ***argv);

long kl_process_self(void);
/* True if a process of this number exists. */
bool kl_process_alive(long id);
/* True if this user runs a program of this name with NAME=VALUE in its environment. Windows: with any
 * environment, and the name may lack its .exe. */
bool kl_process_runs(const char *name, const char *variable);
/* The path of this program. 0, or -1. */
int kl_process_own_path(char *out, size_t cap);
/* This process is a library that runs as a program. file: borrowed for ever; kl_process_own_path() gives it
 * from now on, and children that are this program once more are run as it is. */
void kl_process_loaded(const char *file);
/* The path of the program that this name starts in a terminal (PATH). Windows: the name may lack its .exe.
 * False: there is none, or the path is longer than cap. */
bool kl_process_find(const char *name, char *out, size_t cap);
/* Replaces this process by another program, which keeps the inherited open files. On Windows this process
 * stays until that program ends, and ends with its code. Returns only on failure: -1 with a line in err. */
int kl_process_become(const char *program, const char *const *arguments, char *err, size_t err_len);
/* This process and its children run when no other process wants the processor. */
void kl_process_yield(void);
/* True if standard error is a terminal, so that people may read it. */
bool kl_process_has_terminal(void);
/* True if standard input is a terminal, too, so that they may answer. */
bool kl_process_has_answers(void);

/* Directs all output of this process, a core's too, to standard error. Returns a stream to the original
 * standard output; NULL on failure. */
FILE *kl_process_take_output(void);

/* From now on a first Ctrl-C or termination signal only sets kl_process_stopped(); a second one ends the
 * process. */
void kl_process_catch_stop(void);
bool kl_process_stopped(void);
/* Ignores Ctrl-C; the parent handles it. */
void kl_process_ignore_stop(void);
/* From now on no signal of the terminal reaches this process: neither Ctrl-C nor the terminal's end. */
void kl_process_leave_terminal(void);
/* Allocations beyond this many bytes of the whole process fail. */
void kl_process_limit_memory(size_t bytes);
/* Raises the number of files and sockets that this process may have open at once to `wanted`, if the system
 * lets it. The number that it may have; at least `wanted` where there is no limit. */
unsigned kl_process_raise_files(unsigned wanted);
/* The names of the signals of a crash that have a handler in this process, or "". Windows: also the library
 * that handles exceptions. */
void kl_process_crash_handlers(char *out, size_t cap);
/* Prints this line (borrowed, with its newline) before a crash ends the process by its signal. */
void kl_process_catch_crashes(const char *line);

/* --- the channel's bytes, for process_message.c alone; only kl_channel_ready() waits --- */

/* Waits up to `ms` until the channel can be read or written. 1; 0: not yet; -1: there is no such channel. */
int kl_channel_ready(int channel, bool to_write, unsigned ms);
/* Returns the number of bytes read or written; 0: none yet; -1: the other end is closed. */
long kl_channel_get(int channel, void *out, size_t cap);
long kl_channel_put(int channel, const void *bytes, size_t len);

/* --- the environment --- */

/* The variables of this process's environment, in UTF-8. Its children inherit them.
 *
 * Only one thread may call these while another sets. */

/* NULL: unset, or no valid text. Valid until this variable is set, or asked for again. */
const char *kl_environment_get(const char *name);
/* value NULL: unsets it. Without memory the variable stays as it was. */
void kl_environment_set(const char *name, const char *value);

#endif

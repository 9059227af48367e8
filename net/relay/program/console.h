/* console.h - the operator's lines, from standard input (--console) or by control.h, and the answers.
 * `help` lists the lines.
 *
 * A name with blanks stands in double quotes. Every line is answered by one or more lines. */
#ifndef KL_CONSOLE_H
#define KL_CONSOLE_H

#include "net/platform/buffer.h"
#include "net/session/command_words.h"
#include "net/transport/hub.h"
#include "net/relay/lobby/lobby.h"

#define KL_CONSOLE_LINE  512       /* bytes of a line; a longer one is refused */
#define KL_CONSOLE_ERROR "error: " /* begins the answer to a line that was refused */
#define KL_CONSOLE_NO_ROOM                                                                                   \
    KL_CONSOLE_ERROR "there is no room" /* so a room of that name may be in another process */

enum kl_console_verb {
    KL_CONSOLE_NOTHING, /* an empty line */
    KL_CONSOLE_HELP,
    KL_CONSOLE_QUIT,
    KL_CONSOLE_DRAIN,
    KL_CONSOLE_ROOMS,
    KL_CONSOLE_STATUS,
    KL_CONSOLE_WHO,
    KL_CONSOLE_SNAPSHOT,
    KL_CONSOLE_RECORD,
    KL_CONSOLE_CLOSE,
    KL_CONSOLE_ORDER, /* a command like the members' */
    KL_CONSOLE_BAD    /* `room` holds the error for people */
};

struct kl_console_line {
    enum kl_console_verb verb;
    char room[KL_CONSOLE_LINE]; /* KL_CONSOLE_BAD: the answer */
    struct kl_words words;      /* KL_CONSOLE_ORDER */
    bool on;                    /* KL_CONSOLE_RECORD */
};

/* A line of a program's words, the names in quotes. NULL ends them. False: it is longer than a line. */
bool kl_console_join(char out[KL_CONSOLE_LINE], char *const *words);

/* Whether a line of the operator's begins with this word. */
bool kl_console_knows(const char *first);
/* Parses a line without its line end. */
void kl_console_parse(struct kl_console_line *out, const char *line);

/* Carries a line out and adds the answer to `to`. network: for `status`. False: quit. */
bool kl_console_obey(struct kl_lobby *l, const struct kl_hub_stats *network, const char *line,
                     struct kl_buffer *to, uint64_t now_us);

/* Collects the lines of an input (input.h). */
struct kl_console {
    int fd;                      /* of kl_input_open(); -1: at its end */
    struct kl_hub_stats network; /* current; set before each read */
    char line[KL_CONSOLE_LINE];
    size_t len;
    bool too_long; /* the line under way is dropped */
};
/* Call it when fd can be read. False: quit. */
bool kl_console_read(struct kl_console *c, struct kl_lobby *l, struct kl_buffer *to, uint64_t now_us);

#endif

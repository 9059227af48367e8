/* control.h - the sockets of `keylock-relay ctl`: the operator's lines (console.h) from another program of
 * the relay's user, or of root.
 *
 * Each process of the relay has one. A message is text. With AT 0 the line is carried out, and the asker
 * fetches the answer in pieces, each from AT on: so the relay waits for no reader.
 *
 *     keylock-ctl ID AT LINE
 *     keylock-ctl ID AT BYTES SHARDS \n PIECE      BYTES: of the whole answer
 */
#ifndef KL_CONTROL_H
#define KL_CONTROL_H

#include "net/platform/local.h"
#include "net/relay/loop/server.h"
#include "net/relay/program/console.h"

#define KL_CONTROL_ASKS    "keylock-ctl %16llx %u %n"        /* ID, AT, where the line begins */
#define KL_CONTROL_ANSWERS "keylock-ctl %016llx %u %zu %u\n" /* ID, AT, BYTES, SHARDS */
#define KL_CONTROL_HEAD    64                                /* bytes of either head at most */
#define KL_CONTROL_AT_ONCE 4                                 /* answers; the oldest gives way */

struct kl_control {
    struct kl_server_operator lines; /* first */
    const char *folder;              /* kl_control_folder() */
    unsigned own, shards;            /* this process is one of so many */
    long parent;                     /* their parent, which `quit` ends; 0: this process is alone */
    _Atomic uint32_t *port;          /* gets the relay's port; NULL: nobody asks */
    struct kl_control_answer {
        uint64_t id, order; /* order 0: free */
        struct kl_buffer text;
    } answer[KL_CONTROL_AT_ONCE];
    uint64_t asked;
};

/* option: a folder; "off": no sockets, and out is ""; "": $RUNTIME_DIRECTORY, or the user's own. 0, or -1
 * with a line in err. */
int kl_control_folder(const char *option, char out[KL_RELAY_PATH], char *err, size_t err_len);
/* The socket of a relay's process. False: the folder's path is too long. */
bool kl_control_name(char out[KL_LOCAL_NAME_MAX], const char *folder, unsigned port, unsigned shard);

/* Opens the socket of the relay at this port; the log tells if that fails, and the relay runs without.
 * folder, own, shards and parent are set. */
void kl_control_open(struct kl_control *c, uint16_t port);
void kl_control_close(struct kl_control *c);

/* One line for the relay of this port. The caller opens the socket by kl_local_open(NULL). */
struct kl_ctl {
    const char *folder, *line;
    unsigned port;
    int socket;
    unsigned wait_us; /* for a piece of an answer */
    unsigned shards;  /* 0: no process has said yet */
};
/* The answer of all processes that the line concerns, in an empty out. verb: the line's. Returns the number
 * of those that answered; *failed: an errno of one that did not, or 0. */
unsigned kl_ctl_ask(struct kl_ctl *a, enum kl_console_verb verb, struct kl_buffer *out, int *failed);
/* Whether an answer says that the line was not carried out. */
bool kl_ctl_refused(const struct kl_buffer *answer);

/* `keylock-relay ctl`: argv[0] is "ctl". Returns the program's status. */
int kl_ctl(int argc, char **argv);

#endif

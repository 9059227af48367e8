/* relay_list.h - a list of relays that a community keeps: a text file, FILE, and beside it its signature by
 * minisign (`minisign -Sm FILE` makes FILE.minisig). Both lie in a folder or under an https address, which
 * curl reads.
 *
 *   # a remark
 *   key RWQ...             the public key, as minisign prints it
 *   HOST[:PORT] [WORDS]    a relay; words for people
 *
 * The first time that this user reads a list, its key is accepted; from then on no other (keys.h), so nobody
 * but the keeper changes the list. It vouches for the names of relays, not for their keys.
 * The form of a signature: https://jedisct1.github.io/minisign/, "Signature format". */
#ifndef KLT_RELAY_LIST_H
#define KLT_RELAY_LIST_H

#include <stddef.h>
#include <stdint.h>

#include "core_wrapper/words/config.h"

/* The relay that is set on this machine: by KEYLOCK_RELAY, else by the keylock.cfg of one of
 * its RetroArchs. */

#define KLT_RELAY_BYTES 512

/* Returns 1 with the text as it is set, not checked; 0 if no relay is set; or -1 with a line in err (settings
 * that cannot be read). */
int kl_set_relay(char out[KLT_RELAY_BYTES], char *err, size_t err_len);

#define KLT_LIST_BYTES  65536
#define KLT_LIST_RELAYS 64
#define KLT_LIST_WORDS  64

struct kl_listed {
    char host[KL_CONFIG_HOST_MAX];
    uint16_t port;
    char words[KLT_LIST_WORDS]; /* plain text; "" for none */
    double ms;                  /* round trip; below 0: no answer */
};

struct kl_relay_list {
    unsigned count, answered;
    struct kl_listed relay[KLT_LIST_RELAYS]; /* the nearest first, those without an answer last */
};

/* Reads the list (from: path or https address), checks its signature and key, and asks all relays at once for
 * their round trips; takes up to 6 s, more for curl. 0, or -1 with a line in err that says what was expected:
 * no list, no such key, no signature, a line of another form. A list in which nobody answers is none of
 * these. */
int kl_relay_list_read(struct kl_relay_list *l, const char *from, char *err, size_t err_len);
/* The same, and the nearest as HOST:PORT in out. -1 also if none answers. */
int kl_relay_list_nearest(struct kl_relay_list *l, const char *from, char *out, size_t cap, char *err,
                          size_t err_len);

#endif

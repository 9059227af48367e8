/* known.h - the keys of the relays that this user has met by name, as of first use. net/PROTOCOL.md §9.
 *
 * One text file, DIR/relays, lines "HOST:PORT FINGERPRINT", mode 0600, written whole or not at all, under a
 * lock against other processes of this user. For relays that the user named without a fingerprint; a link
 * carries its own and is never pinned. */
#ifndef KL_KNOWN_H
#define KL_KNOWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KL_KNOWN_MAX 1024 /* relays; when full, none is forgotten and none added */

enum kl_known_result {
    KL_KNOWN_SAME = 0,     /* as it was */
    KL_KNOWN_PINNED = 1,   /* met for the first time, and remembered */
    KL_KNOWN_CHANGED = -1, /* another key than before: do not go on. err has both fingerprints and the file */
    KL_KNOWN_FAILED = -2,  /* the file cannot be read, understood or written; err says why */
};
/* host is compared without regard to case. Blocks on files: not for a frame's thread. */
enum kl_known_result kl_known_check(const char *dir, const char *host, uint16_t port, const uint8_t pub[32],
                                    char *err, size_t err_len);
/* True if this user has met that relay by name. An unreadable file is as none. */
bool kl_known_has(const char *dir, const char *host, uint16_t port);

#endif

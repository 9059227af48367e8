/* set_relay.h - the relay that is set on this machine: by KEYLOCK_RELAY, else by the keylock.cfg of one of
 * its RetroArchs. */
#ifndef KLT_SET_RELAY_H
#define KLT_SET_RELAY_H

#include <stddef.h>

#define KLT_RELAY_BYTES 512

/* Returns 1 with the text as it is set, not checked; 0 if no relay is set; or -1 with a line in err (settings
 * that cannot be read). */
int kl_set_relay(char out[KLT_RELAY_BYTES], char *err, size_t err_len);

#endif

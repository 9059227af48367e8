/* ask.h - asking a relay without joining it: how far away it is, and its public rooms. net/PROTOCOL.md §10.
 *
 * Blocks (name look-up, answers): not for a frame's thread. Nothing of an answer is proved. */
#ifndef KL_ASK_H
#define KL_ASK_H

#include "net/transport/strangers.h"

#define KL_ASK_TRIES 5   /* of one question */
#define KL_ASK_MS    700 /* for an answer: a relay on the other side of the world, by radio */

/* A socket that leads to the relay (IPv4, as the link's). -1 with a line in err. Close it. */
int kl_ask_open(const char *host, uint16_t port, char *err, size_t err_len);

/* Asks once. The time that the answer took, ms; below 0: none came, or none that one can read. */
double kl_ask_ping(int fd, struct kl_pong *out);
/* Asks several at once, each by its socket. The first that answers, or -1: none did. */
#define KL_ASK_MANY 16
int kl_ask_first(const int *fd, unsigned count);
/* The rooms from place `from` on (0 first, then out->next). 0, or -1 where no answer comes. */
int kl_ask_rooms(int fd, uint16_t from, struct kl_rooms *out);

#endif

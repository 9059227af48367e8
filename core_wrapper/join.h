/* join.h - how this process comes into its room: what it says of itself, which relay it trusts, and the seat
 * that it finds again when it was killed. net/PROTOCOL.md §9. */
#ifndef KLW_JOIN_H
#define KLW_JOIN_H

#include "core_wrapper/wrapper.h"

/* Opens the link: to the seat that a killed process left, else as somebody new. False after
 * kl_wrapper_fail(). */
bool kl_join_open(void);
/* What is played here, as the relay's list of rooms has it. */
void kl_join_identity(uint8_t out[16]);
/* The link has ended. True where that was because the relay no longer knows the seat that we came back to: a
 * link as somebody new is open instead. */
bool kl_join_anew(void);
/* Writes the room's link to standard error, once it is known whom we reached and it was asked for. */
void kl_join_invite(void);
/* The same link. False where this machine is not host of a room that a link can name. */
bool kl_join_write_link(char *out, size_t cap, const char *fingerprint);
/* The same for the host's screen, while the room waits: short, so that it can be read out and typed, and
 * so without the relay's fingerprint. "" else. */
void kl_join_link(char *out, size_t cap);
/* The link is closed. forget: the seat is given up; else a process to come finds it. */
void kl_join_close(bool forget);

#endif

/* local.h - short messages between the programs of one user on this machine, by a name.
 *
 * A socket's name is there as long as its process has it open and leaves nothing behind. Anybody may take a
 * name or send to one, so each message comes with what the system says of its sender. Close with
 * kl_socket_close(); wait with kl_wait_for(). */
#ifndef KL_PLATFORM_LOCAL_H
#define KL_PLATFORM_LOCAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KL_LOCAL_NAME_MAX 100

/* Whom to answer. */
struct kl_local_peer {
    uint64_t of_system[16];
    uint32_t len;
};

#define KL_LOCAL_NONE  (-1) /* there are no such sockets here */
#define KL_LOCAL_TAKEN (-2) /* a process has that name */
/* Opens one of that name, or of a name of the system's choice (NULL), to be answered to. */
int kl_local_open(const char *name);
/* The numbers at the end of such sockets' names, for all names that begin so and whose process belongs to
 * this user (to root: all), at most max. Returns how many. The number must be that of the process. */
unsigned kl_local_find(const char *begins, long *number, unsigned max);

/* None of them waits. 0, or errno's number: ECONNREFUSED, nobody has that name; EAGAIN, too many messages
 * wait. */
int kl_local_send(int s, const char *name, const void *bytes, size_t len);
/* A message that cannot be delivered is dropped. */
void kl_local_answer(int s, const struct kl_local_peer *to, const void *bytes, size_t len);
/* Gives the length, which is more than cap where it was cut off; below 0: nothing waits. trusted: this user
 * or root has sent it. */
int kl_local_receive(int s, void *bytes, size_t cap, struct kl_local_peer *from, bool *trusted);

#endif

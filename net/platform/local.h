/* local.h - short messages between one user's programs on this machine. Each socket has a name.
 *
 * A socket's name exists while its process has it open, and leaves no file. Every user may take a name or
 * send to one, so the system tells the receiver the sender of each message. Only a private name is a file.
 * Wait with kl_wait_for(). */
#ifndef KL_PLATFORM_LOCAL_H
#define KL_PLATFORM_LOCAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KL_LOCAL_NAME_MAX 100
#define KL_LOCAL_BYTES    4096 /* of a message, at most */

/* The sender of a message, for the answer. */
struct kl_local_peer {
    uint64_t of_system[16];
    uint32_t len;
};

/* A name to which only this user and root can send: a file of mode 0600 in this folder. Windows: every name
 * is private, so it is the name alone. False: the path is not whole, or too long. */
bool kl_local_private(char out[KL_LOCAL_NAME_MAX], const char *folder, const char *name);

#define KL_LOCAL_NONE  (-1) /* this system has no such sockets, or the file cannot be made */
#define KL_LOCAL_TAKEN (-2) /* another process has the name */
/* Opens a socket with this name, also where a process that was killed has left its file. NULL: the system
 * chooses a name, so that others can answer. */
int kl_local_open(const char *name);
/* -1 is allowed. */
void kl_local_close(int s);
/* Lists the process numbers at the end of all socket names that begin with `begins`, if the process belongs
 * to this user (root: any user). Returns their number, at most max. */
unsigned kl_local_find(const char *begins, long *number, unsigned max);
/* True if this user is root, which may command every user's programs. Windows: false. */
bool kl_local_is_root(void);

/* 0, or an errno: ECONNREFUSED or ENOENT, no process has the name; EAGAIN, too many messages wait; EACCES,
 * another user has the name. Waits 20 ms at most. */
int kl_local_send(int s, const char *name, const void *bytes, size_t len);
/* A message that cannot be delivered is dropped. */
void kl_local_answer(int s, const struct kl_local_peer *to, const void *bytes, size_t len);
/* Returns the length, which is above cap if the message was cut off; below 0: no message. trusted: the sender
 * is this user or root. Never waits. */
int kl_local_receive(int s, void *bytes, size_t cap, struct kl_local_peer *from, bool *trusted);

#endif

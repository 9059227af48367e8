/* link_door.h - what a client proves and wants proved before it is in a room: the room's password
 * (net/session/door.h), and that a relay known by name only is the one it was before (the caller's trust).
 * net/PROTOCOL.md §9. The network thread's; only inside net/transport. */
#ifndef KL_LINK_DOOR_H
#define KL_LINK_DOOR_H

#include "net/engine/msg.h"
#include "net/session/door.h"

struct kl_link;

struct kl_link_door {
    char password[KL_DOOR_PASSWORD_MAX + 1]; /* "": none */
    uint8_t expected[KL_DOOR_MAC];           /* that PROVED must bring */
    enum {
        KL_DOOR_OUTSIDE,
        KL_DOOR_PROVING, /* PROVE has gone out */
        KL_DOOR_PASSED,  /* nothing (more) to be proved */
    } state;
};

/* password NULL: none. seated: it comes back to a seat, for which no password is asked. 0, or -1 where the
 * password is empty or too long. */
int kl_link_door_init(struct kl_link_door *d, const char *password, bool seated);

/* Acts on DOOR and PROVED, and looks at WELCOME; true where the message is done with. Stretches the password
 * in this thread, some 0.1 s: it is not playing yet. May end the link. */
bool kl_link_door_take(struct kl_link *l, const struct kl_msg *m);

#endif

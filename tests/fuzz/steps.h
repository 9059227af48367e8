/* steps.h - the steps of the records that fuzz_hub.c and fuzz_lobby.c read and make_corpus writes. */
#ifndef FUZZ_STEPS_H
#define FUZZ_STEPS_H

/* extra of a record: 4 bits of this, and fuzz_hub.c's own */
enum hub_step {
    HUB_RAW,
    HUB_SEALED,
    HUB_AS_ENET,
    HUB_AS_ENET_TOO,
    HUB_CONNECT,
    HUB_SAY,
    HUB_PATH,
    HUB_PASS,
    HUB_OLD,
    HUB_RELAY_SAYS,
    HUB_RELAY_BULK,
    HUB_RELAY_DATAGRAM,
    HUB_HANG_UP,
    HUB_FLOOD,
};
#define HUB_FROM_AWAY (1 << 4) /* from the session's other address */

/* extra of a record: 3 bits of a peer, 3 bits of this, and LOBBY_AS_IT_IS */
enum lobby_step {
    LOBBY_MESSAGE,
    LOBBY_MESSAGE_TOO,
    LOBBY_MESSAGE_AS_WELL,
    LOBBY_RETURN,
    LOBBY_DATAGRAM,
    LOBBY_OPEN,
    LOBBY_LOSE,
    LOBBY_PASS,
};
/* Beside a peer: nothing is put right in its words; a datagram is speech. */
#define LOBBY_AS_IT_IS (1 << 6)

#endif

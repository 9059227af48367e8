/* voice.h - the voices in a room, as a client knows them. net/ROOMS.md §7, Voice. Pure.
 *
 * The voice thread's calls are in net/transport/voice_box.h: packets (net/engine/voice.h) and this news go
 * through that box alone. */
#ifndef KL_CLIENT_VOICE_H
#define KL_CLIENT_VOICE_H

#include "net/engine/voice.h"

/* The reason for which nobody hears this client: for people. */
enum kl_voice_why {
    KL_VOICE_HEARD,     /* somebody does */
    KL_VOICE_NO_ROOM,   /* not in a room, or the link is lost */
    KL_VOICE_OFF,       /* voice is off here */
    KL_VOICE_ASKING,    /* the relay has not answered yet */
    KL_VOICE_FORBIDDEN, /* the host allows none */
    KL_VOICE_WATCHING,  /* watchers do not speak */
    KL_VOICE_NO_KEY,    /* the room has a password, and there was no memory (64 MB) to make its key */
    KL_VOICE_NOBODY     /* nobody has asked to hear it */
};

/* Numbers of clients are those of ROSTER (struct kl_member), which has their names. Bits of masks too. */
struct kl_voice_news {
    enum kl_voice_why why;
    enum kl_voice_allowed allowed; /* by the host */
    uint8_t client;                /* our own number; KL_WATCHER: we watch, and never speak */
    uint16_t hearers;              /* clients that get our packets */
    uint16_t watchers;             /* number of watchers that get them */
    uint16_t speakers;             /* other clients with voice on: those alone can be heard */
    bool sealed;                   /* the room has a password: packets are sealed end to end in the box */
    bool economy;                  /* an economy room: packets of 40 ms are wanted */
};

/* The link's word to the voice thread. */
struct kl_voice_told {
    bool in_room, economy;
    uint8_t client, room_id[16];
    bool answered; /* VOICES has come in this session: */
    struct kl_voices voices;
};

#endif

/* room_request.h - one room that this machine asks a relay for. The player's settings (config.h) say which
 * relay and room the player wants; the way there may be to another: that of a quick match, of RetroArch's
 * netplay, of a recording. The settings stay as they are meanwhile. */
#ifndef KLW_ROOM_REQUEST_H
#define KLW_ROOM_REQUEST_H

#include "core_wrapper/words/config.h"

struct kl_room_request {
    char host[KL_CONFIG_HOST_MAX]; /* the relay; "": none is known */
    uint16_t port;
    char fingerprint[KL_FINGERPRINT_CHARS + 1]; /* of the relay; "": any */
    char room[KL_NAME_MAX];
    char password[KL_DOOR_PASSWORD_MAX + 1]; /* of the room; "": none */
    uint8_t seats;                           /* 0: to watch */
    uint8_t consent;                         /* enum kl_consent */
    bool unlisted;                           /* the relay does not list a room made here */
    bool once;   /* a room made here lets in one player at a time, when its host opens it */
    bool quick;  /* a room for quick matches */
    bool seated; /* only a room with free seats is entered: no watching instead */
};

/* Relay, room and password as the settings have them; the rest is 0. */
void kl_room_request_own(struct kl_room_request *r, const struct kl_config *c);

#endif

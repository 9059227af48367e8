/* netplay.h - RetroArch's own Netplay menu as a way into a room, through the packet interface of RetroArch
 * 1.17 and later (environment call 78). net/PROTOCOL.md §11.
 *
 * The netplay host makes a room, and a netplay guest gets a ticket for it. The match runs over the relay. If
 * the relay is on the host's machine and no UDP reaches it, the packet interface carries the match's
 * datagrams.
 *
 * The frontend has one slot for the interface, and copies it. So the wrapper registers its own interface
 * once. It serves the core's own interface through that slot while no relay is known. Only the frontend's
 * thread calls this module. */
#ifndef KLW_NETPLAY_H
#define KLW_NETPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core_wrapper/frontend/frontend.h"
#include "core_wrapper/netplay/carrier.h"
#include "core_wrapper/netplay/reach.h"
#include "core_wrapper/words/config.h"
#include "net/relay/loop/hosted.h"
#include "net/session/url.h"
#include "net/transport/link.h"

/* As in newer headers of libretro.h: SET_NETPACKET_INTERFACE and its struct. */
#define KL_NETPACKET_CALL      78
#define KL_NETPACKET_RELIABLE  1
#define KL_NETPACKET_FLUSH     4
#define KL_NETPACKET_BROADCAST 0xffff
typedef void (*kl_netpacket_send_fn)(int flags, const void *buf, size_t len, uint16_t client);
typedef void (*kl_netpacket_poll_fn)(void);
struct kl_netpacket {
    void (*start)(uint16_t client, kl_netpacket_send_fn send, kl_netpacket_poll_fn poll_receive);
    void (*receive)(const void *buf, size_t len, uint16_t client);
    void (*stop)(void);
    void (*poll)(void);
    bool (*connected)(uint16_t client);
    void (*disconnected)(uint16_t client);
    const char *protocol_version;
};

/* The netplay session's wishes to the match. First `leaves`, then `enters`. */
struct kl_netplay_ask {
    bool leaves;      /* the session is over: its room is left, if no match has begun in it */
    bool enters;      /* the room `to` is entered, and kl_netplay_entered() told */
    struct kl_url to; /* port, host, fingerprint ("" for any) and room */
};
#define KL_NETPLAY_GUESTS 32 /* as many as RetroArch has */

/* The state of netplay.c. */
struct kl_netplay {
    /* handed in by kl_netplay_init() */
    struct kl_frontend *front;
    const struct kl_config *config;
    const struct kl_room_request *room; /* the room that this machine is in */
    struct kl_link *const *link;
    const struct kl_participant_status *status;
    const struct kl_emulator *emu;
    /* its own */
    bool offered; /* the frontend has the interface */
    struct kl_netpacket core;
    bool core_has, core_serves; /* the core has an interface of its own; the present session uses it */
    bool active, host;          /* a session of ours */
    kl_netpacket_send_fn send;
    kl_netpacket_poll_fn poll_receive; /* may be NULL */
    bool room_wanted, in_room, told; /* in_room: the link was in the room; told: the host knows the result */
    bool greeted;                    /* guest: our GREET is out */
    struct kl_url ticket;            /* guest: with ->port 0 there is none yet */
    uint64_t beat_us, door_us, ticket_us;
    struct kl_hosted *hosted; /* host: the relay of this match, if no other is known */
    uint16_t hosted_port;
    struct kl_reach *reach;   /* guest: looks for the host's relay */
    bool ticket_hosted, lost; /* guest: the ticket is for such a one; nobody answers there */
    unsigned serving;         /* host: the guest with a ticket; 0: none */
    struct {
        uint8_t state; /* enum guest_state */
        uint64_t heard_us;
        bool silent;                /* was said */
    } guest[KL_NETPLAY_GUESTS + 1]; /* by RetroArch's number; a guest has the host as 0 */
    struct kl_carrier
        *carrier[KL_NETPLAY_GUESTS + 1]; /* for whom the channel carries the match itself; so numbered */
    bool cut;                            /* guest: the channel ended, or is a new one */
    struct kl_netplay_ask ask;           /* for the next turn's caller */
};

/* Before anything else: netplay is to go by these, which are the match's. */
void kl_netplay_init(struct kl_netplay *n, struct kl_frontend *front, const struct kl_config *config,
                     const struct kl_room_request *room, struct kl_link *const *link,
                     const struct kl_participant_status *status, const struct kl_emulator *emu);

/* Registers with the frontend, unless it was already asked. True if the frontend has taken the interface:
 * then a room may come about at any time, with or without a known relay. */
bool kl_netplay_offer(struct kl_netplay *n);
/* Takes the core's own interface, and keeps it if the frontend has ours. False if the frontend has no such
 * interface. */
bool kl_netplay_inner(struct kl_netplay *n, const struct kl_netpacket *core);

/* Once in each retro_run, before its frames: follows the room of the netplay session; at the host also
 * newcomers and their tickets. */
struct kl_netplay_ask kl_netplay_turn(struct kl_netplay *n, uint64_t now_us);
/* The answer to `enters`: entering has begun, or cannot. */
void kl_netplay_entered(struct kl_netplay *n, bool begun);
/* Once in each retro_run, after its frames: sends the datagrams that the packet interface carries
 * (carrier.h). */
void kl_netplay_send(struct kl_netplay *n);
/* The core is unloaded. Harmless without netplay. */
void kl_netplay_close(struct kl_netplay *n);

#endif

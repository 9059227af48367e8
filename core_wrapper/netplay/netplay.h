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

#include "net/session/url.h"

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

/* Registers with the frontend, unless it was already asked. True if the frontend has taken the interface:
 * then a room may come about at any time, with or without a known relay. */
bool kl_netplay_offer(void);
/* Takes the core's own interface, and keeps it if the frontend has ours. False if the frontend has no such
 * interface. */
bool kl_netplay_inner(const struct kl_netpacket *core);

/* What the netplay session wants of the match. First `leaves`, then `enters`. */
struct kl_netplay_ask {
    bool leaves;      /* the session is over: its room is left, if no match has begun in it */
    bool enters;      /* the room `to` is entered, and kl_netplay_entered() told */
    struct kl_url to; /* port, host, fingerprint ("" for any) and room */
};
/* Once in each retro_run, before its frames: follows the room of the netplay session; at the host also
 * newcomers and their tickets. */
struct kl_netplay_ask kl_netplay_turn(uint64_t now_us);
/* The answer to `enters`: entering has begun, or cannot. */
void kl_netplay_entered(bool begun);
/* Once in each retro_run, after its frames: sends the datagrams that the packet interface carries
 * (carrier.h). */
void kl_netplay_send(void);
/* The core is unloaded. Harmless without netplay. */
void kl_netplay_close(void);

#endif

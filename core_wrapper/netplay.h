/* netplay.h - RetroArch's own Netplay menu as a way into a room: the packet interface of RetroArch 1.17 and
 * later (environment call 78). Who hosts there makes a room, who connects gets a ticket for it; the match
 * runs over the relay, as any; where that is on the host's machine and UDP does not get there, its datagrams
 * go through the packet interface. net/PROTOCOL.md §11.
 *
 * The frontend has one slot for the interface, and copies it: ours is registered once, and a core that brings
 * its own is served through it where no relay is known. Everything here is the frontend's thread's. */
#ifndef KLW_NETPLAY_H
#define KLW_NETPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/* Registers with the frontend, if that is not done and it was not asked yet. True where it has taken the
 * interface: then a room may come about at any time, whether or not a relay is known. */
bool kl_netplay_offer(void);
/* A core's own: kept, where ours stands with the frontend. False where the frontend has no such interface. */
bool kl_netplay_inner(const struct kl_netpacket *core);

/* The room of the netplay session has come about, or not; host only: newcomers and their tickets. Once a
 * retro_run, before its frames. */
void kl_netplay_turn(uint64_t now_us);
/* … and after them: where the packet interface carries a match itself (carrier.h), what there is to send. */
void kl_netplay_send(void);
/* The core goes. Harmless where there was nothing. */
void kl_netplay_close(void);

#endif

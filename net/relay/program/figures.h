/* figures.h - a relay's figures in memory that all its processes share, and their text for Prometheus.
 *
 * Each process writes its own part, KL_SERVER_LOOK_US apart. A reader copies it in a bounded number of tries:
 * the writer may have died inside. Nobody waits for a reader. */
#ifndef KL_FIGURES_H
#define KL_FIGURES_H

#include <stdatomic.h>

#include "net/platform/buffer.h"
#include "net/platform/seqlock.h"
#include "net/relay/log/relay_log.h"
#include "net/relay/loop/server.h"
#include "net/relay/program/rooms_text.h"
#include "net/relay/room/lobby_room.h"

#define KL_FIGURES_FRESH_US 1000000 /* a process without a look for so long does not serve */

enum { KL_FIGURES_PAUSED = KL_ROOM_REOPENING + 1, KL_FIGURES_PHASES };

#define KL_FIGURES_RTT  8
#define KL_FIGURES_LEAD 8

struct kl_figures {
    uint64_t at_us; /* kl_now_us() of the look; 0: it does not listen yet */
    uint64_t rooms[KL_FIGURES_PHASES], rooms_most;
    uint64_t seats, filled, members, watchers, holding_up;
    struct kl_hub_stats network;
    struct kl_lobby_stats lobby;
    uint64_t journal_most_bytes;                /* 0: no journal */
    uint64_t fleet, fleet_speaks, fleet_relays; /* 1: it is in one; Redis answers; relays there */
    struct kl_server_times turn, waited;
    /* One count a second of each player, and of each room that plays. */
    uint64_t rtt[KL_FIGURES_RTT + 1], rtt_sum_us, lead[KL_FIGURES_LEAD + 1], lead_sum;
    /* The same of players that set their room's lead alone. */
    uint64_t setter_rtt[KL_FIGURES_RTT + 1], setter_rtt_sum_us;
    uint64_t processor_us, resident_bytes;
};

struct kl_figures_place {
    kl_seqlock lock; /* of the figures */
    struct kl_figures figures;
    struct kl_log_count event[KL_LOG_EVENTS];
    _Atomic uint32_t port; /* of the relay; 0: not known yet */
    struct kl_shown_rooms rooms;
};

struct kl_figures_writer {
    struct kl_server_onlooker onlooker; /* first */
    struct kl_figures_place *place;
    struct kl_figures now;
    uint64_t count_us; /* the next count of players and rooms */
    unsigned looks;    /* so far */
};

/* The figures of this process begin anew in its place, and so do the log's counts. */
void kl_figures_begin(struct kl_figures_writer *w, struct kl_figures_place *place,
                      const struct kl_server_config *config);
/* False: it is being written all the time; out is as it was. */
bool kl_figures_read(const struct kl_figures_place *place, struct kl_figures *out);

/* The text of all, in Prometheus's format; and whether all serve: a line for each that does not. */
void kl_figures_tell(struct kl_buffer *to, const struct kl_figures_place *place,
                     const struct kl_figures *figures, unsigned count, uint64_t now_us);
bool kl_figures_fresh(struct kl_buffer *to, const struct kl_figures *figures, unsigned count,
                      uint64_t now_us);

#endif

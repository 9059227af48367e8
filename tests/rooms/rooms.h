/* rooms.h - a whole relay's room in virtual time, from a seed: the lobby of the relay and the clients
 * (net/client, with their handshakes) are the real ones; links, machines and what a frontend does are models.
 * net/PROTOCOL.md §5 and §7.
 *
 * wire.c     links: delay, loss, sessions that break
 * client.c   a virtual player (tests/lib/player.h) among them: its frames, its crashes
 * snapshot.c     when it makes, gives and loads snapshots
 * machine.c  an emulated machine in eight bytes, its snapshot, what everybody should have run
 * fate.c     what goes wrong, and when
 * disk.c     the relay's journal, and its disk
 * files.c    files in play, of rooms with liars
 * liar.c     a player who lies
 * attack.c   a room with liars, and what the others lose
 * judge.c    what must hold
 * fleet.h    several relays and a Redis
 * main.c     seeds
 *
 * Single-threaded; a failure ends the process of that room (fail()). */
#ifndef TEST_ROOMS_H
#define TEST_ROOMS_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core_wrapper/match/own_states.h"
#include "net/engine/command.h"
#include "net/engine/lock_client.h"
#include "net/relay/lobby/lobby_parts.h"
#include "tests/lib/canon.h"
#include "tests/lib/player.h"
#include "tests/lib/rng.h"

#define CLIENTS    6
#define PEERS      64
#define RELAYS     3 /* of a fleet; else one */
#define FRAMES     8000
#define STEP_US    4000
#define SECOND     UINT64_C(1000000)
#define EVERY      30   /* frames between hashes */
#define SHOT_BYTES 9000 /* of a snapshot */

extern uint64_t now_us;
extern struct rng fate_rng, wire_rng; /* streams of their own: what one draws does not shift the other's */
extern bool verbose;
extern bool economy; /* all are economy rooms; else the same */
extern bool fleet;   /* fleet.h: several relays, and a Redis */
extern bool plain;   /* without what came later: watchers outside the lock, beginning with a snapshot */
extern struct kl_lobby *lobby[RELAYS];
extern const uint8_t relay_secret[32];

extern char *fail_to; /* it writes to these FAIL_BYTES, and not to stdout; NULL */
#define FAIL_BYTES 400
void fail(const char *format, ...) __attribute__((format(__printf__, 1, 2), noreturn));
void story(const char *format, ...) __attribute__((format(__printf__, 1, 2)));

bool attack_stands(void); /* nobody ends pauses */
bool attack_is_on(void);  /* attack.h: the room has liars, and nothing else goes wrong there */
struct client;
bool attack_is_quiet(const struct client *c); /* it has loaded, and does not say READY */

/* --- main.c --- */
/* Plays a room of this seed to its end. */
void rooms_play(uint64_t seed, void (*begin)(void), void (*step)(void), bool (*is_over)(void));

/* --- machine.c --- */

struct machine {
    uint64_t is;          /* its state before frame `next` */
    uint32_t next;        /* the next frame to be run */
    uint32_t first;       /* it began with a snapshot of this frame; 0: at power-on */
    uint64_t was[FRAMES]; /* before each, from `first` on */
};
void machine_begin(struct machine *m);
/* Runs frame m->next, which is f, with its commands; snapshot: filled before the SNAPSHOT among them, or
 * NULL. True: there was one. */
bool machine_run(struct machine *m, const struct kl_frame *f, const struct kl_commands *set,
                 uint8_t *snapshot);
void machine_save(const struct machine *m, uint8_t snapshot[SHOT_BYTES]);
/* False: it is none. Else runs all frames on to `end` again. */
bool machine_load(struct machine *m, const uint8_t *snapshot, uint32_t keyframe, uint32_t end);

/* The snapshot's keyframe, without what came before the SNAPSHOT there. */
void machine_run_behind(struct machine *m, uint32_t keyframe);

/* The game as it is played: tests/lib/canon.h. */
extern struct machine truth;            /* the state that all machines should have */
void truth_is(const struct machine *m); /* from now on */
extern bool rewritten; /* it is not what the frames make of power-on: who replays them is wrong */
const struct kl_commands *canon_commands(uint32_t frame); /* NULL: none */
/* Somebody runs it: it is the same as for everybody. */
void canon_check(const char *who, const struct kl_frame *f, const struct kl_commands *set);
/* A relay that was started anew goes on from here: frames that its journal lost were never played. */
void canon_cut(uint32_t end);

/* --- client.c --- */

struct client {
    struct player p; /* the client under test, in its program */
    char name[8];
    unsigned number; /* of us */
    uint8_t seats_wanted;
    bool consents; /* it loads others' states */
    bool forges;   /* its hashes are false, and so is the state that it gives; its machine is right */
    bool lies;     /* liar.h */
    bool spare;    /* attack.h: it comes in when there is a place */
    struct kl_params params;
    enum { OFF, ENTERING, IN, LOST } state; /* LOST: it tries to come back */
    bool crashed; /* LOST: there is no process before cut_us, and so no participant */
    bool watches, host;
    struct kl_seat_key key; /* these two are what a player's files keep */
    uint8_t token[KL_TOKEN_BYTES];

    unsigned session;      /* of the wire, from 1; 0: none */
    uint32_t number_here;  /* dial.number that it belongs to */
    uint64_t connected_us; /* ENet will be connected */
    uint64_t dead_us;      /* ENet will notice that nothing comes any more; 0: it does */
    uint64_t cut_us;       /* nothing gets through before */
    uint64_t hurt_us;      /* it was last cut off; 0: never */
    uint64_t steady_us;    /* nothing has happened to it since */

    bool loaded;
    uint64_t loaded_us; /* it will be; 0: it has not begun to load */
    struct machine machine;
    uint32_t strikes; /* times that it had to be healed: corrupted, or begun anew in a room that plays on from
                         a wrong state */
    uint64_t strike_us[64];

    uint64_t give_us; /* it will give the snapshot that the relay asked for; 0: it was not asked */
    uint64_t load_us; /* p.coming will be loaded */
    struct kl_own_states mine;
    uint64_t back_us; /* its own state will be loaded; 0: it is not to be */
    uint32_t from;    /* it was loaded, and this frame is to be run now: in part it has been; 0: none */

    unsigned files_said;
    uint32_t file_lines; /* that it was told of others' files */
    uint32_t put_out;    /* times that it was put out because of its hashes */

    uint64_t agree_us; /* it agrees to play on with machines that differ; 0: it was not asked */

    struct kl_verdict verdict;
    bool any_verdict;
    uint64_t apart_us; /* so long it has been wrong beside others who are right */
};
extern struct client client[CLIENTS];
extern uint32_t start_bytes; /* of the room's start data */

void client_world_begin(void);           /* once, before the first enters */
bool is_playing(const struct client *c); /* it has a session, and runs frames; or watches */
bool is_wrong(const struct client *c);   /* its machine is not what it should be */
void client_enter(struct client *c);
void client_enter_again(struct client *c); /* with the key that it had */
void client_leave(struct client *c);
/* Its link is cut for so long. fresh: the process dies, and is started again then. */
void client_lose(struct client *c, uint64_t back_us, bool fresh);
void client_relay_died(struct client *c, uint64_t up_us);
void client_order(struct client *c, uint8_t kind, const uint8_t *data, size_t len);
void client_hears(struct client *c, const uint8_t *bytes, size_t len);
void client_update(struct client *c, const uint8_t *body, size_t len);
void client_stranger(struct client *c, unsigned relay, const uint8_t *bytes, size_t len);
void client_hung_up(struct client *c);
void client_step(struct client *c);

/* --- files.c --- */
/* In a room with an attack: answers for disks, and says of the files that it has opened, as all do. */
void files_step(struct client *c);
/* Fills in that file, of those that all open. */
void files_say_of(struct kl_file_said *f, unsigned number);

/* --- snapshot.c --- */
void shot_forget(struct client *c); /* snapshots on their way */
void shot_keep(struct client *c);   /* its own state, before a marked keyframe */
void shot_taken(struct client *c, uint32_t keyframe, uint8_t snapshot[SHOT_BYTES]);
void shot_step(struct client *c);

/* --- wire.c --- */
void wire_begin(void);
void relay_begin(unsigned relay); /* its process; the one before is gone, with all its sessions */
void wire_relay_gone(unsigned relay);
/* A session of this client with the relay; its number. */
unsigned wire_open(struct client *c, unsigned relay, const uint8_t binding[32]);
/* A datagram from outside of a session, to the relay. */
void wire_stranger(struct client *c, unsigned relay, const uint8_t *bytes, size_t len);
void wire_room(unsigned session, struct kl_channels *c);
/* Nothing more goes either way; the relay learns of it after so long (or by itself, from a newer session). */
void wire_break(unsigned session, uint64_t learns_us);
/* The client is done with it; what it said still arrives. */
void wire_detach(unsigned session);
void wire_say(unsigned session, const uint8_t *bytes, size_t len);
void wire_say_bulk(unsigned session, const uint8_t *bytes, size_t len);
void wire_datagram(unsigned session, const uint8_t *body, size_t len);
void wire_calm(void); /* from now on nothing is lost any more */
/* All links made from now on are as long, and have hardly any jitter. */
void wire_steady(uint64_t one_way_us);
/* The client's address, "192.0.2.1" without a call. */
void wire_live_at(const struct client *c, unsigned last);
/* Bytes of a client's datagrams and messages with their headers. */
struct wire_bytes {
    uint64_t up, down;
};
struct wire_bytes wire_bytes_of(const struct client *c);
void wire_step(void);

/* --- fate.c --- */
void fate_choose(uint64_t seed); /* before the relay begins */
void fate_begin(void);
void fate_step(void);
bool fate_game_is_gone(void); /* the relay has died, and the game with it; no other has begun */
bool fate_keeps_seat(const struct client *c);        /* the relay that has died and come back must know it */
bool fate_is_over(void);                             /* nothing has happened for a while */
unsigned fate_watchers(void), fate_catch_up_s(void); /* of the relay's limits */

/* --- disk.c --- */
void disk_choose(uint64_t seed); /* before the relay begins */
void disk_step(void);
void disk_relay_dies(void);         /* it is still there */
void disk_relay_begins(bool again); /* its lobby is new: the journal is loaded */
uint32_t disk_proves(void);         /* the frames that the journal had when this relay began */
void disk_end(void);

/* --- judge.c --- */
struct kl_lobby_room *the_room(void); /* NULL: there is none */
extern struct counts {
    uint64_t corrupted, healed, lost, crashed, relay_deaths, cut_frames, doubts, ended, begun, watched, based,
        unfit,                     /* snapshots given against a base; and so that they do not fit */
        given_up,                  /* rooms that part again and again, and are told so */
        asked,                     /* rooms whose players are asked whether to play on */
        rewound,                   /* clients that went back to a state of their own */
        resumed,                   /* that did so because the relay had lost frames */
        disk_faults, from_journal; /* relays that began with a room of their journal */
} counts;
unsigned doubts_since(uint64_t us); /* that began, or were there, within that time */
void judge_step(void);
void judge_end(void);

#endif

/* lobby_room.h - one room as the parts of the lobby see it: lobby.c (rooms, joining, leaving), lobby_start.c
 * (start data, READY, start), lobby_play.c (frames, verdicts, stalls), lobby_command.c (commands),
 * lobby_say.c (messages and log lines). Only inside net/relay. */
#ifndef KL_LOBBY_ROOM_H
#define KL_LOBBY_ROOM_H

#include "../engine/room.h"
#include "../engine/msg.h"
#include "lobby.h"
#include "relay_log.h"
#include "verdict.h"

#define KL_START_BYTES_MAX   (16U * 1024 * 1024)  /* of one room */
#define KL_START_BYTES_TOTAL (256U * 1024 * 1024) /* of all rooms together */

#define KL_GREET_US    (5 * 1000000ULL)  /* for a connection to say HELLO */
#define KL_LOAD_US     (60 * 1000000ULL) /* for a client to load, once it has the start data */
#define KL_GIVE_US     (60 * 1000000ULL) /* for the host between pieces of start data */
#define KL_DRAIN_US    (2 * 1000000ULL)  /* for a leaving client's last samples to be used up */
#define KL_SPECTATE_US (10 * 1000000ULL) /* for spectators to see the end once the last player has left */
#define KL_CHORES_US   250000            /* between looks at the clocks above */

/* Malformed datagrams in a row after which a client is put out. One is dropped without a word: anybody may
 * have sent it. */
#define KL_MALFORMED_MAX 64

#define KL_VERDICTS_UNDER_WAY 128 /* messages under way to a client behind which no verdict is sent */

#define KL_NO_HOST KL_MAX_CLIENTS

enum kl_room_phase {
    KL_ROOM_GATHERING, /* seats are being filled */
    KL_ROOM_ASKED,     /* the host has been asked for the start data */
    KL_ROOM_LOADING,   /* start data is here; clients fetch it and load */
    KL_ROOM_PLAYING,
};

struct kl_lobby_member {
    bool here;
    bool leaving; /* hung up on; its last samples are being used up */
    uint64_t leaving_us;
    unsigned peer;
    uint8_t seats, state; /* enum kl_member_state */
    char name[KL_NAME_MAX];
    uint32_t sent;        /* bytes of start data sent */
    bool gave;            /* it is the one who gave the start data */
    uint64_t deadline_us; /* for what we wait for from it; 0: nothing */
    bool checked;         /* its READY has been compared */
    struct kl_facts ready;
    unsigned malformed;
    bool absent; /* as it was last told */
};

struct kl_lobby_room {
    struct kl_lobby *lobby;
    char name[KL_NAME_MAX];
    enum kl_room_phase phase;
    struct kl_params params;
    struct kl_facts facts; /* identity, by the client who made the room */
    bool ready_known;
    struct kl_facts ready; /* what shows only after loading, by the host */
    unsigned host;         /* member, or KL_NO_HOST */
    struct kl_lobby_member member[KL_MAX_CLIENTS];
    uint8_t *start;
    uint32_t start_have, start_bytes;
    uint64_t epoch_s;
    bool roster_changed, busy; /* busy: something came in since the last run */
    uint64_t due_us, chores_us;

    struct kl_room lock;
    struct kl_verdict_table verdicts;
    uint16_t spacing;      /* of the last interval seen */
    uint32_t waited_frame; /* the frame that the room waits for … */
    uint64_t waited_us;    /* … since then */
    bool stall_told;
    uint32_t stalls;
    uint64_t status_us, empty_us;
    uint64_t chat_us; /* no chat line before, while the room pauses */
};

struct kl_lobby_client { /* by peer */
    enum { KL_CLIENT_NONE, KL_CLIENT_GREETING, KL_CLIENT_MEMBER } state;
    uint64_t greet_by_us;
    struct kl_lobby_room *room;
    unsigned member;
    char address[24];
};

struct kl_lobby {
    struct kl_lobby_limits limits;
    struct kl_lobby_net net;
    struct kl_lobby_room **room; /* limits.rooms of them, NULL where free */
    unsigned rooms, members;
    uint64_t start_bytes; /* start data held for all rooms */
    uint64_t chores_us;
    struct kl_lobby_client client[]; /* limits.peers of them */
};

/* --- lobby.c --- */
uint8_t kl_lobby_seats_filled(const struct kl_lobby_room *r); /* as a mask */
unsigned kl_lobby_count(uint8_t mask);
/* Says why, hangs up, and takes the member out of the room. (A room that is empty is freed by the next
 * kl_lobby_run(), so a pointer to it stays good until then.) */
void kl_lobby_put_out(struct kl_lobby_room *r, unsigned member, enum kl_refuse code, const char *text,
                      uint64_t now_us);
/* Takes a member out of the room whose connection has been seen to. why: for the log and the others' screens.
 */
void kl_lobby_forget(struct kl_lobby_room *r, unsigned member, const char *why, uint64_t now_us);

/* --- lobby_start.c --- */
void kl_lobby_start_joined(struct kl_lobby_room *r, unsigned member, uint64_t now_us);
void kl_lobby_start_left(struct kl_lobby_room *r, bool was_host);
/* false: the message breaks the protocol; the caller puts the member out. */
bool kl_lobby_start_data(struct kl_lobby_room *r, unsigned member, const struct kl_data *d, uint64_t now_us);
bool kl_lobby_start_ready(struct kl_lobby_room *r, unsigned member, const struct kl_facts *f,
                          uint64_t now_us);
/* Moves the room towards its start as far as it goes. May put members out. */
void kl_lobby_start_run(struct kl_lobby_room *r, uint64_t now_us);
void kl_lobby_start_free(struct kl_lobby_room *r);

/* --- lobby_play.c --- */
void kl_lobby_play_begin(struct kl_lobby_room *r, uint64_t now_us);
void kl_lobby_play_hash(struct kl_lobby_room *r, unsigned member, const struct kl_hash *h, uint64_t now_us);
const char *kl_lobby_policy_name(uint8_t policy);
/* Takes closed frames, sends what is due. */
void kl_lobby_play_run(struct kl_lobby_room *r, uint64_t now_us);
/* Once per KL_CHORES_US: stall and status lines, spectators left alone. */
void kl_lobby_play_chores(struct kl_lobby_room *r, uint64_t now_us);

/* --- lobby_command.c --- */
/* Policy, seats and who is host are the host's to change; all else is everybody's. What is not allowed is
 * ignored; the member is told. */
void kl_lobby_play_command(struct kl_lobby_room *r, unsigned member, const struct kl_order *o,
                           uint64_t now_us);

/* --- lobby_say.c --- */
void kl_lobby_send(struct kl_lobby *l, unsigned peer, const struct kl_msg *m);
void kl_lobby_send_bulk(struct kl_lobby *l, unsigned peer, const struct kl_msg *m); /* see lobby.h */
void kl_lobby_send_all(struct kl_lobby_room *r, const struct kl_msg *m);
void kl_lobby_refuse(struct kl_lobby *l, unsigned peer, enum kl_refuse code, const char *text);
void kl_lobby_notice(struct kl_lobby_room *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
void kl_lobby_send_roster(struct kl_lobby_room *r);
void kl_lobby_send_welcome(struct kl_lobby_room *r, unsigned member);
/* room="…" client=… name="…" seats=… and then the rest. */
void kl_lobby_log_member(enum kl_log_level level, const char *event, const struct kl_lobby_room *r,
                         unsigned member, const char *format, ...) __attribute__((format(printf, 5, 6)));
/* room="…" and then the rest. */
void kl_lobby_log_room(enum kl_log_level level, const char *event, const struct kl_lobby_room *r,
                       const char *format, ...) __attribute__((format(printf, 4, 5)));

#endif

/* msg.h - the reliable, ordered messages of a session (ENet channel 0) and the datagram header.
 * net/PROTOCOL.md §2 and §7. Pure; decoding borrows nothing: strings are copied. */
#ifndef KL_MSG_H
#define KL_MSG_H

#include "engine.h"
#include "lock_wire.h"

#define KL_NAME_MAX     24   /* bytes of a player's or room's name, NUL included */
#define KL_TEXT_MAX     480  /* bytes of a text for people, NUL included */
#define KL_CHUNK_MAX    1000 /* bytes of one piece of start data */
#define KL_FACTS_MAX    24   /* facts of an identity */
#define KL_FACT_KEY_MAX 48
#define KL_FACT_VAL_MAX 160

/* The first byte of a Keylock datagram. ENet's first byte has 0x40 set only for compressed packets, which
 * neither side uses, so the two share a port without confusion. */
#define KL_DATAGRAM_MAGIC 0x4b /* 'K' */
enum { KL_DGRAM_CTRL = 1, KL_DGRAM_UPDATE = 2 };
struct kl_dgram {
    uint8_t kind;
    uint32_t session; /* given by the relay in WELCOME */
    uint32_t counter; /* of the sender, from 1, one per datagram; replay window of 64 */
};
#define KL_DGRAM_HEADER 10 /* magic, kind, session, counter */
void kl_dgram_write(const struct kl_dgram *d, uint8_t out[KL_DGRAM_HEADER]);
int kl_dgram_read(struct kl_dgram *d, const uint8_t *buf, size_t len); /* 0, KL_E_MALFORMED */
/* Sliding window: true where this counter is new (and remembers it), false for a replay or a too old one. */
struct kl_replay {
    uint32_t highest;
    uint64_t seen;
};
bool kl_replay_fresh(struct kl_replay *w, uint32_t counter);

enum kl_msg_kind {
    /* client to relay */
    KL_MSG_HELLO = 1,   /* version, name, room, seat wish, params wish, identity facts */
    KL_MSG_DATA = 2,    /* a piece of start data (host to relay, relay to clients) */
    KL_MSG_READY = 3,   /* loaded afresh, with the facts that only show then (system files) */
    KL_MSG_HASH = 4,    /* hashes of a marked keyframe */
    KL_MSG_BYE = 5,     /* leaving on purpose, with a reason */
    KL_MSG_COMMAND = 6, /* a command for the next keyframe */
    /* relay to client */
    KL_MSG_WELCOME = 16, /* session, client index, seats, host?, params in force */
    KL_MSG_REFUSE = 17,  /* code and text; the connection ends */
    KL_MSG_ROSTER = 18,  /* who is here: client, name, seats, state */
    KL_MSG_PREPARE = 19, /* all seats are filled: epoch, start data size (pieces follow), then load */
    KL_MSG_SEND = 20,    /* to the host: send the start data now */
    KL_MSG_VERDICT = 21, /* hashes of a keyframe compared */
    KL_MSG_NOTICE = 22,  /* a line for the screen */
};

/* One thing that must be the same in a room: key "content", value "xxh3 0123… (24592 bytes, croom.nes)". What
 * follows the first " (" is for people and does not count: the same content under another name is the same.
 */
struct kl_fact {
    char key[KL_FACT_KEY_MAX], value[KL_FACT_VAL_MAX];
};
struct kl_facts {
    uint8_t count;
    struct kl_fact fact[KL_FACTS_MAX];
};
/* Adds a fact; longer strings are cut at a UTF-8 boundary. KL_E_FULL past KL_FACTS_MAX. */
int kl_facts_add(struct kl_facts *f, const char *key, const char *value);
/* Writes every difference as "content differs: room has X, you have Y", joined by "; ", into out (cut at
 * cap). Returns the number of differences. */
unsigned kl_facts_differ(const struct kl_facts *room, const struct kl_facts *you, char *out, size_t cap);

struct kl_hello {
    uint16_t version;
    char name[KL_NAME_MAX], room[KL_NAME_MAX];
    uint8_t seats_wanted;    /* number of seats, 0: spectator */
    struct kl_params params; /* wish; counts where this client makes the room */
    struct kl_facts facts;
};
struct kl_data {
    uint32_t offset, total;
    uint16_t len;
    uint8_t bytes[KL_CHUNK_MAX];
};
struct kl_order {
    uint8_t kind, len, data[KL_COMMAND_BYTES];
}; /* COMMAND */
struct kl_ready {
    struct kl_facts facts;
};
struct kl_hash {
    uint32_t frame;
    bool has_ram, has_state, has_av;
    uint64_t ram, state, av;
};
struct kl_welcome {
    uint32_t session;
    uint8_t client, seats;
    bool host;
    struct kl_params params;
};
enum kl_refuse {
    KL_REFUSE_VERSION = 1,
    KL_REFUSE_IDENTITY,
    KL_REFUSE_FULL,
    KL_REFUSE_STARTED,
    KL_REFUSE_LIMIT,
    KL_REFUSE_PROTOCOL,
    KL_REFUSE_CLOSED
};
struct kl_text {
    uint8_t code;
    char text[KL_TEXT_MAX];
}; /* REFUSE, NOTICE, BYE */
enum kl_member_state {
    KL_MEMBER_WAITING = 0,
    KL_MEMBER_LOADING,
    KL_MEMBER_READY,
    KL_MEMBER_PLAYING,
    KL_MEMBER_GONE
};
struct kl_member {
    uint8_t client, seats, state;
    bool host;
    char name[KL_NAME_MAX];
};
struct kl_roster {
    uint8_t filled, players, count;
    struct kl_member member[KL_MAX_CLIENTS];
};
struct kl_prepare {
    uint64_t epoch_s;
    uint32_t data_bytes;
};
/* frame: label of the hashes. differs: 0 equal everywhere, 1 ram (or av) differs, 2 state differs only.
 * first: the first frame label that ever differed (meaning as differs). minority: mask of the clients who
 * stand against a majority; 0 with a tie. complete: every client present had reported. */
struct kl_verdict {
    uint32_t frame, first;
    uint8_t differs;
    bool complete;
    uint16_t minority;
};

struct kl_msg {
    uint8_t kind; /* enum kl_msg_kind */
    union {
        struct kl_hello hello;
        struct kl_data data;
        struct kl_ready ready;
        struct kl_order order;
        struct kl_hash hash;
        struct kl_text text;
        struct kl_welcome welcome;
        struct kl_roster roster;
        struct kl_prepare prepare;
        struct kl_verdict verdict;
    };
};
#define KL_MSG_MAX 6000 /* bytes of the longest message */

/* Returns the length, or KL_E_SPACE. */
int kl_msg_encode(const struct kl_msg *m, uint8_t *buf, size_t cap);
/* 0; KL_E_MALFORMED; KL_E_VERSION for a HELLO of another version (hello.version is set, nothing else). */
int kl_msg_decode(struct kl_msg *m, const uint8_t *buf, size_t len);

#endif

/* strangers.h - a relay's answers to strangers: to a ping, and its public rooms. net/PROTOCOL.md §10. Nothing
 * of it is secret or proved; no answer is longer than its question. Pure: bytes in, bytes out. */
#ifndef KL_STRANGERS_H
#define KL_STRANGERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/engine/msg.h"

/* Kinds of datagrams; those of the handshake come before them (net/session/handshake.h). */
enum { KL_STRANGER_PING = 0x14, KL_STRANGER_PONG, KL_STRANGER_LIST, KL_STRANGER_ROOMS };

#define KL_PING_BYTES 32   /* exactly */
#define KL_LIST_BYTES 1200 /* exactly: as long as the longest answer */
#define KL_ECHO_BYTES 8    /* random bytes of the asker, proof that the answerer saw the question */
#define KL_LINE_TEXT  64   /* with NUL */
#define KL_ROOMS_END  0xffff
#define KL_ROOMS_MAX  96 /* lines of one ROOMS at most: none is shorter than 15 bytes */

struct kl_question { /* PING, LIST */
    uint8_t kind;
    uint16_t version;
    uint8_t echo[KL_ECHO_BYTES];
    uint16_t from; /* LIST: 0, then `next` of the answer */
};
struct kl_pong {
    uint8_t echo[KL_ECHO_BYTES];
    uint16_t version;
    bool insecure_lan;
    uint16_t rooms, clients;
};
struct kl_room_line {
    char name[KL_NAME_MAX], content[KL_LINE_TEXT], core[KL_LINE_TEXT]; /* content, core: for people */
    uint8_t players, filled, open; /* seats that the game needs, taken, free */
    uint16_t watchers;             /* from outside the game */
    uint8_t waiting;               /* in the queue for a seat: players and watchers */
    uint8_t lead_max;              /* frames: the longest lead that the room allows */
    bool playing, password, locked;
    bool quick;           /* opened for a quick match */
    bool recorded;        /* the relay keeps the match's recording */
    bool economy;         /* fewer datagrams, and a frame more of delay at 60 frames a second */
    uint16_t rtt_ms;      /* the longest round trip to the relay of a player there; KL_RTT_UNKNOWN */
    uint8_t identity[16]; /* of the room's facts (net/PROTOCOL.md §7, facts) */
};
/* The line alone, as ROOMS has it. Its length; and 0, or KL_E_MALFORMED. */
#define KL_ROOM_LINE_BYTES (1 + KL_NAME_MAX + 2 * (1 + KL_LINE_TEXT) + 10 + 16)
size_t kl_room_line_write(const struct kl_room_line *line, uint8_t out[KL_ROOM_LINE_BYTES]);
int kl_room_line_read(struct kl_room_line *line, const uint8_t *bytes, size_t len);

struct kl_rooms {
    uint8_t echo[KL_ECHO_BYTES];
    uint16_t next; /* `from` of the next LIST; KL_ROOMS_END: the list is complete */
    uint8_t count;
    struct kl_room_line line[KL_ROOMS_MAX];
};

/* Length; 0: there is no such question. out: room for KL_LIST_BYTES. */
size_t kl_question_write(const struct kl_question *q, uint8_t *out);
/* 0, or KL_E_MALFORMED. */
int kl_question_read(struct kl_question *q, const uint8_t *bytes, size_t len);

size_t kl_pong_write(const struct kl_pong *p, uint8_t out[KL_PING_BYTES]);
int kl_pong_read(struct kl_pong *p, const uint8_t *bytes, size_t len);

/* next_line(ctx, &from, &line): the next public room from place `from` on, which moves past it; false if
 * there is none. Asked for one line more than fits. */
size_t kl_rooms_write(const struct kl_question *q,
                      bool (*next_line)(void *, unsigned *, struct kl_room_line *), void *ctx,
                      uint8_t out[KL_LIST_BYTES]);
int kl_rooms_read(struct kl_rooms *r, const uint8_t *bytes, size_t len);

#endif

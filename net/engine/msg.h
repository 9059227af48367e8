/* msg.h - the reliable, ordered messages of a session. net/PROTOCOL.md §7. Pure; decoding borrows nothing:
 * strings are copied. */
#ifndef KL_MSG_H
#define KL_MSG_H

#include "net/engine/engine.h"
#include "net/engine/facts.h"
#include "net/engine/wire.h"
#include "net/engine/frames.h"
#include "net/engine/lock_wire.h"
#include "net/engine/record_rule.h"
#include "net/engine/voice.h"

#define KL_NAME_CHARS 23                      /* characters of a player's or room's name */
#define KL_NAME_MAX   (4 * KL_NAME_CHARS + 1) /* its bytes, NUL included */
#define KL_TEXT_MAX   480                     /* bytes of a text for people, NUL included */
#define KL_CHUNK_MAX  1000                    /* bytes of one piece of start data */
#define KL_BULK_MAX   4000                    /* bytes of one piece of a snapshot */

#define KL_ROOM_ID_BYTES   16 /* random, made with the room */
#define KL_MATCH_MAX       48 /* of a match's id, NUL included */
#define KL_TOKEN_BYTES     16 /* random: proves a kept seat; new at each return */
#define KL_SEAT_KEY_BYTES  32 /* Ed25519 public key of one running client */
#define KL_SIGNATURE_BYTES 64
#define KL_SALT_BYTES      16
#define KL_SHARE_BYTES     32 /* of the password exchange; also the length of a stretched password */
#define KL_MAC_BYTES       16
#define KL_DIGEST_BYTES    KL_RECORD_DIGEST /* of a room's frames: net/session/digest.h */

#define KL_SNAPSHOT_HASH 32          /* bytes of BLAKE2b */
#define KL_SNAPSHOT_MAX  (64U << 20) /* bytes of a snapshot, packed or not */
/* Unpacked bytes of one zstd frame of a snapshot that is given against a base. */
#define KL_SNAPSHOT_SLICE (128U * 1024)

enum kl_msg_kind {
    /* client to relay */
    KL_MSG_HELLO = 1,   /* version, name, room, seat wish, params wish, identity facts */
    KL_MSG_DATA = 2,    /* a piece of start data (host to relay, relay to clients), a token, a run */
    KL_MSG_READY = 3,   /* loaded afresh, with the facts known only then (system files) */
    KL_MSG_HASH = 4,    /* hashes of a marked keyframe */
    KL_MSG_BYE = 5,     /* leaving on purpose, with a reason */
    KL_MSG_COMMAND = 6, /* a command for the next keyframe, or for the relay */
    KL_MSG_PROVE = 7,   /* answer to DOOR */
    KL_MSG_RETURN = 8,  /* takes a kept seat back; instead of HELLO */
    KL_MSG_SIGN = 9,    /* the hashes that this client has said, under its seat key */
    KL_MSG_DELETE = 10, /* instead of HELLO: the kept recording of a match of this client's goes */
    KL_MSG_STATE = 11,  /* size and hash of this client's state at a SNAPSHOT command */
    KL_MSG_GIVE = 12,   /* a piece of that state, in answer to ASK */
    KL_MSG_HEALED = 13, /* the state of OFFER or REWIND is loaded, and the frames after it are run */
    KL_MSG_FILE = 14,   /* the checksum of a disk, in answer to CHECK, or of a file opened in play */
    KL_MSG_DIRECT = 15, /* the other players that say so too may know this client's address */
    /* relay to client */
    KL_MSG_WELCOME = 16,  /* session, client index, seats, host?, params in force */
    KL_MSG_REFUSE = 17,   /* code and text; the connection ends */
    KL_MSG_ROSTER = 18,   /* the members: client, name, seats, state */
    KL_MSG_PREPARE = 19,  /* all seats are filled: epoch, start data size (pieces follow), then load */
    KL_MSG_SEND = 20,     /* to the host: send the start data now */
    KL_MSG_VERDICT = 21,  /* hashes of a keyframe compared */
    KL_MSG_NOTICE = 22,   /* a line for the screen */
    KL_MSG_DOOR = 23,     /* the room has a password: prove it, or set it */
    KL_MSG_PROVED = 24,   /* the relay knows it too; WELCOME follows */
    KL_MSG_HISTORY = 25,  /* closed frames that the client lacks */
    KL_MSG_ASK = 29,      /* for the snapshot of a keyframe */
    KL_MSG_OFFER = 30,    /* a snapshot comes, to be loaded */
    KL_MSG_SNAPSHOT = 31, /* a piece of it */
    KL_MSG_SEAT = 32,     /* the client has other seats from now on */
    KL_MSG_REWIND = 33,   /* go back to your own state of a keyframe, and run the frames since again */
    KL_MSG_CHECK = 34,    /* say the checksum of a disk */
    KL_MSG_PEERS = 35,    /* the players to send samples to straight */
    KL_MSG_SEAL = 36,     /* the relay's signature under the match so far */
    /* client to relay, instead of HELLO */
    KL_MSG_CHALLENGE = 37, /* wants a token of a challenge; DATA has it */
    KL_MSG_RUN = 38,       /* hands a run of one in; DATA has its recording */
    KL_MSG_HEAR = 39,      /* client to relay: it takes part in voice, and wants these voices */
    KL_MSG_VOICES = 40,    /* relay to client: its hearers, the other speakers, the host's permission */
    KL_MSG_LAST = KL_MSG_VOICES
};

struct kl_hello {
    uint16_t version;
    char name[KL_NAME_MAX], room[KL_NAME_MAX];
    uint8_t seats_wanted;    /* number of seats, 0: to watch */
    struct kl_params params; /* wish; valid if this client makes the room */
    struct kl_facts facts;
    uint8_t door;         /* KL_DOOR_*, but for LOCKED; valid if this client makes the room */
    uint8_t consent;      /* enum kl_consent */
    uint16_t seat_time_s; /* wished time that seats are kept; 0: the relay's default */
    uint8_t seat_key[KL_SEAT_KEY_BYTES];
    char match[KL_MATCH_MAX]; /* the maker's own id of the match; valid if this client makes the room */
};
/* "" or letters and digits, with any of -._:#/ between them. */
#define KL_MATCH_WANT "1 to 47 letters, digits and -._:#/"
bool kl_match_fits(const char *match);
enum {
    KL_DOOR_UNLISTED = 1,
    KL_DOOR_PASSWORD = 2,
    KL_DOOR_LOCKED = 4,
    KL_DOOR_LET_GO = 8, /* a latecomer that cannot catch up leaves; otherwise it watches */
    KL_DOOR_ONCE = 16,  /* the door locks after each entry, the room's maker included */
    KL_DOOR_AGAIN = 32, /* a watcher after a lost link: it makes no room, and plays in none */
    KL_DOOR_QUICK = 64, /* a room for quick matches: made as one, and only such a one is entered */
    KL_DOOR_SEAT = 128  /* only with the seats wanted: refused rather than made a watcher */
};
/* The client loads other players' bytes: their states, and the host's saves. */
enum kl_consent {
    KL_CONSENT_NONE,
    KL_CONSENT_UNLISTED, /* if the relay does not list the room */
    KL_CONSENT_ROOM
};
enum { KL_PROVE = 0, KL_PROVE_SET = 1 }; /* `what` of DOOR and PROVE */
struct kl_door_msg {
    uint8_t what, salt[KL_SALT_BYTES], share[KL_SHARE_BYTES]; /* share: 0 with KL_PROVE_SET */
};                                                            /* DOOR */
struct kl_prove {
    uint8_t what, share[KL_SHARE_BYTES], mac[KL_MAC_BYTES]; /* KL_PROVE_SET: the stretched password, mac 0 */
};
struct kl_proved {
    uint8_t mac[KL_MAC_BYTES];
};
struct kl_return {
    char room[KL_NAME_MAX];
    uint8_t token[KL_TOKEN_BYTES], seat_key[KL_SEAT_KEY_BYTES], signature[KL_SIGNATURE_BYTES];
    bool fresh;         /* a new process: needs the start data too */
    uint32_t have;      /* it has the closed frames below; 0 with fresh */
    uint32_t first;     /* and from this frame on, at most `have` */
    uint32_t intervals; /* whole ones of the room that it has run or begun behind; 0 with fresh */
    uint8_t digest[KL_DIGEST_BYTES];               /* of their frames */
    uint8_t open[KL_DIGEST_BYTES];                 /* of the frames after them, below `have` */
    uint8_t states;                                /* 0 with fresh */
    struct kl_record_mark state[KL_RECORD_STATES]; /* its own states, the oldest first */
    struct kl_facts facts;
    uint8_t consent; /* enum kl_consent */
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
/* Parts of a hash, and how its state counts. */
enum {
    KL_HASH_RAM = 1,
    KL_HASH_STATE = 2,
    KL_HASH_PICTURE = 4, /* all pictures since the last label */
    KL_HASH_SOUND = 8,   /* all sound since then */
    KL_HASH_FULL = 16,   /* an unequal state alone is a desync; with a state */
    KL_HASH_NOTED = 32,  /* it is only noted */
    KL_HASH_MASKED = 64, /* less the room's mask: it counts once states have been equal. One of these three */
    KL_HASH_COUNTS = KL_HASH_FULL | KL_HASH_NOTED | KL_HASH_MASKED
};
struct kl_hash {
    uint32_t frame;
    uint32_t layout; /* of the RAM: digest of its pieces; RAM of another layout is not compared */
    uint8_t has;     /* KL_HASH_… */
    uint16_t sound;  /* 0 without it, as the others */
    uint64_t ram, state, picture; /* state: of its compared bytes, by the host's profile */
};
struct kl_welcome {
    uint32_t session;
    uint8_t client, seats; /* KL_WATCHER: no client of the game; seats, token and seat time are 0 */
    bool host;
    struct kl_params params;
    uint8_t room_id[KL_ROOM_ID_BYTES], token[KL_TOKEN_BYTES];
    uint16_t seat_time_s;     /* time that the seat is kept after the link is lost */
    char match[KL_MATCH_MAX]; /* of the room's maker */
};
/* Each ends the connection, and for good. */
enum kl_refuse {
    KL_REFUSE_VERSION = 1,
    KL_REFUSE_IDENTITY,
    KL_REFUSE_FULL,
    KL_REFUSE_STARTED,
    KL_REFUSE_LIMIT,
    KL_REFUSE_PROTOCOL,
    KL_REFUSE_CLOSED,
    KL_REFUSE_SEAT,      /* no such room here, or no such seat in it */
    KL_REFUSE_DESYNC,    /* repeatedly out of sync, alone against the others */
    KL_REFUSE_DOOR = 10, /* password, lock, ban, or a forbidden name */
    KL_REFUSE_FAR,       /* the link needs a longer lead than the room allows */
    KL_REFUSE_DELETED,   /* nothing is refused: the recording of DELETE is gone */
    KL_REFUSE_TAKEN,     /* nothing is refused: the run of RUN will be verified */
    KL_REFUSE_MOVED,     /* the session is of another bucket than the room's */
    KL_REFUSE_ELSEWHERE  /* a relay of the same key has the room: the text is its addresses */
};
struct kl_text {
    uint8_t code;
    char text[KL_TEXT_MAX];
}; /* REFUSE, NOTICE, BYE */
/* Codes of NOTICE: the command that answers it. */
enum {
    KL_NOTICE_PLAIN,
    KL_NOTICE_AGAIN,
    KL_NOTICE_SEAT,
    KL_NOTICE_PLAY_ON,
    KL_NOTICE_RELAYS /* for no screen */
};
enum kl_member_state {
    KL_MEMBER_WAITING = 0,
    KL_MEMBER_LOADING,
    KL_MEMBER_READY,
    KL_MEMBER_PLAYING,
    KL_MEMBER_GONE,   /* left; its last samples are being used up */
    KL_MEMBER_AWAY,   /* its link is lost; the seat is kept */
    KL_MEMBER_JOINING /* its seat counts when it has caught up with the game */
};
struct kl_member {
    uint8_t client, seats, state;
    bool host;
    char name[KL_NAME_MAX];
};
/* In the queue for a seat. turn: a seat is offered to it. */
struct kl_waiter {
    uint8_t client; /* KL_WATCHER: a watcher */
    bool turn;
    char name[KL_NAME_MAX];
};
#define KL_QUEUE_MAX 16
struct kl_roster {
    uint8_t filled, players, count;
    uint8_t doors;    /* KL_DOOR_UNLISTED, PASSWORD, LOCKED */
    uint8_t farthest; /* the client whose link sets the spacing; KL_WATCHER: none */
    struct kl_member member[KL_MAX_CLIENTS];
    uint16_t watchers, delay_s; /* number of watchers; their delay */
    uint16_t record_days;       /* for which the relay keeps the match's recording; 0: it keeps none */
    uint8_t waiting;            /* the queue, the first one first */
    struct kl_waiter queue[KL_QUEUE_MAX];
};
struct kl_prepare {
    uint64_t epoch_s;
    uint32_t data_bytes;
};
enum { KL_VERDICT_NOTED = 2 };
enum {                        /* parts that differ: KL_HASH_RAM to KL_HASH_SOUND, and */
       KL_PARTS_LAYOUT = 16,  /* machines lay out their RAM differently: it is not compared */
       KL_PARTS_NOTHING = 32, /* nothing can be compared that would show a desync */
       KL_PARTS_ABOUT = KL_PARTS_LAYOUT | KL_PARTS_NOTHING,
       KL_PARTS_LEFT = 64, /* nothing is healed any more: the players play on with machines that differ */
       KL_PARTS_ALL = 127
};
/* "ram", "picture", "state", "sound": the first of these that differs, "none". */
const char *kl_parts_name(uint8_t parts);
/* frame: label of the hashes. differs: 0 equal everywhere, 1 differs, 2 differs, but is only noted: no
 * desync. parts: those that do. first: the first frame label that differed. minority: mask of the clients
 * against a majority; 0 with a tie. complete: every client present had reported. */
struct kl_verdict {
    uint32_t frame, first;
    uint8_t differs, parts;
    bool complete;
    uint16_t minority;
    uint16_t healed; /* number of times that the room was healed; if it grows, the difference is over */
    uint32_t agreed; /* keyframe before which all machines were last equal; 0: none is known */
};

/* Part of something longer. */
struct kl_piece {
    uint32_t offset, total;
    uint16_t len;
    uint8_t bytes[KL_BULK_MAX];
};
/* A piece of history, whole and checked (frames.h). */
struct kl_past {
    uint16_t len;
    uint8_t bytes[KL_PIECE_BYTES];
};
struct kl_reseat { /* SEAT */
    uint8_t client, seats;
};
/* STATE. has false: the core gave none, bytes 0. */
struct kl_state_said {
    uint32_t keyframe, bytes;
    bool has;
    uint8_t hash[KL_SNAPSHOT_HASH]; /* of all its bytes, unpacked */
};
/* GIVE, SNAPSHOT */
struct kl_snapshot_piece {
    uint32_t keyframe;
    struct kl_piece piece;
    bool based; /* GIVE: of slices against the base that ASK named; else of a whole one */
};
/* ASK. based: a client that also has the base may give the difference from it. */
struct kl_ask {
    uint32_t keyframe;
    bool based;
    uint32_t base;
    uint8_t hash[KL_SNAPSHOT_HASH]; /* of the base */
};
struct kl_offer {
    uint32_t keyframe, interval, bytes, packed; /* packed: bytes of SNAPSHOT pieces */
    bool begin; /* the client begins there; otherwise it reruns its frames from there on */
    uint8_t hash[KL_SNAPSHOT_HASH];
    uint8_t digest[KL_DIGEST_BYTES]; /* of the frames before the keyframe */
};
enum {
    KL_HEALED_SAME = 0,  /* serialized again, it is the same */
    KL_HEALED_OTHER = 1, /* it differs in some bytes: the state does not hold all of the core */
    KL_HEALED_NOT = 2    /* it could not be loaded */
};
struct kl_healed {
    uint32_t keyframe, next; /* of OFFER or REWIND; the frame that runs next */
    uint8_t how;
};
struct kl_rewind {
    uint32_t keyframe;
    bool lost; /* the relay has lost the frames from there on: they are to be forgotten, and others come */
};

#define KL_LATE_FILES    24 /* opened in play, that a client says in one game */
#define KL_FILE_NAME_MAX 48 /* bytes of a file's name without its folder, NUL included */
enum kl_file_is {
    KL_FILE_BUSY,    /* its checksum is being computed: `bytes` are read */
    KL_FILE_HERE,    /* `bytes` and `hash` count */
    KL_FILE_MISSING, /* the client has the disk's number, or the name, and no file */
    KL_FILE_NO_DISK, /* the core has no disk of that number */
    KL_FILE_UNKNOWN  /* the core does not tell the disk's file */
};
/* FILE */
struct kl_file_said {
    bool late;     /* a file opened in play; else the disk of CHECK */
    uint16_t disk; /* from 0; 0 with `late` */
    uint8_t is;    /* enum kl_file_is; with `late` HERE or MISSING */
    uint64_t bytes, hash;
    char name[KL_FILE_NAME_MAX]; /* with `late` not empty */
};
struct kl_check {
    uint16_t disk;
};

#define KL_PEERS_MAX (KL_MAX_CLIENTS - 1)
#define KL_PEER_HOST 16 /* bytes of an address */
/* A player that samples go to straight, and come from. */
struct kl_peer {
    uint8_t seats;              /* its seats: no others' samples are taken from it */
    uint32_t session;           /* its own: the number in its datagrams */
    uint8_t host[KL_PEER_HOST]; /* IPv6; IPv4 as ::ffff:0:0/96 */
    uint16_t port;
    uint8_t out[32], in[32]; /* keys of the datagrams to it, and from it */
};
struct kl_peers {
    uint8_t count;
    struct kl_peer peer[KL_PEERS_MAX];
};

/* SEAL: the relay's signature under the frames below `end` and the newest hashes in them that the machines
 * agreed on (net/session/proof.h). */
struct kl_proof {
    uint32_t intervals, end;
    uint8_t digest[KL_DIGEST_BYTES];
    uint32_t label;
    uint8_t has; /* KL_HASH_RAM, KL_HASH_STATE, KL_HASH_PICTURE; 0: they have agreed on none, label 0 */
    uint64_t ram, state, picture;
    uint8_t sign_pub[KL_SEAT_KEY_BYTES], signature[KL_SIGNATURE_BYTES]; /* Ed25519 */
};

/* SIGN: all hashes that a client has said so far, one chained to the other, and the newest of them, signed
 * by its seat key (net/session/proof.h). */
struct kl_sign {
    uint32_t count;
    uint8_t chain[KL_DIGEST_BYTES];
    uint32_t label;
    uint8_t has; /* KL_HASH_RAM, KL_HASH_STATE, KL_HASH_PICTURE: one at least */
    uint64_t ram, state, picture;
    uint8_t signature[KL_SIGNATURE_BYTES];
};

/* DELETE: a player of a match wants its recording deleted (net/session/proof.h). */
struct kl_delete {
    uint8_t room_id[KL_ROOM_ID_BYTES], seat_key[KL_SEAT_KEY_BYTES], signature[KL_SIGNATURE_BYTES];
};

/* CHALLENGE: the player wants a token of the relay's challenge of that name, to play it alone. */
struct kl_wanted {
    char name[KL_NAME_MAX], player[KL_NAME_MAX];
};
/* RUN: a run of the token with that room's id; its hashes, signed by the player. */
struct kl_run {
    uint8_t room_id[KL_ROOM_ID_BYTES], seat_key[KL_SEAT_KEY_BYTES];
    struct kl_sign sign;
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
        bool bare; /* SEND: without saves, since a client does not load them */
        struct kl_prepare prepare;
        struct kl_verdict verdict;
        struct kl_door_msg door;
        struct kl_prove prove;
        struct kl_proved proved;
        struct kl_return back; /* RETURN */
        struct kl_past past;   /* HISTORY */
        struct kl_state_said state;
        struct kl_snapshot_piece snapshot; /* GIVE, SNAPSHOT */
        struct kl_offer offer;
        struct kl_healed healed;
        struct kl_ask ask;
        struct kl_reseat seat;
        struct kl_rewind rewind;
        struct kl_file_said file;
        struct kl_check check;
        struct kl_peers peers;
        struct kl_proof seal;
        struct kl_sign sign;
        struct kl_delete wish;
        struct kl_wanted wanted;
        struct kl_run run;
        struct kl_hear hear;
        struct kl_voices voices;
    };
};
#define KL_MSG_MAX 6000 /* bytes of the longest message */

/* A kind of message on the wire: the fields of its struct, which begins `place` bytes into struct kl_msg. */
struct kl_msg_form {
    const struct kl_field *table;
    uint16_t place;
    bool (*fits)(const struct kl_msg *m); /* fields that depend on each other; NULL: none do */
    bool bulk;                            /* of channel 1, of lower priority than the rest */
};
/* NULL: there is no such kind. */
const struct kl_msg_form *kl_msg_form(uint8_t kind);

/* Returns the length; KL_E_SPACE, also for a list longer than its array; KL_E_MALFORMED: there is no such
 * kind. */
int kl_msg_encode(const struct kl_msg *m, uint8_t *buf, size_t cap);
/* 0; KL_E_MALFORMED; KL_E_VERSION for a HELLO of another version (hello.version is set, nothing else). */
int kl_msg_decode(struct kl_msg *m, const uint8_t *buf, size_t len);
bool kl_msg_is_bulk(uint8_t kind);

/* Parts that the records of a room have too. */
extern const struct kl_field kl_facts_fields[], kl_params_fields[], kl_proof_fields[], kl_sign_fields[];

#endif

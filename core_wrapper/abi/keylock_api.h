/* keylock_api.h - the functions of keylock_libretro.so for a frontend with a Keylock menu: rooms on relays,
 * and the room of the next game. This file stands alone: a frontend copies it and links to nothing.
 *
 * The frontend finds the symbol KEYLOCK_API_SYMBOL with dlsym in the wrapper, loaded as a core or just with
 * dlopen. All functions are called from one thread, that of retro_run, and never from inside a callback of
 * libretro's. No function waits for the network or a name server.
 *
 * Settings are words, as in keylock.cfg. The keys that count here are `core` (path of the emulator core),
 * `mode` (room, quick, spectate, alone), `relay` (HOST[:PORT]), `link`
 * (keylock://HOST[:PORT]/ROOM[#FINGERPRINT], instead of relay and room), `room`, `password`, `name`, `seats`
 * (0 to 8), `players` (1 to 8), `policy` (strict, bounded, optimistic).
 *
 * Errors: 0, or -1 with one line for people in err. The line names the expected and the actual value, never
 * a password. err may be NULL, and stays as it is without an error. Texts are UTF-8. Texts from a relay may
 * come from strangers; they have no control characters and are cut to their size. */
#ifndef KEYLOCK_API_H
#define KEYLOCK_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KEYLOCK_API_VERSION 4
#define KEYLOCK_API_SYMBOL  "keylock_api"
#define KEYLOCK_LINE        256 /* bytes of a line for people, NUL included */

struct keylock_setting {
    const char *key, *value;
};

/* A public room, as its relay tells strangers. */
struct keylock_room {
    char relay[272];            /* HOST:PORT, as `relay` takes it */
    char name[96];              /* at most 23 characters */
    char content[64], core[64]; /* the game's file and the core, for people */
    uint8_t players, filled;    /* seats of the game; taken seats */
    uint8_t open;               /* seats that a newcomer could have now */
    bool playing, password, locked;
    bool quick;    /* opened for a quick match */
    float ping_ms; /* round trip to the relay, the quickest of several */
    unsigned
        delay_ms; /* to expect there from a press to its picture: the slowest player counts, or this one */
};

enum keylock_state {
    KEYLOCK_IDLE,    /* no content is loaded */
    KEYLOCK_ALONE,   /* the game is the player's own: no room was wanted, or the player has left it */
    KEYLOCK_LOOKING, /* looking for a match */
    KEYLOCK_JOINING, /* reaching the room's relay, entering the room */
    KEYLOCK_WAITING, /* in the room, until others come and load */
    KEYLOCK_PLAYING,
    KEYLOCK_LOST,  /* the connection is lost and is made anew; the seat is kept */
    KEYLOCK_ENDED, /* refused, or the load failed: a still picture */
};
/* The game must go on: no pause, no time-skip. */
#define KEYLOCK_IN_ROOM(state) ((state) >= KEYLOCK_LOOKING && (state) <= KEYLOCK_LOST)

struct keylock_api {
    uint32_t version; /* KEYLOCK_API_VERSION; the members of a version stay as they are */

    /* Is this value valid? For a field that the player has just filled in. */
    int (*check)(const char *key, const char *value, char *err, size_t err_len);

    /* Asks these relays (at most 8, separated by blanks or commas) for their public rooms and their round
     * trips. Earlier answers are forgotten. Answers come within some seconds, by threads that end with
     * browse_end() or with the library. */
    int (*browse)(const char *relays, char *err, size_t err_len);
    /* The rooms so far, sorted by delay and name; returns the number in out (max at most). *asking: more may
     * come. line (KEYLOCK_LINE bytes): the relays that did not answer, with reasons; "" for none. */
    unsigned (*rooms)(struct keylock_room *out, unsigned max, bool *asking, char *line);
    void (*browse_end)(void);

    /* The next retro_load_game of this library enters that room. The settings count before the environment's
     * and keylock.cfg's, for that one game. The words are copied. If one of them is wrong, nothing changes.
     * Call it before retro_init of that core; a wrapper with a loaded game plays on until the game is
     * unloaded. */
    int (*join)(const struct keylock_setting *want, size_t count, char *err, size_t err_len);

    /* Leaves the room, which may take a tenth of a second to send the last data. The game goes on as the
     * player's own. Harmless outside of a room. */
    void (*leave)(void);

    /* The state. line (KEYLOCK_LINE bytes, or NULL): the same for people: "room friends: waiting for
     * players, 1 of 2". */
    enum keylock_state (*state)(char *line);

    /* The link, with the relay's fingerprint, to the room whose host is this machine. False if it is no
     * host. */
    bool (*link)(char *out, size_t cap);

    /* Sends a line of chat to all in the room, at most 96 bytes. A blank line is no error, and nothing is
     * sent. Errors: in no room, the game has not begun, a longer line, too many at once. Also allowed inside
     * a callback of libretro's: frontends poll their keyboard there. */
    int (*say)(const char *line, char *err, size_t err_len);
};

typedef const struct keylock_api *(*keylock_api_fn)(void);

#endif

/* keylock_api.h - what keylock_libretro.so offers to a frontend that has a menu for it: rooms on relays, and
 * which room the next game goes to. It stands alone: a frontend copies this file and links to nothing.
 *
 * The frontend finds the symbol KEYLOCK_API_SYMBOL with dlsym in the wrapper, whichever way it has loaded
 * that: as a core, or with dlopen just to ask. All functions are called from one thread, that of retro_run,
 * and never from inside a callback of libretro's. None of them waits for the network or a name server.
 *
 * Settings are words, as in keylock.cfg: the keys that count here are `core` (path of the emulator core),
 * `mode` (room, quick, spectate, alone), `relay` (HOST[:PORT]), `link`
 * (keylock://HOST[:PORT]/ROOM[#FINGERPRINT], instead of relay and room), `room`, `password`, `name`, `seats`
 * (0 to 8), `players` (1 to 8), `policy` (strict, bounded, optimistic).
 *
 * Errors: 0, or -1 with one line for people in err, which names what was expected and what came (never a
 * password); err may be NULL, and is left alone where all is well. Texts are UTF-8; those that come from a
 * relay are some stranger's, without control characters and cut to their size. */
#ifndef KEYLOCK_API_H
#define KEYLOCK_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KEYLOCK_API_VERSION 1
#define KEYLOCK_API_SYMBOL  "keylock_api"
#define KEYLOCK_LINE        256 /* bytes of a line for people, NUL included */

struct keylock_setting {
    const char *key, *value;
};

/* A public room, as its relay tells it to whoever asks. */
struct keylock_room {
    char relay[272];            /* HOST:PORT, as `relay` takes it */
    char name[24], content[64]; /* content: what is played, for people */
    uint8_t players, filled;    /* seats that the game needs; that are taken */
    uint8_t open;               /* that one could have now */
    bool playing, password, locked;
    float ping_ms; /* to the relay and back, the quickest of some */
};

enum keylock_state {
    KEYLOCK_IDLE,    /* no content is loaded */
    KEYLOCK_ALONE,   /* the game is the player's own: no room was wanted, or he has left it */
    KEYLOCK_LOOKING, /* for a match */
    KEYLOCK_JOINING, /* a room: reaching its relay, being let in */
    KEYLOCK_WAITING, /* in it, for others to come and to load */
    KEYLOCK_PLAYING,
    KEYLOCK_LOST,  /* the connection, which is being made anew; the seat is kept */
    KEYLOCK_ENDED, /* refused, or the load failed: a still picture */
};
/* The game must go on: no pause, no time-skip. */
#define KEYLOCK_IN_ROOM(state) ((state) >= KEYLOCK_LOOKING && (state) <= KEYLOCK_LOST)

struct keylock_api {
    uint32_t version; /* KEYLOCK_API_VERSION; the members of a version stay as they are */

    /* Would this do? For a field that the player has just filled in. */
    int (*check)(const char *key, const char *value, char *err, size_t err_len);

    /* Asks these relays (at most 8, separated by blanks or commas) for their public rooms and how far away
     * they are; what was asked before is forgotten. Answers come within some seconds, by threads that end
     * with browse_end() or with the library. */
    int (*browse)(const char *relays, char *err, size_t err_len);
    /* What has come so far, sorted by ping and name: how many of them stand in out (max at most). *asking:
     * more may come. line (KEYLOCK_LINE bytes): which relays did not answer, and why; "" for none. */
    unsigned (*rooms)(struct keylock_room *out, unsigned max, bool *asking, char *line);
    void (*browse_end)(void);

    /* The next retro_load_game of this library goes there; the settings count before the environment's and
     * keylock.cfg's, for that one game. The words are copied. Nothing changes where one of them is wrong. To
     * be called before retro_init of that core; a wrapper whose game is loaded plays on until it is unloaded.
     */
    int (*join)(const struct keylock_setting *want, size_t count, char *err, size_t err_len);

    /* Leaves the room (which may take a tenth of a second, for what is owed to the others); the game goes on
     * as the player's own, where it is. Harmless outside of a room. */
    void (*leave)(void);

    /* line (KEYLOCK_LINE bytes, or NULL): what is going on, for people: "room friends: waiting for
     * players, 1 of 2". */
    enum keylock_state (*state)(char *line);

    /* The link by which friends come into the room that this machine is host of; with the relay's
     * fingerprint. False where it is not. */
    bool (*link)(char *out, size_t cap);
};

typedef const struct keylock_api *(*keylock_api_fn)(void);

#endif

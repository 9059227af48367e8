/* config.h - the player's settings, and one room that is asked for. */
#ifndef KLW_CONFIG_H
#define KLW_CONFIG_H

#include "net/engine/ahead.h"
#include "net/engine/engine.h"
#include "net/engine/msg.h"
#include "net/session/door.h"
#include "net/session/keys.h"

/* --- settings --- */

/* The player's settings: KEYLOCK_* in the environment, keylock.cfg, the wrapper's own file name.
 *
 * The environment counts before the file. keylock.cfg lies in the frontend's system folder and holds lines
 * `key = value`. A value may stand in double quotes; # starts a comment, at the start of a line or behind a
 * blank. The keys are the names of the environment variables without KEYLOCK_, in small letters: the rows of
 * config_table.h. */

#define KL_CONFIG_FILE "keylock.cfg"
/* The local socket that takes a session's commands (control.h): this, and the number of the process. */
#define KL_CONTROL_NAME         "keylock-session-"
#define KL_CONFIG_PATH_MAX      4096
#define KL_CONFIG_HOST_MAX      256
#define KL_CONFIG_HOTKEYS_MAX   1024
#define KL_CONFIG_SEAT_TIME_MAX 3600
#define KL_FEEL_MAX             4

enum kl_play_mode { KL_PLAY_AUTO, KL_PLAY_ALONE, KL_PLAY_QUICK, KL_PLAY_ROOM, KL_PLAY_SPECTATE };
/* In the players of a room: this machine loads their states and the host's saves. AUTO: with a password, by a
 * link, or if the player named the room and the relay does not list it. Never in a quick match. */
enum kl_trust { KL_TRUST_AUTO, KL_TRUST_ON, KL_TRUST_OFF };
enum kl_speak { KL_SPEAK_OFF, KL_SPEAK_ON, KL_SPEAK_PUSH /* while a hot key is held */ };
enum kl_practice { KL_PRACTICE_AUTO, KL_PRACTICE_ON, KL_PRACTICE_OFF }; /* AUTO: unset, and on */

struct kl_config {
    char core[KL_CONFIG_PATH_MAX]; /* "": unset; see kl_config_core_from_file_name */
    char host[KL_CONFIG_HOST_MAX]; /* the relay; "": play alone */
    uint16_t port;
    char fingerprint[KL_FINGERPRINT_CHARS + 1]; /* the relay's fingerprint, from a link; "": none */
    enum kl_play_mode mode;                     /* KL_PLAY_AUTO: unset */
    enum kl_practice practice; /* the core runs while the room waits, else it stands at its first picture */
    char room[KL_NAME_MAX], name[KL_NAME_MAX]; /* room "": that of the game (wanted_room.h); name "": the
                                                * frontend's user name, else the system's */
    char match[KL_MATCH_MAX];                  /* its id, in a room made here; "": none */
    uint8_t seats;                             /* wanted, 0: spectator */
    char password[KL_DOOR_PASSWORD_MAX + 1];   /* of the room; "": none */
    bool unlisted;                             /* the relay does not list a room made here */
    enum kl_trust trust;                       /* in the players of a room */
    bool saves;                                /* of the host: the game begins with them */
    bool direct;  /* presses go straight to these players as well, and they may know this machine's address */
    bool linked;  /* the room is that of a link */
    bool netplay; /* RetroArch's own Netplay menu leads to rooms */
    bool let_go;  /* in a room made here: a late player that cannot catch up leaves (true) or watches */
    bool insecure_lan; /* no encryption, if the relay agrees */
    char
        reached_host[KL_CONFIG_HOST_MAX]; /* the relay as friends reach it, for the invitation; "": as host */
    uint16_t reached_port;
    bool invite;             /* standard error gets the room's link, and why there is no room */
    uint16_t seat_time_s;    /* time that a room made here keeps seats; 0: the relay's */
    struct kl_params params; /* fps_uhz is left 0 */
    bool epoch_set;
    uint64_t epoch_s;    /* alone: start of the virtual clock */
    bool sparing;        /* half_steps = off was set: counts for this client alone when it joins; settled */
    bool hide;           /* tell the core which pictures are unseen (GET_AUDIO_VIDEO_ENABLE) */
    bool load_own;       /* in a room made here, every machine loads its own state at a snapshot */
    bool other_version;  /* the room's players may have other versions of the core */
    bool hash_every_set; /* params.hash_every was set; else the profile's counts */
    char profile[KL_CONFIG_PATH_MAX]; /* a file, a folder of profiles, or "off"; "": the usual folder */
    char learn[KL_CONFIG_PATH_MAX];   /* the program that measures the core, or "off" (room_profile.h) */
    bool policy_set; /* params.policy was set; else bounded if the room has a clock, strict without */
    bool budget_set, spacing_set;
    uint8_t ahead;          /* frames shown ahead of the lock; 0: off, KL_AHEAD_AUTO */
    uint8_t feel;           /* frames that an own press waits all the same: those are not guessed */
    enum kl_speak voice;    /* off: neither hears nor speaks */
    bool draw, line, panel; /* draw messages into the picture; show the one line, the panel from the start */
    char font[KL_CONFIG_PATH_MAX];   /* of other scripts (font.h); "": the package's */
    char states[KL_CONFIG_PATH_MAX]; /* folder for the last hashed states at a desync; "": none are kept */
    bool record_chat;                /* chat is in them */
    char record[KL_CONFIG_PATH_MAX]; /* "off", "on", a folder, or a file: recordings of matches */
    bool hotkeys_set;
    char hotkeys[KL_CONFIG_HOTKEYS_MAX]; /* a list as hotkeys.h has it, or "off" */
};

/* Fills in the defaults, then the file's values (system_dir NULL or no file: none), then the environment's.
 * Returns 0, or -1 with one line in err that names the key, the expected and the actual value. */
int kl_config_read(struct kl_config *c, const char *system_dir, char *err, size_t err_len);

/* The value of one of a key's words (mode, practice); for another word `otherwise`. */
unsigned kl_config_word(const char *key, const char *word, unsigned otherwise);

/* Sets one key (without KEYLOCK_, small letters). Returns as kl_config_read(), or -2 for a key that does not
 * exist. */
int kl_config_set(struct kl_config *c, const char *key, const char *value, char *err, size_t err_len);

/* Call it after the last key: settles what follows from several settings, and checks those that depend on
 * each other. Returns 0, or -1 with a line in err. */
int kl_config_settle(struct kl_config *c, char *err, size_t err_len);

/* Finds the core's name in the wrapper's: "…/fbneo_keylock_libretro.so" wraps "fbneo_libretro.so". False if
 * the name has no such form. */
bool kl_config_core_from_file_name(const char *wrapper_path, char *out, size_t cap);

/* KEYLOCK_REPLAY: the recording that is played in place of a room; NULL: none. */
const char *kl_config_replay(void);

/* --- one request --- */

/* One room that this machine asks a relay for. The player's settings (config.h) say which relay and room the
 * player wants; the way there may be to another: that of a quick match, of RetroArch's netplay, of a
 * recording. The settings stay as they are meanwhile. */

struct kl_room_request {
    char host[KL_CONFIG_HOST_MAX]; /* the relay; "": none is known */
    uint16_t port;
    char fingerprint[KL_FINGERPRINT_CHARS + 1]; /* of the relay; "": any */
    char room[KL_NAME_MAX];
    char password[KL_DOOR_PASSWORD_MAX + 1]; /* of the room; "": none */
    uint8_t seats;                           /* 0: to watch */
    uint8_t consent;                         /* enum kl_consent */
    bool unlisted;                           /* the relay does not list a room made here */
    bool once;   /* a room made here lets in one player at a time, when its host opens it */
    bool quick;  /* a room for quick matches */
    bool seated; /* only a room with free seats is entered: no watching instead */
};

/* Relay, room and password as the settings have them; the rest is 0. */
void kl_room_request_own(struct kl_room_request *r, const struct kl_config *c);

#endif

/* config.h - what the player asked for: KEYLOCK_* in the environment, keylock.cfg, the wrapper's own file
 * name.
 *
 * The environment counts before the file. keylock.cfg lies in the frontend's system folder and holds lines
 * `key = value` (value may stand in double quotes; # starts a comment, at the start or behind a blank); the
 * keys are the names of the environment variables without KEYLOCK_, in small letters. */
#ifndef KLW_CONFIG_H
#define KLW_CONFIG_H

#include "net/engine/engine.h"
#include "net/engine/msg.h"
#include "net/session/door.h"
#include "net/session/keys.h"

#define KL_CONFIG_FILE          "keylock.cfg"
#define KL_CONFIG_PATH_MAX      4096
#define KL_CONFIG_HOST_MAX      256
#define KL_CONFIG_HOTKEYS_MAX   1024
#define KL_CONFIG_BUDGET_MIN_MS 20 /* below it a single late packet would make a player absent */
#define KL_CONFIG_BUDGET_MAX_MS 60000
#define KL_CONFIG_SEAT_TIME_MAX 3600

enum kl_play_mode { KL_PLAY_AUTO, KL_PLAY_ALONE, KL_PLAY_QUICK, KL_PLAY_ROOM, KL_PLAY_SPECTATE };
enum kl_practice { KL_PRACTICE_AUTO, KL_PRACTICE_ON, KL_PRACTICE_OFF }; /* AUTO: in quick matches */

struct kl_config {
    char core[KL_CONFIG_PATH_MAX]; /* "" : not said; see kl_config_core_from_file_name */
    char host[KL_CONFIG_HOST_MAX]; /* of the relay; "": play alone */
    uint16_t port;
    char fingerprint[KL_FINGERPRINT_CHARS + 1]; /* that a link gave for the relay; "": none */
    enum kl_play_mode mode;                     /* KL_PLAY_AUTO: not said */
    enum kl_practice practice; /* the core runs while the room waits; KL_PRACTICE_AUTO: not said */
    char room[KL_NAME_MAX], name[KL_NAME_MAX]; /* name "": the frontend's user name, else the system's */
    uint8_t seats;                             /* wanted, 0: spectator */
    char password[KL_DOOR_PASSWORD_MAX + 1];   /* of the room; "": none */
    bool unlisted;                             /* a room of ours is not told to strangers */
    bool once;    /* nobody comes into a room of ours but one at a time, when we open: for choice.c to say */
    bool netplay; /* RetroArch's own Netplay menu leads to rooms */
    bool let_go;  /* in a room of ours: who joins late and cannot catch up leaves again; else he watches */
    bool insecure_lan;       /* without encryption, where the relay says so, too */
    bool invite;             /* the room's link is written to standard error once it is known */
    uint16_t seat_time_s;    /* that a room of ours keeps seats; 0: as the relay does */
    struct kl_params params; /* fps_uhz is left 0 */
    bool epoch_set;
    uint64_t epoch_s;    /* alone: where the virtual clock starts */
    bool sparing;        /* half steps are off, and that was said: a joiner's own wish */
    bool hide;           /* tell the core when a picture will not be seen (GET_AUDIO_VIDEO_ENABLE) */
    bool load_own;       /* every machine loads its own state at a snapshot: a room of ours */
    bool hash_every_set; /* params.hash_every was said; else the profile's counts */
    char profile[KL_CONFIG_PATH_MAX]; /* a file, a folder of them, or "off"; "": the usual folder */
    bool policy_set; /* params.policy was said; else it is bounded where the room has a clock, strict without
                      */
    bool budget_set, spacing_set;
    bool draw, panel; /* messages are drawn into the frame; the panel is there from the start */
    char
        states[KL_CONFIG_PATH_MAX]; /* folder for the last hashed states at a desync; "": they are not kept */
    bool hotkeys_set;
    char hotkeys[KL_CONFIG_HOTKEYS_MAX]; /* a list as hotkeys.h has it, or "off" */
};

/* Fills in the defaults, then what the file (system_dir NULL or no file: nothing) and the environment say.
 * 0, or -1 with one line in err that names the key, what was expected and what came. */
int kl_config_read(struct kl_config *c, const char *system_dir, char *err, size_t err_len);

/* "strict", "bounded", "optimistic" as a number of enum kl_policy. False for anything else. */
bool kl_config_policy(const char *name, uint8_t *out);
const char *kl_config_policy_name(uint8_t policy);
/* "alone", "quick", "room", "spectate"; "on", "off". False for anything else, and nothing changes. */
bool kl_config_mode(const char *name, enum kl_play_mode *out);
bool kl_config_practice(const char *name, enum kl_practice *out);

/* "heal", "pause", "ignore" as a number of enum kl_desync_policy. False for anything else. */
bool kl_config_desync(const char *name, uint8_t *out);

/* The same for one key (without KEYLOCK_, small letters). -2 for a key that does not exist. */
int kl_config_set(struct kl_config *c, const char *key, const char *value, char *err, size_t err_len);

/* After the last key: what goes together is known only then. 0, or -1 with a line in err. */
int kl_config_settle(struct kl_config *c, char *err, size_t err_len);

/* "…/fbneo_keylock_libretro.so" wraps "fbneo_libretro.so". False where the name says nothing. */
bool kl_config_core_from_file_name(const char *wrapper_path, char *out, size_t cap);

#endif

/* hotkeys.h - commands by the pad: one button held, another pressed.
 *
 * A list "HOLD+PRESS:COMMAND,…" of buttons (KL_HOTKEYS_BUTTONS) and commands as command_words.h has them
 * ("pause" resumes a paused room), or "off". A comma ends a command if another hot key follows it. The first
 * button counts after it has been held for KL_HOTKEYS_HOLD_US; earlier presses go to the game. The game
 * still sees the held button, but not the button pressed with it, until that one is released. All of this
 * happens before sampling, so other players see only the effect of the command.
 *
 * "leave" ends the player's match, so both its buttons are to be held for KL_HOTKEYS_LEAVE_US: letting go of
 * one of them is a change of mind.
 *
 * "talk" is for push to talk alone: without that its buttons are the game's. The game sees neither of both
 * buttons while they are held. "talk" may have one key of the keyboard as well: "KEY:talk".
 *
 * Pure: time and pads come in. */
#ifndef KLW_HOTKEYS_H
#define KLW_HOTKEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/engine/engine.h"

#define KL_HOTKEYS_MAX      16
#define KL_HOTKEYS_WORDS    128 /* bytes of a command, NUL included */
#define KL_HOTKEYS_NAME     48  /* bytes of a key's name, NUL included */
#define KL_HOTKEYS_HOLD_US  400000
#define KL_HOTKEYS_LEAVE_US 2000000
#define KL_HOTKEYS_BUTTONS  "b y select start up down left right a x l r l2 r2 l3 r3"
#define KL_HOTKEYS_DEFAULT                                                                                   \
    "select+r:panel,select+l:pause,select+x:again,select+y:next,select+r2:save,select+l2:load,select+r3:"    \
    "reset,"                                                                                                 \
    "select+l3:swap,select+a:chat,select+b:leave,select+up:say Hello!,select+down:say One moment.,"          \
    "select+left:say Well played!,select+right:ahead,select+start:talk,rctrl:talk"
#define KL_HOTKEYS_KEYS                                                                                      \
    "a to z, 0 to 9, tab, capslock, insert, delete, home, end, pageup, pagedown, lshift, lctrl, rctrl, "     \
    "lalt, ralt"

struct kl_hotkey {
    uint8_t hold, press; /* RETRO_DEVICE_ID_JOYPAD_* */
    bool leaves, talks;  /* its command is "leave", "talk" */
    char words[KL_HOTKEYS_WORDS];
};

struct kl_hotkeys {
    struct kl_hotkey key[KL_HOTKEYS_MAX];
    unsigned count;
    bool push_to_talk; /* by the caller */
    uint16_t talk_key; /* RETROK_*, a key for "talk"; 0: none */
    struct kl_hotkeys_pad {
        uint16_t was, hidden;           /* buttons down at the last poll; those that the game does not see */
        uint64_t since_us[16];          /* each went down */
        const struct kl_hotkey *leaves; /* the hot key that is being held to leave; NULL: none */
    } pad[KL_MAX_SEATS];
};

/* Returns 0, or -1 with a line in err that names the expected and the actual value; k then has no hot
 * keys. */
int kl_hotkeys_parse(struct kl_hotkeys *k, const char *list, char *err, size_t err_len);

/* The first hot key with these words, for people; NULL if there is none. */
const struct kl_hotkey *kl_hotkeys_find(const struct kl_hotkeys *k, const char *words);
/* Its buttons, with a word between: "Select+X"; "" for NULL. */
void kl_hotkeys_name(const struct kl_hotkey *h, const char *between, char out[KL_HOTKEYS_NAME]);
/* The keys that RetroArch has for these two buttons of a keyboard, unless the player has changed them: "right
 * Shift+S"; "" if it has none. */
void kl_hotkeys_typed(const struct kl_hotkey *h, const char *between, char out[KL_HOTKEYS_NAME]);

/* Takes the polled pad of a port; returns the game's part of it. *words: the command of a hot key that was
 * just pressed, borrowed from k; else NULL. */
uint16_t kl_hotkeys_filter(struct kl_hotkeys *k, unsigned port, uint16_t pad, uint64_t now_us,
                           const char **words);

/* All that is to be held for "talk": "Select+Start or rctrl"; "" if nothing is. */
void kl_hotkeys_talk_name(const struct kl_hotkeys *k, char out[KL_HOTKEYS_NAME]);

/* True while the buttons of a hot key with these words are held. */
bool kl_hotkeys_held(const struct kl_hotkeys *k, const char *words);

/* How long the hot key for leaving must still be held, if it is being held; 0: it is not. */
uint64_t kl_hotkeys_leave_us(const struct kl_hotkeys *k, uint64_t now_us);

#endif

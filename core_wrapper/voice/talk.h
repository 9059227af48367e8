/* talk.h - the player's voice: one thread between microphone, loudspeaker and the room's packets.
 *
 * The thread is there while the player has voice on. It opens the microphone while somebody can hear it, and
 * no longer. All calls here return within microseconds, but kl_talk_close(). */
#ifndef KLW_TALK_H
#define KLW_TALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core_wrapper/voice/sound.h"
#include "net/transport/voice_box.h"

#define KL_TALK_ERROR    160 /* bytes of a reason */
#define KL_TALK_LEFT_MS  500 /* after that a thread that hangs is left behind */
#define KL_TALK_RETRY_US 5000000
#define KL_TALK_GIVES_US 2000000 /* an open microphone has given something by then */
#define KL_TALK_KEY_US   500000 /* a pushed key that is not said again counts no longer: a menu may be open */

struct kl_talk;

struct kl_talk_setup {
    const struct kl_sound *sound; /* kl_sound_open(): lives as long as the library */
    const char *in, *out;         /* files in place of devices; "": none. Copied */
    struct kl_voice_box *box;     /* one more holder is taken */
};

/* NULL with a line in err: no memory, no thread. */
struct kl_talk *kl_talk_open(const struct kl_talk_setup *setup, char *err, size_t err_len);
/* Ends it. Waits KL_TALK_LEFT_MS at most: a thread that hangs in a sound library is left behind, with this
 * library loaded. NULL is allowed. */
void kl_talk_close(struct kl_talk *t);

struct kl_talk_wish {
    uint16_t muted;                /* clients that are not to be heard */
    int8_t louder[KL_MAX_CLIENTS]; /* speakers.h */
    bool by_key;                   /* push to talk: speech is what is said while: */
    bool key_pushed;               /* ; else what is louder than the room */
};
/* Sound of the game goes to the frontend, with the voices if there is no sound device: the filter of audio.h.
 * talk is a struct kl_talk. */
const int16_t *kl_talk_game(void *talk, const int16_t *stereo, size_t *frames, double rate);
/* In each turn. */
void kl_talk_wish(struct kl_talk *t, const struct kl_talk_wish *wish);

struct kl_talk_news {
    bool open;    /* the devices are, or in their place: */
    bool in_game; /* voices come with the game's sound, and there is no microphone */
    char error
        [KL_TALK_ERROR]; /* the reason for in_game; if nothing is open, why there is no voice; "": none */
    char plain[KL_TALK_ERROR]; /* the reason why the microphone's sound is not cleaned; "": it is */
    bool listens;              /* the microphone is open */
    bool silent;               /* and gives nothing: it is not allowed, suspended or unplugged */
    bool speaks;               /* the player does */
    double level_db;           /* of the microphone: -96 to 0 */
    uint16_t heard;            /* clients that speak now */
    uint64_t listens_since_us, plays_since_us; /* kl_now_us() of their first samples */
    struct kl_voice_news room;
};
void kl_talk_news(struct kl_talk *t, struct kl_talk_news *out);

#endif

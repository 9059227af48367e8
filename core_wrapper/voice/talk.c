#include "core_wrapper/voice/talk.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core_wrapper/voice/activity.h"
#include "core_wrapper/voice/clean.h"
#include "core_wrapper/voice/rate.h"
#include "core_wrapper/voice/sound_game.h"
#include "core_wrapper/voice/speakers.h"
#include "net/platform/clock.h"
#include "net/platform/file.h"
#include "net/platform/library.h"
#include "net/platform/thread.h"

#define TURN_US 10000 /* a device that has something wakes the thread sooner */
#define NEWS_US 100000
#define RARELY  10 /* to try the devices takes one part of so many of the time, at most */

struct kl_talk {
    struct kl_thread thread;
    struct kl_mutex mutex; /* of all up to the empty line */
    struct kl_cond changed;
    bool stop, ended;
    struct kl_talk_wish wish;
    uint64_t wished_us;
    struct kl_talk_news news;
    struct kl_talk *left_before; /* another one that was left behind */

    _Atomic(struct kl_clean *) clean; /* NULL: the microphone's sound stays as it is */
    struct kl_game_sound *game;       /* for a machine without devices */

    /* The thread's own. */
    const struct kl_sound *first, *sound; /* to be tried; opened */
    void *device;                         /* NULL: not open */
    uint64_t try_us;                      /* then the devices are tried again */
    char in[KL_FILE_PATH], out[KL_FILE_PATH];
    struct kl_voice_box *box;
    uint64_t asked_us; /* for the box's news */
    struct kl_talk_wish want;
    struct kl_talk_news now;
    struct kl_encoder *encoder;
    bool copies; /* packets of others get lost on their ways: ours may, too */
    struct kl_speakers speakers;
    struct kl_activity activity;
    struct kl_rate down, up;           /* of the microphone, of the loudspeaker */
    int16_t sample[2 * KL_CODEC_UNIT]; /* of the microphone */
    size_t count;
    uint16_t number;  /* of the unit that they begin */
    uint64_t gave_us; /* the microphone gave something, or was opened */
};

/* --- the microphone --- */

static void listen(struct kl_talk *t, bool on) {
    if (on == t->now.listens) return;
    t->sound->listen(t->device, on);
    t->now.listens = on;
    t->now.listens_since_us = t->gave_us = kl_now_us();
    t->now.speaks = t->now.silent = false;
    t->count = 0;
    kl_rate_begin(&t->down);
    if (t->clean && on) kl_clean_begin(t->clean);
}

/* The unit in which speech ends is the last of the spurt. */
static void say_unit(struct kl_talk *t) {
    struct kl_voice v = {.number = t->number};
    if (t->copies != kl_speakers_miss(&t->speakers)) {
        t->copies = !t->copies;
        kl_encoder_copies(t->encoder, t->copies);
    }
    bool was = t->now.speaks, loud = kl_activity_unit(&t->activity, t->sample, t->count);
    t->now.level_db = t->activity.level_db;
    t->now.speaks = t->want.by_key ? t->want.key_pushed : loud;
    t->number = (uint16_t)(t->number + t->count / KL_CODEC_UNIT);
    if (!was && !t->now.speaks) return;
    if (!was) kl_encoder_reset(t->encoder);
    v.len = (uint8_t)kl_encoder_packet(t->encoder, t->sample, t->count, v.bytes, KL_VOICE_BYTES);
    if (!t->now.speaks) v.flags = KL_VOICE_LAST;
    if (v.len || v.flags) kl_voice_box_say(t->box, &v);
}

/* A microphone that gives nothing is opened anew now and then. */
static void mind_silence(struct kl_talk *t, uint64_t now_us) {
    uint64_t most_us = t->now.silent ? KL_TALK_RETRY_US : KL_TALK_GIVES_US;
    if (!t->now.listens || now_us < t->gave_us + most_us) return;
    t->now.silent = true;
    t->now.speaks = false;
    t->gave_us = now_us;
    t->sound->listen(t->device, true);
}

/* False: the devices are gone. */
static bool capture(struct kl_talk *t, uint64_t now_us) {
    size_t want = t->now.room.economy ? 2 * KL_CODEC_UNIT : KL_CODEC_UNIT;
    int16_t piece[KL_SOUND_PIECE];
    int got;
    listen(t, t->now.room.why == KL_VOICE_HEARD && t->sound->listen);
    mind_silence(t, now_us);
    while (t->now.listens && (got = t->sound->read(t->device, piece)) != 0) {
        if (got < 0) return false;
        t->gave_us = now_us;
        t->now.silent = false;
        kl_rate_down(&t->down, piece, t->sample + t->count);
        if (t->clean) kl_clean_sound(t->clean, t->sample + t->count);
        t->count += KL_CODEC_PIECE;
        if (t->count < want) continue;
        say_unit(t);
        t->count = 0;
    }
    return true;
}

/* --- the loudspeaker --- */

static bool play(struct kl_talk *t, uint64_t now_us) {
    int16_t voices[KL_CODEC_PIECE], piece[KL_SOUND_PIECE];
    struct kl_voice v;
    uint64_t arrived_us;
    while (kl_voice_box_next(t->box, &v, &arrived_us))
        kl_speakers_packet(&t->speakers, &v, arrived_us);
    int room = t->sound->room(t->device);
    if (room > 0 && !t->now.plays_since_us) t->now.plays_since_us = now_us;
    for (int i = 0; i < room; i++) {
        uint64_t at_us = now_us + (uint64_t)i * KL_SOUND_PIECE_US;
        memcpy(t->speakers.louder, t->want.louder, sizeof t->speakers.louder);
        t->now.heard = kl_speakers_mix(&t->speakers, at_us, voices);
        kl_rate_up(&t->up, voices, piece);
        t->sound->write(t->device, piece);
        if (t->clean && t->now.listens) kl_clean_voices(t->clean, voices);
    }
    return room >= 0;
}

/* --- the thread --- */

static void close_device(struct kl_talk *t) {
    if (t->device) t->sound->close(t->device);
    t->device = NULL;
    t->now.open = t->now.in_game = t->now.listens = t->now.silent = t->now.speaks = false;
    t->now.heard = 0;
    t->now.plays_since_us = 0;
    kl_voice_box_hear(t->box, false, 0);
}

static void use_device(struct kl_talk *t, const struct kl_sound *sound, void *device) {
    if (t->device) t->sound->close(t->device);
    t->sound = sound;
    t->device = device;
    t->now.open = true;
    t->now.in_game = device == t->game;
    t->now.plays_since_us = 0;
    kl_rate_begin(&t->up);
}

/* False, with a line in now.error: no device opens. A device that went soon is no better. */
static bool try_device(struct kl_talk *t, const struct kl_sound **sound, void **device) {
    uint64_t from_us = kl_now_us();
    if (from_us < t->try_us) {
        snprintf(t->now.error, sizeof t->now.error, "the sound devices are gone");
        return false;
    }
    int error = kl_sound_open(sound, device, t->in, t->out, t->now.error, sizeof t->now.error);
    uint64_t now_us = kl_now_us(), rest_us = (now_us - from_us) * RARELY;
    t->try_us = now_us + (rest_us > KL_TALK_RETRY_US ? rest_us : KL_TALK_RETRY_US);
    return error == 0;
}

/* Without a device voices come with the game's sound. It gets none while a library keeps this thread waiting,
 * so a try that takes long comes rarely. */
static void open_device(struct kl_talk *t) {
    const struct kl_sound *sound = t->first;
    void *device;
    if (try_device(t, &sound, &device)) {
        t->now.error[0] = 0;
        use_device(t, sound, device);
    } else if (!t->device) {
        kl_game_sound_open(t->game);
        use_device(t, &kl_sound_game, t->game);
    }
}

/* A pause of the speakers is waited for, not for ever. */
static bool wants_device(const struct kl_talk *t, uint64_t now_us) {
    if (!t->device) return true;
    return t->now.in_game && now_us >= t->try_us + (t->now.heard ? KL_TALK_RETRY_US : 0);
}

/* Hands the news over and takes the wish. False: it is to end. */
static bool meet(struct kl_talk *t, uint64_t wait_until_us) {
    kl_mutex_lock(&t->mutex);
    t->news = t->now;
    while (!t->stop && wait_until_us && kl_cond_wait_until(&t->changed, &t->mutex, wait_until_us)) {
    }
    t->want = t->wish;
    if (kl_now_us() - t->wished_us > KL_TALK_KEY_US) t->want.key_pushed = false;
    bool goes_on = !t->stop;
    kl_mutex_unlock(&t->mutex);
    return goes_on;
}

static void ask_room(struct kl_talk *t, uint64_t now_us) {
    if (t->asked_us && now_us - t->asked_us < NEWS_US) return;
    t->asked_us = now_us;
    kl_voice_box_hear(t->box, true, (uint16_t)~t->want.muted);
    kl_voice_box_news(t->box, &t->now.room);
}

static void turn(struct kl_talk *t) {
    uint64_t now_us = kl_now_us();
    ask_room(t, now_us);
    if (capture(t, now_us) && play(t, now_us))
        t->sound->wait(t->device, now_us + TURN_US);
    else
        close_device(t);
}

static void run(void *arg) {
    struct kl_talk *t = arg;
    bool can = kl_codec_load(t->now.error, sizeof t->now.error) == 0;
    t->encoder = can ? kl_encoder_new() : NULL;
    if (can && !t->encoder) snprintf(t->now.error, sizeof t->now.error, "no memory");
    t->clean = can ? kl_clean_new(t->now.plain, sizeof t->now.plain) : NULL;
    bool rests = false;
    while (meet(t, rests ? kl_now_us() + KL_TALK_RETRY_US : 0)) {
        rests = !t->encoder;
        if (rests) continue;
        if (wants_device(t, kl_now_us()))
            open_device(t);
        else
            turn(t);
    }
    close_device(t);
    kl_speakers_free(&t->speakers);
    kl_encoder_free(t->encoder);
    kl_voice_box_drop(t->box);
    kl_clean_free(t->clean);
    kl_mutex_lock(&t->mutex);
    t->ended = true;
    kl_cond_wake(&t->changed);
    kl_mutex_unlock(&t->mutex);
}

static void free_talk(struct kl_talk *t) {
    if (!t) return;
    kl_game_sound_free(t->game);
    free(t);
}

struct kl_talk *kl_talk_open(const struct kl_talk_setup *setup, char *err, size_t err_len) {
    struct kl_talk *t = calloc(1, sizeof *t);
    if (t) t->game = kl_game_sound_new();
    if (!t || !t->game) {
        free_talk(t);
        snprintf(err, err_len, "no memory");
        return NULL;
    }
    t->first = setup->sound;
    snprintf(t->in, sizeof t->in, "%s", setup->in);
    snprintf(t->out, sizeof t->out, "%s", setup->out);
    t->box = kl_voice_box_hold(setup->box);
    int error = kl_thread_start(&t->thread, "keylock-voice", run, t);
    if (!error) return t;
    snprintf(err, err_len, "no thread: %s", strerror(error));
    kl_voice_box_drop(t->box);
    free_talk(t);
    return NULL;
}

static bool has_ended(struct kl_talk *t) {
    kl_mutex_lock(&t->mutex);
    bool ended = t->ended;
    kl_mutex_unlock(&t->mutex);
    return ended;
}

/* The thread's memory stays while it hangs, and this library for good. Threads that were left before and have
 * ended go. */
static void leave_behind(struct kl_talk *t) {
    static struct kl_talk *left;
    static const char here = 0;
    char path[KL_FILE_PATH], err[256];
    if (kl_library_file_of(&here, path, sizeof path)) (void)kl_library_open(path, err, sizeof err);
    for (struct kl_talk **at = &left, *old; (old = *at);) {
        if (!has_ended(old)) {
            at = &old->left_before;
            continue;
        }
        *at = old->left_before;
        kl_thread_join(&old->thread);
        free_talk(old);
    }
    t->left_before = left;
    left = t;
}

void kl_talk_close(struct kl_talk *t) {
    if (!t) return;
    uint64_t until_us = kl_now_us() + KL_TALK_LEFT_MS * 1000;
    kl_mutex_lock(&t->mutex);
    t->stop = true;
    kl_cond_wake(&t->changed);
    while (!t->ended && kl_cond_wait_until(&t->changed, &t->mutex, until_us)) {
    }
    bool ended = t->ended;
    kl_mutex_unlock(&t->mutex);
    if (!ended) {
        leave_behind(t);
        return;
    }
    kl_thread_join(&t->thread);
    free_talk(t);
}

const int16_t *kl_talk_game(void *talk, const int16_t *stereo, size_t *frames, double rate) {
    struct kl_talk *t = talk;
    struct kl_clean *clean = t->clean;
    const int16_t *sound = kl_game_sound_mix(t->game, stereo, frames, rate);
    if (clean) kl_clean_game(clean, stereo, *frames, rate);
    return sound;
}

void kl_talk_wish(struct kl_talk *t, const struct kl_talk_wish *wish) {
    kl_mutex_lock(&t->mutex);
    t->wish = *wish;
    t->wished_us = kl_now_us();
    kl_mutex_unlock(&t->mutex);
}

void kl_talk_news(struct kl_talk *t, struct kl_talk_news *out) {
    kl_mutex_lock(&t->mutex);
    *out = t->news;
    kl_mutex_unlock(&t->mutex);
}

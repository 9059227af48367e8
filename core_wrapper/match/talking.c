#include "core_wrapper/match/talking.h"

#include <stdio.h>
#include <string.h>

#include "core_wrapper/match/control.h"
#include "core_wrapper/match/match.h"
#include "net/platform/process.h"

#define TOLD_MS 4000

/* The reason for which nobody hears the player; "": somebody does; NULL: it will show in a moment. */
static const char *why_not(const struct kl_talk_news *n) {
    switch (n->room.why) {
    case KL_VOICE_NO_KEY: return "no memory for the room's key";
    case KL_VOICE_FORBIDDEN: return "the host allows no voice";
    case KL_VOICE_WATCHING: return "you watch";
    case KL_VOICE_NOBODY: return "nobody else has voice on";
    case KL_VOICE_HEARD:
        return n->in_game ? "no microphone" : n->silent ? "the microphone gives no sound" : "";
    case KL_VOICE_NO_ROOM:
    case KL_VOICE_OFF:
    case KL_VOICE_ASKING: break;
    }
    return NULL;
}

/* --- on and off --- */

/* Files in place of devices are for tests: without a screen. */
static const char *file_of(struct kl_match *m, const char *variable) {
    const char *path = m->emu.runner ? kl_environment_get(variable) : NULL;
    return path ? path : "";
}

static void switch_on(struct kl_match *m) {
    struct kl_talking *t = &m->join.talking;
    struct kl_talk_setup setup = {
        .box = t->box, .in = file_of(m, "KEYLOCK_VOICE_IN"), .out = file_of(m, "KEYLOCK_VOICE_OUT")};
    bool files = *setup.in || *setup.out;
    char err[KL_TALK_ERROR];
    setup.sound = files ? &kl_sound_files : KL_SOUND_DEVICES;
    memset(&t->told, 0, sizeof t->told);
    t->talk = kl_talk_open(&setup, err, sizeof err);
    if (t->talk) return;
    t->failed = true;
    kl_frontend_say(&m->front, KL_SCREEN_WARNING, TOLD_MS, "no voice: %s", err);
}

static void switch_off(struct kl_match *m) {
    struct kl_talking *t = &m->join.talking;
    m->emu.audio.filter = NULL;
    m->emu.latch.own_key = 0;
    kl_talk_close(t->talk);
    t->talk = NULL;
    t->failed = false;
    memset(&t->news, 0, sizeof t->news);
}

/* --- news --- */

static void tell_devices(struct kl_match *m) {
    struct kl_talking *t = &m->join.talking;
    const struct kl_talk_news *n = &t->news;
    if (n->plays_since_us && n->plays_since_us != t->told.plays_since_us)
        kl_frontend_log(&m->front, "voice plays since_us=%llu", (unsigned long long)n->plays_since_us);
    if (n->listens && !t->told.listens)
        kl_frontend_log(&m->front, "voice listens since_us=%llu", (unsigned long long)n->listens_since_us);
    if (n->listens && !t->told.listens && *n->plain)
        kl_frontend_log(&m->front, "voice: echo and noise stay: %s", n->plain);
    if (!n->listens && t->told.listens) kl_frontend_log(&m->front, "voice listens no longer");
    t->told.plays_since_us = n->plays_since_us;
    t->told.listens = n->listens;
    if (*n->error && strcmp(n->error, t->told.error) != 0) {
        kl_frontend_log(&m->front, "no %s: %s", n->in_game ? "sound device" : "voice", n->error);
        if (!n->open)
            kl_frontend_say(&m->front, KL_SCREEN_WARNING, TOLD_MS, "no voice: the library Opus is missing");
    }
    memcpy(t->told.error, n->error, sizeof t->told.error);
    if (n->in_game && !t->told.in_game)
        kl_frontend_say(&m->front, KL_SCREEN_WARNING, TOLD_MS,
                        "no sound device: voices come with the game's sound");
    t->told.in_game = n->in_game;
}

static void tell_heard(struct kl_match *m) {
    char key[KL_HOTKEYS_NAME];
    kl_control_talk_name(m, key);
    if (m->config.voice == KL_SPEAK_ON)
        kl_frontend_say(&m->front, KL_SCREEN_INFO, TOLD_MS, "your microphone is on: the others hear you");
    else if (*key)
        kl_frontend_say(&m->front, KL_SCREEN_INFO, TOLD_MS, "you are heard while you hold %s", key);
    else
        kl_frontend_say(&m->front, KL_SCREEN_WARNING, TOLD_MS, "push to talk: no hot key is set for `talk`");
}

static void tell_hearers(struct kl_match *m) {
    struct kl_talking *t = &m->join.talking;
    const char *why = why_not(&t->news);
    if (!why || !t->news.open || (t->told.why && strcmp(why, t->told.why) == 0)) return;
    if (*why)
        kl_frontend_say(&m->front, KL_SCREEN_INFO, TOLD_MS, "nobody hears you: %s", why);
    else
        tell_heard(m);
    t->told.why = why;
}

void kl_talking_turn(struct kl_match *m) {
    struct kl_talking *t = &m->join.talking;
    struct kl_talk_wish wish = {
        .muted = t->muted, .by_key = m->config.voice == KL_SPEAK_PUSH, .key_pushed = kl_control_talks(m)};
    if (m->config.voice && !t->talk && t->box && !t->failed) switch_on(m);
    if (!m->config.voice) switch_off(m);
    if (!t->talk) return;
    m->emu.audio.filter = kl_talk_game;
    m->emu.audio.filter_ctx = t->talk;
    m->emu.latch.own_key = kl_control_talk_key(m);
    memcpy(wish.louder, t->louder, sizeof wish.louder);
    kl_talk_wish(t->talk, &wish);
    kl_talk_news(t->talk, &t->news);
    tell_devices(m);
    tell_hearers(m);
}

/* A bar for 10 dB, from -60 on. */
static int level_of(double db) {
    int bars = (int)((db + 60) / 10);
    return bars < 0 ? 0 : bars > KL_PANEL_LEVELS ? KL_PANEL_LEVELS : bars;
}

void kl_talking_show(struct kl_match *m, struct kl_panel *p) {
    const struct kl_talk_news *n = &m->join.talking.news;
    const struct kl_roster *r = &m->status.roster;
    unsigned at = 0;
    for (unsigned i = 0; i < r->count && i < KL_MAX_CLIENTS && at < p->count; i++) {
        if (r->member[i].state == KL_MEMBER_GONE) continue;
        struct kl_panel_member *member = &p->member[at++];
        member->speaks = member->you ? n->speaks && n->listens : n->heard >> r->member[i].client & 1;
    }
    const char *why = why_not(n);
    p->voice = m->join.talking.talk;
    p->level = n->listens && !n->silent ? level_of(n->level_db) : -1;
    p->voice_why = !n->open && *n->error ? "Opus is missing" : why ? why : "";
}

/* --- commands --- */

int kl_talking_switch(struct kl_match *m, const char *how, char *answer, size_t cap) {
    if (kl_config_set(&m->config, "voice", how, answer, cap) != 0) return -1;
    snprintf(answer, cap, "voice is %s", m->config.voice == KL_SPEAK_PUSH ? "on, by push to talk" : how);
    return 0;
}

int kl_talking_key(struct kl_match *m, char *answer, size_t cap) {
    bool push = m->config.voice == KL_SPEAK_PUSH;
    snprintf(answer, cap, push ? "you are heard while you hold the keys" : "expected voice push, it is %s",
             m->config.voice == KL_SPEAK_OFF ? "off" : "on");
    return push ? 0 : -1;
}

bool kl_talking_mute(struct kl_match *m, unsigned client) {
    m->join.talking.muted ^= (uint16_t)(1u << client);
    return m->join.talking.muted >> client & 1;
}

void kl_talking_volume(struct kl_match *m, unsigned client, unsigned percent) {
    m->join.talking.louder[client] = (int8_t)((int)percent - 100);
}

/* --- the link --- */

struct kl_voice_box *kl_talking_joins(struct kl_match *m) {
    kl_talking_leave(m);
    m->join.talking.box = kl_voice_box_new();
    return m->join.talking.box;
}

void kl_talking_leave(struct kl_match *m) {
    switch_off(m);
    kl_voice_box_drop(m->join.talking.box);
    m->join.talking.box = NULL;
    m->join.talking.muted = 0;
    memset(m->join.talking.louder, 0, sizeof m->join.talking.louder);
}

#include "core_wrapper/match/join.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "core_wrapper/match/control.h"
#include "core_wrapper/start/identity.h"
#include "core_wrapper/match/invite.h"
#include "core_wrapper/words/own_options.h"
#include "core_wrapper/match/room_name.h"
#include "core_wrapper/match/learn.h"
#include "core_wrapper/match/room_profile.h"
#include "core_wrapper/start/seat_file.h"
#include "core_wrapper/start/start.h"
#include "net/session/identity.h"
#include "net/session/known.h"
#include "net/session/url.h"

static struct {
    struct kl_link_config config;
    struct kl_seat_file seat;
    bool back; /* the link began with a seat that was left behind */
    bool invited;
    struct kl_url game; /* core and game of the invitation; read once, as `read_game` says */
    bool read_game;
} j = {.seat.lock.handle = -1};

/* ---- our own description ---- */

static void player_name(char *out, size_t cap) {
    const char *front = NULL, *user = getenv("USER");
    if (!kl_w.front.environment(RETRO_ENVIRONMENT_GET_USERNAME, &front) || !front || !*front) front = NULL;
    const char *name = *kl_w.config.name ? kl_w.config.name : front ? front : user && *user ? user : "player";
    snprintf(out, cap, "%s", name);
    for (char *p = out; *p; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f) *p = '_';
    size_t len = strlen(out);
    while (len && !kl_start_text_ok(out, cap))
        out[--len] = 0; /* cut within a character, or not UTF-8 */
    if (!len) strcpy(out, "player");
}

/* The menu must be there before it is asked. */
static void follow_wishes(struct kl_params *p) {
    if (!kl_w.emu.told.options) kl_own_options_alone(kl_w.front.environment);
    kl_w.emu.told.options = true;
    if (p->clocked) kl_control_wish(p, &kl_w.config);
}

bool kl_join_any_version(void) {
    return kl_w.config.other_version && !kl_w.config.quick;
}

static void fill_hello(struct kl_hello *hello, bool any_version) {
    struct retro_system_info info = {0};
    memset(hello, 0, sizeof *hello);
    kl_w.emu.core.get_system_info(&info);
    player_name(hello->name, sizeof hello->name);
    snprintf(hello->room, sizeof hello->room, "%s", kl_w.config.room);
    hello->seats_wanted = kl_w.config.seats;
    hello->params = kl_w.config.params;
    follow_wishes(&hello->params);
    hello->params.fps_uhz = kl_emulator_fps_uhz(kl_w.emu.av.timing.fps);
    hello->door =
        (uint8_t)((kl_w.config.unlisted ? KL_DOOR_UNLISTED : 0) | (kl_w.config.let_go ? KL_DOOR_LET_GO : 0) |
                  (kl_w.config.once ? KL_DOOR_ONCE : 0) | (kl_w.config.quick ? KL_DOOR_QUICK : 0) |
                  (kl_w.config.seated ? KL_DOOR_SEAT : 0));
    hello->consent = kl_w.config.consent;
    hello->seat_time_s = kl_w.config.seat_time_s;
    if (any_version)
        kl_identity_any_version(&hello->facts, &info);
    else
        kl_identity_core(&hello->facts, &info);
    kl_identity_content(&hello->facts, &kl_w.emu.content);
}

void kl_join_room(char out[KL_NAME_MAX], unsigned nth) {
    struct kl_facts facts = {0};
    struct retro_system_info info = {0};
    kl_w.emu.core.get_system_info(&info);
    kl_identity_content(&facts, &kl_w.emu.content);
    kl_room_name(out, info.library_name ? info.library_name : "", &facts, *kl_w.config.password, nth);
}

void kl_join_identity(uint8_t out[16]) {
    static struct kl_hello hello;
    fill_hello(&hello, false); /* quick matches look for it */
    kl_identity(&hello.facts, out);
}

/* ---- the network thread asks and tells ---- */

/* A relay that the user named: the key that it had at first use, or none. */
static int trust(void *ctx, const uint8_t pub[32], char *err, size_t err_len) {
    char dir[KL_FILE_PATH];
    (void)ctx;
    if (kl_state_folder(NULL, dir, err, err_len) != 0) return -1;
    return kl_known_check(dir, kl_w.config.host, kl_w.config.port, pub, err, err_len) < 0 ? -1 : 0;
}

static void welcomed(void *ctx, const struct kl_welcome *w) {
    char err[256];
    (void)ctx;
    if (kl_seat_file_keep(&j.seat, w->token, err, sizeof err) != 0) fprintf(stderr, "[Keylock] %s\n", err);
}

/* ---- coming and going ---- */

/* Without a file the seat is lost with the process; the game is not. */
static void open_seat(void) {
    uint8_t id[KL_SEAT_FILE_ID];
    char dir[KL_FILE_PATH], err[256];
    kl_seat_file_id(id, kl_w.config.host, kl_w.config.port, &j.config.hello);
    if (kl_state_folder("seats", dir, err, sizeof err) == 0 &&
        kl_seat_file_open(&j.seat, dir, id, err, sizeof err) == 0)
        return;
    kl_seat_make(&j.seat.key);
    kl_screen_log(&kl_w.screen, kl_w.front.environment, "a restart would lose this seat: %s", err);
}

static bool open_link(void) {
    char err[KLW_TEXT_MAX];
    const struct kl_config *c = &kl_w.config;
    j.back = j.seat.left;
    j.config.host = c->host;
    j.config.port = c->port;
    j.config.fingerprint = *c->fingerprint ? c->fingerprint : NULL;
    j.config.insecure_lan = c->insecure_lan;
    j.config.sparing = c->sparing;
    j.config.password = *c->password ? c->password : NULL;
    j.config.seat = j.seat.key;
    j.config.fresh = j.back;
    memcpy(j.config.token, j.seat.token, sizeof j.config.token);
    j.config.trust = trust;
    j.config.welcomed = welcomed;
    if (kl_link_open(&kl_w.link, &j.config, err, sizeof err) == 0) return true;
    kl_wrapper_fail("cannot join the room: %s", err);
    return false;
}

bool kl_join_open(void) {
    j.invited = j.read_game = false;
    memset(&j.game, 0, sizeof j.game);
    fill_hello(&j.config.hello, kl_join_any_version());
    if (!kl_room_profile_find(&j.config.hello.facts)) return false;
    kl_room_profile_wish(&j.config.hello.params);
    open_seat();
    if (j.seat.left)
        kl_screen_log(&kl_w.screen, kl_w.front.environment,
                      "this machine has a seat of an earlier run: taking it again");
    if (open_link()) {
        kl_learn_begin();
        return true;
    }
    kl_join_close(false);
    return false;
}

bool kl_join_anew(void) {
    if (!j.back || kl_w.status.refused != KL_REFUSE_SEAT) return false;
    kl_screen_log(&kl_w.screen, kl_w.front.environment, "%s: joining as a new player", kl_w.status.reason);
    kl_link_close(kl_w.link, 0);
    kl_w.link = NULL;
    kl_seat_file_renew(&j.seat);
    return open_link();
}

bool kl_join_write_link(char *out, size_t cap, const char *fingerprint) {
    const struct kl_config *c = &kl_w.config;
    bool other = *c->reached_host;
    struct kl_url url = {.port = 0};
    if (!kl_w.link || !kl_w.status.welcome.host) return false;
    if (*fingerprint && !j.read_game) {
        kl_invite_game(&j.game, kl_w.emu.core.path, &kl_w.emu.content);
        j.read_game = true;
    }
    if (*fingerprint) url = j.game;
    url.port = other ? c->reached_port : c->port;
    if (url.port == KL_DEFAULT_PORT) url.port = 0;
    snprintf(url.host, sizeof url.host, "%.*s", KL_URL_HOST_MAX, other ? c->reached_host : c->host);
    snprintf(url.room, sizeof url.room, "%s", kl_w.config.room);
    snprintf(url.fingerprint, sizeof url.fingerprint, "%s", fingerprint);
    return kl_url_write(&url, out, cap) == 0;
}

void kl_join_invite(void) {
    char link[KL_URL_MAX + 1];
    if (j.invited || !kl_w.config.invite || kl_w.status.phase < KL_STAY_WAITING) return;
    j.invited = true;
    if (!kl_join_write_link(link, sizeof link, kl_w.status.fingerprint)) return;
    fprintf(stderr, "Friends join this room with this link:\n  %s\n", link);
}

void kl_join_link(char *out, size_t cap) {
    bool waiting = kl_w.status.phase == KL_STAY_WAITING || kl_w.status.phase == KL_STAY_SEND_START;
    if (!waiting || !kl_join_write_link(out, cap, "")) *out = 0;
}

void kl_join_close(bool forget) {
    kl_learn_end();
    kl_seat_file_close(&j.seat, forget);
    sodium_memzero(&j.config.seat, sizeof j.config.seat);
}

#include "core_wrapper/match/join.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <zlib.h>

#include "core_wrapper/env/reload.h"
#include "core_wrapper/match/control.h"
#include "core_wrapper/match/room_profile.h"
#include "core_wrapper/match/match.h"
#include "core_wrapper/match/wanted_room.h"
#include "core_wrapper/match/run_ahead.h"
#include "core_wrapper/match/state.h"
#include "core_wrapper/match/take_over.h"
#include "core_wrapper/match/talking.h"
#include "core_wrapper/start/identity.h"
#include "core_wrapper/start/seat_file.h"
#include "core_wrapper/start/start.h"
#include "core_wrapper/words/own_options.h"
#include "net/engine/facts.h"
#include "net/platform/address.h"
#include "net/platform/clock.h"
#include "net/platform/process.h"
#include "net/platform/file.h"
#include "net/platform/library.h"
#include "net/session/digest.h"
#include "net/session/keys.h"

#define CORE_END "_libretro" KL_LIBRARY_ENDING

static bool put_core(struct kl_url *url, const char *path) {
    const char *base = kl_file_base(path);
    size_t len = strlen(base), end = strlen(CORE_END);
    if (len <= end || strcmp(base + len - end, CORE_END) != 0 || len - end > KL_URL_CORE_MAX) return false;
    snprintf(url->core, sizeof url->core, "%.*s", (int)(len - end), base);
    if (!kl_url_core_fits(url->core)) url->core[0] = 0;
    return url->core[0];
}

static bool is_set(const struct retro_game_info *item) {
    size_t len = strlen(item->path);
    return !item->data && len > 4 &&
           (!strcasecmp(item->path + len - 4, ".zip") || !strcasecmp(item->path + len - 3, ".7z"));
}

static void put_sum(struct kl_url *url, const struct retro_game_info *item) {
    const void *bytes = item->data;
    size_t len = item->size;
    if (!bytes && kl_file_map(item->path, &bytes, &len) != 0) return;
    if (len && len <= KL_INVITE_BYTES) {
        url->size = len;
        url->crc = (uint32_t)crc32_z(0, bytes, len);
    }
    if (!item->data) kl_file_unmap(bytes, len);
}

/* Pure but for the game's file, which is read whole. Fills in core, game, crc and size of url; they stay
 * empty if no link can name the core, or if the game is more than one file. A set (a zip that the core opens
 * itself) has a name and no checksum, because friends may have it packed in another way. */
static void put_game(struct kl_url *url, const char *core_path, const struct kl_content *content) {
    const struct retro_game_info *item = &content->item[0];
    if (!put_core(url, core_path) || content->none || content->special || content->count != 1 || !item->path)
        return;
    /* RetroArch names a member of an archive "game.zip#game.nes". A name that is too long is cut: it is for
     * people as long as there is a checksum. */
    const char *base = kl_file_base(item->path), *member = strrchr(base, '#');
    kl_copy_cut(url->game, sizeof url->game, member && member[1] ? kl_file_base(member + 1) : base);
    if (url->game[0] && !is_set(item)) put_sum(url, item);
}

#define HOST_FIRST_US 2000000 /* others wait so long for the host to make a room again */

/* --- our own description --- */

static void player_name(struct kl_match *m, char *out, size_t cap) {
    const char *front = NULL, *user = kl_environment_get("USER");
    if (!m->front.call.environment(RETRO_ENVIRONMENT_GET_USERNAME, &front) || !front || !*front) front = NULL;
    const char *name = *m->config.name ? m->config.name : front ? front : user && *user ? user : "player";
    kl_copy_cut(out, cap, name);
    for (char *p = out; *p; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f) *p = '_';
    size_t len = strlen(out);
    while (len && (!kl_start_text_ok(out, cap) || kl_characters(out) > KL_NAME_CHARS))
        out[--len] = 0; /* not UTF-8, or too long: a whole character goes */
    if (!len) strcpy(out, "player");
}

bool kl_join_any_version(struct kl_match *m) {
    return m->config.other_version && !m->join.request.quick;
}

static void fill_hello(struct kl_match *m, struct kl_hello *hello, bool any_version) {
    const struct kl_room_request *r = &m->join.request;
    struct retro_system_info info = {0};
    memset(hello, 0, sizeof *hello);
    m->emu.core.get_system_info(&info);
    player_name(m, hello->name, sizeof hello->name);
    snprintf(hello->room, sizeof hello->room, "%s", r->room);
    snprintf(hello->match, sizeof hello->match, "%s", m->config.match);
    hello->seats_wanted = r->seats;
    hello->params = m->config.params;
    /* The menu must be there before it is asked. */
    if (!m->emu.told.options) kl_own_options_alone(m->front.call.environment);
    m->emu.told.options = true;
    if (hello->params.clocked) kl_control_wish(m, &hello->params);
    hello->params.fps_uhz = kl_emulator_fps_uhz(m->emu.av.timing.fps);
    hello->door = (uint8_t)((r->unlisted ? KL_DOOR_UNLISTED : 0) | (m->config.let_go ? KL_DOOR_LET_GO : 0) |
                            (r->once ? KL_DOOR_ONCE : 0) | (r->quick ? KL_DOOR_QUICK : 0) |
                            (r->seated ? KL_DOOR_SEAT : 0));
    hello->consent = r->consent;
    hello->seat_time_s = m->config.seat_time_s;
    if (any_version)
        kl_identity_any_version(&hello->facts, &info);
    else
        kl_identity_core(&hello->facts, &info);
    kl_identity_rand(&hello->facts, &m->emu.turned, kl_emulator_rand_use(&m->emu));
    kl_identity_content(&hello->facts, &m->emu.content, &m->join.checks.sums);
}

void kl_join_room(struct kl_match *m, char out[KL_NAME_MAX], unsigned nth) {
    struct kl_facts facts = {0};
    struct retro_system_info info = {0};
    m->emu.core.get_system_info(&info);
    kl_identity_content(&facts, &m->emu.content, &m->join.checks.sums);
    kl_room_name(out, info.library_name ? info.library_name : "", &facts, *m->join.request.password, nth);
}

void kl_join_identity(struct kl_match *m, uint8_t out[16]) {
    static struct kl_hello hello;
    fill_hello(m, &hello, false); /* quick matches look for it */
    kl_identity(&hello.facts, out);
}

/* --- the network thread asks and tells --- */

/* A relay that the user named: the key that it had at first use, or none. */
static int trust(void *ctx, const uint8_t pub[32], char *err, size_t err_len) {
    struct kl_match *m = ctx;
    char dir[KL_FILE_PATH];
    if (kl_state_folder(NULL, dir, err, err_len) != 0) return -1;
    return kl_known_check(dir, m->join.request.host, m->join.request.port, pub, err, err_len) < 0 ? -1 : 0;
}

static void keep(void *ctx, const struct kl_welcome *w, const char *relays) {
    struct kl_match *m = ctx;
    char err[256];
    snprintf(m->join.seat.relays, sizeof m->join.seat.relays, "%s", relays);
    if (kl_seat_file_keep(&m->join.seat, w->token, w->room_id, err, sizeof err) != 0)
        fprintf(stderr, "[Keylock] %s\n", err);
}

/* --- coming and going --- */

/* Without a file the seat is lost with the process; the game is not. */
static void open_seat(struct kl_match *m) {
    uint8_t id[KL_SEAT_FILE_ID];
    char dir[KL_FILE_PATH], err[256];
    kl_seat_file_id(id, m->join.request.host, m->join.request.port, &m->join.config.hello);
    bool open = kl_state_folder("seats", dir, err, sizeof err) == 0 &&
                kl_seat_file_open(&m->join.seat, dir, id, err, sizeof err) == 0;
    snprintf(m->join.seat.where, sizeof m->join.seat.where, "%s %s",
             kl_host_port(m->join.request.host, m->join.request.port).text, m->join.config.hello.room);
    if (open) return;
    kl_seat_make(&m->join.seat.key);
    kl_frontend_log(&m->front, "a restart would lose this seat: %s", err);
}

static bool open_link(struct kl_match *m) {
    char err[KLW_TEXT_MAX];
    const struct kl_config *c = &m->config;
    const struct kl_room_request *r = &m->join.request;
    m->join.back = m->join.seat.left;
    m->join.config.host = r->host;
    m->join.config.port = r->port;
    m->join.config.fingerprint = *r->fingerprint ? r->fingerprint : NULL;
    m->join.config.insecure_lan = c->insecure_lan;
    m->join.config.sparing = c->sparing;
    m->join.config.direct = c->direct;
    m->join.config.password = *r->password ? r->password : NULL;
    m->join.config.seat = m->join.seat.key;
    m->join.config.fresh = m->join.back;
    m->join.config.relays = m->join.seat.relays;
    memcpy(m->join.config.token, m->join.seat.token, sizeof m->join.config.token);
    m->join.config.ctx = m;
    m->join.config.trust = trust;
    m->join.config.keep = keep;
    m->join.config.voice = kl_talking_joins(m);
    if (kl_link_open(&m->link, &m->join.config, err, sizeof err) == 0) {
        kl_match_on(m, KL_ON_DIAL);
        return true;
    }
    kl_frontend_fail(&m->front, "cannot join the room: %s", err);
    return false;
}

/* The link is closed. forget: the seat is given up; else a process to come finds it. */
static void close_link(struct kl_match *m, bool forget) {
    const struct kl_participant_status *s = &m->status;
    kl_learn_end(m);
    /* the relay keeps a match of this seat */
    if (forget && s->roster.record_days && s->prepare.epoch_s) kl_seat_file_retire(&m->join.seat);
    kl_seat_file_close(&m->join.seat, forget);
    sodium_memzero(&m->join.config.seat, sizeof m->join.config.seat);
}

bool kl_join_open(struct kl_match *m) {
    m->join.invited = m->join.read_game = m->join.told_direct = false;
    memset(&m->join.game, 0, sizeof m->join.game);
    kl_checks_joins(m);
    kl_take_over_joins(m);
    fill_hello(m, &m->join.config.hello, kl_join_any_version(m));
    if (!kl_room_profile_find(m, &m->join.config.hello.facts)) return false;
    kl_room_profile_wish(m, &m->join.config.hello.params);
    open_seat(m);
    if (m->join.seat.left)
        kl_frontend_log(&m->front, "this machine has a seat of an earlier run: taking it again");
    if (open_link(m)) {
        kl_learn_begin(m);
        kl_record_open(&m->record);
        return true;
    }
    close_link(m, false);
    return false;
}

/* Before the game the relay ends a room with its last link, or as it closes. The host makes it again. */
bool kl_join_anew(struct kl_match *m) {
    const bool begun = m->emu.phase > KL_PHASE_FREE;
    const bool guest = m->status.roster.count && !m->status.welcome.host;
    if ((begun && !m->join.back) || m->status.refused != KL_REFUSE_SEAT) return false;
    if (!m->join.anew_us) m->join.anew_us = kl_now_us() + (guest ? HOST_FIRST_US : 0);
    if (kl_now_us() < m->join.anew_us) return true;
    m->join.anew_us = 0;
    kl_frontend_log(&m->front, "%s: joining as a new player", m->status.reason);
    kl_link_close(m->link, 0);
    m->link = NULL;
    kl_seat_file_renew(&m->join.seat);
    return open_link(m);
}

bool kl_join_write_link(struct kl_match *m, char *out, size_t cap, const char *fingerprint) {
    const struct kl_config *c = &m->config;
    const struct kl_room_request *r = &m->join.request;
    bool other = *c->reached_host;
    struct kl_url url = {.port = 0};
    if (!m->link || !m->status.welcome.host) return false;
    if (*fingerprint && !m->join.read_game) {
        put_game(&m->join.game, m->emu.core.path, &m->emu.content);
        m->join.read_game = true;
    }
    if (*fingerprint) url = m->join.game;
    url.port = other ? c->reached_port : r->port;
    if (url.port == KL_DEFAULT_PORT) url.port = 0;
    snprintf(url.host, sizeof url.host, "%.*s", KL_URL_HOST_MAX, other ? c->reached_host : r->host);
    snprintf(url.room, sizeof url.room, "%s", r->room);
    snprintf(url.fingerprint, sizeof url.fingerprint, "%s", fingerprint);
    return kl_url_write(&url, out, cap) == 0;
}

void kl_join_invite(struct kl_match *m) {
    char link[KL_URL_MAX + 1];
    if (m->status.direct_named)
        kl_frontend_say_once(&m->front, &m->join.told_direct, "direct: these players see your address");
    if (m->join.invited || !m->config.invite || m->status.phase < KL_PARTICIPANT_WAITING) return;
    m->join.invited = true;
    if (!kl_join_write_link(m, link, sizeof link, m->status.fingerprint)) return;
    fprintf(stderr, "Friends join this room with this link:\n  %s\n", link);
}

void kl_join_link(struct kl_match *m, char *out, size_t cap) {
    bool waiting = m->status.phase == KL_PARTICIPANT_WAITING || m->status.phase == KL_PARTICIPANT_SEND_START;
    if (!waiting || !kl_join_write_link(m, out, cap, "")) *out = 0;
}

/* Gives the seat up if the relay knows so: by our goodbye, or by its own message. */
void kl_join_leave(struct kl_match *m, unsigned linger_ms) {
    const struct kl_participant_status *s = &m->status;
    if (m->link) kl_link_status(m->link, &m->status);
    bool is_in = s->phase >= KL_PARTICIPANT_WAITING && s->phase <= KL_PARTICIPANT_PLAYING;
    if (m->record.owed) kl_record_desync(&m->record); /* no more frames will come */
    m->record.owed = false;
    const struct kl_play *p = &m->play;
    kl_record_close(&m->record,
                    &(struct kl_record_sum){p->next_frame, p->stalls, p->stall_longest_us,
                                            p->report.desync ? (int64_t)p->report.desync_first : -1});
    kl_run_ahead_close(m);
    kl_talking_leave(m);
    kl_link_close(m->link, linger_ms);
    m->link = NULL;
    close_link(m, is_in || s->refused);
    kl_match_on(m, KL_ON_HANG_UP);
}

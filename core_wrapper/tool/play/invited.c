#include "core_wrapper/tool/play/invited.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core_wrapper/tool/setup/place.h"
#include "core_wrapper/tool/setup/relay_list.h"
#include "core_wrapper/tool/common/tool.h"
#include "net/transport/link.h"
#include "net/engine/plain.h"
#include "net/platform/address.h"
#include "net/platform/dir.h"
#include "net/platform/file.h"
#include "net/session/keys.h"

/* --- core and game --- */

/* Only by its name: in RetroArch's folder of cores, else in the usual ones. */
static bool find_core(const char *name, const struct kl_place *place, int places, char core[KLT_PATH]) {
    char err[2048];
    return kl_place_core(place, places, name, core) ||
           tool_find_core(name, core, KLT_PATH, err, sizeof err) == 0;
}

static bool find_game(const struct kl_url *url, const struct kl_place *place, int places,
                      char content[KLT_PATH]) {
    const struct kl_game_wanted wanted = {url->game, url->crc, url->size};
    char own[KLT_PATH], below[KLT_PATH + 64];
    bool has_own = tool_own_dir(own, sizeof own) == 0;
    snprintf(below, sizeof below, "%s/%s", own, kl_place_words.games);
    return kl_game_search(&wanted, place, places, has_own ? below : NULL, content);
}

bool kl_invited_find(const struct kl_url *url, char core[KLT_PATH], char content[KLT_PATH], char *missing,
                     size_t missing_len) {
    static struct kl_place place[KL_PLACES];
    char err[2 * KLT_PATH], game[KL_URL_GAME_MAX + 1], sum[40] = "";
    int places = kl_place_find(place, err, sizeof err);
    bool has_core = !core || !url->core[0] || find_core(url->core, place, places, core);
    bool has_game = !content || !url->game[0] || find_game(url, place, places, content);
    for (int i = 0; i < places; i++)
        kl_place_free(&place[i]);
    snprintf(game, sizeof game, "%s", url->game);
    if (url->size) snprintf(sum, sizeof sum, " (CRC %08x)", (unsigned)url->crc);
    size_t n = 0;
    if (!has_core)
        n = (size_t)snprintf(missing, missing_len, "the core %s is not installed: %s", url->core,
                             kl_place_words.get_core);
    if (!has_game && n < missing_len)
        snprintf(
            missing + n, missing_len - n,
            "%sthe game %s%s is in none of RetroArch's playlists and content folders: name it with --content",
            n ? "; " : "", kl_plain(game), sum);
    return has_core && has_game;
}

/* --- the question --- */

static bool is_set_relay(const struct kl_url *url, uint16_t port) {
    char relay[KLT_RELAY_BYTES], err[2048];
    if (kl_set_relay(relay, err, sizeof err) != 1) return false;
    return !strcasecmp(relay, kl_host_port(url->host, port).text) ||
           (port == KL_DEFAULT_PORT && !strcasecmp(relay, url->host));
}

static bool is_known(const struct kl_url *url) {
    char dir[KL_FILE_PATH], err[KL_FILE_PATH + 64];
    uint16_t port = url->port ? url->port : KL_DEFAULT_PORT;
    if (is_set_relay(url, port)) return true;
    return kl_dir_known(KL_DIR_STATE, "keylock", dir, sizeof dir, err, sizeof err) == 0 &&
           kl_known_has(dir, url->host, port);
}

bool kl_invited_agreed(const struct kl_url *url) {
    char room[sizeof url->room], game[sizeof url->game], answer[16] = "";
    uint16_t port = url->port ? url->port : KL_DEFAULT_PORT;
    if (is_known(url)) return true;
    snprintf(room, sizeof room, "%s", url->room);
    snprintf(game, sizeof game, "%s", url->game);
    printf("This link leads to a relay that you have not used by its name.\n"
           "  relay  %s\n"
           "  room   %s\n"
           "  game   %s%s%s\n"
           "Play there? [y/N] ",
           kl_host_port(url->host, port).text, kl_plain(room), *game ? kl_plain(game) : "-",
           url->core[0] ? ", core " : "", url->core);
    fflush(stdout);
    if (!fgets(answer, sizeof answer, stdin)) answer[0] = 0;
    answer[strcspn(answer, "\r\n")] = 0;
    return !strcasecmp(answer, "y") || !strcasecmp(answer, "yes");
}

#include "core_wrapper/tool/play/invited.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <zlib.h>

#include "core_wrapper/tool/common/tool.h"
#include "core_wrapper/tool/setup/relay_list.h"
#include "net/engine/plain.h"
#include "net/platform/address.h"
#include "net/platform/dir.h"
#include "net/platform/file.h"
#include "net/session/keys.h"
#include "net/transport/link.h"

/* --- games --- */

#define LIST_MAX (64u << 20) /* bytes of a playlist */

struct search {
    const struct kl_game_wanted *game;
    char *out;
    struct kl_walk walk;
};

/* --- zip: only the list of members is read --- */

static uint32_t le(const uint8_t *p, unsigned bytes) {
    uint32_t v = 0;
    while (bytes--)
        v = v << 8 | p[bytes];
    return v;
}

/* The record behind the list: 22 bytes and a comment. */
static const uint8_t *zip_end(const uint8_t *z, size_t len) {
    for (size_t back = 22; back <= len && back < 22 + 65536; back++)
        if (le(z + len - back, 4) == 0x06054b50) return z + len - back;
    return NULL;
}

static bool find_member(struct search *s, const char *path, const uint8_t *z, size_t len) {
    const uint8_t *end = zip_end(z, len);
    uint64_t at = end ? le(end + 16, 4) : len;
    while (at + 46 <= len && le(z + at, 4) == 0x02014b50) {
        const uint8_t *m = z + at;
        uint64_t name = le(m + 28, 2), rest = name + le(m + 30, 2) + le(m + 32, 2);
        bool same = le(m + 16, 4) == s->game->crc && le(m + 24, 4) == s->game->size;
        if (same && at + 46 + name <= len && name < 1024 && !memchr(m + 46, 0, name)) {
            int n = snprintf(s->out, KLT_PATH, "%s#%.*s", path, (int)name, (const char *)m + 46);
            return n > 0 && n < KLT_PATH;
        }
        at += 46 + rest;
    }
    return false;
}

/* --- a file --- */

static bool look_in_file(void *ctx, const char *path) {
    struct search *s = ctx;
    const struct kl_game_wanted *g = s->game;
    const void *bytes;
    size_t len;
    bool found = false;
    if (strlen(path) >= KLT_PATH) return false;
    if (!g->size)
        found = !strcmp(kl_file_base(path), g->name) && kl_file_kind(path) == KL_FILE_IS_PLAIN;
    else if (kl_file_kind(path) == KL_FILE_IS_PLAIN && kl_file_map(path, &bytes, &len) == 0) {
        size_t n = strlen(path), m = strlen(".zip");
        if (n >= m && !strcasecmp(path + n - m, ".zip") && find_member(s, path, bytes, len)) {
            kl_file_unmap(bytes, len);
            return true;
        }
        found = len == g->size && (uint32_t)crc32_z(0, bytes, len) == g->crc;
        kl_file_unmap(bytes, len);
    }
    if (found) snprintf(s->out, KLT_PATH, "%s", path);
    return found;
}

/* --- playlists --- */

/* Of "/games/a.zip#a.nes" the file. */
static void file_of(const char *path, char out[KLT_PATH]) {
    snprintf(out, KLT_PATH, "%s", path);
    kl_file_use_slashes(out);
    char *member = strrchr(out, '#');
    if (member && kl_file_kind(out) == KL_FILE_IS_NONE) *member = 0;
}

/* deep: the folder of each game as well. */
static bool look_at_items(struct search *s, json_object *items, bool deep) {
    size_t count = json_object_is_type(items, json_type_array) ? json_object_array_length(items) : 0;
    for (size_t i = 0; i < count; i++) {
        char file[KLT_PATH];
        json_object *item = json_object_array_get_idx(items, i);
        json_object *value = NULL;
        const char *path =
            json_object_object_get_ex(item, "path", &value) ? json_object_get_string(value) : NULL;
        if (!path || !kl_file_is_absolute(path)) continue;
        file_of(path, file);
        if (!deep && kl_walk_file(&s->walk, file)) return true;
        *strrchr(file, '/') = 0;
        if (deep && kl_walk_folder(&s->walk, file, 0)) return true;
    }
    return false;
}

static bool look_at_playlist(struct search *s, const char *path, bool deep) {
    void *text;
    size_t len;
    json_object *list, *items = NULL;
    if (kl_file_read(path, LIST_MAX, 0, &text, &len, NULL, 0) != 0) return false;
    list = json_tokener_parse(text);
    bool found = list && json_object_object_get_ex(list, "items", &items) && look_at_items(s, items, deep);
    json_object_put(list);
    free(text);
    return found;
}

static bool look_at_playlists(struct search *s, const char *folder, bool deep) {
    char path[KLT_PATH];
    struct kl_dir_list list;
    bool found = false;
    if (kl_dir_list(&list, folder, ".lpl", NULL, 0) != 0) return false;
    for (unsigned i = 0; i < list.count && !found; i++)
        found = kl_file_join(path, sizeof path, folder, list.name[i], NULL, 0) == 0 &&
                look_at_playlist(s, path, deep);
    kl_dir_list_free(&list);
    return found;
}

/* --- all of it: the quick places first --- */

static bool look_at_place(struct search *s, const struct kl_place *p, bool deep) {
    char builtin[KLT_PATH];
    snprintf(builtin, sizeof builtin, "%.4000s/builtin", p->playlists);
    return look_at_playlists(s, p->playlists, deep) || look_at_playlists(s, p->base, deep) ||
           look_at_playlists(s, builtin, deep);
}

/* True with the path, as RetroArch takes it: of a file, or of a file in a zip, "/games/a.zip#a.nes". A game
 * with a checksum is found under any name. own: one folder more, or NULL. Takes as long as it takes to read
 * the files of that very size; looks at 50,000 files at most. */
static bool search_game(const struct kl_game_wanted *g, const struct kl_place *place, int places,
                        const char *own, char out[KLT_PATH]) {
    static struct search s;
    bool found = false;
    s = (struct search){.game = g, .out = out, .walk = {.look = look_in_file, .ctx = &s}};
    for (int i = 0; i < places && !found; i++)
        found = look_at_place(&s, &place[i], false);
    for (int i = 0; i < places && !found; i++)
        found = kl_walk_folder(&s.walk, place[i].content, KLT_WALK_DEEP) ||
                kl_walk_folder(&s.walk, place[i].downloads, KLT_WALK_DEEP) ||
                look_at_place(&s, &place[i], true);
    if (!found && own) found = kl_walk_folder(&s.walk, own, KLT_WALK_DEEP);
    kl_walk_free(&s.walk);
    return found;
}

/* --- invitations --- */

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
    return search_game(&wanted, place, places, has_own ? below : NULL, content);
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
    char dir[KL_FILE_PATH];
    uint16_t port = url->port ? url->port : KL_DEFAULT_PORT;
    if (is_set_relay(url, port)) return true;
    return kl_dir_known(KL_DIR_STATE, "keylock", dir, sizeof dir, NULL, 0) == 0 &&
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

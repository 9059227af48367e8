#include "core_wrapper/match/invite.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <zlib.h>

#include "net/engine/facts.h"
#include "net/platform/file.h"
#include "net/platform/library.h"

#define CORE_END "_libretro" KL_LIBRARY_ENDING

static const char *base_of(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool put_core(struct kl_url *url, const char *path) {
    const char *base = base_of(path);
    size_t len = strlen(base), end = strlen(CORE_END);
    if (len <= end || strcmp(base + len - end, CORE_END) != 0 || len - end > KL_URL_CORE_MAX) return false;
    snprintf(url->core, sizeof url->core, "%.*s", (int)(len - end), base);
    if (!kl_url_core_fits(url->core)) url->core[0] = 0;
    return url->core[0];
}

/* RetroArch names a member of an archive "game.zip#game.nes". A name that is too long is cut: it is for
 * people as long as there is a checksum. */
static void put_name(struct kl_url *url, const char *path) {
    const char *base = base_of(path), *member = strrchr(base, '#');
    kl_copy_cut(url->game, sizeof url->game, member && member[1] ? base_of(member + 1) : base);
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

void kl_invite_game(struct kl_url *url, const char *core_path, const struct kl_content *content) {
    const struct retro_game_info *item = &content->item[0];
    if (!put_core(url, core_path) || content->none || content->special || content->count != 1 || !item->path)
        return;
    put_name(url, item->path);
    if (url->game[0] && !is_set(item)) put_sum(url, item);
}

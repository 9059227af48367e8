#include "core_wrapper/words/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core_wrapper/words/config_table.h"
#include "net/platform/process.h"
#include "net/platform/file.h"
#include "net/platform/library.h"
#include "net/transport/link.h"

#define FILE_BYTES 65536 /* of keylock.cfg */

int kl_config_set(struct kl_config *c, const char *key, const char *value, char *err, size_t err_len) {
    const struct kl_row *row = kl_row_of_key(kl_config_rows, key);
    char why[KL_ROW_TEXT];
    if (!row)
        snprintf(err, err_len, "there is no key \"%s\"", key);
    else if (!kl_row_set(row, c, value, why))
        snprintf(err, err_len, "%s: %s", row->variable, why);
    else
        return 0;
    return row ? -1 : -2;
}

unsigned kl_config_word(const char *key, const char *word, unsigned otherwise) {
    const struct kl_row *row = kl_config_row(key);
    int place = kl_row_word(row, word);
    return place < 0 ? otherwise : (unsigned)row->min + (unsigned)place;
}

/* --- all values --- */

static int read_file(struct kl_config *c, const char *dir, char *err, size_t err_len) {
    char path[KL_CONFIG_PATH_MAX + 16];
    void *text;
    size_t len;
    snprintf(path, sizeof path, "%.4095s/%s", dir, KL_CONFIG_FILE);
    int r = kl_file_read(path, FILE_BYTES, 0, &text, &len, err, err_len);
    if (r == 0 && !kl_rows_read(kl_config_rows, c, text, path, NULL, err, err_len)) r = -1;
    free(text);
    return r == KL_FILE_ABSENT ? 0 : r;
}

int kl_config_settle(struct kl_config *c, char *err, size_t err_len) {
    struct kl_params *p = &c->params;
    c->spacing_set = c->spacing_set && p->spacing_fixed > 0;
    c->sparing = c->sparing && !p->half_steps;
    if (!c->policy_set) p->policy = p->clocked ? KL_POLICY_BOUNDED : KL_POLICY_STRICT;
    if (p->economy && (p->half_steps || !p->clocked || !p->subframes)) {
        snprintf(err, err_len,
                 "KEYLOCK_ECONOMY: two frames go in one datagram, at the core's rate: expected %s",
                 p->half_steps ? "KEYLOCK_HALF_STEPS=off"
                 : p->clocked  ? "KEYLOCK_SUBFRAMES=on"
                               : "KEYLOCK_SPEED=real");
        return -1;
    }
    if (p->policy != KL_POLICY_OPTIMISTIC || (p->clocked && p->subframes)) return 0;
    snprintf(err, err_len,
             "KEYLOCK_POLICY: optimistic closes frames by the clock, with a sample a frame: expected %s",
             p->clocked ? "KEYLOCK_SUBFRAMES=on" : "KEYLOCK_SPEED=real");
    return -1;
}

int kl_config_read(struct kl_config *c, const char *system_dir, char *err, size_t err_len) {
    memset(c, 0, sizeof *c);
    c->port = KL_DEFAULT_PORT;
    kl_rows_standard(kl_config_rows, c);
    if (system_dir && *system_dir && read_file(c, system_dir, err, err_len) != 0) return -1;
    if (!kl_rows_environment(kl_config_rows, c, err, err_len)) return -1;
    if (kl_config_settle(c, err, err_len) != 0) return -1;
    if (kl_environment_get("KEYLOCK_ROOM") && *kl_environment_get("KEYLOCK_ROOM") && !*c->host) {
        snprintf(err, err_len, "KEYLOCK_ROOM is set (\"%s\"), but no relay: set KEYLOCK_RELAY", c->room);
        return -1;
    }
    return 0;
}

bool kl_config_core_from_file_name(const char *wrapper_path, char *out, size_t cap) {
    static const char tail[] = "_keylock_libretro" KL_LIBRARY_ENDING;
    const char *slash = strrchr(wrapper_path, '/'), *base = slash ? slash + 1 : wrapper_path;
    size_t len = strlen(base), cut = sizeof tail - 1;
    if (len <= cut || strcasecmp(base + len - cut, tail) != 0) return false;
    int n = snprintf(out, cap, "%.*s_libretro" KL_LIBRARY_ENDING, (int)(len - cut), base);
    return n > 0 && (size_t)n < cap;
}

const char *kl_config_replay(void) {
    const char *path = kl_environment_get("KEYLOCK_REPLAY");
    return path && *path ? path : NULL;
}

void kl_room_request_own(struct kl_room_request *r, const struct kl_config *c) {
    memset(r, 0, sizeof *r);
    snprintf(r->host, sizeof r->host, "%s", c->host);
    r->port = c->port;
    snprintf(r->fingerprint, sizeof r->fingerprint, "%s", c->fingerprint);
    snprintf(r->room, sizeof r->room, "%s", c->room);
    snprintf(r->password, sizeof r->password, "%s", c->password);
}

#include "core_wrapper/tool/setup/relay_list.h"

#include <sodium.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core_wrapper/start/seat_file.h"
#include "core_wrapper/tool/common/tool.h"
#include "core_wrapper/tool/setup/place.h"
#include "net/engine/plain.h"
#include "net/platform/clock.h"
#include "net/platform/process.h"
#include "net/platform/file.h"
#include "net/platform/socket.h"
#include "net/session/keys.h"
#include "net/transport/ask.h"

static int of_place(const struct kl_place *p, char out[KLT_RELAY_BYTES], char *err, size_t err_len) {
    struct kl_settings s = {0};
    char path[KLT_PATH + 16];
    snprintf(path, sizeof path, "%s/keylock.cfg", p->system);
    int result = kl_settings_read(&s, path, err, err_len);
    if (result == 0) result = kl_settings_get(&s, "relay", out, KLT_RELAY_BYTES) && *out;
    kl_settings_free(&s);
    return result;
}

int kl_set_relay(char out[KLT_RELAY_BYTES], char *err, size_t err_len) {
    struct kl_place place[KL_PLACES];
    const char *relay = kl_environment_get("KEYLOCK_RELAY");
    if (relay && *relay) {
        snprintf(out, KLT_RELAY_BYTES, "%s", relay);
        return 1;
    }
    int places = kl_place_find(place, err, err_len), result = places < 0 ? -1 : 0;
    for (int i = 0; i < places; i++) {
        if (result == 0) result = of_place(&place[i], out, err, err_len);
        kl_place_free(&place[i]);
    }
    return result;
}

#define SIGNATURE_BYTES 2048
#define FETCH_MS        30000
#define ASKED_US        6000000
#define LOOK_US         10000
#define HTTPS           "https://"

/* --- the bytes --- */

static int fetch(const char *address, char *out, size_t cap, char *err, size_t err_len) {
    char curl[KL_FILE_PATH];
    const char *const arguments[] = {"curl",           "-fsSL", "--proto", "=https", "--max-time", "25",
                                     "--max-filesize", "65536", "--",      address,  NULL};
    struct kl_process_setup setup = {.program = curl, .arguments = arguments, .printed = true};
    struct kl_process p;
    struct kl_process_end how;
    if (!kl_process_find("curl", curl, sizeof curl)) {
        snprintf(err, err_len, "expected the program curl, which reads %.300s; got none: install it",
                 address);
        return -1;
    }
    if (kl_process_start(&p, &setup, err, err_len) != 0) return -1;
    enum kl_process_result result = kl_process_read_text(&p, out, cap, FETCH_MS);
    kl_process_end(&p, 1000, &how);
    if (result == KL_PROCESS_OK && !how.crashed && !how.killed && how.code == 0) return 0;
    out[strcspn(out, "\n")] = 0;
    kl_plain(out);
    snprintf(err, err_len, "expected a file at %.300s; curl got none: %.200s", address, out);
    return -1;
}

static int get(const char *from, const char *ending, char *out, size_t cap, char *err, size_t err_len) {
    char name[KL_FILE_PATH];
    void *bytes;
    size_t len;
    if ((size_t)snprintf(name, sizeof name, "%s%s", from, ending) >= sizeof name) {
        snprintf(err, err_len, "expected a list's name of at most %zu bytes, got more", sizeof name - 1);
        return -1;
    }
    if (strncmp(name, HTTPS, strlen(HTTPS)) == 0) return fetch(name, out, cap, err, err_len);
    if (strstr(name, "://")) {
        snprintf(err, err_len, "expected a file or an address that begins with " HTTPS ", got %.300s", name);
        return -1;
    }
    if (kl_file_read(name, cap - 1, 0, &bytes, &len, err, err_len) != 0) return -1;
    memcpy(out, bytes, len);
    out[len] = 0;
    free(bytes);
    if (strlen(out) == len) return 0;
    snprintf(err, err_len, "%.300s: expected text, found a zero byte", name);
    return -1;
}

/* Cuts the next line off *rest; NULL after the last. */
static char *next_line(char **rest) {
    char *line = *rest;
    if (!line || !*line) return NULL;
    size_t len = strcspn(line, "\n");
    *rest = line[len] ? line + len + 1 : line + len;
    line[len] = 0;
    if (len && line[len - 1] == '\r') line[len - 1] = 0;
    return line;
}

/* --- the signature --- */

struct key {
    uint8_t algorithm[2], id[8], pub[crypto_sign_PUBLICKEYBYTES];
};
struct signature {
    uint8_t algorithm[2], id[8], sig[crypto_sign_BYTES];
};

static bool decode(void *out, size_t size, const char *text) {
    size_t len;
    return text &&
           sodium_base642bin(out, size, text, strlen(text), NULL, &len, NULL,
                             sodium_base64_VARIANT_ORIGINAL) == 0 &&
           len == size;
}

/* Over the list's BLAKE2b-512; another one is over the signature with the trusted comment. */
static bool is_signed(const struct key *key, const char *list, char *minisig) {
    static const char comment[] = "trusted comment: ";
    uint8_t hash[64], both[crypto_sign_BYTES + SIGNATURE_BYTES], global[crypto_sign_BYTES];
    struct signature s;
    char *rest = minisig, *line[4];
    for (unsigned i = 0; i < 4; i++)
        line[i] = next_line(&rest);
    if (!line[3] || !decode(&s, sizeof s, line[1]) || !decode(global, sizeof global, line[3])) return false;
    if (strncmp(line[2], comment, strlen(comment)) != 0) return false;
    if (memcmp(s.algorithm, "ED", 2) != 0 || memcmp(s.id, key->id, sizeof s.id) != 0) return false;
    const char *words = line[2] + strlen(comment);
    memcpy(both, s.sig, sizeof s.sig);
    memcpy(both + sizeof s.sig, words, strlen(words));
    crypto_generichash(hash, sizeof hash, (const uint8_t *)list, strlen(list), NULL, 0);
    return crypto_sign_verify_detached(s.sig, hash, sizeof hash, key->pub) == 0 &&
           crypto_sign_verify_detached(global, both, sizeof s.sig + strlen(words), key->pub) == 0;
}

/* Under a name made of the list's place, which may hold blanks. */
static int accept_key(const char *from, const struct key *key, char *err, size_t err_len) {
    char dir[KL_FILE_PATH], place[KL_FILE_PATH], name[32], hex[17];
    uint8_t hash[16];
    if (kl_state_folder(NULL, dir, err, err_len) != 0) return -1;
    if (!kl_file_real(from, place, sizeof place)) snprintf(place, sizeof place, "%s", from); /* an address */
    crypto_generichash(hash, sizeof hash, (const uint8_t *)place, strlen(place), NULL, 0);
    snprintf(name, sizeof name, "list-%s", sodium_bin2hex(hex, sizeof hex, hash, sizeof hex / 2));
    char why[KL_FILE_PATH + 256];
    if (kl_known_check(dir, name, 0, key->pub, why, sizeof why) >= 0) return 0;
    snprintf(err, err_len, "%.300s: %s", from, why);
    return -1;
}

/* --- its lines --- */

static int bad_line(const char *from, unsigned number, const char *expected, const char *got, char *err,
                    size_t err_len) {
    snprintf(err, err_len, "%.300s, line %u: expected %s, got \"%.80s\"", from, number, expected, got);
    return -1;
}

static int take_relay(struct kl_relay_list *l, char *line) {
    static struct kl_config where;
    char err[512];
    size_t len = strcspn(line, " \t");
    const char *words = line + len + strspn(line + len, " \t");
    struct kl_listed *r = &l->relay[l->count];
    line[len] = 0;
    if (l->count == KLT_LIST_RELAYS || kl_config_set(&where, "relay", line, err, sizeof err) != 0) return -1;
    snprintf(r->host, sizeof r->host, "%s", where.host);
    r->port = where.port;
    r->ms = -1;
    snprintf(r->words, sizeof r->words, "%s", words);
    kl_plain(r->words);
    l->count++;
    return 0;
}

/* All of them are read before anything is asked: a list is good as a whole or not at all. */
static int take_lines(struct kl_relay_list *l, struct key *key, const char *from, char *text, char *err,
                      size_t err_len) {
    char *rest = text, *line;
    bool has_key = false;
    for (unsigned number = 1; (line = next_line(&rest)); number++) {
        if (*line == 0 || *line == '#') continue;
        kl_plain(line);
        if (strncmp(line, "key ", 4) == 0) {
            if (has_key || !decode(key, sizeof *key, line + 4) || memcmp(key->algorithm, "Ed", 2) != 0)
                return bad_line(from, number, "one public key as minisign prints it", line, err, err_len);
            has_key = true;
        } else if (take_relay(l, line) != 0)
            return bad_line(from, number, "HOST[:PORT] [WORDS] of at most 64 relays", line, err, err_len);
    }
    if (has_key && l->count) return 0;
    snprintf(err, err_len, "%.300s: expected %s, got none", from,
             has_key ? "at least one relay" : "a line \"key ...\" with the public key of minisign");
    return -1;
}

/* --- asking --- */

struct question {
    struct kl_asker asker;
    struct kl_listed *relay;
    double ms;
    atomic_bool done;
    bool begun;
};

static void ask(void *arg) {
    struct question *q = arg;
    char ignored[512];
    struct kl_pong pong;
    int fd = kl_ask_open(&q->asker, q->relay->host, q->relay->port, ignored, sizeof ignored);
    q->ms = fd < 0 ? -1 : kl_ask_distance(&q->asker, fd, &pong);
    if (fd >= 0) kl_socket_close(fd);
    q->done = true;
}

static int by_distance(const void *a, const void *b) {
    double x = ((const struct kl_listed *)a)->ms, y = ((const struct kl_listed *)b)->ms;
    if (x < 0 || y < 0) return (x < 0) - (y < 0);
    return (x > y) - (x < y);
}

static int ask_all(struct kl_relay_list *l, char *err, size_t err_len) {
    struct question *q = calloc(KLT_LIST_RELAYS, sizeof *q);
    const uint64_t until_us = kl_now_us() + ASKED_US;
    if (!q) {
        snprintf(err, err_len, "no memory to ask %u relays", l->count);
        return -1;
    }
    for (unsigned i = 0; i < l->count; i++) {
        q[i].relay = &l->relay[i];
        q[i].begun = kl_asker_start(&q[i].asker, "keylock-list", ask, &q[i]) == 0;
    }
    for (unsigned i = 0; i < l->count; i++) {
        while (q[i].begun && !q[i].done && kl_now_us() < until_us)
            kl_sleep_us(LOOK_US);
        if (q[i].begun) kl_asker_end(&q[i].asker);
        l->relay[i].ms = q[i].done ? q[i].ms : -1;
        l->answered += l->relay[i].ms >= 0;
    }
    free(q);
    qsort(l->relay, l->count, sizeof *l->relay, by_distance);
    return 0;
}

int kl_relay_list_read(struct kl_relay_list *l, const char *from, char *err, size_t err_len) {
    static char list[KLT_LIST_BYTES + 1], lines[sizeof list], minisig[SIGNATURE_BYTES];
    struct key key;
    l->count = l->answered = 0;
    if (sodium_init() < 0) {
        snprintf(err, err_len, "libsodium does not start");
        return -1;
    }
    if (get(from, "", list, sizeof list, err, err_len) != 0 ||
        get(from, ".minisig", minisig, sizeof minisig, err, err_len) != 0)
        return -1;
    memcpy(lines, list, sizeof list);
    if (take_lines(l, &key, from, lines, err, err_len) != 0) return -1;
    if (!is_signed(&key, list, minisig)) {
        snprintf(err, err_len, "%.300s: expected a signature by its key in %.300s.minisig, got another", from,
                 from);
        return -1;
    }
    if (accept_key(from, &key, err, err_len) != 0) return -1;
    return ask_all(l, err, err_len);
}

int kl_relay_list_nearest(struct kl_relay_list *l, const char *from, char *out, size_t cap, char *err,
                          size_t err_len) {
    if (kl_relay_list_read(l, from, err, err_len) != 0) return -1;
    if (l->answered) {
        snprintf(out, cap, "%s", kl_host_port(l->relay[0].host, l->relay[0].port).text);
        return 0;
    }
    snprintf(err, err_len, "%.300s: none of its %u relays answers", from, l->count);
    return -1;
}

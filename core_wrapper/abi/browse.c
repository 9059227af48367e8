#include "core_wrapper/abi/browse.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/engine/facts.h"
#include "net/engine/spacing.h"
#include "net/platform/socket.h"
#include "net/transport/ask.h"
#include "core_wrapper/match/wanted_room.h"

#define BLANKS " ,\t"

static struct relay {
    char host[KL_CONFIG_HOST_MAX];
    uint16_t port;
    struct kl_asker asker; /* its mutex: of all below */
    bool done;
    char why[KEYLOCK_LINE]; /* if done: "" or the failure */
    struct keylock_room *room;
    unsigned count;
    /* of the thread alone */
    float ms;
    struct kl_rooms piece;
} * relay[KL_BROWSE_RELAYS];
static unsigned relays;

/* --- a thread: the only part that waits --- */

static void copy(struct keylock_room *to, const struct kl_room_line *from, const struct relay *r, float ms) {
    snprintf(to->relay, sizeof to->relay, "%s", kl_host_port(r->host, r->port).text);
    snprintf(to->name, sizeof to->name, "%s", from->name);
    kl_fact_name(to->content, from->content);
    snprintf(to->core, sizeof to->core, "%s", from->core);
    to->players = from->players;
    to->filled = from->filled;
    to->open = from->open;
    to->playing = from->playing;
    to->password = from->password;
    to->locked = from->locked;
    to->quick = from->quick;
    to->ping_ms = ms;
    to->delay_ms = kl_spacing_delay_ms(ms, from->rtt_ms, from->economy);
}

static bool add_piece(void *relay_asked, struct kl_rooms *piece) {
    struct relay *r = relay_asked;
    kl_mutex_lock(&r->asker.mutex);
    for (unsigned i = 0; i < piece->count && r->count < KL_BROWSE_ROOMS; i++)
        copy(&r->room[r->count++], &piece->line[i], r, r->ms);
    kl_mutex_unlock(&r->asker.mutex);
    return true;
}

static void ask(struct relay *r, char why[KEYLOCK_LINE]) {
    struct kl_pong ignored;
    int s = kl_ask_open(&r->asker, r->host, r->port, why, KEYLOCK_LINE);
    if (s < 0) return;
    r->ms = (float)kl_ask_distance(&r->asker, s, &ignored);
    if (r->ms < 0 || kl_ask_rooms(&r->asker, s, &r->piece, add_piece, r) != 0)
        snprintf(why, KEYLOCK_LINE, "no answer from %.200s", kl_host_port(r->host, r->port).text);
    kl_socket_close(s);
}

static void run(void *arg) {
    struct relay *r = arg;
    char why[KEYLOCK_LINE] = "";
    ask(r, why);
    kl_mutex_lock(&r->asker.mutex);
    memcpy(r->why, why, sizeof why);
    r->done = true;
    kl_mutex_unlock(&r->asker.mutex);
}

/* --- its owner --- */

void kl_browse_end(void) {
    while (relays) {
        struct relay *r = relay[--relays];
        kl_asker_end(&r->asker);
        free(r->room);
        free(r);
    }
}

static int begin(const struct kl_config *where) {
    struct relay *r = calloc(1, sizeof *r);
    if (r) r->room = calloc(KL_BROWSE_ROOMS, sizeof *r->room);
    if (r && r->room) {
        snprintf(r->host, sizeof r->host, "%s", where->host);
        r->port = where->port;
        if (kl_asker_start(&r->asker, "keylock-browse", run, r) == 0) {
            relay[relays++] = r;
            return 0;
        }
    }
    if (r) free(r->room);
    free(r);
    return -1;
}

int kl_browse_begin(const char *names, char *err, size_t err_len) {
    static struct kl_config where[KL_BROWSE_RELAYS];
    char text[2048], *rest = text, *word;
    unsigned count = 0;
    const char *problem = NULL;
    snprintf(text, sizeof text, "%s", names);
    while ((word = strtok_r(rest, BLANKS, &rest))) {
        if (count == KL_BROWSE_RELAYS)
            problem = "expected at most 8 relays, got more";
        else if (kl_wish_check(&where[count++], "relay", word, err, err_len) != 0)
            return -1;
    }
    if (count == 0) problem = "relay: expected HOST or HOST:PORT, got none";
    if (strlen(names) >= sizeof text) problem = "expected at most 8 relays, got a longer text";
    if (!problem && sodium_init() < 0) problem = "libsodium does not start";
    kl_browse_end();
    for (unsigned i = 0; !problem && i < count; i++)
        if (begin(&where[i]) != 0) problem = "cannot ask the relay: no memory or no thread left";
    if (problem && err) snprintf(err, err_len, "%s", problem);
    return problem ? -1 : 0;
}

static int by_delay(const void *a, const void *b) {
    const struct keylock_room *x = a, *y = b;
    if (x->delay_ms != y->delay_ms) return x->delay_ms < y->delay_ms ? -1 : 1;
    return strcmp(x->name, y->name);
}

unsigned kl_browse_rooms(struct keylock_room *out, unsigned max, bool *asking, char *line) {
    unsigned count = 0;
    *asking = false;
    line[0] = 0;
    for (unsigned i = 0; i < relays; i++) {
        struct relay *r = relay[i];
        kl_mutex_lock(&r->asker.mutex);
        for (unsigned k = 0; k < r->count && count < max; k++)
            out[count++] = r->room[k];
        *asking = *asking || !r->done;
        if (*r->why) {
            size_t used = strlen(line);
            snprintf(line + used, KEYLOCK_LINE - used, "%s%s", used ? "; " : "", r->why);
        }
        kl_mutex_unlock(&r->asker.mutex);
    }
    qsort(out, count, sizeof *out, by_delay);
    return count;
}

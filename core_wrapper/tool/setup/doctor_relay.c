/* The doctor's check of the relay: its round trip, jitter, loss and protocol. */
#include "core_wrapper/tool/setup/doctor.h"

#include <math.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core_wrapper/tool/setup/relay_list.h"
#include "net/engine/engine.h"
#include "net/platform/clock.h"
#include "net/platform/socket.h"
#include "net/transport/link.h"
#include "net/transport/ask.h"

#define PINGS    24
#define GAP_US   40000
#define FRAME_MS (1000.0 / 60)
#define FAR_MS   200 /* playable, but slow for everybody */
#define SHAKY_MS 20
#define LOSSY    2 /* of PINGS */

/* Finds the relay as a match would: --relay, the environment, then the files. */
static bool find_relay(struct kl_doctor *d, struct kl_config *c) {
    char err[2 * KLT_PATH], todo[512];
    bool found = false;
    for (int i = 0; i <= d->places && !found; i++) {
        const char *dir = i < d->places ? d->place[i].system : NULL;
        if (kl_config_read(c, dir, err, sizeof err) != 0) {
            kl_doctor_find(d, KL_WRONG, "settings_wrong", "settings", "Correct that line or that variable.",
                           "%.900s", err);
            continue;
        }
        found = *c->host;
    }
    if (d->relay) found = kl_config_set(c, "relay", d->relay, err, sizeof err) == 0;
    snprintf(
        todo, sizeof todo,
        "Run keylock install --relay HOST. To host a relay, run keylock-relay on a machine that others reach "
        "by UDP port %d.",
        KL_DEFAULT_PORT);
    if (!found)
        kl_doctor_find(d, KL_ODD, "relay_unset", "relay", todo, "no relay is set, so cores play alone");
    return found;
}

struct pings {
    double ms[PINGS], jitter_ms;
    unsigned came;
    struct kl_pong pong;
};

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void ping(int fd, struct pings *p) {
    double sum = 0;
    struct kl_pong pong;
    for (unsigned i = 0; i < PINGS; i++) {
        double ms = kl_ask_ping(NULL, fd, &pong);
        if (i >= 2 && p->came == 0) break; /* no answer: do not wait for the rest */
        if (ms < 0) continue;
        if (p->came) sum += fabs(ms - p->ms[p->came - 1]);
        p->ms[p->came++] = ms;
        p->pong = pong;
        kl_sleep_us(GAP_US);
    }
    p->jitter_ms = p->came > 1 ? sum / (p->came - 1) : 0;
    qsort(p->ms, p->came, sizeof *p->ms, by_size);
}

static void judge(struct kl_doctor *d, const struct kl_config *c, const struct pings *p) {
    double middle = p->ms[p->came / 2];
    unsigned lost = PINGS - p->came;
    unsigned frames = (unsigned)ceil((middle + 2 * p->jitter_ms) / FRAME_MS);
    bool far = middle > FAR_MS, shaky = p->jitter_ms > SHAKY_MS || lost > LOSSY;
    const char *code = far ? "relay_far" : shaky ? "relay_unsteady" : "relay";
    const char *todo =
        far     ? "Choose a relay that is nearer to all players."
        : shaky ? "Use a cable instead of Wi-Fi. If packets are lost, keylock play --half-steps on "
                  "saves a frame."
                : NULL;
    kl_doctor_find(
        d, far || shaky ? KL_ODD : KL_WELL, code, "relay", todo,
        "%.200s answers after %.1f ms (%.1f to %.1f, jitter %.1f; %u of %d lost): about %u frame%s from a "
        "press to its play, if nobody is farther away; %u rooms, %u players",
        kl_host_port(c->host, c->port).text, middle, p->ms[0], p->ms[p->came - 1], p->jitter_ms, lost, PINGS,
        frames ? frames : 1, frames > 1 ? "s" : "", p->pong.rooms, p->pong.clients);
    if (kl_protocol_serves(p->pong.version, KL_PROTOCOL_VERSION)) return;
    kl_doctor_find(d, KL_WRONG, "relay_protocol", "relay",
                   p->pong.version > KL_PROTOCOL_VERSION ? "Update Keylock here."
                                                         : "Ask the relay's operator to update it.",
                   "the relay has another protocol: expected %d, got %u", KL_PROTOCOL_VERSION,
                   p->pong.version);
}

/* All that answer, with what their keeper says of them. */
static void tell_list(struct kl_doctor *d, const struct kl_relay_list *l) {
    char text[800] = "";
    for (unsigned i = 0; i < l->answered && strlen(text) < sizeof text / 2; i++) {
        const struct kl_listed *r = &l->relay[i];
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%s%s%s%s%s %.1f ms", i ? ", " : "",
                 kl_host_port(r->host, r->port).text, *r->words ? " (" : "", r->words, *r->words ? ")" : "",
                 r->ms);
    }
    kl_doctor_find(d, KL_WELL, "relays", "relays", NULL, "%u of %u in the list answer: %s", l->answered,
                   l->count, text);
}

static bool find_nearest(struct kl_doctor *d) {
    static struct kl_relay_list list;
    static char nearest[KLT_RELAY_BYTES];
    char err[1024];
    if (kl_relay_list_nearest(&list, d->relays, nearest, sizeof nearest, err, sizeof err) != 0) {
        kl_doctor_find(d, KL_WRONG, "relays_wrong", "relays", "Ask the keeper of the list.", "%s", err);
        return false;
    }
    tell_list(d, &list);
    d->relay = nearest;
    return true;
}

void kl_doctor_relay(struct kl_doctor *d) {
    static struct kl_config c;
    static struct pings p;
    char err[1024];
    if (d->relays && !find_nearest(d)) return;
    if (!find_relay(d, &c)) return;
    int fd = sodium_init() < 0 ? -1 : kl_ask_open(NULL, c.host, c.port, err, sizeof err);
    if (fd < 0) {
        kl_doctor_find(d, KL_WRONG, "relay_unknown", "relay",
                       "Check the relay's name, and that this machine is online.", "%.900s", err);
        return;
    }
    ping(fd, &p);
    kl_socket_close(fd);
    if (p.came)
        judge(d, &c, &p);
    else
        kl_doctor_find(d, KL_WRONG, "relay_silent", "relay",
                       "Check that keylock-relay runs there and that its firewall lets this UDP port in.",
                       "no answer from %.200s", kl_host_port(c.host, c.port).text);
}

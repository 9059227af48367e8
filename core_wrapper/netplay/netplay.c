#include "core_wrapper/netplay/netplay.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <sodium.h>

#include "net/platform/clock.h"
#include "core_wrapper/netplay/channel.h"
#include "core_wrapper/start/seat_file.h"
#include "net/engine/command.h"

#define GUESTS     KL_NETPLAY_GUESTS
#define BEAT_US    1000000
#define SILENCE_US 10000000
#define TICKET_US  20000000 /* for a guest to come in; then the next one's turn */
#define DOOR_US    500000   /* for the relay to turn the key */

enum guest_state {
    GUEST_NONE, /* nothing has come from there */
    GUEST_WAITS,
    GUEST_HAS_TICKET,
    GUEST_IN,
    GUEST_OUT, /* has said something that is no packet of ours, or could not come in */
};

/* The one whose interface the frontend has: its functions take no context. */
static struct kl_netplay *known;

/* --- packets --- */

static void put(struct kl_netplay *n, unsigned to, const struct kl_channel_packet *p, int flags) {
    uint8_t bytes[KL_CHANNEL_MAX];
    int len = kl_channel_encode(p, bytes, sizeof bytes);
    if (n->send && len > 0) n->send(KL_NETPACKET_RELIABLE | flags, bytes, (size_t)len, (uint16_t)to);
}

static void tell(struct kl_netplay *n, unsigned to, const struct kl_channel_packet *p) {
    put(n, to, p, KL_NETPACKET_FLUSH);
}

static void greet(struct kl_netplay *n, unsigned to) {
    tell(n, to,
         &(struct kl_channel_packet){
             .kind = KL_CHANNEL_GREET, .version = KL_CHANNEL_VERSION, .protocol = KL_PROTOCOL_VERSION});
}

static void refuse(struct kl_netplay *n, unsigned guest, const char *why) {
    struct kl_channel_packet p = {.kind = KL_CHANNEL_REFUSE};
    snprintf(p.text, sizeof p.text, "%s", why);
    tell(n, guest, &p);
    n->guest[guest].state = GUEST_OUT;
}

static void say_outcome(struct kl_netplay *n, uint8_t outcome) {
    n->told = true;
    tell(n, 0, &(struct kl_channel_packet){.kind = KL_CHANNEL_OUTCOME, .outcome = outcome});
}

/* --- the match itself over the channel --- */

static void end_carrying(struct kl_netplay *n, unsigned other) {
    uint64_t in, out, dropped;
    if (!n->carrier[other]) return;
    kl_carrier_count(n->carrier[other], &in, &out, &dropped);
    kl_frontend_log(n->front,
                    "netplay: carried over the channel in=%" PRIu64 " out=%" PRIu64 " dropped=%" PRIu64, in,
                    out, dropped);
    kl_carrier_close(n->carrier[other]);
    n->carrier[other] = NULL;
}

static void end_all_carrying(struct kl_netplay *n) {
    for (unsigned i = 0; i <= GUESTS; i++)
        end_carrying(n, i);
}

/* All that may go now, and then it goes at once. */
static void send_carried(struct kl_netplay *n) {
    struct kl_channel_packet p;
    bool any = false;
    for (unsigned i = n->cut ? 1 : 0; i <= GUESTS && n->send; i++)
        while (n->carrier[i] && kl_carrier_next(n->carrier[i], &p)) {
            put(n, i, &p, 0);
            any = true;
        }
    if (any && n->send) n->send(KL_NETPACKET_RELIABLE | KL_NETPACKET_FLUSH, NULL, 0, KL_NETPACKET_BROADCAST);
}

/* A guest begins it, whose UDP does not get through, by its first datagram. */
static bool begin_carrying(struct kl_netplay *n, unsigned guest) {
    bool may =
        n->hosted_port && (n->guest[guest].state == GUEST_HAS_TICKET || n->guest[guest].state == GUEST_IN);
    if (may) n->carrier[guest] = kl_carrier_open_host(n->hosted_port);
    if (n->carrier[guest])
        kl_frontend_log(n->front, "netplay: no UDP from guest %u, its match comes over this channel", guest);
    else
        refuse(n, guest,
               may ? "the host's machine has no free socket"
                   : "expected no datagrams: the host's machine gave no ticket for its relay");
    return n->carrier[guest] != NULL;
}

static void take_carried(struct kl_netplay *n, const struct kl_channel_packet *p, unsigned from) {
    if (!n->host && n->cut) return;
    if (!n->carrier[from] && (!n->host || !begin_carrying(n, from))) return;
    if (kl_carrier_take(n->carrier[from], p) == KL_OK) return;
    kl_frontend_log(n->front, "netplay: client %u acknowledged bytes that it was not sent", from);
    end_carrying(n, from);
    if (n->host) refuse(n, from, "expected at most the bytes sent to you, got a larger count");
    n->guest[from].state = GUEST_OUT;
}

/* The guest's end. The match goes there as it would to the relay. */
static bool carry(struct kl_netplay *n) {
    uint16_t port;
    end_carrying(n, 0);
    n->carrier[0] = kl_carrier_open_guest(&port);
    if (!n->carrier[0]) return false;
    kl_frontend_log(n->front,
                    "netplay: the host's UDP port %u does not answer, the match comes over this channel",
                    n->ticket.port);
    kl_frontend_say(n->front, KL_SCREEN_WARNING, 6000, "no UDP to the host: the match runs over TCP, slower");
    n->cut = false;
    snprintf(n->ticket.host, sizeof n->ticket.host, "%s", KL_CARRIER_HOST);
    n->ticket.port = port;
    return true;
}

/* RetroArch has connected again, and the link waits for it. */
static bool carry_again(struct kl_netplay *n, const struct kl_url *ticket) {
    bool same = n->carrier[0] && *n->link && !strcmp(ticket->room, n->room->room) &&
                !strcmp(ticket->fingerprint, n->room->fingerprint);
    if (same) kl_carrier_again(n->carrier[0]);
    n->cut = n->cut && !same;
    return same;
}

/* --- the host --- */

static void turn_key(struct kl_netplay *n, bool lock, uint64_t now_us) {
    uint8_t on = lock;
    if (now_us < n->door_us) return;
    n->door_us = now_us + DOOR_US;
    (void)kl_participant_order(kl_link_hold(*n->link), KL_COMMAND_LOCK, &on, 1);
    kl_link_release(*n->link);
}

static bool locked(struct kl_netplay *n) {
    return n->status->roster.doors & KL_DOOR_LOCKED;
}

static bool write_ticket(struct kl_netplay *n, struct kl_url *out) {
    struct kl_url u = {.port = n->room->port};
    char link[KL_URL_MAX + 1], address[KL_ADDRESS_TEXT];
    kl_reach_own(address);
    snprintf(u.host, sizeof u.host, "%.*s", KL_URL_HOST_MAX, n->hosted ? address : n->room->host);
    snprintf(u.room, sizeof u.room, "%s", n->room->room);
    snprintf(u.fingerprint, sizeof u.fingerprint, "%s", n->status->fingerprint);
    *out = u;
    return *u.fingerprint && kl_url_write(&u, link, sizeof link) == 0;
}

static void give_ticket(struct kl_netplay *n, unsigned guest, uint64_t now_us) {
    struct kl_channel_packet p = {.kind = KL_CHANNEL_TICKET, .hosted = n->hosted};
    if (!write_ticket(n, &p.url)) {
        refuse(n, guest, "the name of the host's relay does not fit into a ticket");
        return;
    }
    tell(n, guest, &p);
    n->guest[guest].state = GUEST_HAS_TICKET;
    n->serving = guest;
    n->ticket_us = now_us;
}

/* The room's door locks itself behind each newcomer (KL_DOOR_ONCE). This opens it for one guest at a time. */
static void serve(struct kl_netplay *n, uint64_t now_us) {
    unsigned next = 1;
    if (n->serving && now_us - n->ticket_us > TICKET_US) {
        n->guest[n->serving].state = GUEST_OUT;
        n->serving = 0;
    }
    if (n->serving) return;
    while (next <= GUESTS && n->guest[next].state != GUEST_WAITS)
        next++;
    if (next > GUESTS) {
        if (!locked(n)) turn_key(n, true, now_us);
    } else if (locked(n))
        turn_key(n, false, now_us);
    else
        give_ticket(n, next, now_us);
}

static void enter(struct kl_netplay *n, const char *host, uint16_t port, const char *fingerprint,
                  const char *room) {
    struct kl_url *to = &n->ask.to;
    n->ask.enters = true;
    to->port = port;
    snprintf(to->host, sizeof to->host, "%s", host);
    snprintf(to->fingerprint, sizeof to->fingerprint, "%s", fingerprint);
    snprintf(to->room, sizeof to->room, "%s", room);
}

void kl_netplay_entered(struct kl_netplay *n, bool begun) {
    if (!n->host && !begun) say_outcome(n, KL_CHANNEL_FAILED);
    if (!n->host || !begun) return;
    kl_frontend_log(n->front, "netplay: opening a room for guests");
    kl_frontend_say(n->front, KL_SCREEN_INFO, 4000, "a room is open for guests");
}

static void open_room(struct kl_netplay *n, const char *host, uint16_t port, const char *fingerprint) {
    char room[KL_NAME_MAX];
    uint8_t secret[10];
    randombytes_buf(secret, sizeof secret);
    memcpy(room, "np-", 3);
    sodium_bin2hex(room + 3, sizeof room - 3, secret, sizeof secret);
    enter(n, host, port, fingerprint, room);
}

/* True: the room is on its way, or cannot come about. So below. */
static bool wait_for_relay(struct kl_netplay *n) {
    char fingerprint[KL_FINGERPRINT_CHARS + 1], err[256];
    uint16_t port;
    switch (kl_hosted_look(n->hosted, &port, fingerprint, err, sizeof err)) {
    case KL_HOSTED_STARTING: return false;
    case KL_HOSTED_FAILED:
        kl_frontend_fail(n->front, "netplay: no relay is set, and none starts here: %s", err);
        return true;
    case KL_HOSTED_LISTENS: break;
    }
    n->hosted_port = port;
    kl_frontend_log(n->front, "netplay: no relay is set, this machine is the relay at UDP port %u", port);
    open_room(n, "127.0.0.1", port, fingerprint);
    return true;
}

static bool host_room(struct kl_netplay *n) {
    if (n->hosted) return wait_for_relay(n);
    if (*n->config->host)
        open_room(n, n->config->host, n->config->port, n->config->fingerprint);
    else {
        /* Without a relay this machine is one, from now until the match is over. */
        char dir[KL_FILE_PATH], err[256] = "no memory";
        bool good = kl_state_folder("relay", dir, err, sizeof err) == 0;
        n->hosted = good ? kl_hosted_open(dir) : NULL;
        if (!n->hosted) kl_frontend_fail(n->front, "netplay: no relay is set, and none starts here: %s", err);
    }
    return !n->hosted;
}

/* --- the guest --- */

static void end_looking(struct kl_netplay *n) {
    kl_reach_close(n->reach);
    n->reach = NULL;
}

/* True: it was found, or is lost. */
static bool find_host(struct kl_netplay *n) {
    char address[KL_ADDRESS_TEXT];
    if (!n->reach) {
        struct kl_reach_list list = {.count = 0};
        kl_reach_add(&list, n->ticket.host);
        kl_reach_add_peers(&list);
        n->reach = kl_reach_open(&list, n->ticket.port);
    }
    enum kl_reach_news news = n->reach ? kl_reach_look(n->reach, address) : KL_REACH_NOWHERE;
    if (news == KL_REACH_ASKING) return false;
    end_looking(n);
    n->lost = news == KL_REACH_NOWHERE;
    if (!n->lost) snprintf(n->ticket.host, sizeof n->ticket.host, "%s", address);
    return true;
}

static bool enter_room(struct kl_netplay *n) {
    const struct kl_url *t = &n->ticket;
    if (n->ticket_hosted && !find_host(n)) return false;
    if (n->lost && !carry(n)) {
        kl_frontend_fail(n->front,
                         "the host's UDP port %u does not answer: the host must forward it or set a relay",
                         t->port);
        say_outcome(n, KL_CHANNEL_FAILED);
        return true;
    }
    kl_frontend_log(n->front, "netplay: a ticket for a room on %s", kl_host_port(t->host, t->port).text);
    enter(n, t->host, t->port, t->fingerprint, t->room);
    return true;
}

/* --- received packets --- */

static void take_greeting(struct kl_netplay *n, const struct kl_channel_packet *p, unsigned from) {
    char why[KL_TEXT_MAX];
    if (p->protocol != KL_PROTOCOL_VERSION) {
        snprintf(why, sizeof why, "expected protocol %d, got %u: install the same Keylock",
                 KL_PROTOCOL_VERSION, p->protocol);
        kl_frontend_say(n->front, KL_SCREEN_WARNING, 6000, "%s", why);
        if (n->host) refuse(n, from, why);
        n->guest[from].state = GUEST_OUT;
        return;
    }
    if (n->host) greet(n, from);
    n->guest[from].state = GUEST_WAITS;
}

static void wrong_version(struct kl_netplay *n, unsigned from, unsigned version) {
    char why[KL_TEXT_MAX];
    snprintf(why, sizeof why, "expected netplay version %d, got %u: install the same Keylock",
             KL_CHANNEL_VERSION, version);
    kl_frontend_say(n->front, KL_SCREEN_WARNING, 6000, "%s", why);
    if (n->host) refuse(n, from, why);
    n->guest[from].state = GUEST_OUT;
}

static void take_for_host(struct kl_netplay *n, const struct kl_channel_packet *p, unsigned from) {
    if (p->kind != KL_CHANNEL_OUTCOME || n->guest[from].state != GUEST_HAS_TICKET) return;
    n->guest[from].state = p->outcome == KL_CHANNEL_IN ? GUEST_IN : GUEST_OUT;
    if (n->serving == from) n->serving = 0;
}

static void take_for_guest(struct kl_netplay *n, const struct kl_channel_packet *p) {
    if (p->kind == KL_CHANNEL_REFUSE) {
        kl_frontend_fail(n->front, "the host has no room for you: %s", p->text);
        n->guest[0].state = GUEST_OUT;
    } else if (p->kind == KL_CHANNEL_TICKET && !n->ticket.port) {
        n->ticket = p->url;
        n->ticket_hosted = p->hosted;
        n->room_wanted = !carry_again(n, &p->url);
    }
}

/* The first packet is a greeting; without it no other packet counts. But a host sends beats to all guests of
 * its frontend, so a beat may overtake the answer to a greeting. */
static bool is_due(struct kl_netplay *n, uint8_t kind, unsigned from) {
    return n->guest[from].state != GUEST_NONE || kind == KL_CHANNEL_GREET || kind == KL_CHANNEL_REFUSE ||
           (kind == KL_CHANNEL_BEAT && !n->host);
}

static void receive(const void *buf, size_t len, uint16_t client) {
    struct kl_netplay *n = known;
    struct kl_channel_packet p;
    if (n->core_serves) {
        n->core.receive(buf, len, client);
        return;
    }
    if (!n->active || client > GUESTS || (client == 0) == n->host || n->guest[client].state == GUEST_OUT)
        return;
    int result = kl_channel_decode(&p, buf, len);
    n->guest[client].heard_us = kl_now_us();
    if (result == KL_E_VERSION)
        wrong_version(n, client, p.version);
    else if (result != KL_OK || !is_due(n, p.kind, client)) {
        kl_frontend_log(n->front, "netplay: client %u sent a packet that is not Keylock's", client);
        if (n->host) refuse(n, client, "expected a packet of Keylock, got another packet");
        n->guest[client].state = GUEST_OUT;
    } else if (p.kind == KL_CHANNEL_CARRY) {
        take_carried(n, &p, client);
    } else if (p.kind == KL_CHANNEL_GREET) {
        if (n->guest[client].state == GUEST_NONE) take_greeting(n, &p, client);
    } else if (n->host)
        take_for_host(n, &p, client);
    else
        take_for_guest(n, &p);
}

/* --- the session --- */

static void start(uint16_t client, kl_netpacket_send_fn send, kl_netpacket_poll_fn poll_receive) {
    struct kl_netplay *n = known;
    n->core_serves = n->core_has && !*n->config->host;
    if (n->core_serves) {
        if (n->core.start) n->core.start(client, send, poll_receive);
        return;
    }
    memset(n->guest, 0, sizeof n->guest);
    n->active = true;
    n->host = client == 0;
    if (n->host) end_all_carrying(n);
    n->send = send;
    n->poll_receive = poll_receive;
    n->greeted = n->in_room = n->told = n->lost = false;
    n->ticket.port = 0;
    n->serving = 0;
    n->beat_us = n->door_us = 0;
    n->room_wanted = n->host;
}

/* The frontend's session is over, or the line to the other is cut: nothing here can tell which. */
static void stop(void) {
    struct kl_netplay *n = known;
    if (n->core_serves) {
        n->core_serves = false;
        if (n->core.stop) n->core.stop();
        return;
    }
    if (!n->active) return;
    n->active = n->room_wanted = false;
    n->send = NULL;
    n->poll_receive = NULL;
    end_looking(n);
    if (n->host) end_all_carrying(n);
    n->cut = true;
    if (n->emu->phase == KL_PHASE_PLAYING && n->carrier[0])
        kl_frontend_say(n->front, KL_SCREEN_WARNING, 8000,
                        "netplay ended, and the match with it: connect again");
    else if (n->emu->phase == KL_PHASE_PLAYING)
        kl_frontend_say(n->front, KL_SCREEN_INFO, 5000,
                        "netplay ended, the match goes on: choose Alone to leave");
    else if (n->in_room || *n->link)
        n->ask = (struct kl_netplay_ask){.leaves = true};
}

static void poll(void) {
    struct kl_netplay *n = known;
    uint64_t now_us = kl_now_us();
    if (n->core_serves) {
        if (n->core.poll) n->core.poll();
        return;
    }
    if (!n->active) return;
    if (!n->host && !n->greeted) { /* not before: the host would not answer */
        n->greeted = true;
        n->guest[0].heard_us = now_us;
        greet(n, 0);
    }
    send_carried(n);
    if (now_us < n->beat_us) return;
    n->beat_us = now_us + BEAT_US;
    tell(n, n->host ? KL_NETPACKET_BROADCAST : 0, &(struct kl_channel_packet){.kind = KL_CHANNEL_BEAT});
}

static bool connected(uint16_t client) {
    struct kl_netplay *n = known;
    if (n->core_serves) return !n->core.connected || n->core.connected(client);
    return client <= GUESTS;
}

static void disconnected(uint16_t client) {
    struct kl_netplay *n = known;
    if (n->core_serves) {
        if (n->core.disconnected) n->core.disconnected(client);
        return;
    }
    if (client > GUESTS) return;
    memset(&n->guest[client], 0, sizeof n->guest[client]);
    end_carrying(n, client);
    if (n->serving == client) n->serving = 0;
}

/* The relay's word on the room that we are in for the session. */
static void follow_room(struct kl_netplay *n) {
    bool in =
        *n->link && n->status->phase >= KL_PARTICIPANT_WAITING && n->status->phase < KL_PARTICIPANT_ENDED;
    n->in_room = n->in_room || in;
    if (n->host || n->told || !n->ticket.port || n->room_wanted || n->ask.enters) return;
    if (in)
        say_outcome(n, KL_CHANNEL_IN);
    else if (!*n->link)
        say_outcome(n, KL_CHANNEL_FAILED);
}

static void turn(struct kl_netplay *n, uint64_t now_us) {
    if (n->hosted && !n->active && !*n->link) { /* nobody plays by it any more */
        kl_hosted_close(n->hosted);
        n->hosted = NULL;
        n->hosted_port = 0;
    }
    if (!n->host && !*n->link && !n->room_wanted) end_carrying(n, 0);
    if (!n->active) return;
    /* Takes the packets that the frontend has received; it may call receive() and stop(). */
    for (unsigned i = 0; i <= GUESTS; i++)
        if (n->carrier[i]) kl_carrier_frame(n->carrier[i]);
    if (n->poll_receive) n->poll_receive();
    if (!n->active) return;
    if (n->room_wanted) n->room_wanted = n->host ? !host_room(n) : !enter_room(n);
    follow_room(n);
    for (unsigned i = 0; i <= GUESTS; i++) {
        bool there = n->guest[i].state != GUEST_NONE && n->guest[i].state != GUEST_OUT;
        bool silent = there && now_us > n->guest[i].heard_us + SILENCE_US;
        if (silent && !n->guest[i].silent)
            kl_frontend_log(n->front, "netplay: nothing came through RetroArch for 10 s%s",
                            n->carrier[i] ? "" : "; the match does not need it");
        n->guest[i].silent = silent;
    }
    if (n->host && n->in_room && *n->link && n->status->welcome.host) serve(n, now_us);
}

void kl_netplay_init(struct kl_netplay *n, struct kl_frontend *front, const struct kl_config *config,
                     const struct kl_room_request *room, struct kl_link *const *link,
                     const struct kl_participant_status *status, const struct kl_emulator *emu) {
    n->front = front;
    n->config = config;
    n->room = room;
    n->link = link;
    n->status = status;
    n->emu = emu;
}

struct kl_netplay_ask kl_netplay_turn(struct kl_netplay *n, uint64_t now_us) {
    turn(n, now_us);
    struct kl_netplay_ask ask = n->ask;
    n->ask = (struct kl_netplay_ask){0};
    return ask;
}

void kl_netplay_send(struct kl_netplay *n) {
    if (n->active) send_carried(n);
}

/* --- with the frontend and the core --- */

bool kl_netplay_offer(struct kl_netplay *n) {
    struct kl_netpacket ours = {.start = start,
                                .receive = receive,
                                .stop = stop,
                                .poll = poll,
                                .connected = connected,
                                .disconnected = disconnected,
                                .protocol_version = "keylock 2"};
    known = n;
    if (!n->offered && n->front->call.environment)
        n->offered = n->front->call.environment(KL_NETPACKET_CALL, &ours);
    return n->offered;
}

bool kl_netplay_inner(struct kl_netplay *n, const struct kl_netpacket *core) {
    if (!n->offered) return false;
    n->core_has = core && core->start && core->receive;
    if (n->core_has) n->core = *core;
    return n->core_has;
}

void kl_netplay_close(struct kl_netplay *n) {
    end_looking(n);
    end_all_carrying(n);
    kl_hosted_close(n->hosted);
    struct kl_netplay was = *n;
    memset(n, 0, sizeof *n);
    kl_netplay_init(n, was.front, was.config, was.room, was.link, was.status, was.emu);
}

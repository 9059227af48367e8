#include "core_wrapper/netplay/netplay.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <sodium.h>

#include "net/platform/clock.h"
#include "core_wrapper/netplay/carrier.h"
#include "core_wrapper/netplay/channel.h"
#include "core_wrapper/netplay/reach.h"
#include "core_wrapper/start/seat_file.h"
#include "core_wrapper/context/wrapper.h"
#include "net/engine/command.h"
#include "net/relay/hosted.h"

#define GUESTS     32 /* as many as RetroArch has */
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

static struct {
    bool asked, offered; /* the frontend: about the interface; has it */
    struct kl_netpacket core;
    bool core_has, core_serves; /* the core has an interface of its own; the present session uses it */
    bool active, host;          /* a session of ours */
    kl_netpacket_send_fn send;
    kl_netpacket_poll_fn poll_receive; /* may be NULL */
    bool room_wanted, in_room, told; /* in_room: the link was in the room; told: the host knows the result */
    bool greeted;                    /* guest: our GREET is out */
    struct kl_url ticket;            /* guest: with ->port 0 there is none yet */
    uint64_t beat_us, door_us, ticket_us;
    struct kl_hosted *hosted; /* host: the relay of this match, if no other is known */
    uint16_t hosted_port;
    struct kl_reach *reach;   /* guest: looks for the host's relay */
    bool ticket_hosted, lost; /* guest: the ticket is for such a one; nobody answers there */
    unsigned serving;         /* host: the guest with a ticket; 0: none */
    struct {
        uint8_t state; /* enum guest_state */
        uint64_t heard_us;
        bool silent;                        /* was said */
    } guest[GUESTS + 1];                    /* by RetroArch's number; a guest has the host as 0 */
    struct kl_carrier *carrier[GUESTS + 1]; /* for whom the channel carries the match itself; so numbered */
    bool cut;                               /* guest: the channel ended, or is a new one */
    struct kl_netplay_ask ask;              /* for the next turn's caller */
} n;

/* ---- packets ---- */

static void put(unsigned to, const struct kl_channel_packet *p, int flags) {
    uint8_t bytes[KL_CHANNEL_MAX];
    int len = kl_channel_encode(p, bytes, sizeof bytes);
    if (n.send && len > 0) n.send(KL_NETPACKET_RELIABLE | flags, bytes, (size_t)len, (uint16_t)to);
}

static void tell(unsigned to, const struct kl_channel_packet *p) {
    put(to, p, KL_NETPACKET_FLUSH);
}

static void greet(unsigned to) {
    tell(to, &(struct kl_channel_packet){
                 .kind = KL_CHANNEL_GREET, .version = KL_CHANNEL_VERSION, .protocol = KL_PROTOCOL_VERSION});
}

static void refuse(unsigned guest, const char *why) {
    struct kl_channel_packet p = {.kind = KL_CHANNEL_REFUSE};
    snprintf(p.text, sizeof p.text, "%s", why);
    tell(guest, &p);
    n.guest[guest].state = GUEST_OUT;
}

static void say_outcome(uint8_t outcome) {
    n.told = true;
    tell(0, &(struct kl_channel_packet){.kind = KL_CHANNEL_OUTCOME, .outcome = outcome});
}

/* ---- the match itself over the channel ---- */

static void end_carrying(unsigned other) {
    uint64_t in, out, dropped;
    if (!n.carrier[other]) return;
    kl_carrier_count(n.carrier[other], &in, &out, &dropped);
    kl_screen_log(&kl_w.screen, kl_w.front.environment,
                  "netplay: carried over the channel in=%" PRIu64 " out=%" PRIu64 " dropped=%" PRIu64, in,
                  out, dropped);
    kl_carrier_close(n.carrier[other]);
    n.carrier[other] = NULL;
}

static void end_all_carrying(void) {
    for (unsigned i = 0; i <= GUESTS; i++)
        end_carrying(i);
}

/* All that may go now, and then it goes at once. */
static void send_carried(void) {
    struct kl_channel_packet p;
    bool any = false;
    for (unsigned i = n.cut ? 1 : 0; i <= GUESTS && n.send; i++)
        while (n.carrier[i] && kl_carrier_next(n.carrier[i], &p)) {
            put(i, &p, 0);
            any = true;
        }
    if (any && n.send) n.send(KL_NETPACKET_RELIABLE | KL_NETPACKET_FLUSH, NULL, 0, KL_NETPACKET_BROADCAST);
}

/* A guest begins it, whose UDP does not get through, by its first datagram. */
static bool begin_carrying(unsigned guest) {
    bool may =
        n.hosted_port && (n.guest[guest].state == GUEST_HAS_TICKET || n.guest[guest].state == GUEST_IN);
    if (may) n.carrier[guest] = kl_carrier_open_host(n.hosted_port);
    if (n.carrier[guest])
        kl_screen_log(&kl_w.screen, kl_w.front.environment,
                      "netplay: no UDP from guest %u, its match comes over this channel", guest);
    else
        refuse(guest, may ? "the host's machine has no free socket"
                          : "expected no datagrams: the host's machine gave no ticket for its relay");
    return n.carrier[guest] != NULL;
}

static void take_carried(const struct kl_channel_packet *p, unsigned from) {
    if (!n.host && n.cut) return;
    if (!n.carrier[from] && (!n.host || !begin_carrying(from))) return;
    if (kl_carrier_take(n.carrier[from], p) == KL_OK) return;
    kl_screen_log(&kl_w.screen, kl_w.front.environment,
                  "netplay: client %u acknowledged bytes that it was not sent", from);
    end_carrying(from);
    if (n.host) refuse(from, "expected at most the bytes sent to you, got a larger count");
    n.guest[from].state = GUEST_OUT;
}

/* The guest's end. The match goes there as it would to the relay. */
static bool carry(void) {
    uint16_t port;
    end_carrying(0);
    n.carrier[0] = kl_carrier_open_guest(&port);
    if (!n.carrier[0]) return false;
    kl_screen_log(&kl_w.screen, kl_w.front.environment,
                  "netplay: the host's UDP port %u does not answer, the match comes over this channel",
                  n.ticket.port);
    kl_wrapper_say(KL_SCREEN_WARNING, 6000, "no UDP to the host: the match runs over TCP, slower");
    n.cut = false;
    snprintf(n.ticket.host, sizeof n.ticket.host, "%s", KL_CARRIER_HOST);
    n.ticket.port = port;
    return true;
}

/* RetroArch has connected again, and the link waits for it. */
static bool carry_again(const struct kl_url *ticket) {
    bool same = n.carrier[0] && kl_w.link && !strcmp(ticket->room, kl_w.config.room) &&
                !strcmp(ticket->fingerprint, kl_w.config.fingerprint);
    if (same) kl_carrier_again(n.carrier[0]);
    n.cut = n.cut && !same;
    return same;
}

/* ---- the host ---- */

static void turn_key(bool lock, uint64_t now_us) {
    uint8_t on = lock;
    if (now_us < n.door_us) return;
    n.door_us = now_us + DOOR_US;
    (void)kl_link_order(kl_w.link, KL_COMMAND_LOCK, &on, 1);
}

static bool locked(void) {
    return kl_w.status.roster.doors & KL_DOOR_LOCKED;
}

static bool write_ticket(struct kl_url *out) {
    struct kl_url u = {.port = kl_w.config.port};
    char link[KL_URL_MAX + 1], address[KL_REACH_TEXT];
    kl_reach_own(address);
    snprintf(u.host, sizeof u.host, "%.*s", KL_URL_HOST_MAX, n.hosted ? address : kl_w.config.host);
    snprintf(u.room, sizeof u.room, "%s", kl_w.config.room);
    snprintf(u.fingerprint, sizeof u.fingerprint, "%s", kl_w.status.fingerprint);
    *out = u;
    return *u.fingerprint && kl_url_write(&u, link, sizeof link) == 0;
}

static void give_ticket(unsigned guest, uint64_t now_us) {
    struct kl_channel_packet p = {.kind = KL_CHANNEL_TICKET, .hosted = n.hosted};
    if (!write_ticket(&p.url)) {
        refuse(guest, "the name of the host's relay does not fit into a ticket");
        return;
    }
    tell(guest, &p);
    n.guest[guest].state = GUEST_HAS_TICKET;
    n.serving = guest;
    n.ticket_us = now_us;
}

/* The room's door locks itself behind each newcomer (KL_DOOR_ONCE). This opens it for one guest at a time. */
static void serve(uint64_t now_us) {
    unsigned next = 1;
    if (n.serving && now_us - n.ticket_us > TICKET_US) {
        n.guest[n.serving].state = GUEST_OUT;
        n.serving = 0;
    }
    if (n.serving) return;
    while (next <= GUESTS && n.guest[next].state != GUEST_WAITS)
        next++;
    if (next > GUESTS) {
        if (!locked()) turn_key(true, now_us);
    } else if (locked())
        turn_key(false, now_us);
    else
        give_ticket(next, now_us);
}

static void enter(const char *host, uint16_t port, const char *fingerprint, const char *room) {
    struct kl_url *to = &n.ask.to;
    n.ask.enters = true;
    to->port = port;
    snprintf(to->host, sizeof to->host, "%s", host);
    snprintf(to->fingerprint, sizeof to->fingerprint, "%s", fingerprint);
    snprintf(to->room, sizeof to->room, "%s", room);
}

void kl_netplay_entered(bool begun) {
    if (!n.host && !begun) say_outcome(KL_CHANNEL_FAILED);
    if (!n.host || !begun) return;
    kl_screen_log(&kl_w.screen, kl_w.front.environment, "netplay: opening a room for guests");
    kl_wrapper_say(KL_SCREEN_INFO, 4000, "a room is open for guests");
}

static void open_room(const char *host, uint16_t port, const char *fingerprint) {
    char room[KL_NAME_MAX];
    uint8_t secret[10];
    randombytes_buf(secret, sizeof secret);
    memcpy(room, "np-", 3);
    sodium_bin2hex(room + 3, sizeof room - 3, secret, sizeof secret);
    enter(host, port, fingerprint, room);
}

/* Without a relay this machine is one, from now until the match is over. */
static void host_relay(void) {
    char dir[KL_FILE_PATH], err[256] = "no memory";
    bool good = kl_state_folder("relay", dir, err, sizeof err) == 0;
    n.hosted = good ? kl_hosted_open(dir) : NULL;
    if (!n.hosted) kl_wrapper_fail("netplay: no relay is set, and none starts here: %s", err);
}

/* True: the room is on its way, or cannot come about. So below. */
static bool wait_for_relay(void) {
    char fingerprint[KL_FINGERPRINT_CHARS + 1], err[256];
    uint16_t port;
    switch (kl_hosted_look(n.hosted, &port, fingerprint, err, sizeof err)) {
    case KL_HOSTED_STARTING: return false;
    case KL_HOSTED_FAILED:
        kl_wrapper_fail("netplay: no relay is set, and none starts here: %s", err);
        return true;
    case KL_HOSTED_LISTENS: break;
    }
    n.hosted_port = port;
    kl_screen_log(&kl_w.screen, kl_w.front.environment,
                  "netplay: no relay is set, this machine is the relay at UDP port %u", port);
    open_room("127.0.0.1", port, fingerprint);
    return true;
}

static bool host_room(void) {
    if (n.hosted) return wait_for_relay();
    if (*kl_w.config.host)
        open_room(kl_w.config.host, kl_w.config.port, kl_w.config.fingerprint);
    else
        host_relay();
    return !n.hosted;
}

/* Once nobody plays by it any more. */
static void end_relay(void) {
    if (n.active || kl_w.link) return;
    kl_hosted_close(n.hosted);
    n.hosted = NULL;
    n.hosted_port = 0;
}

/* ---- the guest ---- */

static void look_for_host(void) {
    struct kl_reach_list list = {.count = 0};
    kl_reach_add(&list, n.ticket.host);
    kl_reach_add_peers(&list);
    n.reach = kl_reach_open(&list, n.ticket.port);
}

static void end_looking(void) {
    kl_reach_close(n.reach);
    n.reach = NULL;
}

/* True: it was found, or is lost. */
static bool find_host(void) {
    char address[KL_REACH_TEXT];
    if (!n.reach) look_for_host();
    enum kl_reach_news news = n.reach ? kl_reach_look(n.reach, address) : KL_REACH_NOWHERE;
    if (news == KL_REACH_ASKING) return false;
    end_looking();
    n.lost = news == KL_REACH_NOWHERE;
    if (!n.lost) snprintf(n.ticket.host, sizeof n.ticket.host, "%s", address);
    return true;
}

static bool enter_room(void) {
    const struct kl_url *t = &n.ticket;
    if (n.ticket_hosted && !find_host()) return false;
    if (n.lost && !carry()) {
        kl_wrapper_fail("the host's UDP port %u does not answer: the host must forward it or set a relay",
                        t->port);
        say_outcome(KL_CHANNEL_FAILED);
        return true;
    }
    kl_screen_log(&kl_w.screen, kl_w.front.environment, "netplay: a ticket for a room on %s:%u", t->host,
                  t->port);
    enter(t->host, t->port, t->fingerprint, t->room);
    return true;
}

/* ---- received packets ---- */

static void take_greeting(const struct kl_channel_packet *p, unsigned from) {
    char why[KL_TEXT_MAX];
    if (p->protocol != KL_PROTOCOL_VERSION) {
        snprintf(why, sizeof why, "expected protocol %d, got %u: install the same Keylock",
                 KL_PROTOCOL_VERSION, p->protocol);
        kl_wrapper_say(KL_SCREEN_WARNING, 6000, "%s", why);
        if (n.host) refuse(from, why);
        n.guest[from].state = GUEST_OUT;
        return;
    }
    if (n.host) greet(from);
    n.guest[from].state = GUEST_WAITS;
}

static void wrong_version(unsigned from, unsigned version) {
    char why[KL_TEXT_MAX];
    snprintf(why, sizeof why, "expected netplay version %d, got %u: install the same Keylock",
             KL_CHANNEL_VERSION, version);
    kl_wrapper_say(KL_SCREEN_WARNING, 6000, "%s", why);
    if (n.host) refuse(from, why);
    n.guest[from].state = GUEST_OUT;
}

static void take_for_host(const struct kl_channel_packet *p, unsigned from) {
    if (p->kind != KL_CHANNEL_OUTCOME || n.guest[from].state != GUEST_HAS_TICKET) return;
    n.guest[from].state = p->outcome == KL_CHANNEL_IN ? GUEST_IN : GUEST_OUT;
    if (n.serving == from) n.serving = 0;
}

static void take_for_guest(const struct kl_channel_packet *p) {
    if (p->kind == KL_CHANNEL_REFUSE) {
        kl_wrapper_fail("the host has no room for you: %s", p->text);
        n.guest[0].state = GUEST_OUT;
    } else if (p->kind == KL_CHANNEL_TICKET && !n.ticket.port) {
        n.ticket = p->url;
        n.ticket_hosted = p->hosted;
        n.room_wanted = !carry_again(&p->url);
    }
}

/* The first packet is a greeting; without it no other packet counts. But a host sends beats to all guests of
 * its frontend, so a beat may overtake the answer to a greeting. */
static bool is_due(uint8_t kind, unsigned from) {
    return n.guest[from].state != GUEST_NONE || kind == KL_CHANNEL_GREET || kind == KL_CHANNEL_REFUSE ||
           (kind == KL_CHANNEL_BEAT && !n.host);
}

static void receive(const void *buf, size_t len, uint16_t client) {
    struct kl_channel_packet p;
    if (n.core_serves) {
        n.core.receive(buf, len, client);
        return;
    }
    if (!n.active || client > GUESTS || (client == 0) == n.host || n.guest[client].state == GUEST_OUT) return;
    int result = kl_channel_decode(&p, buf, len);
    n.guest[client].heard_us = kl_now_us();
    if (result == KL_E_VERSION)
        wrong_version(client, p.version);
    else if (result != KL_OK || !is_due(p.kind, client)) {
        kl_screen_log(&kl_w.screen, kl_w.front.environment,
                      "netplay: client %u sent a packet that is not Keylock's", client);
        if (n.host) refuse(client, "expected a packet of Keylock, got another packet");
        n.guest[client].state = GUEST_OUT;
    } else if (p.kind == KL_CHANNEL_CARRY) {
        take_carried(&p, client);
    } else if (p.kind == KL_CHANNEL_GREET) {
        if (n.guest[client].state == GUEST_NONE) take_greeting(&p, client);
    } else if (n.host)
        take_for_host(&p, client);
    else
        take_for_guest(&p);
}

/* ---- the session ---- */

static void start(uint16_t client, kl_netpacket_send_fn send, kl_netpacket_poll_fn poll_receive) {
    n.core_serves = n.core_has && !*kl_w.config.host;
    if (n.core_serves) {
        if (n.core.start) n.core.start(client, send, poll_receive);
        return;
    }
    memset(n.guest, 0, sizeof n.guest);
    n.active = true;
    n.host = client == 0;
    if (n.host) end_all_carrying();
    n.send = send;
    n.poll_receive = poll_receive;
    n.greeted = n.in_room = n.told = n.lost = false;
    n.ticket.port = 0;
    n.serving = 0;
    n.beat_us = n.door_us = 0;
    n.room_wanted = n.host;
}

/* The frontend's session is over, or the line to the other is cut: nothing here can tell which. */
static void stop(void) {
    if (n.core_serves) {
        n.core_serves = false;
        if (n.core.stop) n.core.stop();
        return;
    }
    if (!n.active) return;
    n.active = n.room_wanted = false;
    n.send = NULL;
    n.poll_receive = NULL;
    end_looking();
    if (n.host) end_all_carrying();
    n.cut = true;
    if (kl_w.emu.phase == KL_PHASE_PLAYING && n.carrier[0])
        kl_wrapper_say(KL_SCREEN_WARNING, 8000, "netplay ended, and the match with it: connect again");
    else if (kl_w.emu.phase == KL_PHASE_PLAYING)
        kl_wrapper_say(KL_SCREEN_INFO, 5000, "netplay ended, the match goes on: choose Alone to leave");
    else if (n.in_room || kl_w.link)
        n.ask = (struct kl_netplay_ask){.leaves = true};
}

static void poll(void) {
    uint64_t now_us = kl_now_us();
    if (n.core_serves) {
        if (n.core.poll) n.core.poll();
        return;
    }
    if (!n.active) return;
    if (!n.host && !n.greeted) { /* not before: the host would not answer */
        n.greeted = true;
        n.guest[0].heard_us = now_us;
        greet(0);
    }
    send_carried();
    if (now_us < n.beat_us) return;
    n.beat_us = now_us + BEAT_US;
    tell(n.host ? KL_NETPACKET_BROADCAST : 0, &(struct kl_channel_packet){.kind = KL_CHANNEL_BEAT});
}

static bool connected(uint16_t client) {
    if (n.core_serves) return !n.core.connected || n.core.connected(client);
    return client <= GUESTS;
}

static void disconnected(uint16_t client) {
    if (n.core_serves) {
        if (n.core.disconnected) n.core.disconnected(client);
        return;
    }
    if (client > GUESTS) return;
    memset(&n.guest[client], 0, sizeof n.guest[client]);
    end_carrying(client);
    if (n.serving == client) n.serving = 0;
}

static void note_silence(uint64_t now_us) {
    for (unsigned i = 0; i <= GUESTS; i++) {
        bool there = n.guest[i].state != GUEST_NONE && n.guest[i].state != GUEST_OUT;
        bool silent = there && now_us > n.guest[i].heard_us + SILENCE_US;
        if (silent && !n.guest[i].silent)
            kl_screen_log(&kl_w.screen, kl_w.front.environment,
                          "netplay: nothing came through RetroArch for 10 s%s",
                          n.carrier[i] ? "" : "; the match does not need it");
        n.guest[i].silent = silent;
    }
}

/* The relay's word on the room that we are in for the session. */
static void follow_room(void) {
    bool in = kl_w.link && kl_w.status.phase >= KL_STAY_WAITING && kl_w.status.phase < KL_STAY_ENDED;
    n.in_room = n.in_room || in;
    if (n.host || n.told || !n.ticket.port || n.room_wanted || n.ask.enters) return;
    if (in)
        say_outcome(KL_CHANNEL_IN);
    else if (!kl_w.link)
        say_outcome(KL_CHANNEL_FAILED);
}

/* Takes the packets that the frontend has received; it may call receive() and stop(). */
static void receive_more(void) {
    for (unsigned i = 0; i <= GUESTS; i++)
        if (n.carrier[i]) kl_carrier_frame(n.carrier[i]);
    if (n.poll_receive) n.poll_receive();
}

static void turn(uint64_t now_us) {
    if (n.hosted) end_relay();
    if (!n.host && !kl_w.link && !n.room_wanted) end_carrying(0);
    if (!n.active) return;
    receive_more();
    if (!n.active) return;
    if (n.room_wanted) n.room_wanted = n.host ? !host_room() : !enter_room();
    follow_room();
    note_silence(now_us);
    if (n.host && n.in_room && kl_w.link && kl_w.status.welcome.host) serve(now_us);
}

struct kl_netplay_ask kl_netplay_turn(uint64_t now_us) {
    turn(now_us);
    struct kl_netplay_ask ask = n.ask;
    n.ask = (struct kl_netplay_ask){0};
    return ask;
}

void kl_netplay_send(void) {
    if (n.active) send_carried();
}

/* ---- with the frontend and the core ---- */

bool kl_netplay_offer(void) {
    struct kl_netpacket ours = {.start = start,
                                .receive = receive,
                                .stop = stop,
                                .poll = poll,
                                .connected = connected,
                                .disconnected = disconnected,
                                .protocol_version = "keylock 2"};
    if (!n.offered && kl_w.front.environment) n.offered = kl_w.front.environment(KL_NETPACKET_CALL, &ours);
    return n.offered;
}

bool kl_netplay_inner(const struct kl_netpacket *core) {
    if (!n.offered) return false;
    n.core_has = core && core->start && core->receive;
    if (n.core_has) n.core = *core;
    return n.core_has;
}

void kl_netplay_close(void) {
    end_looking();
    end_all_carrying();
    kl_hosted_close(n.hosted);
    memset(&n, 0, sizeof n);
}

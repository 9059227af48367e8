#include <stdio.h>
#include <string.h>

#include "net/transport/link_state.h"

int kl_link_door_init(struct kl_link_door *d, const char *password, bool seated) {
    size_t len = password ? strlen(password) : 0;
    if (password && (len == 0 || len > KL_DOOR_PASSWORD_MAX)) return -1;
    memset(d, 0, sizeof *d);
    if (password) memcpy(d->password, password, len + 1);
    d->state = password && !seated ? KL_DOOR_OUTSIDE : KL_DOOR_PASSED;
    return 0;
}

static void send_prove(struct kl_link *l, const struct kl_prove *p) {
    struct kl_msg m = {.kind = KL_MSG_PROVE, .prove = *p};
    kl_link_send_message(l, &m);
    sodium_memzero(&m, sizeof m);
}

/* The relay keeps what proves a password to others: it gets that, never the password. */
static void set_password(struct kl_link *l, const uint8_t secret[KL_DOOR_SECRET]) {
    struct kl_prove p = {.what = KL_PROVE_SET};
    memcpy(p.share, secret, sizeof p.share);
    send_prove(l, &p);
    sodium_memzero(&p, sizeof p);
    l->door.state = KL_DOOR_PASSED;
}

static void prove(struct kl_link *l, const struct kl_door_msg *ask, const uint8_t secret[KL_DOOR_SECRET]) {
    struct kl_door run;
    struct kl_door_macs macs;
    struct kl_prove p = {.what = KL_PROVE};
    kl_door_begin(&run, KL_DOOR_CLIENT, secret, l->session.outcome.keys.binding);
    memcpy(p.share, run.share, sizeof p.share);
    if (kl_door_finish(&run, ask->share, &macs) != KL_OK) {
        kl_link_end_with(l, "the relay %s sent a share of the room's password that is none");
        return;
    }
    memcpy(p.mac, macs.own, sizeof p.mac);
    memcpy(l->door.expected, macs.expected, sizeof l->door.expected);
    send_prove(l, &p);
    l->door.state = KL_DOOR_PROVING;
}

static void on_door(struct kl_link *l, const struct kl_door_msg *ask) {
    uint8_t secret[KL_DOOR_SECRET];
    if (!l->door.password[0]) {
        kl_link_end_with(l, "the room on %s has a password, and none was given");
        return;
    }
    if (l->door.state != KL_DOOR_OUTSIDE) return;
    if (kl_door_stretch(l->door.password, ask->salt, secret) != KL_OK) {
        kl_link_end_with(l, "no memory (64 MB) to prove the room's password to %s");
        return;
    }
    if (ask->what == KL_PROVE_SET)
        set_password(l, secret);
    else
        prove(l, ask, secret);
    sodium_memzero(secret, sizeof secret);
}

static void on_proved(struct kl_link *l, const struct kl_proved *p) {
    if (l->door.state != KL_DOOR_PROVING) return;
    if (kl_door_mac_equal(p->mac, l->door.expected))
        l->door.state = KL_DOOR_PASSED;
    else
        kl_link_end_with(l, "the relay %s does not know the room's password itself");
}

bool kl_link_door_take(struct kl_link *l, const struct kl_msg *m) {
    switch (m->kind) {
    case KL_MSG_DOOR: on_door(l, &m->door); return true;
    case KL_MSG_PROVED: on_proved(l, &m->proved); return true;
    case KL_MSG_WELCOME:
        if (l->door.state == KL_DOOR_PASSED) return false;
        kl_link_end_with(l, "the relay %s lets us in without the room's password: this is not that room");
        return true;
    default: return false;
    }
}

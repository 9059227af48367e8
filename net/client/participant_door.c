/* The room's password: the client proves it, and wants it proved. net/session/door.h; net/PROTOCOL.md §9.
 * The caller has the password and stretches it: that takes some 0.1 s. */
#include <string.h>

#include "net/client/participant_parts.h"

/* For a kept seat no password is asked. */
void kl_participant_door_begin(struct kl_participant *s, bool has_password) {
    s->door = (struct kl_participant_door){.has_password = has_password};
    s->door.state = has_password && !s->fresh ? KL_PARTICIPANT_OUTSIDE : KL_PARTICIPANT_PASSED;
}

static void on_door(struct kl_participant *s, const struct kl_door_msg *ask) {
    if (!s->door.has_password) {
        kl_participant_end_with(s, "the room on %s has a password, and none was given");
        return;
    }
    if (s->door.state != KL_PARTICIPANT_OUTSIDE) return;
    s->door.ask = *ask;
    s->door.state = KL_PARTICIPANT_STRETCHING;
}

bool kl_participant_wants_secret(const struct kl_participant *s, uint8_t salt[KL_DOOR_SALT]) {
    bool wants = s->door.state == KL_PARTICIPANT_STRETCHING && !kl_participant_is_over(s);
    if (wants) memcpy(salt, s->door.ask.salt, KL_DOOR_SALT);
    return wants;
}

/* Sends the relay the stretched password, never the password itself. */
static void set_password(struct kl_participant *s, const uint8_t secret[KL_DOOR_SECRET]) {
    s->door.prove = (struct kl_prove){.what = KL_PROVE_SET};
    memcpy(s->door.prove.share, secret, sizeof s->door.prove.share);
    s->door.prove_wanted = true;
    s->door.state = KL_PARTICIPANT_PASSED;
}

static void prove(struct kl_participant *s, const uint8_t secret[KL_DOOR_SECRET]) {
    struct kl_door run;
    struct kl_door_macs macs;
    struct kl_prove p = {.what = KL_PROVE};
    kl_door_begin(&run, KL_DOOR_CLIENT, secret, s->dial.s.outcome.keys.binding);
    memcpy(p.share, run.share, sizeof p.share);
    if (kl_door_finish(&run, s->door.ask.share, &macs) != KL_OK) {
        kl_participant_end_with(s, "the relay %s sent a share of the room's password that is none");
        return;
    }
    memcpy(p.mac, macs.own, sizeof p.mac);
    memcpy(s->door.expected, macs.expected, sizeof s->door.expected);
    s->door.prove = p;
    s->door.prove_wanted = true;
    s->door.state = KL_PARTICIPANT_PROVING;
}

void kl_participant_secret(struct kl_participant *s, const uint8_t secret[KL_DOOR_SECRET]) {
    if (s->door.state != KL_PARTICIPANT_STRETCHING) return;
    if (!secret)
        kl_participant_end_with(s, "no memory (64 MB) to prove the room's password to %s");
    else if (s->door.ask.what == KL_PROVE_SET)
        set_password(s, secret);
    else
        prove(s, secret);
}

bool kl_participant_next_proof(struct kl_participant *s, struct kl_msg *m) {
    if (!s->door.prove_wanted) return false;
    *m = (struct kl_msg){.kind = KL_MSG_PROVE, .prove = s->door.prove};
    sodium_memzero(&s->door.prove, sizeof s->door.prove);
    s->door.prove_wanted = false;
    return true;
}

static void on_proved(struct kl_participant *s, const struct kl_proved *p) {
    if (s->door.state != KL_PARTICIPANT_PROVING) return;
    if (kl_door_mac_equal(p->mac, s->door.expected))
        s->door.state = KL_PARTICIPANT_PASSED;
    else
        kl_participant_end_with(s, "the relay %s does not know the room's password itself");
}

bool kl_participant_door_take(struct kl_participant *s, const struct kl_msg *m) {
    switch (m->kind) {
    case KL_MSG_DOOR: on_door(s, &m->door); return true;
    case KL_MSG_PROVED: on_proved(s, &m->proved); return true;
    case KL_MSG_WELCOME:
        if (s->door.state == KL_PARTICIPANT_PASSED) return false;
        kl_participant_end_with(s,
                                "the relay %s lets us in without the room's password: this is not that room");
        return true;
    default: return false;
    }
}

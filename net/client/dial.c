#include "net/client/dial.h"

#include <stdio.h>
#include <string.h>

#define INIT_FIRST_US 250000
#define INIT_LAST_US  1000000
#define ANSWER_US     (5 * 1000000ULL) /* for the relay to answer */
#define CONNECT_US    750000 /* for ENet to connect with the keys; twice as long each time, for slow links */
#define TRIES_MAX     3
#define REFUSED_US    1000000 /* a refusal is not proved to be the relay's: an ANSWER may still come */

/* --- the handshake --- */

/* Says the room's bucket, by the relay's key: the proved one, or what COOKIE has said. */
static void set_bucket(const struct kl_dial *d, struct kl_hs_client *c) {
    const uint8_t *pub = d->is_known ? d->known : c->told_pub;
    if (!sodium_is_zero(pub, 32)) c->bucket = kl_bucket(pub, d->room);
}

static void use_keys(struct kl_dial *d, const struct kl_hs_outcome *out, uint64_t now_us) {
    struct kl_dial_session *s = &d->s;
    s->outcome = *out;
    s->heard_us = s->answered_us = now_us;
    s->stage = KL_DIAL_ANSWERED;
    memcpy(d->known, out->relay_pub, sizeof d->known);
    d->is_known = true;
    kl_hs_client_end(&s->handshake);
}

static void refuse(struct kl_dial *d, uint64_t now_us) {
    if (!d->s.refused_us) d->s.refused_us = now_us;
}

/* The relay has proved to own its key. Is it the key that we want? An answer with another one is not the end:
 * the right relay may still speak. */
static void judge(struct kl_dial *d, const struct kl_hs_outcome *out, uint64_t now_us) {
    if (d->is_known) {
        if (memcmp(out->relay_pub, d->known, sizeof d->known) == 0) use_keys(d, out, now_us);
        return;
    }
    if (d->fingerprint[0] && !kl_fingerprint_is(d->fingerprint, out->relay_pub)) {
        kl_fingerprint(out->relay_pub, d->s.other);
        refuse(d, now_us);
        return;
    }
    if (d->fingerprint[0] || !d->asks_trust) {
        use_keys(d, out, now_us);
        return;
    }
    d->s.asked = *out;
    d->s.asking = true;
}

bool kl_dial_asks(const struct kl_dial *d, uint8_t pub[32]) {
    if (d->s.asking) memcpy(pub, d->s.asked.relay_pub, 32);
    return d->s.asking;
}

void kl_dial_trust(struct kl_dial *d, const char *why, uint64_t now_us) {
    struct kl_dial_session *s = &d->s;
    if (!s->asking) return;
    s->asking = false;
    if (why) {
        snprintf(d->untrusted, sizeof d->untrusted, "%s", why);
        refuse(d, now_us);
    } else {
        use_keys(d, &s->asked, now_us);
    }
    sodium_memzero(&s->asked, sizeof s->asked);
}

static bool receive_answer(struct kl_dial *d, const uint8_t *bytes, size_t len, uint64_t now_us) {
    struct kl_hs_outcome out;
    enum kl_hs_client_result result = kl_hs_client_receive(&d->s.handshake, bytes, len, &out);
    switch (result) {
    case KL_HS_IGNORED: break;
    case KL_HS_AGAIN:
        set_bucket(d, &d->s.handshake);
        d->s.init_wanted = true;
        break;
    case KL_HS_ESTABLISHED: judge(d, &out, now_us); break;
    case KL_HS_REFUSED:
        refuse(d, now_us);
        d->s.outcome = out;
        break;
    }
    sodium_memzero(&out, sizeof out);
    return result != KL_HS_IGNORED;
}

/* --- probes --- */

void kl_dial_probe_end(struct kl_dial *d) {
    struct kl_dial_session *s = &d->s;
    if (s->probing) kl_hs_client_end(&s->probe);
    sodium_memzero(&s->found, sizeof s->found);
    s->probing = s->probe_wanted = false;
    s->found_us = 0;
}

void kl_dial_probe(struct kl_dial *d, uint64_t now_us) {
    struct kl_dial_session *s = &d->s;
    if (!s->probing) {
        kl_hs_client_begin(&s->probe, d->offers);
        set_bucket(d, &s->probe);
        s->probing = true;
        s->probe_us = now_us;
    }
    if (s->found_us || now_us < s->probe_us) return;
    s->probe_wanted = true;
    s->probe_us = now_us + INIT_FIRST_US;
}

static void receive_found(struct kl_dial *d, const uint8_t *bytes, size_t len, uint64_t now_us) {
    struct kl_dial_session *s = &d->s;
    struct kl_hs_outcome out;
    switch (kl_hs_client_receive(&s->probe, bytes, len, &out)) {
    case KL_HS_AGAIN: s->probe_wanted = true; break;
    case KL_HS_ESTABLISHED:
        if (memcmp(out.relay_pub, d->known, sizeof d->known) != 0) break;
        s->found = out;
        s->found_us = now_us;
        break;
    case KL_HS_IGNORED:
    case KL_HS_REFUSED: break;
    }
    sodium_memzero(&out, sizeof out);
}

bool kl_dial_receive(struct kl_dial *d, const uint8_t *bytes, size_t len, uint64_t now_us) {
    if (d->s.probing && !d->s.found_us) receive_found(d, bytes, len, now_us);
    bool awaited = d->s.stage == KL_DIAL_HANDSHAKE && !d->s.asking;
    return awaited && receive_answer(d, bytes, len, now_us);
}

/* --- giving up --- */

static void describe_refusal(const struct kl_dial *d, char why[KL_TEXT_MAX]) {
    const struct kl_hs_outcome *out = &d->s.outcome;
    if (d->s.other[0]) {
        snprintf(why, KL_TEXT_MAX,
                 "%s is not the relay that was expected: its fingerprint is %s, expected was %s", d->relay,
                 d->s.other, d->fingerprint);
        return;
    }
    if (d->untrusted[0]) {
        snprintf(why, KL_TEXT_MAX, "%s", d->untrusted);
        return;
    }
    switch (out->code) {
    case KL_HS_REFUSED_VERSION:
        snprintf(why, KL_TEXT_MAX, "the relay %s speaks protocol %u, you speak %d: %s", d->relay,
                 out->version, KL_PROTOCOL_VERSION, kl_protocol_remedy(KL_PROTOCOL_VERSION, out->version));
        break;
    case KL_HS_REFUSED_FULL: snprintf(why, KL_TEXT_MAX, "the relay %s is full", d->relay); break;
    case KL_HS_REFUSED_LIMIT:
        snprintf(why, KL_TEXT_MAX, "the relay %s has as many connections from your address as it takes",
                 d->relay);
        break;
    default: snprintf(why, KL_TEXT_MAX, "the relay %s has no cipher in common with you", d->relay); break;
    }
}

bool kl_dial_turn(struct kl_dial *d, bool patient, uint64_t now_us, char why[KL_TEXT_MAX]) {
    struct kl_dial_session *s = &d->s;
    if (s->stage != KL_DIAL_HANDSHAKE) return true;
    bool late = !patient && now_us >= s->begun_us + ANSWER_US;
    if (!patient && s->refused_us && (late || now_us >= s->refused_us + REFUSED_US)) {
        describe_refusal(d, why);
        return false;
    }
    if (late) {
        snprintf(why, KL_TEXT_MAX, "no answer from %s after 5 s (is keylock-relay running there?)", d->relay);
        return false;
    }
    if (now_us < s->init_us) return true;
    s->init_wanted = true;
    s->init_us = now_us + s->pause_us;
    if (patient && s->pause_us < INIT_LAST_US) s->pause_us *= 2;
    return true;
}

bool kl_dial_send(struct kl_dial *d, uint8_t init[KL_INIT_BYTES]) {
    struct kl_dial_session *s = &d->s;
    if (s->init_wanted && s->stage == KL_DIAL_HANDSHAKE) {
        kl_hs_client_init(&s->handshake, init);
        s->init_wanted = false;
        return true;
    }
    if (s->probe_wanted && s->probing) {
        kl_hs_client_init(&s->probe, init);
        s->probe_wanted = false;
        return true;
    }
    return false;
}

/* --- sessions --- */

static bool is_connecting(const struct kl_dial *d) {
    return d->s.stage == KL_DIAL_ANSWERED || d->s.stage == KL_DIAL_CONNECTING;
}

bool kl_dial_is_lost(const struct kl_dial *d, uint64_t now_us) {
    return is_connecting(d) && now_us >= d->s.answered_us + ((uint64_t)CONNECT_US << d->tries);
}

void kl_dial_begin(struct kl_dial *d, uint64_t now_us) {
    struct kl_dial_session *s = &d->s;
    unsigned tries = d->tries < TRIES_MAX ? d->tries + 1 : TRIES_MAX;
    d->tries = is_connecting(d) ? tries : 0;
    sodium_memzero(s, sizeof *s);
    kl_hs_client_begin(&s->handshake, d->offers);
    set_bucket(d, &s->handshake);
    s->begun_us = s->init_us = s->heard_us = now_us;
    s->pause_us = INIT_FIRST_US;
    d->number++;
}

void kl_dial_begin_found(struct kl_dial *d, uint64_t now_us) {
    struct kl_hs_outcome out = d->s.found; /* it lies in memory that is wiped */
    kl_dial_begin(d, now_us);
    use_keys(d, &out, now_us);
    sodium_memzero(&out, sizeof out);
}

void kl_dial_end(struct kl_dial *d) {
    sodium_memzero(&d->s, sizeof d->s);
}

/* A hostile speaker, and a relay that passes on what it likes: bodies of VOICE, sealed or not, then the
 * jitter buffer, Opus and the sum of the voices. Records: extra = what (2 bits), and for a wait 6 bits of
 * 5 ms each.
 *
 * Without libopus the sound is left out. */
#include "tests/fuzz/fuzz.h"

#include <string.h>

#include "core_wrapper/voice/speakers.h"
#include "net/session/voice_key.h"

enum { PACKET, SEALED, SHUT, WAIT };

#define STEP_US 5000

static struct kl_speakers speakers;
static struct kl_voice_seen seen;
static const uint8_t key[KL_VOICE_KEY] = {1};
static bool has_opus;
static uint64_t now_us;

static void hear(void) {
    int16_t out[KL_CODEC_PIECE];
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        const struct kl_jitter *j = &speakers.of[i].jitter;
        MUST(j->target_us <= KL_JITTER_MAX_US + 3 * KL_JITTER_UNIT_US);
        MUST(j->longer < 3 && j->lost >= 0 && j->lost <= 65536);
        MUST(speakers.of[i].at <= speakers.of[i].count && speakers.of[i].count <= KL_CODEC_MOST);
    }
    (void)kl_speakers_mix(&speakers, now_us, out);
    (void)kl_speakers_miss(&speakers);
}

static void take(struct kl_voice *v) {
    MUST(v->len <= KL_VOICE_WIRE && v->client < KL_MAX_CLIENTS && !(v->flags & ~KL_VOICE_FLAGS));
    if (has_opus) kl_speakers_packet(&speakers, v, now_us);
}

/* Any payload, sealed as a player of the room can, comes out as it was. */
static void seal(struct kl_voice *v, uint32_t counter) {
    struct kl_voice was = *v;
    if (!kl_voice_seal(key, &counter, v)) return;
    MUST(v->len == was.len + KL_VOICE_SEAL);
    if (!kl_voice_open(key, &seen, v)) return; /* came before */
    MUST(v->len == was.len && memcmp(v->bytes, was.bytes, was.len) == 0);
    take(v);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char err[200];
    struct record r;
    struct kl_voice v;
    has_opus = kl_codec_load(err, sizeof err) == 0;
    now_us = 1000000;
    memset(&seen, 0, sizeof seen);
    for (unsigned count = 0; count < 2000 && next_record(&data, &size, &r); count++) {
        unsigned what = r.extra & 3;
        for (unsigned i = 0; what == WAIT && i < r.extra >> 2; i++, now_us += STEP_US)
            hear();
        if (what == WAIT || kl_voice_read(&v, true, r.bytes, r.len) != 0) continue;
        if (what == PACKET) take(&v);
        if (what == SHUT && kl_voice_open(key, &seen, &v)) take(&v);
        if (what == SEALED) seal(&v, r.extra >> 2);
    }
    kl_speakers_free(&speakers);
    return 0;
}

/* The doctor's check of voice: records two seconds from the microphone and plays them back. Nothing of it is
 * kept. */
#include "core_wrapper/tool/setup/doctor.h"

#include <stdio.h>
#include <string.h>

#include "core_wrapper/voice/activity.h"
#include "core_wrapper/voice/codec.h"
#include "core_wrapper/voice/sound.h"
#include "net/platform/clock.h"

#define PIECES   200
#define PATIENCE 4000000 /* us for each half */
#define TURN_US  5000
#define STILL_DB -60.0 /* a microphone that is switched off, or another one than the player's */

#ifdef _WIN32
#define SOUND_ADVICE "Plug in a loudspeaker, or choose one in Windows' sound settings."
#else
#define SOUND_ADVICE "Start PulseAudio or PipeWire's pulse server."
#endif

static const struct kl_sound *sound = KL_SOUND_DEVICES;
static int16_t piece[PIECES][KL_SOUND_PIECE];

/* Returns the number of pieces. */
static unsigned record(void *device, double *loudest_db) {
    struct kl_activity a = {0};
    unsigned n = 0;
    uint64_t until_us = kl_now_us() + PATIENCE;
    *loudest_db = -96;
    sound->listen(device, true);
    while (n < PIECES && kl_now_us() < until_us) {
        int got = sound->read(device, piece[n]);
        if (got < 0) break;
        if (!got) {
            sound->wait(device, kl_now_us() + TURN_US);
            continue;
        }
        kl_activity_unit(&a, piece[n++], KL_SOUND_PIECE);
        if (a.level_db > *loudest_db) *loudest_db = a.level_db;
    }
    sound->listen(device, false);
    return n;
}

/* Returns the number of pieces that the loudspeaker took. */
static unsigned play_back(void *device, unsigned count) {
    unsigned n = 0;
    uint64_t until_us = kl_now_us() + PATIENCE;
    while (n < count && kl_now_us() < until_us) {
        int room = sound->room(device);
        if (room < 0) break;
        for (; room > 0 && n < count; room--)
            sound->write(device, piece[n++]);
        sound->wait(device, kl_now_us() + TURN_US);
    }
    return n;
}

static void try_devices(struct kl_doctor *d, void *device) {
    double loudest_db;
    fprintf(stderr, "Speak now, for two seconds.\n");
    unsigned recorded = record(device, &loudest_db);
    fprintf(stderr, "This is what the microphone has heard.\n");
    unsigned played = play_back(device, recorded);
    if (recorded < PIECES)
        kl_doctor_find(d, KL_WRONG, "microphone_missing", "microphone",
                       "Choose a microphone in the system's sound settings, and let programs use it.",
                       "expected 2 s of sound, got %u ms", recorded * 10);
    else if (loudest_db < STILL_DB)
        kl_doctor_find(d, KL_ODD, "microphone_still", "microphone",
                       "Choose another microphone in the system's sound settings, or turn it up.",
                       "it is as good as silent (%.0f dB)", loudest_db);
    else
        kl_doctor_find(d, KL_WELL, "microphone", "microphone", NULL, "%.0f dB where you were loudest",
                       loudest_db);
    if (played < recorded)
        kl_doctor_find(d, KL_WRONG, "loudspeaker_stuck", "loudspeaker",
                       "Choose a loudspeaker in the system's sound settings.",
                       "expected it to play %u ms, it took %u", recorded * 10, played * 10);
    else
        kl_doctor_find(d, KL_WELL, "loudspeaker", "loudspeaker", NULL, "it took all that was recorded");
    memset(piece, 0, sizeof piece);
}

void kl_doctor_voice(struct kl_doctor *d) {
    char err[256];
    if (kl_codec_load(err, sizeof err) != 0)
        kl_doctor_find(d, KL_WRONG, "opus_missing", "voice", "Install libopus0 (Debian's name).", "%s", err);
    void *device;
    if (kl_sound_open(&sound, &device, "", "", err, sizeof err) != 0) {
        kl_doctor_find(d, KL_WRONG, "sound_missing", "voice", SOUND_ADVICE, "%s", err);
        return;
    }
    try_devices(d, device);
    sound->close(device);
}

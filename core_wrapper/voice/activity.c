#include "core_wrapper/voice/activity.h"

#include <math.h>

#define ABOVE_DB   12.0  /* above the room */
#define LEAST_DB   -55.0 /* softer sound is no speech, however still the room is */
#define SURE_DB    -25.0 /* louder sound is speech, however loud the room is */
#define RISE_DB    0.06  /* of the room's level in a unit: 3 dB a second */
#define SILENCE_DB -96.0

static double level_of(const int16_t *sample, size_t count) {
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += (double)sample[i] * sample[i];
    double mean = count ? sum / (double)count / (32768.0 * 32768.0) : 0;
    return mean > 1e-9 ? 10 * log10(mean) : SILENCE_DB;
}

bool kl_activity_unit(struct kl_activity *a, const int16_t *sample, size_t count) {
    a->level_db = level_of(sample, count);
    bool speech = a->level_db > LEAST_DB &&
                  (!a->known || a->level_db > a->floor_db + ABOVE_DB || a->level_db > SURE_DB);
    a->floor_db = !a->known || a->level_db < a->floor_db ? a->level_db : a->floor_db + RISE_DB;
    a->known = true;
    if (speech)
        a->tail = KL_ACTIVITY_TAIL;
    else if (a->tail)
        a->tail--;
    return speech || a->tail;
}

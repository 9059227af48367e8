/* ALSA's default device, for a machine without a sound server. Calls never wait for sound, but opening may
 * wait for as long as a plugin likes. */
#include "core_wrapper/voice/sound.h"

#include <stdio.h>

#if __has_include(<alsa/asoundlib.h>)
#include <alsa/asoundlib.h>
#include <stdlib.h>
#include <string.h>

#include "net/platform/clock.h"
#include "net/platform/library.h"

#define LIBRARY    "libasound.so.2"
#define DEVICE     "default"
#define RATE       48000
#define LATENCY_US 40000
#define AHEAD      (3 * KL_SOUND_PIECE) /* samples that the loudspeaker has; at least two periods */
#define MICROPHONE 50                   /* pieces in one turn: some devices have sound without end */

/* clang-format off */
#define CALLS(CALL)                                                                                          \
    CALL(config_update_ref) CALL(config_unref) CALL(config_search_definition) CALL(config_search)            \
    CALL(config_get_string) CALL(config_delete) CALL(lib_error_set_local) CALL(pcm_open)                     \
    CALL(pcm_set_params) CALL(pcm_get_params) CALL(pcm_start) CALL(pcm_sw_params_malloc)                     \
    CALL(pcm_sw_params_free) CALL(pcm_sw_params_current) CALL(pcm_sw_params_set_start_threshold)             \
    CALL(pcm_sw_params) CALL(pcm_avail_update) CALL(pcm_readi) CALL(pcm_writei) CALL(pcm_recover)            \
    CALL(pcm_close) CALL(strerror)
/* clang-format on */
#define FIELD(name) __typeof__(snd_##name) *name;
static struct { CALLS(FIELD) } alsa;

static bool load(char *err, size_t err_len) {
#define WANT(name) {"snd_" #name, (void **)&alsa.name},
    static const struct kl_library_symbol want[] = {CALLS(WANT)};
    return alsa.strerror || kl_library_load(LIBRARY, want, sizeof want / sizeof *want, err, err_len);
}

struct alsa {
    snd_pcm_t *speaker, *microphone; /* microphone: NULL: closed */
    snd_pcm_uframes_t buffer, ahead; /* samples of the loudspeaker */
    int16_t sample[KL_SOUND_PIECE];  /* of the microphone: a piece that is not whole yet */
    size_t count;
    unsigned pieces; /* read in this turn */
};

/* libasound writes its errors to the standard error; this handler is for the voice thread alone. */
static void keep_quiet(const char *file, int line, const char *function, int error, const char *format,
                       va_list values) {
    (void)file, (void)line, (void)function, (void)error, (void)format, (void)values;
}

/* PulseAudio did not answer, and ALSA's plugin for it would start a server. */
static bool is_pulse(void) {
    snd_config_t *top, *device = NULL, *kind;
    const char *type;
    if (alsa.config_update_ref(&top) < 0) return false;
    bool pulse = alsa.config_search_definition(top, "pcm", DEVICE, &device) >= 0 &&
                 alsa.config_search(device, "type", &kind) >= 0 && alsa.config_get_string(kind, &type) >= 0 &&
                 strcmp(type, "pulse") == 0;
    if (device) alsa.config_delete(device);
    alsa.config_unref(top);
    return pulse;
}

/* 0, or the library's error. */
static int open_pcm(snd_pcm_t **pcm, snd_pcm_stream_t stream) {
    int error = alsa.pcm_open(pcm, DEVICE, stream, SND_PCM_NONBLOCK);
    if (error < 0) {
        *pcm = NULL;
        return error;
    }
    error =
        alsa.pcm_set_params(*pcm, SND_PCM_FORMAT_S16, SND_PCM_ACCESS_RW_INTERLEAVED, 1, RATE, 1, LATENCY_US);
    if (error >= 0) return 0;
    alsa.pcm_close(*pcm);
    *pcm = NULL;
    return error;
}

static void close_alsa(void *s) {
    struct alsa *a = s;
    if (a->speaker) alsa.pcm_close(a->speaker);
    if (a->microphone) alsa.pcm_close(a->microphone);
    free(a);
}

/* The device begins when it has so much; by the library's default, when its buffer is full. */
static int begin_at(snd_pcm_t *pcm, snd_pcm_uframes_t count) {
    snd_pcm_sw_params_t *p;
    int error = alsa.pcm_sw_params_malloc(&p);
    if (error < 0) return error;
    error = alsa.pcm_sw_params_current(pcm, p);
    if (error >= 0) error = alsa.pcm_sw_params_set_start_threshold(pcm, p, count);
    if (error >= 0) error = alsa.pcm_sw_params(pcm, p);
    alsa.pcm_sw_params_free(p);
    return error < 0 ? error : 0;
}

static int open_speaker(struct alsa *a) {
    snd_pcm_uframes_t period = 0;
    int error = open_pcm(&a->speaker, SND_PCM_STREAM_PLAYBACK);
    if (!error) error = alsa.pcm_get_params(a->speaker, &a->buffer, &period);
    a->ahead = 2 * period > AHEAD ? 2 * period : AHEAD;
    if (a->ahead > a->buffer) a->ahead = a->buffer;
    a->ahead -= a->ahead % KL_SOUND_PIECE;
    return error ? error : begin_at(a->speaker, a->ahead);
}

static int open_alsa(void **device, const char *in, const char *out, char *err, size_t err_len) {
    (void)in, (void)out;
    if (!load(err, err_len)) return KL_SOUND_ABSENT;
    alsa.lib_error_set_local(keep_quiet);
    if (is_pulse()) {
        snprintf(err, err_len, "ALSA: the default device is PulseAudio's");
        return KL_SOUND_ABSENT;
    }
    struct alsa *a = calloc(1, sizeof *a);
    int error = a ? open_speaker(a) : -ENOMEM;
    if (!error) {
        *device = a;
        return 0;
    }
    snprintf(err, err_len, "ALSA: %s", alsa.strerror(error));
    if (a) close_alsa(a);
    return KL_SOUND_FAILED;
}

static void listen_alsa(void *s, bool on) {
    struct alsa *a = s;
    if (a->microphone) alsa.pcm_close(a->microphone);
    a->microphone = NULL;
    a->count = a->pieces = 0;
    if (on && open_pcm(&a->microphone, SND_PCM_STREAM_CAPTURE) == 0) alsa.pcm_start(a->microphone);
}

/* A loudspeaker that takes more wakes poll() without end: the clock paces this thread. */
static void wait_alsa(void *s, uint64_t until_us) {
    struct alsa *a = s;
    a->pieces = 0;
    kl_sleep_until(until_us);
}

static int read_alsa(void *s, int16_t piece[KL_SOUND_PIECE]) {
    struct alsa *a = s;
    if (!a->microphone || a->pieces == MICROPHONE) return 0;
    snd_pcm_sframes_t n = alsa.pcm_readi(a->microphone, a->sample + a->count, KL_SOUND_PIECE - a->count);
    if (n > 0) a->count += (size_t)n;
    if (n < 0 && n != -EAGAIN &&
        (alsa.pcm_recover(a->microphone, (int)n, 1) < 0 || alsa.pcm_start(a->microphone) < 0))
        return -1;
    if (a->count < KL_SOUND_PIECE) return 0;
    memcpy(piece, a->sample, sizeof a->sample);
    a->count = 0;
    a->pieces++;
    return 1;
}

static int room_alsa(void *s) {
    struct alsa *a = s;
    snd_pcm_sframes_t room = alsa.pcm_avail_update(a->speaker);
    if (room < 0 && alsa.pcm_recover(a->speaker, (int)room, 1) == 0) room = alsa.pcm_avail_update(a->speaker);
    if (room < 0) return -1;
    snd_pcm_uframes_t has = (snd_pcm_uframes_t)room < a->buffer ? a->buffer - (snd_pcm_uframes_t)room : 0;
    return has < a->ahead ? (int)((a->ahead - has) / KL_SOUND_PIECE) : 0;
}

static void write_alsa(void *s, const int16_t piece[KL_SOUND_PIECE]) {
    struct alsa *a = s;
    (void)alsa.pcm_writei(a->speaker, piece, KL_SOUND_PIECE); /* an error: room_alsa() sees it, too */
}

const struct kl_sound kl_sound_alsa = {"ALSA",    open_alsa, close_alsa, listen_alsa, wait_alsa,
                                       read_alsa, room_alsa, write_alsa, NULL};

#else

static int open_none(void **device, const char *in, const char *out, char *err, size_t err_len) {
    (void)device, (void)in, (void)out;
    snprintf(err, err_len, "this wrapper was built without ALSA (libasound2-dev)");
    return KL_SOUND_ABSENT;
}

/* Nothing else is called of what could not be opened. */
const struct kl_sound kl_sound_alsa = {.name = "ALSA", .open = open_none};

#endif

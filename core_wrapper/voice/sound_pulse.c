/* PulseAudio, and PipeWire's server that speaks like it. The asynchronous interface, driven by the voice
 * thread alone: no thread of the library's own, and a server that has stopped holds nothing up. No server is
 * started. */
#include "core_wrapper/voice/sound.h"

#include <stdio.h>
#include <stdlib.h>

#include "net/platform/clock.h"
#include "net/platform/library.h"

#if __has_include(<pulse/pulseaudio.h>)
#include <pulse/pulseaudio.h>

#define LIBRARY    "libpulse.so.0"
#define CONNECT_US 2000000
#define PIECE      (KL_SOUND_PIECE * sizeof(int16_t)) /* bytes */
#define AHEAD      (3 * PIECE)                        /* that the server has of the loudspeaker's sound */

/* clang-format off */
#define CALLS(CALL)                                                                                          \
    CALL(mainloop_new) CALL(mainloop_free) CALL(mainloop_get_api) CALL(mainloop_prepare)                     \
    CALL(mainloop_poll) CALL(mainloop_dispatch) CALL(context_new) CALL(context_connect)                      \
    CALL(context_disconnect) CALL(context_unref) CALL(context_get_state) CALL(context_errno)                 \
    CALL(stream_new) CALL(stream_connect_playback) CALL(stream_connect_record) CALL(stream_disconnect)       \
    CALL(stream_unref) CALL(stream_get_state) CALL(stream_writable_size) CALL(stream_write)                  \
    CALL(stream_readable_size) CALL(stream_peek) CALL(stream_drop) CALL(strerror)
/* clang-format on */
#define FIELD(name) __typeof__(pa_##name) *name;
static struct { CALLS(FIELD) } pa;

static bool load(char *err, size_t err_len) {
#define WANT(name) {"pa_" #name, (void **)&pa.name},
    static const struct kl_library_symbol want[] = {CALLS(WANT)};
    return pa.strerror || kl_library_load(LIBRARY, want, sizeof want / sizeof *want, err, err_len);
}

struct pulse {
    pa_mainloop *loop;
    pa_context *context;
    pa_stream *speaker, *microphone; /* NULL: closed */
    struct kl_sound_inlet heard;
};

static const pa_sample_spec form = {.format = PA_SAMPLE_S16NE, .rate = 48000, .channels = 1};

static void close_stream(pa_stream **s) {
    if (!*s) return;
    pa.stream_disconnect(*s);
    pa.stream_unref(*s);
    *s = NULL;
}

static void close_pulse(void *s) {
    struct pulse *p = s;
    close_stream(&p->speaker);
    close_stream(&p->microphone);
    if (p->context) {
        pa.context_disconnect(p->context);
        pa.context_unref(p->context);
    }
    if (p->loop) pa.mainloop_free(p->loop);
    free(p);
}

static bool is_gone(struct pulse *p) {
    return pa.context_get_state(p->context) != PA_CONTEXT_READY;
}

static void wait_pulse(void *s, uint64_t until_us) {
    struct pulse *p = s;
    uint64_t now_us = kl_now_us(), left_us = until_us > now_us ? until_us - now_us : 0;
    if (pa.mainloop_prepare(p->loop, (int)left_us) < 0 || pa.mainloop_poll(p->loop) < 0 ||
        pa.mainloop_dispatch(p->loop) < 0)
        kl_sleep_until(until_us);
}

static bool connect_server(struct pulse *p) {
    uint64_t until_us = kl_now_us() + CONNECT_US;
    p->loop = pa.mainloop_new();
    if (p->loop) p->context = pa.context_new(pa.mainloop_get_api(p->loop), "Keylock");
    if (!p->context || pa.context_connect(p->context, NULL, PA_CONTEXT_NOAUTOSPAWN, NULL) < 0) return false;
    while (is_gone(p) && PA_CONTEXT_IS_GOOD(pa.context_get_state(p->context)) && kl_now_us() < until_us)
        wait_pulse(p, until_us);
    return !is_gone(p);
}

static bool open_speaker(struct pulse *p) {
    const pa_buffer_attr attr = {.maxlength = UINT32_MAX, .tlength = AHEAD, .prebuf = 0, .minreq = PIECE};
    p->speaker = pa.stream_new(p->context, "voices of the room", &form, NULL);
    return p->speaker &&
           pa.stream_connect_playback(p->speaker, NULL, &attr, PA_STREAM_ADJUST_LATENCY, NULL, NULL) == 0;
}

static int open_pulse(void **device, const char *in, const char *out, char *err, size_t err_len) {
    (void)in, (void)out;
    if (!load(err, err_len)) return KL_SOUND_ABSENT;
    struct pulse *p = calloc(1, sizeof *p);
    if (p && connect_server(p) && open_speaker(p)) {
        *device = p;
        return 0;
    }
    int error = p && p->context ? pa.context_errno(p->context) : PA_OK;
    snprintf(err, err_len, "PulseAudio: %s", !p ? "no memory" : error ? pa.strerror(error) : "no answer");
    if (p) close_pulse(p);
    return error == PA_ERR_CONNECTIONREFUSED ? KL_SOUND_ABSENT : KL_SOUND_FAILED;
}

static void listen_pulse(void *s, bool on) {
    struct pulse *p = s;
    const pa_buffer_attr attr = {.maxlength = UINT32_MAX, .fragsize = PIECE};
    close_stream(&p->microphone);
    p->heard.count = 0;
    if (on) p->microphone = pa.stream_new(p->context, "voice", &form, NULL);
    if (p->microphone && pa.stream_connect_record(p->microphone, NULL, &attr, PA_STREAM_ADJUST_LATENCY) != 0)
        close_stream(&p->microphone);
}

static bool is_ready(const pa_stream *s) {
    return s && pa.stream_get_state(s) == PA_STREAM_READY;
}

static int read_pulse(void *s, int16_t piece[KL_SOUND_PIECE]) {
    struct pulse *p = s;
    const void *data;
    size_t bytes;
    if (is_gone(p)) return -1;
    while (is_ready(p->microphone) && pa.stream_readable_size(p->microphone) + 1 > 1) {
        if (pa.stream_peek(p->microphone, &data, &bytes) != 0 || !bytes) break;
        kl_sound_put(&p->heard, data, bytes / sizeof(int16_t));
        pa.stream_drop(p->microphone);
    }
    return kl_sound_take(&p->heard, piece);
}

static int room_pulse(void *s) {
    struct pulse *p = s;
    if (is_gone(p) || pa.stream_get_state(p->speaker) == PA_STREAM_FAILED) return -1;
    if (!is_ready(p->speaker)) return 0;
    size_t bytes = pa.stream_writable_size(p->speaker);
    return bytes == SIZE_MAX ? -1 : (int)(bytes / PIECE);
}

static void write_pulse(void *s, const int16_t piece[KL_SOUND_PIECE]) {
    struct pulse *p = s;
    pa.stream_write(p->speaker, piece, PIECE, NULL, 0, PA_SEEK_RELATIVE);
}

const struct kl_sound kl_sound_pulse = {"PulseAudio", open_pulse, close_pulse, listen_pulse,  wait_pulse,
                                        read_pulse,   room_pulse, write_pulse, &kl_sound_alsa};

#else

static int open_none(void **device, const char *in, const char *out, char *err, size_t err_len) {
    (void)device, (void)in, (void)out;
    snprintf(err, err_len, "this wrapper was built without PulseAudio (libpulse-dev)");
    return KL_SOUND_ABSENT;
}

/* Nothing else is called of what could not be opened. */
const struct kl_sound kl_sound_pulse = {.name = "PulseAudio", .open = open_none, .next = &kl_sound_alsa};

#endif

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

static struct {
    pa_mainloop *(*mainloop_new)(void);
    void (*mainloop_free)(pa_mainloop *m);
    pa_mainloop_api *(*mainloop_get_api)(pa_mainloop *m);
    int (*mainloop_prepare)(pa_mainloop *m, int timeout_us);
    int (*mainloop_poll)(pa_mainloop *m);
    int (*mainloop_dispatch)(pa_mainloop *m);
    pa_context *(*context_new)(pa_mainloop_api *api, const char *name);
    int (*context_connect)(pa_context *c, const char *server, pa_context_flags_t flags,
                           const pa_spawn_api *api);
    void (*context_disconnect)(pa_context *c);
    void (*context_unref)(pa_context *c);
    pa_context_state_t (*context_get_state)(const pa_context *c);
    int (*context_errno)(const pa_context *c);
    pa_stream *(*stream_new)(pa_context *c, const char *name, const pa_sample_spec *ss,
                             const pa_channel_map *map);
    int (*stream_connect_playback)(pa_stream *s, const char *device, const pa_buffer_attr *attr,
                                   pa_stream_flags_t flags, const pa_cvolume *volume, pa_stream *sync);
    int (*stream_connect_record)(pa_stream *s, const char *device, const pa_buffer_attr *attr,
                                 pa_stream_flags_t flags);
    int (*stream_disconnect)(pa_stream *s);
    void (*stream_unref)(pa_stream *s);
    pa_stream_state_t (*stream_get_state)(const pa_stream *s);
    size_t (*stream_writable_size)(const pa_stream *s);
    int (*stream_write)(pa_stream *s, const void *data, size_t bytes, pa_free_cb_t free, int64_t offset,
                        pa_seek_mode_t seek);
    size_t (*stream_readable_size)(const pa_stream *s);
    int (*stream_peek)(pa_stream *s, const void **data, size_t *bytes);
    int (*stream_drop)(pa_stream *s);
    const char *(*strerror)(int error);
} pa;

static bool load(char *err, size_t err_len) {
#define WANT(symbol)                                                                                         \
    { "pa_" #symbol, (void **)&pa.symbol }
    static const struct kl_library_symbol want[] = {WANT(mainloop_new),
                                                    WANT(mainloop_free),
                                                    WANT(mainloop_get_api),
                                                    WANT(mainloop_prepare),
                                                    WANT(mainloop_poll),
                                                    WANT(mainloop_dispatch),
                                                    WANT(context_new),
                                                    WANT(context_connect),
                                                    WANT(context_disconnect),
                                                    WANT(context_unref),
                                                    WANT(context_get_state),
                                                    WANT(context_errno),
                                                    WANT(stream_new),
                                                    WANT(stream_connect_playback),
                                                    WANT(stream_connect_record),
                                                    WANT(stream_disconnect),
                                                    WANT(stream_unref),
                                                    WANT(stream_get_state),
                                                    WANT(stream_writable_size),
                                                    WANT(stream_write),
                                                    WANT(stream_readable_size),
                                                    WANT(stream_peek),
                                                    WANT(stream_drop),
                                                    WANT(strerror)};
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

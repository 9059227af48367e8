/* WASAPI in shared mode: Windows' default devices. Windows converts to their rates and channels. */
#include "core_wrapper/voice/sound.h"

#ifdef _WIN32
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COBJMACROS
#define WIN32_LEAN_AND_MEAN
#include <windows.h>

/* The next two headers define their identifiers here. */
#include <initguid.h>

#include <audioclient.h>
#include <mmdeviceapi.h>

#include "net/platform/clock.h"

#define RATE   48000
#define BUFFER 500000               /* of 100 ns each: 50 ms */
#define AHEAD  (3 * KL_SOUND_PIECE) /* samples that the loudspeaker has */
#define FLAGS  (AUDCLNT_STREAMFLAGS_AUTOCONVERTPCM | AUDCLNT_STREAMFLAGS_SRC_DEFAULT_QUALITY)

struct wasapi {
    bool com; /* to be left again */
    IAudioClient *speaker, *microphone;
    IAudioRenderClient *render;
    IAudioCaptureClient *capture; /* NULL: the microphone is closed */
    struct kl_sound_inlet heard;
};

/* Windows makes other sound softer while a device of the role eCommunications is in use: the game, here. */
static HRESULT open_client(EDataFlow flow, IAudioClient **client) {
    WAVEFORMATEX form = {WAVE_FORMAT_PCM, 1, RATE, RATE * 2, 2, 16, 0};
    IMMDeviceEnumerator *devices;
    IMMDevice *device = NULL;
    *client = NULL;
    HRESULT result = CoCreateInstance(&CLSID_MMDeviceEnumerator, NULL, CLSCTX_ALL, &IID_IMMDeviceEnumerator,
                                      (void **)&devices);
    if (FAILED(result)) return result;
    result = IMMDeviceEnumerator_GetDefaultAudioEndpoint(devices, flow, eConsole, &device);
    if (SUCCEEDED(result))
        result = IMMDevice_Activate(device, &IID_IAudioClient, CLSCTX_ALL, NULL, (void **)client);
    if (SUCCEEDED(result))
        result = IAudioClient_Initialize(*client, AUDCLNT_SHAREMODE_SHARED, FLAGS, BUFFER, 0, &form, NULL);
    if (device) IMMDevice_Release(device);
    IMMDeviceEnumerator_Release(devices);
    return result;
}

static void close_microphone(struct wasapi *w) {
    if (w->capture) IAudioCaptureClient_Release(w->capture);
    if (w->microphone) IAudioClient_Release(w->microphone); /* it stops */
    w->capture = NULL;
    w->microphone = NULL;
    w->heard.count = 0;
}

static void close_wasapi(void *s) {
    struct wasapi *w = s;
    close_microphone(w);
    if (w->render) IAudioRenderClient_Release(w->render);
    if (w->speaker) IAudioClient_Release(w->speaker);
    if (w->com) CoUninitialize();
    free(w);
}

static int open_wasapi(void **device, const char *in, const char *out, char *err, size_t err_len) {
    (void)in, (void)out;
    struct wasapi *w = calloc(1, sizeof *w);
    if (!w) {
        snprintf(err, err_len, "WASAPI: no memory");
        return KL_SOUND_FAILED;
    }
    w->com = SUCCEEDED(CoInitializeEx(NULL, COINIT_MULTITHREADED));
    HRESULT result = open_client(eRender, &w->speaker);
    if (SUCCEEDED(result))
        result = IAudioClient_GetService(w->speaker, &IID_IAudioRenderClient, (void **)&w->render);
    if (SUCCEEDED(result)) result = IAudioClient_Start(w->speaker);
    if (SUCCEEDED(result)) {
        *device = w;
        return 0;
    }
    if (result == HRESULT_FROM_WIN32(ERROR_NOT_FOUND))
        snprintf(err, err_len, "WASAPI: Windows has no loudspeaker");
    else
        snprintf(err, err_len, "WASAPI: error 0x%08lx", (unsigned long)result);
    close_wasapi(w);
    return KL_SOUND_FAILED;
}

static void listen_wasapi(void *s, bool on) {
    struct wasapi *w = s;
    close_microphone(w);
    if (!on) return;
    HRESULT result = open_client(eCapture, &w->microphone);
    if (SUCCEEDED(result))
        result = IAudioClient_GetService(w->microphone, &IID_IAudioCaptureClient, (void **)&w->capture);
    if (SUCCEEDED(result)) result = IAudioClient_Start(w->microphone);
    if (FAILED(result)) close_microphone(w);
}

static void wait_wasapi(void *s, uint64_t until_us) {
    (void)s;
    kl_sleep_until(until_us);
}

static int read_wasapi(void *s, int16_t piece[KL_SOUND_PIECE]) {
    struct wasapi *w = s;
    UINT32 count;
    DWORD flags;
    BYTE *data;
    for (unsigned packets = 0; w->capture && packets < KL_SOUND_WAITS; packets++) {
        HRESULT result = IAudioCaptureClient_GetBuffer(w->capture, &data, &count, &flags, NULL, NULL);
        if (FAILED(result)) return -1;
        if (result == AUDCLNT_S_BUFFER_EMPTY) break;
        bool silent = flags & AUDCLNT_BUFFERFLAGS_SILENT;
        kl_sound_put(&w->heard, silent ? NULL : (const int16_t *)(const void *)data, count);
        if (FAILED(IAudioCaptureClient_ReleaseBuffer(w->capture, count))) return -1;
    }
    return kl_sound_take(&w->heard, piece);
}

static int room_wasapi(void *s) {
    struct wasapi *w = s;
    UINT32 has;
    if (FAILED(IAudioClient_GetCurrentPadding(w->speaker, &has))) return -1;
    return has < AHEAD ? (int)((AHEAD - has) / KL_SOUND_PIECE) : 0;
}

static void write_wasapi(void *s, const int16_t piece[KL_SOUND_PIECE]) {
    struct wasapi *w = s;
    BYTE *data;
    if (FAILED(IAudioRenderClient_GetBuffer(w->render, KL_SOUND_PIECE, &data))) return;
    memcpy(data, piece, KL_SOUND_PIECE * sizeof *piece);
    IAudioRenderClient_ReleaseBuffer(w->render, KL_SOUND_PIECE, 0);
}

const struct kl_sound kl_sound_wasapi = {"WASAPI",    open_wasapi, close_wasapi, listen_wasapi, wait_wasapi,
                                         read_wasapi, room_wasapi, write_wasapi, NULL};

#endif

/* The lasting words of a core to the headless frontend. Two frontends in the same frame of a room were
 * told the same, whatever way they came. */
#include "core_wrapper/tool/headless/headless.h"

#include <stdio.h>
#include <string.h>

#include "net/platform/file.h"

static bool on_rumble(unsigned port, enum retro_rumble_effect effect, uint16_t strength) {
    struct kl_headless *h = kl_headless_current();
    if (!h || port >= KLT_INPUT_PORTS || effect > RETRO_RUMBLE_WEAK) return false;
    h->told.rumble[port][effect] = strength;
    return true;
}

static void on_led(int led, int state) {
    struct kl_headless *h = kl_headless_current();
    if (h && led >= 0 && led < KLT_LEDS) h->told.led[led] = state;
}

bool kl_headless_rumble(struct retro_rumble_interface *out) {
    if (out) out->set_rumble_state = on_rumble;
    return true;
}

bool kl_headless_leds(struct retro_led_interface *out) {
    if (out) out->set_led_state = on_led;
    return true;
}

int kl_headless_write_told(const struct kl_headless *h, const char *path) {
    const struct retro_game_geometry *g = &h->av.geometry;
    FILE *f = kl_file_stream(path, "w");
    if (!f) return -1;
    fprintf(f, "picture %ux%u aspect=%.6f\n", g->base_width, g->base_height, (double)g->aspect_ratio);
    fprintf(f, "largest %ux%u\n", g->max_width, g->max_height);
    fprintf(f, "rate fps=%.6f sound=%.3f\n", h->av.timing.fps, h->av.timing.sample_rate);
    fprintf(f, "rotation %u\nformat %u\n", h->told.rotation, h->told.pixel_format);
    /* Not the wrapper's own options, which belong to this machine. */
    for (unsigned i = 0; i < h->options.count; i++)
        if (strncmp(h->options.at[i].key, "keylock_", 8) != 0)
            fprintf(f, "option %s=%s\n", h->options.at[i].key,
                    h->options.at[i].value ? h->options.at[i].value : "");
    for (unsigned i = 0; i < KLT_INPUT_PORTS; i++)
        if (h->told.rumble[i][0] || h->told.rumble[i][1])
            fprintf(f, "rumble %u strong=%u weak=%u\n", i, h->told.rumble[i][0], h->told.rumble[i][1]);
    for (unsigned i = 0; i < KLT_LEDS; i++)
        if (h->told.led[i]) fprintf(f, "led %u=%d\n", i, h->told.led[i]);
    bool bad = ferror(f) != 0;
    return fclose(f) != 0 || bad ? -1 : 0;
}

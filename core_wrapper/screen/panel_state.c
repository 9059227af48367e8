/* The line of a state that lasts ("waiting for bob  3 s"). panel.h. */
#include <stdio.h>
#include <string.h>

#include "net/session/name.h"
#include "core_wrapper/screen/panel.h"

#define NAMES_MAX     160    /* bytes of those that are named; others are left out */
#define SLOW_ITSELF   1.2    /* times the core's rate: to run on and to catch up as well */
#define STALL_TOLD_US 500000 /* shorter ones are over before one has read of them */

void kl_panel_time(uint64_t us, char out[16]) {
    unsigned s = us > 359999000000u ? 359999 : (unsigned)(us / 1000000);
    if (s < 60)
        snprintf(out, 16, "%u s", s);
    else
        snprintf(out, 16, "%u:%02u", s / 60, s % 60);
}

static int percent_of(uint32_t done, uint32_t total) {
    if (!total || done >= total) return 100;
    return (int)((uint64_t)done * 100 / total);
}

typedef bool (*fits_fn)(const struct kl_panel_member *m);
static bool is_loading(const struct kl_panel_member *m) {
    return m->loading && !m->you;
}
static bool is_lacking(const struct kl_panel_member *m) {
    return m->lacking;
}
static bool is_host(const struct kl_panel_member *m) {
    return m->host && !m->you;
}
static bool is_alone(const struct kl_panel_member *m) {
    return m->alone;
}

static const char *remark(const struct kl_panel_member *m) {
    return m->lost ? " (connection lost)" : m->away ? " (away)" : "";
}

/* The names of fitting members: "ann, bob"; `otherwise` for none. */
static const char *names(const struct kl_panel *p, fits_fn fits, const char *otherwise,
                         char out[KL_PANEL_LINE]) {
    size_t used = 0;
    out[0] = 0;
    for (unsigned i = 0; i < p->count && i < KL_MAX_CLIENTS; i++) {
        const struct kl_panel_member *m = &p->member[i];
        const struct kl_name_shown shown = kl_name_shown(m->name, m->seats);
        const char *name = m->you ? "you" : shown.text;
        if (!fits(m) || used + strlen(name) + strlen(remark(m)) + 2 > NAMES_MAX) continue;
        used +=
            (size_t)snprintf(out + used, KL_PANEL_LINE - used, "%s%s%s", used ? ", " : "", name, remark(m));
    }
    return used ? out : otherwise;
}

static const char *alone(const struct kl_panel *p, char out[KL_PANEL_LINE]) {
    char who[KL_PANEL_LINE];
    const char *whom = names(p, is_alone, NULL, who);
    if (!whom) return "no majority";
    snprintf(out, KL_PANEL_LINE, "alone: %.160s", whom);
    return out;
}

void kl_panel_desync(const struct kl_panel *p, char out[KL_PANEL_LINE]) {
    char who[KL_PANEL_LINE];
    snprintf(out, KL_PANEL_LINE, "%s since frame %u: %s (%.180s)",
             p->plays_on ? "machines differ" : "out of sync", p->desync_frame,
             p->desync_part ? p->desync_part : "none", alone(p, who));
}

static void say_state(const struct kl_panel *p, char out[KL_PANEL_LINE], int *percent) {
    char left_s[16];
    kl_panel_time(p->left_s * UINT64_C(1000000), left_s);
    *percent = percent_of(p->shot_done, p->shot_total);
    snprintf(out, KL_PANEL_LINE, "fetching the room's state: %u of %u KB%s%s", p->shot_done / 1024,
             p->shot_total / 1024, p->left_s ? ", " : "", p->left_s ? left_s : "");
}

static enum kl_panel_tone say_playing(const struct kl_panel *p, char out[KL_PANEL_LINE], int *percent) {
    char who[KL_PANEL_LINE], since[16], left_s[16];
    kl_panel_time(p->state_us, since);
    kl_panel_time(p->left_s * UINT64_C(1000000), left_s);
    if (p->paused && *p->question) {
        snprintf(out, KL_PANEL_LINE, "%s", p->question);
        return KL_PANEL_WARNING;
    }
    if (p->desync && p->desync_is_news && !p->plays_on) {
        kl_panel_desync(p, out);
        return KL_PANEL_ERROR;
    }
    if (p->paused) {
        snprintf(out, KL_PANEL_LINE, "paused  %s%s%s%s", since, *p->goes_on ? "  Go on? (" : "", p->goes_on,
                 *p->goes_on ? ")" : "");
        return KL_PANEL_INFO;
    }
    if (p->begins) {
        say_state(p, out, percent);
        return KL_PANEL_INFO;
    }
    if (p->catch_up) {
        unsigned left = p->behind < p->catch_up ? p->behind : p->catch_up;
        *percent = percent_of(p->catch_up - left, p->catch_up);
        snprintf(out, KL_PANEL_LINE, "catching up: %u frames left%s%s", p->behind, p->left_s ? ", " : "",
                 p->left_s ? left_s : "");
        if (!p->too_slow) return KL_PANEL_INFO;
        if (p->machine_fps < SLOW_ITSELF * p->core_fps)
            snprintf(out, KL_PANEL_LINE, "too slow to catch up: %.0f frames a second, expected over %.0f",
                     p->machine_fps, p->core_fps);
        else
            snprintf(out, KL_PANEL_LINE, "too slow to catch up: close other programs");
        return KL_PANEL_WARNING;
    }
    if (p->stalled && p->state_us >= STALL_TOLD_US) {
        const char *whom = p->you_lack ? "the relay" : names(p, is_lacking, "the relay", who);
        snprintf(out, KL_PANEL_LINE, "waiting for %.160s  %s", whom, since);
        return KL_PANEL_WARNING;
    }
    if (p->absent) {
        snprintf(out, KL_PANEL_LINE, "coming back: your pad works again in a moment");
        return KL_PANEL_INFO;
    }
    if (p->desync) {
        kl_panel_desync(p, out);
        return p->plays_on ? KL_PANEL_WARNING : KL_PANEL_ERROR;
    }
    return KL_PANEL_QUIET;
}

static enum kl_panel_tone say_checks(const struct kl_panel *p, char out[KL_PANEL_LINE], int *percent) {
    *percent = (int)p->check_percent;
    if (p->check_disk)
        snprintf(out, KL_PANEL_LINE, "checking disk %u: %u %%", p->check_disk, p->check_percent);
    else
        snprintf(out, KL_PANEL_LINE, "checking the game's files: %u %%", p->check_percent);
    return KL_PANEL_INFO;
}

/* If all seats are taken, the host's machine still has to bring the start data. */
static void say_filling(const struct kl_panel *p, char out[KL_PANEL_LINE], const char *since) {
    char who[KL_PANEL_LINE];
    if (p->players && p->filled >= p->players)
        snprintf(out, KL_PANEL_LINE, "waiting for %.160s to start the game  %s",
                 names(p, is_host, "this machine", who), since);
    else if (*p->link) /* a frontend's line has place for no more */
        snprintf(out, KL_PANEL_LINE, "waiting (%u/%u)  %s  %.400s", p->filled, p->players, since, p->link);
    else
        snprintf(out, KL_PANEL_LINE, "waiting (%u/%u)  %s  room %s", p->filled, p->players, since, p->room);
}

enum kl_panel_tone kl_panel_state(const struct kl_panel *p, char out[KL_PANEL_LINE], int *percent) {
    char who[KL_PANEL_LINE], since[16];
    out[0] = 0;
    *percent = -1;
    kl_panel_time(p->state_us, since);
    bool gone = p->stage == KL_PANEL_RETURNING || p->stage == KL_PANEL_BROKEN || p->stage == KL_PANEL_ENDED;
    if (p->checks && !gone) return say_checks(p, out, percent);
    switch (p->stage) {
    case KL_PANEL_LOOKING: snprintf(out, KL_PANEL_LINE, "looking for a match  %s", since); break;
    case KL_PANEL_REACHING: snprintf(out, KL_PANEL_LINE, "reaching %s  %s", p->relay, since); break;
    case KL_PANEL_FILLING: say_filling(p, out, since); break;
    case KL_PANEL_BROKEN:
        snprintf(out, KL_PANEL_LINE, "not loaded: %.480s", p->reason);
        return KL_PANEL_WARNING;
    case KL_PANEL_FETCHING:
        *percent = percent_of(p->data_done, p->data_total);
        snprintf(out, KL_PANEL_LINE, "loading (%u of %u KB)", p->data_done / 1024, p->data_total / 1024);
        break;
    case KL_PANEL_ASKING:
        snprintf(out, KL_PANEL_LINE, "begin with %.330s?%s%s", p->asks, *p->again.pad ? " Yes: hold " : "",
                 p->again.pad);
        return KL_PANEL_WARNING;
    case KL_PANEL_READYING:
        if (p->waits_way)
            snprintf(out, KL_PANEL_LINE, "waiting for the room's state  %s", since);
        else if (p->filled < p->players) /* somebody has left again */
            say_filling(p, out, since);
        else
            snprintf(out, KL_PANEL_LINE, "waiting for %.160s to load  %s", names(p, is_loading, "all", who),
                     since);
        break;
    case KL_PANEL_PLAYING: return say_playing(p, out, percent);
    case KL_PANEL_RETURNING:
        snprintf(out, KL_PANEL_LINE, "connection lost, returning (%s of %u s)", since, p->seat_time_s);
        return KL_PANEL_WARNING;
    case KL_PANEL_LOCAL: return KL_PANEL_QUIET;
    case KL_PANEL_ENDED:
        snprintf(out, KL_PANEL_LINE, "%.480s", *p->reason ? p->reason : "the room is over");
        return KL_PANEL_ERROR;
    }
    return KL_PANEL_INFO;
}

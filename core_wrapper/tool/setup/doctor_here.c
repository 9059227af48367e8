/* The doctor's checks of this machine: RetroArch, wrapper, cores, clock. */
#include "net/platform/library.h"
#include "net/platform/process.h"
#include "net/platform/file.h"
#include "net/platform/dir.h"
#include "core_wrapper/tool/setup/doctor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/platform/clock.h"
#include "core_wrapper/start/seat_file.h"
#include "core_wrapper/abi/wrapper_api.h"
#include "core_wrapper/tool/setup/install.h"
#include "core_wrapper/tool/setup/place.h"
#include "core_wrapper/tool/common/tool.h"

#define ANSWER_MS   20000
#define OLDEST      19 /* RetroArch 1.9: core options with categories came soon after */
#define NAPS        100
#define NAP_US      2000
#define NAP_LATE_US 8000 /* half a frame: then a frame is missed now and then */

/* --- RetroArch --- */

static void ask_version(const char *program, char *out, size_t cap) {
    const char *arguments[] = {program, "--version", NULL};
    const char *environment[] = {"DBUS_FATAL_WARNINGS=0", NULL};
    struct kl_process_setup setup = {
        .program = program, .arguments = arguments, .environment = environment, .printed = true};
    struct kl_process p;
    out[0] = 0;
    if (kl_process_start(&p, &setup, out, cap) != 0) return;
    (void)kl_process_read_text(&p, out, cap, ANSWER_MS);
    kl_process_end(&p, 0, NULL);
}

/* The number behind "-- v" (as 1.14 says it) or "Version: " (as 1.20 does). */
static bool find_version(const char *said, unsigned *major, unsigned *minor, unsigned *patch) {
    const char *old = strstr(said, "-- v"), *late = strstr(said, "Version: ");
    if (old) return sscanf(old, "-- v%u.%u.%u", major, minor, patch) >= 2;
    return late && sscanf(late, "Version: %u.%u.%u", major, minor, patch) >= 2;
}

static void look_at_program(struct kl_doctor *d, const struct kl_place *p) {
    const char *program = p->program;
    char said[2048];
    unsigned major = 0, minor = 0, patch = 0;
    if (!*program) return; /* its settings alone may be left */
    ask_version(program, said, sizeof said);
    if (!find_version(said, &major, &minor, &patch))
        kl_doctor_find(d, KL_WRONG, "retroarch_silent", "RetroArch",
                       "Start RetroArch in a terminal and read its messages.",
                       "%.500s does not print its version", program);
    else if (major * 10 + minor < OLDEST && major < 2)
        kl_doctor_find(d, KL_ODD, "retroarch_old", "RetroArch",
                       "Update RetroArch; Keylock is tested with 1.14 and 1.20.",
                       "expected 1.9 or later, got %u.%u.%u (%.500s)", major, minor, patch, program);
    else
        kl_doctor_find(d, KL_WELL, "retroarch", "RetroArch", NULL, "%u.%u.%u (%.500s)", major, minor, patch,
                       program);
}

void kl_doctor_retroarch(struct kl_doctor *d) {
    char err[2 * KLT_PATH];
    d->places = kl_place_find(d->place, err, sizeof err);
    if (d->places < 0)
        kl_doctor_find(d, KL_WRONG, "retroarch_unreadable", "RetroArch",
                       "Make that file readable for this user.", "%.900s", err);
    if (d->places < 0) d->places = 0;
    if (d->places == 0)
        kl_doctor_find(d, KL_WRONG, "retroarch_missing", "RetroArch", kl_place_words.get_retroarch,
                       "RetroArch is not installed");
    for (int i = 0; i < d->places; i++)
        look_at_program(d, &d->place[i]);
    for (int i = 0; i < d->places; i++) {
        const struct kl_place *p = &d->place[i];
        char todo[1024];
        kl_doctor_find(d, KL_WELL, "retroarch_folders", p->name, NULL, "settings %.400s%s, cores %.400s",
                       p->config, p->values.there ? "" : " (not there yet)", p->cores);
        if (!kl_dir_exists(p->cores)) {
            snprintf(todo, sizeof todo, "Install a core: %s.", kl_place_words.get_core);
            kl_doctor_find(d, KL_WRONG, "cores_folder_missing", p->name, todo,
                           "the folder of cores %.400s does not exist", p->cores);
        }
    }
}

/* --- the wrapper --- */

static void load_wrapper(struct kl_doctor *d) {
    char why[1024];
    void *handle = kl_library_open(d->wrapper_path, why, sizeof why);
    klw_api_fn fn = NULL;
    if (!handle) {
        kl_doctor_find(d, KL_WRONG, "wrapper_broken", "wrapper", kl_place_words.mend_wrapper,
                       "the wrapper does not load: %.900s", why);
        return;
    }
    *(void **)&fn = kl_library_find(handle, KLW_API_SYMBOL);
    const struct klw_api *api = fn ? fn() : NULL;
    if (!api || api->version != KLW_API_VERSION)
        kl_doctor_find(d, KL_WRONG, "wrapper_version", "wrapper",
                       "Build and install keylock and the wrapper together.",
                       "%.600s has another version than this keylock: expected %d, got %u", d->wrapper_path,
                       KLW_API_VERSION, api ? api->version : 0);
    else
        kl_doctor_find(d, KL_WELL, "wrapper", "wrapper", NULL, "%.900s", d->wrapper_path);
    kl_library_close(handle);
}

void kl_doctor_wrapper(struct kl_doctor *d) {
    char err[2048], dir[KL_FILE_PATH];
    if (d->wrapper)
        snprintf(d->wrapper_path, sizeof d->wrapper_path, "%s", d->wrapper);
    else if (tool_find_wrapper(d->wrapper_path, sizeof d->wrapper_path, err, sizeof err) != 0)
        d->wrapper_path[0] = 0;
    if (*d->wrapper_path)
        load_wrapper(d);
    else
        kl_doctor_find(d, KL_WRONG, "wrapper_missing", "wrapper", kl_place_words.get_wrapper, "%.900s", err);
    /* it is made here as it is when somebody plays: nothing else tells whether it can be */
    bool usable =
        kl_state_folder(NULL, dir, err, sizeof err) == 0 && kl_dir_make(dir, true, err, sizeof err) == 0;
    if (usable && !kl_dir_writable(dir)) {
        snprintf(err, sizeof err, "%.900s: this user may not write there", dir);
        usable = false;
    }
    if (usable)
        kl_doctor_find(d, KL_WELL, "own_folder", "own folder", NULL, "%.900s", dir);
    else
        kl_doctor_find(d, KL_WRONG, "own_folder_unusable", "own folder",
                       "Make this folder yours, with mode 700. Keylock keeps seats and relays' keys there.",
                       "%.900s", err);
}

/* --- the cores --- */

struct look {
    struct kl_doctor *d;
    const struct kl_place *p;
    unsigned installed;
};

static void look_at_focus(const struct look *l, const char *name, const char *info) {
    struct kl_settings s = {0};
    char locked[KLT_CORE_NAME], ignored[KLT_PATH + 64], todo[KLT_CORE_NAME + 256];
    bool known = kl_settings_read(&s, info, ignored, sizeof ignored) == 0 &&
                 kl_settings_get(&s, "corename", locked, sizeof locked);
    kl_settings_free(&s);
    if (!known || kl_install_runs_on(l->p, locked)) return;
    snprintf(
        todo, sizeof todo,
        "Run keylock install %s. Or turn off, in RetroArch's settings, User Interface: \"Pause Content When "
        "Not in Focus\", and Menu, \"Pause Content When Menu Is Active\".",
        name);
    kl_doctor_find(l->d, KL_ODD, "core_pauses", name, todo,
                   "RetroArch stops the game while its menu is open or another window has the focus, and the "
                   "others play on without you");
}

static void look_at_core(struct look *l, const char *file) {
    char name[KLT_CORE_NAME], info[KLT_PATH], todo[KLT_CORE_NAME + 64];
    size_t len = strlen(file) - strlen("_keylock_libretro" KL_LIBRARY_ENDING);
    if (!len || len >= sizeof name) return;
    snprintf(name, sizeof name, "%.*s", (int)len, file);
    snprintf(info, sizeof info, "%.3800s/%s_keylock_libretro.info", l->p->info, name);
    snprintf(todo, sizeof todo, "Run keylock install %s.", name);
    l->installed++;
    if (!kl_install_has_core(l->p, name))
        kl_doctor_find(l->d, KL_WRONG, "core_missing", name,
                       "Install the core, or run keylock install --remove with its name.",
                       "no %s_libretro" KL_LIBRARY_ENDING " for the wrapped core in %.600s", name,
                       l->p->cores);
    else if (!kl_file_readable(info))
        kl_doctor_find(l->d, KL_WRONG, "core_info_missing", name, todo, "the info file %.900s is missing",
                       info);
    else if (kl_install_state(l->p, name, l->d->wrapper_path) == KL_INSTALLED_OTHER)
        kl_doctor_find(l->d, KL_ODD, "core_stale", name, todo,
                       "the core's copy of the wrapper is of another build than %.600s", l->d->wrapper_path);
    else
        kl_doctor_find(l->d, KL_WELL, "core", name, NULL, "in %s's list of cores", l->p->name);
    look_at_focus(l, name, info);
}

void kl_doctor_cores(struct kl_doctor *d) {
    for (int i = 0; i < d->places; i++) {
        struct look l = {d, &d->place[i], 0};
        struct kl_dir_list list;
        if (kl_dir_list(&list, l.p->cores, "_keylock_libretro" KL_LIBRARY_ENDING, NULL, 0) == 0)
            for (unsigned k = 0; k < list.count; k++)
                look_at_core(&l, list.name[k]);
        kl_dir_list_free(&list);
        if (!l.installed)
            kl_doctor_find(d, KL_ODD, "cores_none", l.p->name,
                           "Run keylock install CORE, or play with keylock play.",
                           "the list of cores has no core for online play");
    }
}

/* --- the clock --- */

static int by_size(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static void look_at_naps(struct kl_doctor *d) {
    uint64_t late[NAPS];
    for (unsigned i = 0; i < NAPS; i++) {
        uint64_t from_us = kl_now_us();
        kl_sleep_us(NAP_US);
        uint64_t took_us = kl_now_us() - from_us;
        late[i] = took_us > NAP_US ? took_us - NAP_US : 0;
    }
    qsort(late, NAPS, sizeof *late, by_size);
    double usual = (double)late[NAPS * 95 / 100] / 1000, worst = (double)late[NAPS - 1] / 1000;
    bool bad = late[NAPS * 95 / 100] > NAP_LATE_US;
    kl_doctor_find(d, bad ? KL_ODD : KL_WELL, bad ? "wakes_late" : "wakes", "clock",
                   bad ? "End other busy programs; on a laptop, choose the power plan for performance."
                       : NULL,
                   "programs wake up to %.1f ms late in 95 of 100 tries, %.1f ms at worst", usual, worst);
}

void kl_doctor_clock(struct kl_doctor *d) {
    look_at_naps(d);
    if (kl_wall_us() / 1000000 < 1700000000)
        kl_doctor_find(d, KL_ODD, "date_wrong", "clock",
                       "Set the date: games in your rooms start at this machine's time.",
                       "this machine's date is before 2023");
    else if (!kl_wall_is_kept())
        kl_doctor_find(d, KL_WELL, "date_unkept", "clock", NULL,
                       "no time server sets the date; matches do not need the right time");
    else
        kl_doctor_find(d, KL_WELL, "date_kept", "clock", NULL, "a time server sets the date");
}

#include "core_wrapper/tool/setup/install.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core_wrapper/core/core.h"
#include "net/platform/buffer.h"
#include "net/platform/cfg_file.h"
#include "net/platform/dir.h"
#include "net/platform/file.h"
#include "net/platform/library.h"

#define CORE_END "_libretro" KL_LIBRARY_ENDING
#define LOCKED   "_keylock"
#define INFO_DIR "/usr/share/libretro/info" /* the distribution's */

/* Both are on unless somebody turned them off. */
static const char *const stops[] = {"pause_nonactive", "menu_pause_libretro"};

static bool ends_with(const char *text, const char *ending) {
    size_t n = strlen(text), m = strlen(ending);
    return n >= m && !strcmp(text + n - m, ending);
}

bool kl_install_name(const char *text, char out[KLT_CORE_NAME]) {
    const char *slash = strrchr(text, '/'), *base = slash ? slash + 1 : text;
    size_t len = strlen(base);
    if (ends_with(base, CORE_END)) len -= strlen(CORE_END);
    if (len == 0 || len >= KLT_CORE_NAME - strlen(LOCKED CORE_END)) return false;
    memcpy(out, base, len);
    out[len] = 0;
    return strcmp(out, "keylock") != 0 && !ends_with(out, LOCKED) && out[0] != '.';
}

static void core_path(const struct kl_place *p, const char *name, char out[KLT_PATH]) {
    snprintf(out, KLT_PATH, "%.3800s/%s" CORE_END, p->cores, name);
}
static void locked_path(const struct kl_place *p, const char *name, char out[KLT_PATH]) {
    snprintf(out, KLT_PATH, "%.3800s/%s" LOCKED CORE_END, p->cores, name);
}
static void info_path(const struct kl_place *p, const char *name, const char *locked, char out[KLT_PATH]) {
    snprintf(out, KLT_PATH, "%.3800s/%s%s_libretro.info", p->info, name, locked);
}

bool kl_install_has_core(const struct kl_place *p, const char *name) {
    char path[KLT_PATH];
    core_path(p, name, path);
    return kl_file_kind(path) == KL_FILE_IS_PLAIN;
}

enum kl_installed kl_install_state(const struct kl_place *p, const char *name, const char *wrapper) {
    char path[KLT_PATH];
    locked_path(p, name, path);
    if (kl_file_kind(path) == KL_FILE_IS_NONE) return KL_NOT_INSTALLED;
    return kl_file_equal(path, wrapper) ? KL_INSTALLED : KL_INSTALLED_OTHER;
}

void kl_install_refresh(const struct kl_place *p) {
    char path[KLT_PATH];
    snprintf(path, sizeof path, "%.4000s/core_info.refresh", p->info);
    (void)kl_file_write_whole(path, "", 0, KL_FILE_PUBLIC, NULL, 0);
}

/* --- installing --- */

/* The inner core's info file: in RetroArch's folder, beside the core, or the distribution's. */
static int read_info(const struct kl_place *p, const char *name, struct kl_settings *out, char *err,
                     size_t err_len) {
    const char *dirs[] = {p->info, p->cores, INFO_DIR};
    char path[KLT_PATH];
    for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++) {
        if (i) kl_settings_free(out);
        snprintf(path, sizeof path, "%.3800s/%s_libretro.info", dirs[i], name);
        if (kl_settings_read(out, path, err, err_len) != 0) return -1;
        if (out->there) break;
    }
    return 0;
}

/* A core of a box may need libraries that this machine lacks; its info file has its name as well. */
static int ask_core(const struct kl_place *p, const char *name, const struct kl_settings *info,
                    struct kl_card *card, char *err, size_t err_len) {
    char path[KLT_PATH];
    core_path(p, name, path);
    if (kl_card_read(card, path, err, err_len) == 0) {
        if (!card->ours) return 0;
        snprintf(err, err_len, "%.3800s is Keylock itself: expected the core that it shall wrap", path);
        return -1;
    }
    memset(card, 0, sizeof *card);
    if (p->kind != KL_PLACE_BOX || !kl_settings_get(info, "corename", card->name, sizeof card->name))
        return -1;
    kl_settings_get(info, "supported_extensions", card->extensions, sizeof card->extensions);
    return 0;
}

/* Says so if a program has the file in its hands, as a RetroArch that has loaded the core on a system whose
 * loaded files cannot be replaced. Returns -1. */
static int say_used(char *err, size_t err_len) {
    size_t n = strlen(err);
    if (errno == EBUSY && n < err_len)
        snprintf(err + n, err_len - n, "; nothing is lost: end RetroArch, then run this again");
    return -1;
}

static int put_core(const char *from, const char *to, char *err, size_t err_len) {
    int r = kl_file_copy(from, to, KL_FILE_PROGRAM | KL_FILE_NO_LINK, err, err_len);
    return r < 0 ? say_used(err, err_len) : r;
}

static int put_files(const struct kl_place *p, const char *name, const char *wrapper,
                     const struct kl_settings *info, const struct kl_card *card, char *err, size_t err_len) {
    char path[KLT_PATH], *text = kl_info_make(info, card);
    int r = -1;
    info_path(p, name, LOCKED, path);
    if (text)
        r = kl_file_write_whole(path, text, strlen(text), KL_FILE_PUBLIC | KL_FILE_NO_LINK, err, err_len);
    else
        snprintf(err, err_len, "out of memory");
    free(text);
    locked_path(p, name, path);
    return r == 0 ? put_core(wrapper, path, err, err_len) : -1;
}

static int take_over(const struct kl_place *p, const struct kl_card *card, char *err, size_t err_len) {
    char locked[KL_CORE_NAME_BYTES];
    unsigned copied = 0;
    kl_core_locked_name(locked, card->name);
    if (kl_takeover(p, card->name, locked, &copied, err, err_len) != 0) return -1;
    if (copied)
        printf("    copied %u files of the core (options, saves, states) to folders \"%s\"\n", copied,
               locked);
    return 0;
}

static void override_path(const struct kl_place *p, const char *locked, char out[KLT_PATH]) {
    snprintf(out, KLT_PATH, "%.3800s/%.100s/%.100s.cfg", p->options, locked, locked);
}

static bool stands(const struct kl_settings *s, const char *key, bool off) {
    char value[16];
    return kl_settings_get(s, key, value, sizeof value) && (!off || !strcmp(value, "false"));
}

bool kl_install_runs_on(const struct kl_place *p, const char *locked) {
    struct kl_settings s = {0};
    char path[KLT_PATH], ignored[KLT_PATH + 64];
    bool on = true;
    override_path(p, locked, path);
    if (kl_settings_read(&s, path, ignored, sizeof ignored) != 0) on = false;
    for (size_t i = 0; i < sizeof stops / sizeof *stops; i++)
        on = on && stands(stands(&s, stops[i], false) ? &s : &p->values, stops[i], true);
    kl_settings_free(&s);
    return on;
}

/* A player who waits for a friend uses other windows, and RetroArch must not stop this core then. Lines that
 * already stand in its override are the player's own, and stay. */
static int let_run_on(const struct kl_place *p, const struct kl_card *card, char *err, size_t err_len) {
    struct kl_settings s = {0};
    char locked[KL_CORE_NAME_BYTES], path[KLT_PATH], dir[KLT_PATH];
    kl_core_locked_name(locked, card->name);
    override_path(p, locked, path);
    snprintf(dir, sizeof dir, "%s", path);
    *strrchr(dir, '/') = 0;
    int r = kl_settings_read(&s, path, err, err_len);
    unsigned put = 0;
    for (size_t i = 0; r == 0 && i < sizeof stops / sizeof *stops; i++)
        if (!stands(&s, stops[i], false)) put += kl_settings_put(&s, stops[i], "false");
    if (put && kl_dir_make(dir, false, err, err_len) == 0 && kl_settings_write(&s, path, err, err_len) == 0)
        printf("    the game runs on behind RetroArch's menu and without the window's focus: %s\n", path);
    else if (put)
        r = -1;
    kl_settings_free(&s);
    return r;
}

int kl_install_core(struct kl_place *p, const char *name, const char *wrapper, char *err, size_t err_len) {
    static struct kl_card card;
    struct kl_settings info = {0};
    char shown[KL_TITLE_BYTES];
    enum kl_installed before = kl_install_state(p, name, wrapper);
    int r = read_info(p, name, &info, err, err_len);
    if (r == 0) r = ask_core(p, name, &info, &card, err, err_len);
    if (r == 0) r = put_files(p, name, wrapper, &info, &card, err, err_len) < 0 ? -1 : 0;
    if (r == 0) {
        kl_info_title(&info, &card, shown);
        printf("  %s: \"%s\" %s\n", name, shown,
               before == KL_NOT_INSTALLED ? "is in the list"
               : before == KL_INSTALLED   ? "was in the list"
                                          : "is in the list, renewed");
        r = take_over(p, &card, err, err_len);
        if (r == 0) r = let_run_on(p, &card, err, err_len);
    }
    kl_settings_free(&info);
    return r;
}

static int get_from(const struct kl_place *p, const char *from, const char *to, char *err, size_t err_len) {
    if (p->kind == KL_PLACE_LINKS) {
        /* A link that is there already leads elsewhere, to the distribution's core perhaps: it gives way. A
         * file does not. */
        if (kl_file_kind_here(to) == KL_FILE_IS_LINK) (void)kl_file_remove(to, err, err_len);
        return kl_file_link(from, to, err, err_len) == 0 || kl_file_equal(from, to) ? 0 : -1;
    }
    return put_core(from, to, err, err_len) < 0 ? -1 : 0;
}

int kl_install_get(struct kl_place *p, const char *name, const char *path, char *err, size_t err_len) {
    char real[KLT_PATH], to[KLT_PATH], there[KLT_PATH];
    core_path(p, name, to);
    if (!kl_file_real(path, real, sizeof real)) {
        snprintf(err, err_len, "no core at %.4000s: %s", path, strerror(errno));
        return -1;
    }
    if (p->kind == KL_PLACE_BOX) {
        snprintf(err, err_len, "%s sees only what is in its own folders: copy %.1900s to %.1900s first",
                 p->name, real, p->cores);
        return -1;
    }
    if (kl_file_real(to, there, sizeof there) && !strcmp(there, real)) return 0;
    if (get_from(p, real, to, err, err_len) != 0) return -1;
    printf("  %s: %s %s in the folder of cores\n", name,
           p->kind == KL_PLACE_LINKS ? "linked to" : "a copy of", real);
    strcpy(real + strlen(real) - strlen(KL_LIBRARY_ENDING), ".info");
    info_path(p, name, "", to);
    return kl_file_readable(real) ? get_from(p, real, to, err, err_len) : 0;
}

/* Takes back what let_run_on() has written, if nothing else stands there. */
static void stop_with_menu(const struct kl_place *p, const struct kl_settings *info) {
    struct kl_settings s = {0};
    char locked[KL_CORE_NAME_BYTES], path[KLT_PATH], ignored[KLT_PATH + 64];
    if (!kl_settings_get(info, "corename", locked, sizeof locked)) return;
    override_path(p, locked, path);
    bool ours = kl_settings_read(&s, path, ignored, sizeof ignored) == 0 && s.there;
    unsigned known = 0, lines = 0;
    for (size_t i = 0; i < sizeof stops / sizeof *stops; i++)
        known += stands(&s, stops[i], true);
    for (const char *at = s.text; ours && at && *at; at += strspn(at, "\r\n"), lines++)
        at += strcspn(at, "\r\n");
    ours = ours && lines > 0 && known == lines;
    kl_settings_free(&s);
    if (!ours) return;
    (void)kl_file_remove(path, NULL, 0);
    *strrchr(path, '/') = 0;
    kl_dir_remove_empty(path);
}

int kl_install_remove(struct kl_place *p, const char *name, char *err, size_t err_len) {
    struct kl_settings info = {0};
    char path[KLT_PATH];
    locked_path(p, name, path);
    int r = kl_file_remove(path, err, err_len);
    if (r < 0) return say_used(err, err_len);
    info_path(p, name, LOCKED, path);
    if (kl_settings_read(&info, path, err, err_len) == 0) stop_with_menu(p, &info);
    kl_settings_free(&info);
    return kl_file_remove(path, err, err_len) < 0 ? -1 : r;
}

/* --- info files --- */

/* "serialized": states work, but not for run-ahead, pre-emptive frames or RetroArch's own rollback netplay,
 * all of which would break the lock. */
static const char *const own[] = {"display_name",         "corename",       "savestate_features",
                                  "supported_extensions", "needs_fullpath", "description"};
#define OWN (sizeof own / sizeof *own)

static bool is_own(const char *key) {
    for (size_t i = 0; i < OWN; i++)
        if (!strcmp(own[i], key)) return true;
    return false;
}

static void copy_line(void *ctx, const struct kl_cfg_line *line) {
    if (line->key && !is_own(line->key)) kl_buffer_add(ctx, "%s\n", line->whole);
}

/* A value cannot hold a quote, nor more than its line. */
static void put(struct kl_buffer *f, const char *key, const char *value, const char *more) {
    kl_buffer_add(f, "%s = \"", key);
    for (const char *p = value; *p; p++)
        if (*p != '"' && (unsigned char)*p >= 0x20) kl_buffer_add_bytes(f, p, 1);
    kl_buffer_add(f, "%s\"\n", more);
}

/* For a core without an info file: the usual values of a present core. */
static void put_usual(struct kl_buffer *f) {
    static const char *const keys[] = {"savestate",          "cheats",         "input_descriptors",
                                       "memory_descriptors", "libretro_saves", "core_options"};
    put(f, "categories", "Emulator", "");
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        put(f, keys[i], "true", "");
}

/* "NES" of "Nintendo - NES / Famicom (Nestopia UE)": without the maker, the other names and the core. Its
 * length. */
static int system_of(const char *display, const char **begin) {
    const char *maker = strstr(display, " - "), *core = strstr(display, " (");
    *begin = maker && maker + strlen(" - ") <= core ? maker + strlen(" - ") : display;
    const char *other = strstr(*begin, " / ");
    return (int)((other && other < core ? other : core) - *begin);
}

void kl_info_title(const struct kl_settings *inner, const struct kl_card *card, char out[KL_TITLE_BYTES]) {
    char display[8192], core[8192];
    const char *system;
    if (!kl_settings_get(inner, "display_name", display, sizeof display) || !*display)
        snprintf(display, sizeof display, "%s", card->name);
    if (!kl_settings_get(inner, "corename", core, sizeof core) || !*core)
        snprintf(core, sizeof core, "%s", card->name);
    if (strstr(display, " (")) {
        int len = system_of(display, &system);
        snprintf(out, KL_TITLE_BYTES, "Keylock: %.*s (%.100s)", len < 100 ? len : 100, system, core);
    } else
        snprintf(out, KL_TITLE_BYTES, "Keylock: %.200s", display);
}

char *kl_info_make(const struct kl_settings *inner, const struct kl_card *card) {
    char value[8192], locked[KL_CORE_NAME_BYTES], title[KL_TITLE_BYTES];
    struct kl_buffer text = {0}, *f = &text;
    kl_core_locked_name(locked, card->name);
    kl_buffer_add(f, "# Made by keylock install of the info file of \"%s\".\n", card->name);
    kl_info_title(inner, card, title);
    put(f, "display_name", title, "");
    put(f, "corename", locked, "");
    put(f, "savestate_features", "serialized", "");
    put(f, "supported_extensions",
        kl_settings_get(inner, "supported_extensions", value, sizeof value) && *value ? value
                                                                                      : card->extensions,
        "");
    put(f, "needs_fullpath", card->full_path ? "true" : "false", "");
    kl_settings_get(inner, "description", value, sizeof value);
    put(f, "description", value,
        *value ? " Through Keylock: alone, or online in lock."
               : "Through Keylock: alone, or online in lock.");
    if (!inner->there)
        put_usual(f);
    else if (!kl_cfg_each(inner->text, copy_line, f))
        text.failed = true;
    return kl_buffer_take(&text);
}

/* --- taking a core over --- */

#define DEPTH 8

struct move {
    const char *bare, *locked;
    unsigned copied, depth;
    char *err;
    size_t err_len;
    bool failed;
};

static void copy_folder(struct move *m, const char *from, const char *to);

static void copy_one(struct move *m, const char *from_dir, const char *to_dir, const char *name) {
    char from[KLT_PATH], to[KLT_PATH], renamed[512];
    /* "Nestopia.opt" becomes "Nestopia Keylock.opt". */
    size_t n = strlen(m->bare);
    if (!strncmp(name, m->bare, n) && name[n] == '.')
        snprintf(renamed, sizeof renamed, "%s%s", m->locked, name + n);
    else
        snprintf(renamed, sizeof renamed, "%s", name);
    int a = snprintf(from, sizeof from, "%s/%s", from_dir, name);
    int b = snprintf(to, sizeof to, "%s/%s", to_dir, renamed);
    if (a >= (int)sizeof from || b >= (int)sizeof to) return;
    enum kl_file_kind kind = kl_file_kind_here(from);
    if (kind == KL_FILE_IS_DIR) {
        copy_folder(m, from, to);
    } else if (kind == KL_FILE_IS_PLAIN) {
        m->failed = kl_file_copy(from, to, 0, m->err, m->err_len) < 0;
        if (!m->failed) m->copied++;
    }
}

static void copy_folder(struct move *m, const char *from, const char *to) {
    struct kl_dir_list list;
    if (m->depth == DEPTH || kl_dir_make(to, false, m->err, m->err_len) != 0 ||
        kl_dir_list(&list, from, "", m->err, m->err_len) != 0) {
        m->failed = true;
        return;
    }
    m->depth++;
    for (unsigned i = 0; i < list.count && !m->failed; i++)
        copy_one(m, from, to, list.name[i]);
    m->depth--;
    kl_dir_list_free(&list);
}

/* DIR/bare to DIR/locked. */
static void take(struct move *m, const char *dir) {
    char from[KLT_PATH], to[KLT_PATH];
    int a = snprintf(from, sizeof from, "%s/%s", dir, m->bare);
    int b = snprintf(to, sizeof to, "%s/%s", dir, m->locked);
    if (!*dir || a >= (int)sizeof from || b >= (int)sizeof to) return;
    if (kl_dir_exists(from) && !kl_dir_exists(to)) copy_folder(m, from, to);
}

/* If saves are sorted by the content's folder first, there is another folder between. */
static void take_saves(struct move *m, const char *dir) {
    char below[KLT_PATH];
    struct kl_dir_list list;
    if (!*dir) return;
    take(m, dir);
    if (kl_dir_list(&list, dir, "", NULL, 0) != 0) return;
    for (unsigned i = 0; i < list.count; i++)
        if (snprintf(below, sizeof below, "%s/%s", dir, list.name[i]) < (int)sizeof below &&
            kl_dir_exists(below))
            take(m, below);
    kl_dir_list_free(&list);
}

int kl_takeover(const struct kl_place *p, const char *bare, const char *locked, unsigned *copied, char *err,
                size_t err_len) {
    struct move m = {.bare = bare, .locked = locked, .err = err, .err_len = err_len};
    if (strchr(bare, '/') || *bare == '.') return 0; /* no name of a folder */
    take(&m, p->options);
    take(&m, p->remaps);
    if (p->sort_saves) take_saves(&m, p->saves);
    if (p->sort_states) take_saves(&m, p->states);
    *copied = m.copied;
    return m.failed ? -1 : 0;
}

/* --- libraries on their way --- */

#define LIBRARIES 32

struct luggage {
    char soname[LIBRARIES][KL_LIBRARY_NAME];
    unsigned count;
};

/* Those that every box has, of its own version: a second copy of them in one process is a crash. */
static bool stays(const char *soname) {
    static const char *const its[] = {"libc.so",  "libm.so",  "libdl.so",    "libpthread.so",
                                      "librt.so", "ld-linux", "libgcc_s.so", "libstdc++.so"};
    for (size_t i = 0; i < sizeof its / sizeof *its; i++)
        if (!strncmp(soname, its[i], strlen(its[i]))) return true;
    return false;
}

static void pack(struct luggage *l, const char *soname) {
    for (unsigned i = 0; i < l->count; i++)
        if (!strcmp(l->soname[i], soname)) return;
    if (!stays(soname) && l->count < LIBRARIES)
        snprintf(l->soname[l->count++], sizeof l->soname[0], "%.127s", soname);
}

static void pack_needed(struct luggage *l, void *library) {
    char name[LIBRARIES][KL_LIBRARY_NAME];
    unsigned count = kl_library_needs(library, name, LIBRARIES);
    for (unsigned i = 0; i < count; i++)
        pack(l, name[i]);
}

static int carry(struct luggage *l, unsigned i, const char *folder, char *err, size_t err_len) {
    char from[KLT_PATH], to[KLT_PATH], why[1024];
    void *library = kl_library_open(l->soname[i], why, sizeof why);
    int r = -1;
    if (!library || !kl_library_file(library, from, sizeof from)) {
        snprintf(err, err_len, "the wrapper needs %s, which is not here: %s", l->soname[i],
                 library ? "its file is unknown" : why);
    } else {
        pack_needed(l, library);
        snprintf(to, sizeof to, "%.3900s/%s", folder, l->soname[i]);
        r = kl_file_copy(from, to, KL_FILE_PUBLIC | KL_FILE_NO_LINK, err, err_len);
    }
    kl_library_close(library);
    return r < 0 ? -1 : 0;
}

int kl_travel(const char *wrapper, const char *cores, char *said, size_t said_len, char *err,
              size_t err_len) {
    static struct luggage l;
    char folder[KLT_PATH];
    size_t used = 0;
    char why[1024];
    void *library = kl_library_open(wrapper, why, sizeof why);
    l.count = 0;
    said[0] = 0;
    if (!library) {
        snprintf(err, err_len, "cannot load the wrapper %s: %s", wrapper, why);
        return -1;
    }
    pack_needed(&l, library);
    kl_library_close(library);
    snprintf(folder, sizeof folder, "%.4000s/%s", cores, KLT_TRAVEL_FOLDER);
    if (kl_dir_make(folder, false, err, err_len) != 0) return -1;
    for (unsigned i = 0; i < l.count; i++) {
        if (carry(&l, i, folder, err, err_len) != 0) return -1;
        if (used < said_len)
            used += (size_t)snprintf(said + used, said_len - used, "%s%s", i ? " " : "", l.soname[i]);
    }
    return 0;
}

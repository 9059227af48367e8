/* `keylock install`: wrapped cores in RetroArch's list. */
#include "net/platform/desktop.h"
#include "net/platform/file.h"
#include "net/platform/dir.h"
#include "core_wrapper/tool/common/tool.h"

#include "core_wrapper/draw/font.h"
#include "core_wrapper/words/config.h"
#include "core_wrapper/tool/setup/install.h"
#include "core_wrapper/tool/setup/place.h"
#include "net/platform/library.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CORES_MAX 512

/* clang-format off: a line here is a line there */
const char cmd_install_help[] =
    "Usage: keylock install CORE... | --all [OPTIONS]\n"
    "       keylock install --remove CORE... | --remove --all\n"
    "       keylock install --list\n"
    "       keylock install --relay HOST[:PORT] (or --room, --name): sets these and nothing else\n"
    "\n"
    "Puts cores into RetroArch's list a second time, for online play: \"Keylock: Arcade (FinalBurn Neo)\" "
    "beside\n"
    "\"Arcade (FinalBurn Neo)\". A game loaded with such a core plays alone until a relay is set. Then "
    "RetroArch's core\n"
    "options have the rest, under Keylock. The bare core's options and saves are copied for it, once.\n"
    "\n"
    "  CORE             its name (fbneo, of the file fbneo_libretro.so), or the path of that file\n"
    "@0\n"
    "\n"
    "Run it again after an update of RetroArch, of a core or of Keylock. If RetroArch's folder of cores "
    "belongs to root,\n"
    "the command makes a folder of your own with links to all cores, and sets it in RetroArch's settings. It "
    "says what it\n"
    "changed, and --remove of the last core takes that back. Root gets the folder itself, for all users. On "
    "Windows the\n"
    "command also makes keylock:// links open with keylock play, until the last core is removed.\n"
    "\n"
    "Exit status:\n"
    "  0  done\n"
    "  1  something could not be done\n"
    "  2  wrong usage\n"
    "  5  RetroArch or the wrapper is missing\n";
/* clang-format on */

struct job {
    bool all, remove, list;
    const char *only, *wrapper;
    const char *setting[3]; /* of wishes[] */
    char wrapper_path[KLT_PATH];
    char **core;
    int cores, installed, failed;
    struct kl_place place[KL_PLACES];
    int places;
};
static const char *const wishes[] = {"relay", "room", "name"};
#define WISHES (sizeof wishes / sizeof *wishes)

struct names {
    char at[CORES_MAX][KLT_CORE_NAME];
    int count;
};

/* --- the names --- */

static void add_name(struct names *n, const char *file) {
    if (n->count < CORES_MAX && kl_install_name(file, n->at[n->count])) n->count++;
}

/* "fbneo_keylock_libretro.so" says that fbneo is installed. */
static void add_locked(struct names *n, const char *file) {
    size_t len = strlen(file) - strlen("_keylock_libretro" KL_LIBRARY_ENDING);
    if (n->count == CORES_MAX || !len || len >= KLT_CORE_NAME) return;
    snprintf(n->at[n->count++], KLT_CORE_NAME, "%.*s", (int)len, file);
}

static void list_names(const char *dir, const char *ending, void (*add)(struct names *, const char *),
                       struct names *out) {
    struct kl_dir_list list;
    if (kl_dir_list(&list, dir, ending, NULL, 0) != 0) return;
    for (unsigned i = 0; i < list.count; i++)
        add(out, list.name[i]);
    kl_dir_list_free(&list);
}

static int fail(struct job *j, const char *why) {
    j->failed++;
    return tool_fail(-1, "install", "%s", why);
}

/* --- one RetroArch --- */

static bool is_path(const char *text) {
    return strchr(text, '/') != NULL;
}

static int say_missing(struct job *j, const struct kl_place *p, const char *name) {
    char err[KLT_PATH + 512];
    if (p->kind == KL_PLACE_BOX || j->places > 1) {
        printf("  %s: not in %s\n", name, p->cores);
        return 1;
    }
    snprintf(err, sizeof err, "no core %s in %s: install it, %s", name, p->cores, kl_place_words.get_core);
    return fail(j, err);
}

/* One that is named by its path takes the place of a link (or copy) among RetroArch's cores; one that is not
 * there is looked for in the usual folders, if links work. */
static int fetch_core(struct job *j, struct kl_place *p, const char *text, const char *name) {
    char found[KLT_PATH], err[KLT_PATH + 512];
    bool by_path = is_path(text) && p->kind != KL_PLACE_BOX;
    if (kl_install_has_core(p, name) && !by_path) return 0;
    if (!is_path(text) && p->kind != KL_PLACE_LINKS) return say_missing(j, p, name);
    if (tool_find_core(is_path(text) ? text : name, found, sizeof found, err, sizeof err) != 0) {
        size_t len = strlen(err);
        if (!is_path(text))
            snprintf(err + len, sizeof err - len, ". Install it: %s", kl_place_words.get_core);
        return fail(j, err);
    }
    if (kl_install_get(p, name, found, err, sizeof err) != 0) return fail(j, err);
    return 0;
}

static void install_one(struct job *j, struct kl_place *p, const char *text) {
    char name[KLT_CORE_NAME], err[2 * KLT_PATH];
    if (!kl_install_name(text, name)) {
        snprintf(err, sizeof err, "expected a core's name, as fbneo of fbneo_libretro.so, got \"%.200s\"",
                 text);
        fail(j, err);
        return;
    }
    if (fetch_core(j, p, text, name) != 0) return;
    if (kl_install_core(p, name, j->wrapper_path, err, sizeof err) != 0)
        fail(j, err);
    else
        j->installed++;
}

static int prepare(struct job *j, struct kl_place *p) {
    char err[2 * KLT_PATH], libraries[1024];
    if (kl_own_folder(p, KL_FOLDER_CORES, err, sizeof err) != 0 ||
        kl_own_folder(p, KL_FOLDER_INFO, err, sizeof err) != 0)
        return fail(j, err);
    if (p->kind != KL_PLACE_BOX) return 0;
    if (kl_travel(j->wrapper_path, p->cores, libraries, sizeof libraries, err, sizeof err) != 0)
        return fail(j, err);
    printf("  libraries for the wrapper in %s/%s: %s\n", p->cores, KLT_TRAVEL_FOLDER, libraries);
    return 0;
}

static void write_wishes(struct job *j, const struct kl_place *p) {
    char path[KLT_PATH + 32], err[2 * KLT_PATH];
    struct kl_settings s;
    bool any = false;
    snprintf(path, sizeof path, "%s/%s", p->system, KL_CONFIG_FILE);
    bool good = kl_settings_read(&s, path, err, sizeof err) == 0;
    for (size_t i = 0; good && i < WISHES; i++)
        if (j->setting[i]) good = any = kl_settings_put(&s, wishes[i], j->setting[i]);
    if (any && good)
        good = kl_dir_make(p->system, false, err, sizeof err) == 0 &&
               kl_settings_write(&s, path, err, sizeof err) == 0;
    if (!good) fail(j, err);
    for (size_t i = 0; any && good && i < WISHES; i++) {
        if (!j->setting[i]) continue;
        printf("  %s = \"%s\" in %s\n", wishes[i], j->setting[i], path);
        /* The screens show names in the built-in letters alone: in any others, a name could look like
         * another's. */
        char shown[4 * KL_NAME_MAX];
        if (!kl_font_shown(j->setting[i], shown, sizeof shown))
            printf("  the screens show this %s as \"%s\": they draw the letters of western Europe alone\n",
                   wishes[i], shown);
    }
    kl_settings_free(&s);
}

/* Else only settings were given, and nothing but keylock.cfg changes. */
static bool wants_cores(const struct job *j) {
    return j->all || j->cores;
}

static void install_into(struct job *j, struct kl_place *p) {
    static struct names names;
    if (!wants_cores(j)) {
        write_wishes(j, p);
        return;
    }
    if (prepare(j, p) != 0) return;
    names.count = 0;
    if (j->all) list_names(p->cores, "_libretro" KL_LIBRARY_ENDING, add_name, &names);
    for (int i = 0; i < names.count; i++)
        install_one(j, p, names.at[i]);
    for (int i = 0; i < j->cores; i++)
        install_one(j, p, j->core[i]);
    kl_install_refresh(p);
    write_wishes(j, p);
}

static void remove_one(struct job *j, struct kl_place *p, const char *name) {
    char err[2 * KLT_PATH];
    int r = kl_install_remove(p, name, err, sizeof err);
    if (r < 0) fail(j, err);
    if (r >= 0) printf("  %s: %s\n", name, r == 0 ? "removed from the list" : "not in the list");
}

static bool has_locked(const struct kl_place *p) {
    static struct names names;
    names.count = 0;
    list_names(p->cores, "_keylock_libretro" KL_LIBRARY_ENDING, add_locked, &names);
    return names.count > 0;
}

static void remove_from(struct job *j, struct kl_place *p) {
    static struct names names;
    char name[KLT_CORE_NAME], err[2 * KLT_PATH];
    names.count = 0;
    if (j->all) list_names(p->cores, "_keylock_libretro" KL_LIBRARY_ENDING, add_locked, &names);
    for (int i = 0; i < names.count; i++)
        remove_one(j, p, names.at[i]);
    for (int i = 0; i < j->cores; i++)
        if (kl_install_name(j->core[i], name)) remove_one(j, p, name);
    kl_install_refresh(p);
    if (has_locked(p)) return;
    if (kl_own_folder_undo(p, KL_FOLDER_CORES, err, sizeof err) != 0 ||
        kl_own_folder_undo(p, KL_FOLDER_INFO, err, sizeof err) != 0)
        fail(j, err);
}

static void list(struct job *j, struct kl_place *p) {
    static const char *const states[] = {"-", "installed", "installed, of another build: install it again"};
    static struct names names;
    names.count = 0;
    list_names(p->cores, "_libretro" KL_LIBRARY_ENDING, add_name, &names);
    printf("  cores in %s\n", p->cores);
    for (int i = 0; i < names.count; i++)
        printf("  %-32s  %s\n", names.at[i], states[kl_install_state(p, names.at[i], j->wrapper_path)]);
}

/* --- links --- */

#define SCHEME "keylock"

static void take_links(struct job *j) {
    static const char *const arguments[] = {"play", "--ask", "--", NULL};
    char err[1024];
    int r = kl_desktop_take_links(SCHEME, "Keylock", arguments, err, sizeof err);
    if (r == 0) printf(SCHEME ":// links open with keylock play, which asks first\n");
    if (r == KL_DESKTOP_OTHERS) printf(SCHEME ":// links stay with the other program that opens them\n");
    if (r < 0) fail(j, err);
}

static bool any_left(const struct job *j) {
    static struct kl_place place[KL_PLACES];
    char ignored[2 * KLT_PATH];
    bool left = false;
    int n = kl_place_find(place, ignored, sizeof ignored);
    for (int i = 0; i < n; i++) {
        left = left || has_locked(&place[i]);
        kl_place_free(&place[i]);
    }
    for (int i = 0; i < j->places; i++)
        left = left || has_locked(&j->place[i]);
    return n < 0 || left;
}

/* --- all of them --- */

static bool names_folder(const char *which) {
    return is_path(which) || !strcmp(which, ".");
}

static int find_places(struct job *j) {
    char err[2 * KLT_PATH];
    if (j->only && names_folder(j->only)) {
        j->places = kl_place_at(j->place, j->only, err, sizeof err);
        if (j->places < 0) return fail(j, err);
        if (j->places) return 0;
        return tool_fail(-1, "install", "no RetroArch in %s: expected its program or its retroarch.cfg there",
                         j->only);
    }
    int n = kl_place_find(j->place, err, sizeof err);
    if (n < 0) return fail(j, err);
    for (int i = 0; i < n; i++)
        if (!j->only || !strcmp(j->only, j->place[i].word))
            j->place[j->places++] = j->place[i];
        else
            kl_place_free(&j->place[i]);
    if (j->places) return 0;
    return tool_fail(-1, "install", "no %s here: expected %s", j->only ? j->only : "RetroArch",
                     kl_place_words.looked);
}

static int find_wrapper(struct job *j) {
    char err[2048];
    if (!j->wrapper && tool_find_wrapper(j->wrapper_path, sizeof j->wrapper_path, err, sizeof err) == 0)
        return 0;
    if (j->wrapper && kl_file_real(j->wrapper, j->wrapper_path, sizeof j->wrapper_path)) return 0;
    return tool_fail(-1, "install", "%s", j->wrapper ? "--wrapper: no such file" : err);
}

/* A file that is no core, a game perhaps, is refused before anything is made or copied. */
static int check_files(struct job *j) {
    char err[KLT_PATH + 1024], why[512], real[KLT_PATH];
    for (int i = 0; i < j->cores; i++) {
        bool names_file =
            is_path(j->core[i]) || strchr(j->core[i], '.'); /* a core's bare name has no ending */
        if (!names_file || kl_file_kind(j->core[i]) != KL_FILE_IS_PLAIN) continue;
        if (!kl_file_real(j->core[i], real, sizeof real)) continue;
        void *library = kl_library_open(real, why, sizeof why);
        bool is_core = library && kl_library_find(library, "retro_load_game");
        kl_library_close(library);
        if (is_core) continue;
        snprintf(err, sizeof err,
                 "expected a core, a file NAME_libretro" KL_LIBRARY_ENDING ", got %.4000s: %s", j->core[i],
                 library ? "it has no retro_load_game" : why);
        return fail(j, err);
    }
    return 0;
}

static int work(struct job *j) {
    bool settings_only = !wants_cores(j) && !j->list && !j->remove;
    if ((!settings_only && find_wrapper(j) != 0) || find_places(j) != 0) return KLT_LOAD;
    if (!j->remove && !j->list && check_files(j) != 0) return KLT_FAILED;
    for (int i = 0; i < j->places; i++) {
        struct kl_place *p = &j->place[i];
        printf("%s, by %s%s\n", p->name, p->config, p->values.there ? "" : " (not there yet)");
        if (j->list)
            list(j, p);
        else if (j->remove)
            remove_from(j, p);
        else
            install_into(j, p);
        kl_place_free(p);
    }
    if (j->installed) take_links(j);
    if (j->remove) {
        char err[1024];
        int r = any_left(j) ? KL_DESKTOP_SAME : kl_desktop_leave_links(SCHEME, err, sizeof err);
        if (r == 0) printf(SCHEME ":// links open no more\n");
        if (r < 0) fail(j, err);
    }
    return j->failed ? KLT_FAILED : KLT_OK;
}

/* --- the command line --- */

static bool take_wish(const struct kl_row *row, void *field, const char *text, char why[KL_ROW_TEXT]) {
    return kl_forward_check(row, field, text, why) && !strpbrk(text, "\"\n");
}

static bool take_for(const struct kl_row *row, void *field, const char *which, char why[KL_ROW_TEXT]) {
    (void)row, (void)why;
    *(const char **)field = tool_path((char *)which);
    return !strcmp(which, "native") || !strcmp(which, "flatpak") || !strcmp(which, "steam") ||
           names_folder(which);
}

#define KL_ROWS_OF struct job

static const struct kl_row rows[] = {
    KL_ROW_SWITCH("all", all, "all cores of RetroArch's folder"),
    KL_ROW_SWITCH("remove", remove, "takes cores out of the list; their options and saves stay"),
    KL_ROW_SWITCH("list", list, "lists the cores that are there, and says which are installed"),
    {.name = "relay",
     .value = "HOST[:PORT]",
     .take = take_wish,
     KL_ROW_FIELD(setting[0]),
     .help = "also sets the relay, in keylock.cfg in RetroArch's system folder"},
    {.name = "room",
     .value = "NAME",
     .take = take_wish,
     KL_ROW_FIELD(setting[1]),
     .help = "sets the room there"},
    {.name = "name",
     .value = "NAME",
     .take = take_wish,
     KL_ROW_FIELD(setting[2]),
     .help = "sets the name there that the others see"},
    {.name = "for",
     .value = "WHICH",
     .take = take_for,
     KL_ROW_FIELD(only),
     .want = "native, flatpak, steam or the path of a folder",
     .help = "only in this RetroArch: native, flatpak, steam, or the folder that has its settings and cores "
             "(default: in each that is found)"},
    KL_ROW_PATH("wrapper", "PATH", wrapper,
                "keylock_libretro.so (default: beside this program, else in its lib folder)"),
    {.name = NULL},
};

int cmd_install(int argc, char **argv) {
    static struct job j;
    static const struct kl_table tables[] = {{.rows = rows}, {.rows = NULL}};
    tool_parse(argc, argv, false, tables, &j);
    bool wish = j.setting[0] || j.setting[1] || j.setting[2];
    j.core = argv + optind;
    j.cores = argc - optind;
    for (int i = 0; i < j.cores; i++)
        (void)tool_path(j.core[i]);
    if (j.cores + j.all + j.list + wish == 0 || (j.list && (j.cores || j.all || j.remove)))
        return tool_usage(j.list ? "expected --list alone, got more"
                                 : "expected CORE..., --all or --list, got none");
    return work(&j);
}

#include "core_wrapper/core/core.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core_wrapper/core/copies.h"
#include "net/platform/library.h"
#include "net/platform/file.h"
#include "net/platform/dir.h"

#define CORE_MAX      ((size_t)1 << 30) /* bytes of a core's file */
#define STACK_CLEARED 32768             /* bytes: more than cores of these machines use to save */

static const struct {
    const char *name;
    size_t offset;
} symbols[] = {
#define SYMBOL(name) {"retro_" #name, offsetof(struct kl_core, name)},
    KL_CORE_CALLS(SYMBOL)};

static int find_symbols(struct kl_core *c, char *err, size_t err_len) {
    for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
        void *fn = kl_library_find(c->handle, symbols[i].name);
        if (!fn) {
            snprintf(err, err_len, "%s is no libretro core: expected the function %s, found none", c->path,
                     symbols[i].name);
            return -1;
        }
        memcpy((char *)c + symbols[i].offset, &fn, sizeof(fn));
    }
    unsigned version = c->api_version();
    if (version != RETRO_API_VERSION) {
        snprintf(err, err_len, "%s: expected libretro API version %d, got %u", c->path, RETRO_API_VERSION,
                 version);
        return -1;
    }
    return 0;
}

/* A copy under a name that nothing in this process has loaded, in a folder that only we can write to. */
static int make_copy(struct kl_core *c, char *folder, size_t cap, char *err, size_t err_len) {
    void *bytes;
    size_t len;
    if (kl_copies_folder(folder, cap, err, err_len) != 0) return -1;
    int result =
        kl_file_join(c->copy_path, sizeof(c->copy_path), folder, kl_file_base(c->path), err, err_len);
    if (result == 0) result = kl_file_read(c->path, CORE_MAX, 0, &bytes, &len, err, err_len);
    if (result != 0) return -1;
    if (c->late) (void)kl_ctors_take(bytes, len, &c->ctors);
    result = kl_file_write_whole(c->copy_path, bytes, len, KL_FILE_QUICK, err, err_len);
    free(bytes);
    return result;
}

static int load(struct kl_core *c, char *err, size_t err_len) {
    char why[1024];
    c->handle = kl_library_open(c->copy_path[0] ? c->copy_path : c->path, why, sizeof(why));
    if (!c->handle) {
        snprintf(err, err_len, "cannot load the core %s: %s", c->path, why);
        return -1;
    }
    return find_symbols(c, err, err_len);
}

/* The copy's name is not needed once it is loaded: taken away at once, it cannot be left behind. Windows
 * keeps it until the library is unloaded. */
static int load_copy(struct kl_core *c, char *err, size_t err_len) {
    char folder[sizeof(c->copy_path) / 2];
    int result = make_copy(c, folder, sizeof(folder), err, err_len);
    if (result == 0) result = load(c, err, err_len);
    kl_dir_remove_tree(folder);
    return result;
}

static void unload(struct kl_core *c) {
    kl_library_close(c->handle);
    char *slash = strrchr(c->copy_path, '/');
    if (slash) *slash = '\0';
    kl_dir_remove_tree(c->copy_path);
}

static int open_core(struct kl_core *c, const char *path, bool late, char *err, size_t err_len) {
    memset(c, 0, sizeof(*c));
    c->late = late;
    if (!kl_file_real(path, c->path, sizeof(c->path))) {
        snprintf(err, err_len, "cannot load the core %s: %s", path, strerror(errno));
        memset(c, 0, sizeof(*c));
        return -1;
    }
    if (kl_file_kind(c->path) != KL_FILE_IS_PLAIN) {
        snprintf(err, err_len, "cannot load the core %s: expected a shared object, it is no regular file",
                 path);
        memset(c, 0, sizeof(*c));
        return -1;
    }
    bool mapped = kl_library_loaded(c->path);
    int result = late || mapped ? load_copy(c, err, err_len) : load(c, err, err_len);
    if (result != 0 && late && !mapped) {
        /* A temporary folder may forbid programs: better early than not at all. Forgets the copy. */
        unload(c);
        c->handle = NULL;
        c->copy_path[0] = '\0';
        c->ctors = (struct kl_ctors){0};
        result = load(c, err, err_len);
    }
    if (result != 0) kl_core_close(c);
    return result;
}

int kl_core_open(struct kl_core *c, const char *path, char *err, size_t err_len) {
    return open_core(c, path, false, err, err_len);
}

int kl_core_open_late(struct kl_core *c, const char *path, char *err, size_t err_len) {
    return open_core(c, path, true, err, err_len);
}

void kl_core_construct(struct kl_core *c) {
    if (c->handle) kl_ctors_run(&c->ctors, c->handle);
}

void kl_core_close(struct kl_core *c) {
    kl_core_construct(c); /* its destructors, which run as it is unloaded, count on it */
    if (c->game_loaded) c->unload_game();
    if (c->initialised) c->deinit();
    unload(c);
    memset(c, 0, sizeof(*c));
}

int kl_core_reopen(struct kl_core *c, char *err, size_t err_len) {
    char path[sizeof(c->path)];
    bool late = c->late;
    memcpy(path, c->path, sizeof(path));
    kl_core_close(c);
    return open_core(c, path, late, err, err_len);
}

/* Clears the stack that the core's calls will use. A sanitizer would move the array elsewhere. */
__attribute__((noinline, no_sanitize("address"))) static void clear_stack_below(void) {
    uint8_t below[STACK_CLEARED];
    memset(below, 0, sizeof below);
    __asm__ volatile("" : : "r"(below) : "memory"); /* nobody reads it: it is written all the same */
}

bool kl_core_serialize(const struct kl_core *c, void *data, size_t size) {
    clear_stack_below();
    bool good = c->serialize(data, size);
    __asm__ volatile("" : : : "memory"); /* a call, and no jump: the core begins below us, too */
    return good;
}

int kl_core_text_len(const char *text, int max) {
    int n = text ? (int)strnlen(text, (size_t)max) : 0;
    while (n && isspace((unsigned char)text[n - 1]))
        n--;
    return n;
}

void kl_core_locked_name(char out[KL_CORE_NAME_BYTES], const char *library_name) {
    const int left = KL_CORE_NAME_BYTES - 1 - (int)strlen(" Keylock");
    snprintf(out, KL_CORE_NAME_BYTES, "%.*s Keylock", kl_core_text_len(library_name, left),
             library_name ? library_name : "");
}

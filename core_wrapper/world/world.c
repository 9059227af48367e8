#include "core_wrapper/world/world_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/platform/library.h"

/* Imports of time, chance or waiting that are known and not turned. A name that ends in * is a prefix. */
static const struct {
    const char *name, *reason;
} not_turned[] = {
    {"times", "processor time"},
    {"getrusage", "processor time"},
    {"timer_create", "a timer of the host"},
    {"timer_settime", "a timer of the host"},
    {"timerfd_settime", "a timer of the host"},
    {"setitimer", "a timer of the host"},
    {"alarm", "a timer of the host"},
    {"syscall", "may ask for the time past the C library"},
    {"dlopen", "what it loads keeps the host's clock"},
    {"dlmopen", "what it loads keeps the host's clock"},
    {"random_r", "seeded by the core itself"},
    {"SDL_GetTicks*", "the clock of a library"},
    {"SDL_GetPerformanceCounter", "the clock of a library"},
    {"_ZNSt6chrono*", "a C++ clock"},
};

typedef char *(*demangler)(const char *name, char *out, size_t *len, int *status);

struct kl_world kl_world_at[KL_WORLDS];

struct turning {
    struct kl_world *world;
    const struct kl_hook *const *tables;
    demangler demangle; /* of the core's own C++ library; NULL: the core has none */
    struct kl_world_report *report;
};

static bool listed(const char *list, const char *word) {
    size_t len = strlen(word);
    for (const char *at = list; (at = strstr(at, word)); at += len)
        if ((at == list || at[-1] == ' ') && (at[len] == ' ' || at[len] == '\0')) return true;
    return false;
}

/* A C++ name as people write it, in place: without template arguments, parameters and blanks. */
static void simplify(char *name) {
    char *to = name;
    int depth = 0;
    for (const char *at = name; *at && !(*at == '(' && depth == 0); at++) {
        depth += *at == '<';
        if (depth == 0 && *at != ' ') *to++ = *at;
        depth -= *at == '>';
    }
    *to = 0;
}

static void list_add(const struct turning *t, char *list, size_t cap, const char *symbol,
                     const char *reason) {
    size_t used = strlen(list);
    bool mangled = t->demangle && strncmp(symbol, "_Z", 2) == 0;
    char *plain = mangled ? t->demangle(symbol, NULL, NULL, NULL) : NULL;
    if (plain) simplify(plain);
    const char *word = plain ? plain : symbol;
    if (!listed(list, word))
        snprintf(list + used, cap - used, reason ? "%s%s (%s)" : "%s%s", used ? " " : "", word, reason);
    free(plain);
}

static const struct kl_hook *find_in(const struct kl_hook *table, const char *name) {
    for (; table->name; table++)
        if (strcmp(table->name, name) == 0) return table;
    return NULL;
}

static const struct kl_hook *find_hook(const struct kl_hook *const *tables, const char *name) {
    const struct kl_hook *h = NULL;
    for (; *tables && !h; tables++)
        h = find_in(*tables, name);
    return h;
}

static void note_left(const struct turning *t, const char *name) {
    for (size_t i = 0; i < sizeof(not_turned) / sizeof(not_turned[0]); i++) {
        size_t len = strcspn(not_turned[i].name, "*");
        bool prefix = not_turned[i].name[len] == '*';
        if (strncmp(name, not_turned[i].name, len) == 0 && (prefix || name[len] == '\0'))
            list_add(t, t->report->left, sizeof(t->report->left), name, not_turned[i].reason);
    }
}

/* The original is the loader's address for this object, so that an interposed function stays interposed. It
 * is taken anew each time, because an unloaded core may have taken its C++ library along. */
static void *replace(void *user, const char *name, void *now) {
    struct turning *t = user;
    const struct kl_hook *h = find_hook(t->tables, name);
    if (!h) {
        if (t->report) note_left(t, name);
        return NULL;
    }
    void *fn = h->fn[t->world - kl_world_at];
    if (h->real && now != fn) *(void **)((char *)t->world + h->real) = now;
    bool tells = !find_in(kl_world_heap_hooks, name); /* that a core uses the heap says nothing about it */
    if (t->report && tells) list_add(t, t->report->turned, sizeof(t->report->turned), name, NULL);
    return fn;
}

int kl_world_turn(struct kl_world *w, void *handle, struct kl_world_report *report, char *err,
                  size_t err_len) {
    static const struct kl_hook *const tables[] = {kl_world_clock_hooks, kl_world_random_hooks,
                                                   kl_world_file_hooks, kl_world_heap_hooks, NULL};
    if (report) memset(report, 0, sizeof(*report));
    struct turning t = {w, tables, NULL, report};
    *(void **)&t.demangle = kl_library_find(handle, "__cxa_demangle");
    return kl_elf_imports(handle, replace, &t, err, err_len);
}

struct kl_world *kl_world_take(void) {
    for (struct kl_world *w = kl_world_at; w < kl_world_at + KL_WORLDS; w++) {
        if (w->taken) continue;
        w->taken = true;
        w->clock.timezone = 0;
        w->clock.daylight = 0;
        w->clock.tzname[0] = w->clock.tzname[1] = (char *)"UTC";
        kl_world_files_redirect(w, NULL, NULL);
        kl_world_start(w, 946684800, 0);
        return w;
    }
    return NULL;
}

/* Streams that the core has left open stay in the list: the C library closes them at the end. */
void kl_world_release(struct kl_world *w) {
    if (!w) return;
    kl_world_files_clear(w);
    w->taken = false;
}

void kl_world_start(struct kl_world *w, uint64_t epoch_s, uint32_t fps_uhz) {
    kl_world_clock_start(&w->clock, epoch_s, fps_uhz);
    kl_world_random_start(w, epoch_s);
}

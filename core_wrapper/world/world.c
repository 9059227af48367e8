#include "core_wrapper/world/view.h"
#include "core_wrapper/world/world_private.h"

#include <stdlib.h>
#include <string.h>

#include "net/platform/library.h"

typedef char *(*demangler)(const char *name, char *out, size_t *len, int *status);

struct turning {
    struct kl_world *world;
    demangler demangle; /* of the core's own C++ library; NULL: the core has none */
    struct kl_world_report *report;
};

static void list_add(const struct turning *t, char *list, size_t cap, const char *symbol,
                     const char *reason) {
    bool mangled = t->demangle && strncmp(symbol, "_Z", 2) == 0;
    char *plain = mangled ? t->demangle(symbol, NULL, NULL, NULL) : NULL;
    if (plain) {
        /* A C++ name as people write it, in place: without template arguments, parameters and blanks. */
        char *to = plain;
        int depth = 0;
        for (const char *at = plain; *at && !(*at == '(' && depth == 0); at++) {
            depth += *at == '<';
            if (depth == 0 && *at != ' ') *to++ = *at;
            depth -= *at == '>';
        }
        *to = 0;
    }
    kl_world_list(list, cap, plain ? plain : symbol, reason);
    free(plain);
}

static const struct kl_hook *find_in(const struct kl_hook *table, enum kl_from from, const char *name) {
    for (; table->name; table++)
        if (table->from == from && strcmp(table->name, name) == 0) return table;
    return NULL;
}

static const struct kl_hook *find_hook(enum kl_from from, const char *name) {
    static const struct kl_hook *const tables[] = {
        kl_world_clock_hooks,  kl_world_random_hooks, kl_world_file_hooks,  kl_world_stream_hooks,
        kl_world_name_hooks,   kl_world_folder_hooks, kl_world_host_hooks,  kl_world_locale_hooks,
        kl_world_thread_hooks, kl_world_heap_hooks,   kl_world_import_hooks};
    const struct kl_hook *h = NULL;
    for (size_t i = 0; i < sizeof tables / sizeof *tables && !h; i++)
        h = find_in(tables[i], from, name);
    return h;
}

/* The original is the loader's address for this object, so that an interposed function stays interposed. It
 * is taken anew each time, because an unloaded core may have taken its C++ library along. */
static void *replace(void *user, enum kl_from from, const char *name, void *now) {
    struct turning *t = user;
    const struct kl_hook *h = find_hook(from, name);
    if (!h) {
        if (t->report) {
            for (const struct kl_not_turned *n = kl_world_not_turned; n->name; n++) {
                size_t len = strcspn(n->name, "*");
                bool prefix = n->name[len] == '*';
                if (strncmp(name, n->name, len) == 0 && (prefix || name[len] == '\0'))
                    list_add(t, t->report->left, sizeof(t->report->left), name, n->reason);
            }
        }
        return NULL;
    }
    void *fn = h->fn[t->world - kl_world_at];
    if (h->real && now != fn) *(void **)((char *)t->world + h->real) = now;
    /* That a core uses the heap, and reads files, tells nothing of it. */
    bool tells = !find_in(kl_world_heap_hooks, from, name) && !find_in(kl_world_stream_hooks, from, name) &&
                 !find_in(kl_world_import_hooks, from, name);
    if (t->report && tells) list_add(t, t->report->turned, sizeof(t->report->turned), name, NULL);
    if (t->report && tells && strcmp(name, "rand") == 0) t->report->rand = true;
    return fn;
}

void *kl_world_asked(struct kl_world *w, enum kl_from from, const char *name, void *now) {
    struct turning t = {.world = w, .report = w->report};
    kl_mutex_lock(&w->asking);
    void *fn = replace(&t, from, name, now);
    kl_mutex_unlock(&w->asking);
    return fn;
}

int kl_world_turn(struct kl_world *w, void *handle, struct kl_world_report *report, char *err,
                  size_t err_len) {
    if (report) memset(report, 0, sizeof(*report));
    struct turning t = {.world = w, .report = report};
    w->report = report;
    *(void **)&t.demangle = kl_library_find(handle, "__cxa_demangle");
    if (report) kl_world_code(w, handle);
    return kl_world_imports(w, handle, replace, &t, err, err_len);
}

struct kl_world *kl_world_take(void) {
    for (struct kl_world *w = kl_world_at; w < kl_world_at + KL_WORLDS; w++) {
        if (w->taken) continue;
        w->taken = true;
        w->rand_use = KL_RAND_SYSTEM;
        w->clock.timezone = 0;
        w->clock.daylight = 0;
        w->clock.tzname[0] = w->clock.tzname[1] = (char *)"UTC";
        kl_world_host_begin(w);
        kl_world_view(w, NULL);
        kl_world_start(w, 946684800, 0);
        return w;
    }
    return NULL;
}

/* Streams that the core has left open stay in the list: the C library closes them at the end. */
void kl_world_release(struct kl_world *w) {
    if (!w) return;
    kl_world_view(w, NULL);
    kl_world_files_clear(w);
    kl_world_host_end(w);
    atomic_store(&w->threads.count, 0);
    w->threads.restless = false;
    w->report = NULL;
    w->taken = false;
}

void kl_world_start(struct kl_world *w, uint64_t epoch_s, uint32_t fps_uhz) {
    kl_world_clock_start(&w->clock, epoch_s, fps_uhz);
    kl_world_random_start(w, epoch_s);
}

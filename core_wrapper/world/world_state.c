/* The worlds of this process, and their lists of turned and remaining facts, for people. */
#include "core_wrapper/world/world_private.h"

#include <string.h>

struct kl_world kl_world_at[KL_WORLDS];

static bool listed(const char *list, const char *word) {
    size_t len = strlen(word);
    for (const char *at = list; (at = strstr(at, word)); at += len)
        if ((at == list || at[-1] == ' ') && (at[len] == ' ' || at[len] == '\0')) return true;
    return false;
}

void kl_world_list(char *list, size_t cap, const char *word, const char *reason) {
    size_t used = strlen(list);
    if (!listed(list, word))
        snprintf(list + used, cap - used, reason ? "%s%s (%s)" : "%s%s", used ? " " : "", word, reason);
}

void kl_world_leaves(struct kl_world *w, const char *what, const char *reason) {
    if (!w->report) return;
    kl_mutex_lock(&w->asking);
    kl_world_list(w->report->left, sizeof w->report->left, what, reason);
    kl_mutex_unlock(&w->asking);
}

/* A list is "NAME (REASON) NAME (REASON)". A name that does not fit is left out, with all behind it. */
const char *kl_world_left_names(const char *left, char *out, size_t cap) {
    size_t used = 0;
    *out = 0;
    for (int wanted = 0; wanted < 3; wanted++)
        for (const char *at = left; *at;) {
            const char *reason = strstr(at, " ("), *end = reason ? strchr(reason, ')') : NULL;
            size_t len = reason ? (size_t)(reason - at) : strlen(at), comma = used ? 2 : 0;
            /* 0 to 2: how likely it is the reason that machines part. */
            bool first = *at == '/' || strncmp(at, "rd", 2) == 0 || strncmp(at, "rndr", 4) == 0 ||
                         strncmp(at, "cntvct", 6) == 0 || strncmp(at, "threads", 7) == 0;
            if ((first ? 0 : *at == '$' ? 2 : 1) == wanted) {
                if (used + comma + len >= cap) return out;
                used += (size_t)snprintf(out + used, cap - used, "%s%.*s", comma ? ", " : "", (int)len, at);
            }
            at = end ? end + 1 : at + strlen(at);
            at += *at == ' ';
        }
    return out;
}

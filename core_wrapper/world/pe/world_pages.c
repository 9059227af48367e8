/* No core goes back by its pages here yet: core_wrapper/world/README.md "Going back without savestates". */
#include "core_wrapper/world/pages.h"

#include <stdio.h>

struct kl_pages *kl_pages_take(struct kl_world *w, void *handle, char *why, size_t why_len) {
    (void)w, (void)handle;
    snprintf(why, why_len, "not on Windows");
    return NULL;
}
void kl_pages_release(struct kl_pages *p) {
    (void)p;
}
const char *kl_pages_unfit(struct kl_pages *p) {
    return (void)p, "not on Windows";
}
bool kl_pages_begin(struct kl_pages *p) {
    return (void)p, false;
}
bool kl_pages_keep(struct kl_pages *p, unsigned slot) {
    return (void)p, (void)slot, false;
}
bool kl_pages_back(struct kl_pages *p, unsigned slot) {
    return (void)p, (void)slot, false;
}
size_t kl_pages_bytes(const struct kl_pages *p) {
    return (void)p, 0;
}
void kl_pages_end(struct kl_pages *p) {
    (void)p;
}

#include "net/platform/desktop.h"

bool kl_desktop_setting(const char *key, const char *name, char *out, size_t cap) {
    (void)key, (void)name;
    if (cap) *out = 0;
    return false;
}

int kl_desktop_take_links(const char *scheme, const char *title, const char *const *arguments, char *err,
                          size_t err_len) {
    (void)scheme, (void)title, (void)arguments, (void)err, (void)err_len;
    return KL_DESKTOP_NONE;
}

int kl_desktop_leave_links(const char *scheme, char *err, size_t err_len) {
    (void)scheme, (void)err, (void)err_len;
    return KL_DESKTOP_NONE;
}

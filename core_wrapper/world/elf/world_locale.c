/* The calls by which a core asks for the player's language and environment: C's locale everywhere, and no
 * names. Other variables stay the player's, and are listed. */
#include "core_wrapper/world/world_private.h"

#include <errno.h>
#include <langinfo.h>
#include <limits.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

/* Others may be there or not. */
static bool is_c(const char *name) {
    return !*name || strcmp(name, "C") == 0 || strcmp(name, "POSIX") == 0;
}

/* The process's locale is the frontend's. */
static char *v_setlocale(int category, const char *name) {
    (void)category;
    return name && !is_c(name) ? NULL : (char *)"C";
}
static locale_t v_newlocale(int mask, const char *name, locale_t base) {
    if (is_c(name)) return newlocale(mask, "C", base);
    errno = ENOENT;
    return NULL;
}

static struct lconv *v_localeconv(void) {
    static char point[] = ".", none[] = "";
    static struct lconv c;
    memset(&c, CHAR_MAX, sizeof c);
    c.decimal_point = point;
    c.thousands_sep = c.grouping = c.int_curr_symbol = c.currency_symbol = c.mon_decimal_point =
        c.mon_thousands_sep = c.mon_grouping = c.positive_sign = c.negative_sign = none;
    return &c;
}

static locale_t c_locale(void) {
    static locale_t c;
    if (!c) c = newlocale(LC_ALL_MASK, "C", NULL);
    return c;
}
static char *v_nl_langinfo(nl_item item) {
    return nl_langinfo_l(item, c_locale());
}
static int v_strcoll(const char *a, const char *b) {
    return strcmp(a, b);
}
static size_t v_strxfrm(char *to, const char *from, size_t cap) {
    return strxfrm_l(to, from, cap, c_locale());
}

/* std::locale of a name, and of a name for some categories. */
static void v_locale(struct kl_world *w, void *self, const char *name) {
    (void)name;
    w->real.locale(self, "C");
}
KL_TURNED(void, v_locale, (void *self, const char *name), self, name)
static void v_locale_with(struct kl_world *w, void *self, const void *other, const char *name, int which) {
    (void)name;
    w->real.locale_with(self, other, "C", which);
}
KL_TURNED(void, v_locale_with, (void *self, const void *other, const char *name, int which), self, other,
          name, which)

/* --- the environment --- */

static char *v_getenv(struct kl_world *w, const char *name) {
    char *own = getenv(name);
    const char *constant = kl_world_variable(w, name, own != NULL);
    return constant ? (char *)constant : own;
}
KL_TURNED(char *, v_getenv, (const char *name), name)

const struct kl_hook kl_world_locale_hooks[] = {
    KL_HOOK_SAME("setlocale", v_setlocale),
    KL_HOOK_SAME("newlocale", v_newlocale),
    KL_HOOK_SAME("__newlocale", v_newlocale),
    KL_HOOK_SAME("localeconv", v_localeconv),
    KL_HOOK_SAME("nl_langinfo", v_nl_langinfo),
    KL_HOOK_SAME("strcoll", v_strcoll),
    KL_HOOK_SAME("strxfrm", v_strxfrm),
    KL_HOOK_REAL("_ZNSt6localeC1EPKc", v_locale, KL_REAL(locale)),
    KL_HOOK_REAL("_ZNSt6localeC2EPKc", v_locale, KL_REAL(locale)),
    KL_HOOK_REAL("_ZNSt6localeC1ERKS_PKci", v_locale_with, KL_REAL(locale_with)),
    KL_HOOK_REAL("_ZNSt6localeC2ERKS_PKci", v_locale_with, KL_REAL(locale_with)),
    KL_HOOK("getenv", v_getenv),
    KL_HOOK("secure_getenv", v_getenv),
    KL_HOOK_END,
};

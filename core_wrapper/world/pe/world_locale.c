/* The calls by which a core asks for the player's language and environment: C's locale and English
 * everywhere, and no names. Other variables stay the player's, and are listed. */
#include <windows.h>

#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "core_wrapper/world/world_private.h"
#include "net/platform/windows/disk.h"

#define ENGLISH     0x0409
#define NAME_LENGTH 128

/* --- the runtime's --- */

/* The process's locale is the frontend's. */
static char *v_setlocale(int category, const char *name) {
    (void)category;
    return name && *name && strcmp(name, "C") != 0 ? NULL : (char *)(uintptr_t) "C";
}
static wchar_t *v_wsetlocale(int category, const wchar_t *name) {
    (void)category;
    return name && *name && wcscmp(name, L"C") != 0 ? NULL : (wchar_t *)(uintptr_t)L"C";
}
static struct lconv *v_localeconv(struct kl_world *w) {
    static char point[] = ".", none[] = "";
    struct lconv *c = &w->host.c;
    struct lconv *real = w->real.localeconv();
    *c = *real; /* its wide members */
    c->decimal_point = point;
    c->thousands_sep = c->grouping = none;
    return c;
}
KL_TURNED(struct lconv *, v_localeconv, (void))
static int v_strcoll(const char *a, const char *b) {
    return strcmp(a, b);
}
static int v_wcscoll(const wchar_t *a, const wchar_t *b) {
    return wcscmp(a, b);
}

/* --- the system's --- */

static DWORD v_english(void) {
    return ENGLISH;
}
static int v_locale_name(wchar_t *out, int cap) {
    static const wchar_t name[] = L"en-US";
    int len = sizeof name / sizeof *name;
    if (cap < len) {
        SetLastError(ERROR_INSUFFICIENT_BUFFER);
        return 0;
    }
    wcscpy(out, name);
    return len;
}

/* --- the environment --- */

static char *v_getenv(struct kl_world *w, const char *name) {
    char *own = w->real.getenv(name);
    const char *constant = kl_world_variable(w, name, own != NULL);
    return constant ? (char *)(uintptr_t)constant : own;
}
KL_TURNED(char *, v_getenv, (const char *name), name)

static const char *constant_of(struct kl_world *w, const wchar_t *name, bool there) {
    char narrow[NAME_LENGTH];
    return kl_narrow_text(narrow, sizeof narrow, name) ? kl_world_variable(w, narrow, there) : NULL;
}
static wchar_t *v_wgetenv(struct kl_world *w, const wchar_t *name) {
    static const wchar_t *const wide[] = {L"UTC0", L"C", L"keylock"};
    wchar_t *own = w->real.wgetenv(name);
    const char *constant = constant_of(w, name, own != NULL);
    if (!constant) return own;
    return (wchar_t *)(uintptr_t)wide[strcmp(constant, "C") == 0 ? 1 : strcmp(constant, "UTC0") == 0 ? 0 : 2];
}
KL_TURNED(wchar_t *, v_wgetenv, (const wchar_t *name), name)

/* As GetEnvironmentVariable gives it: without the end, or with it if the buffer is too short. */
static DWORD length_in(DWORD cap, const char *constant) {
    size_t len = strlen(constant);
    return (DWORD)(len < cap ? len : len + 1);
}

static DWORD v_GetEnvironmentVariableA(struct kl_world *w, const char *name, char *out, DWORD cap) {
    DWORD n = GetEnvironmentVariableA(name, out, cap), error = GetLastError();
    const char *constant = name ? kl_world_variable(w, name, n != 0) : NULL;
    SetLastError(error);
    if (!constant) return n;
    n = length_in(cap, constant);
    if (n < cap) strcpy(out, constant);
    return n;
}
KL_TURNED(DWORD, v_GetEnvironmentVariableA, (const char *name, char *out, DWORD cap), name, out, cap)
static DWORD v_GetEnvironmentVariableW(struct kl_world *w, const wchar_t *name, wchar_t *out, DWORD cap) {
    DWORD n = GetEnvironmentVariableW(name, out, cap), error = GetLastError();
    const char *constant = name ? constant_of(w, name, n != 0) : NULL;
    SetLastError(error);
    if (!constant) return n;
    n = length_in(cap, constant);
    for (DWORD i = 0; n < cap && i <= n; i++)
        out[i] = (unsigned char)constant[i];
    return n;
}
KL_TURNED(DWORD, v_GetEnvironmentVariableW, (const wchar_t *name, wchar_t *out, DWORD cap), name, out, cap)

const struct kl_hook kl_world_locale_hooks[] = {
    KL_HOOK_SAME("setlocale", v_setlocale),
    KL_HOOK_SAME("_wsetlocale", v_wsetlocale),
    KL_HOOK("localeconv", v_localeconv),
    KL_HOOK_SAME("strcoll", v_strcoll),
    KL_HOOK_SAME("wcscoll", v_wcscoll),
    KL_HOOK("getenv", v_getenv),
    KL_HOOK("_wgetenv", v_wgetenv),
    KL_SYSTEM_HOOK("GetEnvironmentVariableA", v_GetEnvironmentVariableA),
    KL_SYSTEM_HOOK("GetEnvironmentVariableW", v_GetEnvironmentVariableW),
    KL_SYSTEM_HOOK_SAME("GetUserDefaultLCID", v_english),
    KL_SYSTEM_HOOK_SAME("GetSystemDefaultLCID", v_english),
    KL_SYSTEM_HOOK_SAME("GetThreadLocale", v_english),
    KL_SYSTEM_HOOK_SAME("GetUserDefaultLangID", v_english),
    KL_SYSTEM_HOOK_SAME("GetSystemDefaultLangID", v_english),
    KL_SYSTEM_HOOK_SAME("GetUserDefaultUILanguage", v_english),
    KL_SYSTEM_HOOK_SAME("GetSystemDefaultUILanguage", v_english),
    KL_SYSTEM_HOOK_SAME("GetUserDefaultLocaleName", v_locale_name),
    KL_SYSTEM_HOOK_SAME("GetSystemDefaultLocaleName", v_locale_name),
    KL_HOOK_END,
};

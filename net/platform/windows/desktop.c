/* The registry: HKEY_CURRENT_USER, so no administrator is needed. */
#include "net/platform/desktop.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <windows.h>

#include "net/platform/process.h"
#include "net/platform/windows/disk.h"

#define CLASSES "Software\\Classes\\"
#define KEY_MAX 256
#define COMMAND (2 * KL_WIDE_PATH)

static bool key_of(wchar_t out[KEY_MAX], const char *key) {
    if (!kl_wide_text(out, KEY_MAX, key)) return false;
    for (wchar_t *p = out; *p; p++)
        if (*p == L'/') *p = L'\\';
    return true;
}

bool kl_desktop_setting(const char *key, const char *name, char *out, size_t cap) {
    wchar_t wide_key[KEY_MAX], wide_name[KEY_MAX] = L"", value[COMMAND];
    DWORD size = sizeof value;
    if (cap) *out = 0;
    return key_of(wide_key, key) && (!name || kl_wide_text(wide_name, KEY_MAX, name)) &&
           RegGetValueW(HKEY_CURRENT_USER, wide_key, name ? wide_name : NULL, RRF_RT_REG_SZ, NULL, value,
                        &size) == ERROR_SUCCESS &&
           kl_narrow_text(out, cap, value);
}

/* --- links --- */

static int fail(char *err, size_t err_len, const char *scheme, LSTATUS why) {
    char text[KL_WINDOWS_ERROR];
    snprintf(err, err_len, "cannot set the program for %s links: %s", scheme,
             kl_windows_error((DWORD)why, text, sizeof text));
    return -1;
}

/* "C:\folder\program.exe" ARGUMENT… "%1". Windows puts the link in place of %1 as it is. */
static bool write_command(wchar_t out[COMMAND], const char *const *arguments) {
    wchar_t own[KL_WIDE_PATH], *rest = kl_command_line(NULL, arguments);
    DWORD n = GetModuleFileNameW(NULL, own, KL_WIDE_PATH);
    bool good =
        rest && n > 0 && n < KL_WIDE_PATH && swprintf(out, COMMAND, L"\"%ls\" %ls \"%%1\"", own, rest) > 0;
    free(rest);
    return good;
}

/* The program of a command is this one: its file has the same name. */
static bool is_ours(const char *command) {
    char own[KL_FILE_PATH];
    if (*command != '"' || kl_process_own_path(own, sizeof own) != 0) return false;
    const char *name = strrchr(own, '/') + 1, *end = strchr(command + 1, '"');
    size_t len = strlen(name);
    return end && (size_t)(end - command) > len + 1 && !strncasecmp(end - len, name, len) &&
           (end[-(ptrdiff_t)len - 1] == '\\' || end[-(ptrdiff_t)len - 1] == '/');
}

/* 0: nobody's; 1: ours; KL_DESKTOP_OTHERS. command: as it stands. */
static int find_owner(const char *scheme, char command[3 * COMMAND]) {
    char key[KEY_MAX];
    wchar_t wide[KEY_MAX];
    HKEY there;
    snprintf(key, sizeof key, CLASSES "%.60s\\shell\\open\\command", scheme);
    if (kl_desktop_setting(key, NULL, command, 3 * COMMAND)) return is_ours(command) ? 1 : KL_DESKTOP_OTHERS;
    snprintf(key, sizeof key, CLASSES "%.60s", scheme);
    if (!key_of(wide, key) || RegOpenKeyExW(HKEY_CURRENT_USER, wide, 0, KEY_READ, &there) != ERROR_SUCCESS)
        return 0;
    RegCloseKey(there);
    return KL_DESKTOP_OTHERS; /* a key without a command: made by somebody else */
}

static LSTATUS set(const char *key, const wchar_t *name, const wchar_t *value) {
    wchar_t wide[KEY_MAX];
    if (!key_of(wide, key)) return ERROR_INVALID_PARAMETER;
    return RegSetKeyValueW(HKEY_CURRENT_USER, wide, name, REG_SZ, value,
                           (DWORD)((wcslen(value) + 1) * sizeof *value));
}

int kl_desktop_take_links(const char *scheme, const char *title, const char *const *arguments, char *err,
                          size_t err_len) {
    static char was[3 * COMMAND], now[3 * COMMAND];
    static wchar_t command[COMMAND];
    char key[KEY_MAX], below[KEY_MAX], about[KEY_MAX];
    wchar_t name[KEY_MAX];
    int owner = find_owner(scheme, was);
    if (owner == KL_DESKTOP_OTHERS) return owner;
    snprintf(about, sizeof about, "URL:%.200s", title);
    if (!write_command(command, arguments) || !kl_narrow_text(now, sizeof now, command) ||
        !kl_wide_text(name, KEY_MAX, about))
        return fail(err, err_len, scheme, (LSTATUS)GetLastError());
    if (owner && !strcmp(was, now)) return KL_DESKTOP_SAME;
    snprintf(key, sizeof key, CLASSES "%.60s", scheme);
    snprintf(below, sizeof below, "%.100s\\shell\\open\\command", key);
    LSTATUS why = set(below, NULL, command); /* first: a key without a command counts as another's */
    if (why == ERROR_SUCCESS) why = set(key, L"URL Protocol", L"");
    if (why == ERROR_SUCCESS) why = set(key, NULL, name);
    return why == ERROR_SUCCESS ? 0 : fail(err, err_len, scheme, why);
}

int kl_desktop_leave_links(const char *scheme, char *err, size_t err_len) {
    static char command[3 * COMMAND];
    char key[KEY_MAX];
    wchar_t wide[KEY_MAX];
    int owner = find_owner(scheme, command);
    if (owner != 1) return owner ? owner : KL_DESKTOP_SAME;
    snprintf(key, sizeof key, CLASSES "%.60s", scheme);
    LSTATUS why =
        key_of(wide, key) ? RegDeleteTreeW(HKEY_CURRENT_USER, wide) : (LSTATUS)ERROR_INVALID_PARAMETER;
    return why == ERROR_SUCCESS ? 0 : fail(err, err_len, scheme, why);
}

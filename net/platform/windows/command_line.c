#include "net/platform/windows/disk.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

/* --- arguments --- */

static bool needs_quotes(const char *argument) {
    return !*argument || argument[strcspn(argument, " \t\n\v\"")];
}

/* Backslashes count double before a quote, and are themselves anywhere else. Returns the end. */
static char *quote(char *out, const char *argument) {
    *out++ = '"';
    for (const char *c = argument;; c++) {
        size_t slashes = strspn(c, "\\");
        c += slashes;
        for (size_t i = 0; i < (!*c || *c == '"' ? 2 * slashes : slashes); i++)
            *out++ = '\\';
        if (!*c) break;
        if (*c == '"') *out++ = '\\';
        *out++ = *c;
    }
    *out++ = '"';
    return out;
}

wchar_t *kl_command_line(const char *first, const char *const *arguments) {
    size_t room = 2 + (first ? strlen(first) : 0);
    for (unsigned i = 0; arguments[i]; i++)
        room += 2 * strlen(arguments[i]) + 3;
    char *all = malloc(room), *end = all;
    if (!all) {
        SetLastError(ERROR_NOT_ENOUGH_MEMORY);
        return NULL;
    }
    if (first) end += sprintf(end, "%s", first);
    for (unsigned i = 0; arguments[i]; i++) {
        size_t len = strlen(arguments[i]);
        if (end > all) *end++ = ' ';
        if (needs_quotes(arguments[i])) {
            end = quote(end, arguments[i]);
        } else {
            memcpy(end, arguments[i], len);
            end += len;
        }
    }
    *end = 0;
    wchar_t *line = kl_wide_copy(all);
    free(all);
    return line;
}

/* --- environment --- */

/* The first = may stand before a name: "=C:=C:\dir" is the folder of a drive. */
static size_t name_len(const wchar_t *variable) {
    return *variable ? 1 + wcscspn(variable + 1, L"=") : 0;
}

static bool is_replaced(const wchar_t *variable, const wchar_t *by) {
    size_t n = name_len(variable);
    for (; *by; by += wcslen(by) + 1)
        if (n == name_len(by) && !_wcsnicmp(variable, by, n)) return true;
    return false;
}

/* Writes one variable with its NUL, and a second NUL, which ends all. Returns the place of that; NULL on
 * failure. */
static wchar_t *add(wchar_t *end, const char *variable) {
    size_t room = strlen(variable) + 1;
    if (!end || !kl_wide_text(end, room, variable)) return NULL;
    end += wcslen(end) + 1;
    *end = 0;
    return end;
}

/* Appends to `all`, which ends at `end`, those of `ours` that it has not. */
static void append_others(const wchar_t *ours, const wchar_t *all, wchar_t *end) {
    wchar_t *at = end;
    for (const wchar_t *v = ours; *v; v += wcslen(v) + 1) {
        wchar_t kept = *end; /* only those before may replace it */
        *end = 0;
        bool replaced = is_replaced(v, all);
        *end = kept;
        if (replaced) continue;
        wcscpy(at, v);
        at += wcslen(at) + 1;
        *at = 0;
    }
}

wchar_t *kl_command_environment(const char *const *more, const char *last) {
    wchar_t *ours = GetEnvironmentStringsW();
    size_t room = 2 + (last ? strlen(last) + 1 : 0);
    for (const wchar_t *v = ours; v && *v; v += wcslen(v) + 1)
        room += wcslen(v) + 1;
    for (unsigned i = 0; more && more[i]; i++)
        room += strlen(more[i]) + 1;
    wchar_t *all = ours ? calloc(room, sizeof *all) : NULL, *end = all;
    if (!all) SetLastError(ERROR_NOT_ENOUGH_MEMORY);
    for (unsigned i = 0; more && more[i]; i++)
        end = add(end, more[i]);
    if (last) end = add(end, last);
    if (end) append_others(ours, all, end);
    if (ours) FreeEnvironmentStringsW(ours);
    if (end) return all;
    free(all);
    return NULL;
}

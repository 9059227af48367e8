/* The imports of a PE module: the table of imports, the table of imports that are bound when they are first
 * called, and GetProcAddress(). */
#include <windows.h>

#include <stdio.h>
#include <string.h>

#include "core_wrapper/world/world_private.h"

#define HOST_TIMER  "a timer of the host"
#define HOST_CHANCE "a chance of the host"
#define CPU_TIME    "processor time"
#define LIBRARY     "the clock of a library"
#define PAST        "asks the system past the functions that are replaced"
#define HOST_DATE   "the host's date"
#define HOST        "the host's"

const char kl_world_system[] = "Windows";

const struct kl_not_turned kl_world_not_turned[] = {
    {"GetSystemTimes", CPU_TIME},
    {"QueryProcessCycleTime", CPU_TIME},
    {"QueryThreadCycleTime", CPU_TIME},
    {"timeSetEvent", HOST_TIMER},
    {"SetTimer", HOST_TIMER},
    {"CreateTimerQueueTimer", HOST_TIMER},
    {"SetThreadpoolTimer*", HOST_TIMER},
    {"SetWaitableTimer*", HOST_TIMER},
    {"timeGetSystemTime", PAST},
    {"NtQuerySystemTime", PAST},
    {"NtQueryPerformanceCounter", PAST},
    {"RtlQueryPerformanceCounter", PAST},
    {"RtlGetSystemTimePrecise", PAST},
    {"NtCreateFile", PAST},
    {"NtOpenFile", PAST},
    {"LdrLoadDll", KL_LOADED_REASON},
    {"_getsystime", HOST_DATE},
    {"_strdate*", HOST_DATE},
    {"_strtime*", HOST_DATE},
    {"_wstrdate*", HOST_DATE},
    {"_wstrtime*", HOST_DATE},
    {"_wctime*", HOST_DATE},
    {"CoCreateGuid", HOST_CHANCE},
    {"UuidCreate", HOST_CHANCE},
    {"GetUserName*", KL_PLAYER_REASON},
    {"GetEnvironmentStrings*", KL_PLAYER_REASON},
    {"_environ", KL_PLAYER_REASON},
    {"_wenviron", KL_PLAYER_REASON},
    {"__p__environ", KL_PLAYER_REASON},
    {"__p__wenviron", KL_PLAYER_REASON},
    {"getenv_s", KL_PLAYER_REASON},
    {"_dupenv_s", KL_PLAYER_REASON},
    {"SHGetFolderPath*", KL_PLAYER_REASON},
    {"SHGetKnownFolderPath", KL_PLAYER_REASON},
    {"Reg*", HOST},
    {"GetVersion*", HOST},
    {"GetDiskFreeSpace*", HOST},
    {"GetVolumeInformation*", HOST},
    {"GetDriveType*", HOST},
    {"GetLogicalProcessorInformation*", HOST},
    {"GetAdaptersAddresses", HOST},
    {"GetTempFileName*", HOST_CHANCE},
    {"_mktemp*", HOST_CHANCE},
    {"_tempnam", HOST_CHANCE},
    {"tmpnam*", HOST_CHANCE},
    {"omp_get_num_procs", "as many threads as the host has processors"},
    {"clock_gettime*", LIBRARY}, /* libwinpthread-1.dll */
    {"pthread_cond_timedwait*", LIBRARY},
    {"_Cnd_timedwait", LIBRARY}, /* msvcp140.dll */
    {"SDL_GetTicks*", LIBRARY},
    {"SDL_GetPerformanceCounter", LIBRARY},
    {"gzopen*", "a library opens the file"},
    {"_ZNSt6chrono*", "a C++ clock"},
    {"_ZNSt13random_device*", "a chance of a library"},
    {NULL, NULL},
};

static bool begins(const char *name, const char *with) {
    return _strnicmp(name, with, strlen(with)) == 0;
}

/* msvcp has the clocks of C++, which take nothing of a runtime. */
static enum kl_from family(const char *dll) {
    static const char *const runtime[] = {"msvcrt.", "ucrtbase", "api-ms-win-crt-", "msvcr1",
                                          "msvcr7",  "msvcr8",   "msvcr9"},
                             *const system[] = {"kernel32.", "kernelbase.", "api-ms-win-core-", "ntdll.",
                                                "winmm.",    "advapi32.",   "bcrypt",           "msvcp"};
    for (size_t i = 0; i < sizeof runtime / sizeof *runtime; i++)
        if (begins(dll, runtime[i])) return KL_FROM_RUNTIME;
    for (size_t i = 0; i < sizeof system / sizeof *system; i++)
        if (begins(dll, system[i])) return KL_FROM_SYSTEM;
    return KL_FROM_OTHER;
}

static void find_reals(struct kl_world_reals *r, HMODULE runtime) {
    FARPROC p;
    memset(r, 0, sizeof *r);
    r->runtime = runtime;
#define FIND(result, member, exported, params)                                                               \
    p = GetProcAddress(runtime, exported);                                                                   \
    memcpy(&r->member, &p, sizeof p);
    KL_RUNTIME(FIND)
#undef FIND
}

/* A core has one C runtime: a block of one must not be freed by another. The functions of a second one
 * stay. */
static enum kl_from family_of(struct kl_world *w, const char *dll) {
    enum kl_from from = family(dll);
    if (from != KL_FROM_RUNTIME) return from;
    HMODULE runtime = GetModuleHandleA(dll);
    if (!w->real.runtime && runtime) find_reals(&w->real, runtime);
    return w->real.runtime == (void *)runtime ? from : KL_FROM_OTHER;
}

/* --- the tables --- */

static const void *at(const uint8_t *base, size_t rva) {
    return base + rva;
}

/* NULL: it has none. */
static const void *directory(const uint8_t *base, unsigned which) {
    const IMAGE_DOS_HEADER *dos = at(base, 0);
    const IMAGE_NT_HEADERS *nt = at(base, (size_t)dos->e_lfanew);
    const IMAGE_OPTIONAL_HEADER *o = &nt->OptionalHeader;
    bool there = which < o->NumberOfRvaAndSizes && o->DataDirectory[which].VirtualAddress;
    return there ? at(base, o->DataDirectory[which].VirtualAddress) : NULL;
}

static bool poke(void **slot, void *value, char *err, size_t err_len) {
    DWORD before;
    if (!VirtualProtect(slot, sizeof *slot, PAGE_READWRITE, &before)) {
        snprintf(err, err_len, "cannot hook the core's imports: its table stays read-only (error %lu)",
                 GetLastError());
        return false;
    }
    __atomic_store_n(slot, value, __ATOMIC_RELEASE);
    VirtualProtect(slot, sizeof *slot, before, &before);
    return true;
}

struct walk {
    struct kl_world *world;
    kl_replace replace;
    void *user;
    const uint8_t *base;
    const char *dll;
    bool delayed;
    char *err;
    size_t err_len;
};

/* The present target of an import; of a delayed one, that of the library, if it is loaded already: what is
 * bound later comes through GetProcAddress(). */
static void *target(const struct walk *k, const char *name, void *now) {
    HMODULE m = k->delayed ? GetModuleHandleA(k->dll) : NULL;
    if (k->delayed) return m ? (void *)GetProcAddress(m, name) : NULL;
    return now;
}

/* names and slots: the two tables of a DLL, in the same order. */
static bool walk_dll(const struct walk *k, const IMAGE_THUNK_DATA *names, void **slot) {
    for (; names->u1.AddressOfData; names++, slot++) {
        if (IMAGE_SNAP_BY_ORDINAL(names->u1.Ordinal)) continue;
        const IMAGE_IMPORT_BY_NAME *by = at(k->base, (size_t)names->u1.AddressOfData);
        const char *name = (const char *)by->Name;
        void *now = target(k, name, *slot);
        void *fn = now ? k->replace(k->user, family_of(k->world, k->dll), name, now) : NULL;
        if (fn && !poke(slot, fn, k->err, k->err_len)) return false;
    }
    return true;
}

/* A table without names (of linkers of the nineties) cannot be read once the loader has bound it. */
static bool walk_imports(struct walk *k) {
    const IMAGE_IMPORT_DESCRIPTOR *d = directory(k->base, IMAGE_DIRECTORY_ENTRY_IMPORT);
    for (; d && d->Name; d++) {
        k->dll = at(k->base, d->Name);
        if (d->OriginalFirstThunk &&
            !walk_dll(k, at(k->base, d->OriginalFirstThunk), (void **)(uintptr_t)at(k->base, d->FirstThunk)))
            return false;
    }
    return true;
}

static bool walk_delayed(struct walk *k) {
    const IMAGE_DELAYLOAD_DESCRIPTOR *d = directory(k->base, IMAGE_DIRECTORY_ENTRY_DELAY_IMPORT);
    k->delayed = true;
    for (; d && d->DllNameRVA; d++) {
        k->dll = at(k->base, d->DllNameRVA);
        if (d->Attributes.RvaBased && !walk_dll(k, at(k->base, d->ImportNameTableRVA),
                                                (void **)(uintptr_t)at(k->base, d->ImportAddressTableRVA)))
            return false;
    }
    return true;
}

/* A handle of a library is the address that it was loaded at. */
int kl_world_imports(struct kl_world *w, void *handle, kl_replace replace, void *user, char *err,
                     size_t err_len) {
    struct walk k = {
        .world = w, .replace = replace, .user = user, .base = handle, .err = err, .err_len = err_len};
    memset(&w->real, 0, sizeof w->real);
    kl_world_clock_init();
    return walk_imports(&k) && walk_delayed(&k) ? 0 : -1;
}

void kl_world_code(struct kl_world *w, void *handle) {
    const uint8_t *base = handle;
    const IMAGE_DOS_HEADER *dos = at(base, 0);
    const IMAGE_NT_HEADERS *nt = at(base, (size_t)dos->e_lfanew);
    const IMAGE_SECTION_HEADER *s = IMAGE_FIRST_SECTION(nt);
    for (unsigned i = 0; i < nt->FileHeader.NumberOfSections; i++)
        if (s[i].Characteristics & IMAGE_SCN_MEM_EXECUTE && s[i].Characteristics & IMAGE_SCN_MEM_READ)
            kl_world_scan(w, at(base, s[i].VirtualAddress), s[i].Misc.VirtualSize);
}

/* --- asked for while it runs --- */

static void *v_GetProcAddress(struct kl_world *w, HMODULE module, const char *name) {
    wchar_t path[MAX_PATH];
    char dll[MAX_PATH] = "";
    void *now = (void *)GetProcAddress(module, name);
    DWORD error = GetLastError();
    if (now && !IS_INTRESOURCE(name) && GetModuleFileNameW(module, path, MAX_PATH)) {
        const wchar_t *base = wcsrchr(path, L'\\');
        WideCharToMultiByte(CP_UTF8, 0, base ? base + 1 : path, -1, dll, sizeof dll, NULL, NULL);
        void *fn = kl_world_asked(w, family_of(w, dll), name, now);
        if (fn) now = fn;
    }
    SetLastError(error);
    return now;
}
KL_TURNED(void *, v_GetProcAddress, (HMODULE module, const char *name), module, name)

/* path: of a library that the core loads. */
static HMODULE loaded(struct kl_world *w, const wchar_t *path, HMODULE module) {
    DWORD error = GetLastError();
    char name[MAX_PATH];
    const wchar_t *base = path;
    for (const wchar_t *at = path; module && *at; at++)
        if (*at == L'/' || *at == L'\\') base = at + 1;
    bool told = module && WideCharToMultiByte(CP_UTF8, 0, base, -1, name, sizeof name, NULL, NULL);
    if (told && family(name) == KL_FROM_OTHER) kl_world_leaves(w, name, KL_LOADED_REASON);
    SetLastError(error);
    return module;
}
static HMODULE loaded_narrow(struct kl_world *w, const char *path, HMODULE module) {
    DWORD error = GetLastError();
    wchar_t wide[MAX_PATH];
    if (MultiByteToWideChar(CP_ACP, 0, path, -1, wide, MAX_PATH)) loaded(w, wide, module);
    SetLastError(error);
    return module;
}
static HMODULE v_LoadLibraryA(struct kl_world *w, const char *path) {
    return loaded_narrow(w, path, LoadLibraryA(path));
}
KL_TURNED(HMODULE, v_LoadLibraryA, (const char *path), path)
static HMODULE v_LoadLibraryW(struct kl_world *w, const wchar_t *path) {
    return loaded(w, path, LoadLibraryW(path));
}
KL_TURNED(HMODULE, v_LoadLibraryW, (const wchar_t *path), path)
static HMODULE v_LoadLibraryExA(struct kl_world *w, const char *path, HANDLE file, DWORD flags) {
    return loaded_narrow(w, path, LoadLibraryExA(path, file, flags));
}
KL_TURNED(HMODULE, v_LoadLibraryExA, (const char *path, HANDLE file, DWORD flags), path, file, flags)
static HMODULE v_LoadLibraryExW(struct kl_world *w, const wchar_t *path, HANDLE file, DWORD flags) {
    return loaded(w, path, LoadLibraryExW(path, file, flags));
}
KL_TURNED(HMODULE, v_LoadLibraryExW, (const wchar_t *path, HANDLE file, DWORD flags), path, file, flags)

const struct kl_hook kl_world_import_hooks[] = {
    KL_SYSTEM_HOOK("GetProcAddress", v_GetProcAddress), KL_SYSTEM_HOOK("LoadLibraryA", v_LoadLibraryA),
    KL_SYSTEM_HOOK("LoadLibraryW", v_LoadLibraryW),     KL_SYSTEM_HOOK("LoadLibraryExA", v_LoadLibraryExA),
    KL_SYSTEM_HOOK("LoadLibraryExW", v_LoadLibraryExW), KL_HOOK_END,
};

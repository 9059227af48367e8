/* The calls by which a core asks for facts of its process and machine: one answer in every room. */
#include <windows.h>

#include <string.h>

#include "core_wrapper/world/world_private.h"

#define PROCESSOR_MASK ((1u << KL_HOST_PROCESSORS) - 1)

/* --- the process --- */

static int v_getpid(void) {
    return KL_HOST_PID;
}
static HANDLE v_OpenProcess(DWORD access, BOOL inherit, DWORD number) {
    return OpenProcess(access, inherit, number == KL_HOST_PID ? GetCurrentProcessId() : number);
}

/* --- processors and memory --- */

static DWORD v_processors(void) {
    return KL_HOST_PROCESSORS;
}
static DWORD v_zero(void) {
    return 0;
}
static void v_GetSystemInfo(SYSTEM_INFO *out) {
    GetSystemInfo(out);
    out->dwNumberOfProcessors = KL_HOST_PROCESSORS;
    out->dwActiveProcessorMask = PROCESSOR_MASK;
    out->wProcessorLevel = out->wProcessorRevision = 0;
}
static BOOL v_GetProcessAffinityMask(HANDLE process, DWORD_PTR *own, DWORD_PTR *all) {
    (void)process;
    *own = *all = PROCESSOR_MASK;
    return TRUE;
}
/* That each machine has these is not asked. */
static BOOL v_SetProcessAffinityMask(HANDLE process, DWORD_PTR mask) {
    (void)process, (void)mask;
    return TRUE;
}
static DWORD_PTR v_SetThreadAffinityMask(HANDLE thread, DWORD_PTR mask) {
    (void)thread, (void)mask;
    return PROCESSOR_MASK;
}

static BOOL v_GlobalMemoryStatusEx(MEMORYSTATUSEX *out) {
    *out = (MEMORYSTATUSEX){.dwLength = sizeof *out,
                            .dwMemoryLoad = 50,
                            .ullTotalPhys = KL_HOST_MEMORY,
                            .ullAvailPhys = KL_HOST_MEMORY / 2,
                            .ullTotalPageFile = KL_HOST_MEMORY,
                            .ullAvailPageFile = KL_HOST_MEMORY / 2,
                            .ullTotalVirtual = 1ull << 47,
                            .ullAvailVirtual = 1ull << 46};
    return TRUE;
}
static void v_GlobalMemoryStatus(MEMORYSTATUS *out) {
    *out = (MEMORYSTATUS){.dwLength = sizeof *out,
                          .dwMemoryLoad = 50,
                          .dwTotalPhys = (SIZE_T)KL_HOST_MEMORY,
                          .dwAvailPhys = (SIZE_T)KL_HOST_MEMORY / 2,
                          .dwTotalPageFile = (SIZE_T)KL_HOST_MEMORY,
                          .dwAvailPageFile = (SIZE_T)KL_HOST_MEMORY / 2,
                          .dwTotalVirtual = (SIZE_T)1 << 47,
                          .dwAvailVirtual = (SIZE_T)1 << 46};
}

/* --- names --- */

static BOOL v_GetComputerNameA(char *out, DWORD *cap) {
    bool fits = *cap >= sizeof KL_HOST_NAME;
    if (fits) strcpy(out, KL_HOST_NAME);
    if (!fits) SetLastError(ERROR_BUFFER_OVERFLOW);
    *cap = fits ? sizeof KL_HOST_NAME - 1 : sizeof KL_HOST_NAME;
    return fits;
}
static BOOL v_GetComputerNameW(wchar_t *out, DWORD *cap) {
    char name[sizeof KL_HOST_NAME];
    DWORD room = *cap;
    bool fits = v_GetComputerNameA(name, room < sizeof name ? cap : &room);
    if (fits) *cap = room;
    for (size_t i = 0; fits && i < sizeof name; i++)
        out[i] = (unsigned char)name[i];
    return fits;
}
static BOOL v_GetComputerNameExA(COMPUTER_NAME_FORMAT kind, char *out, DWORD *cap) {
    (void)kind;
    return v_GetComputerNameA(out, cap);
}
static BOOL v_GetComputerNameExW(COMPUTER_NAME_FORMAT kind, wchar_t *out, DWORD *cap) {
    (void)kind;
    return v_GetComputerNameW(out, cap);
}

void kl_world_host_begin(struct kl_world *w) {
    (void)w;
}
void kl_world_host_end(struct kl_world *w) {
    (void)w;
}
bool kl_world_host_path(struct kl_world *w, const char *path, char out[KL_FILE_PATH]) {
    return kl_world_own_name(w, path, GetCurrentProcessId(), out);
}

const struct kl_hook kl_world_host_hooks[] = {
    KL_HOOK_SAME("_getpid", v_getpid),
    KL_HOOK_SAME("getpid", v_getpid),
    KL_SYSTEM_HOOK_SAME("GetCurrentProcessId", v_getpid),
    KL_SYSTEM_HOOK_SAME("OpenProcess", v_OpenProcess),
    KL_SYSTEM_HOOK_SAME("GetSystemInfo", v_GetSystemInfo),
    KL_SYSTEM_HOOK_SAME("GetNativeSystemInfo", v_GetSystemInfo),
    KL_SYSTEM_HOOK_SAME("GetActiveProcessorCount", v_processors),
    KL_SYSTEM_HOOK_SAME("GetMaximumProcessorCount", v_processors),
    KL_SYSTEM_HOOK_SAME("_Thrd_hardware_concurrency", v_processors),
    KL_SYSTEM_HOOK_SAME("GetCurrentProcessorNumber", v_zero),
    KL_SYSTEM_HOOK_SAME("GetProcessAffinityMask", v_GetProcessAffinityMask),
    KL_SYSTEM_HOOK_SAME("SetProcessAffinityMask", v_SetProcessAffinityMask),
    KL_SYSTEM_HOOK_SAME("SetThreadAffinityMask", v_SetThreadAffinityMask),
    KL_SYSTEM_HOOK_SAME("GlobalMemoryStatusEx", v_GlobalMemoryStatusEx),
    KL_SYSTEM_HOOK_SAME("GlobalMemoryStatus", v_GlobalMemoryStatus),
    KL_SYSTEM_HOOK_SAME("GetComputerNameA", v_GetComputerNameA),
    KL_SYSTEM_HOOK_SAME("GetComputerNameW", v_GetComputerNameW),
    KL_SYSTEM_HOOK_SAME("GetComputerNameExA", v_GetComputerNameExA),
    KL_SYSTEM_HOOK_SAME("GetComputerNameExW", v_GetComputerNameExW),
    KL_HOOK_END,
};

#include "net/platform/lookup.h"

#include <stdio.h>
#include <stdlib.h>
#include <winsock2.h>
#include <ws2tcpip.h>
#include <windows.h>

#include "net/platform/clock.h"
#include "net/platform/windows/handle.h"
#include "net/platform/windows/disk.h"

/* In the system since Windows 8; mingw's library has these, its headers do not. */
WINSOCK_API_LINKAGE INT WSAAPI GetAddrInfoExCancel(LPHANDLE handle);
WINSOCK_API_LINKAGE INT WSAAPI GetAddrInfoExOverlappedResult(LPOVERLAPPED overlapped);

#define LOOK_US   20000
#define CANCEL_US 20000 /* for the system, to let go of a question */

/* The system asks in a thread of its own, which sets an event and calls nothing of this library: so the
 * library may be unloaded. */
struct question {
    OVERLAPPED io;
    HANDLE cancel;
    ADDRINFOEXW hints, *result;
    wchar_t name[KL_LOOKUP_NAME_MAX];
};

static void free_question(struct question *q) {
    if (q->result) FreeAddrInfoExW(q->result);
    if (q->io.hEvent) CloseHandle(q->io.hEvent);
    free(q);
}

/* Begins a look-up. Returns WSA_IO_PENDING, or the result. */
static int ask(struct question *q, const char *name) {
    q->hints.ai_family = AF_UNSPEC;
    q->hints.ai_socktype = SOCK_DGRAM;
    q->io.hEvent = CreateEventW(NULL, TRUE, FALSE, NULL);
    if (!q->io.hEvent || !kl_wide_text(q->name, KL_LOOKUP_NAME_MAX, name)) return (int)GetLastError();
    kl_winsock_start();
    return GetAddrInfoExW(q->name, NULL, NS_ALL, NULL, &q->hints, &q->result, NULL, &q->io, NULL, &q->cancel);
}

/* The result of a finished question. */
static enum kl_lookup take(struct question *q, int failed, struct kl_addresses *out, char *why,
                           size_t why_len) {
    struct kl_address a;
    for (const ADDRINFOEXW *i = failed ? NULL : q->result; i; i = (const void *)i->ai_next)
        if (kl_address_from_system(i->ai_addr, &a)) kl_addresses_add(out, &a);
    kl_addresses_mix(out);
    if (!failed && out->count == 0) failed = WSANO_DATA;
    if (failed) kl_windows_error((unsigned long)failed, why, why_len);
    free_question(q);
    return failed ? KL_LOOKUP_FAILED : KL_LOOKUP_FOUND;
}

/* The system keeps a question that it cannot cancel: some hundred bytes, never freed on purpose. */
static void leave(struct question *q) {
    GetAddrInfoExCancel(&q->cancel);
    if (kl_handle_wait(q->io.hEvent, kl_now_us() + CANCEL_US)) free_question(q);
}

enum kl_lookup kl_lookup(const char *name, struct kl_addresses *out, bool (*still)(void *ctx), void *ctx,
                         char *why, size_t why_len) {
    uint64_t until_us = kl_now_us() + KL_LOOKUP_US;
    *out = (struct kl_addresses){0};
    out->count = kl_address_parse(name, &out->at[0]) ||
                 (kl_address_parse_place(name, &out->at[0]) && !out->at[0].port);
    if (out->count) return KL_LOOKUP_FOUND;
    struct question *q = calloc(1, sizeof *q);
    if (!q) {
        kl_windows_error(ERROR_NOT_ENOUGH_MEMORY, why, why_len);
        return KL_LOOKUP_FAILED;
    }
    int failed = ask(q, name);
    if (failed != WSA_IO_PENDING) return take(q, failed, out, why, why_len);
    while (!kl_handle_wait(q->io.hEvent, kl_now_us() + LOOK_US)) {
        bool wanted = !still || still(ctx);
        if (wanted && kl_now_us() < until_us) continue;
        leave(q);
        snprintf(why, why_len, "the name server does not answer");
        return wanted ? KL_LOOKUP_FAILED : KL_LOOKUP_LEFT;
    }
    return take(q, GetAddrInfoExOverlappedResult(&q->io), out, why, why_len);
}

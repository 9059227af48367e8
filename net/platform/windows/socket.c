#include "net/platform/socket.h"

#include <winsock2.h>
#include <windows.h>
#include <errno.h>
#include <iphlpapi.h>
#include <mswsock.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ws2tcpip.h>

#include "net/platform/clock.h"
#include "net/platform/thread.h"
#include "net/platform/windows/disk.h"
#include "net/platform/windows/handle.h"

/* --- sockets --- */

#ifndef SIO_UDP_NETRESET
#define SIO_UDP_NETRESET _WSAIOW(IOC_VENDOR, 15) /* not in mingw's headers of Debian 12 */
#endif

#define TABLE_BYTES 16384 /* first try for a list of the system's */
#define TABLE_TRIES 4     /* a list may grow meanwhile */

static atomic_bool lacks_ipv6; /* sockets are of IPv4 */

union system_address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

/* For a socket of IPv6, or of IPv4: an IPv6 address stays one there, and is refused. Returns the length. */
static int to_system(union system_address *out, const struct kl_address *a, bool v6) {
    static const uint8_t any[KL_HOST_BYTES];
    memset(out, 0, sizeof *out);
    if (v6 || !(kl_address_is_v4(a) || memcmp(a->host, any, sizeof any) == 0)) {
        out->v6.sin6_family = AF_INET6;
        out->v6.sin6_port = htons(a->port);
        out->v6.sin6_scope_id = a->zone;
        memcpy(&out->v6.sin6_addr, a->host, sizeof out->v6.sin6_addr);
        return sizeof out->v6;
    }
    out->v4.sin_family = AF_INET;
    out->v4.sin_port = htons(a->port);
    memcpy(&out->v4.sin_addr, a->host + 12, sizeof out->v4.sin_addr);
    return sizeof out->v4;
}

/* False, with *out unchanged: it is neither IPv4 nor IPv6, or NULL. */
static bool address_from(const struct sockaddr *in, struct kl_address *out) {
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)(const void *)in;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)(const void *)in;
    if (in && in->sa_family == AF_INET) {
        *out = kl_address_v4((const uint8_t *)&v4->sin_addr, ntohs(v4->sin_port));
        return true;
    }
    if (!in || in->sa_family != AF_INET6) return false;
    *out = (struct kl_address){.zone = v6->sin6_scope_id, .port = ntohs(v6->sin6_port)};
    memcpy(out->host, &v6->sin6_addr, sizeof out->host);
    return true;
}

/* --- the system's sockets --- */

/* Neither ended nor unloaded: a look-up may outlast its caller, and the library that asked. The system's
 * thread is in ws2_32 for a moment even after the answer. */
static void start(void) {
    WSADATA ignored;
    HMODULE stays;
    (void)WSAStartup(MAKEWORD(2, 2), &ignored);
    (void)GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_PIN, L"ws2_32.dll", &stays);
}

void kl_winsock_start(void) {
    static struct kl_once once;
    kl_once(&once, start);
}

int kl_winsock_fail(void) {
    errno = kl_windows_errno((unsigned long)WSAGetLastError());
    return -1;
}

/* --- addresses --- */

/* From malloc; NULL on failure. */
static IP_ADAPTER_ADDRESSES *list_adapters(void) {
    IP_ADAPTER_ADDRESSES *all = NULL;
    ULONG size = TABLE_BYTES, flags = GAA_FLAG_SKIP_ANYCAST | GAA_FLAG_SKIP_MULTICAST |
                                      GAA_FLAG_SKIP_DNS_SERVER | GAA_FLAG_INCLUDE_GATEWAYS;
    ULONG failed = ERROR_BUFFER_OVERFLOW;
    for (unsigned i = 0; failed == ERROR_BUFFER_OVERFLOW && i < TABLE_TRIES; i++) {
        free(all);
        all = malloc(size);
        failed = all ? GetAdaptersAddresses(AF_INET, flags, NULL, all, &size) : ERROR_OUTOFMEMORY;
    }
    if (!failed) return all;
    free(all);
    return NULL;
}

/* The addresses of virtual machines' networks often come first. So an adapter with a way to other networks is
 * preferred. */
bool kl_address_own(struct kl_address *out) {
    IP_ADAPTER_ADDRESSES *all = list_adapters();
    bool found = false, routed = false;
    for (const IP_ADAPTER_ADDRESSES *a = all; a && !routed; a = a->Next) {
        const IP_ADAPTER_UNICAST_ADDRESS *first = a->FirstUnicastAddress;
        if (a->IfType == IF_TYPE_SOFTWARE_LOOPBACK || a->OperStatus != IfOperStatusUp || !first) continue;
        routed = a->FirstGatewayAddress != NULL;
        if (found && !routed) continue;
        found = address_from(first->Address.lpSockaddr, out);
    }
    free(all);
    return found;
}

bool kl_socket_name(int s, struct kl_address *out) {
    union system_address in;
    int len = sizeof in;
    return getsockname((SOCKET)s, &in.any, &len) == 0 && address_from(&in.any, out);
}

bool kl_address_towards(const struct kl_address *to, struct kl_address *out) {
    int s = kl_socket_open();
    bool found = s >= 0 && kl_socket_connect(s, to) == 0 && kl_socket_name(s, out);
    kl_socket_close(s);
    return found;
}

/* A list of TCP connections from malloc; NULL on failure. */
static void *list_connections(ULONG family) {
    void *all = NULL;
    DWORD size = TABLE_BYTES, failed = ERROR_INSUFFICIENT_BUFFER;
    for (unsigned i = 0; failed == ERROR_INSUFFICIENT_BUFFER && i < TABLE_TRIES; i++) {
        free(all);
        all = malloc(size);
        failed = all ? GetExtendedTcpTable(all, &size, FALSE, family, TCP_TABLE_OWNER_PID_CONNECTIONS, 0)
                     : ERROR_OUTOFMEMORY;
    }
    if (!failed) return all;
    free(all);
    return NULL;
}

/* The table of IPv4 has the IPv4 connections of sockets for both, too. */
unsigned kl_address_peers(struct kl_address *out, unsigned max) {
    MIB_TCPTABLE_OWNER_PID *v4 = list_connections(AF_INET);
    MIB_TCP6TABLE_OWNER_PID *v6 = list_connections(AF_INET6);
    DWORD own = GetCurrentProcessId();
    unsigned count = 0;
    for (DWORD i = 0; v4 && i < v4->dwNumEntries && count < max; i++)
        if (v4->table[i].dwOwningPid == own && v4->table[i].dwState == MIB_TCP_STATE_ESTAB)
            out[count++] = kl_address_v4((const uint8_t *)&v4->table[i].dwRemoteAddr, 0);
    for (DWORD i = 0; v6 && i < v6->dwNumEntries && count < max; i++)
        if (v6->table[i].dwOwningPid == own && v6->table[i].dwState == MIB_TCP_STATE_ESTAB) {
            out[count] = (struct kl_address){.zone = v6->table[i].dwRemoteScopeId};
            memcpy(out[count++].host, v6->table[i].ucRemoteAddr, KL_HOST_BYTES);
        }
    free(v4);
    free(v6);
    return count;
}

/* --- sockets --- */

/* A datagram that nobody takes comes back as an error of the next call. A socket that is not connected must
 * not hear of it: the refusal of one peer would look like a failure of all. */
static void hear_refusals(SOCKET s, BOOL on) {
    DWORD ignored;
    (void)WSAIoctl(s, SIO_UDP_CONNRESET, &on, sizeof on, NULL, 0, &ignored, NULL, NULL);
    (void)WSAIoctl(s, SIO_UDP_NETRESET, &on, sizeof on, NULL, 0, &ignored, NULL, NULL);
}

static SOCKET open_for(int family) {
    return WSASocketW(family, SOCK_DGRAM, 0, NULL, 0, WSA_FLAG_OVERLAPPED | WSA_FLAG_NO_HANDLE_INHERIT);
}

int kl_socket_open(void) {
    DWORD off = 0;
    kl_winsock_start();
    SOCKET s = open_for(AF_INET6);
    bool lacking = s == INVALID_SOCKET && WSAGetLastError() != WSAEMFILE && WSAGetLastError() != WSAENOBUFS;
    if (s != INVALID_SOCKET &&
        setsockopt(s, IPPROTO_IPV6, IPV6_V6ONLY, (const char *)&off, sizeof off) != 0) {
        lacking = true;
        closesocket(s);
    }
    lacks_ipv6 = lacking;
    if (lacking) s = open_for(AF_INET);
    if (s == INVALID_SOCKET) return kl_winsock_fail();
    kl_socket_adopt((int)s);
    return (int)s;
}

bool kl_socket_has_ipv6(void) {
    return !lacks_ipv6;
}

static bool is_v6(int s) {
    WSAPROTOCOL_INFOW is;
    int len = sizeof is;
    return getsockopt((SOCKET)s, SOL_SOCKET, SO_PROTOCOL_INFOW, (char *)&is, &len) == 0 &&
           is.iAddressFamily == AF_INET6;
}

void kl_socket_adopt(int s) {
    BOOL on = TRUE;
    u_long without_wait = 1;
    (void)SetHandleInformation((HANDLE)(intptr_t)s, HANDLE_FLAG_INHERIT, 0);
    (void)ioctlsocket((SOCKET)s, (long)FIONBIO, &without_wait);
    /* otherwise another user's program may take the address, too */
    (void)setsockopt((SOCKET)s, SOL_SOCKET, SO_EXCLUSIVEADDRUSE, (const char *)&on, sizeof on);
    hear_refusals((SOCKET)s, FALSE);
}

void kl_socket_close(int s) {
    if (s >= 0) closesocket((SOCKET)s);
}

int kl_socket_bind(int s, struct kl_address *at) {
    union system_address in;
    int len = to_system(&in, at, is_v6(s));
    return bind((SOCKET)s, &in.any, len) == 0 && kl_socket_name(s, at) ? 0 : kl_winsock_fail();
}

int kl_socket_listen(struct kl_address *at) {
    (void)at;
    errno = ENOSYS;
    return -1;
}

int kl_socket_connect(int s, const struct kl_address *to) {
    union system_address in;
    int len = to_system(&in, to, is_v6(s));
    if (connect((SOCKET)s, &in.any, len) != 0) return kl_winsock_fail();
    hear_refusals((SOCKET)s, TRUE);
    return 0;
}

static void enlarge(int s, int what, int bytes) {
    if (bytes) (void)setsockopt((SOCKET)s, SOL_SOCKET, what, (const char *)&bytes, sizeof bytes);
}

void kl_socket_enlarge(int s, int receive_bytes, int send_bytes) {
    enlarge(s, SO_RCVBUF, receive_bytes);
    enlarge(s, SO_SNDBUF, send_bytes);
}

/* Windows has no such limit. */
int kl_socket_allowed(int bytes) {
    return bytes;
}

bool kl_socket_send(int s, const struct kl_address *to, const void *bytes, size_t len) {
    union system_address in;
    if (!to) return send((SOCKET)s, bytes, (int)len, 0) >= 0;
    int in_len = to_system(&in, to, !lacks_ipv6);
    if (sendto((SOCKET)s, bytes, (int)len, 0, &in.any, in_len) >= 0) return true;
    if (!kl_address_is_v4(to) || is_v6(s)) return false;
    in_len = to_system(&in, to, false); /* a socket of another library */
    return sendto((SOCKET)s, bytes, (int)len, 0, &in.any, in_len) >= 0;
}

/* The system does not say how long a datagram was that it cut off. */
int kl_socket_receive(int s, void *bytes, size_t cap, struct kl_address *from) {
    union system_address in = {.any = {.sa_family = AF_INET}};
    int size = sizeof in;
    int len = recvfrom((SOCKET)s, bytes, (int)cap, 0, &in.any, &size);
    if (len < 0 && WSAGetLastError() == WSAEMSGSIZE) len = (int)cap + 1;
    if (len < 0) return kl_winsock_fail();
    if (from) (void)address_from(&in.any, from);
    return len;
}

int kl_socket_peek(int s, void *bytes, size_t cap) {
    int len = recv((SOCKET)s, bytes, (int)cap, MSG_PEEK);
    if (len >= 0) return len;
    return WSAGetLastError() == WSAEMSGSIZE ? (int)cap : kl_winsock_fail();
}

bool kl_socket_time_arrivals(int s) {
    (void)s;
    return false;
}

bool kl_socket_receive_batch(int s, struct kl_socket_batch *b) {
    for (b->count = 0; b->count < KL_SOCKET_BATCH; b->count++) {
        int len = kl_socket_receive(s, b->bytes[b->count], KL_SOCKET_BYTES, &b->at[b->count]);
        if (len < 0) break;
        b->len[b->count] = (size_t)len;
        b->arrived_us[b->count] = kl_now_us();
    }
    return b->count > 0;
}

bool kl_socket_send_batch(int s, struct kl_socket_batch *b) {
    bool all = true;
    for (unsigned i = 0; i < b->count; i++)
        all = kl_socket_send(s, &b->at[i], b->bytes[i], b->len[i]) && all;
    b->count = 0;
    return all;
}

/* --- names --- */

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
        if (address_from(i->ai_addr, &a)) kl_addresses_add(out, &a);
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

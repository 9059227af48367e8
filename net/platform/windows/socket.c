#include "net/platform/socket.h"

#include <errno.h>
#include <stdlib.h>
#include <winsock2.h>
#include <ws2tcpip.h>
#include <mswsock.h>
#include <windows.h>
#include <iphlpapi.h>

#include "net/platform/thread.h"
#include "net/platform/windows/wide.h"
#include "net/platform/windows/winsock.h"

#ifndef SIO_UDP_NETRESET
#define SIO_UDP_NETRESET _WSAIOW(IOC_VENDOR, 15) /* not in mingw's headers of Debian 12 */
#endif

#define TABLE_BYTES 16384 /* first try for a list of the system's */
#define TABLE_TRIES 4     /* a list may grow meanwhile */

static struct sockaddr_in to_system(const struct kl_address *a) {
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(a->port)};
    in.sin_addr.s_addr = a->host;
    return in;
}
static struct kl_address from_system(const struct sockaddr_in *in) {
    return (struct kl_address){.host = in->sin_addr.s_addr, .port = ntohs(in->sin_port)};
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

int kl_winsock_open(int type) {
    u_long on = 1;
    kl_winsock_start();
    SOCKET s = WSASocketW(AF_INET, type, 0, NULL, 0, WSA_FLAG_OVERLAPPED | WSA_FLAG_NO_HANDLE_INHERIT);
    if (s == INVALID_SOCKET) return kl_winsock_fail();
    (void)ioctlsocket(s, (long)FIONBIO, &on);
    return (int)s;
}

/* --- addresses --- */

const char *kl_address_text(char out[KL_ADDRESS_TEXT], uint32_t host) {
    struct in_addr in = {.s_addr = host};
    kl_winsock_start();
    return inet_ntop(AF_INET, &in, out, KL_ADDRESS_TEXT);
}

bool kl_address_parse(const char *text, uint32_t *host) {
    struct in_addr in;
    kl_winsock_start();
    if (inet_pton(AF_INET, text, &in) != 1) return false;
    *host = in.s_addr;
    return true;
}

struct kl_address kl_address_loopback(uint16_t port) {
    return (struct kl_address){.host = htonl(INADDR_LOOPBACK), .port = port};
}

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
bool kl_address_own(uint32_t *host) {
    IP_ADAPTER_ADDRESSES *all = list_adapters();
    bool found = false, routed = false;
    for (const IP_ADAPTER_ADDRESSES *a = all; a && !routed; a = a->Next) {
        const IP_ADAPTER_UNICAST_ADDRESS *first = a->FirstUnicastAddress;
        if (a->IfType == IF_TYPE_SOFTWARE_LOOPBACK || a->OperStatus != IfOperStatusUp || !first) continue;
        routed = a->FirstGatewayAddress != NULL;
        if (found && !routed) continue;
        *host = ((const struct sockaddr_in *)(const void *)first->Address.lpSockaddr)->sin_addr.s_addr;
        found = true;
    }
    free(all);
    return found;
}

/* The table of IPv4 has the IPv4 connections of sockets for both, too. */
unsigned kl_address_peers(uint32_t *host, unsigned max) {
    MIB_TCPTABLE_OWNER_PID *all = NULL;
    DWORD size = TABLE_BYTES, failed = ERROR_INSUFFICIENT_BUFFER;
    unsigned count = 0;
    for (unsigned i = 0; failed == ERROR_INSUFFICIENT_BUFFER && i < TABLE_TRIES; i++) {
        free(all);
        all = malloc(size);
        failed = all ? GetExtendedTcpTable(all, &size, FALSE, AF_INET, TCP_TABLE_OWNER_PID_CONNECTIONS, 0)
                     : ERROR_OUTOFMEMORY;
    }
    for (DWORD i = 0; !failed && i < all->dwNumEntries && count < max; i++)
        if (all->table[i].dwOwningPid == GetCurrentProcessId() &&
            all->table[i].dwState == MIB_TCP_STATE_ESTAB)
            host[count++] = all->table[i].dwRemoteAddr;
    free(all);
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

int kl_socket_open(void) {
    int s = kl_winsock_open(SOCK_DGRAM);
    if (s >= 0) kl_socket_adopt(s);
    return s;
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
    struct sockaddr_in in = to_system(at);
    int len = sizeof in;
    if (bind((SOCKET)s, (struct sockaddr *)&in, sizeof in) != 0) return kl_winsock_fail();
    if (getsockname((SOCKET)s, (struct sockaddr *)&in, &len) != 0) return kl_winsock_fail();
    *at = from_system(&in);
    return 0;
}

int kl_socket_connect(int s, const struct kl_address *to) {
    struct sockaddr_in in = to_system(to);
    if (connect((SOCKET)s, (struct sockaddr *)&in, sizeof in) != 0) return kl_winsock_fail();
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

bool kl_socket_send(int s, const struct kl_address *to, const void *bytes, size_t len) {
    if (!to) return send((SOCKET)s, bytes, (int)len, 0) >= 0;
    struct sockaddr_in in = to_system(to);
    return sendto((SOCKET)s, bytes, (int)len, 0, (struct sockaddr *)&in, sizeof in) >= 0;
}

/* The system does not say how long a datagram was that it cut off. */
int kl_socket_receive(int s, void *bytes, size_t cap, struct kl_address *from) {
    struct sockaddr_in in = {.sin_family = AF_INET};
    int size = sizeof in;
    int len = recvfrom((SOCKET)s, bytes, (int)cap, 0, (struct sockaddr *)&in, &size);
    if (len < 0 && WSAGetLastError() == WSAEMSGSIZE) len = (int)cap + 1;
    if (len < 0) return kl_winsock_fail();
    if (from) *from = from_system(&in);
    return len;
}

int kl_socket_peek(int s, void *bytes, size_t cap) {
    int len = recv((SOCKET)s, bytes, (int)cap, MSG_PEEK);
    if (len >= 0) return len;
    return WSAGetLastError() == WSAEMSGSIZE ? (int)cap : kl_winsock_fail();
}

bool kl_socket_receive_batch(int s, struct kl_socket_batch *b) {
    for (b->count = 0; b->count < KL_SOCKET_BATCH; b->count++) {
        int len = kl_socket_receive(s, b->bytes[b->count], KL_SOCKET_BYTES, &b->at[b->count]);
        if (len < 0) break;
        b->len[b->count] = (size_t)len;
    }
    return b->count > 0;
}

void kl_socket_send_batch(int s, struct kl_socket_batch *b) {
    for (unsigned i = 0; i < b->count; i++)
        (void)kl_socket_send(s, &b->at[i], b->bytes[i], b->len[i]);
    b->count = 0;
}

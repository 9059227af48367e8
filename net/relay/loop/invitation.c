#include "net/relay/loop/invitation.h"

#include <stdio.h>
#include <string.h>

#include "net/engine/engine.h"
#include "net/platform/socket.h"
#include "net/session/url.h"
#include "net/transport/link.h"
#include "net/relay/log/relay_log.h"

#define ROOM "friends" /* of the link: players put any other name there */

enum kl_audience kl_invitation_audience(const char *host) {
    uint32_t address;
    uint8_t b[4];
    if (!kl_address_parse(host, &address))
        return strcmp(host, "localhost") ? KL_AUDIENCE_ALL : KL_AUDIENCE_MACHINE;
    memcpy(b, &address, sizeof b); /* as written: network byte order */
    if (b[0] == 127 || b[0] == 0) return KL_AUDIENCE_MACHINE;
    if (b[0] == 10 || (b[0] == 172 && b[1] >> 4 == 1) || (b[0] == 192 && b[1] == 168))
        return KL_AUDIENCE_NETWORK;
    if (b[0] == 169 && b[1] == 254) return KL_AUDIENCE_NETWORK;    /* given by nobody */
    if (b[0] == 100 && b[1] >> 6 == 1) return KL_AUDIENCE_NETWORK; /* a provider's NAT */
    return KL_AUDIENCE_ALL;
}

static void choose_host(struct kl_url *url, const char *host, const char *bound) {
    uint32_t own;
    if (!*host && strcmp(bound, "0.0.0.0") != 0) host = bound;
    if (*host)
        snprintf(url->host, sizeof url->host, "%s", host);
    else if (kl_address_own(&own))
        kl_address_text(url->host, own);
    else
        strcpy(url->host, "127.0.0.1");
}

void kl_invitation_log(const char *host, const char *bound, uint16_t port, const char *fingerprint) {
    static const char *const near[] = {[KL_AUDIENCE_NETWORK] = "machines of its own network",
                                       [KL_AUDIENCE_MACHINE] = "programs of this machine"};
    struct kl_url url = {.port = port == KL_DEFAULT_PORT ? 0 : port, .room = ROOM};
    char link[KL_URL_MAX + 1];
    choose_host(&url, host, bound);
    snprintf(url.fingerprint, sizeof url.fingerprint, "%s", fingerprint);
    if (kl_url_write(&url, link, sizeof link) != 0) return;
    kl_log(KL_LOG_INFO, "invitation",
           "link=%s text=\"the link for players; " ROOM " is the room, any name will do\"", link);
    kl_log(KL_LOG_INFO, "open_port",
           "udp=%u text=\"players must reach UDP port %u: open it in the firewall here, and forward it in a "
           "home's router\"",
           port, port);
    enum kl_audience audience = kl_invitation_audience(url.host);
    if (audience == KL_AUDIENCE_ALL) return;
    kl_log(KL_LOG_INFO, "local_address",
           "host=%s text=\"only %s reach %s: for other players, name this relay's public name or address by "
           "--host\"",
           url.host, near[audience], url.host);
}

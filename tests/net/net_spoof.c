#include "tests/net/net_spoof.h"

#include <arpa/inet.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <netinet/udp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define IP_BYTES  20
#define UDP_BYTES 8

bool spoof_open(struct spoof *s) {
    int bytes = 8 << 20;
    s->out = socket(AF_INET, SOCK_RAW, IPPROTO_RAW); /* the header is ours */
    s->in = socket(AF_INET, SOCK_RAW | SOCK_NONBLOCK, IPPROTO_UDP);
    if (s->out < 0 || s->in < 0) return false;
    s->out_v6 = socket(AF_INET6, SOCK_RAW, IPPROTO_RAW);
    if (s->out_v6 >= 0) setsockopt(s->out_v6, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof bytes);
    setsockopt(s->in, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes);
    setsockopt(s->out, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof bytes);
    return true;
}

void spoof_close(struct spoof *s) {
    close(s->out);
    if (s->out_v6 >= 0) close(s->out_v6);
    close(s->in);
}

static void send_with(struct spoof *s, const struct spoof_packet *p, uint16_t offset_field, size_t claimed) {
    static uint8_t raw[IP_BYTES + UDP_BYTES + sizeof p->bytes];
    struct iphdr ip = {.version = 4, .ihl = 5, .ttl = 64, .protocol = IPPROTO_UDP};
    struct udphdr udp = {.source = htons(p->from_port), .dest = htons(p->to_port)};
    struct sockaddr_in to = {.sin_family = AF_INET};
    static uint16_t id;
    udp.len = htons((uint16_t)(UDP_BYTES + claimed)); /* check 0: none */
    ip.saddr = htonl(p->from);
    ip.daddr = to.sin_addr.s_addr = htonl(p->to);
    ip.id = htons(++id);
    ip.frag_off = htons(offset_field);
    memcpy(raw, &ip, IP_BYTES); /* the kernel fills in length and checksum */
    memcpy(raw + IP_BYTES, &udp, UDP_BYTES);
    memcpy(raw + IP_BYTES + UDP_BYTES, p->bytes, p->len);
    (void)!sendto(s->out, raw, IP_BYTES + UDP_BYTES + p->len, 0, (struct sockaddr *)&to, sizeof to);
}

void spoof_send(struct spoof *s, const struct spoof_packet *p) {
    send_with(s, p, 0, p->len);
}
void spoof_fragment(struct spoof *s, const struct spoof_packet *p) {
    send_with(s, p, IP_MF, p->len + 64);
}

/* RFC 2460 §8.1: over both addresses, length and kind, then header and bytes. */
static uint16_t checksum_v6(const struct ip6_hdr *ip, const uint8_t *udp, size_t len) {
    uint32_t sum = (uint32_t)len + IPPROTO_UDP;
    const uint8_t *ends = (const uint8_t *)&ip->ip6_src; /* and the destination behind it */
    for (size_t i = 0; i < 32; i += 2)
        sum += (uint32_t)ends[i] << 8 | ends[i + 1];
    for (size_t i = 0; i < len; i += 2)
        sum += (uint32_t)udp[i] << 8 | (i + 1 < len ? udp[i + 1] : 0);
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    return sum == 0xffff ? 0xffff : (uint16_t)~sum;
}

void spoof_send_v6(struct spoof *s, const struct spoof_packet *p) {
    static uint8_t raw[sizeof(struct ip6_hdr) + UDP_BYTES + sizeof p->bytes];
    struct sockaddr_in6 to = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    struct ip6_hdr ip = {.ip6_dst = to.sin6_addr};
    struct udphdr udp = {.source = htons(p->from_port), .dest = htons(p->to_port)};
    const size_t len = UDP_BYTES + p->len;
    const uint32_t from = htonl(p->from);
    ip.ip6_flow = htonl(6U << 28);
    ip.ip6_plen = udp.len = htons((uint16_t)len);
    ip.ip6_nxt = IPPROTO_UDP;
    ip.ip6_hlim = 64;
    memcpy(&ip.ip6_src, "\x20\x01\x0d\xb8", 4);
    memcpy((uint8_t *)&ip.ip6_src + 12, &from, sizeof from);
    memcpy(raw + sizeof ip, &udp, UDP_BYTES);
    memcpy(raw + sizeof ip + UDP_BYTES, p->bytes, p->len);
    udp.check = htons(checksum_v6(&ip, raw + sizeof ip, len));
    memcpy(raw, &ip, sizeof ip);
    memcpy(raw + sizeof ip, &udp, UDP_BYTES);
    (void)!sendto(s->out_v6, raw, sizeof ip + len, 0, (struct sockaddr *)&to, sizeof to);
}

void spoof_altered(struct spoof *s, const struct spoof_packet *p, uint32_t (*any)(uint32_t below)) {
    static struct spoof_packet other;
    other = *p;
    other.bytes[any((uint32_t)p->len)] ^= (uint8_t)(1U << any(8));
    spoof_send(s, &other);
    other = *p;
    other.len = any((uint32_t)p->len);
    spoof_send(s, &other);
    other.len = 1201 + any(40000);
    spoof_send(s, &other);
}

bool spoof_see(struct spoof *s, struct spoof_packet *p) {
    static uint8_t raw[IP_BYTES + 60 + UDP_BYTES + sizeof p->bytes];
    ssize_t len = recv(s->in, raw, sizeof raw, MSG_DONTWAIT);
    if (len < IP_BYTES + UDP_BYTES) return false;
    struct iphdr ip;
    struct udphdr udp;
    memcpy(&ip, raw, IP_BYTES);
    size_t header = ip.ihl * 4U;
    memcpy(&udp, raw + header, UDP_BYTES);
    *p = (struct spoof_packet){.from = ntohl(ip.saddr), .to = ntohl(ip.daddr)};
    p->from_port = ntohs(udp.source);
    p->to_port = ntohs(udp.dest);
    p->len = (size_t)len - header - UDP_BYTES;
    memcpy(p->bytes, raw + header + UDP_BYTES, p->len);
    return true;
}

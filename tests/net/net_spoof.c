#include "tests/net/net_spoof.h"

#include <arpa/inet.h>
#include <netinet/ip.h>
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
    setsockopt(s->in, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes);
    setsockopt(s->out, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof bytes);
    return true;
}

void spoof_close(struct spoof *s) {
    close(s->out);
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

#include "core_wrapper/netplay/channel.h"

#include <stdio.h>
#include <string.h>

#include "net/engine/wire.h"

static const uint8_t magic[4] = {'K', 'L', 'N', 'P'};

static void write_ticket(struct kl_writer *w, const struct kl_url *url) {
    char link[KL_URL_MAX + 1];
    if (kl_url_write(url, link, sizeof link) == 0)
        kl_write_bytes(w, link, strlen(link));
    else
        w->failed = true;
}

int kl_channel_encode(const struct kl_channel_packet *p, uint8_t *buf, size_t cap) {
    struct kl_writer w;
    kl_writer_init(&w, buf, cap);
    kl_write_u8(&w, p->kind);
    switch (p->kind) {
    case KL_CHANNEL_GREET:
        kl_write_bytes(&w, magic, sizeof magic);
        kl_write_u16(&w, p->version);
        kl_write_u16(&w, p->protocol);
        break;
    case KL_CHANNEL_TICKET:
        kl_write_u8(&w, p->hosted);
        write_ticket(&w, &p->url);
        break;
    case KL_CHANNEL_OUTCOME: kl_write_u8(&w, p->outcome); break;
    case KL_CHANNEL_REFUSE: kl_write_string(&w, p->text); break;
    case KL_CHANNEL_CARRY:
        kl_write_u32(&w, p->taken);
        kl_write_bytes(&w, p->datagram, p->len);
        break;
    default: break;
    }
    return w.failed ? KL_E_SPACE : (int)(w.at - buf);
}

/* The bytes behind the version may differ in another version. */
static int read_greet(struct kl_reader *r, struct kl_channel_packet *p) {
    const uint8_t *m = kl_read_bytes(r, sizeof magic);
    p->version = kl_read_u16(r);
    if (r->failed || memcmp(m, magic, sizeof magic) != 0) return KL_E_MALFORMED;
    if (p->version != KL_CHANNEL_VERSION) return KL_E_VERSION;
    p->protocol = kl_read_u16(r);
    return KL_OK;
}

/* The rest of the packet. A link without a port or a fingerprint is for people; a ticket names all. */
static void read_ticket(struct kl_reader *r, struct kl_url *url) {
    char link[KL_URL_MAX + 1], why[512];
    size_t len = kl_reader_left(r);
    if (len == 0 || len > KL_URL_MAX) {
        r->failed = true;
        return;
    }
    memcpy(link, kl_read_bytes(r, len), len);
    link[len] = 0;
    bool good = strlen(link) == len && kl_url_parse(link, url, why, sizeof why) == 0;
    if (!good || !url->port || !*url->fingerprint) r->failed = true;
}

/* The rest of the packet. */
static void read_carry(struct kl_reader *r, struct kl_channel_packet *p) {
    p->taken = kl_read_u32(r);
    size_t len = kl_reader_left(r);
    if (r->failed || len > KL_CARRY_MAX) {
        r->failed = true;
        return;
    }
    p->len = (uint16_t)len;
    if (len) memcpy(p->datagram, kl_read_bytes(r, len), len);
}

static uint8_t read_u8(struct kl_reader *r, uint8_t max) {
    uint8_t v = kl_read_u8(r);
    if (v > max) r->failed = true;
    return v;
}

int kl_channel_decode(struct kl_channel_packet *p, const void *buf, size_t len) {
    struct kl_reader r;
    int result = KL_OK;
    memset(p, 0, sizeof *p);
    if (len > KL_CHANNEL_MAX) return KL_E_MALFORMED;
    kl_reader_init(&r, buf, len);
    p->kind = kl_read_u8(&r);
    switch (p->kind) {
    case KL_CHANNEL_GREET: result = read_greet(&r, p); break;
    case KL_CHANNEL_TICKET:
        p->hosted = read_u8(&r, 1);
        read_ticket(&r, &p->url);
        break;
    case KL_CHANNEL_OUTCOME: p->outcome = read_u8(&r, KL_CHANNEL_FAILED); break;
    case KL_CHANNEL_REFUSE: kl_read_string(&r, p->text, sizeof p->text); break;
    case KL_CHANNEL_BEAT: break;
    case KL_CHANNEL_CARRY: read_carry(&r, p); break;
    default: r.failed = true;
    }
    if (result == KL_E_VERSION) return result;
    return result != KL_OK || r.failed || kl_reader_left(&r) ? KL_E_MALFORMED : KL_OK;
}

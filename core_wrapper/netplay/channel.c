#include "core_wrapper/netplay/channel.h"

#include <stdio.h>
#include <string.h>

#include "net/engine/field.h"

static const uint8_t magic[4] = {'K', 'L', 'N', 'P'};

static const struct kl_field greet[] = {
    KL_NUMBER(kl_channel_packet, version), KL_NUMBER(kl_channel_packet, protocol), {0}};
static const struct kl_field ticket[] = {KL_BOOL(kl_channel_packet, hosted), {0}}; /* and a link */
static const struct kl_field outcome[] = {KL_UPTO(kl_channel_packet, outcome, KL_CHANNEL_FAILED), {0}};
static const struct kl_field refuse[] = {KL_STRING(kl_channel_packet, text), {0}};
static const struct kl_field beat[] = {{0}};
static const struct kl_field carry[] = {
    KL_NUMBER(kl_channel_packet, taken), KL_REST(kl_channel_packet, datagram, len, 0), {0}};

/* NULL: there is no such kind. */
static const struct kl_field *table_of(uint8_t kind) {
    static const struct kl_field *const table[] = {
        [KL_CHANNEL_GREET] = greet,   [KL_CHANNEL_TICKET] = ticket, [KL_CHANNEL_OUTCOME] = outcome,
        [KL_CHANNEL_REFUSE] = refuse, [KL_CHANNEL_BEAT] = beat,     [KL_CHANNEL_CARRY] = carry};
    return kind < sizeof table / sizeof *table ? table[kind] : NULL;
}

int kl_channel_encode(const struct kl_channel_packet *p, uint8_t *buf, size_t cap) {
    const struct kl_field *table = table_of(p->kind);
    struct kl_writer w;
    if (!table) return KL_E_MALFORMED;
    kl_writer_init(&w, buf, cap);
    kl_write_u8(&w, p->kind);
    if (p->kind == KL_CHANNEL_GREET) kl_write_bytes(&w, magic, sizeof magic);
    kl_fields_write(&w, table, p);
    if (p->kind == KL_CHANNEL_TICKET) {
        char link[KL_URL_MAX + 1];
        if (kl_url_write(&p->url, link, sizeof link) == 0)
            kl_write_bytes(&w, link, strlen(link));
        else
            w.failed = true;
    }
    return w.failed ? KL_E_SPACE : (int)(w.at - buf);
}

/* The magic bytes, and the version, which stays to be read: what follows it may have another form. */
static int look_at_greet(struct kl_reader *r, uint16_t *version) {
    const uint8_t *m = kl_read_bytes(r, sizeof magic);
    struct kl_reader rest = *r;
    *version = kl_read_u16(&rest);
    if (rest.failed || memcmp(m, magic, sizeof magic) != 0) return KL_E_MALFORMED;
    return *version == KL_CHANNEL_VERSION ? KL_OK : KL_E_VERSION;
}

/* The rest of the packet. A link without a port or a fingerprint is for people; a ticket names all. */
static void read_link(struct kl_reader *r, struct kl_url *url) {
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

int kl_channel_decode(struct kl_channel_packet *p, const void *buf, size_t len) {
    struct kl_reader r;
    memset(p, 0, sizeof *p);
    if (len > KL_CHANNEL_MAX) return KL_E_MALFORMED;
    kl_reader_init(&r, buf, len);
    p->kind = kl_read_u8(&r);
    const struct kl_field *table = table_of(p->kind);
    if (!table) return KL_E_MALFORMED;
    int result = p->kind == KL_CHANNEL_GREET ? look_at_greet(&r, &p->version) : KL_OK;
    if (result != KL_OK) return result;
    kl_fields_read(&r, table, p);
    if (p->kind == KL_CHANNEL_TICKET) read_link(&r, &p->url);
    return r.failed || kl_reader_left(&r) ? KL_E_MALFORMED : KL_OK;
}

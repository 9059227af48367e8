#include "core_wrapper/netplay/channel.h"

#include <string.h>

#include "net/engine/wire.h"
#include "net/session/seal.h"

/* --- packets --- */

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
    if (!table) return KL_E_MALFORMED;
    struct kl_writer w = kl_writer(buf, cap);
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
    memset(p, 0, sizeof *p);
    if (len > KL_CHANNEL_MAX) return KL_E_MALFORMED;
    struct kl_reader r = kl_reader(buf, len);
    p->kind = kl_read_u8(&r);
    const struct kl_field *table = table_of(p->kind);
    if (!table) return KL_E_MALFORMED;
    int result = p->kind == KL_CHANNEL_GREET ? look_at_greet(&r, &p->version) : KL_OK;
    if (result != KL_OK) return result;
    kl_fields_read(&r, table, p);
    if (p->kind == KL_CHANNEL_TICKET) read_link(&r, &p->url);
    return r.failed || kl_reader_left(&r) ? KL_E_MALFORMED : KL_OK;
}

/* --- a way for datagrams --- */

void kl_carry_init(struct kl_carry *c) {
    c->input_first = c->input_count = c->rest_first = c->rest_count = 0;
    c->sent = c->gone = c->taken = c->said = 0;
    c->dropped = 0;
    kl_carry_frame(c);
}

/* Sent again in every later one of the same session: CTRL, UPDATE; PATH is repeated as well. The handshake's
 * datagrams have other kinds. */
static bool is_input(const uint8_t *datagram, size_t len) {
    if (len < KL_SEAL_OVERHEAD || datagram[0] != KL_SEAL_MAGIC) return false;
    return datagram[1] == KL_SEAL_CTRL || datagram[1] == KL_SEAL_UPDATE || datagram[1] == KL_SEAL_PATH;
}

static void fill(struct kl_carry_item *item, const void *datagram, size_t len) {
    item->len = (uint16_t)len;
    memcpy(item->bytes, datagram, len);
}

static void put_input(struct kl_carry *c, const void *datagram, size_t len) {
    if (c->input_count == KL_CARRY_INPUTS) {
        c->input_first = (c->input_first + 1) % KL_CARRY_INPUTS;
        c->input_count--;
        c->dropped++;
    }
    fill(&c->input[(c->input_first + c->input_count++) % KL_CARRY_INPUTS], datagram, len);
}

void kl_carry_put(struct kl_carry *c, const void *datagram, size_t len) {
    bool fits = len > 0 && len <= KL_CARRY_MAX;
    if (fits && is_input(datagram, len))
        put_input(c, datagram, len);
    else if (fits && c->rest_count < KL_CARRY_RESTS)
        fill(&c->rest[(c->rest_first + c->rest_count++) % KL_CARRY_RESTS], datagram, len);
    else
        c->dropped++;
}

void kl_carry_frame(struct kl_carry *c) {
    c->trickle = KL_CARRY_TRICKLE;
}

static uint32_t under_way(const struct kl_carry *c) {
    return c->sent - c->gone;
}

static void give(struct kl_carry *c, struct kl_channel_packet *out, const struct kl_carry_item *item) {
    out->len = item->len;
    memcpy(out->datagram, item->bytes, item->len);
    c->sent += item->len;
}

static bool give_input(struct kl_carry *c, struct kl_channel_packet *out) {
    const struct kl_carry_item *item = &c->input[c->input_first];
    if (c->input_count == 0 || under_way(c) + item->len > KL_CARRY_AHEAD) return false;
    give(c, out, item);
    c->input_first = (c->input_first + 1) % KL_CARRY_INPUTS;
    c->input_count--;
    return true;
}

static bool give_rest(struct kl_carry *c, struct kl_channel_packet *out) {
    const struct kl_carry_item *item = &c->rest[c->rest_first];
    if (c->rest_count == 0 || item->len > c->trickle) return false;
    if (under_way(c) + item->len > KL_CARRY_AHEAD_REST) return false;
    give(c, out, item);
    c->trickle -= item->len;
    c->rest_first = (c->rest_first + 1) % KL_CARRY_RESTS;
    c->rest_count--;
    return true;
}

bool kl_carry_next(struct kl_carry *c, struct kl_channel_packet *out) {
    memset(out, 0, sizeof *out);
    out->kind = KL_CHANNEL_CARRY;
    out->taken = c->taken;
    if (!give_input(c, out) && !give_rest(c, out) && c->said == c->taken) return false;
    c->said = c->taken;
    return true;
}

int kl_carry_take(struct kl_carry *c, const struct kl_channel_packet *p) {
    if (p->taken - c->gone > under_way(c)) return KL_E_MALFORMED;
    c->gone = p->taken;
    c->taken += p->len;
    return KL_OK;
}

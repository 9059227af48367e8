#include "net/record/klr_body.h"

static const struct kl_field head[] = {KL_NUMBER(kl_klr_head, rules),   KL_NUMBER(kl_klr_head, flags),
                                       KL_BYTES(kl_klr_head, room_id),  KL_BYTES(kl_klr_head, relay_key),
                                       KL_NUMBER(kl_klr_head, epoch_s), {0}};

void kl_klr_write_head(struct kl_writer *w, const struct kl_klr_head *h) {
    kl_write_u8(w, KL_KLR_VERSION);
    kl_fields_write(w, head, h);
}

void kl_klr_read_head(struct kl_reader *r, struct kl_klr_head *h) {
    *h = (struct kl_klr_head){.version = kl_read_u8(r)};
    kl_fields_read(r, head, h);
}

/* Writer and reader of a body that is the table of this name. */
#define BODY(name, of)                                                                                       \
    void kl_klr_write_##name(struct kl_writer *w, const struct of *from) {                                   \
        kl_fields_write(w, name, from);                                                                      \
    }                                                                                                        \
    void kl_klr_read_##name(struct kl_reader *r, struct of *to) {                                            \
        *to = (struct of){0};                                                                                \
        kl_fields_read(r, name, to);                                                                         \
    }

static const struct kl_field member[] = {KL_UPTO(kl_klr_member, client, KL_MAX_CLIENTS - 1),
                                         KL_NUMBER(kl_klr_member, seats),
                                         KL_NAME(kl_klr_member, name, 0, KL_NAME_CHARS),
                                         {0}};
static const struct kl_field room[] = {
    KL_NAME(kl_klr_room, name, 0, KL_NAME_CHARS),
    KL_BOOL(kl_klr_room, has_params),
    KL_FIELD(kl_klr_room, params, KL_FIELD_PART, .of = kl_params_fields, KL_IF(kl_klr_room, has_params, 1)),
    KL_PART(kl_klr_room, facts, kl_facts_fields),
    KL_LIST(kl_klr_room, member, members, member),
    KL_STRING(kl_klr_room, match),
    {0}};
BODY(room, kl_klr_room)

static const struct kl_field digest[] = {
    KL_NUMBER(kl_digest, intervals), KL_NUMBER(kl_digest, end), KL_BYTES(kl_digest, digest), {0}};
BODY(digest, kl_digest)

static const struct kl_field snapshot[] = {KL_NUMBER(kl_klr_snapshot, frame),
                                           KL_NUMBER(kl_klr_snapshot, bytes),
                                           KL_BYTES(kl_klr_snapshot, hash),
                                           KL_PART(kl_klr_snapshot, before, digest),
                                           {0}};
BODY(snapshot, kl_klr_snapshot)

static const struct kl_field hash[] = {KL_NUMBER(kl_klr_hash, label),
                                       KL_NUMBER(kl_klr_hash, clients),
                                       KL_UPTO(kl_klr_hash, has, 7),
                                       KL_NUMBER_IF(kl_klr_hash, ram, has, KL_HASH_RAM),
                                       KL_NUMBER_IF(kl_klr_hash, state, has, KL_HASH_STATE),
                                       KL_NUMBER_IF(kl_klr_hash, picture, has, KL_HASH_PICTURE),
                                       {0}};
BODY(hash, kl_klr_hash)

static const struct kl_field event[] = {KL_NUMBER(kl_klr_event, kind), KL_NUMBER(kl_klr_event, frame), {0}};
static const struct kl_field flip[] = {KL_NUMBER(kl_klr_event, offset), KL_BOOL(kl_klr_event, yes), {0}};
static const struct kl_field serialized[] = {KL_BOOL(kl_klr_event, yes), {0}};
static const struct kl_field text[] = {KL_STRING(kl_klr_event, text), {0}};
static const struct kl_field nothing[] = {{0}};
static const struct kl_field seats[] = {KL_UPTO(kl_klr_event, client, KL_MAX_CLIENTS - 1),
                                        KL_NUMBER(kl_klr_event, seats),
                                        KL_NAME(kl_klr_event, text, 0, KL_NAME_CHARS),
                                        {0}};
static const struct kl_field loaded[] = {
    KL_UPTO(kl_klr_event, client, KL_MAX_CLIENTS - 1), KL_NUMBER(kl_klr_event, snapshot), {0}};

static const struct kl_field report[] = {
    KL_UPTO(kl_klr_event, client, KL_MAX_CLIENTS - 1), KL_STRING(kl_klr_event, text), {0}};

/* NULL: of a later keylock. */
static const struct kl_field *rest_of(uint8_t kind) {
    static const struct kl_field *const rest[] = {[KL_KLR_FLIP] = flip,     [KL_KLR_ALIEN] = text,
                                                  [KL_KLR_OPTION] = text,   [KL_KLR_SERIALIZED] = serialized,
                                                  [KL_KLR_CUT] = nothing,   [KL_KLR_SEATS] = seats,
                                                  [KL_KLR_LOADED] = loaded, [KL_KLR_REPORT] = report};
    return kind < sizeof rest / sizeof rest[0] ? rest[kind] : NULL;
}

void kl_klr_write_event(struct kl_writer *w, const struct kl_klr_event *e) {
    kl_fields_write(w, event, e);
    if (rest_of(e->kind)) kl_fields_write(w, rest_of(e->kind), e);
}

void kl_klr_read_event(struct kl_reader *r, struct kl_klr_event *e) {
    *e = (struct kl_klr_event){0};
    kl_fields_read(r, event, e);
    if (rest_of(e->kind))
        kl_fields_read(r, rest_of(e->kind), e);
    else
        r->at = r->end;
}

static const struct kl_field end[] = {KL_NUMBER(kl_klr_end, frames), KL_STRING(kl_klr_end, why), {0}};
BODY(end, kl_klr_end)

void kl_klr_write_seal(struct kl_writer *w, const struct kl_proof *p) {
    kl_fields_write(w, kl_proof_fields, p);
}
void kl_klr_read_seal(struct kl_reader *r, struct kl_proof *p) {
    *p = (struct kl_proof){0};
    kl_fields_read(r, kl_proof_fields, p);
}

static const struct kl_field sign[] = {KL_UPTO(kl_klr_sign, client, KL_MAX_CLIENTS - 1),
                                       KL_BYTES(kl_klr_sign, seat_pub),
                                       KL_PART(kl_klr_sign, sign, kl_sign_fields),
                                       {0}};
BODY(sign, kl_klr_sign)

const uint8_t *kl_klr_read_piece(struct kl_reader *r, size_t *len) {
    *len = kl_reader_left(r) ? kl_read_u16(r) : 0;
    return *len ? kl_read_bytes(r, *len) : NULL;
}

#include "net/engine/msg.h"

#include <string.h>

/* --- parts that several messages have --- */

static const struct kl_field fact[] = {KL_STRING(kl_fact, key), KL_STRING(kl_fact, value), {0}};
const struct kl_field kl_facts_fields[] = {KL_LIST(kl_facts, fact, count, fact), {0}};

static const struct kl_field flags[] = {KL_BOOL(kl_params, subframes),
                                        KL_BOOL(kl_params, clocked),
                                        KL_BOOL(kl_params, half_steps),
                                        KL_BOOL(kl_params, economy),
                                        {0}};
const struct kl_field kl_params_fields[] = {KL_UPTO(kl_params, policy, KL_POLICY_OPTIMISTIC),
                                            KL_FLAGS(flags),
                                            KL_RANGE(kl_params, players, 1, KL_MAX_SEATS),
                                            KL_UPTO(kl_params, spacing_fixed, KL_SPACING_MAX),
                                            KL_UPTO(kl_params, lead_max, KL_SPACING_MAX),
                                            KL_NUMBER(kl_params, wait_budget_ms),
                                            KL_NUMBER(kl_params, hash_every),
                                            KL_RANGE(kl_params, fps_uhz, KL_FPS_MIN, KL_FPS_MAX),
                                            KL_UPTO(kl_params, desync, KL_DESYNC_IGNORE),
                                            {0}};

/* --- client to relay --- */

static const struct kl_field hello[] = {KL_NUMBER(kl_hello, version),
                                        KL_NAME(kl_hello, name, 1, KL_NAME_CHARS),
                                        KL_NAME(kl_hello, room, 1, KL_NAME_CHARS),
                                        KL_UPTO(kl_hello, seats_wanted, KL_MAX_SEATS),
                                        KL_GROUP(kl_hello, params, kl_params_fields),
                                        KL_PART(kl_hello, facts, kl_facts_fields),
                                        KL_NUMBER(kl_hello, door),
                                        KL_UPTO(kl_hello, consent, KL_CONSENT_ROOM),
                                        KL_NUMBER(kl_hello, seat_time_s),
                                        KL_BYTES(kl_hello, seat_key),
                                        KL_STRING(kl_hello, match),
                                        {0}};

bool kl_match_fits(const char *match) {
    bool word = !*match;
    for (char c; (c = *match); match++) {
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        bool mark = c == '-' || c == '.' || c == '_' || c == ':' || c == '#' || c == '/';
        if (!letter && !mark) return false;
        word |= letter;
    }
    return word;
}

static bool hello_fits(const struct kl_msg *m) {
    return !(m->hello.door & KL_DOOR_LOCKED) && kl_match_fits(m->hello.match);
}

static const struct kl_field data[] = {
    KL_NUMBER(kl_data, offset), KL_NUMBER(kl_data, total), KL_REST(kl_data, bytes, len, 0), {0}};

static bool data_fits(const struct kl_msg *m) {
    const struct kl_data *d = &m->data;
    return d->offset <= d->total && d->len <= d->total - d->offset;
}

static const struct kl_field ready[] = {KL_PART(kl_ready, facts, kl_facts_fields), {0}};

static const struct kl_field hash[] = {KL_NUMBER(kl_hash, frame),
                                       KL_UPTO(kl_hash, has, 127),
                                       KL_NUMBER(kl_hash, layout),
                                       KL_NUMBER_IF(kl_hash, ram, has, KL_HASH_RAM),
                                       KL_NUMBER_IF(kl_hash, state, has, KL_HASH_STATE),
                                       KL_NUMBER_IF(kl_hash, picture, has, KL_HASH_PICTURE),
                                       KL_NUMBER_IF(kl_hash, sound, has, KL_HASH_SOUND),
                                       {0}};

static bool hash_fits(const struct kl_msg *m) {
    unsigned counts = m->hash.has & KL_HASH_COUNTS;
    return !counts || ((m->hash.has & KL_HASH_STATE) && !(counts & (counts - 1)));
}

static const struct kl_field order[] = {KL_NUMBER(kl_order, kind), KL_REST(kl_order, data, len, 0), {0}};

static const struct kl_field prove[] = {
    KL_UPTO(kl_prove, what, KL_PROVE_SET), KL_BYTES(kl_prove, share), KL_BYTES(kl_prove, mac), {0}};

static const struct kl_field mark[] = {
    KL_NUMBER(kl_record_mark, intervals), KL_BYTES(kl_record_mark, digest), {0}};

static const struct kl_field back[] = {KL_NAME(kl_return, room, 1, KL_NAME_CHARS),
                                       KL_BYTES(kl_return, token),
                                       KL_BYTES(kl_return, seat_key),
                                       KL_BYTES(kl_return, signature),
                                       KL_BOOL(kl_return, fresh),
                                       KL_NUMBER(kl_return, have),
                                       KL_NUMBER(kl_return, first),
                                       KL_NUMBER(kl_return, intervals),
                                       KL_BYTES(kl_return, digest),
                                       KL_BYTES(kl_return, open),
                                       KL_LIST(kl_return, state, states, mark),
                                       KL_PART(kl_return, facts, kl_facts_fields),
                                       KL_UPTO(kl_return, consent, KL_CONSENT_ROOM),
                                       {0}};

static bool return_fits(const struct kl_msg *m) {
    const struct kl_return *b = &m->back;
    return b->first <= b->have && !(b->fresh && (b->have || b->intervals || b->states));
}

static const struct kl_field state[] = {KL_NUMBER(kl_state_said, keyframe),
                                        KL_BOOL(kl_state_said, has),
                                        KL_UPTO(kl_state_said, bytes, KL_SNAPSHOT_MAX),
                                        KL_BYTES(kl_state_said, hash),
                                        {0}};

static bool state_fits(const struct kl_msg *m) {
    return m->state.has == (m->state.bytes > 0);
}

static const struct kl_field piece[] = {KL_NUMBER(kl_piece, offset),
                                        KL_RANGE(kl_piece, total, 1, KL_SNAPSHOT_MAX),
                                        KL_REST(kl_piece, bytes, len, 1),
                                        {0}};

static bool piece_fits(const struct kl_msg *m) {
    const struct kl_piece *p = &m->snapshot.piece;
    return p->offset <= p->total && p->len <= p->total - p->offset;
}

static const struct kl_field give[] = {KL_NUMBER(kl_snapshot_piece, keyframe),
                                       KL_BOOL(kl_snapshot_piece, based),
                                       KL_PART(kl_snapshot_piece, piece, piece),
                                       {0}};

static const struct kl_field healed[] = {
    KL_NUMBER(kl_healed, keyframe), KL_NUMBER(kl_healed, next), KL_UPTO(kl_healed, how, KL_HEALED_NOT), {0}};

static const struct kl_field file[] = {KL_BOOL(kl_file_said, late),
                                       KL_NUMBER(kl_file_said, disk),
                                       KL_UPTO(kl_file_said, is, KL_FILE_UNKNOWN),
                                       KL_NUMBER(kl_file_said, bytes),
                                       KL_NUMBER(kl_file_said, hash),
                                       KL_STRING(kl_file_said, name),
                                       {0}};

static bool file_fits(const struct kl_msg *m) {
    const struct kl_file_said *f = &m->file;
    bool known = f->is == KL_FILE_HERE || f->is == KL_FILE_MISSING;
    return !f->late || (!f->disk && f->name[0] && known);
}

static const struct kl_field direct[] = {{0}};

/* --- relay to client --- */

static const struct kl_field welcome[] = {KL_NUMBER(kl_welcome, session),
                                          KL_UPTO_OR_NONE(kl_welcome, client, KL_MAX_CLIENTS - 1),
                                          KL_NUMBER(kl_welcome, seats),
                                          KL_BOOL(kl_welcome, host),
                                          KL_GROUP(kl_welcome, params, kl_params_fields),
                                          KL_BYTES(kl_welcome, room_id),
                                          KL_BYTES(kl_welcome, token),
                                          KL_NUMBER(kl_welcome, seat_time_s),
                                          KL_STRING(kl_welcome, match),
                                          {0}};

static bool welcome_fits(const struct kl_msg *m) {
    bool watches = m->welcome.client == KL_WATCHER;
    return kl_match_fits(m->welcome.match) && (!watches || (!m->welcome.seats && !m->welcome.host));
}

static const struct kl_field text[] = {KL_NUMBER(kl_text, code), KL_STRING(kl_text, text), {0}};

static const struct kl_field member[] = {
    KL_UPTO(kl_member, client, KL_MAX_CLIENTS - 1), KL_NUMBER(kl_member, seats),
    KL_UPTO(kl_member, state, KL_MEMBER_JOINING),   KL_BOOL(kl_member, host),
    KL_NAME(kl_member, name, 0, KL_NAME_CHARS),     {0}};

static const struct kl_field waiter[] = {KL_UPTO_OR_NONE(kl_waiter, client, KL_MAX_CLIENTS - 1),
                                         KL_BOOL(kl_waiter, turn),
                                         KL_NAME(kl_waiter, name, 0, KL_NAME_CHARS),
                                         {0}};

static const struct kl_field roster[] = {
    KL_UPTO(kl_roster, filled, KL_MAX_SEATS),
    KL_UPTO(kl_roster, players, KL_MAX_SEATS),
    KL_UPTO(kl_roster, doors, KL_DOOR_UNLISTED | KL_DOOR_PASSWORD | KL_DOOR_LOCKED),
    KL_UPTO_OR_NONE(kl_roster, farthest, KL_MAX_CLIENTS - 1),
    KL_LIST(kl_roster, member, count, member),
    KL_NUMBER(kl_roster, watchers),
    KL_UPTO(kl_roster, delay_s, KL_WATCH_DELAY_MAX_S),
    KL_NUMBER(kl_roster, record_days),
    KL_LIST(kl_roster, queue, waiting, waiter),
    {0}};

static const struct kl_field prepare[] = {
    KL_NUMBER(kl_prepare, epoch_s), KL_NUMBER(kl_prepare, data_bytes), {0}};

static const struct kl_field bare[] = {{.type = KL_FIELD_NUMBER, .size = sizeof(bool), .max = 1}, {0}};

static const struct kl_field verdict[] = {KL_NUMBER(kl_verdict, frame),
                                          KL_NUMBER(kl_verdict, first),
                                          KL_UPTO(kl_verdict, differs, KL_VERDICT_NOTED),
                                          KL_UPTO(kl_verdict, parts, KL_PARTS_ALL),
                                          KL_BOOL(kl_verdict, complete),
                                          KL_NUMBER(kl_verdict, minority),
                                          KL_NUMBER(kl_verdict, healed),
                                          KL_NUMBER(kl_verdict, agreed),
                                          {0}};

static const struct kl_field door[] = {
    KL_UPTO(kl_door_msg, what, KL_PROVE_SET), KL_BYTES(kl_door_msg, salt), KL_BYTES(kl_door_msg, share), {0}};
static const struct kl_field proved[] = {KL_BYTES(kl_proved, mac), {0}};
static const struct kl_field past[] = {KL_REST(kl_past, bytes, len, 0), {0}};

static bool past_fits(const struct kl_msg *m) {
    struct kl_frames frames;
    return kl_piece_open(&frames, m->past.bytes, m->past.len) == KL_OK;
}

static const struct kl_field ask[] = {KL_NUMBER(kl_ask, keyframe),
                                      KL_BOOL(kl_ask, based),
                                      KL_NUMBER_IF(kl_ask, base, based, 1),
                                      KL_BYTES_IF(kl_ask, hash, based, 1),
                                      {0}};

static const struct kl_field offer[] = {KL_NUMBER(kl_offer, keyframe),
                                        KL_NUMBER(kl_offer, interval),
                                        KL_BOOL(kl_offer, begin),
                                        KL_RANGE(kl_offer, bytes, 1, KL_SNAPSHOT_MAX),
                                        KL_RANGE(kl_offer, packed, 1, KL_SNAPSHOT_MAX),
                                        KL_BYTES(kl_offer, hash),
                                        KL_BYTES(kl_offer, digest),
                                        {0}};

static bool offer_fits(const struct kl_msg *m) {
    const struct kl_offer *o = &m->offer;
    return o->interval <= o->keyframe && (o->keyframe == 0 || o->interval > 0);
}

static const struct kl_field snapshot[] = {
    KL_NUMBER(kl_snapshot_piece, keyframe), KL_PART(kl_snapshot_piece, piece, piece), {0}};
static const struct kl_field seat[] = {
    KL_UPTO(kl_reseat, client, KL_MAX_CLIENTS - 1), KL_NUMBER(kl_reseat, seats), {0}};
static const struct kl_field rewind[] = {KL_NUMBER(kl_rewind, keyframe), KL_BOOL(kl_rewind, lost), {0}};
static const struct kl_field check[] = {KL_NUMBER(kl_check, disk), {0}};
static const struct kl_field peer[] = {KL_NUMBER(kl_peer, seats),
                                       KL_RANGE(kl_peer, session, 1, UINT32_MAX),
                                       KL_BYTES(kl_peer, host),
                                       KL_RANGE(kl_peer, port, 1, UINT16_MAX),
                                       KL_BYTES(kl_peer, out),
                                       KL_BYTES(kl_peer, in),
                                       {0}};
static const struct kl_field peers[] = {KL_LIST(kl_peers, peer, count, peer), {0}};

const struct kl_field kl_proof_fields[] = {KL_NUMBER(kl_proof, intervals),
                                           KL_NUMBER(kl_proof, end),
                                           KL_BYTES(kl_proof, digest),
                                           KL_NUMBER(kl_proof, label),
                                           KL_UPTO(kl_proof, has, 7),
                                           KL_NUMBER_IF(kl_proof, ram, has, KL_HASH_RAM),
                                           KL_NUMBER_IF(kl_proof, state, has, KL_HASH_STATE),
                                           KL_NUMBER_IF(kl_proof, picture, has, KL_HASH_PICTURE),
                                           KL_BYTES(kl_proof, sign_pub),
                                           KL_BYTES(kl_proof, signature),
                                           {0}};

static bool seal_fits(const struct kl_msg *m) {
    return m->seal.has ? m->seal.label < m->seal.end : m->seal.label == 0;
}

const struct kl_field kl_sign_fields[] = {KL_RANGE(kl_sign, count, 1, UINT32_MAX),
                                          KL_BYTES(kl_sign, chain),
                                          KL_NUMBER(kl_sign, label),
                                          KL_RANGE(kl_sign, has, 1, 7),
                                          KL_NUMBER_IF(kl_sign, ram, has, KL_HASH_RAM),
                                          KL_NUMBER_IF(kl_sign, state, has, KL_HASH_STATE),
                                          KL_NUMBER_IF(kl_sign, picture, has, KL_HASH_PICTURE),
                                          KL_BYTES(kl_sign, signature),
                                          {0}};

static const struct kl_field wish[] = {
    KL_BYTES(kl_delete, room_id), KL_BYTES(kl_delete, seat_key), KL_BYTES(kl_delete, signature), {0}};
static const struct kl_field wanted[] = {
    KL_NAME(kl_wanted, name, 1, KL_NAME_CHARS), KL_NAME(kl_wanted, player, 1, KL_NAME_CHARS), {0}};
static const struct kl_field run[] = {
    KL_BYTES(kl_run, room_id), KL_BYTES(kl_run, seat_key), KL_PART(kl_run, sign, kl_sign_fields), {0}};

static const struct kl_field hear[] = {
    KL_BOOL(kl_hear, on), KL_NUMBER(kl_hear, mask), KL_BYTES(kl_hear, id), {0}};

static bool hear_fits(const struct kl_msg *m) {
    return m->hear.on || !m->hear.mask;
}

static const struct kl_field speaker[] = {
    KL_UPTO(kl_speaker, client, KL_MAX_CLIENTS - 1), KL_BYTES(kl_speaker, id), {0}};
static const struct kl_field voices[] = {KL_UPTO(kl_voices, allowed, KL_VOICE_ALL),
                                         KL_NUMBER(kl_voices, hearers),
                                         KL_NUMBER(kl_voices, watchers),
                                         KL_BYTES(kl_voices, salt),
                                         KL_LIST(kl_voices, speaker, count, speaker),
                                         {0}};

/* --- all of them --- */

#define AT(member) .place = offsetof(struct kl_msg, member)

static const struct kl_msg_form form[KL_MSG_LAST + 1] = {
    [KL_MSG_HELLO] = {.table = hello, AT(hello), .fits = hello_fits},
    [KL_MSG_DATA] = {.table = data, AT(data), .fits = data_fits, .bulk = true},
    [KL_MSG_READY] = {.table = ready, AT(ready)},
    [KL_MSG_HASH] = {.table = hash, AT(hash), .fits = hash_fits},
    [KL_MSG_BYE] = {.table = text, AT(text)},
    [KL_MSG_COMMAND] = {.table = order, AT(order)},
    [KL_MSG_PROVE] = {.table = prove, AT(prove)},
    [KL_MSG_RETURN] = {.table = back, AT(back), .fits = return_fits},
    [KL_MSG_SIGN] = {.table = kl_sign_fields, AT(sign)},
    [KL_MSG_DELETE] = {.table = wish, AT(wish)},
    [KL_MSG_STATE] = {.table = state, AT(state), .fits = state_fits},
    [KL_MSG_GIVE] = {.table = give, AT(snapshot), .fits = piece_fits, .bulk = true},
    [KL_MSG_HEALED] = {.table = healed, AT(healed)},
    [KL_MSG_FILE] = {.table = file, AT(file), .fits = file_fits},
    [KL_MSG_DIRECT] = {.table = direct},
    [KL_MSG_WELCOME] = {.table = welcome, AT(welcome), .fits = welcome_fits},
    [KL_MSG_REFUSE] = {.table = text, AT(text)},
    [KL_MSG_ROSTER] = {.table = roster, AT(roster)},
    [KL_MSG_PREPARE] = {.table = prepare, AT(prepare)},
    [KL_MSG_SEND] = {.table = bare, AT(bare)},
    [KL_MSG_VERDICT] = {.table = verdict, AT(verdict)},
    [KL_MSG_NOTICE] = {.table = text, AT(text)},
    [KL_MSG_DOOR] = {.table = door, AT(door)},
    [KL_MSG_PROVED] = {.table = proved, AT(proved)},
    [KL_MSG_HISTORY] = {.table = past, AT(past), .fits = past_fits, .bulk = true},
    [KL_MSG_ASK] = {.table = ask, AT(ask)},
    [KL_MSG_OFFER] = {.table = offer, AT(offer), .fits = offer_fits, .bulk = true},
    [KL_MSG_SNAPSHOT] = {.table = snapshot, AT(snapshot), .fits = piece_fits, .bulk = true},
    [KL_MSG_SEAT] = {.table = seat, AT(seat)},
    [KL_MSG_REWIND] = {.table = rewind, AT(rewind)},
    [KL_MSG_CHECK] = {.table = check, AT(check)},
    [KL_MSG_PEERS] = {.table = peers, AT(peers)},
    [KL_MSG_SEAL] = {.table = kl_proof_fields, AT(seal), .fits = seal_fits},
    [KL_MSG_CHALLENGE] = {.table = wanted, AT(wanted)},
    [KL_MSG_RUN] = {.table = run, AT(run)},
    [KL_MSG_HEAR] = {.table = hear, AT(hear), .fits = hear_fits},
    [KL_MSG_VOICES] = {.table = voices, AT(voices)},
};

const struct kl_msg_form *kl_msg_form(uint8_t kind) {
    return kind <= KL_MSG_LAST && form[kind].table ? &form[kind] : NULL;
}

int kl_msg_encode(const struct kl_msg *m, uint8_t *buf, size_t cap) {
    const struct kl_msg_form *f = kl_msg_form(m->kind);
    if (!f) return KL_E_MALFORMED;
    struct kl_writer w = kl_writer(buf, cap);
    kl_write_u8(&w, m->kind);
    kl_fields_write(&w, f->table, (const uint8_t *)m + f->place);
    return w.failed ? KL_E_SPACE : (int)(w.at - buf);
}

/* The version stands first in every HELLO; what follows may have another form. */
static bool of_another_version(struct kl_reader r, uint16_t *version) {
    *version = kl_read_u16(&r);
    return !r.failed && !kl_protocol_serves(KL_PROTOCOL_VERSION, *version);
}

int kl_msg_decode(struct kl_msg *m, const uint8_t *buf, size_t len) {
    struct kl_reader r = kl_reader(buf, len);
    memset(m, 0, sizeof *m);
    m->kind = kl_read_u8(&r);
    const struct kl_msg_form *f = kl_msg_form(m->kind);
    if (!f) return KL_E_MALFORMED;
    if (m->kind == KL_MSG_HELLO && of_another_version(r, &m->hello.version)) return KL_E_VERSION;
    kl_fields_read(&r, f->table, (uint8_t *)m + f->place);
    if (r.failed || kl_reader_left(&r) > 0) return KL_E_MALFORMED;
    return f->fits && !f->fits(m) ? KL_E_MALFORMED : KL_OK;
}

bool kl_msg_is_bulk(uint8_t kind) {
    const struct kl_msg_form *f = kl_msg_form(kind);
    return f && f->bulk;
}

const char *kl_parts_name(uint8_t parts) {
    return parts & KL_HASH_RAM       ? "ram"
           : parts & KL_HASH_PICTURE ? "picture"
           : parts & KL_HASH_STATE   ? "state"
           : parts & KL_HASH_SOUND   ? "sound"
                                     : "none";
}

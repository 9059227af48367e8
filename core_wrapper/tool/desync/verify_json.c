#include <sodium.h>
#include <string.h>

#include "core_wrapper/tool/desync/verify.h"

/* --- a finding for programs --- */

/* A file's finding as an object, for programs. */

#define KEY         (2 * KL_SEAT_KEY_BYTES + 1)
#define REPORTS_MAX 1000 /* of one recording */

const char *kl_verify_word(enum kl_verdict_code code, bool tie) {
    static const char *const words[] = {
        "verified", "parted", "cannot be told", "damaged", "not sealed by that relay", ""};
    return tie && code == KLT_VERIFIED ? "decided" : words[code];
}

static json_object *list_of(unsigned parts) {
    static const char *const name[] = {"ram", "state", "picture"};
    json_object *list = json_object_new_array();
    for (unsigned i = 0; i < 3; i++)
        if (parts >> i & 1) json_object_array_add(list, json_object_new_string(name[i]));
    return list;
}

static void add_text(json_object *j, const char *key, const char *text) {
    json_object_object_add(j, key, *text ? json_object_new_string(text) : NULL);
}

static void add_frame(json_object *j, const char *key, uint32_t frame) {
    json_object_object_add(j, key, frame != UINT32_MAX ? json_object_new_int64(frame) : NULL);
}

static json_object *signers(const struct kl_recording *r) {
    static const char *const word[] = {
        [KL_SIGNED_FALSE] = "false", [KL_SIGNED_ONE] = "one", [KL_SIGNED_ALL] = "all"};
    json_object *list = json_object_new_array();
    char key[KEY];
    const struct kl_klr_sign *s;
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        enum kl_signed is = kl_recording_signed(r, i, &s);
        if (is == KL_SIGNED_NOT) continue;
        json_object *one = json_object_new_object();
        add_text(one, "name", r->name[i]);
        add_text(one, "key", sodium_bin2hex(key, sizeof(key), s->seat_pub, sizeof(s->seat_pub)));
        add_text(one, "hashes", word[is]);
        add_frame(one, "label", s->sign.label);
        json_object_array_add(list, one);
    }
    return list;
}

static void add_number(json_object *j, const char *key, int64_t number) {
    json_object_object_add(j, key, json_object_new_int64(number));
}

/* "": it has signed nothing. */
static const char *key_of(const struct kl_recording *r, unsigned client, char key[KEY]) {
    const struct kl_klr_sign *s;
    bool is = kl_recording_signed(r, client, &s) > KL_SIGNED_FALSE;
    return is ? sodium_bin2hex(key, KEY, s->seat_pub, sizeof(s->seat_pub)) : "";
}

static json_object *players_of(const struct kl_recording *r) {
    struct kl_counted player[KLT_COUNTED];
    char key[KEY];
    json_object *list = json_object_new_array();
    unsigned count = kl_counts(r, player);
    for (unsigned i = 0; i < count; i++) {
        json_object *j = json_object_new_object();
        add_number(j, "client", player[i].client);
        add_text(j, "name", player[i].name);
        add_text(j, "key", key_of(r, player[i].client, key));
        add_number(j, "presses", player[i].presses);
        add_number(j, "fastest", player[i].fastest);
        add_number(j, "away", player[i].away);
        add_number(j, "desyncs", player[i].desyncs);
        json_object_array_add(list, j);
    }
    return list;
}

static json_object *reports_of(const struct kl_recording *r) {
    json_object *list = json_object_new_array();
    for (unsigned i = 0; i < r->reports && i < REPORTS_MAX; i++) {
        json_object *j = json_object_new_object();
        add_number(j, "frame", r->report[i].frame);
        add_number(j, "client", r->report[i].client);
        add_text(j, "name", r->name[r->report[i].client]);
        add_text(j, "text", r->report[i].text);
        json_object_array_add(list, j);
    }
    return list;
}

/* The run's hashes of a tie, 0 of those that it has not, and the names of those that said the same. */
static json_object *tie_of(const struct kl_verify *v) {
    json_object *j = json_object_new_object(), *right = json_object_new_array();
    const struct kl_klr_hash *h = &v->found;
    char text[KLT_HASH_TEXT];
    add_number(j, "label", v->tie);
    add_number(j, "has", h->has);
    kl_hash_text(text, true, h->ram);
    add_text(j, "ram", text);
    kl_hash_text(text, true, h->state);
    add_text(j, "state", text);
    kl_hash_text(text, true, h->picture);
    add_text(j, "picture", text);
    for (KL_EACH(i, h->clients))
        json_object_array_add(right, json_object_new_string(v->rec.name[i]));
    json_object_object_add(j, "right", right);
    return j;
}

/* The state that the match began with, by the word of its maker. */
static json_object *begun_of(const struct kl_start_state *s) {
    json_object *j = json_object_new_object();
    char id[2 * sizeof(s->room_id) + 1];
    add_number(j, "frame", s->frame);
    add_text(j, "room_id", sodium_bin2hex(id, sizeof(id), s->room_id, sizeof(s->room_id)));
    add_text(j, "match", s->match);
    add_text(j, "players", s->players);
    return j;
}

json_object *kl_verify_json(const struct kl_verify *v) {
    json_object *j = json_object_new_object(), *who = json_object_new_array();
    bool whole = v->code == KLT_VERIFIED || v->code == KLT_DAMAGED;
    add_text(j, "file", v->path);
    add_text(j, "verdict", kl_verify_word(v->code, v->wish->tie));
    add_frame(j, "exit", v->code == KLT_LOOKED_AT ? UINT32_MAX : v->code);
    add_text(j, "why", v->why);
    add_frame(j, "from", v->from);
    json_object_object_add(j, "begun", v->rec.begun.bytes ? begun_of(&v->rec.begun) : NULL);
    add_frame(j, "agreed", v->agreed);
    add_frame(j, "frames", whole ? v->rec.whole : UINT32_MAX);
    json_object_object_add(j, "hashes", json_object_new_int64(v->hashes));
    json_object_object_add(j, "parts", list_of(v->parts));
    json_object_object_add(j, "ended", json_object_new_boolean(v->rec.ended));
    add_text(j, "base", v->base);
    add_text(j, "note", v->note);
    add_text(j, "sealed_by", *v->unsealed ? "" : v->sealer);
    add_frame(j, "sealed", *v->unsealed ? UINT32_MAX : v->rec.seal.end);
    add_text(j, "unsealed", v->unsealed);
    json_object_object_add(j, "signed", signers(&v->rec));
    if (v->found.has) json_object_object_add(j, "tie", tie_of(v));
    add_frame(j, "label", v->code == KLT_PARTED ? v->label : UINT32_MAX);
    json_object_object_add(j, "differs", list_of(v->code == KLT_PARTED ? v->differs : 0));
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        if (v->code == KLT_PARTED && v->clients >> i & 1)
            json_object_array_add(who, json_object_new_string(v->rec.name[i]));
    json_object_object_add(j, "clients", who);
    add_frame(j, "planted", v->planted);
    add_text(j, "state", v->state);
    add_text(j, "room", v->rec.room.name);
    add_text(j, "match", v->rec.room.match);
    add_text(j, "core", v->rec.core);
    add_text(j, "content", v->rec.content);
    add_number(j, "recorded", v->rec.whole - v->rec.first);
    json_object_object_add(j, "players", players_of(&v->rec));
    json_object_object_add(j, "reports", reports_of(&v->rec));
    return j;
}

/* --- counts of players --- */

#define RECENT 64 /* presses of one button that are remembered: more than a second of frames has */

struct walk {
    const struct kl_recording *rec;
    struct kl_counted *out;
    unsigned count, seating, active; /* seating, active: the next ones */
    int owner[KL_MAX_SEATS];         /* place in out; -1: nobody */
    uint8_t active_seats;
    uint32_t second; /* in frames */
    uint16_t held[KL_MAX_SEATS];
    struct {
        uint32_t at[RECENT], presses;
    } button[KL_MAX_SEATS][16];
};

static int player_of(struct walk *w, const struct kl_recorded_seats *s) {
    for (unsigned i = 0; i < w->count; i++)
        if (w->out[i].client == s->client && !strcmp(w->out[i].name, s->name)) return (int)i;
    if (w->count == KLT_COUNTED) return -1;
    w->out[w->count] = (struct kl_counted){.client = s->client};
    memcpy(w->out[w->count].name, s->name, KL_NAME_MAX);
    return (int)w->count++;
}

/* Up to this frame, which is not before the last one: seats and activity, and the time of those away. */
static void go_to(struct walk *w, uint32_t *at, uint32_t frame) {
    const struct kl_recording *r = w->rec;
    while (*at < frame) {
        uint32_t next = frame;
        while (w->seating < r->seatings && r->seats[w->seating].frame <= *at) {
            const struct kl_recorded_seats *s = &r->seats[w->seating++];
            int player = s->seats ? player_of(w, s) : -1;
            for (unsigned seat = 0; seat < KL_MAX_SEATS; seat++) {
                bool had = w->owner[seat] >= 0 && w->out[w->owner[seat]].client == s->client;
                if (s->seats >> seat & 1)
                    w->owner[seat] = player;
                else if (had)
                    w->owner[seat] = -1;
            }
        }
        while (w->active < r->actives && r->active[w->active].frame <= *at)
            w->active_seats = r->active[w->active++].seats;
        if (w->seating < r->seatings && r->seats[w->seating].frame < next) next = r->seats[w->seating].frame;
        if (w->active < r->actives && r->active[w->active].frame < next) next = r->active[w->active].frame;
        for (unsigned s = 0; s < KL_MAX_SEATS; s++)
            if (w->owner[s] >= 0 && !(w->active_seats >> s & 1)) w->out[w->owner[s]].away += next - *at;
        *at = next;
    }
}

static void press(struct walk *w, const struct kl_recorded_input *in, unsigned bit) {
    struct kl_counted *p = w->owner[in->seat] >= 0 ? &w->out[w->owner[in->seat]] : NULL;
    uint32_t n = w->button[in->seat][bit].presses++, within = 1;
    w->button[in->seat][bit].at[n % RECENT] = in->frame;
    while (within < RECENT && within <= n &&
           in->frame - w->button[in->seat][bit].at[(n - within) % RECENT] < w->second)
        within++;
    if (!p) return;
    p->presses++;
    if (within > p->fastest) p->fastest = within;
}

/* --- desyncs --- */

/* Differing states alone do not count where RAM is equal. */
static bool is_other(const struct kl_klr_hash *a, const struct kl_klr_hash *b) {
    unsigned both = a->has & b->has;
    if (both & KL_HASH_RAM && a->ram != b->ram) return true;
    if (both & KL_HASH_PICTURE && a->picture != b->picture) return true;
    return !(both & KL_HASH_RAM) && both & KL_HASH_STATE && a->state != b->state;
}

static void count_desync(struct walk *w, uint32_t label, uint16_t clients) {
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        const struct kl_recorded_seats *last = NULL;
        for (unsigned k = 0; clients >> i & 1 && k < w->rec->seatings; k++)
            if (w->rec->seats[k].client == i && w->rec->seats[k].seats && w->rec->seats[k].frame <= label)
                last = &w->rec->seats[k];
        int player = last ? player_of(w, last) : -1;
        if (player >= 0) w->out[player].desyncs++;
    }
}

static void count_desyncs(struct walk *w) {
    const struct kl_recording *r = w->rec;
    unsigned at = 0;
    for (unsigned i = 0; i < r->others; i++) {
        const struct kl_klr_hash *o = &r->other[i];
        if (at && r->hash[at - 1].label >= o->label) at = 0;
        while (at < r->hashes && r->hash[at].label < o->label)
            at++;
        if (at == r->hashes || r->hash[at].label != o->label || !is_other(&r->hash[at], o)) continue;
        bool tie = __builtin_popcount(r->hash[at].clients) == __builtin_popcount(o->clients);
        count_desync(w, o->label, tie ? o->clients | r->hash[at].clients : o->clients);
    }
}

unsigned kl_counts(const struct kl_recording *r, struct kl_counted out[KLT_COUNTED]) {
    struct walk walk = {.rec = r, .out = out, .second = 60}, *w = &walk;
    uint32_t at = r->first;
    if (r->room.has_params) w->second = (r->room.params.fps_uhz + 500000) / 1000000;
    for (unsigned s = 0; s < KL_MAX_SEATS; s++)
        w->owner[s] = -1;
    for (unsigned i = 0; i < r->inputs; i++) {
        if (r->input[i].frame >= r->whole) break;
        go_to(w, &at, r->input[i].frame + 1);
        const struct kl_recorded_input *in = &r->input[i];
        uint16_t fresh = in->in.joypad & (uint16_t)~w->held[in->seat];
        w->held[in->seat] = in->in.joypad;
        for (unsigned bit = 0; fresh >> bit; bit++)
            if (fresh >> bit & 1) press(w, in, bit);
    }
    go_to(w, &at, r->whole);
    count_desyncs(w);
    return w->count;
}

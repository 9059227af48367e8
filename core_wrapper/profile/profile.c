#include "core_wrapper/profile/profile.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "net/platform/buffer.h"
#include "net/platform/file.h"

#define DEPTH       8 /* of objects within objects: ours have four */
#define USUAL_EVERY 60
#define MOST_EVERY  3600 /* a minute: a desync must be found some time */
#define SHARE       500
#define PART        120 /* bytes of core and of content in a name */

/* --- reading JSON strictly: the first error is kept --- */

struct reader {
    char *err;
    size_t err_len;
    bool failed;
};

__attribute__((format(__printf__, 2, 3))) static void refuse(struct reader *r, const char *format, ...) {
    if (r->failed) return;
    r->failed = true;
    KL_FORMAT(r->err, r->err_len, format);
}

/* Returns NULL on failure. */
static json_object *member(struct reader *r, json_object *in, const char *key, json_type type) {
    json_object *v = NULL;
    if (r->failed) return NULL;
    if (!json_object_object_get_ex(in, key, &v) || json_object_get_type(v) != type)
        refuse(r, "\"%s\": expected %s, got %s", key, json_type_to_name(type),
               v ? json_type_to_name(json_object_get_type(v)) : "none");
    return r->failed ? NULL : v;
}

static void text_of(struct reader *r, json_object *in, const char *key, char out[KL_FACT_VAL_MAX]) {
    json_object *v = member(r, in, key, json_type_string);
    int len = v ? json_object_get_string_len(v) : 0;
    if (v && (len >= KL_FACT_VAL_MAX || memchr(json_object_get_string(v), 0, (size_t)len)))
        refuse(r, "\"%s\": expected at most %d bytes of text, got %d", key, KL_FACT_VAL_MAX - 1, len);
    snprintf(out, KL_FACT_VAL_MAX, "%s", v && !r->failed ? json_object_get_string(v) : "");
}

/* "content" of a key: as identity.h says it, without the remark. */
static void content_of(struct reader *r, json_object *key, char out[KL_FACT_VAL_MAX]) {
    char name[KL_FACT_VAL_MAX], hash[KL_FACT_VAL_MAX];
    json_object *v = NULL, *ignored;
    strcpy(out, "none");
    if (r->failed || (json_object_object_get_ex(key, "content", &v) && !v)) return;
    v = member(r, key, "content", json_type_object);
    bool whole = v && json_object_object_get_ex(v, "xxh3", &ignored);
    bool members = v && json_object_object_get_ex(v, "members", &ignored);
    if (!whole) text_of(r, v, "name", name);
    if (whole || members) text_of(r, v, whole ? "xxh3" : "members", hash);
    if (r->failed) return;
    int len = whole     ? snprintf(out, KL_FACT_VAL_MAX, "xxh3 %s", hash)
              : members ? snprintf(out, KL_FACT_VAL_MAX, "%s members %s", name, hash)
                        : snprintf(out, KL_FACT_VAL_MAX, "%s", name);
    if (len >= KL_FACT_VAL_MAX)
        refuse(r, "\"content\": expected at most %d bytes, got %d", KL_FACT_VAL_MAX - 1, len);
}

static uint64_t value_of(struct reader *r, json_object *v, const char *what, uint64_t least, uint64_t most) {
    bool is_int = v && json_object_get_type(v) == json_type_int;
    int64_t n = is_int ? json_object_get_int64(v) : -1;
    if (!r->failed && (n < 0 || (uint64_t)n < least || (uint64_t)n > most))
        refuse(r, "\"%s\": expected a number from %" PRIu64 " to %" PRIu64 ", got %.40s", what, least, most,
               v ? json_object_to_json_string(v) : "none");
    return r->failed ? 0 : (uint64_t)n;
}

static uint64_t number_of(struct reader *r, json_object *in, const char *key, uint64_t least, uint64_t most) {
    return value_of(r, member(r, in, key, json_type_int), key, least, most);
}

static bool bool_of(struct reader *r, json_object *in, const char *key) {
    return json_object_get_boolean(member(r, in, key, json_type_boolean));
}

/* --- a profile --- */

static void read_mask(struct reader *r, json_object *room, struct kl_mask *m) {
    json_object *list = member(r, room, "mask", json_type_array);
    size_t n = list ? json_object_array_length(list) : 0;
    if (n > KL_MASK_RANGES) refuse(r, "\"mask\": expected at most %d ranges, got %zu", KL_MASK_RANGES, n);
    for (size_t i = 0; i < n && !r->failed; i++) {
        json_object *pair = json_object_array_get_idx(list, i);
        bool two =
            pair && json_object_get_type(pair) == json_type_array && json_object_array_length(pair) == 2;
        if (!two)
            refuse(r, "\"mask\": expected ranges [first, last], got %.40s", json_object_to_json_string(pair));
        if (!two) return;
        m->range[i].from = (uint32_t)value_of(r, json_object_array_get_idx(pair, 0), "mask", 0, UINT32_MAX);
        m->range[i].to = (uint32_t)value_of(r, json_object_array_get_idx(pair, 1), "mask", 0, UINT32_MAX);
        m->count++;
    }
    const char *bad = r->failed ? NULL : kl_mask_bad(m);
    if (bad) refuse(r, "\"mask\" of a state of %" PRIu32 " bytes: %s", m->state_bytes, bad);
}

static void read_all(struct reader *r, json_object *j, struct kl_profile *p) {
    struct kl_profile_room *room = &p->room;
    number_of(r, j, "keylock_profile", KL_PROFILE_FORMAT, KL_PROFILE_FORMAT);
    json_object *key = member(r, j, "key", json_type_object), *does = member(r, j, "room", json_type_object);
    text_of(r, key, "core", p->core);
    content_of(r, key, p->content);
    room->mask.state_bytes = (uint32_t)number_of(r, key, "state_bytes", 0, KL_MASK_STATE_MAX);
    if (!bool_of(r, key, "state_bytes_constant")) room->mask.state_bytes = 0;
    read_mask(r, does, &room->mask);
    room->states_equal = bool_of(r, does, "states_equal");
    room->no_snapshots = !bool_of(r, does, "snapshots");
    room->load_own = bool_of(r, does, "load_own");
    room->show_all = !bool_of(r, does, "hide");
    room->hash_every = (uint16_t)number_of(r, does, "hash_every", 1, UINT16_MAX);
    json_object *no_ahead = NULL;
    if (!r->failed && json_object_object_get_ex(j, "no_ahead", &no_ahead))
        no_ahead = member(r, j, "no_ahead", json_type_string);
    snprintf(p->no_ahead, sizeof p->no_ahead, "%s", no_ahead ? json_object_get_string(no_ahead) : "");
    p->pages = !r->failed && json_object_object_get_ex(j, "pages", NULL) && bool_of(r, j, "pages");
    if (room->states_equal && room->mask.count)
        refuse(r, "\"states_equal\": expected false beside a mask, got true");
}

int kl_profile_parse(struct kl_profile *p, const char *text, size_t len, char *err, size_t err_len) {
    struct reader r = {.err = err, .err_len = err_len};
    json_tokener *tokener = json_tokener_new_ex(DEPTH);
    memset(p, 0, sizeof *p);
    if (!tokener) {
        snprintf(err, err_len, "no memory");
        return -1;
    }
    json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
    json_object *j = json_tokener_parse_ex(tokener, text, (int)len + 1); /* with the NUL, which ends it */
    enum json_tokener_error error = json_tokener_get_error(tokener);
    if (error != json_tokener_success || strlen(text) != len)
        refuse(&r, "expected a profile in JSON: %s, at byte %zu",
               error == json_tokener_success ? "there is a NUL in it" : json_tokener_error_desc(error),
               json_tokener_get_parse_end(tokener));
    else if (json_object_get_type(j) != json_type_object)
        refuse(&r, "expected a profile in JSON, an object, got %s",
               json_type_to_name(json_object_get_type(j)));
    if (!r.failed) read_all(&r, j, p);
    json_object_put(j);
    json_tokener_free(tokener);
    return r.failed ? -1 : 0;
}

int kl_profile_read(struct kl_profile *p, const char *path, char *err, size_t err_len) {
    char why[400] = "";
    size_t len = 0;
    void *text;
    int result = kl_file_read(path, KL_PROFILE_MAX, 0, &text, &len, err, err_len);
    if (result == KL_FILE_ABSENT) snprintf(err, err_len, "%s: there is no such file", path);
    if (result != 0) return result;
    result = kl_profile_parse(p, text, len, why, sizeof why);
    if (result != 0) snprintf(err, err_len, "%s: %s", path, why);
    free(text);
    return result;
}

/* --- the profile's key --- */

void kl_profile_name(char out[KL_PROFILE_NAME_MAX], const char *core, const char *content) {
    size_t n = kl_fact_length(core), m = kl_fact_length(content);
    snprintf(out, KL_PROFILE_NAME_MAX, "%.*s-%.*s.json", n < PART ? (int)n : PART, core,
             m < PART ? (int)m : PART, content);
    for (char *p = out; *p; p++) {
        bool plain = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9') ||
                     *p == '.' || *p == '-';
        if (!plain || p == out) *p = plain && *p != '.' ? *p : '_';
    }
}

void kl_profile_any(char out[KL_FACT_VAL_MAX], uint64_t state_bytes) {
    snprintf(out, KL_FACT_VAL_MAX, "any with states of %" PRIu64 " bytes", state_bytes);
}

void kl_profile_any_add(struct kl_profile_room *p, const struct kl_profile_room *more) {
    (void)kl_mask_add(&p->mask, &more->mask);
    p->load_own = p->load_own || more->load_own;
    p->show_all = p->show_all || more->show_all;
}

static bool same(const char *a, const char *b) {
    size_t len = kl_fact_length(a);
    return len == kl_fact_length(b) && strncmp(a, b, len) == 0;
}

bool kl_profile_fits(const struct kl_profile *p, const char *core, const char *content, char *err,
                     size_t err_len) {
    if (!same(p->core, core))
        snprintf(err, err_len, "expected a profile of the core %s, found one of %s", core, p->core);
    else if (!same(p->content, content))
        snprintf(err, err_len, "expected a profile of the content %.*s, found one of %s",
                 (int)kl_fact_length(content), content, p->content);
    else
        return true;
    return false;
}

uint16_t kl_profile_hash_every(double serialize_us) {
    double frames = serialize_us * SHARE * 60 / 1e6;
    if (!(frames > USUAL_EVERY)) return USUAL_EVERY;
    return frames > MOST_EVERY ? MOST_EVERY : (uint16_t)frames;
}

#include "core_wrapper/core/options_form.h"

#include <stdlib.h>
#include <string.h>

static bool fits_value(const char *value) {
    return strlen(value) < KL_OPTIONS_VALUE_MAX;
}

static bool fits(const struct kl_option *p) {
    return p->key && p->value && *p->key && strlen(p->key) < KL_OPTIONS_KEY_MAX && fits_value(p->value);
}

/* A waiting "key=value" in two parts. False if a reader would refuse it. */
static bool split(const char *line, char key[KL_OPTIONS_KEY_MAX], const char **value) {
    const char *equals = strchr(line, '=');
    size_t len = equals ? (size_t)(equals - line) : 0;
    if (len == 0 || len >= KL_OPTIONS_KEY_MAX || !fits_value(equals + 1)) return false;
    memcpy(key, line, len);
    key[len] = 0;
    *value = equals + 1;
    return true;
}

/* --- writing --- */

static void write_choices(struct kl_writer *w, const struct kl_option *p) {
    unsigned left = 0;
    for (unsigned i = 0; i < p->choice_count; i++)
        left += fits_value(p->choices[i]);
    if (left > KL_OPTIONS_CHOICES) left = KL_OPTIONS_CHOICES;
    kl_write_var(w, left);
    for (unsigned i = 0; i < p->choice_count && left; i++)
        if (fits_value(p->choices[i])) kl_write_string(w, p->choices[i]), left--;
}

static void write_declared(struct kl_writer *w, const struct kl_options *o) {
    unsigned left = 0;
    for (unsigned i = 0; i < o->count; i++)
        left += fits(&o->at[i]);
    if (left > KL_OPTIONS_LISTED) left = KL_OPTIONS_LISTED;
    kl_write_var(w, left);
    for (unsigned i = 0; i < o->count && left; i++) {
        if (!fits(&o->at[i])) continue;
        kl_write_string(w, o->at[i].key);
        kl_write_string(w, o->at[i].value);
        write_choices(w, &o->at[i]);
        left--;
    }
}

static void write_waiting(struct kl_writer *w, const struct kl_options *o) {
    char key[KL_OPTIONS_KEY_MAX];
    const char *value;
    unsigned left = 0;
    for (unsigned i = 0; i < o->pending_count; i++)
        left += split(o->pending[i], key, &value);
    if (left > KL_OPTIONS_LISTED) left = KL_OPTIONS_LISTED;
    kl_write_var(w, left);
    for (unsigned i = 0; i < o->pending_count && left; i++) {
        if (!split(o->pending[i], key, &value)) continue;
        kl_write_string(w, key);
        kl_write_string(w, value);
        left--;
    }
}

void kl_options_write(struct kl_writer *w, const struct kl_options *o) {
    write_declared(w, o);
    write_waiting(w, o);
}

/* --- reading --- */

struct setting {
    char key[KL_OPTIONS_KEY_MAX], value[KL_OPTIONS_VALUE_MAX];
};

static void read_setting(struct kl_reader *r, struct setting *s) {
    kl_read_string(r, s->key, sizeof s->key);
    kl_read_string(r, s->value, sizeof s->value);
    if (!*s->key) r->failed = true;
}

void kl_options_skip(struct kl_reader *r) {
    const uint8_t *begin = r->at;
    struct setting s;
    unsigned options = (unsigned)kl_read_var(r, KL_OPTIONS_LISTED);
    for (unsigned i = 0; i < options && !r->failed; i++) {
        read_setting(r, &s);
        unsigned choices = (unsigned)kl_read_var(r, KL_OPTIONS_CHOICES);
        for (unsigned c = 0; c < choices && !r->failed; c++)
            kl_read_string(r, s.value, sizeof s.value);
    }
    unsigned waiting = (unsigned)kl_read_var(r, KL_OPTIONS_LISTED);
    for (unsigned i = 0; i < waiting && !r->failed; i++)
        read_setting(r, &s);
    if (!r->failed && (size_t)(r->at - begin) > KL_OPTIONS_BYTES) r->failed = true;
}

static bool read_one(struct kl_reader *r, struct kl_options *fresh, const struct kl_options *old) {
    struct setting s;
    char choice[KL_OPTIONS_VALUE_MAX];
    read_setting(r, &s);
    struct kl_option *p = kl_options_add(fresh, s.key, kl_options_described(old, s.key));
    unsigned choices = (unsigned)kl_read_var(r, KL_OPTIONS_CHOICES);
    for (unsigned c = 0; c < choices && p; c++) {
        kl_read_string(r, choice, sizeof choice);
        kl_options_add_choice(p, choice, strlen(choice));
    }
    return p && p->choice_count == choices && kl_options_settle(p, s.value);
}

static bool keep_unlisted(struct kl_options *fresh, const struct kl_options *old) {
    for (unsigned i = 0; i < old->count; i++) {
        const struct kl_option *was = &old->at[i];
        if (fits(was)) continue;
        struct kl_option *p = kl_options_add(fresh, was->key, was->desc);
        for (unsigned c = 0; p && c < was->choice_count; c++)
            kl_options_add_choice(p, was->choices[c], strlen(was->choices[c]));
        if (!p || !kl_options_settle(p, was->value)) return false;
    }
    return true;
}

static bool same_values(const struct kl_options *a, const struct kl_options *b) {
    for (unsigned i = 0; i < a->count; i++) {
        const char *other = kl_options_get(b, a->at[i].key);
        if (!other || strcmp(other, a->at[i].value) != 0) return false;
    }
    return a->count == b->count;
}

bool kl_options_read(struct kl_options *o, const uint8_t *bytes, size_t len) {
    struct kl_options fresh = {0};
    struct setting s;
    struct kl_reader r = kl_reader(bytes, len);
    unsigned options = (unsigned)kl_read_var(&r, KL_OPTIONS_LISTED);
    bool good = true;
    for (unsigned i = 0; i < options && good; i++)
        good = read_one(&r, &fresh, o);
    good = good && keep_unlisted(&fresh, o);
    unsigned waiting = good ? (unsigned)kl_read_var(&r, KL_OPTIONS_LISTED) : 0;
    for (unsigned i = 0; i < waiting && good; i++) {
        read_setting(&r, &s);
        good = kl_options_wait(&fresh, s.key, s.value);
    }
    fresh.updated = o->updated || !same_values(&fresh, o);
    fresh.version = o->version + 1;
    kl_options_free(good ? o : &fresh);
    if (good) *o = fresh;
    return good;
}

bool kl_options_differ(const uint8_t *a, size_t a_len, const uint8_t *b, size_t b_len,
                       char key[KL_OPTIONS_KEY_MAX]) {
    struct kl_options here = {0}, there = {0};
    bool equal = a_len == b_len && memcmp(a, b, a_len) == 0;
    strcpy(key, "the list");
    if (!equal && kl_options_read(&here, a, a_len) && kl_options_read(&there, b, b_len))
        for (unsigned i = 0; i < here.count; i++) {
            const char *other = kl_options_get(&there, here.at[i].key);
            if (other && strcmp(other, here.at[i].value) == 0) continue;
            memcpy(key, here.at[i].key, strlen(here.at[i].key) + 1);
            break;
        }
    kl_options_free(&here);
    kl_options_free(&there);
    return !equal;
}

#include "core_wrapper/tool/common/report.h"

#include <inttypes.h>
#include <string.h>

#include "net/engine/plain.h"
#include "net/platform/file.h"

#define SHOWN_BYTES 8 /* of each side of a range, in text */

static bool is_state(const struct kl_comparison *c, unsigned i) {
    return i + 1 == c->count;
}

/* --- text --- */

static void put_bytes(FILE *f, const uint8_t *p, uint64_t len) {
    for (uint64_t i = 0; i < len && i < SHOWN_BYTES; i++)
        fprintf(f, " %02x", p[i]);
    if (len > SHOWN_BYTES) fputs(" …", f);
}

static void put_range(FILE *f, const struct kl_comparison *c, const struct kl_differ *d,
                      const struct kl_range *r) {
    char place[48];
    uint64_t len = r->to - r->from + 1;
    uint64_t from = kl_region_address(&d->region, r->from), to = kl_region_address(&d->region, r->to);
    if (from == to)
        snprintf(place, sizeof(place), "0x%04" PRIx64, from);
    else
        snprintf(place, sizeof(place), "0x%04" PRIx64 "-0x%04" PRIx64, from, to);
    fprintf(f, "  %-17s A", place);
    put_bytes(f, d->a + r->from, len);
    fputs("  B", f);
    put_bytes(f, d->b + r->from, len);
    if (len > 1) fprintf(f, "  %" PRIu64 " bytes", len);
    if (d->held) fprintf(f, "  (savestate 0x%04" PRIx64 ")", d->held_at + r->from);
    if (c->moments > 1 && r->least == r->most)
        fprintf(f, "  in %" PRIu32 " of %" PRIu32, r->most, c->moments);
    if (c->moments > 1 && r->least != r->most)
        fprintf(f, "  in %" PRIu32 " to %" PRIu32 " of %" PRIu32, r->least, r->most, c->moments);
    fputc('\n', f);
}

static void put_ranges(FILE *f, const struct kl_comparison *c, const struct kl_differ *d, unsigned lines) {
    struct kl_range r = {0};
    unsigned shown = 0, more = 0;
    uint64_t more_bytes = 0;
    for (uint64_t from = 0; kl_differ_next(d, from, &r); from = r.to + 1) {
        if (!lines || shown < lines) {
            put_range(f, c, d, &r);
            shown++;
        } else {
            more++;
            more_bytes += r.to - r.from + 1;
        }
    }
    if (more)
        fprintf(f, "  … and %u more range%s, %" PRIu64 " byte%s\n", more, more == 1 ? "" : "s", more_bytes,
                more_bytes == 1 ? "" : "s");
}

/* "system RAM", "memory 0x2000000-0x203ffff" */
static void put_name(FILE *f, const struct kl_differ *d) {
    fputs(d->region.name, f);
    if (d->region.mapped && d->region.len)
        fprintf(f, " 0x%04" PRIx64 "-0x%04" PRIx64, kl_region_address(&d->region, 0),
                kl_region_address(&d->region, d->region.len - 1));
}

static void put_memory(FILE *f, const struct kl_comparison *c, unsigned i, unsigned lines,
                       uint64_t explained) {
    const struct kl_differ *d = &c->at[i];
    if (!d->moments) return;
    put_name(f, d);
    fputs(": ", f);
    if (d->sizes) fprintf(f, "%" PRIu64 " bytes in A, %" PRIu64 " in B; ", d->len_a, d->len_b);
    fprintf(f, "%" PRIu64 " of %" PRIu64 " bytes differ", d->bytes, d->region.len);
    if (explained && explained == d->bytes) fputs(", all of them of the memories above", f);
    if (explained && explained < d->bytes)
        fprintf(f, ", %" PRIu64 " of them of the memories above", explained);
    if (c->moments > 1)
        fprintf(f, "; in %" PRIu32 " of %" PRIu32 " frames, first %" PRIu32 ", last %" PRIu32, d->moments,
                c->moments, d->first, d->last);
    fputc('\n', f);
    put_ranges(f, c, d, lines);
}

void kl_report_text(FILE *f, struct kl_comparison *c, unsigned lines) {
    uint64_t explained = kl_comparison_hide(c);
    for (unsigned i = 0; i < c->count; i++)
        put_memory(f, c, i, lines, is_state(c, i) ? explained : 0);
    for (unsigned i = 0; i < c->count; i++) {
        if (c->at[i].moments || !c->at[i].region.len) continue;
        put_name(f, &c->at[i]);
        fprintf(f, ": equal, %" PRIu64 " bytes\n", c->at[i].region.len);
    }
    if (c->count == 1) fputs("no memory is exposed by this core: offsets are those of its savestate\n", f);
}

/* --- JSON --- */

static void add_int(json_object *j, const char *key, uint64_t v) {
    json_object_object_add(j, key, json_object_new_int64((int64_t)v));
}

static json_object *hex(const uint8_t *p, uint64_t len) {
    char text[2 * 64 + 1] = "";
    for (uint64_t i = 0; i < len && i < 64; i++)
        snprintf(text + 2 * i, 3, "%02x", p[i]);
    return json_object_new_string(text);
}

static json_object *range_json(const struct kl_differ *d, const struct kl_range *r) {
    json_object *j = json_object_new_object();
    uint64_t len = r->to - r->from + 1;
    add_int(j, "offset", r->from);
    if (d->region.mapped) add_int(j, "address", kl_region_address(&d->region, r->from));
    if (d->held) add_int(j, "state_offset", d->held_at + r->from);
    add_int(j, "bytes", len);
    json_object_object_add(j, "a", hex(d->a + r->from, len));
    json_object_object_add(j, "b", hex(d->b + r->from, len));
    add_int(j, "frames_least", r->least);
    add_int(j, "frames_most", r->most);
    return j;
}

static json_object *memory_json(const struct kl_differ *d, unsigned lines) {
    json_object *j = json_object_new_object(), *ranges = json_object_new_array();
    struct kl_range r = {0};
    unsigned n = 0;
    json_object_object_add(j, "memory", json_object_new_string(d->region.name));
    add_int(j, "bytes", d->len_a);
    if (d->len_b != d->len_a) add_int(j, "bytes_b", d->len_b);
    if (d->region.mapped) add_int(j, "start", d->region.start);
    if (d->held) add_int(j, "state_offset", d->held_at);
    add_int(j, "differ", d->bytes);
    add_int(j, "frames", d->moments);
    if (d->moments) {
        add_int(j, "first_frame", d->first);
        add_int(j, "last_frame", d->last);
    }
    for (uint64_t from = 0; kl_differ_next(d, from, &r) && (!lines || n < lines); from = r.to + 1, n++)
        json_object_array_add(ranges, range_json(d, &r));
    add_int(j, "ranges_in_all", kl_differ_ranges(d));
    json_object_object_add(j, "ranges", ranges);
    return j;
}

json_object *kl_report_json(struct kl_comparison *c, unsigned lines) {
    json_object *all = json_object_new_array();
    uint64_t explained = kl_comparison_hide(c);
    for (unsigned i = 0; i < c->count; i++) {
        json_object *j = memory_json(&c->at[i], lines);
        if (is_state(c, i)) add_int(j, "of_memories", explained);
        json_object_array_add(all, j);
    }
    return all;
}

static void add_text(json_object *j, const char *key, const char *text, size_t len) {
    if (len) json_object_object_add(j, key, json_object_new_string_len(text, (int)len));
}

json_object *kl_report_imports(const char *list) {
    json_object *all = json_object_new_array();
    for (const char *at = list; *at;) {
        json_object *j = json_object_new_object();
        size_t name = strcspn(at, " ");
        add_text(j, "name", at, name);
        at += name + (at[name] == ' ');
        if (*at == '(') {
            size_t reason = strcspn(++at, ")");
            add_text(j, "reason", at, reason);
            at += reason + (at[reason] == ')');
            at += *at == ' ';
        }
        json_object_array_add(all, j);
    }
    return all;
}

/* " (40976 bytes, x.nes)": the number goes to `number`, the rest behind the comma is the name. */
static void add_remark(json_object *j, const char *remark, const char *number) {
    unsigned long long n;
    int at = 0;
    if (sscanf(remark, " (%llu %n", &n, &at) != 1 || !at) return;
    add_int(j, number, n);
    const char *name = strstr(remark + at, ", ");
    size_t len = name ? strlen(name + 2) : 0;
    if (len) add_text(j, "name", name + 2, len - (name[len + 1] == ')'));
}

json_object *kl_report_content(const char *fact) {
    char hash[17];
    int at = 0;
    if (!strcmp(fact, "none")) return NULL;
    json_object *j = json_object_new_object();
    const char *members = strstr(fact, " members ");
    if (sscanf(fact, "xxh3 %16[0-9a-f]%n", hash, &at) == 1) {
        add_text(j, "xxh3", hash, strlen(hash));
        add_remark(j, fact + at, "bytes");
    } else if (members && sscanf(members, " members %16[0-9a-f]%n", hash, &at) == 1) {
        add_text(j, "name", fact, (size_t)(members - fact));
        add_text(j, "members", hash, strlen(hash));
        add_remark(j, members + at, "count");
    } else {
        add_text(j, "name", fact, strlen(fact));
    }
    return j;
}

#define ESCAPE 6 /* bytes of a character as \uXXXX */

/* The document as a line of text. Characters that no terminal should get (plain.h) are escaped: json-c leaves
 * those from U+007F on as they are. NULL: out of memory. The caller frees it. */
static char *text_of(json_object *j) {
    const char *from =
        json_object_to_json_string_ext(j, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
    char *text = malloc(ESCAPE * strlen(from) + 2), *to = text;
    while (text && *from) {
        if (kl_plain_unfit(from))
            to += sprintf(to, "\\u%04x", kl_plain_code(&from));
        else
            *to++ = *from++;
    }
    if (text) memcpy(to, "\n", 2);
    return text;
}

int kl_report_put(FILE *f, json_object *j) {
    char *text = text_of(j);
    bool bad = !text || fputs(text, f) < 0 || fflush(f) != 0;
    free(text);
    json_object_put(j);
    return bad ? -1 : 0;
}

int kl_report_write(const char *path, json_object *j, char *err, size_t err_len) {
    char *text = text_of(j);
    int result = -1;
    if (text)
        result = kl_file_write_whole(path, text, strlen(text), 0, err, err_len);
    else
        snprintf(err, err_len, "cannot write %s: out of memory", path);
    free(text);
    json_object_put(j);
    return result;
}

/* facts.h - facts: the values that must be equal in a room. net/PROTOCOL.md §7, facts. Pure. */
#ifndef KL_FACTS_H
#define KL_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KL_FACTS_MAX    24 /* facts of an identity */
#define KL_FACT_KEY_MAX 48
#define KL_FACT_VAL_MAX 160

/* Facts with such keys list members of archives: words NAME USE ID, USE one of "=?-". See PROTOCOL.md §12. */
#define KL_FACT_MEMBERS   "members "
#define KL_FACT_MEMBER_ID 17 /* bytes of ID: two times eight hexadecimal digits, with a dot between */

/* A fact, for example key "content", value "xxh3 0123… (24592 bytes, croom.nes)". The text after the first "
 * (" is for people and is not compared, so that content under another name is equal. */
struct kl_fact {
    char key[KL_FACT_KEY_MAX], value[KL_FACT_VAL_MAX];
};
struct kl_facts {
    uint8_t count;
    struct kl_fact fact[KL_FACTS_MAX];
};
/* Bytes of the facts that are there: so many may be copied in place of the whole struct. */
size_t kl_facts_size(const struct kl_facts *f);
/* Adds a fact; longer strings are cut at a UTF-8 boundary. KL_E_FULL past KL_FACTS_MAX. */
int kl_facts_add(struct kl_facts *f, const char *key, const char *value);
/* The value of the first fact with that key; "": there is none. */
const char *kl_facts_value(const struct kl_facts *f, const char *key);
/* The lists of members of both sides are compared as sets: packing, order and the members that nobody reads
 * do not count. Writes every difference as "content differs: room has X, you have Y", joined by "; ", into
 * out (cut at cap). Returns the number of differences. */
unsigned kl_facts_differ(const struct kl_facts *room, const struct kl_facts *you, char *out, size_t cap);
/* Copies as much of s as fits into cap bytes, NUL included, cut so that no UTF-8 sequence is broken. */
void kl_copy_cut(char *out, size_t cap, const char *s);
/* Takes the last character away if bytes of it are missing: snprintf() cuts a line that is too long anywhere.
 */
void kl_cut_whole(char *text);
/* Length of the part of a value that is compared: up to its first " (". */
size_t kl_fact_length(const char *value);
/* The part of a content's value that people know it by: "croom.nes" of "xxh3 ... (24592 bytes, croom.nes)",
 * also of a value that is cut, and "kof98.zip" of "set kof98 (kof98.zip)" and of "kof98.zip
 * members ...". */
#define KL_FACT_NAME_MAX 64
void kl_fact_name(char out[KL_FACT_NAME_MAX], const char *value);
/* The soft patch in a content's value, "xxh3 … (patch game.ips, 24592 bytes, game.nes)": printable ASCII, "_"
 * in place of other bytes. False: none, and out is "". */
#define KL_FACT_PATCH     "patch "
#define KL_FACT_PATCH_MAX 19
bool kl_fact_patch(char out[KL_FACT_PATCH_MAX], const char *value);

#endif

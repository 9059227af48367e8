/* options_form.h - a core's options as bytes: as it declared them last, with their values, and the values
 * that wait for a declaration. Part of a snapshot: net/PROTOCOL.md §12, "A snapshot's bytes".
 *
 * The reader trusts nothing. Descriptions are not in it: they are only shown. */
#ifndef KLW_OPTIONS_FORM_H
#define KLW_OPTIONS_FORM_H

#include "core_wrapper/core/options.h"
#include "net/engine/wire.h"

#define KL_OPTIONS_KEY_MAX   128 /* bytes, NUL included */
#define KL_OPTIONS_VALUE_MAX 256
#define KL_OPTIONS_LISTED    1024       /* options, and values that wait */
#define KL_OPTIONS_CHOICES   1024       /* of one option */
#define KL_OPTIONS_BYTES     (1u << 20) /* of all options together */

/* Writes the list. Names and values longer than a reader takes are left out, here and everywhere. */
void kl_options_write(struct kl_writer *w, const struct kl_options *o);
/* Passes over a list, and checks it; r->failed if it is malformed. */
void kl_options_skip(struct kl_reader *r);
/* Puts a checked list in place of o's: declarations, values, waiting values. Keeps descriptions, and options
 * that no list can hold. o->updated is set if a value has changed, and else stays. False without memory; o is
 * unchanged then. */
bool kl_options_read(struct kl_options *o, const uint8_t *bytes, size_t len);
/* The first key whose declaration or value differs in two lists, into key; false: the lists are equal. */
bool kl_options_differ(const uint8_t *a, size_t a_len, const uint8_t *b, size_t b_len,
                       char key[KL_OPTIONS_KEY_MAX]);

#endif

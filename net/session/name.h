/* name.h - players' names: equal ones, the relay's own, how one is shown, and whom a command means. Pure.
 *
 * Names are compared as NFKC_Casefold has them (Unicode Standard Annex 31; utf8proc): capitals, forms of the
 * same character, invisible characters and further blanks do not count. Letters of two scripts that look
 * alike are different letters, and two players may have one name. So wherever a name is shown, the number of
 * the player stands behind it, and a command takes the number as well. */
#ifndef KL_NAME_H
#define KL_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/engine/msg.h"

#define KL_NAME_NUMBERS 24                                  /* bytes of the numbers of all seats */
#define KL_NAME_SHOWN   (KL_NAME_MAX + KL_NAME_NUMBERS + 3) /* bytes, NUL included */

struct kl_name_shown {
    char text[KL_NAME_SHOWN];
};
/* Somebody in a room. */
struct kl_name_entry {
    const char *name; /* borrowed */
    uint8_t seats;    /* mask of the seats that their pads play, as the game numbers them; 0: they watch */
};

/* The seats, counted from 1: "1", "1+3", "1-4"; "" without a seat. */
void kl_name_numbers(uint8_t seats, char out[KL_NAME_NUMBERS]);
/* "ada (2)", or "ada (watches)" without a seat. seats: as in struct kl_name_entry. */
struct kl_name_shown kl_name_shown(const char *name, uint8_t seats);

/* True if both are one name, folded. Bytes that are no UTF-8 count as they are. */
bool kl_name_same(const char *a, const char *b);
/* True for names that no player may have: words of the relay ("relay", "server"; accents do not count
 * either), what ends like a number of name_shown(), and what shows nothing. */
bool kl_name_reserved(const char *name);

/* True for a name with a colon, or a character that looks like one: it reads as the begin of somebody's line,
 * as "relay: paused" does. No player and no room may have it. */
bool kl_name_speaks(const char *name);

/* True if `who` is the name, or the name with its number as it is shown. */
bool kl_name_fits(const struct kl_name_entry *e, const char *who);
/* Finds the person that `who` means: a player's number, a name, or a name with the number as it is shown. A
 * number that somebody has as their name is a number. Of several watchers of one name it is the first.
 * Returns the index of the entry, or -1 with one line in err: nobody fits, or several do. */
int kl_name_find(const struct kl_name_entry *entries, unsigned count, const char *who, char *err,
                 size_t err_len);

#endif

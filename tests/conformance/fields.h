/* fields.h - the C code's reading of bytes of the wire, as JSON; the layout is in decode.py. For
 * vectors.c. */
#ifndef KL_TESTS_FIELDS_H
#define KL_TESTS_FIELDS_H

#include <stddef.h>
#include <stdint.h>

/* To stdout. what: "ctrl", "update", "message", "channel" (§11), "start", "snapshot" (§12), "ask", "pong" or
 * "rooms" (§10); seats: of the client, for a CTRL. KL_OK, or KL_E_… */
int print_fields(const char *what, unsigned seats, const uint8_t *b, size_t len);

/* Two digits a byte, in quotes. */
void print_hex(const void *p, size_t len);

#endif

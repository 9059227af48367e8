/* url.h - links: keylock://HOST[:PORT]/ROOM[?core=NAME[&game=FILE[&crc=CRC&size=BYTES]]][#FINGERPRINT].
 * net/PROTOCOL.md §9.
 *
 * A link comes from a stranger by chat or mail. It names a relay, its fingerprint, a room, and for an
 * invitation core and game, and can carry nothing else: no user, no password, no path, no option. Its parts
 * are data, never part of a command line: a host cannot begin with '-', a room can. Pure. */
#ifndef KL_URL_H
#define KL_URL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/engine/msg.h"
#include "net/session/keys.h"

#define KL_URL_HOST_MAX 253 /* bytes: letters, digits, '-', '.'; or an IPv6 address */
#define KL_URL_ROOM_MAX                                                                                      \
    (KL_NAME_MAX - 1)      /* bytes of 1 to KL_NAME_CHARS characters, none of them a control character */
#define KL_URL_CORE_MAX 63 /* bytes: small letters, digits, '_' */
#define KL_URL_GAME_MAX 63 /* bytes of UTF-8 without control characters and slashes */
#define KL_URL_MAX                                                                                           \
    (10 + KL_URL_HOST_MAX + 6 + 1 + 3 * KL_URL_ROOM_MAX + 6 + KL_URL_CORE_MAX + 6 + 3 * KL_URL_GAME_MAX +    \
     13 + 16 + 1 + KL_FINGERPRINT_CHARS)

struct kl_url {
    char host[KL_URL_HOST_MAX + 1]; /* in lower case; an IPv6 address without its brackets */
    uint16_t port;                  /* 0: the link names none */
    char room[KL_URL_ROOM_MAX + 1];
    char fingerprint[KL_FINGERPRINT_CHARS + 1]; /* in lower case; "": the link names none */
    char core[KL_URL_CORE_MAX + 1];             /* "nestopia", of nestopia_libretro.so; "": none */
    char game[KL_URL_GAME_MAX + 1];             /* a file's name without folders; "": none */
    uint32_t crc;  /* CRC-32 of the game's bytes, as zip has it; with size 0 none */
    uint64_t size; /* their number; 0: the link has no checksum */
};

/* "[a-z0-9_]+", of at most KL_URL_CORE_MAX bytes. */
bool kl_url_core_fits(const char *core);

/* 0; or -1 with *out unchanged and one line in err: the expected and the actual text. */
int kl_url_parse(const char *text, struct kl_url *out, char *err, size_t err_len);

/* Writes the link, with its NUL; KL_URL_MAX + 1 bytes hold any. 0, or -1 if no link can name u, or cap is too
 * small. */
int kl_url_write(const struct kl_url *u, char *out, size_t cap);

#endif

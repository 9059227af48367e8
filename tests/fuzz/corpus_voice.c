/* corpus_voice.c - the seed corpus of fuzz_voice: speech of two players, with losses, an end, and 40 ms
 * at once. Part of make_corpus. */
#include "tests/fuzz/corpus.h"

#include <string.h>

#include "net/engine/voice.h"

enum { PACKET, SEALED, SHUT, WAIT }; /* extra, as fuzz_voice.c has them */

/* A hum, as libopus 1.3.1 encodes it with copies at 16 kHz: 20 ms, 20 ms, 40 ms. */
static const struct {
    uint8_t len;
    const char *bytes;
} opus[] = {
    {79, "\x48\xeb\x41\x8f\x12\xed\xa6\xf8\x6f\x66\x7f\x55\x07\xcc\x62\x1c\x88\xb1\xde\x42\x3f\xc8\x67\xfa"
         "\x5e\x49\xbc\x9e\xaf\xb3\x6f\x4d\x74\xe7\xb1\x55\x0d\x79\x30\x14\x6b\x7b\xd6\x32\xf9\x54\xbb\x05"
         "\xc2\x18\x37\x71\xa2\xe8\xf0\xb9\x1f\x4d\x7f\xaf\x38\x20\x5a\x46\x1c\x38\x56\xda\x9d\x10\x6b\x79"
         "\xf0\xfa\xa7\x92\xea\x23\x45"},
    {73, "\x48\xe4\x89\x62\x32\x84\x25\x78\xd9\xb6\x49\xf7\x1c\xd3\xb1\x50\x93\x42\x70\x5d\x03\xeb\x55\x69"
         "\x26\x8d\x9a\x27\x3a\x29\x81\x11\x1e\xe9\xb9\x2f\x23\x74\xef\x54\x16\x90\x9d\x0a\x5e\xe7\x97\xf3"
         "\xf7\xd1\x0b\xf9\xa8\x9c\xef\x09\xfd\x66\x52\x8e\x83\xa2\xec\x0c\x7f\x8e\xed\x82\x7d\x65\x6d\x55"
         "\x14"},
    {125, "\x50\xf6\xfe\x73\xb7\x3e\xd9\xc3\xd0\x64\x3d\x3e\x40\x02\x71\x01\x56\x75\x38\x11\x66\x1e\x15\xac"
          "\x66\x37\x8a\x5e\xd8\x6b\x7f\xaf\x0c\x5c\x05\xd1\xe3\xc7\xb4\x5a\xbe\x93\xe2\xbd\x75\xa0\x66\xa5"
          "\x98\xcf\x60\x59\x80\x65\x1e\x61\xbd\x05\xcf\x6a\x17\xc4\xba\xdf\x56\xd1\xd1\xae\xfc\x20\x66\x9b"
          "\xb8\x26\xe7\x4b\xd3\x90\xce\x69\xc4\xe7\xe2\xe7\x7d\x7a\x29\x4c\xbe\x9f\xe4\xda\x62\x91\x53\xb9"
          "\x0a\xd6\x0c\x3d\xcd\x17\xbb\x0f\x07\x7d\xa6\x8a\x56\x48\xec\x27\x32\xf2\x6e\x37\xcd\x49\xe9\xbf"
          "\x38\x0c\xab\x15\x3e"},
};

static void speak(struct list *l, uint8_t what, uint8_t client, unsigned number, unsigned which,
                  uint8_t flags) {
    struct kl_voice v = {
        .client = client, .flags = flags, .number = (uint16_t)number, .len = opus[which].len};
    uint8_t body[KL_VOICE_DATAGRAM];
    memcpy(v.bytes, opus[which].bytes, v.len);
    add(l, what, body, kl_voice_write(&v, true, body));
}

static void wait_ms(struct list *l, unsigned ms) {
    add(l, (uint8_t)(WAIT | ms / 5 << 2), (const uint8_t *)"", 0);
}

void corpus_voice(void) {
    static struct list l;
    l.len = 0;
    for (unsigned i = 0; i < 20; i++) {
        if (i % 6 != 4) speak(&l, PACKET, 0, i, i % 2, i == 19 ? KL_VOICE_LAST : 0);
        if (i > 5) speak(&l, (uint8_t)(SEALED | i << 2), 3, 65530 + i, (i + 1) % 2, 0);
        wait_ms(&l, 20);
    }
    wait_ms(&l, 315);
    save("fuzz_voice", "two", l.bytes, l.len);
    l.len = 0;
    for (unsigned i = 0; i < 20; i += 2) {
        if (i != 10) speak(&l, PACKET, 1, 100 + i, 2, 0);
        wait_ms(&l, 40);
    }
    wait_ms(&l, 315);
    save("fuzz_voice", "long", l.bytes, l.len);
}

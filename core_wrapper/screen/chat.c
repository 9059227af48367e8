#include "core_wrapper/screen/chat.h"

#include <libretro.h>
#include <string.h>

void kl_chat_open(struct kl_chat *c) {
    c->open = true;
    c->text[0] = 0;
}

void kl_chat_close(struct kl_chat *c) {
    c->open = false;
}

/* UTF-8 of a character; 0 for none that can be written. */
static size_t encode(uint32_t code, char out[4]) {
    bool surrogate = code >= 0xd800 && code < 0xe000;
    if (code < 0x20 || code == 0x7f || surrogate || code > 0x10ffff) return 0;
    size_t more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    static const uint8_t heads[] = {0, 0xc0, 0xe0, 0xf0};
    out[0] = (char)(heads[more] | code >> 6 * more);
    for (size_t i = 1; i <= more; i++)
        out[i] = (char)(0x80 | (code >> 6 * (more - i) & 0x3f));
    return more + 1;
}

static void add(struct kl_chat *c, uint32_t character) {
    char bytes[4];
    size_t len = strlen(c->text), more = encode(character, bytes);
    if (len + more >= sizeof c->text) return;
    memcpy(c->text + len, bytes, more);
    c->text[len + more] = 0;
}

static void rub_out(struct kl_chat *c) {
    size_t len = strlen(c->text);
    while (len && ((uint8_t)c->text[--len] & 0xc0) == 0x80) {
    }
    c->text[len] = 0;
}

enum kl_chat_key kl_chat_key(struct kl_chat *c, bool down, unsigned code, uint32_t character) {
    if (!c->open) return KL_CHAT_PASSED;
    if (!down) return KL_CHAT_TAKEN;
    switch (code) {
    case RETROK_RETURN:
    case RETROK_KP_ENTER: c->open = false; return *c->text ? KL_CHAT_SAID : KL_CHAT_TAKEN;
    case RETROK_ESCAPE: c->open = false; break;
    case RETROK_BACKSPACE: rub_out(c); break;
    default: add(c, character); break;
    }
    return KL_CHAT_TAKEN;
}

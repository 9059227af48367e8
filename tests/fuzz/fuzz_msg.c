/* Reliable messages: what is accepted has one form, and comes back from it. */
#include "tests/fuzz/fuzz.h"

#include <string.h>

#include "net/engine/msg.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static struct kl_msg m, again;
    static uint8_t buf[KL_MSG_MAX];
    int result = kl_msg_decode(&m, data, size);
    MUST(result == 0 || result == KL_E_MALFORMED || result == KL_E_VERSION);
    if (result == KL_E_VERSION) MUST(m.kind == KL_MSG_HELLO && m.hello.version != KL_PROTOCOL_VERSION);
    if (result != 0) return 0;
    int len = kl_msg_encode(&m, buf, sizeof buf);
    MUST(len >= 0 && (size_t)len == size && memcmp(buf, data, size) == 0);
    MUST(kl_msg_decode(&again, buf, (size_t)len) == 0);
    if (m.kind == KL_MSG_HELLO) {
        char text[100];
        MUST(kl_facts_differ(&m.hello.facts, &m.hello.facts, text, sizeof text) <= m.hello.facts.count);
    }
    return 0;
}

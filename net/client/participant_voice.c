/* The wishes about voices, and the relay's answer. Speech itself does not come here: it goes from the link to
 * the voice thread. net/ROOMS.md §7, Voice. */
#include <string.h>

#include "net/client/participant_parts.h"

void kl_participant_hear(struct kl_participant *s, const struct kl_hear *wish) {
    s->voice.wish = *wish;
}

static bool is_same(const struct kl_hear *a, const struct kl_hear *b) {
    return a->on == b->on && a->mask == b->mask && memcmp(a->id, b->id, sizeof a->id) == 0;
}

/* Until voice is switched on for the first time nothing is said. */
bool kl_participant_next_hear(struct kl_participant *s, struct kl_msg *m) {
    struct kl_participant_voice *v = &s->voice;
    bool news = v->said ? !is_same(&v->wish, &v->heard) : v->wish.on;
    if (!s->joined || !news) return false;
    *m = (struct kl_msg){.kind = KL_MSG_HEAR, .hear = v->wish};
    v->heard = v->wish;
    if (!v->wish.on) v->answered = false;
    return v->said = true;
}

void kl_participant_take_voices(struct kl_participant *s, const struct kl_voices *v) {
    s->voice.voices = *v;
    s->voice.answered = s->voice.said;
}

void kl_participant_voice_forget(struct kl_participant *s) {
    s->voice.said = s->voice.answered = false;
}

void kl_participant_voices(const struct kl_participant *s, struct kl_voice_told *out) {
    const struct kl_welcome *w = &s->status.welcome;
    *out = (struct kl_voice_told){.client = KL_WATCHER};
    out->in_room = s->joined && !kl_participant_is_returning(s) && !kl_participant_is_over(s);
    if (!out->in_room) return;
    out->economy = w->params.economy;
    out->client = w->client;
    memcpy(out->room_id, w->room_id, sizeof out->room_id);
    out->answered = s->voice.answered;
    if (out->answered) out->voices = s->voice.voices;
}

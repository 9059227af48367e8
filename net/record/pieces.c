#include "net/record/pieces.h"

#include <string.h>

#include "net/engine/command.h"
#include "net/engine/history.h"
#include "net/engine/wire.h"

void kl_pieces_init(struct kl_pieces *p, const uint8_t room_id[KL_DIGEST_ROOM_ID],
                    const struct kl_digest *before, bool chat) {
    memcpy(p->room_id, room_id, sizeof p->room_id);
    p->chain = *before;
    p->chat = chat;
    p->knows = true;
    p->coded = p->next = p->whole = before->end;
    p->used = 0;
}

static struct kl_frames_from from(const struct kl_pieces *p) {
    return (struct kl_frames_from){
        .ring = p->frame, .places = KL_PIECE_FRAMES, .sets = p->commands, .set_count = KL_PIECE_FRAMES};
}

static void digest(struct kl_pieces *p, const struct kl_frame *last) {
    uint8_t bytes[KL_INTERVAL_BYTES];
    struct kl_frames_from frames = from(p);
    frames.for_digest = true;
    struct kl_writer w = kl_writer(bytes, sizeof bytes);
    kl_frames_write(&w, &frames, last->keyframe, last->spacing);
    p->knows &= !w.failed && last->keyframe == p->chain.end;
    if (p->knows) kl_digest_next(&p->chain, p->room_id, bytes, (size_t)(w.at - bytes), p->next);
}

/* Codes frames below `end`. */
static void code(struct kl_pieces *p, uint32_t end) {
    struct kl_frames_from frames = from(p);
    while (p->coded < end && sizeof p->body - p->used > 2 + KL_PIECE_BYTES) {
        uint32_t count;
        size_t len =
            kl_piece_write(&frames, p->coded, end - p->coded, p->body + p->used + 2, KL_PIECE_BYTES, &count);
        if (len == 0) return;
        struct kl_writer w = kl_writer(p->body + p->used, 2);
        kl_write_u16(&w, (uint16_t)len);
        p->used += 2 + len;
        p->coded += count;
    }
}

bool kl_pieces_add(struct kl_pieces *p, const struct kl_frame *f, const struct kl_commands *commands) {
    struct kl_frame *place = &p->frame[f->number % KL_PIECE_FRAMES];
    if (f->number != p->next) {
        code(p, p->next);
        p->coded = p->whole = f->number;
        p->knows = false;
    }
    /* The ring holds the interval under way and what is not coded. */
    if (f->number - p->coded + KL_SPACING_MAX >= KL_PIECE_FRAMES) code(p, p->whole);
    if (f->number - p->coded >= KL_PIECE_FRAMES) return false;
    *place = *f;
    struct kl_commands *set = &p->commands[f->number % KL_PIECE_FRAMES];
    set->count = 0;
    if (f->flags & KL_FRAME_COMMANDS && commands) *set = *commands;
    if (set->count && !p->chat) {
        uint8_t kept = 0;
        for (unsigned i = 0; i < set->count; i++)
            if (set->at[i].kind != KL_COMMAND_CHAT) set->at[kept++] = set->at[i];
        set->count = kept;
        if (!kept) place->flags &= (uint8_t)~KL_FRAME_COMMANDS;
    }
    if (f->flags & KL_FRAME_COMMANDS && !commands) {
        place->flags &= (uint8_t)~KL_FRAME_COMMANDS;
        p->knows = false;
    }
    p->next = f->number + 1;
    if (p->next != f->keyframe + f->spacing) return true;
    digest(p, f);
    p->whole = p->next;
    return true;
}

bool kl_pieces_due(const struct kl_pieces *p) {
    return p->used >= KL_PIECES_BYTES / 2;
}

size_t kl_pieces_take(struct kl_pieces *p, bool all) {
    code(p, all ? p->next : p->whole);
    size_t used = p->used;
    p->used = 0;
    return used;
}

/* tie.h - a relay's question to the verifier beside it (docs/hosting.md, "Ties"), and the answer: the names
 * of both files, and the answer's line.
 *
 *     DIR/ask/ROOM-LABEL.klr           a copy of the match's recording, with frame LABEL
 *     DIR/verdicts/ROOM-LABEL.verdict  the hashes of a run of it after that frame, or the reason why not:
 *         has=BITS ram=HASH state=HASH picture=HASH why=TEXT
 *
 * ROOM is the room's id in 32 hexadecimal digits, BITS is of KL_HASH_RAM, KL_HASH_STATE and KL_HASH_PICTURE.
 * Pure. */
#ifndef KL_TIE_H
#define KL_TIE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/record/klr_body.h"

#define KL_TIE_ASK       "ask"
#define KL_TIE_ASKED     ".klr"
#define KL_TIE_VERDICTS  "verdicts"
#define KL_TIE_VERDICT   ".verdict"
#define KL_TIE_NAME      56  /* bytes of a name, NUL included */
#define KL_TIE_WHY       200 /* the same of TEXT */
#define KL_TIE_ANSWER    (KL_TIE_WHY + 96)
#define KL_TIE_OPEN      8                    /* questions of a relay at once; one of each room */
#define KL_TIE_BYTES     (UINT64_C(64) << 20) /* of a recording that is asked about, at most */
#define KL_TIE_ANSWERS_S 600                  /* an answer that takes longer is not waited for */

struct kl_tie_question {
    uint8_t room[KL_DIGEST_ROOM_ID];
    uint32_t label; /* the frame after which hashes differ */
};
/* ending: KL_TIE_ASKED or KL_TIE_VERDICT. */
void kl_tie_name(char out[KL_TIE_NAME], const struct kl_tie_question *q, const char *ending);
/* False: it is no name of that ending. */
bool kl_tie_read_name(const char *name, const char *ending, struct kl_tie_question *out);

/* found->has 0: there are none, and why says the reason; its end and control characters are lost. The line's
 * length, without NUL. */
size_t kl_tie_write_answer(char out[KL_TIE_ANSWER], const struct kl_klr_hash *found, const char *why);
/* Of any text. False: it is no answer. Else found has no label and no clients, why no control character. */
bool kl_tie_read_answer(const char *text, struct kl_klr_hash *found, char why[KL_TIE_WHY]);

#endif

/* verdict.h - compares the hashes that a room's clients report for marked keyframes. docs/design.md §6.
 *
 * Pure, caller-allocated. The caller hands in memory for each client before its first report. The caller
 * feeds the expected labels (the room marks them), the clients' reports, and the clients present; and fetches
 * the verdicts that are due.
 *
 * A label is open, and all before it are, once all clients that are waited for have reported, or the first
 * did KL_REPORT_WAIT_US ago. No verdict on a label goes out before it is open. So no client learns anything
 * of the others' reports before its own is in or its time is up. A later report is late: it is compared, but
 * has no vote.
 *
 * A verdict on an open label is due when all present clients have reported; when the first difference shows,
 * and again when it is complete; incomplete when a client has kept silent for KL_VERDICT_WAIT_US. */
#ifndef KL_VERDICT_H
#define KL_VERDICT_H

#include "net/engine/msg.h"

/* Labels kept: those of KL_WINDOW_FRAMES, for clients are within so many frames of each other; and at least
 * about a minute's. */
#define KL_VERDICT_LABELS_LEAST 64
#define KL_VERDICT_LABELS_MOST  KL_WINDOW_FRAMES
/* Masked states count once they have been equal at so many labels in a row; not any more after so many
 * healings of differences in them alone, for then the mask lacks bytes. */
#define KL_MASKED_LABELS   3
#define KL_MASKED_HEALS    2
#define KL_REPORT_WAIT_US  (1 * 1000000) /* after the first report */
#define KL_VERDICT_WAIT_US (3 * 1000000) /* after it a verdict does without the other reports */

/* The clients of the game and their votes: the majority of votes is right. If no voter has reported, the
 * minority is found among all clients that have. */
struct kl_verdict_members {
    uint16_t present, voters;     /* bit per client */
    uint16_t host;                /* its bit, or 0 */
    uint16_t awaited;             /* a label opens after the reports of these */
    uint8_t home[KL_MAX_CLIENTS]; /* equal for clients at the same address */
};

/* Voters of one home have one vote together, and none if they disagree: one person can come as several. If
 * all voters are of one home, each has a vote. The votes for a camp; camp == voters: all votes that there
 * are, those of homes that disagree among them. Bits per client. */
unsigned kl_verdict_votes(const uint8_t home[KL_MAX_CLIENTS], uint16_t voters, uint16_t camp);
/* The camp has more than half of the votes; or just half of them, the host, and more than half of the
 * voters: so one person's lie stops no two at the host's address. A host could put that one out anyway. */
bool kl_verdict_carries(const uint8_t home[KL_MAX_CLIENTS], uint16_t host, uint16_t voters, uint16_t camp);

struct kl_verdict_label {
    uint32_t frame;
    uint16_t reported; /* bit per client */
    uint16_t late;     /* reported when the label was open already */
    uint16_t loaded;   /* clients that loaded a state before the label's frame */
    uint8_t said;      /* verdict sent: 0 none, 1 incomplete, 2 complete */
    uint8_t differs;   /* of the last verdict sent */
    uint64_t first_us; /* of the first report */
};

/* A client's report of a label. */
struct kl_verdict_word {
    uint64_t ram, state, picture;
    uint16_t layout; /* folded */
    uint16_t sound;
    uint8_t has;
};

struct kl_verdict_table {
    /* By the label's place: `places` of them, then KL_MAX_CLIENTS, those of `asked`. The caller's, not
     * cleared; NULL: the client reports nothing. */
    struct kl_verdict_word *words[KL_MAX_CLIENTS];
    struct kl_verdict_label *label; /* `places` of them: kl_verdict_begin() */
    uint32_t places;
    uint32_t begin, end; /* labels [begin, end), by order of announcement, are kept */
    struct kl_verdict_label asked[KL_MAX_CLIENTS]; /* by the first asker; reported == 0: none */
    unsigned asked_end;                            /* none from here on */
    bool any_open;
    uint32_t open; /* labels up to this one are open; valid if any_open */
    bool any_bad;
    unsigned masked_equal; /* labels in a row with equal masked states, since the last healing */
    uint16_t loaded;       /* clients that have loaded a state: masked states prove themselves anew */
    unsigned masked_heals; /* differences of masked states alone that were healed */
    bool states_agreed; /* those of two clients were once equal, so they hold nothing of the machines' own */
    bool seen;          /* RAM or pictures of two clients were once compared */
    struct kl_verdict first_bad;
};

/* Hands in memory for labels, to an empty table: all zero. It is cleared. */
void kl_verdict_begin(struct kl_verdict_table *t, struct kl_verdict_label *label, uint32_t places);

/* The room has marked a keyframe: hashes labelled `frame` will come. Labels ascend. If the table is full, the
 * oldest one makes way. */
void kl_verdict_expect(struct kl_verdict_table *t, uint32_t frame);

/* loaded: the client has loaded a state in this game. Its core may hold more than its states do, and so give
 * another state and other sound for the same game: from then on such differences are only noted.
 * 0; KL_E_SPACE without memory for it; KL_E_STATE if this client has reported that label, or if its complete
 * verdict is sent. A label without a keyframe is compared too: clients that stop at the same frame ask for a
 * verdict on their last frame. Each client can have one of these open; its next one replaces it. */
int kl_verdict_report(struct kl_verdict_table *t, unsigned client, const struct kl_hash *h, bool loaded,
                      uint64_t now_us);
/* True: somebody has reported a label that is not settled; else kl_verdict_open() and kl_verdict_next() do
 * nothing. */
bool kl_verdict_waits(const struct kl_verdict_table *t);
/* Opens labels. To be called before kl_verdict_next(), and at kl_verdict_due_us(). */
void kl_verdict_open(struct kl_verdict_table *t, const struct kl_verdict_members *members, uint64_t now_us);

/* The next verdict that is due. Of a run of complete and equal labels of keyframes only the newest gets a
 * verdict. False if none is due. out->healed is the caller's. */
bool kl_verdict_next(struct kl_verdict_table *t, const struct kl_verdict_members *members, uint64_t now_us,
                     struct kl_verdict *out);

/* The camps among a label's reports. */
struct kl_verdict_camps {
    uint16_t reported;
    uint16_t right; /* the camp of more than half of the votes of those that reported; 0: there is none */
    bool tied;      /* there is none, though at least half of the voters reported in time */
    bool picture;   /* picture or sound differs */
    bool ram;       /* the core shows RAM, or nothing but its picture; else states may be all that there is */
};
/* False if that label is not kept, or is no desync. */
bool kl_verdict_camps(const struct kl_verdict_table *t, uint32_t frame,
                      const struct kl_verdict_members *members, struct kl_verdict_camps *out);

/* The client's report of that label. False: there is none, or the label is not kept. */
bool kl_verdict_said(const struct kl_verdict_table *t, uint32_t frame, unsigned client, struct kl_hash *out);
/* The clients that are proved equal to another one by this label (struct kl_verdict_pair), or report it
 * alone. One that has just loaded a state and has drawn nothing since is not: its state alone may hold too
 * little. */
uint16_t kl_verdict_proved(const struct kl_verdict_table *t, uint32_t frame);
/* The reports of these clients do not count any more. */
void kl_verdict_forget(struct kl_verdict_table *t, uint16_t clients);
/* All is equal again: verdicts name no earlier difference any more. */
void kl_verdict_healed(struct kl_verdict_table *t);

/* The time of the next kl_verdict_open() and kl_verdict_next() at the latest; UINT64_MAX if nothing is
 * open. */
uint64_t kl_verdict_due_us(const struct kl_verdict_table *t);

/* Two reports of one label. */
struct kl_verdict_pair {
    uint8_t compared, unequal; /* parts, KL_HASH_… */
    uint8_t differs, parts;    /* as in struct kl_verdict */
    bool proved; /* equal in what would be a desync: RAM or picture, or the state if the core shows neither */
};
/* Compares two reports. RAM of unequal layouts is not compared. RAM, picture, and sound are a desync; sound
 * is only noted if loaded, or if one report says that its state is noted or masked. An unequal state is a
 * desync if both reports say that it counts in full, or that it is masked and past.masked; else it is only
 * noted beside equal RAM or an equal picture. With neither of these it is a desync if past.judged and not
 * past.loaded, for many cores' states hold addresses of the host, and many part after a load. */
struct kl_verdict_past {
    bool loaded; /* one of the two clients has loaded a state */
    bool judged; /* kl_verdict_states_judge() */
    bool masked; /* masked states count */
};
struct kl_verdict_pair kl_verdict_compare(const struct kl_hash *a, const struct kl_hash *b,
                                          struct kl_verdict_past past);
/* True if states are all that two clients ever had to compare, and were equal once. A label without a picture
 * (it is the first one after a load) is then no reason to judge a game by its states. */
bool kl_verdict_states_judge(const struct kl_verdict_table *t);

#endif

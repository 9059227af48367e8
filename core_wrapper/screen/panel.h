/* panel.h - the session on the screen: the panel, the card and the line of a state. README.md "The
 * panel".
 *
 * panel_fill.c copies the session's figures into struct kl_panel. panel_state.c makes the line of a state
 * that lasts ("waiting for bob  3 s"). panel_card.c makes the card: while no match runs, a few lines at
 * the top name the awaited players and the next step. panel.c makes the panel's text and draws all of these.
 * Pure: all text is a function of struct kl_panel alone. */
#ifndef KLW_PANEL_H
#define KLW_PANEL_H

#include "net/engine/msg.h"
#include "core_wrapper/draw/canvas.h"
#include "core_wrapper/draw/graph.h"

#define KL_PANEL_LINE 512 /* bytes of a line, NUL included */

enum kl_panel_stage {
    KL_PANEL_LOOKING,  /* for a match: no room yet */
    KL_PANEL_REACHING, /* the relay has not answered yet */
    KL_PANEL_FILLING,  /* seats are being filled */
    KL_PANEL_FETCHING, /* the start data comes */
    KL_PANEL_ASKING,   /* the player is to agree to a state of another machine: asks says which */
    KL_PANEL_READYING, /* we are ready, others load */
    KL_PANEL_PLAYING,
    KL_PANEL_RETURNING, /* the connection is lost and being made anew */
    KL_PANEL_BROKEN,    /* the core shows an error in the game's place: reason says which */
    KL_PANEL_LOCAL,     /* the room is gone, the game goes on */
    KL_PANEL_ENDED,     /* refused, closed or lost: reason says it */
};

struct kl_panel_member {
    char name[KL_NAME_MAX];
    uint8_t seats; /* mask; 0: watches */
    bool you, host;
    bool loading; /* it has not begun */
    bool joining; /* it catches up with the game, and does not play yet */
    bool away;    /* its seats are absent, or its frontend does not run */
    bool lost;    /* its link is lost; the seat is kept */
    bool lacking; /* the next frame waits for it */
    bool alone;   /* its hashes differ from the majority's */
    bool distant; /* its link sets the delay for all */
    bool speaks;
};

#define KL_PANEL_LEVELS 6

struct kl_panel {
    enum kl_panel_stage stage;
    bool begun;         /* the game has, in this room */
    bool any_version;   /* the players may have other versions of the core */
    bool economy;       /* the room sends fewer datagrams, for a longer delay */
    bool practises;     /* the core runs for the player alone until the match begins */
    bool retries;       /* KL_PANEL_REACHING: the relay did not answer, and is asked again */
    bool found_matches; /* KL_PANEL_FILLING: a room of a quick match, which strangers find by themselves */
    struct kl_panel_key {
        /* "Select 0.4 s, press X", "right Shift, S"; "": there is none. For leaving "Select+B" */
        char pad[48], typed[48];
    } again, leave, panel;    /* hot keys: try again, leave, turn the panel on or off */
    unsigned leave_s;         /* for which the hot key for leaving is to be held */
    char goes_on[48];         /* the hot key that ends a pause; "": there is none, or not for us */
    char asks[KL_PANEL_LINE]; /* KL_PANEL_ASKING: "frame 600 of match cup-3: ann (1), bob (2)" */
    char beside[KL_NAME_MAX]; /* KL_PANEL_FILLING: another open room of this game; "": none is known */
    char room[KL_NAME_MAX], relay[64], reason[KL_PANEL_LINE];
    char link[KL_PANEL_LINE];   /* by which others come in; "": not for us to tell */
    bool voice;                 /* this player's is on */
    int level;                  /* bars of its microphone, to KL_PANEL_LEVELS; below 0: it is closed */
    const char *voice_why;      /* the reason for which nobody hears it; "": it is heard */
    unsigned watchers, delay_s; /* from outside the game, and how much later */
    unsigned record_days;       /* for which the relay keeps the match's recording; 0: it keeps none */
    bool saves_recorded;        /* with this machine's saves: it is the host, and does not hold them back */
    uint8_t filled, players;
    unsigned count;
    struct kl_panel_member member[KL_MAX_CLIENTS];
    uint32_t data_done, data_total; /* bytes of start data */
    bool checks;                    /* files are being read for their checksums: */
    unsigned check_disk;            /* this disk, from 1; 0: those of the game */
    unsigned check_percent;
    bool begins;                    /* a state to begin with is on its way, or being loaded: */
    uint32_t shot_done, shot_total; /* bytes of it */
    bool waits_way;                 /* the others play: we wait for the way to them */
    uint8_t policy;
    unsigned budget_ms;
    double rtt_ms, jitter_ms;
    double lead_frames;    /* from a sample to its frame; 0: not known */
    double feels;          /* frames from a press to its picture, while running ahead; 0: it does not */
    char not_ahead[96];    /* the reason why it does not, in plain words; "": none */
    unsigned direct_named; /* players that see this machine's address */
    unsigned direct_heard; /* of these, those whose presses come straight */
    unsigned spacing;      /* frames */
    uint64_t late, stalls; /* frames, episodes */
    unsigned longest_stall_ms;
    unsigned backlog;             /* frames received and not run */
    unsigned behind;              /* frames that should have run by now, and are here */
    unsigned catch_up;            /* the most of them since catching up began; 0: we do not */
    unsigned left_s;              /* until it is done; 0: not known */
    bool too_slow;                /* and it does not become less: */
    double machine_fps, core_fps; /* frames that this machine runs in a second, and the core's rate */
    bool absent;                  /* our seats are not waited for */
    bool paused;
    char question[KL_PANEL_LINE]; /* paused: that the room asks, with the key that answers; "": it does not */
    bool any_verified, desync;
    bool desync_is_news; /* just found: told before everything else */
    uint32_t verified, desync_frame;
    const char *desync_part; /* kl_parts_name() */
    bool plays_on;           /* it is not healed, and the players play on */
    unsigned seat_time_s;    /* that the room keeps a seat for, without a connection */
    uint64_t
        state_us; /* how long it has been like that: the stage, or the stall, pause or absence within it */
    bool stalled;
    bool you_lack; /* our own samples are among those waited for: nothing gets through */
    unsigned fps;  /* pictures with a new frame in the last second */
};

enum kl_panel_tone { KL_PANEL_QUIET, KL_PANEL_INFO, KL_PANEL_WARNING, KL_PANEL_ERROR };

/* Writes the line for a state that lasts into out, "" if all is well. *percent: progress, or -1 for none. */
enum kl_panel_tone kl_panel_state(const struct kl_panel *p, char out[KL_PANEL_LINE], int *percent);

/* The words for a desync: its first frame, and the machines alone against the majority. */
void kl_panel_desync(const struct kl_panel *p, char out[KL_PANEL_LINE]);

#define KL_CARD_LINES 7

struct kl_card {
    enum kl_panel_tone tone;
    int percent; /* of progress, or -1 for none */
    unsigned count;
    char line[KL_CARD_LINES][KL_PANEL_LINE]; /* the first is the headline */
};

/* The card of this moment. False if there is none: a match runs, or nothing was wanted. */
bool kl_panel_card(const struct kl_panel *p, struct kl_card *card);
/* The line at a match's begin: the others, and the player's own seat. */
void kl_panel_begin(const struct kl_panel *p, char out[KL_PANEL_LINE]);

/* Draws one line of names, round trip and delay above the row `bottom`, as kl_panel_draw_line() does. */
int kl_panel_draw_strip(const struct kl_panel *p, const struct kl_canvas *c, int bottom);
/* Draws the panel at the top. */
void kl_panel_draw(const struct kl_panel *p, const struct kl_graph *h, const struct kl_canvas *c);
/* Draws the card at the top. */
void kl_panel_draw_card(const struct kl_card *card, const struct kl_canvas *c);

struct kl_panel_words {
    const char *line;
    size_t words; /* the byte from which on it is a player's own words; 0: there are none */
    enum kl_panel_tone tone;
    int percent; /* of progress: a bar below the line; negative: no bar */
};

/* Draws a line, broken into a few, above the row `bottom` (units; c->rows: the picture's end). Returns the
 * row that the next line above it ends at. */
int kl_panel_draw_line(const struct kl_canvas *c, int bottom, const struct kl_panel_words *w);

/* "12 s", "1:05". */
void kl_panel_time(uint64_t us, char out[16]);

#endif

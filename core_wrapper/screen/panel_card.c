/* The card: what is awaited, what the player and the friend are to do, how to leave. panel.h. */
#include <stdio.h>
#include <string.h>

#include "core_wrapper/screen/panel.h"

#include "net/platform/buffer.h"

#define UNSURE_US   4000000 /* a relay that is there has answered long before */
#define NAMES_BYTES 240     /* of names in one line */

__attribute__((format(__printf__, 2, 3))) static void add(struct kl_card *card, const char *format, ...) {
    if (card->count == KL_CARD_LINES) return;
    KL_FORMAT(card->line[card->count++], KL_PANEL_LINE, format);
}

/* "Panel: hold Select 0.4 s, press R (right Shift, W)": of the keyboard behind, as RetroArch has them. */
static void add_key(struct kl_card *card, const char *what, const struct kl_panel_key *key,
                    const char *how_long) {
    const char *typed = key->typed;
    if (*key->pad)
        add(card, "%s: hold %s%s%s%s%s", what, key->pad, how_long, *typed ? " (" : "", typed,
            *typed ? ")" : "");
}

static void add_leave(const struct kl_panel *p, struct kl_card *card) {
    char how_long[24];
    snprintf(how_long, sizeof how_long, " %u s", p->leave_s);
    if (*p->leave.pad)
        add_key(card, "Leave", &p->leave, how_long);
    else
        add(card, "Leave: Core Options, Play, Alone");
}

/* The line of the state, as a headline. */
static void add_state(const struct kl_panel *p, struct kl_card *card) {
    if (card->count == KL_CARD_LINES) return;
    char *line = card->line[card->count++];
    card->tone = kl_panel_state(p, line, &card->percent);
    if (line[0] >= 'a' && line[0] <= 'z') line[0] = (char)(line[0] - 'a' + 'A');
}

static void add_practice(const struct kl_panel *p, struct kl_card *card) {
    if (p->practises) add(card, "Practice: the match starts anew");
}

static void add_recorded(const struct kl_panel *p, struct kl_card *card) {
    bool before = p->stage >= KL_PANEL_FILLING && p->stage <= KL_PANEL_READYING;
    if (before && p->record_days)
        add(card, "Recorded%s, kept %u day%s%s", p->saves_recorded ? "" : " by the relay", p->record_days,
            p->record_days == 1 ? "" : "s", p->saves_recorded ? ", with your saves (or: saves = off)" : "");
}

static void fill_filling(const struct kl_panel *p, struct kl_card *card, const char *since) {
    unsigned open = p->filled < p->players ? p->players - p->filled : 0;
    if (!open) {
        add_state(p, card);
        return;
    }
    add(card, "Waiting for %u player%s %s", open, open > 1 ? "s" : "", since);
    if (!p->found_matches) {
        add(card, "Your friend: same core, same game, room \"%s\"%s", p->room,
            *p->link ? ", or this link:" : "");
        if (*p->link) add(card, "%s", p->link);
    }
    if (*p->beside) add(card, "This game is also open in room \"%s\"", p->beside);
    add_practice(p, card);
    if (!*p->beside) add_key(card, "Panel", &p->panel, ""); /* there is place for one of both */
}

static void fill_reaching(const struct kl_panel *p, struct kl_card *card, const char *since) {
    card->tone = p->retries ? KL_PANEL_WARNING : KL_PANEL_INFO;
    add(card, "%s %s  %s", p->retries ? "No answer, trying again:" : "Calling the relay", p->relay, since);
    if (p->retries || p->state_us >= UNSURE_US) add(card, "Is its name right? Is it running?");
}

static void fill_returning(const struct kl_panel *p, struct kl_card *card, const char *since) {
    uint64_t kept_us = p->seat_time_s * UINT64_C(1000000);
    unsigned left_s = kept_us > p->state_us ? (unsigned)((kept_us - p->state_us) / 1000000) : 0;
    card->tone = KL_PANEL_WARNING;
    add(card, "Connection lost, trying again  %s", since);
    add(card, "Your place is kept for %u s more", left_s);
}

static void fill_asking(const struct kl_panel *p, struct kl_card *card) {
    card->tone = KL_PANEL_WARNING;
    add(card, "Begin with a state of another match?");
    add(card, "It is %.400s", p->asks);
    add(card, "A state can do harm: agree if you trust its maker");
    if (*p->again.pad)
        add_key(card, "Yes", &p->again, "");
    else
        add(card, "Yes: keylock command again");
}

static void fill_ended(const struct kl_panel *p, struct kl_card *card) {
    card->tone = KL_PANEL_ERROR;
    add(card, "%.400s", *p->reason ? p->reason : "The room is over");
    add_key(card, "Try again", &p->again, "");
}

bool kl_panel_card(const struct kl_panel *p, struct kl_card *card) {
    char since[16];
    kl_panel_time(p->state_us, since);
    card->count = 0;
    card->tone = KL_PANEL_INFO;
    card->percent = -1;
    switch (p->stage) {
    case KL_PANEL_LOOKING:
        add(card, "Looking for a match  %s", since);
        add_practice(p, card);
        break;
    case KL_PANEL_REACHING: fill_reaching(p, card, since); break;
    case KL_PANEL_FILLING: fill_filling(p, card, since); break;
    case KL_PANEL_READYING:
        if (!p->waits_way && p->filled < p->players)
            fill_filling(p, card, since);
        else
            add_state(p, card);
        break;
    case KL_PANEL_FETCHING: add_state(p, card); break;
    case KL_PANEL_ASKING: fill_asking(p, card); break;
    case KL_PANEL_RETURNING: fill_returning(p, card, since); break;
    case KL_PANEL_ENDED: fill_ended(p, card); return true;
    case KL_PANEL_BROKEN:
    case KL_PANEL_PLAYING:
    case KL_PANEL_LOCAL: return false;
    }
    add_recorded(p, card);
    add_leave(p, card);
    return true;
}

/* --- the begin --- */

/* The first of several seats, counted from 1. */
static unsigned number(const struct kl_panel_member *m) {
    return m->seats ? (unsigned)__builtin_ctz(m->seats) + 1 : 0;
}

/* "ben is player 2", or "ben 2, carl 3" if there are several. */
static void others(const struct kl_panel *p, char out[KL_PANEL_LINE]) {
    unsigned count = 0;
    size_t used = 0;
    out[0] = 0;
    for (unsigned i = 0; i < p->count && i < KL_MAX_CLIENTS; i++)
        count += p->member[i].seats && !p->member[i].you;
    for (unsigned i = 0; i < p->count && i < KL_MAX_CLIENTS; i++) {
        const struct kl_panel_member *m = &p->member[i];
        if (!m->seats || m->you || used + strlen(m->name) + 16 > NAMES_BYTES) continue;
        used += (size_t)snprintf(out + used, KL_PANEL_LINE - used, "%s%s%s %u", used ? ", " : "", m->name,
                                 count > 1 ? "" : " is player", number(m));
    }
}

void kl_panel_begin(const struct kl_panel *p, char out[KL_PANEL_LINE]) {
    char who[KL_PANEL_LINE], later[48] = "";
    const char *recorded = p->record_days ? " (recorded)" : "";
    unsigned you = 0;
    for (unsigned i = 0; i < p->count && i < KL_MAX_CLIENTS; i++)
        if (p->member[i].you) you = number(&p->member[i]);
    others(p, who);
    if (you)
        snprintf(out, KL_PANEL_LINE, "you are player %u%s%s%.460s", you, recorded, *who ? ", " : "", who);
    else {
        if (p->delay_s) snprintf(later, sizeof later, ", %u s behind the players", p->delay_s);
        snprintf(out, KL_PANEL_LINE, "you watch%s%s%s%.430s", later, recorded, *who ? ": " : "", who);
    }
}

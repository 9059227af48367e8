/* The panel's text and that of the one line, and their drawing. panel.h. The line of a state is in
 * panel_state.c. */
#include "core_wrapper/screen/panel.h"

#include <stdio.h>
#include <string.h>

#include "net/platform/buffer.h"
#include "net/session/name.h"
#include "core_wrapper/draw/font.h"

#define WHITE  0xf0f0f0
#define GREY   0xa0a8b0
#define GREEN  0x40d060
#define YELLOW 0xffd840
#define RED    0xff5048
#define CYAN   0x50c8ff
#define MAROON 0x802020

#define LINE_HEIGHT   (KL_FONT_HEIGHT + 1)
#define EDGE          3
#define WIDE_COLUMNS  250 /* units from which on there is place for whole words and a legend */
#define GRAPH_HEIGHT  20  /* units; on a narrow picture: */
#define GRAPH_NARROW  12
#define STATE_LINES   2
#define MESSAGE_LINES 6
#define MEMBERS_WIDE  8 /* members that are named; on a narrow picture: */
#define MEMBERS       4

static const uint32_t tones[] = {GREY, WHITE, YELLOW, RED};
static const uint32_t headlines[] = {GREY, CYAN, YELLOW, RED};

/* --- text in some lines --- */

static bool is_blank(const struct kl_letters *l, unsigned i) {
    return i < l->count && l->at[i].code == ' ';
}

/* Draws the letters in lines of so many cells, at least 2. Returns the number of lines, `most` at most;
 * longer text is cut. c NULL: draws nothing. */
static int draw_letters(const struct kl_canvas *c, int x, int y, int cells, int most, uint32_t rgb,
                        const struct kl_letters *l) {
    int n = 0;
    for (unsigned at = 0; at < l->count && n < most; n++) {
        /* The end of a line of so many cells: at a blank, if there is one in its second half. */
        unsigned i = at, blank = at;
        for (int used = 0; i < l->count && used + l->at[i].cells <= cells; i++) {
            if (is_blank(l, i) && used > cells / 2) blank = i;
            used += l->at[i].cells;
        }
        unsigned end = i == l->count || is_blank(l, i) || blank == at ? i : blank;
        if (c) kl_canvas_letters(c, x, y + n * kl_letters_height(l), l, at, end, rgb);
        for (at = end; is_blank(l, at);)
            at++;
    }
    return n;
}

/* The same with a text of the built-in font. */
static int draw_broken(const struct kl_canvas *c, int x, int y, int cells, int most, uint32_t rgb,
                       const char *text) {
    struct kl_letters l;
    kl_letters_set(&l, text, 0);
    return cells < 2 ? 0 : draw_letters(c, x, y, cells, most, rgb, &l);
}

/* --- chips: short texts, side by side, with dots between --- */

#define CHIP_BYTES (KL_NAME_MAX + 56)
#define CHIPS_MAX  (KL_MAX_CLIENTS + 12)
#define GAP_CELLS  3 /* a dot between blanks */

struct chips {
    struct {
        char text[CHIP_BYTES];
        uint32_t rgb;
    } at[CHIPS_MAX];
    int count;
};

__attribute__((format(__printf__, 3, 4))) static void add(struct chips *s, uint32_t rgb, const char *format,
                                                          ...) {
    if (s->count == CHIPS_MAX) return;
    KL_FORMAT(s->at[s->count].text, CHIP_BYTES, format);
    s->at[s->count++].rgb = rgb;
}

/* As many in a line as fit. Returns the lines; c NULL: draws nothing. */
static int flow(const struct kl_canvas *c, const struct chips *s, int x, int y, int cells) {
    int lines = 0, used = 0;
    for (int i = 0; i < s->count; i++) {
        const char *text = s->at[i].text;
        int n = 0;
        while (kl_font_next(&text))
            n++;
        int wide = n;
        bool fits = used && used + GAP_CELLS + wide <= cells;
        if (!fits) lines++;
        int at = fits ? used + GAP_CELLS : 0, line_y = y + (lines - 1) * LINE_HEIGHT;
        if (c && fits) kl_canvas_text(c, x + (used + 1) * KL_FONT_WIDTH, line_y, 1, GREY, "\xc2\xb7");
        if (c) kl_canvas_text(c, x + at * KL_FONT_WIDTH, line_y, cells - at, s->at[i].rgb, s->at[i].text);
        used = at + wide;
    }
    return lines;
}

/* --- the members --- */

static const char *mark_of(const struct kl_panel *p, const struct kl_panel_member *m) {
    if (m->alone) return " differs";
    if (m->joining) return " joins";
    if (m->lost) return " lost";
    if (m->away) return " away";
    if (m->loading) return " loads";
    if (m->lacking && p->stalled) return " late";
    if (m->speaks) return " speaks";
    return m->seats ? "" : " watches";
}

/* "ann 1", in yellow if it is this machine's player. */
static void add_member(struct chips *s, const struct kl_panel *p, const struct kl_panel_member *m) {
    char seats[KL_NAME_NUMBERS];
    bool bad = m->alone || (m->lacking && p->stalled);
    bool grey = m->away || m->lost || m->joining || !m->seats;
    kl_name_numbers(m->seats, seats);
    add(s,
        bad      ? RED
        : m->you ? YELLOW
        : grey   ? GREY
                 : CYAN,
        "%s%s%s%s", m->name, *seats ? " " : "", seats, mark_of(p, m));
}

static void add_voice(struct chips *s, const struct kl_panel *p, bool wide) {
    if (!p->voice) return;
    if (*p->voice_why)
        add(s, GREY, wide ? "nobody hears you: %s" : "voice: %s", p->voice_why);
    else if (p->level < 0)
        add(s, GREEN, "voice on");
    else
        add(s, GREEN, "voice %.*s%.*s", p->level, "||||||", KL_PANEL_LEVELS - p->level, "......");
}

/* --- figures --- */

/* From a press to its frame, in whole frames, and whose link it is that needs them. */
static void add_delay(struct chips *s, const struct kl_panel *p, bool wide, bool names) {
    unsigned frames = (unsigned)(p->lead_frames + 0.5);
    char whose[KL_NAME_MAX + 16] = "";
    if (p->feels > 0) {
        unsigned feels = (unsigned)(p->feels + 0.5);
        add(s, WHITE, "feels %u%s, link %u", feels, !wide ? "" : feels == 1 ? " frame" : " frames", frames);
        return;
    }
    if (p->lead_frames <= 0) return;
    for (unsigned i = 0; i < p->count; i++) {
        const struct kl_panel_member *m = &p->member[i];
        if (m->distant && names)
            snprintf(whose, sizeof whose, m->you ? ": your link" : ": %s's link", m->name);
    }
    add(s, WHITE, "delay %u%s%s", frames, !wide ? "" : frames == 1 ? " frame" : " frames", whose);
}

/* How long the room waits for a player. */
static void add_policy(struct chips *s, const struct kl_panel *p, bool wide) {
    if (p->policy == KL_POLICY_STRICT)
        add(s, WHITE, wide ? "waits for all players" : "waits for all");
    else if (p->policy == KL_POLICY_BOUNDED)
        add(s, WHITE, wide ? "waits up to %u ms" : "waits %u ms", p->budget_ms);
    else
        add(s, WHITE, wide ? "waits for no player" : "waits for none");
}

static void add_trouble(struct chips *s, const struct kl_panel *p, bool wide) {
    uint32_t rgb = p->stalled ? YELLOW : WHITE;
    if (p->late)
        add(s, WHITE, wide ? "%llu frame%s late" : "%llu late", (unsigned long long)p->late,
            p->late == 1 ? "" : "s");
    if (p->backlog > 1) add(s, WHITE, wide ? "%u frames waiting" : "%u waiting", p->backlog);
    if (p->stalls)
        add(s, rgb, wide ? "stood still %llux, up to %u ms" : "%llu stops, %u ms",
            (unsigned long long)p->stalls, p->longest_stall_ms);
}

static void add_sync(struct chips *s, const struct kl_panel *p, bool wide) {
    if (p->desync)
        add(s, RED,
            p->plays_on ? wide ? "machines differ from frame %u" : "machines differ"
            : wide      ? "out of sync at frame %u"
                        : "out of sync",
            p->desync_frame);
    else if (p->any_verified)
        add(s, GREEN, wide ? "in sync at frame %u" : "in sync", p->verified);
    else
        add(s, GREY, wide ? "sync not checked yet" : "not checked");
}

/* Frames that close by the clock wait for no interval. */
static void fill_chips(struct chips *s, const struct kl_panel *p, bool wide) {
    s->count = 0;
    int most = wide ? MEMBERS_WIDE : MEMBERS;
    int count = (int)(p->count < KL_MAX_CLIENTS ? p->count : KL_MAX_CLIENTS);
    int shown = count <= most ? count : most - 1;
    for (int i = 0; i < shown; i++)
        add_member(s, p, &p->member[i]);
    if (shown < count) add(s, GREY, "%d more", count - shown);
    if (p->watchers && p->delay_s)
        add(s, GREY, "%u watch%s %u s later", p->watchers, p->watchers == 1 ? "es" : "", p->delay_s);
    else if (p->watchers)
        add(s, GREY, "%u watch%s", p->watchers, p->watchers == 1 ? "es" : "");
    if (p->record_days)
        add(s, YELLOW, wide ? "recorded, kept %u day%s" : "recorded", p->record_days,
            p->record_days == 1 ? "" : "s");
    add_voice(s, p, wide);
    if (p->any_version) add(s, YELLOW, "any version");
    if (p->economy) add(s, GREY, wide ? "economy room" : "economy");
    add(s, WHITE, wide ? "round trip %.0f \xc2\xb1%.0f ms" : "%.0f \xc2\xb1%.0f ms", p->rtt_ms, p->jitter_ms);
    add_delay(s, p, wide, wide);
    if (wide && p->feels <= 0 && *p->not_ahead) add(s, GREY, "not ahead: %s", p->not_ahead);
    if (wide && p->direct_named)
        add(s, GREY, "direct to %u of %u, which see your address", p->direct_heard, p->direct_named);
    if (wide && p->policy != KL_POLICY_OPTIMISTIC)
        add(s, WHITE, "interval %u frame%s", p->spacing, p->spacing == 1 ? "" : "s");
    add_policy(s, p, wide);
    add_trouble(s, p, wide);
    add_sync(s, p, wide);
    add(s, GREY, "%u fps", p->fps);
}

/* --- the graph --- */

struct graph {
    const struct kl_graph *h;
    int x, y, steps, height; /* a step is a unit wide */
};

static int bar(unsigned value, unsigned full, int height) {
    return value >= full ? height : (int)(value * (unsigned)height / full);
}

/* The lead that each frame needed, and the lead that it had; a stall is a column from top to bottom. */
static void draw_step(const struct graph *g, const struct kl_canvas *c, int i, unsigned full) {
    struct kl_graph_step s = kl_graph_part(g->h, (unsigned)i, (unsigned)g->steps);
    int need = bar(s.need, full * 4, g->height), line = bar(s.had, full * 4, g->height);
    int backlog = bar(s.backlog, full, g->height - 1), bottom = g->y + g->height, x = g->x + i;
    if (s.stalled) kl_canvas_fill(c, x, g->y, 1, g->height, MAROON);
    kl_canvas_fill(c, x, bottom - need, 1, need, s.need > s.had ? RED : GREEN);
    if (s.backlog) kl_canvas_fill(c, x, bottom - 1 - backlog, 1, 1, CYAN);
    if (s.had) kl_canvas_fill(c, x, bottom - line, 1, 1, YELLOW);
}

/* The colours' meanings, and the graph's size. Returns the lines; c NULL: draws nothing. */
static int draw_legend(const struct kl_canvas *c, int x, int y, int cells, unsigned full) {
    struct chips s = {.count = 0};
    add(&s, GREEN, "need");
    add(&s, YELLOW, "had");
    add(&s, CYAN, "waiting");
    add(&s, RED, "stop");
    add(&s, GREY, "%u frames", full);
    return flow(c, &s, x, y, cells);
}

/* Units of height; c NULL: draws nothing. */
static int draw_graph(const struct kl_graph *h, const struct kl_canvas *c, int x, int y, int width,
                      bool wide) {
    struct graph g = {h, x, y, width < KL_GRAPH_STEPS ? width : KL_GRAPH_STEPS,
                      wide ? GRAPH_HEIGHT : GRAPH_NARROW};
    /* Frames that the graph is high: the most that is worth seeing, rounded up to fours. */
    unsigned steps = (unsigned)g.steps;
    unsigned most = 4;
    for (unsigned i = 0; i < steps; i++) {
        struct kl_graph_step s = kl_graph_part(h, i, steps);
        unsigned need = s.need / 4u + 1, line = s.had / 4u + 1;
        if (need > most) most = need;
        if (line > most) most = line;
    }
    unsigned full = (most + 3) / 4 * 4;
    for (int i = 0; c && i < g.steps; i++)
        draw_step(&g, c, i, full);
    if (!wide) return GRAPH_NARROW + 1;
    return GRAPH_HEIGHT + 2 +
           LINE_HEIGHT * draw_legend(c, x, y + GRAPH_HEIGHT + 2, width / KL_FONT_WIDTH, full);
}

/* --- the panel --- */

void kl_panel_draw(const struct kl_panel *p, const struct kl_graph *h, const struct kl_canvas *c) {
    char state[KL_PANEL_LINE];
    static struct chips s;
    int percent;
    bool wide = c->columns >= WIDE_COLUMNS;
    int width = (wide ? WIDE_COLUMNS : c->columns) - 2 * EDGE, cells = width / KL_FONT_WIDTH;
    if (cells < 1) return;
    enum kl_panel_tone tone = kl_panel_state(p, state, &percent);
    fill_chips(&s, p, wide);
    int lines = flow(NULL, &s, 0, 0, cells) + draw_broken(NULL, 0, 0, cells, STATE_LINES, 0, state);
    int graph = draw_graph(h, NULL, 0, 0, width, wide);
    kl_canvas_shade(c, 0, 0, width + 2 * EDGE, EDGE + lines * LINE_HEIGHT + graph);
    int y = EDGE + flow(c, &s, EDGE, EDGE, cells) * LINE_HEIGHT;
    y += draw_broken(c, EDGE, y, cells, STATE_LINES, tones[tone], state) * LINE_HEIGHT;
    draw_graph(h, c, EDGE, y, width, wide);
}

/* If a line is too short for all of it, the last go: figures first, then players. */
int kl_panel_draw_strip(const struct kl_panel *p, const struct kl_canvas *c, int bottom) {
    struct chips s = {.count = 0};
    int cells = (c->columns - 2 * EDGE) / KL_FONT_WIDTH;
    bool wide = c->columns >= WIDE_COLUMNS;
    if (cells < 1) return bottom;
    for (unsigned i = 0; i < p->count && i < KL_MAX_CLIENTS; i++)
        if (p->member[i].seats) add_member(&s, p, &p->member[i]);
    if (p->delay_s) add(&s, GREY, "%u s later", p->delay_s);
    if (p->feels > 0) add_delay(&s, p, true, false); /* more words, so the round trip goes first */
    add(&s, WHITE, "%.0f ms", p->rtt_ms);
    if (p->feels <= 0) add_delay(&s, p, wide, false);
    while (s.count > 1 && flow(NULL, &s, 0, 0, cells) > 1)
        s.count--;
    int height = LINE_HEIGHT + 2;
    kl_canvas_shade(c, 0, bottom - height, c->columns, height);
    flow(c, &s, EDGE, bottom - height + 2, cells);
    return bottom - height;
}

/* --- the line and the card --- */

static void draw_bar(const struct kl_canvas *c, int y, enum kl_panel_tone tone, int percent) {
    int full = c->columns - 2 * EDGE, done = full * (percent < 100 ? percent : 100) / 100;
    kl_canvas_fill(c, EDGE, y, full, 2, 0x404448);
    kl_canvas_fill(c, EDGE, y, done, 2, tones[tone]);
}

int kl_panel_draw_line(const struct kl_canvas *c, int bottom, const struct kl_panel_words *w) {
    struct kl_letters l;
    kl_letters_set(&l, w->line, w->words);
    int cells = (c->columns - 2 * EDGE) / kl_letters_width(&l), high = kl_letters_height(&l);
    int most = (MESSAGE_LINES * LINE_HEIGHT + high - 1) / high;
    if (cells < 2 || !l.count) return bottom;
    int lines = draw_letters(NULL, 0, 0, cells, most, 0, &l);
    int height = lines * high + 4 + (w->percent >= 0 ? 3 : 0), y = bottom - height;
    kl_canvas_shade(c, 0, y, c->columns, height);
    draw_letters(c, EDGE, y + 3, cells, most, tones[w->tone], &l);
    if (w->percent >= 0) draw_bar(c, bottom - 4, w->tone, w->percent);
    return y;
}

void kl_panel_draw_card(const struct kl_card *card, const struct kl_canvas *c) {
    int cells = (c->columns - 2 * EDGE) / KL_FONT_WIDTH, lines = 0, y = EDGE;
    if (cells < 1) return;
    for (unsigned i = 0; i < card->count; i++)
        lines += draw_broken(NULL, 0, 0, cells, MESSAGE_LINES, 0, card->line[i]);
    kl_canvas_shade(c, 0, 0, c->columns, EDGE + lines * LINE_HEIGHT + 2 + (card->percent >= 0 ? 4 : 0));
    for (unsigned i = 0; i < card->count; i++)
        y += LINE_HEIGHT *
             draw_broken(c, EDGE, y, cells, MESSAGE_LINES, i ? WHITE : headlines[card->tone], card->line[i]);
    if (card->percent >= 0) draw_bar(c, y + 1, card->tone, card->percent);
}

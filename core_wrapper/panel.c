/* The panel's text and its drawing. panel.h. The one line is in panel_state.c. */
#include "core_wrapper/panel.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core_wrapper/font.h"

#define WHITE  0xf0f0f0
#define GREY   0xa0a8b0
#define GREEN  0x40d060
#define YELLOW 0xffd840
#define RED    0xff5048
#define CYAN   0x50c8ff
#define MAROON 0x802020

#define LINE_HEIGHT   (KL_FONT_HEIGHT + 1)
#define EDGE          3
#define WIDE_COLUMNS  250 /* units from which on names and figures stand side by side */
#define LEAD_HEIGHT   26  /* of the graphs, in units */
#define GAP_HEIGHT    14
#define GAP_FULL_MS   50 /* a gap that fills the lower graph */
#define FIGURES       6
#define STATE_LINES   2
#define MESSAGE_LINES 6
#define FIGURE_CELLS  21

static const uint32_t tones[] = {GREY, WHITE, YELLOW, RED};
static const uint32_t headlines[] = {GREY, CYAN, YELLOW, RED};

/* ---- text in some lines ---- */

/* The end of a line of so many cells: at a blank, if there is one in its second half. */
static size_t break_at(const char *text, int cells) {
    const char *p = text, *blank = NULL;
    for (int i = 0; i < cells; i++) {
        if (*p == ' ' && i > cells / 2) blank = p;
        if (!kl_font_next(&p)) return strlen(text);
    }
    if (!*p) return strlen(text);
    return (size_t)((*p == ' ' || !blank ? p : blank) - text);
}

/* Returns the number of lines, `most` at most; longer text is cut. c NULL: draws nothing. */
static int draw_broken(const struct kl_canvas *c, int x, int y, int cells, int most, uint32_t rgb,
                       const char *text) {
    char line[KL_PANEL_LINE];
    int n = 0;
    if (cells < 1) return 0;
    while (*text && n < most) {
        size_t cut = break_at(text, cells);
        snprintf(line, sizeof line, "%.*s", (int)cut, text);
        if (c) kl_canvas_text(c, x, y + n * LINE_HEIGHT, cells, rgb, line);
        text += cut + strspn(text + cut, " ");
        n++;
    }
    return n;
}

/* ---- the members ---- */

/* The seats, counted from 1: "1", "1+3", "1-4"; "-" without a seat. */
static void seats_text(uint8_t seats, char out[24]) {
    size_t used = 0;
    strcpy(out, "-");
    for (unsigned s = 0; s < KL_MAX_SEATS; s++) {
        if (!(seats >> s & 1)) continue;
        unsigned last = s;
        while (last + 1 < KL_MAX_SEATS && seats >> (last + 1) & 1)
            last++;
        used += (size_t)snprintf(out + used, 24 - used, "%s%u", used ? "+" : "", s + 1);
        if (last > s) used += (size_t)snprintf(out + used, 24 - used, "-%u", last + 1);
        s = last;
    }
}

static const char *mark_of(const struct kl_panel *p, const struct kl_panel_member *m, uint32_t *rgb) {
    *rgb = m->away || m->lost || m->joining ? GREY : WHITE;
    if (m->alone || (m->lacking && p->stalled)) *rgb = RED;
    if (m->alone) return "alone";
    if (m->joining) return "joins";
    if (m->lost) return "lost";
    if (m->away) return "away";
    if (m->loading) return "loads";
    if (m->lacking && p->stalled) return "late";
    if (m->you) return "you";
    return m->host ? "host" : "";
}

/* "1   ann               you" in so many cells. */
static void draw_member(const struct kl_panel *p, const struct kl_panel_member *m, const struct kl_canvas *c,
                        int x, int y, int cells) {
    char seats[24];
    uint32_t rgb;
    const char *mark = mark_of(p, m, &rgb);
    int at = (int)strlen(m->seats & (m->seats - 1) ? "1-4 " : "1 "), tail = (int)strlen(mark);
    seats_text(m->seats, seats);
    if ((int)strlen(seats) >= at) at = (int)strlen(seats) + 1;
    kl_canvas_text(c, x, y, at, m->you ? YELLOW : CYAN, seats);
    kl_canvas_text(c, x + at * KL_FONT_WIDTH, y, cells - at - tail - (tail ? 1 : 0), m->you ? YELLOW : rgb,
                   m->name);
    kl_canvas_text(c, x + (cells - tail) * KL_FONT_WIDTH, y, tail, rgb == WHITE ? GREY : rgb, mark);
}

static void draw_watchers(const struct kl_panel *p, const struct kl_canvas *c, int x, int y, int cells) {
    char line[48], later[24] = "";
    if (p->delay_s) snprintf(later, sizeof later, ", %u s later", p->delay_s);
    snprintf(line, sizeof line, "%u watch%s%s", p->watchers, p->watchers == 1 ? "es" : "", later);
    kl_canvas_text(c, x, y, cells, GREY, line);
}

/* Returns the lines that it took, `room` at most. */
static int draw_clients(const struct kl_panel *p, const struct kl_canvas *c, int x, int y, int cells,
                        int room) {
    char more[24];
    int count = (int)(p->count < KL_MAX_CLIENTS ? p->count : KL_MAX_CLIENTS);
    int shown = count <= room ? count : room - 1;
    for (int i = 0; i < shown; i++)
        draw_member(p, &p->member[i], c, x, y + i * LINE_HEIGHT, cells);
    if (shown == count || room < 1) return shown;
    snprintf(more, sizeof more, "and %d more", count - shown);
    kl_canvas_text(c, x, y + shown * LINE_HEIGHT, cells, GREY, more);
    return shown + 1;
}

/* ---- figures ---- */

struct figure {
    char text[FIGURE_CELLS + 11]; /* cut when drawn */
    uint32_t rgb;
};

__attribute__((format(printf, 3, 4))) static void set(struct figure *f, uint32_t rgb, const char *format,
                                                      ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(f->text, sizeof f->text, format, args);
    va_end(args);
    f->rgb = rgb;
}

static const char *policy_name(uint8_t policy) {
    return policy == KL_POLICY_STRICT ? "strict" : policy == KL_POLICY_BOUNDED ? "bounded" : "optimistic";
}

/* Frames that close by the clock wait for no interval: there is no spacing to see. */
static void set_lead(const struct kl_panel *p, struct figure *f) {
    char lead[16] = "-", by[24] = "by clock";
    if (p->lead_frames > 0) snprintf(lead, sizeof lead, "%.1f", p->lead_frames);
    if (p->policy != KL_POLICY_OPTIMISTIC) snprintf(by, sizeof by, "spacing %u", p->spacing);
    set(f, WHITE, "lead %s  %s", lead, by);
}

static void fill_figures(const struct kl_panel *p, struct figure f[FIGURES]) {
    set(&f[0], WHITE, "RTT %.0f +-%.0f ms", p->rtt_ms, p->jitter_ms);
    set_lead(p, &f[1]);
    if (p->policy == KL_POLICY_STRICT)
        set(&f[2], WHITE, "strict");
    else
        set(&f[2], WHITE, "%s %u ms", policy_name(p->policy), p->budget_ms);
    set(&f[3], WHITE, "late %llu  backlog %u", (unsigned long long)p->late, p->backlog);
    set(&f[4], p->stalled ? YELLOW : WHITE, "stalls %llu", (unsigned long long)p->stalls);
    if (p->stalls)
        set(&f[4], p->stalled ? YELLOW : WHITE, "stalls %llu (%.1f s)", (unsigned long long)p->stalls,
            p->longest_stall_ms / 1000.0);
    if (p->desync)
        set(&f[5], RED, "out of sync %u", p->desync_frame);
    else if (p->any_verified)
        set(&f[5], GREEN, "verified %u", p->verified);
    else
        set(&f[5], GREY, "not verified yet");
}

/* ---- graphs ---- */

struct graph {
    const struct kl_graph *h;
    int x, y, steps; /* a step is a unit wide */
};

/* Frames that the graph is high: the most that is worth seeing, rounded up to fours. */
static unsigned lead_scale(const struct graph *g) {
    unsigned most = 4;
    for (unsigned i = 0; i < (unsigned)g->steps; i++) {
        struct kl_graph_step s = kl_graph_part(g->h, i, (unsigned)g->steps);
        unsigned need = s.need / 4u + 1, line = s.had / 4u + 1;
        if (need > most) most = need;
        if (line > most) most = line;
    }
    return (most + 3) / 4 * 4;
}

static int bar(unsigned value, unsigned full, int height) {
    return value >= full ? height : (int)(value * (unsigned)height / full);
}

/* The lead that each frame needed, and the lead that it had; a stall is a column from top to bottom. */
static void draw_lead_step(const struct graph *g, const struct kl_canvas *c, int i, unsigned full) {
    struct kl_graph_step s = kl_graph_part(g->h, (unsigned)i, (unsigned)g->steps);
    int need = bar(s.need, full * 4, LEAD_HEIGHT), line = bar(s.had, full * 4, LEAD_HEIGHT);
    int backlog = bar(s.backlog, full, LEAD_HEIGHT - 1), bottom = g->y + LEAD_HEIGHT, x = g->x + i;
    if (s.stalled) kl_canvas_fill(c, x, g->y, 1, LEAD_HEIGHT, MAROON);
    kl_canvas_fill(c, x, bottom - need, 1, need, s.need > s.had ? RED : GREEN);
    if (s.backlog) kl_canvas_fill(c, x, bottom - 1 - backlog, 1, 1, CYAN);
    if (s.had) kl_canvas_fill(c, x, bottom - line, 1, 1, YELLOW);
}

static void draw_gap_step(const struct graph *g, const struct kl_canvas *c, int i) {
    struct kl_graph_step s = kl_graph_part(g->h, (unsigned)i, (unsigned)g->steps);
    int high = bar(s.gap_ms, GAP_FULL_MS, GAP_HEIGHT);
    kl_canvas_fill(c, g->x + i, g->y + GAP_HEIGHT - high, 1, high, s.gap_ms >= GAP_FULL_MS ? RED : GREY);
}

static int draw_words(const struct kl_canvas *c, int x, int y, const char *const word[], const uint32_t rgb[],
                      unsigned n) {
    for (unsigned i = 0; i < n; i++)
        x = kl_canvas_text(c, x, y, 20, rgb[i], word[i]) + KL_FONT_WIDTH;
    return x;
}

static void draw_graphs(const struct kl_graph *h, const struct kl_canvas *c, int x, int y, int width,
                        bool both) {
    static const char *const words[] = {"need", "had", "backlog", "stall"};
    static const uint32_t colours[] = {GREEN, YELLOW, CYAN, RED};
    if (width < 1) return;
    struct graph g = {h, x, y, width < KL_GRAPH_STEPS ? width : KL_GRAPH_STEPS};
    unsigned full = lead_scale(&g);
    char label[24];
    for (int i = 0; i < g.steps; i++)
        draw_lead_step(&g, c, i, full);
    int right = x + g.steps + KL_FONT_WIDTH / 2, cells = (x + width - right) / KL_FONT_WIDTH;
    snprintf(label, sizeof label, "%u fr", full);
    if (cells >= (int)strlen(label)) kl_canvas_text(c, right, y, cells, GREY, label);
    y += LEAD_HEIGHT + 2;
    draw_words(c, x, y, words, colours, 4);
    if (cells >= 5) kl_canvas_text(c, right, y, cells, GREY, "10 s");
    y += LINE_HEIGHT;
    if (!both) return;
    g.y = y;
    for (int i = 0; i < g.steps; i++)
        draw_gap_step(&g, c, i);
    kl_canvas_shade(c, x, y, 10 * KL_FONT_WIDTH, KL_FONT_HEIGHT);
    kl_canvas_text(c, x, y, 10, GREY, "frame time");
    if (cells >= 5) kl_canvas_text(c, right, y, cells, GREY, "50 ms");
}

/* ---- the panel ---- */

struct layout {
    bool wide, both;        /* names beside figures; both graphs */
    int x, y, width, cells; /* of the text */
    int members;            /* lines that they may take */
    bool watched;           /* one line more below the members */
    int state_lines;
    int height;
};

static int text_lines(const struct kl_panel *p, const struct layout *l) {
    int members = ((int)p->count < l->members ? (int)p->count : l->members) + l->watched;
    return l->wide ? (members > FIGURES ? members : FIGURES) : members + FIGURES;
}

/* If it does not fit, the second graph goes first, then the watchers' line, then members. */
static struct layout lay_out(const struct kl_panel *p, const struct kl_canvas *c, const char *state) {
    struct layout l = {.wide = c->columns >= WIDE_COLUMNS, .both = true, .x = EDGE, .y = EDGE};
    l.width = (l.wide ? WIDE_COLUMNS : c->columns) - 2 * EDGE;
    l.cells = l.width / KL_FONT_WIDTH;
    l.members = (int)(p->count < KL_MAX_CLIENTS ? p->count : KL_MAX_CLIENTS);
    l.watched = p->watchers > 0;
    l.state_lines = draw_broken(NULL, 0, 0, l.cells, STATE_LINES, 0, state);
    for (;;) {
        int lines = 1 + text_lines(p, &l) + l.state_lines;
        l.height =
            EDGE + lines * LINE_HEIGHT + 2 + LEAD_HEIGHT + 2 + LINE_HEIGHT + (l.both ? GAP_HEIGHT + 1 : 0);
        if (l.height <= c->rows || (!l.both && !l.watched && l.members <= 1)) return l;
        if (l.both)
            l.both = false;
        else if (l.watched)
            l.watched = false;
        else
            l.members--;
    }
}

static void draw_head(const struct kl_panel *p, const struct kl_canvas *c, const struct layout *l) {
    char right[16];
    snprintf(right, sizeof right, "%u fps", p->fps);
    int tail = (int)strlen(right);
    int x = kl_canvas_text(c, l->x, l->y, l->cells, CYAN, "Keylock ");
    int left = l->cells - tail - 1 - (x - l->x) / KL_FONT_WIDTH;
    int end = kl_canvas_text(c, x, l->y, left, WHITE, p->room);
    left -= (end - x) / KL_FONT_WIDTH;
    if (p->any_version && left > 0) kl_canvas_text(c, end, l->y, left, YELLOW, "  any version");
    kl_canvas_text(c, l->x + (l->cells - tail) * KL_FONT_WIDTH, l->y, tail, GREY, right);
}

void kl_panel_draw(const struct kl_panel *p, const struct kl_graph *h, const struct kl_canvas *c) {
    char state[KL_PANEL_LINE];
    struct figure f[FIGURES];
    int percent;
    enum kl_panel_tone tone = kl_panel_state(p, state, &percent);
    struct layout l = lay_out(p, c, state);
    kl_canvas_shade(c, 0, 0, l.width + 2 * EDGE, l.height);
    draw_head(p, c, &l);
    fill_figures(p, f);
    int names = l.wide ? l.cells - FIGURE_CELLS - 1 : l.cells, y = l.y + LINE_HEIGHT;
    int figures_x = l.wide ? l.x + (l.cells - FIGURE_CELLS) * KL_FONT_WIDTH : l.x;
    int taken = draw_clients(p, c, l.x, y, names, l.members);
    if (l.watched) draw_watchers(p, c, l.x, y + taken++ * LINE_HEIGHT, names);
    for (int i = 0; i < FIGURES; i++)
        kl_canvas_text(c, figures_x, y + (i + (l.wide ? 0 : taken)) * LINE_HEIGHT, FIGURE_CELLS, f[i].rgb,
                       f[i].text);
    y += text_lines(p, &l) * LINE_HEIGHT;
    draw_broken(c, l.x, y, l.cells, STATE_LINES, tones[tone], state);
    y += l.state_lines * LINE_HEIGHT;
    draw_graphs(h, c, l.x, y + 2, l.width, l.both);
}

/* ---- the line and the card ---- */

static void draw_bar(const struct kl_canvas *c, int y, enum kl_panel_tone tone, int percent) {
    int full = c->columns - 2 * EDGE, done = full * (percent < 100 ? percent : 100) / 100;
    kl_canvas_fill(c, EDGE, y, full, 2, 0x404448);
    kl_canvas_fill(c, EDGE, y, done, 2, tones[tone]);
}

int kl_panel_draw_line(const struct kl_canvas *c, int bottom, const char *line, enum kl_panel_tone tone,
                       int percent) {
    int cells = (c->columns - 2 * EDGE) / KL_FONT_WIDTH;
    if (cells < 1 || !*line) return bottom;
    int lines = draw_broken(NULL, 0, 0, cells, MESSAGE_LINES, 0, line);
    int height = lines * LINE_HEIGHT + 4 + (percent >= 0 ? 3 : 0), y = bottom - height;
    kl_canvas_shade(c, 0, y, c->columns, height);
    draw_broken(c, EDGE, y + 3, cells, MESSAGE_LINES, tones[tone], line);
    if (percent >= 0) draw_bar(c, bottom - 4, tone, percent);
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

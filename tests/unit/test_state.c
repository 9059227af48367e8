/* test_state.c - the states of a match: the table of docs/design.md, "States of a match", says of each
 * event what it does in each state, and the wrapper's own table does just that. */
#include "tests/unit/unit.h"

#include <stdio.h>

#include "core_wrapper/match/match.h"
#include "core_wrapper/match/state.h"

#define PAGE    "docs/design.md"
#define SECTION "### States of a match"
#define LINE    600

/* As the page names them. */
static const char *const state_name[KL_MATCH_STATES] = {
    [KL_MATCH_NONE] = "none",
    [KL_MATCH_BARE] = "bare",
    [KL_MATCH_IDLE] = "idle",
    [KL_MATCH_ALONE] = "alone",
    [KL_MATCH_READING] = "reading",
    [KL_MATCH_LOOKING] = "looking",
    [KL_MATCH_ASKING] = "asking",
    [KL_MATCH_WAITING] = "waiting",
    [KL_MATCH_RETRYING] = "retrying",
    [KL_MATCH_STILL] = "still",
    [KL_MATCH_READING_STILL] = "reading still",
    [KL_MATCH_LOOKING_STILL] = "looking still",
    [KL_MATCH_ASKING_STILL] = "asking still",
    [KL_MATCH_WAITING_STILL] = "waiting still",
    [KL_MATCH_READY] = "ready",
    [KL_MATCH_READY_STILL] = "ready still",
    [KL_MATCH_PLAYING] = "playing",
    [KL_MATCH_AFTER] = "after",
    [KL_MATCH_REPLAY] = "replay",
    [KL_MATCH_REPLAYING] = "replaying",
    [KL_MATCH_DEAD] = "dead",
};
static const char *const event_name[KL_ON_EVENTS] = {
    [KL_ON_CLOSED_CORE] = "closed core",
    [KL_ON_BARE] = "bare",
    [KL_ON_LOCKABLE] = "lockable",
    [KL_ON_FREE] = "free",
    [KL_ON_STAND] = "stand",
    [KL_ON_READ] = "read",
    [KL_ON_LOOK] = "look",
    [KL_ON_DIAL] = "dial",
    [KL_ON_WELCOME] = "welcome",
    [KL_ON_HANG_UP] = "hang up",
    [KL_ON_SILENCE] = "silence",
    [KL_ON_LOADED] = "loaded",
    [KL_ON_UNSEATED] = "unseated",
    [KL_ON_PUT_BACK] = "put back",
    [KL_ON_BEGIN] = "begin",
    [KL_ON_GONE] = "gone",
    [KL_ON_REPLAY] = "replay",
    [KL_ON_SHOW] = "show",
    [KL_ON_DIE] = "die",
    [KL_ON_CLOSE] = "close",
};

static enum kl_match_state expected[KL_MATCH_STATES][KL_ON_EVENTS];
static bool has_row[KL_ON_EVENTS];

static bool is_word(const char *at, size_t len, const char *word) {
    return strlen(word) == len && !strncmp(at, word, len);
}

/* A state's name; or of all that are lockable, of those in which the core runs, or stands, before a match. */
static bool is_of(const char *at, size_t len, enum kl_match_state s) {
    if (is_word(at, len, state_name[s])) return true;
    if (is_word(at, len, "*any*")) return true;
    if (is_word(at, len, "*lockable*")) return kl_match_lockable(s);
    if (is_word(at, len, "*running*")) return kl_match_phase(s) == KL_PHASE_FREE;
    return is_word(at, len, "*standing*") && kl_match_phase(s) == KL_PHASE_WAITING && s != KL_MATCH_REPLAY;
}

/* "from, from → to" */
static void read_arrow(enum kl_match_event e, char *arrow) {
    char *to = strstr(arrow, " → ");
    enum kl_match_state next = KL_MATCH_STATES;
    assert_non_null(to);
    *to = 0;
    to += strlen(" → ");
    for (enum kl_match_state s = 0; s < KL_MATCH_STATES; s++)
        if (!strcmp(to, state_name[s])) next = s;
    if (next == KL_MATCH_STATES) fail_msg("%s: no state: %s", event_name[e], to);
    for (char *at = arrow, *end; *at; at = end + strspn(end, ", ")) {
        unsigned found = 0;
        end = at + strcspn(at, ",");
        for (enum kl_match_state s = 0; s < KL_MATCH_STATES; s++) {
            if (!is_of(at, (size_t)(end - at), s)) continue;
            expected[s][e] = next;
            found++;
        }
        if (!found) fail_msg("%s: no state: %s", event_name[e], at);
    }
}

/* "| event | when | arrow; arrow |" */
static bool read_row(char *line) {
    char *cell[3], *rest = line, *arrow;
    for (unsigned i = 0; i < 3; i++)
        if (!(cell[i] = strtok_r(i ? NULL : line, "|", &rest))) return false;
    for (enum kl_match_event e = 0; e < KL_ON_EVENTS; e++) {
        if (!is_word(cell[0] + 1, strlen(cell[0]) - 2, event_name[e])) continue;
        has_row[e] = true;
        cell[2][strlen(cell[2]) - 1] = 0;
        for (rest = cell[2] + 1; (arrow = strtok_r(NULL, ";", &rest));)
            read_arrow(e, arrow + strspn(arrow, " "));
        return true;
    }
    return false;
}

static void read_page(void) {
    char line[LINE];
    bool inside = false;
    FILE *f = fopen(PAGE, "r");
    assert_non_null(f);
    for (enum kl_match_state s = 0; s < KL_MATCH_STATES; s++)
        for (enum kl_match_event e = 0; e < KL_ON_EVENTS; e++)
            expected[s][e] = s;
    while (fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = 0;
        if (*line == '#') inside = !strcmp(line, SECTION);
        if (inside && *line == '|') (void)read_row(line);
    }
    fclose(f);
}

TEST(each_event_in_each_state_is_as_the_page_says) {
    read_page();
    for (enum kl_match_event e = 0; e < KL_ON_EVENTS; e++) {
        if (!has_row[e]) fail_msg(PAGE " has no row for %s", event_name[e]);
        for (enum kl_match_state s = 0; s < KL_MATCH_STATES; s++)
            if (kl_match_next(s, e) != expected[s][e])
                fail_msg("%s in %s: " PAGE " says %s, the match goes to %s", event_name[e], state_name[s],
                         state_name[expected[s][e]], state_name[kl_match_next(s, e)]);
    }
}

/* The core is nobody's or the room's by the state alone, whatever came before. */
TEST(the_core_follows) {
    static struct kl_match match;
    for (enum kl_match_state s = 0; s < KL_MATCH_STATES; s++)
        for (enum kl_match_event e = 0; e < KL_ON_EVENTS; e++) {
            const enum kl_phase was = kl_match_phase(s);
            match.state = s;
            match.emu.phase = was;
            match.emu.runner = true; /* no frontend to tell of its pace */
            match.play.begins_free = false;
            kl_match_on(&match, e);
            assert_int_equal(match.emu.phase, kl_match_phase(kl_match_next(s, e)));
            bool begins = match.emu.phase == KL_PHASE_FREE && was != KL_PHASE_FREE && was != KL_PHASE_LOCAL;
            assert_int_equal(match.play.begins_free, begins);
        }
}

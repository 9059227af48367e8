/* command_words.h - commands as text and as data. net/PROTOCOL.md §5, Commands.
 *
 * Disks and players (A, B) count from 1, as frontends show them; disk 0 is none. `swap` alone means players
 * 1 and 2. Spacing 0 follows the link. Pure. */
#ifndef KL_COMMAND_WORDS_H
#define KL_COMMAND_WORDS_H

#include "net/engine/command.h"
#include "net/engine/msg.h"

#define KL_WORDS_MAX     512 /* bytes of a line, NUL included */
#define KL_BUDGET_MIN_MS 20  /* below it a single late packet would make a player absent */
#define KL_BUDGET_MAX_MS 60000

struct kl_words_parser;

/* A command, for people: `keylock command --help` and docs/options.md have these rows. */
struct kl_words_row {
    const char *form;    /* its first word is the command's; "disk N|next|previous" are three forms */
    const char *effect;  /* a half sentence; backquotes around words to be typed */
    const char *allowed; /* "all", "players", "host" */
    int (*parse)(struct kl_words_parser *p, const char *rest);
};
extern const struct kl_words_row kl_words_rows[]; /* the last has no form */

/* A parsed command. The caller fills open values into order.data. */
struct kl_words {
    bool panel;        /* no command of the room: turns the panel on this machine's screen */
    bool ahead;        /* no command of the room: this machine runs ahead of the lock, or no longer */
    bool queue;        /* no command of the room: tells who plays and who waits */
    bool chat;         /* no command of the room: opens a line for typing */
    const char *voice; /* no command of the room: "off", "on" or "push" for this player; else NULL */
    bool mute;         /* no command of the room: `who` is not heard here any more, or again */
    bool volume;       /* no command of the room: `who` is heard here at `percent`, 0 to 200 */
    unsigned percent;
    bool talk;              /* no command of the room: the hot key that is held for speaking */
    bool leave;             /* no command of the room: leaves it, or the way to one */
    bool again;             /* a reset for all in a match; else tries the room again that did not let us in */
    char who[KL_WORDS_MAX]; /* the member of host, kick, ban, mute, volume or give (a swap of data[0]); "" */
    int disk_step;          /* disk next or previous: steps from the present disk; 0: none */
    bool has_policy, has_budget, has_spacing, has_lead_max; /* policy: values given */
    struct kl_order order;
};

/* "strict", "bounded", "optimistic" as a number of enum kl_policy. False for anything else. */
bool kl_policy_of(const char *name, uint8_t *out);
const char *kl_policy_name(uint8_t policy); /* "unknown" for another number */

/* Returns 0, or -1 with a line in err that names the expected and the actual value. */
int kl_words_parse(struct kl_words *out, const char *line, char *err, size_t err_len);

/* The data of policy and disk commands. Reading returns false for data of another form. */
void kl_words_put_policy(struct kl_order *o, uint8_t policy, uint16_t budget_ms, uint8_t spacing,
                         uint8_t lead_max);
/* Sets the four in `into`; false, and it does not, if the data has another form. */
bool kl_words_get_policy(const struct kl_command *c, struct kl_params *into);
void kl_words_put_disk(struct kl_order *o, uint16_t index);
bool kl_words_get_disk(const struct kl_command *c, uint16_t *index);

/* Carries out a swap on the seats that the pads of each seat play. False, and nothing changes, for data of
 * another form. */
bool kl_words_swap(const struct kl_command *c, uint8_t plays[KL_MAX_SEATS]);

/* The data as text. Others wrote it, so all bytes that are not UTF-8, and control characters, become '?'. */
void kl_words_text(const struct kl_command *c, char out[KL_COMMAND_BYTES + 1]);
/* The byte of a relay's notice where somebody's own words begin: "[f N] NAME: TEXT" of a member or the relay,
 * or "NAME (watches): TEXT". 0 for other notices. The name may itself read like one of these forms. */
size_t kl_words_in_notice(const char *text, const struct kl_roster *roster);
/* kl_words_text(), split at the first '='. False if there is no '=' or no key before it. */
bool kl_words_option(const struct kl_command *c, char key[KL_COMMAND_BYTES + 1],
                     char value[KL_COMMAND_BYTES + 1]);

#endif

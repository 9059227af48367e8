/* tool.h - shared by the sub-commands of `keylock`: exit codes, messages, places. */
#ifndef KLT_TOOL_H
#define KLT_TOOL_H

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core_wrapper/words/config.h"
#include "core_wrapper/words/config_table.h"
#include "net/platform/options.h"

/* `keylock run`; diff, blame, bisect and probe have some of their own, see their --help. 2 is wrong usage in
 * all. */
enum {
    KLT_OK = 0,
    KLT_FAILED = 1, /* interrupted, the core asked to stop, out of memory */
    KLT_USAGE = 2,  /* the command line */
    KLT_DESYNC = 3, /* hashes differ between the members of the room */
    KLT_ROOM = 4,   /* the relay was not reached, refused, closed the room, or gave no verdict in time */
    KLT_LOAD = 5,   /* core or content could not be loaded */
    KLT_OUTPUT = 6, /* a hash, trace or save file could not be written */
};

int cmd_install(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_play(int argc, char **argv);
int cmd_command(int argc, char **argv);
int cmd_rooms(int argc, char **argv);
int cmd_run(int argc, char **argv);
int cmd_diff(int argc, char **argv);
int cmd_blame(int argc, char **argv);
int cmd_bisect(int argc, char **argv);
int cmd_replay(int argc, char **argv);
int cmd_delete(int argc, char **argv);
int cmd_verify(int argc, char **argv);
int cmd_probe(int argc, char **argv);
int cmd_challenge(int argc, char **argv);    /* `keylock play --challenge` */
int cmd_card(int argc, char **argv);         /* a core's own description, from a process of its own */
int cmd_machine(int argc, char **argv);      /* machine.h: a core in a process of its own */
int cmd_verify_child(int argc, char **argv); /* one recording of `verify --watch` */
int cmd_router(int argc, char **argv);       /* the router's part of --host-here, in a process of its own */
extern const char cmd_install_help[], cmd_doctor_help[], cmd_play_help[], cmd_command_help[],
    cmd_delete_help[], cmd_rooms_help[], cmd_run_help[], cmd_diff_help[], cmd_blame_help[], cmd_bisect_help[],
    cmd_replay_help[], cmd_verify_help[], cmd_probe_help[], cmd_challenge_help[];

/* A sub-command as main.c lists it. */
struct kl_tool_command {
    const char *name, *purpose; /* purpose NULL: only for this program itself */
    const char *help;
    int (*run)(int argc, char **argv);
};

/* Runs the command; tool_usage() then speaks in its name. */
int tool_run(const struct kl_tool_command *c, int argc, char **argv);

/* Text or version on standard output. KLT_OK or KLT_OUTPUT. */
int tool_show(const char *text);
int tool_show_version(void);

/* Wrong usage: one line on standard error with a hint at --help, and the program ends with KLT_USAGE. The
 * line names the expected and the actual value. */
int tool_usage(const char *format, ...) __attribute__((format(__printf__, 1, 2), noreturn));

/* Reads the command's options into base, after the rows' defaults: optind is then the first word behind them.
 * --help, -h, --version and -V end the program; so does wrong usage. A line "@0" of the command's help stands
 * for the rows of the first table, "@1" for those of the second. in_order: options end at the first word that
 * is none. */
void tool_parse(int argc, char **argv, bool in_order, const struct kl_table *tables, void *base);

/* One line on standard error: "keylock COMMAND: …". Returns `code`. */
int tool_fail(int code, const char *command, const char *format, ...)
    __attribute__((format(__printf__, 3, 4)));

/* A path of the command line as one of ours (kl_file_use_slashes()), in place. Returns arg. */
char *tool_path(char *arg);

/* The folder of this program, without a slash at the end. */
int tool_own_dir(char *out, size_t cap);

/* Finds keylock_libretro.so: beside this program, else in the lib folders of its prefix. Returns 0, or -1,
 * and err lists the places searched. */
int tool_find_wrapper(char *out, size_t cap, char *err, size_t err_len);

/* A core by name or path, also beside this program. */
int tool_find_core(const char *name, char *out, size_t cap, char *err, size_t err_len);

/* Sets a number in the environment of programs that we start. */
void tool_export_number(const char *name, uint64_t value);
/* The same for a text, unless the variable is there already. */
void tool_export_usual(const char *name, const char *value);

/* Looks at the files below folders, until one is the right one. Bounded: 50,000 files, 512 folders.
 * Links to folders below are not followed, and hidden names are passed over. */

#define KLT_WALK_FOLDERS 512

/* The caller sets look and ctx; the rest is zero. */
struct kl_walk {
    bool (*look)(void *ctx, const char *path); /* true: this one ends the walk */
    void *ctx;
    unsigned files, folders;
    char *folder[KLT_WALK_FOLDERS]; /* real paths, looked through already */
};

#define KLT_WALK_DEEP 6 /* folders below each other, as a rule */

/* True if look() said so. deep: so many folders below each other, 0: this one alone. One that was looked
 * through already is passed over. */
bool kl_walk_folder(struct kl_walk *w, const char *folder, unsigned deep);
bool kl_walk_file(struct kl_walk *w, const char *path);
void kl_walk_free(struct kl_walk *w);

/* Flags of `keylock play` and `keylock run` that are rows of config_table.h: their values are
 * checked here rather than by the wrapper in RetroArch's window. The wrapper gets them by the environment. */

struct kl_forward {
    const char *value[KL_CONFIG_ROWS_MAX]; /* by row; NULL: not given */
    struct kl_config config;               /* the given values, and nothing else */
};

/* The table (net/platform/options.h) of a command whose struct s has such a member f, not as its first. */
#define KLT_FORWARD(s, f, by)                                                                                \
    { kl_config_rows, by, offsetof(s, f.config), offsetof(s, f.value), NULL }

/* Of a row with another field (const char *): checked as the row of its name, and borrowed. */
bool kl_forward_check(const struct kl_row *row, void *field, const char *value, char why[KL_ROW_TEXT]);

/* Gives a row a value, as its flag would. A bad value is wrong usage. */
void kl_forward_set(struct kl_forward *f, const char *key, const char *value);
/* NULL: not given. key: or a flag without one. */
const char *kl_forward_value(const struct kl_forward *f, const char *key);

/* Sets the variables of all given values. */
void kl_forward_export(const struct kl_forward *f);

/* --- a core's own description --- */

/* A core's own description before it has content, asked in a process of its own: if the core crashes or hangs
 * while it loads, nothing else ends with it. */

struct kl_card {
    char name[128], version[128], extensions[1024]; /* library_name and the like */
    bool full_path;                                 /* it wants the content's path, not its bytes */
    bool ours;                                      /* it is a wrapper itself */
};

/* 0, or -1 with a line in err that names the file. */
int kl_card_read(struct kl_card *card, const char *core, char *err, size_t err_len);

#endif

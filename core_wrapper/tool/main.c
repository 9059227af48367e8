/* keylock - the launcher and testers' tool. Each sub-command has a file of its own. */
#include "core_wrapper/tool/common/tool.h"

#include <stdio.h>
#include <string.h>

#include "net/platform/process.h"

#define COMMAND(name, purpose)                                                                               \
    { #name, purpose, cmd_##name##_help, cmd_##name }
static const struct kl_tool_command commands[] = {
    COMMAND(install, "puts cores into RetroArch's list for online play"),
    COMMAND(doctor, "checks all that a match needs, and advises"),
    COMMAND(play, "starts RetroArch with a core in lock with the other players of a room"),
    COMMAND(command, "gives a command to the room played on this machine: pause, reset, say, …"),
    COMMAND(rooms, "asks a relay for its public rooms"),
    COMMAND(run, "runs a core without screen or sound, alone or in a room, and hashes its states"),
    COMMAND(diff, "compares two files of hashes"),
    COMMAND(blame, "names the memory and the bytes in which two savestates differ"),
    COMMAND(bisect, "finds the first frame in which two runs part, and the difference there"),
    COMMAND(replay, "says what a recording of a match holds, and writes it for other programs"),
    COMMAND(delete, "has a relay delete the recording of a match of yours"),
    COMMAND(verify, "runs recordings again and holds them against their hashes"),
    COMMAND(probe, "finds out whether a core is fit for locking"),
    {"router", NULL, "", cmd_router},
    {"card", NULL, "", cmd_card},
    {"machine", NULL, "", cmd_machine},
    {"verify-child", NULL, "", cmd_verify_child},
};
#define COMMANDS (sizeof commands / sizeof *commands)

/* `keylock play --challenge`: of the folder of recordings. */
static const struct kl_tool_command challenge = {"play", NULL, cmd_challenge_help, cmd_challenge};

static const struct kl_tool_command *find(const char *name) {
    for (size_t i = 0; i < COMMANDS; i++)
        if (strcmp(name, commands[i].name) == 0) return &commands[i];
    tool_usage("expected a known command, got \"%s\"", name);
}

static const struct kl_tool_command *find_command(int argc, char **argv) {
    for (int i = 2; i < argc && !strcmp(argv[1], "play") && strcmp(argv[i], "--") != 0; i++)
        if (strncmp(argv[i], "--challenge", 11) == 0) return &challenge;
    return find(argv[1]);
}

static int show_commands(void) {
    printf("Usage: keylock COMMAND [ARGUMENTS]\n"
           "       keylock help [COMMAND]\n"
           "       keylock --version\n"
           "\n");
    for (size_t i = 0; i < COMMANDS; i++)
        if (commands[i].purpose) printf("  %-8s %s\n", commands[i].name, commands[i].purpose);
    return tool_show("\n"
                     "`keylock help COMMAND' and `keylock COMMAND --help' explain a command.\n"
                     "Every command ends with exit status 2 after wrong usage.\n");
}

int main(int argc, char **argv) {
    kl_process_begin(&argc, &argv);
    const char *word = argc > 1 ? argv[1] : "";
    bool help = !strcmp(word, "help") || !strcmp(word, "--help") || !strcmp(word, "-h");
    bool version = !strcmp(word, "--version") || !strcmp(word, "-V");
    if (argc < 2) tool_usage("expected a command, got none");
    if (!help && !version) return tool_run(find_command(argc, argv), argc - 1, argv + 1);
    bool one = argc == 3 && !strcmp(word, "help");
    if (argc > 2 && !one) tool_usage("expected nothing more behind %s, got \"%s\"", word, argv[argc - 1]);
    if (one) return tool_run(find(argv[2]), 2, (char *[]){argv[2], (char *)"--help", NULL});
    return help ? show_commands() : tool_show_version();
}

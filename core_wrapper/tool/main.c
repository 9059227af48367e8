/* keylock - the launcher and testers' tool. Each sub-command has a file of its own. */
#include "core_wrapper/tool/tool.h"

#include <stdio.h>
#include <string.h>

static const char help[] =
    "Usage: keylock COMMAND [ARGUMENTS]\n"
    "\n"
    "  install  put cores into RetroArch's list for playing online\n"
    "  doctor   say whether all is there that a match needs, and what to do where it is not\n"
    "  play     start RetroArch with a core locked to the other players of a room\n"
    "  command  tell the room that is being played on this machine: pause, reset, say, …\n"
    "  rooms    ask a relay for its public rooms\n"
    "  run      run a core without screen or sound, alone or in a room, and hash its states\n"
    "  diff     compare two files of hashes\n"
    "  blame    name what differs between two savestates: which memory, which bytes\n"
    "  bisect   find the first frame in which two runs part, and what differs there\n"
    "  probe    find out whether a core is fit for locking\n"
    "\n"
    "keylock COMMAND --help tells more.\n";

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        int (*run)(int argc, char **argv);
    } commands[] = {{"install", cmd_install}, {"doctor", cmd_doctor}, {"play", cmd_play},
                    {"command", cmd_command}, {"run", cmd_run},       {"rooms", cmd_rooms},
                    {"diff", cmd_diff},       {"blame", cmd_blame},   {"bisect", cmd_bisect},
                    {"machine", cmd_machine}, {"probe", cmd_probe},   {"probe-child", cmd_probe_child}};
    if (argc < 2) {
        fputs(help, stderr);
        return KLT_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
        fputs(help, stdout);
        return KLT_OK;
    }
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
        if (strcmp(argv[1], commands[i].name) == 0) return commands[i].run(argc - 1, argv + 1);
    fprintf(stderr,
            "keylock: expected install, doctor, play, command, rooms, run, diff, blame, bisect or probe, got "
            "\"%s\"\n",
            argv[1]);
    return KLT_USAGE;
}

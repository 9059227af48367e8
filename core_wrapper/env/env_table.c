#include <stddef.h>

#include "core_wrapper/env/env.h"
#include "core_wrapper/env/env_answers.h"

#define X(n)  ((n) | RETRO_ENVIRONMENT_EXPERIMENTAL)
#define RA(n) ((n) | 0x800000u) /* RetroArch's own block, retroarch.h */

#define FORWARD      KL_ENV_FORWARD, KL_ENV_FORWARD, NULL
#define ANSWER(name) KL_ENV_FORWARD, KL_ENV_ANSWER, kl_env_##name
#define REFUSE       KL_ENV_FORWARD, KL_ENV_REFUSE, NULL

/* Every environment call of libretro.h; calls newer than Debian 12's header stand by number. Alone, all
 * calls but one are forwarded: FORWARD, ANSWER and REFUSE are for a room. "Twice" means the load at the
 * room's start, which the frontend must not notice. 4, 5 and 20 are no longer calls. */
static const struct kl_env_entry table[] = {
    {1, "SET_ROTATION", ANSWER(rotation), "told again only where it changes"},
    {2, "GET_OVERSCAN", ANSWER(overscan), "a player's setting; cropped everywhere"},
    {3, "GET_CAN_DUPE", ANSWER(can_dupe),
     "true everywhere; a frontend that cannot is shown the kept picture"},
    {6, "SET_MESSAGE", FORWARD, "only shown"},
    {7, "SHUTDOWN", FORWARD, "the emulated machine went off, at the same frame everywhere"},
    {8, "SET_PERFORMANCE_LEVEL", ANSWER(first_load), "a hint while loading; once is enough"},
    {9, "GET_SYSTEM_DIRECTORY", FORWARD, "what is read there is compared by identity.c"},
    {10, "SET_PIXEL_FORMAT", ANSWER(pixel_format), "twice; a change re-inits the frontend's video"},
    {11, "SET_INPUT_DESCRIPTORS", ANSWER(descriptors), "deep copy: frontends keep the pointers"},
    {12, "SET_KEYBOARD_CALLBACK", ANSWER(keyboard), "events go through the lock"},
    {13, "SET_DISK_CONTROL_INTERFACE", ANSWER(disk),
     "a swap is a command: by one player alone it would part the machines"},
    {14, "SET_HW_RENDER", ANSWER(hw_render),
     "the same struct is forwarded once, the second time answered from memory"},
    {15, "GET_VARIABLE", ANSWER(variable), "the room's options; before it starts the player's; never NULL"},
    {16, "SET_VARIABLES", ANSWER(options), "kept, and shown by the frontend once, with the wrapper's own"},
    {17, "GET_VARIABLE_UPDATE", ANSWER(variable_update),
     "the room's options change by command, at the same frame everywhere"},
    {18, "SET_SUPPORT_NO_GAME", FORWARD, "before anything is loaded"},
    {19, "GET_LIBRETRO_PATH", KL_ENV_ANSWER, KL_ENV_ANSWER, kl_env_libretro_path,
     "of the core, not of the wrapper"},
    {21, "SET_FRAME_TIME_CALLBACK", ANSWER(frame_time),
     "always the reference; the frontend's follows the wall"},
    {22, "SET_AUDIO_CALLBACK", REFUSE, "asynchronous, from any thread; cores push then"},
    {23, "GET_RUMBLE_INTERFACE", ANSWER(rumble), "own seats only, mapped to the local port"},
    {24, "GET_INPUT_DEVICE_CAPABILITIES", ANSWER(capabilities), "all that the lock carries, everywhere"},
    {X(25), "GET_SENSOR_INTERFACE", REFUSE, "the lock carries no sensors"},
    {X(26), "GET_CAMERA_INTERFACE", REFUSE, "the lock carries no pictures"},
    {27, "GET_LOG_INTERFACE", ANSWER(log),
     "passed on; while a game loads, an error may name the file that it lacks"},
    {28, "GET_PERF_INTERFACE", ANSWER(perf), "counters follow frames; the same CPU features everywhere"},
    {29, "GET_LOCATION_INTERFACE", REFUSE, "one player's place"},
    {30, "GET_CORE_ASSETS_DIRECTORY", FORWARD, "read-only data of the core"},
    {31, "GET_SAVE_DIRECTORY", ANSWER(save_dir), "of the session: the players' own saves stay as they are"},
    {32, "SET_SYSTEM_AV_INFO", ANSWER(system_av_info), "re-inits drivers: only where something changed"},
    {33, "SET_PROC_ADDRESS_CALLBACK", REFUSE, "lets the frontend reach into the core past the lock"},
    {34, "SET_SUBSYSTEM_INFO", ANSWER(subsystems), "deep copy, told once"},
    {35, "SET_CONTROLLER_INFO", ANSWER(controllers), "deep copy: frontends keep the pointers"},
    {X(36), "SET_MEMORY_MAPS", ANSWER(memory_maps),
     "copies: cheats and the network command write through it"},
    {37, "SET_GEOMETRY", ANSWER(geometry), "told again only where it changes"},
    {38, "GET_USERNAME", ANSWER(username), "the same everywhere"},
    {39, "GET_LANGUAGE", ANSWER(language), "English everywhere"},
    {X(40), "GET_CURRENT_SOFTWARE_FRAMEBUFFER", REFUSE,
     "pictures may be hidden or kept; the core has its own buffer"},
    {X(41), "GET_HW_RENDER_INTERFACE", FORWARD, "the frontend's context"},
    {X(42), "SET_SUPPORT_ACHIEVEMENTS", FORWARD, "they read the copies"},
    {X(43), "SET_HW_RENDER_CONTEXT_NEGOTIATION_INTERFACE", ANSWER(first_load), "the context is made once"},
    {44, "SET_SERIALIZATION_QUIRKS", ANSWER(quirks), "told once; the core gets the same answer again"},
    {X(44), "SET_HW_SHARED_CONTEXT", FORWARD, "only asks the frontend"},
    {X(45), "GET_VFS_INTERFACE", REFUSE, "cores use the C library then, where world.c notes what they open"},
    {X(46), "GET_LED_INTERFACE", ANSWER(led), "only lights up; there is one everywhere"},
    {X(47), "GET_AUDIO_VIDEO_ENABLE", ANSWER(av_enable),
     "no picture in frames that will not be seen; sound always"},
    {X(48), "GET_MIDI_INTERFACE", REFUSE, "the lock carries no MIDI"},
    {X(49), "GET_FASTFORWARDING", ANSWER(fastforwarding), "never"},
    {X(50), "GET_TARGET_REFRESH_RATE", ANSWER(refresh_rate), "the room's: the core's own rate"},
    {X(51), "GET_INPUT_BITMASKS", ANSWER(bitmasks), "served from the locked frame"},
    {52, "GET_CORE_OPTIONS_VERSION", ANSWER(options_version), "not more than the wrapper keeps"},
    {53, "SET_CORE_OPTIONS", ANSWER(options), "kept, and shown by the frontend once, with the wrapper's own"},
    {54, "SET_CORE_OPTIONS_INTL", ANSWER(options),
     "kept, and shown by the frontend once, with the wrapper's own"},
    {55, "SET_CORE_OPTIONS_DISPLAY", FORWARD, "only shown; the frontend copies"},
    {56, "GET_PREFERRED_HW_RENDER", FORWARD, "what this machine can do"},
    {57, "GET_DISK_CONTROL_INTERFACE_VERSION", ANSWER(disk_version), "1 everywhere"},
    {58, "SET_DISK_CONTROL_EXT_INTERFACE", ANSWER(disk_ext), "a swap is a command, as above"},
    {59, "GET_MESSAGE_INTERFACE_VERSION", FORWARD, "only shown"},
    {60, "SET_MESSAGE_EXT", FORWARD, "only shown"},
    {61, "GET_INPUT_MAX_USERS", ANSWER(max_users), "the lock's seats, everywhere"},
    {62, "SET_AUDIO_BUFFER_STATUS_CALLBACK", REFUSE, "frame-skipping by one machine's sound card"},
    {63, "SET_MINIMUM_AUDIO_LATENCY", REFUSE, "belongs to the call above; re-inits the sound"},
    {64, "SET_FASTFORWARDING_OVERRIDE", REFUSE, "the pace is the room's"},
    {65, "SET_CONTENT_INFO_OVERRIDE", ANSWER(overrides), "deep copy, before anything is loaded"},
    {66, "GET_GAME_INFO_EXT", ANSWER(game_info_ext), "kept for the second load"},
    {67, "SET_CORE_OPTIONS_V2", ANSWER(options),
     "kept, and shown by the frontend once, with the wrapper's own"},
    {68, "SET_CORE_OPTIONS_V2_INTL", ANSWER(options),
     "kept, and shown by the frontend once, with the wrapper's own"},
    {69, "SET_CORE_OPTIONS_UPDATE_DISPLAY_CALLBACK", ANSWER(display_callback),
     "a proxy: the library is loaded twice"},
    {70, "SET_VARIABLE", ANSWER(set_variable), "the core's own change, at the same frame everywhere"},
    {X(71), "GET_THROTTLE_STATE", ANSWER(throttle), "none, at the core's rate"},
    {X(72), "GET_SAVESTATE_CONTEXT", ANSWER(savestate_context), "normal everywhere: FBNeo goes by it"},
    {X(73), "GET_HW_RENDER_CONTEXT_NEGOTIATION_INTERFACE_SUPPORT", FORWARD, "what this machine can do"},
    {74, "GET_JIT_CAPABLE", ANSWER(yes), "every machine that we build for is"},
    {X(75), "GET_MICROPHONE_INTERFACE", REFUSE, "the lock carries no sound"},
    {76, "SET_NETPACKET_INTERFACE (old)", REFUSE, "RetroArch's netplay beside the lock"},
    {X(77), "GET_DEVICE_POWER", REFUSE, "one player's battery"},
    {78, "SET_NETPACKET_INTERFACE", ANSWER(netpacket),
     "RetroArch has one slot, which is ours; a core's own is served through it while no relay is known"},
    {79, "GET_PLAYLIST_DIRECTORY", REFUSE, "the player's own"},
    {80, "GET_FILE_BROWSER_START_DIRECTORY", REFUSE, "the player's own"},
    {X(81), "GET_TARGET_SAMPLE_RATE", REFUSE, "one machine's sound card; cores have a rate of their own"},
    {RA(2), "RETROARCH_SET_SAVE_STATE_IN_BACKGROUND", FORWARD, "no states are saved in a room"},
    {RA(3), "RETROARCH_GET_CLEAR_ALL_THREAD_WAITS_CB", FORWARD, "cores call what it gives without asking"},
    {RA(4), "RETROARCH_POLL_TYPE_OVERRIDE", REFUSE, "the wrapper polls"},
};

const struct kl_env_entry *kl_env_all(unsigned *count) {
    *count = sizeof table / sizeof table[0];
    return table;
}

const struct kl_env_entry *kl_env_find(unsigned cmd) {
    for (unsigned i = 0; i < sizeof table / sizeof table[0]; i++)
        if (table[i].cmd == cmd) return &table[i];
    return NULL;
}

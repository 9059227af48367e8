#include <stddef.h>

#include "core_wrapper/env/env.h"
#include "core_wrapper/env/env_answers.h"

#define X(n)  ((n) | RETRO_ENVIRONMENT_EXPERIMENTAL)
#define RA(n) ((n) | 0x800000u) /* RetroArch's own block, retroarch.h */

/* To which part of the machine beside the savestate a SET_* call belongs (outside.h). */
#define LOCKED KL_PART_LOCKED
#define CORE   KL_PART_CORE
#define LOCAL  KL_PART_LOCAL
#define ASKS   KL_PART_NONE

#define FORWARD       KL_ENV_FORWARD, NULL, NULL, 0
#define ANSWER(name)  KL_ENV_ANSWER, kl_env_##name, NULL, 0
#define GIVE(type, v) KL_ENV_GIVE, NULL, &(const type){v}, sizeof(type)
#define REFUSE        KL_ENV_REFUSE, NULL, NULL, 0

/* All that the lock carries. */
#define DEVICES                                                                                              \
    (1u << RETRO_DEVICE_JOYPAD | 1u << RETRO_DEVICE_MOUSE | 1u << RETRO_DEVICE_KEYBOARD |                    \
     1u << RETRO_DEVICE_LIGHTGUN | 1u << RETRO_DEVICE_ANALOG | 1u << RETRO_DEVICE_POINTER)

/* Every environment call of libretro.h; calls newer than Debian 12's header stand by number. Alone, all
 * calls but one are forwarded: FORWARD, ANSWER and REFUSE are for a room. "Twice" means the load at the
 * room's start, which the frontend must not notice. 4, 5 and 20 are no longer calls. */
static const struct kl_env_entry table[] = {
    {1, "SET_ROTATION", LOCKED, ANSWER(rotation), "told again only where it changes"},
    {2, "GET_OVERSCAN", ASKS, GIVE(bool, false), "a player's setting; cropped everywhere"},
    {3, "GET_CAN_DUPE", ASKS, GIVE(bool, true),
     "true everywhere; a frontend that cannot is shown the kept picture"},
    {6, "SET_MESSAGE", LOCAL, FORWARD, "only shown"},
    {7, "SHUTDOWN", ASKS, FORWARD, "the emulated machine went off, at the same frame everywhere"},
    {8, "SET_PERFORMANCE_LEVEL", LOCAL, ANSWER(first_load), "a hint while loading; once is enough"},
    {9, "GET_SYSTEM_DIRECTORY", ASKS, FORWARD, "what is read there is compared by identity.c"},
    {10, "SET_PIXEL_FORMAT", LOCKED, ANSWER(pixel_format), "twice; a change re-inits the frontend's video"},
    {11, "SET_INPUT_DESCRIPTORS", LOCAL, ANSWER(descriptors), "deep copy: frontends keep the pointers"},
    {12, "SET_KEYBOARD_CALLBACK", CORE, ANSWER(keyboard), "events go through the lock"},
    {13, "SET_DISK_CONTROL_INTERFACE", CORE, ANSWER(disk),
     "a swap is a command: by one player alone it would part the machines"},
    {14, "SET_HW_RENDER", LOCAL, ANSWER(hw_render),
     "the same struct is forwarded once, the second time answered from memory"},
    {15, "GET_VARIABLE", ASKS, ANSWER(variable),
     "the room's options; before it starts the player's; never NULL"},
    {16, "SET_VARIABLES", LOCKED, ANSWER(options),
     "kept, and shown by the frontend once, with the wrapper's own"},
    {17, "GET_VARIABLE_UPDATE", ASKS, ANSWER(variable_update),
     "the room's options change by command, at the same frame everywhere"},
    {18, "SET_SUPPORT_NO_GAME", LOCKED, ANSWER(no_game), "kept; told before anything is loaded"},
    {19, "GET_LIBRETRO_PATH", ASKS, ANSWER(libretro_path), "of the core, not of the wrapper"},
    {21, "SET_FRAME_TIME_CALLBACK", CORE, ANSWER(frame_time),
     "always the reference; the frontend's follows the wall"},
    {22, "SET_AUDIO_CALLBACK", CORE, REFUSE, "asynchronous, from any thread; cores push then"},
    {23, "GET_RUMBLE_INTERFACE", ASKS, ANSWER(rumble),
     "own seats only, mapped to the local port; off while the game stands"},
    {24, "GET_INPUT_DEVICE_CAPABILITIES", ASKS, GIVE(uint64_t, DEVICES),
     "all that the lock carries, everywhere"},
    {X(25), "GET_SENSOR_INTERFACE", ASKS, REFUSE, "the lock carries no sensors"},
    {X(26), "GET_CAMERA_INTERFACE", ASKS, REFUSE, "the lock carries no pictures"},
    {27, "GET_LOG_INTERFACE", ASKS, ANSWER(log),
     "passed on; while a game loads, an error may name the file that it lacks"},
    {28, "GET_PERF_INTERFACE", ASKS, ANSWER(perf),
     "counters follow frames; the same CPU features everywhere"},
    {29, "GET_LOCATION_INTERFACE", ASKS, REFUSE, "one player's place"},
    {30, "GET_CORE_ASSETS_DIRECTORY", ASKS, FORWARD, "read-only data of the core"},
    {31, "GET_SAVE_DIRECTORY", ASKS, ANSWER(save_dir),
     "of the session: the players' own saves stay as they are"},
    {32, "SET_SYSTEM_AV_INFO", LOCKED, ANSWER(system_av_info),
     "re-inits drivers: only where something changed"},
    {33, "SET_PROC_ADDRESS_CALLBACK", CORE, REFUSE, "lets the frontend reach into the core past the lock"},
    {34, "SET_SUBSYSTEM_INFO", LOCAL, ANSWER(subsystems), "deep copy, told once"},
    {35, "SET_CONTROLLER_INFO", LOCAL, ANSWER(controllers), "deep copy: frontends keep the pointers"},
    {X(36), "SET_MEMORY_MAPS", CORE, ANSWER(memory_maps),
     "copies: cheats and the network command write through it"},
    {37, "SET_GEOMETRY", LOCKED, ANSWER(geometry), "told again only where it changes"},
    {38, "GET_USERNAME", ASKS, GIVE(char *, "Keylock"), "the same everywhere"},
    {39, "GET_LANGUAGE", ASKS, GIVE(unsigned, RETRO_LANGUAGE_ENGLISH), "English everywhere"},
    {X(40), "GET_CURRENT_SOFTWARE_FRAMEBUFFER", ASKS, REFUSE,
     "pictures may be hidden or kept; the core has its own buffer"},
    {X(41), "GET_HW_RENDER_INTERFACE", ASKS, FORWARD, "the frontend's context"},
    {X(42), "SET_SUPPORT_ACHIEVEMENTS", LOCKED, ANSWER(achievements), "kept; they read the copies"},
    {X(43), "SET_HW_RENDER_CONTEXT_NEGOTIATION_INTERFACE", LOCAL, ANSWER(first_load),
     "the context is made once"},
    {44, "SET_SERIALIZATION_QUIRKS", LOCKED, ANSWER(quirks),
     "the same answer everywhere, whatever the frontend says; what each means: quirks.c"},
    {X(44), "SET_HW_SHARED_CONTEXT", LOCAL, FORWARD, "only asks the frontend"},
    {X(45), "GET_VFS_INTERFACE", ASKS, REFUSE,
     "cores use the C library then, where world.c notes what they open"},
    {X(46), "GET_LED_INTERFACE", ASKS, ANSWER(led), "there is one everywhere; off while the game stands"},
    {X(47), "GET_AUDIO_VIDEO_ENABLE", ASKS, ANSWER(av_enable),
     "no picture in frames that will not be seen; sound always"},
    {X(48), "GET_MIDI_INTERFACE", ASKS, REFUSE, "the lock carries no MIDI"},
    {X(49), "GET_FASTFORWARDING", ASKS, GIVE(bool, false), "never"},
    {X(50), "GET_TARGET_REFRESH_RATE", ASKS, ANSWER(refresh_rate), "the room's: the core's own rate"},
    {X(51), "GET_INPUT_BITMASKS", ASKS, GIVE(bool, true), "served from the locked frame"},
    {52, "GET_CORE_OPTIONS_VERSION", ASKS, ANSWER(options_version), "not more than the wrapper keeps"},
    {53, "SET_CORE_OPTIONS", LOCKED, ANSWER(options),
     "kept, and shown by the frontend once, with the wrapper's own"},
    {54, "SET_CORE_OPTIONS_INTL", LOCKED, ANSWER(options),
     "kept, and shown by the frontend once, with the wrapper's own"},
    {55, "SET_CORE_OPTIONS_DISPLAY", LOCAL, FORWARD, "only shown; the frontend copies"},
    {56, "GET_PREFERRED_HW_RENDER", ASKS, FORWARD, "what this machine can do"},
    {57, "GET_DISK_CONTROL_INTERFACE_VERSION", ASKS, GIVE(unsigned, 1), "1 everywhere"},
    {58, "SET_DISK_CONTROL_EXT_INTERFACE", CORE, ANSWER(disk), "a swap is a command, as above"},
    {59, "GET_MESSAGE_INTERFACE_VERSION", ASKS, FORWARD, "only shown"},
    {60, "SET_MESSAGE_EXT", LOCAL, FORWARD, "only shown"},
    {61, "GET_INPUT_MAX_USERS", ASKS, GIVE(unsigned, KL_MAX_SEATS), "the lock's seats, everywhere"},
    {62, "SET_AUDIO_BUFFER_STATUS_CALLBACK", CORE, REFUSE, "frame-skipping by one machine's sound card"},
    {63, "SET_MINIMUM_AUDIO_LATENCY", LOCAL, REFUSE, "belongs to the call above; re-inits the sound"},
    {64, "SET_FASTFORWARDING_OVERRIDE", LOCAL, REFUSE, "the pace is the room's"},
    {65, "SET_CONTENT_INFO_OVERRIDE", LOCAL, ANSWER(overrides), "deep copy, before anything is loaded"},
    {66, "GET_GAME_INFO_EXT", ASKS, ANSWER(game_info_ext), "kept for the second load"},
    {67, "SET_CORE_OPTIONS_V2", LOCKED, ANSWER(options),
     "kept, and shown by the frontend once, with the wrapper's own"},
    {68, "SET_CORE_OPTIONS_V2_INTL", LOCKED, ANSWER(options),
     "kept, and shown by the frontend once, with the wrapper's own"},
    {69, "SET_CORE_OPTIONS_UPDATE_DISPLAY_CALLBACK", LOCAL, ANSWER(display_callback),
     "a proxy: the library is loaded twice"},
    {70, "SET_VARIABLE", LOCKED, ANSWER(set_variable), "the core's own change, at the same frame everywhere"},
    {X(71), "GET_THROTTLE_STATE", ASKS, ANSWER(throttle), "none, at the core's rate"},
    {X(72), "GET_SAVESTATE_CONTEXT", ASKS, GIVE(int, RETRO_SAVESTATE_CONTEXT_NORMAL),
     "normal everywhere: FBNeo goes by it"},
    {X(73), "GET_HW_RENDER_CONTEXT_NEGOTIATION_INTERFACE_SUPPORT", ASKS, FORWARD, "what this machine can do"},
    {74, "GET_JIT_CAPABLE", ASKS, GIVE(bool, true), "every machine that we build for is"},
    {X(75), "GET_MICROPHONE_INTERFACE", ASKS, REFUSE, "the lock carries no sound"},
    {76, "SET_NETPACKET_INTERFACE (old)", CORE, REFUSE, "RetroArch's netplay beside the lock"},
    {X(77), "GET_DEVICE_POWER", ASKS, REFUSE, "one player's battery"},
    {78, "SET_NETPACKET_INTERFACE", CORE, ANSWER(netpacket),
     "RetroArch has one slot, which is ours; a core's own is served through it while no relay is known"},
    {79, "GET_PLAYLIST_DIRECTORY", ASKS, REFUSE, "the player's own"},
    {80, "GET_FILE_BROWSER_START_DIRECTORY", ASKS, REFUSE, "the player's own"},
    {X(81), "GET_TARGET_SAMPLE_RATE", ASKS, REFUSE,
     "one machine's sound card; cores have a rate of their own"},
    {X(82), "GET_NETPLAY_CLIENT_INDEX", ASKS, REFUSE, "RetroArch's netplay beside the lock; one machine's"},
    {83, "EXEC_MEM_ALLOC", ASKS, REFUSE, "the core makes its own, which its states do not depend on"},
    {84, "EXEC_MEM_FREE", ASKS, REFUSE, "belongs to the call above"},
    {X(85), "GET_AUDIO_SAMPLE_BATCH_FLOAT", ASKS, REFUSE, "sound goes through the wrapper as 16 bits"},
    {X(86), "GET_MEMORY_STATUS", ASKS, REFUSE, "one machine's memory"},
    {87, "SET_SERIALIZATION_QUIRKS (newer)", LOCKED, ANSWER(quirks), "as 44: newer headers have this number"},
    {X(88), "GET_SCREEN_10BPC_CAPABLE", ASKS, REFUSE, "one machine's screen"},
    {X(89), "GET_HDR_PAPER_WHITE_NITS", ASKS, REFUSE, "one machine's screen"},
    {X(90), "GET_HDR_EXPAND_GAMUT", ASKS, REFUSE, "one machine's screen"},
    {X(91), "GET_HDR_OUTPUT_MODE", ASKS, REFUSE, "one machine's screen"},
    {RA(2), "RETROARCH_SET_SAVE_STATE_IN_BACKGROUND", LOCAL, FORWARD, "no states are saved in a room"},
    {RA(3), "RETROARCH_GET_CLEAR_ALL_THREAD_WAITS_CB", ASKS, FORWARD,
     "cores call what it gives without asking"},
    {RA(4), "RETROARCH_POLL_TYPE_OVERRIDE", LOCAL, REFUSE, "the wrapper polls"},
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

/* The exported entry points of libretro. Alone, each is the core's own; in a room, see load.h, session.h,
 * memory.h. */
#include <stdio.h>
#include <string.h>

#include "net/platform/clock.h"
#include "core_wrapper/abi/browse.h"
#include "core_wrapper/match/session.h"
#include "core_wrapper/match/choice.h"
#include "core_wrapper/match/command.h"
#include "core_wrapper/match/control.h"
#include "core_wrapper/env/env.h"
#include "core_wrapper/match/load.h"
#include "core_wrapper/match/state.h"
#include "core_wrapper/netplay/netplay.h"
#include "core_wrapper/match/join.h"
#include "core_wrapper/match/play.h"
#include "core_wrapper/draw/font.h"
#include "core_wrapper/match/wanted_room.h"
#include "core_wrapper/abi/the_match.h"

struct kl_match kl_the_match;

__attribute__((constructor)) static void begin(void) {
    kl_match_init(m);
}

static bool alone(void) {
    return m->state == KL_MATCH_BARE;
}
static bool room(void) {
    return kl_match_lockable(m->state);
}
static bool core(void) {
    return m->state != KL_MATCH_NONE;
}

/* --- before content --- */

RETRO_API unsigned retro_api_version(void) {
    return RETRO_API_VERSION;
}

RETRO_API void retro_set_environment(retro_environment_t callback) {
    m->front.call.environment = callback;
    m->front.screen.asked = false;
    kl_open_core(m, false);
    if (alone())
        m->emu.core.set_environment(kl_emulator_environment(&m->emu));
    else if (m->state == KL_MATCH_IDLE)
        m->emu.core.set_environment(kl_emulator_environment(&m->emu));
}

RETRO_API void retro_set_video_refresh(retro_video_refresh_t callback) {
    m->front.call.video = callback;
    if (alone()) m->emu.core.set_video_refresh(callback);
}

RETRO_API void retro_set_audio_sample(retro_audio_sample_t callback) {
    m->front.call.audio_sample = callback;
    if (alone()) m->emu.core.set_audio_sample(callback);
}

RETRO_API void retro_set_audio_sample_batch(retro_audio_sample_batch_t callback) {
    m->front.call.audio_batch = callback;
    if (alone()) m->emu.core.set_audio_sample_batch(callback);
}

RETRO_API void retro_set_input_poll(retro_input_poll_t callback) {
    m->front.call.input_poll = callback;
    if (alone()) m->emu.core.set_input_poll(callback);
}

RETRO_API void retro_set_input_state(retro_input_state_t callback) {
    m->front.call.input_state = callback;
    if (alone()) m->emu.core.set_input_state(callback);
}

/* The frontend keeps pointers to these strings, so they must outlive the core, which is reopened for another
 * way to play. */
static void rename_core(struct retro_system_info *info) {
    static char name[KL_CORE_NAME_BYTES], version[128], extensions[8192];
    int version_len = kl_core_text_len(info->library_version, 80);
    kl_core_locked_name(name, info->library_name);
    snprintf(version, sizeof version, "%.*s (Keylock %s)", version_len,
             info->library_version ? info->library_version : "", KL_VERSION);
    snprintf(extensions, sizeof extensions, "%s", info->valid_extensions ? info->valid_extensions : "");
    info->library_name = name;
    info->library_version = version;
    info->valid_extensions = extensions;
}

RETRO_API void retro_get_system_info(struct retro_system_info *info) {
    memset(info, 0, sizeof *info);
    kl_open_core(m, false);
    if (core()) {
        m->emu.core.get_system_info(info);
        rename_core(info);
        return;
    }
    info->library_name = "Keylock";
    info->library_version = KL_VERSION;
    info->valid_extensions = "";
}

/* A core that was found late, because the frontend's folders were unknown, has missed the earlier calls:
 * repeat them. */
static void catch_up(void) {
    const void *before = m->emu.core.handle;
    kl_open_core(m, true);
    if (m->emu.core.handle == before || !core()) return;
    retro_set_environment(m->front.call.environment);
    if (m->front.call.video) retro_set_video_refresh(m->front.call.video);
    if (m->front.call.audio_sample) retro_set_audio_sample(m->front.call.audio_sample);
    if (m->front.call.audio_batch) retro_set_audio_sample_batch(m->front.call.audio_batch);
    if (m->front.call.input_poll) retro_set_input_poll(m->front.call.input_poll);
    if (m->front.call.input_state) retro_set_input_state(m->front.call.input_state);
}

RETRO_API void retro_init(void) {
    catch_up();
    if (!core() || m->emu.core.initialised) return;
    m->emu.core.init();
    m->emu.core.initialised = true;
}

RETRO_API void retro_deinit(void) {
    if (core() && m->emu.core.initialised) m->emu.core.deinit();
    m->emu.core.initialised = false;
    kl_session_close(m);
    kl_netplay_close(&m->netplay);
    kl_unifont_drop();
#ifdef _WIN32 /* once it goes itself, it may not unload the core */
    if (m->emu.core.handle) kl_core_close(&m->emu.core);
    kl_match_on(m, KL_ON_CLOSED_CORE);
#endif
}

/* --- content --- */

static bool load_alone(bool special, unsigned type, const struct retro_game_info *info, size_t count) {
    struct retro_system_av_info av = {0};
    struct kl_core *c = &m->emu.core;
    c->game_loaded = special ? c->load_game_special(type, info, count) : c->load_game(info);
    if (!c->game_loaded) {
        kl_frontend_fail(&m->front, "the core %s could not load %s", c->path,
                         info && info->path ? info->path : "no content");
        return false;
    }
    m->play.next_frame = 0;
    if (m->config.epoch_set) {
        c->get_system_av_info(&av);
        kl_world_rate(m->emu.world, kl_emulator_fps_uhz(av.timing.fps));
    }
    return true;
}

static bool load_room(bool special, unsigned type, const struct retro_game_info *info, size_t count) {
    if (!kl_control_claim(m)) {
        kl_frontend_fail(&m->front, "run-ahead cannot join the room: turn run-ahead off");
        return false;
    }
    kl_memory_free(&m->emu.memory);
    kl_content_free(&m->emu.content);
    m->play.own_saves = !kl_config_replay() && kl_choice_alone(m);
    if (kl_load_first(m, special, type, info, count) && kl_session_open(m)) return true;
    kl_session_close(m);
    return false;
}

static bool load(bool special, unsigned type, const struct retro_game_info *info, size_t count) {
    m->front.error[0] = 0;
    kl_open_core(m, true);
    bool loaded =
        alone() ? load_alone(special, type, info, count) : room() && load_room(special, type, info, count);
    if (!loaded) {
        kl_screen_last(&m->front.screen, m->front.call.environment, m->front.error);
        /* RetroArch ends, and without --verbose it says nothing */
        if (m->config.invite) fprintf(stderr, "[Keylock] %s\n", m->front.error);
        kl_wish_forget(&m->wish);
    }
    return loaded;
}

RETRO_API bool retro_load_game(const struct retro_game_info *info) {
    return load(false, 0, info, 1);
}

RETRO_API bool retro_load_game_special(unsigned type, const struct retro_game_info *info, size_t count) {
    return load(true, type, info, count);
}

/* The link is left first: nobody waits while the core writes its files. */
RETRO_API void retro_unload_game(void) {
    if (!core()) return;
    kl_play_lasting(m, true);
    kl_challenge_end(m);
    kl_join_leave(m, 300);
    if (m->emu.core.game_loaded) m->emu.core.unload_game();
    m->emu.core.game_loaded = false;
    kl_wish_forget(&m->wish);
    if (!room()) return;
    kl_memory_detach(&m->emu.memory);
    kl_session_close(m);
}

RETRO_API void retro_get_system_av_info(struct retro_system_av_info *info) {
    memset(info, 0, sizeof *info);
    if (alone())
        m->emu.core.get_system_av_info(info);
    else if (room())
        *info = m->emu.av;
}

RETRO_API unsigned retro_get_region(void) {
    return m->emu.core.game_loaded ? m->emu.core.get_region() : RETRO_REGION_NTSC;
}

/* --- running --- */

RETRO_API void retro_run(void) {
    if (alone()) {
        if (m->config.epoch_set) kl_world_frame(m->emu.world, m->play.next_frame);
        m->play.report.run = 1;
        m->play.report.first = m->play.report.last = m->play.next_frame++;
        m->emu.core.run();
        kl_choice_turn(m, kl_now_us());
    } else if (room())
        kl_session_run(m);
}

RETRO_API void retro_set_controller_port_device(unsigned port, unsigned device) {
    if (alone()) m->emu.core.set_controller_port_device(port, device);
    if (!room() || port >= KL_MAX_SEATS) return;
    bool changed = !(m->front.devices.set >> port & 1) || m->front.devices.of[port] != device;
    m->front.devices.of[port] = device;
    m->front.devices.set |= (uint8_t)(1u << port);
    if (kl_emulator_local(&m->emu))
        m->emu.core.set_controller_port_device(port, device);
    else if (changed && m->emu.phase == KL_PHASE_PLAYING)
        kl_frontend_say(&m->front, KL_SCREEN_WARNING, 4000,
                        m->status.welcome.host ? "this controller counts from the next match on, for all"
                                               : "the host decides the controllers while the room plays");
}

RETRO_API void retro_reset(void) {
    if (alone() || kl_emulator_local(&m->emu))
        m->emu.core.reset();
    else if (room())
        kl_command_key(m, "reset"); /* everybody's, at the next keyframe */
}

/* --- states, cheats: nothing private while locked --- */

static bool own_states(void) {
    return alone() || kl_emulator_local(&m->emu);
}

/* 0 while loading, so that rewind and run-ahead are not even set up. Larger in play, so that a player who
 * saves or loads a state gets our message. */
RETRO_API size_t retro_serialize_size(void) {
    if (own_states()) return m->emu.core.serialize_size();
    return room() && m->emu.phase == KL_PHASE_PLAYING ? m->play.buffer.size + 1 : 0;
}

RETRO_API bool retro_serialize(void *data, size_t size) {
    if (own_states()) return m->emu.core.serialize(data, size);
    kl_frontend_say_once(&m->front, &m->front.said.states,
                         "savestates, rewind and run-ahead are off in a room");
    return false;
}

RETRO_API bool retro_unserialize(const void *data, size_t size) {
    if (own_states()) return m->emu.core.unserialize(data, size);
    if (room())
        kl_frontend_say_once(&m->front, &m->front.said.loads, "your own states cannot be loaded in a room");
    return false;
}

RETRO_API void retro_cheat_reset(void) {
    if (own_states()) m->emu.core.cheat_reset();
}

RETRO_API void retro_cheat_set(unsigned index, bool enabled, const char *code) {
    if (own_states())
        m->emu.core.cheat_set(index, enabled, code);
    else if (room() && enabled)
        kl_frontend_say_once(&m->front, &m->front.said.cheats, "cheats are off in a room");
}

RETRO_API void *retro_get_memory_data(unsigned id) {
    if (alone()) return m->emu.core.get_memory_data(id);
    return room() ? kl_memory_data(&m->emu.memory, id) : NULL;
}

RETRO_API size_t retro_get_memory_size(unsigned id) {
    if (alone()) return m->emu.core.get_memory_size(id);
    return room() ? kl_memory_size(&m->emu.memory, id) : 0;
}

/* The library goes, perhaps without retro_deinit: a thread of ours must not stay behind. (On Windows a
 * library with threads does not go; see thread.h.) */
__attribute__((destructor)) static void leave(void) {
    kl_browse_end();
    kl_session_close(m);
    kl_netplay_close(&m->netplay);
    kl_wish_forget(&m->wish);
    kl_unifont_drop();
    kl_emulator_close(&m->emu);
    kl_content_free(&m->emu.content);
}

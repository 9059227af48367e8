/* headless.h - a frontend without screen, sound or pads. The core is an emulator of its own
 * (core_wrapper/env/emulator.h), with the answers and the files that it has in a room. The wrapper is a core
 * here, too.
 *
 * libretro's callbacks carry no context: of several in a process, the frontend's own are of the one that was
 * called last. Not thread-safe. */
#ifndef KLT_HEADLESS_H
#define KLT_HEADLESS_H

#include "net/platform/options.h"
#include "net/engine/engine.h"
#include "core_wrapper/core/statehash.h"
#include "core_wrapper/env/emulator.h"
#include "core_wrapper/frame/picture.h"
#include "core_wrapper/abi/wrapper_api.h"
#include "core_wrapper/tool/headless/input_source.h"
#include "core_wrapper/voice/wav.h"

#define KLT_EPOCH_DEFAULT 946684800u /* 2000-01-01 00:00:00 UTC */
#define KLT_ERR           1024       /* bytes of an error line */

/* Controllers by port; a port without one has a pad (the first two) or the core's own default. */
struct kl_headless_devices {
    uint8_t set; /* mask of ports */
    uint32_t id[KL_MAX_SEATS];
};

#define KLT_MACHINE_OPTIONS 256

/* The core, content and options of a run. Strings are borrowed. */
struct kl_machine_setup {
    const char *core; /* name or path */
    const char *content, *system_dir, *save_dir, *input, *recording, *corrupt;
    const char *option[KLT_MACHINE_OPTIONS];
    unsigned option_count;
    struct kl_headless_devices devices;
    bool host_clock, has_clock, has_epoch;
    uint64_t epoch_s, ports; /* ports: pads that get input */
    bool asks;               /* notes the core's questions for inputs */
    bool verifies; /* the recording's planted desyncs are left out; hashes are those that its writer says */
    uint64_t measures; /* 1 + enum kl_measure_mode: the run is a measured one (desync/measure.h); 0: none */
    bool moved, same_addresses; /* addresses of memory: others than in a run without it; equal in each run */
};

/* The flags of a setup (net/platform/options.h), for all commands that run cores. by: those of `run`, those
 * of `probe`; 0: all. */
extern const struct kl_row kl_machine_rows[];
enum { KLT_OF_RUN = 1, KLT_OF_PROBE = 2 };

struct kl_headless_setup {
    const char *core_path, *content_path;
    const char *system_dir, *save_dir; /* NULL: an empty folder that lives as long as the run */
    const char *const *options;        /* KEY=VALUE */
    unsigned option_count;
    unsigned optional; /* the first of them may be unknown to the core */
    struct kl_headless_devices devices;
    bool keep_saves;    /* save RAM is loaded, not stored */
    bool virtual_clock; /* turn the core's world (through the wrapper, if it is one) */
    bool session_files; /* a bare core in a turned world has a session's view of its files */
    bool own_heap;      /* a bare core in a turned world may go back by its pages */
    uint64_t epoch_s;
    bool in_room;         /* the wrapper says which sample the pads answer for */
    uint32_t frame_limit; /* the wrapper's; 0: none */
    klw_hash_fn on_hash;  /* the wrapper's hashes; NULL: none */
    void *on_hash_user;
    bool quiet; /* drop the core's log and messages below warnings */
};

/* All inputs that the core has asked for. */
#define KLT_ASKED 512
struct kl_asked {
    unsigned count;
    bool more; /* than KLT_ASKED */
    struct kl_question {
        uint8_t port, device, index; /* device: without its subclass */
        uint16_t id;
    } at[KLT_ASKED];
};

struct kl_headless {
    struct kl_headless_setup setup;
    struct kl_emulator emu;        /* of the core, or of the wrapper */
    const struct klw_api *wrapper; /* NULL: a bare core */
    struct retro_system_info info; /* its strings belong to the core */
    char name[128], version[128];  /* copies that outlive the core */
    char scratch[256], system_dir[4096];
    bool shutdown, wants_hw_render;
    uint32_t frame; /* retro_run calls so far; alone: the next frame */
    struct kl_input_source *input;
    unsigned input_ports;   /* ports below this have pads */
    uint16_t keys_down;     /* of the source's keyboard, as it was said last */
    struct kl_asked *asked; /* notes the core's questions; NULL: nobody does */
    bool unseen;            /* the frames that run will not be seen, and the core may know */
    bool want_av;           /* fold picture and sound into av_hash */
    uint64_t av_hash;
    struct kl_wav *wav;     /* takes the sound; NULL: nobody does */
    struct kl_chain *chain; /* takes the pictures; NULL: nobody does */
    struct kl_statehash_buffer buffer;
};

/* Loads core and content. 0, or -1 with a line in err; then nothing is left to be closed. h is kept until
 * kl_headless_close() by the callbacks; everything that setup points to must live as long. */
int kl_headless_open(struct kl_headless *h, const struct kl_headless_setup *setup, char *err, size_t err_len);

/* Gives input from src to ports [0, ports). NULL: nothing is pressed. */
void kl_headless_input(struct kl_headless *h, struct kl_input_source *src, unsigned ports);

/* The next frame, with the input from there; of the wrapper it has none, for the wrapper asks itself. Once a
 * frame. */
void kl_headless_sample(struct kl_headless *h, struct kl_frame *out);
/* One retro_run with the inputs of this frame. */
void kl_headless_play(struct kl_headless *h, const struct kl_frame *f);
/* Samples the next frame, and plays it. */
void kl_headless_run(struct kl_headless *h);

/* Goes back to frame f (after an unserialize): clock, input and random numbers follow. */
void kl_headless_rewind(struct kl_headless *h, uint32_t f, uint64_t chance);

/* The two hashes of the core as it stands; h->buffer then holds the state. */
void kl_headless_hash(struct kl_headless *h, struct kl_statehash *out);
/* That of RAM alone: nothing is serialized. */
void kl_headless_hash_ram(struct kl_headless *h, struct kl_statehash *out);

/* Stores the save RAM if there is a save folder, unloads all. 0, or -1 with a line in err if the save
 * RAM could not be written; everything is closed all the same. */
int kl_headless_close(struct kl_headless *h, char *err, size_t err_len);

/* The next calls into a core are into this one's. kl_headless_open(), _run() and _close() do it themselves.
 */
void kl_headless_turn(struct kl_headless *h);
/* The one that was called last, for callbacks without a context; NULL: none. */
struct kl_headless *kl_headless_current(void);
/* headless_front.c: the answers of a frontend without anything. */
extern const struct kl_front kl_headless_front;
/* The lasting things that the core has told, as text, a line each, in an order of its own. 0, or -1 with
 * errno. */
int kl_headless_write_told(const struct kl_headless *h, const char *path);
/* headless_files.c: the content, the folders, the save RAM. Each 0, or -1 with a line in err. */
int kl_headless_make_dirs(struct kl_headless *h, char *err, size_t err_len);
void kl_headless_remove_dirs(struct kl_headless *h);
/* Its path, once there is an emulator; its bytes, once the core has said how it takes them. */
int kl_headless_name_content(struct kl_headless *h, char *err, size_t err_len);
int kl_headless_read_content(struct kl_headless *h, char *err, size_t err_len);
int kl_headless_load_sram(struct kl_headless *h, char *err, size_t err_len);
int kl_headless_store_sram(struct kl_headless *h, char *err, size_t err_len);

#endif

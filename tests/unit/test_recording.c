/* Recordings: what is written is read again; what is none is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "core_wrapper/record/recording.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/unit.h"

static char path[] = "/tmp/keylock-test-XXXXXX", err[1024];

static int set_up(void **state) {
    (void)state;
    int fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}

static int tear_down(void **state) {
    (void)state;
    return unlink(path);
}

static int parse(struct kl_recording *r, const char *text) {
    FILE *f = fmemopen((void *)text, strlen(text), "r");
    assert_non_null(f);
    int result = kl_recording_parse(r, f, "x", err, sizeof err);
    fclose(f);
    return result;
}

static void written_values_are_read_back(void **state) {
    (void)state;
    struct kl_recorder w;
    struct kl_recording r;
    struct kl_input in[KL_MAX_SEATS] = {{.joypad = 0x0101}};
    uint8_t sram[600];
    for (unsigned i = 0; i < sizeof sram; i++)
        sram[i] = (uint8_t)(i * 7);
    assert_int_equal(kl_recorder_open(&w, path), 0);
    kl_recorder_line(&w, "core", "Probe core\n1"); /* no line of its own can be made by a name */
    kl_recorder_line(&w, "option", "speed=fast");
    kl_recorder_line(&w, "epoch", "946684800");
    kl_recorder_line(&w, "device", "3 257");
    kl_recorder_memory(&w, 0, sram, sizeof sram);
    kl_recorder_frame(&w, 0, in);
    struct klw_hash ram = {.frame = 0, .has_ram = true, .ram = 5}, both = {0, true, true, 5, 7};
    kl_recorder_hash(&w, &ram);
    kl_recorder_hash(&w, &both);
    kl_recorder_line(&w, "do", "1 reset");
    in[0].joypad = 0;
    in[7] = (struct kl_input){
        .joypad = 3, .stick = {-5, 9}, .mouse_x = 12, .key_count = 1, .key = {{65, 0, 97, true}}};
    kl_recorder_frame(&w, 1, in);
    kl_recorder_frame(&w, 2, in);
    assert_int_equal(kl_recorder_close(&w), 0);

    assert_int_equal(kl_recording_read(&r, path, err, sizeof err), 0);
    assert_string_equal(r.core, "Probe core 1");
    assert_string_equal(r.option[0], "speed=fast");
    assert_int_equal(r.epoch_s, 946684800);
    assert_int_equal(r.device_set, 1 << 3);
    assert_int_equal(r.device[3], 257);
    assert_int_equal(r.memories, 3);
    assert_memory_equal(r.memory[2].bytes, sram + 512, 88);
    assert_int_equal(r.hashes, 1); /* of one frame the later line counts */
    assert_true(r.hash[0].has_state && r.hash[0].state == 7);
    assert_int_equal(r.deeds, 1);
    assert_string_equal(r.deed[0].text, "reset");
    assert_int_equal(r.frames, 3);
    assert_int_equal(kl_recording_at(&r, 0)[0].joypad, 0x0101);
    assert_true(kl_input_equal(&kl_recording_at(&r, 2)[7], &in[7]));
    assert_int_equal(kl_recording_at(&r, 2)[0].joypad, 0);
    assert_int_equal(kl_recording_at(&r, 0)[7].joypad, 0); /* back again */
    kl_recording_free(&r);
}

static void one_that_broke_off_is_good_to_its_last_line(void **state) {
    (void)state;
    struct kl_recording r;
    assert_int_equal(parse(&r, KL_RECORDING_MAGIC "\ninput 4 0 0001\nhash 5 0123456789abc"), 0);
    assert_int_equal(r.inputs, 1);
    assert_int_equal(r.hashes, 0);
    assert_int_equal(r.frames, 5);
    kl_recording_free(&r);
}

static void files_that_are_no_recording_are_told_apart(void **state) {
    (void)state;
    struct kl_recording r;
    assert_int_equal(parse(&r, "59 0123456789abcdef -\n"), 1);
    kl_recording_free(&r);
}

static void bad_lines_are_named(void **state) {
    (void)state;
    static const char *const bad[] = {
        "input 4 8 0001",
        "input 4 0 10001",
        "input 4 0 0001 zz",
        "input -4 0 0001",
        "input 4 0 0001 00ff00f",
        "hash 5 01234567 -",
        "hash 5 -",
        "hash x - -",
        "do 5",
        "option nothing",
        "device 9 1",
        "epoch x",
        "memory 0 0 ",
        "memory 0 5000000000 00",
        "end 5 6",
        "nonsense",
        "hash 7 - 0123456789abcdef\nhash 6 - 0123456789abcdef",
        "input 4 0 0001\ninput 3 0 0001",
    };
    for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct kl_recording r;
        char text[300];
        snprintf(text, sizeof text, KL_RECORDING_MAGIC "\n%s\n", bad[i]);
        if (parse(&r, text) != -1) fail_msg("taken: %s", bad[i]);
        assert_non_null(strstr(err, "x:"));
        kl_recording_free(&r);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(written_values_are_read_back),
        cmocka_unit_test(one_that_broke_off_is_good_to_its_last_line),
        cmocka_unit_test(files_that_are_no_recording_are_told_apart),
        cmocka_unit_test(bad_lines_are_named),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

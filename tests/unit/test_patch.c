/* Soft patches: found beside the content, if the frontend's bytes are not the file's. */
#include "tests/unit/folder.h"

#include "core_wrapper/start/identity.h"
#include "core_wrapper/start/patch.h"

static char name[KL_PATCH_NAME];

static const char *find(const char *path, const char *bytes) {
    struct retro_game_info item = {.path = path, .data = bytes, .size = bytes ? strlen(bytes) : 0};
    kl_patch_find(&item, name);
    return name;
}

TEST_WITH(bytes_of_the_file_are_not_patched, make_folder, remove_folder) {
    put("game.nes", "rom");
    assert_string_equal(find(at("game.nes"), "rom"), "");
    put("game.ips", "PATCH"); /* switched off, or broken */
    assert_string_equal(find(at("game.nes"), "rom"), "");
    assert_string_equal(find(at("game.nes"), NULL), ""); /* the core reads the file */
    assert_string_equal(find(NULL, "rom"), "");
}

/* In RetroArch's order. */
TEST_WITH(the_patch_beside_it_is_named, make_folder, remove_folder) {
    put("game.nes", "rom");
    assert_string_equal(find(at("game.nes"), "r0m"), KL_PATCH_ELSEWHERE);
    assert_string_equal(find(at("game.nes"), "rom and more"), KL_PATCH_ELSEWHERE);
    put("other.ips", "PATCH");
    assert_string_equal(find(at("game.nes"), "r0m"), KL_PATCH_ELSEWHERE);
    static const char *const kinds[] = {"game.xdelta", "game.ups", "game.bps", "game.ips"};
    for (size_t i = 0; i < COUNT(kinds); i++) {
        put(kinds[i], "");
        assert_string_equal(find(at("game.nes"), "r0m"), kinds[i]);
    }
}

/* RetroArch looks beside the archive for the name of its member. The unpacked bytes cannot be compared. */
TEST_WITH(so_is_that_of_a_game_in_an_archive, make_folder, remove_folder) {
    char path[1100];
    put("set.zip", "no zip");
    snprintf(path, sizeof path, "%s#in/ga#me.nes", at("set.zip"));
    assert_string_equal(find(path, "r0m"), "");
    put("set.bps", "");
    assert_string_equal(find(path, "r0m"), "set.bps");
    put("ga#me.ups", "");
    assert_string_equal(find(path, "r0m"), "ga#me.ups");
}

TEST_WITH(names_are_bounded_and_plain, make_folder, remove_folder) {
    put("a (b), c; d.nes", "rom");
    put("a (b), c; d.ips", "");
    assert_string_equal(find(at("a (b), c; d.nes"), "r0m"), "a _b__ c_ d.ips");
    put("a name that is longer than the place for it.nes", "rom");
    put("a name that is longer than the place for it.ips", "");
    assert_string_equal(find(at("a name that is longer than the place for it.nes"), "r0m"),
                        "longer than the place for it.ips" + 1);
}

TEST(the_identity_tells_it) {
    struct kl_content content = {.count = 1,
                                 .item[0] = {.path = "/games/game.nes", .data = "r0m", .size = 3}};
    struct kl_facts plain = {0}, patched = {0};
    char patch[KL_FACT_PATCH_MAX], shown[KL_FACT_NAME_MAX], why[200];
    kl_identity_content(&plain, &content, NULL);
    assert_false(kl_fact_patch(patch, plain.fact[0].value));
    assert_string_equal(patch, "");
    strcpy(content.patch, "game.ips");
    kl_identity_content(&patched, &content, NULL);
    assert_true(kl_fact_patch(patch, patched.fact[0].value));
    assert_string_equal(patch, "game.ips");
    kl_fact_name(shown, patched.fact[0].value);
    assert_string_equal(shown, "game.nes");
    assert_int_equal(kl_facts_differ(&plain, &patched, why, sizeof why), 0); /* the same bytes are the same */
}

/* A value from anybody. */
TEST(a_peers_patch_is_bounded_and_plain) {
    char patch[KL_FACT_PATCH_MAX];
    assert_true(kl_fact_patch(patch, "x (patch \xe2\x80\xaeips and very many bytes more, 3 bytes, a)"));
    assert_string_equal(patch, "___ips and very ma");
    assert_false(kl_fact_patch(patch, "x (patch game.ips"));
    assert_false(kl_fact_patch(patch, "x (patch , 3 bytes, a)"));
    assert_false(kl_fact_patch(patch, ""));
}

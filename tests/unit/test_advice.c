/* The first line of a refusal: the next step, without a hash. */
#include "tests/unit/unit.h"

#include "core_wrapper/match/overlay.h"
#include "net/engine/msg.h"

#define HERE "xxh3 97dc80d49d3d5fc2 (40976 bytes, shooter.nes)"

static void check(unsigned refused, const char *reason, const char *advice) {
    char line[KL_ADVICE_MAX];
    kl_advice(refused, reason, "pair", line);
    assert_string_equal(line, advice);
}

TEST(differences_are_named_without_hashes) {
    check(KL_REFUSE_IDENTITY,
          "core differs: room has Gambatte v0.5.0, you have Nestopia 1.52.0; content differs: room has xxh3 "
          "f6abe29db5419c3e (32768 bytes, pads.gb), you have " HERE,
          "Load the room's core: Gambatte v0.5.0, not Nestopia 1.52.0");
    check(KL_REFUSE_IDENTITY, "core differs: room has FCEUmm (SVN) 9a28a63, you have FCEUmm (SVN) 68c7d12",
          "Your core is version 68c7d12, the room's 9a28a63: keylock install FILE, or Other version");
    check(KL_REFUSE_IDENTITY,
          "content 2 differs: room has xxh3 1 (2 bytes, b.gb), you have xxh3 2 (2 bytes, a.gb)",
          "File 2 of the subsystem, a.gb, is another: take the host's, b.gb");
    check(KL_REFUSE_IDENTITY,
          "content 2 differs: room has xxh3 1 (2 bytes, a.gb), you have xxh3 2 (2 bytes, a.gb)",
          "File 2 of the subsystem, a.gb, is another: take the host's");
    check(KL_REFUSE_IDENTITY,
          "content differs: room has xxh3 1 (patch hack.ips, 2 bytes, a.nes), you have " HERE,
          "The room plays the soft patch hack.ips: use it");
    check(KL_REFUSE_IDENTITY,
          "content differs: room has " HERE ", you have xxh3 1 (patch named elsewhere, 2 bytes, shooter.nes)",
          "You play the soft patch named elsewhere: remove it");
    check(KL_REFUSE_IDENTITY,
          "content 1 differs: room has xxh3 1 (patch a.ips, 2 bytes, a.gb), you have xxh3 2 (patch a.bps, 2 "
          "bytes, a.gb)",
          "Take the room's soft patch, a.ips, not yours");
    check(KL_REFUSE_IDENTITY,
          "content differs: room has xxh3 f6abe29db5419c3e (32768 bytes, pads.gb), you have " HERE,
          "Load the room's game: pads.gb");
    check(KL_REFUSE_IDENTITY,
          "content differs: room has xxh3 f6abe29db5419c3e (32768 bytes, shooter.nes), you have " HERE,
          "Your copy of shooter.nes is another: take the host's");
    check(KL_REFUSE_IDENTITY, "file bios.bin differs: room has xxh3 1 (2 bytes), you have none",
          "You lack the room's file bios.bin: take the host's");
    check(KL_REFUSE_IDENTITY, "file bios.bin differs: room has none, you have xxh3 1 (2 bytes)",
          "The room has no file bios.bin: take yours away");
    check(
        KL_REFUSE_IDENTITY,
        "file disk2.bin differs: room has xxh3 1 (2 bytes, disk2.bin), you have missing (game.m3u names it)",
        "You lack disk2.bin: put the host's beside your game");
    check(KL_REFUSE_IDENTITY,
          "file disk2.bin differs: room has missing (game.m3u names it), you have xxh3 1 (2 bytes)",
          "The host lacks disk2.bin: ask them to get it");
    check(KL_REFUSE_IDENTITY,
          "rand() differs: room has 31 bits (on Linux; the core asks for it), you have 15 bits (on Windows; "
          "the "
          "core asks for it)",
          "This core asks rand(): 31 bits on Linux, 15 on Windows. Play on one");
    check(
        KL_REFUSE_IDENTITY,
        "rand() differs: room has lower 15 bits (on every system), you have 31 bits (on Linux; the core asks "
        "for it)",
        "The host has another version of Keylock: use the same");
    check(KL_REFUSE_IDENTITY, "a later relay's words", "a later relay's words");
}

TEST(a_door_says_how_it_opens) {
    check(KL_REFUSE_DOOR, "room pair is closed to you: it has a password, and you gave none",
          "Set the room's password, then try again");
    check(0, "the room on r:1 has a password, and none was given", "Set the room's password, then try again");
    check(KL_REFUSE_DOOR, "wrong password for room pair",
          "Wrong password: set the right one, then try again");
    check(KL_REFUSE_DOOR, "room pair is closed to you: its host has locked it",
          "The host has locked the room: ask them to unlock it");
    check(KL_REFUSE_FULL, "room pair is full: it has 16 clients",
          "Room pair is full: watch it, or choose another");
    check(0, "no answer from r:55435 after 5 s (is keylock-relay running there?)",
          "The relay does not answer: check its name, then try again");
    check(KL_REFUSE_LIMIT, "this relay is out of memory; try again later",
          "this relay is out of memory; try again later");
}

/* Words of any length, from anybody. */
TEST(nothing_overflows) {
    char reason[600], line[KL_ADVICE_MAX];
    static const char *const parts[] = {"core differs: room has ", "content differs: room has ",
                                        "file x differs: room has ", ""};
    for (unsigned refused = 0; refused < 16; refused++)
        for (size_t i = 0; i < COUNT(parts); i++)
            for (size_t len = strlen(parts[i]); len < sizeof reason - 1; len += 37) {
                memset(reason, 'm', len);
                memcpy(reason, parts[i], strlen(parts[i]));
                reason[len] = 0;
                if (len > 200) memcpy(reason + 120, ", you have , )", 14);
                kl_advice(refused, reason, reason + len / 2, line);
                assert_true(strlen(line) < KL_ADVICE_MAX);
            }
}

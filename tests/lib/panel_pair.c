#include "tests/lib/panel_pair.h"

struct kl_panel panel_pair(void) {
    struct kl_panel p = {
        .stage = KL_PANEL_PLAYING, .room = "pair", .relay = "relay:55435", .filled = 1, .players = 2};
    p.count = 2;
    p.member[0] = (struct kl_panel_member){.name = "ann", .seats = 1, .you = true, .host = true};
    p.member[1] = (struct kl_panel_member){.name = "bob", .seats = 2};
    p.spacing = 4;
    return p;
}

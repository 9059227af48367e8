/* panel_pair.h - the panel's data of a room of two. */
#ifndef TEST_PANEL_PAIR_H
#define TEST_PANEL_PAIR_H

#include "core_wrapper/screen/panel.h"

/* Ann plays here, bob elsewhere, and nothing is wrong. */
struct kl_panel panel_pair(void);

#endif

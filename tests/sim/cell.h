/* cell.h - how good a room is on a steady link: the settled lead, pace and lateness, for tuning. */
#ifndef SIM_CELL_H
#define SIM_CELL_H

#include "tests/sim/scenario.h"

int cell_one(const struct cell *c, bool log);
/* Every link of the table (RTT 20, 50, 100, 150 ms; four kinds; two and eight players), phases aligned and
 * not, the average over so many rooms each (of the seeds from `first` on), judged by what the table asks for.
 */
int cell_table(const struct cell *like, uint64_t first, uint64_t seeds);

#endif

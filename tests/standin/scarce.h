/* scarce.h - memory that runs out on request: the linker leads malloc(), calloc() and realloc() here
 * (--wrap). */
#ifndef TEST_SCARCE_H
#define TEST_SCARCE_H

extern unsigned scarce_at; /* this request from now on is refused, and no other; 0: none is */

#endif

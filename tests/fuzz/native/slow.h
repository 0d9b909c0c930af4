/* Counts cases that take too much of the processor, which is what a hang begins as.
 *
 * clock() tells time of the process, not of the wall: a busy machine makes no case slow.
 */
#ifndef SLOW_H
#define SLOW_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static uint64_t slow_cases;
static clock_t slow_began, slow_most = CLOCKS_PER_SEC;

/* Another limit than a second: a test gives 0, for which each case is slow. */
static inline void slow_limit(const char *ms) {
    slow_most = (clock_t)strtoull(ms, NULL, 10) * (CLOCKS_PER_SEC / 1000);
}

static inline void slow_begin(void) { slow_began = clock(); }

/* After each case; the end of one is the beginning of the next: one look at the clock. */
static inline void slow_end(uint64_t number) {
    const clock_t now = clock();
    if (now - slow_began >= slow_most) {
        slow_cases++;
        fprintf(stderr, "case %llu took %.3f s\n", (unsigned long long)number,
                (double)(now - slow_began) / CLOCKS_PER_SEC);
    }
    slow_began = now;
}

#endif

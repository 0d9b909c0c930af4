/* Made-up records and queries for the checks beside this file. */
#ifndef WORLDS_H
#define WORLDS_H

#include "spector.h"

uint64_t random_u64(void);
float random_unit(void); /* [0, 1) */

/* n bytes, a multiple of align, that end where an unreadable page begins. */
void *guarded(size_t n);

/* One in 13 is damaged: its header is any bytes. */
void fill_record(spector_record *r, uint32_t i, uint32_t dim);
/* A query that drops nothing but by state; vector_bytes is 0 for one without a cue. */
void fill_query(spector_query *q, uint32_t vector_bytes, uint32_t dim);

/* What recalls may ask for, one thing each; the last asks for all of it. 0 asks for nothing. */
enum { VARIANTS = 9 };
void vary(spector_query *q, spector_part *part, const uint64_t *allow, int variant);

/* Compares the scan index under every instruction set; returns how much failed. See
 * check_index.c. */
int check_index(const uint32_t *dims, size_t n, int quick);

#endif

/* Partitions with scan indexes, for check_index.c and check_scans.c. */
#ifndef STORES_H
#define STORES_H

#include "worlds.h"

#include "index.h"

/* Of a store: all indexed; more indexed than the snapshot shows; a prefix; nothing. */
enum { PARTS = 4 };

typedef struct {
    uint32_t dim, rows, indexed[PARTS];
    uint8_t *records[PARTS], *first_state[PARTS]; /* the latter before anything was rewritten */
    uint8_t *image[PARTS];
    float *centre;
    spector_part part[PARTS];
    uint64_t *allow;
    spector_query query, no_cue;
} store;

typedef struct {
    uint64_t failed, compared, estimates, outliers, hits, missed, bounded;
} totals;

extern totals total;

void fail(const store *s, const char *what, uint32_t caps, uint32_t detail);

/* Sets of this machine: none, each alone, all. */
uint32_t nth_caps(uint32_t i);
uint32_t count_caps(void);

/* Made with portable C; some records are rewritten after they were indexed. */
void make_store(store *s, uint32_t dim, uint32_t rows);
spector_record *row(const store *s, uint8_t *rows, uint32_t i);
void rewrite(spector_record *r);
/* Neither a damaged nor an extreme record. */
int is_ordinary(uint32_t i);

/* A new image of a part, made in pieces of any size. */
uint8_t *append_all(const store *s, uint32_t p, const uint8_t *records);
/* Tell an image of the first state what was rewritten. */
void update_all(const store *s, uint32_t p, uint8_t *image);

/* Scans over indexes against straight ones, in all that recalls may ask for. */
void check_scans(const store *s);
/* Rewrites records without a word to the index: scans may miss, but not go wrong. */
void check_stale(const store *s);

#endif

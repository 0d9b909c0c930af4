/* The scan over scan indexes, shared by its C files only. indexed.c explains the algorithm. */
#ifndef SPECTOR_SEARCH_H
#define SPECTOR_SEARCH_H

#include "index.h"

enum {
    SPECTOR_BATCH = 2048,
    SPECTOR_PAD = 16, /* sketches are estimated so many at a time */
    SPECTOR_RUNS = 32,
    SPECTOR_WAITING = 256,
    SPECTOR_ASIDE = 64,
    SPECTOR_PROMISES = 272,
    SPECTOR_SAMPLE_BLOCKS = 32,
    /* at most one of so many slots of a block, or of a chunk, survives */
    SPECTOR_SPARSE = 8,
    SPECTOR_FEW = 32
};

/* Upper bounds of the terms of one or more blocks' records, similarity aside. */
typedef struct spector_bounds {
    float others;     /* additive: weighted sum of the other terms */
    float rest;       /* the same without importance, where sketches know it */
    float factor_max; /* product of the modifiers */
    float factor_min;
    float norm, error, slope;
} spector_bounds;

/* The same for any record, without importance and utility, which have no limit. */
typedef struct spector_cap {
    float others, factor;
} spector_cap;

/* Neighbours in a batch, all of one partition. */
typedef struct spector_run {
    uint32_t part, first, n;
    int bounded; /* whether bound holds anything */
    spector_sections s;
    spector_bounds bound;
    float base, margin; /* of the estimates; see sketch_runs */
} spector_run;

/* Survivors of the gates, run after run, each from a multiple of SPECTOR_PAD on. */
typedef struct spector_batch {
    uint32_t n, runs;
    uint32_t slots[SPECTOR_BATCH + SPECTOR_PAD];
    float estimates[SPECTOR_BATCH + SPECTOR_PAD];
    spector_run run[SPECTOR_RUNS];
} spector_batch;

/* Records that can enter the heap by their sketches; their fine codes are being fetched. */
typedef struct spector_waiting {
    uint32_t n;
    uint32_t part[SPECTOR_WAITING], slot[SPECTOR_WAITING];
    float bound[SPECTOR_WAITING]; /* of the cosine */
    float least[SPECTOR_WAITING]; /* cosine that it needs */
} spector_waiting;

/* Records to be measured once their bytes have been fetched. */
typedef struct spector_aside {
    uint32_t n;
    uint32_t part[SPECTOR_ASIDE], slot[SPECTOR_ASIDE];
} spector_aside;

/* One scan over any number of indexes; lives on the stack. */
typedef struct spector_search {
    const spector_part *parts;
    const spector_query *q;
    spector_hit *hits;
    uint32_t found, k;
    uint64_t rows; /* that the indexes of this scan cover */
    uint64_t *drops, *scored;
    int estimates; /* sketches may rule records out */
    float seed;    /* a score that at least k records reach */
    const spector_cap *cap;
    /* so many more records are measured without an estimate; see judge */
    uint64_t unsketched, spell;
    spector_indexed_cue cue;
    spector_gates gates;
    spector_batch batch;
    spector_waiting waiting;
    spector_aside aside;
} spector_search;

/* ---- straight.c ---- */

/* All phases over the slots from first to before end, straight over the records; cap is that of the
 * query. */
uint32_t spector_scan_straight(const spector_part *part, const spector_query *query,
                               const spector_cap *cap, uint32_t first, uint32_t end,
                               uint32_t part_index, spector_hit *hits, uint32_t found, uint32_t k,
                               uint64_t *drops, uint64_t *scored);
/* Turn a heap into hits in order, best first. */
void spector_sort_best_first(spector_hit *heap, uint32_t n);

/* ---- indexed.c ---- */

/* All phases over the first rows slots of a partition, which its index covers. Some of its records
 * may be left waiting; spector_search_end deals with them. */
void spector_search_part(spector_search *search, uint32_t part_index, uint32_t rows);
void spector_search_end(spector_search *search);
/* Prefetch what the gates of a partition read first. */
void spector_search_ahead(const spector_search *search, const spector_part *part);

/* ---- floor_estimate.c ---- */

/* A score that at least k records reach, from a sample; -INFINITY when there is none. Without it
 * the first tenth of a dense scan would let nearly everything through. hits serves as scratch. */
float spector_sample_floor(spector_search *search, const uint32_t *select, uint32_t n);

/* ---- rerank.c ---- */

/* Wait for the fine code of a record whose cosine is at most bound. */
void spector_search_wait(spector_search *search, uint32_t part, uint32_t slot, float bound,
                         float least);
/* Wait for the whole record. */
void spector_search_put_aside(spector_search *search, uint32_t part, uint32_t slot);
/* Measure all waiting records. */
void spector_search_settle(spector_search *search);

/* ---- bounds.c ---- */

spector_bounds spector_bounds_of(const spector_query *query, const spector_extremes *extremes);
spector_cap spector_cap_of(const spector_query *query);
void spector_widen_bounds(spector_bounds *all, const spector_bounds *one);
/* The least cosine with which a record can reach the floor; -INFINITY when any will do, INFINITY
 * when none can. */
float spector_least_cosine(const spector_query *query, const spector_bounds *bounds, float floor);
/* The least sum of a record's cosine and of what its importance lifts it by; as above. */
float spector_least_lifted(const spector_query *query, const spector_bounds *bounds, float floor);
/* The largest cosine that a record of the bounds can have. */
float spector_most_cosine(const spector_cue *cue, const spector_bounds *bounds);
/* The most by which an estimate from a sketch is too low, rounding of its factors included. */
float spector_margin(const spector_query *query, const spector_cue *cue,
                     const spector_bounds *bounds);
/* The rounding error of an estimate from a fine code. */
static inline float spector_slack(const spector_cue *cue) { return 3e-4f * cue->norm + 2e-4f; }

/* The score to reach: the heap's worst, or what a sample has shown to be beaten k times. */
static inline float spector_floor(const spector_search *c) {
    return c->found == c->k && c->hits[0].score > c->seed ? c->hits[0].score : c->seed;
}

#endif

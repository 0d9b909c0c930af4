/* The scan: over the indexes of partitions where they save work, straight over the records where
 * they do not.
 */
#include "search.h"

#include <math.h>
#include <string.h>

enum { PARTS_AHEAD = 4 };

/* Whether an index can save work: estimates do, and so do columns and bit-slices for any filter. */
static int index_helps(const spector_query *q) {
    return (q->codes && q->recall_confidence > 0.0f) || q->tags_all || q->any_count ||
           q->valence_min > INT8_MIN || q->valence_max < INT8_MAX || q->event_min_ms > INT64_MIN ||
           q->event_max_ms < INT64_MAX || q->importance_floor > 0.0f || !q->codes;
}

/* One pass over the partitions. */
static uint32_t scan_straight(const spector_part *parts, const uint32_t *select, uint32_t n,
                              const spector_query *q, const spector_cap *cap,
                              spector_hit *hits, uint32_t k, uint64_t *drops, uint64_t *scored) {
    uint32_t found = 0;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t index = select ? select[i] : i;
        found = spector_scan_straight(&parts[index], q, cap, 0, parts[index].count, index, hits,
                                      found, k, drops, scored);
    }
    return found;
}

/* Prefetch what the next partitions need. Its addresses are in their headers, which were prefetched
 * before. */
static void fetch_ahead(const spector_search *c, const uint32_t *select, uint32_t n, uint32_t i) {
    const uint32_t next = i + PARTS_AHEAD, header = i + 3 * PARTS_AHEAD;
    if (header < n) SPECTOR_PREFETCH(c->parts[select ? select[header] : header].index);
    if (next < n) spector_search_ahead(c, &c->parts[select ? select[next] : next]);
}

/* One pass over the partitions' indexes, and straight over what they do not cover. */
static void search_parts(spector_search *c, const uint32_t *select, uint32_t n) {
    c->found = 0;
    c->batch.n = c->batch.runs = c->waiting.n = c->aside.n = 0;
    c->unsketched = c->spell = 0;
    for (uint32_t i = 0; i < n && i < 3 * PARTS_AHEAD; i++)
        SPECTOR_PREFETCH(c->parts[select ? select[i] : i].index);
    for (uint32_t i = 1; i < n && i < PARTS_AHEAD; i++)
        spector_search_ahead(c, &c->parts[select ? select[i] : i]);
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t index = select ? select[i] : i;
        const spector_part *part = &c->parts[index];
        const uint32_t rows = spector_indexed_rows(part);
        fetch_ahead(c, select, n, i);
        if (rows) spector_search_part(c, index, rows);
        if (rows < part->count)
            c->found = spector_scan_straight(part, c->q, c->cap, rows, part->count, index,
                                             c->hits, c->found, c->k, c->drops, c->scored);
    }
    spector_search_end(c);
}

/* A function of its own, so that a straight scan does not pay for its stack. */
static uint32_t search(const spector_part *parts, const uint32_t *select, uint32_t n,
                       const spector_query *q, const spector_cap *cap, spector_hit *hits,
                       uint32_t k, uint64_t rows, uint64_t *drops, uint64_t *scored) {
    spector_search c;
    uint64_t before[SPECTOR_DROPS], before_scored = *scored;
    c.parts = parts;
    c.q = q;
    c.hits = hits;
    c.k = k;
    c.rows = rows;
    c.cap = cap;
    c.drops = drops;
    c.scored = scored;
    c.estimates = q->codes && q->recall_confidence > 0.0f;
    c.cue.dim = 0;
    c.cue.set = 0;
    c.seed = spector_sample_floor(&c, select, n);
    memcpy(before, drops, sizeof before);
    search_parts(&c, select, n);
    if (c.seed > -INFINITY && (c.found < k || c.hits[0].score < c.seed)) {
        /* k records reached the seed when they were sampled, but a writer has changed them since,
         * or estimates missed them: the seed must rule nothing out. The heap can be full all the
         * same, of records that were measured without regard to the seed */
        memcpy(drops, before, sizeof before);
        *scored = before_scored;
        c.seed = -INFINITY;
        search_parts(&c, select, n);
    }
    return c.found;
}

uint32_t spector_scan(const spector_part *parts, const uint32_t *select, uint32_t n,
                      const spector_query *q, spector_hit *hits, uint32_t k, uint64_t *drops,
                      uint64_t *scanned, uint64_t *scored) {
    const spector_cap cap = spector_cap_of(q);
    uint64_t indexed = 0;
    uint32_t found;
    for (uint32_t i = 0; i < n; i++) {
        const spector_part *part = &parts[select ? select[i] : i];
        *scanned += part->count;
        indexed += spector_indexed_rows(part);
    }
    if (k && indexed && indexed >= q->index_from_rows && index_helps(q))
        found = search(parts, select, n, q, &cap, hits, k, indexed, drops, scored);
    else
        found = scan_straight(parts, select, n, q, &cap, hits, k, drops, scored);
    spector_sort_best_first(hits, found);
    return found;
}

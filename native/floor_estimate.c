/* A lower bound of the final floor, estimated from a sample before the scan over indexes. */
#include "search.h"

#include <math.h>
#include <string.h>

enum { WORDS = SPECTOR_INDEX_BLOCK / 64, FIRST_BLOCKS = 4, FIRST_SEEN = 64 };

/* The most promising records of a sample, best first. */
typedef struct promise {
    float estimate;
    uint32_t part, slot;
} promise;

typedef struct promises {
    uint32_t n, wanted, blocks, seen;
    promise all[SPECTOR_PROMISES];
} promises;

/* Insert into a short descending list; the last one falls out when it is full. */
static void note_record(promises *best, promise one) {
    if (best->n == best->wanted && !(one.estimate > best->all[best->n - 1].estimate)) return;
    uint32_t at = best->n < best->wanted ? best->n++ : best->n - 1;
    for (; at && best->all[at - 1].estimate < one.estimate; at--) best->all[at] = best->all[at - 1];
    best->all[at] = one;
}

/* Note the most promising records of a block; all of them have the same margin. */
static void sample_block(spector_search *c, uint32_t part, uint32_t first, promises *best) {
    uint64_t mask[WORDS];
    uint32_t *slots = c->batch.slots, word = 0;
    const int full = best->n == best->wanted;
    const float base = c->cue.cue.base;
    const uint32_t passed = spector_gates_block(&c->gates, first, mask);
    best->blocks++;
    best->seen += passed;
    if (!passed) return;
    spector_active.positions(mask, WORDS, &word, first, slots, SPECTOR_BATCH);
    for (uint32_t i = passed; i % SPECTOR_PAD; i++) slots[i] = slots[passed - 1];
    const uint32_t n = spector_sketches.sketch(
        c->gates.s.sketch, &c->cue.cue, slots, passed,
        full ? best->all[best->n - 1].estimate - base : -INFINITY, c->batch.estimates);
    for (uint32_t i = 0; i < n; i++) {
        if (!(c->batch.estimates[i] < INFINITY)) continue;
        promise one = {c->batch.estimates[i] + base, part, slots[i]};
        note_record(best, one);
    }
}

/* Samples every step-th block. Stops when so few slots survive that the scan's first batches will
 * raise the floor soon enough. */
static void sample(spector_search *c, const uint32_t *select, uint32_t n, uint64_t step,
                   promises *best) {
    uint64_t drops[SPECTOR_DROPS] = {0}, at = 0;
    best->n = best->blocks = best->seen = 0;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t index = select ? select[i] : i;
        const uint32_t rows = spector_indexed_rows(&c->parts[index]);
        const uint64_t blocks = rows / SPECTOR_INDEX_BLOCK;
        if (at < blocks) {
            spector_gates_begin(&c->gates, &c->parts[index], c->q, rows, drops);
            spector_prepare_cue(c->q, &c->gates.s, &c->cue);
        }
        for (; at < blocks; at += step) {
            sample_block(c, index, (uint32_t)at * SPECTOR_INDEX_BLOCK, best);
            if (best->blocks == FIRST_BLOCKS && best->seen < FIRST_SEEN) return;
        }
        at -= blocks;
    }
}

static float exact_floor(const spector_search *c, const promises *best) {
    uint64_t drops[SPECTOR_DROPS] = {0}, scored = 0;
    uint32_t part[SPECTOR_PROMISES], slot[SPECTOR_PROMISES], found = 0;
    for (uint32_t i = 0; i < best->n; i++) {
        part[i] = best->all[i].part;
        slot[i] = best->all[i].slot;
        SPECTOR_PREFETCH(spector_record_at(&c->parts[part[i]], slot[i]));
    }
    for (uint32_t at = 0, n; at < best->n; at += n) {
        n = best->n - at < SPECTOR_BLOCK ? best->n - at : SPECTOR_BLOCK;
        found = spector_rank_given(c->parts, c->q, part + at, slot + at, n, c->hits, found, c->k,
                                   drops, &scored);
    }
    return found == c->k ? c->hits[0].score : -INFINITY;
}

float spector_sample_floor(spector_search *c, const uint32_t *select, uint32_t n) {
    promises best;
    uint64_t blocks = 0;
    if (!c->k || c->k > (SPECTOR_PROMISES - 16) / 2 || !c->estimates) return -INFINITY;
    best.wanted = 2 * c->k + 16;
    for (uint32_t i = 0; i < n; i++)
        blocks += spector_indexed_rows(&c->parts[select ? select[i] : i]) / SPECTOR_INDEX_BLOCK;
    if (blocks < 4 * SPECTOR_SAMPLE_BLOCKS) return -INFINITY;
    sample(c, select, n, blocks / SPECTOR_SAMPLE_BLOCKS, &best);
    if (best.blocks <= FIRST_BLOCKS) return -INFINITY;
    return exact_floor(c, &best);
}

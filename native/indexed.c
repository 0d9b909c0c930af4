/* The six phases over the scan indexes of partitions.
 *
 * Phases 1 to 4 run on bit-slices and columns, a block of 512 slots or a whole chunk at a time, and
 * blocks whose extremes rule them out are skipped. The survivors are collected into batches. The
 * heap's floor and the extremes give the least sum of cosine and importance with which a record of
 * the batch could enter the heap. Sketches, which hold both, rule out nearly all records, and fine
 * codes most of the rest (rerank.c). What is left goes through the gates, products and scores of the
 * straight scan. So an index can make a scan miss a record, with the probability that
 * recall_confidence leaves, but it can never change a score.
 */
#include "search.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum {
    WORDS = SPECTOR_INDEX_BLOCK / 64,
    /* without a floor, a batch of at most so many is measured whole */
    FEW = 128,
    /* a run of so many slots takes no further block */
    FULL = SPECTOR_INDEX_BLOCK / 2,
    /* more survivors of the sketches than this mean that the floor is low */
    MANY = 256,
    /* estimates pay from so many survivors of a sparse gate on, per wanted hit */
    PER_HIT = 200,
    /* fetched ahead of a partition: extremes of so many blocks, so many slices of tags, so many bytes
     * of sketches */
    FIRST_BLOCKS = 8,
    FIRST_SLICES = 4,
    FIRST_SKETCHES = 2048,
    /* estimates that leave more than one of so many records cost more than they save */
    SPARED = 3,
    /* so many records are then measured without estimates before they are tried again */
    SPELL = SPECTOR_INDEX_BLOCK,
    LONGEST_SPELL = 64 * SPECTOR_BATCH
};

static inline float larger(float a, float b) { return a > b ? a : b; }
static inline float smaller(float a, float b) { return a < b ? a : b; }

static uint32_t wanted(const spector_search *c) {
    return c->k < SPECTOR_PROMISES / 2 - 8 ? 2 * c->k + 16 : SPECTOR_PROMISES;
}

/* ---- what a batch holds ---- */

/* The least estimate, of the cosine plus its lift by importance, that is kept. */
static float least_estimate(const spector_search *c, const spector_run *run) {
    const float least = spector_least_lifted(c->q, &run->bound, spector_floor(c));
    return larger(least, c->q->min_similarity) - run->base - run->margin;
}

/* Sketches are read in whole groups of slots: slots behind the end repeat the last one. */
static void pad_run(spector_batch *batch) {
    for (; batch->n % SPECTOR_PAD; batch->n++) batch->slots[batch->n] = batch->slots[batch->n - 1];
}

/* Estimate all slots; keeps in each run those that can still enter, and returns how many. */
static uint32_t sketch_runs(spector_search *c) {
    spector_batch *batch = &c->batch;
    uint32_t kept = 0;
    pad_run(batch);
    for (uint32_t r = 0; r < batch->runs; r++) {
        spector_run *run = &batch->run[r];
        spector_prepare_cue(c->q, &run->s, &c->cue);
        run->base = c->cue.cue.base;
        run->margin = spector_margin(c->q, &c->cue.cue, &run->bound);
        const uint32_t n = spector_sketches.sketch(
            run->s.sketch, &c->cue.cue, batch->slots + run->first, run->n, least_estimate(c, run),
            batch->estimates + run->first);
        c->drops[SPECTOR_DROP_BOUND] += run->n - n;
        run->n = n;
        kept += n;
    }
    return kept;
}

/* Pass on those of all runs whose estimate is at least promise, and return how many; the others
 * stay. */
static uint32_t pass_on(spector_search *c, float promise) {
    spector_batch *batch = &c->batch;
    uint32_t passed = 0;
    for (uint32_t r = 0; r < batch->runs; r++) {
        spector_run *run = &batch->run[r];
        uint32_t *slots = batch->slots + run->first, left = 0;
        float *estimates = batch->estimates + run->first;
        const spector_sections *s = &run->s;
        if (!run->n) continue;
        const float limit = least_estimate(c, run), up = run->base + run->margin;
        const float most = smaller(spector_most_cosine(&c->cue.cue, &run->bound), FLT_MAX);
        const float lift = c->cue.cue.lift, similar = c->q->min_similarity;
        for (uint32_t i = 0; i < run->n; i++) {
            if (estimates[i] < limit) {
                c->drops[SPECTOR_DROP_BOUND]++;
            } else if (estimates[i] + run->base < promise) {
                slots[left] = slots[i];
                estimates[left++] = estimates[i];
            } else {
                const uint8_t *sketch = s->sketch + (size_t)slots[i] * SPECTOR_SKETCH_BYTES;
                const float found = estimates[i] + up;
                float bound = found, least = limit + up;
                if (s->fine_bytes) {
                    /* the fine code bounds the cosine alone, whatever it is lifted by */
                    bound = found < INFINITY ? most : INFINITY;
                    least = larger(least - (float)sketch[31] * lift, similar);
                } else if (found < INFINITY && most + 255.0f * lift < found) {
                    /* stays lifted, which is more than the bound of the cosine: importance may
                     * have changed since the estimate, so it must not be subtracted */
                    bound = most + 255.0f * lift;
                }
                passed++;
                for (uint32_t at = 0; at < s->fine_bytes; at += 64)
                    SPECTOR_PREFETCH(s->fine + (size_t)slots[i] * s->fine_bytes + at);
                spector_search_wait(c, run->part, slots[i], bound, least);
            }
        }
        run->n = left;
    }
    return passed;
}

/* Maps floats to integers of the same order. */
static inline uint32_t rank_key(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

/* The which-th largest of n keys, selected byte by byte from the top: at most n + 256 steps a byte,
 * whatever the keys are. */
static uint32_t nth_largest(const uint32_t *keys, uint32_t n, uint32_t which) {
    uint32_t prefix = 0, known = 0;
    for (int shift = 24; shift >= 0; shift -= 8) {
        uint32_t counts[256] = {0}, byte = 255;
        for (uint32_t i = 0; i < n; i++)
            if ((keys[i] & known) == prefix) counts[keys[i] >> shift & 255]++;
        for (; counts[byte] < which; byte--) which -= counts[byte];
        prefix |= byte << shift;
        known |= 255u << shift;
    }
    return prefix;
}

/* Rank the batch's most promising records first, so that there is a score to beat; returns how
 * many those were. */
static uint32_t rank_promising(spector_search *c) {
    uint32_t keys[SPECTOR_BATCH + SPECTOR_PAD], n = 0, bits;
    float promise;
    for (uint32_t r = 0; r < c->batch.runs; r++) {
        const spector_run *run = &c->batch.run[r];
        for (uint32_t i = 0; i < run->n; i++)
            keys[n++] = rank_key(c->batch.estimates[run->first + i] + run->base);
    }
    if (n < wanted(c)) return 0;
    bits = nth_largest(keys, n, wanted(c));
    bits = bits & 0x80000000u ? bits & 0x7FFFFFFFu : ~bits;
    memcpy(&promise, &bits, sizeof promise);
    n = pass_on(c, promise);
    spector_search_settle(c);
    return n;
}

/* Estimates rule out next to nothing for a cue that is similar to no record or to all of them. Then
 * scan for a while without them, longer each time they fail again. */
static void judge(spector_search *c, uint32_t estimated, uint32_t passed) {
    if (passed * SPARED <= estimated) {
        c->spell = 0;
        return;
    }
    c->spell = c->spell ? 2 * c->spell : SPELL;
    if (c->spell > LONGEST_SPELL) c->spell = LONGEST_SPELL;
    c->unsketched = c->spell;
}

/* Pass on the batch's records and empty it. */
static void flush(spector_search *c) {
    spector_batch *batch = &c->batch;
    const int has_floor = spector_floor(c) > -INFINITY;
    if (c->estimates && (has_floor || batch->n > FEW)) {
        uint32_t estimated = 0, passed = 0;
        for (uint32_t r = 0; r < batch->runs; r++) estimated += batch->run[r].n;
        const uint32_t n = sketch_runs(c);
        if (n > (has_floor ? MANY : 2 * wanted(c))) passed = rank_promising(c);
        passed += pass_on(c, -INFINITY);
        if (has_floor) judge(c, estimated, passed);
    } else {
        for (uint32_t r = 0; r < batch->runs; r++)
            for (uint32_t i = 0; i < batch->run[r].n; i++)
                spector_search_put_aside(c, batch->run[r].part,
                                         batch->slots[batch->run[r].first + i]);
    }
    batch->n = batch->runs = 0;
}

/* ---- filling a batch ---- */

/* The run of the partition at the end of the batch, or a new one. All records of a run have its
 * bounds, so it takes no further block when it is FULL: where many survive, each block is a run. */
static spector_run *run_of(spector_search *c, uint32_t part) {
    spector_batch *batch = &c->batch;
    if (batch->runs && batch->run[batch->runs - 1].part == part &&
        batch->run[batch->runs - 1].n < FULL)
        return &batch->run[batch->runs - 1];
    if (batch->runs == SPECTOR_RUNS) flush(c);
    if (batch->n) pad_run(batch);
    spector_run *run = &batch->run[batch->runs++];
    run->part = part;
    run->first = batch->n;
    run->n = 0;
    run->bounded = 0;
    run->s = c->gates.s;
    return run;
}

static void add_bounds(spector_run *run, const spector_bounds *one) {
    if (run->bounded)
        spector_widen_bounds(&run->bound, one);
    else
        run->bound = *one;
    run->bounded = 1;
}

/* Lists the surviving slots of a block where many survive. */
static uint32_t list_block(const spector_survivors *found, uint32_t *word, uint32_t *out) {
    uint32_t n = 0;
    for (uint32_t w = 0; w < found->words; w++) {
        const uint32_t base = found->first + w * 64;
        if (found->mask[w] == UINT64_MAX) {
            uint32_t *to = out + n;
            for (uint32_t j = 0; j < 64; j++) to[j] = base + j;
            n += 64;
            continue;
        }
        for (uint64_t bits = found->mask[w]; bits; bits &= bits - 1)
            out[n++] = base + SPECTOR_LOW_BIT(bits);
    }
    *word = found->words;
    return n;
}

/* Whether estimating these survivors would cost more than it saves. Each estimate costs a wait for
 * its sketch and saves the vector only if it rules the record out. That takes a floor, and k of
 * some hundred records must be measured before there is one. Neighbouring slots share their waits. */
static int are_few(const spector_search *c, const spector_survivors *found) {
    const uint64_t looked_at = (uint64_t)found->words * 64;
    return 2 * found->n <= looked_at && found->n * c->rows <= looked_at * c->k * PER_HIT;
}

static void put_aside_all(spector_search *c, uint32_t part, const spector_survivors *found) {
    for (uint32_t w = 0; w < found->words; w++)
        for (uint64_t bits = found->mask[w]; bits; bits &= bits - 1)
            spector_search_put_aside(c, part, found->first + w * 64 + SPECTOR_LOW_BIT(bits));
}

/* Measure survivors that estimates would not rule out; runs of neighbours are scanned straight. */
static void measure_all(spector_search *c, uint32_t part, const spector_survivors *found) {
    spector_survivors rest = *found;
    rest.words = 1;
    for (uint32_t w = 0, next; w < found->words; w = next) {
        for (next = w; next < found->words && found->mask[next] == UINT64_MAX;) next++;
        if (next > w) {
            c->found = spector_scan_straight(&c->parts[part], c->q, c->cap,
                                             found->first + 64 * w, found->first + 64 * next,
                                             part, c->hits, c->found, c->k, c->drops,
                                             c->scored);
        } else {
            rest.first = found->first + 64 * w;
            rest.mask = found->mask + w;
            put_aside_all(c, part, &rest);
            next++;
        }
    }
}

/* Put the survivors on the list; sketches of scattered ones are fetched ahead. */
static void collect(spector_search *c, uint32_t part, const spector_survivors *found,
                    const spector_bounds *bound) {
    spector_batch *batch = &c->batch;
    if (c->estimates && are_few(c, found)) {
        put_aside_all(c, part, found);
        return;
    }
    if (c->unsketched) {
        c->unsketched -= found->n < c->unsketched ? found->n : c->unsketched;
        measure_all(c, part, found);
        return;
    }
    for (uint32_t word = 0; word < found->words;) {
        spector_run *run = run_of(c, part);
        const uint32_t before = batch->n;
        add_bounds(run, bound);
        uint32_t *out = batch->slots + batch->n;
        batch->n += found->n < found->words * 64 / SPECTOR_FEW + 1
                        ? spector_active.positions(found->mask, found->words, &word, found->first,
                                                   out, SPECTOR_BATCH - batch->n)
                        : list_block(found, &word, out);
        run->n = batch->n - run->first;
        for (uint32_t i = before; i < batch->n && c->estimates && found->scattered; i++)
            SPECTOR_PREFETCH(c->gates.s.sketch + (size_t)batch->slots[i] * SPECTOR_SKETCH_BYTES);
        /* one more block must fit; without a floor a batch has one or two */
        const uint32_t most = SPECTOR_BATCH - SPECTOR_INDEX_BLOCK;
        if (batch->n > (spector_floor(c) > -INFINITY ? most : SPECTOR_INDEX_BLOCK)) flush(c);
    }
}

/* Whether no record of the bounds can enter the heap. */
static int out_of_reach(const spector_search *c, const spector_bounds *bound) {
    const float least = spector_least_cosine(c->q, bound, spector_floor(c));
    return least > (c->q->codes ? spector_most_cosine(&c->cue.cue, bound) : 0.0f);
}

void spector_search_part(spector_search *c, uint32_t index, uint32_t rows) {
    spector_survivors found;
    spector_bounds whole, block;
    spector_gates_begin(&c->gates, &c->parts[index], c->q, rows, c->drops);
    if (c->q->codes) spector_turn_cue(c->q, &c->gates.s, &c->cue);
    int bounded = 0;
    while (spector_gates_next(&c->gates, &found)) {
        const spector_bounds *bound = &whole;
        if (!found.scattered) {
            block = spector_bounds_of(c->q, &c->gates.s.blocks[found.first / SPECTOR_INDEX_BLOCK]);
            bound = &block;
        } else if (!bounded) {
            whole = spector_bounds_of(c->q, c->gates.s.whole);
            bounded = 1;
        }
        if (out_of_reach(c, bound))
            c->drops[SPECTOR_DROP_BOUND] += found.n;
        else
            collect(c, index, &found, bound);
    }
}

void spector_search_end(spector_search *c) {
    if (c->batch.n) flush(c);
    spector_search_settle(c);
}

/* Fetch the lines of some bytes. */
static void fetch(const void *from, size_t bytes) {
    for (size_t at = 0; at < bytes; at += 64) SPECTOR_PREFETCH((const uint8_t *)from + at);
}

void spector_search_ahead(const spector_search *c, const spector_part *part) {
    const spector_query *q = c->q;
    if (!part->index || (!q->tags_all && !q->codes)) return;
    spector_sections s;
    spector_index_sections(part->index, &s);
    fetch(s.whole, sizeof *s.whole);
    if (q->tags_all) {
        const uint32_t words = s.words < SPECTOR_CHUNK_WORDS ? s.words : SPECTOR_CHUNK_WORDS;
        uint64_t left = q->tags_all;
        for (uint32_t n = 0; left && n < FIRST_SLICES; n++, left &= left - 1)
            fetch(s.tags + (size_t)SPECTOR_LOW_BIT(left) * s.words, 8 * words);
    } else {
        fetch(s.blocks, FIRST_BLOCKS * sizeof *s.blocks);
        if (!c->cue.set || c->cue.cue.centre_id != s.header->centre_id)
            fetch(s.centre, s.rotated * sizeof *s.centre);
        fetch(s.sketch, FIRST_SKETCHES);
    }
}

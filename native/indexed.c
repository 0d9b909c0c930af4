/* The six phases over a partition's scan index.
 *
 * Phases 1 to 4 run on bit-slices and columns, a block of 512 slots at a time, and blocks whose
 * extremes rule them out are not looked at. What survives is collected into batches. From the
 * heap's floor and the extremes follows the least cosine with which a record of the batch could
 * enter the heap; sketches rule out nearly all of them, fine codes most of the rest. Whoever is
 * left goes, most promising first, through the straight scan's own gates, products and scores. So
 * an index can make a scan miss a record, with the probability that recall_confidence leaves, but
 * never give it another score.
 */
#include "index.h"

#include <math.h>
#include <string.h>

enum {
    SPARSE = 64, /* survivors of a block */
    WORDS = SPECTOR_INDEX_BLOCK / 64,
    BATCH = 2 * SPECTOR_INDEX_BLOCK,
    LIST_PAD = 16,
    /* of a sample: records that are enough for a floor; fewer in all are not worth one */
    ENOUGH_SEEN = 2048,
    FEW_LEFT = 4096
};

/* What the records of one or more blocks can have at most, similarity aside. */
typedef struct bounds {
    float others;     /* additive: weighted sum of the other terms */
    float factor_max; /* product of the modifiers */
    float factor_min;
    float norm, error, slope;
} bounds;

typedef struct batch {
    uint32_t n;
    uint32_t slots[BATCH + LIST_PAD];
    float estimates[BATCH + LIST_PAD];
    int bounded, merged; /* whether bound and extremes hold anything */
    bounds bound;
    spector_extremes extremes; /* of sparse blocks */
} batch;

typedef struct scan {
    spector_gates gates;
    const spector_part *part;
    const spector_query *q;
    const spector_cue *cue;
    const spector_sections *s;
    uint32_t part_index;
    spector_hit *hits;
    uint32_t found, k;
    uint64_t *drops, *scored;
    int estimates; /* sketches may rule records out */
    float seed;
    batch list;
} scan;

/* The most promising records of a sample, best first. */
typedef struct promise {
    float estimate;
    uint32_t part, slot;
} promise;

typedef struct estimates_list {
    uint32_t n, wanted;
    float estimates[SPECTOR_PROMISES];
} estimates_list;

typedef struct promises {
    uint32_t n, wanted;
    uint64_t seen;
    promise all[SPECTOR_PROMISES];
} promises;

/* ---- bounds ---- */

static inline float larger(float a, float b) { return a > b ? a : b; }
static inline float smaller(float a, float b) { return a < b ? a : b; }

/* Extremes of a factor table over the codes in a set; bit 31 stands for all codes from 31 on. */
static void factor_range(const float *table, uint32_t set, float *low, float *high) {
    float least = INFINITY, most = 0.0f;
    for (; set; set &= set - 1) {
        uint32_t first = SPECTOR_LOW_BIT(set), last = first < 31 ? first : 255;
        for (uint32_t code = first; code <= last; code++) {
            least = smaller(least, table[code]);
            most = larger(most, table[code]);
        }
    }
    *low *= least;
    *high *= most;
}

static void maybe_factor(int present, float factor, float *low, float *high) {
    if (!present) return;
    *low *= smaller(1.0f, factor);
    *high *= larger(1.0f, factor);
}

/* The block as one imaginary record that has the best of everything. */
static spector_record best_of(const spector_extremes *e) {
    spector_record r = {0};
    r.event_ms = e->event_max;
    r.importance = e->importance_max;
    r.stability_days = e->stability_max;
    r.utility = e->utility_max;
    r.arousal = e->arousal_max;
    r.access_count = e->uses_max;
    r.tags = e->tags_or;
    r.flags = e->flags_or & SPECTOR_FLASHBULB;
    return r;
}

static bounds bounds_of(const spector_query *q, const spector_extremes *e) {
    bounds out = {.norm = e->norm_max, .error = e->sketch_error_max, .slope = e->sketch_slope_max};
    spector_record best = best_of(e);
    float low = q->confidence[e->confidence_min], high = q->confidence[e->confidence_max];
    factor_range(q->tier, e->tiers, &low, &high);
    factor_range(q->category, e->categories, &low, &high);
    maybe_factor((q->mood > 0 && e->valence_max > 0) || (q->mood < 0 && e->valence_min < 0),
                 q->mood_boost, &low, &high);
    maybe_factor(e->flags_or & SPECTOR_UNRESOLVED, q->unresolved_boost, &low, &high);
    maybe_factor(e->flags_or & SPECTOR_CONSOLIDATED, q->consolidated_factor, &low, &high);
    out.factor_min = low;
    out.factor_max = high;
    out.others = spector_other_terms(q, &best, e->used_max);
    return out;
}

static void widen_bounds(bounds *all, const bounds *one) {
    all->others = larger(all->others, one->others);
    all->factor_max = larger(all->factor_max, one->factor_max);
    all->factor_min = smaller(all->factor_min, one->factor_min);
    /* NaN, from a damaged record, must stay */
    all->norm = one->norm <= all->norm ? all->norm : one->norm;
    all->error = larger(all->error, one->error);
    all->slope = larger(all->slope, one->slope);
}

static void add_bounds(batch *list, const bounds *one) {
    if (list->bounded)
        widen_bounds(&list->bound, one);
    else
        list->bound = *one;
    list->bounded = 1;
}

#define WIDEN_MAX(field) all->field = all->field > one->field ? all->field : one->field
#define WIDEN_MIN(field) all->field = all->field < one->field ? all->field : one->field

/* Extremes of both; those that phases 1 to 4 alone use are left out. */
static void widen_extremes(spector_extremes *all, const spector_extremes *one) {
    WIDEN_MAX(event_max);
    WIDEN_MAX(used_max);
    WIDEN_MAX(importance_max);
    WIDEN_MAX(stability_max);
    WIDEN_MAX(utility_max);
    WIDEN_MAX(norm_max);
    WIDEN_MAX(sketch_error_max);
    WIDEN_MAX(sketch_slope_max);
    WIDEN_MAX(uses_max);
    WIDEN_MAX(valence_max);
    WIDEN_MIN(valence_min);
    WIDEN_MAX(confidence_max);
    WIDEN_MIN(confidence_min);
    WIDEN_MAX(arousal_max);
    all->tags_or |= one->tags_or;
    all->flags_or |= one->flags_or;
    all->categories |= one->categories;
    all->tiers |= one->tiers;
}

/* The least cosine with which a record can reach the floor; -INFINITY when any will do, INFINITY
 * when none can. The floor is lowered a little, for the roundings of bound and score. */
static float least_cosine(const spector_query *q, const bounds *b, float floor) {
    if (!(floor > -INFINITY)) return -INFINITY;
    floor -= 2e-5f * (1.0f + fabsf(floor));
    if (q->multiplicative) {
        if (floor <= 0.0f) return -INFINITY;
        float most = q->w_similarity * (1.0f + b->others) * b->factor_max;
        return q->codes ? (most > 0.0f ? floor / most : INFINITY)
                        : (most >= floor ? -INFINITY : INFINITY);
    }
    float factor = floor > 0.0f ? b->factor_max : b->factor_min;
    if (!(factor > 0.0f)) return floor > 0.0f ? INFINITY : -INFINITY;
    float missing = floor / factor - b->others;
    if (!q->codes || q->w_similarity == 0.0f) return missing <= 0.0f ? -INFINITY : INFINITY;
    return missing / q->w_similarity;
}

/* The score to reach: the heap's worst, or what a sample has shown to be beaten k times. */
static float floor_of(const scan *c) {
    return c->found == c->k && c->hits[0].score > c->seed ? c->hits[0].score : c->seed;
}

/* The largest cosine that a record of the bounds can have. */
static float most_cosine(const scan *c, const bounds *b) {
    return b->norm <= 1e6f ? b->norm * c->cue->query_norm * 1.0001f + 1e-5f : INFINITY;
}

/* For the roundings of the sketch's factors. */
static float slack(const scan *c) { return 3e-4f * c->cue->norm + 2e-4f; }

/* What a sketch's estimate may fall short by. */
static float margin(const scan *c, const bounds *b) {
    float deviation = spector_estimate_error(c->cue, b->error, b->slope, c->cue->sketched);
    return c->q->recall_confidence * deviation + slack(c);
}

/* ---- phases 5 and 6 ---- */

/* Of the block's slots, whose similarity is an upper bound, those that can still enter the heap;
 * the gates on the record itself decide again, for an index may lag behind. */
static void keep_promising(scan *c, spector_block *b, int bounded) {
    float scores[SPECTOR_BLOCK];
    uint32_t n = 0;
    for (uint32_t i = 0; i < b->n; i++) {
        int phase = spector_gate(c->part, c->q, b->slots[i]);
        if (phase != SPECTOR_DROPS) {
            c->drops[phase]++;
            continue;
        }
        b->slots[n] = b->slots[i];
        b->similarity[n++] = b->similarity[i];
    }
    b->n = n;
    const float floor = floor_of(c);
    if (!n || !bounded || !(floor > -INFINITY)) return;
    spector_load_block(c->q, c->part, b);
    spector_active.score(c->q, b, scores);
    n = 0;
    for (uint32_t i = 0; i < b->n; i++) {
        if (scores[i] < floor - 2e-5f * (1.0f + fabsf(floor)))
            c->drops[SPECTOR_DROP_BOUND]++;
        else
            b->slots[n++] = b->slots[i];
    }
    b->n = n;
}

static void fetch_records(const scan *c, const uint32_t *slots, uint32_t n, uint32_t bytes) {
    for (uint32_t i = 0; i < n; i++) {
        const uint8_t *record = c->part->data + (size_t)slots[i] * c->part->stride;
        for (uint32_t at = 0; at < bytes; at += 64) SPECTOR_PREFETCH(record + at);
    }
}

/* The exact phases of a block whose slots are set; similarity is a bound when bounded. */
static void finish_block(scan *c, spector_block *b, int bounded) {
    memset(b->ahead, 0, sizeof b->ahead);
    keep_promising(c, b, bounded);
    if (!b->n) return;
    fetch_records(c, b->slots, b->n, c->q->codes ? c->part->stride : 0);
    spector_measure_block(c->part, c->q, b, c->drops);
    if (!b->n) return;
    *c->scored += b->n;
    c->found = spector_rank_block(c->part, c->q, b, c->part_index, c->hits, c->found, c->k);
}

/* Everything of the batch, in its order. */
static void finish_all(scan *c) {
    spector_block b;
    for (uint32_t at = 0; at < c->list.n; at += b.n) {
        uint32_t n = c->list.n - at < SPECTOR_BLOCK ? c->list.n - at : SPECTOR_BLOCK;
        b.n = n;
        memcpy(b.slots, c->list.slots + at, n * sizeof *b.slots);
        fetch_records(c, b.slots, n, SPECTOR_HEADER_BYTES);
        finish_block(c, &b, 0);
        b.n = n;
    }
}

/* Upper bounds of the cosines of a chunk's n slots in b->similarity, from their fine codes if they
 * have any; those that cannot enter are dropped. */
static void refine(scan *c, spector_block *b, const float *estimates, float sketch_margin,
                   float least) {
    float fine[SPECTOR_BLOCK], errors[SPECTOR_BLOCK];
    const float most = most_cosine(c, &c->list.bound);
    const int refined = c->s->fine_bytes != 0;
    uint32_t n = 0;
    if (refined) spector_sketches.fine(c->s, c->cue, b->slots, b->n, fine, errors);
    for (uint32_t i = 0; i < b->n; i++) {
        float bound = estimates[i] + sketch_margin;
        if (refined && bound < INFINITY) {
            float spread = c->q->recall_confidence * errors[i] + slack(c);
            if (fine[i] + spread < bound) bound = fine[i] + spread;
        }
        bound += c->cue->base;
        if (bound < least) {
            c->drops[SPECTOR_DROP_BOUND]++;
            continue;
        }
        b->slots[n] = b->slots[i];
        b->similarity[n++] = bound < most ? bound : most;
    }
    b->n = n;
}

static float least_promise(const estimates_list *best) {
    return best->n == best->wanted ? best->estimates[best->n - 1] : -INFINITY;
}

/* Insert into a short descending list; the last one falls out when it is full. */
static void note_promise(estimates_list *best, float estimate) {
    if (best->n == best->wanted && !(estimate > best->estimates[best->n - 1])) return;
    uint32_t at = best->n < best->wanted ? best->n++ : best->n - 1;
    for (; at && best->estimates[at - 1] < estimate; at--)
        best->estimates[at] = best->estimates[at - 1];
    best->estimates[at] = estimate;
}

static float least_estimate(const scan *c, float add) {
    const float least = least_cosine(c->q, &c->list.bound, floor_of(c));
    return larger(least, c->q->min_similarity) - c->cue->base - add;
}

/* Rank the batch's first n records, a block at a time. */
static void rank_list(scan *c, uint32_t n, float add) {
    const int bounded = most_cosine(c, &c->list.bound) < INFINITY;
    spector_block b;
    for (uint32_t at = 0, step; at < n; at += step) {
        step = n - at < SPECTOR_BLOCK ? n - at : SPECTOR_BLOCK;
        b.n = step;
        memcpy(b.slots, c->list.slots + at, step * sizeof *b.slots);
        refine(c, &b, c->list.estimates + at, add, least_estimate(c, add) + c->cue->base + add);
        fetch_records(c, b.slots, b.n, SPECTOR_HEADER_BYTES);
        finish_block(c, &b, bounded);
    }
}

/* Rank the most promising of the batch's n records, so that there is a score to beat, and leave
 * those of the others that may beat it. */
static uint32_t rank_promising(scan *c, uint32_t n, float add) {
    batch *list = &c->list;
    float rest[BATCH], limit;
    uint32_t slots[BATCH], others = 0, left = 0;
    estimates_list best;
    best.n = 0;
    best.wanted = c->k < SPECTOR_PROMISES / 2 - 8 ? 2 * c->k + 16 : SPECTOR_PROMISES;
    if (n <= best.wanted) return n;
    for (uint32_t i = 0; i < n; i++) note_promise(&best, list->estimates[i]);
    limit = least_promise(&best);
    for (uint32_t i = 0; i < n; i++) {
        const float estimate = list->estimates[i];
        const uint32_t slot = list->slots[i];
        if (estimate >= limit) {
            list->estimates[left] = estimate;
            list->slots[left++] = slot;
        } else {
            rest[others] = estimate;
            slots[others++] = slot;
        }
    }
    rank_list(c, left, add);
    limit = least_estimate(c, add);
    left = 0;
    for (uint32_t i = 0; i < others; i++) {
        if (rest[i] < limit) {
            c->drops[SPECTOR_DROP_BOUND]++;
            continue;
        }
        list->estimates[left] = rest[i];
        list->slots[left++] = slots[i];
    }
    return left;
}

static uint32_t sketch_list(scan *c, float threshold) {
    batch *list = &c->list;
    for (uint32_t i = 0; i < LIST_PAD; i++) list->slots[list->n + i] = list->slots[list->n - 1];
    return spector_sketches.sketch(c->s->sketch, c->cue, list->slots, list->n, threshold,
                                   list->estimates);
}

/* Rank the batch's records and empty it. */
static void flush(scan *c) {
    if (c->list.merged) {
        const bounds sparse = bounds_of(c->q, &c->list.extremes);
        add_bounds(&c->list, &sparse);
    }
    if (c->estimates) {
        const float add = margin(c, &c->list.bound);
        uint32_t n = sketch_list(c, least_estimate(c, add));
        c->drops[SPECTOR_DROP_BOUND] += c->list.n - n;
        if (!(floor_of(c) > -INFINITY)) n = rank_promising(c, n, add);
        rank_list(c, n, add);
    } else {
        finish_all(c);
    }
    c->list.n = 0;
    c->list.bounded = c->list.merged = 0;
}

/* Put the mask's slots on the list; sketches of scattered ones are fetched ahead. */
static void collect(scan *c, uint32_t first, const uint64_t *mask, uint32_t n) {
    batch *list = &c->list;
    uint32_t *out = list->slots + list->n;
    for (int w = 0; w < WORDS; w++) {
        const uint32_t base = first + (uint32_t)w * 64;
        if (mask[w] == UINT64_MAX) {
            for (uint32_t j = 0; j < 64; j++) *out++ = base + j;
            continue;
        }
        for (uint64_t bits = mask[w]; bits; bits &= bits - 1) *out++ = base + SPECTOR_LOW_BIT(bits);
    }
    if (c->estimates && n < SPECTOR_INDEX_BLOCK / 4)
        for (uint32_t i = list->n; i < list->n + n; i++)
            SPECTOR_PREFETCH(c->s->sketch + (size_t)list->slots[i] * SPECTOR_SKETCH_BYTES);
    list->n += n;
}

/* Exact phases of the records put aside, which have arrived in the cache meanwhile. */
uint32_t spector_rank_aside(const spector_part *parts, const spector_query *q,
                            spector_indexed_cue *cue, spector_hit *hits, uint32_t found,
                            uint32_t k, uint64_t *drops, uint64_t *scored) {
    const spector_aside *aside = &cue->aside;
    const uint32_t n = aside->n;
    cue->aside.n = 0;
    return spector_rank_given(parts, q, aside->part, aside->slot, n, hits, found, k, drops, scored);
}

/* Scattered survivors wait, across partitions, until enough of them are on their way to the cache
 * together. */
static void put_aside(scan *c, spector_indexed_cue *cue, uint32_t first, const uint64_t *mask) {
    spector_aside *aside = &cue->aside;
    for (int w = 0; w < WORDS; w++)
        for (uint64_t bits = mask[w]; bits; bits &= bits - 1) {
            const uint32_t slot = first + (uint32_t)w * 64 + SPECTOR_LOW_BIT(bits);
            const uint8_t *record = c->part->data + (size_t)slot * c->part->stride;
            const uint32_t bytes = c->q->codes ? c->part->stride : SPECTOR_HEADER_BYTES;
            for (uint32_t at = 0; at < bytes; at += 64) SPECTOR_PREFETCH(record + at);
            aside->part[aside->n] = c->part_index;
            aside->slot[aside->n++] = slot;
            if (aside->n == SPECTOR_ASIDE)
                c->found = spector_rank_aside(c->part - c->part_index, c->q, cue, c->hits, c->found,
                                              c->k, c->drops, c->scored);
        }
}

static void begin(scan *c, const spector_part *part, const spector_query *q,
                  spector_indexed_cue *cue, uint32_t rows, uint64_t *drops) {
    c->gates.part = c->part = part;
    c->gates.query = c->q = q;
    c->gates.drops = c->drops = drops;
    c->gates.rows = rows;
    c->gates.next = 0;
    spector_index_sections(part->index, &c->gates.s);
    c->s = &c->gates.s;
    c->cue = &cue->cue;
    c->estimates = q->codes && q->recall_confidence > 0.0f;
    c->seed = -INFINITY;
    c->list.n = 0;
    c->list.bounded = c->list.merged = 0;
}

uint32_t spector_scan_indexed(const spector_part *part, const spector_query *q,
                              spector_indexed_cue *cue, uint32_t rows, uint32_t part_index,
                              float seed, spector_hit *hits, uint32_t found, uint32_t k,
                              uint64_t *drops, uint64_t *scored) {
    scan c;
    uint64_t mask[WORDS];
    begin(&c, part, q, cue, rows, drops);
    c.seed = seed;
    c.part_index = part_index;
    c.hits = hits;
    c.found = found;
    c.k = k;
    c.scored = scored;
    for (uint32_t n, first; (n = spector_gates_next(&c.gates, &first, mask));) {
        const spector_extremes *extremes = &c.s->blocks[first / SPECTOR_INDEX_BLOCK];
        if (n < SPARSE && (cue->few || !c.estimates)) {
            put_aside(&c, cue, first, mask);
            continue;
        }
        if (q->codes) spector_prepare_cue(q, c.s, cue);
        if (n < SPARSE) { /* a bound for several such blocks at once is good enough */
            if (c.list.merged)
                widen_extremes(&c.list.extremes, extremes);
            else
                c.list.extremes = *extremes;
            c.list.merged = 1;
            collect(&c, first, mask, n);
            if (c.list.n > BATCH - SPECTOR_INDEX_BLOCK) flush(&c);
            continue;
        }
        bounds block = bounds_of(q, extremes);
        float least = least_cosine(q, &block, floor_of(&c));
        if (least > (q->codes ? most_cosine(&c, &block) : 0.0f)) {
            drops[SPECTOR_DROP_BOUND] += n;
            continue;
        }
        add_bounds(&c.list, &block);
        collect(&c, first, mask, n);
        if (c.list.n > BATCH - SPECTOR_INDEX_BLOCK) flush(&c);
    }
    if (c.list.n) flush(&c);
    return c.found;
}

/* ---- a first idea of the scores ---- */

/* Insert into a short descending list; the last one falls out when it is full. */
static void note_record(promises *best, promise one) {
    if (best->n == best->wanted && !(one.estimate > best->all[best->n - 1].estimate)) return;
    uint32_t at = best->n < best->wanted ? best->n++ : best->n - 1;
    for (; at && best->all[at - 1].estimate < one.estimate; at--) best->all[at] = best->all[at - 1];
    best->all[at] = one;
}

/* Note the most promising records among those of the mask; all of them have the same margin. */
static void sample_block(scan *c, spector_indexed_cue *cue, uint32_t first, const uint64_t *mask,
                         uint32_t n, promises *best) {
    batch *list = &c->list;
    const int full = best->n == best->wanted;
    spector_prepare_cue(c->q, c->s, cue);
    list->n = 0;
    collect(c, first, mask, n);
    best->seen += n;
    n = sketch_list(c, full ? best->all[best->n - 1].estimate - c->cue->base : -INFINITY);
    for (uint32_t i = 0; i < n; i++) {
        if (!(list->estimates[i] < INFINITY)) continue;
        promise one = {list->estimates[i] + c->cue->base, c->part_index, list->slots[i]};
        note_record(best, one);
    }
}

/* Every step-th block. */
static void sample(const spector_part *parts, const uint32_t *select, uint32_t n,
                   const spector_query *q, spector_indexed_cue *cue, uint64_t step,
                   promises *best) {
    uint64_t drops[SPECTOR_DROPS] = {0}, mask[WORDS], at = 0;
    best->n = 0;
    best->seen = 0;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t index = select ? select[i] : i, rows = spector_indexed_rows(&parts[index]);
        const uint64_t blocks = rows / SPECTOR_INDEX_BLOCK;
        scan c;
        if (at < blocks) {
            begin(&c, &parts[index], q, cue, rows, drops);
            c.part_index = index;
        }
        for (; at < blocks; at += step) {
            const uint32_t first = (uint32_t)at * SPECTOR_INDEX_BLOCK;
            const uint32_t count = spector_gates_block(&c.gates, first, mask);
            if (count) sample_block(&c, cue, first, mask, count, best);
        }
        at -= blocks;
    }
}

static float exact_floor(const spector_part *parts, const spector_query *q, const promises *best,
                         spector_hit *hits, uint32_t k) {
    uint64_t drops[SPECTOR_DROPS] = {0}, scored = 0;
    uint32_t part[SPECTOR_PROMISES], slot[SPECTOR_PROMISES], found = 0;
    for (uint32_t i = 0; i < best->n; i++) {
        part[i] = best->all[i].part;
        slot[i] = best->all[i].slot;
        SPECTOR_PREFETCH(parts[part[i]].data + (size_t)slot[i] * parts[part[i]].stride);
    }
    for (uint32_t at = 0, n; at < best->n; at += n) {
        n = best->n - at < SPECTOR_BLOCK ? best->n - at : SPECTOR_BLOCK;
        found = spector_rank_given(parts, q, part + at, slot + at, n, hits, found, k, drops,
                                   &scored);
    }
    return found == k ? hits[0].score : -INFINITY;
}

float spector_sample_floor(const spector_part *parts, const uint32_t *select, uint32_t n,
                           const spector_query *q, spector_indexed_cue *cue, spector_hit *hits,
                           uint32_t k) {
    promises best;
    uint64_t blocks = 0;
    best.wanted = 2 * k + 16;
    cue->few = 1;
    cue->aside.n = 0;
    if (!k || best.wanted > SPECTOR_PROMISES || !q->codes || !(q->recall_confidence > 0.0f))
        return -INFINITY;
    for (uint32_t i = 0; i < n; i++)
        blocks += spector_indexed_rows(&parts[select ? select[i] : i]) / SPECTOR_INDEX_BLOCK;
    if (blocks < 4 * SPECTOR_SAMPLE_BLOCKS) return -INFINITY;
    sample(parts, select, n, q, cue, blocks / SPECTOR_SAMPLE_BLOCKS, &best);
    if (best.seen < ENOUGH_SEEN) {
        /* a filter leaves few: a sample of them must be taken from more blocks */
        const uint64_t left = best.seen * blocks / SPECTOR_SAMPLE_BLOCKS;
        if (left < FEW_LEFT) return -INFINITY;
        sample(parts, select, n, q, cue, left / ENOUGH_SEEN, &best);
    }
    cue->few = 0;
    return exact_floor(parts, q, &best, hits, k);
}

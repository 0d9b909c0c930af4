/* The six phases straight over records: a partition's, or given ones.
 *
 * Records are taken in blocks: one pass over the headers decides phases 1-4 and leaves
 * the slots that survive, one pass computes their dot products (phase 5, the only one that touches
 * vectors), one pass scores (phase 6, in score.c) and offers to the heap. Where most survive, phase
 * 5 goes first and measures all: memory is fastest when it is read in its order.
 */
#include "search.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Whether a ranks behind b: lower score, then higher id, part, slot. */
static inline int worse(const spector_hit *a, const spector_hit *b) {
    if (a->score != b->score) return a->score < b->score;
    if (a->id != b->id) return a->id > b->id;
    if (a->part != b->part) return a->part > b->part;
    return a->slot > b->slot;
}

static void sift_down(spector_hit *heap, uint32_t n, uint32_t at, spector_hit moving) {
    for (;;) {
        uint32_t child = 2 * at + 1;
        if (child >= n) break;
        if (child + 1 < n && worse(&heap[child + 1], &heap[child])) child++;
        if (!worse(&heap[child], &moving)) break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moving;
}

/* A heap of the best k so far with the worst of them at the root. */
static uint32_t offer(spector_hit *heap, uint32_t n, uint32_t k, spector_hit hit) {
    if (n == k) {
        if (k && worse(&heap[0], &hit)) sift_down(heap, n, 0, hit);
        return n;
    }
    uint32_t at = n;
    while (at) {
        uint32_t parent = (at - 1) / 2;
        if (!worse(&hit, &heap[parent])) break;
        heap[at] = heap[parent];
        at = parent;
    }
    heap[at] = hit;
    return n + 1;
}

void spector_sort_best_first(spector_hit *heap, uint32_t n) {
    while (n > 1) {
        spector_hit last = heap[--n];
        heap[n] = heap[0];
        sift_down(heap, n, 0, last);
    }
}

/* Records of a run. Their lines must stay in the first-level cache until they have been scored, and
 * the run must be long enough that the lines behind it, already requested, arrive in time. */
static uint32_t run_rows(const spector_part *part) {
    return part->stride <= 1024 ? 16 : part->stride <= 2048 ? 8 : 4;
}

/* Phases 1 to 4 of count records from first on; prefetches the survivors' vectors, and the headers
 * behind them, which are too far apart for the hardware. */
static void gate_sparse(const spector_part *part, const spector_query *q, uint32_t first,
                        uint32_t count, spector_block *b, uint64_t *drops) {
    b->ahead = part->data + (size_t)(first + SPECTOR_BLOCK) * part->stride;
    b->ahead_step = part->stride;
    spector_active.gate(q, part, first, count, b, drops);
    for (uint32_t i = 0; q->codes && i < b->n; i++)
        for (size_t line = 0; line < q->vector_bytes; line += 64)
            SPECTOR_PREFETCH((const uint8_t *)(spector_record_at(part, b->slots[i]) + 1) + line);
}

/* Cosines of the block's rows by their products. */
static void cosines_of(const spector_query *q, const int32_t *dots, spector_block *b) {
    float scales[SPECTOR_BLOCK];
    for (uint32_t i = 0; i < b->n; i++) scales[i] = b->rows[i]->scale;
    for (uint32_t i = 0; i < b->n; i++) b->similarity[i] = (float)dots[i] * (q->scale * scales[i]);
}

/* Cosines of the block's rows. */
static void measure_rows(const spector_query *q, spector_block *b) {
    int32_t dots[SPECTOR_BLOCK];
    if (!q->codes) {
        memset(b->similarity, 0, sizeof b->similarity);
        return;
    }
    spector_active.dot(q, b, dots);
    cosines_of(q, dots, b);
}

/* Keeps what reaches the similarity floor; most scans have none. */
static void keep_similar(const spector_query *q, spector_block *b, uint64_t *drops) {
    uint32_t n = 0;
    if (!q->codes || q->min_similarity == -INFINITY) return;
    for (uint32_t i = 0; i < b->n; i++) {
        b->slots[n] = b->slots[i];
        b->rows[n] = b->rows[i];
        b->similarity[n] = b->similarity[i];
        n += !(b->similarity[i] < q->min_similarity);
    }
    drops[SPECTOR_DROP_SIMILARITY] += b->n - n;
    b->n = n;
}

/* Phases 1 to 5 of a block of which few may survive. */
static void measure_sparse(const spector_part *part, const spector_query *q, uint32_t first,
                           uint32_t count, spector_block *b, uint64_t *drops) {
    gate_sparse(part, q, first, count, b, drops);
    if (!b->n) return;
    spector_locate_block(part, b);
    measure_rows(q, b);
}

/* The same where most survive: all vectors are read in memory order, then the headers between them,
 * which are in the cache by then. */
static void measure_run(const spector_part *part, const spector_query *q, uint32_t first,
                        uint32_t count, spector_block *b, uint64_t *drops) {
    int32_t dots[SPECTOR_BLOCK];
    b->ahead = NULL;
    spector_active.run(q, part, first, count, dots);
    spector_active.gate(q, part, first, count, b, drops);
    spector_locate_block(part, b);
    if (b->n < count)
        for (uint32_t i = 0; i < b->n; i++) dots[i] = dots[b->slots[i] - first];
    cosines_of(q, dots, b);
}

/* Whether any score can still enter a full heap with this floor; ties may, by their id. */
static int any_reaches(const float *scores, uint32_t n, float floor) {
    uint32_t some = 0;
    for (uint32_t i = 0; i < n; i++) some |= scores[i] >= floor;
    return some != 0;
}

/* Phase 6 of a block into the heap of found hits; returns the heap's new size. */
static uint32_t rank_block(const spector_part *part, const spector_query *q, spector_block *b,
                           uint32_t index, spector_hit *hits, uint32_t found, uint32_t k) {
    float scores[SPECTOR_BLOCK];
    spector_load_block(q, part, b);
    spector_active.score(q, b, scores);
    if (found == k && !any_reaches(scores, b->n, k ? hits[0].score : INFINITY)) return found;
    for (uint32_t i = 0; i < b->n; i++) {
        if (found == k && (!k || scores[i] < hits[0].score)) continue;
        spector_hit hit = {b->rows[i]->id, scores[i], b->similarity[i], index, b->slots[i]};
        found = offer(hits, found, k, hit);
    }
    return found;
}

/* Keeps the records that can reach the floor of a full heap with their cosine, importance and
 * utility if their other terms are the largest possible; for the rest those are never computed. The
 * slack exceeds all roundings of a score, denormals included. NaN passes. */
static void keep_reaching(const spector_query *q, const spector_cap *cap, float floor,
                          spector_block *b) {
    float most[SPECTOR_BLOCK], importance[SPECTOR_BLOCK], utility[SPECTOR_BLOCK];
    const float factor = cap->factor * 1.00001f, others = cap->others;
    uint32_t n = 0, some = 0;
    if (!(floor > 0.0f)) return;
    for (uint32_t i = 0; i < b->n; i++) {
        importance[i] = b->rows[i]->importance;
        utility[i] = b->rows[i]->utility;
    }
    for (uint32_t i = 0; i < b->n; i++) {
        float alike = q->w_similarity * b->similarity[i];
        float own = q->w_importance * importance[i], use = q->w_utility * utility[i];
        float size = fabsf(own) + fabsf(use) + others, sum = own + use + others;
        float rounded = q->multiplicative ? fabsf(alike) * (4e-6f * (1.0f + size))
                                          : 4e-6f * (fabsf(alike) + size);
        most[i] = (q->multiplicative ? alike * (1.0f + sum) : alike + sum) + (rounded + FLT_MIN);
    }
    for (uint32_t i = 0; i < b->n; i++) some |= !(most[i] * factor < floor);
    if (some) {
        for (uint32_t i = 0; i < b->n; i++) {
            b->slots[n] = b->slots[i];
            b->similarity[n] = b->similarity[i];
            n += !(most[i] * factor < floor);
        }
    }
    b->n = n;
}

uint32_t spector_scan_straight(const spector_part *part, const spector_query *q,
                               const spector_cap *cap, uint32_t first, uint32_t end,
                               uint32_t index, spector_hit *hits, uint32_t found, uint32_t k,
                               uint64_t *drops, uint64_t *scored) {
    spector_block b = {0};
    int dense = end < part->count; /* part of a partition is asked for only if its rows survive */
    for (uint32_t step; first < end; first += step) {
        const int run = dense && q->codes;
        step = run ? run_rows(part) : SPECTOR_BLOCK;
        if (end - first < step) step = end - first;
        (run ? measure_run : measure_sparse)(part, q, first, step, &b, drops);
        dense = b.n >= step * 3 / 4;
        keep_similar(q, &b, drops);
        *scored += b.n;
        if (found == k && k && q->codes) keep_reaching(q, cap, hits[0].score, &b);
        if (b.n) found = rank_block(part, q, &b, index, hits, found, k);
    }
    return found;
}

/* Fetch the headers of up to a block of given records. */
static void fetch_headers(const spector_part *parts, const uint32_t *part, const uint32_t *slot,
                          uint32_t n) {
    for (uint32_t i = 0; i < n && i < SPECTOR_BLOCK; i++)
        SPECTOR_PREFETCH(spector_record_at(&parts[part[i]], slot[i]));
}

/* Phases 1 to 4 of n given records; the block's slots are positions in the arrays. */
static void gate_given(const spector_part *parts, const spector_query *q, const uint32_t *part,
                       const uint32_t *slot, uint32_t n, spector_block *b, uint64_t *drops) {
    b->n = 0;
    for (uint32_t i = 0; i < n; i++) {
        const spector_part *p = &parts[part[i]];
        const int phase = spector_gate(p, q, slot[i]);
        if (phase != SPECTOR_DROPS) {
            drops[phase]++;
            continue;
        }
        const spector_record *row = spector_record_at(p, slot[i]);
        for (size_t line = 0; line < q->vector_bytes; line += 64)
            SPECTOR_PREFETCH((const uint8_t *)(row + 1) + line);
        b->slots[b->n] = i;
        b->rows[b->n++] = row;
    }
}

uint32_t spector_rank_given(const spector_part *parts, const spector_query *q,
                            const uint32_t *part, const uint32_t *slot, uint32_t n,
                            spector_hit *hits, uint32_t found, uint32_t k, uint64_t *drops,
                            uint64_t *scored) {
    float scores[SPECTOR_BLOCK];
    spector_block b = {0};
    gate_given(parts, q, part, slot, n, &b, drops);
    if (!b.n) return found;
    measure_rows(q, &b);
    keep_similar(q, &b, drops);
    if (!b.n) return found;
    *scored += b.n;
    spector_active.load(q, &b);
    spector_active.score(q, &b, scores);
    for (uint32_t i = 0; i < b.n; i++) {
        if (found == k && (!k || scores[i] < hits[0].score)) continue;
        spector_hit hit = {b.rows[i]->id, scores[i], b.similarity[i], part[b.slots[i]],
                           slot[b.slots[i]]};
        found = offer(hits, found, k, hit);
    }
    return found;
}

/* A block at a time, with the headers of the next one on their way: one by one, each record would
 * wait twice for memory, for its header and for its vector. */
void spector_score(const spector_part *parts, const spector_query *q, const uint32_t *part,
                   const uint32_t *slot, uint32_t n, float *scores, float *similarity) {
    uint64_t drops[SPECTOR_DROPS] = {0};
    float block_scores[SPECTOR_BLOCK];
    spector_block b = {0};
    fetch_headers(parts, part, slot, n);
    for (uint32_t first = 0; first < n; first += SPECTOR_BLOCK) {
        const uint32_t left = n - first, count = left < SPECTOR_BLOCK ? left : SPECTOR_BLOCK;
        for (uint32_t i = first; i < first + count; i++) {
            scores[i] = -INFINITY;
            similarity[i] = 0.0f;
        }
        fetch_headers(parts, part + first + count, slot + first + count, left - count);
        gate_given(parts, q, part + first, slot + first, count, &b, drops);
        if (!b.n) continue;
        measure_rows(q, &b);
        for (uint32_t i = 0; i < b.n; i++) similarity[first + b.slots[i]] = b.similarity[i];
        keep_similar(q, &b, drops);
        if (!b.n) continue;
        spector_active.load(q, &b);
        spector_active.score(q, &b, block_scores);
        for (uint32_t i = 0; i < b.n; i++) scores[first + b.slots[i]] = block_scores[i];
    }
}

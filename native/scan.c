/* The six phases over an array of partitions.
 *
 * Records are taken in blocks: one pass over the headers decides phases 1-4 and leaves
 * the slots that survive, one pass computes their dot products (phase 5, the only one that touches
 * vectors), one pass scores (phase 6, in score.c) and offers to the heap.
 */
#include "index.h"

#include <math.h>
#include <string.h>

static inline int code_admitted(uint32_t mask, uint8_t code) {
    return !mask || (code < 32 && (mask >> code & 1));
}

static int any_tags_pass(const spector_query *q, uint64_t tags) {
    if (!q->any_count) return 1;
    for (uint32_t i = 0; i < q->any_count; i++)
        if ((tags & q->any_masks[i]) == q->any_masks[i]) return 1;
    return 0;
}

static inline int strength_passes(const spector_query *q, const spector_record *r) {
    if (r->event_ms < q->event_min_ms || r->event_ms >= q->event_max_ms) return 0;
    if (!code_admitted(q->modality_mask, r->modality)) return 0;
    if (!code_admitted(q->category_mask, r->category)) return 0;
    if (r->flags & SPECTOR_PINNED) return 1;
    if (q->importance_floor > 0.0f && r->importance < q->importance_floor) return 0;
    return !(q->retention_floor > 0.0f && spector_retention(q, r) < q->retention_floor);
}

/* Phases 1 to 4: the counter to bump for a dropped record, SPECTOR_DROPS for one that passes. */
static inline int gate(const spector_part *part, const spector_query *q, uint32_t slot,
                       const spector_record *r) {
    if (r->flags & q->drop_flags) return SPECTOR_DROP_STATE;
    if (part->allow && !(part->allow[slot >> 6] >> (slot & 63) & 1)) return SPECTOR_DROP_FILTER;
    if ((r->tags & q->tags_all) != q->tags_all || !any_tags_pass(q, r->tags))
        return SPECTOR_DROP_TAGS;
    if (r->valence < q->valence_min || r->valence > q->valence_max) return SPECTOR_DROP_VALENCE;
    if (!strength_passes(q, r)) return SPECTOR_DROP_STRENGTH;
    return SPECTOR_DROPS;
}

static inline const spector_record *record_at(const spector_part *part, uint32_t slot) {
    return (const spector_record *)(part->data + (size_t)slot * part->stride);
}

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

static void sort_best_first(spector_hit *heap, uint32_t n) {
    while (n > 1) {
        spector_hit last = heap[--n];
        heap[n] = heap[0];
        sift_down(heap, n, 0, last);
    }
}

/* Share the next block's cache lines among the passes over this one, so that the memory bus never
 * idles: while one pass computes, what the next block needs is on its way. The gates are short and
 * fetch one line, the products take two thirds of the vector. Where few records survive, headers
 * alone are worth fetching ahead, and the vectors of survivors as they turn up. */
static void plan_ahead(const spector_query *q, spector_block *b, int dense) {
    uint32_t lines = dense ? q->vector_bytes / 64 : 0;
    b->ahead[0] = 0;
    b->ahead[1] = SPECTOR_HEADER_BYTES;
    b->ahead[2] = b->ahead[1] + (2 * lines + 2) / 3 * 64;
    b->ahead[3] = b->ahead[1] + lines * 64;
}

/* Phases 1 to 4 of count records from first on. */
static void gate_block(const spector_part *part, const spector_query *q, uint32_t first,
                       uint32_t count, int dense, spector_block *b, uint64_t *drops) {
    uint32_t n = 0;
    for (uint32_t slot = first; slot < first + count; slot++) {
        const spector_record *r = record_at(part, slot);
        spector_fetch_ahead(part, b, slot, 0);
        int phase = gate(part, q, slot, r);
        if (phase == SPECTOR_DROPS) {
            if (!dense)
                for (size_t line = 0; line < q->vector_bytes; line += 64)
                    SPECTOR_PREFETCH((const uint8_t *)(r + 1) + line);
            b->slots[n++] = slot;
        } else {
            drops[phase]++;
        }
    }
    b->n = n;
}

void spector_measure_block(const spector_part *part, const spector_query *q, spector_block *b,
                           uint64_t *drops) {
    int32_t dots[SPECTOR_BLOCK];
    uint32_t kept = 0;
    if (!q->codes) {
        memset(b->similarity, 0, sizeof b->similarity);
        return;
    }
    spector_active.dot(q, part, b, dots);
    for (uint32_t i = 0; i < b->n; i++) {
        float sim = (float)dots[i] * (q->scale * record_at(part, b->slots[i])->scale);
        b->similarity[kept] = sim;
        b->slots[kept] = b->slots[i];
        if (sim < q->min_similarity)
            drops[SPECTOR_DROP_SIMILARITY]++;
        else
            kept++;
    }
    b->n = kept;
}

uint32_t spector_rank_block(const spector_part *part, const spector_query *q, spector_block *b,
                            uint32_t index, spector_hit *hits, uint32_t found, uint32_t k) {
    float scores[SPECTOR_BLOCK];
    spector_load_block(q, part, b);
    spector_active.score(q, b, scores);
    for (uint32_t i = 0; i < b->n; i++) {
        if (found == k && (!k || scores[i] < hits[0].score)) continue;
        spector_hit hit = {record_at(part, b->slots[i])->id, scores[i], b->similarity[i], index,
                           b->slots[i]};
        found = offer(hits, found, k, hit);
    }
    return found;
}

int spector_gate(const spector_part *part, const spector_query *q, uint32_t slot) {
    return gate(part, q, slot, record_at(part, slot));
}

uint32_t spector_scan_straight(const spector_part *part, const spector_query *q, uint32_t first,
                               uint32_t index, spector_hit *hits, uint32_t found, uint32_t k,
                               uint64_t *drops, uint64_t *scored) {
    spector_block b = {0};
    int dense = 0;
    for (; first < part->count; first += SPECTOR_BLOCK) {
        uint32_t left = part->count - first;
        plan_ahead(q, &b, dense);
        gate_block(part, q, first, left < SPECTOR_BLOCK ? left : SPECTOR_BLOCK, dense, &b, drops);
        dense = b.n >= SPECTOR_BLOCK * 3 / 4;
        if (b.n) spector_measure_block(part, q, &b, drops);
        if (!b.n) continue;
        *scored += b.n;
        found = spector_rank_block(part, q, &b, index, hits, found, k);
    }
    return found;
}

/* A scan's cue in the space of the indexes, rotated once. */
typedef struct indexed_cue {
    float rotated[SPECTOR_INDEX_MAX_DIM];
    uint32_t dim;
    spector_cue cue;
} indexed_cue;

/* Rows of the partition that its index covers; prepares the cue for them. */
static uint32_t indexed_rows(const spector_part *part, const spector_query *q, indexed_cue *cue) {
    if (!part->index) return 0;
    const spector_index_header *header = (const spector_index_header *)part->index;
    uint32_t rows = SPECTOR_LOAD_ACQUIRE(&header->rows);
    if (q->codes) {
        if (!cue->dim) spector_rotate_cue(q, header->dim, cue->rotated);
        cue->dim = header->dim;
        spector_prepare_cue(cue->rotated, part->index, &cue->cue);
    }
    return rows < part->count ? rows : part->count;
}

/* A score that at least k records reach, from the most promising of a sample of blocks. Without
 * it the first tenth of a scan would let nearly everything through. hits serves as scratch. */
static float seed_of(const spector_part *parts, const uint32_t *select, uint32_t n,
                     const spector_query *q, indexed_cue *cue, spector_hit *hits, uint32_t k) {
    uint64_t blocks = 0, at = 0;
    uint32_t found = 0;
    if (!q->codes || !(q->recall_confidence > 0.0f))
        return -INFINITY;
    if (2 * k + 16 > SPECTOR_PROMISES) return -INFINITY;
    for (uint32_t i = 0; i < n; i++) {
        const spector_part *part = &parts[select ? select[i] : i];
        if (part->index) blocks += part->count / SPECTOR_INDEX_BLOCK;
    }
    if (blocks < 4 * SPECTOR_SAMPLE_BLOCKS) return -INFINITY;
    const uint64_t step = blocks / SPECTOR_SAMPLE_BLOCKS;
    spector_promise best;
    best.n = 0;
    best.wanted = 2 * k + 16;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t index = select ? select[i] : i;
        const spector_part *part = &parts[index];
        const uint64_t mine = part->index ? part->count / SPECTOR_INDEX_BLOCK : 0;
        for (; at < mine; at += step) {
            uint32_t rows = indexed_rows(part, q, cue);
            if (at * SPECTOR_INDEX_BLOCK >= rows) continue;
            found = spector_sample_block(part, q, &cue->cue, (uint32_t)at, rows, index, &best,
                                         hits, found, k);
        }
        at -= mine;
    }
    return found == k ? hits[0].score : -INFINITY;
}

uint32_t spector_scan(const spector_part *parts, const uint32_t *select, uint32_t n,
                      const spector_query *q, spector_hit *hits, uint32_t k, uint64_t *drops,
                      uint64_t *scanned, uint64_t *scored) {
    indexed_cue cue;
    uint32_t found = 0;
    cue.dim = cue.cue.rotated = 0;
    cue.cue.query_norm = 0.0f;
    const float seed = k ? seed_of(parts, select, n, q, &cue, hits, k) : -INFINITY;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t index = select ? select[i] : i;
        const spector_part *part = &parts[index];
        uint32_t rows = 0;
        *scanned += part->count;
        if (k) {
            rows = indexed_rows(part, q, &cue);
            if (rows)
                found = spector_scan_indexed(part, q, &cue.cue, rows, index, seed, hits, found, k,
                                             drops, scored);
        }
        found = spector_scan_straight(part, q, rows, index, hits, found, k, drops, scored);
    }
    sort_best_first(hits, found);
    return found;
}

void spector_score(const spector_part *parts, const spector_query *q, const uint32_t *part,
                   const uint32_t *slot, uint32_t n, float *scores, float *similarity) {
    uint64_t drops[SPECTOR_DROPS] = {0};
    float block_scores[SPECTOR_BLOCK];
    spector_block b = {0};
    for (uint32_t i = 0; i < n; i++) {
        const spector_part *p = &parts[part[i]];
        scores[i] = -INFINITY;
        similarity[i] = 0.0f;
        gate_block(p, q, slot[i], 1, 0, &b, drops);
        if (!b.n) continue;
        spector_measure_block(p, q, &b, drops);
        similarity[i] = b.similarity[0];
        if (!b.n) continue;
        spector_load_block(q, p, &b);
        spector_active.score(q, &b, block_scores);
        scores[i] = block_scores[0];
    }
}

/* The six phases over an array of partitions.
 *
 * Records are taken in blocks of BLOCK: one pass over the headers decides phases 1-4 and leaves
 * the slots that survive, one pass computes their dot products (phase 5, the only one that touches
 * vectors), one pass scores (phase 6). The order of float operations is that of
 * spector/kernel/reference.py, so the scores are bit-identical; hence no -ffast-math and no
 * contraction to fused multiply-add.
 */
#include "spector.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define BLOCK 64
/* Headers lie a stride apart; this many records ahead covers the latency of memory. */
#define HEADER_AHEAD 16

static const int64_t MAX_ABS_MS = (int64_t)1 << 61;
static const double DAYS_PER_MS = 1.0 / 86400000.0;
static const double SECONDS_PER_MS = 1.0 / 1000.0;

static inline float lookup(const float *table, float x) {
    if (!(x >= 0x1p-20f)) return table[0];
    if (x >= 0x1p20f) return table[SPECTOR_TABLE - 1];
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits -= (uint32_t)(127 - 20) << 23;
    uint32_t index = bits >> 17;
    float fraction = (float)(int32_t)(bits & 0x1FFFF) * 0x1p-17f;
    float low = table[index];
    return low + (table[index + 1] - low) * fraction;
}

static inline double age_ms(const spector_query *q, int64_t then_ms) {
    if (then_ms >= q->now_ms) return 0.0;
    if (then_ms < -MAX_ABS_MS) then_ms = -MAX_ABS_MS;
    return (double)(q->now_ms - then_ms);
}

static inline double idle_ms(const spector_query *q, const spector_record *r) {
    return age_ms(q, r->last_access_s ? (int64_t)r->last_access_s * 1000 : r->event_ms);
}

static inline float retention_of(const spector_query *q, const spector_record *r) {
    float stability = r->stability_days >= 1e-6f ? r->stability_days : 1e-6f;
    float value = lookup(q->retention, (float)(idle_ms(q, r) * DAYS_PER_MS) / stability);
    if ((r->flags & SPECTOR_FLASHBULB) && value < q->flashbulb_retention)
        value = q->flashbulb_retention;
    return value;
}

static inline float activation_of(const spector_query *q, const spector_record *r) {
    float uses = (float)(r->access_count ? r->access_count : 1);
    float seconds = (float)(idle_ms(q, r) * SECONDS_PER_MS);
    return uses / (uses + lookup(q->activation, seconds * 0x1p-14f));
}

static inline float recency_of(const spector_query *q, const spector_record *r) {
    return lookup(q->recency, (float)(age_ms(q, r->event_ms) * DAYS_PER_MS) * q->recency_rate);
}

static inline float overlap_of(const spector_query *q, const spector_record *r) {
    float shared = (float)SPECTOR_POPCOUNT(r->tags & q->overlap_mask);
    return shared / (float)(q->overlap_bits ? q->overlap_bits : 1);
}

/* Phase 6 of one record: the fused score, -INFINITY when it is not a finite number. */
static inline float score_of(const spector_query *q, const spector_record *r, float sim) {
    float sum = 0.0f;
    if (q->w_similarity != 0.0f && !q->multiplicative) sum += q->w_similarity * sim;
    if (q->w_importance != 0.0f) sum += q->w_importance * r->importance;
    if (q->w_retention != 0.0f) sum += q->w_retention * retention_of(q, r);
    if (q->w_recency != 0.0f) sum += q->w_recency * recency_of(q, r);
    if (q->w_activation != 0.0f) sum += q->w_activation * activation_of(q, r);
    if (q->w_utility != 0.0f) sum += q->w_utility * r->utility;
    if (q->w_tags != 0.0f) sum += q->w_tags * overlap_of(q, r);
    if (q->w_arousal != 0.0f) sum += q->w_arousal * ((float)r->arousal / 255.0f);
    if (q->multiplicative) {
        float base = q->codes ? sim : 1.0f;
        sum = (q->w_similarity * (base < 0.0f ? 0.0f : base)) * (1.0f + sum);
    }
    sum *= 1.0f - q->confidence_weight * (1.0f - (float)r->confidence / 255.0f);
    sum *= q->tier[r->tier];
    sum *= q->category[r->category];
    if ((q->mood > 0 && r->valence > 0) || (q->mood < 0 && r->valence < 0)) sum *= q->mood_boost;
    if (r->flags & SPECTOR_UNRESOLVED) sum *= q->unresolved_boost;
    if (r->flags & SPECTOR_CONSOLIDATED) sum *= q->consolidated_factor;
    return fabsf(sum) <= FLT_MAX ? sum : -INFINITY;
}

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
    return !(q->retention_floor > 0.0f && retention_of(q, r) < q->retention_floor);
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

typedef struct {
    uint32_t n;
    uint32_t slots[BLOCK];
    float similarity[BLOCK];
} block;

static void gate_block(const spector_part *part, const spector_query *q, uint32_t first,
                       uint32_t last, block *out, uint64_t *drops) {
    uint32_t n = 0;
    for (uint32_t slot = first; slot < last; slot++) {
        const spector_record *r = record_at(part, slot);
        if (slot + HEADER_AHEAD < part->count) SPECTOR_PREFETCH(record_at(part, slot + HEADER_AHEAD));
        int phase = gate(part, q, slot, r);
        if (phase == SPECTOR_DROPS)
            out->slots[n++] = slot;
        else
            drops[phase]++;
    }
    out->n = n;
}

/* Phase 5; keeps the slots at or above the similarity floor. */
static void measure_block(const spector_part *part, const spector_query *q, block *b,
                          uint64_t *drops) {
    int32_t dots[BLOCK];
    uint32_t kept = 0;
    spector_active.dot(part->data, part->stride, b->slots, b->n, q->codes, q->vector_bytes, dots);
    for (uint32_t i = 0; i < b->n; i++) {
        float sim = (float)dots[i] * (q->scale * record_at(part, b->slots[i])->scale);
        if (sim < q->min_similarity) {
            drops[SPECTOR_DROP_SIMILARITY]++;
            continue;
        }
        b->slots[kept] = b->slots[i];
        b->similarity[kept++] = sim;
    }
    b->n = kept;
}

uint32_t spector_scan(const spector_part *parts, const uint32_t *select, uint32_t n,
                      const spector_query *q, spector_hit *hits, uint32_t k, uint64_t *drops,
                      uint64_t *scanned, uint64_t *scored) {
    uint32_t found = 0;
    block b;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t index = select ? select[i] : i;
        spector_part part = parts[index];
        *scanned += part.count;
        for (uint32_t first = 0; first < part.count; first += BLOCK) {
            uint32_t last = part.count - first > BLOCK ? first + BLOCK : part.count;
            gate_block(&part, q, first, last, &b, drops);
            if (!b.n) continue;
            if (q->codes)
                measure_block(&part, q, &b, drops);
            else
                memset(b.similarity, 0, sizeof b.similarity);
            *scored += b.n;
            for (uint32_t j = 0; j < b.n; j++) {
                const spector_record *r = record_at(&part, b.slots[j]);
                float score = score_of(q, r, b.similarity[j]);
                if (found == k && k && score < hits[0].score) continue;
                spector_hit hit = {r->id, score, b.similarity[j], index, b.slots[j]};
                found = offer(hits, found, k, hit);
            }
        }
    }
    sort_best_first(hits, found);
    return found;
}

void spector_score(const spector_part *parts, const spector_query *q, const uint32_t *part,
                   const uint32_t *slot, uint32_t n, float *scores, float *similarity) {
    for (uint32_t i = 0; i < n; i++) {
        const spector_part *p = &parts[part[i]];
        const spector_record *r = record_at(p, slot[i]);
        scores[i] = -INFINITY;
        similarity[i] = 0.0f;
        if (gate(p, q, slot[i], r) != SPECTOR_DROPS) continue;
        if (q->codes) {
            int32_t dot;
            spector_active.dot(p->data, p->stride, &slot[i], 1, q->codes, q->vector_bytes, &dot);
            similarity[i] = (float)dot * (q->scale * r->scale);
            if (similarity[i] < q->min_similarity) continue;
        }
        scores[i] = score_of(q, r, similarity[i]);
    }
}

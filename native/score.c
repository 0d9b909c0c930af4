/* Phase 6: the fused score.
 *
 * Every operation is float32 in the order of spector/kernel/reference.py, so scores are
 * bit-identical everywhere; hence no -ffast-math and no contraction to fused multiply-add. The
 * loops run over columns, which compilers vectorise without changing any record's arithmetic.
 */
#include "spector.h"

#include <float.h>
#include <math.h>
#include <string.h>

#if defined(__GNUC__)
#define ALWAYS_INLINE static inline __attribute__((always_inline))
#else
#define ALWAYS_INLINE static inline
#endif

static const int64_t MAX_ABS_MS = (int64_t)1 << 61;
static const double DAYS_PER_MS = 1.0 / 86400000.0;
static const double SECONDS_PER_MS = 1.0 / 1000.0;

/* The index is the float's own exponent and top six mantissa bits; the rest interpolates.
 * Without branches: x below the range, and NaN, read the first entry; x above it the last. */
ALWAYS_INLINE float lookup(const float *table, float x) {
    const int32_t last = (SPECTOR_TABLE - 2) << 17;
    int32_t bits;
    float inside = x >= 0x1p-20f ? x : 0x1p-20f;
    memcpy(&bits, &inside, sizeof bits);
    bits -= (127 - 20) << 23;
    bits = bits < last ? bits : last;
    float fraction = (float)(bits & 0x1FFFF) * 0x1p-17f;
    float low = table[bits >> 17];
    return low + (table[(bits >> 17) + 1] - low) * fraction;
}

static inline double age_ms(const spector_query *q, int64_t then_ms) {
    if (then_ms >= q->now_ms) return 0.0;
    if (then_ms < -MAX_ABS_MS) then_ms = -MAX_ABS_MS;
    return (double)(q->now_ms - then_ms);
}

static inline double idle_ms(const spector_query *q, const spector_record *r) {
    return age_ms(q, r->last_access_s ? (int64_t)r->last_access_s * 1000 : r->event_ms);
}

static inline float retention_x(const spector_record *r, double idle) {
    float stability = r->stability_days >= 1e-6f ? r->stability_days : 1e-6f;
    return (float)(idle * DAYS_PER_MS) / stability;
}

static inline float retention_min(const spector_query *q, const spector_record *r) {
    return r->flags & SPECTOR_FLASHBULB ? q->flashbulb_retention : 0.0f;
}

float spector_retention(const spector_query *q, const spector_record *r) {
    float value = lookup(q->retention, retention_x(r, idle_ms(q, r)));
    float least = retention_min(q, r);
    return value < least ? least : value;
}

static inline float factor_of(const spector_query *q, const spector_record *r) {
    float factor = q->confidence[r->confidence] * q->tier[r->tier];
    factor *= q->category[r->category];
    if ((q->mood > 0 && r->valence > 0) || (q->mood < 0 && r->valence < 0))
        factor *= q->mood_boost;
    if (r->flags & SPECTOR_UNRESOLVED) factor *= q->unresolved_boost;
    if (r->flags & SPECTOR_CONSOLIDATED) factor *= q->consolidated_factor;
    return factor;
}

void spector_load_terms(const spector_query *q, const spector_record *r, spector_block *b,
                        uint32_t at) {
    if (q->w_retention != 0.0f || q->w_activation != 0.0f) {
        double idle = idle_ms(q, r);
        b->retention_x[at] = retention_x(r, idle);
        b->retention_min[at] = retention_min(q, r);
        b->activation_x[at] = (float)(idle * SECONDS_PER_MS) * 0x1p-14f;
        b->uses[at] = (float)(r->access_count ? r->access_count : 1);
    }
    if (q->w_recency != 0.0f)
        b->recency_x[at] = (float)(age_ms(q, r->event_ms) * DAYS_PER_MS) * q->recency_rate;
    if (q->w_tags != 0.0f) {
        float all = (float)(q->overlap_bits ? q->overlap_bits : 1);
        b->tags[at] = (float)SPECTOR_POPCOUNT(r->tags & q->overlap_mask) / all;
    }
    b->importance[at] = r->importance;
    b->utility[at] = r->utility;
    b->arousal[at] = (float)r->arousal / 255.0f;
    b->factor[at] = factor_of(q, r);
}

ALWAYS_INLINE void add(float *restrict sums, const float *restrict values, float weight, uint32_t n) {
    if (weight == 0.0f) return;
    for (uint32_t i = 0; i < n; i++) sums[i] += weight * values[i];
}

ALWAYS_INLINE void score_block(const spector_query *q, const spector_block *b, float *restrict sums) {
    float term[SPECTOR_BLOCK];
    const uint32_t n = b->n;
    for (uint32_t i = 0; i < n; i++) sums[i] = 0.0f;
    if (!q->multiplicative) add(sums, b->similarity, q->w_similarity, n);
    add(sums, b->importance, q->w_importance, n);
    if (q->w_retention != 0.0f) {
        for (uint32_t i = 0; i < n; i++) {
            float value = lookup(q->retention, b->retention_x[i]);
            term[i] = value < b->retention_min[i] ? b->retention_min[i] : value;
        }
        add(sums, term, q->w_retention, n);
    }
    if (q->w_recency != 0.0f) {
        for (uint32_t i = 0; i < n; i++) term[i] = lookup(q->recency, b->recency_x[i]);
        add(sums, term, q->w_recency, n);
    }
    if (q->w_activation != 0.0f) {
        for (uint32_t i = 0; i < n; i++) {
            float decay = lookup(q->activation, b->activation_x[i]);
            term[i] = b->uses[i] / (b->uses[i] + decay);
        }
        add(sums, term, q->w_activation, n);
    }
    add(sums, b->utility, q->w_utility, n);
    add(sums, b->tags, q->w_tags, n);
    add(sums, b->arousal, q->w_arousal, n);
    if (q->multiplicative) {
        for (uint32_t i = 0; i < n; i++) {
            float base = q->codes ? b->similarity[i] : 1.0f;
            base = base < 0.0f ? 0.0f : base;
            sums[i] = (q->w_similarity * base) * (1.0f + sums[i]);
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        float score = sums[i] * b->factor[i];
        sums[i] = fabsf(score) <= FLT_MAX ? score : -INFINITY;
    }
}

void spector_score_portable(const spector_query *query, const spector_block *block,
                            float *scores) {
    score_block(query, block, scores);
}

#if SPECTOR_X86
__attribute__((target("avx2"))) void spector_score_avx2(const spector_query *query,
                                                        const spector_block *block,
                                                        float *scores) {
    score_block(query, block, scores);
}
#endif

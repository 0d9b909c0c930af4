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
    const int64_t used_ms = (int64_t)r->last_access_s * 1000, event_ms = r->event_ms;
    return age_ms(q, used_ms ? used_ms : event_ms);
}

ALWAYS_INLINE float retention_x(float idle_days, float stability_days) {
    return idle_days / (stability_days >= 1e-6f ? stability_days : 1e-6f);
}

float spector_retention(const spector_query *q, const spector_record *r) {
    float idle_days = (float)(idle_ms(q, r) * DAYS_PER_MS);
    float value = lookup(q->retention, retention_x(idle_days, r->stability_days));
    float least = r->flags & SPECTOR_FLASHBULB ? q->flashbulb_retention : 0.0f;
    return value < least ? least : value;
}

float spector_other_terms(const spector_query *q, const spector_record *r, int64_t used_ms) {
    const double idle = age_ms(q, used_ms);
    float sum = 0.0f;
    if (q->w_importance != 0.0f) sum += q->w_importance * r->importance;
    if (q->w_retention != 0.0f) {
        float days = (float)(idle * DAYS_PER_MS);
        float value = lookup(q->retention, retention_x(days, r->stability_days));
        if (r->flags & SPECTOR_FLASHBULB && value < q->flashbulb_retention)
            value = q->flashbulb_retention;
        sum += q->w_retention * value;
    }
    if (q->w_recency != 0.0f) {
        float days = (float)(age_ms(q, r->event_ms) * DAYS_PER_MS);
        sum += q->w_recency * lookup(q->recency, days * q->recency_rate);
    }
    if (q->w_activation != 0.0f) {
        float uses = (float)(r->access_count ? r->access_count : 1);
        float since = lookup(q->activation, (float)(idle * SECONDS_PER_MS) * 0x1p-14f);
        sum += q->w_activation * (uses / (uses + since));
    }
    if (q->w_utility != 0.0f) sum += q->w_utility * r->utility;
    if (q->w_tags != 0.0f && q->overlap_bits) {
        float shared = (float)SPECTOR_POPCOUNT(r->tags & q->overlap_mask);
        sum += q->w_tags * (shared / (float)q->overlap_bits);
    }
    if (q->w_arousal != 0.0f) sum += q->w_arousal * ((float)r->arousal / 255.0f);
    return sum;
}

/* Factors by a flag, to be indexed by its bit: a branch on flags would be mispredicted often. */
typedef struct {
    float mood[2];
    float unresolved[2];
    float consolidated[2];
    float flashbulb[2];
} by_flag;

static inline uint32_t bit_of(const spector_record *r, uint32_t flag) {
    return (r->flags & flag) != 0;
}

static inline float factor_of(const spector_query *q, const spector_record *r, const by_flag *f) {
    uint32_t agrees = ((q->mood > 0) & (r->valence > 0)) | ((q->mood < 0) & (r->valence < 0));
    float factor = q->confidence[r->confidence] * q->tier[r->tier];
    factor *= q->category[r->category];
    factor *= f->mood[agrees];
    factor *= f->unresolved[bit_of(r, SPECTOR_UNRESOLVED)];
    return factor * f->consolidated[bit_of(r, SPECTOR_CONSOLIDATED)];
}

static inline void load_record(const spector_query *q, const by_flag *f, const spector_record *r,
                               spector_block *b, uint32_t at) {
    if (q->w_retention != 0.0f || q->w_activation != 0.0f) {
        double idle = idle_ms(q, r);
        b->idle_days[at] = (float)(idle * DAYS_PER_MS);
        b->stability[at] = r->stability_days;
        b->retention_min[at] = f->flashbulb[bit_of(r, SPECTOR_FLASHBULB)];
        b->activation_x[at] = (float)(idle * SECONDS_PER_MS) * 0x1p-14f;
        b->uses[at] = (float)(r->access_count ? r->access_count : 1);
    }
    if (q->w_recency != 0.0f)
        b->recency_x[at] = (float)(age_ms(q, r->event_ms) * DAYS_PER_MS) * q->recency_rate;
    if (q->w_tags != 0.0f && q->overlap_bits) {
        float shared = (float)SPECTOR_POPCOUNT(r->tags & q->overlap_mask);
        b->tags[at] = shared / (float)q->overlap_bits;
    }
    b->importance[at] = r->importance;
    b->utility[at] = r->utility;
    if (q->w_arousal != 0.0f) b->arousal[at] = (float)r->arousal / 255.0f;
    b->factor[at] = factor_of(q, r, f);
}

void spector_load_block(const spector_query *q, const spector_part *part, spector_block *b) {
    const by_flag f = {
        .mood = {1.0f, q->mood_boost},
        .unresolved = {1.0f, q->unresolved_boost},
        .consolidated = {1.0f, q->consolidated_factor},
        .flashbulb = {0.0f, q->flashbulb_retention},
    };
    for (uint32_t i = 0; i < b->n; i++) {
        const uint8_t *row = part->data + (size_t)b->slots[i] * part->stride;
        spector_fetch_ahead(part, b, b->slots[i], 2);
        load_record(q, &f, (const spector_record *)row, b, i);
    }
}

ALWAYS_INLINE void add(float *restrict sums, const float *restrict values, float weight, uint32_t n) {
    if (weight == 0.0f) return;
    for (uint32_t i = 0; i < n; i++) sums[i] += weight * values[i];
}

typedef void (*lookup_fn)(const float *table, float *x, uint32_t n);

/* Replaces n values of x, a multiple of 16, by what the table says. */
static void lookup_portable(const float *table, float *x, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) x[i] = lookup(table, x[i]);
}

ALWAYS_INLINE void score_block(const spector_query *q, const spector_block *b,
                               float *restrict sums, lookup_fn look) {
    float term[SPECTOR_BLOCK];
    const uint32_t n = (b->n + 15) / 16 * 16;
    for (uint32_t i = 0; i < n; i++) sums[i] = 0.0f;
    if (!q->multiplicative) add(sums, b->similarity, q->w_similarity, n);
    add(sums, b->importance, q->w_importance, n);
    if (q->w_retention != 0.0f) {
        for (uint32_t i = 0; i < n; i++) term[i] = retention_x(b->idle_days[i], b->stability[i]);
        look(q->retention, term, n);
        for (uint32_t i = 0; i < n; i++)
            term[i] = term[i] < b->retention_min[i] ? b->retention_min[i] : term[i];
        add(sums, term, q->w_retention, n);
    }
    if (q->w_recency != 0.0f) {
        memcpy(term, b->recency_x, n * sizeof *term);
        look(q->recency, term, n);
        add(sums, term, q->w_recency, n);
    }
    if (q->w_activation != 0.0f) {
        memcpy(term, b->activation_x, n * sizeof *term);
        look(q->activation, term, n);
        for (uint32_t i = 0; i < n; i++) term[i] = b->uses[i] / (b->uses[i] + term[i]);
        add(sums, term, q->w_activation, n);
    }
    add(sums, b->utility, q->w_utility, n);
    add(sums, b->tags, q->overlap_bits ? q->w_tags : 0.0f, n);
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

void spector_score_f32_portable(const spector_query *query, const spector_block *block,
                            float *scores) {
    score_block(query, block, scores, lookup_portable);
}

#if SPECTOR_X86
#include <immintrin.h>

/* lookup() on eight lanes, operation by operation. */
__attribute__((target("avx2"))) static inline void lookup_avx2(const float *table, float *x,
                                                               uint32_t n) {
    const __m256 lowest = _mm256_set1_ps(0x1p-20f);
    const __m256i base = _mm256_set1_epi32((127 - 20) << 23);
    const __m256i last = _mm256_set1_epi32((SPECTOR_TABLE - 2) << 17);
    for (uint32_t i = 0; i < n; i += 8) {
        /* max returns its second operand for NaN */
        __m256 inside = _mm256_max_ps(_mm256_loadu_ps(x + i), lowest);
        __m256i bits = _mm256_sub_epi32(_mm256_castps_si256(inside), base);
        bits = _mm256_min_epi32(bits, last);
        __m256i rest = _mm256_and_si256(bits, _mm256_set1_epi32(0x1FFFF));
        __m256 fraction = _mm256_mul_ps(_mm256_cvtepi32_ps(rest), _mm256_set1_ps(0x1p-17f));
        __m256i index = _mm256_srli_epi32(bits, 17);
        __m256 low = _mm256_i32gather_ps(table, index, 4);
        __m256 high = _mm256_i32gather_ps(table + 1, index, 4);
        __m256 rise = _mm256_mul_ps(_mm256_sub_ps(high, low), fraction);
        _mm256_storeu_ps(x + i, _mm256_add_ps(low, rise));
    }
}

__attribute__((target("avx2"))) void spector_score_f32_avx2(const spector_query *query,
                                                        const spector_block *block,
                                                        float *scores) {
    score_block(query, block, scores, lookup_avx2);
}

#define AVX512                                                                                    \
    __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,prefer-vector-width=512")))

/* lookup() on sixteen lanes, operation by operation. */
AVX512 static inline void lookup_avx512(const float *table, float *x, uint32_t n) {
    const __m512 lowest = _mm512_set1_ps(0x1p-20f);
    const __m512i base = _mm512_set1_epi32((127 - 20) << 23);
    const __m512i last = _mm512_set1_epi32((SPECTOR_TABLE - 2) << 17);
    for (uint32_t i = 0; i < n; i += 16) {
        /* max returns its second operand for NaN */
        __m512 inside = _mm512_max_ps(_mm512_loadu_ps(x + i), lowest);
        __m512i bits = _mm512_sub_epi32(_mm512_castps_si512(inside), base);
        bits = _mm512_min_epi32(bits, last);
        __m512i rest = _mm512_and_si512(bits, _mm512_set1_epi32(0x1FFFF));
        __m512 fraction = _mm512_mul_ps(_mm512_cvtepi32_ps(rest), _mm512_set1_ps(0x1p-17f));
        __m512i index = _mm512_srli_epi32(bits, 17);
        __m512 low = _mm512_i32gather_ps(index, table, 4);
        __m512 high = _mm512_i32gather_ps(index, table + 1, 4);
        __m512 rise = _mm512_mul_ps(_mm512_sub_ps(high, low), fraction);
        _mm512_storeu_ps(x + i, _mm512_add_ps(low, rise));
    }
}

AVX512 void spector_score_f32_avx512(const spector_query *query, const spector_block *block,
                                     float *scores) {
    score_block(query, block, scores, lookup_avx512);
}
#endif

/* Phase 6: the fused score.
 *
 * Every operation is float32 in the order of spector/kernel/reference/scan.py, so scores are
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

ALWAYS_INLINE float retention_x(float idle_days, float stability_days) {
    return idle_days / (stability_days >= 1e-6f ? stability_days : 1e-6f);
}

float spector_retention(const spector_query *q, const spector_record *r) {
    float idle_days = (float)(spector_idle_ms(q, r) * SPECTOR_DAYS_PER_MS);
    float value = lookup(q->retention, retention_x(idle_days, r->stability_days));
    float least = r->flags & SPECTOR_FLASHBULB ? q->flashbulb_retention : 0.0f;
    return value < least ? least : value;
}

float spector_other_terms(const spector_query *q, const spector_record *r, int64_t used_ms) {
    const double idle = spector_age_ms(q, used_ms);
    float sum = 0.0f;
    if (q->w_importance != 0.0f) sum += q->w_importance * r->importance;
    if (q->w_retention != 0.0f) {
        float days = (float)(idle * SPECTOR_DAYS_PER_MS);
        float value = lookup(q->retention, retention_x(days, r->stability_days));
        if (r->flags & SPECTOR_FLASHBULB && value < q->flashbulb_retention)
            value = q->flashbulb_retention;
        sum += q->w_retention * value;
    }
    if (q->w_recency != 0.0f) {
        float days = (float)(spector_age_ms(q, r->event_ms) * SPECTOR_DAYS_PER_MS);
        sum += q->w_recency * lookup(q->recency, days * q->recency_rate);
    }
    if (q->w_activation != 0.0f) {
        float uses = (float)(r->access_count ? r->access_count : 1);
        float since = lookup(q->activation, (float)(idle * SPECTOR_SECONDS_PER_MS) * 0x1p-14f);
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

ALWAYS_INLINE void add(float *restrict sums, const float *restrict values, float weight, uint32_t n) {
    if (weight == 0.0f) return;
    for (uint32_t i = 0; i < n; i++) sums[i] += weight * values[i];
}

typedef void (*lookup_fn)(const float *table, float *x, uint32_t n);

/* Replaces n values of x, a multiple of SPECTOR_LANES, by what the table says. */
static void lookup_portable(const float *table, float *x, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) x[i] = lookup(table, x[i]);
}

ALWAYS_INLINE void score_block(const spector_query *q, const spector_block *b,
                               float *restrict sums, lookup_fn look) {
    float term[SPECTOR_BLOCK];
    const uint32_t n = (b->n + SPECTOR_LANES - 1) / SPECTOR_LANES * SPECTOR_LANES;
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
    const __m512i even =
        _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    for (uint32_t i = 0; i < n; i += 16) {
        /* max returns its second operand for NaN */
        __m512 inside = _mm512_max_ps(_mm512_loadu_ps(x + i), lowest);
        __m512i bits = _mm512_sub_epi32(_mm512_castps_si512(inside), base);
        bits = _mm512_min_epi32(bits, last);
        __m512i rest = _mm512_and_si512(bits, _mm512_set1_epi32(0x1FFFF));
        __m512 fraction = _mm512_mul_ps(_mm512_cvtepi32_ps(rest), _mm512_set1_ps(0x1p-17f));
        __m512i index = _mm512_srli_epi32(bits, 17);
        /* both neighbours in one 8-byte load: half as many as two gathers of floats */
        __m512 a = _mm512_castpd_ps(
            _mm512_i32gather_pd(_mm512_castsi512_si256(index), (const void *)table, 4));
        __m512 b = _mm512_castpd_ps(
            _mm512_i32gather_pd(_mm512_extracti64x4_epi64(index, 1), (const void *)table, 4));
        __m512 low = _mm512_permutex2var_ps(a, even, b);
        __m512 high = _mm512_permutex2var_ps(a, _mm512_or_si512(even, _mm512_set1_epi32(1)), b);
        __m512 rise = _mm512_mul_ps(_mm512_sub_ps(high, low), fraction);
        _mm512_storeu_ps(x + i, _mm512_add_ps(low, rise));
    }
}

AVX512 void spector_score_f32_avx512(const spector_query *query, const spector_block *block,
                                     float *scores) {
    score_block(query, block, scores, lookup_avx512);
}
#endif

/* The terms of records as columns: spector_load_rec_<isa>, chosen in isa.c.
 *
 * Ages are exact int64 differences, then double, then float, as in spector/kernel/reference/scan.py.
 */
#include "spector.h"

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
        double idle = spector_idle_ms(q, r);
        b->idle_days[at] = (float)(idle * SPECTOR_DAYS_PER_MS);
        b->stability[at] = r->stability_days;
        b->retention_min[at] = f->flashbulb[bit_of(r, SPECTOR_FLASHBULB)];
        b->activation_x[at] = (float)(idle * SPECTOR_SECONDS_PER_MS) * 0x1p-14f;
        b->uses[at] = (float)(r->access_count ? r->access_count : 1);
    }
    if (q->w_recency != 0.0f) {
        float days = (float)(spector_age_ms(q, r->event_ms) * SPECTOR_DAYS_PER_MS);
        b->recency_x[at] = days * q->recency_rate;
    }
    if (q->w_tags != 0.0f && q->overlap_bits) {
        float shared = (float)SPECTOR_POPCOUNT(r->tags & q->overlap_mask);
        b->tags[at] = shared / (float)q->overlap_bits;
    }
    b->importance[at] = r->importance;
    b->utility[at] = r->utility;
    if (q->w_arousal != 0.0f) b->arousal[at] = (float)r->arousal / 255.0f;
    b->factor[at] = factor_of(q, r, f);
}

void spector_load_rec_portable(const spector_query *q, spector_block *b) {
    const by_flag f = {
        .mood = {1.0f, q->mood_boost},
        .unresolved = {1.0f, q->unresolved_boost},
        .consolidated = {1.0f, q->consolidated_factor},
        .flashbulb = {0.0f, q->flashbulb_retention},
    };
    for (uint32_t i = 0; i < b->n; i++) load_record(q, &f, b->rows[i], b, i);
    /* these become indexes of tables, so the entries behind n must be set too */
    for (uint32_t i = b->n; i % SPECTOR_LANES; i++) {
        b->idle_days[i] = b->recency_x[i] = b->activation_x[i] = 0.0f;
        b->stability[i] = 1.0f;
    }
}

#if SPECTOR_X86
#include <immintrin.h>

#define AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,popcnt")))

/* Sixteen bytes of each of sixteen headers; part[i] holds those of rows i, 4 + i, 8 + i, 12 + i. */
typedef struct {
    __m512i part[4];
} quarter;

AVX512 static inline quarter load_quarter(const spector_record *const *rows, size_t offset) {
    quarter q;
    for (int i = 0; i < 4; i++) {
        const uint8_t *a = (const uint8_t *)rows[i] + offset;
        const uint8_t *b = (const uint8_t *)rows[4 + i] + offset;
        const uint8_t *c = (const uint8_t *)rows[8 + i] + offset;
        const uint8_t *d = (const uint8_t *)rows[12 + i] + offset;
        __m512i row = _mm512_castsi128_si512(_mm_loadu_si128((const __m128i *)a));
        row = _mm512_inserti32x4(row, _mm_loadu_si128((const __m128i *)b), 1);
        row = _mm512_inserti32x4(row, _mm_loadu_si128((const __m128i *)c), 2);
        q.part[i] = _mm512_inserti32x4(row, _mm_loadu_si128((const __m128i *)d), 3);
    }
    return q;
}

/* The quarter's four 4-byte columns, in the order of the rows. */
AVX512 static inline void columns_of(const quarter *q, __m512i column[4]) {
    __m512i ab = _mm512_unpacklo_epi32(q->part[0], q->part[1]);
    __m512i cd = _mm512_unpacklo_epi32(q->part[2], q->part[3]);
    column[0] = _mm512_unpacklo_epi64(ab, cd);
    column[1] = _mm512_unpackhi_epi64(ab, cd);
    ab = _mm512_unpackhi_epi32(q->part[0], q->part[1]);
    cd = _mm512_unpackhi_epi32(q->part[2], q->part[3]);
    column[2] = _mm512_unpacklo_epi64(ab, cd);
    column[3] = _mm512_unpackhi_epi64(ab, cd);
}

/* 8-byte values of sixteen rows: low of 0, 1, 4, 5, 8, 9, 12, 13, high of the others. */
typedef struct {
    __m512i low, high;
} longs;

AVX512 static inline __m512d age_avx512(const spector_query *q, __m512i then_ms) {
    const __m512i now = _mm512_set1_epi64(q->now_ms);
    then_ms = _mm512_max_epi64(then_ms, _mm512_set1_epi64(-SPECTOR_MAX_ABS_MS));
    return _mm512_cvtepi64_pd(_mm512_sub_epi64(now, _mm512_min_epi64(then_ms, now)));
}

/* (float)(ages * unit), in the order of the rows. */
AVX512 static inline __m512 in_units(__m512d low, __m512d high, double unit) {
    const __m512i order = _mm512_setr_epi32(0, 1, 16, 17, 2, 3, 18, 19, 4, 5, 20, 21, 6, 7, 22, 23);
    __m256 even = _mm512_cvtpd_ps(_mm512_mul_pd(low, _mm512_set1_pd(unit)));
    __m256 odd = _mm512_cvtpd_ps(_mm512_mul_pd(high, _mm512_set1_pd(unit)));
    return _mm512_permutex2var_ps(_mm512_castps256_ps512(even), order,
                                  _mm512_castps256_ps512(odd));
}

/* When the rows were last used: their last access, or the event where there was none. */
AVX512 static inline __m512i used_ms(__m512i access_s, __m512i event_ms) {
    __mmask8 never = _mm512_testn_epi64_mask(access_s, access_s);
    __m512i access_ms = _mm512_mul_epu32(access_s, _mm512_set1_epi64(1000));
    return _mm512_mask_mov_epi64(access_ms, never, event_ms);
}

AVX512 static inline void load_ages(const spector_query *q, const spector_record *const *rows,
                                    const quarter *uses, __m512i moods, spector_block *b,
                                    uint32_t at) {
    const quarter times = load_quarter(rows, offsetof(spector_record, event_ms));
    const longs event = {_mm512_unpacklo_epi64(times.part[0], times.part[1]),
                         _mm512_unpacklo_epi64(times.part[2], times.part[3])};
    if (q->w_recency != 0.0f) {
        __m512 days = in_units(age_avx512(q, event.low), age_avx512(q, event.high),
                               SPECTOR_DAYS_PER_MS);
        _mm512_storeu_ps(b->recency_x + at, _mm512_mul_ps(days, _mm512_set1_ps(q->recency_rate)));
    }
    if (q->w_retention == 0.0f && q->w_activation == 0.0f) return;
    const longs access = {
        _mm512_srli_epi64(_mm512_unpackhi_epi64(uses->part[0], uses->part[1]), 32),
        _mm512_srli_epi64(_mm512_unpackhi_epi64(uses->part[2], uses->part[3]), 32)};
    __m512d low = age_avx512(q, used_ms(access.low, event.low));
    __m512d high = age_avx512(q, used_ms(access.high, event.high));
    _mm512_storeu_ps(b->idle_days + at, in_units(low, high, SPECTOR_DAYS_PER_MS));
    __m512 seconds = in_units(low, high, SPECTOR_SECONDS_PER_MS);
    _mm512_storeu_ps(b->activation_x + at, _mm512_mul_ps(seconds, _mm512_set1_ps(0x1p-14f)));
    __mmask16 flashbulb = _mm512_test_epi32_mask(moods, _mm512_set1_epi32(SPECTOR_FLASHBULB));
    _mm512_storeu_ps(b->retention_min + at,
                     _mm512_maskz_mov_ps(flashbulb, _mm512_set1_ps(q->flashbulb_retention)));
}

AVX512 static inline __m512 times_where(__m512 factor, __m512i flags, int32_t flag, float value) {
    __mmask16 set = _mm512_test_epi32_mask(flags, _mm512_set1_epi32(flag));
    return _mm512_mask_mul_ps(factor, set, factor, _mm512_set1_ps(value));
}

AVX512 static inline __m512 factors_avx512(const spector_query *q, __m512i kinds, __m512i trust,
                                           __m512i moods) {
    const __m512i byte = _mm512_set1_epi32(0xFF);
    __m512i confidence = _mm512_and_si512(_mm512_srli_epi32(trust, 16), byte);
    __m512i tier = _mm512_and_si512(_mm512_srli_epi32(kinds, 8), byte);
    __m512i category = _mm512_and_si512(_mm512_srli_epi32(kinds, 16), byte);
    __m512 factor = _mm512_mul_ps(_mm512_i32gather_ps(confidence, q->confidence, 4),
                                  _mm512_i32gather_ps(tier, q->tier, 4));
    factor = _mm512_mul_ps(factor, _mm512_i32gather_ps(category, q->category, 4));
    if (q->mood) {
        /* the sign of the valence, which lies in bits 16 to 23 */
        __m512i valence = _mm512_slli_epi32(moods, 8);
        valence = _mm512_srai_epi32(valence, 24);
        const __m512i zero = _mm512_setzero_si512();
        __mmask16 agrees = q->mood > 0 ? _mm512_cmpgt_epi32_mask(valence, zero)
                                       : _mm512_cmplt_epi32_mask(valence, zero);
        factor = _mm512_mask_mul_ps(factor, agrees, factor, _mm512_set1_ps(q->mood_boost));
    }
    factor = times_where(factor, moods, SPECTOR_UNRESOLVED, q->unresolved_boost);
    return times_where(factor, moods, SPECTOR_CONSOLIDATED, q->consolidated_factor);
}

AVX512 static inline void load_overlap(const spector_query *q, const spector_record *const *rows,
                                       spector_block *b, uint32_t at) {
    for (uint32_t i = 0; i < SPECTOR_LANES; i++) {
        float shared = (float)SPECTOR_POPCOUNT(rows[i]->tags & q->overlap_mask);
        b->tags[at + i] = shared / (float)q->overlap_bits;
    }
}

AVX512 static inline void load_rows(const spector_query *q, const spector_record *const *rows,
                                    spector_block *b, uint32_t at) {
    __m512i kind[4], mood[4], use[4];
    const quarter kinds = load_quarter(rows, offsetof(spector_record, version));
    const quarter moods = load_quarter(rows, offsetof(spector_record, centroid));
    const quarter uses = load_quarter(rows, offsetof(spector_record, stability_days));
    columns_of(&kinds, kind);
    columns_of(&moods, mood);
    columns_of(&uses, use);
    if (q->w_retention != 0.0f || q->w_activation != 0.0f || q->w_recency != 0.0f)
        load_ages(q, rows, &uses, mood[2], b, at);
    if (q->w_tags != 0.0f && q->overlap_bits) load_overlap(q, rows, b, at);
    if (q->w_arousal != 0.0f) {
        __m512 arousal = _mm512_cvtepi32_ps(_mm512_srli_epi32(mood[2], 24));
        _mm512_storeu_ps(b->arousal + at, _mm512_div_ps(arousal, _mm512_set1_ps(255.0f)));
    }
    _mm512_storeu_si512(b->importance + at, mood[3]);
    _mm512_storeu_si512(b->stability + at, use[0]);
    _mm512_storeu_si512(b->utility + at, use[1]);
    __m512i count = _mm512_max_epu32(use[2], _mm512_set1_epi32(1));
    _mm512_storeu_ps(b->uses + at, _mm512_cvtepu32_ps(count));
    _mm512_storeu_ps(b->factor + at, factors_avx512(q, kind[0], mood[0], mood[2]));
}

/* Sixteen records at a time; the last group repeats its last record. */
AVX512 void spector_load_rec_avx512(const spector_query *q, spector_block *b) {
    const spector_record *rows[SPECTOR_LANES];
    for (uint32_t i = 0; i < b->n; i += SPECTOR_LANES) {
        for (uint32_t lane = 0; lane < SPECTOR_LANES; lane++)
            rows[lane] = b->rows[i + lane < b->n ? i + lane : b->n - 1];
        load_rows(q, rows, b, i);
    }
}
#endif

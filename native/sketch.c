/* 1-bit codes against a cue: spector_sketch_u1_<isa> and spector_fine_u1_<isa>.
 *
 * The cue's coordinates have 4-bit levels, kept as bit planes, so that the product of signs and
 * levels is a weighted count of the bits in which code and plane differ:
 *     sum b_i l_i = 15 d - 2 sum_j 2^j popcount(code XOR plane_j)
 * Counts are at most 15 * 4096 bits, far below 2^31.
 */
#include "index.h"

#include <string.h>

/* bytes of sketches that are fetched ahead */
enum { AHEAD = 4096 };

/* ---- the cue ---- */

void spector_turn_cue(const spector_query *q, const spector_sections *s,
                      spector_indexed_cue *indexed) {
    float *out = indexed->rotated, squares[16] = {0}, sum = 0.0f;
    if (indexed->dim) return;
    for (uint32_t i = 0; i < s->rotated; i++)
        out[i] = i < s->dim && i < q->vector_bytes ? (float)q->codes[i] * q->scale : 0.0f;
    spector_rotate_f32(out, s->rotated);
    for (uint32_t i = 0; i < s->rotated; i += 16)
        for (uint32_t lane = 0; lane < 16; lane++)
            squares[lane] += out[i + lane] * out[i + lane];
    for (uint32_t lane = 0; lane < 16; lane++) sum += squares[lane];
    indexed->cue.query_norm = sqrtf(sum);
    indexed->dim = s->dim;
    indexed->set = 0;
}

/* Bit j of eight levels of a byte each, as a byte. */
static inline uint8_t gather_bits(uint64_t levels, int j) {
    const uint64_t low = (levels >> j) & UINT64_C(0x0101010101010101);
    return (uint8_t)(low * UINT64_C(0x0102040810204080) >> 56);
}

/* Levels of n coordinates, a multiple of 16. */
static void set_levels(const float *q, const float *centre, uint32_t n, float per_level,
                       uint8_t *levels) {
    for (uint32_t i = 0; i < n; i++) {
        float level = (q[i] - centre[i]) * per_level + 8.0f;
        levels[i] = (uint8_t)(int32_t)(level < 15.0f ? level : 15.0f);
    }
}

static void set_planes(spector_cue *cue, const uint8_t *levels, uint32_t n) {
    memset(cue->head, 0, sizeof cue->head);
    for (uint32_t i = 0; i < n; i += 8) {
        uint64_t eight;
        memcpy(&eight, levels + i, sizeof eight);
        for (int j = 0; j < 4; j++) {
            const uint8_t byte = gather_bits(eight, j);
            if (i < SPECTOR_SKETCH_BITS)
                cue->head[j][i / 8] = byte;
            else
                cue->tail[j][(i - SPECTOR_SKETCH_BITS) / 8] = byte;
        }
    }
}

/* The vector that a cue's levels are made from: cue minus centre. */
typedef struct distance {
    float norm2, shared, largest;
} distance;

/* Sums in sixteen lanes, which every instruction set adds up alike. */
static distance fold(const float *norm2s, const float *shareds, const float *largests) {
    distance out = {0.0f, 0.0f, 0.0f};
    for (uint32_t lane = 0; lane < 16; lane++) {
        out.norm2 += norm2s[lane];
        out.shared += shareds[lane];
        if (largests[lane] > out.largest) out.largest = largests[lane];
    }
    return out;
}

static float levels_a_unit(float largest) { return largest > 1e-30f ? 7.5f / largest : 0.0f; }

static distance spector_levels_portable(const float *rotated, const spector_sections *s,
                                        spector_cue *cue) {
    float norm2s[16] = {0}, shareds[16] = {0}, largests[16] = {0};
    for (uint32_t i = 0; i < s->rotated; i += 16)
        for (uint32_t lane = 0; lane < 16; lane++) {
            const float q = rotated[i + lane], y = q - s->centre[i + lane];
            norm2s[lane] += y * y;
            shareds[lane] += q * s->centre[i + lane];
            largests[lane] = fabsf(y) > largests[lane] ? fabsf(y) : largests[lane];
        }
    const distance found = fold(norm2s, shareds, largests);
    uint8_t levels[SPECTOR_INDEX_MAX_DIM];
    set_levels(rotated, s->centre, s->rotated, levels_a_unit(found.largest), levels);
    set_planes(cue, levels, s->rotated);
    return found;
}

#if SPECTOR_X86
#include <immintrin.h>

#define TARGET_AVX512 \
    __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512vnni,avx512bitalg,popcnt")))

TARGET_AVX512 static distance spector_levels_avx512(const float *rotated,
                                                    const spector_sections *s, spector_cue *cue) {
    __m512 norm2 = _mm512_setzero_ps(), shared = norm2, largest = norm2;
    float norm2s[16], shareds[16], largests[16];
    for (uint32_t i = 0; i < s->rotated; i += 16) {
        const __m512 q = _mm512_loadu_ps(rotated + i), c = _mm512_loadu_ps(s->centre + i);
        const __m512 y = _mm512_sub_ps(q, c);
        norm2 = _mm512_add_ps(norm2, _mm512_mul_ps(y, y));
        shared = _mm512_add_ps(shared, _mm512_mul_ps(q, c));
        largest = _mm512_max_ps(_mm512_abs_ps(y), largest); /* max returns its second operand for NaN */
    }
    _mm512_storeu_ps(norm2s, norm2);
    _mm512_storeu_ps(shareds, shared);
    _mm512_storeu_ps(largests, largest);
    const distance found = fold(norm2s, shareds, largests);
    const __m512 a_unit = _mm512_set1_ps(levels_a_unit(found.largest));
    uint16_t planes[4][SPECTOR_INDEX_MAX_DIM / 16];
    for (uint32_t i = 0; i < s->rotated; i += 16) {
        const __m512 y = _mm512_sub_ps(_mm512_loadu_ps(rotated + i), _mm512_loadu_ps(s->centre + i));
        const __m512 level = _mm512_add_ps(_mm512_mul_ps(y, a_unit), _mm512_set1_ps(8.0f));
        const __m512i whole = _mm512_cvttps_epi32(_mm512_min_ps(level, _mm512_set1_ps(15.0f)));
        for (int j = 0; j < 4; j++)
            planes[j][i / 16] = _mm512_test_epi32_mask(whole, _mm512_set1_epi32(1 << j));
    }
    const uint32_t bytes = s->rotated / 8, head = SPECTOR_SKETCH_BITS / 8;
    memset(cue->head, 0, sizeof cue->head);
    for (int j = 0; j < 4; j++) {
        memcpy(cue->head[j], planes[j], bytes < head ? bytes : head);
        if (bytes > head) memcpy(cue->tail[j], (const uint8_t *)planes[j] + head, bytes - head);
    }
    return found;
}
#endif

static distance (*levels)(const float *rotated, const spector_sections *s,
                          spector_cue *cue) = spector_levels_portable;

void spector_prepare_cue(const spector_query *q, const spector_sections *s,
                         spector_indexed_cue *indexed) {
    spector_cue *cue = &indexed->cue;
    spector_turn_cue(q, s, indexed);
    if (indexed->set && cue->centre_id == s->header->centre_id) return;
    indexed->set = 1;
    const distance found = levels(indexed->rotated, s, cue);
    cue->rotated = s->rotated;
    cue->sketched = s->sketched;
    cue->centre_id = s->header->centre_id;
    cue->delta = found.largest / 15.0f;
    cue->norm = sqrtf(found.norm2);
    cue->base = found.shared - s->header->centre_norm2;
    cue->lift = spector_lift(q) / SPECTOR_IMPORTANCE_SCALE;
}

/* ---- portable, and the same with the popcnt instruction ---- */

typedef uint32_t (*count_fn)(uint64_t word);

SPECTOR_INLINE uint32_t count_portable(uint64_t word) { return SPECTOR_POPCOUNT(word); }

SPECTOR_INLINE uint32_t differing(const uint8_t *code, const uint8_t *plane, uint32_t bytes,
                                  count_fn count) {
    uint32_t bits = 0, at = 0;
    for (; at + 8 <= bytes; at += 8) {
        uint64_t a, b;
        memcpy(&a, code + at, 8);
        memcpy(&b, plane + at, 8);
        bits += count(a ^ b);
    }
    if (at < bytes) {
        uint64_t a = 0, b = 0;
        memcpy(&a, code + at, bytes - at);
        memcpy(&b, plane + at, bytes - at);
        bits += count(a ^ b);
    }
    return bits;
}

SPECTOR_INLINE int32_t head_sum(const spector_cue *cue, const uint8_t *row, count_fn count) {
    uint32_t weighted = 0;
    for (int j = 0; j < 4; j++) weighted += differing(row, cue->head[j], 28, count) << j;
    return 15 * (int32_t)cue->sketched - 2 * (int32_t)weighted;
}

SPECTOR_INLINE float estimate_of(const uint8_t *row, const spector_cue *cue, int32_t sum) {
    uint32_t factors;
    memcpy(&factors, row + 28, sizeof factors);
    const uint32_t b = SPECTOR_SLOPE_OF(factors), importance = SPECTOR_IMPORTANCE_OF(factors);
    const float a = (float)SPECTOR_A_OF(factors) * SPECTOR_A_UNIT;
    const float slope = (float)b * (spector_slope_unit(cue->rotated) * cue->delta);
    if (b == SPECTOR_NO_SLOPE || importance == SPECTOR_NO_IMPORTANCE) return INFINITY;
    return a + slope * (float)sum + (float)importance * cue->lift;
}

SPECTOR_INLINE uint32_t sketch_all(const uint8_t *sketch, const spector_cue *cue, uint32_t *slots,
                                   uint32_t n, float threshold, float *estimates) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n; i++) {
        const uint8_t *row = sketch + (size_t)slots[i] * SPECTOR_SKETCH_BYTES;
        float estimate = estimate_of(row, cue, head_sum(cue, row, count_portable));
        if (estimate < threshold) continue;
        slots[kept] = slots[i];
        estimates[kept++] = estimate;
    }
    return kept;
}

SPECTOR_INLINE void fine_all(const spector_sections *s, const spector_cue *cue,
                             const uint32_t *slots, uint32_t n, float *estimates, float *errors,
                             count_fn count) {
    const uint32_t tail_bytes = (s->rotated - s->sketched) / 8;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t at = 0; at < s->fine_bytes; at += 64)
            SPECTOR_PREFETCH(s->fine + (size_t)slots[i] * s->fine_bytes + at);
    for (uint32_t i = 0; i < n; i++) {
        const uint8_t *row = s->sketch + (size_t)slots[i] * SPECTOR_SKETCH_BYTES;
        const uint8_t *fine = s->fine + (size_t)slots[i] * s->fine_bytes;
        float factors[3]; /* A, B, E */
        uint32_t weighted = 0;
        memcpy(factors, fine + s->fine_bytes - sizeof factors, sizeof factors);
        for (int j = 0; j < 4; j++) weighted += differing(fine, cue->tail[j], tail_bytes, count) << j;
        int32_t sum = 15 * (int32_t)(s->rotated - s->sketched) - 2 * (int32_t)weighted;
        sum += head_sum(cue, row, count);
        estimates[i] = factors[0] + factors[1] * cue->delta * (float)sum;
        errors[i] = spector_estimate_error(cue, factors[2], factors[1], s->rotated);
    }
}

static uint32_t spector_sketch_u1_portable(const uint8_t *sketch, const spector_cue *cue,
                                           uint32_t *slots, uint32_t n, float threshold,
                                           float *estimates) {
    return sketch_all(sketch, cue, slots, n, threshold, estimates);
}

static void spector_fine_u1_portable(const spector_sections *s, const spector_cue *cue,
                                     const uint32_t *slots, uint32_t n, float *estimates,
                                     float *errors) {
    fine_all(s, cue, slots, n, estimates, errors, count_portable);
}

#if SPECTOR_X86
#define TARGET_AVX2 __attribute__((target("avx2,popcnt")))

/* The planes split into nibbles, and their weights as tables of nibble counts. */
typedef struct nibble_cue {
    __m256i low[4], high[4], counts[4];
} nibble_cue;

TARGET_AVX2 static inline nibble_cue split_planes(const spector_cue *cue) {
    const __m256i nibble = _mm256_set1_epi8(15);
    const __m256i ones = _mm256_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4, 0, 1, 1,
                                          2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4);
    nibble_cue out;
    for (int j = 0; j < 4; j++) {
        __m256i plane = _mm256_loadu_si256((const __m256i *)cue->head[j]);
        out.low[j] = _mm256_and_si256(plane, nibble);
        out.high[j] = _mm256_and_si256(_mm256_srli_epi16(plane, 4), nibble);
        out.counts[j] = _mm256_slli_epi16(ones, j); /* at most 32, so no bit crosses a byte */
    }
    return out;
}

/* Weighted counts of one sketch in four words; bytes reach 120, words 960. */
TARGET_AVX2 static inline __m256i weigh(const nibble_cue *cue, __m256i row) {
    const __m256i nibble = _mm256_set1_epi8(15);
    const __m256i codes = _mm256_setr_epi32(-1, -1, -1, -1, -1, -1, -1, 0);
    __m256i low = _mm256_and_si256(row, nibble);
    __m256i high = _mm256_and_si256(_mm256_srli_epi16(row, 4), nibble);
    __m256i sum = _mm256_setzero_si256();
    for (int j = 0; j < 4; j++) {
        __m256i a = _mm256_shuffle_epi8(cue->counts[j], _mm256_xor_si256(low, cue->low[j]));
        __m256i b = _mm256_shuffle_epi8(cue->counts[j], _mm256_xor_si256(high, cue->high[j]));
        sum = _mm256_add_epi8(sum, _mm256_add_epi8(a, b));
    }
    return _mm256_sad_epu8(_mm256_and_si256(sum, codes), _mm256_setzero_si256());
}

TARGET_AVX2 static uint32_t spector_sketch_u1_avx2(const uint8_t *sketch, const spector_cue *cue,
                                                   uint32_t *slots, uint32_t n, float threshold,
                                                   float *estimates) {
    const nibble_cue split = split_planes(cue);
    const __m128 slope_unit = _mm_set1_ps(spector_slope_unit(cue->rotated) * cue->delta);
    const __m128 a_unit = _mm_set1_ps(SPECTOR_A_UNIT), lift = _mm_set1_ps(cue->lift);
    const __m128i most = _mm_set1_epi32(15 * (int32_t)cue->sketched);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n; i += 4) {
        __m256i sums[4];
        uint32_t last[4];
        float found[4];
        for (int r = 0; r < 4; r++) {
            const uint8_t *row = sketch + (size_t)slots[i + r] * SPECTOR_SKETCH_BYTES;
            sums[r] = weigh(&split, _mm256_loadu_si256((const __m256i *)row));
            memcpy(&last[r], row + 28, sizeof *last);
        }
        __m128i factors = _mm_loadu_si128((const __m128i *)last);
        __m256i even = _mm256_or_si256(sums[0], _mm256_slli_epi64(sums[1], 32));
        __m256i odd = _mm256_or_si256(sums[2], _mm256_slli_epi64(sums[3], 32));
        __m256i pairs = _mm256_add_epi32(_mm256_unpacklo_epi64(even, odd),
                                         _mm256_unpackhi_epi64(even, odd));
        __m128i weighted = _mm_add_epi32(_mm256_castsi256_si128(pairs),
                                         _mm256_extracti128_si256(pairs, 1));
        __m128i sum = _mm_sub_epi32(most, _mm_slli_epi32(weighted, 1));
        __m128i a = _mm_srai_epi32(_mm_slli_epi32(factors, 20), 20);
        __m128i b = _mm_and_si128(_mm_srli_epi32(factors, 12), _mm_set1_epi32(0xFFF));
        __m128i importance = _mm_srli_epi32(factors, 24);
        __m128 slope = _mm_mul_ps(_mm_cvtepi32_ps(b), slope_unit);
        __m128 estimate = _mm_add_ps(_mm_mul_ps(_mm_cvtepi32_ps(a), a_unit),
                                     _mm_mul_ps(slope, _mm_cvtepi32_ps(sum)));
        estimate = _mm_add_ps(estimate, _mm_mul_ps(_mm_cvtepi32_ps(importance), lift));
        __m128i none =
            _mm_or_si128(_mm_cmpeq_epi32(b, _mm_set1_epi32(SPECTOR_NO_SLOPE)),
                         _mm_cmpeq_epi32(importance, _mm_set1_epi32(SPECTOR_NO_IMPORTANCE)));
        estimate = _mm_blendv_ps(estimate, _mm_set1_ps(INFINITY), _mm_castsi128_ps(none));
        int keep = _mm_movemask_ps(_mm_cmpnlt_ps(estimate, _mm_set1_ps(threshold)));
        if (n - i < 4) keep &= (1 << (n - i)) - 1;
        if (!keep) continue;
        _mm_storeu_ps(found, estimate);
        for (int r = 0; r < 4; r++) {
            if (!(keep >> r & 1)) continue;
            slots[kept] = slots[i + r];
            estimates[kept++] = found[r];
        }
    }
    return kept;
}

TARGET_AVX2 static inline uint32_t count_popcnt(uint64_t word) {
    return (uint32_t)__builtin_popcountll(word);
}

TARGET_AVX2 static void spector_fine_u1_avx2(const spector_sections *s, const spector_cue *cue,
                                             const uint32_t *slots, uint32_t n, float *estimates,
                                             float *errors) {
    fine_all(s, cue, slots, n, estimates, errors, count_popcnt);
}

/* A cue as it is compared with two sketches at once. */
typedef struct sketch_cue {
    __m512i planes[4], weights[4], most;
    __m512 slope_unit, lift;
} sketch_cue;

TARGET_AVX512 static inline sketch_cue broadcast_cue(const spector_cue *cue) {
    sketch_cue out;
    for (int j = 0; j < 4; j++) {
        const __m256i plane = _mm256_loadu_si256((const __m256i *)cue->head[j]);
        out.planes[j] = _mm512_broadcast_i64x4(plane);
        out.weights[j] = _mm512_set1_epi8((char)(1 << j));
    }
    out.most = _mm512_set1_epi32(15 * (int32_t)cue->sketched);
    out.slope_unit = _mm512_set1_ps(spector_slope_unit(cue->rotated) * cue->delta);
    out.lift = _mm512_set1_ps(cue->lift);
    return out;
}

/* Two sketches side by side. */
TARGET_AVX512 static inline __m512i load_pair(const uint8_t *sketch, const uint32_t *slots) {
    const uint8_t *low = sketch + (size_t)slots[0] * SPECTOR_SKETCH_BYTES;
    const uint8_t *high = sketch + (size_t)slots[4] * SPECTOR_SKETCH_BYTES;
    __m512i pair = _mm512_castsi256_si512(_mm256_loadu_si256((const __m256i *)low));
    return _mm512_inserti64x4(pair, _mm256_loadu_si256((const __m256i *)high), 1);
}

TARGET_AVX512 static inline __m512i add_unpacked32(__m512i a, __m512i b) {
    return _mm512_add_epi32(_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
}

TARGET_AVX512 static inline __m512i add_unpacked64(__m512i a, __m512i b) {
    return _mm512_add_epi32(_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b));
}

/* Estimates of 16 sketches: eight registers hold two each, one in either half. They come out as
 * those in the low halves of the first four registers, in their high halves, and likewise of the
 * other four. */
TARGET_AVX512 static inline __m512 estimate_pairs(const __m512i *rows, const sketch_cue *cue) {
    const __mmask64 codes_only = UINT64_C(0x0FFFFFFF0FFFFFFF);
    __m512i sums[8];
    for (int r = 0; r < 8; r++) {
        __m512i sum = _mm512_setzero_si512();
        for (int j = 0; j < 4; j++) {
            __m512i bits = _mm512_maskz_popcnt_epi8(codes_only,
                                                    _mm512_xor_si512(rows[r], cue->planes[j]));
            sum = _mm512_dpbusd_epi32(sum, bits, cue->weights[j]);
        }
        sums[r] = sum;
    }
    __m512i x = add_unpacked64(add_unpacked32(sums[0], sums[1]), add_unpacked32(sums[2], sums[3]));
    __m512i y = add_unpacked64(add_unpacked32(sums[4], sums[5]), add_unpacked32(sums[6], sums[7]));
    __m512i weighted = _mm512_add_epi32(_mm512_shuffle_i32x4(x, y, 0x88),
                                        _mm512_shuffle_i32x4(x, y, 0xDD));
    /* the factors are the last four bytes of each half */
    __m512i f01 = _mm512_unpackhi_epi32(rows[0], rows[1]);
    __m512i f23 = _mm512_unpackhi_epi32(rows[2], rows[3]);
    __m512i f45 = _mm512_unpackhi_epi32(rows[4], rows[5]);
    __m512i f67 = _mm512_unpackhi_epi32(rows[6], rows[7]);
    __m512i factors = _mm512_shuffle_i32x4(_mm512_unpackhi_epi64(f01, f23),
                                           _mm512_unpackhi_epi64(f45, f67), 0xDD);
    __m512i sum = _mm512_sub_epi32(cue->most, _mm512_slli_epi32(weighted, 1));
    __m512i a = _mm512_srai_epi32(_mm512_slli_epi32(factors, 20), 20);
    __m512i b = _mm512_and_si512(_mm512_srli_epi32(factors, 12), _mm512_set1_epi32(0xFFF));
    __m512i importance = _mm512_srli_epi32(factors, 24);
    __m512 slope = _mm512_mul_ps(_mm512_cvtepi32_ps(b), cue->slope_unit);
    __m512 estimate = _mm512_add_ps(
        _mm512_mul_ps(_mm512_cvtepi32_ps(a), _mm512_set1_ps(SPECTOR_A_UNIT)),
        _mm512_mul_ps(slope, _mm512_cvtepi32_ps(sum)));
    estimate = _mm512_add_ps(estimate, _mm512_mul_ps(_mm512_cvtepi32_ps(importance), cue->lift));
    __mmask16 none =
        _mm512_cmpeq_epi32_mask(b, _mm512_set1_epi32(SPECTOR_NO_SLOPE)) |
        _mm512_cmpeq_epi32_mask(importance, _mm512_set1_epi32(SPECTOR_NO_IMPORTANCE));
    return _mm512_mask_mov_ps(estimate, none, _mm512_set1_ps(INFINITY));
}

/* 16 sketches a step. Of neighbours each register is one load, and what lies AHEAD of them is
 * fetched: the processor alone stops at the end of each page. */
TARGET_AVX512 static uint32_t spector_sketch_u1_avx512(const uint8_t *sketch,
                                                       const spector_cue *cue, uint32_t *slots,
                                                       uint32_t n, float threshold,
                                                       float *estimates) {
    const __m512i steps =
        _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512i in_turn =
        _mm512_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7, 8, 12, 9, 13, 10, 14, 11, 15);
    const sketch_cue against = broadcast_cue(cue);
    const __m512 limit = _mm512_set1_ps(threshold);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n; i += 16) {
        __m512i rows[8], these = _mm512_loadu_si512(slots + i);
        __m512 estimate;
        const uint8_t *first = sketch + (size_t)slots[i] * SPECTOR_SKETCH_BYTES;
        const __m512i run = _mm512_add_epi32(_mm512_set1_epi32((int32_t)slots[i]), steps);
        if (_mm512_cmpneq_epi32_mask(these, run)) {
            for (int r = 0; r < 8; r++)
                rows[r] = load_pair(sketch, slots + i + (r & 3) + 8 * (r >> 2));
            estimate = estimate_pairs(rows, &against);
        } else {
            for (int r = 0; r < 8; r++) {
                rows[r] = _mm512_loadu_si512(first + 64 * r);
                SPECTOR_PREFETCH(first + AHEAD + 64 * r);
            }
            estimate = _mm512_permutexvar_ps(in_turn, estimate_pairs(rows, &against));
        }
        __mmask16 keep = _mm512_cmp_ps_mask(estimate, limit, _CMP_NLT_UQ);
        if (n - i < 16) keep &= (__mmask16)((1u << (n - i)) - 1);
        /* no branch: whether one of sixteen is kept cannot be predicted */
        _mm512_storeu_si512(slots + kept, _mm512_maskz_compress_epi32(keep, these));
        _mm512_storeu_ps(estimates + kept, _mm512_maskz_compress_ps(keep, estimate));
        kept += SPECTOR_POPCOUNT(keep);
    }
    return kept;
}
#endif

#if SPECTOR_NEON
#include <arm_neon.h>

static inline uint32_t weigh_neon(const spector_cue *cue, const uint8_t *row) {
    /* the last four bytes are factors, not codes */
    const uint8x16_t tail = vreinterpretq_u8_u32((uint32x4_t){~0u, ~0u, ~0u, 0});
    uint8x16_t low = vld1q_u8(row), high = vld1q_u8(row + 16);
    uint8x16_t sum = vdupq_n_u8(0); /* two bytes of at most 120 */
    for (int j = 0; j < 4; j++) {
        uint8x16_t a = vcntq_u8(veorq_u8(low, vld1q_u8(cue->head[j])));
        uint8x16_t b = vcntq_u8(vandq_u8(veorq_u8(high, vld1q_u8(cue->head[j] + 16)), tail));
        sum = vmlaq_u8(sum, vaddq_u8(a, b), vdupq_n_u8((uint8_t)(1 << j)));
    }
    return vaddlvq_u8(sum);
}

static uint32_t spector_sketch_u1_neon(const uint8_t *sketch, const spector_cue *cue,
                                       uint32_t *slots, uint32_t n, float threshold,
                                       float *estimates) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n; i++) {
        const uint8_t *row = sketch + (size_t)slots[i] * SPECTOR_SKETCH_BYTES;
        const int32_t sum = 15 * (int32_t)cue->sketched - 2 * (int32_t)weigh_neon(cue, row);
        float estimate = estimate_of(row, cue, sum);
        if (estimate < threshold) continue;
        slots[kept] = slots[i];
        estimates[kept++] = estimate;
    }
    return kept;
}
#endif

#if SPECTOR_X86
/* Sketch and fine code side by side in one register, where the latter has 32 bytes (384
 * dimensions); the last bytes of both are factors and do not count. */
TARGET_AVX512 static void spector_fine_u1_avx512(const spector_sections *s, const spector_cue *cue,
                                                 const uint32_t *slots, uint32_t n,
                                                 float *estimates, float *errors) {
    const uint32_t tail_bytes = (s->rotated - s->sketched) / 8;
    if (s->fine_bytes != 32) {
        spector_fine_u1_avx2(s, cue, slots, n, estimates, errors);
        return;
    }
    const __mmask64 codes_only = UINT64_C(0x0FFFFFFF) | ((UINT64_C(1) << tail_bytes) - 1) << 32;
    __m512i planes[4], weights[4];
    for (int j = 0; j < 4; j++) {
        const __m256i head = _mm256_loadu_si256((const __m256i *)cue->head[j]);
        const __m256i tail = _mm256_loadu_si256((const __m256i *)cue->tail[j]);
        planes[j] = _mm512_inserti64x4(_mm512_castsi256_si512(head), tail, 1);
        weights[j] = _mm512_set1_epi8((char)(1 << j));
    }
    for (uint32_t i = 0; i < n; i++) SPECTOR_PREFETCH(s->fine + (size_t)slots[i] * 32);
    for (uint32_t i = 0; i < n; i++) {
        const uint8_t *row = s->sketch + (size_t)slots[i] * SPECTOR_SKETCH_BYTES;
        const uint8_t *fine = s->fine + (size_t)slots[i] * 32;
        __m512i both = _mm512_castsi256_si512(_mm256_loadu_si256((const __m256i *)row));
        both = _mm512_inserti64x4(both, _mm256_loadu_si256((const __m256i *)fine), 1);
        __m512i sum = _mm512_setzero_si512();
        for (int j = 0; j < 4; j++) {
            __m512i bits = _mm512_maskz_popcnt_epi8(codes_only, _mm512_xor_si512(both, planes[j]));
            sum = _mm512_dpbusd_epi32(sum, bits, weights[j]);
        }
        const int32_t weighted = _mm512_reduce_add_epi32(sum);
        float factors[3]; /* A, B, E */
        memcpy(factors, fine + 32 - sizeof factors, sizeof factors);
        const int32_t product = 15 * (int32_t)s->rotated - 2 * weighted;
        estimates[i] = factors[0] + factors[1] * cue->delta * (float)product;
        errors[i] = spector_estimate_error(cue, factors[2], factors[1], s->rotated);
    }
}
#endif

spector_sketch_isa spector_sketches = {spector_sketch_u1_portable, spector_fine_u1_portable};

void spector_sketch_setup(uint32_t caps) {
    spector_sketches = (spector_sketch_isa){spector_sketch_u1_portable, spector_fine_u1_portable};
    levels = spector_levels_portable;
#if SPECTOR_X86
    if (caps & SPECTOR_CAP_AVX2)
        spector_sketches = (spector_sketch_isa){spector_sketch_u1_avx2, spector_fine_u1_avx2};
    if (caps & SPECTOR_CAP_AVX512POP) {
        spector_sketches = (spector_sketch_isa){spector_sketch_u1_avx512, spector_fine_u1_avx512};
        levels = spector_levels_avx512;
    }
#elif SPECTOR_NEON
    if (caps & SPECTOR_CAP_NEON) spector_sketches.sketch = spector_sketch_u1_neon;
#else
    (void)caps;
#endif
}

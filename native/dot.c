/* int8 dot products, chosen in isa.c: spector_dot_i8_<isa> of the rows of a block, and
 * spector_run_i8_<isa> of records one behind the other.
 *
 * Sums are exact: |code| <= 128 and |cue code| <= 127, so int32 is safe to dim 132,104.
 *
 * A run reads memory as a plain copy would, line after line by one instruction, and fetches nothing
 * ahead, because the hardware prefetcher does. Four records at a time, each a stream of its own,
 * take 2.5 times as long on Zen 4 where they come from memory, and what is fetched ahead by
 * instruction gets there no faster (bench/log/kernel.md, "The straight scan on Zen 4").
 */
#include "spector.h"

/* Of all rows of a block, and of a run of records, by a function of one. */
#define SPECTOR_DOTS(isa, attribute, of_row)                                                      \
    attribute void spector_dot_i8_##isa(const spector_query *query, const spector_block *block,   \
                                        int32_t *out) {                                           \
        for (uint32_t i = 0; i < block->n; i++) out[i] = of_row(query, block->rows[i]);           \
    }                                                                                             \
    attribute void spector_run_i8_##isa(const spector_query *query, const spector_part *part,     \
                                        uint32_t first, uint32_t count, int32_t *out) {           \
        for (uint32_t i = 0; i < count; i++)                                                      \
            out[i] = of_row(query, spector_record_at(part, first + i));                           \
    }

static inline const int8_t *vector_of(const spector_record *row) {
    return (const int8_t *)(row + 1);
}

static inline int32_t of_row_portable(const spector_query *query, const spector_record *row) {
    const int8_t *vector = vector_of(row), *codes = query->codes;
    int32_t sum = 0;
    for (size_t j = 0; j < query->vector_bytes; j++) sum += (int32_t)vector[j] * codes[j];
    return sum;
}

SPECTOR_DOTS(portable, , of_row_portable)

#if SPECTOR_X86
#include <immintrin.h>

#define AVX2 __attribute__((target("avx2")))

/* |v| as unsigned times the cue with v's sign: pairs sum to at most 2 * 128 * 127 < 2^15, so the
 * saturating multiply-add never saturates, even for a damaged code of -128. */
AVX2 static inline __m256i step_avx2(__m256i sum, const int8_t *vector, const int8_t *codes) {
    __m256i v = _mm256_loadu_si256((const __m256i *)vector);
    __m256i q = _mm256_loadu_si256((const __m256i *)codes);
    __m256i pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(v), _mm256_sign_epi8(q, v));
    return _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
}

/* Sum of the lanes. */
AVX2 static inline int32_t sum_avx2(__m256i wide) {
    __m128i sum = _mm_add_epi32(_mm256_castsi256_si128(wide), _mm256_extracti128_si256(wide, 1));
    sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0x4E));
    sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0xB1));
    return _mm_cvtsi128_si32(sum);
}

AVX2 static inline int32_t of_row_avx2(const spector_query *query, const spector_record *row) {
    const int8_t *vector = vector_of(row), *codes = query->codes;
    const size_t vector_bytes = query->vector_bytes;
    __m256i even = _mm256_setzero_si256(), odd = even;
    for (size_t j = 0; j < vector_bytes; j += 64) {
        even = step_avx2(even, vector + j, codes + j);
        odd = step_avx2(odd, vector + j + 32, codes + j + 32);
    }
    return sum_avx2(_mm256_add_epi32(even, odd));
}

SPECTOR_DOTS(avx2, AVX2, of_row_avx2)

#define AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512vnni")))

/* vpdpbusd multiplies unsigned by signed bytes and adds four products to an int32, unsaturated.
 * Flipping the top bit adds 128 to a code and makes it unsigned; 128 times the sum of the cue's
 * codes is taken off again. Lanes wrap modulo 2^32, so only the difference has to fit, and it does
 * (see above). */
AVX512 static inline __m512i step_avx512(__m512i sum, const int8_t *vector, __m512i codes) {
    __m512i raised = _mm512_xor_si512(_mm512_loadu_si512(vector), _mm512_set1_epi8(-128));
    return _mm512_dpbusd_epi32(sum, raised, codes);
}

/* Sums of the lanes of four vectors. */
AVX512 static inline __m128i sums_avx512(__m512i a, __m512i b, __m512i c, __m512i d) {
    __m512i ab = _mm512_add_epi32(_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
    __m512i cd = _mm512_add_epi32(_mm512_unpacklo_epi32(c, d), _mm512_unpackhi_epi32(c, d));
    __m512i abcd = _mm512_add_epi32(_mm512_unpacklo_epi64(ab, cd), _mm512_unpackhi_epi64(ab, cd));
    __m256i half = _mm256_add_epi32(_mm512_castsi512_si256(abcd),
                                    _mm512_extracti64x4_epi64(abcd, 1));
    return _mm_add_epi32(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
}

AVX512 static inline __m128i raise_avx512(const int8_t *codes, size_t vector_bytes) {
    __m512i sum = _mm512_setzero_si512();
    for (size_t j = 0; j < vector_bytes; j += 64)
        sum = _mm512_dpbusd_epi32(sum, _mm512_set1_epi8(-128), _mm512_loadu_si512(codes + j));
    return sums_avx512(sum, sum, sum, sum);
}

/* Products of rows whose lines are being fetched, four at a time: each line of the cue is loaded once for
 * all, and four chains of dependent additions hide one another's latency. A last group of fewer
 * repeats its last record. */
AVX512 void spector_dot_i8_avx512(const spector_query *query, const spector_block *block,
                                  int32_t *out) {
    const int8_t *codes = query->codes;
    const size_t vector_bytes = query->vector_bytes;
    const __m128i raise = raise_avx512(codes, vector_bytes);
    for (uint32_t i = 0; i < block->n; i += 4) {
        const uint32_t left = block->n - i < 4 ? block->n - i : 4;
        const int8_t *vectors[4];
        for (uint32_t lane = 0; lane < 4; lane++)
            vectors[lane] = vector_of(block->rows[i + (lane < left ? lane : left - 1)]);
        __m512i a = _mm512_setzero_si512(), b = a, c = a, d = a;
        for (size_t j = 0; j < vector_bytes; j += 64) {
            __m512i cue = _mm512_loadu_si512(codes + j);
            a = step_avx512(a, vectors[0] + j, cue);
            b = step_avx512(b, vectors[1] + j, cue);
            c = step_avx512(c, vectors[2] + j, cue);
            d = step_avx512(d, vectors[3] + j, cue);
        }
        __m128i dots = _mm_sub_epi32(sums_avx512(a, b, c, d), raise);
        _mm_mask_storeu_epi32(out + i, (__mmask8)((1u << left) - 1), dots);
    }
}

/* In halves of a register: no wider loads are needed to keep up with memory, and on Zen 4 narrower
 * ones are a tenth faster. */
AVX512 void spector_run_i8_avx512(const spector_query *query, const spector_part *part,
                                  uint32_t first, uint32_t count, int32_t *out) {
    const int8_t *codes = query->codes;
    const size_t vector_bytes = query->vector_bytes;
    const uint32_t raise = (uint32_t)_mm_cvtsi128_si32(raise_avx512(codes, vector_bytes));
    const __m256i top = _mm256_set1_epi8(-128);
    for (uint32_t i = 0; i < count; i++) {
        const int8_t *vector = vector_of(spector_record_at(part, first + i));
        __m256i sum = _mm256_setzero_si256();
        for (size_t j = 0; j < vector_bytes; j += 32) {
            __m256i v = _mm256_loadu_si256((const __m256i *)(vector + j));
            __m256i q = _mm256_loadu_si256((const __m256i *)(codes + j));
            sum = _mm256_dpbusd_epi32(sum, _mm256_xor_si256(v, top), q);
        }
        out[i] = (int32_t)((uint32_t)sum_avx2(sum) - raise);
    }
}
#endif

#if SPECTOR_NEON
#include <arm_neon.h>

/* Products are at most 128 * 127 and fit int16; vpadal adds pairs of them to int32 at once. */
static inline int32x4_t step_neon(int32x4_t sum, const int8_t *vector, const int8_t *codes) {
    int8x16_t v = vld1q_s8(vector), q = vld1q_s8(codes);
    sum = vpadalq_s16(sum, vmull_s8(vget_low_s8(v), vget_low_s8(q)));
    return vpadalq_s16(sum, vmull_high_s8(v, q));
}

static inline int32_t of_row_neon(const spector_query *query, const spector_record *row) {
    const int8_t *vector = vector_of(row), *codes = query->codes;
    int32x4_t even = vdupq_n_s32(0), odd = even;
    for (size_t j = 0; j < query->vector_bytes; j += 32) {
        even = step_neon(even, vector + j, codes + j);
        odd = step_neon(odd, vector + j + 16, codes + j + 16);
    }
    return vaddvq_s32(vaddq_s32(even, odd));
}

SPECTOR_DOTS(neon, , of_row_neon)

#define DOTPROD __attribute__((target("arch=armv8.2-a+dotprod")))

/* sdot adds four products of signed bytes to each int32, unsaturated. */
DOTPROD static inline int32_t of_row_dotprod(const spector_query *query,
                                             const spector_record *row) {
    const int8_t *vector = vector_of(row), *codes = query->codes;
    int32x4_t sums[4] = {vdupq_n_s32(0), vdupq_n_s32(0), vdupq_n_s32(0), vdupq_n_s32(0)};
    for (size_t j = 0; j < query->vector_bytes; j += 64)
        for (size_t lane = 0; lane < 4; lane++)
            sums[lane] = vdotq_s32(sums[lane], vld1q_s8(vector + j + 16 * lane),
                                   vld1q_s8(codes + j + 16 * lane));
    return vaddvq_s32(vaddq_s32(vaddq_s32(sums[0], sums[1]), vaddq_s32(sums[2], sums[3])));
}

SPECTOR_DOTS(dotprod, DOTPROD, of_row_dotprod)
#endif

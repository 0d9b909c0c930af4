/* int8 dot products, one variant per instruction set, and the table that chooses among them.
 *
 * To add a set (AVX-512 VNNI, NEON): write spector_dot_<isa> below, give it a SPECTOR_CAP bit,
 * detect it in spector_cpu_caps and pick it in spector_set_caps. The tests force every bit.
 *
 * Sums are exact: |code| <= 128 and |cue code| <= 127, so int32 is safe to dim 132,104.
 */
#include "spector.h"

static inline const int8_t *vector_at(const spector_part *part, uint32_t slot) {
    return (const int8_t *)(part->data + (size_t)slot * part->stride + SPECTOR_HEADER_BYTES);
}

void spector_dot_portable(const spector_query *query, const spector_part *part,
                          const spector_block *block, int32_t *out) {
    const int8_t *codes = query->codes;
    for (uint32_t i = 0; i < block->n; i++) {
        const int8_t *vector = vector_at(part, block->slots[i]);
        int32_t sum = 0;
        spector_fetch_ahead(part, block, block->slots[i], 1);
        for (size_t j = 0; j < query->vector_bytes; j++) sum += (int32_t)vector[j] * codes[j];
        out[i] = sum;
    }
}

#if SPECTOR_X86
#include <immintrin.h>

/* |v| as unsigned times the cue with v's sign: pairs sum to at most 2 * 128 * 127 < 2^15, so the
 * saturating multiply-add never saturates, even for a damaged code of -128. */
__attribute__((target("avx2"))) static inline __m256i step_avx2(__m256i sum, const int8_t *vector,
                                                                const int8_t *codes) {
    __m256i v = _mm256_loadu_si256((const __m256i *)vector);
    __m256i q = _mm256_loadu_si256((const __m256i *)codes);
    __m256i pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(v), _mm256_sign_epi8(q, v));
    return _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
}

__attribute__((target("avx2"))) void spector_dot_avx2(const spector_query *query,
                                                      const spector_part *part,
                                                      const spector_block *block, int32_t *out) {
    const int8_t *codes = query->codes;
    const size_t vector_bytes = query->vector_bytes;
    for (uint32_t i = 0; i < block->n; i++) {
        const int8_t *vector = vector_at(part, block->slots[i]);
        __m256i even = _mm256_setzero_si256(), odd = _mm256_setzero_si256();
        spector_fetch_ahead(part, block, block->slots[i], 1);
        for (size_t j = 0; j < vector_bytes; j += 64) {
            even = step_avx2(even, vector + j, codes + j);
            odd = step_avx2(odd, vector + j + 32, codes + j + 32);
        }
        __m256i wide = _mm256_add_epi32(even, odd);
        __m128i sum = _mm_add_epi32(_mm256_castsi256_si128(wide), _mm256_extracti128_si256(wide, 1));
        sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0x4E));
        sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0xB1));
        out[i] = _mm_cvtsi128_si32(sum);
    }
}
#endif

spector_isa spector_active = {spector_dot_portable, spector_score_portable, spector_crc_portable};

uint32_t spector_cpu_caps(void) {
    uint32_t caps = 0;
#if SPECTOR_X86
    __builtin_cpu_init();
    if (__builtin_cpu_supports("sse4.2")) caps |= SPECTOR_CAP_SSE42;
    if (__builtin_cpu_supports("avx2")) caps |= SPECTOR_CAP_AVX2;
#endif
    return caps;
}

uint32_t spector_set_caps(uint32_t mask) {
    uint32_t caps = spector_cpu_caps() & mask;
    spector_crc_init();
    spector_isa chosen = {spector_dot_portable, spector_score_portable, spector_crc_portable};
#if SPECTOR_X86
    if (caps & SPECTOR_CAP_AVX2) {
        chosen.dot = spector_dot_avx2;
        chosen.score = spector_score_avx2;
    }
    if (caps & SPECTOR_CAP_SSE42) chosen.crc = spector_crc_sse42;
#endif
    spector_active = chosen;
    return caps;
}

uint64_t spector_stream(const uint8_t *data, size_t n) {
    const uint64_t *words = (const uint64_t *)data;
    uint64_t sums[8] = {0};
    size_t count = n / 64;
    for (size_t i = 0; i < count; i++)
        for (int lane = 0; lane < 8; lane++) sums[lane] ^= words[8 * i + (size_t)lane];
    for (int lane = 1; lane < 8; lane++) sums[0] ^= sums[lane];
    return sums[0];
}

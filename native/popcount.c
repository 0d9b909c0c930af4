/* Set bits of an array of words: spector_popcount_u64_<isa>, chosen in isa.c. */
#include "spector.h"

uint64_t spector_popcount_u64_portable(const uint64_t *words, size_t n) {
    uint64_t bits = 0;
    for (size_t i = 0; i < n; i++) bits += SPECTOR_POPCOUNT(words[i]);
    return bits;
}

#if SPECTOR_X86
#include <immintrin.h>

/* The popcnt instruction came long before AVX2; four sums hide its latency. */
__attribute__((target("avx2,popcnt"))) uint64_t spector_popcount_u64_avx2(const uint64_t *words,
                                                                          size_t n) {
    uint64_t bits[4] = {0};
    size_t i = 0;
    for (; i + 4 <= n; i += 4)
        for (size_t lane = 0; lane < 4; lane++)
            bits[lane] += (uint64_t)__builtin_popcountll(words[i + lane]);
    for (; i < n; i++) bits[0] += (uint64_t)__builtin_popcountll(words[i]);
    return bits[0] + bits[1] + bits[2] + bits[3];
}

__attribute__((target("avx512f,avx512bw,avx512vl,avx512vpopcntdq"))) uint64_t
spector_popcount_u64_avx512pop(const uint64_t *words, size_t n) {
    __m512i sum = _mm512_setzero_si512();
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        sum = _mm512_add_epi64(sum, _mm512_popcnt_epi64(_mm512_loadu_si512(words + i)));
    if (i < n) { /* masked lanes are not read, so the end may lie before an unmapped page */
        __mmask8 rest = (__mmask8)((1u << (n - i)) - 1);
        sum = _mm512_add_epi64(sum, _mm512_popcnt_epi64(_mm512_maskz_loadu_epi64(rest, words + i)));
    }
    return (uint64_t)_mm512_reduce_add_epi64(sum);
}
#endif

#if SPECTOR_NEON
#include <arm_neon.h>

uint64_t spector_popcount_u64_neon(const uint64_t *words, size_t n) {
    uint64x2_t sum = vdupq_n_u64(0);
    size_t i = 0;
    for (; i + 2 <= n; i += 2) {
        uint8x16_t bits = vcntq_u8(vreinterpretq_u8_u64(vld1q_u64(words + i)));
        sum = vpadalq_u32(sum, vpaddlq_u16(vpaddlq_u8(bits)));
    }
    uint64_t total = vaddvq_u64(sum);
    for (; i < n; i++) total += SPECTOR_POPCOUNT(words[i]);
    return total;
}
#endif

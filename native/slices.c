/* Bit-slices: spector_{and,positions}_u64_<isa>, chosen in isa.c. */
#include "spector.h"

#include <string.h>

#if defined(__GNUC__)
#define ALWAYS_INLINE static inline __attribute__((always_inline))
#else
#define ALWAYS_INLINE static inline
#endif

enum { GROUP = 8 };

/* One pass over n words of all slices: what is left of a group stays in registers. */
ALWAYS_INLINE uint64_t and_all(const uint64_t *slices, size_t words, uint64_t which, size_t n,
                               uint64_t *bits) {
    const uint64_t *slice[64];
    uint64_t any = 0;
    uint32_t count = 0;
    for (; which; which &= which - 1) slice[count++] = slices + SPECTOR_LOW_BIT(which) * words;
    size_t w = 0;
    for (; w + GROUP <= n; w += GROUP) {
        uint64_t left[GROUP];
        for (int lane = 0; lane < GROUP; lane++) left[lane] = bits[w + (size_t)lane];
        for (uint32_t i = 0; i < count; i++) {
            uint64_t some = 0;
            for (int lane = 0; lane < GROUP; lane++) left[lane] &= slice[i][w + (size_t)lane];
            for (int lane = 0; lane < GROUP; lane++) some |= left[lane];
            if (!some) break; /* a rare tag need not read all its slices */
        }
        for (int lane = 0; lane < GROUP; lane++) bits[w + (size_t)lane] = left[lane];
        for (int lane = 0; lane < GROUP; lane++) any |= left[lane];
    }
    for (; w < n; w++) {
        for (uint32_t i = 0; i < count; i++) bits[w] &= slice[i][w];
        any |= bits[w];
    }
    return any;
}

/* The bits of a group of words, which are not all empty. */
ALWAYS_INLINE uint32_t list_words(const uint64_t *mask, uint32_t words, uint32_t first,
                                  uint32_t *out) {
    uint32_t n = 0;
    for (uint32_t w = 0; w < words; w++)
        for (uint64_t bits = mask[w]; bits; bits &= bits - 1)
            out[n++] = first + w * 64 + SPECTOR_LOW_BIT(bits);
    return n;
}

uint64_t spector_and_u64_portable(const uint64_t *slices, size_t words, uint64_t which, size_t n,
                                  uint64_t *bits) {
    return and_all(slices, words, which, n, bits);
}

uint32_t spector_positions_u64_portable(const uint64_t *mask, uint32_t words, uint32_t *word,
                                        uint32_t first, uint32_t *out, uint32_t room) {
    uint32_t n = 0, w = *word;
    for (uint32_t count; w < words; w += count) {
        uint64_t any = 0;
        count = words - w < GROUP ? words - w : GROUP;
        for (uint32_t i = w; i < w + count; i++) any |= mask[i];
        if (!any) continue;
        if (n + 64 * GROUP > room) break;
        n += list_words(mask + w, count, first + w * 64, out + n);
    }
    *word = w;
    return n;
}

#if SPECTOR_X86
#include <immintrin.h>

__attribute__((target("avx2,bmi"))) uint64_t spector_and_u64_avx2(const uint64_t *slices,
                                                                  size_t words, uint64_t which,
                                                                  size_t n, uint64_t *bits) {
    return and_all(slices, words, which, n, bits);
}

/* Bits of the bytes that are not empty, as seen in a bit each of bytes. Nearly all have one. */
ALWAYS_INLINE uint32_t list_bytes(const uint64_t *mask, uint64_t bytes, uint32_t first,
                                  uint32_t *out) {
    uint32_t n = 0;
    for (; bytes; bytes &= bytes - 1) {
        const uint32_t at = (uint32_t)__builtin_ctzll(bytes);
        uint32_t bits = ((const uint8_t *)mask)[at];
        do {
            out[n++] = first + at * 8 + (uint32_t)__builtin_ctz(bits);
            bits &= bits - 1;
        } while (bits);
    }
    return n;
}

__attribute__((target("avx2,bmi"))) uint32_t spector_positions_u64_avx2(
    const uint64_t *mask, uint32_t words, uint32_t *word, uint32_t first, uint32_t *out,
    uint32_t room) {
    uint32_t n = 0, w = *word;
    for (; w < words && n + 64 * GROUP <= room; w += 4) {
        uint64_t four[4] = {0};
        if (words - w < 4) memcpy(four, mask + w, (words - w) * sizeof *four);
        const uint64_t *from = words - w < 4 ? four : mask + w;
        const __m256i bits = _mm256_loadu_si256((const __m256i *)from);
        const __m256i empty = _mm256_cmpeq_epi8(bits, _mm256_setzero_si256());
        const uint32_t bytes = ~(uint32_t)_mm256_movemask_epi8(empty);
        if (bytes) n += list_bytes(from, bytes, first + w * 64, out + n);
    }
    *word = w < words ? w : words;
    return n;
}

#define AVX512 \
    __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,bmi,prefer-vector-width=512")))

AVX512 uint32_t spector_positions_u64_avx512(const uint64_t *mask, uint32_t words, uint32_t *word,
                                             uint32_t first, uint32_t *out, uint32_t room) {
    uint32_t n = 0, w = *word;
    for (; w < words && n + 64 * GROUP <= room; w += 8) {
        const uint32_t left = words - w;
        const __mmask8 some = left < 8 ? (__mmask8)((1u << left) - 1) : 0xFF;
        const __m512i bits = _mm512_maskz_loadu_epi64(some, mask + w);
        const uint64_t bytes = _mm512_test_epi8_mask(bits, bits);
        if (bytes) n += list_bytes(mask + w, bytes, first + w * 64, out + n);
    }
    *word = w < words ? w : words;
    return n;
}

AVX512 uint64_t spector_and_u64_avx512(const uint64_t *slices, size_t words, uint64_t which,
                                       size_t n, uint64_t *bits) {
    const uint64_t *slice[64];
    __m512i any = _mm512_setzero_si512();
    uint32_t count = 0;
    for (; which; which &= which - 1) slice[count++] = slices + SPECTOR_LOW_BIT(which) * words;
    for (size_t w = 0; w < n; w += GROUP) {
        const __mmask8 some = n - w < GROUP ? (__mmask8)((1u << (n - w)) - 1) : 0xFF;
        __m512i left = _mm512_maskz_loadu_epi64(some, bits + w);
        for (uint32_t i = 0; i < count && _mm512_test_epi64_mask(left, left); i++)
            left = _mm512_and_si512(left, _mm512_maskz_loadu_epi64(some, slice[i] + w));
        _mm512_mask_storeu_epi64(bits + w, some, left);
        any = _mm512_or_si512(any, left);
    }
    return (uint64_t)_mm512_reduce_or_epi64(any);
}
#endif

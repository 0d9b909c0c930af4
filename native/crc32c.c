/* CRC-32C (Castagnoli, polynomial 0x1EDC6F41, reflected): RFC 3720, appendix B.4. */
#include "spector.h"

#include <string.h>

/* Slicing by 8, derived from the polynomial by spector_crc_init at import. */
static uint32_t tables[8][256];

void spector_crc_init(void) {
    if (tables[0][1]) return;
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t value = i;
        for (int bit = 0; bit < 8; bit++) value = (value >> 1) ^ (value & 1 ? 0x82F63B78u : 0);
        tables[0][i] = value;
    }
    for (int slice = 1; slice < 8; slice++)
        for (uint32_t i = 0; i < 256; i++)
            tables[slice][i] = (tables[slice - 1][i] >> 8) ^ tables[0][tables[slice - 1][i] & 0xFF];
}

static inline uint64_t load64(const uint8_t *data) {
    uint64_t word;
    memcpy(&word, data, sizeof word);
    return word;
}

uint32_t spector_crc32c_u8_portable(uint32_t state, const uint8_t *data, size_t n) {
    for (; n >= 8; n -= 8, data += 8) {
        uint64_t word = load64(data) ^ state;
        state = tables[7][word & 0xFF] ^ tables[6][word >> 8 & 0xFF] ^
                tables[5][word >> 16 & 0xFF] ^ tables[4][word >> 24 & 0xFF] ^
                tables[3][word >> 32 & 0xFF] ^ tables[2][word >> 40 & 0xFF] ^
                tables[1][word >> 48 & 0xFF] ^ tables[0][word >> 56];
    }
    for (; n; n--, data++) state = tables[0][(state ^ *data) & 0xFF] ^ (state >> 8);
    return state;
}

#if SPECTOR_X86
#include <immintrin.h>

__attribute__((target("sse4.2"))) uint32_t spector_crc32c_u8_sse42(uint32_t state, const uint8_t *data,
                                                             size_t n) {
#if defined(__x86_64__)
    for (; n >= 8; n -= 8, data += 8) state = (uint32_t)_mm_crc32_u64(state, load64(data));
#endif
    for (; n >= 4; n -= 4, data += 4) {
        uint32_t word;
        memcpy(&word, data, sizeof word);
        state = _mm_crc32_u32(state, word);
    }
    for (; n; n--, data++) state = _mm_crc32_u8(state, *data);
    return state;
}
#endif

uint32_t spector_crc32c(const uint8_t *data, size_t n, uint32_t crc) {
    return ~spector_active.crc32c(~crc, data, n);
}

void spector_crc32c_rows(const uint8_t *rows, uint32_t n, uint32_t stride, uint32_t crc,
                         uint32_t *out) {
    for (uint32_t i = 0; i < n; i++) {
        const uint8_t *row = rows + (size_t)i * stride;
        uint32_t state = spector_active.crc32c(~crc, row, SPECTOR_CRC_SPAN);
        out[i] = ~spector_active.crc32c(state, row + SPECTOR_HEADER_BYTES,
                                     stride - SPECTOR_HEADER_BYTES);
    }
}

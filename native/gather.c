/* Copies bytes of given records into one array. */
#include "spector.h"

#include <string.h>

enum { AHEAD = 8 };

static inline const uint8_t *bytes_at(const spector_part *part, uint32_t slot, uint32_t offset) {
    return part->data + (size_t)slot * part->stride + offset;
}

void spector_gather(const spector_part *parts, const uint32_t *part, const uint32_t *slot,
                    uint32_t n, uint32_t offset, uint32_t size, uint8_t *out) {
    for (uint32_t i = 0; i < n; i++) {
        if (n - i > AHEAD) {
            const uint8_t *next = bytes_at(&parts[part[i + AHEAD]], slot[i + AHEAD], offset);
            for (uint32_t at = 0; at < size; at += 64) SPECTOR_PREFETCH(next + at);
        }
        memcpy(out + (size_t)i * size, bytes_at(&parts[part[i]], slot[i], offset), size);
    }
}

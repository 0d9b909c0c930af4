/* Neighbours of rows: BM25 of blended term frequencies, lengths of blended vectors, chains.
 *
 * A row's terms spread to the few rows around it, so the work is that of the counts above 0, and
 * one pass over the ranked rows a term. The contract is in
 * spector/kernel/contract/scanner.py, with the order of the additions, on which the bits depend.
 */
#include "spector.h"

#include <math.h>
#include <string.h>

/* The next count above 0, from at on; n if there is none. */
static inline uint32_t next_count(const uint8_t *counts, uint32_t at, uint32_t n) {
    for (; at + 8 <= n; at += 8) {
        uint64_t eight;
        memcpy(&eight, counts + at, sizeof eight);
        if (eight) break;
    }
    while (at < n && !counts[at]) at++;
    return at;
}

/* Spreads one term from the rows that have it to their neighbours. */
static void give(const spector_around *around, const uint8_t *counts, double *sums) {
    for (uint32_t row = next_count(counts, 0, around->rows); row < around->rows;
         row = next_count(counts, row + 1, around->rows)) {
        const double given = (double)counts[row] * (double)around->share[row];
        const uint32_t *target = around->target + (size_t)row * around->reach;
        for (uint32_t j = 0; j < around->reach; j++)
            if (target[j] < around->ranked) sums[target[j]] += given * around->factor[j];
    }
}

static void add_counts(const uint8_t *counts, uint32_t n, double *sums) {
    for (uint32_t row = next_count(counts, 0, n); row < n; row = next_count(counts, row + 1, n))
        sums[row] += (double)counts[row];
}

void spector_words_around(const spector_around *around, const uint8_t *counts,
                          const uint8_t *extra, uint32_t words, const float *weight,
                          const float *length_norm, double *restrict sums, float *restrict out) {
    const uint32_t n = around->ranked;
    for (uint32_t t = 0; t < words; t++) {
        const uint8_t *mine = counts + (size_t)t * around->rows;
        give(around, mine, sums);
        add_counts(mine, n, sums);
        if (extra) add_counts(extra + (size_t)t * n, n, sums);
        const float worth = weight[t];
        for (uint32_t row = 0; row < n; row++) {
            const float often = (float)sums[row];
            out[row] += worth * (often / (often + length_norm[row]));
            sums[row] = 0.0;
        }
    }
}

/* ---- vectors blended with their neighbours' ---- */

typedef struct vector {
    const int8_t *codes;
    double scale;
} vector;

/* A record's vector. A unit vector has a scale of at most 1/127; a damaged one counts as 0. */
static vector vector_of(const spector_part *parts, uint32_t part, uint32_t slot) {
    const uint8_t *data = parts[part].data + (size_t)slot * parts[part].stride;
    const float scale = ((const spector_record *)data)->scale;
    const vector out = {(const int8_t *)data + SPECTOR_HEADER_BYTES,
                        scale >= 0.0f && scale <= 1.0f ? (double)scale : 0.0};
    return out;
}

static double product(vector a, vector b, uint32_t bytes) {
    int32_t sum = 0;
    for (uint32_t i = 0; i < bytes; i++) sum += (int32_t)a.codes[i] * b.codes[i];
    return a.scale * b.scale * (double)sum;
}

enum { ROWS_AHEAD = 4 };

static void fetch(const spector_part *parts, uint32_t part, uint32_t slot, uint32_t bytes) {
    const uint8_t *data = parts[part].data + (size_t)slot * parts[part].stride;
    for (uint32_t i = 0; i < SPECTOR_HEADER_BYTES + bytes; i += 64) SPECTOR_PREFETCH(data + i);
}

void spector_mixed_norms(const spector_part *parts, const uint32_t *part, const uint32_t *slot,
                         uint32_t m, const uint32_t *at, const uint32_t *before,
                         const uint32_t *after, uint32_t n, double share, float *out) {
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t bytes = parts[part[at[i]]].stride - SPECTOR_HEADER_BYTES;
        if (n - i > ROWS_AHEAD) {
            const uint32_t next = at[i + ROWS_AHEAD];
            fetch(parts, part[next], slot[next], bytes);
        }
        const vector own = vector_of(parts, part[at[i]], slot[at[i]]);
        const int behind = before[i] < m, ahead = after[i] < m;
        if (!behind && !ahead) {
            out[i] = 1.0f;
            continue;
        }
        double total = product(own, own, bytes), cross = 0.0;
        vector left = {0}, right = {0};
        if (behind) {
            left = vector_of(parts, part[before[i]], slot[before[i]]);
            cross += product(own, left, bytes);
            total += share * share * product(left, left, bytes);
        }
        if (ahead) {
            right = vector_of(parts, part[after[i]], slot[after[i]]);
            cross += product(own, right, bytes);
            total += share * share * product(right, right, bytes);
        }
        if (behind && ahead) cross += share * product(left, right, bytes);
        total += 2.0 * share * cross;
        const float length = (float)sqrt(total > 0.0 ? total : 0.0);
        out[i] = length > 1e-9f ? length : 1e-9f;
    }
}

/* ---- chains of rows ---- */

/* The next row of a chain that is alive; -1 at its end, and where it leads in a circle. */
static int64_t step(const int32_t *links, const uint8_t *alive, int64_t rows, int64_t at) {
    for (int64_t left = rows; left > 0; left--) {
        at = links[at];
        if (at < 0 || at >= rows) return -1;
        if (!alive || alive[at]) return at;
    }
    return -1;
}

void spector_chained(const int32_t *before, const int32_t *after, const uint8_t *alive,
                     uint32_t rows, const int64_t *at, uint32_t n, uint32_t reach, int64_t *out) {
    for (uint32_t i = 0; i < n; i++) {
        int64_t left = at[i], right = at[i];
        int64_t *line = out + (size_t)i * 2 * reach;
        for (uint32_t j = 0; j < reach; j++) {
            line[j] = left = left < 0 ? -1 : step(before, alive, rows, left);
            line[reach + j] = right = right < 0 ? -1 : step(after, alive, rows, right);
        }
    }
}

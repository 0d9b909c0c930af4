/* BM25 over postings: blocks by term, scored whole and one after the other, and tails by row.
 *
 * A block has at most 65,536 rows, so its scores are an array that stays in the cache; every match
 * is scored, nothing is pruned. Terms are added in the order of their hashes, in a tail as in a
 * block, so a row has the same bits wherever it lies. The contract is in
 * spector/kernel/contract/lexical.py.
 */
#include "spector.h"

#include <string.h>

enum {
    SPARSE = 4,      /* blocks where fewer rows match are scored by a list of them */
    FILTER = 1 << 16 /* bits of the filter that a tail's postings are tested against first */
};

static int32_t find(const spector_postings *block, uint64_t hash) {
    const uint64_t bucket = hash >> (64 - block->dir_bits);
    for (uint32_t i = block->dir[bucket]; i < block->dir[bucket + 1]; i++)
        if (block->hash[i] == hash) return (int32_t)i;
    return -1;
}

/* A bit filter of the query's terms: one test skips most postings of a tail. */
static void filter_of(const uint64_t *hash, uint32_t words, uint64_t *filter) {
    memset(filter, 0, FILTER / 8);
    for (uint32_t t = 0; t < words; t++)
        filter[(hash[t] % FILTER) >> 6] |= UINT64_C(1) << (hash[t] & 63);
}

/* The number of the term that has this hash; words if none has. */
static inline uint32_t word_of(const uint64_t *hash, uint32_t words, const uint64_t *filter,
                               uint64_t sought) {
    if (!(filter[(sought % FILTER) >> 6] >> (sought & 63) & 1)) return words;
    uint32_t t = 0;
    while (t < words && hash[t] != sought) t++;
    return t;
}

/* allow: the bitmap's words of one part, or NULL. */
static inline int admits(const uint64_t *allow, uint32_t slot) {
    return !allow || allow[slot >> 6] >> (slot & 63) & 1;
}

static inline const uint64_t *words_from(const uint64_t *allow, uint32_t gate) {
    return allow ? allow + gate : NULL;
}

static inline float term_score(const spector_words *words, uint32_t t, uint8_t count,
                               uint8_t length) {
    const float often = (float)count;
    return words->weight[t] * often / (often + words->norm[length]);
}

/* Number of a term's rows that are allowed. */
static uint64_t rows_with(const spector_postings *block, int32_t term, const uint64_t *allow) {
    const uint32_t from = block->start[term], end = block->start[term + 1];
    if (!allow) return end - from;
    uint64_t rows = 0;
    for (uint32_t j = from; j < end; j++)
        rows += allow[block->row[j] >> 6] >> (block->row[j] & 63) & 1;
    return rows;
}

void spector_lexical_find(const spector_postings *blocks, uint32_t n, const spector_tail *tails,
                          uint32_t n_tails, const uint64_t *hash, uint32_t words,
                          const uint64_t *allow, int32_t *position, uint64_t *df) {
    for (uint32_t i = 0; i < n; i++) {
        const uint64_t *gate = words_from(allow, blocks[i].gate);
        for (uint32_t t = 0; t < words; t++) {
            const int32_t term = find(blocks + i, hash[t]);
            position[(size_t)i * words + t] = term;
            if (term >= 0) df[t] += rows_with(blocks + i, term, gate);
        }
    }
    if (!n_tails) return;
    uint64_t filter[FILTER / 64];
    filter_of(hash, words, filter);
    for (uint32_t i = 0; i < n_tails; i++) {
        const uint64_t *gate = words_from(allow, tails[i].gate);
        for (uint32_t slot = 0; slot < tails[i].rows; slot++) {
            if (!admits(gate, slot)) continue;
            for (uint32_t j = tails[i].start[slot]; j < tails[i].start[slot + 1]; j++) {
                const uint32_t t = word_of(hash, words, filter, tails[i].hash[j]);
                if (t < words) df[t]++;
            }
        }
    }
}

/* ---- the best ---- */

typedef struct ranking {
    spector_word_hit *hits; /* a heap, the worst at its root */
    const uint64_t *allow;
    uint32_t found, k;
} ranking;

static inline int is_worse(const spector_word_hit *a, const spector_word_hit *b) {
    if (a->score != b->score) return a->score < b->score;
    if (a->id != b->id) return a->id > b->id;
    return a->row > b->row;
}

static void sift_down(spector_word_hit *hits, uint32_t n, uint32_t at) {
    const spector_word_hit moved = hits[at];
    for (;;) {
        uint32_t child = 2 * at + 1;
        if (child >= n) break;
        if (child + 1 < n && is_worse(&hits[child + 1], &hits[child])) child++;
        if (!is_worse(&hits[child], &moved)) break;
        hits[at] = hits[child];
        at = child;
    }
    hits[at] = moved;
}

/* The least score that can enter; the next above 0 while there is room. */
static inline float floor_of(const ranking *r) {
    return r->found < r->k ? 0x1p-149f : r->hits[0].score;
}

static void offer(ranking *r, float score, uint64_t id, uint32_t row) {
    const spector_word_hit hit = {id, score, row};
    if (r->found == r->k) {
        if (!is_worse(&r->hits[0], &hit)) return;
        r->hits[0] = hit;
        sift_down(r->hits, r->k, 0);
        return;
    }
    uint32_t at = r->found++;
    while (at && is_worse(&hit, &r->hits[(at - 1) / 2])) {
        r->hits[at] = r->hits[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    r->hits[at] = hit;
}

static void sort_best_first(ranking *r) {
    for (uint32_t n = r->found; n > 1; n--) {
        const spector_word_hit worst = r->hits[0];
        r->hits[0] = r->hits[n - 1];
        sift_down(r->hits, n - 1, 0);
        r->hits[n - 1] = worst;
    }
}

/* ---- a block ---- */

/* Whether a term can add to scores in the block: one of weight 0 is only counted. */
static inline int adds(const spector_words *words, uint32_t t, const int32_t *position) {
    return position[t] >= 0 && words->weight[t] != 0.0f;
}

/* Adds the terms' weights to scores[65,536], by slot. */
static void add_block(const spector_postings *block, const int32_t *position,
                      const spector_words *words, float *restrict scores) {
    for (uint32_t t = 0; t < words->n; t++) {
        if (!adds(words, t, position)) continue;
        const uint32_t end = block->start[position[t] + 1];
        for (uint32_t j = block->start[position[t]]; j < end; j++) {
            const uint32_t slot = block->row[j];
            scores[slot] += term_score(words, t, block->count[j], block->length[slot]);
        }
    }
}

/* The same for few postings; returns how many slots it touched, listed in the order it met them.
 * A slot whose score is still 0 may be listed twice. */
static uint32_t add_sparse(const spector_postings *block, const int32_t *position,
                           const spector_words *words, float *restrict scores,
                           uint16_t *restrict touched) {
    uint32_t n = 0;
    for (uint32_t t = 0; t < words->n; t++) {
        if (!adds(words, t, position)) continue;
        const uint32_t end = block->start[position[t] + 1];
        for (uint32_t j = block->start[position[t]]; j < end; j++) {
            const uint32_t slot = block->row[j];
            const float before = scores[slot];
            touched[n] = (uint16_t)slot;
            n += before == 0.0f;
            scores[slot] = before + term_score(words, t, block->count[j], block->length[slot]);
        }
    }
    return n;
}

static void rank_touched(ranking *r, const spector_postings *block, float *scores,
                         const uint16_t *touched, uint32_t n) {
    const uint64_t *allow = words_from(r->allow, block->gate);
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t slot = touched[i];
        const float score = scores[slot];
        scores[slot] = 0.0f;
        if (score >= floor_of(r) && admits(allow, slot))
            offer(r, score, block->id[slot], block->first + slot);
    }
}

static float highest(const float *scores) {
    float lanes[SPECTOR_LANES] = {0};
    for (uint32_t i = 0; i < SPECTOR_BLOCK; i += SPECTOR_LANES)
        for (uint32_t lane = 0; lane < SPECTOR_LANES; lane++)
            lanes[lane] = scores[i + lane] > lanes[lane] ? scores[i + lane] : lanes[lane];
    float best = lanes[0];
    for (uint32_t lane = 1; lane < SPECTOR_LANES; lane++)
        best = lanes[lane] > best ? lanes[lane] : best;
    return best;
}

/* The scores behind the last row are 0, up to the next multiple of 64. */
static void rank_block(ranking *r, const spector_postings *block, float *scores) {
    const uint64_t *allow = words_from(r->allow, block->gate);
    for (uint32_t slot = 0; slot < block->rows; slot += SPECTOR_BLOCK) {
        uint64_t bits = allow ? allow[slot >> 6] : ~UINT64_C(0);
        if (bits && highest(scores + slot) >= floor_of(r))
            for (; bits; bits &= bits - 1) {
                const uint32_t at = slot + SPECTOR_LOW_BIT(bits);
                if (scores[at] >= floor_of(r))
                    offer(r, scores[at], block->id[at], block->first + at);
            }
        memset(scores + slot, 0, SPECTOR_BLOCK * sizeof *scores);
    }
}

static uint64_t postings_of(const spector_postings *block, const int32_t *position,
                            const spector_words *words) {
    uint64_t sum = 0;
    for (uint32_t t = 0; t < words->n; t++)
        if (adds(words, t, position)) sum += block->start[position[t] + 1] - block->start[position[t]];
    return sum;
}

/* ---- a tail ---- */

static float score_row(const spector_tail *tail, uint32_t slot, const spector_words *words,
                       const uint64_t *filter) {
    float score = 0.0f;
    for (uint32_t j = tail->start[slot]; j < tail->start[slot + 1]; j++) {
        const uint32_t t = word_of(words->hash, words->n, filter, tail->hash[j]);
        if (t < words->n) score += term_score(words, t, tail->count[j], tail->length[slot]);
    }
    return score;
}

static void rank_tail(ranking *r, const spector_tail *tail, const spector_words *words,
                      const uint64_t *filter) {
    const uint64_t *allow = words_from(r->allow, tail->gate);
    for (uint32_t slot = 0; slot < tail->rows; slot++) {
        if (!admits(allow, slot)) continue;
        const float score = score_row(tail, slot, words, filter);
        if (score >= floor_of(r)) offer(r, score, tail->id[slot], tail->first + slot);
    }
}

uint32_t spector_lexical_best(const spector_postings *blocks, uint32_t n,
                              const spector_tail *tails, uint32_t n_tails,
                              const spector_words *words, const int32_t *position,
                              const uint64_t *allow, spector_lexical_room *room,
                              spector_word_hit *hits, uint32_t k) {
    ranking r = {hits, allow, 0, k};
    if (!k) return 0;
    for (uint32_t i = 0; i < n; i++, position += words->n) {
        const uint64_t postings = postings_of(blocks + i, position, words);
        if (!postings) continue;
        if (postings < blocks[i].rows / SPARSE) {
            const uint32_t touched =
                add_sparse(blocks + i, position, words, room->scores, room->touched);
            rank_touched(&r, blocks + i, room->scores, room->touched, touched);
        } else {
            add_block(blocks + i, position, words, room->scores);
            rank_block(&r, blocks + i, room->scores);
        }
    }
    if (n_tails) {
        uint64_t filter[FILTER / 64];
        filter_of(words->hash, words->n, filter);
        for (uint32_t i = 0; i < n_tails; i++) rank_tail(&r, tails + i, words, filter);
    }
    sort_best_first(&r);
    return r.found;
}

void spector_lexical_all(const spector_postings *blocks, uint32_t n, const spector_tail *tails,
                         uint32_t n_tails, const spector_words *words, const int32_t *position,
                         float *scores) {
    for (uint32_t i = 0; i < n; i++, position += words->n)
        add_block(blocks + i, position, words, scores + blocks[i].first);
    if (!n_tails) return;
    uint64_t filter[FILTER / 64];
    filter_of(words->hash, words->n, filter);
    for (uint32_t i = 0; i < n_tails; i++)
        for (uint32_t slot = 0; slot < tails[i].rows; slot++)
            scores[tails[i].first + slot] = score_row(tails + i, slot, words, filter);
}

/* ---- given rows ---- */

/* The first of [from, end) whose row is at least slot: steps that double, then bisection. */
static uint32_t seek(const uint16_t *row, uint32_t from, uint32_t end, uint32_t slot) {
    uint32_t step = 1;
    while (end - from > step && row[from + step - 1] < slot) {
        from += step;
        step *= 2;
    }
    uint32_t stop = end - from > step ? from + step : end;
    while (from < stop) {
        const uint32_t middle = from + (stop - from) / 2;
        if (row[middle] < slot) from = middle + 1;
        else stop = middle;
    }
    return from;
}

/* The first of rows[from..n) that is at least sought: as seek, for row numbers. */
static uint32_t seek_row(const uint32_t *rows, uint32_t from, uint32_t n, uint32_t sought) {
    uint32_t step = 1;
    while (n - from > step && rows[from + step - 1] < sought) {
        from += step;
        step *= 2;
    }
    uint32_t stop = n - from > step ? from + step : n;
    while (from < stop) {
        const uint32_t middle = from + (stop - from) / 2;
        if (rows[middle] < sought) from = middle + 1;
        else stop = middle;
    }
    return from;
}

/* Walks the shorter of the two, the rows or the term's list, and seeks in the other. */
static void count_in_block(const spector_postings *block, const int32_t *position, uint32_t words,
                           const uint32_t *rows, uint32_t n, uint32_t all, uint8_t *counts,
                           uint8_t *lengths) {
    for (uint32_t i = 0; i < n; i++) lengths[i] = block->length[rows[i] - block->first];
    for (uint32_t t = 0; t < words; t++) {
        if (position[t] < 0) continue;
        uint32_t at = block->start[position[t]];
        const uint32_t end = block->start[position[t] + 1];
        uint8_t *line = counts + (size_t)t * all;
        if (end - at < n) {
            for (uint32_t i = 0; at < end && i < n; at++) {
                const uint32_t row = block->first + block->row[at];
                i = seek_row(rows, i, n, row);
                if (i < n && rows[i] == row) line[i] = block->count[at];
            }
            continue;
        }
        for (uint32_t i = 0; i < n && at < end; i++) {
            const uint32_t slot = rows[i] - block->first;
            at = seek(block->row, at, end, slot);
            if (at < end && block->row[at] == slot) line[i] = block->count[at];
        }
    }
}

static void count_in_tail(const spector_tail *tail, const uint64_t *hash, uint32_t words,
                          const uint64_t *filter, const uint32_t *rows, uint32_t n, uint32_t all,
                          uint8_t *counts, uint8_t *lengths) {
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t slot = rows[i] - tail->first;
        lengths[i] = tail->length[slot];
        for (uint32_t j = tail->start[slot]; j < tail->start[slot + 1]; j++) {
            const uint32_t t = word_of(hash, words, filter, tail->hash[j]);
            if (t < words) counts[(size_t)t * all + i] = tail->count[j];
        }
    }
}

/* The number of ascending rows, beginning at from, that are below end. */
static uint32_t rows_below(const uint32_t *rows, uint32_t from, uint32_t n, uint32_t end) {
    uint32_t at = from;
    while (at < n && rows[at] < end) at++;
    return at - from;
}

void spector_lexical_counts(const spector_postings *blocks, uint32_t n, const spector_tail *tails,
                            uint32_t n_tails, const uint64_t *hash, uint32_t words,
                            const int32_t *position, const uint32_t *rows, uint32_t n_rows,
                            uint8_t *counts, uint8_t *lengths) {
    uint64_t filter[FILTER / 64];
    if (n_tails) filter_of(hash, words, filter);
    uint32_t at = 0;
    for (uint32_t i = 0; i < n && at < n_rows; i++) {
        const uint32_t few = rows_below(rows, at, n_rows, blocks[i].first + blocks[i].rows);
        count_in_block(blocks + i, position + (size_t)i * words, words, rows + at, few, n_rows,
                       counts + at, lengths + at);
        at += few;
    }
    for (uint32_t i = 0; i < n_tails && at < n_rows; i++) {
        const uint32_t few = rows_below(rows, at, n_rows, tails[i].first + tails[i].rows);
        count_in_tail(tails + i, hash, words, filter, rows + at, few, n_rows, counts + at,
                      lengths + at);
        at += few;
    }
}

/* ---- rows that have every word ---- */

/* Whether every list but the shortest has the slot. */
static int has_others(const spector_postings *block, const int32_t *position, uint32_t words,
                      uint32_t shortest, uint32_t slot) {
    for (uint32_t t = 0; t < words; t++) {
        if (t == shortest) continue;
        const uint32_t end = block->start[position[t] + 1];
        const uint32_t at = seek(block->row, block->start[position[t]], end, slot);
        if (at == end || block->row[at] != slot) return 0;
    }
    return 1;
}

/* The word with the fewest postings in the block; words where one has none. */
static uint32_t shortest_of(const spector_postings *block, const int32_t *position,
                            uint32_t words) {
    uint32_t shortest = words, least = UINT32_MAX;
    for (uint32_t t = 0; t < words; t++) {
        if (position[t] < 0) return words;
        const uint32_t length = block->start[position[t] + 1] - block->start[position[t]];
        if (length < least) {
            least = length;
            shortest = t;
        }
    }
    return shortest;
}

uint32_t spector_lexical_having(const spector_postings *blocks, uint32_t n,
                                const spector_tail *tails, uint32_t n_tails, const uint64_t *hash,
                                uint32_t words, const int32_t *position, const uint64_t *allow,
                                uint32_t *rows, uint32_t limit) {
    uint32_t found = 0;
    if (!words) return 0;
    for (uint32_t i = 0; i < n && found < limit; i++, position += words) {
        const spector_postings *block = blocks + i;
        const uint32_t t = shortest_of(block, position, words);
        if (t == words) continue;
        const uint32_t end = block->start[position[t] + 1];
        for (uint32_t j = block->start[position[t]]; j < end && found < limit; j++) {
            const uint32_t slot = block->row[j];
            if (admits(words_from(allow, block->gate), slot) &&
                has_others(block, position, words, t, slot))
                rows[found++] = block->first + slot;
        }
    }
    if (!n_tails) return found;
    uint64_t filter[FILTER / 64];
    filter_of(hash, words, filter);
    for (uint32_t i = 0; i < n_tails; i++)
        for (uint32_t slot = 0; slot < tails[i].rows && found < limit; slot++) {
            uint32_t had = 0;
            for (uint32_t j = tails[i].start[slot]; j < tails[i].start[slot + 1]; j++)
                had += word_of(hash, words, filter, tails[i].hash[j]) < words;
            if (had == words && admits(words_from(allow, tails[i].gate), slot))
                rows[found++] = tails[i].first + slot;
        }
    return found;
}

/* ---- before a file's bytes are used ---- */

static int is_list_sound(const spector_postings *block, uint32_t from, uint32_t end) {
    for (uint32_t j = from; j < end; j++) {
        if (block->row[j] >= block->rows || !block->count[j]) return 0;
        if (j > from && block->row[j] <= block->row[j - 1]) return 0;
    }
    return 1;
}

uint32_t spector_lexical_check(const spector_postings *block, uint32_t postings) {
    const uint32_t buckets = UINT32_C(1) << block->dir_bits;
    for (uint32_t i = 1; i < block->terms; i++)
        if (block->hash[i] <= block->hash[i - 1]) return SPECTOR_LEXICAL_BAD_HASH;
    if (block->dir[0] || block->dir[buckets] != block->terms) return SPECTOR_LEXICAL_BAD_DIR;
    for (uint32_t k = 0; k < buckets; k++) {
        const uint32_t from = block->dir[k], end = block->dir[k + 1];
        if (from > end || end > block->terms) return SPECTOR_LEXICAL_BAD_DIR;
        for (uint32_t i = from; i < end; i++)
            if (block->hash[i] >> (64 - block->dir_bits) != k) return SPECTOR_LEXICAL_BAD_DIR;
    }
    if (block->start[0] || block->start[block->terms] != postings)
        return SPECTOR_LEXICAL_BAD_START;
    for (uint32_t i = 0; i < block->terms; i++)
        if (block->start[i] >= block->start[i + 1] || block->start[i + 1] > postings)
            return SPECTOR_LEXICAL_BAD_START;
    for (uint32_t i = 0; i < block->terms; i++)
        if (!is_list_sound(block, block->start[i], block->start[i + 1]))
            return SPECTOR_LEXICAL_BAD_ROW;
    return SPECTOR_LEXICAL_SOUND;
}

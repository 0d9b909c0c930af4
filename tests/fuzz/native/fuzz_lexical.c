/* Blocks of words whose bytes were changed, each array in memory of exactly its size.
 *
 * What spector_lexical_check lets pass is asked everything; a sanitizer sees what is read or
 * written elsewhere.
 *
 *     fuzz_lexical FIRST COUNT [MS]    cases FIRST .. FIRST + COUNT - 1; those that take longer than
 *                                      MS are counted
 */
#include "spector.h"
#include "slow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 12, MOST_ROWS = 300 };

static uint64_t state;

static uint64_t any(void) { /* splitmix64 */
    uint64_t z = state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

static uint32_t below(uint32_t n) { return (uint32_t)(any() % n); }

static void *exactly(size_t bytes) {
    void *at = calloc(1, bytes ? bytes : 1);
    if (!at) abort();
    return at;
}

typedef struct {
    uint64_t *hash, *id;
    uint32_t *dir, *start;
    uint16_t *row;
    uint8_t *count, *length;
    uint32_t rows, terms, dir_bits, postings;
} arrays;

static int ascending(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* A sound block: each row has each term with a chance of its own. */
static arrays make(uint32_t rows, uint32_t terms) {
    arrays a = {.rows = rows, .terms = terms, .dir_bits = 1 + below(6)};
    a.hash = exactly(8 * (size_t)terms);
    for (uint32_t i = 0; i < terms; i++) a.hash[i] = (any() & ~UINT64_C(0xFFFF)) | i;
    qsort(a.hash, terms, 8, ascending);
    a.dir = exactly(4 * ((size_t)(1u << a.dir_bits) + 1));
    for (uint32_t k = 0, i = 0; k <= 1u << a.dir_bits; k++) {
        while (i < terms && a.hash[i] >> (64 - a.dir_bits) < k) i++;
        a.dir[k] = i;
    }
    uint16_t *row = exactly(2 * (size_t)rows * terms);
    a.start = exactly(4 * ((size_t)terms + 1));
    for (uint32_t i = 0; i < terms; i++) {
        const uint32_t chance = 1 + below(i % 3 ? 40 : 2), kept = below(rows);
        for (uint32_t slot = 0; slot < rows; slot++)
            if (slot == kept || !below(chance)) row[a.postings++] = (uint16_t)slot;
        a.start[i + 1] = a.postings;
    }
    a.row = exactly(2 * (size_t)a.postings);
    memcpy(a.row, row, 2 * (size_t)a.postings);
    free(row);
    a.count = exactly(a.postings);
    for (uint32_t j = 0; j < a.postings; j++) a.count[j] = (uint8_t)(1 + below(255));
    a.length = exactly(rows);
    a.id = exactly(8 * (size_t)rows);
    for (uint32_t i = 0; i < rows; i++) a.length[i] = (uint8_t)any(), a.id[i] = below(50);
    return a;
}

static void damage(arrays *a) {
    uint8_t *at[] = {(uint8_t *)a->hash, (uint8_t *)a->dir, (uint8_t *)a->start,
                     (uint8_t *)a->row, a->count, a->length};
    const size_t sizes[] = {8 * (size_t)a->terms, 4 * ((size_t)(1u << a->dir_bits) + 1),
                            4 * ((size_t)a->terms + 1), 2 * (size_t)a->postings, a->postings,
                            a->rows};
    for (uint32_t n = below(4); n; n--) {
        const uint32_t which = below(6);
        if (!sizes[which]) continue;
        const uint64_t value = below(3) ? any() : below(2) ? UINT64_MAX : 0;
        for (size_t i = any() % sizes[which], k = 0; k < 1u + below(4) && i < sizes[which]; i++, k++)
            at[which][i] = (uint8_t)(value >> 8 * k);
    }
}

static spector_postings as_block(const arrays *a, uint32_t first, uint32_t gate) {
    return (spector_postings){a->hash, a->dir,  a->start,    a->row, a->count, a->length, a->id,
                              a->rows, a->terms, a->dir_bits, first,  gate,     0};
}

static void ask(const spector_postings *blocks, uint32_t n, const spector_tail *tails,
                uint32_t n_tails, const uint64_t *hash, uint32_t words, uint32_t rows,
                uint32_t gate_words) {
    int32_t *position = exactly(4 * (size_t)n * words);
    uint64_t *df = exactly(8 * (size_t)words), *allow = exactly(8 * (size_t)gate_words);
    float *weight = exactly(4 * (size_t)words), *norm = exactly(4 * 256);
    for (uint32_t i = 0; i < gate_words; i++) allow[i] = any() & any();
    for (uint32_t i = 0; i < words; i++) weight[i] = (float)below(9);
    for (uint32_t i = 0; i < 256; i++) norm[i] = (float)i;
    const spector_words query = {hash, weight, norm, words, 0};
    static spector_lexical_room room;
    const uint64_t *gate = below(2) ? allow : NULL;
    spector_lexical_find(blocks, n, tails, n_tails, hash, words, gate, position, df);
    const uint32_t k = below(rows + 2);
    spector_word_hit *hits = exactly(sizeof *hits * (size_t)k);
    const uint32_t found = spector_lexical_best(blocks, n, tails, n_tails, &query, position, gate,
                                                &room, hits, k);
    if (found > k) abort();
    for (uint32_t i = 0; i < found; i++)
        if (hits[i].row >= rows || !(hits[i].score > 0)) abort();
    for (size_t i = 0; i < 65536; i++)
        if (room.scores[i]) abort(); /* something is left for the next call */
    float *scores = exactly(4 * (size_t)rows);
    spector_lexical_all(blocks, n, tails, n_tails, &query, position, scores);
    uint32_t *chosen = exactly(4 * (size_t)rows), some = 0;
    for (uint32_t i = 0; i < rows; i++)
        if (below(3)) chosen[some++] = i;
    uint8_t *counts = exactly((size_t)words * some), *lengths = exactly(some);
    spector_lexical_counts(blocks, n, tails, n_tails, hash, words, position, chosen, some, counts,
                           lengths);
    const uint32_t limit = below(rows + 1);
    uint32_t *having = exactly(4 * (size_t)limit);
    if (spector_lexical_having(blocks, n, tails, n_tails, hash, words, position, gate, having,
                               limit) > limit)
        abort();
    void *all[] = {position, df, allow, weight, norm, hits, scores, chosen, counts, lengths, having};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
}

/* A sound tail of n rows. */
static spector_tail make_tail(const uint64_t *hash, uint32_t words, uint32_t rows, uint32_t first,
                              uint32_t gate) {
    uint32_t *start = exactly(4 * ((size_t)rows + 1)), used = 0;
    uint64_t *all = exactly(8 * (size_t)rows * words);
    for (uint32_t i = 0; i < rows; i++) {
        for (uint32_t t = 0; t < words; t++)
            if (!below(4)) all[used++] = hash[t];
        start[i + 1] = used;
    }
    uint64_t *mine = exactly(8 * (size_t)used), *id = exactly(8 * (size_t)rows);
    memcpy(mine, all, 8 * (size_t)used);
    free(all);
    uint8_t *count = exactly(used), *length = exactly(rows);
    for (uint32_t j = 0; j < used; j++) count[j] = (uint8_t)(1 + below(255));
    return (spector_tail){mine, start, count, length, id, rows, first, gate, 0};
}

static void free_tail(const spector_tail *tail) {
    free((void *)tail->hash), free((void *)tail->start), free((void *)tail->count);
    free((void *)tail->length), free((void *)tail->id);
}

static void free_arrays(arrays *a) {
    free(a->hash), free(a->dir), free(a->start), free(a->row);
    free(a->count), free(a->length), free(a->id);
}

int main(int argc, char **argv) {
    if (argc != 3 && argc != 4) return 2;
    if (argc == 4) slow_limit(argv[3]);
    const uint64_t first = strtoull(argv[1], NULL, 10), count = strtoull(argv[2], NULL, 10);
    uint64_t passed = 0;
    slow_begin();
    for (uint64_t number = first; number < first + count; number++) {
        state = number;
        arrays made[3];
        spector_postings blocks[3];
        uint32_t n = 0, rows = 0, gate = 0;
        uint64_t hash[WORDS];
        for (uint32_t i = 0, most = 1 + below(3); i < most; i++) {
            made[n] = make(1 + below(below(8) ? 90 : MOST_ROWS), below(40));
            damage(&made[n]);
            blocks[n] = as_block(&made[n], rows, gate);
            if (spector_lexical_check(&blocks[n], made[n].postings) != SPECTOR_LEXICAL_SOUND) {
                free_arrays(&made[n]);
                continue;
            }
            rows += made[n].rows;
            gate += (made[n].rows + 63) / 64;
            n++;
        }
        uint32_t words = 0;
        for (uint32_t i = 0, want = below(WORDS + 1); i < want; i++) {
            const arrays *from = n ? &made[below(n)] : NULL;
            hash[words++] = from && from->terms && below(5) ? from->hash[below(from->terms)] : any();
        }
        qsort(hash, words, 8, ascending);
        uint32_t distinct = 0;
        for (uint32_t i = 0; i < words; i++)
            if (!distinct || hash[i] != hash[distinct - 1]) hash[distinct++] = hash[i];
        const uint32_t tail_rows = below(3) ? below(70) : 0;
        spector_tail tail = make_tail(hash, distinct, tail_rows, rows, gate);
        ask(blocks, n, &tail, 1, hash, distinct, rows + tail_rows, gate + (tail_rows + 63) / 64);
        free_tail(&tail);
        passed += n;
        for (uint32_t i = 0; i < n; i++) free_arrays(&made[i]);
        slow_end(number);
    }
    printf("executions %llu passed %llu hangs %llu\n", (unsigned long long)count,
           (unsigned long long)passed, (unsigned long long)slow_cases);
    return 0;
}

/* Every instruction set of this machine against portable C, byte for byte.
 *
 * Each check below turns a world (records, cue, query) into an image: whatever the operation wrote.
 * main() makes the image with portable C and again with every set, alone and together, and compares.
 * To check another operation, write such a function and add it to CHECKS.
 *
 * Buffers that are read end at an unreadable page, so reading a byte too much is a crash.
 *
 *     cc -std=c11 -ffp-contract=off -Inative tests/native/[a-z]*.c native/[a-z]*.c -lm
 *     ./a.out [quick]
 */
#include "stores.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RECORDS = 150, IMAGE = 1 << 16 };

typedef struct {
    uint32_t dim;
    spector_part part;
    spector_query query;
    uint64_t *allow;
} world;

typedef struct {
    size_t n;
    uint8_t bytes[IMAGE];
} image;

static void put(image *out, const void *data, size_t n) {
    if (out->n + n > IMAGE) abort();
    memcpy(out->bytes + out->n, data, n);
    out->n += n;
}

/* NaN is NaN: which of its many bit patterns comes out is not part of the contract. */
static void put_floats(image *out, const float *data, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        float value = data[i] == data[i] ? data[i] : NAN;
        put(out, &value, sizeof value);
    }
}

static world make_world(uint32_t dim) {
    const uint32_t vector_bytes = (dim + 63) / 64 * 64;
    world w;
    memset(&w, 0, sizeof w);
    w.dim = dim;
    w.part.stride = SPECTOR_HEADER_BYTES + vector_bytes;
    w.part.count = RECORDS;
    uint8_t *rows = guarded((size_t)RECORDS * w.part.stride);
    memset(rows, 0, (size_t)RECORDS * w.part.stride);
    for (uint32_t i = 0; i < RECORDS; i++)
        fill_record((spector_record *)(rows + (size_t)i * w.part.stride), i, dim);
    w.part.data = rows;
    w.allow = guarded((RECORDS + 63) / 64 * 8);
    for (uint32_t i = 0; i < (RECORDS + 63) / 64; i++) w.allow[i] = random_u64() | random_u64();
    fill_query(&w.query, vector_bytes, dim);
    return w;
}

/* ---- checks ---- */

/* A block of n slots from all over the partition, its last record included. */
static void any_block(const world *w, uint32_t n, spector_block *b) {
    memset(b, 0, sizeof *b);
    b->n = n;
    for (uint32_t i = 0; i < n; i++) b->slots[i] = (RECORDS - 1 + i * 37) % RECORDS;
    spector_locate_block(&w->part, b);
}

static void check_dot(const world *w, image *out) {
    spector_block b;
    for (uint32_t n = 1; n <= SPECTOR_BLOCK; n += n < 20 ? 1 : 11) {
        int32_t dots[SPECTOR_BLOCK] = {0};
        any_block(w, n, &b);
        spector_active.dot(&w->query, &b, dots);
        put(out, dots, sizeof dots); /* nothing behind n may be written */
    }
}

/* Runs from the first record on, and up to the last, behind which lies the unreadable page. */
static void check_run(const world *w, image *out) {
    for (uint32_t n = 1; n <= SPECTOR_BLOCK; n += n < 20 ? 1 : 11) {
        int32_t dots[2][SPECTOR_BLOCK] = {{0}};
        spector_active.run(&w->query, &w->part, 0, n, dots[0]);
        spector_active.run(&w->query, &w->part, RECORDS - n, n, dots[1]);
        put(out, dots, sizeof dots);
    }
}

static void check_score(const world *w, image *out) {
    spector_block b;
    for (uint32_t n = 1; n <= SPECTOR_BLOCK; n += n < 20 ? 1 : 11) {
        float scores[SPECTOR_BLOCK];
        any_block(w, n, &b);
        for (uint32_t i = 0; i < n; i++) b.similarity[i] = (float)i / 64.0f - 0.3f;
        spector_active.load(&w->query, &b);
        spector_active.score(&w->query, &b, scores);
        put_floats(out, scores, n);
    }
}

static void check_gate(const world *w, image *out) {
    static const uint32_t firsts[] = {0, 1, 64, RECORDS - 64, RECORDS - 17, RECORDS - 1};
    for (size_t i = 0; i < sizeof firsts / sizeof *firsts; i++) {
        uint64_t drops[SPECTOR_DROPS] = {0};
        spector_block b = {0};
        uint32_t left = RECORDS - firsts[i];
        spector_active.gate(&w->query, &w->part, firsts[i], left < 64 ? left : 64, &b, drops);
        put(out, &b.n, sizeof b.n);
        put(out, b.slots, b.n * sizeof *b.slots);
        put(out, drops, sizeof drops);
    }
}

static void check_scan(const world *w, image *out) {
    for (uint32_t k = 1; k <= RECORDS; k *= 9) {
        spector_hit hits[RECORDS];
        uint64_t drops[SPECTOR_DROPS] = {0}, scanned = 0, scored = 0;
        uint32_t n = spector_scan(&w->part, NULL, 1, &w->query, hits, k, drops, &scanned, &scored);
        put(out, &n, sizeof n);
        put(out, drops, sizeof drops);
        put(out, &scored, sizeof scored);
        for (uint32_t i = 0; i < n; i++) {
            put(out, &hits[i].id, sizeof hits[i].id);
            put_floats(out, &hits[i].score, 1);
            put_floats(out, &hits[i].similarity, 1);
        }
    }
}

static void check_gather(const world *w, image *out) {
    uint32_t part[RECORDS] = {0}, slot[RECORDS];
    float scores[RECORDS], similarity[RECORDS];
    for (uint32_t i = 0; i < RECORDS; i++) slot[i] = i * 7 % RECORDS;
    spector_score(&w->part, &w->query, part, slot, RECORDS, scores, similarity);
    put_floats(out, scores, RECORDS);
    put_floats(out, similarity, RECORDS);
}

static void check_popcount(const world *w, image *out) {
    const uint32_t words = w->part.stride / 8;
    for (uint32_t n = 0; n <= words && n < 50; n++) {
        const uint64_t *end = (const uint64_t *)(w->part.data + (size_t)RECORDS * w->part.stride);
        uint64_t bits = spector_active.popcount(end - n, n);
        put(out, &bits, sizeof bits);
    }
}

static void check_crc32c(const world *w, image *out) {
    const uint8_t *end = w->part.data + (size_t)RECORDS * w->part.stride;
    for (size_t n = 0; n < 128; n++) {
        uint32_t crc = spector_crc32c(end - n, n, (uint32_t)n);
        put(out, &crc, sizeof crc);
    }
}

static const struct {
    const char *name;
    void (*run)(const world *w, image *out);
    int varied; /* depends on what the query asks for */
} CHECKS[] = {
    {"dot", check_dot, 0},       {"run", check_run, 0},           {"score", check_score, 1},
    {"gate", check_gate, 1},     {"scan", check_scan, 1},         {"gather", check_gather, 1},
    {"popcount", check_popcount, 0}, {"crc32c", check_crc32c, 0},
};

static uint64_t compared;

static int differs(const world *w, size_t check, uint32_t caps, int variant) {
    static image want, got;
    want.n = got.n = 0;
    spector_set_caps(0);
    CHECKS[check].run(w, &want);
    spector_set_caps(caps);
    CHECKS[check].run(w, &got);
    compared++;
    if (want.n == got.n && !memcmp(want.bytes, got.bytes, want.n)) return 0;
    printf("FAILED %s, dim %u, caps %x, variant %d\n", CHECKS[check].name, w->dim, caps, variant);
    return 1;
}

int main(int count, char **arguments) {
    static const uint32_t dims[] = {1, 3, 7, 8, 15, 16, 17, 63, 64, 65, 96, 384, 768, 1536, 4096};
    static const uint32_t few[] = {1, 65, 384, 4096};
    const int quick = count > 1 && !strcmp(arguments[1], "quick");
    const uint32_t *tried = quick ? few : dims;
    const size_t tries = quick ? sizeof few / sizeof *few : sizeof dims / sizeof *dims;
    const uint32_t here = spector_cpu_caps();
    int failed = 0;
    for (size_t d = 0; d < tries; d++)
        for (int variant = 0; variant < VARIANTS; variant++) {
            world w = make_world(tried[d]);
            vary(&w.query, &w.part, w.allow, variant);
            for (size_t c = 0; c < sizeof CHECKS / sizeof *CHECKS; c++) {
                if (variant && !CHECKS[c].varied) continue;
                for (uint32_t bit = 1; bit && bit <= here; bit <<= 1)
                    if (bit & here) failed += differs(&w, c, bit, variant);
                failed += differs(&w, c, here, variant);
            }
        }
    failed += check_index(tried, tries, quick);
    printf("caps %x, %llu results and %llu of indexes, %s\n", here, (unsigned long long)compared,
           (unsigned long long)total.compared, failed ? "FAILED" : "all alike");
    return failed != 0;
}

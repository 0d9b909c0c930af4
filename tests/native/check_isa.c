/* Every instruction set of this machine against portable C, byte for byte.
 *
 * Each check below turns a world (records, cue, query) into an image: whatever the operation wrote.
 * main() makes the image with portable C and again with every set, alone and together, and compares.
 * To check another operation, write such a function and add it to CHECKS.
 *
 * Buffers that are read end at an unreadable page, so reading a byte too much is a crash.
 *
 *     cc -std=c11 -ffp-contract=off -Inative tests/native/check_isa.c native/[a-z]*.c -lm
 *     ./a.out [quick]
 */
#define _GNU_SOURCE
#include "spector.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

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

static const int64_t NOW = 1790000000000;

static uint64_t random_state = 88172645463325252u;

static uint64_t random_u64(void) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static float random_unit(void) { return (float)(random_u64() >> 40) * 0x1p-24f; }

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

/* n bytes, a multiple of align, that end where an unreadable page begins. */
static void *guarded(size_t n) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), pages = (n + page - 1) / page;
    uint8_t *map = mmap(NULL, (pages + 1) * page, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED || mprotect(map + pages * page, page, PROT_NONE)) abort();
    return map + pages * page - n;
}

static float *guarded_floats(uint32_t n, float from, float to) {
    float *out = guarded(n * sizeof *out);
    for (uint32_t i = 0; i < n; i++) out[i] = from + (to - from) * ((float)i / (float)n);
    return out;
}

/* ---- worlds ---- */

static void fill_record(spector_record *r, uint32_t i, uint32_t dim) {
    memset(r, 0, sizeof *r);
    if (i % 13 == 12) { /* damaged: any bytes */
        for (size_t at = 0; at < sizeof *r; at += 8) {
            uint64_t word = random_u64();
            memcpy((uint8_t *)r + at, &word, 8);
        }
    } else {
        r->tier = (uint8_t)(random_u64() % 5);
        r->category = (uint8_t)(random_u64() % 40);
        r->modality = (uint8_t)(random_u64() % 7);
        r->scale = random_unit() / 127.0f;
        r->event_ms = NOW + 86400000 - (int64_t)(random_u64() >> (24 + random_u64() % 20));
        r->tags = random_u64() | random_u64();
        r->confidence = (uint8_t)random_u64();
        r->flags = random_u64() % 3 ? 0 : (uint16_t)(1u << random_u64() % 9);
        r->valence = (int8_t)random_u64();
        r->arousal = (uint8_t)random_u64();
        r->importance = random_unit();
        r->stability_days = random_unit() * 60.0f;
        r->utility = random_unit();
        r->access_count = (uint32_t)(random_u64() % 20);
        r->last_access_s = random_u64() % 2 ? 0 : (uint32_t)(NOW / 1000 - random_u64() % 9999999);
    }
    r->id = i + 1;
    int8_t *codes = (int8_t *)(r + 1);
    for (uint32_t j = 0; j < dim; j++)
        codes[j] = i % 17 == 16 ? (i & 1 ? 127 : -128) : (int8_t)random_u64();
}

static void fill_query(spector_query *q, uint32_t vector_bytes, uint32_t dim) {
    int8_t *codes = NULL;
    memset(q, 0, sizeof *q);
    if (vector_bytes) {
        codes = guarded(vector_bytes);
        memset(codes, 0, vector_bytes);
        for (uint32_t j = 0; j < dim; j++) codes[j] = (int8_t)(random_u64() % 255 - 127);
        if (dim % 2)
            for (uint32_t j = 0; j < dim; j++) codes[j] = -127; /* the largest sums there are */
    }
    q->codes = codes;
    q->vector_bytes = vector_bytes;
    q->retention = guarded_floats(SPECTOR_TABLE, 1.0f, 0.0f);
    q->recency = guarded_floats(SPECTOR_TABLE, 0.9f, 0.1f);
    q->activation = guarded_floats(SPECTOR_TABLE, 0.01f, 50.0f);
    q->confidence = guarded_floats(256, 0.5f, 1.0f);
    q->tier = guarded_floats(256, 1.0f, 0.8f);
    q->category = guarded_floats(256, 0.9f, 1.1f);
    q->now_ms = NOW;
    q->event_min_ms = INT64_MIN;
    q->event_max_ms = INT64_MAX;
    q->valence_min = -128;
    q->valence_max = 127;
    q->drop_flags = SPECTOR_TOMBSTONE | SPECTOR_DORMANT;
    q->scale = 1.0f / 127.0f;
    q->min_similarity = -INFINITY;
    q->w_similarity = 0.8f;
    q->w_importance = 0.1f;
    q->w_retention = 0.2f;
    q->w_recency = 0.3f;
    q->w_activation = 0.4f;
    q->w_utility = 0.05f;
    q->w_arousal = 0.07f;
    q->recency_rate = 1.0f / 30.0f;
    q->mood_boost = 1.1f;
    q->unresolved_boost = 1.2f;
    q->consolidated_factor = 0.7f;
    q->flashbulb_retention = 0.6f;
}

/* What recalls may ask for, one thing each; the last asks for all of it. */
enum { VARIANTS = 9 };

static void vary(world *w, int variant) {
    spector_query *q = &w->query;
    const int all = variant == VARIANTS - 1;
    static const uint64_t any[2] = {0x11, 0x8000000000000100u};
    if (variant == 1 || all) q->tags_all = 0x5;
    if (variant == 2 || all) {
        q->any_masks = any;
        q->any_count = 2;
    }
    if (variant == 3 || all) {
        q->valence_min = -90;
        q->valence_max = 90;
        q->mood = variant == 3 ? -1 : 1;
    }
    if (variant == 4 || all) {
        q->event_min_ms = NOW - 900000000;
        q->event_max_ms = NOW;
    }
    if (variant == 5 || all) {
        q->importance_floor = 0.2f;
        q->retention_floor = 0.1f;
    }
    if (variant == 6 || all) {
        q->category_mask = 0xF0F0F0F3;
        q->modality_mask = 0x3F;
        q->min_similarity = -0.1f;
    }
    if (variant == 7 || all) {
        w->part.allow = w->allow;
        q->overlap_mask = 0xFFFF0000FFFF;
        q->overlap_bits = 32;
        q->w_tags = 0.3f;
        q->multiplicative = 1;
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
    {"dot", check_dot, 0},       {"score", check_score, 1},       {"gate", check_gate, 1},
    {"scan", check_scan, 1},     {"gather", check_gather, 1},     {"popcount", check_popcount, 0},
    {"crc32c", check_crc32c, 0},
};

static int differs(const world *w, size_t check, uint32_t caps, int variant) {
    static image want, got;
    want.n = got.n = 0;
    spector_set_caps(0);
    CHECKS[check].run(w, &want);
    spector_set_caps(caps);
    CHECKS[check].run(w, &got);
    if (want.n == got.n && !memcmp(want.bytes, got.bytes, want.n)) return 0;
    printf("FAILED %s, dim %u, caps %x, variant %d\n", CHECKS[check].name, w->dim, caps, variant);
    return 1;
}

int main(int count, char **arguments) {
    static const uint32_t dims[] = {1, 3, 7, 8, 15, 16, 17, 63, 64, 65, 96, 384, 768, 1536};
    static const uint32_t few[] = {1, 65, 384};
    const int quick = count > 1 && !strcmp(arguments[1], "quick");
    const uint32_t *tried = quick ? few : dims;
    const size_t tries = quick ? sizeof few / sizeof *few : sizeof dims / sizeof *dims;
    const uint32_t here = spector_cpu_caps();
    int failed = 0;
    for (size_t d = 0; d < tries; d++)
        for (int variant = 0; variant < VARIANTS; variant++) {
            world w = make_world(tried[d]);
            vary(&w, variant);
            for (size_t c = 0; c < sizeof CHECKS / sizeof *CHECKS; c++) {
                if (variant && !CHECKS[c].varied) continue;
                for (uint32_t bit = 1; bit && bit <= here; bit <<= 1)
                    if (bit & here) failed += differs(&w, c, bit, variant);
                failed += differs(&w, c, here, variant);
            }
        }
    printf("caps %x, %s\n", here, failed ? "FAILED" : "all alike");
    return failed != 0;
}

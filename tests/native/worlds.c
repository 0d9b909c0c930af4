/* See worlds.h. */
#define _GNU_SOURCE
#include "worlds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const int64_t NOW = 1790000000000;

static uint64_t random_state = 88172645463325252u;

uint64_t random_u64(void) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

float random_unit(void) { return (float)(random_u64() >> 40) * 0x1p-24f; }

void *guarded(size_t n) {
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

void fill_record(spector_record *r, uint32_t i, uint32_t dim) {
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

void fill_query(spector_query *q, uint32_t vector_bytes, uint32_t dim) {
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

void vary(spector_query *q, spector_part *part, const uint64_t *allow, int variant) {
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
        q->retention_floor = 0.1f;
    }
    if (variant == 6 || all) {
        q->importance_floor = 0.2f;
        q->category_mask = 0xF0F0F0F3;
        q->modality_mask = 0x3F;
        q->min_similarity = -0.1f;
    }
    if (variant == 7 || all) {
        part->allow = allow;
        q->overlap_mask = 0xFFFF0000FFFF;
        q->overlap_bits = 32;
        q->w_tags = 0.3f;
        q->multiplicative = 1;
    }
}

/* See stores.h. */
#include "stores.h"

#include <stdio.h>
#include <string.h>

totals total;

void fail(const store *s, const char *what, uint32_t caps, uint32_t detail) {
    printf("FAILED %s, dim %u, caps %x, %u\n", what, s->dim, caps, detail);
    total.failed++;
}

uint32_t nth_caps(uint32_t i) {
    uint32_t here = spector_cpu_caps();
    if (i == 0) return 0;
    for (uint32_t bit = 1; bit && bit <= here; bit <<= 1)
        if ((bit & here) && --i == 0) return bit;
    return here;
}

uint32_t count_caps(void) { return spector_popcount(spector_cpu_caps()) + 2; }

static uint32_t stride_of(uint32_t dim) { return SPECTOR_HEADER_BYTES + (dim + 63) / 64 * 64; }

static float norm_of(const int8_t *codes, uint32_t n) {
    float sum = 0.0f;
    for (uint32_t i = 0; i < n; i++) sum += (float)codes[i] * (float)codes[i];
    return sqrtf(sum);
}

/* Ordinary records are unit vectors, more or less like the cue. */
static void fill_vector(const store *s, spector_record *r, uint32_t i) {
    int8_t *codes = (int8_t *)(r + 1);
    const int32_t like = (int32_t)(random_u64() % 8);
    if (i % 13 == 12) return;
    for (uint32_t j = 0; j < s->dim && i % 17 != 16; j++)
        codes[j] = (int8_t)(((8 - like) * codes[j] + like * s->query.codes[j]) / 9);
    if (i % 31 == 3) memset(codes, 0, s->dim);
    if (i % 5 || i % 31 == 3) r->scale = 1.0f / (norm_of(codes, s->dim) + 1e-3f);
}

int is_ordinary(uint32_t i) { return i % 13 != 12 && i % 17 != 16 && i % 31 != 3 && i % 5; }

spector_record *row(const store *s, uint8_t *rows, uint32_t i) {
    return (spector_record *)(rows + (size_t)i * stride_of(s->dim));
}

static int is_rewritten(uint32_t i) { return i % 3 == 1; }

void rewrite(spector_record *r) {
    r->flags ^= (uint16_t)(1u << random_u64() % 9);
    r->valence = (int8_t)random_u64();
    r->arousal = (uint8_t)random_u64();
    r->importance = random_unit() * 1.5f;
    r->stability_days = random_unit() * 90.0f;
    r->utility = random_unit();
    r->access_count = (uint32_t)(random_u64() >> (32 + random_u64() % 32));
    r->last_access_s = random_u64() % 2 ? 0 : r->last_access_s + 5000;
}

/* Blocks differ, so that their extremes rule some of them out. */
static void weaken(spector_record *r, float by) {
    r->scale *= by;
    r->importance *= by;
    r->utility *= by;
}

/* Only part 1 has damaged records: of those, extremes rule out nothing. */
static void fill_part(store *s, uint32_t p) {
    const size_t bytes = (size_t)s->rows * stride_of(s->dim);
    s->records[p] = guarded(bytes);
    s->first_state[p] = guarded(bytes);
    float weakness = 1.0f;
    for (uint32_t i = 0; i < s->rows; i++) {
        if (i % SPECTOR_INDEX_BLOCK == 0) weakness = 0.3f + 0.7f * random_unit();
        fill_record(row(s, s->records[p], i), p != 1 && i % 13 == 12 ? i - 1 : i, s->dim);
        fill_vector(s, row(s, s->records[p], i), i);
        if (p != 1) weaken(row(s, s->records[p], i), weakness);
        row(s, s->records[p], i)->id = p * s->rows + i + 1;
    }
    memcpy(s->first_state[p], s->records[p], bytes);
    for (uint32_t i = 0; i < s->rows; i++)
        if (is_rewritten(i)) rewrite(row(s, s->records[p], i));
    s->part[p].data = s->records[p];
    s->part[p].stride = stride_of(s->dim);
    s->part[p].count = s->rows - (p == 1 ? 50 : 0);
    s->indexed[p] = p < 2 ? s->rows : p == 2 ? s->rows - 37 : 0;
}

uint8_t *append_all(const store *s, uint32_t p, const uint8_t *records) {
    const uint32_t indexed = s->indexed[p], room = (indexed + 63) / 64 * 64;
    uint8_t *image = guarded(spector_index_bytes(s->dim, room));
    spector_index_init(image, s->dim, room, p ? s->centre : NULL);
    for (uint32_t at = 0, n; at < indexed; at += n) {
        n = 1 + (uint32_t)(random_u64() % 600);
        if (n > indexed - at) n = indexed - at;
        spector_index_append(image, records, stride_of(s->dim), n);
    }
    return image;
}

void update_all(const store *s, uint32_t p, uint8_t *image) {
    uint32_t *slots = guarded(s->rows * sizeof *slots), n = 0;
    slots += s->rows - (s->indexed[p] + 1) / 3;
    for (uint32_t i = 0; i < s->indexed[p]; i++)
        if (is_rewritten(i)) slots[n++] = i;
    spector_index_update(image, s->records[p], stride_of(s->dim), slots, n);
}

void make_store(store *s, uint32_t dim, uint32_t rows) {
    const uint32_t vector_bytes = (dim + 63) / 64 * 64, words = (rows + 63) / 64;
    memset(s, 0, sizeof *s);
    s->dim = dim;
    s->rows = rows;
    fill_query(&s->no_cue, 0, dim);
    fill_query(&s->query, vector_bytes, dim);
    s->query.scale = 1.0f / norm_of(s->query.codes, dim);
    for (uint32_t p = 0; p < PARTS; p++) fill_part(s, p);
    s->centre = guarded(dim * sizeof *s->centre);
    for (uint32_t j = 0; j < dim; j++) { /* one of the vectors, so that its residual is zero */
        const spector_record *r = row(s, s->records[1], 6);
        s->centre[j] = (float)((const int8_t *)(r + 1))[j] * r->scale;
    }
    s->allow = guarded(words * sizeof *s->allow);
    for (uint32_t i = 0; i < words; i++) s->allow[i] = random_u64() | random_u64();
    spector_set_caps(0);
    for (uint32_t p = 0; p < PARTS - 1; p++) {
        s->image[p] = append_all(s, p, s->first_state[p]);
        update_all(s, p, s->image[p]);
        if (p) spector_index_refresh(s->image[p], s->records[p], stride_of(dim));
        s->part[p].index = s->image[p];
    }
}

/* Building the scan index of a partition: bit-slices, columns, block extremes and 1-bit codes.
 *
 * The codes are those of RaBitQ (Gao and Long, SIGMOD 2024): the vector is rotated, centred and
 * reduced to signs; two numbers a record turn a count of equal signs into an estimate of the
 * cosine whose error is known. native/FORMAT.md has the layout and the formulas.
 */
#include "index.h"

#include <math.h>
#include <string.h>

enum { ROUNDS = 4, LANES = 16 };

/* Sign bits that each round of the rotation flips. Filled once, by spector_index_setup. */
static uint32_t flips[ROUNDS][SPECTOR_INDEX_MAX_DIM];

static uint64_t mix(uint32_t round, uint32_t word) {
    uint64_t z = (UINT64_C(0x5EC70) + round) * UINT64_C(0x9E3779B97F4A7C15);
    z += word * UINT64_C(0xD1B54A32D192ED03);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

/* ---- rotation ---- */

/* Walsh-Hadamard transform over w rows of 16 lanes, scaled to keep lengths. */
SPECTOR_INLINE void hadamard_portable(float *x, uint32_t w) {
    const float scale = 1.0f / sqrtf((float)w);
    for (uint32_t h = 1; h < w; h *= 2)
        for (uint32_t i = 0; i < w; i += 2 * h)
            for (uint32_t j = i; j < i + h; j++) {
                float *restrict u = x + (size_t)j * LANES, *restrict v = u + (size_t)h * LANES;
                for (int lane = 0; lane < LANES; lane++) {
                    float a = u[lane], b = v[lane];
                    u[lane] = a + b;
                    v[lane] = a - b;
                }
            }
    for (uint32_t i = 0; i < w * LANES; i++) x[i] *= scale;
}

/* rows x 16 to 16 x rows; rows is a multiple of 4. */
#if SPECTOR_X86 && defined(__SSE__)
#include <xmmintrin.h>
SPECTOR_INLINE void transpose(const float *restrict x, float *restrict out, uint32_t rows) {
    for (uint32_t row = 0; row < rows; row += 4)
        for (uint32_t lane = 0; lane < LANES; lane += 4) {
            __m128 a = _mm_loadu_ps(x + (size_t)row * LANES + lane);
            __m128 b = _mm_loadu_ps(x + (size_t)(row + 1) * LANES + lane);
            __m128 c = _mm_loadu_ps(x + (size_t)(row + 2) * LANES + lane);
            __m128 d = _mm_loadu_ps(x + (size_t)(row + 3) * LANES + lane);
            _MM_TRANSPOSE4_PS(a, b, c, d);
            _mm_storeu_ps(out + (size_t)lane * rows + row, a);
            _mm_storeu_ps(out + (size_t)(lane + 1) * rows + row, b);
            _mm_storeu_ps(out + (size_t)(lane + 2) * rows + row, c);
            _mm_storeu_ps(out + (size_t)(lane + 3) * rows + row, d);
        }
}
#else
SPECTOR_INLINE void transpose(const float *restrict x, float *restrict out, uint32_t rows) {
    for (uint32_t row = 0; row < rows; row++)
        for (uint32_t lane = 0; lane < LANES; lane++)
            out[(size_t)lane * rows + row] = x[(size_t)row * LANES + lane];
}
#endif

/* Rotates x in place; spare has room for as many floats. */
typedef void (*hadamard_fn)(float *x, uint32_t w);

SPECTOR_INLINE void rotate(float *restrict x, float *restrict spare, uint32_t rotated,
                           hadamard_fn hadamard) {
    const uint32_t rows = rotated / LANES;
    uint32_t w = 1;
    while (2 * w <= rows) w *= 2;
    for (int round = 0; round < ROUNDS; round++) {
        for (uint32_t i = 0; i < rotated; i++) {
            uint32_t bits;
            memcpy(&bits, &x[i], sizeof bits);
            bits ^= flips[round][i];
            memcpy(&x[i], &bits, sizeof bits);
        }
        /* two windows that overlap, unless one covers all rows: every coordinate is mixed */
        hadamard(x, w);
        if (w < rows) hadamard(x + (size_t)(rows - w) * LANES, w);
        transpose(x, spare, rows);
        float *swap = x;
        x = spare;
        spare = swap; /* after an even number of rounds the result is back in the caller's x */
    }
}

/* A NaN bounds nothing. */
#define RAISE_FLOAT(field, value) \
    if (!((value) <= block->field)) block->field = (value) == (value) ? (value) : INFINITY
#define RAISE(field, value) \
    if ((value) > block->field) block->field = (value)
#define LOWER(field, value) \
    if ((value) < block->field) block->field = (value)

/* ---- one record's codes ---- */

typedef struct code_sums {
    float dot;        /* <o, c> */
    float norm2;      /* |o|^2 */
    float residual2;  /* |x|^2 */
    float head, tail; /* sum of |x_i| over the sketched coordinates, and over the others */
} code_sums;

SPECTOR_INLINE float total(const float *lanes) {
    float sum = 0.0f;
    for (int i = 0; i < LANES; i++) sum += lanes[i];
    return sum;
}

/* Subtracts the centre from the rotated vector; the sketch ends at a multiple of 16. */
SPECTOR_INLINE code_sums centre_vector(float *restrict x, const float *restrict centre,
                                       uint32_t rotated, uint32_t sketched) {
    float dot[LANES] = {0}, norm2[LANES] = {0}, residual2[LANES] = {0};
    float part[2][LANES] = {{0}};
    for (uint32_t i = 0; i < rotated; i += LANES) {
        float *restrict sums = part[i >= sketched];
        for (int lane = 0; lane < LANES; lane++) {
            float o = x[i + lane], c = centre[i + lane], r = o - c;
            dot[lane] += o * c;
            norm2[lane] += o * o;
            residual2[lane] += r * r;
            sums[lane] += fabsf(r);
            x[i + lane] = r;
        }
    }
    code_sums out = {total(dot), total(norm2), total(residual2), total(part[0]), total(part[1])};
    return out;
}

static inline float larger(float a, float b) { return a > b ? a : b; }

static inline int finite(float value) { return fabsf(value) <= 3.4e38f; }

/* Slope and standard error (per unit of |y|) of an estimate from the signs of count coordinates
 * whose magnitudes sum to sum. */
static inline void estimator(float residual2, float sum, uint32_t count, uint32_t rotated,
                             float *slope, float *error) {
    if (residual2 <= 0.0f) {
        *slope = *error = 0.0f;
        return;
    }
    float inverse2 = residual2 * (float)count / (sum * sum); /* 1 / f^2 */
    float excess = inverse2 > 1.0f ? inverse2 - 1.0f : 0.0f;
    *slope = residual2 / sum;
    *error = sqrtf(residual2 * excess / (float)(rotated - 1));
}

/* In 12 bits of two's complement. */
static inline uint32_t fixed_a(float a) {
    float scaled = a * (1.0f / SPECTOR_A_UNIT);
    scaled = scaled > 2047.0f ? 2047.0f : scaled < -2048.0f ? -2048.0f : scaled;
    return (uint32_t)(int32_t)lrintf(scaled) & 0xFFF;
}

/* Importance in eight bits, rounded up: no record is taken for less important than it is. */
static inline uint8_t fixed_importance(float importance) {
    const float scaled = ceilf(importance * SPECTOR_IMPORTANCE_SCALE);
    if (!(scaled <= 254.0f)) return SPECTOR_NO_IMPORTANCE;
    return scaled > 0.0f ? (uint8_t)(int32_t)scaled : 0;
}

typedef void (*pack_fn)(const float *x, uint32_t n, uint8_t *bits);

/* Bit i is set where x[i] is not negative; n is a multiple of 16. */
static void pack_portable(const float *x, uint32_t n, uint8_t *bits) {
    for (uint32_t i = 0; i < n; i += 8) {
        uint32_t byte = 0;
        for (uint32_t j = 0; j < 8; j++) byte |= (uint32_t)(x[i + j] >= 0.0f) << j;
        bits[i / 8] = (uint8_t)byte;
    }
}

SPECTOR_INLINE void encode(const spector_sections *s, const uint8_t *record, uint32_t slot,
                           spector_extremes *block, hadamard_fn hadamard, pack_fn pack) {
    float x[SPECTOR_INDEX_MAX_DIM], spare[SPECTOR_INDEX_MAX_DIM];
    uint8_t bits[SPECTOR_INDEX_MAX_DIM / 8];
    const int8_t *codes = (const int8_t *)record + SPECTOR_HEADER_BYTES;
    const float scale = ((const spector_record *)record)->scale;
    uint8_t *sketch = s->sketch + (size_t)slot * SPECTOR_SKETCH_BYTES;
    for (uint32_t i = 0; i < s->dim; i++) x[i] = (float)codes[i] * scale;
    for (uint32_t i = s->dim; i < s->rotated; i++) x[i] = 0.0f;
    rotate(x, spare, s->rotated, hadamard);
    code_sums sums = centre_vector(x, s->centre, s->rotated, s->sketched);
    pack(x, s->rotated, bits);

    float slope, error;
    estimator(sums.residual2, sums.head, s->sketched, s->rotated, &slope, &error);
    float fixed_b = rintf(slope * (1.0f / spector_slope_unit(s->rotated)));
    int usable = finite(sums.dot) && finite(sums.norm2) && finite(error) &&
                 fixed_b < (float)SPECTOR_NO_SLOPE && fabsf(sums.dot) < 2.0f;
    const uint32_t factors =
        usable ? fixed_a(sums.dot) | (uint32_t)fixed_b << 12 : SPECTOR_NO_SLOPE << 12;
    memcpy(sketch, bits, s->sketched / 8);
    memset(sketch + s->sketched / 8, 0, 28 - s->sketched / 8);
    for (int i = 0; i < 3; i++) sketch[28 + i] = (uint8_t)(factors >> 8 * i);
    if (usable && error > block->sketch_error_max) block->sketch_error_max = error;
    if (usable && slope > block->sketch_slope_max) block->sketch_slope_max = slope;
    float norm = sqrtf(sums.norm2);
    RAISE_FLOAT(norm_max, norm);

    if (!s->fine_bytes) return;
    uint8_t *fine = s->fine + (size_t)slot * s->fine_bytes;
    float tail[3] = {sums.dot, 0.0f, 0.0f};
    estimator(sums.residual2, sums.head + sums.tail, s->rotated, s->rotated, &tail[1], &tail[2]);
    memcpy(fine, bits + s->sketched / 8, (s->rotated - s->sketched) / 8);
    memcpy(fine + s->fine_bytes - sizeof tail, tail, sizeof tail);
}

static void encode_portable(const spector_sections *s, const uint8_t *record, uint32_t slot,
                            spector_extremes *block) {
    encode(s, record, slot, block, hadamard_portable, pack_portable);
}

#if SPECTOR_X86
#include <immintrin.h>

__attribute__((target("avx2"))) static inline void pack_avx2(const float *x, uint32_t n,
                                                             uint8_t *bits) {
    const __m256 zero = _mm256_setzero_ps();
    for (uint32_t i = 0; i < n; i += 8)
        bits[i / 8] = (uint8_t)_mm256_movemask_ps(
            _mm256_cmp_ps(_mm256_loadu_ps(x + i), zero, _CMP_GE_OQ));
}

__attribute__((target("avx2"))) static void encode_avx2(const spector_sections *s,
                                                        const uint8_t *record, uint32_t slot,
                                                        spector_extremes *block) {
    encode(s, record, slot, block, hadamard_portable, pack_avx2);
}
#endif

#if SPECTOR_X86
#define TARGET_AVX512 \
    __attribute__((target("avx2,avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512")))

/* 16 rows are 16 registers: every stage happens between one load and one store. */
TARGET_AVX512 static inline void hadamard_avx512(float *x, uint32_t w) {
    if (w != 16) {
        hadamard_portable(x, w);
        return;
    }
    __m512 rows[16];
    const __m512 scale = _mm512_set1_ps(1.0f / sqrtf(16.0f));
    for (int i = 0; i < 16; i++) rows[i] = _mm512_loadu_ps(x + i * LANES);
#pragma GCC unroll 4
    for (int stage = 0; stage < 4; stage++) {
        const int h = 1 << stage;
#pragma GCC unroll 16
        for (int i = 0; i < 16; i++) {
            if (i & h) continue;
            const __m512 a = rows[i], b = rows[i + h];
            rows[i] = _mm512_add_ps(a, b);
            rows[i + h] = _mm512_sub_ps(a, b);
        }
    }
    for (int i = 0; i < 16; i++) _mm512_storeu_ps(x + i * LANES, _mm512_mul_ps(rows[i], scale));
}

TARGET_AVX512 static inline void pack_avx512(const float *x, uint32_t n, uint8_t *bits) {
    for (uint32_t i = 0; i < n; i += 16) {
        const uint16_t two = (uint16_t)_mm512_cmp_ps_mask(_mm512_loadu_ps(x + i),
                                                          _mm512_setzero_ps(), _CMP_GE_OQ);
        memcpy(bits + i / 8, &two, sizeof two);
    }
}

TARGET_AVX512 static void encode_avx512(const spector_sections *s, const uint8_t *record,
                                        uint32_t slot, spector_extremes *block) {
    encode(s, record, slot, block, hadamard_avx512, pack_avx512);
}
#endif

typedef void (*encode_fn)(const spector_sections *, const uint8_t *, uint32_t, spector_extremes *);
static encode_fn active_encode = encode_portable;

void spector_index_setup(uint32_t caps) {
    for (uint32_t round = 0; round < ROUNDS; round++)
        for (uint32_t i = 0; i < SPECTOR_INDEX_MAX_DIM; i++)
            flips[round][i] = (uint32_t)(mix(round, i / 64) >> (i % 64) & 1) << 31;
    active_encode = encode_portable;
#if SPECTOR_X86
    if (caps & SPECTOR_CAP_AVX2) active_encode = encode_avx2;
    if (caps & SPECTOR_CAP_AVX512) active_encode = encode_avx512;
#else
    (void)caps;
#endif
}

/* ---- layout ---- */

static uint64_t aligned(uint64_t n) { return (n + 63) / 64 * 64; }

static uint32_t rotated_of(uint32_t dim) { return (dim + 63) / 64 * 64; }

static uint32_t fine_bytes_of(uint32_t rotated) {
    if (rotated <= SPECTOR_SKETCH_BITS) return 0;
    return ((rotated - SPECTOR_SKETCH_BITS) / 8 + 12 + 31) / 32 * 32;
}

static uint64_t lay_out(spector_sections *s, uint8_t *image, uint32_t dim, uint32_t room) {
    uint64_t at = SPECTOR_INDEX_HEADER;
    s->dim = dim;
    s->room = room;
    s->rotated = rotated_of(dim);
    s->sketched = s->rotated < SPECTOR_SKETCH_BITS ? s->rotated : SPECTOR_SKETCH_BITS;
    s->fine_bytes = fine_bytes_of(s->rotated);
    s->words = room / 64;
    s->header = (spector_index_header *)image;
#define SECTION(field, type, bytes) \
    s->field = (type *)((uintptr_t)image + at); \
    at += aligned(bytes)
    SECTION(centre, float, (uint64_t)s->rotated * 4);
    SECTION(whole, spector_extremes, sizeof(spector_extremes));
    SECTION(blocks, spector_extremes, ((uint64_t)room + 511) / 512 * sizeof(spector_extremes));
    SECTION(flags, uint64_t, (uint64_t)s->words * 8 * 16);
    SECTION(tags, uint64_t, (uint64_t)s->words * 8 * 64);
    SECTION(valence, int8_t, room);
    SECTION(confidence, uint8_t, room);
    SECTION(uses, uint16_t, (uint64_t)room * 2);
    SECTION(importance, float, (uint64_t)room * 4);
    SECTION(last_access_s, uint32_t, (uint64_t)room * 4);
    SECTION(stability_days, float, (uint64_t)room * 4);
    SECTION(event_ms, int64_t, (uint64_t)room * 8);
    SECTION(sketch, uint8_t, (uint64_t)room * SPECTOR_SKETCH_BYTES);
    SECTION(fine, uint8_t, (uint64_t)room * s->fine_bytes);
#undef SECTION
    return at;
}

uint64_t spector_index_bytes(uint32_t dim, uint32_t room) {
    spector_sections s;
    return lay_out(&s, NULL, dim, room);
}

void spector_index_sections(const uint8_t *image, spector_sections *s) {
    const spector_index_header *header = (const spector_index_header *)image;
    lay_out(s, (uint8_t *)(uintptr_t)image, header->dim, header->room);
}

/* ---- operations ---- */

static uint64_t hash_bytes(const void *bytes, size_t n) {
    uint64_t state = UINT64_C(0xCBF29CE484222325); /* FNV-1a */
    for (size_t i = 0; i < n; i++)
        state = (state ^ ((const uint8_t *)bytes)[i]) * UINT64_C(0x100000001B3);
    return state ? state : 1;
}

void spector_index_init(uint8_t *image, uint32_t dim, uint32_t room, const float *centre) {
    spector_sections s;
    memset(image, 0, spector_index_bytes(dim, room));
    lay_out(&s, image, dim, room);
    s.header->magic = SPECTOR_INDEX_MAGIC;
    s.header->version = SPECTOR_INDEX_VERSION;
    s.header->dim = dim;
    s.header->rotated = s.rotated;
    s.header->room = room;
    s.header->fine_bytes = s.fine_bytes;
    if (!centre) return;
    memcpy(s.centre, centre, (size_t)dim * sizeof *centre);
    spector_rotate_f32(s.centre, s.rotated);
    for (uint32_t i = 0; i < s.rotated; i++) s.header->centre_norm2 += s.centre[i] * s.centre[i];
    s.header->centre_id = hash_bytes(s.centre, (size_t)s.rotated * sizeof *s.centre);
}

void spector_rotate_f32(float *x, uint32_t rotated) {
    float spare[SPECTOR_INDEX_MAX_DIM];
    rotate(x, spare, rotated, hadamard_portable);
}

static void put_bits(uint64_t *slices, uint32_t words, uint32_t slot, uint64_t set, int width) {
    uint64_t bit = UINT64_C(1) << (slot & 63);
    uint64_t *word = slices + (slot >> 6);
    for (int i = 0; i < width; i++, word += words) {
        uint64_t changed = set >> i & 1 ? *word | bit : *word & ~bit;
        if (changed != *word) *word = changed;
    }
}

static void add_bits(uint64_t *slices, uint32_t words, uint32_t slot, uint64_t set) {
    for (uint32_t i = 0; set; i++, set >>= 1)
        if (set & 1) slices[(size_t)i * words + (slot >> 6)] |= UINT64_C(1) << (slot & 63);
}

static uint32_t code_bit(uint8_t code) { return UINT32_C(1) << (code < 31 ? code : 31); }

/* Everything but what the codes contribute. */
static void widen(spector_extremes *block, const spector_record *r) {
    int64_t used = r->last_access_s ? (int64_t)r->last_access_s * 1000 : r->event_ms;
    RAISE(event_max, r->event_ms);
    LOWER(event_min, r->event_ms);
    RAISE(used_max, used);
    RAISE_FLOAT(importance_max, r->importance);
    if (!(r->importance >= block->importance_min))
        block->importance_min = r->importance == r->importance ? r->importance : -INFINITY;
    RAISE_FLOAT(stability_max, r->stability_days);
    RAISE_FLOAT(utility_max, r->utility);
    RAISE(uses_max, r->access_count);
    RAISE(valence_max, r->valence);
    LOWER(valence_min, r->valence);
    RAISE(confidence_max, r->confidence);
    LOWER(confidence_min, r->confidence);
    RAISE(arousal_max, r->arousal);
    block->tags_or |= r->tags;
    block->flags_or |= r->flags;
    block->categories |= code_bit(r->category);
    block->modalities |= code_bit(r->modality);
    block->tiers |= code_bit(r->tier);
}

static void reset_extremes(spector_extremes *block) {
    memset(block, 0, sizeof *block);
    block->event_min = INT64_MAX;
    block->event_max = block->used_max = INT64_MIN;
    block->importance_min = INFINITY;
    block->importance_max = block->stability_max = block->utility_max = -INFINITY;
    block->valence_min = INT8_MAX;
    block->valence_max = INT8_MIN;
    block->confidence_min = UINT8_MAX;
}

/* What the vectors leave in extremes; vectors do not change. */
static void widen_codes(spector_extremes *all, const spector_extremes *one) {
    all->norm_max = larger(all->norm_max, one->norm_max);
    all->sketch_error_max = larger(all->sketch_error_max, one->sketch_error_max);
    all->sketch_slope_max = larger(all->sketch_slope_max, one->sketch_slope_max);
}

static void put_columns(const spector_sections *s, uint32_t slot, const spector_record *r) {
    s->valence[slot] = r->valence;
    s->uses[slot] = r->access_count < UINT16_MAX ? (uint16_t)r->access_count : UINT16_MAX;
    s->importance[slot] = r->importance;
    s->last_access_s[slot] = r->last_access_s;
    s->stability_days[slot] = r->stability_days;
    /* a page that is not written to stays the file's */
    uint8_t *known = s->sketch + (size_t)slot * SPECTOR_SKETCH_BYTES + 31;
    const uint8_t importance = fixed_importance(r->importance);
    if (*known != importance) *known = importance;
}

static const spector_record *at(const uint8_t *records, uint32_t stride, uint32_t slot) {
    return (const spector_record *)(records + (size_t)slot * stride);
}

void spector_index_append(uint8_t *image, const uint8_t *records, uint32_t stride, uint32_t n) {
    spector_sections s;
    spector_index_sections(image, &s);
    const uint32_t first = s.header->rows;
    for (uint32_t slot = first; slot < first + n; slot++) {
        const spector_record *r = at(records, stride, slot);
        spector_extremes *block = &s.blocks[slot / SPECTOR_INDEX_BLOCK];
        if (slot == 0) reset_extremes(s.whole);
        if (slot % SPECTOR_INDEX_BLOCK == 0) reset_extremes(block);
        widen(s.whole, r);
        widen(block, r);
        put_columns(&s, slot, r);
        s.confidence[slot] = r->confidence;
        s.event_ms[slot] = r->event_ms;
        active_encode(&s, (const uint8_t *)r, slot, block);
        widen_codes(s.whole, block);
        add_bits(s.flags, s.words, slot, r->flags);
        add_bits(s.tags, s.words, slot, r->tags);
    }
    /* scans of other threads look at a row only once it is complete */
    SPECTOR_STORE_RELEASE(&s.header->rows, first + n);
}

void spector_index_update(uint8_t *image, const uint8_t *records, uint32_t stride,
                          const uint32_t *slots, uint32_t n) {
    spector_sections s;
    spector_index_sections(image, &s);
    for (uint32_t i = 0; i < n; i++) {
        const spector_record *r = at(records, stride, slots[i]);
        widen(s.whole, r); /* extremes first, for other threads */
        widen(&s.blocks[slots[i] / SPECTOR_INDEX_BLOCK], r);
        put_columns(&s, slots[i], r);
        put_bits(s.flags, s.words, slots[i], r->flags, 16);
    }
}

void spector_index_refresh(uint8_t *image, const uint8_t *records, uint32_t stride) {
    spector_sections s;
    spector_index_sections(image, &s);
    const uint32_t rows = s.header->rows;
    spector_extremes whole;
    if (!rows) return;
    reset_extremes(&whole);
    widen_codes(&whole, s.whole);
    for (uint32_t first = 0; first < rows; first += SPECTOR_INDEX_BLOCK) {
        spector_extremes *shown = &s.blocks[first / SPECTOR_INDEX_BLOCK], fresh;
        uint32_t end = first + SPECTOR_INDEX_BLOCK < rows ? first + SPECTOR_INDEX_BLOCK : rows;
        reset_extremes(&fresh);
        widen_codes(&fresh, shown);
        for (uint32_t slot = first; slot < end; slot++) {
            const spector_record *r = at(records, stride, slot);
            SPECTOR_PREFETCH((const uint8_t *)r + (size_t)8 * stride);
            widen(&fresh, r);
            widen(&whole, r);
            put_columns(&s, slot, r);
            put_bits(s.flags, s.words, slot, r->flags, 16);
        }
        memcpy(shown, &fresh, sizeof fresh);
    }
    memcpy(s.whole, &whole, sizeof whole);
}

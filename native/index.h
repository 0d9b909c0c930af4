/* The scan index of a partition: between the C files only. native/FORMAT.md has the layout. */
#ifndef SPECTOR_INDEX_H
#define SPECTOR_INDEX_H

#include "spector.h"

#include <math.h>

enum {
    SPECTOR_INDEX_MAGIC = 0x58444953, /* "SIDX" */
    SPECTOR_INDEX_VERSION = 3,
    SPECTOR_INDEX_HEADER = 128,
    SPECTOR_INDEX_BLOCK = 512,
    SPECTOR_SKETCH_BITS = 224,
    SPECTOR_SKETCH_BYTES = 32,
    SPECTOR_NO_SLOPE = 0xFFF,     /* there is no estimate */
    SPECTOR_NO_IMPORTANCE = 0xFF, /* NaN, or more than 1 */
    SPECTOR_PINNED_BIT = 1,
    SPECTOR_CHUNK_WORDS = 512
};

#if defined(__GNUC__)
#define SPECTOR_INLINE static inline __attribute__((always_inline))
#define SPECTOR_STORE_RELEASE(address, value) __atomic_store_n((address), (value), __ATOMIC_RELEASE)
#define SPECTOR_LOAD_ACQUIRE(address) __atomic_load_n((address), __ATOMIC_ACQUIRE)
#else
#define SPECTOR_INLINE static inline
#define SPECTOR_STORE_RELEASE(address, value) (*(volatile uint32_t *)(address) = (value))
#define SPECTOR_LOAD_ACQUIRE(address) (*(const volatile uint32_t *)(address))
#endif

/* Where everything lies in an image of a given dimension and room. */
typedef struct spector_sections {
    uint32_t dim, rotated, sketched, room, words, fine_bytes;
    spector_index_header *header;
    float *centre;
    spector_extremes *whole; /* of all rows */
    spector_extremes *blocks;
    uint64_t *flags; /* 16 slices of words */
    uint64_t *tags;  /* 64 slices of words */
    int8_t *valence;
    uint8_t *confidence;
    uint16_t *uses;
    float *importance;
    uint32_t *last_access_s;
    float *stability_days;
    int64_t *event_ms;
    uint8_t *sketch;
    uint8_t *fine;
} spector_sections;

void spector_index_sections(const uint8_t *image, spector_sections *sections);

/* The last four bytes of a sketch as one number: 12 bits of A, 12 of the slope, 8 of importance. */
#define SPECTOR_A_OF(factors) ((int32_t)((factors) << 20) >> 20)
#define SPECTOR_SLOPE_OF(factors) ((factors) >> 12 & 0xFFF)
#define SPECTOR_IMPORTANCE_OF(factors) ((factors) >> 24)
static const float SPECTOR_A_UNIT = 1.0f / 1024.0f;
/* Slopes grow with the square root of D. */
static inline float spector_slope_unit(uint32_t rotated) {
    return rotated > 2048 ? 1.0f / 4096.0f : 1.0f / 8192.0f;
}
/* of an importance; rounded up */
static const float SPECTOR_IMPORTANCE_SCALE = 254.0f;

/* Phases 1 to 4 over the indexed rows of a partition. */
typedef struct spector_gates {
    const spector_part *part;
    const spector_query *query;
    uint64_t *drops;
    spector_sections s;
    uint32_t rows, next;
    int barred;  /* the phase that drops every row of the partition, or SPECTOR_DROPS */
    int by_tags; /* chunk by chunk, tags first */
    int plain;   /* only tags and state can drop rows of the partition */
    uint64_t tagged[SPECTOR_CHUNK_WORDS]; /* of the chunk that next lies in */
    uint64_t mask[SPECTOR_INDEX_BLOCK / 64];
} spector_gates;

/* Slots that passed, as bits: of one block, or of a whole chunk where few passed. */
typedef struct spector_survivors {
    uint32_t first, words, n;
    int scattered;
    const uint64_t *mask;
} spector_survivors;

void spector_gates_begin(spector_gates *gates, const spector_part *part,
                         const spector_query *query, uint32_t rows, uint64_t *drops);

/* The slots of the block from first on that pass, as bits of mask (8 words); returns how many. */
uint32_t spector_gates_block(const spector_gates *gates, uint32_t first, uint64_t *mask);
/* The next slots that pass; 0 at the end. The result is valid until the next call. */
int spector_gates_next(spector_gates *gates, spector_survivors *found);

/* Once per spector_set_caps. */
void spector_index_setup(uint32_t caps);

/* The cue against one centre: what the 1-bit codes are compared with. */
typedef struct spector_cue {
    /* bit i of plane j: coordinate i's level is sum over j of +-2^j. The first 28 bytes of each
     * belong to the sketch (and 4 zero bytes follow), the rest to the fine code. */
    uint8_t head[4][SPECTOR_SKETCH_BYTES];
    uint8_t tail[4][SPECTOR_INDEX_MAX_DIM / 8];
    uint64_t centre_id;
    float delta; /* size of a level */
    float norm;  /* |y| */
    float query_norm;
    float base;  /* <q, c> - <c, c> */
    float lift;  /* cosine equal in score to one unit of the sketches' importance */
    uint32_t sketched;
    uint32_t rotated;
} spector_cue;

/* Estimates, cosine - cue->base + importance * cue->lift, of n slots (a multiple of 16 is read; the
 * list is padded) from their sketches; keeps those of at least threshold. INFINITY where none is
 * possible. Returns how many; slots and estimates are rewritten densely. */
typedef uint32_t (*spector_sketch_fn)(const uint8_t *sketch, const spector_cue *cue,
                                      uint32_t *slots, uint32_t n, float threshold,
                                      float *estimates);
/* Estimates of n slots from sketch and fine code, and their standard errors. */
typedef void (*spector_fine_fn)(const spector_sections *sections, const spector_cue *cue,
                                const uint32_t *slots, uint32_t n, float *estimates,
                                float *errors);

typedef struct spector_sketch_isa {
    spector_sketch_fn sketch;
    spector_fine_fn fine;
} spector_sketch_isa;

extern spector_sketch_isa spector_sketches;
void spector_sketch_setup(uint32_t caps);

/* A scan's cue in the space of the indexes: rotated once, then compared with each centre. */
typedef struct spector_indexed_cue {
    float rotated[SPECTOR_INDEX_MAX_DIM];
    uint32_t dim; /* 0: not rotated yet */
    int set;      /* whether it has been compared with a centre */
    spector_cue cue;
} spector_indexed_cue;

/* Number of rows that the partition's index covers. */
static inline uint32_t spector_indexed_rows(const spector_part *part) {
    if (!part->index) return 0;
    const spector_index_header *header = (const spector_index_header *)part->index;
    uint32_t rows = SPECTOR_LOAD_ACQUIRE(&header->rows);
    return rows < part->count ? rows : part->count;
}

/* Rotate the cue into the space of the indexes, once per scan; also sets its length. */
void spector_turn_cue(const spector_query *query, const spector_sections *sections,
                      spector_indexed_cue *cue);
/* Compare the cue with the centre of an index, unless that was the last one. */
void spector_prepare_cue(const spector_query *query, const spector_sections *sections,
                         spector_indexed_cue *cue);

/* The cosine that one unit of importance is worth; 0 where the score is not their weighted sum, or
 * where importance outweighs the cosine so far that the cosine's digits would be lost. */
static inline float spector_lift(const spector_query *q) {
    if (q->multiplicative || !(q->w_similarity > 0.0f) || !(q->w_importance > 0.0f)) return 0.0f;
    return q->w_importance <= 100.0f * q->w_similarity ? q->w_importance / q->w_similarity : 0.0f;
}

static inline float spector_estimate_error(const spector_cue *cue, float error, float slope,
                                           uint32_t count) {
    float spread = error * cue->norm, step = slope * cue->delta;
    return sqrtf(spread * spread + step * step * (float)count * (1.0f / 3.0f));
}


#endif

/* The scan kernel's contract.
 *
 * Const in, caller's buffers out: no function here allocates, locks or keeps state besides the
 * instruction-set table, which spector_set_caps fills once at import. All are re-entrant.
 *
 * The structs are the bytes of spector/layout.py and native/FORMAT.md (records) and of
 * spector/kernel/contract/scanner.py and query.py (arguments); tests/test_format.py compares the offsets.
 * Little-endian, naturally aligned.
 */
#ifndef SPECTOR_H
#define SPECTOR_H

#include <stddef.h>
#include <stdint.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "spector's files are little-endian and are read in place"
#endif

typedef struct spector_partition_header {
    uint32_t magic;
    uint32_t version;
    uint32_t count;
    uint32_t tombstone_count;
    uint32_t capacity;
    uint32_t state;
    uint32_t stride;
    uint32_t dim;
    int32_t day;
    uint32_t sequence;
    uint8_t store_uuid[16];
    uint32_t generation;
    uint32_t crc;
} spector_partition_header;

typedef struct spector_record {
    uint8_t version;
    uint8_t tier;
    uint8_t category;
    uint8_t modality;
    float scale;
    uint64_t id;
    int64_t event_ms;
    uint64_t tags;
    uint16_t centroid;
    uint8_t confidence;
    uint8_t reserved;
    uint32_t crc;
    /* bytes 40..63 are rewritten in place, always together */
    uint16_t flags;
    int8_t valence;
    uint8_t arousal;
    float importance;
    float stability_days;
    float utility;
    uint32_t access_count;
    uint32_t last_access_s;
} spector_record;

enum {
    SPECTOR_HEADER_BYTES = 64,
    SPECTOR_CRC_SPAN = 36,

    SPECTOR_TOMBSTONE = 1 << 0,
    SPECTOR_PINNED = 1 << 1,
    SPECTOR_IMMUTABLE = 1 << 2,
    SPECTOR_FLASHBULB = 1 << 3,
    SPECTOR_CONSOLIDATED = 1 << 4,
    SPECTOR_UNRESOLVED = 1 << 5,
    SPECTOR_SUPERSEDED = 1 << 6,
    SPECTOR_DORMANT = 1 << 7,
    SPECTOR_QUARANTINED = 1 << 8
};

/* The first bytes of a partition's scan index; see native/FORMAT.md. */
typedef struct spector_index_header {
    uint32_t magic;
    uint32_t version;
    uint32_t dim;
    uint32_t rotated; /* dim rounded up to a multiple of 64 */
    uint32_t rows;    /* slots indexed */
    uint32_t room;    /* slots allocated, a multiple of 64 */
    uint32_t fine_bytes;
    uint32_t body_crc;
    uint64_t centre_id;
    uint8_t uuid[16];
    int64_t change_seq;
    uint32_t segment_id;
    uint32_t generation;
    float centre_norm2;
    uint32_t records_crc; /* of the checksums of the records that the rows were made from */
    uint8_t reserved[44];
    uint32_t header_crc;
} spector_index_header;

/* Of 512 slots: nothing in the block lies outside. */
typedef struct spector_extremes {
    int64_t event_min;
    int64_t event_max;
    int64_t used_max; /* ms: last access, or the event where there was none */
    uint64_t tags_or;
    float importance_max;
    float importance_min;
    float stability_max;
    float utility_max;
    float norm_max; /* length of the dequantised vectors */
    float sketch_error_max;
    float sketch_slope_max;
    uint32_t uses_max;
    uint32_t categories; /* bit min(code, 31) */
    uint32_t modalities;
    uint32_t tiers;
    uint16_t flags_or;
    int8_t valence_min;
    int8_t valence_max;
    uint8_t confidence_max;
    uint8_t confidence_min;
    uint8_t arousal_max;
    uint8_t reserved[45];
} spector_extremes;

/* Indexes of the drop counters, in the order of the phases. */
enum {
    SPECTOR_DROP_STATE,
    SPECTOR_DROP_FILTER,
    SPECTOR_DROP_TAGS,
    SPECTOR_DROP_VALENCE,
    SPECTOR_DROP_STRENGTH,
    SPECTOR_DROP_SIMILARITY,
    SPECTOR_DROP_BOUND, /* could not have entered the heap; not read */
    SPECTOR_DROPS
};

typedef struct spector_part {
    const uint8_t *data;   /* record 0, aligned to 8 bytes */
    const uint64_t *allow; /* bit i of word i / 64 admits slot i; NULL admits all */
    const uint8_t *index;  /* scan index of the partition, aligned to 64 bytes; NULL without */
    uint32_t count;
    uint32_t stride;
} spector_part;

typedef struct spector_query {
    const int8_t *codes; /* vector_bytes codes in -127..127, zero-padded; NULL without a cue */
    const uint64_t *any_masks;
    const float *retention; /* lookup tables of SPECTOR_TABLE floats; this and the next never rise */
    const float *recency;
    const float *activation;
    const float *confidence; /* 256 factors each, by the record's byte */
    const float *tier;
    const float *category;
    int64_t now_ms;
    int64_t event_min_ms; /* [min, max) */
    int64_t event_max_ms;
    uint64_t tags_all;
    uint64_t overlap_mask;
    uint32_t any_count;
    uint32_t vector_bytes; /* a multiple of 64; 0 without a cue */
    uint32_t modality_mask;
    uint32_t category_mask;
    uint32_t drop_flags;
    uint32_t multiplicative;
    uint32_t overlap_bits;
    uint32_t index_from_rows; /* scans of fewer indexed rows go straight over the records */
    int32_t valence_min;
    int32_t valence_max;
    int32_t mood;
    int32_t reserved2;
    float scale;
    float importance_floor;
    float retention_floor;
    float min_similarity;
    float w_similarity;
    float w_importance;
    float w_retention;
    float w_recency;
    float w_activation;
    float w_utility;
    float w_tags;
    float w_arousal;
    float recency_rate; /* 1 / days */
    float recall_confidence; /* standard errors a bound adds; 0 reads every vector */
    float mood_boost;
    float unresolved_boost;
    float consolidated_factor;
    float flashbulb_retention;
} spector_query;

typedef struct spector_hit {
    uint64_t id;
    float score;
    float similarity;
    uint32_t part;
    uint32_t slot;
} spector_hit;

/* Lookup tables: 64 points an octave of x over [2^-20, 2^20], the last one twice. */
enum { SPECTOR_TABLE = 40 * 64 + 2 };

/* Scan n partitions, parts[select[i]] (or parts[i] when select is NULL), through all six phases.
 * hits has room for k; on return it holds the best, best first. drops[SPECTOR_DROPS] and
 * *scanned are added to. Returns the number of hits; *scored is how many reached phase 6. */
uint32_t spector_scan(const spector_part *parts, const uint32_t *select, uint32_t n,
                      const spector_query *query, spector_hit *hits, uint32_t k,
                      uint64_t *drops, uint64_t *scanned, uint64_t *scored);

/* Scores and cosines of n given records; -INFINITY for those that a phase drops. */
void spector_score(const spector_part *parts, const spector_query *query, const uint32_t *part,
                   const uint32_t *slot, uint32_t n, float *scores, float *similarity);

/* out[n * size]: bytes offset .. offset + size - 1 of n given records. */
void spector_gather(const spector_part *parts, const uint32_t *part, const uint32_t *slot,
                    uint32_t n, uint32_t offset, uint32_t size, uint8_t *out);

/* The scan index of a partition, in memory of spector_index_bytes aligned to 64 bytes. One
 * thread at a time may change an image; scans may go on meanwhile. */
enum { SPECTOR_INDEX_MAX_DIM = 4096 };
uint64_t spector_index_bytes(uint32_t dim, uint32_t room);
/* An empty index with room for a multiple of 64 slots; centre: dim floats or NULL for zero. */
void spector_index_init(uint8_t *image, uint32_t dim, uint32_t room, const float *centre);
/* Index the next n slots; records points at slot 0. */
void spector_index_append(uint8_t *image, const uint8_t *records, uint32_t stride, uint32_t n);
/* Take over the mutable bytes of given slots, or of all; the latter makes the extremes tight. */
void spector_index_update(uint8_t *image, const uint8_t *records, uint32_t stride,
                          const uint32_t *slots, uint32_t n);
void spector_index_refresh(uint8_t *image, const uint8_t *records, uint32_t stride);
/* The rotation of the index, in place; a multiple of 64 floats, at most SPECTOR_INDEX_MAX_DIM. */
void spector_rotate_f32(float *x, uint32_t rotated);

/* Words of up to 65,536 rows, by word: what a lexical query reads of a block. Rows have numbers
 * across all blocks and tails, first + slot. In a bitmap of rows each part begins with a word of
 * its own: slot i has bit i % 64 of word gate + i / 64. */
typedef struct spector_postings {
    const uint64_t *hash;  /* terms, ascending */
    const uint32_t *dir;   /* 2^dir_bits + 1: first term whose highest bits are that or more */
    const uint32_t *start; /* terms + 1: first posting of a term */
    const uint16_t *row;   /* slots, ascending within a term */
    const uint8_t *count;  /* occurrences, 1..255 */
    const uint8_t *length; /* of each row, as a code: an index of spector_words.norm */
    const uint64_t *id;    /* of each row */
    uint32_t rows;
    uint32_t terms;
    uint32_t dir_bits; /* 1..32 */
    uint32_t first;
    uint32_t gate;
    uint32_t reserved;
} spector_postings;

/* Words of rows that are in no block yet, row by row. */
typedef struct spector_tail {
    const uint64_t *hash;  /* distinct and ascending within a row */
    const uint32_t *start; /* rows + 1 */
    const uint8_t *count;
    const uint8_t *length;
    const uint64_t *id;
    uint32_t rows;
    uint32_t first;
    uint32_t gate;
    uint32_t reserved;
} spector_tail;

typedef struct spector_words {
    const uint64_t *hash;  /* n, ascending, distinct */
    const float *weight;   /* n, finite, at least 0: idf * (k1 + 1) */
    const float *norm;     /* 256: k1 * (1 - b + b * length / mean length), by code */
    uint32_t n;
    uint32_t reserved;
} spector_words;

typedef struct spector_word_hit {
    uint64_t id;
    float score;
    uint32_t row;
} spector_word_hit;

/* Scratch memory of one call at a time; 0 before and after it. */
typedef struct spector_lexical_room {
    float scores[65536];
    uint16_t touched[65536];
} spector_lexical_room;

/* allow, here and below: a bitmap of rows, or NULL for all of them. */
/* position[n * words]: the number of each word among the block's terms, or -1. Adds to df[words] the
 * allowed rows that have the word. */
void spector_lexical_find(const spector_postings *blocks, uint32_t n, const spector_tail *tails,
                          uint32_t n_tails, const uint64_t *hash, uint32_t words,
                          const uint64_t *allow, int32_t *position, uint64_t *df);
/* The best k rows of a score above 0, best first, ties by id. Returns how many. */
uint32_t spector_lexical_best(const spector_postings *blocks, uint32_t n,
                              const spector_tail *tails, uint32_t n_tails,
                              const spector_words *words, const int32_t *position,
                              const uint64_t *allow, spector_lexical_room *room,
                              spector_word_hit *hits, uint32_t k);
/* Adds every row's score to scores, by row number. */
void spector_lexical_all(const spector_postings *blocks, uint32_t n, const spector_tail *tails,
                         uint32_t n_tails, const spector_words *words, const int32_t *position,
                         float *scores);
/* counts[words * n_rows] (0 before) and lengths[n_rows] of given rows: ascending numbers of rows
 * that exist; blocks and tails are in ascending order, tails behind blocks. */
void spector_lexical_counts(const spector_postings *blocks, uint32_t n, const spector_tail *tails,
                            uint32_t n_tails, const uint64_t *hash, uint32_t words,
                            const int32_t *position, const uint32_t *rows, uint32_t n_rows,
                            uint8_t *counts, uint8_t *lengths);
/* The first rows, at most limit, that have all the words. Returns how many. */
uint32_t spector_lexical_having(const spector_postings *blocks, uint32_t n,
                                const spector_tail *tails, uint32_t n_tails, const uint64_t *hash,
                                uint32_t words, const int32_t *position, const uint64_t *allow,
                                uint32_t *rows, uint32_t limit);
/* Whether the contents of a block from a file are what the calls above trust. The caller has checked
 * the arrays' lengths and that dir_bits is in its range. */
enum {
    SPECTOR_LEXICAL_SOUND,
    SPECTOR_LEXICAL_BAD_HASH,
    SPECTOR_LEXICAL_BAD_DIR,
    SPECTOR_LEXICAL_BAD_START,
    SPECTOR_LEXICAL_BAD_ROW
};
uint32_t spector_lexical_check(const spector_postings *block, uint32_t postings);

/* How term frequency spreads from each row to its neighbours: share[rows], target[rows][reach]
 * (ranked and above: none) and factor[reach]. The first ranked rows are ranked, the others only
 * give. */
typedef struct spector_around {
    const float *share;
    const uint32_t *target;
    const double *factor;
    uint32_t rows, ranked, reach, reserved;
} spector_around;

/* Adds BM25 to out[ranked]: weight * (tf / (tf + length_norm)), tf being what neighbours give, then
 * counts[words][rows], then extra[words][ranked] unless that is NULL. sums[ranked] are 0 before and
 * after. */
void spector_words_around(const spector_around *around, const uint8_t *counts,
                          const uint8_t *extra, uint32_t words, const float *weight,
                          const float *length_norm, double *sums, float *out);

/* Lengths of n of m records' vectors, those numbered at[n], each plus share of the vectors of its
 * neighbours before[n] and after[n] (m and above: none). 1 for a record without neighbours. */
void spector_mixed_norms(const spector_part *parts, const uint32_t *part, const uint32_t *slot,
                         uint32_t m, const uint32_t *at, const uint32_t *before,
                         const uint32_t *after, uint32_t n, double share, float *out);

/* out[n][2 * reach]: the rows before at[n], nearest first, then those after, by the links
 * before[rows] and after[rows]; -1 for none. Dead rows are passed over. Links to rows that do not
 * exist, and circles of dead rows, end a chain. alive: NULL when all rows are alive. */
void spector_chained(const int32_t *before, const int32_t *after, const uint8_t *alive,
                     uint32_t rows, const int64_t *at, uint32_t n, uint32_t reach, int64_t *out);

/* CRC-32C (Castagnoli, reflected, RFC 3720) of n bytes, continuing from crc; 0 to begin. */
uint32_t spector_crc32c(const uint8_t *data, size_t n, uint32_t crc);

/* Per record: CRC-32C of bytes 0..35 and 64..stride-1, continuing from crc. */
void spector_crc32c_rows(const uint8_t *rows, uint32_t n, uint32_t stride, uint32_t crc,
                         uint32_t *out);

/* XOR of all 8-byte words: the plain streaming read that scans are measured against. */
uint64_t spector_stream(const uint8_t *data, size_t n);

/* Instruction sets. Bits may be masked off to force a slower path; results do not change. */
enum {
    SPECTOR_CAP_SSE42 = 1 << 0,
    SPECTOR_CAP_AVX2 = 1 << 1,
    SPECTOR_CAP_AVX512 = 1 << 2,    /* F, BW, DQ, VL and VNNI */
    SPECTOR_CAP_AVX512POP = 1 << 3, /* those, VPOPCNTDQ and BITALG */
    SPECTOR_CAP_NEON = 1 << 4,
    SPECTOR_CAP_DOTPROD = 1 << 5
};
uint32_t spector_cpu_caps(void);
/* Use the sets that both the CPU and mask have; returns them. Call it once before anything else, and
 * never while a scan runs. */
uint32_t spector_set_caps(uint32_t mask);

/* ---- between the C files only ---- */

/* Without a population count in the baseline, compilers would call a library function. */
static inline uint32_t spector_popcount(uint64_t word) {
    word -= word >> 1 & UINT64_C(0x5555555555555555);
    word = (word & UINT64_C(0x3333333333333333)) + (word >> 2 & UINT64_C(0x3333333333333333));
    word = (word + (word >> 4)) & UINT64_C(0x0F0F0F0F0F0F0F0F);
    return (uint32_t)(word * UINT64_C(0x0101010101010101) >> 56);
}

#if defined(__GNUC__)
#define SPECTOR_PREFETCH(address) __builtin_prefetch((address), 0, 3)
#define SPECTOR_LOW_BIT(word) ((uint32_t)__builtin_ctzll(word)) /* of a word that is not 0 */
#else
#define SPECTOR_PREFETCH(address) ((void)(address))
#define SPECTOR_LOW_BIT(word) spector_popcount(((word) & (0 - (word))) - 1)
#endif
#if defined(__POPCNT__) || (defined(__GNUC__) && !defined(__x86_64__) && !defined(__i386__))
#define SPECTOR_POPCOUNT(word) ((uint32_t)__builtin_popcountll(word))
#else
#define SPECTOR_POPCOUNT(word) spector_popcount(word)
#endif

enum { SPECTOR_BLOCK = 64, SPECTOR_LANES = 16 };

/* Records that survived the gates, their terms column by column so that phase 6 vectorises.
 * Columns whose weight is 0 are not filled. Values behind n do not matter: loops run to the next
 * multiple of SPECTOR_LANES. */
typedef struct spector_block {
    uint32_t n;
    /* Headers of a later block, which the gates prefetch; NULL for none. */
    const uint8_t *ahead;
    size_t ahead_step;
    uint32_t slots[SPECTOR_BLOCK];
    const spector_record *rows[SPECTOR_BLOCK]; /* see spector_locate_block */
    float similarity[SPECTOR_BLOCK];
    float importance[SPECTOR_BLOCK];
    float idle_days[SPECTOR_BLOCK];
    float stability[SPECTOR_BLOCK];
    float retention_min[SPECTOR_BLOCK];
    float recency_x[SPECTOR_BLOCK];
    float activation_x[SPECTOR_BLOCK];
    float uses[SPECTOR_BLOCK];
    float utility[SPECTOR_BLOCK];
    float tags[SPECTOR_BLOCK];
    float arousal[SPECTOR_BLOCK];
    float factor[SPECTOR_BLOCK]; /* product of the modifiers */
} spector_block;

/* Prefetch the later header that goes with the block's i-th. Behind the end of a map it is harmless. */
static inline void spector_fetch_ahead(const spector_block *block, uint32_t i) {
    if (block->ahead) SPECTOR_PREFETCH(block->ahead + i * block->ahead_step);
}

static inline const spector_record *spector_record_at(const spector_part *part, uint32_t slot) {
    return (const spector_record *)(part->data + (size_t)slot * part->stride);
}

static const int64_t SPECTOR_MAX_ABS_MS = (int64_t)1 << 61;
static const double SPECTOR_DAYS_PER_MS = 1.0 / 86400000.0;
static const double SPECTOR_SECONDS_PER_MS = 1.0 / 1000.0;

/* Milliseconds since an instant, never negative. */
static inline double spector_age_ms(const spector_query *query, int64_t then_ms) {
    if (then_ms >= query->now_ms) return 0.0;
    if (then_ms < -SPECTOR_MAX_ABS_MS) then_ms = -SPECTOR_MAX_ABS_MS;
    return (double)(query->now_ms - then_ms);
}

static inline double spector_idle_ms(const spector_query *query, const spector_record *record) {
    const int64_t used_ms = (int64_t)record->last_access_s * 1000, event_ms = record->event_ms;
    return spector_age_ms(query, used_ms ? used_ms : event_ms);
}

/* The passes of a straight scan, shared with the scan over an index. */

/* Phases 1 to 4 of one record: the counter of the phase that drops it, or SPECTOR_DROPS. */
int spector_gate(const spector_part *part, const spector_query *query, uint32_t slot);
/* Find the rows of the block's slots, which the products and the columns read. */
static inline void spector_locate_block(const spector_part *part, spector_block *block) {
    for (uint32_t i = 0; i < block->n; i++)
        block->rows[i] = spector_record_at(part, block->slots[i]);
}
/* All phases of at most SPECTOR_BLOCK given records of any partitions, into the heap of found hits;
 * returns the heap's new size. */
uint32_t spector_rank_given(const spector_part *parts, const spector_query *query,
                            const uint32_t *part, const uint32_t *slot, uint32_t n,
                            spector_hit *hits, uint32_t found, uint32_t k, uint64_t *drops,
                            uint64_t *scored);
/* Additive sum of all terms but similarity that a record last used at used_ms has. */
float spector_other_terms(const spector_query *query, const spector_record *record,
                          int64_t used_ms);
float spector_retention(const spector_query *query, const spector_record *record);

/* Phases 1 to 4 of at most SPECTOR_BLOCK records from first on: leaves the survivors' slots in the
 * block and adds to drops. */
typedef void (*spector_gate_fn)(const spector_query *query, const spector_part *part,
                                uint32_t first, uint32_t count, spector_block *block,
                                uint64_t *drops);
/* Fill the columns from the block's rows. */
typedef void (*spector_load_fn)(const spector_query *query, spector_block *block);

/* Exact dot products of the cue's codes with the vectors of a block's rows. */
typedef void (*spector_dot_fn)(const spector_query *query, const spector_block *block,
                               int32_t *out);
/* The same of count records from first on, which are contiguous in memory. */
typedef void (*spector_run_fn)(const spector_query *query, const spector_part *part, uint32_t first,
                               uint32_t count, int32_t *out);
/* Phase 6 of the records loaded into a block; scores has room for a whole one. */
typedef void (*spector_score_fn)(const spector_query *query, const spector_block *block,
                                 float *scores);
typedef uint32_t (*spector_crc_fn)(uint32_t state, const uint8_t *data, size_t n);
/* How many bits of n words are set. */
typedef uint64_t (*spector_popcount_fn)(const uint64_t *words, size_t n);

/* Clear the bits of n words that are not set in all of some bit-slices (those of the bits of which,
 * a slice every so many words); returns the union of what is left. */
typedef uint64_t (*spector_and_fn)(const uint64_t *slices, size_t words, uint64_t which, size_t n,
                                   uint64_t *bits);
/* Numbers of the bits of mask, which has few, from *word on and plus first, as long as there is room
 * for eight words' bits; returns how many, and in *word where it stopped. */
typedef uint32_t (*spector_positions_fn)(const uint64_t *mask, uint32_t words, uint32_t *word,
                                         uint32_t first, uint32_t *out, uint32_t room);

/* What spector_set_caps chose, see isa.c. Members are spector_{op}_{dtype}_{isa}. */
typedef struct spector_isa {
    spector_gate_fn gate;
    spector_dot_fn dot;
    spector_run_fn run;
    spector_load_fn load;
    spector_score_fn score;
    spector_crc_fn crc32c;
    spector_popcount_fn popcount;
    spector_and_fn and_slices;
    spector_positions_fn positions;
} spector_isa;

extern spector_isa spector_active;

/* Fill the columns of the block's slots. */
static inline void spector_load_block(const spector_query *query, const spector_part *part,
                                      spector_block *block) {
    spector_locate_block(part, block);
    spector_active.load(query, block);
}

#define SPECTOR_DECLARE_GATE(isa)                                                                 \
    void spector_gate_rec_##isa(const spector_query *query, const spector_part *part,             \
                                uint32_t first, uint32_t count, spector_block *block,             \
                                uint64_t *drops)
#define SPECTOR_DECLARE_LOAD(isa)                                                                 \
    void spector_load_rec_##isa(const spector_query *query, spector_block *block)
#define SPECTOR_DECLARE_DOT(isa)                                                                  \
    void spector_dot_i8_##isa(const spector_query *query, const spector_block *block, int32_t *out); \
    void spector_run_i8_##isa(const spector_query *query, const spector_part *part, uint32_t first, \
                              uint32_t count, int32_t *out)
#define SPECTOR_DECLARE_SCORE(isa)                                                                \
    void spector_score_f32_##isa(const spector_query *query, const spector_block *block,          \
                                 float *scores)
#define SPECTOR_DECLARE_CRC32C(isa)                                                               \
    uint32_t spector_crc32c_u8_##isa(uint32_t state, const uint8_t *data, size_t n)
#define SPECTOR_DECLARE_POPCOUNT(isa)                                                             \
    uint64_t spector_popcount_u64_##isa(const uint64_t *words, size_t n)

#define SPECTOR_DECLARE_AND(isa)                                                                  \
    uint64_t spector_and_u64_##isa(const uint64_t *slices, size_t words, uint64_t which, size_t n, \
                                   uint64_t *bits)
#define SPECTOR_DECLARE_POSITIONS(isa)                                                            \
    uint32_t spector_positions_u64_##isa(const uint64_t *mask, uint32_t words, uint32_t *word,    \
                                         uint32_t first, uint32_t *out, uint32_t room)

SPECTOR_DECLARE_GATE(portable);
SPECTOR_DECLARE_AND(portable);
SPECTOR_DECLARE_POSITIONS(portable);
SPECTOR_DECLARE_DOT(portable);
SPECTOR_DECLARE_LOAD(portable);
SPECTOR_DECLARE_SCORE(portable);
SPECTOR_DECLARE_CRC32C(portable);
SPECTOR_DECLARE_POPCOUNT(portable);
void spector_crc_init(void);

#if defined(__GNUC__) && (defined(__x86_64__) || defined(__i386__))
#define SPECTOR_X86 1
SPECTOR_DECLARE_CRC32C(sse42);
SPECTOR_DECLARE_DOT(avx2);
SPECTOR_DECLARE_SCORE(avx2);
SPECTOR_DECLARE_POPCOUNT(avx2);
SPECTOR_DECLARE_AND(avx2);
SPECTOR_DECLARE_POSITIONS(avx2);
SPECTOR_DECLARE_GATE(avx512);
SPECTOR_DECLARE_AND(avx512);
SPECTOR_DECLARE_POSITIONS(avx512);
SPECTOR_DECLARE_DOT(avx512);
SPECTOR_DECLARE_LOAD(avx512);
SPECTOR_DECLARE_SCORE(avx512);
SPECTOR_DECLARE_POPCOUNT(avx512pop);
#else
#define SPECTOR_X86 0
#endif

#if defined(__GNUC__) && defined(__aarch64__)
#define SPECTOR_NEON 1
SPECTOR_DECLARE_DOT(neon);
SPECTOR_DECLARE_DOT(dotprod);
SPECTOR_DECLARE_POPCOUNT(neon);
#else
#define SPECTOR_NEON 0
#endif

#endif

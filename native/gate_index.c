/* Phases 1 to 4 on the bit-slices and columns of a scan index; slots are bits. */
#include "search.h"

#include <string.h>

enum { WORDS = SPECTOR_INDEX_BLOCK / 64, CHUNK_ROWS = SPECTOR_CHUNK_WORDS * 64 };

static uint32_t count_bits(const uint64_t *mask) {
    return (uint32_t)spector_active.popcount(mask, WORDS);
}

/* Keep what passes; returns how many are left after counting the dropped. */
static uint32_t keep(uint64_t *mask, const uint64_t *passes, uint32_t before, uint64_t *drops) {
    for (int w = 0; w < WORDS; w++) mask[w] &= passes[w];
    uint32_t after = count_bits(mask);
    *drops += before - after;
    return after;
}

static void flag_bits(const spector_gates *c, uint32_t first_word, uint32_t words, uint32_t flags,
                      uint64_t *out) {
    for (int w = 0; w < WORDS; w++) out[w] = 0;
    for (uint32_t f = 0; f < 16; f++)
        if (flags >> f & 1)
            for (uint32_t w = 0; w < words; w++)
                out[w] |= c->s.flags[(size_t)f * c->s.words + first_word + w];
}

static void tag_bits(const spector_gates *c, uint32_t first_word, uint32_t words, uint64_t tags,
                     uint64_t *mask) {
    for (; tags; tags &= tags - 1) {
        const uint64_t *slice =
            c->s.tags + (size_t)SPECTOR_LOW_BIT(tags) * c->s.words + first_word;
        uint64_t left = 0;
        for (uint32_t w = 0; w < words; w++) left |= mask[w] &= slice[w];
        if (!left) return;
    }
}

static uint32_t tag_phase(const spector_gates *c, const spector_extremes *e, uint32_t first_word,
                          uint32_t words, uint64_t *mask, uint32_t before, uint64_t *drops) {
    const spector_query *q = c->query;
    uint64_t passes[WORDS], some[WORDS] = {0};
    if (!q->tags_all && !q->any_count) return before;
    memcpy(passes, mask, sizeof passes);
    if ((e->tags_or & q->tags_all) != q->tags_all)
        memset(passes, 0, sizeof passes);
    else
        tag_bits(c, first_word, words, q->tags_all, passes);
    for (uint32_t i = 0; i < q->any_count; i++) {
        uint64_t one[WORDS];
        if ((e->tags_or & q->any_masks[i]) != q->any_masks[i]) continue;
        memcpy(one, passes, sizeof one);
        tag_bits(c, first_word, words, q->any_masks[i], one);
        for (int w = 0; w < WORDS; w++) some[w] |= one[w];
    }
    return keep(mask, q->any_count ? some : passes, before, drops);
}

/* Compare a column over the words of the mask that are not empty. */
#define COLUMN_BITS(passes, mask, words, test)                         \
    for (uint32_t w = 0; w < (words); w++) {                           \
        uint64_t bits = 0;                                             \
        if ((mask)[w])                                                 \
            for (uint32_t j = 0; j < 64; j++) {                        \
                const size_t i = (size_t)w * 64 + j;                   \
                bits |= (uint64_t)(test) << j;                         \
            }                                                          \
        (passes)[w] = bits;                                            \
    }

static uint32_t valence_phase(const spector_gates *c, const spector_extremes *e, uint32_t first,
                              uint32_t words, uint64_t *mask, uint32_t before, uint64_t *drops) {
    const spector_query *q = c->query;
    const int8_t *valence = c->s.valence + first;
    uint64_t passes[WORDS] = {0};
    if (e->valence_min >= q->valence_min && e->valence_max <= q->valence_max) return before;
    if (e->valence_max >= q->valence_min && e->valence_min <= q->valence_max)
        COLUMN_BITS(passes, mask, words,
                    (valence[i] >= q->valence_min) & (valence[i] <= q->valence_max));
    return keep(mask, passes, before, drops);
}

/* One slot at a time, on the record itself: conditions that few scans have. */
static uint64_t slow_bits(const spector_gates *c, uint32_t first, uint64_t bits) {
    uint64_t passes = 0;
    for (; bits; bits &= bits - 1) {
        uint32_t j = SPECTOR_LOW_BIT(bits);
        if (spector_gate(c->part, c->query, first + j) == SPECTOR_DROPS) passes |= UINT64_C(1) << j;
    }
    return passes;
}

static uint32_t strength_phase(const spector_gates *c, const spector_extremes *e, uint32_t first,
                               uint32_t words, uint64_t *mask, uint32_t n, uint64_t *drops) {
    const spector_query *q = c->query;
    uint64_t passes[WORDS] = {0};
    if (e->event_min < q->event_min_ms || e->event_max >= q->event_max_ms) {
        const int64_t *event = c->s.event_ms + first;
        if (e->event_max >= q->event_min_ms && e->event_min < q->event_max_ms)
            COLUMN_BITS(passes, mask, words,
                        (event[i] >= q->event_min_ms) & (event[i] < q->event_max_ms));
        n = keep(mask, passes, n, drops);
    }
    /* NaN counts as strong enough: written so that it passes, as in the straight scan */
    if (n && q->importance_floor > 0.0f && !(e->importance_min >= q->importance_floor)) {
        const float *importance = c->s.importance + first;
        const uint64_t *pinned = c->s.flags + (size_t)SPECTOR_PINNED_BIT * c->s.words + first / 64;
        COLUMN_BITS(passes, mask, words, !(importance[i] < q->importance_floor));
        for (uint32_t w = 0; w < words; w++) passes[w] |= pinned[w];
        n = keep(mask, passes, n, drops);
    }
    if (n && (q->modality_mask || q->category_mask || q->retention_floor > 0.0f)) {
        for (uint32_t w = 0; w < words; w++) passes[w] = slow_bits(c, first + w * 64, mask[w]);
        n = keep(mask, passes, n, drops);
    }
    return n;
}

/* tagged: the slots that have the tags, or NULL if they have not been computed. */
static uint32_t gate_block(const spector_gates *c, uint32_t first, const uint64_t *tagged,
                           uint64_t *mask) {
    const spector_query *q = c->query;
    const spector_extremes *e = &c->s.blocks[first / SPECTOR_INDEX_BLOCK];
    const uint32_t left = c->rows - first;
    const uint32_t count = left < SPECTOR_INDEX_BLOCK ? left : SPECTOR_INDEX_BLOCK;
    const uint32_t words = (count + 63) / 64, first_word = first / 64;
    uint64_t passes[WORDS] = {0};
    uint32_t n = count;
    for (uint32_t w = 0; w < WORDS; w++)
        mask[w] = w * 64 + 64 <= count ? UINT64_MAX
                  : w * 64 < count     ? (UINT64_C(1) << (count - w * 64)) - 1
                                       : 0;
    if (e->flags_or & q->drop_flags) {
        flag_bits(c, first_word, words, q->drop_flags, passes);
        for (int w = 0; w < WORDS; w++) passes[w] = ~passes[w];
        n = keep(mask, passes, n, &c->drops[SPECTOR_DROP_STATE]);
    }
    if (n && c->part->allow) {
        memset(passes, 0, sizeof passes);
        memcpy(passes, c->part->allow + first_word, words * sizeof *passes);
        n = keep(mask, passes, n, &c->drops[SPECTOR_DROP_FILTER]);
    }
    if (n && tagged) {
        memset(passes, 0, sizeof passes);
        memcpy(passes, tagged, words * sizeof *passes);
        n = keep(mask, passes, n, &c->drops[SPECTOR_DROP_TAGS]);
    } else if (n) {
        n = tag_phase(c, e, first_word, words, mask, n, &c->drops[SPECTOR_DROP_TAGS]);
    }
    if (n) n = valence_phase(c, e, first, words, mask, n, &c->drops[SPECTOR_DROP_VALENCE]);
    if (n) n = strength_phase(c, e, first, words, mask, n, &c->drops[SPECTOR_DROP_STRENGTH]);
    return n;
}

uint32_t spector_gates_block(const spector_gates *c, uint32_t first, uint64_t *mask) {
    return gate_block(c, first, NULL, mask);
}

/* ---- a partition, chunk by chunk ---- */

static uint64_t and_slices(const spector_gates *c, uint32_t first_word, uint32_t words,
                           uint64_t tags, uint64_t *bits) {
    return spector_active.and_slices(c->s.tags + first_word, c->s.words, tags, words, bits);
}

/* Which slots of the chunk have the tags; 0 when none has. */
static uint64_t tag_chunk(spector_gates *c, uint32_t first_word, uint32_t words) {
    const spector_query *q = c->query;
    uint64_t some[SPECTOR_CHUNK_WORDS], one[SPECTOR_CHUNK_WORDS], left = 0;
    memset(c->tagged, 255, words * sizeof *c->tagged);
    if (!and_slices(c, first_word, words, q->tags_all, c->tagged)) return 0;
    if (!q->any_count) return 1;
    memset(some, 0, words * sizeof *some);
    for (uint32_t i = 0; i < q->any_count; i++) {
        memcpy(one, c->tagged, words * sizeof *one);
        if (!and_slices(c, first_word, words, q->any_masks[i], one)) continue;
        for (uint32_t w = 0; w < words; w++) some[w] |= one[w];
    }
    for (uint32_t w = 0; w < words; w++) left |= c->tagged[w] = some[w];
    return left;
}

/* Count the rows from first to end as dropped, by their state or else by a later phase. */
static void drop_rows(const spector_gates *c, uint32_t first, uint32_t end, int phase) {
    uint32_t hidden = 0;
    const uint32_t any = c->s.whole->flags_or & c->query->drop_flags;
    for (uint32_t at = first; any && at < end; at += SPECTOR_INDEX_BLOCK) {
        uint64_t bits[WORDS];
        const uint32_t count = end - at < SPECTOR_INDEX_BLOCK ? end - at : SPECTOR_INDEX_BLOCK;
        if (!(c->s.blocks[at / SPECTOR_INDEX_BLOCK].flags_or & c->query->drop_flags)) continue;
        flag_bits(c, at / 64, (count + 63) / 64, c->query->drop_flags, bits);
        if (count % 64) bits[count / 64] &= (UINT64_C(1) << (count % 64)) - 1;
        hidden += count_bits(bits);
    }
    c->drops[SPECTOR_DROP_STATE] += hidden;
    c->drops[phase] += end - first - hidden;
}

/* Whether so few of the chunk's tagged slots have the right state that they continue together, as
 * found; otherwise nothing is counted. */
static int scattered_chunk(spector_gates *c, uint32_t first, uint32_t count,
                           spector_survivors *found) {
    const uint32_t words = (count + 63) / 64, flags = c->s.whole->flags_or & c->query->drop_flags;
    uint32_t hidden = 0;
    if (count % 64) c->tagged[words - 1] &= (UINT64_C(1) << (count % 64)) - 1;
    for (uint32_t w = 0; flags && w < words; w += WORDS) {
        uint64_t bits[WORDS];
        const uint32_t step = words - w < WORDS ? words - w : WORDS;
        flag_bits(c, first / 64 + w, step, flags, bits);
        if (w + step == words && count % 64) bits[step - 1] &= (UINT64_C(1) << (count % 64)) - 1;
        for (uint32_t i = 0; i < step; i++) c->tagged[w + i] &= ~bits[i];
        hidden += count_bits(bits);
    }
    const uint32_t n = (uint32_t)spector_active.popcount(c->tagged, words);
    if (n > count / SPECTOR_FEW) return 0;
    c->drops[SPECTOR_DROP_STATE] += hidden;
    c->drops[SPECTOR_DROP_TAGS] += count - hidden - n;
    *found = (spector_survivors){first, words, n, 1, c->tagged};
    return 1;
}

/* The phase that drops every row of these extremes, or SPECTOR_DROPS. NaN has made importance_max
 * infinite, so it passes here as it does record by record. */
static int barring_phase(const spector_query *q, const spector_extremes *e) {
    if (e->valence_max < q->valence_min || e->valence_min > q->valence_max)
        return SPECTOR_DROP_VALENCE;
    if (e->event_max < q->event_min_ms || e->event_min >= q->event_max_ms)
        return SPECTOR_DROP_STRENGTH;
    if (q->importance_floor > 0.0f && e->importance_max < q->importance_floor &&
        !(e->flags_or & SPECTOR_PINNED))
        return SPECTOR_DROP_STRENGTH;
    return SPECTOR_DROPS;
}

void spector_gates_begin(spector_gates *c, const spector_part *part, const spector_query *q,
                         uint32_t rows, uint64_t *drops) {
    c->part = part;
    c->query = q;
    c->drops = drops;
    c->rows = rows;
    c->next = 0;
    spector_index_sections(part->index, &c->s);
    const spector_extremes *e = c->s.whole;
    c->barred = barring_phase(q, e);
    c->by_tags = (q->tags_all || q->any_count) && !part->allow;
    c->plain = c->by_tags && e->valence_min >= q->valence_min &&
               e->valence_max <= q->valence_max && e->event_min >= q->event_min_ms &&
               e->event_max < q->event_max_ms && !q->modality_mask && !q->category_mask &&
               (q->importance_floor <= 0.0f || e->importance_min >= q->importance_floor) &&
               q->retention_floor <= 0.0f;
}

/* At the beginning of a chunk: whether all its slots are done, returned as found or dropped. */
static int take_chunk(spector_gates *c, spector_survivors *found) {
    const uint32_t at = c->next, left = c->rows - at;
    const uint32_t count = left < CHUNK_ROWS ? left : CHUNK_ROWS;
    found->n = 0;
    if (!tag_chunk(c, at / 64, (count + 63) / 64))
        drop_rows(c, at, at + count, SPECTOR_DROP_TAGS);
    else if (!c->plain || !scattered_chunk(c, at, count, found))
        return 0;
    c->next += count;
    return 1;
}

int spector_gates_next(spector_gates *c, spector_survivors *found) {
    if (c->barred != SPECTOR_DROPS && c->next < c->rows) {
        drop_rows(c, c->next, c->rows, c->barred);
        c->next = c->rows;
    }
    while (c->next < c->rows) {
        const uint32_t at = c->next, in_chunk = at % CHUNK_ROWS, left = c->rows - at;
        const uint32_t count = left < SPECTOR_INDEX_BLOCK ? left : SPECTOR_INDEX_BLOCK;
        const uint32_t words = (count + 63) / 64;
        if (c->by_tags && !in_chunk && take_chunk(c, found)) {
            if (found->n) return 1;
            continue;
        }
        c->next += count;
        if (c->by_tags) {
            uint64_t any = 0;
            for (uint32_t w = 0; w < words; w++) any |= c->tagged[in_chunk / 64 + w];
            if (!any) {
                drop_rows(c, at, at + count, SPECTOR_DROP_TAGS);
                continue;
            }
        }
        const uint32_t n =
            gate_block(c, at, c->by_tags ? c->tagged + in_chunk / 64 : NULL, c->mask);
        if (!n) continue;
        *found = (spector_survivors){at, WORDS, n, n < SPECTOR_INDEX_BLOCK / SPECTOR_SPARSE,
                                     c->mask};
        return 1;
    }
    return 0;
}

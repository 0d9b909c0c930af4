/* Phases 1 to 4 of a run of records: spector_gate_rec_<isa>, chosen in isa.c.
 *
 * Only headers are read: the vector of a dropped record costs nothing (straight.c).
 */
#include "spector.h"

static inline int code_admitted(uint32_t mask, uint8_t code) {
    return !mask || (code < 32 && (mask >> code & 1));
}

static inline int any_tags_pass(const spector_query *q, uint64_t tags) {
    if (!q->any_count) return 1;
    for (uint32_t i = 0; i < q->any_count; i++)
        if ((tags & q->any_masks[i]) == q->any_masks[i]) return 1;
    return 0;
}

static inline int strength_passes(const spector_query *q, const spector_record *r) {
    if (r->event_ms < q->event_min_ms || r->event_ms >= q->event_max_ms) return 0;
    if (!code_admitted(q->modality_mask, r->modality)) return 0;
    if (!code_admitted(q->category_mask, r->category)) return 0;
    if (r->flags & SPECTOR_PINNED) return 1;
    if (q->importance_floor > 0.0f && r->importance < q->importance_floor) return 0;
    return !(q->retention_floor > 0.0f && spector_retention(q, r) < q->retention_floor);
}

static inline int gate(const spector_part *part, const spector_query *q, uint32_t slot) {
    const spector_record *r = spector_record_at(part, slot);
    if (r->flags & q->drop_flags) return SPECTOR_DROP_STATE;
    if (part->allow && !(part->allow[slot >> 6] >> (slot & 63) & 1)) return SPECTOR_DROP_FILTER;
    if ((r->tags & q->tags_all) != q->tags_all || !any_tags_pass(q, r->tags))
        return SPECTOR_DROP_TAGS;
    if (r->valence < q->valence_min || r->valence > q->valence_max) return SPECTOR_DROP_VALENCE;
    if (!strength_passes(q, r)) return SPECTOR_DROP_STRENGTH;
    return SPECTOR_DROPS;
}

int spector_gate(const spector_part *part, const spector_query *q, uint32_t slot) {
    return gate(part, q, slot);
}

/* Whether records can fail only by their state, or by a damaged event time of INT64_MAX, which even
 * the open range excludes. This is so for most recalls. */
static int only_state_drops(const spector_part *part, const spector_query *q) {
    return !part->allow && !q->tags_all && !q->any_count && q->valence_min <= INT8_MIN &&
           q->valence_max >= INT8_MAX && q->event_min_ms == INT64_MIN &&
           q->event_max_ms == INT64_MAX && !q->modality_mask && !q->category_mask &&
           !(q->importance_floor > 0.0f) && !(q->retention_floor > 0.0f);
}

void spector_gate_rec_portable(const spector_query *q, const spector_part *part, uint32_t first,
                               uint32_t count, spector_block *b, uint64_t *drops) {
    uint32_t n = 0;
    if (only_state_drops(part, q)) {
        int damaged = 0;
        for (uint32_t slot = first; slot < first + count; slot++) {
            const spector_record *r = spector_record_at(part, slot);
            spector_fetch_ahead(b, slot - first);
            b->slots[n] = slot;
            n += !(r->flags & q->drop_flags);
            damaged |= r->event_ms == INT64_MAX;
        }
        b->n = n;
        if (!damaged) {
            drops[SPECTOR_DROP_STATE] += count - n;
            return;
        }
        n = 0;
    }
    for (uint32_t slot = first; slot < first + count; slot++) {
        spector_fetch_ahead(b, slot - first);
        int phase = gate(part, q, slot);
        if (phase == SPECTOR_DROPS)
            b->slots[n++] = slot;
        else
            drops[phase]++;
    }
    b->n = n;
}

#if SPECTOR_X86
#include <immintrin.h>

#define AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,popcnt")))

/* Sixteen headers; only lanes that have passed so far are read. */
typedef struct {
    const uint8_t *first;
    __m512i offsets; /* of the lanes, in bytes */
} rows;

AVX512 static inline __m512i words(const rows *r, __mmask16 lanes, int offset) {
    return _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), lanes, r->offsets,
                                       r->first + offset, 1);
}

/* Lanes 0 to 7 (half 0) or 8 to 15 of an 8-byte field. */
AVX512 static inline __m512i longs(const rows *r, __mmask16 lanes, int half, int offset) {
    __m256i at = half ? _mm512_extracti64x4_epi64(r->offsets, 1)
                      : _mm512_castsi512_si256(r->offsets);
    return _mm512_mask_i32gather_epi64(_mm512_setzero_si512(), (__mmask8)(lanes >> 8 * half), at,
                                       r->first + offset, 1);
}

AVX512 static __mmask16 tags_pass(const spector_query *q, const rows *r, __mmask16 lanes) {
    __mmask16 passed = 0;
    for (int half = 0; half < 2; half++) {
        __m512i tags = longs(r, lanes, half, offsetof(spector_record, tags));
        __m512i all = _mm512_set1_epi64((int64_t)q->tags_all);
        __mmask8 some = q->any_count ? 0 : 0xFF;
        for (uint32_t i = 0; i < q->any_count; i++) {
            __m512i any = _mm512_set1_epi64((int64_t)q->any_masks[i]);
            some |= _mm512_cmpeq_epi64_mask(_mm512_and_si512(tags, any), any);
        }
        some &= _mm512_cmpeq_epi64_mask(_mm512_and_si512(tags, all), all);
        passed |= (__mmask16)(some << 8 * half);
    }
    return passed;
}

AVX512 static __mmask16 events_pass(const spector_query *q, const rows *r, __mmask16 lanes) {
    __mmask16 passed = 0;
    for (int half = 0; half < 2; half++) {
        __m512i event = longs(r, lanes, half, offsetof(spector_record, event_ms));
        __mmask8 in = _mm512_cmpge_epi64_mask(event, _mm512_set1_epi64(q->event_min_ms)) &
                      _mm512_cmplt_epi64_mask(event, _mm512_set1_epi64(q->event_max_ms));
        passed |= (__mmask16)(in << 8 * half);
    }
    return passed;
}

/* The mask's bit of each code; codes from 32 on shift everything out. */
AVX512 static __mmask16 codes_pass(uint32_t mask, __m512i codes) {
    if (!mask) return 0xFFFF;
    __m512i bits = _mm512_srlv_epi32(_mm512_set1_epi32((int32_t)mask), codes);
    return _mm512_test_epi32_mask(bits, _mm512_set1_epi32(1));
}

AVX512 static __mmask16 strengths_pass(const spector_part *part, const spector_query *q,
                                       uint32_t first, const rows *r, __mmask16 lanes,
                                       __mmask16 pinned) {
    __mmask16 passed = events_pass(q, r, lanes) & lanes; /* others read as 0 and may pass */
    if (q->modality_mask || q->category_mask) {
        /* version, tier, category, modality */
        __m512i kinds = words(r, lanes, offsetof(spector_record, version));
        passed &= codes_pass(q->modality_mask, _mm512_srli_epi32(kinds, 24));
        passed &= codes_pass(q->category_mask, _mm512_and_si512(_mm512_srli_epi32(kinds, 16),
                                                                _mm512_set1_epi32(0xFF)));
    }
    if (q->importance_floor > 0.0f) {
        __m512 importance = _mm512_castsi512_ps(
            words(r, lanes, offsetof(spector_record, importance)));
        __mmask16 weak = _mm512_cmp_ps_mask(importance, _mm512_set1_ps(q->importance_floor),
                                            _CMP_LT_OQ);
        passed &= (__mmask16)~weak | pinned;
    }
    if (q->retention_floor > 0.0f) {
        for (uint32_t rest = passed & (__mmask16)~pinned; rest; rest &= rest - 1) {
            uint32_t lane = (uint32_t)__builtin_ctz(rest);
            const spector_record *record = spector_record_at(part, first + lane);
            if (spector_retention(q, record) < q->retention_floor)
                passed &= (__mmask16)~(1u << lane);
        }
    }
    return passed;
}

static inline __mmask16 drop(__mmask16 lanes, __mmask16 passed, uint64_t *counter) {
    *counter += SPECTOR_POPCOUNT(lanes & (__mmask16)~passed);
    return lanes & passed;
}

AVX512 static inline __mmask16 gate_rows(const spector_part *part, const spector_query *q,
                                         uint32_t first, const rows *r, __mmask16 lanes, int open,
                                         uint64_t *drops) {
    /* flags, valence, arousal */
    const __m512i moods = words(r, lanes, offsetof(spector_record, flags));
    __mmask16 dropped =
        _mm512_test_epi32_mask(moods, _mm512_set1_epi32((int32_t)(q->drop_flags & 0xFFFF)));
    lanes = drop(lanes, (__mmask16)~dropped, &drops[SPECTOR_DROP_STATE]);
    if (open) {
        __m512i event_high = words(r, lanes, offsetof(spector_record, event_ms) + 4);
        if (!_mm512_cmpeq_epi32_mask(event_high, _mm512_set1_epi32(INT32_MAX))) return lanes;
    }
    if (part->allow) {
        uint32_t allowed = 0;
        for (uint32_t lane = 0; lanes >> lane; lane++) {
            uint32_t slot = first + lane;
            allowed |= (uint32_t)(part->allow[slot >> 6] >> (slot & 63) & 1) << lane;
        }
        lanes = drop(lanes, (__mmask16)allowed, &drops[SPECTOR_DROP_FILTER]);
    }
    if (q->tags_all || q->any_count)
        lanes = drop(lanes, tags_pass(q, r, lanes), &drops[SPECTOR_DROP_TAGS]);
    __m512i valence = _mm512_srai_epi32(_mm512_slli_epi32(moods, 8), 24);
    __mmask16 agreeable = _mm512_cmpge_epi32_mask(valence, _mm512_set1_epi32(q->valence_min)) &
                          _mm512_cmple_epi32_mask(valence, _mm512_set1_epi32(q->valence_max));
    lanes = drop(lanes, agreeable, &drops[SPECTOR_DROP_VALENCE]);
    __mmask16 pinned = _mm512_test_epi32_mask(moods, _mm512_set1_epi32(SPECTOR_PINNED));
    return drop(lanes, strengths_pass(part, q, first, r, lanes, pinned),
                &drops[SPECTOR_DROP_STRENGTH]);
}

AVX512 void spector_gate_rec_avx512(const spector_query *q, const spector_part *part,
                                    uint32_t first, uint32_t count, spector_block *b,
                                    uint64_t *drops) {
    const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const int open = only_state_drops(part, q);
    rows r = {NULL, _mm512_mullo_epi32(lane, _mm512_set1_epi32((int32_t)part->stride))};
    uint32_t n = 0;
    for (uint32_t i = 0; i < count; i += 16) {
        const uint32_t left = count - i;
        __mmask16 lanes = (__mmask16)(left < 16 ? (1u << left) - 1 : 0xFFFF);
        r.first = (const uint8_t *)spector_record_at(part, first + i);
        for (uint32_t j = 0; j < (left < 16 ? left : 16); j++)
            spector_fetch_ahead(b, i + j);
        lanes = gate_rows(part, q, first + i, &r, lanes, open, drops);
        __m512i slots = _mm512_add_epi32(lane, _mm512_set1_epi32((int32_t)(first + i)));
        _mm512_storeu_si512(b->slots + n, _mm512_maskz_compress_epi32(lanes, slots));
        n += SPECTOR_POPCOUNT(lanes);
    }
    b->n = n;
}
#endif

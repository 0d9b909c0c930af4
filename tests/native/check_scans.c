/* Scans over indexes; see check_index.c. */
#include "stores.h"

#include <string.h>

enum { MOST_HITS = 1000, QUERIES = VARIANTS + 3 };

typedef struct {
    uint32_t n;
    spector_hit hits[MOST_HITS];
    uint64_t drops[SPECTOR_DROPS], scanned, scored;
} result;

static void scan(const spector_part *parts, const spector_query *q, uint32_t k, result *out) {
    static const uint32_t undamaged[] = {0, 2, 3};
    static spector_hit *end;
    if (!end) end = (spector_hit *)guarded(MOST_HITS * sizeof *end) + MOST_HITS;
    memset(out, 0, sizeof *out);
    out->n = spector_scan(parts, k == 10 ? undamaged : NULL, k == 10 ? 3 : PARTS, q, end - k, k,
                          out->drops, &out->scanned, &out->scored);
    memcpy(out->hits, end - k, out->n * sizeof *end);
}

static int every_record_counted(const result *r) {
    uint64_t sum = r->scored;
    for (int i = 0; i < SPECTOR_DROPS; i++) sum += r->drops[i];
    return sum == r->scanned;
}

static int same_hits(const result *a, const result *b) {
    return a->n == b->n && !memcmp(a->hits, b->hits, a->n * sizeof *a->hits);
}

/* Hits of the straight scan that an uncertain one lacks; both are in the same order. */
static void count_missed(const result *want, const result *got) {
    uint32_t at = 0;
    for (uint32_t i = 0; i < want->n; i++)
        if (at < got->n && got->hits[at].id == want->hits[i].id) at++;
    if (!want->n) return;
    total.missed += (uint64_t)(want->n - at) * 1000 / want->n;
    total.hits += 1000; /* every scan weighs as much */
    total.bounded += got->drops[SPECTOR_DROP_BOUND];
}

/* Exact with no estimates and with bounds of 100 standard errors; nearly so with 4. */
static void check_scan(const store *s, const spector_part *parts, const spector_query *asked,
                       uint32_t k, uint32_t variant) {
    static const float confidences[] = {0.0f, 100.0f, 4.0f};
    static result want, got;
    /* every set has its turn over the variants and numbers of hits */
    const uint32_t caps[] = {spector_cpu_caps(), nth_caps((variant + k) % count_caps())};
    spector_query q = *asked;
    q.index_from_rows = UINT32_MAX;
    spector_set_caps(caps[0]);
    scan(parts, &q, k, &want);
    if (!every_record_counted(&want)) fail(s, "straight scan's counts", caps[0], variant);
    q.index_from_rows = 0;
    for (int i = 0; i < 6; i++) {
        q.recall_confidence = confidences[i % 3];
        if (i == 3) spector_set_caps(caps[1]);
        scan(parts, &q, k, &got);
        total.compared++;
        if (!every_record_counted(&got)) fail(s, "counts", caps[i / 3], variant);
        if (memcmp(want.drops, got.drops, SPECTOR_DROP_SIMILARITY * sizeof *want.drops))
            fail(s, "gates", caps[i / 3], variant);
        if (i % 3 < 2 && !same_hits(&want, &got)) fail(s, "hits", caps[i / 3], variant);
        if (i % 3 == 2) count_missed(&want, &got);
    }
}

/* What recalls of the other checks ask for, few records by tags, few by a filter, and no cue. */
static void vary_store(const store *s, uint32_t variant, spector_query *q, spector_part *parts) {
    static const uint64_t few[4] = {0x8000, 0, 0x11, 0x4000000000};
    *q = variant == QUERIES - 1 ? s->no_cue : s->query;
    memcpy(parts, s->part, PARTS * sizeof *parts);
    for (uint32_t p = 0; p < PARTS && variant < VARIANTS; p++)
        vary(q, &parts[p], s->allow, (int)variant);
    if (variant == VARIANTS) q->tags_all = 0x3F0F;
    if (variant == VARIANTS + 1) {
        q->any_masks = few;
        q->any_count = 1;
        parts[0].allow = parts[2].allow = s->allow;
    }
}

void check_scans(const store *s) {
    for (uint32_t variant = 0; variant < QUERIES; variant++)
        for (uint32_t k = 1; k <= MOST_HITS; k *= k == 1 ? 10 : 100) {
            spector_query q;
            spector_part parts[PARTS];
            vary_store(s, variant, &q, parts);
            check_scan(s, parts, &q, k, variant);
        }
}

/* Records that were rewritten since: some may be missed, but all are counted, and hits are right. */
void check_stale(const store *s) {
    static result got;
    for (uint32_t i = 0; i < s->rows; i++) rewrite(row(s, s->records[0], i));
    for (uint32_t variant = 0; variant < QUERIES; variant++) {
        spector_query q;
        spector_part parts[PARTS];
        vary_store(s, variant, &q, parts);
        q.recall_confidence = 4.0f;
        scan(parts, &q, 100, &got);
        if (!every_record_counted(&got)) fail(s, "stale index's counts", spector_cpu_caps(), variant);
        for (uint32_t i = 0; i < got.n; i++) {
            float score, similarity;
            const spector_hit *hit = &got.hits[i];
            spector_score(parts, &q, &hit->part, &hit->slot, 1, &score, &similarity);
            if (score != hit->score || similarity != hit->similarity)
                fail(s, "stale index's hit", spector_cpu_caps(), variant);
        }
    }
}

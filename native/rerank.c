/* What the sketches could not rule out: the later stages of a scan over indexes.
 *
 * After its sketch, a record needs up to three more reads from memory: its fine code, its header,
 * its vector. So records wait in lists that fill up across batches and partitions, and each list
 * prefetches what the next stage will read.
 */
#include "search.h"

#include <math.h>
#include <string.h>

static void rank_aside(spector_search *c) {
    spector_aside *aside = &c->aside;
    const uint32_t n = aside->n;
    aside->n = 0;
    c->found = spector_rank_given(c->parts, c->q, aside->part, aside->slot, n, c->hits, c->found,
                                  c->k, c->drops, c->scored);
}

void spector_search_put_aside(spector_search *c, uint32_t part, uint32_t slot) {
    spector_aside *aside = &c->aside;
    const uint8_t *record = (const uint8_t *)spector_record_at(&c->parts[part], slot);
    const uint32_t bytes = c->q->codes ? c->parts[part].stride : SPECTOR_HEADER_BYTES;
    for (uint32_t at = 0; at < bytes; at += 64) SPECTOR_PREFETCH(record + at);
    aside->part[aside->n] = part;
    aside->slot[aside->n++] = slot;
    if (aside->n == SPECTOR_ASIDE) rank_aside(c);
}

/* Of at most a block of records with upper bounds of their cosines, put aside those that can still
 * enter the heap. The gates run again on the records, because an index may lag behind them. */
static void keep_promising(spector_search *c, const uint32_t *part, const uint32_t *slot,
                           const float *bound, uint32_t n) {
    const float floor = spector_floor(c), least = floor - 2e-5f * (1.0f + fabsf(floor));
    float scores[SPECTOR_BLOCK];
    spector_block b;
    b.n = 0;
    b.ahead = NULL;
    for (uint32_t i = 0; i < n; i++) {
        const int phase = spector_gate(&c->parts[part[i]], c->q, slot[i]);
        if (phase != SPECTOR_DROPS) {
            c->drops[phase]++;
            continue;
        }
        b.slots[b.n] = i;
        b.rows[b.n] = spector_record_at(&c->parts[part[i]], slot[i]);
        b.similarity[b.n++] = bound[i];
    }
    if (!b.n) return;
    if (floor > -INFINITY) {
        spector_active.load(c->q, &b);
        spector_active.score(c->q, &b, scores);
    }
    for (uint32_t i = 0; i < b.n; i++) {
        const uint32_t at = b.slots[i];
        /* a bound whose score overflows counts as -INFINITY, and must rule nothing out */
        if (floor > -INFINITY && bound[at] < INFINITY && scores[i] < least && scores[i] > -INFINITY)
            c->drops[SPECTOR_DROP_BOUND]++;
        else
            spector_search_put_aside(c, part[at], slot[at]);
    }
}

/* Lower the bounds of n waiting records of one partition by their fine codes. */
static void refine(spector_search *c, uint32_t first, uint32_t n) {
    spector_waiting *w = &c->waiting;
    float fine[SPECTOR_WAITING], errors[SPECTOR_WAITING];
    spector_sections s;
    spector_index_sections(c->parts[w->part[first]].index, &s);
    if (!s.fine_bytes) return;
    spector_prepare_cue(c->q, &s, &c->cue);
    spector_sketches.fine(&s, &c->cue.cue, w->slot + first, n, fine, errors);
    const float base = c->cue.cue.base, slack = spector_slack(&c->cue.cue);
    for (uint32_t i = 0; i < n; i++) {
        const float bound =
            fine[i] + (c->q->recall_confidence * errors[i] + slack) + base;
        /* INFINITY: nothing may rule this one out */
        if (w->bound[first + i] < INFINITY && bound < w->bound[first + i])
            w->bound[first + i] = bound;
    }
}

static void look_at_waiting(spector_search *c) {
    spector_waiting *w = &c->waiting;
    uint32_t n = 0;
    for (uint32_t at = 0, next; at < w->n; at = next) {
        for (next = at + 1; next < w->n && w->part[next] == w->part[at];) next++;
        refine(c, at, next - at);
    }
    for (uint32_t i = 0; i < w->n; i++) {
        if (w->bound[i] < w->least[i]) {
            c->drops[SPECTOR_DROP_BOUND]++;
            continue;
        }
        SPECTOR_PREFETCH(spector_record_at(&c->parts[w->part[i]], w->slot[i]));
        w->part[n] = w->part[i];
        w->slot[n] = w->slot[i];
        w->bound[n++] = w->bound[i];
    }
    w->n = 0;
    for (uint32_t at = 0, step; at < n; at += step) {
        step = n - at < SPECTOR_BLOCK ? n - at : SPECTOR_BLOCK;
        keep_promising(c, w->part + at, w->slot + at, w->bound + at, step);
    }
}

void spector_search_wait(spector_search *c, uint32_t part, uint32_t slot, float bound,
                         float least) {
    spector_waiting *w = &c->waiting;
    w->part[w->n] = part;
    w->slot[w->n] = slot;
    w->bound[w->n] = bound;
    w->least[w->n++] = least;
    if (w->n == SPECTOR_WAITING) look_at_waiting(c);
}

void spector_search_settle(spector_search *c) {
    if (c->waiting.n) look_at_waiting(c);
    if (c->aside.n) rank_aside(c);
}

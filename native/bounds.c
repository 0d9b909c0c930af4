/* Upper bounds of scores, from a block's extremes or from the query alone, and the cosine that a
 * record needs to reach a floor. */
#include "search.h"

#include <math.h>

static inline float larger(float a, float b) { return a > b ? a : b; }
static inline float smaller(float a, float b) { return a < b ? a : b; }

/* Extremes of a factor table over the codes in a set; bit 31 stands for all codes from 31 on. */
static void factor_range(const float *table, uint32_t set, float *low, float *high) {
    float least = INFINITY, most = 0.0f;
    for (; set; set &= set - 1) {
        uint32_t first = SPECTOR_LOW_BIT(set), last = first < 31 ? first : 255;
        for (uint32_t code = first; code <= last; code++) {
            least = smaller(least, table[code]);
            most = larger(most, table[code]);
        }
    }
    *low *= least;
    *high *= most;
}

static void maybe_factor(int present, float factor, float *low, float *high) {
    if (!present) return;
    *low *= smaller(1.0f, factor);
    *high *= larger(1.0f, factor);
}

/* The block as one imaginary record that has the best of everything. */
static spector_record best_of(const spector_extremes *e) {
    spector_record r = {0};
    r.event_ms = e->event_max;
    r.importance = e->importance_max;
    r.stability_days = e->stability_max;
    r.utility = e->utility_max;
    r.arousal = e->arousal_max;
    r.access_count = e->uses_max;
    r.tags = e->tags_or;
    r.flags = e->flags_or & SPECTOR_FLASHBULB;
    return r;
}

spector_bounds spector_bounds_of(const spector_query *q, const spector_extremes *e) {
    spector_bounds out = {
        .norm = e->norm_max, .error = e->sketch_error_max, .slope = e->sketch_slope_max};
    spector_record best = best_of(e);
    float low = q->confidence[e->confidence_min], high = q->confidence[e->confidence_max];
    factor_range(q->tier, e->tiers, &low, &high);
    factor_range(q->category, e->categories, &low, &high);
    maybe_factor((q->mood > 0 && e->valence_max > 0) || (q->mood < 0 && e->valence_min < 0),
                 q->mood_boost, &low, &high);
    maybe_factor(e->flags_or & SPECTOR_UNRESOLVED, q->unresolved_boost, &low, &high);
    maybe_factor(e->flags_or & SPECTOR_CONSOLIDATED, q->consolidated_factor, &low, &high);
    out.factor_min = low;
    out.factor_max = high;
    const float importance = best.importance;
    best.importance = 0.0f;
    out.rest = spector_other_terms(q, &best, e->used_max);
    out.others = out.rest;
    if (q->w_importance != 0.0f) out.others += q->w_importance * importance;
    if (!(spector_lift(q) > 0.0f)) out.rest = out.others;
    return out;
}

/* The largest of a factor table. */
static float largest(const float *table) {
    float most[16];
    for (uint32_t lane = 0; lane < 16; lane++) most[lane] = table[lane];
    for (uint32_t code = 16; code < 256; code += 16)
        for (uint32_t lane = 0; lane < 16; lane++)
            most[lane] = larger(most[lane], table[code + lane]);
    for (uint32_t lane = 1; lane < 16; lane++) most[0] = larger(most[0], most[lane]);
    return most[0];
}

spector_cap spector_cap_of(const spector_query *q) {
    spector_cap out = {0};
    out.factor = largest(q->confidence) * largest(q->tier) * largest(q->category);
    if (q->mood) out.factor *= larger(1.0f, q->mood_boost);
    out.factor *= larger(1.0f, q->unresolved_boost);
    out.factor *= larger(1.0f, q->consolidated_factor);
    /* the tables never rise; shares are at most 1 */
    out.others = q->w_retention * larger(q->retention[0], q->flashbulb_retention) +
                 q->w_recency * q->recency[0] + q->w_activation + q->w_arousal;
    if (q->overlap_bits) out.others += q->w_tags;
    return out;
}

void spector_widen_bounds(spector_bounds *all, const spector_bounds *one) {
    all->others = larger(all->others, one->others);
    all->rest = larger(all->rest, one->rest);
    all->factor_max = larger(all->factor_max, one->factor_max);
    all->factor_min = smaller(all->factor_min, one->factor_min);
    /* NaN, from a damaged record, must stay */
    all->norm = one->norm <= all->norm ? all->norm : one->norm;
    all->error = larger(all->error, one->error);
    all->slope = larger(all->slope, one->slope);
}

/* The floor is lowered by more than bound and score can be rounded. */
static float least(const spector_query *q, const spector_bounds *b, float others, float floor) {
    if (!(floor > -INFINITY)) return -INFINITY;
    floor -= 2e-5f * (1.0f + fabsf(floor));
    if (q->multiplicative) {
        if (floor <= 0.0f) return -INFINITY;
        float most = q->w_similarity * (1.0f + others) * b->factor_max;
        return q->codes ? (most > 0.0f ? floor / most : INFINITY)
                        : (most >= floor ? -INFINITY : INFINITY);
    }
    float factor = floor > 0.0f ? b->factor_max : b->factor_min;
    if (!(factor > 0.0f)) return floor > 0.0f ? INFINITY : -INFINITY;
    float missing = floor / factor - others;
    if (!q->codes || q->w_similarity == 0.0f) return missing <= 0.0f ? -INFINITY : INFINITY;
    return missing / q->w_similarity;
}

float spector_least_cosine(const spector_query *q, const spector_bounds *b, float floor) {
    return least(q, b, b->others, floor);
}

float spector_least_lifted(const spector_query *q, const spector_bounds *b, float floor) {
    return least(q, b, b->rest, floor);
}

float spector_most_cosine(const spector_cue *cue, const spector_bounds *b) {
    return b->norm <= 1e6f ? b->norm * cue->query_norm * 1.0001f + 1e-5f : INFINITY;
}

float spector_margin(const spector_query *q, const spector_cue *cue, const spector_bounds *b) {
    float deviation = spector_estimate_error(cue, b->error, b->slope, cue->sketched);
    /* half a step of the slope times the signs' product with y, at most sqrt(224) |y| / 2^14, and
     * half a step of A. Beyond 2,048 dimensions steps are double, and a turned y has no more than
     * half its length in the sketch */
    return q->recall_confidence * deviation + (9.2e-4f * cue->norm + 5e-4f);
}

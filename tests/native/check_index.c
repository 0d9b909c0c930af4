/* The scan index under every instruction set.
 *
 * Images, estimates and the cue's sums must be the same bytes under each set: every variant does
 * the same float32 operations in the same order, and sums of bits are whole numbers. What an index
 * rules out must not change what a scan finds: without estimates, and with a bound of 100 standard
 * errors, which no error reaches, hits equal those of the straight scan.
 *
 * Images have exactly spector_index_bytes bytes. They, the records and all lists end at an
 * unreadable page.
 */
#include "stores.h"

#include <stdio.h>
#include <string.h>

enum { LIST = 208 };

/* ---- images ---- */

static void copy_floats(float *to, const float *from, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) to[i] = from[i] == from[i] ? from[i] : NAN;
}

/* Damaged records may leave NaN among a fine code's numbers; which one is of no account. */
static void settle_nans(uint8_t *image, uint32_t rows) {
    spector_sections sections;
    spector_index_sections(image, &sections);
    for (uint32_t i = 1; i <= rows && sections.fine_bytes; i++) {
        uint8_t *last = sections.fine + (size_t)i * sections.fine_bytes;
        float numbers[3];
        memcpy(numbers, last - sizeof numbers, sizeof numbers);
        copy_floats(numbers, numbers, 3);
        memcpy(last - sizeof numbers, numbers, sizeof numbers);
    }
}

static int same_image(const store *s, uint32_t p, uint8_t *image) {
    settle_nans(image, s->indexed[p]);
    settle_nans(s->image[p], s->indexed[p]);
    return !memcmp(image, s->image[p],
                   spector_index_bytes(s->dim, (s->indexed[p] + 63) / 64 * 64));
}

/* Whatever the pieces, and whether records were rewritten before or after. */
static void check_images(const store *s) {
    for (uint32_t c = 0; c < count_caps(); c++) {
        spector_set_caps(nth_caps(c));
        uint8_t *image = append_all(s, 0, s->first_state[0]);
        update_all(s, 0, image);
        total.compared++;
        if (!same_image(s, 0, image)) fail(s, "image", nth_caps(c), 0);
        if (nth_caps(c) != 0 && nth_caps(c) != spector_cpu_caps()) continue;
        if (!same_image(s, 2, append_all(s, 2, s->records[2])))
            fail(s, "refreshed image", nth_caps(c), 2);
    }
}

/* ---- estimates ---- */

typedef struct {
    uint32_t n, *slots;
    float *estimates, *errors;
} list;

/* n slots, padded to a multiple of 16: the last ones as neighbours, or from all over the image with
 * its last row. */
static void any_list(const store *s, uint32_t p, uint32_t n, int neighbours, list *out) {
    const uint32_t room = (n + 15) / 16 * 16;
    static uint32_t *slots_end;
    static float *estimates_end, *errors_end;
    if (!slots_end) {
        slots_end = (uint32_t *)guarded(LIST * 4) + LIST;
        estimates_end = (float *)guarded(LIST * 4) + LIST;
        errors_end = (float *)guarded(LIST * 4) + LIST;
    }
    out->n = n;
    out->slots = slots_end - room;
    out->estimates = estimates_end - room;
    out->errors = errors_end - n;
    for (uint32_t i = 0; i < room; i++) {
        const uint32_t at = i < n ? i : n - 1;
        out->slots[i] = neighbours && n <= s->indexed[p]
                            ? s->indexed[p] - n + at
                            : (s->indexed[p] - 1 + at * 37) % s->indexed[p];
    }
}

typedef struct {
    uint32_t n, slots[LIST];
    float sketch[LIST], fine[LIST], errors[LIST];
} estimates;

static void estimate(const store *s, uint32_t p, uint32_t n, int neighbours, float threshold,
                     const spector_sections *sections, const spector_cue *cue, estimates *out) {
    list l;
    memset(out, 0, sizeof *out);
    any_list(s, p, n, neighbours, &l);
    if (sections->fine_bytes) {
        float *fine = l.estimates + (n + 15) / 16 * 16 - n;
        spector_sketches.fine(sections, cue, l.slots, n, fine, l.errors);
        copy_floats(out->fine, fine, n);
        copy_floats(out->errors, l.errors, n);
    }
    out->n = spector_sketches.sketch(sections->sketch, cue, l.slots, n, threshold, l.estimates);
    memcpy(out->slots, l.slots, out->n * sizeof *l.slots);
    copy_floats(out->sketch, l.estimates, out->n);
}

static int32_t direct_sum(const spector_sections *s, const spector_cue *cue, uint32_t slot,
                          uint32_t from, uint32_t to) {
    int32_t sum = 0;
    for (uint32_t i = from; i < to; i++) {
        const uint32_t at = i < s->sketched ? i : i - s->sketched;
        const uint8_t *code = i < s->sketched ? s->sketch + (size_t)slot * SPECTOR_SKETCH_BYTES
                                              : s->fine + (size_t)slot * s->fine_bytes;
        int32_t level = 0;
        for (int j = 0; j < 4; j++) {
            const uint8_t *plane = i < s->sketched ? cue->head[j] : cue->tail[j];
            level += (plane[at / 8] >> at % 8 & 1 ? 1 : -1) * (1 << j);
        }
        sum += code[at / 8] >> at % 8 & 1 ? level : -level;
    }
    return sum;
}

/* slack: for the roundings of factors */
static void note_error(float estimated, float error, double slack, double cosine) {
    total.estimates++;
    total.outliers += !(fabs(estimated - cosine) <= 4.0 * error + slack);
}

/* Portable estimates against sums made one coordinate at a time, and against cosines. */
static void check_direct(const store *s, uint32_t p, const spector_sections *sections,
                         const spector_cue *cue) {
    estimates got;
    estimate(s, p, 100, 0, -INFINITY, sections, cue, &got);
    if (got.n != 100) fail(s, "portable sketch", 0, got.n);
    for (uint32_t i = 0; i < got.n; i++) {
        const uint32_t slot = got.slots[i];
        const spector_record *r = row(s, s->records[p], slot);
        const int32_t head = direct_sum(sections, cue, slot, 0, cue->sketched);
        const uint8_t *factors = sections->sketch + (size_t)slot * SPECTOR_SKETCH_BYTES + 28;
        const int32_t low = factors[0] | (factors[1] & 15) << 8;
        const int32_t high = factors[1] >> 4 | factors[2] << 4;
        float slope = (float)high * (spector_slope_unit(cue->rotated) * cue->delta), want = INFINITY;
        const float lifted = (float)factors[3] * cue->lift;
        if (high != SPECTOR_NO_SLOPE && factors[3] != SPECTOR_NO_IMPORTANCE)
            want = (float)(low < 2048 ? low : low - 4096) * (1.0f / 1024.0f) + slope * (float)head +
                   lifted;
        if (got.sketch[i] != want) fail(s, "portable sketch", 0, slot);
        if (r->importance >= 0.0f && r->importance <= 1.0f &&
            !(factors[3] >= 254.0f * r->importance && factors[3] < 254.0f * r->importance + 1.001f))
            fail(s, "importance", 0, slot);
        if (!(r->importance <= 1.0f) && factors[3] != SPECTOR_NO_IMPORTANCE)
            fail(s, "importance", 0, slot);
        want -= lifted;
        double dot = 0.0;
        for (uint32_t j = 0; j < s->dim; j++)
            dot += s->query.codes[j] * ((const int8_t *)(r + 1))[j];
        const double cosine = dot * s->query.scale * r->scale - cue->base;
        const spector_extremes *block = &sections->blocks[slot / SPECTOR_INDEX_BLOCK];
        if (is_ordinary(slot) && high == SPECTOR_NO_SLOPE) fail(s, "no estimate", 0, slot);
        if (is_ordinary(slot) && want < INFINITY)
            note_error(want, spector_estimate_error(cue, block->sketch_error_max,
                                                    block->sketch_slope_max, cue->sketched),
                       9.2e-4 * cue->norm + 5e-4, cosine);
        if (!sections->fine_bytes) continue;
        float abe[3];
        memcpy(abe, sections->fine + (size_t)(slot + 1) * sections->fine_bytes - sizeof abe,
               sizeof abe);
        const int32_t all =
            head + direct_sum(sections, cue, slot, cue->sketched, cue->rotated);
        want = abe[0] + abe[1] * cue->delta * (float)all;
        if (got.fine[i] != want && got.fine[i] == got.fine[i]) fail(s, "portable fine", 0, slot);
        if (is_ordinary(slot)) note_error(want, got.errors[i], 3e-4 * cue->norm + 2e-4, cosine);
    }
}

static int same_cue(const spector_cue *a, const spector_cue *b) {
    const uint32_t tail = (a->rotated - a->sketched) / 8;
    for (int j = 0; j < 4; j++)
        if (memcmp(a->tail[j], b->tail[j], tail)) return 0;
    return !memcmp(a->head, b->head, sizeof a->head) && !memcmp(&a->delta, &b->delta, 4) &&
           !memcmp(&a->norm, &b->norm, 4) && !memcmp(&a->lift, &b->lift, 4) &&
           !memcmp(&a->base, &b->base, 4) &&
           !memcmp(&a->query_norm, &b->query_norm, 4) && a->rotated == b->rotated &&
           a->sketched == b->sketched && a->centre_id == b->centre_id;
}

/* The cue's levels against each centre are the same by all instruction sets. */
static void check_cues(const store *s) {
    static spector_indexed_cue want, got;
    for (uint32_t p = 0; p < PARTS - 1; p++) {
        spector_sections sections;
        spector_index_sections(s->image[p], &sections);
        for (uint32_t c = 0; c < count_caps(); c++) {
            spector_indexed_cue *cue = c ? &got : &want;
            memset(cue, c ? 0x55 : 0, sizeof *cue);
            cue->dim = 0;
            spector_set_caps(nth_caps(c));
            spector_prepare_cue(&s->query, &sections, cue);
            total.compared++;
            if (c && !same_cue(&want.cue, &got.cue)) fail(s, "cue", nth_caps(c), p);
        }
    }
}

static void check_estimates(const store *s) {
    static const float thresholds[] = {-INFINITY, 0.0f, 0.3f, INFINITY};
    static spector_indexed_cue indexed;
    static estimates want, got;
    spector_sketch_isa sets[8];
    for (uint32_t c = count_caps(); c--;) {
        spector_set_caps(nth_caps(c));
        sets[c] = spector_sketches;
    }
    for (uint32_t p = 0; p < PARTS - 1; p++) {
        spector_sections sections;
        indexed.dim = 0;
        spector_index_sections(s->image[p], &sections);
        spector_prepare_cue(&s->query, &sections, &indexed);
        spector_sketches = sets[0];
        check_direct(s, p, &sections, &indexed.cue);
        for (uint32_t n = 1; n <= 200; n += n < 34 ? 1 : 83)
            for (int t = 0; t < 8; t++) {
                const float threshold = thresholds[t / 2];
                spector_sketches = sets[0];
                estimate(s, p, n, t % 2, threshold, &sections, &indexed.cue, &want);
                for (uint32_t c = 1; c < count_caps(); c++) {
                    if (!memcmp(&sets[0], &sets[c], sizeof *sets)) continue;
                    spector_sketches = sets[c];
                    estimate(s, p, n, t % 2, threshold, &sections, &indexed.cue, &got);
                    total.compared++;
                    if (memcmp(&want, &got, sizeof want)) fail(s, "estimates", nth_caps(c), n);
                }
            }
    }
}

int check_index(const uint32_t *dims, size_t n, int quick) {
    static store s;
    for (size_t d = 0; d < n; d++) {
        const uint32_t rows = 600000 / (dims[d] + 400), blocks_and_some = 550;
        const int small = quick || rows < blocks_and_some;
        make_store(&s, dims[d], quick && dims[d] > 1000 ? 90 : small ? blocks_and_some : rows);
        check_images(&s);
        check_cues(&s);
        check_estimates(&s);
        check_scans(&s);
        check_stale(&s);
    }
    if (!quick) { /* enough for a sample to set the floor, and for bits in more than one chunk */
        make_store(&s, 16, 33500);
        check_scans(&s);
    }
    const int careless = total.outliers * 100 > total.estimates || total.missed * 100 > total.hits;
    if (total.failed || careless || !total.bounded)
        printf("%llu of %llu estimates are far off, %llu of %llu hits missed, %llu ruled out\n",
               (unsigned long long)total.outliers, (unsigned long long)total.estimates,
               (unsigned long long)total.missed, (unsigned long long)total.hits,
               (unsigned long long)total.bounded);
    return total.failed || careless || !total.bounded;
}

/* Hostile bytes for every entry of the kernel that reads what was on a disk.
 *
 * Partitions and their scan indexes are made once (see ../../native/stores.h); each case changes a
 * few bytes of records, of an image behind its header (which Python has verified by then), and
 * numbers of the query, calls one entry under one instruction set, and puts everything back. All
 * buffers end at an unreadable page. What an entry returns must be in bounds, and every record
 * must be counted once.
 *
 *     fuzz_kernel FIRST COUNT [MS]    cases FIRST .. FIRST + COUNT - 1; each depends on its number
 *                                     only; those that take longer than MS are counted
 */
#include "../../native/stores.h"
#include "slow.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORLDS = 5, MOST_K = 40, UNDO = 64, GIVEN = 70 };

static const uint32_t world_dims[WORLDS] = {1, 16, 100, 272, 384};
static const uint32_t world_rows[WORLDS] = {64, 70, 66, 64, 560};

static store worlds[WORLDS];
static uint64_t number, state;
static spector_hit *hits_end;
static uint8_t *scratch_image[WORLDS];

#if defined(__SANITIZE_ADDRESS__)
void __sanitizer_set_death_callback(void (*callback)(void));
#endif

static void say_case(void) { fprintf(stderr, "\ncase %llu\n", (unsigned long long)number); }

static void broken(const char *what) {
    printf("BROKEN %s\n", what);
    say_case();
    exit(1);
}

static uint64_t any(void) { /* splitmix64: one case, one stream */
    uint64_t z = (state += UINT64_C(0x9E3779B97F4A7C15));
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

static uint32_t below(uint32_t n) { return (uint32_t)(any() % n); }

/* ---- changes that can be undone ---- */

static struct {
    uint8_t *at;
    uint64_t before;
    uint32_t bytes;
} changes[UNDO];
static uint32_t changed;

static void change(uint8_t *at, uint64_t value, uint32_t bytes) {
    if (changed == UNDO) return;
    changes[changed].at = at;
    changes[changed].bytes = bytes;
    changes[changed].before = 0;
    memcpy(&changes[changed].before, at, bytes);
    memcpy(at, &value, bytes);
    changed++;
}

static void undo(void) {
    while (changed) {
        changed--;
        memcpy(changes[changed].at, &changes[changed].before, changes[changed].bytes);
    }
}

static uint32_t hostile_float(void) {
    static const uint32_t bits[] = {
        0x7FC00000, 0xFFC00001, 0x7F800000, 0xFF800000, 0x80000000, 0x00000001, 0x007FFFFF,
        0x7F7FFFFF, 0xFF7FFFFF, 0x00800000, 0x3F800000, 0xBF800000, 0x4F000000, 0x7FA00000};
    return below(4) ? bits[below(sizeof bits / sizeof *bits)] : (uint32_t)any();
}

static uint64_t hostile_word(void) {
    static const uint64_t words[] = {0, UINT64_MAX, INT64_MAX, (uint64_t)INT64_MIN, 1,
                                     UINT64_C(1) << 61, UINT64_C(1) << 32, 0xFFFFFFFF};
    return below(3) ? words[below(sizeof words / sizeof *words)] : any();
}

static void spoil_record(uint8_t *record, uint32_t stride) {
    static const uint8_t floats[] = {4, 44, 48, 52};
    switch (below(6)) {
    case 0: change(record + floats[below(4)], hostile_float(), 4); break;
    case 1: change(record + 8 + 8 * below(3), hostile_word(), 8); break;
    case 2: change(record + 40, any(), 8); break;
    case 3: change(record + 56, hostile_word(), 8); break;
    case 4: change(record + below(stride), any(), 1); break;
    default: change(record + 8 * below(stride / 8), hostile_word(), 8);
    }
}

static void spoil_records(store *s, uint32_t p, uint8_t *records) {
    const uint32_t stride = s->part[p].stride;
    for (uint32_t n = 1 + below(6); n; n--)
        spoil_record(records + (size_t)below(s->rows) * stride, stride);
}

static void spoil_image(store *s, uint32_t p) {
    uint8_t *image = s->image[p];
    spector_sections at;
    spector_index_sections(image, &at);
    const uint64_t bytes = spector_index_bytes(s->dim, at.room);
    for (uint32_t n = 1 + below(8); n; n--) {
        const uint64_t where = SPECTOR_INDEX_HEADER + 4 * (any() % ((bytes - SPECTOR_INDEX_HEADER) / 4));
        switch (below(4)) {
        case 0: change(image + where, hostile_float(), 4); break;
        case 1: change(image + where, any(), 1 + below(4)); break;
        case 2: /* a block of extremes: what decides to pass over 512 records */
            change((uint8_t *)at.blocks + 4 * below(22), hostile_float(), 4);
            break;
        default: change(image + where, hostile_word(), 4);
        }
    }
    /* Python refuses an image that says more rows than the partition or the image has */
    const uint32_t most = s->part[p].count < at.room ? s->part[p].count : at.room;
    if (!below(3)) change((uint8_t *)&at.header->rows, below(most + 1), 4);
    if (!below(4)) change((uint8_t *)&at.header->centre_id, any(), 8);
    if (!below(4)) change((uint8_t *)&at.header->centre_norm2, hostile_float(), 4);
}

/* What Python checks of a query stays as it is: pointers, lengths, the count of masks. */
static void spoil_query(spector_query *q) {
    float *floats[] = {&q->scale, &q->importance_floor, &q->retention_floor, &q->min_similarity,
                       &q->w_similarity, &q->w_importance, &q->w_retention, &q->w_recency,
                       &q->w_activation, &q->w_utility, &q->w_tags, &q->w_arousal,
                       &q->recency_rate, &q->recall_confidence, &q->mood_boost,
                       &q->unresolved_boost, &q->consolidated_factor, &q->flashbulb_retention};
    const uint32_t n = below(4);
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t bits = hostile_float();
        memcpy(floats[below(sizeof floats / sizeof *floats)], &bits, sizeof bits);
    }
    if (!below(4)) q->now_ms = (int64_t)(hostile_word() >> below(4)) / 2;
    if (!below(6)) q->event_min_ms = (int64_t)hostile_word();
    if (!below(6)) q->event_max_ms = (int64_t)hostile_word();
    if (!below(6)) q->tags_all = any() & any() & any();
    if (!below(6)) q->overlap_mask = any();
    if (!below(6)) q->drop_flags = (uint32_t)any();
    if (!below(6)) q->modality_mask = (uint32_t)any();
    if (!below(6)) q->category_mask = (uint32_t)any();
    if (!below(6)) q->valence_min = (int32_t)below(400) - 200;
    if (!below(6)) q->valence_max = (int32_t)below(400) - 200;
    if (!below(6)) q->mood = (int32_t)below(3) - 1;
    q->multiplicative = !below(3);
    q->overlap_bits = spector_popcount(q->overlap_mask);
    q->index_from_rows = below(2) ? 0 : UINT32_MAX;
    if (below(2)) q->recall_confidence = (float)below(5);
}

/* ---- the entries ---- */

static void scan_case(store *s) {
    spector_query q = below(5) ? s->query : s->no_cue;
    spector_part parts[PARTS];
    uint32_t select[PARTS], n = 0;
    uint64_t drops[SPECTOR_DROPS] = {0}, scanned = 0, scored = 0, sum = 0;
    memcpy(parts, s->part, sizeof parts);
    for (uint32_t p = 0; p < PARTS; p++) {
        vary(&q, &parts[p], s->allow, (int)below(VARIANTS));
        if (below(3)) select[n++] = p;
        if (!below(3)) spoil_records(s, p, s->records[p]);
        if (p < PARTS - 1 && below(2)) spoil_image(s, p);
    }
    spoil_query(&q);
    const uint32_t k = 1 + below(below(3) ? 10 : MOST_K);
    const uint32_t found = spector_scan(parts, n ? select : NULL, n ? n : PARTS, &q, hits_end - k,
                                        k, drops, &scanned, &scored);
    if (found > k) broken("more hits than asked for");
    for (uint32_t i = 0; i < found; i++) {
        const spector_hit *hit = hits_end - k + i;
        if (hit->part >= PARTS || hit->slot >= parts[hit->part].count) broken("a hit out of bounds");
        if (hit->id != row(s, s->records[hit->part], hit->slot)->id) broken("another record's id");
    }
    for (int i = 0; i < SPECTOR_DROPS; i++) sum += drops[i];
    if (sum + scored != scanned) broken("records counted twice or never");
}

static void score_case(store *s) {
    static uint32_t *parts_end, *slots_end;
    static float *scores_end, *sims_end;
    if (!parts_end) {
        parts_end = (uint32_t *)guarded(GIVEN * 4) + GIVEN;
        slots_end = (uint32_t *)guarded(GIVEN * 4) + GIVEN;
        scores_end = (float *)guarded(GIVEN * 4) + GIVEN;
        sims_end = (float *)guarded(GIVEN * 4) + GIVEN;
    }
    const uint32_t n = below(GIVEN + 1);
    spector_query q = below(4) ? s->query : s->no_cue;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t p = below(PARTS);
        parts_end[i - (int64_t)n] = p;
        slots_end[i - (int64_t)n] = below(s->part[p].count);
    }
    spoil_records(s, below(PARTS), s->records[below(PARTS)]);
    spoil_query(&q);
    spector_score(s->part, &q, parts_end - n, slots_end - n, n, scores_end - n, sims_end - n);
}

static void index_case(uint32_t w) {
    store *s = &worlds[w];
    const uint32_t p = below(PARTS), stride = s->part[p].stride;
    const uint32_t room = (s->rows + 63) / 64 * 64, n = 1 + below(s->rows);
    uint8_t *image = scratch_image[w];
    spector_part part = s->part[p];
    spoil_records(s, p, s->records[p]);
    memset(image, 0, spector_index_bytes(s->dim, room));
    spector_index_init(image, s->dim, room, below(2) ? s->centre : NULL);
    spector_index_append(image, s->records[p], stride, n);
    spoil_records(s, p, s->records[p]);
    if (below(2)) {
        const uint32_t slots[2] = {below(n), below(n)};
        spector_index_update(image, s->records[p], stride, slots, 2);
    } else {
        spector_index_refresh(image, s->records[p], stride);
    }
    spector_query q = s->query;
    spoil_query(&q);
    uint64_t drops[SPECTOR_DROPS] = {0}, scanned = 0, scored = 0;
    q.index_from_rows = 0;
    part.index = image;
    part.count = n;
    if (spector_scan(&part, NULL, 1, &q, hits_end - 5, 5, drops, &scanned, &scored) > 5)
        broken("more hits than asked for");
}

static void sums_case(store *s) {
    static uint32_t *out_end;
    if (!out_end) out_end = (uint32_t *)guarded(1024 * 4) + 1024;
    const uint32_t p = below(PARTS), stride = s->part[p].stride, n = 1 + below(20);
    const uint8_t *end = s->records[p] + (size_t)s->rows * stride;
    spoil_records(s, p, s->records[p]);
    spector_crc32c_rows(end - (size_t)n * stride, n, stride, (uint32_t)any(), out_end - n);
    const uint32_t bytes = below(3 * stride);
    uint32_t whole = spector_crc32c(end - bytes, bytes, 7), cut = bytes ? below(bytes) : 0;
    if (whole != spector_crc32c(end - bytes + cut, bytes - cut, spector_crc32c(end - bytes, cut, 7)))
        broken("a checksum in two pieces");
    spector_stream(end - bytes / 8 * 8, bytes / 8 * 8);
    float x[SPECTOR_INDEX_MAX_DIM];
    const uint32_t rotated = (s->dim + 63) / 64 * 64;
    for (uint32_t i = 0; i < rotated; i++) {
        const uint32_t bits = hostile_float();
        memcpy(&x[i], &bits, sizeof bits);
    }
    spector_rotate_f32(x, rotated);
}

static void one_case(void) {
    state = number * UINT64_C(0xD1B54A32D192ED03) + 1;
    const uint32_t pick = below(100);
    /* the large world, whose blocks are whole, costs ten times as much */
    const uint32_t w = pick < 1 ? 4 : pick % 4;
    switch (below(8)) {
    case 0: score_case(&worlds[w]); break;
    case 1: sums_case(&worlds[w]); break;
    case 2: index_case(w == 4 && below(4) ? 1 : w); break;
    default: scan_case(&worlds[w]);
    }
    undo();
}

int main(int argc, char **argv) {
    if (argc != 3 && argc != 4) return 2;
    if (argc == 4) slow_limit(argv[3]);
    const uint64_t first = strtoull(argv[1], NULL, 10), count = strtoull(argv[2], NULL, 10);
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_set_death_callback(say_case);
#endif
    hits_end = (spector_hit *)guarded(MOST_K * sizeof *hits_end) + MOST_K;
    spector_set_caps(0);
    for (uint32_t w = 0; w < WORLDS; w++) {
        make_store(&worlds[w], world_dims[w], world_rows[w]);
        const uint32_t room = (world_rows[w] + 63) / 64 * 64;
        scratch_image[w] = guarded(spector_index_bytes(world_dims[w], room));
    }
    slow_begin();
    for (number = first; number < first + count; number++) {
        /* changing sets is not free: a thousand cases each, by their number */
        if (number == first || number % 1000 == 0)
            spector_set_caps(nth_caps((uint32_t)(number / 1000) % count_caps()));
        one_case();
        slow_end(number);
    }
    printf("executions %llu hangs %llu\n", (unsigned long long)count, (unsigned long long)slow_cases);
    return 0;
}

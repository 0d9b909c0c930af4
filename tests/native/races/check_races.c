/* The kernel between threads, for the thread sanitizer: what Python threads do to it at once.
 *
 * usage: check_races ROUNDS copies | in-place | canary
 *
 * A writer appends to a partition and its index, publishes, and rewrites mutable halves. Records
 * change as those of the store do: by pwrite to a file that scans map read-only, so that no store
 * of this process touches what a scan reads. Meanwhile others scan what was published when they
 * looked, in chunks that they share and into neighbouring rows of one output, score given records
 * and compute checksums.
 *
 *   copies    each change makes a new image of the index: there is nothing to forgive
 *   in-place  as the store does it, an image changes under the scans that read it; the sanitizer is
 *             told to forgive that, see suppressions.txt, and nothing else
 *   canary    two threads write the same row of output, which has to be found
 */
#define _GNU_SOURCE
#include "../worlds.h"

#include "index.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { DIM = 100, STRIDE = SPECTOR_HEADER_BYTES + 128, ROOM = 4096, FIRST = 700, K = 10 };
enum { SCANNERS = 3, CHUNK_PARTS = 4, PARTS = 12 };

static int file; /* of all partitions, one after the other */
static const uint8_t *map;
static uint8_t *_Atomic image[PARTS];
static size_t image_bytes;
static atomic_uint count[PARTS]; /* slots that are published */
static atomic_uint writer_done, next_chunk, scans;
static spector_query query;
static uint32_t rounds = 60;
static int canary, in_place;

/* Rows of one array, as parallel chunks fill them; not aligned to cache lines. */
static struct {
    spector_hit hits[K];
    uint64_t drops[SPECTOR_DROPS], scanned, scored;
    uint32_t crc[7];
} out[SCANNERS];

static const uint8_t *records_of(uint32_t p) { return map + (size_t)p * ROOM * STRIDE; }

static void put(uint32_t p, uint32_t slot, size_t at, const void *bytes, size_t n) {
    const off_t where = (off_t)(((size_t)p * ROOM + slot) * STRIDE + at);
    if (pwrite(file, bytes, n, where) != (ssize_t)n) abort();
}

/* The image to change, and to publish then. */
static uint8_t *changing(uint32_t p) {
    uint8_t *current = atomic_load(&image[p]);
    if (in_place) return current;
    uint8_t *copy = aligned_alloc(64, image_bytes);
    if (!copy) abort();
    return memcpy(copy, current, image_bytes);
}

static void append(uint32_t p, uint32_t n) {
    static uint8_t record[STRIDE];
    const uint32_t first = atomic_load(&count[p]);
    for (uint32_t i = first; i < first + n; i++) {
        memset(record, 0, sizeof record);
        fill_record((spector_record *)record, i % 13 == 12 ? i - 1 : i, DIM);
        put(p, i, 0, record, sizeof record);
    }
    uint8_t *changed = changing(p);
    spector_index_append(changed, records_of(p), STRIDE, n);
    atomic_store_explicit(&image[p], changed, memory_order_release);
    atomic_store_explicit(&count[p], first + n, memory_order_release);
}

static void change(uint32_t p) {
    static uint32_t rewritten;
    uint32_t slots[5];
    spector_record record;
    for (uint32_t i = 0; i < 5; i++) {
        slots[i] = (uint32_t)(random_u64() % atomic_load(&count[p]));
        memcpy(&record, records_of(p) + (size_t)slots[i] * STRIDE, sizeof record);
        record.flags ^= (uint16_t)(1u << random_u64() % 9);
        record.importance = random_unit();
        record.access_count++;
        put(p, slots[i], 40, (uint8_t *)&record + 40, 24);
    }
    uint8_t *changed = changing(p);
    spector_index_update(changed, records_of(p), STRIDE, slots, 5);
    if (rewritten++ % 16 == 7) spector_index_refresh(changed, records_of(p), STRIDE);
    atomic_store_explicit(&image[p], changed, memory_order_release);
}

static void *write_all(void *unused) {
    (void)unused;
    for (uint32_t round = 0; round < rounds; round++) {
        const uint32_t p = (uint32_t)(random_u64() % PARTS);
        if (atomic_load(&count[p]) + 40 < ROOM) append(p, 1 + (uint32_t)(random_u64() % 40));
        change((p + 1) % PARTS);
    }
    atomic_store(&writer_done, 1);
    return NULL;
}

static void look(uint32_t me) {
    spector_part parts[PARTS];
    uint32_t select[CHUNK_PARTS], given[3], slots[3];
    float scores[3], similarity[3];
    memset(parts, 0, sizeof parts);
    for (uint32_t p = 0; p < PARTS; p++) {
        parts[p].data = records_of(p);
        parts[p].stride = STRIDE;
        parts[p].count = atomic_load_explicit(&count[p], memory_order_acquire);
        if (p % 4 != 3) parts[p].index = atomic_load_explicit(&image[p], memory_order_acquire);
    }
    const uint32_t chunk = atomic_fetch_add(&next_chunk, 1) % (PARTS / CHUNK_PARTS);
    for (uint32_t i = 0; i < CHUNK_PARTS; i++) select[i] = chunk * CHUNK_PARTS + i;
    const uint32_t row = canary ? 0 : me;
    const uint32_t n = spector_scan(parts, select, CHUNK_PARTS, &query, out[row].hits, K,
                                    out[row].drops, &out[row].scanned, &out[row].scored);
    for (uint32_t i = 0; i < 3; i++) {
        given[i] = i < n ? out[row].hits[i].part : i;
        slots[i] = i < n ? out[row].hits[i].slot : i;
    }
    spector_score(parts, &query, given, slots, 3, scores, similarity);
    spector_crc32c_rows(records_of(given[0]) + (size_t)slots[0] * STRIDE, 1, STRIDE, me,
                        out[row].crc);
    atomic_fetch_add(&scans, 1);
}

static void *scan_all(void *number) {
    const uint32_t me = (uint32_t)(uintptr_t)number;
    do
        look(me);
    while (!atomic_load(&writer_done));
    return NULL;
}

static void make_all(void) {
    const size_t bytes = (size_t)PARTS * ROOM * STRIDE;
    file = memfd_create("partitions", 0);
    if (file < 0 || ftruncate(file, (off_t)bytes)) abort();
    map = mmap(NULL, bytes, PROT_READ, MAP_SHARED, file, 0);
    if (map == MAP_FAILED) abort();
    image_bytes = (spector_index_bytes(DIM, ROOM) + 63) / 64 * 64;
    fill_query(&query, (DIM + 63) / 64 * 64, DIM);
    query.recall_confidence = 3.0f;
    for (uint32_t p = 0; p < PARTS; p++) {
        uint8_t *fresh = aligned_alloc(64, image_bytes);
        if (!fresh) abort();
        spector_index_init(fresh, DIM, ROOM, NULL);
        atomic_store(&image[p], fresh);
        atomic_store(&count[p], 0);
        append(p, FIRST);
    }
}

int main(int argc, char **argv) {
    pthread_t threads[SCANNERS + 1];
    uint32_t sets = 0;
    if (argc != 3) return 2;
    rounds = (uint32_t)atoi(argv[1]);
    in_place = !strcmp(argv[2], "in-place");
    canary = !strcmp(argv[2], "canary");
    /* as the library is loaded: once, before there is any thread that scans */
    const uint32_t caps[] = {0, spector_cpu_caps()};
    for (uint32_t i = 0; i < 2; i++, sets++) {
        spector_set_caps(caps[i]);
        make_all();
        atomic_store(&writer_done, 0);
        for (uintptr_t t = 0; t < SCANNERS; t++)
            if (pthread_create(&threads[t], NULL, scan_all, (void *)t)) abort();
        if (pthread_create(&threads[SCANNERS], NULL, write_all, NULL)) abort();
        for (uint32_t t = 0; t <= SCANNERS; t++) pthread_join(threads[t], NULL);
    }
    printf("sets %u scans %u rounds %u\n", sets, atomic_load(&scans), sets * rounds);
    return 0;
}

/* Every entry of the kernel in buffers of every size, with an unreadable page at either side.
 *
 * The kernel allocates nothing: what it may touch are its caller's buffers. Here each result has
 * exactly as much room as was said, from nothing at all on, once against the page behind it and
 * once against the page before it; arguments that are const lie on pages that cannot be written.
 * What fits must be what a caller with more room gets.
 *
 *     check_fences [most]      sizes up to most (70)
 *     check_fences canary      says that there is room for one hit more than there is: must crash
 */
#define _GNU_SOURCE
#include "../stores.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { DIM = 100, ROWS = 200, MOST = 128 };

static uint64_t steps;
static uint32_t page;

static void broken(const char *what, uint32_t n, uint32_t caps) {
    printf("BROKEN %s, size %u, caps %x\n", what, n, caps);
    exit(1);
}

/* n bytes that no neighbour may touch: at the end of their pages, or at their beginning. */
typedef struct {
    uint8_t *pages, *at;
    size_t room;
} fence;

static fence fenced(size_t n, size_t align, int behind) {
    fence f;
    f.room = (n + page - 1) / page * page;
    f.pages = mmap(NULL, f.room + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (f.pages == MAP_FAILED) abort();
    if (f.room && mprotect(f.pages + page, f.room, PROT_READ | PROT_WRITE)) abort();
    f.at = f.pages + page + (behind ? 0 : (f.room - n) / align * align);
    if (f.room) memset(f.pages + page, 0xA5, f.room);
    return f;
}

static void read_only(const fence *f) {
    if (f->room && mprotect(f->pages + page, f->room, PROT_READ)) abort();
}

static void release(fence *f) { munmap(f->pages, f->room + 2 * page); }

/* Beside the n bytes nothing of the pages was written. */
static void untouched(const fence *f, size_t n, const char *what, uint32_t caps) {
    for (const uint8_t *p = f->pages + page; p < f->pages + page + f->room; p++)
        if ((p < f->at || p >= f->at + n) && *p != 0xA5) broken(what, (uint32_t)n, caps);
    steps++;
}

static store world;
static spector_part parts[PARTS];

/* The records and images of the world once more, where nobody can write. */
static void seal_world(void) {
    memcpy(parts, world.part, sizeof parts);
    for (uint32_t p = 0; p < PARTS; p++) {
        const size_t n = (size_t)world.rows * parts[p].stride;
        fence f = fenced(n, 64, 0);
        memcpy(f.at, world.records[p], n);
        read_only(&f);
        parts[p].data = f.at;
        if (!parts[p].index) continue;
        spector_sections s;
        spector_index_sections(world.image[p], &s);
        const size_t bytes = spector_index_bytes(world.dim, s.room);
        fence g = fenced(bytes, 64, 0);
        memcpy(g.at, world.image[p], bytes);
        read_only(&g);
        parts[p].index = g.at;
    }
}

static void scans(uint32_t most, uint32_t caps, int behind) {
    static spector_hit all[MOST];
    spector_query q = world.query;
    for (int indexed = 0; indexed < 2; indexed++) {
        q.index_from_rows = indexed ? 0 : UINT32_MAX;
        q.recall_confidence = 0.0f;
        uint64_t drops[SPECTOR_DROPS] = {0}, scanned = 0, scored = 0;
        const uint32_t found =
            spector_scan(parts, NULL, PARTS, &q, all, most, drops, &scanned, &scored);
        for (uint32_t k = 0; k <= most; k++) {
            fence hits = fenced(k * sizeof *all, 8, behind);
            fence counts = fenced(sizeof drops, 8, behind);
            memset(counts.at, 0, sizeof drops);
            uint64_t seen = 0, ranked = 0;
            const uint32_t n = spector_scan(parts, NULL, PARTS, &q, (spector_hit *)hits.at, k,
                                            (uint64_t *)counts.at, &seen, &ranked);
            if (n != (k < found ? k : found) || memcmp(hits.at, all, n * sizeof *all))
                broken("hits that fit", k, caps);
            if (seen != scanned) broken("records seen", k, caps);
            untouched(&hits, k * sizeof *all, "beside the hits", caps);
            untouched(&counts, sizeof drops, "beside the counters", caps);
            release(&hits);
            release(&counts);
        }
    }
    uint64_t drops[SPECTOR_DROPS] = {0}, scanned = 0, scored = 0;
    if (spector_scan(parts, NULL, 0, &q, NULL, 0, drops, &scanned, &scored) || scanned || scored)
        broken("hits of nothing", 0, caps);
}

static void scores(uint32_t most, uint32_t caps, int behind) {
    float all[MOST], cosines[MOST];
    uint32_t part[MOST], slot[MOST];
    for (uint32_t i = 0; i < most; i++) {
        part[i] = i % PARTS;
        slot[i] = (i * 37) % parts[i % PARTS].count;
    }
    spector_score(parts, &world.query, part, slot, most, all, cosines);
    for (uint32_t n = 0; n <= most; n++) {
        fence f[4];
        for (int i = 0; i < 4; i++) f[i] = fenced(n * 4, 4, behind);
        memcpy(f[0].at, part, n * 4);
        memcpy(f[1].at, slot, n * 4);
        read_only(&f[0]);
        read_only(&f[1]);
        spector_score(parts, &world.query, (uint32_t *)f[0].at, (uint32_t *)f[1].at, n,
                      (float *)f[2].at, (float *)f[3].at);
        if (memcmp(f[2].at, all, n * 4)) broken("scores that fit", n, caps);
        for (int i = 2; i < 4; i++) untouched(&f[i], n * 4, "beside the scores", caps);
        for (int i = 0; i < 4; i++) release(&f[i]);
    }
}

static void sums(uint32_t most, uint32_t caps, int behind) {
    const uint32_t stride = parts[0].stride;
    uint32_t all[MOST];
    spector_crc32c_rows(parts[0].data, most, stride, 7, all);
    for (uint32_t n = 0; n <= most; n++) {
        fence out = fenced(n * 4, 4, behind), in = fenced(n * 8 + n % 8, 1, behind);
        spector_crc32c_rows(parts[0].data, n, stride, 7, (uint32_t *)out.at);
        if (memcmp(out.at, all, n * 4)) broken("sums that fit", n, caps);
        untouched(&out, n * 4, "beside the sums", caps);
        read_only(&in);
        const size_t bytes = n * 8 + n % 8;
        const uint32_t half = spector_crc32c(in.at, bytes / 2, 0);
        if (spector_crc32c(in.at, bytes, 0) !=
            spector_crc32c(in.at + bytes / 2, bytes - bytes / 2, half))
            broken("a sum in pieces", n, caps);
        release(&out);
        release(&in);
        fence words = fenced(n * 64, 64, behind);
        if (n) memset(words.at, 0, 8);
        read_only(&words);
        if (spector_stream(words.at, n * 64) != (n ? UINT64_C(0xA5A5A5A5A5A5A5A5) : 0))
            broken("a stream", n, caps);
        release(&words);
    }
}

static void images(uint32_t most, uint32_t caps, int behind) {
    const uint32_t stride = parts[0].stride;
    for (uint32_t room = 64; room <= (most + 63) / 64 * 64; room += 64)
        for (uint32_t n = 0; n <= room && n <= ROWS; n += 1 + n / 4) {
            const size_t bytes = spector_index_bytes(DIM, room);
            fence image = fenced(bytes, 64, behind), slots = fenced(n * 4, 4, behind);
            fence records = fenced((size_t)n * stride, 64, behind);
            memset(image.at, 0, bytes);
            memcpy(records.at, parts[0].data, (size_t)n * stride);
            for (uint32_t i = 0; i < n; i++) ((uint32_t *)slots.at)[i] = n - 1 - i;
            read_only(&records);
            read_only(&slots);
            spector_index_init(image.at, DIM, room, n % 2 ? world.centre : NULL);
            spector_index_append(image.at, records.at, stride, n / 2);
            spector_index_append(image.at, records.at, stride, n - n / 2);
            spector_index_update(image.at, records.at, stride, (uint32_t *)slots.at, n);
            spector_index_refresh(image.at, records.at, stride);
            untouched(&image, bytes, "beside the image", caps);
            spector_hit hits[3];
            uint64_t drops[SPECTOR_DROPS] = {0}, scanned = 0, scored = 0;
            spector_part part = {records.at, NULL, image.at, n, stride};
            spector_query q = world.query;
            q.index_from_rows = 0;
            read_only(&image);
            if (spector_scan(&part, NULL, 1, &q, hits, 3, drops, &scanned, &scored) > n)
                broken("hits of an image", n, caps);
            release(&image);
            release(&records);
            release(&slots);
        }
}

int main(int argc, char **argv) {
    page = (uint32_t)sysconf(_SC_PAGESIZE);
    make_store(&world, DIM, ROWS);
    seal_world();
    if (argc > 1 && !strcmp(argv[1], "canary")) {
        uint64_t drops[SPECTOR_DROPS] = {0}, scanned = 0, scored = 0;
        fence hits = fenced(9 * sizeof(spector_hit), 8, 0);
        spector_scan(parts, NULL, PARTS, &world.query, (spector_hit *)hits.at, 10, drops, &scanned,
                     &scored);
        printf("nothing happened\n");
        return 0;
    }
    const uint32_t asked = argc > 1 ? (uint32_t)atoi(argv[1]) : 70;
    const uint32_t most = asked < MOST ? asked : MOST;
    for (uint32_t c = 0; c < count_caps(); c++)
        for (int behind = 0; behind < 2; behind++) {
            spector_set_caps(nth_caps(c));
            scans(most, nth_caps(c), behind);
            scores(most, nth_caps(c), behind);
            sums(most, nth_caps(c), behind);
            images(most, nth_caps(c), behind);
        }
    printf("steps %llu, sets %u\n", (unsigned long long)steps, count_caps());
    return 0;
}

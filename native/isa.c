/* Instruction sets: what this machine has, and the table of what is used.
 *
 * Functions are named spector_{op}_{dtype}_{isa}. A wheel has one baseline: every variant beyond it
 * carries its own target attribute, and nothing is compiled with -march. To add a variant: write it
 * beside its siblings, declare it in spector.h and pick it in choose() below; to add a set, also
 * give it a SPECTOR_CAP bit and detect it. The tests force every bit alone and all together.
 */
#include "index.h"

#if SPECTOR_NEON && defined(__linux__)
#include <sys/auxv.h>
#endif

#define PORTABLE                                                                                  \
    {spector_gate_rec_portable,     spector_dot_i8_portable,    spector_run_i8_portable,           \
     spector_load_rec_portable,     spector_score_f32_portable, spector_crc32c_u8_portable,        \
     spector_popcount_u64_portable, spector_and_u64_portable,   spector_positions_u64_portable}

spector_isa spector_active = PORTABLE;

#if SPECTOR_X86
static uint32_t x86_caps(void) {
    uint32_t caps = 0;
    /* __builtin_cpu_supports also asks whether the system saves the registers */
    __builtin_cpu_init();
    if (__builtin_cpu_supports("sse4.2")) caps |= SPECTOR_CAP_SSE42;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt") &&
        __builtin_cpu_supports("bmi"))
        caps |= SPECTOR_CAP_AVX2;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512vnni"))
        caps |= SPECTOR_CAP_AVX512;
    if ((caps & SPECTOR_CAP_AVX512) && __builtin_cpu_supports("avx512vpopcntdq") &&
        __builtin_cpu_supports("avx512bitalg"))
        caps |= SPECTOR_CAP_AVX512POP;
    return caps;
}

static void choose(uint32_t caps, spector_isa *isa) {
    if (caps & SPECTOR_CAP_SSE42) isa->crc32c = spector_crc32c_u8_sse42;
    if (caps & SPECTOR_CAP_AVX2) {
        isa->dot = spector_dot_i8_avx2;
        isa->run = spector_run_i8_avx2;
        isa->score = spector_score_f32_avx2;
        isa->popcount = spector_popcount_u64_avx2;
        isa->and_slices = spector_and_u64_avx2;
        isa->positions = spector_positions_u64_avx2;
    }
    if (caps & SPECTOR_CAP_AVX512) {
        isa->gate = spector_gate_rec_avx512;
        isa->and_slices = spector_and_u64_avx512;
        isa->positions = spector_positions_u64_avx512;
        isa->dot = spector_dot_i8_avx512;
        isa->run = spector_run_i8_avx512;
        isa->load = spector_load_rec_avx512;
        isa->score = spector_score_f32_avx512;
    }
    if (caps & SPECTOR_CAP_AVX512POP) isa->popcount = spector_popcount_u64_avx512pop;
}
#endif

#if SPECTOR_NEON
/* NEON is part of the aarch64 baseline; the dot product is not. */
static uint32_t neon_caps(void) {
#if defined(__linux__)
    const unsigned long asimddp = 1ul << 20; /* HWCAP_ASIMDDP */
    return SPECTOR_CAP_NEON | (getauxval(AT_HWCAP) & asimddp ? SPECTOR_CAP_DOTPROD : 0);
#elif defined(__ARM_FEATURE_DOTPROD)
    return SPECTOR_CAP_NEON | SPECTOR_CAP_DOTPROD;
#else
    return SPECTOR_CAP_NEON;
#endif
}

static void choose(uint32_t caps, spector_isa *isa) {
    if (caps & SPECTOR_CAP_NEON) {
        isa->dot = spector_dot_i8_neon;
        isa->run = spector_run_i8_neon;
        isa->popcount = spector_popcount_u64_neon;
    }
    if (caps & SPECTOR_CAP_DOTPROD) {
        isa->dot = spector_dot_i8_dotprod;
        isa->run = spector_run_i8_dotprod;
    }
}
#endif

uint32_t spector_cpu_caps(void) {
#if SPECTOR_X86
    return x86_caps();
#elif SPECTOR_NEON
    return neon_caps();
#else
    return 0;
#endif
}

uint32_t spector_set_caps(uint32_t mask) {
    const uint32_t caps = spector_cpu_caps() & mask;
    spector_isa chosen = PORTABLE;
    spector_crc_init();
    spector_index_setup(caps);
    spector_sketch_setup(caps);
#if SPECTOR_X86 || SPECTOR_NEON
    choose(caps, &chosen);
#endif
    spector_active = chosen;
    return caps;
}

uint64_t spector_stream(const uint8_t *data, size_t n) {
    const uint64_t *words = (const uint64_t *)data;
    uint64_t sums[8] = {0};
    size_t count = n / 64;
    for (size_t i = 0; i < count; i++)
        for (int lane = 0; lane < 8; lane++) sums[lane] ^= words[8 * i + (size_t)lane];
    for (int lane = 1; lane < 8; lane++) sums[0] ^= sums[lane];
    return sums[0];
}

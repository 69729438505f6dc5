/* SPDX-License-Identifier: Apache-2.0 */
/* fill_bench - how long it takes to fill an array from the answer of a batch.
 *
 *     fill_bench [rounds] [--only CASE REPEATS]
 *
 * 200 records are encoded as a server sends them: 5 meta bins and 64 floats, or the
 * floats alone. Every case has three works, which run interleaved, one after the other
 * in each round, so that a change of the CPU's clock meets all of them: the fill, a
 * walk over the ops that looks at their lengths only, and a copy of the answer's bytes.
 * "Hot" takes the same answer each time, "cold" one of 300 in turn, more than the
 * caches hold.
 *
 * `--only` runs the fill of one case, for valgrind --tool=callgrind. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <aeroloop/column.h>

#include "wire/msg.h"
#include "wire/result.h"

#define ROWS 200
#define META_BINS 5
#define FLOAT_BINS 64
#define BINS_MAX (META_BINS + FLOAT_BINS)
#define COLD_ANSWERS 300
#define FILLS_PER_SAMPLE 20
#define DEFAULT_ROUNDS 201
#define WORK_COUNT 3

typedef struct bench_case {
    const char *name;
    int meta_bins;
    int floats; /* sent */
    int wanted;
    bool shuffled;
    bool drop_some; /* each record lacks some of its bins */
    int answers;
    uint32_t flags;
    bool validity;
} bench_case;

static const bench_case CASES[] = {
    {"69 sent, 64 wanted, hot", META_BINS, 64, 64, false, false, 1, 0, false},
    {"69 sent, 64 wanted, cold", META_BINS, 64, 64, false, false, COLD_ANSWERS, 0,
     false},
    {"the same, hot, validity", META_BINS, 64, 64, false, false, 1, AERO_FILL_LENIENT,
     true},
    {"64 sent, 64 wanted, hot", 0, 64, 64, false, false, 1, 0, false},
    {"64 sent, 64 wanted, strict", 0, 64, 64, false, false, 1, AERO_FILL_STRICT, false},
    {"69 sent, 8 wanted, hot", META_BINS, 64, 8, false, false, 1, 0, false},
    {"8 sent, 8 wanted, hot", 0, 8, 8, false, false, 1, 0, false},
    {"69 sent in random order", META_BINS, 64, 64, true, false, 1, 0, false},
    {"69 sent, one in ten absent", META_BINS, 64, 64, false, true, 1, 0, false},
};
#define CASE_COUNT (sizeof CASES / sizeof CASES[0])

typedef struct answer {
    aero_batch *batch;
    uint8_t *bytes;
    size_t len;
} answer;

typedef struct fixture {
    const bench_case *setup;
    aero_plan *plan;
    answer *answers;
    size_t next; /* answer of the next fill */
    float *rows;
    bool *validity;
    uint8_t *copy;
    double *samples[WORK_COUNT]; /* ns per fill */
} fixture;

static uint64_t random_state = 88172645463325252u;

static uint32_t
random_below(uint32_t bound)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (uint32_t)(random_state >> 32) % bound;
}

static void *
need(void *memory)
{
    if (memory == NULL) {
        (void)fputs("out of memory\n", stderr);
        exit(1);
    }
    return memory;
}

/* CPU time: what other processes take of the machine is not ours. */
static uint64_t
now_ns(void)
{
    struct timespec ts;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void
bin_put(aeroi_buf *buf, int bin, int meta_bins, int row)
{
    static const char *const META[META_BINS] = {"id", "name", "version", "created",
                                                "source"};
    if (bin < meta_bins) {
        char text[32];
        int len = snprintf(text, sizeof text, "user-%d", row * 37);
        aero_value value = bin == 1 || bin == 4 ? aero_value_string(text, (size_t)len)
                                                : aero_value_int(1700000000 + row);
        aeroi_op_put(buf, AERO_OP_READ, META[bin], strlen(META[bin]), &value);
        return;
    }
    char name[16];
    int len = snprintf(name, sizeof name, "f%d", bin - meta_bins);
    aero_value value = aero_value_float((double)((row * 31 + bin) % 1000) / 8.0);
    aeroi_op_put(buf, AERO_OP_READ, name, (size_t)len, &value);
}

static void
answer_make(answer *out, const bench_case *setup)
{
    if (aeroi_batch_new(NULL, ROWS, &out->batch) != AERO_OK) {
        (void)need(NULL);
    }
    aeroi_buf buf;
    aeroi_buf_init(&buf, NULL);
    int bins = setup->meta_bins + setup->floats;
    size_t ends[ROWS];
    for (int row = 0; row < ROWS; row++) {
        int order[BINS_MAX];
        for (int i = 0; i < bins; i++) {
            order[i] = i;
        }
        for (int i = bins - 1; setup->shuffled && i > 0; i--) {
            int j = (int)random_below((uint32_t)i + 1);
            int swapped = order[i];
            order[i] = order[j];
            order[j] = swapped;
        }
        for (int i = 0; i < bins; i++) {
            if (!setup->drop_some || random_below(10) != 0) {
                bin_put(&buf, order[i], setup->meta_bins, row);
                out->batch->rows[row].n_ops++;
            }
        }
        ends[row] = buf.len;
    }
    out->bytes = need(buf.failed ? NULL : buf.data);
    out->len = buf.len;
    for (int row = 0; row < ROWS; row++) {
        size_t start = row == 0 ? 0 : ends[row - 1];
        out->batch->rows[row].ops = out->bytes + start;
        out->batch->rows[row].ops_len = (uint32_t)(ends[row] - start);
        out->batch->rows[row].status = AERO_OK;
    }
}

static void
fixture_init(fixture *f, const bench_case *setup, int rounds)
{
    memset(f, 0, sizeof *f);
    f->setup = setup;
    aero_field fields[FLOAT_BINS];
    char names[FLOAT_BINS][8];
    memset(fields, 0, sizeof fields);
    for (int i = 0; i < setup->wanted; i++) {
        fields[i].name = names[i];
        fields[i].name_len = (size_t)snprintf(names[i], sizeof names[i], "f%d", i);
        fields[i].kind = AERO_FIELD_FLOAT;
        fields[i].itemsize = sizeof(float);
        fields[i].count = 1;
        fields[i].offset = (size_t)i * sizeof(float);
    }
    size_t row_size = (size_t)setup->wanted * sizeof(float);
    if (aero_plan_new(NULL, fields, (size_t)setup->wanted, row_size, &f->plan, NULL) !=
        AERO_OK) {
        (void)need(NULL);
    }
    f->answers = need(calloc((size_t)setup->answers, sizeof *f->answers));
    size_t longest = 0;
    for (int i = 0; i < setup->answers; i++) {
        answer_make(&f->answers[i], setup);
        longest = f->answers[i].len > longest ? f->answers[i].len : longest;
    }
    f->rows = need(calloc(ROWS, row_size));
    f->validity = need(calloc(ROWS, (size_t)setup->wanted));
    f->copy = need(malloc(longest));
    for (int i = 0; i < WORK_COUNT; i++) {
        f->samples[i] = need(calloc((size_t)rounds, sizeof(double)));
    }
}

static void
fixture_deinit(fixture *f)
{
    for (int i = 0; i < f->setup->answers; i++) {
        aero_batch_unref(f->answers[i].batch);
        free(f->answers[i].bytes);
    }
    for (int i = 0; i < WORK_COUNT; i++) {
        free(f->samples[i]);
    }
    aero_plan_unref(f->plan);
    free(f->answers);
    free(f->rows);
    free(f->validity);
    free(f->copy);
}

static void
work_fill(fixture *f, const answer *a)
{
    aero_fill fill;
    aero_fill_init(&fill);
    fill.rows = f->rows;
    fill.stride = f->setup->wanted * (ptrdiff_t)sizeof(float);
    fill.row_count = ROWS;
    fill.flags = f->setup->flags;
    fill.validity = f->setup->validity ? f->validity : NULL;
    if (aero_column_fill(a->batch, f->plan, &fill, NULL) != AERO_OK) {
        (void)fputs("the fill failed\n", stderr);
        exit(1);
    }
}

static void
work_walk(fixture *f, const answer *a)
{
    (void)f;
    for (size_t i = 0; i < a->batch->count; i++) {
        const aeroi_row *row = &a->batch->rows[i];
        aeroi_reader reader;
        aeroi_reader_init(&reader, row->ops, row->ops_len);
        if (aeroi_ops_skip(&reader, row->n_ops) != AERO_OK) {
            exit(1);
        }
    }
}

static void
work_copy(fixture *f, const answer *a)
{
    memcpy(f->copy, a->bytes, a->len);
    /* The compiler must not see that nobody reads the copy. */
    __asm__ volatile("" : : "r"(f->copy) : "memory");
}

typedef void (*work_fn)(fixture *f, const answer *a);
static const work_fn WORKS[WORK_COUNT] = {work_fill, work_walk, work_copy};

static void
fixture_sample(fixture *f, int work, int round)
{
    uint64_t start = now_ns();
    for (int i = 0; i < FILLS_PER_SAMPLE; i++) {
        WORKS[work](f, &f->answers[f->next]);
        f->next = (f->next + 1) % (size_t)f->setup->answers;
    }
    f->samples[work][round] = (double)(now_ns() - start) / FILLS_PER_SAMPLE;
}

static int
double_compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static void
fixture_print(fixture *f, int rounds)
{
    int bins = f->setup->meta_bins + f->setup->floats;
    double cells = ROWS * (double)f->setup->wanted;
    for (int i = 0; i < WORK_COUNT; i++) {
        qsort(f->samples[i], (size_t)rounds, sizeof(double), double_compare);
    }
    const double *fills = f->samples[0];
    printf("%-27s %7.2f [%5.2f .. %6.2f] %7.1f %8.2f %8.2f %8.2f\n", f->setup->name,
           fills[rounds / 2] / cells, fills[rounds / 20] / cells,
           fills[rounds - 1 - rounds / 20] / cells, fills[rounds / 2] / 1000.0,
           fills[rounds / 2] / (ROWS * (double)bins), f->samples[1][rounds / 2] / cells,
           f->samples[2][rounds / 2] / cells);
}

static int
run_only(int index, int repeats)
{
    if (index < 0 || (size_t)index >= CASE_COUNT) {
        return 1;
    }
    fixture f;
    fixture_init(&f, &CASES[index], 1);
    for (int i = 0; i < repeats; i++) {
        work_fill(&f, &f.answers[0]);
    }
    printf("%s: %d fills of %d cells\n", CASES[index].name, repeats,
           ROWS * CASES[index].wanted);
    fixture_deinit(&f);
    return 0;
}

int
main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "--only") == 0) {
        return run_only(atoi(argv[2]), atoi(argv[3]));
    }
    int rounds = argc > 1 ? atoi(argv[1]) : DEFAULT_ROUNDS;
    if (rounds < 1) {
        (void)fputs("usage: fill_bench [rounds] [--only CASE REPEATS]\n", stderr);
        return 1;
    }
    fixture fixtures[CASE_COUNT];
    for (size_t i = 0; i < CASE_COUNT; i++) {
        fixture_init(&fixtures[i], &CASES[i], rounds);
    }
    for (int round = 0; round < rounds; round++) {
        for (size_t i = 0; i < CASE_COUNT; i++) {
            for (int work = 0; work < WORK_COUNT; work++) {
                fixture_sample(&fixtures[i], (work + round) % WORK_COUNT, round);
            }
        }
    }
    printf(
        "%d records, %d rounds of %d; ns per wanted cell, median [5 %% .. 95 %%]\n\n"
        "%-27s %7s %17s %7s %8s %8s %8s\n",
        ROWS, rounds, FILLS_PER_SAMPLE, "", "fill", "", "us/fill", "ns/op", "walk",
        "memcpy");
    for (size_t i = 0; i < CASE_COUNT; i++) {
        fixture_print(&fixtures[i], rounds);
        fixture_deinit(&fixtures[i]);
    }
    return 0;
}

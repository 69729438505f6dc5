/* SPDX-License-Identifier: Apache-2.0 */
/* read_bench - the C library against the floor: the server and the loopback alone.
 *
 *     read_bench HOST PORT [ROUNDS]
 *
 * "floor" sends the same request over a blocking socket and throws the answer away. All
 * rows of a size run interleaved, a few calls of each in turn; medians over the rounds,
 * with the quartiles. CPU is that of this process, per call. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include <aeroloop/aeroloop.h>

#include "floor.h"

enum {
    RECORDS = 4000,
    FLOATS = 64,
    CALLS = 8, /* of each row in a round */
    ROUNDS_MAX = 1000,
    ROWS_MAX = 8,
};

typedef struct bench {
    aero_client *client;
    aero_plan *plan;
    float *matrix;
    floor_link link;
    size_t keys;
    size_t cursor;
} bench;

typedef struct row {
    const char *name;
    void (*run)(bench *b);
    double wall[ROUNDS_MAX];
    double cpu[ROUNDS_MAX];
} row;

static double
now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static double
cpu_us(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e6 +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static aero_key
key_of(size_t i)
{
    return floor_key(FLOOR_SET, i);
}

static void
seed(aero_client *client)
{
    static const char *meta[] = {"id", "name", "country", "created", "score"};
    char names[FLOATS][4];
    aero_error error;
    for (size_t i = 0; i < RECORDS; i++) {
        aero_op ops[5 + FLOATS];
        aero_key key = key_of(i);
        aero_value values[] = {aero_value_int((int64_t)i),
                               aero_value_string("a user", 6),
                               aero_value_string("NL", 2), aero_value_int(1700000000),
                               aero_value_float(0.5)};
        for (size_t m = 0; m < 5; m++) {
            ops[m] = (aero_op){.type = AERO_OP_WRITE,
                               .bin = meta[m],
                               .bin_len = strlen(meta[m]),
                               .value = values[m]};
        }
        for (size_t f = 0; f < FLOATS; f++) {
            snprintf(names[f], sizeof names[f], "f%zu", f);
            ops[5 + f] = (aero_op){.type = AERO_OP_WRITE,
                                   .bin = names[f],
                                   .bin_len = strlen(names[f]),
                                   .value = aero_value_float((double)(i + f))};
        }
        if (aero_write(client, NULL, &key, ops, 5 + FLOATS, &error) != AERO_OK) {
            floor_die(error.message);
        }
    }
}

static aero_plan *
make_plan(void)
{
    static char names[FLOATS][4];
    aero_field fields[FLOATS];
    memset(fields, 0, sizeof fields);
    for (size_t f = 0; f < FLOATS; f++) {
        snprintf(names[f], sizeof names[f], "f%zu", f);
        fields[f] = (aero_field){.name = names[f],
                                 .name_len = strlen(names[f]),
                                 .kind = AERO_FIELD_FLOAT,
                                 .itemsize = 4,
                                 .count = 1,
                                 .offset = f * 4};
    }
    aero_plan *plan;
    if (aero_plan_new(NULL, fields, FLOATS, FLOATS * 4, &plan, NULL) != AERO_OK) {
        floor_die("plan");
    }
    return plan;
}

static void
run_floor(bench *b)
{
    floor_batch(&b->link, b->cursor % RECORDS, b->keys, RECORDS);
}

static aero_batch *
read_batch(bench *b)
{
    aero_batch_request *request;
    aero_batch *batch;
    aero_error error;
    if (aero_batch_request_new(NULL, b->keys, &request) != AERO_OK) {
        floor_die("out of memory");
    }
    for (size_t i = 0; i < b->keys; i++) {
        aero_key key = key_of((b->cursor + i) % RECORDS);
        aero_batch_request_add(request, &key, NULL);
    }
    if (aero_batch_read(b->client, NULL, request, &batch, &error) != AERO_OK) {
        floor_die(error.message);
    }
    if (aero_batch_found_count(batch) != b->keys) {
        floor_die("not all found");
    }
    return batch;
}

static void
run_batch(bench *b)
{
    aero_batch_unref(read_batch(b));
}

static void
run_fill(bench *b)
{
    aero_batch *batch = read_batch(b);
    aero_fill fill;
    aero_fill_init(&fill);
    fill.rows = b->matrix;
    fill.stride = FLOATS * 4;
    fill.row_count = b->keys;
    if (aero_column_fill(batch, b->plan, &fill, NULL) != AERO_OK ||
        b->matrix[1] != (float)(b->cursor % RECORDS + 1)) {
        floor_die("fill");
    }
    aero_batch_unref(batch);
}

static void
run_worker(bench *b)
{
    aero_request request;
    aero_operation *operation;
    aero_batch_request *keys;
    aero_request_init(&request, AERO_REQUEST_BATCH);
    if (aero_batch_request_new(NULL, b->keys, &keys) != AERO_OK) {
        floor_die("out of memory");
    }
    for (size_t i = 0; i < b->keys; i++) {
        aero_key key = key_of((b->cursor + i) % RECORDS);
        aero_batch_request_add(keys, &key, NULL);
    }
    request.batch = keys;
    if (aero_submit(b->client, &request, NULL, &operation, NULL) != AERO_OK) {
        floor_die("submit");
    }
    aero_operation_wait(operation, UINT64_MAX);
    if (aero_operation_status(operation) != AERO_OK) {
        floor_die(aero_operation_error(operation)->message);
    }
    aero_operation_unref(operation);
}

static void
run_get_floor(bench *b)
{
    floor_get(&b->link, b->cursor % RECORDS);
}

static void
run_get(bench *b)
{
    aero_key key = key_of(b->cursor % RECORDS);
    aero_record *record;
    aero_error error;
    if (aero_get(b->client, NULL, &key, &record, &error) != AERO_OK) {
        floor_die(error.message);
    }
    aero_record_unref(record);
}

static int
compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void
measure(bench *b, const char *title, row *rows, size_t count, int rounds)
{
    for (int round = -2; round < rounds; round++) {
        for (size_t r = 0; r < count; r++) {
            row *at = &rows[(r + (size_t)(round + 2)) % count];
            double wall = now_us();
            double cpu = cpu_us();
            for (int call = 0; call < CALLS; call++) {
                at->run(b);
                b->cursor += b->keys;
            }
            if (round >= 0) {
                at->wall[round] = (now_us() - wall) / CALLS;
                at->cpu[round] = (cpu_us() - cpu) / CALLS;
            }
        }
    }
    printf("%s\n", title);
    double base = 0;
    for (size_t r = 0; r < count; r++) {
        qsort(rows[r].wall, (size_t)rounds, sizeof(double), compare);
        qsort(rows[r].cpu, (size_t)rounds, sizeof(double), compare);
        double median = rows[r].wall[rounds / 2];
        base = r == 0 ? median : base;
        printf("  %-28s %9.1f us [%8.1f .. %8.1f]  cpu %8.1f us  x%.2f\n", rows[r].name,
               median, rows[r].wall[rounds / 4], rows[r].wall[rounds * 3 / 4],
               rows[r].cpu[rounds / 2], median / base);
    }
}

int
main(int argc, char **argv)
{
    static row batches[] = {{.name = "floor", .run = run_floor},
                            {.name = "aero_batch_read", .run = run_batch},
                            {.name = "  and fill 64 f4", .run = run_fill},
                            {.name = "  by a worker thread", .run = run_worker}};
    static row gets[] = {{.name = "floor", .run = run_get_floor},
                         {.name = "aero_get", .run = run_get}};
    static const size_t sizes[] = {30, 200, 2000};
    if (argc < 3) {
        floor_die("usage: read_bench HOST PORT [ROUNDS]");
    }
    int rounds = argc > 3 ? atoi(argv[3]) : 41;
    if (rounds < 1 || rounds > ROUNDS_MAX) {
        floor_die("ROUNDS must be 1..1000");
    }
    aero_error error;
    aero_runtime_config runtime_config;
    aero_config config;
    aero_runtime *runtime;
    bench b = {0};
    aero_host host = {.name = argv[1], .port = (uint16_t)atoi(argv[2])};
    aero_runtime_config_init(&runtime_config);
    aero_config_init(&config);
    config.hosts = &host;
    config.host_count = 1;
    if (aero_runtime_new(&runtime_config, &runtime, &error) != AERO_OK ||
        aero_client_new(runtime, &config, &b.client, &error) != AERO_OK ||
        aero_client_connect(b.client, NULL, &error) != AERO_OK) {
        floor_die(error.message);
    }
    seed(b.client);
    b.plan = make_plan();
    b.matrix = calloc(2000, FLOATS * sizeof(float));
    floor_open(&b.link, argv[1], argv[2]);
    for (size_t i = 0; i < 3; i++) {
        char title[64];
        b.keys = sizes[i];
        snprintf(title, sizeof title, "batch of %zu records of 69 bins", b.keys);
        measure(&b, title, batches, sizeof batches / sizeof *batches, rounds);
    }
    b.keys = 1;
    measure(&b, "single record of 69 bins", gets, 2,
            rounds * 5 < ROUNDS_MAX ? rounds * 5 : ROUNDS_MAX);
    floor_close(&b.link);
    free(b.matrix);
    aero_plan_unref(b.plan);
    aero_client_unref(b.client);
    aero_runtime_unref(runtime);
    return 0;
}

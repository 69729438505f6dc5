/* SPDX-License-Identifier: Apache-2.0 */
/* quickstart - store a few records, read one back, then read all of them in one batch
 * straight into an array of structs.
 *
 *     quickstart HOST PORT
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <aeroloop/aeroloop.h>

enum {
    ROW_COUNT = 1000
};

/* The row that a batch read fills: each member is the bin of the same name. */
typedef struct point {
    int64_t id;
    float x;
    double y;
    char tag[8];
} point;

#define FIELD(member, field_kind)              \
    {.name = #member,                          \
     .name_len = sizeof #member - 1,           \
     .kind = field_kind,                       \
     .itemsize = sizeof(((point *)0)->member), \
     .count = 1,                               \
     .offset = offsetof(point, member)}

static const aero_field point_fields[] = {
    FIELD(id, AERO_FIELD_INT),
    FIELD(x, AERO_FIELD_FLOAT),
    FIELD(y, AERO_FIELD_FLOAT),
    FIELD(tag, AERO_FIELD_BYTES),
};

static aero_key
key_of(int64_t id)
{
    return (aero_key){
        .ns = "test",
        .ns_len = 4,
        .set = "points",
        .set_len = 6,
        .user_key = aero_value_int(id),
    };
}

static aero_op
write_op(const char *bin, aero_value value)
{
    return (aero_op){
        .type = AERO_OP_WRITE, .bin = bin, .bin_len = strlen(bin), .value = value};
}

static aero_status
put_points(aero_client *client, aero_error *error)
{
    for (int64_t id = 0; id < ROW_COUNT; id++) {
        aero_key key = key_of(id);
        aero_op ops[] = {
            write_op("id", aero_value_int(id)),
            write_op("x", aero_value_float((double)id / 4)),
            write_op("y", aero_value_float((double)id * 3)),
            write_op("tag", aero_value_string("blue", 4)),
        };
        aero_status status =
            aero_write(client, NULL, &key, ops, sizeof ops / sizeof *ops, error);
        if (status != AERO_OK) {
            return status;
        }
    }
    return AERO_OK;
}

static aero_status
print_one(aero_client *client, aero_error *error)
{
    aero_key key = key_of(7);
    aero_record *record = NULL;
    aero_status status = aero_get(client, NULL, &key, &record, error);
    if (status != AERO_OK) {
        return status;
    }
    printf("record 7, generation %" PRIu32 ":\n", aero_record_generation(record));

    aero_bin_iter iter;
    aero_bin_view bin;
    aero_record_iter(record, &iter);
    while (aero_bin_iter_next(&iter, &bin)) {
        aero_value value;
        status = aero_value_decode(bin.particle, bin.data, bin.len, &value);
        if (status != AERO_OK) {
            break;
        }
        printf("  %.*s = ", (int)bin.name_len, bin.name);
        switch (value.particle) {
        case AERO_PARTICLE_INTEGER:
            printf("%" PRId64 "\n", value.as.integer);
            break;
        case AERO_PARTICLE_FLOAT:
            printf("%g\n", value.as.number);
            break;
        case AERO_PARTICLE_STRING:
            printf("\"%.*s\"\n", (int)value.as.bytes.len,
                   (const char *)value.as.bytes.data);
            break;
        default:
            printf("(%zu bytes)\n", (size_t)bin.len);
        }
    }
    aero_record_unref(record);
    return status;
}

static aero_status
read_batch(aero_client *client, aero_batch **out_batch, aero_error *error)
{
    aero_batch_request *request = NULL;
    aero_status status = aero_batch_request_new(NULL, ROW_COUNT, &request);
    for (int64_t id = 0; status == AERO_OK && id < ROW_COUNT; id++) {
        aero_key key = key_of(id);
        status = aero_batch_request_add(request, &key, error);
    }
    if (status != AERO_OK) {
        aero_batch_request_free(request);
        return status;
    }
    return aero_batch_read(client, NULL, request, out_batch, error);
}

static aero_status
sum_points(aero_client *client, aero_error *error)
{
    aero_plan *plan = NULL;
    aero_batch *batch = NULL;
    point *points = calloc(ROW_COUNT, sizeof *points);
    aero_status status = points == NULL ? AERO_ERR_NO_MEMORY : AERO_OK;
    if (status == AERO_OK) {
        status = aero_plan_new(NULL, point_fields,
                               sizeof point_fields / sizeof *point_fields,
                               sizeof(point), &plan, error);
    }
    if (status == AERO_OK) {
        status = read_batch(client, &batch, error);
    }
    if (status == AERO_OK) {
        aero_fill fill;
        aero_fill_init(&fill);
        fill.rows = points;
        fill.stride = sizeof *points;
        fill.row_count = ROW_COUNT;
        status = aero_column_fill(batch, plan, &fill, NULL);
    }
    if (status == AERO_OK) {
        double sum = 0;
        for (size_t row = 0; row < ROW_COUNT; row++) {
            sum += (double)points[row].x + points[row].y;
        }
        printf("%zu of %zu records found, sum of x and y: %.2f\n",
               aero_batch_found_count(batch), aero_batch_count(batch), sum);
    }
    aero_batch_unref(batch);
    aero_plan_unref(plan);
    free(points);
    return status;
}

int
main(int argc, char **argv)
{
    aero_host host = {argc > 1 ? argv[1] : "127.0.0.1",
                      (uint16_t)(argc > 2 ? atoi(argv[2]) : 3000)};
    aero_runtime_config runtime_config;
    aero_runtime_config_init(&runtime_config);
    aero_config config;
    aero_config_init(&config);
    config.hosts = &host;
    config.host_count = 1;

    aero_error error = {0};
    aero_runtime *runtime = NULL;
    aero_client *client = NULL;
    aero_status status = aero_runtime_new(&runtime_config, &runtime, &error);
    if (status == AERO_OK) {
        status = aero_client_new(runtime, &config, &client, &error);
    }
    if (status == AERO_OK) {
        status = aero_client_connect(client, NULL, &error);
    }
    if (status == AERO_OK) {
        status = put_points(client, &error);
    }
    if (status == AERO_OK) {
        status = print_one(client, &error);
    }
    if (status == AERO_OK) {
        status = sum_points(client, &error);
    }
    if (status != AERO_OK) {
        fprintf(stderr, "%s: %s\n", aero_status_text(status), error.message);
    }
    aero_client_unref(client);
    aero_runtime_unref(runtime);
    return status == AERO_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}

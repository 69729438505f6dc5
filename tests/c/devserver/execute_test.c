/* SPDX-License-Identifier: Apache-2.0 */
/* One request after the other against a store, by the rules of 04, section 4. */
#include "devserver/execute.h"

#include "support/check.h"

#define READ AEROI_INFO1_READ
#define ALL (AEROI_INFO1_READ | AEROI_INFO1_GET_ALL)
#define WRITE AEROI_INFO2_WRITE
#define NOW 1000u
#define NS_PER_SECOND 1000000000ull

static test_memory memory;
static aeros_store store;
static aeros_exec exec;
static aeroi_buf answer;
static aeros_change change;

static int
setup(void **state)
{
    (void)state;
    test_memory_init(&memory, 0);
    aeros_store_init(&store, &memory.allocator, "test");
    aeros_exec_init(&exec, &memory.allocator);
    aeroi_buf_init(&answer, &memory.allocator);
    exec.now_void = NOW;
    exec.now_ns = (NOW + 1262304000ull) * NS_PER_SECOND;
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    aeros_store_clear(&store);
    aeros_exec_deinit(&exec);
    aeroi_buf_deinit(&answer);
    assert_int_equal(test_memory_live(&memory), 0);
    return 0;
}

/* A request that a test fills in; `ops` is hex. */
typedef struct ask {
    uint8_t info1;
    uint8_t info2;
    uint8_t info3;
    uint32_t generation;
    uint32_t ttl;
    const char *set;
    const char *key; /* hex of the KEY field */
    uint16_t n_ops;
    const char *ops;
} ask;

static const uint8_t digest[AERO_DIGEST_SIZE] = {1, 2, 3};

/* Executes it and returns the result byte; the answer is left in `answer`. */
static int
run(const ask *a)
{
    size_t ops_len = 0;
    size_t key_len = 0;
    uint8_t *ops = test_unhex_new(a->ops != NULL ? a->ops : "", &ops_len);
    uint8_t *key = test_unhex_new(a->key != NULL ? a->key : "", &key_len);
    aeros_request request = {
        .msg = {.info1 = a->info1,
                .info2 = a->info2,
                .info3 = a->info3,
                .generation = a->generation,
                .record_ttl = a->ttl,
                .n_ops = a->n_ops},
        .set = a->set,
        .set_len = a->set != NULL ? (uint32_t)strlen(a->set) : 0,
        .key = a->key != NULL ? key : NULL,
        .key_len = (uint32_t)key_len,
        .digest = digest,
        .digest_len = AERO_DIGEST_SIZE,
        .ops = ops,
        .ops_len = ops_len,
    };
    aeros_read_plan plan = {0};
    aeroi_buf_reset(&answer);
    exec.now_ns++;
    aero_status status =
        aeros_execute(&exec, &store, &request, &plan, 5, &answer, &change);
    aeros_read_plan_free(&exec, &plan);
    test_exact_free(ops);
    test_exact_free(key);
    assert_true(answer.len >= AEROI_MSG_SIZE);
    assert_int_equal(answer.data[5], status);
    assert_int_equal(aeroi_load_be32(answer.data + 14), 5);
    return answer.data[5];
}

static uint32_t
answered_generation(void)
{
    return aeroi_load_be32(answer.data + 6);
}

static uint32_t
answered_void_time(void)
{
    return aeroi_load_be32(answer.data + 10);
}

static void
answered_ops(uint16_t count, const char *hex)
{
    assert_int_equal(aeroi_load_be16(answer.data + 20), count);
    assert_hex_equal(answer.data + AEROI_MSG_SIZE, answer.len - AEROI_MSG_SIZE, hex);
}

#define OP_A_1 "0000000d 02010001 61 0000000000000001"
#define OP_B_X "00000006 02030001 62 78"
#define ANSWER_A_1 "0000000d01010001610000000000000001"
#define ANSWER_B_X "00000006010300016278"
#define OP_READ_A "00000005 01000001 61"
#define OP_READ_B "00000005 01000001 62"
#define OP_DELETE_A "00000005 02000001 61"
#define OP_TOUCH "00000004 0b000000"
#define OP_DELETE_ALL "00000004 0e000000"

static const ask get_all = {.info1 = ALL};
static const ask put_a = {.info2 = WRITE, .n_ops = 1, .ops = OP_A_1};
static const ask remove_it = {.info2 = WRITE | AEROI_INFO2_DELETE};

static void
put_then_get(void **state)
{
    (void)state;
    assert_int_equal(run(&get_all), AERO_RECORD_NOT_FOUND);
    const ask put = {.info2 = WRITE, .n_ops = 2, .ops = OP_A_1 OP_B_X};
    assert_int_equal(run(&put), AERO_OK);
    assert_int_equal(change, AEROS_CHANGE_STORED);
    assert_int_equal(answered_generation(), 1);
    answered_ops(0, "");
    assert_int_equal(run(&get_all), AERO_OK);
    assert_int_equal(change, AEROS_CHANGE_NONE);
    answered_ops(2, ANSWER_A_1 ANSWER_B_X);
    const ask select = {
        .info1 = READ, .n_ops = 3, .ops = OP_READ_B OP_READ_A OP_READ_B};
    assert_int_equal(run(&select), AERO_OK);
    answered_ops(3, ANSWER_B_X ANSWER_A_1 ANSWER_B_X);
    const ask exists = {.info1 = READ | AEROI_INFO1_NO_BINS};
    assert_int_equal(run(&exists), AERO_OK);
    answered_ops(0, "");
    assert_int_equal(answered_generation(), 1);
}

static void
delete_answers_zeros(void **state)
{
    (void)state;
    assert_int_equal(run(&remove_it), AERO_RECORD_NOT_FOUND);
    run(&put_a);
    assert_int_equal(run(&remove_it), AERO_OK);
    assert_int_equal(change, AEROS_CHANGE_REMOVED);
    assert_int_equal(answered_generation(), 0);
    assert_int_equal(run(&get_all), AERO_RECORD_NOT_FOUND);
    const ask durable = {.info2 = remove_it.info2 | AEROI_INFO2_DURABLE_DELETE};
    assert_int_equal(run(&durable), AERO_ENTERPRISE_ONLY);
}

static void
generation_rules(void **state)
{
    (void)state;
    ask equal = put_a;
    ask greater = put_a;
    equal.info2 |= AEROI_INFO2_GENERATION;
    greater.info2 |= AEROI_INFO2_GENERATION_GT;
    /* An absent record counts as generation 0. */
    equal.generation = 1;
    assert_int_equal(run(&equal), AERO_RECORD_GENERATION);
    assert_int_equal(answered_generation(), 0);
    assert_int_equal(run(&greater), AERO_RECORD_GENERATION);
    equal.generation = 0;
    assert_int_equal(run(&equal), AERO_OK);
    equal.generation = 1;
    assert_int_equal(run(&equal), AERO_OK);
    assert_int_equal(run(&equal), AERO_RECORD_GENERATION);
    assert_int_equal(answered_generation(), 2);
    greater.generation = 2;
    assert_int_equal(run(&greater), AERO_RECORD_GENERATION);
    greater.generation = 3;
    assert_int_equal(run(&greater), AERO_OK);
    ask remove = remove_it;
    remove.info2 |= AEROI_INFO2_GENERATION;
    assert_int_equal(run(&remove), AERO_RECORD_GENERATION);
    assert_int_equal(answered_generation(), 0);
    remove.generation = 3;
    assert_int_equal(run(&remove), AERO_OK);
}

static void
generation_wraps_to_one(void **state)
{
    (void)state;
    run(&put_a);
    aeros_store_find(&store, digest)->generation = 65535;
    assert_int_equal(run(&put_a), AERO_OK);
    assert_int_equal(answered_generation(), 1);
}

static void
exists_rules(void **state)
{
    (void)state;
    ask a = put_a;
    a.info3 = AEROI_INFO3_UPDATE_ONLY;
    assert_int_equal(run(&a), AERO_RECORD_NOT_FOUND);
    a.info3 = AEROI_INFO3_REPLACE_ONLY;
    assert_int_equal(run(&a), AERO_RECORD_NOT_FOUND);
    const ask touch = {.info2 = WRITE, .n_ops = 1, .ops = OP_TOUCH};
    assert_int_equal(run(&touch), AERO_RECORD_NOT_FOUND);
    ask create = put_a;
    create.info2 |= AEROI_INFO2_CREATE_ONLY;
    assert_int_equal(run(&create), AERO_OK);
    assert_int_equal(run(&create), AERO_RECORD_EXISTS);
    assert_int_equal(answered_generation(), 1);
    assert_int_equal(run(&touch), AERO_OK);
    assert_int_equal(answered_generation(), 2);
    const ask replace = {.info2 = WRITE,
                         .info3 = AEROI_INFO3_CREATE_OR_REPLACE,
                         .n_ops = 1,
                         .ops = OP_B_X};
    assert_int_equal(run(&replace), AERO_OK);
    run(&get_all);
    answered_ops(1, ANSWER_B_X);
    ask bad = replace;
    bad.ops = OP_DELETE_A;
    assert_int_equal(run(&bad), AERO_SERVER_PARAM);
    bad.ops = OP_TOUCH;
    assert_int_equal(run(&bad), AERO_SERVER_PARAM);
}

static void
ops_are_all_or_nothing(void **state)
{
    (void)state;
    run(&put_a);
    /* b = "x", then 1 appended to the integer a: types do not fit. */
    const ask a = {.info1 = READ,
                   .info2 = WRITE,
                   .n_ops = 3,
                   .ops = OP_B_X OP_READ_A "00000006 09030001 61 79"};
    assert_int_equal(run(&a), AERO_BIN_TYPE);
    assert_int_equal(change, AEROS_CHANGE_NONE);
    assert_int_equal(answered_generation(), 1);
    answered_ops(0, "");
    run(&get_all);
    answered_ops(1, ANSWER_A_1);
}

static void
reads_see_the_writes_before_them(void **state)
{
    (void)state;
    const ask a = {.info1 = READ,
                   .info2 = WRITE | AEROI_INFO2_RESPOND_ALL_OPS,
                   .n_ops = 5,
                   .ops = OP_A_1 OP_READ_A OP_READ_B OP_DELETE_A OP_B_X};
    assert_int_equal(run(&a), AERO_OK);
    answered_ops(5, "000000050200000161" ANSWER_A_1
                    "000000050100000162"
                    "000000050200000161"
                    "000000050200000162");
    const ask all = {
        .info1 = ALL, .info2 = WRITE, .n_ops = 2, .ops = OP_A_1 "00000004 01000000"};
    assert_int_equal(run(&all), AERO_OK);
    answered_ops(2, ANSWER_B_X ANSWER_A_1);
}

static void
last_bin_takes_the_place_of_a_removed_one(void **state)
{
    (void)state;
    const ask put = {
        .info2 = WRITE, .n_ops = 3, .ops = OP_A_1 OP_B_X "00000006 02030001 63 79"};
    run(&put);
    const ask remove = {.info2 = WRITE, .n_ops = 1, .ops = OP_DELETE_A};
    assert_int_equal(run(&remove), AERO_OK);
    run(&get_all);
    answered_ops(2, "00000006010300016379" ANSWER_B_X);
}

static void
record_goes_with_its_last_bin(void **state)
{
    (void)state;
    ask remove = {.info2 = WRITE, .n_ops = 1, .ops = OP_DELETE_A};
    assert_int_equal(run(&remove), AERO_RECORD_NOT_FOUND);
    run(&put_a);
    remove.info2 |= AEROI_INFO2_DURABLE_DELETE;
    assert_int_equal(run(&remove), AERO_ENTERPRISE_ONLY);
    remove.info2 = WRITE;
    assert_int_equal(run(&remove), AERO_OK);
    assert_int_equal(change, AEROS_CHANGE_REMOVED);
    assert_int_equal(answered_generation(), 0);
    const ask all = {.info2 = WRITE, .n_ops = 2, .ops = OP_A_1 OP_DELETE_ALL};
    assert_int_equal(run(&all), AERO_RECORD_NOT_FOUND);
    assert_int_equal(store.object_count, 0);
}

static void
ttl_values(void **state)
{
    (void)state;
    ask a = put_a;
    a.ttl = 100;
    assert_int_equal(run(&a), AERO_OK);
    assert_int_equal(answered_void_time(), NOW + 100);
    a.ttl = UINT32_MAX - 1; /* keep */
    run(&a);
    assert_int_equal(answered_void_time(), NOW + 100);
    a.ttl = AERO_TTL_MAX + 1;
    assert_int_equal(run(&a), AERO_SERVER_PARAM);
    assert_int_equal(answered_void_time(), NOW + 100);
    a.ttl = UINT32_MAX; /* never */
    run(&a);
    assert_int_equal(answered_void_time(), 0);
    store.default_ttl = 50;
    a.ttl = 0;
    run(&a);
    assert_int_equal(answered_void_time(), NOW + 50);
    exec.now_void = NOW + 51;
    assert_int_equal(run(&get_all), AERO_RECORD_NOT_FOUND);
    assert_int_equal(answered_void_time(), NOW + 50); /* of the expired record */
    store.default_ttl = 0;
    assert_int_equal(run(&put_a), AERO_OK);
    assert_int_equal(answered_generation(), 1);
}

static void
read_touch_renews_late_in_life(void **state)
{
    (void)state;
    ask a = put_a;
    a.ttl = 100;
    run(&a);
    ask get = get_all;
    get.ttl = 80;
    exec.now_void = NOW + 10;
    exec.now_ns += 10 * NS_PER_SECOND;
    assert_int_equal(run(&get), AERO_OK);
    assert_int_equal(change, AEROS_CHANGE_NONE);
    exec.now_void = NOW + 30;
    exec.now_ns += 20 * NS_PER_SECOND;
    assert_int_equal(run(&get), AERO_OK);
    assert_int_equal(change, AEROS_CHANGE_STORED);
    assert_int_equal(answered_void_time(), NOW + 100); /* as it was */
    run(&get_all);
    assert_int_equal(answered_void_time(), NOW + 130);
    assert_int_equal(answered_generation(), 1);
    get.ttl = 101;
    assert_int_equal(run(&get), AERO_SERVER_PARAM);
    get.ttl = UINT32_MAX;
    assert_int_equal(run(&get), AERO_OK);
}

static void
set_has_to_be_the_records(void **state)
{
    (void)state;
    ask put = put_a;
    ask get = get_all;
    put.set = "one";
    run(&put);
    get.set = "two";
    assert_int_equal(run(&get), AERO_SERVER_PARAM);
    get.set = NULL;
    assert_int_equal(run(&get), AERO_OK);
    put.set = NULL;
    assert_int_equal(run(&put), AERO_SERVER_PARAM);
    put.set = "two";
    assert_int_equal(run(&put), AERO_SERVER_PARAM);
    ask remove = remove_it;
    remove.set = "two";
    assert_int_equal(run(&remove), AERO_SERVER_PARAM);
    remove.set = NULL;
    assert_int_equal(run(&remove), AERO_OK);
    run(&put_a);
    get.set = "one";
    assert_int_equal(run(&get), AERO_SERVER_PARAM);
}

static void
key_has_to_be_the_stored_one(void **state)
{
    (void)state;
    ask put = put_a;
    run(&put);
    put.key = "03 6b31";
    assert_int_equal(run(&put), AERO_OK); /* stored now */
    ask get = get_all;
    get.key = "03 6b32";
    assert_int_equal(run(&get), AERO_KEY_MISMATCH);
    get.key = "03 6b31";
    assert_int_equal(run(&get), AERO_OK);
    run(&put_a);
    get.key = "03 6b32";
    assert_int_equal(run(&get), AERO_KEY_MISMATCH);
    ask remove = remove_it;
    remove.key = "03 6b32";
    assert_int_equal(run(&remove), AERO_KEY_MISMATCH);
    put.key = "01 00000001";
    assert_int_equal(run(&put), AERO_UNSUPPORTED_FEATURE);
}

static void
faults_of_ops_come_before_or_after_the_record(void **state)
{
    (void)state;
    const ask unknown_read = {.info1 = READ, .n_ops = 1, .ops = "00000005 c8000001 61"};
    const ask long_name = {.info1 = READ,
                           .n_ops = 1,
                           .ops = "00000014 01000010 6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e"};
    const ask none = {.info1 = READ};
    assert_int_equal(run(&unknown_read), AERO_RECORD_NOT_FOUND);
    assert_int_equal(run(&long_name), AERO_RECORD_NOT_FOUND);
    assert_int_equal(run(&none), AERO_RECORD_NOT_FOUND);
    run(&put_a);
    assert_int_equal(run(&unknown_read), AERO_SERVER_PARAM);
    assert_int_equal(run(&long_name), AERO_BIN_NAME);
    assert_int_equal(answered_generation(), 1);
    assert_int_equal(run(&none), AERO_SERVER_PARAM);
    const ask write_none = {.info2 = WRITE};
    assert_int_equal(run(&write_none), AERO_SERVER_PARAM);
    assert_int_equal(answered_generation(), 0);
    const ask read_in_write = {.info2 = WRITE, .n_ops = 1, .ops = OP_READ_A};
    assert_int_equal(run(&read_in_write), AERO_SERVER_PARAM);
    assert_int_equal(answered_generation(), 0);
    const ask unknown_write = {
        .info2 = WRITE, .n_ops = 1, .ops = "00000006 c8030001 61 61"};
    assert_int_equal(run(&unknown_write), AERO_SERVER_PARAM);
    assert_int_equal(answered_generation(), 1);
    const ask nothing = {.info1 = 0};
    assert_int_equal(run(&nothing), AERO_SERVER_PARAM);
}

static void
record_may_not_be_too_big(void **state)
{
    (void)state;
    store.max_record_size = 1024;
    static char ops[4096];
    (void)strcpy(ops, "000007d5 02040001 61");
    for (size_t i = strlen(ops); i < strlen("000007d5 02040001 61") + 4000; i++) {
        ops[i] = '0';
    }
    const ask put = {.info2 = WRITE, .n_ops = 1, .ops = ops};
    assert_int_equal(run(&put), AERO_RECORD_TOO_BIG);
    store.max_record_size = 4096;
    assert_int_equal(run(&put), AERO_OK);
}

static void
failed_allocations_change_nothing(void **state)
{
    (void)state;
    for (size_t n = 1;; n++) {
        test_memory failing;
        test_memory_init(&failing, n);
        aeros_store_init(&store, &failing.allocator, "test");
        aeros_exec_init(&exec, &failing.allocator);
        aeroi_buf_init(&answer, &failing.allocator);
        size_t ops_len = 0;
        uint8_t *ops =
            test_unhex_new(OP_A_1 OP_B_X "00000007 02140001 6c 92 01 05", &ops_len);
        aeros_request request = {
            .msg = {.info2 = WRITE | AEROI_INFO2_RESPOND_ALL_OPS, .n_ops = 2},
            .set = "s",
            .set_len = 1,
            .digest = digest,
            .digest_len = AERO_DIGEST_SIZE,
            .ops = ops,
            .ops_len = ops_len,
        };
        aeros_read_plan plan = {0};
        (void)aeros_execute(&exec, &store, &request, &plan, 0, &answer, &change);
        assert_int_equal(store.object_count, change == AEROS_CHANGE_STORED);
        bool failed = test_memory_failed(&failing);
        assert_true(failed || change == AEROS_CHANGE_STORED);
        test_exact_free(ops);
        aeros_store_clear(&store);
        aeros_exec_deinit(&exec);
        aeroi_buf_deinit(&answer);
        assert_int_equal(test_memory_live(&failing), 0);
        if (!failed) {
            break;
        }
    }
    setup(NULL);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(put_then_get),
        TEST(delete_answers_zeros),
        TEST(generation_rules),
        TEST(generation_wraps_to_one),
        TEST(exists_rules),
        TEST(ops_are_all_or_nothing),
        TEST(reads_see_the_writes_before_them),
        TEST(last_bin_takes_the_place_of_a_removed_one),
        TEST(record_goes_with_its_last_bin),
        TEST(ttl_values),
        TEST(read_touch_renews_late_in_life),
        TEST(set_has_to_be_the_records),
        TEST(key_has_to_be_the_stored_one),
        TEST(faults_of_ops_come_before_or_after_the_record),
        TEST(record_may_not_be_too_big),
        TEST(failed_allocations_change_nothing),
    };
#undef TEST
    return cmocka_run_group_tests(tests, NULL, NULL);
}

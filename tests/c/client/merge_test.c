/* SPDX-License-Identifier: Apache-2.0 */
#include "command/merge.h"

#include "support/world.h"

enum {
    READS = 400
};

/* Submits reads of the keys 0..count-1 that may be merged. */
static void
submit_reads(world *w, const aero_policy *policy, aero_operation **out, int count)
{
    for (int i = 0; i < count; i++) {
        aero_key key = world_key(i);
        aero_request request;
        aero_request_init(&request, AERO_REQUEST_READ);
        if (policy != NULL) {
            request.policy = *policy;
        }
        request.policy.allow_merge = true;
        request.key = &key;
        assert_int_equal(aero_submit(w->client, &request, NULL, &out[i], NULL),
                         AERO_OK);
    }
}

static void
read_policy(aero_policy *policy)
{
    aero_policy_init_read(policy);
    policy->total_timeout_ms = 20000;
}

static void
each_read_gets_its_own_record(void **state)
{
    (void)state;
    world w;
    aero_policy policy;
    aero_operation *reads[READS];
    read_policy(&policy);
    world_begin(&w, 3);
    for (int round = 0; round < 5; round++) {
        submit_reads(&w, &policy, reads, READS);
        for (int i = 0; i < READS; i++) {
            aero_key key = world_key(i);
            aero_operation_wait(reads[i], UINT64_MAX);
            assert_int_equal(aero_operation_status(reads[i]), AERO_OK);
            aero_record *record = aero_operation_record(reads[i]);
            assert_true(world_is_echo(record, &key));
            aero_record_unref(record);
            aero_operation_unref(reads[i]);
        }
    }
    uint64_t messages = 0;
    for (int node = 0; node < 3; node++) {
        messages += script_server_counts(w.server, node).messages;
    }
    /* One by one it would be 5 * READS. */
    assert_true(messages < 5 * READS / 2);
    world_end(&w);
}

/* Every third key is not there. */
static void
answer_with_misses(const script_request *request, script_reply *reply, void *user_data)
{
    (void)user_data;
    const uint8_t *digests[READS];
    if (!request->is_batch) {
        if (script_request_digest(request)[0] % 3 == 0) {
            script_reply_result(reply, AERO_RECORD_NOT_FOUND);
            return;
        }
        script_reply_echo(request, reply);
        return;
    }
    size_t count = script_request_rows(request, digests, READS);
    size_t start = script_reply_begin(reply);
    for (size_t i = count; i > 0; i--) { /* not in the order of the request */
        uint8_t code = digests[i - 1][0] % 3 == 0 ? AERO_RECORD_NOT_FOUND : AERO_OK;
        script_reply_row(reply, (uint32_t)(i - 1), code, digests[i - 1]);
    }
    script_reply_finish(reply, start);
    script_reply_trailer(reply, 0);
}

static void
a_miss_is_the_result_of_one_read_alone(void **state)
{
    (void)state;
    world w;
    aero_policy policy;
    aero_operation *reads[READS];
    read_policy(&policy);
    world_begin(&w, 1);
    script_server_on_message(w.server, answer_with_misses, NULL);
    submit_reads(&w, &policy, reads, READS);
    for (int i = 0; i < READS; i++) {
        uint8_t digest[AERO_DIGEST_SIZE];
        aero_key key = world_key(i);
        aero_key_digest(&key, digest, NULL);
        aero_operation_wait(reads[i], UINT64_MAX);
        aero_record *record = aero_operation_record(reads[i]);
        if (digest[0] % 3 == 0) {
            assert_int_equal(aero_operation_status(reads[i]), AERO_RECORD_NOT_FOUND);
            assert_null(record);
        }
        else {
            assert_int_equal(aero_operation_status(reads[i]), AERO_OK);
            assert_true(world_is_echo(record, &key));
        }
        aero_record_unref(record);
        aero_operation_unref(reads[i]);
    }
    world_end(&w);
}

static void
cancelled_reads_leave_the_others_alone(void **state)
{
    (void)state;
    world w;
    aero_policy policy;
    aero_operation *reads[READS];
    read_policy(&policy);
    world_begin(&w, 2);
    for (int round = 0; round < 10; round++) {
        submit_reads(&w, &policy, reads, READS);
        for (int i = round % 3; i < READS; i += 3) {
            aero_operation_cancel(reads[i]);
        }
        for (int i = 0; i < READS; i++) {
            aero_key key = world_key(i);
            aero_operation_wait(reads[i], UINT64_MAX);
            if (aero_operation_status(reads[i]) != AERO_ERR_CANCELLED ||
                i % 3 != round % 3) {
                assert_int_equal(aero_operation_status(reads[i]), AERO_OK);
                aero_record *record = aero_operation_record(reads[i]);
                assert_true(world_is_echo(record, &key));
                aero_record_unref(record);
            }
            aero_operation_unref(reads[i]);
        }
    }
    world_end(&w);
}

static void
all_cancelled_reads_end(void **state)
{
    (void)state;
    world w;
    aero_operation *reads[READS];
    world_begin(&w, 1);
    script_server_set_mode(w.server, 0, SCRIPT_MUTE);
    submit_reads(&w, NULL, reads, READS);
    world_sleep_ms(20);
    for (int i = 0; i < READS; i++) {
        aero_operation_cancel(reads[i]);
    }
    for (int i = 0; i < READS; i++) {
        aero_operation_wait(reads[i], UINT64_MAX);
        assert_int_equal(aero_operation_status(reads[i]), AERO_ERR_CANCELLED);
        aero_operation_unref(reads[i]);
    }
    world_end(&w);
}

static void
each_read_has_its_own_deadline(void **state)
{
    (void)state;
    world w;
    aero_operation *reads[4];
    world_begin(&w, 1);
    script_server_set_mode(w.server, 0, SCRIPT_MUTE);
    for (int i = 0; i < 4; i++) {
        aero_key key = world_key(i);
        aero_request request;
        aero_request_init(&request, AERO_REQUEST_READ);
        request.policy.allow_merge = true;
        request.policy.max_retries = 0;
        request.policy.total_timeout_ms = i == 3 ? 0 : 40 + 40 * (uint32_t)i;
        request.policy.socket_timeout_ms = 0;
        request.key = &key;
        assert_int_equal(aero_submit(w.client, &request, NULL, &reads[i], NULL),
                         AERO_OK);
    }
    for (int i = 0; i < 3; i++) {
        assert_int_equal(aero_operation_wait(reads[i], 5000), AERO_OK);
        assert_int_equal(aero_operation_status(reads[i]), AERO_ERR_TIMEOUT);
        assert_false(aero_operation_error(reads[i])->in_doubt);
    }
    assert_false(aero_operation_done(reads[3])); /* it has none */
    assert_int_equal(aero_client_close(w.client), AERO_OK);
    assert_int_equal(aero_operation_status(reads[3]), AERO_ERR_CANCELLED);
    for (int i = 0; i < 4; i++) {
        aero_operation_unref(reads[i]);
    }
    world_end(&w);
}

/* What a hostile server may answer to a batch. */
typedef enum lie {
    LIE_INDEX,
    LIE_TWICE,
    LIE_SHORT,
    LIE_CLOSE,
    LIE_KINDS,
} lie;

static void
answer_with_lie(const script_request *request, script_reply *reply, void *user_data)
{
    lie kind = *(const lie *)user_data;
    const uint8_t *digests[READS];
    if (!request->is_batch) {
        script_reply_echo(request, reply);
        return;
    }
    size_t count = script_request_rows(request, digests, READS);
    size_t start = script_reply_begin(reply);
    script_reply_row(reply, 0, 0, digests[0]);
    if (kind == LIE_INDEX) {
        script_reply_row(reply, (uint32_t)count, 0, digests[0]);
    }
    if (kind == LIE_TWICE) {
        script_reply_row(reply, 0, 0, digests[0]);
    }
    script_reply_finish(reply, start);
    if (kind == LIE_CLOSE) {
        reply->end = SCRIPT_CLOSE;
        return;
    }
    script_reply_trailer(reply, 0);
}

static void
a_broken_answer_fails_what_it_left_open(void **state)
{
    (void)state;
    for (int kind = 0; kind < LIE_KINDS; kind++) {
        world w;
        aero_policy policy;
        aero_operation *reads[READS];
        lie which = (lie)kind;
        read_policy(&policy);
        policy.max_retries = 1;
        world_begin(&w, 1);
        script_server_on_message(w.server, answer_with_lie, &which);
        submit_reads(&w, &policy, reads, READS);
        for (int i = 0; i < READS; i++) {
            aero_key key = world_key(i);
            assert_int_equal(aero_operation_wait(reads[i], 10000), AERO_OK);
            aero_status status = aero_operation_status(reads[i]);
            if (status == AERO_OK) {
                aero_record *record = aero_operation_record(reads[i]);
                assert_true(world_is_echo(record, &key));
                aero_record_unref(record);
            }
            else {
                assert_true(status == AERO_ERR_PROTOCOL ||
                            status == AERO_ERR_CONNECTION);
            }
            aero_operation_unref(reads[i]);
        }
        world_end(&w);
    }
}

static void
a_replica_answers_for_a_node_that_is_down(void **state)
{
    (void)state;
    world w;
    aero_policy policy;
    aero_operation *reads[READS];
    read_policy(&policy);
    world_begin(&w, 3);
    script_server_set_mode(w.server, 1, SCRIPT_DOWN);
    submit_reads(&w, &policy, reads, READS);
    for (int i = 0; i < READS; i++) {
        aero_operation_wait(reads[i], UINT64_MAX);
        assert_int_equal(aero_operation_status(reads[i]), AERO_OK);
        aero_operation_unref(reads[i]);
    }
    world_end(&w);
}

static void
close_ends_reads_that_wait(void **state)
{
    (void)state;
    for (int round = 0; round < 20; round++) {
        world w;
        aero_operation *reads[READS];
        world_begin(&w, 2);
        submit_reads(&w, NULL, reads, READS);
        assert_int_equal(aero_client_close(w.client), AERO_OK);
        for (int i = 0; i < READS; i++) {
            assert_true(aero_operation_done(reads[i]));
            aero_operation_unref(reads[i]);
        }
        world_end(&w);
    }
}

static void
writes_and_reads_with_more_than_a_key_go_alone(void **state)
{
    (void)state;
    world w;
    world_begin(&w, 1);
    for (int i = 0; i < 50; i++) {
        aero_key key = world_key(i);
        aero_op op = {.type = AERO_OP_WRITE,
                      .bin = "a",
                      .bin_len = 1,
                      .value = aero_value_int(i)};
        aero_request request;
        aero_request_init(&request,
                          i % 2 == 0 ? AERO_REQUEST_WRITE : AERO_REQUEST_READ);
        request.policy.allow_merge = true;
        request.policy.send_key = true;
        request.key = &key;
        request.ops = i % 2 == 0 ? &op : NULL;
        request.op_count = i % 2 == 0 ? 1 : 0;
        assert_int_equal(aero_submit(w.client, &request, NULL, NULL, NULL), AERO_OK);
    }
    assert_int_equal(aero_client_close(w.client), AERO_OK);
    world_end(&w);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_read_gets_its_own_record),
        cmocka_unit_test(a_miss_is_the_result_of_one_read_alone),
        cmocka_unit_test(cancelled_reads_leave_the_others_alone),
        cmocka_unit_test(all_cancelled_reads_end),
        cmocka_unit_test(each_read_has_its_own_deadline),
        cmocka_unit_test(a_broken_answer_fails_what_it_left_open),
        cmocka_unit_test(a_replica_answers_for_a_node_that_is_down),
        cmocka_unit_test(close_ends_reads_that_wait),
        cmocka_unit_test(writes_and_reads_with_more_than_a_key_go_alone),
    };
    cmocka_set_test_filter(getenv("AEROLOOP_TEST_FILTER"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}

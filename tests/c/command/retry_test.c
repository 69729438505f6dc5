/* SPDX-License-Identifier: Apache-2.0 */
#include "command/retry.h"

#include "base/clock.h"
#include "support/check.h"

#define NOW (1000 * AEROI_NS_PER_MS)

static aero_policy
policy_with(uint32_t retries, uint32_t sleep_ms, aero_replica replica)
{
    aero_policy policy;
    aero_policy_init_read(&policy);
    policy.max_retries = retries;
    policy.sleep_between_retries_ms = sleep_ms;
    policy.replica = replica;
    return policy;
}

static aeroi_verdict
decide(const aero_policy *policy, aeroi_attempts attempts, aero_status status,
       bool is_write)
{
    return aeroi_retry_decide(policy, &attempts, status, is_write, NOW);
}

static void
final_answers_are_final(void **state)
{
    (void)state;
    static const aero_status finals[] = {AERO_OK,
                                         AERO_RECORD_NOT_FOUND,
                                         AERO_SERVER_PARAM,
                                         AERO_KEY_BUSY,
                                         AERO_FILTERED_OUT,
                                         AERO_ERR_CANCELLED,
                                         AERO_ERR_ARGUMENT,
                                         AERO_ERR_NO_MEMORY,
                                         250,
                                         -77};
    aero_policy policy = policy_with(10, 0, AERO_REPLICA_SEQUENCE);
    for (size_t i = 0; i < TEST_COUNT(finals); i++) {
        aeroi_attempts attempts = {.tried = 1, .deadline_ns = AEROI_NO_DEADLINE};
        assert_false(decide(&policy, attempts, finals[i], false).retry);
    }
}

static void
attempts_are_one_more_than_retries(void **state)
{
    (void)state;
    for (uint32_t retries = 0; retries < 4; retries++) {
        aero_policy policy = policy_with(retries, 0, AERO_REPLICA_SEQUENCE);
        for (uint32_t tried = 1; tried < 6; tried++) {
            aeroi_attempts attempts = {
                .tried = tried, .sent = tried, .deadline_ns = AEROI_NO_DEADLINE};
            assert_int_equal(decide(&policy, attempts, AERO_ERR_TIMEOUT, false).retry,
                             tried <= retries);
        }
    }
    aero_policy policy = policy_with(UINT32_MAX, 0, AERO_REPLICA_SEQUENCE);
    aeroi_attempts attempts = {.tried = UINT32_MAX - 1,
                               .deadline_ns = AEROI_NO_DEADLINE};
    assert_true(decide(&policy, attempts, AERO_ERR_TIMEOUT, false).retry);
}

static void
deadline_is_never_passed(void **state)
{
    (void)state;
    aero_policy policy = policy_with(5, 10, AERO_REPLICA_MASTER);
    aeroi_attempts attempts = {.tried = 1, .sent = 1, .deadline_ns = NOW};
    assert_false(decide(&policy, attempts, AERO_ERR_TIMEOUT, false).retry);
    attempts.deadline_ns = NOW - 1;
    assert_false(decide(&policy, attempts, AERO_ERR_TIMEOUT, false).retry);
    attempts.deadline_ns = NOW + 10 * AEROI_NS_PER_MS; /* the pause ends at it */
    assert_false(decide(&policy, attempts, AERO_ERR_TIMEOUT, false).retry);
    attempts.deadline_ns = NOW + 10 * AEROI_NS_PER_MS + 1;
    aeroi_verdict verdict = decide(&policy, attempts, AERO_ERR_TIMEOUT, false);
    assert_true(verdict.retry);
    assert_int_equal(verdict.at_ns, NOW + 10 * AEROI_NS_PER_MS);
}

/* Who goes on to the next replica: reads after anything that a replica may do better;
 * writes only when the connection broke. */
static void
replica_moves_as_the_table_says(void **state)
{
    (void)state;
    static const struct {
        aero_status status;
        bool read;
        bool write;
    } rows[] = {
        {AERO_ERR_CONNECTION, true, true},
        {AERO_ERR_TIMEOUT, true, false},
        {AERO_ERR_PROTOCOL, true, false},
        {AERO_PARTITION_UNAVAILABLE, true, false},
        {AERO_DEVICE_OVERLOAD, true, false},
        {AERO_SERVER_TIMEOUT, false, false},
        {AERO_ERR_NO_CONNECTION, false, false},
    };
    static const aero_replica policies[] = {AERO_REPLICA_MASTER, AERO_REPLICA_SEQUENCE,
                                            AERO_REPLICA_ANY};
    for (size_t p = 0; p < TEST_COUNT(policies); p++) {
        aero_policy policy = policy_with(3, 0, policies[p]);
        bool moves = policies[p] != AERO_REPLICA_MASTER;
        for (size_t i = 0; i < TEST_COUNT(rows); i++) {
            aeroi_attempts attempts = {
                .tried = 1, .sent = 1, .deadline_ns = AEROI_NO_DEADLINE};
            aeroi_verdict read = decide(&policy, attempts, rows[i].status, false);
            aeroi_verdict write = decide(&policy, attempts, rows[i].status, true);
            assert_true(read.retry && write.retry);
            assert_int_equal(read.next_replica, moves && rows[i].read);
            assert_int_equal(write.next_replica, moves && rows[i].write);
        }
    }
}

static void
first_move_to_another_node_needs_no_pause(void **state)
{
    (void)state;
    aero_policy policy = policy_with(5, 50, AERO_REPLICA_SEQUENCE);
    aeroi_attempts attempts = {.tried = 1, .sent = 1, .deadline_ns = AEROI_NO_DEADLINE};
    assert_int_equal(decide(&policy, attempts, AERO_ERR_CONNECTION, false).at_ns, NOW);
    attempts.tried = 2;
    assert_int_equal(decide(&policy, attempts, AERO_ERR_CONNECTION, false).at_ns,
                     NOW + 50 * AEROI_NS_PER_MS);
    attempts.tried = 1;
    assert_int_equal(decide(&policy, attempts, AERO_SERVER_TIMEOUT, false).at_ns,
                     NOW + 50 * AEROI_NS_PER_MS);
}

/* Without an owner nothing was tried: it waits inside its deadline. */
static void
missing_owner_is_waited_for(void **state)
{
    (void)state;
    aero_policy policy = policy_with(0, 0, AERO_REPLICA_SEQUENCE);
    aeroi_attempts attempts = {.deadline_ns = NOW + 1000 * AEROI_NS_PER_MS};
    aeroi_verdict verdict = decide(&policy, attempts, AERO_ERR_NO_NODE, true);
    assert_true(verdict.retry);
    assert_true(verdict.at_ns > NOW);
    attempts.tried = 7;
    assert_true(decide(&policy, attempts, AERO_ERR_NO_NODE, true).retry);
    attempts.deadline_ns = NOW + 1;
    assert_false(decide(&policy, attempts, AERO_ERR_NO_NODE, true).retry);
    attempts.deadline_ns = AEROI_NO_DEADLINE; /* not for ever */
    assert_false(decide(&policy, attempts, AERO_ERR_NO_NODE, true).retry);
}

static void
doubt_is_for_writes_that_were_sent(void **state)
{
    (void)state;
    static const struct {
        uint32_t sent;
        aero_status status;
        bool doubt;
    } rows[] = {
        {0, AERO_ERR_CONNECTION, false}, {0, AERO_ERR_TIMEOUT, false},
        {1, AERO_ERR_CONNECTION, true},  {1, AERO_ERR_TIMEOUT, true},
        {1, AERO_ERR_PROTOCOL, true},    {1, AERO_SERVER_TIMEOUT, true},
        {1, AERO_RECORD_EXISTS, false},  {1, AERO_OK, false},
        {2, AERO_RECORD_EXISTS, true},   {2, AERO_OK, false},
        {2, AERO_ERR_CANCELLED, true},
    };
    for (size_t i = 0; i < TEST_COUNT(rows); i++) {
        aeroi_attempts attempts = {.tried = 3, .sent = rows[i].sent};
        assert_int_equal(aeroi_retry_in_doubt(&attempts, rows[i].status, true),
                         rows[i].doubt);
        assert_false(aeroi_retry_in_doubt(&attempts, rows[i].status, false));
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(final_answers_are_final),
        cmocka_unit_test(attempts_are_one_more_than_retries),
        cmocka_unit_test(deadline_is_never_passed),
        cmocka_unit_test(replica_moves_as_the_table_says),
        cmocka_unit_test(first_move_to_another_node_needs_no_pause),
        cmocka_unit_test(missing_owner_is_waited_for),
        cmocka_unit_test(doubt_is_for_writes_that_were_sent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

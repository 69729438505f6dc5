/* SPDX-License-Identifier: Apache-2.0 */
/* The list of faults and its text; what faults do to sockets is tested from Python. */
#include "devserver/fault.h"

#include <string.h>

#include "devserver/suggest.h"
#include "support/check.h"

static test_memory memory;
static aeros_faults faults;
static aeroi_buf out;

static int
setup(void **state)
{
    (void)state;
    test_memory_init(&memory, 0);
    aeros_faults_init(&faults, &memory.allocator);
    aeroi_buf_init(&out, &memory.allocator);
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    aeroi_buf_deinit(&out);
    aeros_faults_deinit(&faults);
    assert_int_equal(test_memory_live(&memory), 0);
    return 0;
}

static bool
parse(const char *text, aeros_fault *fault, char error[AEROS_FAULT_ERROR_SIZE])
{
    return aeros_fault_parse((aeroi_text){text, strlen(text)}, 3, fault, error);
}

static uint32_t
add(const char *text)
{
    aeros_fault fault;
    char error[AEROS_FAULT_ERROR_SIZE];
    assert_true(parse(text, &fault, error));
    return aeros_faults_add(&faults, &fault);
}

static uint32_t
meet(uint32_t node, aeros_command command)
{
    aeros_fault_subject subject = {.node = node,
                                   .connection = 7,
                                   .command = command,
                                   .ns = {"test", 4},
                                   .set = {"demo", 4}};
    const aeros_fault_effect *effect = aeros_faults_meet(&faults, &subject);
    return effect != NULL ? effect->id : 0;
}

static void
an_empty_list_is_not_active(void **state)
{
    (void)state;
    assert_int_equal(faults.active, 0);
    assert_int_equal(meet(0, AEROS_COMMAND_READ), 0);
    aeros_faults_put(&faults, &out);
    assert_int_equal(out.len, 0);
    assert_null(aeros_faults_find(&faults, 1));
}

static void
a_fault_that_is_used_up_is_not_active(void **state)
{
    (void)state;
    uint32_t id = add("kind=stall;count=2;command=read+write");
    assert_int_equal(faults.active, 1);
    assert_int_equal(meet(0, AEROS_COMMAND_READ), id);
    assert_int_equal(meet(0, AEROS_COMMAND_DELETE), 0);
    assert_int_equal(meet(2, AEROS_COMMAND_WRITE), id);
    assert_int_equal(faults.active, 0);
    assert_int_equal(meet(0, AEROS_COMMAND_READ), 0);
    aeros_fault *fault = aeros_faults_find(&faults, id);
    assert_int_equal(fault->applied, 2);
    aeros_faults_remove(&faults, fault);
    assert_int_equal(faults.active, 0);
    assert_int_equal(faults.count, 0);
}

static void
a_closed_port_needs_no_look_at_requests(void **state)
{
    (void)state;
    uint32_t closed = add("kind=refuse;node=1");
    assert_int_equal(faults.active, 0);
    assert_true(aeros_faults_close_port(&faults, 1));
    assert_false(aeros_faults_close_port(&faults, 0));
    uint32_t reset = add("kind=refuse;node=1;how=reset");
    assert_int_equal(faults.active, 1);
    assert_null(aeros_faults_meet_connect(&faults, 0, 1));
    assert_int_equal(aeros_faults_meet_connect(&faults, 1, 1)->id, reset);
    assert_int_equal(meet(1, AEROS_COMMAND_READ), 0);
    aeros_faults_remove(&faults, aeros_faults_find(&faults, closed));
    assert_false(aeros_faults_close_port(&faults, 1));
    aeros_faults_remove(&faults, aeros_faults_find(&faults, reset));
    assert_int_equal(faults.active, 0);
}

static void
the_list_is_bounded_and_fails_cleanly(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < AEROS_FAULTS_MAX; i++) {
        assert_int_equal(add("kind=reset"), i + 1);
    }
    assert_int_equal(add("kind=reset"), 0);
    aeros_faults_deinit(&faults);
    assert_int_equal(faults.count, 0);
    assert_int_equal(faults.active, 0);
    test_memory scarce;
    test_memory_init(&scarce, 1);
    aeros_faults poor;
    aeros_faults_init(&poor, &scarce.allocator);
    aeros_fault fault;
    char error[AEROS_FAULT_ERROR_SIZE];
    assert_true(parse("kind=reset", &fault, error));
    assert_int_equal(aeros_faults_add(&poor, &fault), 0);
    assert_int_equal(poor.active, 0);
}

/* Any cut of a good text is read without harm. */
static void
cut_texts_are_refused_or_read(void **state)
{
    (void)state;
    static const char text[] =
        "kind=wrong-result;node=2;command=read+batch;"
        "connection=first;namespace=test;set=demo;count=5;"
        "after=1;probability=0.25;seed=3;row=all;result=9";
    aeros_fault fault;
    char error[AEROS_FAULT_ERROR_SIZE];
    for (size_t len = 0; len < sizeof text; len++) {
        char *copy = test_exact_new(text, len);
        (void)aeros_fault_parse((aeroi_text){copy, len}, 3, &fault, error);
        test_exact_free(copy);
    }
    assert_true(parse(text, &fault, error));
    assert_true(fault.effect.after);
    assert_int_equal(fault.effect.row, AEROS_FAULT_ROW_ALL);
    assert_int_equal(fault.commands, AEROS_COMMAND_READ | AEROS_COMMAND_BATCH);
}

/* No message, however broken, makes classification read past its end. */
static void
broken_messages_are_classified(void **state)
{
    (void)state;
    uint64_t random = 1;
    for (int round = 0; round < 20000; round++) {
        uint8_t body[96];
        for (size_t i = 0; i < sizeof body; i++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            body[i] = (uint8_t)(random >> 60 < 10 ? 0 : random >> 56);
        }
        body[1] |= round % 2 == 0 ? AEROI_INFO1_BATCH : 0;
        body[19] = (uint8_t)(round % 4);
        size_t len = (size_t)(random >> 33) % sizeof body;
        uint8_t *copy = test_exact_new(body, len);
        aeros_fault_subject subject = {0};
        aeros_fault_classify(copy, len, &subject);
        assert_true(subject.command != 0);
        test_exact_free(copy);
    }
}

static void
the_nearest_word_is_suggested(void **state)
{
    (void)state;
    static const char *const words[] = {"default-ttl", "nsup-period", "name"};
    assert_string_equal(aeros_suggest("defualt_ttl", 11, words, 3), "default-ttl");
    assert_string_equal(aeros_suggest("Nsup-Perio", 10, words, 3), "nsup-period");
    assert_string_equal(aeros_suggest("nam", 3, words, 3), "name");
    assert_null(aeros_suggest("zzz", 3, words, 3));
    assert_null(aeros_suggest("", 0, words, 3));
    char big[200];
    memset(big, 'a', sizeof big);
    assert_null(aeros_suggest(big, sizeof big, words, 3));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_empty_list_is_not_active, setup, teardown),
        cmocka_unit_test_setup_teardown(a_fault_that_is_used_up_is_not_active, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_closed_port_needs_no_look_at_requests, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(the_list_is_bounded_and_fails_cleanly, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(cut_texts_are_refused_or_read, setup, teardown),
        cmocka_unit_test_setup_teardown(broken_messages_are_classified, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(the_nearest_word_is_suggested, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "base/list.h"

#include "support/check.h"

typedef struct item {
    int number;
    aeroi_list node;
} item;

/* Pops all; the numbers as decimal digits of one number. */
static int
pop_all(aeroi_list *list)
{
    int digits = 0;
    aeroi_list *node;
    while ((node = aeroi_list_pop_front(list)) != NULL) {
        digits = digits * 10 + AEROI_CONTAINER(node, item, node)->number;
    }
    assert_true(aeroi_list_empty(list));
    return digits;
}

static void
both_ends_keep_their_order(void **state)
{
    (void)state;
    item items[4] = {{.number = 1}, {.number = 2}, {.number = 3}, {.number = 4}};
    aeroi_list list;
    aeroi_list_init(&list);
    assert_true(aeroi_list_empty(&list));
    assert_null(aeroi_list_pop_front(&list));
    aeroi_list_push_back(&list, &items[0].node);
    aeroi_list_push_back(&list, &items[1].node);
    aeroi_list_push_front(&list, &items[2].node);
    aeroi_list_push_front(&list, &items[3].node);
    assert_false(aeroi_list_empty(&list));
    assert_int_equal(pop_all(&list), 4312);
}

static void
removed_nodes_are_in_no_list(void **state)
{
    (void)state;
    item items[3] = {{.number = 1}, {.number = 2}, {.number = 3}};
    aeroi_list list;
    aeroi_list_init(&list);
    for (int i = 0; i < 3; i++) {
        aeroi_list_push_back(&list, &items[i].node);
    }
    aeroi_list_remove(&items[1].node);
    aeroi_list_remove(&items[1].node); /* a second time changes nothing */
    assert_int_equal(pop_all(&list), 13);
    aeroi_list_remove(&items[0].node);
    aeroi_list_push_back(&list, &items[1].node);
    assert_int_equal(pop_all(&list), 2);
}

static void
move_empties_the_source(void **state)
{
    (void)state;
    item items[2] = {{.number = 1}, {.number = 2}};
    aeroi_list from;
    aeroi_list to;
    aeroi_list_init(&from);
    aeroi_list_move(&to, &from);
    assert_true(aeroi_list_empty(&to));
    aeroi_list_push_back(&from, &items[0].node);
    aeroi_list_push_back(&from, &items[1].node);
    aeroi_list_move(&to, &from);
    assert_true(aeroi_list_empty(&from));
    assert_int_equal(pop_all(&to), 12);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_ends_keep_their_order),
        cmocka_unit_test(removed_nodes_are_in_no_list),
        cmocka_unit_test(move_empties_the_source),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

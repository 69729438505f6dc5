/* SPDX-License-Identifier: Apache-2.0 */
#include "devserver/geojson.h"

#include "support/check.h"

static bool
check(const char *text, bool *out_region)
{
    char *exact = test_exact_new(text, strlen(text));
    bool good = aeros_geojson_check(exact, strlen(text), out_region);
    test_exact_free(exact);
    return good;
}

static void
shapes_that_the_server_stores(void **state)
{
    (void)state;
    bool region = true;
    assert_true(check("{\"type\":\"Point\",\"coordinates\":[-80.6,28.6]}", &region));
    assert_false(region);
    assert_true(
        check(" { \"coordinates\" : [ 1e1 , -2.5E-1 , 7 ] , \"x\":{\"y\":[1,"
              "[true,null]]}, \"type\" : \"Point\" } ",
              &region));
    static const char *const regions[] = {
        "{\"type\":\"Polygon\",\"coordinates\":[[[0,0],[1,0],[1,1],[0,0]]]}",
        "{\"type\":\"MultiPolygon\",\"coordinates\":[[[[0,0],[1,0],[1,1],[0,0]]]]}",
        "{\"type\":\"AeroCircle\",\"coordinates\":[[-122.5,37.0],1000]}",
        "{\"type\":\"Feature\",\"properties\":{},\"geometry\":{\"type\":\"AeroCircle\","
        "\"coordinates\":[[0,0],1]}}",
    };
    for (size_t i = 0; i < TEST_COUNT(regions); i++) {
        region = false;
        assert_true(check(regions[i], &region));
        assert_true(region);
    }
}

static void
texts_that_the_server_refuses(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "{}",
        "[]",
        "{\"type\":\"Point\"}",
        "{\"type\":\"Point\",\"coordinates\":[1]}",
        "{\"type\":\"Point\",\"coordinates\":[1,\"2\"]}",
        "{\"type\":\"Point\",\"coordinates\":[181,0]}",
        "{\"type\":\"Point\",\"coordinates\":[0,-90.5]}",
        "{\"type\":\"Point\",\"coordinates\":[1,2]} x",
        "{\"type\":\"Point\",\"coordinates\":[1,2]",
        "{\"type\":\"Point\",\"coordinates\":[1,2],}",
        "{\"type\":\"Point\" \"coordinates\":[1,2]}",
        "{\"type\":\"Line\",\"coordinates\":[1,2]}",
        "{\"type\":3,\"coordinates\":[1,2]}",
        "{\"type\":\"Polygon\",\"coordinates\":[[[0,0],[1,0],[0,0]]]}",
        "{\"type\":\"Polygon\",\"coordinates\":[[[0,0],[1,0],[1,1],[0,1]]]}",
        "{\"type\":\"AeroCircle\",\"coordinates\":[[0,0],-1]}",
        "{\"type\":\"Feature\"}",
        "{\"type\":\"Point\\",
        "{\"a\":[}",
        "{\"a\":{\"b\":1]}}",
    };
    for (size_t i = 0; i < TEST_COUNT(texts); i++) {
        bool region;
        if (check(texts[i], &region)) {
            fail_msg("%s was accepted", texts[i]);
        }
    }
}

static void
deep_brackets_are_refused_without_recursion(void **state)
{
    (void)state;
    enum {
        DEPTH = 100000
    };
    char *text = malloc(DEPTH + 16);
    assert_non_null(text);
    (void)strcpy(text, "{\"a\":");
    memset(text + 5, '[', DEPTH);
    text[5 + DEPTH] = '\0';
    bool region;
    assert_false(check(text, &region));
    free(text);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_that_the_server_stores),
        cmocka_unit_test(texts_that_the_server_refuses),
        cmocka_unit_test(deep_brackets_are_refused_without_recursion),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* floor_bench - the floor as a contender among the clients of bench/micro.
 *
 *     floor_bench HOST PORT RECORDS
 *
 * Reads lines `WORK SIZE CALLS OFFSET` from the standard input, does CALLS calls of
 * WORK (found, get or put) and answers each line with one of JSON: microseconds and
 * microseconds of CPU per call, and the bytes of the last answer. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "floor.h"

enum {
    LINE_SIZE = 256
};

typedef struct job {
    char work[16];
    size_t size;
    size_t calls;
    size_t offset;
} job;

static double
clock_us(clockid_t which)
{
    struct timespec t;
    (void)clock_gettime(which, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static size_t
job_call(const job *j, size_t call, floor_link *link, size_t records)
{
    size_t first = (j->offset + call * j->size) % records;
    if (strcmp(j->work, "found") == 0) {
        return floor_batch(link, first, j->size, records);
    }
    if (strcmp(j->work, "get") == 0) {
        return floor_get(link, first);
    }
    if (strcmp(j->work, "put") == 0) {
        return floor_put(link, first);
    }
    floor_die("floor_bench: no such work");
}

static void
job_run(const job *j, floor_link *link, size_t records)
{
    size_t bytes = 0;
    double wall = clock_us(CLOCK_MONOTONIC);
    double cpu = clock_us(CLOCK_PROCESS_CPUTIME_ID);
    for (size_t call = 0; call < j->calls; call++) {
        bytes = job_call(j, call, link, records);
    }
    cpu = clock_us(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    wall = clock_us(CLOCK_MONOTONIC) - wall;
    double calls = (double)j->calls;
    printf("{\"wall\": %.2f, \"cpu\": %.2f, \"bytes\": %zu}\n", wall / calls,
           cpu / calls, bytes);
    (void)fflush(stdout);
}

int
main(int argc, char **argv)
{
    char line[LINE_SIZE];
    floor_link link;
    size_t records = argc == 4 ? strtoul(argv[3], NULL, 10) : 0;
    if (records == 0) {
        floor_die("usage: floor_bench HOST PORT RECORDS");
    }
    floor_open(&link, argv[1], argv[2]);
    while (fgets(line, sizeof line, stdin) != NULL) {
        job j;
        if (sscanf(line, "%15s %zu %zu %zu", j.work, &j.size, &j.calls, &j.offset) !=
                4 ||
            j.calls == 0) {
            floor_die("floor_bench: this is not `WORK SIZE CALLS OFFSET`");
        }
        job_run(&j, &link, records);
    }
    floor_close(&link);
    return 0;
}

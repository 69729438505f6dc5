/* SPDX-License-Identifier: Apache-2.0 */
/* driver - runs a fuzz target on the files of a folder: each whole, and each cut at
 * every byte. In place of libFuzzer where that is not used. */
#include <dirent.h>
#include <stdbool.h>
#include <string.h>

#include "fuzz.h"
#include "support/memory.h"

#define FILE_SIZE_MAX 65536

static void
run_prefixes(const uint8_t *data, size_t len)
{
    for (size_t cut = 0; cut <= len; cut++) {
        uint8_t *exact = test_exact_new(data, cut);
        (void)LLVMFuzzerTestOneInput(exact, cut);
        test_exact_free(exact);
    }
}

static bool
run_file(const char *folder, const char *name)
{
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        perror(path);
        return false;
    }
    static uint8_t data[FILE_SIZE_MAX];
    size_t len = fread(data, 1, sizeof data, file);
    bool whole = feof(file) != 0;
    (void)fclose(file);
    if (!whole) {
        fprintf(stderr, "%s: larger than %d bytes\n", path, FILE_SIZE_MAX);
        return false;
    }
    run_prefixes(data, len);
    return true;
}

int
main(int argc, char **argv)
{
    DIR *folder = argc == 2 ? opendir(argv[1]) : NULL;
    if (folder == NULL) {
        fprintf(stderr, "usage: %s folder\n", argv[0]);
        return 2;
    }
    size_t count = 0;
    bool good = true;
    struct dirent *entry;
    while ((entry = readdir(folder)) != NULL) {
        if (entry->d_name[0] != '.') {
            good = run_file(argv[1], entry->d_name) && good;
            count++;
        }
    }
    (void)closedir(folder);
    printf("%zu seeds\n", count);
    return good && count != 0 ? 0 : 1;
}

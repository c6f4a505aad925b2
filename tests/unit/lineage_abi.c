/* Tests that the list of struct sizes is complete, by comparing it with the text of the public headers. */
#include "support/unit.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <lineage/abi.h>
#include <lineage/query.h>

static const struct lineage_abi_size *find(const char *name)
{
    size_t n;
    const struct lineage_abi_size *sizes = lineage_abi_sizes(&n);
    for (size_t i = 0; i < n; i++)
        if (strcmp(sizes[i].name, name) == 0)
            return &sizes[i];
    return NULL;
}

/* Checks that every struct defined in a header is listed. */
static size_t check_header(const char *path)
{
    char line[256], name[64], brace;
    size_t n = 0;
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file))
        if (sscanf(line, "struct %63[a-z0-9_] %c", name, &brace) == 2 && brace == '{') {
            n++;
            if (!find(name))
                fail_msg("struct %s of %s is not listed", name, path);
        }
    fclose(file);
    return n;
}

static void every_struct_is_listed(void **state)
{
    (void)state;
    char path[512];
    size_t found = 0, listed;
    struct dirent *entry;
    DIR *dir = opendir(FIXTURES_DIR "/../include/lineage");
    assert_non_null(dir);
    while ((entry = readdir(dir))) {
        size_t length = strlen(entry->d_name);
        if (length < 3 || strcmp(entry->d_name + length - 2, ".h") != 0)
            continue;
        snprintf(path, sizeof path, FIXTURES_DIR "/../include/lineage/%s", entry->d_name);
        found += check_header(path);
    }
    closedir(dir);
    lineage_abi_sizes(&listed);
    assert_int_equal(found, listed);
}

static void sizes_are_those_of_the_headers(void **state)
{
    (void)state;
    assert_int_equal(lineage_abi_version(), LINEAGE_ABI_VERSION);
    assert_int_equal(find("lineage_trial")->size, sizeof(struct lineage_trial));
    assert_int_equal(find("lineage_query")->size, sizeof(struct lineage_query));
    assert_int_equal(find("lineage_error")->size, sizeof(struct lineage_error));
    assert_int_equal(find("lineage_abi_size")->size, sizeof(struct lineage_abi_size));
    assert_null(find("lineage_nothing"));
}

static void names_are_in_order_and_once_each(void **state)
{
    (void)state;
    size_t n;
    const struct lineage_abi_size *sizes = lineage_abi_sizes(&n);
    assert_ptr_equal(sizes, lineage_abi_sizes(NULL));
    for (size_t i = 1; i < n; i++)
        assert_true(strcmp(sizes[i - 1].name, sizes[i].name) < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_struct_is_listed),
        cmocka_unit_test(sizes_are_those_of_the_headers),
        cmocka_unit_test(names_are_in_order_and_once_each),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * rlcore_abi.c: tests that the list of struct sizes contains every struct of the public headers, by reading their
 * text.
 */
#include "support/unit.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <rlcore/a2tgpo.h>
#include <rlcore/abi.h>

static const struct rl_abi_size *find(const char *name)
{
    size_t n;
    const struct rl_abi_size *sizes = rl_abi_sizes(&n);
    for (size_t i = 0; i < n; i++)
        if (strcmp(sizes[i].name, name) == 0)
            return &sizes[i];
    return NULL;
}

/* Checks that every struct defined in a header is in the list. Returns their number. */
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
    DIR *dir = opendir(FIXTURES_DIR "/../include/rlcore");
    assert_non_null(dir);
    while ((entry = readdir(dir))) {
        size_t length = strlen(entry->d_name);
        if (length < 3 || strcmp(entry->d_name + length - 2, ".h") != 0)
            continue;
        snprintf(path, sizeof path, FIXTURES_DIR "/../include/rlcore/%s", entry->d_name);
        found += check_header(path);
    }
    closedir(dir);
    rl_abi_sizes(&listed);
    assert_int_equal(found, listed);
}

static void sizes_are_those_of_the_headers(void **state)
{
    (void)state;
    assert_int_equal(rl_abi_version(), RL_ABI_VERSION);
    assert_int_equal(find("rl_batch")->size, sizeof(struct rl_batch));
    assert_int_equal(find("rl_error")->size, sizeof(struct rl_error));
    assert_int_equal(find("rl_loss_inputf")->size, sizeof(struct rl_loss_inputf));
    assert_int_equal(find("rl_a2tgpo_options")->size, sizeof(struct rl_a2tgpo_options));
    assert_int_equal(find("rl_abi_size")->size, sizeof(struct rl_abi_size));
    assert_null(find("rl_nothing"));
}

static void names_are_in_order_and_once_each(void **state)
{
    (void)state;
    size_t n;
    const struct rl_abi_size *sizes = rl_abi_sizes(&n);
    assert_ptr_equal(sizes, rl_abi_sizes(NULL));
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

/* Tests that every list of status labels agrees with the library's table. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lineage/trial.h>

#include "support/files.h"

static char *source_text(const char *path)
{
    char whole[1024];
    size_t length;
    snprintf(whole, sizeof whole, FIXTURES_DIR "/../%s", path);
    return read_file(whole, &length);
}

/* True if the text begins with the names of the labels in their order, separated only by punctuation and blanks.
 * With unmeasured_only, the labels of measured trials are left out. */
static bool begins_with_labels(const char *text, bool unmeasured_only)
{
    for (int i = 0; i < LINEAGE_N_LABELS; i++) {
        if (unmeasured_only && lineage_label_is_measured((enum lineage_label)i))
            continue;
        const char *name = lineage_label_name((enum lineage_label)i);
        size_t length = strlen(name);
        if (strncmp(text, name, length) != 0 || isalnum((unsigned char)text[length]) || text[length] == '_')
            return false;
        text += length;
        while (*text && !isalnum((unsigned char)*text))
            text++;
    }
    return true;
}

static void every_list_has_all_labels_in_order(void **state)
{
    static const struct {
        const char *file;
        bool unmeasured_only; /* a client of MCP may not claim that its trial is kept */
    } lists[] = {
        {"schema/trial.schema.json", false}, {"cli/support/options.c", false}, {"cli/commands/append_request.c", false},
        {"cli/mcp/tool_list.c", false},      {"cli/mcp/tool_write.c", true},
    };
    (void)state;
    for (size_t f = 0; f < sizeof lists / sizeof *lists; f++) {
        char *text = source_text(lists[f].file), *at = text;
        bool lists_labels = strstr(text, "eval_budget_overrun") != NULL, found = !lists_labels;
        for (; !found && (at = strstr(at, lists[f].unmeasured_only ? "crash" : "keep")); at++)
            found = begins_with_labels(at, lists[f].unmeasured_only);
        if (!found)
            fail_msg("%s does not list the labels as format/trial.c does", lists[f].file);
        free(text);
    }
}

static void indexes_are_on_kept_and_on_failed_labels(void **state)
{
    char *text = source_text("schema/indexes.sql");
    const char *kept = strstr(text, "kept_by_score ON"), *failed = strstr(text, "failed_by_label ON");
    (void)state;
    assert_non_null(kept);
    assert_non_null(failed);
    for (int i = 0; i < LINEAGE_N_LABELS; i++) {
        char quoted[40], excluded[64];
        enum lineage_label label = (enum lineage_label)i;
        snprintf(quoted, sizeof quoted, "'%s'", lineage_label_name(label));
        snprintf(excluded, sizeof excluded, "status <> %s", quoted);
        const char *in_kept = strstr(kept, quoted);
        assert_int_equal(in_kept && in_kept < strchr(kept, '\n'), lineage_label_is_kept(label));
        assert_int_equal(!strstr(failed, excluded), lineage_label_is_failure(label));
    }
    free(text);
}

static void each_label_is_of_one_kind(void **state)
{
    (void)state;
    for (int i = 0; i < LINEAGE_N_LABELS; i++) {
        enum lineage_label label = (enum lineage_label)i, parsed = LINEAGE_N_LABELS;
        assert_true(lineage_label_parse(&parsed, lineage_label_name(label)));
        assert_int_equal(parsed, label);
        assert_int_equal(
            lineage_label_is_measured(label) + lineage_label_is_failure(label) + !lineage_label_is_informational(label), 1);
        assert_true(lineage_label_is_measured(label) || !lineage_label_is_kept(label));
    }
    assert_null(lineage_label_name(LINEAGE_N_LABELS));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_list_has_all_labels_in_order),
        cmocka_unit_test(indexes_are_on_kept_and_on_failed_labels),
        cmocka_unit_test(each_label_is_of_one_kind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

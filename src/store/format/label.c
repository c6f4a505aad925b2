/*
 * label.c: the ten status labels, with the name and the kind of each.
 *
 * tests/unit/lineage_labels.c checks everything else that lists the labels against this table: the enum in
 * lineage/trial.h, the schemas, the conditions of schema/indexes.sql, and the lists that the command prints; the Python
 * package reads them from the library. The names are stored in logs and mirrors, so they must not change; the numbers of the enum are stored
 * nowhere.
 */
#include <lineage/trial.h>

#include <string.h>

/* KEPT: may become best. REJECTED: measured, but not better than the best. FAILED: the setting was tried and gave no
 * usable score. ABORTED: the machinery failed before the setting was tried, so it counts as untried. */
enum kind { KEPT, REJECTED, FAILED, ABORTED };

static const struct {
    const char *name;
    enum kind kind;
} labels[LINEAGE_N_LABELS] = {
    [LINEAGE_KEEP] = {"keep", KEPT},
    [LINEAGE_DISCARD] = {"discard", REJECTED},
    [LINEAGE_CRASH] = {"crash", FAILED},
    [LINEAGE_EVAL_BUDGET_OVERRUN] = {"eval_budget_overrun", FAILED},
    [LINEAGE_TRAIN_BUDGET_OVERRUN] = {"train_budget_overrun", FAILED},
    [LINEAGE_SIZE_BLOCKED] = {"size_blocked", FAILED},
    [LINEAGE_PREFLIGHT_CRASH] = {"preflight_crash", FAILED},
    [LINEAGE_HARNESS_ABORT] = {"harness_abort", ABORTED},
    [LINEAGE_DISQUALIFIED] = {"disqualified", FAILED},
    [LINEAGE_BASELINE] = {"baseline", KEPT}, /* not compared with anything, but others are compared with it */
};

static bool is_kind(enum lineage_label label, enum kind kind)
{
    return (unsigned)label < LINEAGE_N_LABELS && labels[label].kind == kind;
}

const char *lineage_label_name(enum lineage_label label)
{
    return (unsigned)label < LINEAGE_N_LABELS ? labels[label].name : NULL;
}

bool lineage_label_parse(enum lineage_label *label, const char *text)
{
    for (int i = 0; i < LINEAGE_N_LABELS; i++)
        if (strcmp(labels[i].name, text) == 0) {
            *label = (enum lineage_label)i;
            return true;
        }
    return false;
}

bool lineage_label_is_kept(enum lineage_label label)
{
    return is_kind(label, KEPT);
}

bool lineage_label_is_measured(enum lineage_label label)
{
    return is_kind(label, KEPT) || is_kind(label, REJECTED);
}

bool lineage_label_is_failure(enum lineage_label label)
{
    return is_kind(label, FAILED);
}

bool lineage_label_is_informational(enum lineage_label label)
{
    return !is_kind(label, ABORTED);
}

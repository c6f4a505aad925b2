/*
 * ask_settings.h: questions whose names may be settings in words (lineage/settings.h).
 *
 * This room joins two others that do not know each other: questions/ finds trials by columns and parameters, ideas/ reads
 * what trials changed in words. A question is asked without the words first. The trials are read as ideas only if it names
 * something that the mirror does not know, or in a log that is in words; their values then lie in the mirror for one more
 * try. So a question about parameters costs as much as without this room, unless it names several and the log has trials
 * that declare some of them and have a parent: what such a trial does not declare, it has from its parent.
 */
#pragma once

#include "../questions/questions.h"

/* A question (mirror_ask) and the names in it. */
struct named_question {
    mirror_question_fn *ask; /* returns LINEAGE_EINVAL for a name that the mirror does not know */
    void *question;
    const char *const *names; /* [n] */
    size_t n;
    bool untold; /* `ask` finds nothing for a name that nobody knows, instead of returning LINEAGE_EINVAL */
};
enum lineage_status ask_settings(struct lineage_store *store, const struct named_question *named, struct lineage_error *err);

/* Like ask_settings, with the names of a query. */
enum lineage_status ask_settings_of_query(struct lineage_store *store, const struct lineage_query *query, mirror_question_fn *ask,
                                          void *question, struct lineage_error *err);

/* Finds the settings of all trials by these names, if rows alone do not show them: if the log has parents, or if texts and programs
 * change them. Else *found is empty. Release it with lineage_settings_release. */
enum lineage_status settings_beyond_rows(struct lineage_settings *found, struct lineage_store *store, const char *const *names,
                                         size_t n, struct lineage_error *err);

/*
 * Settings in words for one question: fill puts the values into a temporary table, where the questions of questions.h
 * find these names until drop is called. The values are those of trials that gave a value to at least one of the
 * names [n] of the question (lineage/settings.h), and those of trials that declare a parameter of that name. Set store->settings_on in
 * between.
 */
enum lineage_status mirror_settings_fill(struct mirror *mirror, const struct lineage_settings *settings, const char *const *names,
                                         size_t n, struct lineage_error *err);
void mirror_settings_drop(struct mirror *mirror);

/* Whether a trial may inherit a parameter from its parent: the log has parents, and not all trials declare the same
 * parameters. Reads no rows. */
enum lineage_status mirror_may_inherit(struct mirror *mirror, bool *may, struct lineage_error *err);

/*
 * Like mirror_settings_fill, with what trials declare and inherit: a trial that declares at least one of names [n] has, for
 * each other one, the value of the nearest ancestor that declares it. Takes time in proportion to the rows of these names
 * and to the trials.
 */
enum lineage_status mirror_inherited_fill(struct mirror *mirror, const char *const *names, size_t n, struct lineage_error *err);

/* Counts the trials that declare a parameter of that name. */
enum lineage_status mirror_count_declared(struct mirror *mirror, const char *name, size_t *n, struct lineage_error *err);

/* Frees what a handle remembers about settings. */
void settings_close(struct lineage_store *store);

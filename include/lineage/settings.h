/*
 * lineage/settings.h: the values that trials gave their settings in words, by the names that people use for them.
 *
 * A trial declares parameters in its row, or its hypothesis or its program shows what it changed (lineage/ideas.h). The
 * questions of lineage/query.h and lineage/search.h accept both kinds of names. A name that is neither a column nor an
 * extra column, and that no trial declares as a parameter, is looked up among the knobs of the log (lineage/knobs.h), in
 * any spelling. The name of a parameter is looked up in the same way only if the log has fewer than one declared
 * parameter for every two trials; a trial that declares the parameter then counts with the declared value. So in a log
 * that declares its parameters, questions about them keep their meaning and their speed.
 *
 * A trial has a setting or a parameter if it gave it a value. If a question names several, a trial that gave a value to
 * one of them also has those that it inherits: from its parent or, for settings in words in a log without parents, from
 * the last kept trial before it. A trial before the first change of a setting has the old value that this change states: the value with
 * which the log begins.
 */
#ifndef LINEAGE_SETTINGS_H
#define LINEAGE_SETTINGS_H

#include <lineage/ideas.h>

/* Most names of one question; further names are unknown. */
#define LINEAGE_SETTINGS_NAMES 64

/* The value of a setting in one trial. */
struct lineage_setting {
    const char *text;            /* as written */
    struct lineage_number value; /* as a number; absent for a text */
    enum lineage_change_source source;
    const char *set_by; /* exp_id of the trial that gave it; "" for the value with which the log begins */
    bool own;           /* the trial gave it itself; false: it is inherited */
};

/* A name of a question. */
struct lineage_setting_name {
    const char *name;    /* as asked */
    size_t trials;       /* trials that changed the setting; 0: the log has no such setting */
    size_t sources[LINEAGE_N_CHANGE_SOURCES]; /* how many declare it, change it in their program, state a change of it */
    const char *nearest; /* with trials = 0: a setting of the log with a similar name, or NULL */
};

struct lineage_settings {
    struct lineage_setting_name *names; /* [n] */
    size_t n;
    void *memory;
};

/*
 * Looks up names among the settings that the trials of a set of ideas changed. The answer copies what it needs from the
 * set. Takes time in proportion to trials times names. Release the answer with lineage_settings_release.
 */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_settings_find(struct lineage_settings *settings,
                                                                        struct lineage_ideas *ideas, const char *const *names,
                                                                        size_t n, struct lineage_error *err);
LINEAGE_API void lineage_settings_release(struct lineage_settings *settings);

/* Returns value number i of a setting in the trial with that seq: the values that the trial gave itself, most trusted
 * first, or else the single inherited value. NULL beyond the last value. */
LINEAGE_API const struct lineage_setting *lineage_settings_get(const struct lineage_settings *settings, uint64_t seq, size_t name,
                                                               size_t i);

/* Returns the names that the last question of this handle looked up in words, including those that it did not find.
 * Questions are lineage_query_open, lineage_query_count, lineage_search, lineage_tried and lineage_sweep_load. NULL if
 * all names were columns and parameters. Valid until the next such question. */
LINEAGE_API const struct lineage_settings *lineage_store_settings(const struct lineage_store *store);

#endif

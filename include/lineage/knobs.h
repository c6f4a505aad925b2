/*
 * lineage/knobs.h: which settings the trials of a log varied, and with what result.
 *
 * A knob is a setting under all names that the log uses for it. Each value that a trial gave it is a struct
 * lineage_change (lineage/ideas.h): declared as a parameter, measured in the program, or stated in the hypothesis.
 */
#ifndef LINEAGE_KNOBS_H
#define LINEAGE_KNOBS_H

#include <lineage/ideas.h>

/* One trial that gave a knob a value. */
struct lineage_knob_try {
    size_t trial; /* index in the set of ideas */
    const struct lineage_change *change; /* lives as long as the knobs */
    enum { LINEAGE_KNOB_UNKNOWN, LINEAGE_KNOB_DOWN, LINEAGE_KNOB_UP } direction; /* direction; unknown for texts */
};

struct lineage_knob {
    const char *name; /* the spelling that most of its changes use, or the name that a rule gives it */
    const char *knob; /* the normalised name, see struct lineage_change */
    const char *value; /* value in force for the best trial; NULL if the log does not show it */
    size_t set_by;     /* the trial that set that value; SIZE_MAX if it is known only from the `from` of other trials */
    struct lineage_knob_try *tries; /* [n_tries], by value: numbers ascending, then texts; equal values in the order of the log */
    size_t n_tries; /* how many of the tries are listed: the newest ones, see lineage_knobs_find */
    size_t n; /* how many tries there are */
    size_t up, up_kept, down, down_kept; /* finished trials that raised and lowered the knob, and how many were kept */
};

struct lineage_knobs {
    struct lineage_knob *items; /* [n], most tries first */
    size_t n;
    void *memory;
};

/*
 * Finds the knobs of a set of ideas. best is the index of the best trial, SIZE_MAX for none. The settings in force for
 * the best trial are the settings that it and its kept ancestors set. If no row names a parent, the kept trials before
 * it count as its ancestors. Texts belong to the set, so release the knobs first.
 *
 * newest is how many tries of each knob are listed, 0 for all: the newest ones, with all tries of a trial of which one is
 * listed. The others count in `n` and in the sums only. Takes time in proportion to the changes, and O(m log m) for m tries that
 * are listed. Each of them takes about 100 bytes.
 */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_knobs_find(struct lineage_knobs *knobs,
                                                                     const struct lineage_ideas *ideas, size_t best,
                                                                     size_t newest, struct lineage_error *err);
LINEAGE_API void lineage_knobs_release(struct lineage_knobs *knobs);

/*
 * Returns the knob that a name means, in any spelling that the log uses for it; upper case, '_' and '-' do not matter.
 * NULL if no trial changed it, or if memory is short. `ideas` is the set in which the knobs were found.
 */
LINEAGE_API const struct lineage_knob *lineage_knobs_named(const struct lineage_knobs *knobs, struct lineage_ideas *ideas,
                                                           const char *name);

/* The trials whose changes are in force for the best trial, itself first, then its kept ancestors up to the root. Fills
 * line[capacity] and returns how many there are. */
LINEAGE_API size_t lineage_knobs_line(size_t *line, size_t capacity, const struct lineage_ideas *ideas, size_t best);

/*
 * Finds later trials that contradict what some trials (the evidence of an insight) show. Such a trial comes after row
 * `after`, gave a setting of the evidence the same value or moved it at least as far in the same direction, and ended
 * differently. If all of the evidence failed, a trial that finished contradicts; if none was kept, a trial that was
 * kept; if all were kept, a trial that was discarded. Fills found[capacity] in the order of the log and returns the
 * number filled in, at most capacity. Looks at the tries that `knobs` lists.
 */
LINEAGE_API size_t lineage_knobs_against(size_t *found, size_t capacity, const struct lineage_knobs *knobs,
                                         const struct lineage_ideas *ideas, const char *const *evidence, size_t n_evidence,
                                         uint64_t after);

#endif

/*
 * lineage/ideas.h: what each trial changed, which earlier trials it resembles, and which claims of novelty are false.
 *
 * The trials of real agents are described in words: "Lower muon_wd_mlp 0.125 → 0.115", "apply exp_588's halving on
 * top of exp_596". A set of ideas holds the trials of one log in memory, reads these texts once, and then answers
 * questions about them. It uses no network, no model and no database; the answers depend on the trials alone.
 *
 * Typical use: lineage_ideas_load once, then any number of questions, then lineage_ideas_release. Everything that a
 * question returns belongs to the set and lives as long as the set, unless the function says otherwise. Questions do
 * not change the set, but they share scratch memory, so a set must not be used by two threads at once.
 *
 * Cost: loading reads each text once and keeps what it found in lineage.db; after that it takes about 0.02 s for 1,000
 * trials, and 0.05 s if nothing can be kept. A trial takes about 250 bytes and its texts, and less than 20 bytes for each change;
 * names and values are kept once for all trials. The first question that compares words reads the texts again and makes an index of
 * the set, which takes about 20 bytes for each word of a trial. A question about one trial takes time in proportion to the trials that share
 * words with it. Limits per trial, so that hostile texts stay cheap: the first LINEAGE_IDEAS_TEXT bytes of the hypothesis
 * and of the notes are read, and at most LINEAGE_IDEAS_CHANGES changes and LINEAGE_IDEAS_CITES citations are kept. Any
 * bytes are accepted; invalid UTF-8 separates words.
 */
#ifndef LINEAGE_IDEAS_H
#define LINEAGE_IDEAS_H

#include <lineage/store.h>
#include <lineage/trial.h>

#define LINEAGE_IDEAS_TEXT 65536
#define LINEAGE_IDEAS_CHANGES 64
#define LINEAGE_IDEAS_CITES 256

/* Where a change was read from, most trusted source first. */
enum lineage_change_source {
    LINEAGE_CHANGE_DECLARED, /* a parameter of the row that differs from its parent's */
    LINEAGE_CHANGE_MEASURED, /* a literal or an option of the program that differs from the parent's */
    LINEAGE_CHANGE_STATED,   /* read out of the hypothesis */
    LINEAGE_N_CHANGE_SOURCES
};

/* "declared", "measured", "stated"; NULL if out of range. */
LINEAGE_API const char *lineage_change_source_name(enum lineage_change_source source);

/* One setting that a trial gave a new value. */
struct lineage_change {
    const char *name; /* as written in the text: "GPTQ block_size" */
    const char *knob; /* the normalised name, equal for all spellings of one knob in this set: "block size gptq" */
    const char *from; /* the old value as written, with its unit; NULL if the text does not state it */
    const char *to;   /* the new value as written, with its unit */
    struct lineage_number from_value, to_value; /* the values as numbers: 32K is 32768, 1 % is 0.01; absent for text. Units
                                                   do not count, but both are in the unit of the new value */
    enum lineage_change_source source;
};

/*
 * Reads a number as people write it in prose: 0.005, 5e-3, 32K, 32768, 2^15, 10⁻⁴, 1/3, 28%, 0.25×, sqrt(2), −0.1. The
 * whole of text[0..length) must be the number. Otherwise returns false and leaves *value unchanged.
 */
LINEAGE_API bool lineage_quantity_parse(double *value, const char *text, size_t length);

/* Whether two written values are equal. Numbers are compared by value (32K equals both 32000 and 32768; 786k equals
 * 786432), with their units if both have one (1GB equals 1024MB, 4MB equals 4 but not 4GB). Other texts are compared by
 * their letters and digits, ignoring case. */
LINEAGE_API bool lineage_quantity_equal(const char *a, const char *b);

/* One trial of a set. */
struct lineage_idea {
    const char *exp_id, *specialist, *parent_exp, *hypothesis;
    enum lineage_label status;
    bool running; /* added by lineage_ideas_add with running = true: it has no outcome yet */
    struct lineage_number score, delta_vs_best;
    uint64_t seq; /* position in the log from 1; 0 while running */
    size_t n_changes; /* see lineage_ideas_change_at; 0 until the set is settled */
    const size_t *cites; /* indices of the trials that the hypothesis or the notes mention, ascending */
    size_t n_cites;
    const size_t *cited_by; /* indices of the trials that mention this trial */
    size_t n_cited_by;
};

struct lineage_ideas;

/* Loads all trials of a store, as the log is now. Release the set with lineage_ideas_release, before or after the store
 * is closed: it copies everything that it needs from the store. */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_ideas_load(struct lineage_ideas **ideas, struct lineage_store *store,
                                                                     struct lineage_error *err);

/*
 * Builds a set step by step: create an empty set, add trials in the order of the log (texts are copied), then call
 * lineage_ideas_settle once. Add trials only before that call, and ask questions only after it. lineage_ideas_add_store
 * adds all trials of a store. A running trial has no outcome yet; its id should differ from those of the log.
 */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_ideas_new(struct lineage_ideas **ideas, struct lineage_error *err);
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_ideas_add(struct lineage_ideas *ideas,
                                                                    const struct lineage_trial *trial, bool running,
                                                                    struct lineage_error *err);
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_ideas_add_store(struct lineage_ideas *ideas,
                                                                          struct lineage_store *store, struct lineage_error *err);
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_ideas_settle(struct lineage_ideas *ideas, struct lineage_error *err);

/*
 * Adds the trials of a store that say most about one of them or about a text, so that a description of it takes the same time in a
 * store of any size. In a store of less than LINEAGE_IDEAS_NEAR_WHOLE trials these are all trials. In a larger one they are the
 * first trial; the trial exp_id (NULL: none) and the trials that it cites; and either, without alike, LINEAGE_IDEAS_NEAR_AROUND
 * trials before and after it in the log and its nearest ancestors, or in a log without any parent the kept trials before it; or
 * alike[n_alike], the seqs of trials with similar words (lineage_search_ideas finds them), and LINEAGE_IDEAS_NEAR_SAMPLE trials from the whole
 * log, which show how common each word is.
 */
#define LINEAGE_IDEAS_NEAR_WHOLE 1000
#define LINEAGE_IDEAS_NEAR_AROUND 50
#define LINEAGE_IDEAS_NEAR_ALIKE 128
#define LINEAGE_IDEAS_NEAR_SAMPLE 100
#define LINEAGE_IDEAS_NEAR_ANCESTORS 128
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_ideas_add_near(struct lineage_ideas *ideas, struct lineage_store *store,
                                                                         const char *exp_id, const uint64_t *alike,
                                                                         size_t n_alike, struct lineage_error *err);

/* Adds the trials of a store that a query finds, in the order of the log; NULL adds all. query->sort must be NULL. */
struct lineage_query;
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_ideas_add_query(struct lineage_ideas *ideas,
                                                                          struct lineage_store *store,
                                                                          const struct lineage_query *query,
                                                                          struct lineage_error *err);

/*
 * Adds a change that is known from elsewhere than the trial's row, before lineage_ideas_settle: change->name and ->to
 * are required, ->from may be NULL, ->source is declared or measured. The numbers are read from the texts if absent;
 * change->knob is ignored. Texts are copied. `trial` is an index: the trial added last is lineage_ideas_count() - 1.
 *
 * A trial's changes are ordered by trust: declared, measured, stated. If several of them give one knob the same value,
 * only the most trusted one remains. Beyond LINEAGE_IDEAS_CHANGES the least trusted changes are left out.
 */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_ideas_add_change(struct lineage_ideas *ideas, size_t trial,
                                                                           const struct lineage_change *change,
                                                                           struct lineage_error *err);
LINEAGE_API void lineage_ideas_release(struct lineage_ideas *ideas);

/* lineage_ideas_count returns the number of trials; lineage_ideas_get returns one trial, or NULL beyond the last. */
LINEAGE_API size_t lineage_ideas_count(const struct lineage_ideas *ideas);
LINEAGE_API const struct lineage_idea *lineage_ideas_get(const struct lineage_ideas *ideas, size_t index);

/* Fills in change i of a trial, which the set keeps in a shorter form: declared ones come first, then measured ones, then
 * stated ones in the order of the text. The texts belong to the set. Returns false beyond the last change or trial. Costs no
 * allocation. */
LINEAGE_API bool lineage_ideas_change_at(struct lineage_change *change, const struct lineage_ideas *ideas, size_t trial,
                                         size_t i);

/* Finds the trial with that id, with or without a leading exp_. If several trials have the id, the last one counts.
 * Returns false if no trial has it. */
LINEAGE_API bool lineage_ideas_find(size_t *index, const struct lineage_ideas *ideas, const char *id);

/*
 * What a person decided about names of knobs. LINEAGE_KNOBS_SAME: all of the names are one knob, which is shown by the
 * first name; so it merges knobs, and renames one. LINEAGE_KNOBS_DIFFERENT: each of the names is a knob of its own,
 * even if the log suggests that they are one. Names are compared like those of changes: MUON-WD is muon_wd.
 */
enum lineage_knob_relation { LINEAGE_KNOBS_SAME, LINEAGE_KNOBS_DIFFERENT };
struct lineage_knob_rule {
    enum lineage_knob_relation relation;
    const char *const *names; /* [n] */
    size_t n;
};
#define LINEAGE_KNOB_RULES 64      /* most rules of a set */
#define LINEAGE_KNOB_RULE_NAMES 64 /* most names of a rule */

/* Adds rules to a set before lineage_ideas_settle. LINEAGE_EINVAL names the contradiction if a name is in two lists of
 * one knob, or if names that must differ are one name or one knob. The rules of lineage.json ("knobs") are added with the
 * first trials of the store. */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_ideas_add_rules(struct lineage_ideas *ideas,
                                                                          const struct lineage_knob_rule *rules, size_t n,
                                                                          struct lineage_error *err);

/* ---- similar trials ---- */

struct lineage_similar {
    size_t trial; /* index in the set */
    double score; /* larger is nearer; comparable within one answer only */
    bool same;    /* that trial already made the whole change, alone, in a bundle, or with others marked `same` */
    const char *why; /* one sentence in English: "same knob grad_clip_norm, same value 0.5" */
};

struct lineage_similar_list {
    struct lineage_similar *items; /* [n], nearest first; trials with `same` set come before all others */
    size_t n;
    const char *remark; /* "nothing like this; no trial has the word muon", "its parts were tried in 059, 073; never together",
                           or NULL */
    void *memory;
};

/*
 * How sure the answer `same` has to be: a trial is called the same if the probability that it made the whole change is at least
 * `strictness`, above 0 and below 1 (else LINEAGE_EINVAL). The probability is fitted to labelled logs; tests/bench/README.md has
 * precision and recall for some values. LINEAGE_STRICTNESS balances them, for a person who reads the list. A set starts with a
 * stricter value of about 0.57, because a check that refuses a proposal should rarely be wrong. Set it before the first question
 * about similar trials; claims of novelty do not depend on it.
 */
#define LINEAGE_STRICTNESS 0.4
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_ideas_set_strictness(struct lineage_ideas *ideas, double strictness,
                                                                               struct lineage_error *err);

/*
 * Finds the trials that resemble a given trial, or a text that describes an idea. For a trial, only earlier trials of
 * the log are listed, unless `all` is true. Running trials are listed for both. Lists at most `limit` trials (0: 10),
 * possibly none. Release the answer with lineage_similar_release.
 */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_ideas_similar(struct lineage_similar_list *list,
                                                                        struct lineage_ideas *ideas, size_t trial, bool all,
                                                                        size_t limit, struct lineage_error *err);
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_ideas_similar_text(struct lineage_similar_list *list,
                                                                             struct lineage_ideas *ideas, const char *text,
                                                                             size_t limit, struct lineage_error *err);
LINEAGE_API void lineage_similar_release(struct lineage_similar_list *list);

/* ---- claims of novelty ---- */

/* A claim of novelty such as "ema_decay has never been varied", and the earlier trials that varied it. */
struct lineage_novelty_claim {
    size_t trial;      /* the trial that makes the claim */
    const char *claim; /* the sentence, as written */
    const size_t *counter; /* [n_counter] trials that contradict the claim, ascending; empty if the log supports it */
    size_t n_counter;
};

struct lineage_novelty_list {
    struct lineage_novelty_claim *items; /* by trial, then in the order of the text */
    size_t n;
    size_t unread; /* trials before those of the limit, whose texts were not read */
    void *memory;
};

/* Finds the claims of novelty of the set's newest trials until there are `newest` of them (0: all; each is compared with all
 * earlier trials), or the claims in the text of a trial that has not been run yet. */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_ideas_claims(struct lineage_novelty_list *list,
                                                                       struct lineage_ideas *ideas, size_t newest,
                                                                       struct lineage_error *err);
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_ideas_claims_text(struct lineage_novelty_list *list,
                                                                            struct lineage_ideas *ideas, const char *text,
                                                                            struct lineage_error *err);
LINEAGE_API void lineage_novelty_release(struct lineage_novelty_list *list);

#endif

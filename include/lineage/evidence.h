/*
 * lineage/evidence.h: how sure the store is that a trial is better than the best one: the noise floor as an interval,
 * the threshold of a single score, and the evidence of a trial that ran several times.
 *
 * One score
 *   A trial is kept if its gain over the best exceeds q * noise_std * sqrt(2 / noise_seeds). q is the one-sided quantile
 *   1 - 0.05 / N of Student's t with the degrees of freedom of the noise, for N trials in a night (Bonferroni's
 *   inequality; Dunnett 1955, J. Am. Stat. Assoc. 50:1096, for many trials against one control). 2 / noise_seeds is the
 *   sum of two variances: the best score is an estimate, too. It was selected as a maximum, so it is on average too good;
 *   this makes the rule stricter and never laxer. Without an effect, at most one night in twenty keeps a trial.
 *
 * Several runs
 *   A trial that ran n times, compared with a best trial that ran m times, has the mean gain D with the standard error
 *   noise_std / sqrt(I), I = n m / (n + m). Every run is evidence, whenever the search decides to stop: the odds are a
 *   mixture of likelihood ratios against "no gain", for gains of 1, 2 and 4 standard deviations,
 *       E = sum over d of w_d exp(d z sqrt(I) - d^2 I / 2),
 *   and by Ville's inequality the chance that E ever reaches N / 0.05 without a gain is at most 0.05 / N (Wald 1945, Ann.
 *   Math. Stat. 16:117; Robbins 1970, Ann. Math. Stat. 41:1397; Johari et al. 2022, Oper. Res. 70:1806). The ratio for a
 *   gain of one standard deviation alone falls to 0.1 with a chance of at most 0.1 if the gain is that large. z is
 *   D sqrt(I) / noise_std, with Student's t turned into a normal value where the noise is an estimate (Wallace 1959, Ann.
 *   Math. Stat. 30:1124).
 *
 * All numbers are in the unit of the score. A gain is positive if the trial is better, whatever the store's direction.
 */
#ifndef LINEAGE_EVIDENCE_H
#define LINEAGE_EVIDENCE_H

#include <lineage/store.h>
#include <lineage/text.h>

#define LINEAGE_NIGHT_TRIALS 100u    /* trials of a night whose number nobody has set */
#define LINEAGE_FALSE_KEEPS 0.05     /* share of nights without any effect that keep a trial, at most */
#define LINEAGE_MISSED_EFFECTS 0.1   /* share of gains of one standard deviation that are refuted, at most */
#define LINEAGE_RUNS_MAX 64u         /* default of the runs of one trial, its first included */

/* What is known about the noise of one score. */
struct lineage_noise {
    double std;     /* standard deviation between equal trials; 0 with a freedom of 3 or more: the seed changes nothing */
    double freedom; /* degrees of freedom of std; infinity: the owner has set it; 0: nothing is known */
    double low, high; /* 95 % interval of the true value; equal to std if the owner has set it */
    size_t runs;      /* scores that std was computed from; 0 if the owner has set it */
    size_t left_out;  /* groups of runs that vary far more than all others, and do not count (Cochran 1941) */
    bool estimated;   /* from replicas (lineage/replicas.h), because nothing was run to measure it */
};

/* The scores of equal trials: their number and their variance (divided by n - 1). */
struct lineage_noise_group {
    size_t n;
    double variance;
};

/*
 * Pools the variances of groups, each weighted by its degrees of freedom, n - 1. A group whose variance is so large that
 * it has a chance below 0.001 / n_groups among the others is left out, if the others have at least two degrees of
 * freedom: one run on a busy machine must not decide what is noise. Groups with fewer than two runs do not count.
 */
LINEAGE_API void lineage_noise_pool(struct lineage_noise *noise, const struct lineage_noise_group *groups, size_t n_groups);

/* Sets low and high: std * sqrt(freedom / chi-square quantile), see for example NIST/SEMATECH e-Handbook 1.3.5.8. */
LINEAGE_API void lineage_noise_interval(struct lineage_noise *noise);

/* The noise that the settings of a store contain. */
LINEAGE_API void lineage_noise_of_config(struct lineage_noise *noise, const struct lineage_config *config);

#define LINEAGE_NOISE_TEXT_MAX 160

/*
 * Writes how well the noise is known: "0.045 from 3 seeds, 95 % interval 0.0234 to 0.283", with a warning behind it if
 * it comes from two runs, and "an estimate from 12 replicas" if it is one. Returns out.
 */
LINEAGE_API const char *lineage_noise_text(char out[LINEAGE_NOISE_TEXT_MAX], const struct lineage_noise *noise);

#define LINEAGE_FLOOR_TEXT_MAX (LINEAGE_NOISE_TEXT_MAX + 80)

/* Writes what the noise floor in the settings is now and what it was: "the noise floor is now unknown; it was 0.45". Returns out. */
LINEAGE_API const char *lineage_floor_text(char out[LINEAGE_FLOOR_TEXT_MAX], const struct lineage_config *config, double before);

/* Whether the floor left the interval that was known of it before, which a caller that appends says; false if nothing was known. */
LINEAGE_API bool lineage_floor_moved(const struct lineage_config *config, const struct lineage_noise *before);

/* Half of the 95 % interval of a mean of n >= 1 runs, by Student's t; NAN if the noise is unknown. */
LINEAGE_API double lineage_noise_margin(const struct lineage_noise *noise, size_t n);

/*
 * Writes a mean or a score to the second digit of its margin, with six significant digits or more and all before the point; with all
 * digits (15) if the margin is 0. NAN: the margin is unknown. Returns out.
 */
LINEAGE_API const char *lineage_mean_text(char out[LINEAGE_NUMBER_MAX], double mean, double margin);

/*
 * Half of the 95 % interval of a trial's score, by the noise in the store's settings: lineage_noise_margin for the runs that
 * the row is the mean of, or for noise_seeds if it does not name them. Not present if the noise is unknown or the trial has
 * no score.
 */
LINEAGE_API struct lineage_number lineage_score_margin(const struct lineage_config *config, const struct lineage_trial *trial);

/* How many runs the score of a row is the mean of. `lineage run` writes "mean of N seeds, std S" into the notes of a row
 * with several seeds; 1 for other notes and for NULL. */
LINEAGE_API size_t lineage_score_runs(const char *notes);

/* Runs of one trial: how many, and the mean of their scores. */
struct lineage_runs {
    size_t n;
    double mean;
};

/* What a verdict depends on beside scores and noise. */
struct lineage_evidence_rule {
    double min_delta; /* least gain that matters */
    size_t trials; /* trials of the night; 0: LINEAGE_NIGHT_TRIALS */
    size_t runs_max; /* runs of one trial at most; 0: LINEAGE_RUNS_MAX */
    bool higher; /* a higher score is better */
};

enum lineage_evidence_state {
    LINEAGE_EVIDENCE_OPEN, /* more runs would decide */
    LINEAGE_EVIDENCE_CONFIRMED, /* better than the best: the odds have reached N / 0.05, with at least two runs */
    LINEAGE_EVIDENCE_REFUTED, /* not better by one standard deviation: the ratio has fallen to 0.1 */
    LINEAGE_EVIDENCE_EXHAUSTED /* undecided after runs_max runs */
};

/* The state's name: open, confirmed, refuted, exhausted. NULL if it is out of range. */
LINEAGE_API const char *lineage_evidence_state_name(enum lineage_evidence_state state);

struct lineage_judgement {
    enum lineage_evidence_state state;
    bool candidate; /* its gain exceeds min_delta by more than two standard errors */
    bool near; /* likewise, by more than one standard error */
    double gain; /* of its mean over that of the best */
    double error; /* standard error of the gain; NAN if the noise is unknown */
    double odds; /* E above, 1 if the noise is unknown; needed odds are trials / 0.05 */
    double one_std; /* the likelihood ratio for a gain of one standard deviation */
};

/* Judges a trial against the best one. Both have at least one run. */
LINEAGE_API void lineage_judge(struct lineage_judgement *judgement, const struct lineage_evidence_rule *rule,
                               const struct lineage_noise *noise, const struct lineage_runs *trial,
                               const struct lineage_runs *best);

/* The 95 % interval of the gain, by Student's t; NAN and NAN if the noise is unknown. */
LINEAGE_API void lineage_judgement_interval(double *low, double *high, const struct lineage_judgement *judgement,
                                            const struct lineage_noise *noise);

/* ---- the evidence in a store ---- */

/* Whether a trial ran more than once: some row says that it runs the trial again or is another seed of its setting, or the trial's
 * own notes name another trial. Takes the same time in a store of any size. */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_ran_again(bool *again, struct lineage_store *store,
                                                                    const struct lineage_trial *trial, struct lineage_error *err);

/* All runs of one trial: its first row, and the rows that run it again (struct lineage_replicate in lineage/notes.h). */
struct lineage_evidence_trial {
    const char *exp_id; /* of the first row */
    const char *kept_id; /* of the latest of its rows that is kept; NULL: none */
    uint64_t seq; /* of the first row */
    enum lineage_label status; /* of the first row */
    struct lineage_runs runs; /* every run that has a score; a row with the mean of N seeds is N runs */
    struct lineage_runs fresh; /* those of rows after the first one, which did not select the trial */
    size_t again; /* rows after the first one, failures included */
    size_t failed; /* those of them without a score */
    double variance; /* between its runs, divided by their number minus one; 0 for a single one, NAN if it overflows */
    bool is_best;
    struct lineage_judgement judgement; /* against the best trial; not filled in for the best one and without any. A trial
                                         * that runs again is a candidate until it is decided */
    bool suggested; /* its first row alone makes it a candidate */
    size_t
        left_out; /* runs that are far worse than its others and than most trials; they count in nothing else. A trial with more of
                      * them than other runs is not the answer; with three more of them all count */
    double expected; /* the mean of its runs, drawn to the middle of all trials as far as noise may explain the difference */
    double doubt; /* standard deviation of the true mean around it */
    bool stray; /* ran once, far outside of all others: that run may have diverged, and counts in nothing expected. Twice, where
                 * some run of another trial is left out, so that runs diverge by chance */
};

/* A setting that has no score: every run of it failed. */
struct lineage_failed_setting {
    const char *exp_id; /* of its first row */
    const char *last_id; /* of its newest one, */
    enum lineage_label status; /* and how that ended */
    size_t n; /* rows that do not count as void */
};

struct lineage_evidence {
    struct lineage_evidence_trial *trials; /* [n] in the order of the log; trials without any score are left out */
    size_t n;
    size_t best; /* index of the best of the kept trials, by its expected value; n if there is none */
    const char *best_id; /* its kept row; NULL: none */
    struct lineage_runs best_runs; /* that others are compared with: see lineage_evidence_load */
    struct lineage_noise noise;
    struct lineage_evidence_rule rule;
    size_t answer; /* the trial with the best expected value, kept or not; n if there is none */
    size_t second; /* the trial with the next best one; n if there is none */
    double
        sure; /* probability that the answer is the best: that it is better than the second and all others; NAN if nothing ran more
                    * than once */
    double over_second; /* probability that it is better than the second; NAN like sure */
    const char *top_id; /* the kept row with the best score of its own; NULL: none */
    void *memory;
};

/*
 * Settings. A trial is a setting with all its runs: its first row, the rows that run it again, and the rows that say the same but
 * for another value of a seed (lineage_param_is_seed): the same specialist, hypothesis, program and other parameters. A row that has
 * none of the last three is a setting of its own. The name of an imported run may end in its seed ("ppo-s1").
 *
 * Expected values. The trials' true means are taken as normal, with a middle and a variance that are estimated from all means by
 * their precision (DerSimonian and Laird 1986); the expected value is the posterior mean (Efron and Morris 1973, J. Am. Stat. Assoc.
 * 68:117). Those that are far worse than most are left out, and keep their own means. So one lucky run does not win against ten good
 * ones. Where something ran again and the means follow the trials' numbers (at most 8 parameters that differ; texts part the trials), a
 * setting is drawn to what its neighbours say instead of to the middle. Until the noise is measured well, a guess counts like
 * PRIOR_FREEDOM degrees of freedom.
 *
 * Collects the runs of every trial of the store and judges each against the best one. The noise is the one that the
 * owner has set; else it is pooled over all trials with several runs; else lineage.json's; else it is estimated from
 * replicas (lineage/replicas.h) among the newest 1000 trials. The first run of the best trial does not count against
 * others if it selected the trial, so not for a baseline, and only with three fresh runs or more. Takes time in proportion
 * to the rows. trials and runs_max of the rule are those of `rule`, or 0 with NULL. Release the evidence after use.
 */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_evidence_load(struct lineage_evidence *evidence,
                                                                        struct lineage_store *store,
                                                                        const struct lineage_evidence_rule *rule,
                                                                        struct lineage_error *err);

/*
 * Like lineage_evidence_load. In a store of more than 1000 rows it collects only the trials that ran more than once, the one that
 * exp_id names (NULL: none), the 100 best rows, those of the kept ones and the newest 100 rows, with the other seeds of their settings, and takes
 * time in proportion to these; what it expects is then drawn to the middle of these. lineage_best and a night use it.
 */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_evidence_load_for(struct lineage_evidence *evidence,
                                                                            struct lineage_store *store, const char *exp_id,
                                                                            const struct lineage_evidence_rule *rule,
                                                                            struct lineage_error *err);
LINEAGE_API void lineage_evidence_release(struct lineage_evidence *evidence);

/* Whether settings ran more than once and each run brought the score of the first, and the words for it. */
LINEAGE_API bool lineage_evidence_same_scores(const struct lineage_evidence *evidence);
#define LINEAGE_SAME_SCORES                                                                                                      \
    "all runs of a setting have the same score, which says nothing of the noise unless the command uses {seed} or LINEAGE_SEED"

/*
 * The i-th of the settings without a score, in the order of the log; NULL if there are not as many. The rows of such a setting say the
 * same but for a seed, or run each other again. Of a store with more than 1000 rows, lineage_evidence_load_for knows only some.
 */
LINEAGE_API const struct lineage_failed_setting *lineage_evidence_failed(const struct lineage_evidence *evidence, size_t i);

/* Index of the trial that exp_id belongs to, as its first row or as one that runs it again; n if there is none. */
LINEAGE_API size_t lineage_evidence_find(const struct lineage_evidence *evidence, const char *exp_id);

/* The id of the row that shows trial i, as lineage_best does: the kept one, else its first, else, where that run diverged, the first
 * that counts. A trial that is held back has the id of its first row. */
LINEAGE_API const char *lineage_evidence_row(const struct lineage_evidence *evidence, size_t i);

/* Adds the run of a row that is about to be written, with a finite score, to trial i, and judges all trials again. */
LINEAGE_API void lineage_evidence_add(struct lineage_evidence *evidence, size_t i, const struct lineage_trial *row);

/*
 * lineage_best (lineage/query.h) with the evidence for it: sure is NAN if no trial ran more than once, and then nothing else
 * is set. Release both after use.
 */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_best_of(struct lineage_store *store, struct lineage_trial *trial,
                                                                  struct lineage_evidence *evidence, struct lineage_error *err);

/*
 * Replaces the measured noise floor in the store's settings by that of all runs that count, unless the owner has set one. clear: if
 * no trial has several runs, the floor becomes unknown; else it then stays.
 */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_noise_measure(struct lineage_store *store, bool clear,
                                                                        struct lineage_error *err);

/* Whether a row may be another run of a setting, so that it measures the noise: it says which trial it repeats, or has a seed. */
LINEAGE_API bool lineage_may_repeat(const struct lineage_store *store, const struct lineage_trial *row);

/* lineage_noise_measure after rows were appended, if one of them is another run of a setting, the baseline of several seeds, or any trial
 * of several seeds, once the noise is known or such trials have four degrees of freedom; and after the trial exp_id was taken out of the count or back, if its score was one of
 * several runs. A failure leaves the rows in the log. */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_noise_after_append(struct lineage_store *store,
                                                                             const struct lineage_trial *rows, size_t n,
                                                                             struct lineage_error *err);
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_noise_after_void(struct lineage_store *store, const char *exp_id,
                                                                           struct lineage_error *err);

#define LINEAGE_CLAIM_TEXT_MAX 400

/*
 * What the verdict of a kept trial is worth while the noise is unknown: "not known to be better: the noise is unknown; `lineage rerun 014
 * --seeds 3` finds out". "" for other trials, also for the first of a store, which was compared with nothing. Returns out.
 */
LINEAGE_API const char *lineage_claim_text(char out[LINEAGE_CLAIM_TEXT_MAX], const struct lineage_store *store,
                                           const struct lineage_trial *trial);

/*
 * Judges trials again by their runs, fresh, kept_id and status, and by the noise and the rule, which the caller may have filled in:
 * sets all that follows from these. Returns false when out of memory.
 */
LINEAGE_API bool lineage_evidence_judge(struct lineage_evidence *evidence);

/* Fills order[n] with the indices of the trials by their expected value, the best first; of equal ones the earlier. */
LINEAGE_API void lineage_evidence_order(size_t *order, const struct lineage_evidence *evidence);

/* The trial that would be the answer, had not more of its runs diverged than did not; n if there is none. Of several the best. */
LINEAGE_API size_t lineage_evidence_held_back(const struct lineage_evidence *evidence);

/* Whether trial i is confirmed and not kept yet. */
LINEAGE_API bool lineage_evidence_is_ready(const struct lineage_evidence *evidence, size_t i);

/*
 * Picks the trial that runs again next: the one whose next run improves the answer most, as far as can be expected
 * (knowledge gradient: Frazier, Powell and Dayanik 2008, SIAM J. Control Optim. 47:2410), the leader first until the noise is known,
 * unless the second is near. A trial that is far behind by the measured noise does not run again; a stray one may, as if it had
 * not run, and one that would be the answer, had it not diverged more often than not, does. When the answer is certain enough, it runs
 * again until it is known whether it is better than the best of the kept trials. skip[i] excludes trial i. Returns its index, or SIZE_MAX if none is left or all is
 * decided.
 */
LINEAGE_API size_t lineage_evidence_next(const struct lineage_evidence *evidence, const bool *skip);

#endif

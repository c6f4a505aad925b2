/* information_gain.c: the value of a turn: how much it raised the probability of the true answer. */
#include "a2tgpo/a2tgpo_internal.h"

/*
 * The product of the probabilities of a long answer underflows and shrinks with every token, so its
 * gain would measure the length of the answer. The geometric mean avoids both. The sum stays in
 * logarithms until the end for the same reason.
 */
double rl_prefix_value(enum rl_gain kind, size_t n, const double *log_prob)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += log_prob[i];
    double mean = sum / (double)n;
    return kind == RL_GAIN_MEAN_LOG_PROB ? mean : exp(kind == RL_GAIN_PROB ? sum : mean);
}

enum rl_status rl_information_gain(enum rl_gain kind, size_t n_turns, size_t n_answer, const double *answer_log_prob,
                                   double *gain, struct rl_error *err)
{
    if ((unsigned)kind > RL_GAIN_PROB)
        return rl_fail(err, RL_EINVAL, "kind of information gain %d is unknown", (int)kind);
    if (n_answer == 0)
        return rl_fail(err, RL_EINVAL, "the answer has no tokens");
    if (!answer_log_prob || (n_turns && !gain))
        return rl_fail(err, RL_EINVAL, "%s is missing", gain ? "answer_log_prob" : "gain");
    for (size_t i = 0; i < (n_turns + 1) * n_answer; i++)
        if (!isfinite(answer_log_prob[i]) || answer_log_prob[i] > 0)
            return rl_fail(err, RL_EVALUE, "answer_log_prob[%zu][%zu] is %g, not a log-probability", i / n_answer, i % n_answer,
                           answer_log_prob[i]);
    /*
     * A prefix value is used twice, as the end of one turn and the start of the next. The gains of
     * a rollout therefore add up to exactly the difference between its first and last value.
     */
    double before = rl_prefix_value(kind, n_answer, answer_log_prob);
    for (size_t turn = 0; turn < n_turns; turn++) {
        double after = rl_prefix_value(kind, n_answer, answer_log_prob + (turn + 1) * n_answer);
        gain[turn] = after - before;
        before = after;
    }
    return RL_OK;
}

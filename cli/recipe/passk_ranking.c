/* passk_ranking.c: see passk_ranking.h. */
#include "recipe/passk_ranking.h"

#include <math.h>
#include <stdlib.h>

struct interval {
    double mean, low, high;
};

static double value_of(const struct passk_ranking *r, size_t policy, size_t question, size_t k)
{
    return r->per_question[(policy * r->n_questions + question) * r->n_k + k];
}

/*
 * Returns the mean pass@k of a policy over the questions, with its interval. If `best` names another policy, returns
 * the mean of the differences to that policy question by question, in which the difficulty of a question cancels out.
 */
static struct interval over_questions(const struct passk_ranking *r, size_t policy, const size_t *best, size_t k)
{
    double n = (double)r->n_questions, mean = 0, square = 0;
    for (size_t pass = 0; pass < 2; pass++)
        for (size_t q = 0; q < r->n_questions; q++) {
            double x = value_of(r, policy, q, k) - (best ? value_of(r, *best, q, k) : 0);
            if (pass == 0)
                mean += x / n;
            else
                square += (x - mean) * (x - mean);
        }
    double half = n > 1 ? 1.959963984540054 * sqrt(square / (n - 1) / n) : INFINITY;
    return (struct interval){mean, mean - half, mean + half};
}

/* Ties keep the order of the command line. */
static void sort_by(const struct passk_ranking *r, size_t k, size_t *order)
{
    for (size_t i = 0; i < r->n; i++) {
        size_t at = i;
        double mean = over_questions(r, i, NULL, k).mean;
        for (; at > 0 && over_questions(r, order[at - 1], NULL, k).mean < mean; at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
}

static void print_row(struct cli_list *list, const struct passk_ranking *r, size_t k, const size_t *order, size_t place)
{
    struct interval own = over_questions(r, order[place], NULL, k);
    struct interval behind = over_questions(r, order[place], &order[0], k);
    bool known = isfinite(own.low);
    cli_list_count(list, (size_t)r->k[k]);
    cli_list_count(list, place + 1);
    cli_list_text(list, r->names[order[place]]);
    cli_list_figure(list, own.mean, true);
    cli_list_figure(list, fmax(0, own.low), known);
    cli_list_figure(list, fmin(1, own.high), known);
    cli_list_figure(list, behind.mean, place > 0);
    cli_list_figure(list, behind.low, place > 0 && known);
    cli_list_figure(list, behind.high, place > 0 && known);
    cli_list_end_row(list);
}

int passk_ranking_print(const struct passk_ranking *r, enum cli_format format)
{
    static const char *const columns[] = {"k", "rank", "policy", "passk", "low", "high", "behind", "behind_low", "behind_high"};
    struct cli_list *list = cli_list_new(format, stdout, sizeof columns / sizeof *columns, columns);
    size_t *order = malloc(r->n * sizeof *order);
    if (!list || !order) {
        free(order);
        return cli_no_memory();
    }
    for (size_t k = 0; k < r->n_k; k++) {
        sort_by(r, k, order);
        for (size_t place = 0; place < r->n; place++)
            print_row(list, r, k, order, place);
    }
    free(order);
    return cli_list_finish(list);
}

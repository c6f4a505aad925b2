/* idea_terms.c: a dictionary of the words, numbers and names of a log, and texts as weighted sets of them. */
#include "idea_terms.h"

#include <math.h>
#include <stdlib.h>

uint32_t terms_find(struct terms *terms, const char *text, size_t length, bool add)
{
    uint32_t number = text_table_find(&terms->table, text, length);
    if (number != TEXT_NONE || !add || terms->n == TERM_NONE - 1)
        return number == TEXT_NONE ? TERM_NONE : number;
    if (!LIST_ROOM(terms->df, terms->n, terms->capacity))
        return TERM_NONE;
    number = text_table_add(&terms->table, text, length);
    if (number == TEXT_NONE)
        return TERM_NONE;
    terms->df[number] = 0;
    terms->n = number + 1;
    return number;
}

void terms_release(struct terms *terms)
{
    text_table_release(&terms->table);
    free(terms->df);
    free(terms->idf);
    *terms = (struct terms){0};
}

static double idf(const struct terms *terms, double df)
{
    return log1p(((double)terms->n_rows - df + 0.5) / (df + 0.5));
}

double terms_idf(const struct terms *terms, uint32_t term)
{
    return term < terms->n_weighed ? terms->idf[term] : idf(terms, term < terms->n ? terms->df[term] : 0);
}

bool terms_weigh(struct terms *terms)
{
    double *known = realloc(terms->idf, (terms->n + 1) * sizeof *known);
    if (!known)
        return false;
    terms->idf = known;
    for (uint32_t i = 0; i < terms->n; i++)
        known[i] = idf(terms, terms->df[i]);
    terms->n_weighed = terms->n;
    return true;
}

void weights_add(struct weights *w, uint32_t term, float weight)
{
    if (term == TERM_NONE)
        return;
    if (!LIST_ROOM(w->items, w->n, w->capacity)) {
        w->failed = true;
        return;
    }
    w->items[w->n++] = (struct weight){term, weight};
}

static int by_term(const void *a, const void *b)
{
    const struct weight *x = a, *y = b;
    return (x->term > y->term) - (x->term < y->term);
}

void weights_sort(struct weights *w)
{
    size_t n = 0;
    if (w->n)
        qsort(w->items, w->n, sizeof *w->items, by_term);
    for (size_t i = 0; i < w->n; i++)
        if (n && w->items[n - 1].term == w->items[i].term)
            w->items[n - 1].weight += w->items[i].weight;
        else
            w->items[n++] = w->items[i];
    w->n = n;
}

double weights_share(const struct terms *terms, const struct weights *a, const struct weights *b)
{
    double sum = 0, shared = 0;
    for (size_t i = 0, j = 0; i < a->n; i++) {
        double weight = terms_idf(terms, a->items[i].term);
        while (j < b->n && b->items[j].term < a->items[i].term)
            j++;
        sum += weight;
        if (j < b->n && b->items[j].term == a->items[i].term)
            shared += weight;
    }
    return sum > 0 ? shared / sum : 0;
}

static double squares(const struct terms *terms, const struct weights *w)
{
    double sum = 0;
    for (size_t i = 0; i < w->n; i++) {
        double weight = terms_idf(terms, w->items[i].term);
        sum += weight * weight * (double)w->items[i].weight;
    }
    return sum;
}

double weights_cosine(const struct terms *terms, const struct weights *a, const struct weights *b)
{
    double dot = 0, norm;
    for (size_t i = 0, j = 0; i < a->n && j < b->n;) {
        if (a->items[i].term == b->items[j].term)
            dot += terms_idf(terms, a->items[i].term) * terms_idf(terms, a->items[i].term) *
                   (double)sqrtf(a->items[i].weight * b->items[j].weight);
        uint32_t x = a->items[i].term, y = b->items[j].term;
        i += x <= y;
        j += y <= x;
    }
    norm = sqrt(squares(terms, a) * squares(terms, b));
    return norm > 0 ? dot / norm : 0;
}

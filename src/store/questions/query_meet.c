/*
 * query_meet.c: finds the trials that several conditions have in common.
 *
 * The narrowest of several wide conditions may lead to half of the log although no trial meets all of them: one value was tried
 * last year, and the other one since. So the trials of all conditions are walked together, each from where another one is.
 */
#include "query_meet.h"

#include <stdlib.h>

#include "param_walks.h"

struct meeting {
    struct mirror *mirror;
    struct source *sources; /* [n] */
    size_t n;
    int64_t at;
};

/* Opens a source for the condition, if it has few values; otherwise m->n stays. A condition without bounds also means texts. */
static enum lineage_status add_source(struct meeting *m, const struct lineage_condition *condition, const struct named *named,
                                      struct lineage_error *err)
{
    struct lineage_condition named_condition = *condition;
    const struct lineage_range *range = &condition->range;
    bool many = false;
    if (named->kind != NAME_PARAM || (!condition->n_texts && !range->low.present && !range->high.present))
        return LINEAGE_OK;
    named_condition.name = named->name;
    m->sources[m->n].at = INT64_MAX;
    enum lineage_status status = source_add_values(&m->sources[m->n], m->mirror, &named_condition, SOURCE_ALL, &many, err);
    m->n += !many;
    return status;
}

/* Goes back to the next trial that all sources have; m->at is 0 at the end. */
static enum lineage_status find_next(struct meeting *m, struct lineage_error *err)
{
    enum lineage_status status = LINEAGE_OK;
    for (size_t same = 0, i = 0; same < m->n && m->at > 0 && status == LINEAGE_OK; i = (i + 1) % m->n) {
        status = source_to(&m->sources[i], m->mirror, m->at, err);
        same = m->sources[i].at == m->at ? same + 1 : 1;
        m->at = m->sources[i].at;
    }
    return status;
}

/* Writes the trials into b->met as the source of a statement. *n becomes their number, `most` if there are more. */
static enum lineage_status list_common(struct meeting *m, struct builder *b, size_t most, size_t *n, struct lineage_error *err)
{
    enum lineage_status status = LINEAGE_OK;
    buf_reset(&b->met);
    buf_puts(&b->met, "SELECT t.seq FROM trials t WHERE t.seq IN (");
    for (*n = 0; *n < most && (status = find_next(m, err)) == LINEAGE_OK && m->at > 0; ++*n)
        buf_printf(&b->met, "%s%lld", *n ? ", " : "", (long long)m->at--);
    buf_puts(&b->met, ")");
    return status == LINEAGE_OK && b->met.failed ? store_no_memory(err) : status;
}

enum lineage_status query_find_meet(struct narrow *narrow, struct builder *b, const struct lineage_condition *conditions,
                                    const struct named *names, size_t n, struct lineage_error *err)
{
    struct meeting m = {.mirror = b->mirror, .at = INT64_MAX - 1, .sources = calloc(n, sizeof *m.sources)};
    size_t most = narrow->n < FEW ? narrow->n : FEW, met = most;
    enum lineage_status status = m.sources ? LINEAGE_OK : store_no_memory(err);
    for (size_t i = 0; i < n && status == LINEAGE_OK; i++)
        status = add_source(&m, &conditions[i], &names[i], err);
    if (status == LINEAGE_OK && m.n > 1)
        status = list_common(&m, b, most, &met, err);
    if (status == LINEAGE_OK && met < most)
        *narrow = (struct narrow){b->met.data, met};
    for (size_t i = 0; m.sources && i < n; i++)
        source_close(&m.sources[i]);
    free(m.sources);
    return status;
}

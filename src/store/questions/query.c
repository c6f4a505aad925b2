/*
 * query.c: finds trials by conditions. The statement is built from fixed parts and the names of known columns. Every
 * value, and every name that a user gave, is bound.
 *
 * The cost of a query must depend on what it returns, not on the size of the store, because agents ask all night and
 * the store only grows. So there are two ways to the rows. First, each condition on a parameter, a metric or an extra column has
 * an index: the condition that leads to the fewest rows is read from its index, and the other conditions are tested row
 * by row (connection.c). Second, for a short sorted list the rows are walked in that order until the list is full.
 * SQLite's planner cannot choose between them, because it has no statistics here (ANALYZE would have to be repeated as
 * the store grows).
 */
#include <lineage/query.h>

#include <math.h>
#include <time.h>

#include <lineage/time.h>

#include "param_walks.h"
#include "query_conditions.h"

/* ---- the trials that several conditions on parameters have in common ---- */

/* finds the trials that several conditions have in common.
 *
 * The narrowest of several wide conditions may lead to half of the log although no trial meets all of them: one value was tried
 * last year, and the other one since. So the trials of all conditions are walked together, each from where another one is. */

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
    for (size_t same = 0, i = 0; same < m->n && m->at > 0; i = (i + 1) % m->n) {
        TRY(source_to(&m->sources[i], m->mirror, m->at, err));
        same = m->sources[i].at == m->at ? same + 1 : 1;
        m->at = m->sources[i].at;
    }
    return LINEAGE_OK;
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

/* Looks at the conditions on parameters that allow few values. If there are at least two, and fewer than FEW and narrow->n trials
 * meet all of them, *narrow becomes the source of these trials, with its text in b->met. Otherwise *narrow stays unchanged.
 * names[i] is what the name of conditions[i] stands for. The statement must have all conditions too. */
static enum lineage_status query_find_meet(struct narrow *narrow, struct builder *b, const struct lineage_condition *conditions,
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

/* ---- finds trials by conditions ---- */

#define SECONDS_PER_DAY 86400
#define KEPT_LABELS (1u << LINEAGE_KEEP | 1u << LINEAGE_BASELINE)

static void add_labels(struct builder *b, unsigned labels)
{
    const char *comma = "";
    if (!labels)
        return;
    if (!(labels & ~KEPT_LABELS))
        buf_puts(&b->sql, " AND t.status IN ('keep', 'baseline')"); /* these have an index */
    buf_puts(&b->sql, " AND t.status IN (");
    for (int i = 0; i < LINEAGE_N_LABELS; i++)
        if (labels & (1u << i)) {
            buf_printf(&b->sql, "%s'%s'", comma, lineage_label_name((enum lineage_label)i));
            comma = ", ";
        }
    buf_puts(&b->sql, ")");
}

/* An absent condition is left out of the statement, because a condition that is always true would keep SQLite from
 * using an index. */
static void add_text(struct builder *b, const char *test, const char *text)
{
    if (!text)
        return;
    buf_printf(&b->sql, " AND %s", test);
    builder_bind_text(b, text);
}

/* The sort key of a query as SQL: `value` for the current row, and `after` for the row `a` after which the page
 * begins. */
struct order {
    struct named by;
    bool down;
    bool by_seq; /* order of the log, or its reverse */
    char value[PARAM_SQL_MAX]; /* contains one `?` for the name if `bound` is set */
    char after[PARAM_SQL_MAX];
    const char *seq;
    bool bound, after_bound;
};

static void name_column(struct order *order)
{
    snprintf(order->value, sizeof order->value, "t.%s", order->by.name);
    snprintf(order->after, sizeof order->after, "a.%s", order->by.name);
}

/* Writes the expression for the number of a parameter, metric or extra column, in the row with the alias `row`. */
static void name_number(struct mirror *mirror, char out[PARAM_SQL_MAX], const struct named *named, const char *row)
{
    if (named->kind == NAME_PARAM)
        name_param_sql(mirror, out, row);
    else if (named->kind == NAME_SETTING)
        snprintf(out, PARAM_SQL_MAX, "(SELECT min(value) FROM temp.setting_rows WHERE seq = %s.seq AND key = ?)", row);
    else
        snprintf(out, PARAM_SQL_MAX, "(SELECT number FROM %s WHERE seq = %s.seq AND name = ?)", name_table(named->kind)->table,
                 row);
}

/* If the leading condition is on the sort key, the value comes from its index and is not parsed from notes again. */
static void name_values(struct mirror *mirror, struct order *order, const struct lead *lead)
{
    bool led = lead->found && lead->named.kind == order->by.kind && strcmp(lead->named.name, order->by.name) == 0;
    name_number(mirror, order->after, &order->by, "a");
    order->after_bound = true;
    order->bound = !led;
    order->seq = led ? "l.seq" : "t.seq";
    if (led)
        snprintf(order->value, sizeof order->value, "l.%s", name_table(order->by.kind)->value);
    else
        name_number(mirror, order->value, &order->by, "t");
}

static void describe_order(struct mirror *mirror, struct order *order, const struct lead *lead)
{
    order->by_seq = order->by.kind == NAME_UNKNOWN || strcmp(order->by.name, "seq") == 0;
    order->seq = "t.seq";
    if (order->by_seq)
        snprintf(order->value, sizeof order->value, "%s.seq", lead->found ? "l" : "t");
    else if (order->by.kind == NAME_NUMBER_COLUMN || order->by.kind == NAME_TEXT_COLUMN)
        name_column(order);
    else
        name_values(mirror, order, lead);
}

/* The name is bound each time that the expression occurs in the statement, because the bound values must be in the
 * order of the question marks. */
static void add_value(struct builder *b, const struct order *order, const char *before)
{
    buf_printf(&b->sql, "%s%s", before, order->value);
    if (order->bound)
        builder_bind_text(b, order->by.name);
}

/* Parses a time of a query. `day` is a date that comes before all timestamps in question for `since`, and after them
 * otherwise. */
static enum lineage_status read_time(int64_t *seconds, char day[LINEAGE_TIME_MAX], const char *text, bool since,
                                     struct lineage_error *err)
{
    TRY(lineage_time_parse(seconds, text, time(NULL), err));
    lineage_time_format(day, since ? *seconds - SECONDS_PER_DAY : *seconds + 2 * SECONDS_PER_DAY);
    day[10] = '\0';
    return LINEAGE_OK;
}

/* Whether timestamps are seconds since 1970, which do not sort among dates as texts. */
static bool has_seconds(struct mirror *mirror, enum lineage_status *status, struct lineage_error *err)
{
    return name_exists(mirror,
                       "SELECT 1 FROM trials INDEXED BY trials_by_timestamp WHERE timestamp >= '1' AND timestamp < ?1"
                       " AND timestamp GLOB '1[0-9][0-9][0-9][0-9]*' LIMIT 1",
                       "2", status, err);
}

/* Times are compared as instants, because timestamps of other tools may have a time zone, or a blank instead of T. A
 * wider comparison of texts comes first, because the index can answer it; it is wide enough, because a zone shifts an
 * instant by less than a day. */
static enum lineage_status add_time(struct builder *b, const char *text, bool since, struct lineage_error *err)
{
    char day[LINEAGE_TIME_MAX];
    int64_t seconds = 0;
    if (!text)
        return LINEAGE_OK;
    enum lineage_status status = read_time(&seconds, day, text, since, err);
    if (status == LINEAGE_OK && !has_seconds(b->mirror, &status, err))
        buf_printf(&b->sql, " AND t.timestamp %s '%.10s'", since ? ">=" : "<", day);
    buf_printf(&b->sql, " AND moment(t.timestamp) %s ?", since ? ">=" : "<");
    builder_bind_number(b, (double)seconds);
    return status;
}

/* Rows without a sort value are left out, because they have no position in the order; that NULL sorts first is only
 * SQLite's convention. */
static void add_sortable(struct builder *b, const struct order *order)
{
    if (order->by_seq)
        return;
    add_value(b, order, " AND ");
    buf_puts(&b->sql, order->by.kind == NAME_TEXT_COLUMN ? " <> ''" : " IS NOT NULL");
}

/* Adds the condition that rows come after the row `after` in the order. A plain `>=` comes first, because an index can
 * answer it. A page begins after a row and not at a count, so that rows that are added between two pages do not shift
 * the pages. */
static void add_after(struct builder *b, const struct order *order, uint64_t after)
{
    const char *beyond = order->down ? "<" : ">";
    if (!after)
        return;
    if (order->by_seq) {
        buf_printf(&b->sql, " AND %s %s ?", order->value, beyond);
        builder_bind_number(b, (double)after);
        return;
    }
    for (int i = 0; i < 2; i++) {
        add_value(b, order, i ? " AND (" : " AND ");
        buf_printf(&b->sql, " %s%s (SELECT %s FROM trials a WHERE a.seq = ?)", beyond, i ? "" : "=", order->after);
        if (order->after_bound)
            builder_bind_text(b, order->by.name);
        builder_bind_number(b, (double)after);
    }
    buf_printf(&b->sql, " OR %s > ?)", order->seq);
    builder_bind_number(b, (double)after);
}

/* Ties keep the order of the log. */
static void add_order(struct builder *b, const struct order *order)
{
    add_value(b, order, " ORDER BY ");
    buf_printf(&b->sql, "%s%s%s", order->down ? " DESC" : "", order->by_seq ? "" : ", ", order->by_seq ? "" : order->seq);
}

/* SQLite's integers are signed. */
static void add_limit(struct builder *b, size_t limit)
{
    if (limit)
        buf_printf(&b->sql, " LIMIT %zu", limit > INT64_MAX ? (size_t)INT64_MAX : limit);
}

static enum lineage_status resolve_sort(struct mirror *mirror, const char *sort, struct named *named, bool *down,
                                        struct lineage_error *err)
{
    enum mirror_name kind = MIRROR_NAME_COLUMN;
    enum lineage_status known = LINEAGE_OK;
    const bool word = sort && (strcmp(sort, "best") == 0 || strcmp(sort, "newest") == 0);
    *named = (struct named){NAME_UNKNOWN, NULL, false};
    if (word && (known = mirror_find_name(mirror, sort, &kind, err)) != LINEAGE_OK)
        return known;
    if (kind == MIRROR_NAME_UNKNOWN)
        sort = *sort == 'n' ? "-seq" : mirror_store(mirror)->config.direction == LINEAGE_HIGHER ? "-score" : "score";
    *down = sort && sort[0] == '-';
    return sort ? name_resolve(mirror, sort + *down, named, err) : LINEAGE_OK;
}

/* If no condition leads and the sort key is a parameter, the index of that parameter gives the order. */
static enum lineage_status find_lead(struct builder *b, const struct lineage_query *query, const struct named *sort,
                                     struct lead *lead, struct lineage_error *err)
{
    struct named named;
    for (size_t i = 0; i < query->n_conditions; i++) {
        TRY(query_resolve_condition(b->mirror, &query->conditions[i], &named, err));
        TRY(lead_consider(b, lead, &named, &query->conditions[i], i, err));
    }
    if (!lead->found && name_table(sort->kind))
        *lead = (struct lead){.named = *sort, .at = SIZE_MAX, .found = true};
    return LINEAGE_OK;
}

/*
 * A walk is for a short list under wide conditions. The index of a parameter is in the order of its values, so sorting
 * by another key would mean reading all rows that the index finds. A walk in the requested order usually fills the list
 * after a few rows, unless matching rows come late in that order. So the number of rows to walk is limited and grows
 * with each try, until reading all rows of the narrowest condition is cheaper.
 */
enum { SHORT_LIST = 1000, FIRST_WALK = 64, WALK_GROWTH = 4 };

/* How a statement reaches its trials. */
struct plan {
    enum { COUNT, LIST, WALK } what;
    size_t walked; /* maximum number of rows that a walk looks at */
    struct lead lead;
    struct narrow narrow; /* instead of a lead */
    struct order order;
    bool unordered; /* the statement lists the trials in the order of an index, and they are sorted by seq afterwards */
};

/* Whether a walk is possible and useful: the list is short, and an index other than that of the leading condition is in
 * the requested order. A list without a limit reads all rows anyway, and a long list most of them. */
static bool can_walk(const struct plan *plan, const struct lineage_query *query)
{
    static const char *const indexed[] = {"score", "core_metric", "val_bpb", "timestamp", "exp_id"};
    const struct named *by = &plan->order.by;
    if (!query->limit || query->limit > SHORT_LIST || (plan->narrow.source && plan->narrow.n < FIRST_WALK) ||
        (plan->lead.found && plan->lead.n < FEW))
        return false;
    if (plan->order.by_seq)
        return true;
    if (name_table(by->kind))
        return !(plan->lead.found && plan->lead.named.kind == by->kind && strcmp(plan->lead.named.name, by->name) == 0);
    for (size_t i = 0; i < sizeof indexed / sizeof *indexed; i++)
        if (strcmp(indexed[i], by->name) == 0)
            return true;
    return false;
}

/* Conditions on the sort key limit the range of the walk, so it does not have to skip excluded rows one by one. */
static enum lineage_status add_bounds(struct builder *b, const struct order *order, const struct lineage_query *query,
                                      struct lineage_error *err)
{
    struct named named;
    for (size_t i = 0; !order->by_seq && i < query->n_conditions; i++) {
        TRY(query_resolve_condition(b->mirror, &query->conditions[i], &named, err));
        if (!query->conditions[i].n_texts && named.kind == order->by.kind && strcmp(named.name, order->by.name) == 0)
            query_add_range(b, order->value, &query->conditions[i].range);
    }
    return LINEAGE_OK;
}

/* Adds the columns and the source of the rows, which an index returns in the requested order. */
static enum lineage_status add_indexed(struct builder *b, const char *columns, const struct plan *plan,
                                       const struct lineage_query *query, struct lineage_error *err)
{
    const struct named *by = &plan->order.by;
    const struct named_table *from = name_table(by->kind);
    buf_printf(&b->sql, "SELECT %s FROM ", columns);
    if (plan->lead.found) {
        buf_printf(&b->sql, "%s l WHERE l.%s = ?", from->table, from->name);
        builder_bind_text(b, by->name);
    } else {
        buf_puts(&b->sql, "trials t WHERE 1");
    }
    enum lineage_status status = add_bounds(b, &plan->order, query, err);
    add_sortable(b, &plan->order);
    add_after(b, &plan->order, query->after);
    return status;
}

/* Adds the sort key at which the walk ends, as a subquery. */
static enum lineage_status add_edge(struct builder *b, const struct plan *plan, const struct lineage_query *query,
                                    struct lineage_error *err)
{
    char column[PARAM_SQL_MAX + 16];
    snprintf(column, sizeof column, "%s AS v", plan->order.value);
    buf_puts(&b->sql, "(SELECT min(v) FROM (");
    enum lineage_status status = add_indexed(b, column, plan, query, err);
    buf_printf(&b->sql, " ORDER BY v DESC LIMIT %zu))", plan->walked);
    return status;
}

/* Ties must stay in the order of the log, but reading an index backwards reverses them. So the walk takes the rows
 * above the sort key at which it ends, and then the ties at that key. */
static enum lineage_status add_walk_down(struct builder *b, const char *columns, const struct plan *plan,
                                         const struct lineage_query *query, struct lineage_error *err)
{
    enum lineage_status status = add_indexed(b, columns, plan, query, err);
    buf_printf(&b->sql, " AND %s > ", plan->order.value);
    if (status == LINEAGE_OK)
        status = add_edge(b, plan, query, err);
    buf_puts(&b->sql, " UNION ALL SELECT * FROM (");
    if (status == LINEAGE_OK)
        status = add_indexed(b, columns, plan, query, err);
    buf_printf(&b->sql, " AND %s = ", plan->order.value);
    if (status == LINEAGE_OK)
        status = add_edge(b, plan, query, err);
    buf_printf(&b->sql, " ORDER BY %s LIMIT %zu)", plan->order.seq, plan->walked);
    return status;
}

/* Adds a walk: an inner statement returns the first rows in the order, from an index alone, and the conditions test
 * these few rows outside. If the conditions were inside, the limit would count matching rows instead of rows that were
 * looked at, and the walk might go through the whole log. */
static enum lineage_status add_walk(struct builder *b, struct plan *plan, const struct lineage_query *query,
                                    struct lineage_error *err)
{
    const struct named *by = &plan->order.by;
    enum lineage_status status;
    plan->lead = (struct lead){.named = *by, .at = SIZE_MAX, .found = name_table(by->kind) != NULL};
    describe_order(b->mirror, &plan->order, &plan->lead);
    char columns[32] = "t.seq";
    if (plan->lead.found)
        snprintf(columns, sizeof columns, "l.seq, l.%s", name_table(by->kind)->value);
    buf_puts(&b->sql, "SELECT t.seq FROM (");
    if (plan->order.down && !plan->order.by_seq) {
        status = add_walk_down(b, columns, plan, query, err);
    } else {
        status = add_indexed(b, columns, plan, query, err);
        add_order(b, &plan->order);
        buf_printf(&b->sql, " LIMIT %zu", plan->walked);
    }
    buf_puts(&b->sql, ") l CROSS JOIN trials t ON t.seq = l.seq WHERE 1");
    return status;
}

static enum lineage_status add_conditions(struct builder *b, const struct plan *plan, const struct lineage_query *query,
                                          struct lineage_error *err)
{
    struct named named;
    add_labels(b, query->labels);
    add_text(b, "t.specialist = ?", query->specialist);
    TRY(add_time(b, query->since, true, err));
    TRY(add_time(b, query->until, false, err));
    for (size_t i = 0; i < query->n_conditions; i++) {
        TRY(query_resolve_condition(b->mirror, &query->conditions[i], &named, err));
        if (!(plan->lead.found && plan->lead.at == i))
            query_add_condition(b, &named, &query->conditions[i]);
    }
    return LINEAGE_OK;
}

/* Several wide conditions may have few trials in common. */
static enum lineage_status find_meet(struct builder *b, const struct lineage_query *query, struct plan *plan,
                                     struct lineage_error *err)
{
    struct narrow meet = plan->narrow.source ? plan->narrow : (struct narrow){NULL, SIZE_MAX};
    SCOPED_FREE struct named *names = calloc(query->n_conditions + 1, sizeof *names);
    enum lineage_status status = names ? LINEAGE_OK : store_no_memory(err);
    for (size_t i = 0; status == LINEAGE_OK && i < query->n_conditions; i++)
        status = query_resolve_condition(b->mirror, &query->conditions[i], &names[i], err);
    if (status == LINEAGE_OK)
        status = query_find_meet(&meet, b, query->conditions, names, query->n_conditions, err);
    if (meet.source)
        plan->narrow = meet;
    return status;
}

/* Without a condition that leads to few rows, labels and times may, or several conditions together. */
static enum lineage_status find_narrow(struct builder *b, const struct lineage_query *query, struct plan *plan,
                                       struct lineage_error *err)
{
    char since[LINEAGE_TIME_MAX], until[LINEAGE_TIME_MAX];
    int64_t seconds;
    enum lineage_status status = LINEAGE_OK;
    plan->narrow = (struct narrow){NULL, 0};
    if (plan->lead.found && plan->lead.n < FEW)
        return LINEAGE_OK;
    if (query->since)
        status = read_time(&seconds, since, query->since, true, err);
    if (query->until && status == LINEAGE_OK)
        status = read_time(&seconds, until, query->until, false, err);
    bool sorted = (query->since || query->until) && status == LINEAGE_OK && !has_seconds(b->mirror, &status, err);
    if (status == LINEAGE_OK)
        status = query_find_narrow(&plan->narrow, b->mirror, query, sorted && query->since ? since : NULL,
                                   sorted && query->until ? until : NULL, err);
    if (status == LINEAGE_OK && plan->lead.found && query->n_conditions > 1)
        status = find_meet(b, query, plan, err);
    if (plan->narrow.source)
        plan->lead = (struct lead){.named = {NAME_UNKNOWN, NULL, false}, .limit = plan->lead.limit, .at = SIZE_MAX};
    return status;
}

/* Whether the lead answers the query without the rows of trials. Its index is in the order of its values, so reading trials in
 * that order would read each of their pages once for each value. */
static bool is_alone(const struct plan *plan, const struct lineage_query *query)
{
    const struct order *order = &plan->order;
    size_t led = plan->lead.at != SIZE_MAX;
    return plan->lead.found && query->n_conditions == led && !query->labels && !query->specialist && !query->since &&
           !query->until && (order->by_seq || strncmp(order->value, "l.", 2) == 0);
}

/* Whether the seqs of a list come in the order of several values and would be sorted by SQLite, which takes several times as
 * long as mirror_seqs_order and writes a long list into a file. */
static bool sorts_afterwards(const struct plan *plan, const struct lineage_query *query)
{
    const struct lineage_range *range = &plan->lead.condition.range;
    bool one_number = range->low.present && range->high.present && range->low.value == range->high.value;
    bool one_value = plan->lead.condition.n_texts ? plan->lead.condition.n_texts == 1 && !range->low.present : one_number;
    return plan->what == LIST && plan->lead.found && !one_value && plan->order.by_seq && !plan->order.down && !query->limit;
}

/* List, count and walk are built from the same parts, so that a count covers exactly the rows that a list would
 * show. */
static enum lineage_status build(struct builder *b, const struct lineage_query *query, struct plan *plan,
                                 struct lineage_error *err)
{
    struct order *order = &plan->order;
    enum lineage_status status = resolve_sort(b->mirror, query->sort, &order->by, &order->down, err);
    if (status == LINEAGE_OK && plan->what != WALK)
        status = find_lead(b, query, &order->by, &plan->lead, err);
    if (status == LINEAGE_OK && plan->what != WALK)
        status = find_narrow(b, query, plan, err);
    TRY(status);
    describe_order(b->mirror, order, &plan->lead);
    if (plan->what == WALK)
        status = add_walk(b, plan, query, err);
    else if (plan->narrow.source)
        buf_puts(&b->sql, plan->narrow.source);
    else
        lead_add_source(b, &plan->lead, is_alone(plan, query));
    if (status == LINEAGE_OK)
        status = add_conditions(b, plan, query, err);
    if (plan->what != WALK)
        add_sortable(b, order);
    if (plan->what == LIST)
        add_after(b, order, query->after);
    plan->unordered = sorts_afterwards(plan, query);
    if (plan->what != COUNT && !plan->unordered)
        add_order(b, order);
    add_limit(b, query->limit);
    if (status == LINEAGE_OK && b->sql.failed)
        status = store_fail(err, LINEAGE_ELIMIT, "the query has too many conditions");
    return status;
}

/* Whether the narrowest condition leads to more than `rows` rows. */
static enum lineage_status is_wider(struct mirror *mirror, const struct lead *lead, size_t rows, bool *wider,
                                    struct lineage_error *err)
{
    int64_t n = 0;
    enum lineage_status status =
        lead->found ? query_count_rows(mirror, &lead->named, &lead->condition, (int64_t)rows, &n, err) : LINEAGE_OK;
    *wider = n >= (int64_t)rows;
    return status;
}

/* *filled is true if the walk found the whole list or there are no more rows. Each try walks four times as many rows,
 * so that all tries together cost at most a third more than the last one. */
static enum lineage_status walk(struct mirror *mirror, const struct lineage_query *query, const struct plan *list,
                                struct mirror_seqs *found, bool *filled, struct lineage_error *err)
{
    enum lineage_status status = LINEAGE_OK;
    bool wider = true;
    const size_t enough = list->narrow.source ? list->narrow.n : SIZE_MAX; /* the list reads no more rows */
    *filled = false;
    const bool tested = query->labels || query->specialist || query->since || query->until || query->n_conditions;
    size_t first = query->limit * 2 > FIRST_WALK ? query->limit * 2 : FIRST_WALK;
    if (!tested) /* each row that is walked over is an answer */
        first = query->limit;
    for (size_t rows = first; status == LINEAGE_OK && wider && !*filled && rows <= enough; rows *= WALK_GROWTH) {
        struct builder b = {.mirror = mirror};
        struct plan plan = {.what = WALK, .walked = rows};
        found->n = 0;
        status = build(&b, query, &plan, err);
        if (status == LINEAGE_OK)
            status = builder_collect(found, &b, err);
        *filled = found->n >= query->limit || rows > mirror_position(mirror)->rows + 1; /* the provisional row may add one */
        if (status == LINEAGE_OK && !*filled)
            status = is_wider(mirror, &list->lead, rows * WALK_GROWTH, &wider, err);
        builder_release(&b);
    }
    return status;
}

/* The first plan counts the rows of each range only up to FEW, which is enough to decide whether to walk. If the walk
 * found too few rows, ranges are counted further, to choose the narrowest of several wide ranges. */
enum lineage_status mirror_query(struct mirror *mirror, const struct lineage_query *query, struct mirror_seqs *found,
                                 struct lineage_error *err)
{
    RELEASED_BY(builder_release) struct builder b = {.mirror = mirror};
    struct plan plan = {.what = LIST, .lead.limit = query->limit ? FEW : LIMIT_OF_COUNT};
    bool filled = false;
    TRY(build(&b, query, &plan, err));
    if (can_walk(&plan, query)) {
        TRY(walk(mirror, query, &plan, found, &filled, err));
        found->n = filled ? found->n : 0;
        b.n = 0;
        b.sql.length = 0;
        plan = (struct plan){.what = LIST, .lead.limit = LIMIT_OF_COUNT};
        if (!filled)
            TRY(build(&b, query, &plan, err));
    }
    if (!filled)
        TRY(builder_collect(found, &b, err));
    if (plan.unordered)
        mirror_seqs_order(found);
    return LINEAGE_OK;
}

enum lineage_status mirror_count(struct mirror *mirror, const struct lineage_query *query, size_t *n, struct lineage_error *err)
{
    RELEASED_BY(builder_release) struct builder b = {.mirror = mirror};
    struct plan count = {.what = COUNT, .lead.limit = LIMIT_OF_COUNT};
    buf_puts(&b.sql, "SELECT count(*) FROM (");
    enum lineage_status status = build(&b, query, &count, err);
    buf_puts(&b.sql, ")");
    if (status == LINEAGE_OK)
        status = builder_count(n, &b, err);
    return status;
}

double lineage_slack(double tolerance, double wanted)
{
    return wanted == 0 ? tolerance : tolerance * fabs(wanted);
}

/* The condition for a wanted value: numbers within the tolerance, texts exactly. */
static enum lineage_status want(struct lineage_condition *condition, struct named *named, struct mirror *mirror,
                                const struct lineage_param *wanted, double tolerance, struct lineage_error *err)
{
    double slack = lineage_slack(tolerance, wanted->value);
    enum lineage_status status = name_find_param(mirror, wanted->name, named, err);
    *condition = (struct lineage_condition){.name = named->name,
                                            .range = {{true, wanted->value - slack}, {true, wanted->value + slack}},
                                            .texts = wanted->text ? &wanted->text : NULL,
                                            .n_texts = wanted->text != NULL};
    if (status == LINEAGE_OK)
        status = query_mean_wide(condition, mirror, tolerance, err);
    query_as_declared(named, condition);
    if (status == LINEAGE_OK && named->kind == NAME_TEXT_COLUMN && !condition->n_texts)
        return store_fail(err, LINEAGE_EINVAL, "column '%s' holds text; a range needs numbers", named->name);
    return status;
}

/* The wanted value with the fewest trials near it leads, unless the trials that all wide ones have in common are few. */
static enum lineage_status build_tried(struct builder *b, const struct lineage_condition *conditions, const struct named *names,
                                       size_t n, struct lineage_error *err)
{
    struct lead lead = {.named = {NAME_UNKNOWN, NULL, false}, .limit = LIMIT_OF_COUNT, .at = SIZE_MAX};
    struct narrow meet = {NULL, SIZE_MAX};
    enum lineage_status status = LINEAGE_OK;
    for (size_t i = 0; status == LINEAGE_OK && i < n; i++)
        status = lead_consider(b, &lead, &names[i], &conditions[i], i, err);
    if (status == LINEAGE_OK && lead.found && lead.n >= FEW)
        status = query_find_meet(&meet, b, conditions, names, n, err);
    if (meet.source)
        lead = (struct lead){.named = {NAME_UNKNOWN, NULL, false}, .at = SIZE_MAX};
    if (meet.source)
        buf_puts(&b->sql, meet.source);
    else
        lead_add_source(b, &lead, false);
    for (size_t i = 0; i < n; i++)
        if (lead.at != i)
            query_add_condition(b, &names[i], &conditions[i]);
    buf_printf(&b->sql, " AND t.status <> 'harness_abort' ORDER BY %s.seq", lead.found ? "l" : "t");
    if (status == LINEAGE_OK && b->sql.failed)
        status = store_fail(err, LINEAGE_ELIMIT, "too many parameters to look for");
    return status;
}

enum lineage_status mirror_tried(struct mirror *mirror, const struct lineage_param *wanted, size_t n_wanted, double tolerance,
                                 struct mirror_seqs *found, struct lineage_error *err)
{
    RELEASED_BY(builder_release) struct builder b = {.mirror = mirror};
    SCOPED_FREE struct lineage_condition *conditions = calloc(n_wanted, sizeof *conditions);
    SCOPED_FREE struct named *names = calloc(n_wanted, sizeof *names);
    TRY(conditions && names ? LINEAGE_OK : store_no_memory(err));
    for (size_t i = 0; i < n_wanted; i++)
        TRY(want(&conditions[i], &names[i], mirror, &wanted[i], tolerance, err));
    TRY(build_tried(&b, conditions, names, n_wanted, err));
    return builder_collect(found, &b, err);
}

/*
 * tool_compare.c: the tool `compare`: variants against a baseline, seed by seed. An agent that sees two scores takes the better
 * one for better; this tool says whether the seeds agree.
 */

#include <lineage/evidence.h>
#include <lineage/text.h>

#include "mcp/page.h"
#include "mcp/tools.h"
#include "output/show.h"

enum { VARIANTS_MAX = 64, CONFOUNDED_MAX = 20 };

static const struct mcp_argument arguments[] = {
    {"variants", MCP_TEXTS, false,
     "the baseline first: specialist, \"alpha=0.3\", \"grpo,lr=0.001\", exp_id, \"003,007\"; default: all values of `by`", 0,
     1000, NULL},
    {"by", MCP_TEXT, false, "parameter, default specialist", 0, 200, NULL},
    {"baseline", MCP_TEXT, false, "variant, default: the first", 0, 400, NULL},
    {"over", MCP_TEXT, false, "parameters that pair trials, default seed", 0, 400, NULL},
    {"where", MCP_RANGES, false, "as in query", 0, 0, NULL},
    {"confidence", MCP_NUMBER, false, "default 0.95", 0.5, 0.9999, NULL},
    {"limit", MCP_COUNT, false, "variants shown, default 20", 2, LINEAGE_COMPARE_MAX_VARIANTS, NULL},
    {.name = NULL}};

static const char *const columns[] = {"variant", "seeds",  "mean",    "pairs",    "difference", "low",
                                      "high",    "p_holm", "verdict", "left_out", NULL};

static json_t *mean(const struct lineage_variant *variant, const struct lineage_config *config)
{
    char text[LINEAGE_NUMBER_MAX];
    if (!variant->mean.present)
        return json_null();
    return cli_json_number(strtod(lineage_mean_text(text, variant->mean.value, cli_comparison_margin(variant, config)), NULL));
}

/* Four digits, as in the command's table: the rest of a statistic is noise. */
static json_t *figure(struct lineage_number number)
{
    char text[LINEAGE_NUMBER_MAX];
    if (!number.present)
        return json_null();
    snprintf(text, sizeof text, "%.4g", number.value);
    return cli_json_number(strtod(text, NULL));
}

static json_t *count(size_t n)
{
    return json_integer((json_int_t)n);
}

/* The trials that do not count, because a variant that lost its bad seeds to crashes looks better than it is. */
static json_t *row_json(const struct lineage_comparison *c, size_t i, const struct lineage_config *config)
{
    const struct lineage_variant *v = &c->variants[i];
    return json_pack("[o, o, o, o, o, o, o, o, s, o]", mcp_cell(v->name, 120), count(v->n_seeds), mean(v, config),
                     i ? count(v->n_pairs) : json_null(), figure(v->difference), figure(v->low), figure(v->high),
                     figure(v->p_holm), i ? cli_comparison_verdict(c, i, config->direction) : "baseline",
                     count(cli_comparison_left_out(v)));
}

static json_t *result_json(const struct lineage_comparison *c, size_t limit, const struct lineage_config *config)
{
    json_t *rows = json_array(), *names = json_array(), *confounded = json_array();
    for (size_t i = 0; columns[i]; i++)
        json_array_append_new(names, json_string(columns[i]));
    for (size_t i = 0; i < c->n_variants && i < limit; i++)
        json_array_append_new(rows, row_json(c, i, config));
    for (size_t i = 0; i < c->n_confounded && i < CONFOUNDED_MAX; i++)
        json_array_append_new(confounded, mcp_cell(c->confounded[i], 80));
    json_t *result = json_pack("{s:o, s:f, s:o, s:O}", "shown", mcp_shown(json_array_size(rows), c->n_variants), "confidence",
                               c->confidence, "columns", names, "rows", rows);
    if (json_array_size(confounded))
        json_object_set(result, "also_different", confounded);
    json_decref(confounded);
    json_decref(rows);
    return result;
}

static json_t *call_compare(struct mcp_call *call)
{
    const json_t *named = json_object_get(call->arguments, "variants");
    const char *variants[VARIANTS_MAX];
    struct mcp_conditions where = {.n = 0};
    struct lineage_comparison comparison;
    struct lineage_error err;
    struct lineage_compare_options options = {.variants = variants,
                                              .by = mcp_text_argument(call, "by"),
                                              .baseline = mcp_text_argument(call, "baseline"),
                                              .over = mcp_text_argument(call, "over"),
                                              .conditions = where.list};
    for (size_t i = 0; i < json_array_size(named) && i < VARIANTS_MAX; i++)
        variants[options.n_variants++] = json_string_value(json_array_get(named, i));
    if (options.by && options.n_variants)
        return mcp_trouble(call, "give variants, or `by` to find them, but not both");
    if (options.by && strcmp(options.by, "specialist") != 0 && !mcp_check_param(call, options.by))
        return NULL;
    mcp_number_argument(&options.confidence, call, "confidence");
    if (!mcp_conditions_read(&where, call, "where"))
        return NULL;
    options.n_conditions = where.n;
    if (lineage_compare(call->server->store, &options, &comparison, &err) != LINEAGE_OK)
        return mcp_store_trouble(call, &err);
    json_t *result =
        result_json(&comparison, mcp_count_argument(call, "limit", MCP_DEFAULT_ROWS), lineage_store_config(call->server->store));
    lineage_comparison_release(&comparison);
    return result;
}

const struct mcp_tool mcp_tool_compare = {
    .name = "compare",
    .title = "Is it better?",
    .description =
        "Variants against a baseline, seed by seed: mean difference with its interval, p corrected for all comparisons, verdict "
        "(better, worse, unclear; n/a: fewer than two common seeds). also_different: parameters that may be the cause instead.",
    .arguments = arguments,
    .output = MCP_LIST_OUTPUT,
    .needed = "\"shown\",\"columns\",\"rows\"",
    .call = call_compare,
};

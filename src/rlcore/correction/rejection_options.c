/*
 * rejection_options.c: parser of rejection options and thresholds.
 *
 * They are text because verl's recipes name several options in one string. They are parsed once,
 * before any row is processed.
 */
#include "correction/rejection_options.h"

#include "support/scratch.h"

static const struct rl_rejection known[] = {
    {"token_k1", RL_REJECT_TOKEN, 1, 0, 0},       {"token_k2", RL_REJECT_TOKEN, 2, 0, 0},
    {"token_k3", RL_REJECT_TOKEN, 3, 0, 0},       {"seq_sum_k1", RL_REJECT_SEQ_SUM, 1, 0, 0},
    {"seq_sum_k2", RL_REJECT_SEQ_SUM, 2, 0, 0},   {"seq_sum_k3", RL_REJECT_SEQ_SUM, 3, 0, 0},
    {"seq_mean_k1", RL_REJECT_SEQ_MEAN, 1, 0, 0}, {"seq_mean_k2", RL_REJECT_SEQ_MEAN, 2, 0, 0},
    {"seq_mean_k3", RL_REJECT_SEQ_MEAN, 3, 0, 0}, {"seq_max_k2", RL_REJECT_SEQ_MAX, 2, 0, 0},
    {"seq_max_k3", RL_REJECT_SEQ_MAX, 3, 0, 0}};

/*
 * The next item of a comma-separated list without surrounding blanks. *text advances past the
 * item's comma, or becomes NULL at the end.
 */
static size_t next_item(const char **text, const char **item)
{
    size_t length = strcspn(*text, ",");
    const char *end = *text + length;
    *item = *text;
    *text = *end ? end + 1 : NULL;
    while (length && strchr(" \t", **item)) {
        ++*item;
        length--;
    }
    while (length && strchr(" \t", (*item)[length - 1]))
        length--;
    return length;
}

/*
 * A repeated option is used once; otherwise it would count the same rejected tokens twice. Names
 * point into the table, so two of them can be compared as pointers.
 */
static enum rl_status parse_names(const char *rs, struct rl_rejection *out, size_t *n, struct rl_error *err)
{
    const char *item;
    *n = 0;
    while (rs) {
        size_t length = next_item(&rs, &item), i = 0, seen = 0;
        while (i < RL_REJECTIONS_MAX && (strlen(known[i].name) != length || strncmp(known[i].name, item, length) != 0))
            i++;
        if (i == RL_REJECTIONS_MAX)
            return rl_fail(err, RL_EINVAL, "rollout_rs: no option '%.*s'", (int)(length < 40 ? length : 40), item);
        while (seen < *n && out[seen].name != known[i].name)
            seen++;
        if (seen == *n)
            out[(*n)++] = known[i];
    }
    return RL_OK;
}

/*
 * Parse one positive number, ignoring blanks around it. The item is copied because strtod needs a
 * terminator. All characters of the item must be used; otherwise "2,5" in a language with decimal
 * commas would silently become 2.
 */
static bool parse_bound(const char *item, size_t length, double *bound)
{
    char text[64], *end;
    while (length && strchr(" \t", item[length - 1]))
        length--;
    if (!length || length >= sizeof text)
        return false;
    memcpy(text, item, length);
    text[length] = '\0';
    *bound = strtod(text, &end);
    return !*end && isfinite(*bound) && *bound > 0;
}

/*
 * k1 is a signed log-ratio: its bounds are given as ratios, and the logarithm is taken here; a
 * single number stands for itself and its reciprocal. The bounds of k2 and k3 are used without
 * conversion.
 */
static enum rl_status set_bounds(struct rl_rejection *option, const char *item, size_t length, struct rl_error *err)
{
    const char *bar = memchr(item, '_', length);
    size_t low = bar ? (size_t)(bar - item) : 0;
    double lower = 0, upper = 0;
    bool ok = bar ? option->k == 1 && parse_bound(item, low, &lower) && parse_bound(bar + 1, length - low - 1, &upper)
                  : parse_bound(item, length, &upper);
    if (!ok || (bar && lower > upper))
        return rl_fail(err, RL_EINVAL, "rollout_rs_threshold '%.*s' is not a bound for %s: use %s",
                       (int)(length < 40 ? length : 40), item, option->name,
                       option->k == 1 ? "lower_upper or one number, above 0" : "one number above 0");
    option->upper = option->k == 1 ? log(upper) : upper;
    option->lower = option->k == 1 ? (bar ? log(lower) : -log(upper)) : 0;
    return RL_OK;
}

enum rl_status rl_rejections_parse(const char *rs, const char *thresholds, struct rl_rejection *out, size_t *n,
                                   struct rl_error *err)
{
    const char *items[RL_REJECTIONS_MAX];
    size_t lengths[RL_REJECTIONS_MAX], n_items = 0;
    *n = 0;
    if (!rs)
        return RL_OK;
    enum rl_status status = parse_names(rs, out, n, err);
    if (status == RL_OK && !thresholds)
        status = rl_fail(err, RL_EINVAL, "rollout_rs_threshold is missing");
    while (status == RL_OK && thresholds) {
        if (n_items == RL_REJECTIONS_MAX)
            return rl_fail(err, RL_EINVAL, "rollout_rs_threshold: too many thresholds");
        lengths[n_items] = next_item(&thresholds, &items[n_items]);
        n_items++;
    }
    /*
     * One threshold serves all options, as in verl. With any other number it would be unclear which
     * threshold belongs to which option.
     */
    if (status == RL_OK && n_items != 1 && n_items != *n)
        status = rl_fail(err, RL_EINVAL, "rollout_rs_threshold: %zu thresholds for %zu options", n_items, *n);
    for (size_t i = 0; status == RL_OK && i < *n; i++)
        status = set_bounds(&out[i], items[n_items == 1 ? 0 : i], lengths[n_items == 1 ? 0 : i], err);
    return status;
}

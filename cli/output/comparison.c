/* comparison.c: prints the result of `lineage compare`. */
#include <lineage/evidence.h>

#include "output/show.h"

/* The verdict uses the p-value that is corrected for all comparisons. With six variants and a separate 95 % interval
 * each, one night in four would report a false winner. Holm's procedure prevents that like Bonferroni's intervals, but
 * misses fewer real differences. The label is "unclear" rather than "equal", because with few seeds a missing
 * difference proves little. */
static const char *verdict(const struct lineage_comparison *c, const struct lineage_variant *v, enum lineage_direction direction)
{
    if (!v->p_holm.present)
        return "n/a";
    if (v->p_holm.value >= 1 - c->confidence)
        return "unclear";
    return (v->difference.value > 0) == (direction == LINEAGE_HIGHER) ? "better" : "worse";
}

/* The table shows one sum of the trials without a pair, because a reader wants to know how many rows the mean leaves
 * out, whatever the reason. */
static size_t left_out(const struct lineage_variant *v)
{
    return v->failed + v->aborted + v->without_seed;
}

const char *cli_comparison_verdict(const struct lineage_comparison *comparison, size_t i, enum lineage_direction direction)
{
    return verdict(comparison, &comparison->variants[i], direction);
}

size_t cli_comparison_left_out(const struct lineage_variant *variant)
{
    return left_out(variant) + variant->unpaired;
}

static void add_figure(struct cli_list *list, struct lineage_number number)
{
    cli_list_figure(list, number.value, number.present);
}

double cli_comparison_margin(const struct lineage_variant *variant, const struct lineage_config *config)
{
    struct lineage_noise noise;
    lineage_noise_of_config(&noise, config);
    return lineage_noise_margin(&noise, variant->n_seeds ? variant->n_seeds : 1);
}

static int print_rows(const struct lineage_comparison *c, const struct lineage_config *config, enum cli_format format)
{
    struct cli_list *list =
        cli_list_of(format, NULL, "variant,seeds,mean,std,pairs,difference,low,high,p,low_all,high_all,p_holm,left_out,verdict");
    for (size_t i = 0; i < c->n_variants; i++) {
        const struct lineage_variant *v = &c->variants[i];
        const struct lineage_number statistics[] = {v->difference, v->low,         v->high,  v->p,
                                                    v->family_low, v->family_high, v->p_holm};
        cli_list_add(list, CLI_TEXT(v->name), CLI_COUNT(v->n_seeds));
        if (v->mean.present)
            cli_list_add(list, CLI_MEAN(v->mean.value, cli_comparison_margin(v, config)));
        else
            add_figure(list, v->mean);
        add_figure(list, v->std);
        /* The baseline has no differences, which is not the same as differences of 0. */
        i == 0 ? cli_list_number(list, 0, false) : cli_list_count(list, v->n_pairs);
        for (size_t j = 0; j < sizeof statistics / sizeof *statistics; j++)
            i == 0 ? cli_list_number(list, 0, false) : add_figure(list, statistics[j]);
        cli_list_row(list, CLI_COUNT(cli_comparison_left_out(v)),
                     CLI_TEXT(i == 0 ? "baseline" : verdict(c, v, config->direction)));
    }
    return cli_list_finish(list);
}

/* Formats the text values of a setting: "adam", "adam and others". */
static int text_of(char out[96], const struct lineage_variant_setting *setting)
{
    char *text = cli_text_line(setting->text, 30);
    snprintf(out, 80, "%.60s%s", text ? text : "?", setting->mixed ? " and others" : "");
    free(text);
    return (int)strlen(out);
}

/* Formats the values of a setting in one variant: "0.3", "0.1 to 0.5", "60 in 3 of 8", "-". */
static void range_text(char out[96], const struct lineage_variant *v, const char *name)
{
    char low[LINEAGE_NUMBER_MAX], high[LINEAGE_NUMBER_MAX];
    int used = 0;
    snprintf(out, 96, "-");
    for (size_t i = 0; i < v->n_settings; i++) {
        const struct lineage_variant_setting *s = &v->settings[i];
        if (strcmp(s->name, name) != 0)
            continue;
        if (s->text)
            used = text_of(out, s);
        else
            used = snprintf(out, 96, "%s%s%s", lineage_setting_format(low, s->low), s->low == s->high ? "" : " to ",
                            s->low == s->high ? "" : lineage_setting_format(high, s->high));
        if (s->n < v->n_trials)
            snprintf(out + used, 96 - (size_t)used, " in %zu of %zu", s->n, v->n_trials);
    }
}

/* Prints the values of the baseline and of the first few variants that differ from it. */
static void print_setting(const struct lineage_comparison *c, const char *name)
{
    char of_baseline[96], text[96];
    range_text(of_baseline, &c->variants[0], name);
    cli_print(stdout, "  %.60s: %s", name, of_baseline);
    for (size_t i = 1, shown = 0; i < c->n_variants && shown < 4; i++) {
        range_text(text, &c->variants[i], name);
        if (strcmp(text, of_baseline) != 0 && c->variants[i].n_trials)
            cli_print(stdout, ++shown == 4 ? "; ..." : "; %s in %.40s", text, c->variants[i].name);
    }
    putchar('\n');
}

static void print_left_out(const struct lineage_variant *v)
{
    if (v->failed)
        cli_print(stdout, "  %.60s: %zu without a measured score (failed)\n", v->name, v->failed);
    if (v->aborted)
        cli_print(stdout, "  %.60s: %zu harness_abort\n", v->name, v->aborted);
    if (v->without_seed)
        cli_print(stdout, "  %.60s: %zu with a score, but without a trial to pair them with\n", v->name, v->without_seed);
    if (v->unpaired)
        cli_print(stdout, "  %.60s: %zu seeds that only one side has\n", v->name, v->unpaired);
    if (v->n_trials > v->n_seeds)
        cli_print(stdout, "  %.60s: %zu trials repeat a seed; each seed counts once, with its mean\n", v->name,
                  v->n_trials - v->n_seeds);
}

/* Always prints what was left out, because a comparison of successful trials flatters the variant that crashes most. */
static void print_remarks(const struct lineage_comparison *c, const char *over)
{
    bool any = false;
    printf("\n"
           "difference: variant minus %s, mean over common values of %s; low, high: its %.4g %% interval\n"
           "(Student's t); low_all, high_all: corrected for all %zu comparisons (Bonferroni); p_holm: p corrected\n"
           "by Holm's procedure, must be below %.4g for a verdict\n",
           c->variants[0].name, over, c->confidence * 100, c->n_tests, 1 - c->confidence);
    for (size_t i = 0; i < c->n_variants; i++) {
        const struct lineage_variant *v = &c->variants[i];
        if (!any && (left_out(v) || v->unpaired || v->n_trials > v->n_seeds))
            any = puts("left out:") >= 0;
        print_left_out(v);
    }
    if (c->n_confounded)
        puts("also different, and perhaps the cause:");
    for (size_t i = 0; i < c->n_confounded; i++)
        print_setting(c, c->confounded[i]);
}

static json_t *count_json(size_t count)
{
    return json_integer((json_int_t)count);
}

static json_t *settings_json(const struct lineage_variant *v)
{
    json_t *object = json_object();
    for (size_t i = 0; i < v->n_settings; i++) {
        const struct lineage_variant_setting *s = &v->settings[i];
        json_object_set_new(
            object, s->name,
            s->text ? json_pack("{s:o, s:o, s:b}", "trials", count_json(s->n), "text", cli_json_text(s->text), "mixed", s->mixed)
                    : json_pack("{s:o, s:o, s:o}", "trials", count_json(s->n), "low", cli_json_setting(s->low), "high",
                                cli_json_setting(s->high)));
    }
    return object;
}

/* The baseline is not tested against itself, so its object lacks those keys. */
static json_t *variant_json(const struct lineage_comparison *c, const struct lineage_variant *v, enum lineage_direction direction)
{
    json_t *object = json_object();
    cli_json_set(object, "variant", cli_json_text(v->name), "trials", count_json(v->n_trials), "seeds", count_json(v->n_seeds),
                 "mean", cli_json_figure(v->mean), "std", cli_json_figure(v->std), "left_out",
                 json_pack("{s:o, s:o, s:o, s:o}", "failed", count_json(v->failed), "harness_abort", count_json(v->aborted),
                           "without_seed", count_json(v->without_seed), "unpaired", count_json(v->unpaired)),
                 NULL);
    if (v != c->variants)
        cli_json_set(object, "pairs", count_json(v->n_pairs), "difference", cli_json_figure(v->difference), "difference_std",
                     cli_json_figure(v->difference_std), "freedom", cli_json_figure(v->freedom), "low", cli_json_figure(v->low),
                     "high", cli_json_figure(v->high), "p", cli_json_figure(v->p), "low_all", cli_json_figure(v->family_low),
                     "high_all", cli_json_figure(v->family_high), "p_holm", cli_json_figure(v->p_holm), "verdict",
                     json_string(verdict(c, v, direction)), NULL);
    json_object_set_new(object, "settings", settings_json(v));
    return object;
}

static int print_json(const struct lineage_comparison *c, const char *over, enum lineage_direction direction)
{
    json_t *root = json_object(), *variants = json_array(), *confounded = json_array();
    for (size_t i = 0; i < c->n_variants; i++)
        json_array_append_new(variants, variant_json(c, &c->variants[i], direction));
    for (size_t i = 0; i < c->n_confounded; i++)
        json_array_append_new(confounded, cli_json_text(c->confounded[i]));
    cli_json_set(root, "baseline", cli_json_text(c->variants[0].name), "over", cli_json_text(over), "confidence",
                 cli_json_number(c->confidence), "comparisons", count_json(c->n_tests), "variants", variants, "also_different",
                 confounded, NULL);
    return cli_json_answer(root);
}

int cli_comparison_print(const struct lineage_comparison *comparison, const char *over, const struct lineage_config *config,
                         enum cli_format format)
{
    if (format == CLI_JSON)
        return print_json(comparison, over, config->direction);
    int status = print_rows(comparison, config, format);
    if (status == CLI_OK && format == CLI_TABLE)
        print_remarks(comparison, over);
    return status;
}

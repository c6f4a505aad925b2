/*
 * page_data.c: prints a store as JSON for the script of a page; see picture.h. Values are lists by column instead of
 * objects by trial, because a browser parses a few long lists of numbers in a fraction of the time, and the names of the
 * members are written once.
 */
#include "report/picture.h"

#include <lineage/text.h>

enum {
    TEXTS = 3 << 20,  /* bytes of hypotheses and notes in a page, about */
    CHANGES = 200000, /* changes of settings in a page */
    KNOBS = 64
};

/* Nine significant digits, the last one as decimal_text rounds it; JSON has neither NaN nor infinity. */
static void json_number(FILE *out, struct lineage_number number)
{
    const double size = fabs(number.value);
    char text[DECIMAL_MAX];
    if (!number.present || !isfinite(number.value)) {
        fputs("null", out);
        return;
    }
    if (size != 0 && !(size >= 1e-3 && size < 1e9)) {
        fprintf(out, "%.9g", number.value);
        return;
    }
    int decimals = size < 1e-2 ? 11 : size < 1e-1 ? 10 : 9;
    for (double above = 1; decimals > 0 && size >= above; above *= 10)
        decimals--;
    fwrite(text, 1, decimal_text(text, number.value, decimals), out);
}

static void put_text(FILE *out, const char *text, int max)
{
    if (max < 0)
        fputs(text, out);
    else
        html_json_string(out, text, (size_t)max);
}

/* Prints like printf, but a text with a precision as html_json_string does. */
__attribute__((format(printf, 2, 3))) static void json_print(FILE *out, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    cli_print_with(out, put_text, format, args);
    va_end(args);
}

static void list_integer(FILE *out, size_t i, double value)
{
    char text[1 + DECIMAL_MAX] = ",";
    const size_t n = decimal_text(text + 1, value, 0);
    fwrite(text + !i, 1, n + (i > 0), out);
}

struct name_list {
    const char **names;
    size_t n;
};

/* Each name is written once and trials hold its index, because ten thousand rows share a few names. */
static bool specialists(struct name_list *list, const struct model *model)
{
    list->names = malloc((model->n + 1) * sizeof *list->names);
    if (!list->names)
        return false;
    for (size_t i = 0; i < model->n; i++)
        list->names[i] = model->trials[i].specialist;
    qsort(list->names, model->n, sizeof *list->names, cli_by_text);
    for (size_t i = 0; i < model->n; i++)
        if (!list->n || strcmp(list->names[i], list->names[list->n - 1]) != 0)
            list->names[list->n++] = list->names[i];
    return true;
}

static size_t specialist_index(const struct name_list *list, const char *name)
{
    const char **at = bsearch(&name, list->names, list->n, sizeof *list->names, cli_by_text);
    return at ? (size_t)(at - list->names) : 0;
}

static void list_texts(FILE *out, const struct model *model, const char *name, size_t offset, size_t max)
{
    fprintf(out, ",\n\"%s\":[", name);
    for (size_t i = 0; i < model->n; i++) {
        const char *text;
        memcpy(&text, (const char *)&model->trials[i] + offset, sizeof text);
        fputs(i ? "," : "", out);
        html_json_string(out, text, max);
    }
    putc(']', out);
}

static void list_numbers(FILE *out, const struct model *model)
{
    char text[DECIMAL_MAX];
    fputs(",\n\"parent\":[", out);
    for (size_t i = 0; i < model->n; i++)
        list_integer(out, i, model->trials[i].parent == MODEL_NONE ? -1 : (double)model->trials[i].parent);
    fputs("],\n\"label\":[", out);
    for (size_t i = 0; i < model->n; i++)
        list_integer(out, i, model->trials[i].label);
    fputs("],\n\"verdict\":[", out);
    for (size_t i = 0; i < model->n; i++)
        list_integer(out, i, model->trials[i].prediction.verdict);
    fputs("],\n\"score\":[", out);
    for (size_t i = 0; i < model->n; i++) {
        const struct lineage_number score = model->trials[i].score;
        const double millionths = rint(score.value * 1e6);
        fputs(i ? "," : "", out);
        if (!score.present)
            fputs("null", out);
        else if (fabs(millionths) < 1e15 && millionths / 1e6 == score.value) /* most scores have few decimals */
            fwrite(text, 1, decimal_text(text, score.value, 6), out);
        else
            fprintf(out, "%.15g", score.value);
    }
    fputs("],\n\"gain\":[", out);
    for (size_t i = 0; i < model->n; i++) {
        const struct model_trial *trial = &model->trials[i];
        fputs(i ? "," : "", out);
        json_number(out, (struct lineage_number){trial->score.present && trial->before.present,
                                                 trial->score.value - trial->before.value});
    }
    putc(']', out);
}

/* Most scores have the margin of one number of runs, so only the others are listed with their trial. */
static void list_exceptions(FILE *out, const struct model *model)
{
    struct lineage_number usual = {0};
    bool any = false;
    for (size_t i = 0; i < model->n && !usual.present; i++)
        usual = model->trials[i].margin;
    fputs(",\n\"margin\":", out);
    json_number(out, usual);
    fputs(",\"margins\":{", out);
    for (size_t i = 0; i < model->n; i++)
        if (model->trials[i].margin.present && model->trials[i].margin.value != usual.value) {
            fprintf(out, "%s\"%zu\":", any ? "," : "", i);
            json_number(out, model->trials[i].margin);
            any = true;
        }
    fputs("},\"odd\":{", out);
    any = false;
    for (size_t i = 0; i < model->n; i++)
        if (*model->trials[i].odd) {
            fprintf(out, "%s\"%zu\":\"%s\"", any ? "," : "", i, model->trials[i].odd);
            any = true;
        }
    putc('}', out);
}

/* A number that is not finite, or that is among texts, has no place on an axis, but the table shows it. */
static void odd_values(FILE *out, const struct model *model, const struct model_axis *axis)
{
    char text[LINEAGE_NUMBER_MAX];
    bool any = false;
    for (size_t i = 0; i < model->n; i++)
        for (size_t k = 0; isnan(axis->value[i]) && k < model->trials[i].n_params; k++) {
            const struct lineage_param *param = &model->trials[i].params[k];
            if (strcmp(param->name, axis->name) != 0)
                continue;
            json_print(out, "%s\"%zu\":%.60s", any ? "," : ",\"odd\":{", i,
                       param->text ? param->text : lineage_number_format(text, param->value));
            any = true;
        }
    fputs(any ? "}" : "", out);
}

static void print_axis(FILE *out, const struct model *model, const struct model_axis *axis)
{
    fputs("{\"name\":", out);
    html_json_string(out, axis->name, 60);
    fprintf(out, ",\"low\":%.17g,\"high\":%.17g,\"log\":%s", axis->low, axis->high, axis->log ? "true" : "false");
    fputs(axis->n_distinct < 2 ? ",\"same\":true" : "", out);
    for (size_t w = 0; axis->words && w < axis->n_distinct; w++)
        json_print(out, w ? ",%.60s" : ",\"words\":[%.60s", axis->words[w]);
    fputs(axis->words ? "]" : "", out);
    odd_values(out, model, axis);
    fputs(",\n\"v\":[", out);
    for (size_t i = 0; i < model->n; i++) {
        fputs(i ? "," : "", out);
        json_number(out, (struct lineage_number){!isnan(axis->value[i]), axis->value[i]});
    }
    fputs("]}", out);
}

/* The script finds declared changes itself, by comparing the parameters of a trial and its parent. */
static size_t count_changes(const struct lineage_knob *knob)
{
    size_t n = 0;
    for (size_t i = 0; i < knob->n_tries; i++)
        n += knob->tries[i].change->source != LINEAGE_CHANGE_DECLARED;
    return n;
}

static void print_knob(FILE *out, const struct model *model, const struct lineage_knob *knob)
{
    bool any = false;
    json_print(out, "{\"name\":%.60s,\"c\":[", knob->name);
    for (size_t i = 0; i < knob->n_tries; i++) {
        const struct lineage_change *change = knob->tries[i].change;
        size_t trial = model->of_idea[knob->tries[i].trial];
        if (trial == MODEL_NONE || change->source == LINEAGE_CHANGE_DECLARED)
            continue;
        json_print(out, "%s%zu,%.60s,%.60s,%d", any ? "," : "", trial, change->from ? change->from : "", change->to,
                   (int)change->source);
        any = true;
    }
    fputs("]}", out);
}

static void print_knobs(FILE *out, const struct model *model)
{
    size_t shown = 0, total = 0;
    fputs(",\n\"knobs\":[", out);
    for (size_t k = 0; k < model->knobs.n && shown < KNOBS; k++) {
        size_t n = count_changes(&model->knobs.items[k]);
        if (!n || total + n > CHANGES)
            continue;
        fputs(shown++ ? ",\n" : "", out);
        print_knob(out, model, &model->knobs.items[k]);
        total += n;
    }
    putc(']', out);
}

static void print_names(FILE *out, const struct model *model, const struct name_list *who)
{
    json_print(out, "{\"metric\":%.60s,\"dir\":%.300s,\"n\":%zu,\"higher\":%s,\"labels\":[", model->metric, model->dir, model->n,
               model->direction == LINEAGE_HIGHER ? "true" : "false");
    for (int label = 0; label < MODEL_LABELS; label++)
        fprintf(out, "%s[\"%s\",\"%s\"]", label ? "," : "", outcome_class((enum lineage_label)label),
                label_words((enum lineage_label)label));
    fputs("],\"verdicts\":[", out);
    for (int verdict = 0; verdict < LINEAGE_N_VERDICTS; verdict++)
        fprintf(out, "%s\"%s\"", verdict ? "," : "", lineage_verdict_name((enum lineage_verdict)verdict));
    fputs("],\"sources\":[", out);
    for (int source = 0; source < LINEAGE_N_CHANGE_SOURCES; source++)
        fprintf(out, "%s\"%s\"", source ? "," : "", lineage_change_source_name((enum lineage_change_source)source));
    fprintf(out, "],\"pictured\":%zu,\"whos\":[", model->n_axes);
    for (size_t i = 0; i < who->n; i++)
        json_print(out, i ? ",%.60s" : "%.60s", who->names[i]);
    fputs("],\n\"who\":[", out);
    for (size_t i = 0; i < model->n; i++)
        list_integer(out, i, (double)specialist_index(who, model->trials[i].specialist));
    putc(']', out);
}

void page_data_print(const struct picture *p)
{
    const struct model *model = p->model;
    struct name_list who = {0};
    /* Texts share a fixed part of the file's size, so a large store gets shorter ones. */
    size_t text = model->n ? TEXTS / model->n / 2 : 0;
    text = text > 600 ? 600 : text < 24 ? 24 : text;
    if (!specialists(&who, model))
        return;
    fputs("<script type=\"application/json\">", p->out);
    print_names(p->out, model, &who);
    list_texts(p->out, model, "id", offsetof(struct model_trial, id), 40);
    list_texts(p->out, model, "time", offsetof(struct model_trial, timestamp), 20);
    list_texts(p->out, model, "expected", offsetof(struct model_trial, expected), 24);
    list_texts(p->out, model, "why", offsetof(struct model_trial, hypothesis), text);
    list_texts(p->out, model, "notes", offsetof(struct model_trial, notes), text);
    list_numbers(p->out, model);
    list_exceptions(p->out, model);
    print_knobs(p->out, model);
    fputs(",\n\"axes\":[", p->out);
    for (size_t a = 0; a < model->n_columns; a++) {
        fputs(a ? ",\n" : "", p->out);
        print_axis(p->out, model, &model->axes[a]);
    }
    fputs("]}</script>\n", p->out);
    free(who.names);
}

/*
 * report_load.c: loads everything that a report shows of one store. It loads before the first byte
 * is printed, so that an error gives no page instead of half a page, and all pictures show the same rows although
 * trials are appended meanwhile.
 */

#include <time.h>

#include <lineage/text.h>
#include <lineage/time.h>
#include <lineage/voids.h>

#include "cli.h"
#include "report/report_axes.h"

/* Memory is one arena of such blocks, which is freed as a whole. */
enum { BLOCK = 1 << 18 };

struct block {
    struct block *next;
    size_t used, size;
    max_align_t bytes[];
};

/* The walk's texts are valid for one row only. They are copied into blocks of 256 kB, because a million small
 * allocations would cost more than reading them. */
static void *keep(struct model *model, const void *data, size_t size, size_t alignment)
{
    struct block *block = model->memory;
    size_t from = block ? (block->used + alignment - 1) / alignment * alignment : 0;
    if (!block || block->size < from || block->size - from < size) {
        size_t room = size > BLOCK ? size : BLOCK;
        block = malloc(sizeof *block + room);
        if (!block)
            return NULL;
        *block = (struct block){.next = model->memory, .size = room};
        model->memory = block;
        from = 0;
    }
    void *out = (char *)block->bytes + from;
    block->used = from + size;
    return size ? memcpy(out, data, size) : out;
}

/* Empty cells, which are most of them, share one constant. */
static const char *keep_text(struct model *model, const char *text)
{
    return text && *text ? keep(model, text, strlen(text) + 1, 1) : "";
}

/* The walk visits parents before children, so the trials above the current depth are its ancestors. */
struct walk {
    struct model *model;
    size_t room, seq_room;
    size_t *above; /* index of the ancestor at each depth */
    size_t above_room;
    size_t *seq; /* [n]; trials in the order of the walk */
    bool failed;
};

/* NaN and infinite scores would spoil every scale, so pictures treat them as missing. */
static struct lineage_number if_finite(struct lineage_number number)
{
    return number.present && isfinite(number.value) ? number : (struct lineage_number){0};
}

/* Rows have mostly the same names as the row before them, and share these. */
static const char *keep_name(struct model *model, const char *name, size_t i)
{
    const struct model_trial *before = model->n ? &model->trials[model->n - 1] : NULL;
    bool same = before && i < before->n_params && strcmp(before->params[i].name, name) == 0;
    return same ? before->params[i].name : keep_text(model, name);
}

static const struct lineage_param *keep_params(struct model *model, const struct lineage_param *list, size_t n)
{
    struct lineage_param *params = keep(model, list, n * sizeof *params, _Alignof(struct lineage_param));
    for (size_t i = 0; params && i < n; i++)
        if (!(params[i].name = keep_name(model, params[i].name, i)) ||
            (params[i].text && !(params[i].text = keep_text(model, params[i].text))))
            return NULL;
    return params;
}

/* As in the block's leaderboard: a row that does not name its runs has as many as the store's settings say. */
static void fill_uncertainty(const struct model *model, struct model_trial *out, const struct lineage_trial *trial)
{
    const struct lineage_report *sum = model->summary;
    size_t runs = lineage_score_runs(trial->notes);
    double margin = model->margin / sqrt((double)(runs > 1 ? runs : sum->noise_seeds));
    out->margin = (struct lineage_number){out->score.present && isfinite(margin), margin};
    out->prediction = lineage_hypothesis_of(trial, sum->margin);
}

static bool fill_trial(struct model *model, struct model_trial *out, const struct lineage_trial *trial)
{
    char odd[LINEAGE_NUMBER_MAX];
    const char *const from[] = {trial->exp_id,         trial->specialist, trial->parent_exp, trial->hypothesis,
                                trial->expected_delta, trial->timestamp,  trial->notes,      trial->snapshot_path};
    const char **const to[] = {&out->id,       &out->specialist, &out->parent_exp, &out->hypothesis,
                               &out->expected, &out->timestamp,  &out->notes,      &out->snapshot};
    for (size_t i = 0; i < sizeof from / sizeof *from; i++)
        if (!(*to[i] = keep_text(model, from[i])))
            return false;
    out->label = trial->status;
    out->score = if_finite(trial->score);
    out->odd = trial->score.present && !out->score.present ? lineage_number_format(odd, trial->score.value) : "";
    out->odd = keep_text(model, out->odd);
    out->train_s = if_finite(trial->train_s);
    out->total_s = if_finite(trial->total_s);
    out->measured = lineage_label_is_measured(trial->status) && out->score.present;
    out->dated = *out->timestamp && lineage_time_read(&out->time, out->timestamp);
    fill_uncertainty(model, out, trial);
    out->params = keep_params(model, trial->params, trial->n_params);
    out->metrics = keep_params(model, trial->metrics, trial->n_metrics);
    out->n_metrics = trial->n_metrics;
    out->n_params = trial->n_params;
    out->turns = keep(model, trial->turns, trial->n_turns * sizeof *trial->turns, _Alignof(struct lineage_turn_stat));
    out->n_turns = trial->n_turns;
    return out->params && out->metrics && out->turns && out->odd;
}

/* A row that makes its parent void, or takes that back, is not a trial. Trials that name it as their parent are shown under the trial
 * above it. */
static bool take_node(void *context, const struct lineage_tree_node *node)
{
    struct walk *walk = context;
    struct model *model = walk->model;
    /* Trials may have been appended before the walk. A node is at most one deeper than the one before it. */
    walk->failed = !CLI_ROOM(model->trials, model->n, walk->room) || !CLI_ROOM(walk->seq, model->n, walk->seq_room) ||
                   !CLI_ROOM(walk->above, node->depth, walk->above_room);
    if (walk->failed)
        return false;
    const size_t parent = node->depth ? walk->above[node->depth - 1] : MODEL_NONE;
    if (lineage_is_void_row(node->trial, NULL)) {
        walk->above[node->depth] = parent;
        return true;
    }
    struct model_trial *trial = &model->trials[model->n];
    *trial = (struct model_trial){.parent = parent, .parent_missing = node->parent_missing || node->in_cycle};
    walk->failed = !fill_trial(model, trial, node->trial);
    walk->above[node->depth] = model->n;
    trial->seq = node->trial->seq;
    walk->seq[model->n++] = (size_t)node->trial->seq;
    return !walk->failed;
}

/* Where each trial of the walk is in file order. The walk visits each row once, so positions follow from the row numbers, which
 * have hardly any gaps. */
static bool find_file_order(size_t *to, size_t n, const size_t *seq)
{
    size_t last = 0, next = 0;
    for (size_t i = 0; i < n; i++)
        last = seq[i] > last ? seq[i] : last;
    size_t *at = calloc(last + 1, sizeof *at); /* by row number: index + 1 of the trial */
    for (size_t i = 0; at && i < n; i++)
        at[seq[i]] = i + 1;
    for (size_t row = 0; at && row <= last; row++)
        if (at[row])
            to[at[row] - 1] = next++;
    free(at);
    return at != NULL;
}

/* Moves the trials from the order of the walk into file order, in place, because they are most of the memory of a report. */
static bool into_file_order(struct model *model, const size_t *seq)
{
    struct model_trial *trials = model->trials;
    size_t *to = malloc((model->n + 1) * sizeof *to);
    bool ok = to && find_file_order(to, model->n, seq);
    for (size_t i = 0; ok && i < model->n; i++)
        if (trials[i].parent != MODEL_NONE)
            trials[i].parent = to[trials[i].parent];
    for (size_t i = 0; ok && i < model->n; i++)
        while (to[i] != i) {
            const size_t there = to[i];
            const struct model_trial held = trials[there];
            trials[there] = trials[i];
            trials[i] = held;
            to[i] = to[there];
            to[there] = there;
        }
    free(to);
    return ok;
}

struct listing {
    const struct model *model;
    size_t at;
};

/* Both are in file order. A trial that was made void since it was read stays as it was read. */
static bool mark_void(void *context, const struct lineage_void *entry)
{
    struct listing *listing = context;
    const struct model *model = listing->model;
    while (listing->at < model->n && model->trials[listing->at].seq < entry->seq)
        listing->at++;
    struct model_trial *trial = listing->at < model->n ? &model->trials[listing->at] : NULL;
    if (trial && trial->seq == entry->seq && trial->label == LINEAGE_HARNESS_ABORT) {
        trial->is_void = true;
        trial->label = (enum lineage_label)MODEL_VOID;
    }
    return trial != NULL;
}

static enum lineage_status load_trials(struct model *model, struct lineage_error *err)
{
    const size_t room = (size_t)model->summary->rows + 1;
    struct walk walk = {.model = model, .room = room, .seq_room = room, .seq = malloc(room * sizeof *walk.seq)};
    model->trials = malloc(room * sizeof *model->trials);
    if (!model->trials || !walk.seq) {
        free(walk.seq);
        return cli_no_memory_error(err);
    }
    enum lineage_status status = lineage_tree_walk(model->store, take_node, &walk, err);
    if (status == LINEAGE_OK && (walk.failed || !into_file_order(model, walk.seq)))
        status = cli_no_memory_error(err);
    if (status == LINEAGE_OK)
        status = lineage_voids_read(model->store, NULL, mark_void, &(struct listing){.model = model}, err);
    free(walk.above);
    free(walk.seq);
    return status;
}

/* The best trial is keep or baseline with the best finite score; the first one wins a tie. */
static void find_best(struct model *model)
{
    model->best = MODEL_NONE;
    for (size_t i = 0; i < model->n; i++) {
        struct model_trial *trial = &model->trials[i];
        if (model->best != MODEL_NONE)
            trial->before = model->trials[model->best].score;
        if (lineage_label_is_kept(trial->label) && trial->score.present &&
            (!trial->before.present || model_gain(model, trial->score.value, trial->before.value) > 0))
            model->best = i;
    }
    for (size_t i = model->best; i != MODEL_NONE; i = model->trials[i].parent)
        model->trials[i].on_chain = lineage_label_is_kept(model->trials[i].label);
}

/*
 * The last night: goes back from the newest row until two rows are more than six hours apart, which is less than a
 * working day and more than the longest trial. Rows without a date count as part of the same night as their neighbours.
 */
static void find_night(struct model *model)
{
    enum { PAUSE = 6 * 3600 };
    size_t newer = MODEL_NONE;
    model->night = model->n;
    while (model->night > 0) {
        size_t i = model->night - 1;
        if (model->trials[i].dated) {
            if (newer != MODEL_NONE && model->trials[newer].time - model->trials[i].time > PAUSE)
                return;
            newer = i;
        }
        model->night = i;
    }
}

/* What trials changed and cite is shown for the newest MODEL_IDEAS of them: it takes more time and memory than all other parts.
 * Both lists are in the order of the log, so they are joined like two sorted files. Rows that were appended between the
 * two loads are in one of them only. */
static enum lineage_status load_ideas(struct model *model, struct lineage_error *err)
{
    const uint64_t rows = model->summary->rows;
    const struct lineage_query newest = {.after = rows > MODEL_IDEAS ? rows - MODEL_IDEAS : 0};
    enum lineage_status status = lineage_ideas_new(&model->ideas, err);
    if (status == LINEAGE_OK)
        status = lineage_ideas_add_query(model->ideas, model->store, &newest, err);
    if (status == LINEAGE_OK)
        status = lineage_ideas_settle(model->ideas, err);
    if (status != LINEAGE_OK)
        return status;
    size_t n = lineage_ideas_count(model->ideas);
    model->of_idea = malloc((n + 1) * sizeof *model->of_idea);
    if (!model->of_idea)
        return cli_no_memory_error(err);
    for (size_t i = 0; i < model->n; i++)
        model->trials[i].idea = MODEL_NONE;
    for (size_t idea = 0, i = 0; idea < n; idea++) {
        uint64_t seq = lineage_ideas_get(model->ideas, idea)->seq;
        while (i < model->n && model->trials[i].seq < seq)
            i++;
        bool known = i < model->n && model->trials[i].seq == seq;
        model->of_idea[idea] = known ? i : MODEL_NONE;
        if (known)
            model->trials[i].idea = idea;
    }
    size_t best = model->best == MODEL_NONE ? SIZE_MAX : model->trials[model->best].idea;
    return lineage_knobs_find(&model->knobs, model->ideas, best, 0, err);
}

static bool list_next(void *context, struct lineage_trial *out)
{
    struct listing *listing = context;
    if (listing->at == listing->model->n)
        return false;
    const struct model_trial *trial = &listing->model->trials[listing->at++];
    *out = (struct lineage_trial){.specialist = trial->specialist,
                                  .status = trial->is_void ? LINEAGE_HARNESS_ABORT : trial->label,
                                  .score = trial->score,
                                  .params = trial->params,
                                  .n_params = trial->n_params};
    return true;
}

static enum lineage_status load_comparison(struct model *model, struct lineage_error *err)
{
    struct listing listing = {.model = model};
    const struct lineage_compare_options options = {.next = list_next, .context = &listing};
    /* A store that cannot be compared (no seeds, one specialist) has a report too. */
    enum lineage_status status = lineage_compare(model->store, &options, &model->comparison, err);
    model->compared = status == LINEAGE_OK;
    if (status == LINEAGE_EINVAL || status == LINEAGE_ENOTFOUND) {
        memcpy(model->why_not, err->text, sizeof model->why_not);
        return LINEAGE_OK;
    }
    return status;
}

static const char *last_part(const char *path)
{
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/')
        n--;
    while (n > 0 && path[n - 1] != '/')
        n--;
    return path + n;
}

/* "." would mean nothing to somebody who opens the page elsewhere. */
static bool name_store(struct model *model)
{
    model->dir = realpath(lineage_store_dir(model->store), NULL);
    if (!model->dir)
        model->dir = strdup(lineage_store_dir(model->store));
    if (!model->dir)
        return false;
    model->name = last_part(model->dir);
    return true;
}

enum lineage_status model_load(struct model *model, struct lineage_store *store, struct lineage_error *err)
{
    const struct lineage_config *config = lineage_store_config(store);
    *model = (struct model){.store = store,
                            .direction = config->direction,
                            .noise_std = config->noise_std,
                            .noise_seeds = config->noise_seeds ? config->noise_seeds : 1,
                            .best = MODEL_NONE};
    enum lineage_status status;
    if ((status = lineage_report_load(&model->summary, store, NULL, err)) != LINEAGE_OK)
        return status;
    model->margin = lineage_noise_margin(&model->summary->noise, 1);
    if ((status = load_trials(model, err)) != LINEAGE_OK)
        return status;
    model->needed = model->summary->needed;
    if (!name_store(model) || !axes_find(model))
        return cli_no_memory_error(err);
    if ((status = load_comparison(model, err)) != LINEAGE_OK)
        return status;
    model->metric = model->summary->metric;
    find_best(model);
    find_night(model);
    return load_ideas(model, err);
}

static const char *bare_id(const char *id)
{
    return strncmp(id, "exp_", 4) == 0 ? id + 4 : id;
}

/* The last of several rows with one id counts, as elsewhere. */
enum lineage_status model_set_since(struct model *model, const char *since, struct lineage_error *err)
{
    int64_t moment;
    model->since = since;
    for (size_t i = model->n; i-- > 0;)
        if (strcmp(bare_id(model->trials[i].id), bare_id(since)) == 0) {
            model->night = i + 1;
            return LINEAGE_OK;
        }
    if (lineage_time_parse(&moment, since, (int64_t)time(NULL), NULL) != LINEAGE_OK) {
        *err = (struct lineage_error){.status = LINEAGE_ENOTFOUND};
        snprintf(err->text, sizeof err->text,
                 "--since '%.60s' is neither a trial of %.100s nor a date; use an id, or for example yesterday", since,
                 model->name);
        return err->status;
    }
    for (model->night = model->n; model->night > 0; model->night--) {
        const struct model_trial *trial = &model->trials[model->night - 1];
        if (trial->dated && trial->time <= moment)
            break;
    }
    return LINEAGE_OK;
}

void model_release(struct model *model)
{
    for (struct block *block = model->memory, *next; block; block = next) {
        next = block->next;
        free(block);
    }
    for (size_t i = 0; i < model->n_columns; i++) {
        free(model->axes[i].distinct);
        free(model->axes[i].value);
        free(model->axes[i].words);
    }
    if (model->compared)
        lineage_comparison_release(&model->comparison);
    lineage_report_release(model->summary);
    lineage_knobs_release(&model->knobs);
    lineage_ideas_release(model->ideas);
    free(model->of_idea);
    free(model->trials);
    free(model->dir);
    *model = (struct model){0};
}

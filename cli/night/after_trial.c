#include "night/night.h"

#include <lineage/evidence.h>
#include <lineage/query.h>
#include <lineage/render.h>

#include "report/page_file.h"
#include "sweep/trial_list.h"
#include "trial/run_and_append.h"

int night_write_knowledge(struct night *night)
{
    char *path;
    struct lineage_render_options options;
    struct lineage_error err;
    struct lineage_store *store = night->list.store;
    lineage_render_options_init(&options);
    options.specialist = night->list.sweep.name;
    /* `render`, the report and later trials have the threshold of this block. */
    if (lineage_store_keep_trials(store, &err) != LINEAGE_OK)
        cli_fail(&err);
    enum lineage_status status = lineage_store_path(&path, store, LINEAGE_PLACE_KNOWLEDGE, &err);
    if (status == LINEAGE_OK)
        status = lineage_render_file(store, path, &options, &err);
    lineage_free(path);
    if (status != LINEAGE_OK)
        return cli_fail(&err);
    return night->report ? page_file_beside(store) : CLI_GO_ON;
}

/* KNOWLEDGE.md is rewritten even after an interruption, because it names the aborted trial. */
int night_after_trial(struct night *night, size_t i, int status, const struct night_ending *ending, bool warmed_up,
                      double seconds)
{
    if (status != CLI_GO_ON && status != CLI_INTERRUPTED)
        return status;
    struct lineage_error err;
    night->ran++;
    if (night->list.trials[i].replicates && night->list.trials[i].recipe && status == CLI_GO_ON &&
        lineage_noise_measure(night->list.store, false, &err) != LINEAGE_OK)
        return cli_fail(&err);
    int written = night_write_knowledge(night);
    if (written != CLI_GO_ON)
        return written;
    if (status != CLI_GO_ON)
        return status;
    if (night_ending_is_measured(ending) && ending->end != TRIAL_PRUNED)
        forecast_learn(&night->list, i, warmed_up, seconds);
    if (!ending->late && night->list.trials[i].exp_id)
        notify_trial(&night->notify, night->list.store, night->list.trials[i].exp_id, ending->label);
    night->list.n_proposed += night->list.trials[i].proposer != NULL;
    night->unscored += ending->label == LINEAGE_HARNESS_ABORT && ending->end == TRIAL_FINISHED && !ending->late;
    int counted = repeated_failures_count(&night->failures, ending, &night->list, i);
    if (counted != CLI_GO_ON) /* rows may have become void */
        night_write_knowledge(night);
    return counted;
}

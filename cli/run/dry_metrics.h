/*
 * dry_metrics.h: `lineage run --dry-metrics`: shows which number is read from which line, and writes no row.
 *
 * The lines come from the command, which runs with its limits, its preflight, its evaluation and its seeds, or from a
 * saved log. They go through the reader of a real trial (metrics/metric_lines.h).
 */
#pragma once

#include "cli.h"
#include "trial/trial_job.h"
#include "trial/trial_outcome.h"
#include "trial/trial_results.h"

struct dry_metrics;

/* The caller frees it; NULL when out of memory. The plan is borrowed. lines: end the command after this many; 0: not. */
struct dry_metrics *dry_metrics_new(const struct trial_plan *plan, size_t lines);
void dry_metrics_free(struct dry_metrics *dry);

/* Makes the job report its lines and events to `dry` before it passes them on to the job's own callbacks. One job at a
 * time. */
void dry_metrics_attach(struct dry_metrics *dry, struct trial_job *job);

/* Takes the value of a metric in a file. */
void dry_metrics_event(struct dry_metrics *dry, const struct trial_event *event);

/* Reads a saved log; "-" is standard input. Returns CLI_GO_ON, or an exit status after printing the error. */
int dry_metrics_read_log(struct dry_metrics *dry, const char *path);

/* Writes what a trial of this log has in looked and doubt, and prints the remarks on how its metrics were read. */
void dry_metrics_describe(const struct dry_metrics *dry, struct trial_outcome *outcome);

/*
 * Prints one line per metric, and which of them is the score and why. outcome is that of the command; NULL: a log was
 * read. Returns CLI_OK if there is a score of a command that finished, else CLI_NO after printing what is wrong.
 */
int dry_metrics_print(const struct dry_metrics *dry, const struct trial_outcome *outcome, enum cli_format format);

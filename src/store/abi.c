/*
 * abi.c: sizes of the public structs. A list instead of a script's output, so that the library builds with a compiler
 * alone; the test lineage_abi compares it with the headers.
 */
#include <lineage/abi.h>

#include <lineage/blobs.h>
#include <lineage/code.h>
#include <lineage/compare.h>
#include <lineage/evidence.h>
#include <lineage/facts.h>
#include <lineage/front.h>
#include <lineage/hypothesis.h>
#include <lineage/ideas.h>
#include <lineage/insights.h>
#include <lineage/knobs.h>
#include <lineage/measured.h>
#include <lineage/notes.h>
#include <lineage/query.h>
#include <lineage/queue.h>
#include <lineage/redact.h>
#include <lineage/remarks.h>
#include <lineage/render.h>
#include <lineage/replicas.h>
#include <lineage/report.h>
#include <lineage/require.h>
#include <lineage/rows.h>
#include <lineage/search.h>
#include <lineage/settings.h>
#include <lineage/snapshot.h>
#include <lineage/text.h>
#include <lineage/time.h>
#include <lineage/verify.h>
#include <lineage/voids.h>

#define SIZE(name) {#name, sizeof(struct name)}

static const struct lineage_abi_size sizes[] = {
    SIZE(lineage_abi_size),
    SIZE(lineage_again),
    SIZE(lineage_append_options),
    SIZE(lineage_blackboard_options),
    SIZE(lineage_blob_stats),
    SIZE(lineage_blocked),
    SIZE(lineage_board),
    SIZE(lineage_board_row),
    SIZE(lineage_chain),
    SIZE(lineage_change),
    SIZE(lineage_checked),
    SIZE(lineage_claim),
    SIZE(lineage_claim_request),
    SIZE(lineage_code),
    SIZE(lineage_code_file),
    SIZE(lineage_code_note),
    SIZE(lineage_code_source),
    SIZE(lineage_column),
    SIZE(lineage_column_name),
    SIZE(lineage_commit_note),
    SIZE(lineage_compare_options),
    SIZE(lineage_comparison),
    SIZE(lineage_condition),
    SIZE(lineage_config),
    SIZE(lineage_convert_options),
    SIZE(lineage_diffstat),
    SIZE(lineage_digests),
    SIZE(lineage_effective),
    SIZE(lineage_effective_setting),
    SIZE(lineage_error),
    SIZE(lineage_evidence),
    SIZE(lineage_evidence_rule),
    SIZE(lineage_evidence_trial),
    SIZE(lineage_extra),
    SIZE(lineage_facts),
    SIZE(lineage_failed_setting),
    SIZE(lineage_finding),
    SIZE(lineage_front),
    SIZE(lineage_front_point),
    SIZE(lineage_hypothesis),
    SIZE(lineage_idea),
    SIZE(lineage_import_stats),
    SIZE(lineage_insight),
    SIZE(lineage_judgement),
    SIZE(lineage_knob),
    SIZE(lineage_knob_rule),
    SIZE(lineage_knob_try),
    SIZE(lineage_knobs),
    SIZE(lineage_known_digest),
    SIZE(lineage_measured),
    SIZE(lineage_measured_change),
    SIZE(lineage_measured_lines),
    SIZE(lineage_night_link),
    SIZE(lineage_noise),
    SIZE(lineage_noise_group),
    SIZE(lineage_notice),
    SIZE(lineage_novelty_claim),
    SIZE(lineage_novelty_list),
    SIZE(lineage_number),
    SIZE(lineage_open_options),
    SIZE(lineage_param),
    SIZE(lineage_query),
    SIZE(lineage_range),
    SIZE(lineage_rate),
    SIZE(lineage_redaction),
    SIZE(lineage_remark),
    SIZE(lineage_render_options),
    SIZE(lineage_replica_group),
    SIZE(lineage_replicas),
    SIZE(lineage_replicate),
    SIZE(lineage_report),
    SIZE(lineage_report_calibration),
    SIZE(lineage_report_chain),
    SIZE(lineage_report_change),
    SIZE(lineage_report_count),
    SIZE(lineage_report_failure),
    SIZE(lineage_report_full),
    SIZE(lineage_report_grid),
    SIZE(lineage_report_near_miss),
    SIZE(lineage_report_options),
    SIZE(lineage_report_param),
    SIZE(lineage_report_proposer),
    SIZE(lineage_report_reason),
    SIZE(lineage_report_setting),
    SIZE(lineage_report_value),
    SIZE(lineage_requirement),
    SIZE(lineage_row_texts),
    SIZE(lineage_row_values),
    SIZE(lineage_rows),
    SIZE(lineage_runs),
    SIZE(lineage_scatter),
    SIZE(lineage_setting),
    SIZE(lineage_setting_name),
    SIZE(lineage_settings),
    SIZE(lineage_similar),
    SIZE(lineage_similar_list),
    SIZE(lineage_span),
    SIZE(lineage_sql_limits),
    SIZE(lineage_sweep),
    SIZE(lineage_sweep_cell),
    SIZE(lineage_sync_stats),
    SIZE(lineage_tree_node),
    SIZE(lineage_trial),
    SIZE(lineage_turn_stat),
    SIZE(lineage_variant),
    SIZE(lineage_variant_setting),
    SIZE(lineage_verification),
    SIZE(lineage_void),
};

int lineage_abi_version(void)
{
    return LINEAGE_ABI_VERSION;
}

const struct lineage_abi_size *lineage_abi_sizes(size_t *n)
{
    if (n)
        *n = sizeof sizes / sizeof *sizes;
    return sizes;
}

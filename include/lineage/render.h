/*
 * lineage/render.h: the session-start block that the next agent reads.
 *
 * Three styles share one renderer: `native` (this project's rules: kept trials only, cells made harmless),
 * `fieldkit` (byte for byte what fieldkit.lineage's render_prompt prints) and the blackboard's three files.
 * Same store, same options, same bytes. With an up-to-date mirror the cost does not grow with the number
 * of rows in the store.
 */
#ifndef LINEAGE_RENDER_H
#define LINEAGE_RENDER_H

#include <lineage/store.h>

#ifdef __cplusplus
extern "C" {
#endif

enum lineage_style { LINEAGE_STYLE_NATIVE, LINEAGE_STYLE_FIELDKIT };

struct lineage_render_options {
    enum lineage_style style;
    const char *specialist; /* who reads: --for; NULL = "" */
    const char *timestamp;  /* printed in the title; NULL or "" prints — */
    size_t top_k;           /* kept trials in the leaderboard */
    size_t recent;          /* rows of recent activity */
    size_t full;            /* rows shown with full hypothesis and notes */
    const char *sections;   /* native: comma-separated names to print, NULL = all; unknown: LINEAGE_EINVAL */
    size_t max_bytes;       /* native: shorten lists and drop the least useful sections to fit; 0 = no limit */
    const char *insights;   /* native: text of a person's `## Key Insights` section to keep; NULL = none */
};

/* Native style, top_k 20, recent 30, full 10. */
LINEAGE_API void lineage_render_options_init(struct lineage_render_options *options);

/* Render into *text (NUL-terminated, *length bytes, free with lineage_free). */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status
lineage_render(char **text, size_t *length, struct lineage_store *store,
               const struct lineage_render_options *options, struct lineage_error *err);
LINEAGE_API void lineage_free(void *memory);

/* Section names of the native style, ended by NULL, in printing order. */
LINEAGE_API const char *const *lineage_render_sections(void);

/*
 * Render in native style and replace the file at path atomically. A `## Key Insights` section that a
 * person wrote in the old file is kept; a forged heading inside a rendered cell is not mistaken for one.
 */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status
lineage_render_file(struct lineage_store *store, const char *path,
                    const struct lineage_render_options *options, struct lineage_error *err);

/* Save rendered text as lineage_snapshots/<timestamp>_<name>.md in the store; *path (lineage_free) says where. */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status
lineage_render_record(char **path, struct lineage_store *store, const char *text, size_t length,
                      const char *timestamp, const char *name, struct lineage_error *err);

struct lineage_blackboard_options {
    const char *tree_path;    /* how KNOWLEDGE.md names tree.tsv; NULL = OUTPUT_DIR/tree.tsv */
    const char *metric_label; /* short label, NULL = configured, else val_bpb -> bpb, train_s -> time, ... */
    const char *best_json;    /* path of best.json; NULL = best.json in the store; absent means no best */
};

/* Write LEADERBOARD.md, KNOWLEDGE.md and tree.tsv into output_dir, each replaced atomically. */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status
lineage_render_blackboard(struct lineage_store *store, const char *output_dir,
                          const struct lineage_blackboard_options *options, struct lineage_error *err);

#ifdef __cplusplus
}
#endif

#endif

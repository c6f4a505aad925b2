/*
 * lineage/render.h: the session-start block that the next agent reads.
 *
 * Three styles print one report (lineage/report.h): `native` (this project's rules: kept trials only, cells quoted
 * and harmless), `fieldkit` (byte for byte what fieldkit.lineage's render_prompt prints, cells as they are) and the
 * blackboard's three files. Same store, same options, same bytes. With an up-to-date mirror the cost does not grow
 * with the number of rows in the store.
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
    const char *timestamp;  /* printed in the title; NULL or "": none (fieldkit prints —) */
    size_t top_k;           /* kept trials in the leaderboard */
    size_t recent;          /* rows of recent activity */
    size_t full;            /* rows shown with full hypothesis and notes */
    const char *sections;   /* native: comma-separated names to print, NULL = all; unknown: LINEAGE_EINVAL */
    size_t max_bytes;       /* native: print the rows worth most that fit, and what was left out; 0 = no limit */
    const char *insights;   /* native: text printed whole at the end, such as a person's insights; NULL = none.
                               lineage_render_file takes it from the file and ignores this. */
};

/* Native style, top_k 20, recent 30, full 10. */
LINEAGE_API void lineage_render_options_init(struct lineage_render_options *options);

/* Render into *text (NUL-terminated, *length bytes, free with lineage_free; NULL after a failure). options may be NULL, as in
 * every function here. */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status
lineage_render(char **text, size_t *length, struct lineage_store *store,
               const struct lineage_render_options *options, struct lineage_error *err);
LINEAGE_API void lineage_free(void *memory);

/* Section names of the native style, ended by NULL, in printing order. */
LINEAGE_API const char *const *lineage_render_sections(void);

/*
 * Render and replace the file at path atomically, without losing a byte that a person wrote in it.
 *
 * A native block ends in the file with a line `<!-- rendered by lineage: DIGEST; text below is kept -->`. What
 * stands below it is a person's and stays as it is, whatever sections and max_bytes say (max_bytes gives the block
 * what that text leaves, at least half). Files of the fieldkit style, whose bytes are given, have a note beside
 * them, .NAME.rendered, that says which bytes were rendered; text behind those stays. A file that was changed
 * elsewhere, or that an older version or another tool rendered, is put aside whole as NAME.before-N, with a
 * notice. A file that was never rendered is kept whole below the line.
 *
 * A link at path stays, and what it leads to is replaced, if that was rendered or is empty (else LINEAGE_EINVAL); a
 * device or a pipe is written to, the block alone. Mode and owner of the file stay; other hard links to it keep the
 * former text.
 */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status
lineage_render_file(struct lineage_store *store, const char *path,
                    const struct lineage_render_options *options, struct lineage_error *err);

/* What a person wrote in the rendered file at path, as lineage_render_file would keep it, in *text (NUL-terminated,
 * lineage_free); "" if there is nothing, no such file, or no rendered one. For lineage_render_options.insights. */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status
lineage_render_insights(char **text, const char *path, struct lineage_error *err);

/* Save rendered text as lineage_snapshots/<timestamp>_<name>.md in the store, with a number behind the name if that
 * holds another text already; *path (lineage_free) says where. */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status
lineage_render_record(char **path, struct lineage_store *store, const char *text, size_t length,
                      const char *timestamp, const char *name, struct lineage_error *err);

struct lineage_blackboard_options {
    const char *tree_path;    /* how KNOWLEDGE.md names tree.tsv; NULL = OUTPUT_DIR/tree.tsv */
    const char *metric_label; /* short label, NULL = configured, else val_bpb -> bpb, train_s -> time, ... */
    const char *best_json;    /* path of best.json; NULL = best.json in the store; absent means no best */
};

/*
 * Write LEADERBOARD.md, KNOWLEDGE.md and tree.tsv into output_dir, each replaced atomically; links stay links. What
 * is kept of the old KNOWLEDGE.md is the blackboard's own rule: all from the first line `## Key Insights` on.
 * Beyond 1,000 levels, which its own program cannot nest, paths and indentation are cut.
 */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status
lineage_render_blackboard(struct lineage_store *store, const char *output_dir,
                          const struct lineage_blackboard_options *options, struct lineage_error *err);

#ifdef __cplusplus
}
#endif

#endif

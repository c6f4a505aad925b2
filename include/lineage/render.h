/*
 * lineage/render.h: the session-start block that the next agent reads.
 *
 * Three styles print one report (lineage/report.h): `native` (this project's rules: kept trials only, cells quoted
 * and made harmless), `fieldkit` (byte for byte what fieldkit.lineage's render_prompt prints, cells unchanged) and
 * the blackboard's three files. The same store and the same options give the same bytes. With an up-to-date mirror
 * the cost does not grow with the number of rows in the store.
 */
#ifndef LINEAGE_RENDER_H
#define LINEAGE_RENDER_H

#include <lineage/store.h>

#define LINEAGE_RENDER_BYTES 12000

enum lineage_style { LINEAGE_STYLE_NATIVE, LINEAGE_STYLE_FIELDKIT };

struct lineage_render_options {
    enum lineage_style style;
    const char *specialist; /* the reading specialist (--for); NULL = "" */
    const char *timestamp;  /* printed in the title; NULL or "": none (fieldkit prints —) */
    size_t top_k;           /* kept trials in the leaderboard */
    size_t recent;          /* rows of recent activity */
    size_t full;            /* rows shown with full hypothesis and notes */
    const char *sections;   /* native: comma-separated sections to print, NULL = all; unknown names: LINEAGE_EINVAL */
    size_t max_bytes;       /* native: print the most valuable rows that fit, and say what was left out; 0 = no limit.
                               LINEAGE_RENDER_BYTES, the default, is of the block alone: a person's text is not counted */
    const char *insights;   /* native: text printed whole at the end, such as a person's insights; NULL = none.
                               lineage_render_file takes it from the file and ignores this. */
};

/* Sets the defaults: native style, top_k 20, recent 30, full 10, max_bytes LINEAGE_RENDER_BYTES. */
LINEAGE_API void lineage_render_options_init(struct lineage_render_options *options);

/* Renders into *text (NUL-terminated, *length bytes, free with lineage_free; NULL after a failure). options may be
 * NULL in every function here. */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_render(char **text, size_t *length, struct lineage_store *store,
                                                                 const struct lineage_render_options *options,
                                                                 struct lineage_error *err);
LINEAGE_API void lineage_free(void *memory);

/* Section names of the native style in printing order. */
#define LINEAGE_RENDER_SECTIONS                                                                                                  \
    "best", "standing", "claims", "leaderboard", "chain", "made_of", "recent", "full", "near_misses", "sweep", "knobs",          \
        "elsewhere", "walls", "again", "failures", "calibration", "info_gain", "other_ideas", "insights"

/*
 * Renders and replaces the file at path atomically, without losing a byte that a person wrote in it.
 *
 * A native block ends in the file with a line `<!-- rendered by lineage: DIGEST; text below is kept -->`. The text
 * below that line belongs to a person and is never changed, whatever sections and max_bytes say (with max_bytes, the
 * block gets the bytes that this text leaves, but at least half). The bytes of a fieldkit block are fixed, so a note
 * beside such a file, .NAME.rendered, records which bytes were rendered; text after those bytes is kept. A file that
 * was changed elsewhere, or that an older version or another tool rendered, is first copied whole to NAME.before-N,
 * with a notice. The text of a file that was never rendered is kept unchanged below the line.
 *
 * If path is a link, the link stays and its target is replaced, if the target was rendered or is empty (otherwise
 * LINEAGE_EINVAL). To a device or a pipe only the block is written. The file keeps its mode and owner; other hard links
 * to it keep the previous text.
 */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_render_file(struct lineage_store *store, const char *path,
                                                                      const struct lineage_render_options *options,
                                                                      struct lineage_error *err);

/* Reads the text that a person wrote in the rendered file at path, which lineage_render_file would keep, into *text
 * (NUL-terminated, lineage_free). It is "" if there is no such text, no such file, or the file was not rendered.
 * Meant for lineage_render_options.insights. */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_render_insights(char **text, const char *path,
                                                                          struct lineage_error *err);

/* Saves rendered text as lineage_snapshots/<timestamp>_<name>.md in the store, with a number after the name if a file
 * of that name exists with a different text. *path (free with lineage_free) is the path of the new file. */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_render_record(char **path, struct lineage_store *store,
                                                                        const char *text, size_t length, const char *timestamp,
                                                                        const char *name, struct lineage_error *err);

struct lineage_blackboard_options {
    const char *tree_path;    /* path of tree.tsv in KNOWLEDGE.md; NULL = OUTPUT_DIR/tree.tsv */
    const char *metric_label; /* short label of the score; NULL = configured, else val_bpb -> bpb, train_s -> time, ... */
    const char *best_json;    /* path of best.json; NULL = best.json in the store; absent means no best */
};

/* Writes LEADERBOARD.md, KNOWLEDGE.md and tree.tsv into output_dir, each replaced atomically; a symbolic link stays a
 * link. Like the blackboard's own program, it keeps everything in the old KNOWLEDGE.md from the first line `## Key
 * Insights` on. Paths and indentation are cut at 1,000 levels, because the blackboard's own program cannot nest
 * deeper. */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_render_blackboard(struct lineage_store *store, const char *output_dir,
                                                                            const struct lineage_blackboard_options *options,
                                                                            struct lineage_error *err);

#endif

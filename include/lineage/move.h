/*
 * lineage/move.h: the rows of a store as bytes: out of it, into another one, and news of them.
 *
 * What moves is the log, results.tsv byte for byte, whatever is in it, wherever it is kept. Its digests are a function of
 * those bytes and are the same in the other store (lineage/verify.h). What a store keeps beside its rows stays where it is
 * (settings, telemetry, snapshots, logs, provenance, remarks): lineage_store_path says where, to be copied as files.
 */
#ifndef LINEAGE_MOVE_H
#define LINEAGE_MOVE_H

#include <lineage/store.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Takes the next n bytes; false ends the export with LINEAGE_ECANCELLED. */
typedef bool lineage_export_fn(void *context, const void *bytes, size_t n);

/*
 * Every byte of the log as it is when this begins, in order and in pieces. Takes no lock: a row that is being written may be
 * there in part, as for every reader. LINEAGE_EIO if the log became shorter meanwhile.
 */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status
lineage_export(struct lineage_store *store, lineage_export_fn *give, void *context, struct lineage_error *err);

/* The same into a file, which is there whole, synced, or as it was. A device or a pipe is written to; the store's own log is
 * refused (LINEAGE_EINVAL). */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status
lineage_export_file(struct lineage_store *store, const char *path, struct lineage_error *err);

/*
 * Make the log equal to a file (or what a pipe gives), byte for byte, damaged records included: nothing is checked and nothing
 * mended. All of it is in or nothing. A log that has rows must be a beginning of the file, whose rest is added then (0 bytes
 * if there is none, so that a move can be repeated); else LINEAGE_EEXIST. *n_bytes is what was added.
 */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status
lineage_import_exact(struct lineage_store *store, const char *path, uint64_t *n_bytes, struct lineage_error *err);

/*
 * Wait until the log has changed since the last call, by whatever program on whatever machine, for at most so many seconds
 * (0: only look; negative: without end); *news says whether it has. The first call begins to listen and answers at once, with
 * news: so whoever reads behind each call that has news misses nothing. LINEAGE_EAWAY while a server is away: wait a while, and
 * call again.
 */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status
lineage_store_wait(struct lineage_store *store, double seconds, bool *news, struct lineage_error *err);

/*
 * A cursor on the trials behind the first `after` ones, in the order of the log (lineage/query.h). A record that has no line end
 * yet is none of them. *rows is how many there are now: what to give as `after` next time. Fewer than `after`: rows were taken
 * out, and the cursor has none.
 */
struct lineage_cursor;
LINEAGE_API LINEAGE_NODISCARD enum lineage_status
lineage_new_trials(struct lineage_cursor **cursor, struct lineage_store *store, uint64_t after, uint64_t *rows,
                   struct lineage_error *err);

#ifdef __cplusplus
}
#endif

#endif

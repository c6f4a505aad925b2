/*
 * lineage/move.h: the rows of a store as bytes: export, import, and waiting for new ones.
 *
 * Only the log moves, results.tsv byte for byte, whatever it contains and wherever it is stored. The log's digests
 * depend on its bytes only, so they are the same in the other store (lineage/verify.h). Everything beside the rows
 * (settings, telemetry, snapshots, logs, provenance, remarks) stays in place: lineage_store_path returns the paths, so
 * that you can copy the files.
 */
#ifndef LINEAGE_MOVE_H
#define LINEAGE_MOVE_H

#include <lineage/store.h>

/* Takes the next n bytes. Returns false to end the export with LINEAGE_ECANCELLED. */
typedef bool lineage_export_fn(void *context, const void *bytes, size_t n);

/* Passes every byte that the log has at the start of the call to `give`, in order and in chunks. Takes no lock, so a
 * row that is being written may be included in part, as for every reader. Returns LINEAGE_EIO if the log became shorter
 * meanwhile. */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_export(struct lineage_store *store, lineage_export_fn *give,
                                                                 void *context, struct lineage_error *err);

/* Exports the log into a file, which afterwards is either complete and synced, or unchanged. path may be a device or a
 * pipe; the store's own log is refused (LINEAGE_EINVAL). */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_export_file(struct lineage_store *store, const char *path,
                                                                      struct lineage_error *err);

/*
 * Makes the log equal to the contents of a file or a pipe, including damaged records: nothing is checked or repaired.
 * Either all of the bytes are added or none. If the log has rows already, they must be the beginning of the file, and
 * only the rest is added, so that a move can be repeated; otherwise the call returns LINEAGE_EEXIST. *n_bytes is the
 * number of bytes added.
 */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_import_exact(struct lineage_store *store, const char *path,
                                                                       uint64_t *n_bytes, struct lineage_error *err);

/*
 * Waits until the log has changed since the last call, by any program on any machine, for at most `seconds` seconds
 * (0: only look; negative: without limit). *news tells whether it has changed. The first call starts to listen and
 * returns at once with news, so a caller that reads the log after each call with news misses nothing. Returns
 * LINEAGE_EAWAY while the server cannot be reached: wait a while and call again.
 */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_store_wait(struct lineage_store *store, double seconds, bool *news,
                                                                     struct lineage_error *err);

/* Opens a cursor over the trials after the first `after` trials, in the order of the log (lineage/query.h). A last
 * record without a line end is not included yet. *rows is the number of rows now: pass it as `after` next time. If it
 * is smaller than `after`, rows were taken out, and the cursor is empty. */
struct lineage_cursor;
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_new_trials(struct lineage_cursor **cursor, struct lineage_store *store,
                                                                     uint64_t after, uint64_t *rows, struct lineage_error *err);

#endif

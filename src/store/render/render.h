/* render.h: what the printers share. A printer turns a report into text and never asks the store. */
#pragma once

#include <lineage/render.h>
#include <lineage/report.h>

#include "../format/arena.h"
#include "../internal.h"

/* A metric as `%.6f`, a delta as `%+.6f`, absent as —; nan and infinities as nan, inf, -inf. */
#define NUMBER_TEXT_MAX 352
const char *metric_text(char out[NUMBER_TEXT_MAX], struct lineage_number number);
const char *delta_text(char out[NUMBER_TEXT_MAX], struct lineage_number number);

/* Adds the text unchanged, with C0 80 turned back into NUL. */
void add_raw(struct buf *out, const char *text);

/* Adds the first n - 1 code points and …, or the whole text if it has at most n. */
void add_cut(struct buf *out, const char *text, size_t n);

enum lineage_status render_native(struct buf *out, struct lineage_store *store, const struct lineage_render_options *options,
                                  struct lineage_error *err);

/*
 * rollout_stream.h: writes the token streams of a run to a file, one rollout per line
 * (schema/rollout.schema.json). Such a file can be a data set (`data.file` of an environment).
 */
#pragma once

#include <stdio.h>

#include <trainer/train.h>

struct rollout_stream;

/*
 * Opens the file for appending if `again` is set, because a resumed run continues it; otherwise the file must not exist yet.
 * Returns NULL with the reason in err.
 */
struct rollout_stream *rollout_stream_open(const char *path, bool again, const struct trainer_recipe *recipe,
                                           struct trainer_error *err);

/* A trainer_rollouts_fn; context is the stream. Every iteration is one write, so that a killed run leaves whole lines. */
enum trainer_status rollout_stream_write(void *context, int32_t iteration, const struct trainer_rollouts *rollouts,
                                         struct trainer_error *err);

/* Prints one rollout as a line. */
void rollout_stream_line(FILE *out, const struct trainer_recipe *recipe, int32_t iteration, const struct trainer_rollout *r);

/* NULL is allowed. */
void rollout_stream_close(struct rollout_stream *stream);

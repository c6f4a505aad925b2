/*
 * step_file.h: reads the numbers in a file that a training leaves behind.
 *
 *     .csv      a table, separated by tabs, semicolons or commas, whose first line has the names; empty cells and lines that
 *               begin with # are skipped (metrics.csv of lightning, results.csv of ultralytics, progress.csv of stable-baselines3 and
 *               rllib); with the columns `name` (metric, key, tag) and `value`, each line has one metric
 *     .npz      arrays of numpy.savez; each entry of the first axis is a step, whose mean counts. `results` and `ep_lengths` are also
 *               eval/mean_reward and eval/mean_ep_length, as stable-baselines3 logs its evaluations.npz
 *     .json, .jsonl, or a file that begins with { or [
 *               JSON: an object, or one object a line or in a list for each step (trainer_state.json, result.json of Ray, metrics.jsonl).
 *               A member b of a member a is a/b; a list of numbers is a curve, and the objects of a list are steps
 *     others    a table. Without names, in a directory `scalars`, its lines are steps and values of the metric that the path names,
 *               which is scalars/NAME then
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- reads an array of NumPy (.npy) from its bytes ---- */

/* Nothing in it is trusted: a trial has written it. */

struct npy {
    const uint8_t *at;  /* [length] values, borrowed */
    size_t length, rows, size; /* rows: entries of the first axis; size: bytes of a value */
    bool flat;          /* one dimension */
    char kind;          /* f, i, u or b */
};

/* Returns false, with the reason, for what is not an array of float32, float64, integers or bool with the low byte first. The values may
 * be fewer or more than the shape says. */
bool npy_read(struct npy *npy, const char *bytes, size_t length, char *why, size_t size);
double npy_value(const struct npy *npy, size_t i); /* i < length / size */

uint64_t npy_little_endian(const uint8_t *bytes, size_t n); /* n at most 8 */

/* Called with each number, in the order of the file. value may be infinite or not a number; name is valid during the call. */
typedef void step_file_take(void *context, const char *name, double value);

/*
 * Reads bytes[length] of the file `path`, whose end says what it is. Returns false with a message in why[size] that says what cannot be
 * read; numbers before it were taken. An incomplete last line of JSON is ignored, because its writer was killed.
 */
bool step_file_read(const char *path, const char *bytes, size_t length, step_file_take *take, void *context, char *why,
                    size_t size);

/* The path of a .csv file from its last directory `scalars` on, which is the name of its only metric and .csv; "" for other files. */
const char *step_file_scalars(const char *path);

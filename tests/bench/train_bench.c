/*
 * train_bench.c: measures the speed of the trainer's phases with the configuration of fixtures/recipes/v1d.json.
 *
 *     train_bench [--json] [--iterations N] [--policy CHECKPOINT]
 *                 [--reference hop.py [--reference-policy a.pt]]
 *     train_bench --kernels [--json]
 *
 * --kernels measures the kernels one by one, on one thread (train_kernels.h), which takes a second.
 *
 * Trains N iterations (default 20) of turn-group-v1d on 1 and 2 threads, from a policy that is warm-started first
 * (or from --policy). For each phase it prints the seconds, the tokens per second (sampled tokens for generation; fed
 * tokens for information_gain and update), and how much of the phase's time its unavoidable matrix products would
 * take at the machine's sgemm rate, which is measured here. `trial` is the whole run with one evaluation.
 * gflops is those products per second. "update, recomputed" has memory for the activations of only one micro-batch per thread, so the forward pass of
 * every micro-batch is computed twice.
 *
 * --reference runs the given PyTorch program with one thread for the same number of iterations, from
 * --reference-policy or from a policy that it warm-starts itself, and prints how many times faster each of our
 * phases is for the same number of rollouts.
 */
#define _DEFAULT_SOURCE
#include <cblas.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <trainer/policy.h>
#include <trainer/train.h>

#include "train_kernels.h"

enum { GENERATION, INFORMATION_GAIN, UPDATE, TRIAL, PHASES };

static const char *const phase_names[PHASES] = {"generation", "information_gain", "update", "trial"};

struct options {
    bool json, kernels;
    int32_t iterations;
    const char *policy, *reference, *reference_policy;
};

struct phase {
    double seconds, tokens, flops;
};

struct timing {
    const struct trainer_recipe *recipe;
    struct phase phase[PHASES];
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- what the machine can do -------------------------------------------------------------- */

/*
 * Returns the fastest rate of many products of square matrices on one thread, in flops per second. Each takes a millisecond or
 * two, so that some run undisturbed on a busy machine.
 */
static double sgemm_rate(void)
{
    enum { N = 384, RUNS = 200 };
    float *x = calloc(3 * N * N, sizeof *x);
    double best = 0;
    if (!x)
        return 0;
    for (size_t i = 0; i < 2 * N * N; i++)
        x[i] = (float)(i % 13) - 6;
    openblas_set_num_threads(1);
    for (int run = 0; run < RUNS; run++) {
        double begin = now();
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, N, N, N, 1, x, N, x + N * N, N, 0, x + 2 * N * N, N);
        double rate = 2.0 * N * N * N / (now() - begin);
        best = rate > best ? rate : best;
    }
    free(x);
    return best;
}

/* ---- what a phase must multiply ----------------------------------------------------------- */

/* Returns the flops of the forward products of n tokens; the last layer's output is computed for `asked` of them. */
static double forward_flops(const struct trainer_model *model, double n, double asked)
{
    double d = model->width, m = model->mlp, layers = model->layers;
    double qkv = 3 * d * d, rest = d * d + 2 * d * m;
    return 2 * (n * (layers * qkv + (layers - 1) * rest) + asked * (rest + d * model->tokens));
}

static bool take_times(void *context, const struct trainer_event *event)
{
    struct timing *timing = context;
    const struct trainer_iteration *i = event->iteration;
    const struct trainer_recipe *recipe = timing->recipe;
    if (event->kind == TRAINER_EVENT_EVALUATING)
        timing->phase[TRIAL].seconds = event->train_s;
    if (event->kind != TRAINER_EVENT_ITERATION)
        return true;
    double sampled = (double)i->sampled_tokens, gain = (double)i->gain_tokens;
    double trained = (double)i->trained_tokens, asked = sampled * recipe->training.epochs;
    const struct trainer_model *model = &recipe->model;
    struct phase parts[PHASES] = {
        {i->generation_s, sampled, forward_flops(model, (double)i->fed_tokens, sampled)},
        {i->gain_s, gain, forward_flops(model, gain, gain)},
        {i->update_s, trained, 3 * forward_flops(model, trained, asked)},
        {0, sampled, 0},
    };
    for (int p = 0; p < PHASES; p++) {
        timing->phase[p].seconds += parts[p].seconds;
        timing->phase[p].tokens += parts[p].tokens;
        timing->phase[p].flops += parts[p].flops;
        if (p != TRIAL)
            timing->phase[TRIAL].flops += parts[p].flops;
    }
    return true;
}

/* ---- our own ------------------------------------------------------------------------------ */

static int failed(const struct trainer_error *err)
{
    fprintf(stderr, "train_bench: %s\n", err->text);
    return 1;
}

static int warm_start(struct trainer_recipe *recipe, const char *path)
{
    struct trainer_recipe warm = *recipe;
    struct trainer_run_options to = {.checkpoint = path};
    struct trainer_error err;
    warm.training.iterations = 0;
    warm.evaluation.every = 0;
    warm.threads = 0;
    return trainer_run(&warm, &to, &err) == TRAINER_OK ? 0 : failed(&err);
}

static int run_ours(struct trainer_recipe *recipe, int threads, struct timing *timing)
{
    struct trainer_run_options to = {.event = take_times, .context = timing};
    struct trainer_error err;
    *timing = (struct timing){.recipe = recipe};
    recipe->threads = threads;
    return trainer_run(recipe, &to, &err) == TRAINER_OK ? 0 : failed(&err);
}

static double least_activations(const struct trainer_recipe *recipe, int threads)
{
    size_t tokens = TRAINER_MICRO_BATCH_ROWS * (size_t)recipe->model.max_tokens;
    return (double)threads * (double)trainer_pass_bytesf(&recipe->model, tokens, tokens);
}

/* ---- the reference ------------------------------------------------------------------------ */

/* The last line that the program prints is one JSON object. */
static json_t *last_object(FILE *out)
{
    char *line = NULL;
    size_t size = 0;
    json_t *object = NULL;
    while (getline(&line, &size, out) >= 0)
        if (line[0] == '{') {
            json_decref(object);
            object = json_loads(line, 0, NULL);
        }
    free(line);
    return object;
}

static json_t *run_reference(const char *program, const char *arguments)
{
    static const char settings[] = "OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 MALLOC_MMAP_THRESHOLD_=1073741824 "
                                   "MALLOC_TRIM_THRESHOLD_=4294967296 MALLOC_TOP_PAD_=268435456";
    char command[2048];
    snprintf(command, sizeof command, "%s /usr/bin/python3 '%s' %s", settings, program, arguments);
    FILE *out = popen(command, "r");
    json_t *object = out ? last_object(out) : NULL;
    if (out)
        pclose(out);
    if (!object)
        fprintf(stderr, "train_bench: %s %s printed no result\n", program, arguments);
    return object;
}

static double number(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

static int take_reference(const struct options *options, struct phase reference[PHASES])
{
    char arguments[1024], trained[] = "/tmp/train_bench_reference.pt";
    const char *policy = options->reference_policy ? options->reference_policy : trained;
    if (!options->reference_policy) {
        snprintf(arguments, sizeof arguments,
                 "sft --seed 1 --kmin 3 --kmax 5 --maxturn 7 --sft_steps 450 --sft_lr 4e-3 --ckpt %s", policy);
        json_decref(run_reference(options->reference, arguments));
    }
    snprintf(arguments, sizeof arguments,
             "rl --algo v1d --seed 1 --steps %d --kmin 3 --kmax 5 --maxturn 7 --quiet 1 "
             "--eval_every %d --ckpt %s",
             options->iterations, options->iterations, policy);
    json_t *result = run_reference(options->reference, arguments);
    const char *const seconds[] = {"roll_s", "ig_s", "upd_s"}, *const tokens[] = {"gen_tok", "ig_tok", "upd_tok"};
    for (int p = 0; p < TRIAL; p++)
        reference[p] = (struct phase){number(result, seconds[p]), number(result, tokens[p]), 0};
    reference[TRIAL] = (struct phase){number(result, "sec"), number(result, "gen_tok"), 0};
    json_decref(result);
    return result ? 0 : 1;
}

/* ---- the table ---------------------------------------------------------------------------- */

static void add_rate(json_t *row, double flops, double peak)
{
    json_object_set_new(row, "gflops", json_real(flops / 1e9));
    json_object_set_new(row, "sgemm_share", json_real(flops / peak));
}

static void add_row(json_t *rows, const char *phase, int threads, const struct phase *x, double peak,
                    const struct phase *reference)
{
    json_t *row = json_pack("{s:s, s:i, s:f, s:f}", "phase", phase, "threads", threads, "tokens_per_s", x->tokens / x->seconds,
                            "seconds", x->seconds);
    if (x->flops > 0)
        add_rate(row, x->flops / x->seconds, peak * threads);
    if (reference && reference->seconds > 0)
        json_object_set_new(row, "times_reference", json_real(reference->seconds / x->seconds));
    json_array_append_new(rows, row);
}

static void print_cell(const json_t *row, const char *key, int width, int decimals)
{
    const json_t *value = json_object_get(row, key);
    if (value)
        printf(" %*.*f", width, decimals, json_number_value(value));
    else
        printf(" %*s", width, "-");
}

static void print_table(const json_t *rows, double peak)
{
    size_t i;
    json_t *row;
    printf("sgemm: %.1f GFLOP/s on one thread\n\n", peak / 1e9);
    printf("%-28s %7s %12s %9s %12s %16s\n", "phase", "threads", "tokens/s", "seconds", "sgemm share", "times reference");
    json_array_foreach(rows, i, row) {
        printf("%-28s %7lld", json_string_value(json_object_get(row, "phase")),
               (long long)json_integer_value(json_object_get(row, "threads")));
        print_cell(row, "tokens_per_s", 12, 0);
        print_cell(row, "seconds", 9, 2);
        print_cell(row, "sgemm_share", 12, 2);
        print_cell(row, "times_reference", 16, 1);
        putchar('\n');
    }
}

static int measure(const struct options *options, struct trainer_recipe *recipe, json_t *rows, double *peak)
{
    struct phase reference[PHASES] = {{0}};
    struct timing timing;
    *peak = sgemm_rate();
    if (options->reference && take_reference(options, reference) != 0)
        return 1;
    for (int threads = 1; threads <= 2; threads++) {
        if (run_ours(recipe, threads, &timing) != 0)
            return 1;
        for (int p = 0; p < PHASES; p++)
            add_row(rows, phase_names[p], threads, &timing.phase[p], *peak, &reference[p]);
        recipe->micro_batch.activation_bytes = least_activations(recipe, threads);
        if (run_ours(recipe, threads, &timing) != 0)
            return 1;
        recipe->micro_batch.activation_bytes = 0;
        add_row(rows, "update, recomputed", threads, &timing.phase[UPDATE], *peak, NULL);
    }
    for (int p = 0; options->reference && p < PHASES; p++) {
        char name[64];
        snprintf(name, sizeof name, "%s (reference)", phase_names[p]);
        add_row(rows, name, 1, &reference[p], *peak, NULL);
    }
    return 0;
}

static int run_kernels(bool json)
{
    struct trainer_recipe recipe;
    struct trainer_error err;
    struct kernel_rate rates[TRAIN_KERNELS];
    double peak = sgemm_rate();
    if (trainer_recipe_load(&recipe, FIXTURES_DIR "/recipes/v1d.json", &err) != TRAINER_OK)
        return failed(&err);
    if (!train_kernels(&recipe.model, rates))
        return fprintf(stderr, "train_bench: out of memory\n"), 1;
    json_t *rows = json_array();
    for (int i = 0; i < TRAIN_KERNELS; i++) {
        json_t *row = json_pack("{s:s, s:i}", "kernel", rates[i].name, "threads", 1);
        add_rate(row, rates[i].flops, peak);
        json_array_append_new(rows, row);
        if (!json)
            printf("%-32s %8.1f GFLOP/s %6.2f of sgemm\n", rates[i].name, rates[i].flops / 1e9, rates[i].flops / peak);
    }
    if (json)
        json_dumpf(rows, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
    json_decref(rows);
    return 0;
}

static int run(const struct options *options)
{
    char path[] = "/tmp/train_bench_XXXXXX";
    struct trainer_recipe recipe;
    struct trainer_error err;
    double peak = 0;
    json_t *rows = json_array();
    if (trainer_recipe_load(&recipe, FIXTURES_DIR "/recipes/v1d.json", &err) != TRAINER_OK)
        return failed(&err);
    recipe.training.iterations = options->iterations;
    recipe.evaluation.every = options->iterations;
    int fd = options->policy ? -1 : mkstemp(path);
    int status = options->policy ? 0 : warm_start(&recipe, path);
    snprintf(recipe.checkpoint, sizeof recipe.checkpoint, "%s", options->policy ? options->policy : path);
    if (status == 0)
        status = measure(options, &recipe, rows, &peak);
    if (status == 0 && options->json)
        json_dumpf(rows, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
    else if (status == 0)
        print_table(rows, peak);
    if (fd >= 0) {
        close(fd);
        unlink(path);
    }
    json_decref(rows);
    return status;
}

int main(int argc, char **argv)
{
    struct options options = {.iterations = 20};
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(argv[i], "--json") == 0)
            options.json = true;
        else if (strcmp(argv[i], "--kernels") == 0)
            options.kernels = true;
        else if (strcmp(argv[i], "--iterations") == 0 && atoi(value) > 0)
            options.iterations = atoi(argv[++i]);
        else if (strcmp(argv[i], "--policy") == 0 && *value)
            options.policy = argv[++i];
        else if (strcmp(argv[i], "--reference") == 0 && *value)
            options.reference = argv[++i];
        else if (strcmp(argv[i], "--reference-policy") == 0 && *value)
            options.reference_policy = argv[++i];
        else
            return fprintf(stderr, "usage: train_bench [--json] [--iterations N] [--policy CHECKPOINT] "
                                   "[--reference hop.py [--reference-policy a.pt]]\n"
                                   "       train_bench --kernels [--json]\n"),
                   2;
    }
    return options.kernels ? run_kernels(options.json) : run(&options);
}

#include "submit/submit.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "support/launchers.h"
#include "support/secrets.h"
#include "support/program.h"

/* ---- what is common to the texts for all schedulers: a name, and the command line of a worker ---- */

/* A name is lineage-SWEEP-DIGEST in the characters that all schedulers allow. With the digest, an edited sweep is another job. */
enum { WORKER_NAME_MAX = 52 };

static const char *worker_name(char out[WORKER_NAME_MAX], const struct night_sweep *sweep)
{
    enum { DIGEST = 9 }; /* a hyphen and eight digits */
    size_t n = (size_t)snprintf(out, WORKER_NAME_MAX, "lineage-");
    for (const char *c = sweep->name; *c && n < WORKER_NAME_MAX - DIGEST - 1; c++)
        if (isalnum((unsigned char)*c))
            out[n++] = (char)tolower((unsigned char)*c);
        else if (out[n - 1] != '-')
            out[n++] = '-';
    n -= out[n - 1] == '-';
    snprintf(out + n, WORKER_NAME_MAX - n, "-%08" PRIx32, (uint32_t)sweep->digest);
    return out;
}

/* Writes `lineage night SWEEP -C STORE --worker ..` for a shell. hours: the value of --hours as the shell shall read it, or NULL. */
static void worker_command_write(FILE *out, const struct submission *submission, const char *hours)
{
    fputs("lineage night", out);
    shell_word_write(out, submission->sweep->file);
    fputs(" -C", out);
    shell_word_write(out, submission->place);
    for (const char *const *option = submission->options; option && *option; option++)
        shell_word_write(out, *option);
    if (hours)
        fprintf(out, " --hours %s", hours);
}

static bool add(json_t *words, const char *word)
{
    return json_array_append_new(words, json_string(word)) == 0;
}

/* The same as a JSON list of words, with another path of the sweep. NULL when out of memory. */
static json_t *worker_command_json(const struct submission *submission, const char *sweep_path, const char *hours)
{
    json_t *words = json_array();
    bool good = add(words, "lineage") && add(words, "night") && add(words, sweep_path) && add(words, "-C") &&
                add(words, submission->place);
    for (const char *const *option = submission->options; good && option && *option; option++)
        good = add(words, *option);
    if (good && hours)
        good = add(words, "--hours") && add(words, hours);
    if (good)
        return words;
    json_decref(words);
    return NULL;
}

/* ---- workers as the tasks of an array job of Slurm ---- */

/*
 * Seconds before the end of its time at which a worker gets TERM: enough to end a trial and to append its row. The time
 * limit has the same margin behind --hours, so that the last trial, whose length is only a forecast, may end.
 */
enum { NOTICE = 120, MARGIN_MINUTES = 10 };

/* sbatch reads its options up to the first line of the script that is neither empty nor a comment. */
static bool is_one_line(const char *option)
{
    return *option == '-' && !strpbrk(option, "\r\n");
}

/*
 * Hours count from now, also for a worker that starts later or again: the night ends in the morning. So the script
 * contains the moment, not the hours.
 */
static void write_hours(FILE *out, double hours)
{
    char text[32];
    time_t end = time(NULL) + (time_t)(3600 * hours);
    struct tm local;
    if (!localtime_r(&end, &local) || strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &local) == 0)
        *text = '\0';
    fprintf(out, "end=%lld # %s; no trial starts that would end later\n", (long long)end, text);
    fputs("hours=$(awk \"BEGIN { print ($end - $(date +%s)) / 3600 }\")\n"
          "case $hours in -* | 0) exit 0 ;; esac\n",
          out);
}

static int submit_slurm_write(FILE *out, const struct submission *s)
{
    char name[WORKER_NAME_MAX];
    const bool limited = isfinite(s->hours);
    for (const char *const *extra = s->extra; extra && *extra; extra++)
        if (!is_one_line(*extra))
            return cli_error(CLI_USAGE, "--scheduler-option '%s': give an option of sbatch, for example --partition=gpu", *extra);
    fprintf(out, "#!/bin/sh\n# Workers of the night %s. Made by `lineage night --submit slurm`.\n", worker_name(name, s->sweep));
    fprintf(out, "#SBATCH --job-name=%s\n#SBATCH --output=%s-%%A_%%a.log\n#SBATCH --open-mode=append\n", name, name);
    fprintf(out, "#SBATCH --array=1-%zu\n#SBATCH --requeue\n#SBATCH --signal=B:TERM@%d\n", s->workers ? s->workers : 1, NOTICE);
    if (limited)
        fprintf(out, "#SBATCH --time=%.0f\n", ceil(60 * s->hours) + MARGIN_MINUTES);
    if (s->gpus)
        fprintf(out, "#SBATCH --gres=gpu:%zu\n", s->gpus);
    for (const char *const *extra = s->extra; extra && *extra; extra++)
        fprintf(out, "#SBATCH %s\n", *extra);
    fputs("\n"
          "# Slurm sends TERM before the time limit and when it preempts the job. The worker then ends its trial and gives it\n"
          "# back, and this task goes back into the queue. If Slurm requeues it anyway, scontrol only says so.\n"
          "stop()\n"
          "{\n"
          "    trap '' TERM\n"
          "    kill -TERM \"$worker\" 2>/dev/null\n"
          "    wait \"$worker\"\n"
          "    scontrol requeue \"${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID\"\n"
          "    exit 0\n"
          "}\n"
          "trap stop TERM\n",
          out);
    if (limited)
        write_hours(out, s->hours);
    worker_command_write(out, s, limited ? "\"$hours\"" : NULL);
    fputs(" &\nworker=$!\nwait \"$worker\"\n", out);
    return CLI_GO_ON;
}

/* ---- workers as the pods of a Job of Kubernetes ---- */

/* Workers as the pods of a Job of Kubernetes.
 *
 * Only fields of version 1.22 or older are used (API reference of Kubernetes, batch/v1), so that clusters that are kept for long
 * accept them. kubectl reads JSON as well as YAML. */

#define MOUNT "/sweep"
#define SECRET "lineage-postgres"

/* A ConfigMap holds at most 1 MiB. A pod that is evicted has GRACE seconds to end its trial and to append its row. A worker that
 * fails or is evicted starts again, RETRIES times in all. */
enum { CONFIG_MAX = 1000000, GRACE = 120, RETRIES = 100, MARGIN_SECONDS = 600 };

struct config {
    json_t *data; /* {KEY: TEXT} */
    json_t *items; /* [{key, path}] */
    size_t bytes;
};

/* Keys of a ConfigMap cannot have a slash, so files have numbers, and `items` gives them their paths. */
static int add_file(struct config *config, const char *path, const char *text)
{
    char key[32];
    snprintf(key, sizeof key, "file-%zu", json_array_size(config->items));
    config->bytes += strlen(path) + strlen(text);
    if (path[0] == '/' || strstr(path, ".."))
        return cli_error(CLI_USAGE,
                         "--submit kubernetes: %s is not below the directory of the sweep; put it into the image, and the "
                         "sweep's path into the ConfigMap by hand (--print)",
                         path);
    if (config->bytes > CONFIG_MAX)
        return cli_error(CLI_USAGE, "--submit kubernetes: the files of the sweep are larger than 1 MB; put them into the image");
    if (json_object_set_new(config->data, key, json_string(text)) == 0 &&
        json_array_append_new(config->items, json_pack("{s:s, s:s}", "key", key, "path", path)) == 0)
        return CLI_GO_ON;
    return cli_error(CLI_USAGE, "--submit kubernetes: %s is not UTF-8 text, or memory ran out", path);
}

/* Adds a file that the sweep names, relative to its directory. */
static int add_named(struct config *config, const struct night_sweep *sweep, const char *name)
{
    char path[NIGHT_PATH_MAX];
    size_t length;
    int n = snprintf(path, sizeof path, "%s/%s", sweep->directory, name);
    char *text = n > 0 && (size_t)n < sizeof path ? cli_read_all(path, &length) : NULL;
    if (!text)
        return CLI_USAGE;
    int status = strlen(text) == length
                     ? add_file(config, name, text)
                     : cli_error(CLI_USAGE, "--submit kubernetes: %s is not a text; put it into the image", path);
    free(text);
    return status;
}

/* The sweep itself, the files of its trials, and the recipe. */
static int add_files(struct config *config, const struct night_sweep *sweep)
{
    const char *recipe = cli_json_string(sweep->root, "recipe");
    char *text = json_dumps(sweep->root, JSON_INDENT(1) | JSON_ENSURE_ASCII);
    size_t i;
    json_t *name;
    int status = text ? add_file(config, "sweep.json", text) : cli_no_memory();
    free(text);
    if (status == CLI_GO_ON && recipe)
        status = add_named(config, sweep, recipe);
    json_array_foreach(json_object_get(sweep->root, "files"), i, name)
        if (status == CLI_GO_ON && json_is_string(name))
            status = add_named(config, sweep, json_string_value(name));
    return status;
}

static json_t *pod(const struct submission *s, const char *name, const struct config *config)
{
    char hours[32];
    snprintf(hours, sizeof hours, "%.10g", s->hours);
    json_t *worker =
        json_pack("{s:s, s:s, s:o, s:[{s:{s:s, s:b}}], s:[{s:s, s:s, s:b}]}", "name", "worker", "image", s->image, "command",
                  worker_command_json(s, MOUNT "/sweep.json", isfinite(s->hours) ? hours : NULL), "envFrom", "secretRef", "name",
                  SECRET, "optional", true, "volumeMounts", "name", "sweep", "mountPath", MOUNT, "readOnly", true);
    if (s->gpus)
        json_object_set_new(worker, "resources",
                            json_pack("{s:{s:o}}", "limits", "nvidia.com/gpu", json_sprintf("%zu", s->gpus)));
    return json_pack("{s:{s:{s:s}}, s:{s:s, s:i, s:[o], s:[{s:s, s:{s:s, s:O}}]}}", "metadata", "labels", "lineage/night", name,
                     "spec", "restartPolicy", "OnFailure", "terminationGracePeriodSeconds", GRACE, "containers", worker,
                     "volumes", "name", "sweep", "configMap", "name", name, "items", config->items);
}

static json_t *job(const struct submission *s, const char *name, const struct config *config)
{
    const json_int_t workers = s->workers ? (json_int_t)s->workers : 1;
    json_t *spec = json_pack("{s:s, s:I, s:I, s:i, s:o}", "completionMode", "Indexed", "completions", workers, "parallelism",
                             workers, "backoffLimit", RETRIES, "template", pod(s, name, config));
    if (isfinite(s->hours))
        json_object_set_new(spec, "activeDeadlineSeconds", json_integer((json_int_t)ceil(3600 * s->hours) + MARGIN_SECONDS));
    return json_pack("{s:s, s:s, s:{s:s, s:{s:s}}, s:o}", "apiVersion", "batch/v1", "kind", "Job", "metadata", "name", name,
                     "labels", "lineage/night", name, "spec", spec);
}

static int submit_kubernetes_write(FILE *out, const struct submission *s)
{
    char name[WORKER_NAME_MAX];
    struct config config = {json_object(), json_array(), 0};
    json_t *list = NULL;
    worker_name(name, s->sweep);
    int status = config.data && config.items ? add_files(&config, s->sweep) : cli_no_memory();
    if (status != CLI_GO_ON)
        goto done;
    list = json_pack("{s:s, s:s, s:[{s:s, s:s, s:{s:s, s:{s:s}}, s:O}, o]}", "apiVersion", "v1", "kind", "List", "items",
                     "apiVersion", "v1", "kind", "ConfigMap", "metadata", "name", name, "labels", "lineage/night", name, "data",
                     config.data, job(s, name, &config));
    if (!list || json_dumpf(list, out, JSON_INDENT(2)) != 0)
        status = cli_no_memory();
    else
        fputc('\n', out);
done:
    json_decref(list);
    json_decref(config.data);
    json_decref(config.items);
    return status;
}

/* ---- one worker on each of several machines, by ssh ---- */

/* Ssh takes a word that begins with a hyphen as an option. */
static bool is_host(const char *host)
{
    return *host && *host != '-' && !strpbrk(host, " \t\r\n'\"\\;&|<>$`");
}

/* Writes the command that one host shall run, as one line of its shell. */
static char *remote_command(const struct submission *s, const char *host)
{
    struct cli_writer writer = {0};
    char name[WORKER_NAME_MAX], hours[32];
    FILE *out = cli_writer_open(&writer);
    if (!out)
        return NULL;
    snprintf(hours, sizeof hours, "%.10g", s->hours);
    fputs("nohup ", out);
    worker_command_write(out, s, isfinite(s->hours) ? hours : NULL);
    fprintf(out, " >>%s-%s.log 2>&1 </dev/null &", worker_name(name, s->sweep), host);
    return cli_writer_close(&writer);
}

static int submit_ssh_write(FILE *out, const struct submission *s)
{
    char name[WORKER_NAME_MAX], *list = strdup(s->hosts), *command = NULL;
    int status = list ? CLI_GO_ON : cli_no_memory();
    fprintf(out,
            "#!/bin/sh\n# Workers of the night %s. Made by `lineage night --submit ssh`.\n"
            "# Each writes to a file of its name in the home directory of its machine.\nset -e\n",
            worker_name(name, s->sweep));
    for (char *rest = list, *host; status == CLI_GO_ON && (host = strsep(&rest, ","));) {
        if (!is_host(host)) {
            status = cli_error(CLI_USAGE, "--hosts: '%s' is not the name of a machine", host);
        } else if (!(command = remote_command(s, host))) {
            status = cli_no_memory();
        } else {
            fprintf(out, "ssh -n %s", host);
            shell_word_write(out, command);
            fputc('\n', out);
        }
        free(command);
        command = NULL;
    }
    free(list);
    return status;
}

extern char **environ;

static const struct scheduler {
    const char *name;
    int (*write)(FILE *out, const struct submission *submission);
    const char *const argv[5]; /* reads the text from standard input */
} schedulers[] = {{"slurm", submit_slurm_write, {"sbatch", NULL}},
                  {"kubernetes", submit_kubernetes_write, {"kubectl", "apply", "-f", "-", NULL}},
                  {"ssh", submit_ssh_write, {"sh", NULL}}};
enum { N_SCHEDULERS = sizeof schedulers / sizeof *schedulers };

static const struct scheduler *find(const char *name)
{
    for (size_t i = 0; i < N_SCHEDULERS; i++)
        if (strcmp(schedulers[i].name, name) == 0)
            return &schedulers[i];
    return NULL;
}

bool submit_knows(const char *scheduler)
{
    return find(scheduler) != NULL;
}

static void warn_of_launcher(const struct night_sweep *sweep)
{
    const json_t *command = json_object_get(sweep->root, "command");
    const char *words[LAUNCHER_WORDS_MAX + 1] = {"sh", "-c", json_string_value(command)};
    for (size_t i = 0; i < json_array_size(command) && i < LAUNCHER_WORDS_MAX; i++)
        words[i] = json_string_value(json_array_get(command, i));
    launchers_warn(words, sweep->directory ? sweep->directory : "");
}

/* An option that the scheduler does not use would be ignored silently. */
static int check(const struct scheduler *scheduler, const struct submission *s)
{
    const bool slurm = scheduler->write == submit_slurm_write, kubernetes = scheduler->write == submit_kubernetes_write;
    const bool ssh = scheduler->write == submit_ssh_write;
    char *masked = secret_masked(s->place);
    const bool open = masked && strcmp(masked, s->place) == 0;
    free(masked);
    if (!lineage_is_server(s->place))
        return cli_error(CLI_USAGE,
                         "--submit: -C %s is a directory, which only processes of one machine can share; make a store on a "
                         "server (`lineage help machines`)",
                         s->place);
    if (!open)
        return cli_error(CLI_USAGE, "--submit: -C has a password, which everybody could read in the job; put it into ~/.pgpass "
                                    "or PGPASSWORD on the machines of the workers");
    if (ssh != (s->hosts != NULL))
        return cli_error(CLI_USAGE, ssh ? "--submit ssh needs --hosts A,B,C" : "--hosts is for --submit ssh");
    if (kubernetes != (s->image != NULL))
        return cli_error(CLI_USAGE, kubernetes
                                        ? "--submit kubernetes needs --image, an image with `lineage` and what the trials need"
                                        : "--image is for --submit kubernetes");
    if (s->extra && !slurm)
        return cli_error(CLI_USAGE, "--scheduler-option is for --submit slurm");
    if (ssh && (s->workers || s->gpus))
        return cli_error(CLI_USAGE, "--submit ssh starts one worker on each host; %s is for slurm and kubernetes",
                         s->workers ? "--workers" : "--gpus");
    return CLI_GO_ON;
}

/* Runs the program with the text as its standard input. */
static int run(const char *const *argv, FILE *text)
{
    posix_spawn_file_actions_t actions;
    pid_t pid = 0;
    int result = 0;
    if (fflush(text) != 0 || lseek(fileno(text), 0, SEEK_SET) != 0)
        return cli_error(CLI_SYSTEM, "cannot write a temporary file: %s", strerror(errno));
    int error = posix_spawn_file_actions_init(&actions);
    if (!error) {
        error = posix_spawn_file_actions_adddup2(&actions, fileno(text), STDIN_FILENO);
        if (!error)
            error = posix_spawnp(&pid, argv[0], &actions, NULL, (char *const *)(uintptr_t)argv, environ);
        posix_spawn_file_actions_destroy(&actions);
    }
    if (error)
        return cli_error(CLI_SYSTEM, "cannot run %s: %s; --print prints what it would get", argv[0], strerror(error));
    while (waitpid(pid, &result, 0) < 0 && errno == EINTR)
        ;
    if (WIFEXITED(result) && WEXITSTATUS(result) == 0)
        return CLI_OK;
    return cli_error(CLI_SYSTEM, "%s failed%s", argv[0], WIFEXITED(result) ? "" : ": it was ended by a signal");
}

int submit_night(const char *name, const struct submission *submission)
{
    const struct scheduler *scheduler = find(name);
    int status = check(scheduler, submission);
    FILE *text = status != CLI_GO_ON ? NULL : submission->print ? stdout : tmpfile();
    if (status != CLI_GO_ON)
        return status;
    if (!text)
        return cli_error(CLI_SYSTEM, "cannot make a temporary file: %s", strerror(errno));
    warn_of_launcher(submission->sweep);
    fflush(stdout);
    status = scheduler->write(text, submission);
    if (status == CLI_GO_ON)
        status = submission->print ? CLI_OK : run(scheduler->argv, text);
    if (text != stdout)
        fclose(text);
    return status;
}

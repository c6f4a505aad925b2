/* power_acts.c: see power_acts.h. */
#include "power_acts.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <lineage/queue.h>

#include "append/outbox_file.h"
#include "files/fs.h"
#include "support/files.h"

static void make_file(const char *dir, const char *name, const char *text)
{
    char *path = join(dir, name);
    write_file(path, text, strlen(text));
    free(path);
}

void power_files_make(const char *dir)
{
    static const char rows[] = "exp_id\tspecialist\thypothesis\tstatus\tcore_metric\tparent_exp\tnotes\textra\n"
                               "a1\topt\tfirst\tkeep\t3.5\t\talpha=2\t1\n"
                               "a2\topt\t\"with a\nline end\"\tdiscard\t4\ta1\t\t2\n"
                               "a3\topt\tthird\tkeep\t3.25\ta1\talpha=3\t3\n";
    static const char log[] = "run,score,note\n1,1.5,first\n2,1.25,second\n";
    static const char exact[] = "exp_id\ttimestamp\tspecialist\tparent_exp\tbaseline_exp\tdomain\thypothesis\texpected_delta\t"
                                "status\tcore_metric\tval_bpb\tdelta_vs_best\ttrain_s\ttotal_s\tjob_name\tsnapshot_path\tnotes\n"
                                "000\tT\ts\t\t\t\tfirst\t\tkeep\t1.5\t\t\t\t\t\t\t\n"
                                "001\tT\ts\t000\t\t\t\"a\nb\"\t\tkeep\t1.25\t\t\t\t\t\t\t\n";
    char *work = join(dir, "work"), *conf = join(work, "conf");
    make_file(dir, "other.tsv", rows);
    make_file(dir, "exact.tsv", exact);
    make_file(dir, "log.csv", log);
    make_file(dir, "steps.json", "{\"steps\": [{\"step\": 0, \"loss\": 1.5}]}");
    make_file(dir, "rows.json",
              "{\"exp_id\": \"b1\", \"status\": \"keep\", \"core_metric\": 1.75, \"hypothesis\": \"one\"}\n"
              "{\"exp_id\": \"b2\", \"status\": \"crash\", \"hypothesis\": \"two\\nlines\"}\n"
              "{\"status\": \"discard\", \"core_metric\": 1.7}\n");
    if (mkdir(work, 0755) != 0 || mkdir(conf, 0755) != 0)
        exit(2);
    make_file(work, "train.py", "print(1)\n");
    make_file(conf, "a.json", "{}");
    free(work);
    free(conf);
}

/* ---- acts ---- */

static int add_bytes(const char *store, const char *name, const char *bytes, bool sync)
{
    char *path = join(store, name);
    int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    free(path);
    bool done = fd >= 0 && write(fd, bytes, strlen(bytes)) == (ssize_t)strlen(bytes) && (!sync || fsync(fd) == 0);
    if (fd >= 0)
        close(fd);
    return !done;
}

/* Prints the names of acknowledged requests: `+NAME` is in the outbox, `-NAME` was delivered. */
static void say(const char *text)
{
    puts(text);
    fflush(stdout);
}

static bool put(struct outbox_file *file, int dir, const char *rows)
{
    json_t *request = json_pack("{s:s}", "rows", rows);
    bool written = request && outbox_write(file, dir, request, true, NULL) == LINEAGE_OK;
    json_decref(request);
    if (written)
        say(rows);
    return written;
}

static int act_outbox(const char *store)
{
    struct outbox_file files[2] = {{.fd = -1}, {.fd = -1}};
    char name[OUTBOX_NAME_MAX];
    int dir = open(store, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool done = dir >= 0 && put(&files[0], dir, "first") && put(&files[1], dir, "second");
    outbox_strike(&files[1]);
    done = done && put(&files[1], dir, "third and longer than the second one");
    outbox_leave(&files[0]);
    outbox_strike(&files[1]);
    outbox_remove(&files[1], dir);
    done = done && put(&files[1], dir, "fourth");
    outbox_refuse(&files[1], dir, name);
    return !done;
}

/* Ends the process at the write to the log: the one that follows the rename of the staged file and the sync of its name. */
static int end_at_write(void *context, const char *call)
{
    const char **last = context;
    if (strcmp(call, "write") == 0 && strcmp(last[0], "rename") == 0 && strcmp(last[1], "fsync") == 0)
        _exit(0);
    last[0] = last[1];
    last[1] = call;
    return 0;
}

static int act_cut(const char *dir)
{
    const struct lineage_trial trials[] = {
        {.exp_id = "b1", .timestamp = "T", .status = LINEAGE_KEEP, .core_metric = {true, 1.75}, .hypothesis = "one"},
        {.exp_id = "b2", .timestamp = "T", .status = LINEAGE_CRASH}};
    struct lineage_store *store;
    const char *last[2] = {"", ""};
    bool open = lineage_store_open(&store, dir, NULL, NULL) == LINEAGE_OK;
    fs_set_fault(end_at_write, last);
    if (open && lineage_store_append_many(store, trials, 2, NULL, NULL, NULL, NULL) == LINEAGE_OK)
        lineage_store_close(store);
    return 1; /* it was to be killed */
}

static bool claim(struct lineage_queue *queue, uint64_t key, struct lineage_claim *claim)
{
    size_t which;
    const struct lineage_claim_request request = {.night = "n", .keys = &key, .n = 1, .lease = 60};
    return lineage_queue_claim(queue, &request, &which, claim, NULL) == LINEAGE_OK;
}

static int act_queue(const char *dir)
{
    struct lineage_store *store;
    struct lineage_queue *queue = NULL;
    struct lineage_claim one, two;
    bool done = lineage_store_open(&store, dir, NULL, NULL) == LINEAGE_OK &&
                lineage_queue_open(&queue, store, NULL) == LINEAGE_OK && claim(queue, 1, &one) && claim(queue, 2, &two) &&
                lineage_queue_renew(queue, &one, 60, "about", NULL) == LINEAGE_OK &&
                lineage_queue_release(queue, &one, LINEAGE_CLAIM_GIVEN_UP, NULL) == LINEAGE_OK &&
                lineage_queue_release(queue, &two, LINEAGE_CLAIM_DONE, NULL) == LINEAGE_OK;
    lineage_queue_close(queue);
    lineage_store_close(store);
    return !done;
}

int power_act(const char *name, const char *store)
{
    if (strcmp(name, "empty") == 0)
        return 0;
    if (strcmp(name, "torn") == 0)
        return add_bytes(store, "results.tsv", POWER_TORN, false);
    if (strcmp(name, "cut") == 0)
        return act_cut(store);
    if (strcmp(name, "note") == 0)
        return add_bytes(store, "KNOWLEDGE.md", POWER_NOTE, true);
    return strcmp(name, "outbox") == 0 ? act_outbox(store) : act_queue(store);
}

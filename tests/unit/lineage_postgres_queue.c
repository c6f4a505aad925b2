/* Tests claims and file trees on a server whose answers are scripted (support/libpq_script.h). */
#include "support/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <lineage/queue.h>

#include "blobs/blobs_backend.h"
#include "files/fs.h"
#include "internal.h"
#include "log/log.h"
#include "postgres/log_postgres.h"
#include "support/libpq_script.h"

#define NAME "postgres://h/d/team"
#define FIND {"lineage.version", ROWS, "11|7"}, {"SELECT s.seq", ROWS, "3|30|\\x00|\\x|0|00|4|3"}
#define REFUSED NO, "22023 no"

static char directory[64];
static struct lineage_store store;
static struct lineage_queue *queue;
static struct lineage_error err;

static void begin(void)
{
    script_begin();
    err = (struct lineage_error){0};
    strcpy(directory, "/tmp/lineage-postgres-queue-XXXXXX");
    assert_non_null(mkdtemp(directory));
    store = (struct lineage_store){.dir = directory, .dir_fd = open(directory, O_RDONLY | O_DIRECTORY), .owner = getpid()};
    assert_true(store.dir_fd >= 0);
    assert_int_equal(log_postgres_open(&store.log, store.dir_fd, NAME, &err), LINEAGE_OK);
    assert_int_equal(lineage_queue_open(&queue, &store, &err), LINEAGE_OK);
}

/* Begins a test in which the store's number is already known. */
static void begin_known(void)
{
    char number[LOG_POSTGRES_STORE];
    begin();
    SCRIPT(FIND);
    assert_int_equal(log_postgres_store(store.log, number, &err), LINEAGE_OK);
    assert_string_equal(number, "7");
}

static void end(void)
{
    lineage_queue_close(queue);
    log_close(store.log);
    fs_remove_tree(AT_FDCWD, directory);
    rmdir(directory);
    close(store.dir_fd);
    script_must_be_over(0);
}

/* ---- claims ---- */

static const uint64_t keys[600] = {11, 12, UINT64_MAX};

static enum lineage_status claim(size_t n, size_t *which, struct lineage_claim *out)
{
    const struct lineage_claim_request request = {.night = "night", .keys = keys, .n = n, .lease = 60, .at_most = 2};
    return lineage_queue_claim(queue, &request, which, out, &err);
}

static void a_claim_is_the_first_that_is_free(void **unused)
{
    struct lineage_claim one;
    size_t which;
    (void)unused;
    begin_known();
    SCRIPT({"lineage.claim_trial", ROWS, "2|5"});
    assert_int_equal(claim(3, &which, &one), LINEAGE_OK);
    assert_non_null(strstr(script_asked, "|7|night|{11,12,-1}|"));
    assert_int_equal(which, 1);
    assert_int_equal(one.key, 12);
    assert_int_equal(one.attempt, 5);
    /* The claimed trial is in the second window. */
    SCRIPT({"lineage.claim_trial", ROWS, ""}, {"lineage.claim_trial", ROWS, "4|1"});
    assert_int_equal(claim(600, &which, &one), LINEAGE_OK);
    assert_int_equal(which, 259);
    SCRIPT({"lineage.claim_trial", ROWS, ""}, {"lineage.claim_trial", ROWS, ""});
    assert_int_equal(claim(600, &which, &one), LINEAGE_ENOTFOUND);
    assert_int_equal(claim(0, &which, &one), LINEAGE_ENOTFOUND);
    SCRIPT({"lineage.claim_trial", REFUSED});
    assert_int_equal(claim(3, &which, &one), LINEAGE_EIO);
    /* The server was restarted. */
    SCRIPT({"lineage.claim_trial", LOST, ""}, {"lineage.claim_trial", ROWS, "1|1"});
    assert_int_equal(claim(3, &which, &one), LINEAGE_OK);
    SCRIPT({"lineage.claim_trial", LOST, ""}, {"lineage.claim_trial", LOST, ""});
    assert_int_equal(claim(3, &which, &one), LINEAGE_EAWAY);
    end();
}

static void a_claim_is_renewed_and_released(void **unused)
{
    struct lineage_claim one = {.key = 11, .attempt = 1, .worker = "other:1"};
    (void)unused;
    begin_known();
    SCRIPT({"renew_trial", ROWS, "t"}, {"renew_trial", ROWS, "t"}, {"renew_trial", ROWS, "f"}, {"renew_trial", ROWS, ""},
           {"renew_trial", REFUSED});
    assert_int_equal(lineage_queue_renew(queue, &one, 60, NULL, &err), LINEAGE_OK);
    assert_string_not_equal(one.worker, "other:1");
    assert_string_equal(one.about, "");
    assert_int_equal(lineage_queue_renew(queue, &one, 60, "{}", &err), LINEAGE_OK);
    assert_string_equal(one.about, "{}");
    assert_int_equal(lineage_queue_renew(queue, &one, 60, "[]", &err), LINEAGE_ENOTFOUND);
    assert_int_equal(lineage_queue_renew(queue, &one, 60, "[]", &err), LINEAGE_ENOTFOUND);
    assert_int_equal(lineage_queue_renew(queue, &one, 60, "[]", &err), LINEAGE_EIO);
    assert_string_equal(one.about, "{}");
    SCRIPT({"release_trial", ROWS, "~|"}, {"release_trial", ROWS, "~|"}, {"release_trial", REFUSED});
    assert_int_equal(lineage_queue_release(queue, &one, LINEAGE_CLAIM_DONE, &err), LINEAGE_OK);
    assert_non_null(strstr(script_asked, "|t|f"));
    one.free = true;
    assert_int_equal(lineage_queue_release(queue, &one, LINEAGE_CLAIM_GIVEN_UP, &err), LINEAGE_OK);
    assert_non_null(strstr(script_asked, "|f|t"));
    assert_int_equal(lineage_queue_release(queue, &one, LINEAGE_CLAIM_DONE, &err), LINEAGE_EIO);
    end();
}

struct seen {
    size_t n, stop_at, n_free;
    double left;
};

static bool see(void *context, const struct lineage_claim *one)
{
    struct seen *seen = context;
    seen->n_free += one->free;
    seen->left = one->left;
    return ++seen->n != seen->stop_at;
}

static void claims_are_visited(void **unused)
{
    struct seen all = {0}, first = {.stop_at = 1}, none = {0};
    (void)unused;
    begin_known();
    SCRIPT({"FROM lineage.trial_claim", ROWS, "11|night|a:1|1|-2.5|{};12|night|b:2|3|7.5|"},
           {"FROM lineage.trial_claim", ROWS, "11|night|a:1|1|1|;12|night"}, {"FROM lineage.trial_claim", REFUSED},
           {"FROM lineage.trial_claim", ROWS, "~|~|~|~|~|~;1"});
    assert_int_equal(lineage_queue_each(queue, see, &all, &err), LINEAGE_OK);
    assert_int_equal(all.n, 2);
    assert_int_equal(all.n_free, 1);
    assert_true(all.left == 7.5);
    assert_int_equal(lineage_queue_each(queue, see, &first, &err), LINEAGE_OK);
    assert_int_equal(first.n, 1);
    assert_int_equal(lineage_queue_each(queue, see, &none, &err), LINEAGE_EIO);
    assert_int_equal(none.n, 0);
    /* Nulls: these claims have ended. */
    assert_int_equal(lineage_queue_each(queue, see, &none, &err), LINEAGE_OK);
    assert_int_equal(none.n_free, 2);
    end();
}

static void without_a_store_nothing_is_claimed(void **unused)
{
    static const struct answer no = {"lineage.version", REFUSED};
    struct lineage_claim one = {.key = 11, .attempt = 1};
    struct seen seen = {0};
    struct lineage_blob_stats stats;
    size_t which;
    bool news;
    (void)unused;
    begin();
    SCRIPT(no, no, no, no, no, no, no, no);
    assert_int_equal(claim(3, &which, &one), LINEAGE_EIO);
    assert_int_equal(lineage_queue_renew(queue, &one, 60, NULL, &err), LINEAGE_EIO);
    assert_int_equal(lineage_queue_release(queue, &one, LINEAGE_CLAIM_DONE, &err), LINEAGE_EIO);
    assert_int_equal(lineage_queue_each(queue, see, &seen, &err), LINEAGE_EIO);
    assert_int_equal(lineage_queue_wait(queue, 0, NULL, 0, &news, &err), LINEAGE_EIO);
    assert_false(news);
    assert_int_equal(blobs_send(&store, "x", "snapshots/x", &err), LINEAGE_EIO);
    assert_int_equal(blobs_bring(&store, "snapshots/x", &err), LINEAGE_EIO);
    assert_int_equal(blobs_clean_server(&store, "{}", 1, &stats, &err), LINEAGE_EIO);
    SCRIPT(no);
    assert_int_equal(blobs_find(&store, "snapshots/x", &err), LINEAGE_EIO);
    end();
}

#define LEASE "min(until)"
#define LISTEN "LISTEN lineage_7; LISTEN lineage_claims_7"
#define UNLISTEN "UNLISTEN lineage_7; UNLISTEN lineage_claims_7"

static void waiting_listens_until_a_claim_is_had(void **unused)
{
    struct lineage_claim one;
    size_t which;
    bool news;
    (void)unused;
    begin_known();
    SCRIPT({LISTEN, DONE, ""});
    assert_int_equal(lineage_queue_wait(queue, 60, NULL, 0, &news, &err), LINEAGE_OK);
    assert_true(news);
    script_notifies = 1;
    assert_int_equal(lineage_queue_wait(queue, 60, NULL, 0, &news, &err), LINEAGE_OK);
    assert_true(news);
    SCRIPT({LEASE, ROWS, "~"}); /* no lease is held: the timeout ends the wait */
    assert_int_equal(lineage_queue_wait(queue, 60, NULL, 0, &news, &err), LINEAGE_OK);
    assert_false(news);
    SCRIPT({LEASE, ROWS, ""});
    assert_int_equal(lineage_queue_wait(queue, 60, NULL, 0, &news, &err), LINEAGE_OK);
    assert_false(news);
    SCRIPT({LEASE, ROWS, "5.5"}); /* a lease ends earlier */
    assert_int_equal(lineage_queue_wait(queue, 60, NULL, 0, &news, &err), LINEAGE_OK);
    assert_true(news);
    SCRIPT({LEASE, REFUSED});
    assert_int_equal(lineage_queue_wait(queue, 60, NULL, 0, &news, &err), LINEAGE_EIO);
    SCRIPT({"lineage.claim_trial", ROWS, "1|1"}, {UNLISTEN, DONE, ""});
    script_notifies = 0;
    assert_int_equal(claim(3, &which, &one), LINEAGE_OK);
    SCRIPT({LISTEN, REFUSED});
    assert_int_equal(lineage_queue_wait(queue, 60, NULL, 0, &news, &err), LINEAGE_EIO);
    assert_false(news);
    SCRIPT({LISTEN, DONE, ""}, {"lineage.claim_trial", ROWS, "1|1"}, {UNLISTEN, REFUSED});
    assert_int_equal(lineage_queue_wait(queue, 60, NULL, 0, &news, &err), LINEAGE_OK);
    assert_int_equal(claim(3, &which, &one), LINEAGE_OK);
    SCRIPT({LISTEN, DONE, ""});
    assert_int_equal(lineage_queue_wait(queue, 60, NULL, 0, &news, &err), LINEAGE_OK);
    script_break();
    SCRIPT({LISTEN, DONE, ""}); /* the new connection must listen again */
    assert_int_equal(lineage_queue_wait(queue, 60, NULL, 0, &news, &err), LINEAGE_OK);
    assert_true(news);
    script_break();
    script_faults.connect = true;
    assert_int_equal(lineage_queue_wait(queue, 60, NULL, 0, &news, &err), LINEAGE_EAWAY);
    end();
}

/* ---- trees of files ---- */

/* SHA-256 of "abc" (FIPS 180-2, appendix B.1). */
#define ABC "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
#define MANIFEST "FROM lineage.blob "
#define CHUNK "FROM lineage.chunk "

static enum lineage_status bring(const char *manifest, const char *chunk)
{
    fs_remove_tree(store.dir_fd, "snapshots/one");
    unlinkat(store.dir_fd, "snapshots/one", 0);
    if (chunk)
        SCRIPT({MANIFEST, ROWS, manifest}, {CHUNK, ROWS, chunk});
    else
        SCRIPT({MANIFEST, ROWS, manifest});
    return blobs_bring(&store, "snapshots/one", &err);
}

static void must_be_corrupt(const char *manifest, const char *chunk, const char *text)
{
    if (bring(manifest, chunk) != LINEAGE_ECORRUPT || !strstr(err.text, text))
        fail_msg("%s: %s (wanted %s)", manifest, err.text, text);
    assert_int_equal(faccessat(store.dir_fd, "snapshots/one", F_OK, 0), -1);
}

static void what_comes_from_a_server_is_not_believed(void **unused)
{
    static const char file[] = "[{\"path\":\"\",\"mode\":448},{\"path\":\"a\",\"mode\":420,\"chunks\":[\"" ABC "\"]}]";
    struct stat st;
    (void)unused;
    begin_known();
    assert_int_equal(bring(file, "\\x616263"), LINEAGE_OK);
    assert_int_equal(fstatat(store.dir_fd, "snapshots/one/a", &st, 0), 0);
    assert_int_equal(st.st_size, 3);
    must_be_corrupt(file, "\\x616264", "is another one");
    must_be_corrupt(file, "\\x", "not on the server");
    must_be_corrupt(file, "", "not on the server");
    must_be_corrupt(file, "~", "not on the server");
    must_be_corrupt("[{\"path\":\"\",\"mode\":420,\"chunks\":[7]}]", NULL, "names no piece");
    must_be_corrupt("[{\"mode\":448}]", NULL, "leads elsewhere");
    must_be_corrupt("[{\"path\":\"\",\"mode\":448},{\"path\":\"../b\",\"mode\":448}]", NULL, "leads elsewhere");
    must_be_corrupt("[{\"path\":\"\",\"mode\":448},{\"path\":\"b/..\",\"mode\":448}]", NULL, "leads elsewhere");
    must_be_corrupt("[{\"path\":\"/b\",\"mode\":448}]", NULL, "leads elsewhere");
    must_be_corrupt("[1", NULL, "cannot be read");
    must_be_corrupt("~", NULL, "cannot be read");
    /* Links are made last. */
    assert_int_equal(
        bring("[{\"path\":\"l\",\"link\":\"x\"},{\"path\":\"\",\"mode\":448},{\"path\":\"..b\",\"mode\":448}]", NULL),
        LINEAGE_OK);
    assert_int_equal(bring("[{\"path\":\"\",\"mode\":448},{\"path\":\"\",\"mode\":448}]", NULL), LINEAGE_EIO);
    assert_int_equal(
        bring("[{\"path\":\"\",\"mode\":448},{\"path\":\"a\",\"link\":\"x\"},{\"path\":\"a\",\"link\":\"y\"}]", NULL),
        LINEAGE_EIO);
    assert_int_equal(bring("[{\"path\":\"a\",\"chunks\":[]}]", NULL), LINEAGE_EIO); /* its directory is not listed */
    assert_int_equal(bring("[]", NULL), LINEAGE_EIO);
    assert_int_equal(bring("", NULL), LINEAGE_ENOTFOUND);
    SCRIPT({MANIFEST, REFUSED}, {MANIFEST, ROWS, file}, {CHUNK, REFUSED}, {MANIFEST, ROWS, "[]"});
    assert_int_equal(blobs_bring(&store, "snapshots/one", &err), LINEAGE_EIO);
    assert_int_equal(blobs_bring(&store, "checkpoints/one", &err), LINEAGE_EIO);
    assert_int_equal(blobs_find(&store, "snapshots/one", &err), LINEAGE_OK);
    end();
}

static void put_file(const char *name, const char *text)
{
    int fd = openat(store.dir_fd, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

static void what_is_there_is_not_sent(void **unused)
{
    struct lineage_blob_stats stats;
    (void)unused;
    begin_known();
    assert_int_equal(mkdirat(store.dir_fd, "tree", 0700), 0);
    put_file("tree/a", "abc");
    assert_int_equal(symlinkat("a", store.dir_fd, "tree/l"), 0);
    SCRIPT({"has_chunk", ROWS, "t"}, {"name_blob", ROWS, "t"});
    assert_int_equal(blobs_send(&store, "tree", "snapshots/x", &err), LINEAGE_OK);
    SCRIPT({"has_chunk", ROWS, "f"}, {"put_chunk", DONE, ""}, {"name_blob", ROWS, "f"});
    assert_int_equal(blobs_send(&store, "tree", "snapshots/x", &err), LINEAGE_EIO);
    assert_non_null(strstr(err.text, "was removed while it was sent"));
    SCRIPT({"has_chunk", ROWS, ""}, {"put_chunk", REFUSED});
    assert_int_equal(blobs_send(&store, "tree", "snapshots/x", &err), LINEAGE_EIO);
    SCRIPT({"has_chunk", REFUSED});
    assert_int_equal(blobs_send(&store, "tree", "snapshots/x", &err), LINEAGE_EIO);
    SCRIPT({"has_chunk", ROWS, "t"}, {"name_blob", REFUSED});
    assert_int_equal(blobs_send(&store, "tree/a", "snapshots/x", &err), LINEAGE_EIO);
    SCRIPT({"has_chunk", ROWS, "t"});
    assert_int_equal(blobs_send(&store, "tree", NULL, &err), LINEAGE_OK); /* only chunks, without a name */
    assert_int_equal(blobs_send(&store, "nothing", "snapshots/x", &err), LINEAGE_EIO);
    SCRIPT({"clean_blobs", ROWS, "2|300"}, {"clean_blobs", ROWS, ""}, {"clean_blobs", REFUSED});
    assert_int_equal(blobs_clean_server(&store, "{}", 1, &stats, &err), LINEAGE_OK);
    assert_int_equal(stats.n_bytes, 300);
    assert_int_equal(blobs_clean_server(&store, "{}", 1, &stats, &err), LINEAGE_OK);
    assert_int_equal(stats.n_blobs, 0);
    assert_int_equal(blobs_clean_server(&store, "{}", 1, &stats, &err), LINEAGE_EIO);
    end();
}

static void what_cannot_travel_is_told(void **unused)
{
    char deep[300] = "deep";
    (void)unused;
    begin_known();
    assert_int_equal(mkdirat(store.dir_fd, "tree", 0700), 0);
    assert_int_equal(mkfifoat(store.dir_fd, "tree/pipe", 0600), 0);
    assert_int_equal(blobs_send(&store, "tree", NULL, &err), LINEAGE_EINVAL);
    assert_non_null(strstr(err.text, "neither file"));
    assert_int_equal(unlinkat(store.dir_fd, "tree/pipe", 0), 0);
    assert_int_equal(symlinkat("\xff", store.dir_fd, "tree/l"), 0);
    assert_int_equal(blobs_send(&store, "tree", NULL, &err), LINEAGE_EINVAL);
    assert_non_null(strstr(err.text, "a link that is to travel must be UTF-8"));
    assert_int_equal(unlinkat(store.dir_fd, "tree/l", 0), 0);
    put_file("tree/\xff", "");
    assert_int_equal(blobs_send(&store, "tree", NULL, &err), LINEAGE_EINVAL);
    assert_int_equal(unlinkat(store.dir_fd, "tree/\xff", 0), 0);
    assert_int_equal(mkdirat(store.dir_fd, "tree/\xff", 0700), 0);
    assert_int_equal(blobs_send(&store, "tree", NULL, &err), LINEAGE_EINVAL);
    for (int i = 0; i < 66; i++) {
        assert_int_equal(mkdirat(store.dir_fd, deep, 0700), 0);
        strcat(deep, "/d");
    }
    assert_int_equal(blobs_send(&store, "deep", NULL, &err), LINEAGE_ELIMIT);
    end();
}

/* *context: the number of calls until one fails; 0: none fails. */
static int file_fault(void *context, const char *call)
{
    long *left = context;
    (void)call;
    return *left > 0 && --*left == 0 ? ENOSPC : 0;
}

/* Every call on files fails once. A file that was not fetched completely does not exist afterwards, and a file that
 * was not sent completely is not reported as sent. */
static void files_that_fail_on_the_way(void **unused)
{
    static const char tree[] =
        "[{\"path\":\"\",\"mode\":448},{\"path\":\"a\",\"mode\":420,\"chunks\":[\"" ABC "\"]},{\"path\":\"l\",\"link\":\"a\"}]";
    size_t failures[2] = {0};
    (void)unused;
    begin_known();
    assert_int_equal(mkdirat(store.dir_fd, "tree", 0700), 0);
    put_file("tree/a", "abc");
    assert_int_equal(symlinkat("a", store.dir_fd, "tree/l"), 0);
    for (int bringing = 0; bringing < 2; bringing++) {
        bool struck = true;
        for (long n = 1; struck; n++) {
            long left = n;
            fs_remove_tree(store.dir_fd, "snapshots/one");
            unlinkat(store.dir_fd, "snapshots/one", AT_REMOVEDIR);
            if (bringing)
                SCRIPT({MANIFEST, ROWS, tree}, {CHUNK, ROWS, "\\x616263"});
            else
                SCRIPT({"has_chunk", ROWS, "t"}, {"name_blob", ROWS, "t"});
            fs_set_fault(file_fault, &left);
            enum lineage_status status =
                bringing ? blobs_bring(&store, "snapshots/one", &err) : blobs_send(&store, "tree", "snapshots/one", &err);
            fs_set_fault(NULL, NULL);
            struck = left == 0;
            failures[bringing] += status != LINEAGE_OK;
            assert_true(status == LINEAGE_OK || (struck && status == LINEAGE_EIO));
            if (bringing)
                assert_int_equal(faccessat(store.dir_fd, "snapshots/one/a", F_OK, 0) == 0, status == LINEAGE_OK);
        }
    }
    assert_true(failures[0] >= 5);
    assert_true(failures[1] >= 6);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_claim_is_the_first_that_is_free),
                                       cmocka_unit_test(a_claim_is_renewed_and_released),
                                       cmocka_unit_test(claims_are_visited),
                                       cmocka_unit_test(without_a_store_nothing_is_claimed),
                                       cmocka_unit_test(waiting_listens_until_a_claim_is_had),
                                       cmocka_unit_test(what_comes_from_a_server_is_not_believed),
                                       cmocka_unit_test(what_is_there_is_not_sent),
                                       cmocka_unit_test(what_cannot_travel_is_told),
                                       cmocka_unit_test(files_that_fail_on_the_way)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * Tests a log on a server whose answers are scripted: short, null or missing answers, a connection lost in each state,
 * and the outcome of the append in each case. tests/server/call_faults.c does the same to a real server, without
 * knowing the state of each call.
 */
#include "support/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/arena.h"
#include "log/log.h"
#include "postgres/log_postgres.h"
#include "postgres/pg.h"
#include "support/libpq_script.h"

#define NAME "postgres://h/d/team"
/* Behind the identity there are the next id and its digits. */
#define UUID "00112233-4455-6677-8899-aabbccddeeff|4|3"
#define DIGEST "\\x0000000000000001000000000000000000000000000000000000000000000000"
/* A log of three records and 30 bytes. The cells are: seq, size, digest, open end, open ends. */
#define HEAD "3|30|" DIGEST "|\\x|0"
#define FIND {"lineage.version", ROWS, "11|7"}
#define CLAIM "BEGIN ISOLATION LEVEL"

static struct lineage_error err;

static struct pg *connection(void)
{
    struct pg *pg;
    script_begin();
    err = (struct lineage_error){0};
    assert_int_equal(pg_open(&pg, "postgres://h/d", NAME, &err), LINEAGE_OK);
    SCRIPT({"SELECT 1", ROWS, "1"});
    assert_int_equal(pg_query(pg, NULL, 1, "SELECT 1", &err), LINEAGE_OK);
    script_must_be_over(1);
    return pg;
}

static struct log *open_log(void)
{
    struct log *log;
    script_begin();
    err = (struct lineage_error){0};
    assert_int_equal(log_postgres_open(&log, AT_FDCWD, NAME, &err), LINEAGE_OK);
    return log;
}

/* Makes a log with an open connection and a known state. */
static struct log *known_log(struct log_state *state)
{
    struct log *log = open_log();
    SCRIPT(FIND, {"SELECT s.seq", ROWS, HEAD "|" UUID});
    assert_int_equal(log_look(log, state, &err), LINEAGE_OK);
    return log;
}

static struct log *claimed_log(struct log_state *state)
{
    struct log *log = known_log(state);
    SCRIPT({CLAIM, ROWS, HEAD "|" UUID "|0|~"});
    assert_int_equal(log_claim(log, state, &err), LINEAGE_OK);
    return log;
}

static void close_log(struct log *log)
{
    log_close(log);
    script_must_be_over(0);
}

static void must_say(enum lineage_status status, enum lineage_status wanted, const char *text)
{
    if (status != wanted || !strstr(err.text, text))
        fail_msg("%d: %s (wanted %d: %s)", (int)status, err.text, (int)wanted, text);
}

/* ---- statements --------------------------------------------------------------------------------------------------- */

static void each_failure_has_its_kind(void **unused)
{
    static const struct {
        struct answer answer;
        enum lineage_status status;
        const char *text, *sqlstate;
        bool connected;
    } cases[] = {{{"SELECT 2", NO, "22023 not yours"}, LINEAGE_EIO, ": not yours", "22023", true},
                 {{"SELECT 2", NO, "22023"}, LINEAGE_EIO, NAME ": ", "22023", true},
                 {{"SELECT 2", NO, "42501 not you"}, LINEAGE_EREFUSED, NAME ": refused: not you", "42501", true},
                 {{"SELECT 2", NO, "55P03 locked"}, LINEAGE_ELOCKED, "held the log for too long", "55P03", true},
                 {{"SELECT 2", NO, "53100 disk full"}, LINEAGE_EAWAY, "is away: disk full", "53100", true},
                 {{"SELECT 2", NO, " of libpq"}, LINEAGE_EAWAY, "is away: of libpq", "", true},
                 {{"SELECT 2", NO, ""}, LINEAGE_EAWAY, "is away: ERROR: all of it", "", true},
                 {{"SELECT 2", NO_END, "22023 bye"}, LINEAGE_EAWAY, "broken", "22023", false},
                 {{"SELECT 2", NO_END, "57P01 stops"}, LINEAGE_EAWAY, "is away: stops", "57P01", false},
                 {{"SELECT 2", CUT, "1"}, LINEAGE_EAWAY, "broken", "", false},
                 {{"SELECT 2", LOST, ""}, LINEAGE_EAWAY, "broken", "", false},
                 {{"SELECT 2", STUCK, ""}, LINEAGE_EAWAY, "broken", "", false},
                 {{"SELECT 2", UNSENT, ""}, LINEAGE_EAWAY, "broken", "", false},
                 {{"SELECT 2", SILENT, ""}, LINEAGE_EAWAY, "is away: it does not answer", "", false},
                 {{"SELECT 2", MANY, "x"}, LINEAGE_EIO, ": first", "22023", true}};
    (void)unused;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int way = 0; way < 2; way++) {
            struct pg *pg = connection();
            struct pg_result result = {0};
            SCRIPT(cases[i].answer);
            must_say(way ? pg_run(pg, &result, 5, "SELECT 2", 0, NULL, &err)
                         : pg_query(pg, way ? NULL : &result, 5, "SELECT 2", &err),
                     cases[i].status, cases[i].text);
            assert_int_equal(pg_rows(&result), 0);
            assert_string_equal(pg_sqlstate(pg), cases[i].sqlstate);
            assert_int_equal(pg_is_connected(pg), cases[i].connected);
            assert_int_equal(pg_socket(pg) >= 0, cases[i].connected);
            script_must_be_over(cases[i].connected);
            pg_close(pg);
            script_must_be_over(0);
        }
}

/* Missing cells read as null, so no answer of a server can crash the program. */
static void what_is_not_in_an_answer_is_null(void **unused)
{
    static const struct answer answers[] = {
        {"SELECT 2", DONE, ""}, {"SELECT 2", ROWS, ""}, {"SELECT 2", ROWS, "x"}, {"SELECT 2", ROWS, "x|~"}};
    (void)unused;
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        struct pg *pg = connection();
        struct pg_result result;
        size_t length = 9;
        SCRIPT(answers[i]);
        assert_int_equal(pg_query(pg, &result, 5, "SELECT 2", &err), LINEAGE_OK);
        assert_int_equal(pg_rows(&result), i > 1);
        assert_true(pg_is_null(&result, 0, 1));
        assert_string_equal(pg_text(&result, 0, 1, &length), "");
        assert_int_equal(length, 0);
        assert_string_equal(pg_digits(&result, 0, 1), "");
        assert_int_equal(pg_int(&result, 0, 1), 0);
        pg_clear(&result);
        pg_close(pg);
        script_must_be_over(0);
    }
}

static void a_server_that_is_away_is_asked_once_a_second(void **unused)
{
    struct pg *pg = connection();
    bool fresh;
    (void)unused;
    script_break();
    script_faults.connect = true;
    must_say(pg_connect(pg, &fresh, &err), LINEAGE_EAWAY, "broken");
    assert_false(fresh);
    script_faults.connect = false;
    must_say(pg_connect(pg, &fresh, &err), LINEAGE_EAWAY, "broken"); /* libpq is not called again yet */
    script_seconds += 1;
    assert_int_equal(pg_connect(pg, &fresh, &err), LINEAGE_OK);
    assert_true(fresh);
    assert_int_equal(pg_connect(pg, &fresh, &err), LINEAGE_OK);
    assert_false(fresh);
    assert_int_equal(pg_connections(pg), 2);
    script_break();
    SCRIPT({"SET search_path", NO, "22023 not here"});
    must_say(pg_connect(pg, NULL, &err), LINEAGE_EIO, "not here");
    assert_false(pg_is_connected(pg));
    SCRIPT({"SET search_path", NO, "22023 not here"}, {"SET search_path", NO, "22023 not here"},
           {"SET search_path", NO, "22023 not here"});
    assert_int_equal(pg_query(pg, NULL, 1, "SELECT 3", &err), LINEAGE_EIO);
    assert_int_equal(pg_run(pg, NULL, 1, "SELECT 3", 0, NULL, &err), LINEAGE_EIO);
    size_t done = 9;
    assert_int_equal(pg_run_parts(pg, NULL, 1, NULL, 0, &done, &err), LINEAGE_EIO);
    assert_int_equal(done, 0);
    assert_false(pg_take_notifies(pg));
    pg_close(pg);
    pg_close(NULL);
    script_must_be_over(0);
}

static void count(void *context)
{
    ++*(unsigned *)context;
}

static void who_waits_is_told_once(void **unused)
{
    struct pg *pg = connection();
    unsigned told = 0;
    (void)unused;
    pg_tell_waiting(pg, count, &told);
    SCRIPT({"SELECT 2", SILENT, ""}, {"SELECT 3", ROWS, "1"}, {"SELECT 4", SILENT, ""});
    assert_int_equal(pg_query(pg, NULL, 5, "SELECT 2", &err), LINEAGE_EAWAY);
    assert_int_equal(told, 1);
    assert_int_equal(pg_query(pg, NULL, 5, "SELECT 3", &err), LINEAGE_OK);
    assert_int_equal(told, 1);
    assert_int_equal(pg_query(pg, NULL, 0.5, "SELECT 4", &err), LINEAGE_EAWAY);
    assert_int_equal(told, 1);
    pg_close(pg);
    script_must_be_over(0);
}

/* A reader waits shortly for standbys, and nothing is tried for a while then, except by an append, which waits as long as it may. */
static void a_flush_waits_for_standbys(void **unused)
{
    struct pg *pg;
    (void)unused;
    script_begin();
    assert_int_equal(pg_open(&pg, "postgres://h/d", NAME, &err), LINEAGE_OK);
    pg_set_standby_wait(pg, 7);
    assert_float_equal(pg_flush_seconds(pg, false), PG_PATIENCE, 0);
    SCRIPT({"SET search_path", ROWS, "t"}, {"flush", SILENT, ""});
    assert_int_equal(pg_connect(pg, NULL, &err), LINEAGE_OK);
    assert_float_equal(pg_flush_seconds(pg, false), PG_READ_WAIT, 0);
    must_say(pg_query(pg, NULL, pg_flush_seconds(pg, false), "flush", &err), LINEAGE_EAWAY,
             "no synchronous standby has confirmed within 2.5 s");
    must_say(pg_query(pg, NULL, 1, "SELECT 1", &err), LINEAGE_EAWAY, "within 2.5 s");
    SCRIPT({"SET search_path", ROWS, "t"}, {"flush", SILENT, ""});
    assert_float_equal(pg_flush_seconds(pg, true), 7, 0);
    must_say(pg_query(pg, NULL, pg_flush_seconds(pg, true), "flush", &err), LINEAGE_EAWAY, "within 7 s");
    must_say(pg_query(pg, NULL, pg_flush_seconds(pg, true), "flush", &err), LINEAGE_EAWAY, "within 7 s");
    pg_close(pg);
    script_must_be_over(0);
}

static void a_child_says_no_goodbye_on_its_parents_connection(void **unused)
{
    struct pg *pg = connection();
    (void)unused;
    script_pid_more = 1;
    int fd = pg_socket(pg), beside = dup(fd);
    assert_true(beside >= 0);
    pg_disconnect(pg);
    assert_false(pg_is_connected(pg));
    close(beside);
    pg_disconnect(pg);
    pg_close(pg);
    script_must_be_over(0);
}

static void notices_are_taken_all_at_once(void **unused)
{
    struct pg *pg = connection();
    (void)unused;
    assert_false(pg_take_notifies(pg));
    script_notifies = 3;
    assert_true(pg_take_notifies(pg));
    assert_false(pg_take_notifies(pg));
    script_faults.consume = true;
    assert_false(pg_take_notifies(pg));
    pg_close(pg);
    script_must_be_over(0);
}

static enum lineage_status run_two(struct pg *pg, struct pg_result *out, size_t *done)
{
    static const struct pg_part parts[] = {
        {.sql = "SELECT 5", .name = "five"}, {.sql = "SELECT 6", .name = "six", .ends = true}, {.sql = "SELECT 7", .ends = true}};
    return pg_run_parts(pg, out, 5, parts, 3, done, &err);
}

#define FINE {"five", ROWS, "5"}, {"six", ROWS, "6"}, {"SELECT 7", DONE, ""}

static void parts_are_prepared_once_for_a_connection(void **unused)
{
    struct pg *pg = connection();
    struct pg_result result;
    size_t done;
    (void)unused;
    for (int i = 0; i < 3; i++) {
        SCRIPT(FINE);
        assert_int_equal(run_two(pg, i == 1 ? NULL : &result, &done), LINEAGE_OK);
        assert_int_equal(done, 3);
        assert_int_equal(script_prepared, i < 2 ? 2 : 4);
        if (i != 1)
            pg_clear(&result);
        if (i == 1)
            script_break();
    }
    pg_close(pg);
    script_must_be_over(0);
}

static void of_parts_the_first_failure_counts(void **unused)
{
    static const struct {
        struct answer answers[3];
        size_t n, done;
        enum lineage_status status;
        const char *text;
        bool connected;
    } cases[] = {
        {{{"five", NO, "LN001 grown"}, {"six", NO, ""}, {"SELECT 7", DONE, ""}}, 3, 0, LINEAGE_EIO, ": grown", true},
        {{{"five", ROWS, "5"}, {"six", NO, "22023 no"}, {"SELECT 7", DONE, ""}}, 3, 1, LINEAGE_EIO, ": no", true},
        {{{"five", ROWS, "5"}, {"six", ROWS, "6"}, {"SELECT 7", NO, "57014 ended"}}, 3, 2, LINEAGE_EIO, ": ended", true},
        {{{"five", UNSENT, ""}}, 1, 0, LINEAGE_EAWAY, "broken", false},
        {{{"five", DONE, ""}, {"six", UNSENT, ""}}, 2, 0, LINEAGE_EAWAY, "broken", false},
        {{{"five", DONE, ""}, {"six", DONE, ""}, {"SELECT 7", UNSENT, ""}}, 3, 0, LINEAGE_EAWAY, "broken", false},
        {{{"five", ROWS, "5"}, {"six", DONE, ""}, {"SELECT 7", LOST, ""}}, 3, 0, LINEAGE_EAWAY, "broken", false},
        {{{"five", ROWS, "5"}, {"six", DONE, ""}, {"SELECT 7", SILENT, ""}}, 3, 0, LINEAGE_EAWAY, "does not answer", false},
        {{{"five", ROWS, "5"}, {"six", DONE, ""}, {"SELECT 7", ENDLESS, ""}}, 3, 1, LINEAGE_EAWAY, "does not answer", false},
        {{{"five", CUT, "5"}, {"six", NO, "57P01 stops"}, {"SELECT 7", DONE, ""}}, 3, 0, LINEAGE_EAWAY, "", false}};
    (void)unused;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pg *pg = connection();
        struct pg_result result = {0};
        size_t done;
        script_is(cases[i].answers, cases[i].n);
        must_say(run_two(pg, &result, &done), cases[i].status, cases[i].text);
        assert_int_equal(pg_rows(&result), 0);
        assert_int_equal(pg_is_connected(pg), cases[i].connected);
        if (cases[i].connected)
            assert_int_equal(done, cases[i].done);
        pg_close(pg);
        script_must_be_over(0);
    }
}

static void a_pipeline_that_breaks_ends_the_connection(void **unused)
{
    (void)unused;
    for (int i = 0; i < 4; i++) {
        struct pg *pg = connection();
        size_t done;
        script_faults = (struct script_faults){.enter = i == 0, .prepare = i == 1, .sync = i == 2, .leave = i == 3};
        static const struct answer fine[] = {FINE};
        script_is(fine, (const size_t[]){0, 0, 2, 3}[i]);
        must_say(run_two(pg, NULL, &done), LINEAGE_EAWAY, "broken");
        assert_false(pg_is_connected(pg));
        pg_close(pg);
        script_must_be_over(0);
    }
}

/* ---- the log ------------------------------------------------------------------------------------------------------ */

static void the_store_is_looked_for_once(void **unused)
{
    static const struct {
        struct answer answer;
        enum lineage_status status;
        const char *text;
    } cases[] = {{{"lineage.version", NO, "42P01 no table"}, LINEAGE_EREFUSED, "`lineage init " NAME "` makes it"},
                 {{"lineage.version", NO, "3F000 no schema"}, LINEAGE_EREFUSED, "has no lineage"},
                 {{"lineage.version", NO, "22023 no"}, LINEAGE_EIO, "no"},
                 {{"lineage.version", ROWS, "99|7"}, LINEAGE_EDB, "schema version 99, this program knows up to"},
                 {{"lineage.version", ROWS, "1|7"}, LINEAGE_EDB, "brings it to"},
                 {{"lineage.version", ROWS, "~|7"}, LINEAGE_EDB, "schema version 0"},
                 {{"lineage.version", DONE, ""}, LINEAGE_EDB, "schema version 0"},
                 {{"lineage.version", ROWS, "11|~"}, LINEAGE_EREFUSED, "the server has no store 'team'"}};
    (void)unused;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct log *log = open_log();
        struct log_state state;
        struct buf out = {0};
        char **there = NULL, number[LOG_POSTGRES_STORE];
        bool was, news = false;
        const struct answer all[] = {cases[i].answer, cases[i].answer, cases[i].answer, cases[i].answer,
                                     cases[i].answer, cases[i].answer, cases[i].answer, cases[i].answer};
        struct log_digests digests = {0};
        (void)there;
        script_is(all, 8);
        must_say(log_look(log, &state, &err), cases[i].status, cases[i].text);
        state.size = 1;
        must_say(log_was(log, &state, &was, &err), cases[i].status, cases[i].text);
        must_say(log_read(log, 0, 9, &out, &err), cases[i].status, cases[i].text);
        must_say(log_claim(log, &state, &err), cases[i].status, cases[i].text);
        must_say(log_wait(log, 0, &news, &err), cases[i].status, cases[i].text);
        must_say(log_check_digests(log, &digests, &err), cases[i].status, cases[i].text);
        must_say(log_postgres_settings(log, &out, &err), cases[i].status, cases[i].text);
        must_say(log_postgres_set_settings(log, "{}", "{}", &err), cases[i].status, cases[i].text);
        script_must_be_over(1);
        SCRIPT(cases[i].answer);
        must_say(log_postgres_store(log, number, &err), cases[i].status, cases[i].text);
        close_log(log);
    }
}

static void a_look_tells_state_and_identity(void **unused)
{
    struct log_state state, again;
    struct log *log = known_log(&state);
    (void)unused;
    assert_int_equal(state.size, 30);
    assert_int_equal(state.records, 3);
    assert_int_equal(state.revision, 1);
    assert_int_equal(state.identity[0], 0x0011223344556677);
    assert_int_equal(state.identity[1], 0x8899aabbccddeeff);
    assert_int_equal(log->next_id, 4);
    assert_int_equal(log->id_width, 3);
    SCRIPT({"SELECT s.seq", ROWS, HEAD "|00"});
    must_say(log_look(log, &again, &err), LINEAGE_EAWAY, "an answer without the next id");
    SCRIPT({"SELECT s.seq", ROWS, HEAD "|00|-1|3"});
    must_say(log_look(log, &again, &err), LINEAGE_EAWAY, "an answer without the next id");
    /* The digest is empty and the UUID too short: no byte after their ends is read. */
    SCRIPT({"SELECT s.seq", ROWS, "0|0||\\x41ff|2|00|0|0"});
    assert_int_equal(log_look(log, &again, &err), LINEAGE_OK);
    assert_int_equal(again.size, 2);
    assert_int_equal(again.revision, 2);
    assert_int_equal(again.identity[1], 0);
    SCRIPT({"SELECT s.seq", ROWS, ""});
    must_say(log_look(log, &again, &err), LINEAGE_EREFUSED, "the store is gone");
    /* The server was restarted. */
    SCRIPT({"SELECT s.seq", LOST, ""}, {"SELECT s.seq", ROWS, HEAD "|" UUID});
    assert_int_equal(log_look(log, &again, &err), LINEAGE_OK);
    assert_int_equal(again.session, state.session + 1);
    SCRIPT({"SELECT s.seq", LOST, ""}, {"SELECT s.seq", LOST, ""});
    must_say(log_look(log, &again, &err), LINEAGE_EAWAY, "broken");
    close_log(log);
}

static void ids_of_lost_rows_are_left_out(void **unused)
{
    struct log_state state;
    struct log *log = known_log(&state);
    (void)unused;
    SCRIPT({"lineage.skip_ids(7, 9)", ROWS, "1000000|7"});
    assert_int_equal(log_skip_ids(log, 9, &err), LINEAGE_OK);
    assert_int_equal(log->next_id, 1000000);
    assert_int_equal(log->id_width, 7);
    SCRIPT({"lineage.skip_ids(7, 9)", ROWS, "~|7"});
    must_say(log_skip_ids(log, 9, &err), LINEAGE_EAWAY, "an answer without the next id");
    log->read_only = true; /* this user cannot; nothing is asked */
    assert_int_equal(log_skip_ids(log, 9, &err), LINEAGE_OK);
    close_log(log);
}

static void what_a_log_was_is_told_by_a_digest(void **unused)
{
    static const struct {
        const char *row;
        bool was;
    } cases[] = {{"30|" DIGEST "|0", true}, {"31|" DIGEST "|0", false}, {"30|\\x02|0", false}, {"31|\\x02|1", true}, {"", true}};
    struct log_state state, empty = {0};
    struct log *log = known_log(&state);
    bool was;
    (void)unused;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        SCRIPT({"r.position + octet_length", ROWS, cases[i].row});
        assert_int_equal(log_was(log, &state, &was, &err), LINEAGE_OK);
        assert_int_equal(was, cases[i].was);
    }
    assert_int_equal(log_was(log, &empty, &was, &err), LINEAGE_OK);
    assert_true(was);
    SCRIPT({"r.position + octet_length", NO, "22023 no"});
    assert_int_equal(log_was(log, &state, &was, &err), LINEAGE_EIO);
    close_log(log);
}

static void a_short_answer_is_no_end_of_the_log(void **unused)
{
    struct log_state state;
    struct log *log = known_log(&state);
    struct buf out = {0};
    (void)unused;
    SCRIPT({"SELECT position, bytes", ROWS, "0|\\x4142434445;5|\\x46474849"});
    assert_int_equal(log_read(log, 2, 5, &out, &err), LINEAGE_OK);
    assert_string_equal(out.data, "CDEFG");
    buf_reset(&out);
    SCRIPT({"SELECT position, bytes", ROWS, "0|\\x4142434445"});
    must_say(log_read(log, 2, 9, &out, &err), LINEAGE_EIO, "gives 3 bytes behind 2 and has more");
    buf_reset(&out);
    SCRIPT({"SELECT position, bytes", ROWS, ""});
    must_say(log_read(log, 0, 9, &out, &err), LINEAGE_EIO, "gives 0 bytes");
    SCRIPT({"SELECT position, bytes", ROWS, "~|~;5|x"});
    must_say(log_read(log, 0, 9, &out, &err), LINEAGE_EIO, "gives 0 bytes");
    buf_reset(&out);
    SCRIPT({"SELECT position, bytes", ROWS, "30|\\x41"});
    assert_int_equal(log_read(log, 30, INT64_MAX, &out, &err), LINEAGE_OK); /* reads to the end of the log */
    assert_string_equal(out.data, "A");
    SCRIPT({"SELECT position, bytes", NO, "22023 no"});
    assert_int_equal(log_read(log, 0, 9, &out, &err), LINEAGE_EIO);
    SCRIPT({"SELECT r.bytes", ROWS, "\\x42;~;\\x43"});
    buf_reset(&out);
    assert_int_equal(log_find(log, &out, &err), LINEAGE_OK);
    assert_string_equal(out.data, "BC");
    SCRIPT({"SELECT r.bytes", NO, "22023 no"});
    assert_int_equal(log_find(log, &out, &err), LINEAGE_EIO);
    buf_release(&out);
    close_log(log);
}

/* ---- claims ------------------------------------------------------------------------------------------------------- */

static void a_claim_brings_what_is_newer(void **unused)
{
    struct log_state state;
    struct log *log = known_log(&state);
    struct buf out = {0};
    (void)unused;
    SCRIPT({CLAIM, ROWS, "4|32|" DIGEST "|\\x|0|" UUID "|0|\\x410a"});
    assert_int_equal(log_claim(log, &state, &err), LINEAGE_OK);
    assert_true(log->only_grew);
    assert_int_equal(log_read(log, 30, 2, &out, &err), LINEAGE_OK); /* no query to the server */
    assert_string_equal(out.data, "A\n");
    SCRIPT({"ROLLBACK", DONE, ""});
    log_release(log);
    /* Fewer bytes than the log's size says. */
    SCRIPT({CLAIM, ROWS, "5|40|" DIGEST "|\\x|0|" UUID "|0|\\x410a"}, {"ROLLBACK", NO, "22023 no"});
    assert_int_equal(log_claim(log, &state, &err), LINEAGE_OK);
    assert_false(log->only_grew);
    log_release(log);
    SCRIPT({CLAIM, ROWS, "5|40|" DIGEST "|\\x41|1|" UUID "|0|~"}, {"SELECT position", ROWS, "40|\\x41"}, {"ROLLBACK", DONE, ""});
    assert_int_equal(log_claim(log, &state, &err), LINEAGE_OK);
    assert_false(log->only_grew);
    buf_reset(&out);
    assert_int_equal(log_read(log, 40, 1, &out, &err), LINEAGE_OK);
    log_release(log);
    buf_release(&out);
    close_log(log);
}

static void a_claim_that_cannot_be_had(void **unused)
{
    struct log_state state;
    struct log *log = known_log(&state);
    (void)unused;
    SCRIPT({CLAIM, NO, "55P03 locked"}, {"ROLLBACK", DONE, ""});
    assert_int_equal(log_claim(log, &state, &err), LINEAGE_ELOCKED);
    SCRIPT({CLAIM, LOST, ""}, {CLAIM, LOST, ""});
    assert_int_equal(log_claim(log, &state, &err), LINEAGE_EAWAY);
    /* Unavailable, but still connected: no second attempt. */
    SCRIPT({CLAIM, NO, "53100 full"}, {"ROLLBACK", DONE, ""});
    assert_int_equal(log_claim(log, &state, &err), LINEAGE_EAWAY);
    SCRIPT({CLAIM, ROWS, HEAD "|" UUID "|1|~"}, {"ROLLBACK; SELECT lineage.flush()", ROWS, ""});
    assert_int_equal(log_claim(log, &state, &err), LINEAGE_OK);
    assert_true(log->found);
    SCRIPT({CLAIM, ROWS, HEAD "|" UUID "|1|~"}, {"ROLLBACK; SELECT lineage.flush()", NO, "57014 ended"});
    assert_int_equal(log_claim(log, &state, &err), LINEAGE_EAWAY);
    close_log(log);
}

static void a_claim_is_assumed_only_where_nothing_speaks_against_it(void **unused)
{
    struct log_state state, other;
    struct log *log = known_log(&state);
    (void)unused;
    assert_false(log_claim_unchanged(log, &state));
    log->may_assume = true;
    assert_true(log_claim_unchanged(log, &state));
    log_release(log);
    other = state, other.size = 0;
    assert_false(log_claim_unchanged(log, &other));
    other.size = 29;
    assert_false(log_claim_unchanged(log, &other));
    other = state, other.session++;
    assert_false(log_claim_unchanged(log, &other));
    SCRIPT({"SELECT s.seq", ROWS, "3|30|" DIGEST "|\\x41|0|" UUID});
    assert_int_equal(log_look(log, &other, &err), LINEAGE_OK);
    assert_false(log_claim_unchanged(log, &other));
    SCRIPT({"SELECT s.seq", ROWS, HEAD "|" UUID});
    assert_int_equal(log_look(log, &state, &err), LINEAGE_OK);
    assert_true(log_claim_unchanged(log, &state));
    SCRIPT({"FROM lineage.append(7, 3", NO, "LN001 grown"}, {"lineage_flush", DONE, ""});
    assert_int_equal(log_append(log, &state, "a\n", 2, true, &err), LINEAGE_EAWAY);
    assert_true(log->lost);
    /* False until a claim finds that no other writer has appended. */
    assert_false(log_claim_unchanged(log, &state));
    script_break();
    assert_false(log_claim_unchanged(log, &state));
    close_log(log);
}

static void tell(void *context, const char *text)
{
    assert_string_equal(text, "waiting for the claim of " NAME);
    ++*(unsigned *)context;
}

static void a_claim_that_is_waited_for_is_told(void **unused)
{
    struct log_state state;
    struct log *log = known_log(&state);
    unsigned told = 0;
    (void)unused;
    SCRIPT({CLAIM, SILENT, ""});
    /* No callback is set. After the silence nothing is asked for some seconds. */
    assert_int_equal(log_claim(log, &state, &err), LINEAGE_EAWAY);
    log->tell = tell;
    log->context = &told;
    script_seconds += 1;
    assert_int_equal(log_claim(log, &state, &err), LINEAGE_EAWAY);
    assert_int_equal(told, 0);
    script_seconds += 20;
    SCRIPT({CLAIM, SILENT, ""});
    assert_int_equal(log_claim(log, &state, &err), LINEAGE_EAWAY);
    assert_int_equal(told, 1);
    close_log(log);
}

/* ---- appends ------------------------------------------------------------------------------------------------------ */

#define AFTER "4|32|" DIGEST "|\\x|0"

static void an_append_comes_with_its_commit(void **unused)
{
    struct log_state state;
    struct log *log = claimed_log(&state);
    (void)unused;
    log->after = (struct log_after){.next_id = 5, .id_width = 3, .kept = true};
    SCRIPT({", 5, 3, true)", ROWS, AFTER}, {"COMMIT", DONE, ""}, {"lineage_flush", DONE, ""});
    assert_int_equal(log_append(log, &state, "a\n", 2, true, &err), LINEAGE_OK);
    assert_int_equal(state.size, 32);
    log_release(log);
    SCRIPT({CLAIM, ROWS, AFTER "|" UUID "|0|~"}, {"'\\x62'::bytea)", ROWS, AFTER}, {"COMMIT", DONE, ""},
           {"lineage_flush", DONE, ""});
    assert_int_equal(log_claim(log, &state, &err), LINEAGE_OK);
    /* Larger than any number of the server. */
    log->after = (struct log_after){.next_id = UINT64_MAX};
    assert_int_equal(log_append(log, &state, "a\nb", 3, true, &err), LINEAGE_OK);
    assert_int_equal(state.size, 33); /* the unfinished "b" is counted */
    SCRIPT({CLAIM, ROWS, AFTER "|" UUID "|0|~"}, {"ARRAY[]::bytea[], '\\x610d'::bytea)", ROWS, AFTER}, {"COMMIT", DONE, ""},
           {"lineage_flush", DONE, ""});
    assert_int_equal(log_claim(log, &state, &err), LINEAGE_OK);
    /* Perhaps half a line end. */
    assert_int_equal(log_append(log, &state, "a\r", 2, true, &err), LINEAGE_OK);
    close_log(log);
}

/* An append that is too large for one message is sent in several messages. Only the last message commits. */
static void a_large_append_goes_in_several_calls(void **unused)
{
    const size_t length = 3 << 20;
    char *bytes = malloc(length);
    (void)unused;
    assert_non_null(bytes);
    memset(bytes, 'a', length);
    for (size_t i = 999; i < length; i += 1000)
        bytes[i] = '\n';
    for (int lost = 0; lost < 2; lost++) {
        struct log_state state;
        struct log *log = claimed_log(&state);
        if (lost)
            SCRIPT({"lineage.append(7, 3, ", ROWS, AFTER}, {"lineage.append(7, 1052, ", NO, "22023 no"}, {"ROLLBACK", DONE, ""});
        else
            SCRIPT({"lineage.append(7, 3, ", ROWS, AFTER}, {"lineage.append(7, 1052, ", ROWS, AFTER},
                   {"lineage.append(7, 2101, ", ROWS, AFTER}, {"COMMIT", DONE, ""}, {"lineage_flush", DONE, ""});
        assert_int_equal(log_append_many(log, &state, bytes, length - length % 1000, true, &err),
                         lost ? LINEAGE_EIO : LINEAGE_OK);
        close_log(log);
    }
    free(bytes);
}

static void what_became_of_an_append_is_found_out(void **unused)
{
    static const struct {
        struct answer answers[6];
        size_t n;
        enum lineage_status status;
        bool found, lost;
    } cases[] = {/* The connection is lost before or after the commit. The rows were added, were not added, or the server cannot
         * tell. */
                 {{{"lineage.append(", LOST, ""},
                   {"COMMIT", DONE, ""},
                   {"lineage_flush", DONE, ""},
                   {CLAIM, ROWS, AFTER "|" UUID "|1|~"},
                   {"ROLLBACK; SELECT", DONE, ""}},
                  5,
                  LINEAGE_OK,
                  true,
                  false},
                 {{{"lineage.append(", LOST, ""},
                   {"COMMIT", DONE, ""},
                   {"lineage_flush", DONE, ""},
                   {CLAIM, ROWS, HEAD "|" UUID "|0|~"},
                   {"ROLLBACK", DONE, ""}},
                  5,
                  LINEAGE_EAWAY,
                  false,
                  true},
                 {{{"lineage.append(", LOST, ""},
                   {"COMMIT", DONE, ""},
                   {"lineage_flush", DONE, ""},
                   {CLAIM, NO, "22023 no"},
                   {"ROLLBACK", DONE, ""}},
                  5,
                  LINEAGE_EAWAY,
                  false,
                  false},
                 /* The append was committed, but the flush was refused. */
                 {{{"lineage.append(", ROWS, AFTER},
                   {"COMMIT", DONE, ""},
                   {"lineage_flush", NO, "57014 ended"},
                   {CLAIM, ROWS, AFTER "|" UUID "|1|~"},
                   {"ROLLBACK; SELECT", DONE, ""}},
                  5,
                  LINEAGE_OK,
                  true,
                  false},
                 /* An earlier attempt of this append had succeeded. */
                 {{{"lineage.append(", NO, "LN002 before"},
                   {"COMMIT", NO, ""},
                   {"lineage_flush", NO, ""},
                   {CLAIM, ROWS, AFTER "|" UUID "|1|~"},
                   {"ROLLBACK; SELECT", DONE, ""}},
                  5,
                  LINEAGE_OK,
                  true,
                  false},
                 {{{"lineage.append(", NO, "23505 twice"},
                   {"COMMIT", NO, ""},
                   {"lineage_flush", NO, ""},
                   {CLAIM, ROWS, AFTER "|" UUID "|1|~"},
                   {"ROLLBACK; SELECT", NO, "57014 ended"}},
                  5,
                  LINEAGE_EAWAY,
                  true,
                  false},
                 /* The append is refused, so nothing was added. */
                 {{{"lineage.append(", NO, "22023 no"}, {"COMMIT", NO, ""}, {"lineage_flush", NO, ""}, {"ROLLBACK", DONE, ""}},
                  4,
                  LINEAGE_EIO,
                  false,
                  false},
                 {{{"lineage.append(", NO, "LN001 grown"}, {"COMMIT", NO, ""}, {"lineage_flush", NO, ""}, {"ROLLBACK", DONE, ""}},
                  4,
                  LINEAGE_EAWAY,
                  false,
                  true}};
    (void)unused;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct log_state state;
        struct log *log = claimed_log(&state);
        unsigned char request[sizeof log->request];
        memcpy(request, log->request, sizeof request);
        script_is(cases[i].answers, cases[i].n);
        enum lineage_status status = log_append(log, &state, "a\n", 2, true, &err);
        if (status != cases[i].status || log->found != cases[i].found || log->lost != cases[i].lost)
            fail_msg("case %zu: %d %d %d: %s", i, (int)status, log->found, log->lost, err.text);
        assert_memory_equal(log->request, request, sizeof request);
        close_log(log);
    }
}

static void a_claim_ends_with_its_connection(void **unused)
{
    struct log_state state;
    struct log *log = claimed_log(&state);
    struct buf out = {0};
    (void)unused;
    script_break();
    must_say(log_append(log, &state, "a\n", 2, true, &err), LINEAGE_EAWAY, "lost under the claim");
    assert_true(log->lost);
    must_say(log_look(log, &state, &err), LINEAGE_EAWAY, "lost under the claim");
    log_release(log);
    log_release(log);
    buf_release(&out);
    close_log(log);
}

static enum lineage_status append_next(struct log *log, struct log_state *state, char id[LOG_ID_MAX])
{
    memset(log->request, 1, sizeof log->request);
    return log_append_next(log, state, "\trest\n", 6, true, id, &err);
}

static void a_row_by_the_next_id(void **unused)
{
    struct log_state state, none = {0};
    struct log *log = known_log(&state);
    char id[LOG_ID_MAX];
    (void)unused;
    assert_true(log_gives_ids(log));
    SCRIPT({"lineage_next", ROWS, AFTER "|004"}, {"lineage_flush", DONE, ""});
    assert_int_equal(append_next(log, &state, id), LINEAGE_OK);
    assert_string_equal(id, "004");
    assert_int_equal(state.size, 32);
    /* Other clients appended in between. */
    SCRIPT({"lineage_next", ROWS, "9|90|" DIGEST "|\\x|0|009"}, {"lineage_flush", DONE, ""});
    assert_int_equal(append_next(log, &state, id), LINEAGE_OK);
    assert_string_equal(id, "009");
    assert_int_equal(state.size, 32);
    SCRIPT({"lineage_next", ROWS, "~|~|~|~|~|~"}, {"lineage_flush", DONE, ""});
    assert_int_equal(append_next(log, &state, id), LINEAGE_EAWAY);
    assert_true(log->lost);
    /* The answer does not say where the row is. */
    SCRIPT({"lineage_next", ROWS, ""}, {"lineage_flush", DONE, ""});
    assert_int_equal(append_next(log, &state, id), LINEAGE_EAWAY);
    SCRIPT({"lineage_next", NO, "22023 no"}, {"lineage_flush", DONE, ""});
    assert_int_equal(append_next(log, &state, id), LINEAGE_EIO);
    assert_int_equal(append_next(log, &none, id), LINEAGE_EAWAY);
    SCRIPT({"lineage_next", ROWS, AFTER "|005"}, {"lineage_flush", LOST, ""}, {CLAIM, ROWS, AFTER "|" UUID "|1|~"},
           {"ROLLBACK; SELECT", DONE, ""});
    assert_int_equal(append_next(log, &state, id), LINEAGE_OK);
    assert_true(log->found);
    SCRIPT({"SELECT s.seq", ROWS, HEAD "|" UUID});
    assert_int_equal(log_look(log, &state, &err), LINEAGE_OK);
    state.session--;
    assert_int_equal(append_next(log, &state, id), LINEAGE_EAWAY);
    script_break();
    assert_int_equal(append_next(log, &state, id), LINEAGE_EAWAY);
    assert_true(log->lost);
    close_log(log);
}

static void only_an_open_end_is_mended(void **unused)
{
    struct log_state state;
    struct log *log = claimed_log(&state);
    char name[64], dir[] = "/tmp/lineage-postgres-XXXXXX", path[128];
    struct log *other;
    (void)unused;
    assert_int_equal(log_settle(log, &err), LINEAGE_OK);
    must_say(log_set_aside(log, &state, 29, name, &err), LINEAGE_EIO, "is not the last one");
    must_say(log_blank(log, &state, 30, 31, name, &err), LINEAGE_EIO, "is not the last one");
    SCRIPT({"ROLLBACK", DONE, ""});
    log_release(log);
    must_say(log_set_aside(log, &state, 30, name, &err), LINEAGE_EIO, "is not the last one");
    must_say(log_rebuild_digests(log, &(struct log_digests){0}, &err), LINEAGE_EINVAL, "never again");
    close_log(log);
    assert_non_null(mkdtemp(dir));
    int fd = open(dir, O_RDONLY | O_DIRECTORY);
    assert_true(fd >= 0);
    for (int i = 0; i < 3; i++) {
        script_begin();
        err = (struct lineage_error){0};
        assert_int_equal(log_postgres_open(&other, i == 2 ? -1 : fd, NAME, &err), LINEAGE_OK);
        SCRIPT(FIND, {CLAIM, ROWS, "3|30|" DIGEST "|\\x41|0|" UUID "|0|~"});
        assert_int_equal(log_claim(other, &state, &err), LINEAGE_OK);
        if (i == 0)
            SCRIPT({"lineage.mend(7, 3, 1)", ROWS, "3|30|" DIGEST "|\\x|1"}, {"COMMIT", DONE, ""});
        else if (i == 1)
            SCRIPT({"lineage.mend(7, 3, 1)", NO, "22023 no"}, {"ROLLBACK", DONE, ""});
        else
            SCRIPT({"ROLLBACK", DONE, ""});
        assert_int_equal(log_set_aside(other, &state, 30, name, &err), i == 0 ? LINEAGE_OK : LINEAGE_EIO);
        assert_int_equal(state.size, i == 0 ? 30 : 31);
        log_release(other);
        close_log(other);
        snprintf(path, sizeof path, "%s/%s", dir, name);
        unlink(path);
    }
    close(fd);
    rmdir(dir);
}

/* ---- digests ------------------------------------------------------------------------------------------------------ */

static void hear_broken(void *context, uint64_t line, const char *text)
{
    (void)line;
    (void)text;
    ++*(unsigned *)context;
}

/* What a check of digests calls with: context begins with the counter of hear_broken. */
struct heard_digests {
    unsigned broken;
    bool met; /* the digest with one bit in its eighth byte */
};

static void hear_passed(void *context, const struct digest_chain *chain)
{
    static const unsigned char known[DIGEST_BYTES] = {[7] = 1};
    struct heard_digests *all = context;
    all->met = all->met || memcmp(chain->digest, known, sizeof known) == 0;
}

static void records_are_held_against_their_digests(void **unused)
{
    /* Each row has a position, its bytes and its digest. No digest is that of its bytes. The rows of the first and the
     * last case end before the log does, and those of the second case have a gap. */
    static const struct {
        const char *rows, *more;
        unsigned broken;
    } cases[] = {{"0|\\x610a|\\x00;2|\\x620a|~", "", 3}, {"0|\\x610a|" DIGEST ";9|\\x620a|" DIGEST, NULL, 2}, {"", NULL, 1}};
    struct log_state state;
    (void)unused;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int heard = 0; heard < 2; heard++) {
            struct log *log = known_log(&state);
            struct heard_digests all = {.broken = 0};
            struct log_digests digests = {.passed = hear_passed, .broken = heard ? hear_broken : NULL, .context = &all};
            if (cases[i].more)
                SCRIPT({"SELECT s.seq", ROWS, HEAD "|" UUID}, {"position, bytes, digest", ROWS, cases[i].rows},
                       {"position, bytes, digest", ROWS, ""});
            else if (i == 1)
                SCRIPT({"SELECT s.seq", ROWS, "2|11|" DIGEST "|\\x|0|" UUID}, {"position, bytes, digest", ROWS, cases[i].rows});
            else
                SCRIPT({"SELECT s.seq", ROWS, HEAD "|" UUID}, {"position, bytes, digest", ROWS, ""});
            assert_int_equal(log_check_digests(log, &digests, &err), LINEAGE_OK);
            assert_true(digests.is_broken);
            assert_int_equal(all.broken, heard ? cases[i].broken : 0);
            assert_int_equal(all.met, i == 1);
            close_log(log);
        }
    struct log *log = known_log(&state);
    SCRIPT({"SELECT s.seq", ROWS, HEAD "|" UUID}, {"position, bytes, digest", NO, "22023 no"});
    assert_int_equal(log_check_digests(log, &(struct log_digests){0}, &err), LINEAGE_EIO);
    close_log(log);
}

/* ---- waiting, settings, making ------------------------------------------------------------------------------------ */

static void waiting_hears_of_rows(void **unused)
{
    struct log_state state;
    struct log *log = known_log(&state);
    bool news = false;
    (void)unused;
    SCRIPT({"LISTEN lineage_7", DONE, ""}, {"SELECT s.seq", ROWS, HEAD "|" UUID});
    assert_int_equal(log_wait(log, 0, &news, &err), LINEAGE_OK);
    assert_true(news);
    news = false;
    assert_int_equal(log_wait(log, 0, &news, &err), LINEAGE_OK);
    assert_int_equal(log_wait(log, 500, &news, &err), LINEAGE_OK);
    assert_false(news);
    script_notifies = 1;
    SCRIPT({"SELECT s.seq", ROWS, HEAD "|" UUID}, {"SELECT s.seq", ROWS, HEAD "|" UUID}, {"SELECT s.seq", ROWS, AFTER "|" UUID});
    /* A notice without news, then silence, after which the server is asked. */
    assert_int_equal(log_wait(log, -1, &news, &err), LINEAGE_OK);
    assert_true(news);
    news = false;
    /* The server closed the connection and is available again. */
    script_break();
    SCRIPT({"LISTEN lineage_7", DONE, ""}, {"SELECT s.seq", ROWS, AFTER "|99" UUID});
    assert_int_equal(log_wait(log, 0, &news, &err), LINEAGE_OK);
    assert_true(news);
    news = false;
    script_break();
    SCRIPT({"LISTEN lineage_7", NO, "22023 no"});
    assert_int_equal(log_wait(log, 0, &news, &err), LINEAGE_EIO);
    SCRIPT({"LISTEN lineage_7", DONE, ""}, {"SELECT s.seq", NO, "22023 no"});
    assert_int_equal(log_wait(log, 0, &news, &err), LINEAGE_EIO);
    assert_false(news);
    /* The connection is lost between the look and the wait, and again when it is reopened. */
    script_faults.consume = true;
    SCRIPT({"SET search_path", LOST, ""});
    assert_int_equal(log_wait(log, 0, &news, &err), LINEAGE_EAWAY);
    close_log(log);
}

static void settings_are_those_of_the_store(void **unused)
{
    struct log_state state;
    struct log *log = known_log(&state);
    struct buf out = {0};
    (void)unused;
    SCRIPT({"SELECT settings", ROWS, "{}"}, {"SELECT settings", ROWS, ""}, {"SELECT settings", NO, "22023 no"});
    assert_int_equal(log_postgres_settings(log, &out, &err), LINEAGE_OK);
    assert_string_equal(out.data, "{}");
    assert_int_equal(log_postgres_settings(log, &out, &err), LINEAGE_OK);
    assert_int_equal(log_postgres_settings(log, &out, &err), LINEAGE_EIO);
    buf_release(&out);
    SCRIPT({"set_settings", ROWS, "t"}, {"set_settings", ROWS, "f"}, {"set_settings", NO, "22023 no"});
    assert_int_equal(log_postgres_set_settings(log, "{}", "{}", &err), LINEAGE_OK);
    assert_string_equal(script_asked, "SELECT lineage.set_settings($1, $2, $3)|7|{}|{}");
    must_say(log_postgres_set_settings(log, "{}", "{}", &err), LINEAGE_EEXIST, "just been changed");
    assert_int_equal(log_postgres_set_settings(log, "{}", "{}", &err), LINEAGE_EIO);
    close_log(log);
}

#define THERE {"to_regclass", ROWS, "t"}, {"coalesce(max(version), 0)", ROWS, "11"}

static void must_create(enum lineage_status wanted, const char *text)
{
    char *there = NULL;
    enum lineage_status status = log_postgres_create(NAME, "{}", &there, &err);
    must_say(status, wanted, text);
    assert_int_equal(there != NULL, status == LINEAGE_OK);
    free(there);
    script_must_be_over(0);
}

static void making_a_store_stops_where_it_is_refused(void **unused)
{
    (void)unused;
    script_begin();
    err = (struct lineage_error){0};
    SCRIPT({"to_regclass", NO, "22023 no"});
    must_create(LINEAGE_EIO, "no");
    SCRIPT({"to_regclass", ROWS, "t"}, {"coalesce(max(version), 0)", NO, "22023 no"});
    must_create(LINEAGE_EIO, "no");
    SCRIPT(THERE, {"pg_has_role", NO, "22023 no"});
    must_create(LINEAGE_EIO, "no");
    SCRIPT(THERE, {"pg_has_role", ROWS, "f"}, {"SELECT settings", ROWS, "{}"});
    must_create(LINEAGE_OK, "");
    SCRIPT(THERE, {"pg_has_role", ROWS, "f"}, {"SELECT settings", NO, "22023 no"});
    must_create(LINEAGE_EIO, "no");
    SCRIPT(THERE, {"pg_has_role", ROWS, "f"}, {"SELECT settings", ROWS, ""}, {"WITH made", ROWS, "{}"});
    must_create(LINEAGE_OK, "");
    SCRIPT(THERE, {"pg_has_role", ROWS, "f"}, {"SELECT settings", ROWS, ""}, {"WITH made", NO, "22023 no"});
    must_create(LINEAGE_EIO, "no");
    SCRIPT({"to_regclass", ROWS, "f"}, {"BEGIN; SELECT pg_advisory", LOST, ""});
    must_create(LINEAGE_EAWAY, "broken");
    SCRIPT({"to_regclass", ROWS, "f"}, {"BEGIN; SELECT pg_advisory", DONE, ""}, {"to_regclass", NO, "22023 no"},
           {"ROLLBACK", DONE, ""});
    must_create(LINEAGE_EIO, "no");
    SCRIPT(THERE, {"pg_has_role", ROWS, "t"}, {"BEGIN; SELECT pg_advisory", DONE, ""}, THERE, {"lineage", NO, "22023 no grants"},
           {"ROLLBACK", DONE, ""});
    must_create(LINEAGE_EIO, "no grants");
    SCRIPT({"to_regclass", ROWS, "t"}, {"coalesce(max(version), 0)", ROWS, "3"}, {"pg_has_role", ROWS, "t"},
           {"BEGIN; SELECT pg_advisory", DONE, ""}, {"to_regclass", ROWS, "t"}, {"coalesce(max(version), 0)", ROWS, "3"},
           {"VALUES (4)", NO, "22023 no four"}, {"ROLLBACK", DONE, ""});
    must_create(LINEAGE_EIO, "no four");
    SCRIPT(THERE, {"pg_has_role", ROWS, "t"}, {"BEGIN; SELECT pg_advisory", DONE, ""}, THERE, {"lineage", DONE, ""},
           {"COMMIT", LOST, ""});
    must_create(LINEAGE_EAWAY, "broken");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_failure_has_its_kind),
                                       cmocka_unit_test(what_is_not_in_an_answer_is_null),
                                       cmocka_unit_test(a_server_that_is_away_is_asked_once_a_second),
                                       cmocka_unit_test(who_waits_is_told_once),
                                       cmocka_unit_test(a_flush_waits_for_standbys),
                                       cmocka_unit_test(a_child_says_no_goodbye_on_its_parents_connection),
                                       cmocka_unit_test(notices_are_taken_all_at_once),
                                       cmocka_unit_test(parts_are_prepared_once_for_a_connection),
                                       cmocka_unit_test(of_parts_the_first_failure_counts),
                                       cmocka_unit_test(a_pipeline_that_breaks_ends_the_connection),
                                       cmocka_unit_test(the_store_is_looked_for_once),
                                       cmocka_unit_test(a_look_tells_state_and_identity),
                                       cmocka_unit_test(ids_of_lost_rows_are_left_out),
                                       cmocka_unit_test(what_a_log_was_is_told_by_a_digest),
                                       cmocka_unit_test(a_short_answer_is_no_end_of_the_log),
                                       cmocka_unit_test(a_claim_brings_what_is_newer),
                                       cmocka_unit_test(a_claim_that_cannot_be_had),
                                       cmocka_unit_test(a_claim_is_assumed_only_where_nothing_speaks_against_it),
                                       cmocka_unit_test(a_claim_that_is_waited_for_is_told),
                                       cmocka_unit_test(an_append_comes_with_its_commit),
                                       cmocka_unit_test(a_large_append_goes_in_several_calls),
                                       cmocka_unit_test(what_became_of_an_append_is_found_out),
                                       cmocka_unit_test(a_claim_ends_with_its_connection),
                                       cmocka_unit_test(a_row_by_the_next_id),
                                       cmocka_unit_test(only_an_open_end_is_mended),
                                       cmocka_unit_test(records_are_held_against_their_digests),
                                       cmocka_unit_test(waiting_hears_of_rows),
                                       cmocka_unit_test(settings_are_those_of_the_store),
                                       cmocka_unit_test(making_a_store_stops_where_it_is_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Tests how the reason for a failed connection is derived from libpq's messages. The test replaces libpq by a table of
 * functions that give scripted answers. */
#include "support/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "postgres/connect.h"

/* The server's messages for the first attempt and for the second, which adds the SQLSTATE. NULL: the connection
 * succeeds. */
static struct script {
    const char *first, *second;
    PGPing ping;
    int version;
} script;
static bool verbose, none;
static unsigned resets, pings, open_connections;
static char connection[1];

static int library_version = 150000;
static char require_auth[32]; /* as given to the last connection; "" if it was not given */

/* The name comes last, so that its keywords win. */
static void note_keywords(const char *const *keywords, const char *const *values)
{
    size_t n = 0;
    require_auth[0] = '\0';
    for (; keywords[n]; n++)
        if (strcmp(keywords[n], "require_auth") == 0)
            snprintf(require_auth, sizeof require_auth, "%s", values[n]);
    assert_string_equal(keywords[n - 1], "dbname");
    assert_string_equal(values[n - 1], "postgresql://h/d");
}

static int get_library_version(void)
{
    return library_version;
}

static PGconn *begin(const char *const *keywords, const char *const *values, int expand)
{
    note_keywords(keywords, values);
    assert_true(expand);
    verbose = false;
    resets = pings = 0;
    open_connections += !none;
    return none ? NULL : (PGconn *)(void *)connection;
}

static const char *text_now(void)
{
    return resets ? script.second : script.first;
}

static ConnStatusType status(const PGconn *c)
{
    (void)c;
    return text_now() ? CONNECTION_BAD : CONNECTION_OK;
}

static char *message(const PGconn *c)
{
    static char text[1024];
    (void)c;
    strcpy(text, text_now());
    return text;
}

static PGVerbosity set_verbosity(PGconn *c, PGVerbosity verbosity)
{
    (void)c;
    verbose = verbosity == PQERRORS_VERBOSE;
    return PQERRORS_DEFAULT;
}

static void reset(PGconn *c)
{
    (void)c;
    assert_true(verbose);
    resets++;
}

static PGPing ping(const char *const *keywords, const char *const *values, int expand)
{
    (void)keywords;
    (void)values;
    (void)expand;
    pings++;
    return script.ping;
}

static int version(const PGconn *c)
{
    (void)c;
    return script.version;
}

static void finish(PGconn *c)
{
    (void)c;
    open_connections--;
}

static const struct libpq pq = {.connectdbParams = begin,
                                .status = status,
                                .errorMessage = message,
                                .reset = reset,
                                .finish = finish,
                                .setErrorVerbosity = set_verbosity,
                                .pingParams = ping,
                                .serverVersion = version,
                                .libVersion = get_library_version};

static bool connects(struct lineage_error *why)
{
    *why = (struct lineage_error){0};
    PGconn *made = connect_server(&pq, "postgresql://h/d", "NAME", why);
    if (made)
        finish(made);
    assert_int_equal(open_connections, 0);
    assert_false(verbose);
    return made != NULL;
}

#define AT "connection to server at \"h\" (127.0.0.1), port 5432 failed: "

static void must_be(enum lineage_status wanted, const char *text)
{
    struct lineage_error why;
    assert_false(connects(&why));
    assert_string_equal(why.text, text);
    assert_int_equal(why.status, wanted);
}

/* The words of a message are in the server's language, so only the SQLSTATE decides. */
static void the_sqlstate_decides_in_any_language(void **unused)
{
    (void)unused;
    script = (struct script){AT "FATAL:  28P01\n",
                             AT "FATAL:  28P01: password authentication failed for user \"a\"\nLOCATION:  auth_failed\n",
                             PQPING_OK, 0};
    must_be(LINEAGE_EREFUSED, "NAME: refused: password authentication failed for user \"a\"");
    script.first = AT "FATAL:  x", script.second = AT "SCHWERWIEGEND:  3D000: Datenbank »d« existiert nicht\n";
    must_be(LINEAGE_EREFUSED, "NAME: refused: Datenbank »d« existiert nicht");
    script.second = AT "FATALE:  57P03: il sistema di database è in avvio\n";
    must_be(LINEAGE_EAWAY, "NAME is away: " AT "FATALE:  57P03: il sistema di database è in avvio");
    script.second = AT "FATAL:  53300: too many connections\n";
    must_be(LINEAGE_EAWAY, "NAME is away: " AT "FATAL:  53300: too many connections");
    script.second = AT "FATAL:  no state\n"; /* a server too old to send SQLSTATEs */
    must_be(LINEAGE_EAWAY, "NAME is away: " AT "FATAL:  no state");
    assert_int_equal(resets, 1);
    script.second = AT "Connection refused\n"; /* the server stopped in between */
    must_be(LINEAGE_EAWAY, "NAME is away: " AT "Connection refused");
    assert_int_equal(pings, 0);
}

static void a_server_that_comes_in_between_is_there(void **unused)
{
    struct lineage_error why;
    (void)unused;
    script = (struct script){AT "FATAL:  the database system is starting up\n", NULL, PQPING_OK, 150000};
    assert_true(connects(&why));
    script = (struct script){NULL, NULL, PQPING_OK, 140000};
    assert_true(connects(&why));
    assert_int_equal(resets, 0);
    script.version = 130014;
    must_be(LINEAGE_EREFUSED, "NAME: refused: its PostgreSQL is version 13.14, and 14 is the oldest that will do");
}

/* No server answered, so the message comes from the network or from libpq. Names in a message do not decide, because
 * other people choose them. */
static void the_words_of_libpq_are_sorted(void **unused)
{
    static const struct {
        const char *text;
        enum lineage_status status;
    } cases[] = {{"Connection refused", LINEAGE_EAWAY},
                 {"timeout expired", LINEAGE_EAWAY},
                 {"session is read-only", LINEAGE_EAWAY},
                 {"server closed the connection unexpectedly", LINEAGE_EAWAY},
                 {"SSL SYSCALL error: EOF detected", LINEAGE_EAWAY},
                 {"SSL error: unexpected eof while reading", LINEAGE_EAWAY},
                 {"received invalid response to SSL negotiation: H", LINEAGE_EAWAY},
                 {"server sent an error response during SSL exchange", LINEAGE_EAWAY},
                 {"expected authentication request from server, but received v", LINEAGE_EAWAY},
                 {"server does not support SSL, but SSL was required", LINEAGE_EREFUSED},
                 {"SSL error: certificate verify failed", LINEAGE_EREFUSED},
                 {"root certificate file \"x\" does not exist", LINEAGE_EREFUSED},
                 {"fe_sendauth: no password supplied", LINEAGE_EREFUSED},
                 {"private key file \"k\" has group or world access", LINEAGE_EREFUSED},
                 {"authentication method 10 not supported", LINEAGE_EREFUSED}};
    (void)unused;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[256];
        struct lineage_error why;
        snprintf(text, sizeof text, "connection to server at \"SSL.certificate\", port 1 failed: %s\n\tIs it an SSL server?\n",
                 cases[i].text);
        script = (struct script){text, text, PQPING_NO_RESPONSE, 0};
        assert_false(connects(&why));
        if (why.status != cases[i].status)
            fail_msg("%s", why.text);
        assert_int_equal(resets, 0);
    }
}

/* Among several hosts, the one that refuses decides. A lost attempt with TLS is more informative than the attempt
 * without TLS, which the server does not allow. */
static void of_several_attempts_the_telling_one_counts(void **unused)
{
    (void)unused;
    script = (struct script){
        "connection to server at \"a\", port 1 failed: Connection refused\n" AT "FATAL:  x\n",
        "connection to server at \"a\", port 1 failed: Connection refused\n" AT "FATAL:  3D000: no database\n", PQPING_OK, 0};
    must_be(LINEAGE_EREFUSED, "NAME: refused: no database");
    script.first = AT "SSL SYSCALL error: EOF detected\n" AT "FATAL:  x\n";
    script.second = AT "SSL SYSCALL error: EOF detected\n" AT "FATAL:  28000: no pg_hba.conf entry, no encryption\n";
    must_be(LINEAGE_EAWAY, "NAME is away: " AT "SSL SYSCALL error: EOF detected");
    script.first = script.second = "could not translate host name \"certificate\" to address: unknown\n";
    must_be(LINEAGE_EAWAY, "NAME is away: could not translate host name \"certificate\" to address: unknown");
    assert_int_equal(pings, 1);
}

static void a_name_that_libpq_cannot_read_is_a_mistake(void **unused)
{
    struct lineage_error why;
    (void)unused;
    script = (struct script){"invalid sslmode value: \"x\"\n", "", PQPING_NO_ATTEMPT, 0};
    must_be(LINEAGE_EINVAL, "NAME: invalid sslmode value: \"x\"");
    script = (struct script){"invalid port number: \"99999\"\n", "", PQPING_NO_RESPONSE, 0};
    must_be(LINEAGE_EREFUSED, "NAME: refused: invalid port number: \"99999\"");
    none = true;
    assert_false(connects(&why));
    assert_int_equal(why.status, LINEAGE_ENOMEM);
    none = false;
}

/* Older versions of libpq refuse a keyword that they do not know. */
static void a_password_is_not_sent_in_clear_text(void **unused)
{
    struct lineage_error why;
    (void)unused;
    script = (struct script){NULL, NULL, PQPING_OK, 150000};
    unsetenv("PGREQUIREAUTH");
    assert_true(connects(&why));
    assert_string_equal(require_auth, "");
    library_version = 160000;
    assert_true(connects(&why));
    assert_string_equal(require_auth, "!password");
    setenv("PGREQUIREAUTH", "password", 1); /* the user wants it */
    assert_true(connects(&why));
    assert_string_equal(require_auth, "");
    unsetenv("PGREQUIREAUTH");
    library_version = 150000;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_sqlstate_decides_in_any_language),
                                       cmocka_unit_test(a_server_that_comes_in_between_is_there),
                                       cmocka_unit_test(the_words_of_libpq_are_sorted),
                                       cmocka_unit_test(of_several_attempts_the_telling_one_counts),
                                       cmocka_unit_test(a_name_that_libpq_cannot_read_is_a_mistake),
                                       cmocka_unit_test(a_password_is_not_sent_in_clear_text)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

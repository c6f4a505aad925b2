/*
 * Up to libpq 17, a failed connection has a message but no SQLSTATE. The message contains the server's text in the
 * server's language, in the form of every server message: SEVERITY, a colon and two blanks. In this case the connection
 * is tried once more with the verbosity that adds the SQLSTATE. Messages of libpq itself (TLS, a missing password) have
 * no SQLSTATE at all; they are read in the locale "C". For a name that libpq cannot read, PQping returns "no attempt",
 * which is documented.
 */
#include "connect.h"

#include <locale.h>

/* needed for client_connection_check_interval and the migrations */
enum { OLDEST_SERVER = 140000 };

/* libpq knows require_auth from this version on. */
enum { REQUIRES_AUTH = 160000 };

enum { N_KEYWORDS = 10 };

struct keywords {
    const char *names[N_KEYWORDS], *values[N_KEYWORDS];
};

/* Keywords before dbname are defaults for the keywords in the URI. A password is never sent in clear text, unless the name or
 * PGREQUIREAUTH asks for it: a server could keep it. Libpq before version 16 cannot refuse that. */
static struct keywords make_keywords(const struct libpq *pq, const char *uri)
{
    struct keywords k = {{"fallback_application_name", "client_encoding", "connect_timeout", "keepalives_idle",
                          "keepalives_interval", "keepalives_count", "tcp_user_timeout", "dbname"},
                         {"lineage", "UTF8", "5", "30", "10", "3", "30000", uri}};
    if (pq->libVersion() >= REQUIRES_AUTH && !getenv("PGREQUIREAUTH")) {
        k.names[8] = "dbname";
        k.values[8] = uri;
        k.names[7] = "require_auth";
        k.values[7] = "!password";
    }
    return k;
}

void connect_first_line(char *out, size_t size, const char *text)
{
    size_t n = strcspn(text, "\n");
    snprintf(out, size, "%.*s", (int)(n < size ? n : size - 1), text);
}

/* Classes of errors that go away by themselves: 08 connection, 53 disk full and similar, 57P server stopping or
 * starting, 25P03 client too slow, 25006 standby server, 40 transaction rolled back by the server, 26000 and 42P05 a
 * prepared statement that a pooler lost or confused. */
bool connect_is_passing(const char *sqlstate)
{
    static const char *const beginnings[] = {"08", "53", "57P", "25P03", "25006", "40", "58", "XX", "26000", "42P05"};
    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++)
        if (strncmp(sqlstate, beginnings[i], strlen(beginnings[i])) == 0)
            return true;
    return false;
}

enum verdict { NOT_REACHED, LOST, REFUSED };

static bool has_one_of(const char *text, const char *const *words)
{
    for (; *words; words++)
        if (strstr(text, *words))
            return true;
    return false;
}

/* The text after "connection to server at .. failed: ". That prefix contains names that other people chose. */
static const char *behind_host(const char *line)
{
    static const char failed[] = " failed: ";
    const char *behind = strncmp(line, "connection to server", 20) == 0 ? strstr(line, failed) : NULL;
    return behind ? behind + sizeof failed - 1 : line;
}

/* The part of a message that the server itself wrote. */
static const char *behind_severity(const char *text)
{
    const char *behind = strstr(text, ":  ");
    return behind ? behind + 3 : NULL;
}

/* "28P01: text": returns the text; NULL for any other form. */
static const char *behind_sqlstate(const char *text)
{
    return strspn(text, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") == 5 && strncmp(text + 5, ": ", 2) == 0 ? text + 7 : NULL;
}

static enum verdict judge_words(const char *text)
{
    static const char *const lost[] = {"SSL SYSCALL",
                                       "unexpected eof",
                                       "closed unexpectedly",
                                       "closed the connection unexpectedly",
                                       "could not receive data",
                                       "could not send data",
                                       "response to SSL negotiation",
                                       "during SSL exchange",
                                       "expected authentication request",
                                       NULL};
    static const char *const not_reached[] = {"could not translate", NULL};
    static const char *const refused[] = {
        "SSL",   "certificate", "private key", "password supplied",   "authentication",        "channel binding",
        "SCRAM", "GSSAPI",      "requirepeer", "invalid port number", "invalid integer value", "is too long",
        NULL};
    if (has_one_of(text, lost))
        return LOST;
    return !has_one_of(text, not_reached) && has_one_of(text, refused) ? REFUSED : NOT_REACHED;
}

/* *words becomes the part of the line that is worth showing. */
static enum verdict judge_line(const char *line, const char **words)
{
    const char *text = behind_host(line), *said = behind_severity(text), *plain = said ? behind_sqlstate(said) : NULL;
    *words = line;
    if (!said)
        return judge_words(text);
    if (!plain || connect_is_passing(said))
        return NOT_REACHED;
    *words = plain;
    return REFUSED;
}

/* The message has a line for each host or address that was tried, and for each method (with TLS, then without). libpq
 * tries the next host if one cannot be reached. It tries without TLS if the TLS connection was lost; the line about
 * that loss then means nothing. */
static enum verdict judge_text(const char *text, char *words, size_t size)
{
    enum verdict verdict = NOT_REACHED;
    connect_first_line(words, size, text);
    for (const char *line = text; *line && verdict != LOST; line += strcspn(line, "\n"), line += *line == '\n') {
        char alone[400];
        const char *shown;
        connect_first_line(alone, sizeof alone, line);
        enum verdict one = *line == '\t' ? NOT_REACHED : judge_line(alone, &shown); /* indented lines are advice */
        if (one != NOT_REACHED && (one == LOST || verdict == NOT_REACHED)) {
            verdict = one;
            connect_first_line(words, size, shown);
        }
    }
    return verdict;
}

static bool is_there(const struct libpq *pq, const PGconn *connection)
{
    return connection && pq->status(connection) == CONNECTION_OK;
}

/* Connects once more if a server answered, to get the SQLSTATE. This time the connection may succeed. */
static void try_again_verbosely(const struct libpq *pq, PGconn *connection)
{
    if (!connection || is_there(pq, connection) || !behind_severity(pq->errorMessage(connection)))
        return;
    pq->setErrorVerbosity(connection, PQERRORS_VERBOSE);
    pq->reset(connection);
    pq->setErrorVerbosity(connection, PQERRORS_DEFAULT);
}

static void explain(const struct libpq *pq, const PGconn *connection, const char *uri, const char *shown,
                    struct lineage_error *why)
{
    const struct keywords k = make_keywords(pq, uri);
    const char *text = pq->errorMessage(connection);
    char words[320];
    enum verdict verdict = judge_text(text, words, sizeof words);
    bool asked = strncmp(text, "connection to server", 20) == 0; /* since libpq 14 */
    if (!asked && pq->pingParams(k.names, k.values, 1) == PQPING_NO_ATTEMPT)
        store_fail(why, LINEAGE_EINVAL, "%s: %s", shown, words);
    else if (verdict == REFUSED)
        store_fail(why, LINEAGE_EREFUSED, "%s: refused: %s", shown, words);
    else
        store_fail(why, LINEAGE_EAWAY, "%s is away: %s", shown, words);
}

static bool is_new_enough(const struct libpq *pq, const PGconn *connection)
{
    return pq->serverVersion(connection) >= OLDEST_SERVER;
}

static bool is_known(const struct libpq *pq, const PGconn *connection, const char *shown, struct lineage_error *why)
{
    int version = pq->serverVersion(connection);
    if (is_new_enough(pq, connection))
        return true;
    store_fail(why, LINEAGE_EREFUSED, "%s: refused: its PostgreSQL is version %d.%d, and %d is the oldest that will do", shown,
               version / 10000, version % 10000, OLDEST_SERVER / 10000);
    return false;
}

static PGconn *connect_once(const struct libpq *pq, const struct keywords *k)
{
    PGconn *connection = pq->connectdbParams(k->names, k->values, 1);
    try_again_verbosely(pq, connection);
    return connection;
}

/* Whether libpq alone says no, because of the bytes that it got: about TLS, the kind of authentication, the version. One byte that
 * arrives changed is enough for that, so it is tried once more. A server that says no itself was asked twice by now. */
static bool is_doubtful(const struct libpq *pq, const PGconn *connection)
{
    char words[320];
    if (is_there(pq, connection))
        return !is_new_enough(pq, connection);
    const char *text = pq->errorMessage(connection);
    return !behind_severity(text) && judge_text(text, words, sizeof words) == REFUSED;
}

PGconn *connect_server(const struct libpq *pq, const char *uri, const char *shown, struct lineage_error *why)
{
    const struct keywords k = make_keywords(pq, uri);
    locale_t plain = newlocale(LC_MESSAGES_MASK, "C", NULL), before = plain ? uselocale(plain) : NULL;
    PGconn *connection = connect_once(pq, &k);
    if (connection && is_doubtful(pq, connection)) {
        pq->finish(connection);
        connection = connect_once(pq, &k);
    }
    bool there = is_there(pq, connection);
    if (!connection)
        store_no_memory(why);
    else if (!there)
        explain(pq, connection, uri, shown, why);
    if (plain) {
        uselocale(before);
        freelocale(plain);
    }
    if (connection && !(there && is_known(pq, connection, shown, why))) {
        pq->finish(connection);
        return NULL;
    }
    return connection;
}

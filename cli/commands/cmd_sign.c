/* cmd_sign.c: `lineage sign`: signs the digest of all rows with a key of the user. */
#include <inttypes.h>
#include <unistd.h>

#include "sign/signed_head.h"

struct sign_options {
    char *key, *trust;
    int redacted;
};

static int work(struct cli_session *session, void *context)
{
    const struct sign_options *o = context;
    struct lineage_digests digests;
    int status = o->trust ? user_key_trust(o->trust) : CLI_GO_ON;
    if (status == CLI_GO_ON && o->key)
        status = user_key_choose(o->key);
    if (status != CLI_GO_ON || (o->trust && !o->key))
        return status == CLI_GO_ON ? CLI_OK : status;
    status = signed_head_make(session->store, o->redacted, isatty(STDERR_FILENO), &digests);
    if (status != CLI_GO_ON)
        return status;
    printf("%s  %" PRIu64 " records, signed\n", digests.head, digests.records);
    return CLI_OK;
}

static int run(const struct cli_command *command, int argc, const char **argv)
{
    struct cli_session session = {0};
    struct sign_options o = {0};
    struct poptOption options[] = {
        {"key", 0, POPT_ARG_STRING, &o.key, 0,
         "sign with this key of ssh, now and at the end of each night; FILE.pub uses the key that ssh-agent has", "FILE"},
        {"trust", 0, POPT_ARG_STRING, &o.trust, 0, "trust signatures by this public key, without signing", "FILE.pub"},
        {"redacted", 0, POPT_ARG_NONE, &o.redacted, 0, "sign redactions, too, that were made since the last signature", NULL},
        CLI_STORE_OPTIONS(&session.where),
        POPT_TABLEEND};
    return cli_on_store(&session, command, options, 0, 0, argc, argv, work, &o);
}

const struct cli_command cmd_sign = {
    .name = "sign",
    .arguments = "",
    .description = "Signs the digest of all rows with ssh-keygen, and keeps the signature in the store\n"
                   "(.results.tsv.signed). `verify` then finds every change of a row up to there by itself, as\n"
                   "long as the key is yours: the trusted public keys are not in the store but in\n"
                   "~/.config/lineage/allowed_signers, and the last signed head of each store in\n"
                   "~/.local/state/lineage/signed_heads. Once a key is chosen by --key, each night signs at its\n"
                   "end. There, a key with a passphrase must be in ssh-agent. Rows that do not match their\n"
                   "digests are not signed (exit status 1).",
    .examples = "  lineage sign --key ~/.ssh/id_ed25519\n"
                "  lineage sign\n"
                "  lineage sign --trust other-machine.pub",
    .run = run,
};

/* Tests what is taken for a secret (support/secrets.h), and above all which ordinary settings are not. */
#include "support/unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/secrets.h"

static bool accepts(const char *name, const char *text)
{
    const struct lineage_param param = {name, text ? (double)NAN : 12345678, text};
    return !secret_param(&param, NULL);
}

static void ordinary_settings(void **state)
{
    static const char *const numbers[] = {"max_tokens",
                                          "n_tokens",
                                          "token_budget",
                                          "tokens_per_batch",
                                          "max_new_tokens",
                                          "tokens",
                                          "token",
                                          "key_dim",
                                          "n_keys",
                                          "qk_norm",
                                          "num_key_value_heads",
                                          "kv_heads",
                                          "key_size",
                                          "key",
                                          "keys",
                                          "value_dim",
                                          "pass_k",
                                          "pass",
                                          "n_passes",
                                          "secret_count",
                                          "password_length",
                                          "auth_loss_weight",
                                          "author_dim",
                                          "private_dim",
                                          "pat",
                                          "cookie_dropout",
                                          "eos_token_id",
                                          "pad_token",
                                          "bos_token",
                                          "maxTokens",
                                          "keyDim",
                                          "credential_dim",
                                          "session_tokens",
                                          "api_calls"};
    static const char *const texts[][2] = {{"pad_token", "<pad>"},
                                           {"eos_token", "</s>"},
                                           {"mask_token", "[MASK]"},
                                           {"think_token", "<|end_of_thinking_12345|>"},
                                           {"sort_key", "validation_loss_2"},
                                           {"key", "name"},
                                           {"score_key", "eval/accuracy_at_10"},
                                           {"metric_key", "loss"},
                                           {"tokenizer", "gpt2-bpe-50257-special-tokens-v2"},
                                           {"token_type", "bpe"},
                                           {"auth", "none"},
                                           {"forward_pass", "full"},
                                           {"pass", "second"},
                                           {"optimizer", "adamw"},
                                           {"model", "sk-learn-random-forest-v2-classifier"},
                                           {"model", "hf_transformers_bert_base_uncased"},
                                           {"data", "s3://bucket/path/train.parquet"},
                                           {"data", "https://example.org/data.tar.gz"},
                                           {"commit", "7f9b17e51c2a4ed09a4b7f9b17e51c2a4ed09a4b"},
                                           {"init", "checkpoint_2026-11-23_step_000100.pt"},
                                           {"pos_emb", "rope"},
                                           {"key_norm", "rms"},
                                           {"key_init", "orthogonal"}};
    (void)state;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (!accepts(numbers[i], NULL))
            fail_msg("%s is an ordinary number", numbers[i]);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (!accepts(texts[i][0], texts[i][1]))
            fail_msg("%s=%s is an ordinary text", texts[i][0], texts[i][1]);
}

static void secret_settings(void **state)
{
    static const char *const numbers[] = {"password", "db_password",    "passwd",    "api_key",
                                          "apiKey",   "openai-api-key", "secret_key"};
    static const char *const texts[][2] = {{"password", "hunter2"},
                                           {"api_key", "x"},
                                           {"hf_token", "x"},
                                           {"wandb_api_key", "x"},
                                           {"client_secret", "x"},
                                           {"access_token", "x"},
                                           {"aws_secret_access_key", "x"},
                                           {"token", "Zx81kQ0aPq7Lm2Rt9Vw4"},
                                           {"lr_name", "sk-proj-Zx81kQ0aPq7Lm2Rt9Vw4"},
                                           {"note", "ghp_Zx81kQ0aPq7Lm2Rt9Vw4aaaaaaaaaaaaaaaa"},
                                           {"db", "postgres://ann:hunter2@host/db"},
                                           {"aws", "AKIAIOSFODNN7EXAMPLE"}};
    (void)state;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (accepts(numbers[i], NULL))
            fail_msg("%s is a secret, also as a number", numbers[i]);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (accepts(texts[i][0], texts[i][1]))
            fail_msg("%s=%s is a secret", texts[i][0], texts[i][1]);
}

static void declared_harmless(void **state)
{
    static const char *const harmless[] = {"lr", "api_key", NULL};
    const struct lineage_param key = {"api_key", 1, NULL}, other = {"password", 1, NULL};
    (void)state;
    assert_null(secret_param(&key, harmless));
    assert_non_null(secret_param(&other, harmless));
}

static void names_of_files(void **state)
{
    static const char *const secret[] = {".env",
                                         "a/.env.local",
                                         "prod.env",
                                         "id_rsa",
                                         ".ssh/config",
                                         "home/.ssh/id_ed25519",
                                         "server.PEM",
                                         "tls.key",
                                         ".netrc",
                                         "x/.pgpass",
                                         "credentials.json",
                                         "Credentials",
                                         ".aws/credentials",
                                         ".docker/config.json",
                                         "secrets.yaml",
                                         "client_secret_1.json"};
    static const char *const ordinary[] = {"train.py", "id_map.json",     "id_rsa.pub",    "keys.py",
                                           "key.py",   "environment.yml", "monkey.txt",    "docker/config.json",
                                           "env.py",   "tokens.py",       "tokenizer.json"};
    static const char *const more[] = {"*.vault", "!.env.example", "private/*", NULL};
    (void)state;
    for (size_t i = 0; i < sizeof secret / sizeof *secret; i++)
        if (!secret_file(secret[i], NULL))
            fail_msg("%s is a secret", secret[i]);
    for (size_t i = 0; i < sizeof ordinary / sizeof *ordinary; i++)
        if (secret_file(ordinary[i], NULL))
            fail_msg("%s is an ordinary file", ordinary[i]);
    assert_true(secret_file("a.vault", more) && secret_file("a/private/b", more) && secret_file(".env", more));
    assert_false(secret_file(".env.example", more) || secret_file("a.vault", NULL));
}

static void masks(void **state)
{
    static const char *const texts[][2] = {{"python3 train.py --lr 0.1", "python3 train.py --lr 0.1"},
                                           {"postgres://ann:hunter2@host/db", "postgres://ann:***@host/db"},
                                           {"postgres://ann:***@host/db", "postgres://ann:***@host/db"},
                                           {"two http://a:b@c and http://d:e@f/g", "two http://a:***@c and http://d:***@f/g"},
                                           {"http://host/a?b=1&token=abc&c=2", "http://host/a?b=1&token=***&c=2"},
                                           {"http://host:80/a@b", "http://host:80/a@b"},
                                           {"--api-key=abc --lr=1", "--api-key=*** --lr=1"},
                                           {"--password hunter2 --lr 1", "--password *** --lr 1"},
                                           {"OPENAI_API_KEY=abc python3 x.py", "OPENAI_API_KEY=*** python3 x.py"},
                                           {"curl -H 'Authorization: Bearer abc' x", "curl -H 'Authorization: Bearer ***' x"},
                                           {"say sk-proj-Zx81kQ0aPq7Lm2Rt9Vw4 now", "say *** now"},
                                           {"--max-tokens=100 --key-dim 64", "--max-tokens=100 --key-dim 64"},
                                           {"{\"password\": \"hunter2\", \"lr\": 1}", "{\"password\": \"***\", \"lr\": 1}"},
                                           {"", ""}};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char *got = secret_masked(texts[i][0]);
        assert_string_equal(got, texts[i][1]);
        free(got);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(ordinary_settings), cmocka_unit_test(secret_settings),
                                       cmocka_unit_test(declared_harmless), cmocka_unit_test(names_of_files),
                                       cmocka_unit_test(masks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

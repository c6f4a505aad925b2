/* user_key.h: a secret of this user on this machine, with which files are bound to them: STATE/key, mode 0600. */
#pragma once

#include "../fail.h"

enum { USER_KEY_BYTES = 32 };

/* Reads the key, and makes it if there is none. Processes that make it at the same time get the same key. Returns
 * LINEAGE_EINVAL without a state directory, LINEAGE_EREFUSED if other users can read the key or it is not a key. */
enum lineage_status user_key_read(unsigned char key[USER_KEY_BYTES], struct lineage_error *err);

/*
 * single_names.h: the names that the compilation for float changes. A file *_real.c writes
 * rl_ppo_loss, as its callers in src/rlcore and src/rlcase do; compiled with RL_SINGLE it defines and calls rl_ppo_lossf. Static
 * functions and private structs need no second name.
 *
 * The public headers are included first: they declare both names of a pair, and must be read before
 * the first name is replaced by the second. The build makes the table of names from
 * the definitions (TwinNames.cmake).
 */
#pragma once

#include <rlcore/a2tgpo.h>
#include <rlcore/adca.h>
#include <rlcore/advantage.h>
#include <rlcore/algorithm.h>
#include <rlcore/batch.h>
#include <rlcore/compose.h>
#include <rlcore/diagnostics.h>
#include <rlcore/distill.h>
#include <rlcore/loss.h>
#include <rlcore/offpolicy.h>
#include <rlcore/process.h>
#include <rlcore/stream_loss.h>

#ifdef RL_SINGLE
#include "rlcore_single_names.h"
#endif

/*
 * double_names.h: the names that the functions of this folder's sources have when they are compiled for double.
 *
 * CMakeLists.txt lists the sources that are compiled twice. They define `net_gemmf`, so that a search finds the
 * definition; with TRAINER_DOUBLE the same text defines `net_gemm`. A name that is missing here would be defined
 * twice; the test trainer_names compares this table with the objects.
 */
#pragma once

/* Declares both forms side by side, so it must be read before one of them is renamed. */
#include <trainer/policy.h>

#ifdef TRAINER_DOUBLE
#define net_addf net_add
#define net_attendf net_attend
#define net_attend_backwardf net_attend_backward
#define net_attend_cachedf net_attend_cached
#define net_attentionf net_attention
#define net_embedf net_embed
#define net_embed_backwardf net_embed_backward
#define net_gatherf net_gather
#define net_gemmf net_gemm
#define net_normf net_norm
#define net_norm_backwardf net_norm_backward
#define net_pass_attentionf net_pass_attention
#define trainer_pass_bytesf trainer_pass_bytes
#define net_reluf net_relu
#define net_relu_backwardf net_relu_backward
#define net_ropef net_rope
#define net_rope_tablef net_rope_table
#define net_rotatef net_rotate
#define net_softmaxf net_softmax
#define net_softmax_backwardf net_softmax_backward
#define net_experts_backwardf net_experts_backward
#define net_experts_balancef net_experts_balance
#define net_experts_forwardf net_experts_forward
#define net_experts_gradientf net_experts_gradient
#define net_experts_scratchf net_experts_scratch
#define net_expertsf net_experts
#define net_carve_choicef net_carve_choice
#define net_choicef net_choice
#define net_layer_expertsf net_layer_experts
#define net_pass_expertsf net_pass_experts
#define trainer_pass_balancef trainer_pass_balance
#define trainer_pass_routef trainer_pass_route
#define trainer_pass_weigh_balancef trainer_pass_weigh_balance
#define pass_layerf pass_layer
#define net_valuef net_value
#define net_value_backwardf net_value_backward
#define trainer_policy_valuesf trainer_policy_values
#define trainer_policy_backward_valuesf trainer_policy_backward_values
#define trainer_passf trainer_pass
#define trainer_pass_createf trainer_pass_create
#define trainer_pass_freef trainer_pass_free
#define trainer_policy_backwardf trainer_policy_backward
#define trainer_policy_forwardf trainer_policy_forward
#define trainer_policy_initf trainer_policy_init
#endif

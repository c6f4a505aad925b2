"""Made by `python3 -m lineage._stubs`, as core.py makes its functions from the library's description."""

from typing import Any, Iterable, Literal, Mapping, NamedTuple, Optional, Sequence, Union

import numpy as np
import numpy.typing as npt

# A NumPy array, a PyTorch tensor, or nested lists of numbers (of tensors where rows differ in length).
Array = Union[npt.NDArray[Any], Sequence[Any], Any]

class CoreError(ValueError):
    argument: Optional[str]
    index: tuple[int, ...]
    def __init__(self, family: str, text: str) -> None: ...

class Ragged(NamedTuple):
    values: Any
    start: npt.NDArray[np.int64]
    def rows(self) -> list[Any]: ...

class Result(dict[str, Any]):
    def __getattr__(self, name: str) -> Any: ...

def group_numbers(labels: Iterable[Any]) -> list[int]: ...
def kernels() -> list[dict[str, Any]]: ...
def run_kernel(family: str, /, *, cu_seqlens: Optional[Array] = None, **given: Any) -> Result: ...
def turns_from_mask(response_mask: Array) -> Any: ...
def policy_loss(
    *,
    loss: Literal['vanilla', 'gspo', 'cispo', 'sapo', 'gpg', 'reinforce', 'geo_mean'],
    loss_agg_mode: Literal['token-mean', 'seq-mean-token-sum', 'seq-mean-token-mean', 'seq-mean-token-sum-norm'],
    response_mask: Array,
    log_prob: Array,
    advantages: Array,
    old_log_prob: Optional[Array] = None,
    rollout_is_weights: Optional[Array] = None,
    clip_ratio_low: Optional[float] = None,
    clip_ratio_high: Optional[float] = None,
    clip_ratio_c: Optional[float] = None,
    tau_pos: Optional[float] = None,
    tau_neg: Optional[float] = None,
    dp_size: Optional[float] = None,
    batch_num_tokens: Optional[float] = None,
    global_batch_size: Optional[float] = None,
    loss_scale_factor: Optional[float] = None,
    cu_seqlens: Optional[Array] = None,
) -> Result: ...
def agg_loss(
    *,
    loss_agg_mode: Literal['token-mean', 'seq-mean-token-sum', 'seq-mean-token-mean', 'seq-mean-token-sum-norm'],
    loss_mask: Array,
    loss_mat: Array,
    dp_size: Optional[float] = None,
    batch_num_tokens: Optional[float] = None,
    global_batch_size: Optional[float] = None,
    loss_scale_factor: Optional[float] = None,
    cu_seqlens: Optional[Array] = None,
) -> Result: ...
def value_loss(
    *,
    cliprange_value: float,
    loss_agg_mode: Literal['token-mean', 'seq-mean-token-sum', 'seq-mean-token-mean', 'seq-mean-token-sum-norm'],
    response_mask: Array,
    vpreds: Array,
    values: Array,
    returns: Array,
    dp_size: Optional[float] = None,
    batch_num_tokens: Optional[float] = None,
    global_batch_size: Optional[float] = None,
    loss_scale_factor: Optional[float] = None,
    cu_seqlens: Optional[Array] = None,
) -> Result: ...
def kl_penalty(
    *,
    kl_penalty: str,
    log_prob: Array,
    ref_log_prob: Array,
    cu_seqlens: Optional[Array] = None,
) -> Result: ...
def a2tgpo_advantage(
    *,
    info_gain_norm_mode: Literal['joint', 'separate', 'turn-group', 'turn-group-v1d'],
    response_mask: Array,
    turn_id: Array,
    group_index: Array,
    token_level_rewards: Array,
    gamma: Optional[float] = None,
    alpha: Optional[float] = None,
    clip_beta: Optional[float] = None,
    norm_adv_by_std: Optional[bool] = None,
    epsilon: Optional[float] = None,
    cu_seqlens: Optional[Array] = None,
) -> Result: ...
def a2tgpo_turn_loss(
    *,
    loss_agg_mode: Literal['token-mean', 'seq-mean-token-sum', 'seq-mean-token-mean', 'seq-mean-token-sum-norm'],
    cliprange_low: float,
    cliprange_high: float,
    response_mask: Array,
    turn_id: Array,
    log_prob: Array,
    old_log_prob: Array,
    advantages: Array,
    dynamic_clip: Optional[bool] = None,
    ig_clip_scale: Optional[Array] = None,
    cu_seqlens: Optional[Array] = None,
) -> Result: ...
def turn_statistics(
    *,
    response_mask: Array,
    turn_id: Array,
    token_level_rewards: Array,
    group_index: Optional[Array] = None,
    cu_seqlens: Optional[Array] = None,
) -> Result: ...
def advantage(
    *,
    estimator: Literal['grpo', 'grpo_vectorized', 'grpo_passk', 'rloo', 'rloo_vectorized', 'opo', 'gpg', 'reinforce_plus_plus_baseline', 'reinforce_plus_plus', 'remax', 'gae', 'optimal_token_baseline', 'tir_optimal_token_baseline'],
    response_mask: Array,
    token_level_rewards: Array,
    group_index: Optional[Array] = None,
    epsilon: Optional[float] = None,
    norm_adv_by_std: Optional[bool] = None,
    gamma: Optional[float] = None,
    lam: Optional[float] = None,
    values: Optional[Array] = None,
    reward_baselines: Optional[Array] = None,
    old_log_prob: Optional[Array] = None,
    sum_pi_squared: Optional[Array] = None,
    rollout_is_weights: Optional[Array] = None,
    handle_zero_tail: Optional[bool] = None,
    through_holes: Optional[bool] = None,
    cu_seqlens: Optional[Array] = None,
) -> Result: ...
def passk(
    *,
    estimator: Literal['unbiased', 'bernoulli'],
    n: Array,
    c: Array,
    k: Array,
) -> Result: ...
def passk_beta(
    *,
    alpha: float,
    beta: float,
    k: Array,
) -> Result: ...
def passk_beta_fit(
    *,
    n: Array,
    c: Array,
    k: Optional[Array] = None,
) -> Result: ...
def passk_more(
    *,
    n: Array,
    c: Array,
    budget: int,
    enough: Optional[int] = None,
    round: Optional[int] = None,
) -> Result: ...
def passk_reward(
    *,
    rewards: Array,
    k: int,
) -> Result: ...
def length_penalty(
    *,
    kind: Literal['uniform', 'group', 'anchor'],
    rewards: Array,
    lengths: Array,
    coef: Optional[float] = None,
    group_index: Optional[Array] = None,
    anchor: Optional[Array] = None,
) -> Result: ...
def process_advantage(
    *,
    response_mask: Array,
    event: Array,
    token_level_rewards: Array,
    group_index: Array,
    cu_seqlens: Optional[Array] = None,
) -> Result: ...
def marginal_utility(
    *,
    prefix_values: Array,
) -> Result: ...
def offpolicy_metrics(
    *,
    response_mask: Array,
    train_log_prob: Array,
    rollout_log_prob: Array,
    cu_seqlens: Optional[Array] = None,
) -> Result: ...
def rollout_correction(
    *,
    response_mask: Array,
    train_log_prob: Array,
    rollout_log_prob: Array,
    rollout_is: Optional[Literal['none', 'token', 'sequence']] = None,
    rollout_is_threshold: Optional[float] = None,
    rollout_is_batch_normalize: Optional[bool] = None,
    rollout_rs: Optional[str] = None,
    rollout_rs_threshold: Optional[Union[str, float]] = None,
    cu_seqlens: Optional[Array] = None,
) -> Result: ...
def correction_tree(
    *,
    engine: Literal['same', 'different'],
    synchrony: Literal['synchronous', 'asynchronous'],
    model: Literal['dense', 'moe'],
    trajectory: Literal['single', 'agentic'],
    global_batch: float,
    mini_batch: float,
) -> Result: ...
def compose_corrections(
    *,
    loss_agg_mode: Literal['token-mean', 'seq-mean-token-sum', 'seq-mean-token-mean', 'seq-mean-token-sum-norm'],
    response_mask: Array,
    log_prob: Array,
    advantages: Array,
    proximal_log_prob: Optional[Array] = None,
    behaviour_log_prob: Optional[Array] = None,
    sampler_log_prob: Optional[Array] = None,
    tool_mask: Optional[Array] = None,
    turn_id: Optional[Array] = None,
    backend_cap: Optional[float] = None,
    staleness_cap: Optional[float] = None,
    per_turn: Optional[bool] = None,
    clip_ratio_low: Optional[float] = None,
    clip_ratio_high: Optional[float] = None,
    clip_ratio_c: Optional[float] = None,
    tau_pos: Optional[float] = None,
    tau_neg: Optional[float] = None,
    opsm_lower: Optional[float] = None,
    opsm_upper: Optional[float] = None,
    opsm_unit: Optional[Literal['row', 'turn']] = None,
    opsm_per_token: Optional[bool] = None,
    opsm_negative_only: Optional[bool] = None,
    replay: Optional[Literal['none', 'R2', 'R3']] = None,
    sampler_routes: Optional[Array] = None,
    training_routes: Optional[Array] = None,
    used_routes: Optional[Array] = None,
    n_experts: Optional[int] = None,
    dp_size: Optional[float] = None,
    batch_num_tokens: Optional[float] = None,
    global_batch_size: Optional[float] = None,
    loss_scale_factor: Optional[float] = None,
    cu_seqlens: Optional[Array] = None,
) -> Result: ...
def routing_replay(
    *,
    response_mask: Array,
    sampler_routes: Array,
    used_routes: Array,
    n_experts: int,
    check_replayed: Optional[bool] = None,
    global_batch: Optional[float] = None,
    mini_batch: Optional[float] = None,
    cu_seqlens: Optional[Array] = None,
) -> Result: ...
def diagnostics(
    *,
    response_mask: Array,
    train_log_prob: Array,
    rollout_log_prob: Array,
    clip_ratio_low: Optional[float] = None,
    clip_ratio_high: Optional[float] = None,
    cu_seqlens: Optional[Array] = None,
) -> Result: ...
def opsm(
    *,
    response_mask: Array,
    train_log_prob: Array,
    rollout_log_prob: Array,
    unit: Optional[Literal['row', 'turn']] = None,
    turn_id: Optional[Array] = None,
    lower: Optional[float] = None,
    upper: Optional[float] = None,
    per_token: Optional[bool] = None,
    negative_only: Optional[bool] = None,
    advantages: Optional[Array] = None,
    cu_seqlens: Optional[Array] = None,
) -> Result: ...
def staleness_admission(
    *,
    generated: Array,
    batch_size: Array,
    policy_version: Array,
    max_staleness: Array,
) -> Result: ...
def envelope(
    *,
    parameters: float,
    capacity_bytes: float,
    training: Optional[Literal['none', 'lora', 'all']] = None,
    bytes_per_parameter: Optional[float] = None,
    lora_factor: Optional[float] = None,
    optimizer_states: Optional[float] = None,
    optimizer_bytes: Optional[float] = None,
    activation_bytes: Optional[float] = None,
    n_layers: Optional[float] = None,
    kv_width: Optional[float] = None,
    kv_bytes: Optional[float] = None,
    context: Optional[float] = None,
    sequences: Optional[float] = None,
    kv_cache_bytes: Optional[float] = None,
    gain_forward_bytes: Optional[float] = None,
    retriever_bytes: Optional[float] = None,
) -> Result: ...
def bypass_loss(
    *,
    loss_type: Literal['ppo_clip', 'reinforce'],
    loss_agg_mode: Literal['token-mean', 'seq-mean-token-sum', 'seq-mean-token-mean', 'seq-mean-token-sum-norm'],
    response_mask: Array,
    log_prob: Array,
    rollout_log_prob: Array,
    advantages: Array,
    clip_ratio_low: Optional[float] = None,
    clip_ratio_high: Optional[float] = None,
    clip_ratio_c: Optional[float] = None,
    tau_pos: Optional[float] = None,
    tau_neg: Optional[float] = None,
    rollout_is: Optional[Literal['none', 'token', 'sequence']] = None,
    rollout_is_threshold: Optional[float] = None,
    rollout_is_batch_normalize: Optional[bool] = None,
    rollout_rs: Optional[str] = None,
    rollout_rs_threshold: Optional[Union[str, float]] = None,
    dp_size: Optional[float] = None,
    batch_num_tokens: Optional[float] = None,
    global_batch_size: Optional[float] = None,
    loss_scale_factor: Optional[float] = None,
    cu_seqlens: Optional[Array] = None,
) -> Result: ...
def decoupled_loss(
    *,
    loss_agg_mode: Literal['token-mean', 'seq-mean-token-sum', 'seq-mean-token-mean', 'seq-mean-token-sum-norm'],
    response_mask: Array,
    log_prob: Array,
    proximal_log_prob: Array,
    rollout_log_prob: Array,
    advantages: Array,
    clip_ratio_low: Optional[float] = None,
    clip_ratio_high: Optional[float] = None,
    clip_ratio_c: Optional[float] = None,
    tau_pos: Optional[float] = None,
    tau_neg: Optional[float] = None,
    rollout_is: Optional[Literal['none', 'token', 'sequence']] = None,
    rollout_is_threshold: Optional[float] = None,
    rollout_is_batch_normalize: Optional[bool] = None,
    rollout_rs: Optional[str] = None,
    rollout_rs_threshold: Optional[Union[str, float]] = None,
    dp_size: Optional[float] = None,
    batch_num_tokens: Optional[float] = None,
    global_batch_size: Optional[float] = None,
    loss_scale_factor: Optional[float] = None,
    cu_seqlens: Optional[Array] = None,
) -> Result: ...
def distillation(
    *,
    response_mask: Array,
    log_prob: Array,
    teacher_log_prob: Array,
    rl_advantages: Array,
    group_index: Array,
    rewards: Array,
    pass_rate_threshold: float,
    horizon: int,
    normalise: bool,
    kd_coef: float,
    cu_seqlens: Optional[Array] = None,
) -> Result: ...
def prm_advantage(
    *,
    scheme: Literal['decouple', 'allocation'],
    group_ids: Array,
    step_ids: Array,
    step_flags: Array,
    token_level_rewards: Array,
    orm_distribution: Optional[Literal['last_step', 'all_steps', 'only_prm']] = None,
    consistent_scale: Optional[float] = None,
    pos_unconsistent_scale: Optional[float] = None,
    neg_unconsistent_scale: Optional[float] = None,
    eps: Optional[float] = None,
    do_batch_norm: Optional[bool] = None,
    equal_trajectory_weight: Optional[bool] = None,
    fix_base: Optional[float] = None,
    alpha: Optional[float] = None,
    enable_length_normalization: Optional[bool] = None,
    cu_seqlens: Optional[Array] = None,
) -> Result: ...
def prm_schedule(
    *,
    enable: bool,
    global_step: int,
    prm_steps: int,
    alpha: float,
    token_level_rewards: Optional[Array] = None,
    step_flags: Optional[Array] = None,
    enable_adca_metric: Optional[bool] = None,
    alpha_cosine_decay_enable: Optional[bool] = None,
    alpha_min: Optional[float] = None,
    alpha_progress: Optional[float] = None,
    total_steps: Optional[int] = None,
    neg_unconsistent_scale: Optional[float] = None,
    cu_seqlens: Optional[Array] = None,
) -> Result: ...
def prm_steps(
    *,
    step_rewards: Array,
    step_ids: Array,
    cu_seqlens: Optional[Array] = None,
) -> Result: ...
def prime_loss(
    *,
    rl_loss: Literal['default', 'ipo'],
    trainer_logprobs: Array,
    inference_logprobs: Array,
    advantages: Array,
    loss_mask: Array,
    rl_scale: Optional[float] = None,
    ce_scale: Optional[float] = None,
    ref_kl_scale: Optional[float] = None,
    dppo_mask_low: Optional[float] = None,
    dppo_mask_high: Optional[float] = None,
    ipo_threshold: Optional[float] = None,
    adv_tau: Optional[float] = None,
    kl_tau: Optional[float] = None,
    ref_logprobs: Optional[Array] = None,
    rl_weights: Optional[Array] = None,
    ce_weights: Optional[Array] = None,
    ref_kl_weights: Optional[Array] = None,
    cu_seqlens: Optional[Array] = None,
) -> Result: ...
def prime_pack(
    *,
    seq_len: int,
    num_train_workers: int,
    pad_to_multiple_of: int,
    samples: Union[Sequence[Any], Mapping[str, Any], float],
    cost_linear: Optional[float] = None,
    cost_quadratic: Optional[float] = None,
) -> Result: ...
def prime_advantage(
    *,
    algorithm: str,
    groups: Union[Sequence[Any], Mapping[str, Any], float],
    length_penalty: Optional[Union[Sequence[Any], Mapping[str, Any], float]] = None,
    episode_agents: Optional[Union[Sequence[Any], Mapping[str, Any], float]] = None,
    decay: Optional[float] = None,
) -> Result: ...
def prime_streams(
    *,
    algorithm: str,
    nodes: Union[Sequence[Any], Mapping[str, Any], float],
    branches: Union[Sequence[Any], Mapping[str, Any], float],
    advantage: Optional[Union[Sequence[Any], Mapping[str, Any], float]] = None,
    role_weights: Optional[Union[Sequence[Any], Mapping[str, Any], float]] = None,
    ref_logprobs: Optional[Union[Sequence[Any], Mapping[str, Any], float]] = None,
    filter: Optional[Union[Sequence[Any], Mapping[str, Any], float]] = None,
) -> Result: ...

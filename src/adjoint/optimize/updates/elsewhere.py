"""Names of optax, torch and Keras for rules and schedules, and what is written here instead."""

from __future__ import annotations

__all__ = ["ELSEWHERE"]

# what others call it → what is written here
ELSEWHERE: dict[str, str] = {
    "apply_updates": "apply(params, step)",
    "clip_by_global_norm": "clip_by_norm(most)",
    **dict.fromkeys(("clip", "clip_grad_value_"), "clip_by_value(most)"),
    "clip_grad_norm_": "clip_by_norm(most), in a chain before the rule",
    "clip_by_block_rms": "clip_by_leaf_norm(most)",
    "ema": "averaged(rule, decay), read by average(state)",
    **dict.fromkeys(("incremental_update", "EMA", "AveragedModel", "swa_utils"), "averaged(rule, decay)"),
    **dict.fromkeys(("MultiSteps", "apply_every"), "accumulate(rule, steps), or fit(…, accumulate=steps)"),
    **dict.fromkeys(("multi_transform", "partition", "param_groups"), "groups"),
    **dict.fromkeys(("set_to_zero", "freeze"), "frozen"),
    "inject_hyperparams": "nothing: the numbers of a rule are arrays in it",
    "GradientTransformation": "Rule", "Optimizer": "Rule",
    "step": "update(gradient, state, params) of a rule",
    "zero_grad": "nothing: ad.grad returns gradients, and adds them nowhere",
    "Adam": "adam", "AdamW": "adamw", "SGD": "sgd, momentum or nesterov", "RMSprop": "rmsprop", "Adagrad": "adagrad",
    "Adadelta": "adadelta", "Adamax": "adamax", "NAdam": "nadam", "Nadam": "nadam", "RAdam": "radam", "Lion": "lion",
    "LBFGS": 'ad.optimize.minimize(method="L-BFGS-B")',
    "constant_schedule": "constant(value)",
    **dict.fromkeys(("cosine_decay_schedule", "CosineAnnealingLR", "CosineDecay"), "cosine(start, steps, end)"),
    **dict.fromkeys(("sgdr_schedule", "CosineAnnealingWarmRestarts", "CosineDecayRestarts"), "cosine_restarts"),
    **dict.fromkeys(
        ("warmup_cosine_decay_schedule", "warmup_constant_schedule", "warmup", "LinearLR"),
        "warm_up(steps, cosine(peak, rest))",
    ),
    **dict.fromkeys(("exponential_decay", "ExponentialLR", "ExponentialDecay"), "exponential(start, rate, steps)"),
    **dict.fromkeys(("piecewise_constant_schedule", "MultiStepLR", "PiecewiseConstantDecay"), "piecewise"),
    "StepLR": "exponential(start, rate, steps, staircase=True)",
    **dict.fromkeys(("linear_schedule", "linear_onecycle_schedule"), "linear(start, end, steps)"),
    **dict.fromkeys(("polynomial_schedule", "PolynomialLR", "PolynomialDecay"), "polynomial(start, end, steps, power)"),
    **dict.fromkeys(("cosine_onecycle_schedule", "OneCycleLR", "onecycle"), "one_cycle(peak, steps)"),
    **dict.fromkeys(("join_schedules", "SequentialLR"), "join(schedules, at)"),
    **dict.fromkeys(("ReduceLROnPlateau", "reduce_on_plateau"), "on_plateau"),
    **dict.fromkeys(("LambdaLR", "lr_scheduler", "schedule"), "any function of the count of updates, as a rate"),
}  # fmt: skip

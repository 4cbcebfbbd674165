"""Record what OmniSafe 0.5.0 and PyTorch compute, as data for tests/learners/test_peer.py.

Run once, in an environment of its own, with OmniSafe's wheel unpacked (it does not install on
current Python):
    pip install torch gymnasium
    pip download --no-deps omnisafe==0.5.0 && unzip omnisafe-0.5.0-*.whl -d peer
    python benchmarks/record_omnisafe.py peer tests/data/omnisafe/arithmetic.json
Its multipliers, normaliser and advantage buffer are called as they are. The minibatch is PyTorch's
autograd and Adam on the losses that PAPER and peer describe: its arithmetic is independent of ours.
"""

import importlib
import json
import sys
import types
from pathlib import Path

import numpy as np
import torch  # type: ignore[import-not-found]


def peer(folder):
    """OmniSafe's modules without its package imports, which need an environment that is hard to
    come by.
    """
    for name in ("omnisafe", "omnisafe.common", "omnisafe.common.buffer", "omnisafe.utils"):
        package = types.ModuleType(name)
        package.__path__ = [f"{folder}/{name.replace('.', '/')}"]
        sys.modules[name] = package
    return lambda name: importlib.import_module(f"omnisafe.{name}")


def ascent(module, costs):
    rule = module("common.lagrange").Lagrange(25.0, 1.0, 0.035, "Adam")
    found = []
    for cost in costs:
        rule.update_lagrange_multiplier(cost)
        found.append(float(rule.lagrangian_multiplier.detach()))
    return found


def pid(module, costs, **gains):
    rule = module("common.pid_lagrange").PIDLagrangian(
        pid_d_delay=10,
        pid_delta_p_ema_alpha=0.95,
        pid_delta_d_ema_alpha=0.95,
        sum_norm=False,
        diff_norm=False,
        penalty_max=100,
        lagrangian_multiplier_init=1.0,
        cost_limit=25.0,
        **gains,
    )
    found = []
    for cost in costs:
        rule.pid_update(cost)
        found.append(float(rule.lagrangian_multiplier))
    return found


def normaliser(module, batches):
    norm = module("common.normalizer").Normalizer((3,), clip=5)
    return [norm.normalize(torch.tensor(batch, dtype=torch.float32)).tolist() for batch in batches]


def gae(module, rng):
    from gymnasium.spaces import Box

    size, lengths = 12, [5, 4, 3]
    box = Box(-1, 1, (1,))
    buffer = module("common.buffer.onpolicy_buffer").OnPolicyBuffer(
        box, box, size, 0.99, 0.95, 0.95, "gae", standardized_adv_r=True, standardized_adv_c=True
    )
    data = {key: rng.normal(size=size).round(3) for key in ("reward", "cost", "value_r", "value_c")}
    last = rng.normal(size=(len(lengths), 2)).round(3)
    last[1] = 0.0  # the second path terminates
    step = 0
    for length, (last_r, last_c) in zip(lengths, last, strict=True):
        for _ in range(length):
            row = {key: torch.tensor(float(value[step])) for key, value in data.items()}
            buffer.store(obs=torch.zeros(1), act=torch.zeros(1), logp=torch.tensor(0.0), **row)
            step += 1
        buffer.finish_path(torch.tensor([float(last_r)]), torch.tensor([float(last_c)]))
    got = buffer.get()
    result = {
        key: got[key].tolist() for key in ("adv_r", "adv_c", "target_value_r", "target_value_c")
    }
    return (
        {key: value.tolist() for key, value in data.items()}
        | {"last": last.tolist(), "lengths": lengths}
        | result
    )


def minibatch(rng):
    """Two minibatches with reward-scale invariance, from given weights."""
    torch.set_default_dtype(torch.float64)
    sizes, n, lam = [(4, 6), (6, 6), (6, 2)], 16, 0.7
    draw = lambda *shape: torch.tensor(rng.normal(size=shape) * 0.5)
    actor = [draw(*shape).requires_grad_() for a, b in sizes for shape in ((a, b), (b,))]
    log_std = torch.tensor([-0.3, 0.2]).requires_grad_()
    critics = [
        [draw(*s).requires_grad_() for a, b in [*sizes[:2], (6, 1)] for s in ((a, b), (b,))]
        for _ in range(2)
    ]
    names = ("obs", "action", "advantage", "target", "log_prob")
    data = dict(
        zip(names, (draw(n, 4), draw(n, 2), draw(n, 2), draw(n, 2), draw(n) - 2), strict=True)
    )
    start = {"actor": actor, "log_std": log_std, "critics": critics}
    record = {"data": _lists(data), "start": _lists(start), "lambda": lam, "steps": []}
    adams = [
        torch.optim.Adam([*actor, log_std], lr=3e-4),
        *(torch.optim.Adam(c, lr=3e-4) for c in critics),
    ]
    beta = None
    for _ in range(2):
        for i, critic in enumerate(critics):
            loss = ((_mlp(critic, data["obs"])[:, 0] - data["target"][:, i]) ** 2).mean()
            loss = loss + 0.001 * sum((p**2).sum() for p in critic)
            _descend(adams[1 + i], loss, critic)
        policy = torch.distributions.Normal(_mlp(actor, data["obs"]), log_std.exp())
        ratio = (policy.log_prob(data["action"]).sum(-1) - data["log_prob"]).exp()
        norms = [
            _norm((ratio * data["advantage"][:, i]).mean(), [*actor, log_std]) for i in range(2)
        ]
        now = norms[0] / (norms[1] + 1e-8)
        beta = now if beta is None else 0.9 * beta + 0.1 * now
        adv = (data["advantage"][:, 0] - lam * beta * data["advantage"][:, 1]) / (1 + lam)
        loss = -torch.min(ratio * adv, ratio.clamp(0.8, 1.2) * adv).mean()
        _descend(adams[0], loss, [*actor, log_std])
        record["steps"].append({"beta": float(beta), "loss": loss.item(), "params": _lists(start)})
    return record


def _mlp(params, x):
    for w, b in zip(params[:-2:2], params[1:-2:2], strict=True):
        x = torch.nn.functional.elu(x @ w + b)
    return x @ params[-2] + params[-1]


def _norm(objective, params):
    grads = torch.autograd.grad(objective, params, retain_graph=True)
    return float(torch.sqrt(sum((g**2).sum() for g in grads)))


def _descend(optimiser, loss, params):
    optimiser.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(params, 40.0)
    optimiser.step()


def _lists(tree):
    if isinstance(tree, dict):
        return {key: _lists(value) for key, value in tree.items()}
    return [_lists(item) for item in tree] if isinstance(tree, list) else tree.detach().tolist()


def main(folder, out):
    module, rng = peer(folder), np.random.default_rng(0)
    costs = [
        60.0,
        55.5,
        80.25,
        40.0,
        30.0,
        24.0,
        10.0,
        0.0,
        0.0,
        5.0,
        12.0,
        26.0,
        50.0,
        90.0,
        25.0,
        3.0,
        0.0,
        0.0,
    ]
    batches = [rng.normal(3.0, 2.0, size=(4, 3)).round(3).tolist() for _ in range(6)]
    study, strong = (
        {"pid_kp": 1e-4, "pid_ki": 1e-4, "pid_kd": 0.0},
        {"pid_kp": 0.1, "pid_ki": 0.01, "pid_kd": 0.5},
    )
    record = {
        "costs": costs,
        "ascent": ascent(module, costs),
        "pid_study": pid(module, costs, **study),
        "pid_strong": pid(module, costs, **strong),
        "batches": batches,
        "normalised": normaliser(module, batches),
        "gae": gae(module, rng),
        "minibatch": minibatch(rng),
    }
    Path(out).write_text(json.dumps(record))


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Record updates of SAC that PyTorch computes, as data for tests/learners/test_sac.py.

Run once, in an environment of its own:
    pip install torch
    python benchmarks/record_sac.py tests/data/sac.json
The networks, losses, temperature and targets are PyTorch's autograd and Adam on what the published
study and OmniSafe describe: its arithmetic is independent of ours. Noise is recorded too, since
random numbers of both differ.
"""

import itertools
import json
import sys
from pathlib import Path

import numpy as np
import torch  # type: ignore[import-not-found]
from torch import nn  # type: ignore[import-not-found]

OBS, ACTIONS, COSTS, HIDDEN, BATCH, LOOK = 4, 2, 2, (6, 5), 16, 8
UPDATES, LOOK_EVERY = 4, 2
LAM = (0.7, 1.6)
GAMMA, COST_GAMMA, POLYAK = 0.99, 0.97, 0.005
ACTOR_LR, CRITIC_LR, MAX_NORM, EMA = 1e-3, 3e-3, 0.5, 0.9


def network(inputs, outputs):
    """A multi-layer perceptron with ELU."""
    widths = [inputs, *HIDDEN]
    layers = []
    for before, after in itertools.pairwise(widths):
        layers += [nn.Linear(before, after), nn.ELU()]
    return nn.Sequential(*layers, nn.Linear(widths[-1], outputs)).double()


def weights(net):
    """Weights [in, out] and biases of each layer."""
    layers = [layer for layer in net if isinstance(layer, nn.Linear)]
    return [[layer.weight.T.tolist(), layer.bias.tolist()] for layer in layers]


def policy(actor, obs, noise):
    """Actions, their log density and the mean's tanh."""
    mean, log_std = actor(obs).chunk(2, -1)
    normal = torch.distributions.Normal(mean, log_std.clamp(-20, 2).exp())
    x = mean + normal.stddev * noise
    stretch = 2 * (np.log(2.0) - x - nn.functional.softplus(-2 * x))
    return torch.tanh(x), (normal.log_prob(x) - stretch).sum(-1), torch.tanh(mean)


class Peer:
    """Networks, their optimisers and beta."""

    def __init__(self, tuned):
        self.tuned = tuned
        self.actor = network(OBS, 2 * ACTIONS)
        value = lambda: network(OBS + ACTIONS, 1)
        self.critics = [value() for _ in range(2 + COSTS)]  # the first two are the reward's
        self.targets = [value() for _ in self.critics]
        for target, critic in zip(self.targets, self.critics, strict=True):
            target.load_state_dict(critic.state_dict())
        self.log_alpha = torch.zeros((), dtype=torch.float64, requires_grad=True)
        self.actor_adam = torch.optim.Adam(self.actor.parameters(), ACTOR_LR)
        self.twins = [*self.critics[0].parameters(), *self.critics[1].parameters()]
        self.reward_adam = torch.optim.Adam(self.twins, CRITIC_LR)
        self.cost_adams = [torch.optim.Adam(c.parameters(), CRITIC_LR) for c in self.critics[2:]]
        self.alpha_adam = torch.optim.Adam([self.log_alpha], CRITIC_LR)
        self.beta = torch.zeros(COSTS).double()
        self.looks = 0

    @property
    def alpha(self):
        return self.log_alpha.exp().detach() if self.tuned else torch.tensor(0.05).double()

    def value(self, net, obs, action):
        return net(torch.cat([obs, action], -1))[:, 0]

    def descend(self, optimiser, loss, parameters):
        """One step; the gradient's norm before it is clipped."""
        optimiser.zero_grad()
        loss.backward()
        parameters = list(parameters)
        size = nn.utils.clip_grad_norm_(parameters, MAX_NORM)
        optimiser.step()
        return float(size)

    def losses(self, obs, noise):
        """Of the actor: reward's, costs'; and the mean log density."""
        action, log_prob, _ = policy(self.actor, obs, noise)
        first, second = (self.value(net, obs, action) for net in self.critics[:2])
        reward = (self.alpha * log_prob - torch.min(first, second)).mean()
        costs = [self.value(net, obs, action).mean() for net in self.critics[2:]]
        return reward, costs, log_prob.mean()

    def look(self, obs, noise):
        """The norms of the actor's gradients, and beta after them."""
        reward, costs, _ = self.losses(obs, noise)
        norms = []
        for loss in (reward, *costs):
            grads = torch.autograd.grad(loss, list(self.actor.parameters()), retain_graph=True)
            norms.append(torch.sqrt(sum((grad**2).sum() for grad in grads)))
        now = torch.stack([norms[0] / (norm + 1e-8) for norm in norms[1:]])
        self.beta = now if self.looks == 0 else EMA * self.beta + (1 - EMA) * now
        self.looks += 1
        return [float(norm) for norm in norms]

    def update(self, number, batch, noise):
        obs, next_obs, action, signal, goes_on = batch
        with torch.no_grad():
            after, log_prob, mean = policy(self.actor, next_obs, noise["next"])
            worth = torch.min(*(self.value(net, next_obs, after) for net in self.targets[:2]))
            of_reward = signal[:, 0] + GAMMA * goes_on * (worth - self.alpha * log_prob)
            of_costs = []
            for i, net in enumerate(self.targets[2:]):
                value = self.value(net, next_obs, mean)
                of_costs.append(signal[:, 1 + i] + COST_GAMMA * goes_on * value)
        mse = nn.functional.mse_loss
        first, second = (mse(self.value(net, obs, action), of_reward) for net in self.critics[:2])
        loss_q = first + second
        sizes = [self.descend(self.reward_adam, loss_q, self.twins)]
        loss_qc = []
        for net, adam, target in zip(self.critics[2:], self.cost_adams, of_costs, strict=True):
            loss = mse(self.value(net, obs, action), target)
            sizes.append(self.descend(adam, loss, net.parameters()))
            loss_qc.append(float(loss.detach()))
        found = {"loss_q": float(loss_q.detach()), "loss_qc": loss_qc, "sizes": sizes}
        if number % 2 == 0:
            found |= self.move(number, obs, noise)
        return found | self.parameters()

    def move(self, number, obs, noise):
        norms = None
        if number // 2 == 1 or (number // 2) % LOOK_EVERY == 0:
            norms = self.look(obs[noise["places"]], noise["look"])
        reward, costs, log_prob = self.losses(obs, noise["actor"])
        priced = sum(
            lam * beta * cost for lam, beta, cost in zip(LAM, self.beta, costs, strict=True)
        )
        loss = (reward + priced) / (1 + sum(LAM))
        size = self.descend(self.actor_adam, loss, self.actor.parameters())
        if self.tuned:
            with torch.no_grad():
                _, fresh, _ = policy(self.actor, obs, noise["alpha"])
            self.alpha_adam.zero_grad()
            (-self.log_alpha * (fresh - ACTIONS).mean()).backward()
            self.alpha_adam.step()
        with torch.no_grad():
            for target, critic in zip(self.targets, self.critics, strict=True):
                for own, net in zip(target.parameters(), critic.parameters(), strict=True):
                    own.mul_(1 - POLYAK).add_(POLYAK * net)
        return {
            "loss_pi": float(loss.detach()),
            "log_prob": float(log_prob.detach()),
            "grad_pi": size,
            "norms": norms,
            "beta": self.beta.tolist(),
            "log_alpha": float(self.log_alpha.detach()),
        }

    def parameters(self):
        return {
            "actor": weights(self.actor),
            "critics": [weights(net) for net in self.critics],
            "targets": [weights(net) for net in self.targets],
        }


def record(tuned):
    peer = Peer(tuned)
    rng = np.random.default_rng(7)
    start = peer.parameters()
    updates = []
    for number in range(1, UPDATES + 1):
        draw = lambda *shape: rng.normal(size=shape).round(4)
        data = {
            "obs": draw(BATCH, OBS),
            "next_obs": draw(BATCH, OBS),
            "action": np.tanh(draw(BATCH, ACTIONS)),
            "signal": draw(BATCH, 1 + COSTS),
            "goes_on": (rng.random(BATCH) < 0.8).astype(float),
        }
        noise = {
            "next": draw(BATCH, ACTIONS),
            "actor": draw(BATCH, ACTIONS),
            "alpha": draw(BATCH, ACTIONS),
            "look": draw(LOOK, ACTIONS),
            "places": rng.integers(0, BATCH, LOOK),
        }
        batch = [torch.tensor(value) for value in data.values()]
        found = peer.update(number, batch, {key: torch.tensor(x) for key, x in noise.items()})
        lists = {key: value.tolist() for key, value in (data | noise).items()}
        updates.append({"given": lists, "found": found})
    return {"start": start, "updates": updates}


if __name__ == "__main__":
    torch.manual_seed(3)
    settings = {
        "lam": LAM,
        "hidden": HIDDEN,
        "gamma": GAMMA,
        "cost_gamma": COST_GAMMA,
        "actor_lr": ACTOR_LR,
        "critic_lr": CRITIC_LR,
        "max_grad_norm": MAX_NORM,
        "rsi_every": LOOK_EVERY,
    }
    records = {"settings": settings, "fixed": record(tuned=False), "tuned": record(tuned=True)}
    Path(sys.argv[1]).write_text(json.dumps(records))

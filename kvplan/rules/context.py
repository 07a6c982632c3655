"""What a rule may look at: the deployment as its file has it, and what came out of judging it."""

from __future__ import annotations

from dataclasses import dataclass, field

from kvplan.assess.frame import Frame
from kvplan.assess.longest import tokens_at_load
from kvplan.deployments.as_words import Translated
from kvplan.deployments.found import FoundDeployment, Place
from kvplan.domain.assessment import Assessment, StrategyAssessment
from kvplan.domain.deployment import Deployment
from kvplan.domain.host import Host
from kvplan.domain.lengths import Lengths
from kvplan.domain.model import Model
from kvplan.rules.gpu_share import GpuShare

LENGTHENING = ("hf_overrides", "rope_scaling", "allow_long_max_model_len")
"""Settings under which a model takes more tokens than its config states."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that the look-up met; the rule of its id turns it into a finding."""

    rule: str
    level: str
    message: str
    place: Place
    remedy: str | None = None
    figures: dict[str, float | str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Judged:
    """A deployment that could be looked up and judged."""

    frame: Frame
    assessment: Assessment
    configured: StrategyAssessment
    """The strategy that the file's settings amount to; of several named ones the best."""
    share: GpuShare | None
    """How one GPU is used; None where the layout or a missing kernel makes that pointless."""
    length_tokens: int | None
    """The longest request that the engine must hold; None where it fits the length to the pool itself."""
    length_by: str
    """What says so: ``max_model_len``, ``model`` or ``context``."""

    @property
    def deployment(self) -> Deployment:
        return self.frame.deployment

    @property
    def load_tokens(self) -> float:
        """Mean tokens of a sequence under the whole load."""
        return tokens_at_load(self.deployment, self.frame.situation.policy).best

    @property
    def load_words(self) -> str:
        """``32,768 tokens``, or ``8,579 tokens on average``."""
        spread = " on average" if self.load_tokens != self.deployment.workload.context_tokens else ""
        return f"{self.load_tokens:,.0f} tokens{spread}"


@dataclass(frozen=True, slots=True)
class Context:
    """One found deployment."""

    found: FoundDeployment
    translated: Translated
    problems: tuple[Problem, ...]
    model: Model | None = None
    host: Host | None = None
    judged: Judged | None = None
    lengths: Lengths | None = None
    """Of a workload whose ``context`` states more than one length."""
    declared_model: Model | None = None
    """As its config has it: ``model`` may be changed by settings, its windows by a hybrid manager that is off."""
    mates: tuple[FoundDeployment, ...] = ()
    """Deployments of the same file on one of the same GPUs."""

    def has(self, *names: str) -> bool:
        """Whether the file has any of these settings."""
        return any(name in self.found.settings for name in names)

    def number(self, name: str, default: float = 0.0) -> float:
        """A numeric setting."""
        value = self.translated.number(name)
        return default if value is None else value

    def stated(self, rule: str) -> bool:
        """Whether the look-up met a problem of this rule."""
        return any(problem.rule == rule for problem in self.problems)

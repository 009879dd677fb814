# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""What a campaign of faults finds, as the report needs it."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Tried:
    """One fault that was tried.

    Attributes:
        name: Of the fault.
        group: What it is about.
        was_moving: Whether the robot drove when it began.
        reaction: Seconds until the last velocity other than zero; None: it need not stop.
        stall: Seconds for which this machine kept the observer from running meanwhile.
        violations: What did not hold; empty: survived.
    """

    name: str
    group: str
    was_moving: bool
    reaction: float | None = None
    stall: float = 0.0
    violations: list[str] = field(default_factory=list)


@dataclass
class Findings:
    """All of a campaign.

    Attributes:
        tried: Faults in their order.
        general: Violations that belong to no fault.
        outcomes: How many instructions ended in which way.
        latencies: (time in the campaign, time until an instruction was answered), s.
        memory: (time in the campaign, resident bytes) by process.
        starts: Times that the stack was started.
        seconds: Length of the campaign.
    """

    tried: list[Tried] = field(default_factory=list)
    general: list[str] = field(default_factory=list)
    outcomes: dict[str, int] = field(default_factory=dict)
    latencies: list[tuple[float, float]] = field(default_factory=list)
    memory: dict[str, list[tuple[float, float]]] = field(default_factory=dict)
    starts: int = 0
    seconds: float = 0.0

    @property
    def num_violations(self) -> int:
        """Invariants that were broken."""
        return sum(len(one.violations) for one in self.tried) + len(self.general)

    def count(self, outcome: str) -> None:
        """Count how an instruction ended."""
        self.outcomes[outcome] = self.outcomes.get(outcome, 0) + 1

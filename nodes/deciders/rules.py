"""A decider that follows an agent's rules: read what is missing, do what is needed, say honestly when nothing is."""

from __future__ import annotations

from nodes.deciders.decider import View
from state.budget import Usage
from state.operation import Proposal
from tools.contract import CancelToken


class RuleDecider:
    """Proposes what the view's expectation says."""

    name = "rules"

    def propose(self, view: View, token: CancelToken) -> Proposal:
        del token
        wanted = view.expectation
        if wanted.read is not None:
            return Proposal(kind="actions", actions=[wanted.read], summary=wanted.explanation[:4000])
        if wanted.effect is not None:
            return Proposal(kind="actions", actions=[wanted.effect], summary=wanted.explanation[:4000])
        claim = "insufficient_evidence" if wanted.kind == "insufficient_evidence" else "nothing_to_do"
        return Proposal(kind="final", claim=claim, summary=wanted.explanation[:4000])

    def worst_case(self) -> Usage:
        return Usage()

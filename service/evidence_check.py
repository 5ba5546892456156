"""Checks an evidence document of Remit, alone: python evidence_check.py FILE. Exit 0: it holds; 1: it does not.

Standard library only, nothing of Remit, no database. Whether the document is the installation's own is another
question: evidence_signature.py. What is checked, and what cannot be: docs/evidence.md.
"""

import hashlib
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any, cast

Line = dict[str, Any]
SECTIONS = (
    "run agent task attempts turns operations approvals decisions standing_rules effects tries events audit pruned"
)
ENDS = "run.completed|run.failed|run.denied|run.cancelled|run.timed_out|run.budget_exceeded|run.insufficient_evidence"
OUTCOMES = "tool.call.completed|tool.call.failed|tool.call.unknown|tool.reconciled|tool.deduplicated"
REFUSALS = ("no rule permits", "stop:")  # how the rule of a ruling begins that was a no
FIELDS = "format tenant_id run_id exported sections chain head signature"
RULE, TIMES = "name version tool bounds why maker", "iso:made_at iso:until"
RULE_SAID = " ".join(f"detail.rule.{name}" for name in f"{RULE} made_at until".split())
KINDS = {"events": "type", "tries": "kind", "operations": "effect", "audit": "action"}
# For each line on the left one on the right says the same, and with = also the other way round. `section:kinds fields`;
# `.name` is what an event has in its payload. Where the first field is null there is nothing to say.
SAME = (
    "attempts fence engine started_at = events:run.started|run.resumed .attempt .engine at",
    "turns turn source decided_at = events:turn.decided .turn .source at",
    "tries:call number operation_id started_at = events:tool.call.started .try .operation_id at",
    "operations:write operation_id digest tool created_at < events:operation.planned .operation_id .digest .tool at",
    "operations principal agent_id run_id < run requester agent_id run_id",
    "approvals operation_id digest tool arguments masked resource resource_version run_id < operations:write",
    "approvals approval_id operation_id created_at = events:approval.requested .approval_id .operation_id at",
    "approvals requester run_id < run",
    "decisions at approval_id approver answer = events:approval.decided at .approval_id actor .answer",
    "decisions approval_id approver digest_seen at = events:approval.decided .approval_id actor .digest at",
    "decisions withdrawn_at approval_id approver = events:approval.withdrawn at .approval_id actor",
    "decisions approval_id digest_seen < approvals approval_id digest",
    "standing_rules approver < decisions approver",
    f"standing_rules {RULE} {TIMES} approver < audit:approval.decide {RULE_SAID} actor",
    f"audit:approval.decide {RULE_SAID} actor < standing_rules {RULE} {TIMES} approver",
    "events:tool.call.started|tool.call.completed|tool.call.failed id:.operation_id < operations id:operation_id",
    "events:approval.decided actor .answer approval:.approval_id at < audit:approval.decide actor result object at",
    "run agent_version agent_id = agent version_id agent_id",
    "run task_id requester agent_id = task",
    "run agent_version requester created_at = events:run.accepted .agent actor at",
    "run requester run:run_id created_at < audit:run.start actor object at",
    "run started_at = events:run.started at",
    "decisions policy_rule approval_id at < events:approval.decided .policy.rule .approval_id at",
    "decisions policy_version approval_id at < events:approval.decided .policy.version .approval_id at",
    f"run ended_at reason = events:{ENDS} at .reason",
)


def canonical(value: Any) -> str:
    """RFC 8785, but that whole numbers beyond 2^53 are written out."""
    if isinstance(value, dict):
        named = sorted(cast(Line, value).items(), key=lambda each: each[0].encode("utf-16-be"))
        return "{" + ",".join(f"{canonical(name)}:{canonical(each)}" for name, each in named) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, cast(list[Any], value))) + "]"
    if isinstance(value, float) and value:  # the shortest digits, as ECMAScript writes them
        digits, (mantissa, _, exponent) = Decimal(repr(value)), repr(value).partition("e")
        if -7 < digits.adjusted() < 21:
            return format(digits, "f").removesuffix(".0")
        return f"{mantissa.removesuffix('.0')}e{int(exponent):+d}"
    return "0" if isinstance(value, float) else json.dumps(value, ensure_ascii=False)


def digest(value: Any) -> str:
    return hashlib.sha256(canonical(value).encode()).hexdigest()


def picked(line: Line, fields: str) -> list[Any]:
    """`name`, `.name` of the payload, `name.name`, or `prefix:name`; `iso:name` is a time as the audit writes it."""
    found = list[Any]()
    for prefix, _, path in (each.rpartition(":") for each in fields.split()):
        first, *inner = path.split(".")
        value: Any = line[first or "payload"]
        for name in inner:
            value = cast(Line, value or {}).get(name)
        if prefix == "iso":
            value = time.strftime("%Y-%m-%dT%H:%M:%S.", time.gmtime(value // 1000)) + f"{value % 1000:03d}Z"
        found.append(f"{prefix}:{value}" if prefix not in ("", "iso") else value)
    return found


def covers(bounds: Line, use: Line) -> bool:
    """Is this use within a standing rule's bounds? What it amounts to is not in the document, nor what is masked."""
    met = {name: use.get(name) == value for name, value in bounds.items()} | {"max_amount": True}
    pattern, given = bounds.get("resource", ""), use["arguments"]
    if pattern.endswith("*") and use["resource"] is not None:
        met["resource"] = use["resource"].startswith(pattern[:-1])
    met["arguments"] = use["masked"] or canonical(given) == canonical({**given, **bounds.get("arguments", {})})
    return all(met.values())


class Check:
    """One document: `problems` say which line is wrong and why, `effects` what was claimed and how that stands."""

    def __init__(self, document: Line) -> None:
        self.document, self.sections, self.place = document, document["sections"], "document"
        self.problems, self.effects = list[str](), list[str]()
        for part in (self.chain, self.timeline, self.same, self.decisions, self.operations, self.run, self.budget):
            try:
                part()
            except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, OSError) as error:
                self.need(False, f"a field is missing or of another kind: {error!r}")

    def each(self, section: str) -> Iterator[Line]:
        """Lines of a section (`events:run.started|run.resumed`: of these kinds); `place` is the one at hand."""
        name, _, kinds = section.partition(":")
        for number, line in enumerate(self.sections[name], 1):
            self.place = f"{name}[{number}]"
            if not kinds or line[KINDS[name]] in kinds.split("|"):
                yield line

    def told(self, types: str, **payload: Any) -> list[Line]:
        """Lines of the timeline with this in their payload, in order."""
        found = [each for each in self.sections["events"] if each["type"] in types.split("|")]
        return [line for line in found if all(line["payload"].get(name) == value for name, value in payload.items())]

    def need(self, holds: object, said: str, place: str = "") -> None:
        if not holds:
            self.problems.append(f"{place or self.place}: {said}")

    def chain(self) -> None:
        parts = (self.document, FIELDS), (self.sections, SECTIONS), (self.document["chain"], SECTIONS)
        for part, names in (*parts, (self.document["signature"], "key value")):  # nobody would vouch for anything else
            strange = " ".join(sorted({*part} ^ {*names.split()}))
            self.need(not strange, f"it has other fields than its format: {strange}", "document")
        previous = digest({name: self.document[name] for name in ("format", "tenant_id", "run_id", "exported")})
        self.need(self.document["format"] == "remit-evidence/1", "this is no remit-evidence/1")
        for section in SECTIONS.split():
            chain = self.document["chain"][section]
            for number, line in enumerate(self.each(section), 1):
                previous = digest({"section": section, "number": number, "line": line, "previous": previous})
                if chain[number - 1 : number] != [previous]:
                    return self.need(False, "it was changed, moved or added, or a line before it is missing")
            self.need(len(chain) == len(self.sections[section]), "a line at its end is missing", section)
        self.need(self.document["head"] == previous, "head is not the hash of the last line", "document")
        for line in (line for section in SECTIONS.split() if section != "effects" for line in self.each(section)):
            self.need(line.get("run_id", self.document["run_id"]) == self.document["run_id"], "it is of another run")
        for section, name in (("attempts", "fence"), ("turns", "turn"), ("events", "seq")):
            for number, line in enumerate(self.each(section), 1):
                self.need(line[name] == number, "it is not the next one")
        entries = [0, *[line["entry"] for line in self.sections["audit"]]]
        self.need(entries == sorted(set(entries)), "its lines are not in their order", "audit")
        self.need(len(self.sections["run"] + self.sections["pruned"]) == 1, "it is not of one run", "document")

    def timeline(self) -> None:
        previous = "0" * 64
        for line in self.each("events"):
            hashed = {name: line[name] for name in line if name != "hash"} | {"previous": previous}
            previous = line["hash"]
            self.need(digest(hashed) == previous, "its hash is not of it and its predecessor")
        for run in self.each("run"):
            self.need(picked(run, "seq last_hash") == [len(self.sections["events"]), previous], "it ends otherwise")

    def same(self) -> None:
        for pair in SAME:
            left, both, right = pair.partition(" = ") if " = " in pair else pair.partition(" < ")
            (ours, _, fields), (theirs, _, others) = left.partition(" "), right.partition(" ")
            mine = [(self.place, canonical(picked(line, fields))) for line in self.each(ours)]
            other = [(self.place, canonical(picked(line, others or fields))) for line in self.each(theirs)]
            for these, those, said in ((mine, other, theirs), (other, mine, ours))[: 1 + (both == " = ")]:
                there = Counter(value for _, value in those)
                for place, value in these:
                    self.need(there[value] > 0 or value.startswith("[null"), f"{said} does not say so: {value}", place)
                    there[value] -= both == " = "

    def decisions(self) -> None:
        """None was by a refusal; a standing rule is there, once, was in force, and is about this."""
        asked = {each["approval_id"]: each for each in self.sections["approvals"]}
        for line in self.each("decisions"):
            self.need(not (line["policy_rule"] or "").startswith(REFUSALS), "the rule it names is a refusal")
            named, rules = line["approver"], self.sections["standing_rules"]
            its = [each for each in rules if each["approver"] == named == f"rule:{each['name']}@{each['version']}"]
            self.need(len(its) == named.startswith("rule:"), "its standing rule is not there, or twice")
            for rule in its:
                self.need(rule["made_at"] <= line["at"] < rule["until"], "its standing rule was not in force")
                use = {**asked[line["approval_id"]], "agent": self.sections["run"][0]["agent_id"]}
                self.need(rule["tool"] == use["tool"] and covers(rule["bounds"], use), "its rule does not cover it")

    def operations(self) -> None:
        seen, keys, reads = set[str](), set[str](), "tool.call.completed|tool.call.failed"
        for line in self.each("operations"):
            place, before, name = self.place, len(self.problems), line["operation_id"]
            content = {"arguments": line["arguments"], "tool": line["tool"], "version": line["tool_version"]}
            self.need(line["masked"] or line["digest"] == digest(content), "its digest is not of tool and arguments")
            where = "op_" + digest(picked(line, "run_id turn idx generation"))[:24]
            self.need(name == where and name not in seen, "it stands at another place")
            seen.add(name)
            claims = self.told("tool.call.started|tool.deduplicated", operation_id=name)
            done = line["status"] in ("dispatched", "unknown", "committed")
            if line["effect"] == "read":
                types = [each["type"] for each in self.told(reads, operation_id=name, effect="read")]
                told = {"committed": "tool.call.completed", "failed": "tool.call.failed"}.get(line["status"])
                self.need(not claims and types in ([told], [] if not done else None), "the timeline tells otherwise")
            elif claims or done:
                said = self.claimed(line, claims)
                made = line["status"] == "committed" and claims[-1]["type"] == "tool.call.started"
                self.need(not made or line["operation_key"] not in keys, "its key has a second effect", place)
                keys |= {line["operation_key"]} if made else set()
                self.effects.append(f"{'WRONG' if len(self.problems) > before else 'holds'} {place} {said}")

    def claimed(self, line: Line, claims: list[Line]) -> str:
        place, last, named = self.place, claims[-1], {"operation_id": line["operation_id"]}
        asked = [each for each in self.each("approvals") if each["operation_id"] == line["operation_id"]]
        who = [self.approved(approval, claim) for claim in claims for approval in asked][-1:] or ["no approval needed"]
        self.place, policy = place, last["payload"].get("policy")
        self.need(asked or line["policy_rule"], "neither an approval nor a policy let it happen")
        ruled = policy is None or picked(policy, "version rule") == picked(line, "policy_version policy_rule")
        self.need(ruled, "it was claimed under another rule")
        rules = [line["policy_rule"], *[each for claim in claims for each in picked(claim, ".policy.rule")]]
        self.need(not any((each or "").startswith(REFUSALS) for each in rules), "the rule it names is a refusal")
        cancelled = [each["seq"] for each in self.told("run.cancel_requested")]
        self.need(min(cancelled, default=last["seq"]) >= last["seq"], "it was claimed after somebody asked to cancel")
        outcomes = [each for each in self.told(OUTCOMES, **named) if each["seq"] >= last["seq"]]
        told = {"outcome": "committed"} | outcomes[-1]["payload"] if outcomes else {"outcome": "dispatched"}
        stands = [line["status"], line["object_id"]]
        self.need([told["outcome"], told.get("object_id")] == stands, "the timeline knows another outcome")
        passed = self.told("verification.passed", **named, object_id=line["object_id"])
        read = bool(passed) if passed or self.told("verification.failed", **named) else None
        self.need(line["verified"] is read, "the timeline knows another read-back")
        times = [last["at"], outcomes[-1]["at"] if outcomes else None]
        effects = [each for each in self.each("effects") if each["operation_key"] == line["operation_key"]]
        for effect in effects if stands[0] != "failed" else ():
            self.need(picked(effect, "digest status object_id") == [line["digest"], *stands], "it is another effect")
            ours = picked(effect, "operation_id run_id") == picked(line, "operation_id run_id")
            self.need(ours == (last["type"] == "tool.call.started"), "another operation owns its key")
            when = not ours or picked(effect, "claimed_at settled_at") == times
            self.need(when, "it was claimed or settled at other times")
        self.need(len(effects) == 1 or stands[0] == "failed", "nothing owns its key", place)
        return f"{line['operation_key']}: {line['tool']} {stands[0]} {stands[1]}; {who[0]}; read back: {read}"

    def approved(self, approval: Line, claim: Line) -> str:
        """What stood when it was claimed: the last word of each approver; a standing rule speaks for its maker."""
        answers = self.told("approval.decided|approval.withdrawn", approval_id=approval["approval_id"])
        made = [each for each in answers if each["seq"] < claim["seq"]]
        words = {each["actor"]: each["payload"].get("answer", "withdrawn") for each in made}
        self.need(all(each["at"] <= claim["at"] for each in made), "it was claimed before it was decided")
        yes = sorted(each for each, word in words.items() if word == "approve")
        rules = {each["approver"]: each for each in self.sections["standing_rules"] if each["approver"] in yes}
        for until, ended in (picked(each, "until ended_at") for each in rules.values()):
            self.need(claim["at"] < until and (ended is None or claim["at"] <= ended), "its rule was over by then")
        people, quorum = len({rules[each]["maker"] if each in rules else each for each in yes}), approval["quorum"]
        self.need(people >= quorum >= 1, f"{people} of {quorum} approvals when it was claimed")
        self.need({*words.values()} <= {"approve", "withdrawn"}, "it was claimed though somebody did not approve")
        self.need(claim["at"] < approval["expires_at"], "its approval had expired when it was claimed")
        self.need(approval["status"] == "approved", "its approval is not approved")
        asked = self.told("approval.requested", approval_id=approval["approval_id"])[0]["payload"]
        whose = [asked.get("quorum", 1), asked.get("role")] == picked(approval, "quorum role")
        self.need(whose and asked["digest"] == approval["digest"], "something else was asked, or of others")
        return f"approved by {', '.join(yes)}"

    def run(self) -> None:
        ends, writes = self.told(ENDS), [line for line in self.sections["operations"] if line["effect"] == "write"]
        states = {"unknown" if each["status"] == "dispatched" else each["status"]: each for each in writes}
        effect = next((each for each in ("unknown", "committed") if each in states), "none")
        for run in self.each("run"):
            end = {"succeeded": "run.completed"}.get(run["status"], f"run.{run['status']}")
            expected = [end] if ends or end in ENDS else []
            self.need([each["type"] for each in ends] == expected, "it has another end")
            for end in ends:
                later = any(each["seq"] > end["seq"] for each in self.told("tool.reconciled"))
                self.need(later or end["payload"].get("effect") == effect, f"its effect is {effect}")
            if run["status"] == "succeeded":
                unread = [each for each in writes if each["status"] == "committed" and each["verified"] is not True]
                self.need(effect != "unknown" and not unread, "it succeeded without a read-back of every effect")
                late = [each for each in self.told("verification.passed") if each["seq"] >= ends[-1]["seq"]]
                self.need(not late, "it succeeded before its effects were read back")

    def budget(self) -> None:
        limits = dict[str, Any]()
        for line in self.each("agent"):
            self.need(line["digest"] == digest(line["definition"]), "its digest is not of its definition")
            self.need(line["version_id"].endswith(f"+{line['digest'][:12]}"), "it is another version")
            limits = dict(line["definition"]["budget"])
        for line in self.each("task"):
            self.need(line["masked"] or line["input_digest"] == digest(line["input"]), "its digest is not of its input")
        for line in self.told("run.budget_granted"):
            limits |= line["payload"]["limits"]
        calls = [*self.told("tool.call.completed|tool.call.failed", effect="read"), *self.told("tool.call.started")]
        for run in self.each("run"):
            ours, given = ({name: each[name] and str(each[name]) for name in each} for each in (run["limits"], limits))
            self.need(ours == given, "its limits are not those of its agent and what was granted")
            used, turns = run["used"], self.sections["turns"]
            self.need(used["tool_calls"] == len(calls), "other calls were made")
            self.need(used["turns"] == run["turn"] == len(turns), "other turns were taken")
            for name in used:
                self.need(used[name] >= sum(each["usage"].get(name, 0) for each in turns), f"{name}: turns used more")
            for name in ("turns", "tool_calls"):
                self.need(limits[name] is None or used[name] <= int(limits[name]), f"{name}: more than its limit")


def once(pairs: list[tuple[str, Any]]) -> Line:
    """Raises ValueError for a name that stands twice: readers would differ about what it means."""
    if len(dict(pairs)) != len(pairs):
        raise ValueError("a name stands twice in one object")
    return dict(pairs)


def main(arguments: list[str]) -> int:
    try:
        checked = Check(json.loads(Path(arguments[0]).read_text("utf-8"), object_pairs_hook=once))
    except (IndexError, OSError, ValueError, KeyError, TypeError) as error:
        print(f"This is no evidence document: {error!r}. Give the file that `remit evidence RUN --out FILE` wrote.")
        return 1
    wrong, effects = checked.problems, checked.effects
    print(*effects, *wrong, f"{len(wrong)} problems, {len(effects)} effects", sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

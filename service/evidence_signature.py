"""Who signed an evidence document of Remit: python evidence_signature.py FILE [KEY]. Exit 0: it holds; 1: it does not.

Standard library only, nothing of Remit. KEY is the installation's public key (64 hexadecimal digits), had from
somewhere else than the document: without it, the signature only says that whoever made it had some key.
"""

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

Point = tuple[int, int]
P, ORDER = 2**255 - 19, 2**252 + 27742317777372353535851937790883648493  # Ed25519, RFC 8032
D = -121665 * pow(121666, -1, P) % P


def wrong(document: dict[str, Any], trusted: str | None = None) -> list[str]:
    """What is wrong with the signatures of a document: that of its head, and that of the line of a pruned run."""
    head = {name: document[name] for name in ("format", "run_id", "head", "signature")}
    signed = [("document", "remit-evidence/1", head)]
    for number, line in enumerate(document["sections"]["pruned"], 1):
        signed.append((f"pruned[{number}]", "remit-pruned/1", line))
    found: list[str] = []
    for place, kind, line in signed:
        by = line.get("signature") or {"key": "", "value": ""}
        content = {name: value for name, value in line.items() if name != "signature"}
        if (line.get("format"), line["run_id"]) != (kind, document["run_id"]):
            found.append(f"{place}: it is no {kind} of this run")
        elif {*by} != {"key", "value"} or not verified(by["key"], content, by["value"]):
            found.append(f"{place}: it is not signed, or was changed after it was")
        elif trusted not in (None, by["key"]):
            found.append(f"{place}: it is signed with another key, {by['key']}")
    return found


def verified(key: str, content: dict[str, Any], signature: str) -> bool:
    """Is this the signature of the holder of the key over this content? As in RFC 8032, 5.1.7."""
    message = json.dumps(content, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()
    try:
        public, made = bytes.fromhex(key), bytes.fromhex(signature)
        holder, commitment, answer = _point(public), _point(made[:32]), int.from_bytes(made[32:], "little")
    except ValueError:
        return False
    if (public.hex(), made.hex()) != (key, signature):  # written otherwise: spaces, capital letters
        return False
    if len(public) != 32 or len(made) != 64 or answer >= ORDER:
        return False
    challenge = int.from_bytes(hashlib.sha512(made[:32] + public + message).digest(), "little") % ORDER
    return _times(answer, _point(BASE)) == _sum(commitment, _times(challenge, holder))


def _sum(a: Point, b: Point) -> Point:
    k = D * a[0] * b[0] * a[1] * b[1]
    x, y = a[0] * b[1] + a[1] * b[0], a[1] * b[1] + a[0] * b[0]
    return x * pow(1 + k, -1, P) % P, y * pow(1 - k, -1, P) % P


def _times(number: int, point: Point) -> Point:
    total = (0, 1)
    while number:
        if number % 2:
            total = _sum(total, point)
        number, point = number // 2, _sum(point, point)
    return total


def _point(data: bytes) -> Point:
    """Raises ValueError for what is no point of the curve."""
    sign, y = divmod(int.from_bytes(data, "little"), 2**255)
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * pow(2, (P - 1) // 4, P) % P
    if (x * x - square) % P or y >= P or (x == 0 and sign) or sign > 1:
        raise ValueError("this is no point of the curve")
    return (x if x % 2 == sign else P - x), y


BASE = (4 * pow(5, -1, P) % P).to_bytes(32, "little")


def main(arguments: list[str]) -> int:
    try:
        document = json.loads(Path(arguments[0]).read_text("utf-8"))
        found = wrong(document, arguments[1] if len(arguments) > 1 else None)
        print("\n".join(found) or f"signed with {document['signature']['key']}")
    except (IndexError, OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        print(f"This is no evidence document: {error!r}. Give the file that `remit evidence RUN --out FILE` wrote.")
        return 1
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

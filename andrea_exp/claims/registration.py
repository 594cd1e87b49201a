"""The identity of what was claimed: a hash over the claims and the seeds planned for them."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any


def claims_hash(values: Mapping[str, Any]) -> str | None:
    """Twelve hex digits of SHA-256 over `claims` and `seeds` of resolved values; None without any.

    The seeds belong to it: looking again after each further seed finds what is not there.
    """
    if not values["claims"]:
        return None
    text = json.dumps([values["seeds"], values["claims"]], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]

"""Every model type of transformers: its class's default config, read as a file, and held against the rotary class of its module.

    python tests/scripts/config_sweep.py [MODEL_TYPE ...]

Prints how many are read, guessed by their keys, said not to be known, or refused, and where the class has other frequencies.
"""

from __future__ import annotations

import collections
import json
import logging
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "posref" / "helpers"))

from model_peer import frequency_error, inv_freq_of, modeling, transformers

from posref.models import READERS, RopeEncoding, read_config


def answer_of(values):
    """What kind of answer there is, and the answer or the error."""
    try:
        answer = read_config(values)
    except (ValueError, TypeError) as problem:
        return "refused", problem
    if any(note.startswith("nope: ") for note in answer.notes) and not answer.encodings:
        return "without positions", answer
    if not answer.encodings:
        return "not known", answer
    return ("read" if values["model_type"] in READERS else "guessed"), answer


def rotary_classes(config):
    """The rotary classes of the module of a config, as far as they can be made of it."""
    try:
        module = modeling(config)
    except (ImportError, KeyError, ValueError):
        return
    for name, value in vars(module).items():
        if isinstance(value, type) and name.endswith("RotaryEmbedding") and value.__module__ == module.__name__:
            try:
                yield name, value(config)
            except Exception:  # it is that of another part, or needs what a default config lacks
                continue


def disagreeing(config, answer):
    """Encodings of whose frequencies no rotary class of the module has any."""
    found = []
    for _, rotary in rotary_classes(config):
        kinds = [None, *sorted(set(getattr(config, "layer_types", None) or ()))]
        for kind in kinds:
            if hasattr(rotary, f"{kind}_inv_freq") or (kind is None and hasattr(rotary, "inv_freq")):
                found.append(inv_freq_of(rotary, kind))
    rotations = [
        e for e in answer.encodings if isinstance(e, RopeEncoding) and e.inv_freq is not None and e.axes is None
    ]
    rotations = [e for e in rotations if e.part in (None, "mla")]
    if not found:
        return None
    fits = [any(len(w) == len(e.inv_freq) and frequency_error(e, w) <= 1 for w in found) for e in rotations]
    return [e for e, fit in zip(rotations, fits, strict=True) if not fit]


def main() -> None:
    logging.disable(logging.CRITICAL)
    counts, compared, wrong = collections.Counter(), 0, []
    for model_type in sys.argv[1:] or sorted(transformers.CONFIG_MAPPING):
        try:
            config = transformers.CONFIG_MAPPING[model_type]()
            values = {**json.loads(config.to_json_string(use_diff=False)), "model_type": model_type}
        except Exception:  # a class without defaults
            counts["no default config"] += 1
            continue
        kind, answer = answer_of(values)
        counts[kind] += 1
        if kind == "refused":
            print(f"refused: {model_type}: {answer}")
        elif kind in ("read", "guessed"):
            others = disagreeing(config, answer)
            compared += others is not None
            wrong += [(kind, model_type, e.encoding, e.part, e.rotary_dim, e.base) for e in others or ()]
    print(*(f"{count} {kind}" for kind, count in counts.most_common()), sep=", ")
    print(f"{compared} compared with rotary classes of their module")
    for line in wrong:
        print("other frequencies:", *line)


if __name__ == "__main__":
    main()

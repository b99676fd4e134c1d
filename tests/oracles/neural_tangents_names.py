"""Writes neural_tangents_names.json: what Neural Tangents 0.6.5 offers to its users, in an environment of its own.

pip install jax==0.5.3 jaxlib==0.5.3 neural-tangents==0.6.5 tensorflow-cpu
python tests/oracles/neural_tangents_names.py
"""

import inspect
import json
import pathlib

import neural_tangents  # pyright: ignore[reportMissingImports]
from neural_tangents import experimental, predict, stax  # pyright: ignore[reportMissingImports]

MODULES = {"nt": neural_tangents, "stax": stax, "predict": predict, "experimental": experimental}


def public(module: object) -> list[str]:
    """The names of a module that are neither private nor modules themselves."""
    names = [name for name in dir(module) if not name.startswith("_")]
    return sorted(name for name in names if not inspect.ismodule(getattr(module, name)))


if __name__ == "__main__":
    found = [f"{prefix}.{name}" for prefix, module in MODULES.items() for name in public(module)]
    path = pathlib.Path(__file__).with_suffix(".json")
    path.write_text(json.dumps(found, indent=1) + "\n")

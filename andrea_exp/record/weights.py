"""Tables in files of weights: safetensors, or what `torch.save` wrote; no code in them is run."""

import pickle
import re
import warnings
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import final

import torch
from jaxtyping import Float
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file
from torch import Tensor, nn

from andrea_exp.component import Refusal

POSITION = re.compile(r"(^|[._])(w?pe|pos|position|positions|positional)([._]|$|_?emb)", re.I)
"""Names that models give to rows of positions: `wpe`, `position_embeddings`, `pos_embed` ..."""


@final
class WeightsFile:
    """The two-dimensional floating-point tensors of a file; one is read when it is asked for.

    A leading axis of one, as vision models have it, is no axis.
    """

    def __init__(self, path: Path) -> None:
        """Look which tables there are.

        Raises:
            Refusal: it is not a file of weights, or one that could run code when it is read.
        """
        self._path = path
        if not path.is_file():
            raise Refusal(f"{path} is not a file; give a file of weights or a run directory")
        self._loaded = None if _is_safetensors(path) else _load(path)
        self.shapes = dict(self._shapes())
        """Name -> rows and width."""

    def table(self, name: str | None) -> tuple[str, Float[Tensor, "M D"]]:
        """A table and its name.

        Args:
            name: of the tensor; None for the only one that is named like a table of positions.

        Raises:
            Refusal: there is no such table, or the file does not say which is meant.
        """
        chosen = self._chosen(name)
        if self._loaded is not None:
            tensor = self._loaded[chosen]
        else:
            with safe_open(self._path, framework="pt") as file:
                tensor = file.get_tensor(chosen)
        return chosen, tensor.reshape(tensor.shape[-2:])

    def _chosen(self, name: str | None) -> str:
        likely = [each for each in self.shapes if POSITION.search(each)]
        if name in self.shapes:
            return name
        if name is None and len(likely) == 1:
            return likely[0]
        if not self.shapes:
            raise Refusal(f"{self._path} has no two-dimensional tensor of floating-point numbers")
        what = "does not say which table is meant" if name is None else f"has no table {name}"
        listed = likely if name is None and likely else self.shapes
        tables = "\n".join(
            f"  {each}  {rows} x {width}"
            for each, (rows, width) in self.shapes.items()
            if each in listed
        )
        raise Refusal(f"{self._path} {what}; give one of these with --tensor NAME:\n{tables}")

    def _shapes(self) -> Iterator[tuple[str, tuple[int, int]]]:
        if self._loaded is not None:
            for name, tensor in self._loaded.items():
                if tensor.is_floating_point() and _is_table(tensor.shape):
                    yield name, (tensor.shape[-2], tensor.shape[-1])
            return
        with safe_open(self._path, framework="pt") as file:
            for name in file.keys():  # noqa: SIM118 -- it is not a mapping
                part = file.get_slice(name)
                shape = part.get_shape()
                if part.get_dtype().startswith(("F", "BF")) and _is_table(shape):
                    yield name, (shape[-2], shape[-1])


def load_weights(model: nn.Module, path: Path) -> None:
    """Give a model, allocated or not, the weights that a run has saved.

    Raises:
        Refusal: there is no such file, or it is of another model.
    """
    if not path.is_file():
        raise Refusal(f"{path.parent} has no {path.name}: the run has not come to its end")
    try:
        model.load_state_dict(load_file(path), assign=True)
    except (SafetensorError, RuntimeError) as error:
        raise Refusal(f"{path} does not fit its config.yaml: {error}") from error


def _is_table(shape: "torch.Size | list[int]") -> bool:
    return len(shape) == 2 or (len(shape) == 3 and shape[0] == 1)


def _is_safetensors(path: Path) -> bool:
    """By its content: the length of a header, and the header, which is a JSON object."""
    with path.open("rb") as file:
        start = file.read(9)
    if start[8:] != b"{":
        return False
    try:
        with safe_open(path, framework="pt"):
            return True
    except SafetensorError as error:
        raise Refusal(f"{path} is not a whole file of safetensors: {error}") from error


def _load(path: Path) -> dict[str, Tensor]:
    """The tensors of a file of `torch.save`, by dotted names."""
    with path.open("rb") as file:
        is_pickle = file.read(1) == pickle.PROTO
    if not (zipfile.is_zipfile(path) or is_pickle):  # the latter in files of before 2020
        raise Refusal(f"{path} is not a file of weights, neither safetensors nor PyTorch's")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of foreign pickles, which are refused
            content = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        raise Refusal(
            f"{path} holds more than tensors, and reading it could run code that somebody put "
            "there; save its state_dict alone, best as .safetensors"
        ) from error
    except (RuntimeError, EOFError, ValueError, KeyError, IndexError) as error:
        raise Refusal(f"{path} is not a file of weights: {error}") from error
    return dict(_tensors(content, name=""))


def _tensors(value: object, *, name: str) -> Iterator[tuple[str, Tensor]]:
    if isinstance(value, Tensor):
        yield name, value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _tensors(inner, name=f"{name}.{key}" if name else str(key))

"""Models that PyTorch differentiates, through torch.func."""

import contextlib
import copy
import dataclasses
import functools
import sys
from collections.abc import Callable, Iterator
from typing import Any

import jax.numpy as jnp
import numpy as np

from lemmata.errors import PrecisionError, SettingError
from lemmata.networks import torch_call

from ._contract import SMALLEST, AbstractModel, Layer, batch_of_one, row_by_row
from ._losses import Loss
from ._torch_double import in_float64, unwrapped


@dataclasses.dataclass(frozen=True)
class TorchModel(AbstractModel):
    """A model of a PyTorch module. Buffers, and parameters that require no gradient, are fixed parts of the function.

    Args:
        module: the user's own module, which is not changed.
    """

    module: Any = dataclasses.field(repr=False)

    def in_double(self) -> AbstractModel:
        """Return a copy of the module in float64, including its buffers."""
        double = copy.deepcopy(self.module).double()
        return dataclasses.replace(self, module=double, theta=self.theta.astype(np.float64))

    def _own_call(self, theta: Any, x: Any) -> Any:
        """Return the result of the user's own module."""
        torch = sys.modules["torch"]
        # one split, because its derivative is one concatenation, and slices would need P numbers for each layer
        parts = theta.split([layer.size for layer in self.layers])
        params = {layer.name: part.reshape(layer.shape) for layer, part in zip(self.layers, parts, strict=True)}
        params |= _padding_fixed(self.module, params)
        if self.module.training:  # pass copies of the statistics that a call would change
            params |= {name: leaf.clone() for name, leaf in self.module.named_buffers()}
        call = lambda rows: torch_call(self.module, params, (rows.clone(),))  # a module may write to its input
        with _differentiable(), in_float64() if theta.dtype == torch.float64 else contextlib.nullcontext():
            return batch_of_one(call, x, torch.cat)

    def _call(self, theta: Any, x: Any) -> Any:
        if self.link == "documents":
            return document_losses(self._own_call(theta, _fed(x)), x)
        found = row_by_row(self._own_call(theta, x))
        if self.link == "identity":
            return found
        if self.link == "log":
            return found.clamp_min(SMALLEST).log()
        logit = found
        if self.link == "one probability":
            logit = found.clamp_min(SMALLEST).log() - (1 - found).clamp_min(SMALLEST).log()
        return sys.modules["torch"].cat([-logit, logit], 1) / 2

    def _here(self) -> Any:
        return self._tensor(self.theta)

    def _tensor(self, array: np.ndarray) -> Any:
        return sys.modules["torch"].from_numpy(np.array(self._own(array)))  # a copy, which may be written to

    def _saved_bytes(self, x: np.ndarray) -> int:
        torch, kept = sys.modules["torch"], {}

        def note(tensor: Any) -> Any:
            kept[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
            return tensor

        # tensors stay allocated until the end, so that no storage is used for two tensors
        with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
            found = self._call(self._here().requires_grad_(), self._tensor(x))
        del found
        return sum(kept.values())

    def _vocabulary(self, x: np.ndarray) -> tuple[int, ...]:
        torch = sys.modules["torch"]
        with torch.no_grad():
            found = self.module(torch.from_numpy(np.where(x < 0, -1 - x, x)))
        if not hasattr(found, "shape"):
            raise TypeError(f"logits are needed, not a {type(found).__name__}; only JAX functions return features")
        return tuple(found.shape)

    def _outputs(self, x: np.ndarray) -> np.ndarray:
        with sys.modules["torch"].no_grad():
            return self._call(self._here(), self._tensor(x)).numpy()

    def _jacobian(self, x: np.ndarray) -> np.ndarray:
        func, rows = sys.modules["torch"].func, self._tensor(x)
        each = func.jacrev(lambda own, row: self._call(own, row[None])[0])
        try:
            return func.vmap(each, in_dims=(None, 0), chunk_size=8)(self._here(), rows).detach().numpy()
        except (RuntimeError, NotImplementedError):  # recurrent layers fail because they write into their arguments
            return np.stack([self._row_jacobian(row[None]) for row in rows])

    def _row_jacobian(self, row: Any) -> np.ndarray:
        own = self._here().requires_grad_()
        found = self._call(own, row)[0]
        along = lambda value: sys.modules["torch"].autograd.grad(value, own, retain_graph=True, materialize_grads=True)
        return np.stack([along(value)[0].numpy() for value in found])

    def _matrix_factors(self, x: np.ndarray) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        torch, rows, known = sys.modules["torch"], self._tensor(x), {layer.name for layer in self.layers}
        taken, given = {}, {}

        def listen(name: str, layer: Any, args: Any, out: Any) -> Any:
            """Add 0 to the layer's output, so that derivatives with respect to this output can be computed."""
            if name in given or len(args) != 1 or out.ndim != 2 or len(out) != len(rows):
                given[name] = None  # rows enter twice, or not as vectors
                return out
            taken[name], given[name] = args[0].detach().numpy(), torch.zeros_like(out, requires_grad=True)
            return out + given[name]

        hooks = [
            layer.register_forward_hook(functools.partial(listen, f"{name}.weight".lstrip(".")))
            for name, layer in self.module.named_modules()
            if type(layer) is torch.nn.Linear and f"{name}.weight".lstrip(".") in known
        ]
        try:
            found = self._call(self._here(), rows)
        finally:
            for hook in hooks:
                hook.remove()
        names = [name for name, own in given.items() if own is not None]
        if not names:
            return {}
        slopes = [
            torch.autograd.grad(found[:, c].sum(), [given[name] for name in names], retain_graph=True,
                                allow_unused=True, materialize_grads=True)
            for c in range(found.shape[1])
        ]  # fmt: skip
        pushed = (torch.stack(own, 1).numpy() for own in zip(*slopes, strict=True))
        return {name: (taken[name], own) for name, own in zip(names, pushed, strict=True)}

    def _jvp(self, v: np.ndarray, x: np.ndarray) -> np.ndarray:
        torch, rows = sys.modules["torch"], self._tensor(x)
        try:
            push = torch.func.jvp(lambda own: self._call(own, rows), (self._here(),), (self._tensor(v),))
        # without a forward derivative, the backward derivative is used twice (see `linear`)
        except (RuntimeError, NotImplementedError):
            return self._twice_backwards(rows)[0](v)
        return push[1].detach().numpy()

    def _vjp(self, u: np.ndarray, x: np.ndarray) -> np.ndarray:
        rows, weights = self._tensor(x), self._tensor(u)
        return self._gradient(lambda own: (self._call(own, rows) * weights).sum(), self._here())

    def linear(self, x: np.ndarray) -> tuple[Callable[[np.ndarray], np.ndarray], Callable[[np.ndarray], np.ndarray]]:
        """Return the maps v -> J v and u -> J' u; see `AbstractModel`.

        J v is the derivative of <J' u, v> with respect to u. This inner product is linear in u, so the derivative at u
        = 0 is enough.
        """
        if len(x) > self.batch:
            return super().linear(x)
        return self._twice_backwards(self._tensor(self._own(x)))

    def _twice_backwards(
        self, rows: Any
    ) -> tuple[Callable[[np.ndarray], np.ndarray], Callable[[np.ndarray], np.ndarray]]:
        derivative, own = sys.modules["torch"].autograd.grad, self._here().requires_grad_()
        found = self._call(own, rows)
        nowhere = sys.modules["torch"].zeros_like(found, requires_grad=True)
        pulled = derivative(found, own, nowhere, create_graph=True)[0]
        along = lambda of, at, weights: derivative(of, at, self._tensor(weights), retain_graph=True)[0].numpy()
        return (
            lambda v: along(pulled, nowhere, v).astype(float),
            lambda u: along(found, own, u),
        )

    def hessian(self, x: np.ndarray, y: np.ndarray, loss: str | Loss) -> Callable[[np.ndarray], np.ndarray]:
        """See `AbstractModel`."""
        if len(x) > self.batch:
            return super().hessian(x, y, loss)
        product = self._second(self._own(x), self._own(y), loss)
        return lambda v: product(self._own(v))

    def _hvp(self, v: np.ndarray, x: np.ndarray, y: np.ndarray, loss: str | Loss) -> np.ndarray:
        return self._second(x, y, loss)(v)

    def _second(self, x: np.ndarray, y: np.ndarray, loss: str | Loss) -> Callable[[np.ndarray], np.ndarray]:
        """Return the map from a vector to its product with the Hessian. The computation of the gradient is stored."""
        derivative, own = sys.modules["torch"].autograd.grad, self._here().requires_grad_()
        value = loss_of(loss, self._call(own, self._tensor(x)), self._tensor(y))
        slope = derivative(value, own, create_graph=True)[0]

        def product(v: np.ndarray) -> np.ndarray:
            # If the loss is linear in every parameter, the gradient has no graph, and the product is 0.
            along = {"grad_outputs": self._tensor(v), "allow_unused": True, "retain_graph": True}
            found = derivative(slope, own, **along)[0] if slope.requires_grad else None
            return np.zeros(len(self.theta)) if found is None else found.numpy()

        return product

    def _documents_gauss_newton(self, v: np.ndarray, x: np.ndarray) -> np.ndarray:
        torch, rows = sys.modules["torch"], self._tensor(x)
        logits = lambda own: self._own_call(own, _fed(rows))[:, :-1]
        f, pushed = torch.func.jvp(logits, (self._here(),), (self._tensor(v),))
        p = f.detach().softmax(2) * (rows[:, 1:] >= 0)[..., None]
        weights = p * (pushed - (p * pushed).sum(2, keepdim=True))
        return self._gradient(lambda own: (logits(own) * weights.detach()).sum(), self._here())

    def _loss_slope(self, x: np.ndarray, y: np.ndarray, loss: str | Loss) -> tuple[float, np.ndarray]:
        own = self._here().requires_grad_()
        value = loss_of(loss, self._call(own, self._tensor(x)), self._tensor(y))
        return value.item(), sys.modules["torch"].autograd.grad(value, own)[0].numpy()

    def _input_vjp(self, u: np.ndarray, x: np.ndarray) -> np.ndarray:
        theta, weights = self._here(), self._tensor(u)
        return self._gradient(lambda rows: (self._call(theta, rows) * weights).sum(), self._tensor(x))

    def _gradient(self, function: Callable[[Any], Any], point: Any) -> np.ndarray:
        point = point.requires_grad_()
        return sys.modules["torch"].autograd.grad(function(point), point)[0].numpy()


@contextlib.contextmanager
def _differentiable() -> Iterator[None]:
    """Compute attention by its formula, because fused kernels have neither forward nor second derivatives."""
    torch = sys.modules["torch"]
    before = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
            yield
    finally:
        torch.backends.mha.set_fastpath_enabled(before)


def _padding_fixed(module: Any, params: dict[str, Any]) -> dict[str, Any]:
    """Return the embeddings that have a `padding_idx`, with the module's own vector of this index.

    PyTorch gives this vector no gradient, so training never changes it. The vector is therefore a fixed part of the
    function, although outputs may depend on it.

    Args:
        module: the user's module.
        params: the parameters by name.
    """
    torch, found = sys.modules["torch"], {}
    for name, part in module.named_modules():
        weight = f"{name}.weight".lstrip(".")
        if isinstance(part, torch.nn.Embedding) and part.padding_idx is not None and weight in params:
            padded = torch.arange(part.num_embeddings)[:, None] == part.padding_idx
            found[weight] = torch.where(padded, part.weight.detach().to(params[weight].dtype), params[weight])
    return found


def _fed(x: Any) -> Any:
    """Return tokens in the form that the module accepts."""
    return sys.modules["torch"].where(x < 0, -1 - x, x)


def document_losses(logits: Any, x: Any) -> Any:
    """Return the losses (n, 1) of documents, like the function of this name for JAX models."""
    if logits.ndim != 3 or logits.shape[:2] != x.shape:
        raise ValueError(f"logits of a language model are (documents, tokens, vocabulary), not {tuple(logits.shape)}")
    ahead, tokens = logits[:, :-1], x[:, 1:]
    own = ahead.gather(2, tokens.clamp_min(0)[..., None])[..., 0]
    return ((ahead.logsumexp(2) - own) * (tokens >= 0)).sum(1, keepdim=True)


def loss_of(name: str | Loss, f: Any, y: Any) -> Any:
    """Return the summed loss of a batch, like the function of this name for JAX models."""
    if isinstance(name, Loss):
        return _second_order(name, f, y)
    if name == "documents":
        return f.sum()
    if name == "softmax":
        return (f.logsumexp(1) - (y * f).sum(1)).sum()
    return ((f - y) ** 2).sum() / 2


def _second_order(loss: Loss, f: Any, y: Any) -> Any:
    """Return the summed loss of a batch. Its gradient and Hessian with respect to f are computed by JAX."""
    torch, here, targets = sys.modules["torch"], f.detach().numpy(), y.numpy()
    tensor = lambda array: torch.from_numpy(np.array(array, here.dtype))
    value = tensor(loss.of_rows(jnp.asarray(here), jnp.asarray(targets))).sum()
    away = f - f.detach()
    bent = torch.einsum("iab,ib->ia", tensor(loss.curvatures(here, targets)), away)
    return value + (away * tensor(loss.slopes(here, targets))).sum() + (away * bent).sum() / 2


def torch_model(module: Any) -> TorchModel:
    """Return a model of a PyTorch module.

    If parameters are in half precision, or in several precisions, the model is a copy of the module in float64. Each
    parameter then keeps its value exactly.

    Args:
        module: a `torch.nn.Module` that takes a batch of rows and returns (n, C) or (n,).

    Raises:
        SettingError: if no parameter of the module requires a gradient, or the module is not on the CPU.
        PrecisionError: if parameters are not real floating-point numbers of 16, 32 or 64 bits.
    """
    module = unwrapped(module)
    own = {name: leaf for name, leaf in module.named_parameters() if leaf.requires_grad}  # shared parameters occur once
    if not own:
        rule, remedy = "at least one parameter", "call module.requires_grad_(); lemmata does not change the module"
        raise SettingError("parameters", found="no tensor that requires a gradient", rule=rule, remedy=remedy)
    if any(leaf.device.type != "cpu" for leaf in own.values()):
        raise SettingError(
            "module", found="parameters on a device", rule="parameters on the CPU", remedy="call module.cpu()"
        )
    kinds = {str(leaf.dtype).removeprefix("torch.") for leaf in own.values()}
    if not kinds <= {"float16", "bfloat16", "float32", "float64"}:
        found, remedy = ", ".join(sorted(kinds)), "pass copy.deepcopy(module).double()"
        if any(leaf.is_complex() for leaf in own.values()):
            remedy = "store the real and the imaginary part of each complex parameter as two real parameters"
        raise PrecisionError("parameters", found=found, rule="float16, bfloat16, float32 or float64", remedy=remedy)
    if kinds not in ({"float32"}, {"float64"}):
        return torch_model(copy.deepcopy(module).double())
    theta = np.concatenate([leaf.detach().numpy().ravel() for leaf in own.values()])
    layers = tuple(Layer(name, tuple(leaf.shape)) for name, leaf in own.items())
    return TorchModel("PyTorch", theta, layers, module=module)

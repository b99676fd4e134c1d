"""The readability of directions: against all inner products, simulated readouts, linear programs, and bad input."""

import itertools
import pathlib
import types

import jax.numpy as jnp
import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from scipy.linalg import hadamard
from scipy.optimize import linprog
from threadpoolctl import threadpool_info, threadpool_limits

from lemmata.errors import DataError, LemmataError, MissingFileError, SettingError, ShapeError, UnknownNameError
from lemmata.subjects.features import _decoding as decoding
from lemmata.subjects.features import readable
from lemmata.subjects.features._capacity import (
    decoding_failure,
    linear_failures,
    rankin_floor,
    statistical_dimension,
    usual_coherence,
    welch_floor,
)
from lemmata.subjects.features._decoding import misread, orderings, undecoded
from lemmata.subjects.features._directions import inner_products, read_directions, span

FILE = pathlib.Path(__file__).with_name("digits_sae.safetensors")
FEW = {"draws": 10, "decodings": 10}


def _unit(n, d, seed=0):
    rows = np.random.default_rng(seed).normal(size=(n, d))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def _missed(u, active):
    """Whether the linear program of non-negative l1 decoding has another solution than the true codes."""
    z = np.zeros(len(u))
    z[active] = np.random.default_rng(0).uniform(0.5, 1.5, len(active))
    dense = u.T.astype(float)
    return not np.allclose(linprog(np.ones(len(u)), A_eq=dense, b_eq=dense @ z).x, z, atol=1e-5)


def test_inner_products_in_blocks_are_those_of_the_full_matrix():
    u = _unit(1500, 12)
    u[1400], u[7], u[1200] = u[3], u[3], -u[5]
    full = u.astype(float) @ u.T.astype(float)
    upper = full[np.triu_indices(1500, 1)]
    found = inner_products(u)
    assert found.square == pytest.approx(np.mean(upper**2), rel=1e-6)
    assert found.smallest[1:] == (5, 1200)
    assert found.smallest[0] == pytest.approx(-1.0, abs=1e-6)
    assert found.repeated == ((3, 7), (3, 1400))
    fewer = np.delete(u, [1400, 7], axis=0)
    full = fewer.astype(float) @ fewer.T.astype(float) - 3 * np.eye(1498)
    pair = np.unravel_index(full.argmax(), full.shape)
    largest = inner_products(fewer).largest
    assert largest[1:] == tuple(sorted(pair))
    assert largest[0] == pytest.approx(full.max(), abs=1e-6)
    assert span(fewer) == 12
    assert span(np.pad(fewer[:, :5], ((0, 0), (0, 4)))) == 5


def test_a_linear_readout_is_simulated_by_a_threshold():
    u = _unit(60, 100)
    sets = orderings(60, 4, 50, 3)
    naive = []
    for active in sets:
        scores = [float(np.dot(direction, u[active].sum(axis=0))) for direction in u]
        naive.append({i for i, score in enumerate(scores) if score > 0.5} != set(active.tolist()))
    assert 0.1 < np.mean(naive) < 0.999
    np.testing.assert_array_equal(misread(u, sets), naive)


@pytest.mark.parametrize("k", [14, 18, 22])
def test_proofs_of_decoding_agree_with_linear_programs(k):
    u = _unit(90, 45, seed=k)
    sets = orderings(90, k, 12, k)
    np.testing.assert_array_equal(undecoded(u, sets), [_missed(u, own) for own in sets])


def test_a_repeated_direction_is_never_decoded():
    u = _unit(30, 20)
    u[9] = u[2]
    assert undecoded(u, np.array([[2, 5, 7], [5, 9, 11], [5, 7, 11]])).tolist() == [True, True, False]


def test_predicted_failures_of_random_directions():
    """Over dictionaries: the formulas are means over them, which the spread of 60 dictionaries allows for."""
    wide, narrow = ([_unit(n, d, seed) for seed in range(60)] for n, d in ((400, 160), (200, 100)))
    for k in (3, 4, 5):
        shares = [misread(own, orderings(400, k, 30, seed)).mean() for seed, own in enumerate(wide)]
        predicted = linear_failures(np.array([k]), 400, 160)[0]
        assert 0.02 < predicted < 0.98
        assert abs(np.mean(shares) - predicted) < 0.1 * predicted + 3 * np.std(shares) / np.sqrt(60)
    for k in (44, 50, 56):
        shares = [undecoded(own, orderings(200, k, 2, seed)).mean() for seed, own in enumerate(narrow)]
        assert abs(np.mean(shares) - decoding_failure(k, 200, 100)) < 0.1 + 3 * np.std(shares) / np.sqrt(60)


def test_the_statistical_dimension_is_that_of_distances():
    """Squared distances of normal vectors from the cone that the subdifferential generates, by golden section."""
    rng, n, k = np.random.default_rng(0), 300, 30
    grid = np.linspace(0, 4, 801)
    least = []
    for _ in range(400):
        g = rng.normal(size=n)
        sums = [((g[:k] - t) ** 2).sum() + (np.maximum(g[k:] - t, 0) ** 2).sum() for t in grid]
        least.append(min(sums))
    mean, variance = statistical_dimension(k, n)
    assert np.mean(least) == pytest.approx(mean, rel=0.02)
    assert np.var(least) - 2 * np.mean(least) == pytest.approx(variance, abs=0.25 * np.var(least))


def test_floors_are_attained_by_known_packings():
    simplex = np.eye(6) - 1 / 6
    simplex /= np.linalg.norm(simplex, axis=1, keepdims=True)
    products = (simplex @ simplex.T)[np.triu_indices(6, 1)]
    assert np.abs(products).max() == pytest.approx(welch_floor(6, 5))
    assert products.max() == pytest.approx(rankin_floor(6, 5))
    found = readable(np.concatenate([np.eye(5), -np.eye(5)]), 2, **FEW)
    assert found.closest[0] == found.rankin == 0.0
    assert found.coherence == 1.0
    largest = [max(abs(inner_products(_unit(50, 20, seed)).largest[0]),
                   abs(inner_products(_unit(50, 20, seed)).smallest[0])) for seed in range(60)]  # fmt: skip
    assert np.median(largest) == pytest.approx(usual_coherence(50, 20), rel=0.05)


def test_what_is_certain_holds_for_every_set():
    u = _unit(14, 400, seed=2)
    found = readable(u, 2, **FEW)
    k = found.linear.certain
    assert 2 <= k < 14
    every = np.array(list(itertools.combinations(range(14), k)))
    assert not misread(u, every).any()
    both = np.concatenate([np.eye(16), hadamard(16) / 4]).astype(np.float32)  # coherence 1/4
    assert readable(both, 1, **FEW).sparse.certain == 2
    assert not undecoded(both, np.array(list(itertools.combinations(range(32), 2)))).any()


def test_the_largest_number_is_between_its_limits_and_shares_are_those_of_the_sets():
    u = _unit(300, 150)
    found = readable(u, 5, draws=100, decodings=20, seed=4)
    sets, fewer = orderings(300, 150, 100, 4), orderings(300, 150, 20, 4)
    assert found.linear.failure == misread(u, sets[:, :5]).mean()
    assert found.sparse.failure == undecoded(u, fewer[:, :5]).mean()
    for own in (found.linear, found.sparse):
        assert own.most_interval[0] <= own.most <= own.most_interval[1]
        assert (own.shares[own.tried == own.most] <= 0.1).all()
        assert abs(own.most - own.most_predicted) <= 0.25 * own.most_predicted + 1
        assert own.interval[0] <= own.failure <= own.interval[1]
    assert misread(u, sets[:, : found.linear.most]).mean() <= 0.1
    assert found.spread == pytest.approx(1.0, abs=0.05)


def test_orthonormal_directions_never_fail():
    found = readable(np.eye(6), 6, **FEW)
    assert found.linear.most == found.sparse.most == found.linear.certain == 6
    assert found.linear.failure == found.sparse.failure == 0.0


def test_a_trained_autoencoder():
    arrays = load_file(FILE)
    found = readable(FILE, 10, draws=50, decodings=20)
    assert found.read == "256 directions in 64 dimensions: rows of W_dec in digits_sae.safetensors"
    full = arrays["W_dec"].astype(float) @ arrays["W_dec"].T.astype(float) - np.eye(256)
    assert found.coherence == pytest.approx(np.abs(full).max(), abs=1e-6)
    sets = orderings(256, 64, 12, 0)[:, :20]
    wrong = undecoded(arrays["W_dec"], sets)
    missed = np.array([_missed(arrays["W_dec"], own) for own in sets])
    assert not (missed & ~wrong).any()  # a proof is one
    assert (missed != wrong).mean() <= 0.1
    assert "sparse decoding" in str(found)
    assert "<pre" in found._repr_html_()
    assert "linear readout" in str(found.plot().to_dict())
    assert found.claims[0] == "features.packing.floors"


def test_every_way_to_pass_directions_gives_the_same(tmp_path):
    u = _unit(40, 12)
    expected = readable(u, 3, **FEW)
    ways = {
        "float64": u.astype(float), "list": u.tolist(), "JAX": jnp.asarray(u), "scaled": 1e300 * u.astype(float),
        "tiny": 1e-290 * u.astype(float), "Fortran": np.asfortranarray(u),
        "mapping": {"W_dec": u, "b_dec": np.zeros(12)},
        "object": types.SimpleNamespace(W_dec=u), "transposed": u.T, "unlike lengths": u * np.arange(1, 41)[:, None],
    }  # fmt: skip
    read_only = u.copy()
    read_only.flags.writeable = False
    ways["read-only"] = read_only
    save_file({"W_dec": u, "b_dec": np.zeros(12, np.float32), "W_enc": u.T.copy()}, tmp_path / "a.safetensors")
    ways["file"] = tmp_path / "a.safetensors"
    for name, own in ways.items():
        found = readable(own, 3, **FEW)
        assert found.coherence == pytest.approx(expected.coherence, abs=1e-6), name
        assert found.pair == expected.pair, name
        assert found.sparse.most == expected.sparse.most, name
    assert readable(u.T, 3, **FEW).read == "40 directions in 12 dimensions: columns of decoder"
    assert readable({"W_dec": u.T * 2, "b_dec": np.zeros(12)}, 3, **FEW).read.endswith("columns of W_dec")
    assert readable(2 * u.T, 3, directions="columns", **FEW).pair == expected.pair


def test_half_precision(tmp_path):
    import ml_dtypes

    u = _unit(40, 12)
    half = u.astype(ml_dtypes.bfloat16)
    save_file({"W_dec": half}, tmp_path / "b.safetensors")
    found = readable(tmp_path / "b.safetensors", 3, **FEW)
    assert found.coherence == readable(half.astype(np.float32), 3, **FEW).coherence
    assert readable(jnp.asarray(half), 3, **FEW).coherence == found.coherence
    assert readable(u.astype(np.float16), 3, **FEW).pair == readable(u, 3, **FEW).pair


def test_tensors_and_tables():
    u = _unit(40, 12)
    expected = readable(u, 3, **FEW)
    torch = pytest.importorskip("torch")
    weights = torch.nn.Parameter(torch.tensor(u))
    assert readable(weights, 3, **FEW).coherence == expected.coherence
    assert readable(weights.bfloat16(), 3, **FEW).pair == expected.pair
    with pytest.raises(DataError, match="pass the array itself"):
        readable(torch.nn.Linear(3, 4), 1)
    for name in ("pandas", "polars"):
        library = pytest.importorskip(name)
        assert readable(library.DataFrame(u), 3, **FEW).coherence == expected.coherence


def test_repeated_directions_are_named_and_a_lower_rank_counts():
    u = _unit(30, 6)
    found = readable(np.concatenate([u, 3 * u[4:5], u[9:10]]), 2, **FEW)
    assert found.repeated == ((4, 30), (9, 31))
    assert "30 repeats 4, 31 repeats 9" in str(found)
    flat = readable(np.pad(u, ((0, 0), (0, 3))), 2, **FEW)
    assert flat.welch == pytest.approx(welch_floor(30, 6))
    assert "directions span all dimensions: fails (6)" in str(flat)


NAN, ZERO = _unit(9, 4), _unit(9, 4)
NAN[[2, 5], 1], ZERO[[3, 8]] = np.nan, 0


@pytest.mark.parametrize(
    ("decoder", "options", "error", "text"),
    [
        (NAN, {}, DataError, r"rows 2, 5 \(from 0\)"),
        (ZERO, {}, DataError, r"rows 3, 8 \(from 0\).*zeros"),
        (ZERO.T, {"directions": "columns"}, DataError, "columns 3, 8"),
        (np.full((9, 4), np.inf), {}, DataError, "and 4 more"),
        (3 * _unit(9, 4).T, {}, SettingError, 'set directions="columns" for 9 directions in 4 dimensions'),
        (np.ones(5), {}, ShapeError, "shape"),
        (np.ones((2, 3, 4)), {}, ShapeError, "shape"),
        (np.ones((0, 3)), {}, LemmataError, "shape"),
        (np.ones((1, 3)), {"directions": "rows"}, ShapeError, "1 directions"),
        (np.ones((3, 1)), {}, ShapeError, "1 dimensions"),
        ([[1.0, 2.0], [1.0]], {}, DataError, "equally long"),
        ([["a", "b"], ["c", "d"]], {}, DataError, "the entry"),
        (np.ones((4, 2), complex), {}, DataError, "complex"),
        (np.ma.masked_array(np.ones((4, 2)), [[True, False]] + [[False] * 2] * 3), {}, DataError, "masked"),
        ("nowhere.safetensors", {}, MissingFileError, "no such file"),
        ("weights.pt", {}, DataError, "suffix"),
        (FILE, {"name": "W_out"}, UnknownNameError, "W_dec, W_enc, b_dec, b_enc|W_enc"),
        ({"W_dec": np.ones((4, 3)), "b_dec": np.ones(7)}, {}, ShapeError, "one axis of length 7"),
        ({}, {}, UnknownNameError, "no array"),
        (None, {}, LemmataError, "decoder"),
        (_unit(9, 4), {"active": 0}, SettingError, "active"),
        (_unit(9, 4), {"active": 10}, SettingError, "at most 9"),
        (_unit(9, 4), {"active": 1.5}, SettingError, "active"),
        (_unit(9, 4), {"directions": "row"}, SettingError, "directions"),
        (_unit(9, 4), {"failure": 1.0}, SettingError, "failure"),
        (_unit(9, 4), {"draws": 3}, SettingError, "draws"),
        (_unit(9, 4), {"name": 3}, SettingError, "name"),
    ],
)  # fmt: skip
def test_bad_input(decoder, options, error, text):
    with pytest.raises(error, match=text) as raised:
        readable(decoder, **{"active": 2, **options})
    assert "\n" not in str(raised.value)


def test_a_broken_file(tmp_path):
    (tmp_path / "c.safetensors").write_bytes(b"nothing")
    with pytest.raises(DataError, match="safetensors file"):
        readable(tmp_path / "c.safetensors", 2)
    assert read_directions(_unit(9, 9), "auto", "W_dec").read.startswith("9 directions in 9 dimensions: rows")


def test_a_file_of_a_type_that_numpy_lacks(tmp_path):
    torch = pytest.importorskip("torch")
    save_file = pytest.importorskip("safetensors.torch").save_file
    save_file({"W_dec": torch.eye(4).to(torch.float8_e4m3fn)}, tmp_path / "sae.safetensors")
    with pytest.raises(DataError, match=r"sae.safetensors; found .*float8"):
        readable(tmp_path / "sae.safetensors", 1)


@pytest.mark.parametrize("active", [1, 5, 12])
def test_the_systems_of_decoding_are_solved_on_one_thread(active, monkeypatch):
    """Threads of BLAS wait for each other in systems of a few hundred unknowns."""
    seen, solve = set(), decoding.linalg.cho_factor

    def watched(*given, **settings):
        seen.update(own["num_threads"] for own in threadpool_info() if own["user_api"] == "blas")
        return solve(*given, **settings)

    monkeypatch.setattr(decoding.linalg, "cho_factor", watched)
    with threadpool_limits(2, user_api="blas"):
        undecoded(_unit(60, 30, 0), orderings(60, active, 3, 0))
        after = {own["num_threads"] for own in threadpool_info() if own["user_api"] == "blas"}
    assert seen == {1}
    assert after != {1}


@pytest.mark.parametrize("beside", [[], ["cfg.json"], ["cfg.json", "sparsity.safetensors"]])
def test_a_folder_of_saelens_is_read(tmp_path, beside):
    file = tmp_path / ("sae_weights.safetensors" if len(beside) == 2 else "mine.safetensors")
    rows = np.random.default_rng(0).normal(size=(24, 12))
    save_file({"W_dec": rows, "b_dec": np.zeros(12)}, file)
    for name in beside:
        (tmp_path / name).write_bytes(b"{}")
    found = readable(tmp_path, 3, **FEW)
    assert found.read == f"24 directions in 12 dimensions: rows of W_dec in {file.name}"
    assert found.coherence == readable(rows, 3, **FEW).coherence


def test_folders_and_files_of_numpy_that_are_refused_say_what_to_pass(tmp_path):
    with pytest.raises(DataError, match=r"found 0 .safetensors files: none; rule: one"):
        readable(tmp_path, 3)
    for name in ("a.safetensors", "b.safetensors"):
        (tmp_path / name).write_bytes(FILE.read_bytes())
    with pytest.raises(DataError, match=r"2 .safetensors files: a.safetensors, b.safetensors; .*pass the path of the"):
        readable(tmp_path, 3)
    for name in ("w.npy", "w.npz"):
        with pytest.raises(DataError, match=r"remedy: pass numpy.load\(path\)"):
            readable(tmp_path / name, 3)

"""Sawtooth functions: how depth multiplies affine pieces, and what a function with few pieces misses.

The tent map rises linearly from 0 at 0 to 1 at 1/2, and falls to 0 at 1.

This theory counts the affine pieces of networks of one input, and bounds the error of a function with few pieces near
an iterated tent map. It assumes ReLU units. It does not explain which deep networks are found by training.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import (
    AtLeast,
    AtMost,
    Claim,
    Control,
    Equal,
    Hypothesis,
    Integer,
    Kind,
    Passage,
    Population,
    Reading,
    Source,
    Space,
    Status,
)
from lemmata.subjects.depth._best_pieces import best_errors
from lemmata.subjects.depth._broken_lines import combined, network_output, tent_network
from lemmata.subjects.depth._zigzags import BrokenLinePair, BrokenLinePairs, DeepLine, DeepLines

ABOUT = {"tool": "combinatorics", "architecture": "dense network", "object": "function class"}


class Iterates(eqx.Module):
    """The number of iterations of the tent map."""

    k: Float[Array, ""]


class TentIterates(Population[Iterates]):
    """Iterates with k from 1 to `most`."""

    settings = Space(most=Integer(8, 1, 10, "largest k"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> Iterates:
        return Iterates(jax.random.randint(key, (), 1, setting["most"] + 1).astype(float))

    def hypotheses(self, problem: Iterates) -> list[Hypothesis]:
        return [Hypothesis("k", problem.k, ">=", 1.0, "m is iterated at least once")]


class TentTeethPrinted(Claim[Iterates]):
    """Let m be the tent map, which rises linearly from 0 to 1 on [0, 1/2] and falls to 0 at 1, and let m^(k) be its
    k-fold composition with itself. The text of the source says that m^(k) has 2^k teeth. The caption below this text
    counts one, two and four teeth for k = 1, 2, 3. If teeth are triangles, as in the caption, the number in the text is
    twice the true number. If teeth are affine pieces on [0, 1], the numbers in the caption are wrong.
    """

    title = "As printed, the k-fold iterated tent map has 2^k teeth"
    source = Source("emergence2026", "Figure 3.9", note="as printed in the text below the figure")
    passage = Passage(
        "001_2e5c8a18e09b1b14.txt",
        14529,
        14847,
        "091c5a0a3153246f",
        says="the k-fold composition has 2^k teeth, and the first three iterates have one, two and four teeth",
        right_if="the text says 2^(k-1), or the caption counts affine pieces: 2, 4 and 8",
        formula="m^(k) has 2^k teeth; one, two, and four teeth for k = 1, 2, 3",
    )
    readings = (
        Reading("a tooth is a triangle, as in the captions of Figures 3.8 and 3.10", "refuted"),
        Reading("a tooth is an affine piece, so that the text is right and its caption is false", "refuted"),
    )
    population = TentIterates()
    relation = Equal()
    control = Control("four times the number of triangles", lambda count, problem: 2 * count)
    controls = "the number of teeth of a deep network"
    unexplained = "what the author calls a tooth; the captions of Figures 3.8 and 3.10 show that it is a triangle"
    expected = Status.REFUTED
    traced = False

    def predict(self, problem: Iterates) -> Array:
        return 2**problem.k

    def measure(self, problem: Iterates, key: Key[Array, ""]) -> Array:
        line = network_output(*tent_network(int(problem.k)))
        return jnp.asarray(float(len(line.turns(lambda before, after: before > 0 > after))))


class TentPieces(Claim[Iterates]):
    """Let m(x) = relu(2 relu(x) - 4 relu(x - 1/2)) be the tent map, and let m^(k) be its k-fold composition with
    itself. This function has 2^(k-1) teeth (triangles of height 1), 2^k affine pieces on [0, 1], and 2^k + 2 affine
    pieces on the line. It is a ReLU network with 3k units in 2k hidden layers.
    """

    title = "The k-fold iterated tent map has 2^(k-1) peaks and 2^k affine pieces on [0, 1]"
    source = Source(
        "emergence2026", "Figure 3.8", "Figure 3.9", "Figure 3.10", "Definition 3.6", note="with the counts"
    )
    corrects = TentTeethPrinted
    population = TentIterates()
    relation = Equal()
    control = Control("twice as many", lambda counts, problem: 2 * counts)
    controls = "the oscillations of a deep network, and its size"
    unexplained = "other maps, and weights that are not exact"
    traced = False

    def predict(self, problem: Iterates) -> Array:
        k = problem.k
        return jnp.stack([2 ** (k - 1), 2**k, 2**k + 2, 3 * k, 2 * k])

    def measure(self, problem: Iterates, key: Key[Array, ""]) -> Array:
        """Compute peaks and pieces from the weights of the network, in rational arithmetic."""
        weights, biases = tent_network(int(problem.k))
        line = network_output(weights, biases)
        inside = [x for x in line.turns(lambda before, after: before != after) if 0 < x < 1]
        peaks = [x for x in line.turns(lambda before, after: before > 0 > after) if line(x) == 1]
        units = sum(len(bias) for bias in biases[:-1])
        return jnp.asarray([len(peaks), len(inside) + 1, line.pieces, units, len(biases) - 1], float)


class SawtoothCalculus(Claim[BrokenLinePair]):
    """Let f and g be continuous functions on the line with p and q affine pieces. Their sum has at most p + q - 1
    pieces, and the composition f(g(x)) has at most p q pieces. Both bounds are attained, and zigzags attain the second
    bound.
    """

    title = "The affine pieces of functions of one variable add up in sums and multiply in compositions"
    source = Source(
        "emergence2026", "Figure 3.11", note="with the numbers of pieces; in Telgarsky (2016), a sum has at most p + q"
    )
    population = BrokenLinePairs()
    relation = AtMost()
    control = Control("one piece fewer", lambda counts, problem: counts - 1)
    controls = "the pieces of sums and compositions"
    unexplained = "compositions whose inner function does not cover the knots of the outer function"
    trivial = "without the claim, a sum or a composition may have any number of pieces"
    traced = False

    def predict(self, problem: BrokenLinePair) -> Array:
        p, q = len(problem.f_knots) + 1, len(problem.g_knots) + 1
        return jnp.asarray([p + q - 1, p * q], float)

    def measure(self, problem: BrokenLinePair, key: Key[Array, ""]) -> Array:
        f, g = problem.lines()
        return jnp.asarray([combined((f, g), (1, 1)).pieces, f.after(g).pieces], float)


class NetworkPieces(Claim[DeepLine]):
    """Take a ReLU network of one input with hidden layers of widths w_1, ..., w_L and N units in total. It has at most

        (w_1 + 1) (w_2 + 1) ... (w_L + 1) <= (1 + N/L)^L

    affine pieces. The first bound is attained if each layer computes zigzags of the output of the previous layer. So
    the number of pieces can grow exponentially with the depth, while a network with one hidden layer of N units has at
    most N + 1 pieces.
    """

    title = "A deep ReLU network of one input with N units in L layers has at most (1 + N/L)^L affine pieces"
    source = Source("emergence2026", "Figure 3.11", note="with explicit constants; (2N/L)^L in Telgarsky (2016)")
    population = DeepLines()
    relation = AtMost()
    control = Control(
        "a layer of w units multiplies the pieces by w",
        lambda count, problem: jnp.prod(jnp.asarray(problem.widths, float)),
    )
    controls = "the affine pieces of a network, from its widths"
    unexplained = "random weights, with which networks have far fewer pieces"
    traced = False

    def predict(self, problem: DeepLine) -> Array:
        return jnp.prod(jnp.asarray(problem.widths, float) + 1)

    def measure(self, problem: DeepLine, key: Key[Array, ""]) -> Array:
        """Count the pieces by exact propagation of the knots."""
        return jnp.asarray(float(problem.line().pieces))

    def trivial(self, problem: DeepLine) -> Array:
        """Return the bound that follows because each unit is either active or not."""
        return jnp.asarray(2.0 ** sum(problem.widths))


class FewPieces(eqx.Module):
    """The k-fold tent map, and a number of pieces for its approximation."""

    pieces: Float[Array, ""]
    k: int = eqx.field(static=True)


class FewPiecesNearTents(Population[FewPieces]):
    """Numbers of pieces from 2 to half of the number of pieces of the target."""

    settings = Space(k=Integer(4, 3, 6, "iterates of the tent map", corners=(3, 5)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> FewPieces:
        most = 2 ** (setting["k"] - 1)
        return FewPieces(jax.random.randint(key, (), 2, most + 1).astype(float), setting["k"])

    def hypotheses(self, problem: FewPieces) -> list[Hypothesis]:
        return [Hypothesis("pieces", problem.pieces, "<=", 2.0**problem.k, "the target itself has 2^k pieces")]


class MissingTriangles(Claim[FewPieces]):
    """The tent map rises linearly from 0 at 0 to 1 at 1/2, and falls to 0 at 1. Let m^(k) be its k-fold composition
    with itself, which has 2^k affine pieces on [0, 1]. Every function g with P affine pieces, which may jump between
    its pieces, satisfies

        int_0^1 |m^(k)(x) - g(x)| dx >= 1/4 - (9/32) P/2^k.

    The constant function 1/2 has the error 1/4. On every interval, the error of a line is at least 1/4 of the length of
    the interval, minus (9/32) 2^-k. Equality holds if the line follows one straight piece of m^(k), and the interval
    extends beyond each end of this piece by 1/8 of its length. The test compares the bound with the best g whose pieces
    begin and end at multiples of 2^-k/4.
    """

    title = "A function with few affine pieces misses most triangles of an iterated tent map"
    source = Source("emergence2026", "Figure 3.12", "Figure 3.13", note="with explicit constants of our own")
    stated = Kind.OWN
    population = FewPiecesNearTents()
    relation = AtLeast()
    control = Control(
        "each of P - 1 pieces follows one straight piece of the tent map, and gains no more",
        lambda error, problem: (1 - (problem.pieces - 1) / 2**problem.k) / 4,
    )
    controls = "the error of shallow networks near a deep network"
    unexplained = (
        "the exact error, which is larger since neighbouring pieces cannot both extend beyond their straight piece"
    )
    trivial = 0.0
    traced = False

    def predict(self, problem: FewPieces) -> Array:
        # In units of a run, in which the slopes are 1 and -1, let a line have the slope s >= 0. The integral of 1/4
        # - |m - line| is at most -s/4 over a whole falling run, and at most 1/4 - |1 - s|/4 <= s/4 over a whole rising
        # run. So an interval gains most on one rising run and parts of its neighbours. If s <= 1, the best line through
        # the centre of the run gains (2 - (7/4)/(1 + s))/4. If s >= 1, it gains (17/4 - 2 s)/(1 + s)/4. The largest
        # gain is 9/32, at s = 1.
        return 1 / 4 - 9 / 32 * problem.pieces / 2**problem.k

    def measure(self, problem: FewPieces, key: Key[Array, ""]) -> Array:
        """Compute the error by dynamic programming over the ends of pieces, with the best line for every piece."""
        return jnp.asarray(best_errors(problem.k)[int(problem.pieces) - 1])

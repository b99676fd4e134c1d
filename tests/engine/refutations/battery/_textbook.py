"""What the statements of the battery share: the words of a textbook claim, the books, the shape of a case."""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from lemmata.engine.claims import Claim, Control, Kind, Source

P = TypeVar("P")

HALVED = Control("half of it suffices", lambda bound, problem: bound / 2)
DOUBLED = Control("twice as much is guaranteed", lambda bound, problem: 2 * bound)

_BOOKS = {
    "boucheron2013": "@book{boucheron2013, author={Boucheron, St\\'ephane and Lugosi, G\\'abor and Massart, Pascal}, "
    "title={Concentration Inequalities}, publisher={Oxford University Press}, year={2013}}",
    "vershynin2018": "@book{vershynin2018, author={Vershynin, Roman}, title={High-Dimensional Probability}, "
    "publisher={Cambridge University Press}, year={2018}}",
    "mitzenmacher2005": "@book{mitzenmacher2005, author={Mitzenmacher, Michael and Upfal, Eli}, "
    "title={Probability and Computing}, publisher={Cambridge University Press}, year={2005}}",
    "cover2006": "@book{cover2006, author={Cover, Thomas M. and Thomas, Joy A.}, "
    "title={Elements of Information Theory}, edition={2}, publisher={Wiley}, year={2006}}",
    "bhatia1997": "@book{bhatia1997, author={Bhatia, Rajendra}, title={Matrix Analysis}, publisher={Springer}, "
    "year={1997}}",
    "horn2013": "@book{horn2013, author={Horn, Roger A. and Johnson, Charles R.}, title={Matrix Analysis}, "
    "edition={2}, publisher={Cambridge University Press}, year={2013}}",
    "steele2004": "@book{steele2004, author={Steele, J. Michael}, title={The {Cauchy}-{Schwarz} Master Class}, "
    "publisher={Cambridge University Press}, year={2004}}",
    "nesterov2004": "@book{nesterov2004, author={Nesterov, Yurii}, title={Introductory Lectures on Convex "
    "Optimization}, publisher={Springer}, year={2004}}",
    "golub2013": "@book{golub2013, author={Golub, Gene H. and Van Loan, Charles F.}, title={Matrix Computations}, "
    "edition={4}, publisher={Johns Hopkins University Press}, year={2013}}",
    "drori2014": "@article{drori2014, author={Drori, Yoel and Teboulle, Marc}, title={Performance of first-order "
    "methods for smooth convex minimization: a novel approach}, journal={Mathematical Programming}, volume={145}, "
    "year={2014}}",
    "shalev2014": "@book{shalev2014, author={Shalev-Shwartz, Shai and Ben-David, Shai}, title={Understanding Machine "
    "Learning}, publisher={Cambridge University Press}, year={2014}}",
    "cover1965": "@article{cover1965, author={Cover, Thomas M.}, title={Geometrical and statistical properties of "
    "systems of linear inequalities}, journal={IEEE Transactions on Electronic Computers}, year={1965}}",
    "lang2002": "@book{lang2002, author={Lang, Serge}, title={Algebra}, edition={3}, publisher={Springer}, "
    "year={2002}}",
}


def book(key: str, what: str) -> Source:
    """A named result of a book, or a statement made from it."""
    return Source(key, note=what, entry=_BOOKS[key])


class AbstractTextbook(Claim[P]):
    """The words that a statement about two sides of an inequality needs; the false ones are nobody's but our own."""

    stated = Kind.OWN
    controls = "the left-hand side of the inequality"
    unexplained = "how large it is on typical problems"
    trivial = "the two sides may be anything"


class Case(NamedTuple):
    """A false statement, its true neighbour, and where the false one fails.

    Args:
        false, true: the claims.
        fails: where the false one fails, in a line.
        setting: a setting at which it fails.
        factor: by which factor it is missed at the witness, found by hand; for a statement with probability, the
            probability of a violation.
        problem: the witness, from the setting; None where every problem of that setting will do.
    """

    false: Claim
    true: Claim
    fails: str
    setting: dict[str, Any]
    factor: float
    problem: Callable[[], Any] | None = None

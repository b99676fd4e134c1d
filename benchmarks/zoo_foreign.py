"""The models of the foreign zoo, which nobody here designed: estimators, boosters, functions, and networks.

A model is what a user would give to `lemmata.study_model`. A new one is a function of rows and a seed that trains it
and returns it, perhaps with facts of its training, and an entry in MODELS. Networks stand in `zoo_foreign_networks`.
"""

import importlib.util
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import zoo_foreign_networks as networks
from zoo_foreign_rows import Rows, rows_of

Train = Callable[[Rows, int], Any]


class Foreign(NamedTuple):
    """A model of the zoo.

    Args:
        family: the library, and what it is besides.
        rows: the set that it is trained on.
        train: from rows and a seed to the model, or to the model and facts in a dictionary.
        scaled: whether it is given columns of spread 1, in single precision.
        others: conditions it is examined in besides the clean one.
        needs: the module without which it is left out.
        train_rows: how many rows it is trained on, where the set has enough.
    """

    family: str
    rows: str
    train: Train
    scaled: bool = False
    others: tuple[str, ...] = ()
    needs: str = "sklearn"
    train_rows: int = 200


def _fitted(make: Callable[[int], Any]) -> Train:
    """An estimator, fitted."""
    return lambda rows, seed: make(seed).fit(rows.x, rows.y)


def _linear_classifiers() -> dict[str, Foreign]:
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.linear_model import LogisticRegression

    logistic = lambda **told: _fitted(lambda seed: LogisticRegression(max_iter=2000, **told))
    family = "scikit-learn, linear classifiers"
    return {
        "logistic, C 1": Foreign(family, "cancer", logistic(), True, ("wrong labels",)),
        "logistic, C 0.01": Foreign(family, "classes", logistic(C=0.01)),
        "logistic, C 100": Foreign(family, "wine", logistic(C=100.0), True),
        "logistic, class weights": Foreign(family, "unbalanced", logistic(class_weight="balanced")),
        "logistic of words": Foreign(family, "words", logistic(C=0.5), False, ("wrong labels",)),
        "logistic of little": Foreign(family, "faint classes", logistic()),
        "discriminants": Foreign(family, "classes", _fitted(lambda seed: LinearDiscriminantAnalysis()), False,
                                 ("wrong labels",)),
    }  # fmt: skip


def _other_classifiers() -> dict[str, Foreign]:
    from sklearn import ensemble, naive_bayes, neighbors, neural_network, svm

    family = "scikit-learn, other classifiers"
    forest = _fitted(lambda seed: ensemble.RandomForestClassifier(100, min_samples_leaf=3, random_state=seed))
    boosted = _fitted(lambda seed: ensemble.GradientBoostingClassifier(n_estimators=50, random_state=seed))
    perceptron = _fitted(
        lambda seed: neural_network.MLPClassifier((20,), alpha=0.01, max_iter=1000, solver="lbfgs", random_state=seed)
    )
    return {
        "naive Bayes": Foreign(family, "iris", _fitted(lambda seed: naive_bayes.GaussianNB())),
        "naive Bayes of cancer": Foreign(family, "cancer", _fitted(lambda seed: naive_bayes.GaussianNB())),
        "neighbours": Foreign(family, "moons", _fitted(lambda seed: neighbors.KNeighborsClassifier(7))),
        "one neighbour": Foreign(family, "classes", _fitted(lambda seed: neighbors.KNeighborsClassifier(1))),
        "support vectors": Foreign(family, "cancer", _fitted(lambda seed: svm.SVC()), True),
        "forest": Foreign(family, "cancer", forest, False, ("wrong labels", "shifted")),
        "forest of a rare class": Foreign(family, "unbalanced", forest),
        "boosted trees": Foreign(family, "classes", boosted, False, ("shifted",)),
        "perceptron": Foreign(family, "moons", perceptron, False, ("wrong labels",)),
    }


def _composed() -> dict[str, Foreign]:
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.compose import ColumnTransformer
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.model_selection import GridSearchCV
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, StandardScaler
    from sklearn.svm import LinearSVC

    family = "scikit-learn, pipelines and searches"
    columns = [("measured", StandardScaler(), [0, 1, 2]), ("places", OneHotEncoder(), [3])]
    scaled = lambda seed: make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000))
    polynomials = _fitted(lambda seed: make_pipeline(StandardScaler(), PolynomialFeatures(2), Ridge(3.0)))
    grid = _fitted(lambda seed: GridSearchCV(LogisticRegression(max_iter=2000), {"C": [0.01, 0.1, 1.0]}, cv=3))
    neighbours = {"kneighborsclassifier__n_neighbors": [3, 9]}
    pipelines = _fitted(
        lambda seed: GridSearchCV(make_pipeline(StandardScaler(), KNeighborsClassifier()), neighbours, cv=3)
    )
    return {
        "scaled logistic": Foreign(family, "cancer", _fitted(scaled), False, ("shifted",)),
        "one-hot tokens": Foreign(family, "tokens", _fitted(lambda seed: make_pipeline(
            OneHotEncoder(handle_unknown="ignore"), LogisticRegression()))),
        "pipeline in a pipeline": Foreign(family, "moons", _fitted(lambda seed: make_pipeline(
            StandardScaler(), make_pipeline(PolynomialFeatures(3), LogisticRegression(max_iter=2000))))),
        "columns": Foreign(family, "mixed", _fitted(lambda seed: make_pipeline(
            ColumnTransformer(columns), LogisticRegression())), False, ("wrong labels",)),
        "polynomials": Foreign(family, "friedman", polynomials),
        "search of C": Foreign(family, "classes", grid),
        "search of neighbours": Foreign(family, "cancer", pipelines),
        "calibrated Bayes": Foreign(family, "cancer", _fitted(lambda seed: CalibratedClassifierCV(GaussianNB()))),
        "calibrated margins": Foreign(family, "words", _fitted(lambda seed: CalibratedClassifierCV(
            LinearSVC(random_state=seed)))),
    }  # fmt: skip


def _regressors() -> dict[str, Foreign]:
    from sklearn import ensemble, linear_model, neural_network, svm

    family = "scikit-learn, regressors"
    perceptron = _fitted(
        lambda seed: neural_network.MLPRegressor(
            hidden_layer_sizes=(20,), alpha=1.0, max_iter=2000, solver="lbfgs", random_state=seed
        )
    )
    forest = _fitted(lambda seed: ensemble.RandomForestRegressor(50, min_samples_leaf=3, random_state=seed))
    boosted = _fitted(lambda seed: ensemble.GradientBoostingRegressor(n_estimators=60, random_state=seed))
    return {
        "least squares": Foreign(family, "diabetes", _fitted(lambda seed: linear_model.LinearRegression())),
        "little is known": Foreign(family, "faint", _fitted(lambda seed: linear_model.LinearRegression())),
        "ridge": Foreign(family, "diabetes", _fitted(lambda seed: linear_model.Ridge(5.0)), True),
        "Lasso": Foreign(family, "linear", _fitted(lambda seed: linear_model.Lasso(1.0)), False, ("shifted",)),
        "ridge of three values": Foreign(family, "three values", _fitted(lambda seed: linear_model.Ridge(2.0))),
        "forest of values": Foreign(family, "friedman", forest),
        "forest of three values": Foreign(family, "three values", forest),
        "boosted values": Foreign(family, "friedman", boosted),
        "perceptron of values": Foreign(family, "friedman", perceptron, True),
        "support vectors of values": Foreign(family, "sine", _fitted(lambda seed: svm.SVR())),
    }


def _booster(rows: Rows, objective: str, rounds: int, **told: Any) -> Any:
    """A booster of XGBoost as a function of a batch."""
    import xgboost

    known = {"objective": objective, "max_depth": 3, "eta": 0.2, "nthread": 1, **told}
    booster = xgboost.train(known, xgboost.DMatrix(rows.x, rows.y), rounds)
    return lambda x: booster.predict(xgboost.DMatrix(x))


def _boosters() -> dict[str, Foreign]:
    def estimator(kind: str) -> Train:
        def train(rows: Rows, seed: int) -> Any:
            import xgboost

            return getattr(xgboost, kind)(n_estimators=40, max_depth=3, n_jobs=1, random_state=seed).fit(rows.x, rows.y)

        return train

    own = lambda rows, train, *rest: Foreign("XGBoost", rows, train, False, rest, "xgboost")
    return {
        "XGBClassifier": own("cancer", estimator("XGBClassifier"), "shifted"),
        "XGBRegressor": own("diabetes", estimator("XGBRegressor")),
        "booster of three classes": own("classes", lambda rows, seed: _booster(rows, "multi:softprob", 30,
                                                                                num_class=3)),
        "booster of two classes": own("cancer", lambda rows, seed: _booster(rows, "binary:logistic", 30),
                                      "wrong labels"),
        "booster of values": own("friedman", lambda rows, seed: _booster(rows, "reg:squarederror", 40)),
    }  # fmt: skip


def _logistic_by_hand(rows: Rows, seed: int) -> Any:
    """Softmax regression as a JAX function and its parameters, by descent on all rows, its decay stated."""
    x, y, decay = jnp.asarray(rows.x), jax.nn.one_hot(rows.y, rows.classes), 0.01
    f = lambda own, batch: batch @ own["w"] + own["b"]

    def loss(own: Any) -> jax.Array:
        return -(y * jax.nn.log_softmax(f(own, x))).sum(1).mean() + decay / 2 * sum((own[k] ** 2).sum() for k in own)

    step = jax.jit(lambda own: jax.tree.map(lambda a, b: a - 0.3 * b, own, jax.grad(loss)(own)))
    own = {"w": jnp.zeros((x.shape[1], rows.classes)), "b": jnp.zeros(rows.classes)}
    for _ in range(500):
        own = step(own)
    return (f, own), {"decay": decay}


def _random_features(rows: Rows, seed: int) -> Any:
    """Ridge regression on 40 cosines, whose directions are no parameters."""
    rng = np.random.default_rng(seed)
    directions, phases = rng.normal(size=(rows.x.shape[1], 40)), rng.uniform(0, 2 * np.pi, 40)
    features = lambda x: jnp.cos(x @ directions + phases)
    z = np.asarray(features(rows.x))
    weights = np.linalg.solve(z.T @ z + 0.5 * np.eye(40), z.T @ rows.y)
    return lambda own, x: features(x) @ own, jnp.asarray(weights)


def _centroids(rows: Rows, seed: int) -> Any:
    """Softmax of minus half of the squared distances from the classes' means, as a function of a batch."""
    means = np.stack([rows.x[rows.y == k].mean(0) for k in range(rows.classes)])
    return lambda x: -((x[:, None] - means) ** 2).sum(2) / 2


def _functions() -> dict[str, Foreign]:
    family = "plain functions"
    return {
        "softmax by hand": Foreign(family, "wine", _logistic_by_hand, True),
        "softmax of classes by hand": Foreign(family, "classes", _logistic_by_hand, True, ("wrong labels",)),
        "random features": Foreign(family, "sine", _random_features),
        "centroids": Foreign(family, "classes", _centroids, True),
    }


def _networks() -> dict[str, Foreign]:
    """Networks, with fewer training rows: theories that leave rows out take seconds a network."""
    found = {}
    for name, (family, rows, train, others) in networks.NETWORKS.items():
        needs = {"PyTorch": "torch", "Flax": "flax", "Equinox": "equinox", "Keras": "keras"}[family]
        found[name] = Foreign(family, rows, train, True, others, needs, 150)
    return found


MODELS: dict[str, Foreign] = {
    **_linear_classifiers(), **_other_classifiers(), **_composed(), **_regressors(), **_boosters(), **_functions(),
    **_networks(),
}  # fmt: skip


def left_out() -> dict[str, str]:
    """Models that cannot be trained here, by the module that is missing."""
    found = {needs: importlib.util.find_spec(needs) for needs in {own.needs for own in MODELS.values()}}
    return {name: own.needs for name, own in MODELS.items() if found[own.needs] is None}


def cells(names: list[str], conditions: list[str], seeds: list[int]) -> list[tuple[str, str, int]]:
    """Each model in the conditions that it is examined in, with each seed, but those that cannot be trained."""
    missing = left_out()
    return [
        (name, condition, seed)
        for seed in seeds
        for name in names
        for condition in conditions
        if name not in missing and condition in ("clean", *MODELS[name].others)
    ]


def trained_on(name: str, condition: str, seed: int) -> tuple[Any, Rows, dict[str, Any]]:
    """A model, trained; its rows; and what a user would tell of it besides."""
    own = MODELS[name]
    rows = rows_of(own.rows, condition, seed, own.scaled, name, own.train_rows)
    found = own.train(rows, seed)
    told = isinstance(found, tuple) and len(found) == 2 and isinstance(found[1], dict) and "decay" in found[1]
    model, facts = found if told else (found, {})
    return model, rows, facts

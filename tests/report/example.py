"""A record as a study would write it, made from simple laws, for tests and for looking at the page."""

import math

import numpy as np

ARCHITECTURES = [
    ("linear", "Linear model", 0.55, 0.35),
    ("rbf", "Gaussian (RBF) kernel", 1.9, 0.5),
    ("relu-1", "ReLU network, depth 1", 2.0, 0.52),
    ("relu-3", "ReLU network, depth 3", 2.1, 0.56),
    ("erf-2", "Erf network, depth 2", 2.0, 0.54),
    ("softmax", "Softmax network", 1.6, 0.42),
]


def example_study(seed=0):
    rng = np.random.default_rng(seed)
    return {
        "lemmata": "0.1.0",
        "created": "2026-01-02T03:04:05Z",
        "command": "lemmata study digits --error 0.1 --seed 0",
        "seed": 0,
        "seconds": 81.234,
        "peak_gib": 1.23,
        "data": {
            "name": "digits",
            "rows": 1797,
            "used_rows": 1797,
            "columns": 64,
            "kept_columns": 61,
            "outputs": 10,
            "task": "classification",
            "target": "target",
            "classes": [str(i) for i in range(10)],
            "features": [f"pixel_{i}_{j}" for i in range(8) for j in range(8)][:61],
            "notes": [
                "dropped 3 constant columns: pixel_0_0, pixel_4_0, pixel_4_7",
                "standardised every input column to mean 0 and variance 1",
            ],
            "duplicates": {"rows": 12, "examples": [[3, 17], [5, 90]]},
            "baseline_error": 0.9,
        },
        "architectures": [_architecture(rng, *entry) for entry in ARCHITECTURES],
        "answers": {
            "error": 0.1,
            "error_origin": "given with --error",
            "best": "relu-3",
            "sentences": [
                "The ReLU network of depth 3 needs the fewest samples: 229 (210 to 248) for a held-out error of 0.1.",
                "Theory and fitted power law agree for 5 of 6 architectures.",
                "The linear model would need more rows than there are: its number is an extrapolation.",
            ],
        },
        "training": [
            {
                "name": name,
                "title": title,
                "widths": [_width(width) for width in (256, 1024, 4096)],
                "sentence": "The gap to the kernel shrinks from 0.125 at width 256 to 0.0312 at width 4,096.",
            }
            for name, title in (("relu", "ReLU network, depth 1"), ("softmax", "Softmax network"))
        ],
        "claims": CLAIMS,
        "quality": {
            "points": 48,
            "median_abs_log_ratio": 0.0412,
            "within_0_4": 0.99,
            "sizes_up_to": 898,
            "sentence": "Over 48 points the prediction was within a factor of 1.04 of the measurement in the median.",
        },
        "bibliography": [
            {
                "key": "simon2023",
                "text": "James B. Simon, Madeline Dickens, Dhruva Karkada and Michael R. DeWeese. "
                "The eigenlearning framework. Transactions on Machine Learning Research, 2023.",
            },
            {
                "key": "bousquet2002",
                "text": "Olivier Bousquet and André Elisseeff. Stability and generalization. JMLR 2, 2002.",
            },
        ],
        "notes": ["The time limit left no room for the largest training set of the softmax network."],
    }


def _architecture(rng, name, title, scale, exponent):
    curve = []
    for n in (20, 40, 80, 160, 320, 640, 898, 1797):
        predicted = min(0.9, scale * n**-exponent)
        measured = predicted * math.exp(0.06 * rng.normal()) if n < 1797 else None
        curve.append(
            {
                "n": n,
                "predicted": predicted,
                "lower": predicted * 0.88,
                "upper": predicted * 1.14,
                "measured": measured,
                "measured_se": measured and 0.03 * measured,
                "resamples": 8 if measured else 0,
                "ratio": measured and predicted / measured,
                "accuracy": measured and 1 - measured / 2,
                "extrapolated": False,
            }
        )
    index = np.unique(np.round(np.geomspace(1, 1797, 60)).astype(int))
    values = 900.0 * index ** (-2 * exponent - 0.4)
    share = 1 - 0.95 * index ** (-exponent * 1.3) * (1 - index / 1800)
    n = (scale / 0.1) ** (1 / exponent)
    beyond = n > 1797
    return {
        "name": name,
        "title": title,
        "kernel": f"{name}(x, x′)",
        "ridge": 0.0123456,
        "ridge_relative": 1e-3,
        "jitter": 0.0,
        "spectrum": {
            "index": index.tolist(),
            "eigenvalues": values.tolist(),
            "alignment": share.tolist(),
            "smallest": float(values[-1]),
            "largest": 900.0,
            "condition": 900 / float(values[-1]),
            "effective_dimension": 120.345,
            "culprits": ["12 duplicate rows make the smallest eigenvalue zero"] if name == "linear" else [],
        },
        "leave_one_out": 0.0523,
        "gcv": 0.0498,
        "curve": curve,
        "samples": {
            "error": 0.1,
            "theory": {"n": n, "lower": n * 0.9, "upper": n * 1.1, "extrapolates": beyond},
            "power_law": {
                "n": n * 1.05,
                "lower": n * 0.85,
                "upper": n * 1.3,
                "extrapolates": beyond,
                "exponent": -exponent,
                "exponent_se": 0.03,
            },
            "measured": None if beyond else round(n * 1.02),
            "agree": not beyond,
            "text": f"{title} needs about {n:,.0f} rows by theory and {1.05 * n:,.0f} by the fitted power law.",
        },
    }


def _width(width):
    times = np.geomspace(0.1, 1000, 24)
    gap = 2 / math.sqrt(width)
    return {
        "width": width,
        "gap": gap,
        "kernel_movement": gap * 0.8,
        "points": [
            {
                "time": t,
                "kernel_train": 0.9 / (1 + t) ** 0.7,
                "kernel_test": 0.08 + 0.8 / (1 + t) ** 0.7,
                "network_train": 0.9 / (1 + t) ** 0.7 * (1 + gap),
                "network_test": (0.08 + 0.8 / (1 + t) ** 0.7) * (1 + gap),
            }
            for t in times.tolist()
        ],
    }


CLAIMS = [
    {
        "name": "generalisation.stability.uniform_stability",
        "title": "Uniform stability of kernel ridge regression",
        "label": "upper",
        "statement": "With probability 1 − δ the held-out error exceeds the training error by at most "
        "2β + (4nβ + M) √(ln(1/δ) / 2n).",
        "source": "Bousquet and Elisseeff (2002), Theorem 12",
        "controls": "the gap between held-out and training error",
        "unexplained": "why the gap is far smaller at a small ridge",
        "architecture": "rbf",
        "status": "applies",
        "hypotheses": [
            {
                "name": "kernel bounded on the data",
                "value": 1.0,
                "threshold": 1.0,
                "relation": "<=",
                "holds": True,
                "margin": 0.0,
                "why": "",
            },
            {
                "name": "rows independent and identically distributed",
                "value": None,
                "threshold": None,
                "relation": "",
                "holds": None,
                "margin": None,
                "why": "a table does not say how its rows were drawn",
            },
        ],
        "prediction": 12.345,
        "measurement": 0.0456,
        "ratio": 270.7,
        "trivial": 1.0,
        "vacuous": True,
        "agrees": True,
        "culprit": None,
    },
    {
        "name": "optimisation.gradient_descent.iterations",
        "title": "Iterations grow as the condition number",
        "label": "upper",
        "statement": "Gradient descent reaches a relative residual ε after at most κ ln(1/ε) steps.",
        "source": "Theorem 2",
        "controls": "the training residual",
        "unexplained": "what is learned before convergence",
        "architecture": "linear",
        "status": "inapplicable",
        "hypotheses": [
            {
                "name": "smallest eigenvalue positive",
                "value": 1.2e-17,
                "threshold": 4.5e-11,
                "relation": ">",
                "holds": False,
                "margin": -4.5e-11,
                "why": "12 duplicate rows",
            }
        ],
        "prediction": None,
        "measurement": None,
        "ratio": None,
        "trivial": None,
        "vacuous": None,
        "agrees": None,
        "culprit": "12 duplicate rows make the smallest eigenvalue zero",
    },
]

"""A photograph made larger by networks that were trained on another: decibels beyond bicubic interpolation."""

import altair as alt
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from lemmata.subjects.operators import (
    SuperResolutionOperator,
    bilinear,
    peak_signal_to_noise,
    photographs,
    pixel_centres,
    resize,
    super_resolve,
    train_super_resolution,
)

SCALES, SEEDS, STEPS = (2, 3, 5), (0, 1), 1500
ROWS, COLUMNS, TILE = 420, 630, 70
WORDS = {
    "bilinear": "bilinear",
    "alone": "network without attention",
    "attention": "neural operator",
    "tiles": "neural operator, tile by tile",
}
COLOURS = ("#888888", "#4c78c8", "#c2508c", "#b8962e")


def trained(image: np.ndarray, attention: bool, seed: int) -> SuperResolutionOperator:
    """Width 32, one block, 16 channels, in single precision."""
    model = SuperResolutionOperator(jax.random.key(seed), attention=attention, dtype=jnp.float32)
    return train_super_resolution(model, [image], steps=STEPS, seed=seed)[0]


def in_tiles(model: SuperResolutionOperator, image: np.ndarray, scale: int) -> np.ndarray:
    """The enlarged image from tiles that know nothing of each other."""
    called, found = eqx.filter_jit(model), np.zeros((ROWS, COLUMNS, 3), np.float32)
    places = pixel_centres(ROWS, COLUMNS).astype(np.float32).reshape(ROWS, COLUMNS, 2)
    for i in range(0, ROWS, TILE):
        for j in range(0, COLUMNS, TILE):
            part = (slice(i, i + TILE), slice(j, j + TILE))
            colours = called(jnp.asarray(image), jnp.asarray(places[part].reshape(-1, 2)), jnp.full(2, 1 / scale))
            found[part] = np.asarray(colours).reshape(TILE, TILE, 3)
    return found


def rows() -> list[dict]:
    """Gains over bicubic interpolation in dB, for both photographs and each seed."""
    found, photos = [], photographs()
    for name, other in (("flower", "china"), ("china", "flower")):
        models = {
            ("attention" if attention else "alone", seed): trained(photos[other], attention, seed)
            for attention in (True, False)
            for seed in SEEDS
        }
        whole = photos[name][:ROWS, :COLUMNS]
        for scale in SCALES:
            small = resize(whole, (ROWS // scale, COLUMNS // scale))
            error = lambda image, whole=whole, scale=scale: peak_signal_to_noise(image, whole, border=scale)
            base = error(resize(small, whole.shape[:2]))
            plain = np.asarray(bilinear(jnp.asarray(small), jnp.asarray(pixel_centres(ROWS, COLUMNS))))
            gains = {("bilinear", 0): error(plain.reshape(whole.shape)) - base}
            gains |= {arm: error(super_resolve(model, small, scale)) - base for arm, model in models.items()}
            with_mean = {arm: model for arm, model in models.items() if arm[0] == "attention"}
            gains |= {("tiles", arm[1]): error(in_tiles(own, small, scale)) - base for arm, own in with_mean.items()}
            unseen = ", not in training" if scale > 4 else ""
            for (arm, seed), gain in gains.items():
                panel = f"{name}; networks trained on {other}"
                found.append({"photograph": panel, "scale": f"x{scale}{unseen}", "what": WORDS[arm], "gain": gain})
                print(f"{name} x{scale} bicubic {base:.2f} {arm} seed {seed}: {gain:+.2f}", flush=True)
    return found


def picture() -> alt.Chart:
    """A panel a photograph, a row a scale, a dot a network."""
    names = list(WORDS.values())
    colour = alt.Color("what:N", sort=names, title=None, scale=alt.Scale(domain=names, range=list(COLOURS)))
    frame = alt.Chart()
    zero = frame.mark_rule(color="#888", strokeDash=[4, 3]).encode(x=alt.datum(0))
    dots = frame.mark_point(filled=True, size=45, opacity=0.8).encode(
        alt.X("gain:Q", title="decibels beyond bicubic interpolation"),
        alt.Y("scale:N", title=None),
        alt.YOffset("what:N", sort=names),
        colour,
    )
    layers = alt.layer(zero, dots, data=alt.Data(values=rows())).properties(width=420, height=150)
    return layers.facet(row=alt.Row("photograph:N", title=None, header=alt.Header(labelOrient="top")))

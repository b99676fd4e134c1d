"""Infinitely wide networks on images of digits: convolutions with pooling against dense layers, by training size."""

import altair as alt
import jax
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from lemmata.architectures import AveragePool, Conv, Dense, Flatten, Relu, Serial, relu_network
from lemmata.estimators import TangentKernelClassifier

jax.config.update("jax_enable_x64", True)
images, labels = load_digits(return_X_y=True)
images = (images / 16).reshape(-1, 8, 8, 1)
layer = [Conv(64, (3, 3), 2**0.5, 0.1), Relu()]
networks = {
    "convolutions": Serial([*layer, *layer, AveragePool((2, 2)), *layer, Flatten(), Dense(1)]),
    "dense": Serial([Flatten(), *relu_network(3).layers]),
}
rows = []
for size in (25, 50, 100):
    for name, network in networks.items():
        split = train_test_split(images, labels, train_size=size, test_size=150, stratify=labels, random_state=0)
        model = TangentKernelClassifier(network).fit(split[0], split[2])
        rows.append({"training images": size, "error": 1 - model.score(split[1], split[3]), "network": name})
        print(f"{name}, {size} images: error {rows[-1]['error']:.1%}")
marks, log = alt.Chart(alt.Data(values=rows)).mark_line(point=True), alt.Scale(type="log", nice=False)
size, error = alt.X("training images:Q", scale=log), alt.Y("error:Q", scale=log, title="test error")
marks.encode(x=size, y=error, color="network:N").save("convolutional.svg")

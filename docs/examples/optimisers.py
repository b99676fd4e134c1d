"""Which optimiser is best on this loss, with equal budgets, and is the order more than luck?"""

import jax
import jax.numpy as jnp
import optax

from lemmata.subjects.optimisers import compare_optimisers, shampoo

jax.config.update("jax_enable_x64", True)
target = jnp.sin(jnp.arange(12.0)).reshape(3, 4)
loss = lambda w: jnp.sum(jnp.geomspace(1.0, 100.0, 3)[:, None] * (w - target) ** 2)
rates = {"learning_rate": (1e-3, 1.0)}
tried = {"sgd": optax.sgd, "adam": optax.adam, "lion": optax.lion, "shampoo": shampoo}
found = compare_optimisers(loss, jnp.zeros((3, 4)), {name: (own, rates) for name, own in tried.items()}, trials=12)
print("order:", ", ".join(found.order))
print(f"identical optimisers are as far apart with probability {found.luck:.3f}")
print(f"best learning rate of adam: {found.best('adam')['learning_rate']:.3f}")

found.figure().save("optimisers.svg")

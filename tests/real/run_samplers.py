# pip: numpyro==0.22.0 jax==0.10.2 numpy==2.4.6
"""numpyro (Pyro's summary is the same): a table whose columns are quantiles, too, and the bar of an SVI."""
import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from numpyro.infer import MCMC, NUTS, SVI, Trace_ELBO
from numpyro.infer.autoguide import AutoNormal

from tiny import right


def model(x):
    numpyro.sample("x", dist.Normal(numpyro.sample("mu", dist.Normal(0, 1)), 1), obs=x)


data = jnp.ones(20)
chain = MCMC(NUTS(model), num_warmup=50, num_samples=100)
chain.run(jax.random.PRNGKey(0), data)
chain.print_summary()
mu = chain.get_samples()["mu"]
losses = SVI(model, AutoNormal(model), numpyro.optim.Adam(0.01), Trace_ELBO()).run(jax.random.PRNGKey(0), 100, data).losses
right(("mean", "-", f"{mu.mean():.2f}"), ("median", "-", f"{jnp.median(mu):.2f}"), ("init loss", "-", f"{losses[0]:.4f}"),
      ("avg. loss", "-", f"{losses[95:].mean():.4f}"))

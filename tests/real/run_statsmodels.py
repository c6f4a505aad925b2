# pip: statsmodels==0.15.0 numpy==2.4.6
"""statsmodels: a summary in two columns of names and values, with `Adj. R-squared` below `R-squared`."""
import numpy
import statsmodels.api as sm

from tiny import right

rng = numpy.random.default_rng(7)
x = rng.normal(size=(300, 3))
y = x @ [1, -1, 0.5] + rng.normal(size=300)
ols = sm.OLS(y, sm.add_constant(x)).fit()
print(ols.summary())
logit = sm.Logit(y > 0, sm.add_constant(x)).fit()
right(("R-squared", "-", f"{ols.rsquared:.3f}"), ("Adj. R-squared", "-", f"{ols.rsquared_adj:.3f}"), ("AIC", "-", f"{ols.aic:.1f}"),
      ("Log-Likelihood", "-", f"{ols.llf:.2f}"), ("Current function value", "-", f"{-logit.llf / 300:.6f}"))

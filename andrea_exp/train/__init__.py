"""Training: the only package that knows Lightning. `fit` is all that others call.

`config`, `runtime` and `outcome` import no Lightning.
"""

"""Types of arrays, and of seeds."""

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
#: A seed of random numbers.
Seed = int | Generator

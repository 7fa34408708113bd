"""Which text generator is better, and which evaluator to believe.

Import what you need from its module; importing the package itself loads nothing heavy.

>>> import nlgbench
>>> nlgbench.__version__
'0.1.0'
"""

__version__ = "0.1.0"

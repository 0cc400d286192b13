"""What the documents compare random functions with: methods that choose or train every function.

Rahimi and Recht set random stumps beside AdaBoost and functions whose parameters are all trained;
the greedy methods of Jones and Barron, of which matching pursuit is the usual one, are what random
draws replace in their proofs. Each has scikit-learn's contract, so that it can stand wherever a
`SpanRegressor` or a `SpanClassifier` does.
"""

from .boosted_stumps import BoostedStumps
from .joint_training import JointTraining
from .matching_pursuit import MatchingPursuit

__all__ = ["BoostedStumps", "JointTraining", "MatchingPursuit"]

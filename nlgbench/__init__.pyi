# The public names, nlgbench.NAME. `__init__.py` reads this file and loads a name on first use;
# type checkers and completion see its real signature.

__version__: str

# Data
from nlgbench.datasets.public import load as load
from nlgbench.datasets.public import studies as studies
from nlgbench.study import Study as Study
from nlgbench.study import read_study as read_study
from nlgbench.worlds.simulated import open_study as open_study
from nlgbench.worlds.simulated import simulate as simulate

# Evaluate systems
from nlgbench.analysis.people import compare_systems as compare_systems
from nlgbench.analysis.distributions import compare_distributions as compare_distributions
from nlgbench.analysis.distributions.trends import measure_trends as measure_trends
from nlgbench.analysis.huse.diagnosis import boundary as boundary
from nlgbench.analysis.huse.diagnosis import failures as failures
from nlgbench.analysis.huse.diagnosis import multiverse as multiverse
from nlgbench.analysis.huse.score import huse as huse
from nlgbench.analysis.huse.uncertainty import permutation_test as permutation_test
from nlgbench.analysis.huse.uncertainty import stability as stability

# Evaluate evaluators
from nlgbench.analysis.correlation import compare_evaluators as compare_evaluators
from nlgbench.analysis.correlation import correlate as correlate
from nlgbench.analysis.correlation.pooling import pool_correlations as pool_correlations
from nlgbench.analysis.disagreement import disagreements as disagreements
from nlgbench.analysis.diversity import diversity as diversity
from nlgbench.analysis.people import accuracy as accuracy
from nlgbench.analysis.people import agreement as agreement
from nlgbench.analysis.people.votes import vote_accuracy as vote_accuracy
from nlgbench.analysis.people.votes import vote_agreement as vote_agreement
from nlgbench.evaluators.discriminators import discriminator_accuracy as discriminator_accuracy
from nlgbench.evaluators.listeners.listeners import beliefs as beliefs
from nlgbench.evaluators.listeners.listeners import calibration as calibration
from nlgbench.evaluators.listeners.neural import train_listeners as train_listeners
from nlgbench.evaluators.references import nearest_references as nearest_references
from nlgbench.evaluators.score import score as score
from nlgbench.evaluators.comparator.comparators import compare_texts as compare_texts
from nlgbench.evaluators.comparator.comparators import train_comparator as train_comparator
from nlgbench.evaluators.comparator.pairs import supervise as supervise
from nlgbench.evaluators.comparator.splits import split as split

# Ratings
from nlgbench.analysis.trials.choosing import choose as choose
from nlgbench.analysis.trials.correlating import correlate_trials as correlate_trials
from nlgbench.analysis.trials.correlating import system_quality as system_quality
from nlgbench.analysis.trials.running import run_trials as run_trials
from nlgbench.analysis.ratings.bradley_terry import win_rates as win_rates
from nlgbench.analysis.ratings.rating import convergence as convergence
from nlgbench.analysis.ratings.rating import order_stability as order_stability
from nlgbench.analysis.ratings.rating import rate as rate

# Evaluators in place of annotators
from nlgbench.analysis.judges.auditing import audit as audit
from nlgbench.analysis.judges.corrected import corrected_quality as corrected_quality
from nlgbench.analysis.judges.pass_fail import judge_agreement as judge_agreement
from nlgbench.analysis.judges.replacing import replaces_annotators as replaces_annotators
from nlgbench.analysis.judges.sampling import sample_labels as sample_labels

# Plan studies
from nlgbench.runner.heds import datasheet as datasheet
from nlgbench.analysis.planning.plans import plan_study as plan_study
from nlgbench.analysis.planning.components import variance_components as variance_components
from nlgbench.analysis.planning.stopping import sequential as sequential

# Claims and reproduction
from nlgbench.runner.own_claims import check_claims as check_claims
from nlgbench.analysis.reproduction import reproduction as reproduction

# Interactive views
from nlgbench.explorer.opening import explore as explore

# Plots
from nlgbench.plots.atlas import plot_atlas as plot_atlas
from nlgbench.plots.audit import plot_audit as plot_audit
from nlgbench.plots.biased_judges import plot_biased_judges as plot_biased_judges
from nlgbench.plots.corrected import plot_corrected as plot_corrected
from nlgbench.plots.figures import Drawing as Drawing
from nlgbench.plots.forest import plot_forest as plot_forest
from nlgbench.plots.granularity import plot_granularity as plot_granularity
from nlgbench.plots.recomputed import plot_recomputed as plot_recomputed
from nlgbench.plots.systems import plot_severity as plot_severity
from nlgbench.plots.systems import plot_systems as plot_systems
from nlgbench.plots.replacing import plot_replacement as plot_replacement
from nlgbench.plots.pooled import plot_pooled as plot_pooled
from nlgbench.plots.reproduction import plot_reproduction as plot_reproduction
from nlgbench.plots.reliability import plot_reliability as plot_reliability
from nlgbench.plots.swatches import plot_contexts as plot_contexts
from nlgbench.plots.violins import plot_violins as plot_violins
from nlgbench.plots.boundary import plot_boundary as plot_boundary
from nlgbench.plots.multiverse import plot_multiverse as plot_multiverse
from nlgbench.plots.sequential import plot_sequential as plot_sequential
from nlgbench.plots.stability import plot_stability as plot_stability
from nlgbench.plots.planning import plot_plan as plot_plan
from nlgbench.plots.tradeoff import plot_tradeoff as plot_tradeoff
from nlgbench.plots.typicality import plot_typicality as plot_typicality
from nlgbench.plots.choosing import plot_choices as plot_choices
from nlgbench.plots.choosing import plot_training as plot_training
from nlgbench.plots.ratings import plot_convergence as plot_convergence
from nlgbench.plots.ratings import plot_ratings as plot_ratings
from nlgbench.plots.ratings import plot_win_rates as plot_win_rates

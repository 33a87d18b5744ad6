"""Look at programs and their derivatives: explanations, graphs, pages, profiles."""

from adjoint.show.explanation.explain import Explanation, explain

__all__ = ["Explanation", "explain"]

"""Look at programs and their derivatives: explanations, graphs, pages, profiles."""

from adjoint.show.explanation import Explanation, explain

__all__ = ["Explanation", "explain"]

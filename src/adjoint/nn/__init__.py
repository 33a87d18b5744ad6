"""Networks for people who write NumPy: a model is a tree of arrays, a layer is a function.

```python
from adjoint import nn
nn.softargmax(nn.relu(np.array([-1.0, 0.0, 1.0])))  # → [0.211941…, 0.211941…, 0.576116…]
```

Everything is loaded when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from adjoint.nn import initializers, losses
    from adjoint.nn.activations import (
        elu,
        gelu,
        glu,
        hardmax,
        leaky_relu,
        log_softargmax,
        logistic,
        logsumexp,
        power,
        prelu,
        relu,
        selu,
        silu,
        softargmax,
        softargmax_inverse,
        softmax,
        softplus,
        step,
        swiglu,
    )
    from adjoint.nn.adapters import LoRA
    from adjoint.nn.convolution import Conv, ConvTranspose
    from adjoint.nn.dropping import Dropout, dropout
    from adjoint.nn.encoding import decode, in_simplex, log_product, log_sum, logit, one_hot
    from adjoint.nn.estimators.classifier import Classifier
    from adjoint.nn.estimators.linear import LinearClassifier, LinearRegressor
    from adjoint.nn.estimators.regressor import Regressor
    from adjoint.nn.evaluation import calibration, conformal
    from adjoint.nn.linear import Bilinear, Embedding, Linear
    from adjoint.nn.losses.classification import cross_entropy
    from adjoint.nn.losses.linear_models import least_squares, noise_variance, ridge
    from adjoint.nn.losses.objectives import (
        average,
        empirical_risk,
        generalization_gap,
        log_prior,
        posterior,
        regularized,
    )
    from adjoint.nn.mlp import MLP
    from adjoint.nn.nearest_neighbors import nearest
    from adjoint.nn.normalization import BatchNorm, GroupNorm, LayerNorm, RMSNorm
    from adjoint.nn.residual import Concat, Residual, Sequential
    from adjoint.nn.sequence.attention import MultiHead, attention, causal_mask
    from adjoint.nn.sequence.caching import Cache
    from adjoint.nn.sequence.cells import GRUCell, LSTMCell, RNNCell
    from adjoint.nn.sequence.decoding import EncoderDecoder, SequenceDecoder
    from adjoint.nn.sequence.language import Classify, LanguageModel, Span, Tag
    from adjoint.nn.sequence.packing import Packed, SpecialTokens, packed, padded, prompted
    from adjoint.nn.sequence.positions import LearnedPositions, alibi, rope, sinusoidal
    from adjoint.nn.sequence.pretraining import MaskedTokens, SentencePairs, masked_tokens, next_sentence
    from adjoint.nn.sequence.recurrent import GRU, LSTM, RNN, pool
    from adjoint.nn.sequence.sampling import generate, restricted
    from adjoint.nn.sequence.transformer import Decoder, Encoder, FeedForward, TransformerLayer
    from adjoint.nn.sequence.translation import EncoderDecoderTransformer
    from adjoint.nn.stacking import Stack
    from adjoint.nn.statistics import RunningStatistics, trainable
    from adjoint.nn.storage.torch_layouts import from_torch
    from adjoint.nn.storage.trees import load, notes, save
    from adjoint.nn.summarizing import Summary, summary
    from adjoint.nn.tapping import taps
    from adjoint.nn.training import metrics
    from adjoint.nn.training.evaluating import evaluate
    from adjoint.nn.training.fitting import fit
    from adjoint.nn.training.history import History
    from adjoint.nn.training.metrics import accuracy
    from adjoint.nn.training.rates import LearningRates, learning_rates
    from adjoint.nn.training.running import Run, Step, steps

__all__ = [  # noqa: RUF022  (by subject)
    # activations
    "elu",
    "gelu",
    "glu",
    "hardmax",
    "leaky_relu",
    "log_softargmax",
    "logistic",
    "logsumexp",
    "power",
    "prelu",
    "relu",
    "selu",
    "silu",
    "softargmax",
    "softargmax_inverse",
    "softmax",
    "softplus",
    "step",
    "swiglu",
    # classes, probabilities, logarithms
    "decode",
    "in_simplex",
    "log_product",
    "log_sum",
    "logit",
    "one_hot",
    # initial values
    "initializers",
    # layers
    "Bilinear",
    "Embedding",
    "Linear",
    "MLP",
    "Conv",
    "ConvTranspose",
    "BatchNorm",
    "GroupNorm",
    "LayerNorm",
    "RMSNorm",
    "Dropout",
    "dropout",
    "LoRA",
    # layers of layers
    "Concat",
    "Residual",
    "Sequential",
    "Stack",
    # recurrent networks
    "GRUCell",
    "LSTMCell",
    "RNNCell",
    "GRU",
    "LSTM",
    "RNN",
    "pool",
    "EncoderDecoder",
    "SequenceDecoder",
    # attention
    "MultiHead",
    "attention",
    "causal_mask",
    "LearnedPositions",
    "alibi",
    "rope",
    "sinusoidal",
    # transformers
    "Decoder",
    "Encoder",
    "FeedForward",
    "TransformerLayer",
    "Classify",
    "EncoderDecoderTransformer",
    "LanguageModel",
    "Span",
    "Tag",
    "Cache",
    # text
    "generate",
    "restricted",
    "Packed",
    "SpecialTokens",
    "packed",
    "padded",
    "prompted",
    "MaskedTokens",
    "SentencePairs",
    "masked_tokens",
    "next_sentence",
    # losses and trust
    "losses",
    "cross_entropy",
    # objectives and linear models
    "average",
    "empirical_risk",
    "generalization_gap",
    "log_prior",
    "posterior",
    "regularized",
    "least_squares",
    "noise_variance",
    "ridge",
    "calibration",
    "conformal",
    "nearest",
    # training
    "fit",
    "steps",
    "Step",
    "Run",
    "History",
    "evaluate",
    "LearningRates",
    "learning_rates",
    "metrics",
    "accuracy",
    # estimators
    "Classifier",
    "Regressor",
    "LinearClassifier",
    "LinearRegressor",
    # files
    "save",
    "load",
    "notes",
    "from_torch",
    # models as trees
    "RunningStatistics",
    "trainable",
    "Summary",
    "summary",
    "taps",
]

# The file that defines each name.
_HOMES = {
    "activations": (
        "elu gelu glu hardmax leaky_relu log_softargmax logistic logsumexp power prelu relu selu silu softargmax "
        "softargmax_inverse softmax softplus step swiglu"
    ),
    "encoding": "decode in_simplex log_product log_sum logit one_hot",
    "initializers": "initializers",
    "losses": "losses",
    "losses.classification": "cross_entropy",
    "losses.linear_models": "least_squares noise_variance ridge",
    "losses.objectives": "average empirical_risk generalization_gap log_prior posterior regularized",
    "evaluation.calibration": "calibration",
    "evaluation.conformal": "conformal",
    "nearest_neighbors": "nearest",
    "linear": "Bilinear Embedding Linear",
    "mlp": "MLP",
    "convolution": "Conv ConvTranspose",
    "normalization": "BatchNorm GroupNorm LayerNorm RMSNorm",
    "dropping": "Dropout dropout",
    "adapters": "LoRA",
    "residual": "Concat Residual Sequential",
    "stacking": "Stack",
    "sequence.cells": "GRUCell LSTMCell RNNCell",
    "sequence.recurrent": "GRU LSTM RNN pool",
    "sequence.decoding": "EncoderDecoder SequenceDecoder",
    "sequence.attention": "MultiHead attention causal_mask",
    "sequence.positions": "LearnedPositions alibi rope sinusoidal",
    "sequence.transformer": "Decoder Encoder FeedForward TransformerLayer",
    "sequence.language": "Classify LanguageModel Span Tag",
    "sequence.translation": "EncoderDecoderTransformer",
    "sequence.caching": "Cache",
    "sequence.sampling": "generate restricted",
    "sequence.packing": "Packed SpecialTokens packed padded prompted",
    "sequence.pretraining": "MaskedTokens SentencePairs masked_tokens next_sentence",
    "statistics": "RunningStatistics trainable",
    "summarizing": "Summary summary",
    "tapping": "taps",
    "training.fitting": "fit",
    "training.running": "Run Step steps",
    "training.history": "History",
    "training.evaluating": "evaluate",
    "training.metrics": "accuracy metrics",
    "estimators.classifier": "Classifier",
    "estimators.regressor": "Regressor",
    "estimators.linear": "LinearClassifier LinearRegressor",
    "storage.trees": "load notes save",
    "storage.torch_layouts": "from_torch",
    "training.rates": "LearningRates learning_rates",
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        if name.startswith("__"):
            raise AttributeError(name)
        explain_name = import_module("adjoint.nn.elsewhere").explain_name
        raise AttributeError(explain_name("adjoint.nn", name, __all__), name=name)
    home = import_module(f"adjoint.nn.{_HOME_OF[name]}")
    value = getattr(home, name, home)  # a file that is a name itself has none of its own
    globals()[name] = value  # from now on it is found without this function
    return value


def __dir__() -> list[str]:
    return sorted(__all__)

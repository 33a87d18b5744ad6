"""Names of torch, Keras and scikit-learn, and what is written here instead."""

from __future__ import annotations

from collections.abc import Iterable

from adjoint.base.suggestions import did_you_mean

__all__ = ["ELSEWHERE", "explain_name"]

# what others call it → what is written here
ELSEWHERE: dict[str, str] = {
    "Module": "a frozen dataclass with __call__(self, x, *, rng=None); its arrays are the parameters",
    "Parameter": "an array: every floating leaf of a model is a parameter",
    "Buffer": "a Stateful container, as nn.RunningStatistics",
    "ModuleList": "a tuple, or nn.Stack for equal layers",
    "functional": "nn itself: layers are functions of arrays, activations and losses too",
    "F": "nn itself",
    "init": "nn.initializers, given to a layer as weight=",
    "Dense": "nn.Linear.init(rng, inputs, outputs)",
    "Identity": "lambda x: x",
    "Flatten": "lambda x: np.reshape(x, (len(x), -1))",
    **dict.fromkeys(("Conv1d", "Conv2d", "Conv3d", "Conv2D"), "nn.Conv.init(rng, inputs, outputs, size, axes=2)"),
    **dict.fromkeys(("ConvTranspose1d", "ConvTranspose2d", "Conv2DTranspose"), "nn.ConvTranspose.init"),
    **dict.fromkeys(("MaxPool2d", "MaxPooling2D", "max_pool2d"), "ad.signal.max_pool(x, (2, 2))"),
    **dict.fromkeys(("AvgPool2d", "AveragePooling2D", "AdaptiveAvgPool2d"), "ad.signal.avg_pool, or np.mean"),
    **dict.fromkeys(("BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "BatchNormalization"), "nn.BatchNorm.init(features)"),
    "LayerNormalization": "nn.LayerNorm.init(width)",
    **dict.fromkeys(("Dropout1d", "Dropout2d"), "nn.Dropout(rate)"),
    "ReLU": "nn.relu, a function", "LeakyReLU": "nn.leaky_relu, a function", "PReLU": "nn.prelu, a function",
    "ELU": "nn.elu, a function", "SELU": "nn.selu, a function", "SiLU": "nn.silu, a function",
    "GELU": "nn.gelu, a function", "Softplus": "nn.softplus, a function",
    **dict.fromkeys(("Tanh", "tanh"), "np.tanh"),
    **dict.fromkeys(("Sigmoid", "sigmoid"), "nn.logistic, a function"),
    **dict.fromkeys(("Softmax", "softmax2d"), "nn.softargmax, a function"),
    **dict.fromkeys(("LogSoftmax", "log_softmax"), "nn.log_softargmax, a function"),
    "MultiheadAttention": "nn.MultiHead.init; its masks are True where a query may look",
    "MultiHeadAttention": "nn.MultiHead.init",
    "scaled_dot_product_attention": "nn.attention",
    **dict.fromkeys(("TransformerEncoderLayer", "TransformerDecoderLayer"), "nn.TransformerLayer.init"),
    "TransformerEncoder": "nn.Encoder.init", "TransformerDecoder": "nn.Decoder.init",
    "Transformer": "nn.EncoderDecoderTransformer.init",
    **dict.fromkeys(("CrossEntropyLoss", "SparseCategoricalCrossentropy"), "nn.cross_entropy(logits, classes)"),
    "CategoricalCrossentropy": "nn.losses.soft_cross_entropy(logits, rows)",
    **dict.fromkeys(("BCEWithLogitsLoss", "BCELoss", "BinaryCrossentropy"), "nn.losses.logistic(logits, y)"),
    **dict.fromkeys(("binary_cross_entropy", "bce"), "nn.losses.logistic(logits, y)"),
    **dict.fromkeys(("MSELoss", "mse_loss", "mse", "MeanSquaredError", "mean_squared_error"), "nn.losses.squared"),
    **dict.fromkeys(("L1Loss", "l1_loss", "mae", "MeanAbsoluteError", "mean_absolute_error"), "nn.losses.absolute"),
    **dict.fromkeys(("HuberLoss", "huber_loss", "SmoothL1Loss"), "nn.losses.huber(f, y, delta)"),
    **dict.fromkeys(("NLLLoss", "nll_loss"), "nn.cross_entropy, from logits"),
    "KLDivLoss": "nn.losses.kl(p, q)", "GaussianNLLLoss": "nn.losses.gaussian_nll",
    "PoissonNLLLoss": "nn.losses.poisson_nll",
    **dict.fromkeys(("Adam", "AdamW", "SGD", "RMSprop", "optim", "optimizers"), "in ad.optimize.updates: adamw(1e-3)"),
    **dict.fromkeys(("DataLoader", "Dataset", "TensorDataset"), "ad.data.arrays(x=…, y=…), and its batches"),
    "MLPClassifier": "nn.Classifier(hidden=(100,))", "MLPRegressor": "nn.Regressor(hidden=(100,))",
    "LogisticRegression": "nn.LinearClassifier()",
    **dict.fromkeys(("Ridge", "HuberRegressor", "PoissonRegressor", "QuantileRegressor"), "nn.LinearRegressor(loss)"),
    **dict.fromkeys(("f1", "f1_score", "roc_auc_score"), "any function of sklearn.metrics, given to metrics= as it is"),
    **dict.fromkeys(("save_weights", "state_dict"), "nn.save(path, model)"),
    **dict.fromkeys(("load_state_dict", "load_weights"), "nn.load(path, like=model), or nn.from_torch"),
}  # fmt: skip


def explain_name(module: str, name: str, known: Iterable[str]) -> str:
    """What an AttributeError says: that there is no such name, and what it is called here."""
    text = f"module {module!r} has no attribute {name!r}"
    if name in ELSEWHERE:
        return f"{text}. Here it is {ELSEWHERE[name]}."
    near = did_you_mean(name, known)
    return f"{text}. {near}" if near else text

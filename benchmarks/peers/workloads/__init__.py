"""All programs by name: those of the comparison, and those that show one cost alone (calls, chain)."""

from benchmarks.peers.contender import Workload
from benchmarks.peers.workloads.attention import ATTENTION
from benchmarks.peers.workloads.bundles import BUNDLES
from benchmarks.peers.workloads.calls import ARRAYS, DICT, DICT_BACK
from benchmarks.peers.workloads.chain import CHAIN
from benchmarks.peers.workloads.crf import CRF
from benchmarks.peers.workloads.elementwise import ELEMENTWISE
from benchmarks.peers.workloads.hessian import HESSIAN
from benchmarks.peers.workloads.logistic import LOGISTIC
from benchmarks.peers.workloads.lstm import LSTM
from benchmarks.peers.workloads.mixture import MIXTURE
from benchmarks.peers.workloads.mlp import MLP
from benchmarks.peers.workloads.ode import ODE
from benchmarks.peers.workloads.rnn import RNN
from benchmarks.peers.workloads.rosenbrock import GRADIENT, PRODUCT
from benchmarks.peers.workloads.taylor import TAYLOR

__all__ = ["COMPARED", "WORKLOADS"]

COMPARED: tuple[Workload, ...] = (
    GRADIENT, PRODUCT, ELEMENTWISE, RNN, LSTM, ODE, CRF, MLP, LOGISTIC, MIXTURE, ATTENTION, HESSIAN, BUNDLES, TAYLOR,
    ARRAYS, DICT, DICT_BACK,
)  # fmt: skip
WORKLOADS: dict[str, Workload] = {workload.name: workload for workload in (*COMPARED, CHAIN)}

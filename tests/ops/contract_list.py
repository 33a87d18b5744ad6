"""All checks of the contract."""

from tests.ops import contract, contract_traces

CHECKS = [
    check for part in (contract, contract_traces) for name, check in vars(part).items() if name.startswith("check_")
]

"""Examples to learn from: sources in memory and in files, their parts, and batches in an order that can be resumed.

```python
source = ad.data.arrays(x=np.arange(5.0), y=np.array([0, 1, 0, 1, 0]))
[batch.data["x"].tolist() for batch in source.batches(2)]  # → [[0.0, 1.0], [2.0, 3.0], [4.0, 4.0]]
```
"""

from adjoint.data.arrays import Arrays, arrays, as_source
from adjoint.data.memory_maps import memmap
from adjoint.data.order import count_batches, epoch_order, noise_of, pad_batches
from adjoint.data.parquet import parquet
from adjoint.data.sources import Batch, Source
from adjoint.data.text import text

__all__ = [
    "Arrays",
    "Batch",
    "Source",
    "arrays",
    "as_source",
    "count_batches",
    "epoch_order",
    "memmap",
    "noise_of",
    "pad_batches",
    "parquet",
    "text",
]

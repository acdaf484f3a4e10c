"""The floor under a training step: arithmetic and memory traffic that no implementation avoids."""

from dataclasses import dataclass
from typing import cast

from ansgt.kernels.choose import choose
from ansgt.models.ansgt import ANSGT
from ansgt.models.attention import MultiHeadAttention
from ansgt.sequences.batch import SequenceLayout


@dataclass(frozen=True)
class StepFlops:
    """Floating-point operations of one step by part, forward and backward; a multiply-add counts two.

    Backward costs twice the forward, except where an input needs no gradient (features, proximities): once.
    """

    input: int
    bias: int
    projections: int
    attention: int
    ffn: int
    head: int

    @property
    def total(self) -> int:
        return self.input + self.bias + self.projections + self.attention + self.ffn + self.head


def flops_per_step(
    model: ANSGT, layout: SequenceLayout, num_sequences: int, num_rows: int, num_nonzero: int | None = None
) -> StepFlops:
    """Matrix products of one step (all else is linear in the activations and does not count).

    Args:
        model: gives widths and depth.
        layout: gives T.
        num_sequences: sequences in a batch, centres times S.
        num_rows: U, encoded rows; all n + n_c rows cost U p d a product, twice (forward and the weights' gradient).
        num_nonzero: non-zero features when they are sparse.
    """
    shapes = {name: tuple(p.shape) for name, p in model.named_parameters()}
    features, width = shapes["input.weight"]
    inner, classes = shapes["transformer.layers.0.ffn.0.weight"][0], shapes["head.3.weight"][0]
    heads, channels = shapes["transformer.biases.0.weight"]
    full, biases = len(model.transformer.layers) - 1, len(model.transformer.biases)
    length = layout.length
    tokens = num_sequences * length
    entries = num_rows * features if num_nonzero is None else num_nonzero
    rows = length * min(biases, full) + (biases > full)  # of the attention matrix, over all biases
    queries = full * tokens + num_sequences  # the last layer has the centre's alone
    # keys and values of the last layer: of all tokens, or folded into one product each per head and centre
    attention = cast(MultiHeadAttention, model.transformer.layers[-1].attention)
    folded = choose("centre", model.input.weight, attention.kernel) == "folded"
    keys = full * tokens + (num_sequences if folded else tokens)
    weighed = full * tokens + num_sequences * (heads if folded else 1)
    return StepFlops(
        input=2 * 2 * entries * width,
        bias=2 * 2 * num_sequences * length * rows * channels * heads,
        projections=3 * 2 * width * width * (2 * queries + 2 * keys),
        attention=3 * 2 * 2 * weighed * length * width,
        ffn=3 * 2 * 2 * queries * width * inner,
        head=3 * 2 * num_sequences * width * (shapes["head.0.weight"][1] + classes),
    )


def bytes_per_step(
    model: ANSGT,
    layout: SequenceLayout,
    num_sequences: int,
    num_rows: int,
    *,
    feature_bytes: int = 4,
    proximity_bytes: int = 4,
) -> int:
    """Fewest bytes a step moves: features read twice, proximities once, weights, gradients and moments as AdamW must.

    Activations are not in it: on a chip with room for them they need not leave it.
    """
    features = 2 * num_rows * model.input.weight.shape[0] * feature_bytes
    rows = 1 if len(model.transformer.layers) == 1 else layout.length
    proximities = num_sequences * rows * layout.length * model.num_proximity * proximity_bytes
    # weight: read forward, read backward, read and written by the update; gradient: written, read; two moments: both
    parameters = 10 * 4 * sum(p.numel() for p in model.parameters())
    return features + proximities + parameters

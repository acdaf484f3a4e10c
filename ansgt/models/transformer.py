"""The pre-LN transformer of section 5.2: H' = MHA(LN(H)) + H, then H = FFN(LN(H')) + H'."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn

from ansgt.errors import InputError
from ansgt.kernels.choose import Kernel, choose, has_large_card, product_dtype
from ansgt.kernels.dropout import Dropout
from ansgt.kernels.layers import LayerParameters, Rates, fused_layers
from ansgt.models.attention import AttentionBias, MultiHeadAttention
from ansgt.settings import Count, Few, Positive, Powers, Rate, Size


@dataclass(frozen=True)
class TransformerSettings:
    """Sizes and rates of the transformer; defaults as in section 6.1 of the paper where it prints one."""

    hidden_channels: Count = 128
    """d, width of the hidden layers."""
    num_layers: Few = 5
    """L, transformer layers."""
    num_heads: Count = 8
    """Attention heads; must divide d."""
    num_proximity: Powers = 10
    """M, powers of the normalised adjacency in the proximity encoding."""
    num_global: Size = 2
    """n_g, learnable global nodes in a sequence."""
    per_layer_bias: bool = False
    """A proximity bias for every layer instead of one for all."""
    ffn_multiplier: Positive = 2.0
    """Width of the FFN's inner layer over d."""
    dropout: Rate = 0.5
    """After attention, inside and after the FFN."""
    attention_dropout: Rate = 0.1
    """Of the attention weights."""
    kernel: Kernel = "auto"
    """How attention is computed: plain, sdpa, (CUDA alone) triton, or auto: what suits the device, and whole layers as a few
    kernels where that pays. The same function."""


class TransformerLayer(nn.Module):
    """One layer of section 5.2."""

    def __init__(self, settings: TransformerSettings) -> None:
        super().__init__()
        width, rate = settings.hidden_channels, settings.dropout
        inner = int(width * settings.ffn_multiplier)
        self.norm1 = nn.LayerNorm(width)
        self.attention = MultiHeadAttention(
            width, settings.num_heads, settings.attention_dropout, settings.kernel
        )
        self.dropout = Dropout(rate)
        self.norm2 = nn.LayerNorm(width)
        self.ffn = nn.Sequential(
            nn.Linear(width, inner),
            nn.GELU(),
            Dropout(rate),
            nn.Linear(inner, width),
            Dropout(rate),
        )

    def forward(
        self, h: Tensor, bias: Tensor, *, centre_only: bool = False, significance: bool = False
    ) -> tuple[Tensor, Tensor | None]:
        """[B, T, d] -> [B, T, d], or [B, 1, d] if `centre_only`; and the layer's significance [B, T] if asked for."""
        out, s = self.attention(self.norm1(h), bias, centre_only=centre_only, significance=significance)
        h = (h[:, :1] if centre_only else h) + self.dropout(out)
        return h + self.ffn(self.norm2(h)), s

    @property
    def linear(self) -> tuple[nn.Linear, nn.Linear]:
        """Both maps of the FFN."""
        return cast(nn.Linear, self.ffn[0]), cast(nn.Linear, self.ffn[3])


class Transformer(nn.Module):
    """Layers, their attention bias and a last LayerNorm; gives the centre's representation z_c (section 5.3).

    Nothing reads the other tokens after the last layer, so that layer computes the centre's query alone: its FFN and
    its output projection see one token instead of T.

    Args:
        settings: sizes and rates.
        fused: compute all layers together by a few kernels (`ansgt.kernels.layers`), or raise `InputError` where that
            cannot be; False: never; None: with `kernel="auto"` wherever it pays.
    """

    def __init__(self, settings: TransformerSettings, *, fused: bool | None = None) -> None:
        super().__init__()
        if settings.num_layers < 1:
            raise InputError(f"num_layers={settings.num_layers} must be at least 1.")
        self.num_global = settings.num_global
        self.layers = nn.ModuleList(TransformerLayer(settings) for _ in range(settings.num_layers))
        num_biases = settings.num_layers if settings.per_layer_bias else 1
        self.biases = nn.ModuleList(
            AttentionBias(settings.num_proximity, settings.num_heads) for _ in range(num_biases)
        )
        self.norm = nn.LayerNorm(settings.hidden_channels)
        self.fused = fused
        self._may_fuse = settings.kernel == "auto" and has_large_card()

    def forward(
        self, h: Tensor, proximity: Tensor, key_bias: Tensor, significance: bool = False
    ) -> tuple[Tensor, Tensor | None]:
        """
        Args:
            h: tokens [B, T, d].
            proximity: [B, Q, T, M], see `SequenceBatch`.
            key_bias: [B, T], see `attention.key_bias`.
            significance: also return s, mean over heads and layers.

        Returns:
            z_c [B, d], and s [B, T] or None.
        """
        if not significance and self._fuses(h):
            return self.norm(self._fused_layers(h, proximity, key_bias)), None
        last = len(self.layers) - 1
        scores, bias = [], None
        for number, layer in enumerate(self.layers):
            centre_only = number == last
            if number < len(self.biases):
                bias = self.biases[number](proximity, key_bias, self.num_global, centre_only)
            elif centre_only:
                bias = bias[:, :, :1]  # type: ignore[index]
            h, s = layer(h, bias, centre_only=centre_only, significance=significance)
            scores.append(s)
        return self.norm(h[:, 0]), torch.stack(scores).mean(dim=0) if significance else None

    def _fuses(self, h: Tensor) -> bool:
        """Whether the layers are computed together."""
        if not (self._may_fuse if self.fused is None else self.fused):
            return False
        sizes = {
            "length": h.shape[1],
            "hidden_channels": h.shape[2],
            "head_channels": h.shape[2] // self._first.attention.num_heads,
            "ffn_channels": self._first.linear[0].out_features,
            "num_biases": len(self.biases),
        }
        return choose("layers", h, "triton" if self.fused else "auto", sizes, product_dtype(h)) == "triton"

    def _fused_layers(self, h: Tensor, proximity: Tensor, key_bias: Tensor) -> Tensor:
        first, table = self._first, cast(AttentionBias, self.biases[0])
        kernel: Kernel = "triton" if table.weight.numel() else "plain"
        bias = table(proximity, key_bias, self.num_global, len(self.layers) == 1, kernel)
        rates = Rates(first.dropout.rate, first.attention.dropout) if self.training else Rates()
        parameters = layer_parameters(cast(Iterable[TransformerLayer], self.layers))
        return fused_layers(h.float(), bias, parameters, first.attention.num_heads, rates, product_dtype(h))

    @property
    def _first(self) -> TransformerLayer:
        return cast(TransformerLayer, self.layers[0])


def layer_parameters(layers: Iterable[TransformerLayer]) -> list[Tensor]:
    """`LayerParameters` of all layers, end to end."""
    parameters: list[Tensor] = []
    for layer in layers:
        projection, out, (up, down) = layer.attention.in_proj, layer.attention.out_proj, layer.linear
        parameters += LayerParameters(
            in_proj=projection.weight,
            out_proj=out.weight,
            up=up.weight,
            down=down.weight,
            gain1=layer.norm1.weight,
            shift1=layer.norm1.bias,
            in_bias=projection.bias,
            out_bias=out.bias,
            gain2=layer.norm2.weight,
            shift2=layer.norm2.bias,
            up_bias=up.bias,
            down_bias=down.bias,
        )
    return parameters

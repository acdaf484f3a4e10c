"""The pre-LN transformer of section 5.2: H' = MHA(LN(H)) + H, then H = FFN(LN(H')) + H'."""

from collections.abc import Iterable
from typing import cast

import torch
from torch import Tensor, nn

from ansgt.errors import InputError
from ansgt.models.attention import (
    FUSED_LENGTH,
    AttentionBias,
    Kernel,
    MultiHeadAttention,
    check_cuda,
    fits_fused_layers,
)
from ansgt.models.dropout import Dropout

FUSED_WIDTHS = (64, 128, 256)
"""Widths d for which a program of the fused layers holds its rows on chip."""


class TransformerLayer(nn.Module):
    """One layer of section 5.2.

    Args:
        hidden_channels: d.
        num_heads: heads.
        ffn_multiplier: width of the FFN's inner layer over d.
        dropout: after MHA, inside and after the FFN.
        attention_dropout: on the attention weights.
        attention: "auto", "plain" or "sdpa".
    """

    def __init__(
        self,
        hidden_channels: int,
        num_heads: int,
        ffn_multiplier: float = 2.0,
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
        attention: Kernel = "auto",
    ) -> None:
        super().__init__()
        inner = int(hidden_channels * ffn_multiplier)
        self.norm1 = nn.LayerNorm(hidden_channels)
        self.attention = MultiHeadAttention(hidden_channels, num_heads, attention_dropout, attention)
        self.dropout = Dropout(dropout)
        self.norm2 = nn.LayerNorm(hidden_channels)
        self.ffn = nn.Sequential(
            nn.Linear(hidden_channels, inner),
            nn.GELU(),
            Dropout(dropout),
            nn.Linear(inner, hidden_channels),
            Dropout(dropout),
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
        hidden_channels: d.
        num_layers: L.
        num_heads: heads.
        num_proximity: M.
        num_global: n_g.
        per_layer_bias: a bias for every layer instead of one for all.
        ffn_multiplier, dropout, attention_dropout, attention: see `TransformerLayer`.
    """

    def __init__(
        self,
        hidden_channels: int,
        num_layers: int,
        num_heads: int,
        num_proximity: int,
        num_global: int = 0,
        per_layer_bias: bool = False,
        ffn_multiplier: float = 2.0,
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
        attention: Kernel = "auto",
    ) -> None:
        super().__init__()
        if num_layers < 1:
            raise InputError(f"num_layers={num_layers} must be at least 1.")
        self.num_global = num_global
        settings = (hidden_channels, num_heads, ffn_multiplier, dropout, attention_dropout, attention)
        self.layers = nn.ModuleList(TransformerLayer(*settings) for _ in range(num_layers))
        num_biases = num_layers if per_layer_bias else 1
        self.biases = nn.ModuleList(AttentionBias(num_proximity, num_heads) for _ in range(num_biases))
        self.norm = nn.LayerNorm(hidden_channels)
        self._may_fuse = attention == "auto" and fits_fused_layers()

    def forward(
        self, h: Tensor, proximity: Tensor, key_bias: Tensor, significance: bool = False
    ) -> tuple[Tensor, Tensor | None]:
        """
        Args:
            h: tokens [B, T, d].
            proximity: [B, T, T, M].
            key_bias: [B, T], see `attention.key_bias`.
            significance: also return s, mean over heads and layers.

        Returns:
            z_c [B, d], and s [B, T] or None.
        """
        last = len(self.layers) - 1
        if not significance and self._takes_fused(h):
            return self.norm(self._fused_layers(h, proximity, key_bias)), None
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

    def _takes_fused(self, h: Tensor) -> bool:
        """Whether the layers run as a few kernels: if asked for by name, or by "auto" in half precision on CUDA."""
        attention, width = self._first.attention, h.shape[-1]
        inner = self._first.linear[0].out_features
        fits = len(self.biases) == 1 and h.shape[1] <= FUSED_LENGTH and width // attention.num_heads >= 16
        fits = fits and width in FUSED_WIDTHS and inner % min(FUSED_WIDTHS) == 0
        if attention.attention == "fused":
            check_cuda(attention.attention, h)
            if not fits:
                raise InputError(
                    f"attention='fused' takes at most {FUSED_LENGTH} tokens, hidden_channels of "
                    f"{', '.join(map(str, FUSED_WIDTHS))}, heads of 16 channels and more, an FFN whose width is a "
                    f"multiple of {min(FUSED_WIDTHS)}, and one bias for all layers."
                )
            return True
        return self._may_fuse and fits and h.is_cuda and torch.is_autocast_enabled("cuda")

    def _fused_layers(self, h: Tensor, proximity: Tensor, key_bias: Tensor) -> Tensor:
        from ansgt.models.triton_bias import pair_bias
        from ansgt.models.triton_stack import fused_layers

        first, table = self._first, cast(AttentionBias, self.biases[0])
        centre_only = len(self.layers) == 1
        if table.weight.numel():
            scalars = table.global_bias
            bias = pair_bias(proximity, table.weight, scalars, key_bias, self.num_global, centre_only)
        else:
            bias = table(proximity, key_bias, self.num_global, centre_only)
        rates = (first.dropout.rate, first.attention.dropout) if self.training else (0.0, 0.0)
        half = torch.is_autocast_enabled(h.device.type)
        dtype = torch.get_autocast_dtype(h.device.type) if half else torch.float32
        parameters = layer_parameters(cast(Iterable[TransformerLayer], self.layers))
        return fused_layers(h.float(), bias, parameters, first.attention.num_heads, *rates, dtype=dtype)

    @property
    def _first(self) -> TransformerLayer:
        return cast(TransformerLayer, self.layers[0])


def layer_parameters(layers: Iterable[TransformerLayer]) -> list[Tensor]:
    """Every layer's parameters, in the order in which `triton_passes` takes them: four matrices, then the vectors."""
    parameters: list[Tensor] = []
    for layer in layers:
        projection, out, (up, down) = layer.attention.in_proj, layer.attention.out_proj, layer.linear
        parameters += [projection.weight, out.weight, up.weight, down.weight]
        parameters += [layer.norm1.weight, layer.norm1.bias, projection.bias, out.bias]
        parameters += [layer.norm2.weight, layer.norm2.bias, up.bias, down.bias]
    return parameters

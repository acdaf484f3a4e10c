"""The layers of section 5.2 as Triton kernels: three forward and three backward for a layer, one for all weights.

A layer on 256 sequences of 17 tokens is 1.1 GFLOP forward, some microseconds of an H200, but sixty kernels both ways when
every operation is one. What belongs to a row is done by one program while the row is on chip:

    project   X1 = LN(H),  QKV = X1 Wᵀ + b                                          one program: 64 rows, 128 columns
    attend    O = Softmax(Q Kᵀ / sqrt(d_K) + bias) V                                (`attention.py`)
    mlp       H1 = H + drop(O Woᵀ + b),  X2 = LN(H1),  H' = H1 + FFN(X2)            one program: 16 rows

and backward the same in reverse, with LayerNorm and dropout masks recomputed. A weight's gradient is a product over all
rows, dYᵀ X: the operands are left in two tables, `left` (dQKV, dO', dU, dY) and `right` (X1, O, X2, G), and one kernel
(`weights_kernel`) multiplies for all layers, in pieces of the rows that are then summed in a fixed order.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-decorators, allow-untyped-calls

from ansgt.kernels.dropout import keep_scale
from ansgt.kernels.language import tl, triton

OUTPUT, INNER, FFN = 1, 2, 3
"""Sites of dropout within a layer; 0 is attention's. A layer has `SITES` of them."""
SITES = 4
_OUTPUT, _INNER, _FFN = tl.constexpr(OUTPUT), tl.constexpr(INNER), tl.constexpr(FFN)


@triton.jit
def _load_rows(base, row, column, rows, stride):
    """A tile [rows, columns], zero beyond the last row."""
    return tl.load(base + row[:, None] * stride + column[None, :], mask=row[:, None] < rows, other=0.0)


@triton.jit
def _store_rows(base, value, row, column, rows, stride):
    place = base + row[:, None] * stride + column[None, :]
    tl.store(place, value.to(base.dtype.element_ty), mask=row[:, None] < rows)


@triton.jit
def _normalized(value, eps, WIDTH: tl.constexpr):
    """(h - mean) / deviation of every row, and 1 / deviation."""
    centred = value - (tl.sum(value, axis=1) / WIDTH)[:, None]
    inverse = 1.0 / tl.sqrt(tl.sum(centred * centred, axis=1) / WIDTH + eps)
    return centred * inverse[:, None], inverse


@triton.jit
def _norm_backward(grad, normed, inverse, gain, WIDTH: tl.constexpr):
    """Gradient of LN's input from that of its output."""
    scaled = grad * gain[None, :]
    along = tl.sum(scaled * normed, axis=1) / WIDTH
    mean = tl.sum(scaled, axis=1) / WIDTH
    return inverse[:, None] * (scaled - mean[:, None] - normed * along[:, None])


@triton.jit
def _gelu(value):
    return 0.5 * value * (1.0 + tl.erf(value * 0.7071067811865476))


@triton.jit
def _gelu_slope(value):
    below = 0.5 * (1.0 + tl.erf(value * 0.7071067811865476))
    return below + value * 0.3989422804014327 * tl.exp(-0.5 * value * value)


@triton.jit
def project_kernel(
    h,
    gain,
    shift,
    weight,
    offset,
    right,
    qkv,
    rows,
    eps,
    WIDTH: tl.constexpr,
    RIGHT: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    PRECISION: tl.constexpr,
):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    column = tl.arange(0, WIDTH)
    normed, _ = _normalized(_load_rows(h, row, column, rows, WIDTH), eps, WIDTH)
    x = (normed * tl.load(gain + column)[None, :] + tl.load(shift + column)[None, :]).to(
        right.dtype.element_ty
    )
    if tl.program_id(1) == 0:
        _store_rows(right, x, row, column, rows, RIGHT)
    target = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    w = tl.load(weight + target[:, None] * WIDTH + column[None, :])
    out = tl.dot(x, tl.trans(w), input_precision=PRECISION) + tl.load(offset + target)[None, :]
    _store_rows(qkv, out, row, target, rows, 3 * WIDTH)


@triton.jit
def project_backward_kernel(
    h,
    gain,
    weight,
    left,
    grad_middle,
    grad_h,
    sums,
    sums_stride,
    rows,
    stride,
    eps,
    WIDTH: tl.constexpr,
    LEFT: tl.constexpr,
    ROWS: tl.constexpr,
    PIECE: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """dH = dH1 + LN'(dQKV W); `stride` > 1: dH1 has a row for every stride-th row of H only.

    `sums`, a row a program: the parts of the vectors' gradients, here those of LN (attention has those of QKV's offset).
    """
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    column = tl.arange(0, WIDTH)
    sums += tl.program_id(0) * sums_stride
    grad = tl.zeros([ROWS, WIDTH], tl.float32)
    for first in range(0, 3 * WIDTH, PIECE):
        place = first + tl.arange(0, PIECE)
        part = _load_rows(left, row, place, rows, LEFT)
        w = tl.load(weight + place[:, None] * WIDTH + column[None, :])
        grad = tl.dot(part, w, grad, input_precision=PRECISION)
    normed, inverse = _normalized(_load_rows(h, row, column, rows, WIDTH), eps, WIDTH)
    tl.store(sums + column, tl.sum(grad * normed, axis=0))
    tl.store(sums + WIDTH + column, tl.sum(grad, axis=0))
    grad = _norm_backward(grad, normed, inverse, tl.load(gain + column), WIDTH)
    has = (row < rows) & (row % stride == 0)
    source = grad_middle + (row // stride)[:, None] * WIDTH + column[None, :]
    grad += tl.load(source, mask=has[:, None], other=0.0)
    _store_rows(grad_h, grad, row, column, rows, WIDTH)


@triton.jit
def mlp_kernel(
    h,
    gain,
    shift,
    w_out,
    b_out,
    w_up,
    b_up,
    w_down,
    b_down,
    right,
    middle,
    pre,
    out,
    seed,
    site,
    rows,
    stride,
    rate,
    eps,
    WIDTH: tl.constexpr,
    HIDDEN: tl.constexpr,
    RIGHT: tl.constexpr,
    ROWS: tl.constexpr,
    PIECE: tl.constexpr,
    DROPOUT: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """All behind attention. Rows are compact; row r belongs to row r * stride of H."""
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    column = tl.arange(0, WIDTH)
    number = row[:, None] * WIDTH + column[None, :]
    kind = right.dtype.element_ty
    attended = tl.zeros([ROWS, WIDTH], tl.float32)
    for first in range(0, WIDTH, PIECE):
        place = first + tl.arange(0, PIECE)
        part = _load_rows(right + WIDTH, row, place, rows, RIGHT)
        w = tl.load(w_out + column[:, None] * WIDTH + place[None, :])
        attended = tl.dot(part, tl.trans(w), attended, input_precision=PRECISION)
    attended += tl.load(b_out + column)[None, :]
    if DROPOUT:
        attended *= keep_scale(seed, site + _OUTPUT, number, rate)
    state = _load_rows(h, row, column, rows, stride * WIDTH) + attended
    _store_rows(middle, state, row, column, rows, WIDTH)
    normed, _ = _normalized(state, eps, WIDTH)
    x = (normed * tl.load(gain + column)[None, :] + tl.load(shift + column)[None, :]).to(kind)
    _store_rows(right + 2 * WIDTH, x, row, column, rows, RIGHT)
    result = tl.zeros([ROWS, WIDTH], tl.float32)
    for first in range(0, HIDDEN, PIECE):
        place = first + tl.arange(0, PIECE)
        w = tl.load(w_up + place[:, None] * WIDTH + column[None, :])
        up = tl.dot(x, tl.trans(w), input_precision=PRECISION) + tl.load(b_up + place)[None, :]
        up = up.to(kind)
        _store_rows(pre, up, row, place, rows, HIDDEN)
        active = _gelu(up.to(tl.float32))
        if DROPOUT:
            active *= keep_scale(seed, site + _INNER, row[:, None] * HIDDEN + place[None, :], rate)
        active = active.to(kind)
        _store_rows(right + 3 * WIDTH, active, row, place, rows, RIGHT)
        w = tl.load(w_down + column[:, None] * HIDDEN + place[None, :])
        result = tl.dot(active, tl.trans(w), result, input_precision=PRECISION)
    result += tl.load(b_down + column)[None, :]
    if DROPOUT:
        result *= keep_scale(seed, site + _FFN, number, rate)
    _store_rows(out, state + result, row, column, rows, WIDTH)


@triton.jit
def mlp_backward_kernel(
    grad_out,
    gain,
    w_out,
    w_up,
    w_down,
    middle,
    pre,
    left,
    grad_attended,
    grad_middle,
    sums,
    sums_stride,
    seed,
    site,
    rows,
    rate,
    eps,
    WIDTH: tl.constexpr,
    HIDDEN: tl.constexpr,
    LEFT: tl.constexpr,
    ROWS: tl.constexpr,
    PIECE: tl.constexpr,
    DROPOUT: tl.constexpr,
    PRECISION: tl.constexpr,
):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    column = tl.arange(0, WIDTH)
    number = row[:, None] * WIDTH + column[None, :]
    kind = left.dtype.element_ty
    sums += tl.program_id(0) * sums_stride + 5 * WIDTH
    first_row = tl.arange(0, 16)[:, None]
    above = _load_rows(grad_out, row, column, rows, WIDTH)
    grad_result = above
    if DROPOUT:
        grad_result = above * keep_scale(seed, site + _FFN, number, rate)
    grad_result = grad_result.to(kind)
    _store_rows(left + 4 * WIDTH + HIDDEN, grad_result, row, column, rows, LEFT)
    tl.store(sums + 3 * WIDTH + HIDDEN + column, tl.sum(grad_result.to(tl.float32), axis=0))
    grad_x = tl.zeros([ROWS, WIDTH], tl.float32)
    for first in range(0, HIDDEN, PIECE):
        place = first + tl.arange(0, PIECE)
        w = tl.load(w_down + column[:, None] * HIDDEN + place[None, :])
        grad_up = tl.dot(grad_result, w, input_precision=PRECISION)
        grad_up *= _gelu_slope(_load_rows(pre, row, place, rows, HIDDEN).to(tl.float32))
        if DROPOUT:
            grad_up *= keep_scale(seed, site + _INNER, row[:, None] * HIDDEN + place[None, :], rate)
        grad_up = grad_up.to(kind)
        _store_rows(left + 4 * WIDTH, grad_up, row, place, rows, LEFT)
        summed = tl.dot(
            tl.full([16, ROWS], 1.0, kind), grad_up, input_precision=PRECISION
        )  # 16 times the same row
        tl.store((sums + 3 * WIDTH + place)[None, :] + first_row, summed, mask=first_row == 0)
        w = tl.load(w_up + place[:, None] * WIDTH + column[None, :])
        grad_x = tl.dot(grad_up, w, grad_x, input_precision=PRECISION)
    normed, inverse = _normalized(_load_rows(middle, row, column, rows, WIDTH), eps, WIDTH)
    tl.store(sums + WIDTH + column, tl.sum(grad_x * normed, axis=0))
    tl.store(sums + 2 * WIDTH + column, tl.sum(grad_x, axis=0))
    grad_state = above + _norm_backward(grad_x, normed, inverse, tl.load(gain + column), WIDTH)
    _store_rows(grad_middle, grad_state, row, column, rows, WIDTH)
    if DROPOUT:
        grad_state *= keep_scale(seed, site + _OUTPUT, number, rate)
    grad_state = grad_state.to(kind)
    _store_rows(left + 3 * WIDTH, grad_state, row, column, rows, LEFT)
    tl.store(sums + column, tl.sum(grad_state.to(tl.float32), axis=0))
    for first in range(0, WIDTH, PIECE):
        place = first + tl.arange(0, PIECE)
        w = tl.load(w_out + column[:, None] * WIDTH + place[None, :])
        part = tl.dot(grad_state, w, input_precision=PRECISION)
        _store_rows(grad_attended, part, row, place, rows, WIDTH)


@triton.jit
def weights_kernel(
    left,
    right,
    tiles,
    out,
    rows,
    compact_rows,
    size,
    LEFT: tl.constexpr,
    RIGHT: tl.constexpr,
    WIDTH: tl.constexpr,
    TILE: tl.constexpr,
    PIECE: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """One tile of one weight's gradient, dYᵀ X, over a piece of the rows.

    `tiles` [., 4]: first column in `left`, in `right`, where the tile goes in `out`, and its row length there. Grid: tiles,
    pieces of the rows, layers. In the last layer all tiles but QKV's, which come first, have `compact_rows` rows.
    """
    layer, piece = tl.program_id(2), tl.program_id(1)
    entry = tiles + tl.program_id(0) * 4
    first_left = tl.multiple_of(tl.load(entry), TILE)  # or the compiler loads number by number
    first_right = tl.multiple_of(tl.load(entry + 1), TILE)
    place, length = tl.multiple_of(tl.load(entry + 2), TILE), tl.multiple_of(tl.load(entry + 3), TILE)
    full: tl.constexpr = 3 * (WIDTH // TILE) * (WIDTH // TILE)
    is_compact = ((layer == tl.num_programs(2) - 1) & (tl.program_id(0) >= full)).to(tl.int32)
    count = rows - is_compact * (rows - compact_rows)
    share = tl.cdiv(tl.cdiv(count, tl.num_programs(1)), PIECE) * PIECE
    begin = piece * share
    end = tl.minimum(begin + share, count)
    one, two = tl.arange(0, TILE), tl.arange(0, TILE)
    left += layer.to(tl.int64) * rows * LEFT + first_left
    right += layer.to(tl.int64) * rows * RIGHT + first_right
    total = tl.zeros([TILE, TILE], tl.float32)
    for first in range(begin, end, PIECE):
        row = first + tl.arange(0, PIECE)
        grad = _load_rows(left, row, one, end, LEFT)
        x = _load_rows(right, row, two, end, RIGHT)
        total = tl.dot(tl.trans(grad), x, total, input_precision=PRECISION)
    out += (piece.to(tl.int64) * tl.num_programs(2) + layer) * size
    tl.store(out + place + one[:, None] * length + two[None, :], total)

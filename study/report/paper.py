"""Published numbers, as data: the paper's tables, in percent or seconds. Never mixed with ours; always named."""

NINE = ("cora", "citeseer", "pubmed", "chameleon", "actor", "squirrel", "texas", "cornell", "wisconsin")
"""The columns of the paper's accuracy table, in its order."""

_ROWS: dict[str, tuple[float, ...]] = {
    "gcn": (87.33, 79.43, 84.86, 60.96, 31.39, 43.15, 75.16, 66.74, 64.31),
    "gat": (86.29, 80.13, 84.40, 63.90, 36.05, 42.72, 78.76, 76.04, 66.01),
    "sage": (86.90, 79.23, 86.19, 62.15, 38.55, 41.26, 79.03, 72.54, 79.41),
    "appnp": (87.15, 79.33, 87.04, 51.91, 38.80, 37.76, 91.18, 91.75, 82.56),
    "jknet": (87.70, 78.43, 87.64, 62.92, 33.42, 42.60, 77.51, 64.26, 81.20),
    "h2gcn": (87.92, 77.60, 89.55, 61.20, 36.22, 38.51, 86.37, 84.93, 87.73),
    "gprgnn": (88.27, 78.46, 89.38, 64.56, 39.27, 46.34, 91.84, 90.25, 86.58),
    "gt": (71.84, 67.38, 82.11, 57.86, 37.94, 25.68, 66.70, 60.39, 65.08),
    "san": (74.02, 70.64, 86.22, 55.62, 38.24, 25.56, 70.10, 61.20, 65.30),
    "graphormer": (72.85, 66.21, 82.76, 36.81, 37.85, 25.45, 68.56, 59.41, 67.53),
    "gophormer": (87.65, 76.43, 88.33, 57.40, 37.50, 37.85, 88.25, 89.46, 85.09),
    "ansgt": (88.60, 80.25, 89.56, 65.42, 40.10, 45.88, 93.24, 92.10, 88.62),
}

ACCURACY: dict[str, dict[str, float]] = {
    model: dict(zip(NINE, row, strict=True)) for model, row in _ROWS.items()
}
"""Table 1 (means over three runs; its split is called 60/20/20 and is of the per-class kind for the WebKB sets)."""

"""Table 4: CPU seconds of a coarsener, at all rates."""

from pathlib import Path

from ansgt.reproduce.table_coarsening_time import REPEATS, CoarsenTask
from ansgt.reproduce.task import Setup


def test_every_rate_is_measured_and_reached(tmp_path: Path) -> None:
    record = CoarsenTask("a", 1.0, "newman", "vn", (0.1, 0.5)).measure(Setup(), tmp_path)
    assert list(record["values"]) == list(record["wall_seconds"]) == ["0.1", "0.5"]
    assert record["num_supernodes"] == {"0.1": 13, "0.5": 64}
    assert (record["threads"], record["repeats"]) == (1, REPEATS)
    assert all(seconds > 0 for seconds in record["values"].values())

"""Who calls what: read from what the plugin writes."""

from pathlib import Path

from reached import function_at, read


def test_a_test_reaches_what_its_fixtures_call(tmp_path: Path) -> None:
    rows = (
        "t::a\tfixture\tgraph",
        "fixture graph\tg.py\tload",
        "t::a\tg.py\tfit",
        "t::b\tg.py\tfit",
        "t::b\tfailed\t",
    )
    (tmp_path / "record").write_text("".join(f"{row}\n" for row in rows))
    callers, failed = read(tmp_path / "record")
    assert callers["g.py", "load"] == {"t::a"}
    assert callers["g.py", "fit"] == {"t::a", "t::b"}
    assert failed == {"t::b"}


def test_a_line_belongs_to_the_function_around_it_unless_that_is_compiled() -> None:
    source = (
        "x = 1\n\ndef f():\n    def g():\n        return 1\n    return g\n\n@njit\ndef h():\n    return 2\n"
    )
    assert [function_at(source, line) for line in (1, 5, 6, 10)] == [None, "g", "f", None]

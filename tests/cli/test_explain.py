"""`ansgt explain`: text, JSON and picture of one node."""

import json
from pathlib import Path

from typer.testing import CliRunner

from ansgt.cli import build_app


def test_explain_as_text_json_and_picture(tiny_run: Path, tmp_path: Path) -> None:
    picture = tmp_path / "why.png"
    arguments = ["explain", str(tiny_run), "--node", "7", "--device", "cpu", "--top", "5"]
    text = CliRunner().invoke(build_app(["explain"]), arguments)
    assert text.exit_code == 0, text.stderr
    assert "node 7: class" in text.stdout
    done = CliRunner().invoke(build_app(["explain"]), [*arguments, "--picture", str(picture), "--json"])
    result = json.loads(done.stdout)
    assert len(result["attended"]) == 5
    assert {"node", "significance", "label", "distance", "heuristics"} <= set(result["attended"][0])
    assert picture.read_bytes().startswith(b"\x89PNG")
    for bad, message in ((["--node", "500"], "Node 500 does not exist"), (["--split", "9"], "Split 9")):
        failed = CliRunner().invoke(build_app(["explain"]), ["explain", str(tiny_run), "--node", "1", *bad])
        assert failed.exit_code == 2
        assert message in failed.stderr

"""The page in a real browser, from a file: what is shown, what clicks do, small and dark screens."""

import base64
import hashlib
import json
import shutil
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ansgt.report.page import write_report
from ansgt.report.side_by_side import Options
from ansgt.runs.folder import RunFolder
from ansgt.runs.prepare import train

FLAGS = [
    "--headless=new",
    "--no-sandbox",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
]
WAIT = 30
"""Seconds until a condition must hold."""


class Browser:
    """Headless Chromium through the protocol that ChromeDriver speaks."""

    def __init__(self, profile: Path) -> None:
        # a port of 0 is one that is free; ChromeDriver prints which
        command = ["chromedriver", "--port=0"]
        self.driver = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, errors="replace"
        )
        assert self.driver.stdout is not None
        line = next(line for line in self.driver.stdout if "successfully on port" in line)
        self.address = "http://127.0.0.1:" + line.rsplit("port", 1)[1].strip(" .\n")
        options = {"args": [*FLAGS, f"--user-data-dir={profile}"], "binary": shutil.which("chromium")}
        wanted = {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
        session = self._call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        self.session = f"/session/{session['sessionId']}"

    def _call(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.address + path, data, method=method)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=120) as answer:
            return json.load(answer)["value"]

    def devtools(self, command: str, **parameters: Any) -> Any:
        body = {"cmd": command, "params": parameters}
        return self._call("POST", f"{self.session}/goog/cdp/execute", body)

    def open(self, path: Path, width: int = 1280, height: int = 900, dark: bool = False) -> "Browser":
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.devtools("Emulation.setEmulatedMedia", features=[scheme])
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.devtools("Emulation.setDeviceMetricsOverride", **size)
        self._call("POST", f"{self.session}/url", {"url": path.resolve().as_uri()})
        return self

    def run(self, script: str) -> Any:
        """What `script` returns in the page."""
        return self._call("POST", f"{self.session}/execute/sync", {"script": script, "args": []})

    def until(self, condition: str) -> None:
        """Waits until an expression is true in the page."""
        end = time.monotonic() + WAIT
        while not self.run(f"return !!({condition})"):
            assert time.monotonic() < end, f"never: {condition}"
            time.sleep(0.05)

    def click(self, x: float, y: float) -> None:
        """A real click, at a place of the window."""
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.devtools("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def drag(self, x: float, y: float, by: float) -> None:
        self.devtools("Input.dispatchMouseEvent", type="mousePressed", x=x, y=y, button="left", clickCount=1)
        for step in range(1, 6):
            self.devtools(
                "Input.dispatchMouseEvent", type="mouseMoved", x=x + by * step / 5, y=y, button="left"
            )
        self.devtools("Input.dispatchMouseEvent", type="mouseReleased", x=x + by, y=y, button="left")

    def complaints(self) -> list[str]:
        """Errors in the page, breaches of its policy among them."""
        entries = self._call("POST", f"{self.session}/se/log", {"type": "browser"})
        return [entry["message"] for entry in entries if entry["level"] == "SEVERE"]

    def picture(self, path: Path, whole: bool = False) -> bytes:
        data = self.devtools("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        path.write_bytes(base64.b64decode(data))
        return path.read_bytes()

    def close(self) -> None:
        try:
            self._call("DELETE", self.session)
        finally:
            self.driver.terminate()
            self.driver.wait(20)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    if not (shutil.which("chromium") and shutil.which("chromedriver")):
        pytest.skip("needs Debian's chromium and chromium-driver (apt-get install chromium chromium-driver)")
    browser = Browser(tmp_path_factory.mktemp("chromium"))
    yield browser
    browser.close()


@pytest.fixture(scope="module")
def page(tiny_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs on the same two splits."""
    folder = tmp_path_factory.mktemp("page")
    train("newman", "gcn", run_dir=folder / "gcn", device="cpu", num_splits=2, overrides={"epochs": 2})
    write_report(
        [RunFolder(tiny_run), RunFolder(folder / "gcn")], folder / "page.html", Options(device="cpu")
    )
    return folder / "page.html"


def test_a_click_on_a_node_shows_its_neighbours_probabilities_and_attention(
    browser: Browser, page: Path
) -> None:
    browser.open(page).until("window.ansgtPage && ansgtPage.place(5)")
    place = browser.run(
        "document.getElementById('graph').scrollIntoView(); const at = ansgtPage.place(5),"
        "box = document.getElementById('graph').getBoundingClientRect(); return [box.x + at.x, box.y + at.y]"
    )
    browser.click(*place)
    browser.until("ansgtPage.selected() === 5")
    detail = browser.run("return document.getElementById('detail').innerText")
    assert detail.startswith("node 5\n")
    assert "attention by heuristic" in detail
    assert all(name in detail for name in ("1-hop", "2-hop", "ppr", "knn", "neighbours: "))
    shares = browser.run(
        "return [...document.querySelectorAll('#detail h5')][0].nextElementSibling.innerText"
    )
    assert "%" in shares
    assert browser.run("return ansgtPage.attentionEdges()") > 3
    assert browser.complaints() == []


def test_dragging_moves_the_camera_and_colours_follow_the_choice(browser: Browser, page: Path) -> None:
    browser.open(page).until("window.ansgtPage && ansgtPage.place(0)")
    x, y = browser.run(
        "document.getElementById('graph').scrollIntoView();"
        "const box = document.getElementById('graph').getBoundingClientRect(); return [box.x + 8, box.y + 8]"
    )
    before = browser.run("return ansgtPage.camera().x")
    browser.drag(x, y, 60)
    browser.until(f"Math.abs(ansgtPage.camera().x - {before}) > 0.01")
    choose = (
        "const s = document.getElementById('color'); s.value = '{}'; s.dispatchEvent(new Event('change'));"
    )
    colors = {
        name: browser.run(
            choose.format(name) + "return [...Array(128).keys()].map((row) => ansgtPage.color(row))"
        )
        for name in ("prediction", "truth", "error", "super")
    }
    assert len(set(colors["truth"])) == 4  # classes
    assert len(set(colors["error"])) <= 2
    assert len(set(colors["super"])) > 4
    assert browser.complaints() == []


def test_the_table_is_searched_sorted_and_filtered(browser: Browser, page: Path) -> None:
    browser.open(page).until("window.ansgtPage")
    column = "return [...document.querySelectorAll('#table tbody tr')].map((r) => r.cells[{}].textContent).slice(0, 40)"
    head = "[...document.querySelectorAll('#table th')][3].click();"
    rising = [float(text.rstrip(" %")) for text in browser.run(head + column.format(3))]
    falling = [float(text.rstrip(" %")) for text in browser.run(head + column.format(3))]
    assert rising == sorted(rising)
    assert falling == sorted(falling, reverse=True)
    assert falling[0] > rising[0]
    search = (
        "const s = document.getElementById('search'); s.value = '{}'; s.dispatchEvent(new Event('input'));"
    )
    assert "127" in browser.run(search.format("127") + column.format(0))
    wrong = (
        "const w = document.getElementById('which'); w.value = 'wrong'; w.dispatchEvent(new Event('input'));"
    )
    browser.run(search.format("") + wrong)
    truth, given = browser.run(column.format(1)), browser.run(column.format(2))
    assert truth
    assert all(one != other for one, other in zip(truth, given, strict=True))
    assert browser.run(
        "document.getElementById('next').click(); return document.getElementById('found').innerText"
    )


def test_another_run_is_another_view(browser: Browser, page: Path) -> None:
    browser.open(page).until("window.ansgtPage")
    names = browser.run("return [...document.querySelectorAll('#view option')].map((o) => o.textContent)")
    assert names == ["ansgt, split 0", "ansgt, split 1", "gcn, split 0", "gcn, split 1"]
    browser.run(
        "const v = document.getElementById('view'); v.value = 2; v.dispatchEvent(new Event('change'));"
        "document.querySelector('#table tbody tr').click()"
    )
    assert "no sampled sequences" in browser.run("return document.getElementById('detail').innerText")


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [420, 1280])
def test_nothing_is_wider_than_the_screen_and_text_stands_out(
    browser: Browser, page: Path, width: int, dark: bool
) -> None:
    browser.open(page, width, dark=dark).until("window.ansgtPage")
    assert browser.run("return document.documentElement.scrollWidth") <= width
    ink, ground = browser.run(
        "const s = getComputedStyle(document.body); return [s.color, s.backgroundColor]"
    )
    assert (luminance(ink) > luminance(ground)) == dark
    low, high = sorted([luminance(ink), luminance(ground)])
    assert (high + 0.05) / (low + 0.05) > 7  # WCAG's enhanced contrast
    sizes = browser.run(
        "return [...document.querySelectorAll('main p, main td')].map((e) => parseFloat(getComputedStyle(e).fontSize))"
    )
    assert min(sizes) > 12


def luminance(color: str) -> float:
    """WCAG's relative luminance of "rgb(r, g, b)"."""
    channels = [int(part) / 255 for part in color[4:-1].split(",")]
    r, g, b = ((c / 12.92) if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def test_the_page_is_one_file_under_half_a_megabyte(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert len(text) < 500_000
    assert not [part for part in ("src=", "<link", "@import", "url(") if part in text.split("<script")[0]]


def test_libraries_are_small_and_are_the_files_that_the_licence_names() -> None:
    vendor = Path(__file__).parents[2] / "ansgt" / "report" / "vendor"
    scripts = list(vendor.glob("*.js"))
    assert sum(path.stat().st_size for path in scripts) < 300_000
    licence = (vendor / "LICENSE.txt").read_text(encoding="utf-8")
    assert all(hashlib.sha256(path.read_bytes()).hexdigest() in licence for path in scripts)

"""The page in a real browser, offline: what is pointed at lights up with its weights, and labels run nothing."""

import io
import shutil

import numpy as np
import pytest
from PIL import Image

from core.maps import AttentionMap, Picture, Sound
from core.maps.html import Step, Table, write_html

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed (pip install playwright)")
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed (Debian: apt install chromium)")

WEIGHTS = np.array([[[0.125, 0.25, 0.625], [0, 0, 0]], [[0.875, 0.125, 0], [0, 0.0625, 0.9375]]], dtype=np.float32)
LABELS = {"queries": ["dog", "cat"], "keys": ["Hund", "Katze", "</s>"], "special": [False, False, True]}
HOSTILE = ["<img src=x onerror=alert(1)>", '" onmouseover="alert(1)', "'", "&", "</s>", "<unk>", "</script><b>", "<!--"]
HOSTILE += ["a\u2028b", "שלום", "مرحبا"]


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as running:
        started = running.chromium.launch(executable_path=BROWSER, args=["--no-sandbox", "--disable-gpu"])
        yield started
        started.close()


@pytest.fixture
def opened(browser, tmp_path):
    """Opens a page of examples from its file, and tells at the end whether it complained or asked for more."""
    contexts, troubles = [], []

    def open_page(examples, *, scheme="light", blocks=False, **more):
        path = write_html(examples, tmp_path / "maps.html", **{"title": "maps", **more})
        contexts.append(browser.new_context(offline=True, color_scheme=scheme, viewport={"width": 1300, "height": 900}))
        page = contexts[-1].new_page()
        page.on("console", lambda said: blocks and "Security Policy" in said.text or troubles.append(said.text))
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("dialog", lambda dialog: (troubles.append(dialog.message), dialog.dismiss()))
        page.on("request", lambda asked: asked.url.startswith(("file:", "data:")) or troubles.append(asked.url))
        page.goto(path.as_uri())
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert troubles == []


def gaze(**more) -> AttentionMap:
    return AttentionMap(WEIGHTS, **LABELS, **{"name": "gaze", **more})


def weights_of(page, axis: str) -> list[str | None]:
    return page.eval_on_selector_all(f".label.{axis}", "all => all.map(each => each.dataset.weight ?? null)")


def figures(page, place: str) -> list[str]:
    return page.locator(f".figures.{place} .figure").all_text_contents()


def colours(page) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(page.screenshot())).convert("RGB"), dtype=float)


class TestPointing:
    @pytest.mark.parametrize("view", ["heat", "lines"])
    @pytest.mark.parametrize("how", ["hover", "focus"])
    def test_a_query_lights_its_keys_and_a_key_its_queries(self, opened, view, how):
        page = opened([[gaze()]])
        page.locator(f"input[name=view][value={view}]").check()
        page.select_option("#head", "0")
        queries, keys = page.locator(".label.query"), page.locator(".label.key")
        getattr(queries.nth(0), how)()
        assert weights_of(page, "key") == ["0.125", "0.250", "0.625"]
        assert figures(page, "below" if view == "heat" else "right") == ["0.125", "0.250", "0.625"]
        assert page.locator(".label.lit").all_text_contents() == ["dog"]
        getattr(keys.nth(1), how)()
        assert weights_of(page, "query") == ["0.250", "0.000"] and weights_of(page, "key") == [None] * 3
        assert page.locator(".label.lit").all_text_contents() == ["Katze"]

    def test_the_keyboard_alone_is_enough(self, opened):
        page = opened([[gaze()]])
        page.select_option("#head", "1")
        page.locator("input[name=spread]:checked").focus()
        for _ in range(6):
            page.keyboard.press("Tab")
            if page.locator(".label.query:focus").count():
                break
        page.keyboard.press("ArrowDown")
        assert page.locator(".label:focus").text_content() == "cat"
        assert weights_of(page, "key") == ["0.000", "0.062", "0.938"]  # 0.0625 and 0.9375, as Python rounds them

    def test_a_cell_says_query_key_and_weight(self, opened):
        page = opened([[gaze()]])
        page.select_option("#head", "1")
        box = page.locator(".plot").bounding_box()
        page.mouse.move(box["x"] + box["width"] * 5 / 6, box["y"] + box["height"] * 3 / 4)
        assert page.locator("#tip").text_content() == "cat → </s>0.938"

    def test_a_mean_and_a_row_of_nothing(self, opened):
        page = opened([[gaze()]])
        assert page.locator("#head").input_value() == "mean"
        page.locator(".label.query").nth(1).hover()
        assert weights_of(page, "key") == ["0.000", "0.062", "0.938"]  # only the head that attends counts
        page.select_option("#head", "0")
        page.locator(".label.query").nth(1).hover()
        assert "nothing attended" in page.locator(".readout").text_content()
        assert page.locator(".label.special").all_text_contents() == ["</s>"]


class TestChoosing:
    def test_time_changes_the_numbers(self, opened):
        early = AttentionMap(WEIGHTS[:, ::-1], **LABELS, name="gaze")
        page = opened([[gaze()]], timeline=[Step("epoch 1", [[early]])])
        page.select_option("#head", "0")
        assert page.locator("#time output").text_content() == "latest"
        before = page.locator(".readout").text_content()
        assert "0.625" in before
        page.locator("#step").focus()
        page.keyboard.press("ArrowLeft")
        assert page.locator("#time output").text_content() == "epoch 1"
        assert "nothing attended" in page.locator(".readout").text_content()
        page.keyboard.press("ArrowRight")
        assert page.locator(".readout").text_content() == before and page.locator("#head").input_value() == "0"

    def test_side_by_side_under_a_table(self, opened):
        maps = [gaze(name="additive"), AttentionMap(np.eye(4), queries=list("abcd"), keys=list("wxyz"), name="dot")]
        page = opened([maps], together=True, table=Table(["attention", "BLEU"], [["additive", "98.9"]]))
        assert page.locator(".panel .name").all_text_contents() == ["additive", "dot"]
        assert page.locator("td").all_text_contents() == ["additive", "98.9"]
        assert page.locator(".label.query").all_text_contents() == ["dog", "cat", *"abcd"]
        page.locator("input[name=spread][value=one]").check()
        page.select_option("#module", "1")
        assert page.locator(".label.query").all_text_contents() == list("abcd")

    def test_examples_and_what_stands_beside(self, opened):
        other = gaze(text={"source": "x y", "notice": "cut"}, scores={"right": 0.5}, origin={"run": "r1"})
        page = opened([[gaze()], [other]])
        page.select_option("#example", index=1)
        beside = page.locator("#beside").text_content()
        assert all(each in beside for each in ("x y", "cut", "right", "0.5", "run r1"))


class TestShown:
    def test_a_picture_has_a_small_one_for_each_query(self, opened):
        shown = Picture(np.full((20, 30, 3), 90, dtype=np.uint8), (1, 3))
        page = opened([[gaze(shown=shown)]])
        assert page.locator(".thumb").count() == 2
        assert page.evaluate("document.querySelector('.large img').naturalWidth") == 30
        page.locator(".places .label").nth(2).hover()
        assert page.locator(".thumb .figure").all_text_contents() == ["0.312", "0.938"]
        veil = "[...document.querySelector('.large .veil').getContext('2d').getImageData(0, 0, 3, 1).data]"
        page.locator(".thumb .label").nth(1).hover()
        shades = page.evaluate(veil)[3::4]
        assert shades[0] > shades[1] > shades[2] == 0

    def test_a_sound_can_be_played_and_pointed_at(self, opened):
        shown = Sound(np.sin(np.arange(8000) / 9), 8000, np.array([0, 0.25, 0.5, 1]))
        page = opened([[gaze(shown=shown)]])
        page.wait_for_function("document.querySelector('audio').duration === 1")
        box = page.locator(".tracks .rows").bounding_box()
        page.mouse.move(box["x"] + box["width"] * 0.75, box["y"] + box["height"] * 0.75)
        assert page.locator("#tip").text_content() == "cat → </s>0.938"
        page.locator(".stretches .label").nth(1).focus()
        page.mouse.move(0, 0)
        assert figures(page, "right") == ["0.188", "0.062"]  # means of 0.25 and 0.125, and 0.0625 alone


class TestSafety:
    def test_v01_labels_are_seen_and_inert(self, opened):
        hostile = AttentionMap(
            np.eye(len(HOSTILE)), queries=HOSTILE, keys=HOSTILE, name=HOSTILE[0], text={HOSTILE[6]: HOSTILE[0]}
        )
        page = opened([[hostile]], title=HOSTILE[6])
        for label in page.locator(".label").all()[:4]:
            label.hover()
        assert page.locator(".label.query bdi").all_text_contents() == [each.replace("\u2028", "⏎") for each in HOSTILE]
        assert page.locator("h1").text_content() == HOSTILE[6] == page.title()
        assert page.locator("img").count() == page.locator("b:not(.readout b, #tip b)").count() == 0
        assert page.evaluate(
            "[...document.querySelectorAll('*')].every(e => !e.getAttributeNames().some(n => /^on/.test(n)))"
        )
        assert page.locator("script").count() == 2

    def test_a_script_that_got_in_would_not_run(self, opened):
        page = opened([[gaze()]], blocks=True)
        page.evaluate("""() => {
            const script = document.createElement("script");
            script.textContent = "window.ran = true";
            document.body.append(script);
        }""")
        assert page.evaluate("window.ran") is None

    def test_the_frame_of_a_notebook_shows_the_map(self, browser):
        page = browser.new_page()
        page.set_content(gaze()._repr_html_())
        assert page.frame_locator("iframe").locator(".label.query").all_text_contents() == ["dog", "cat"]
        page.close()


class TestLooks:
    def test_dark_is_dark_and_neither_is_blank(self, opened):
        light, dark = opened([[gaze()]]), opened([[gaze()]], scheme="dark")
        assert colours(light).mean() > 200 > 60 > colours(dark).mean()
        assert colours(light).std() > 5 and colours(dark).std() > 5
        dark.locator("#theme").click()
        assert colours(dark).mean() > 200

    def test_the_cell_of_a_large_weight_is_dark(self, opened):
        page = opened([[AttentionMap(np.eye(2), queries=["q", "r"], keys=["a", "b"])]])
        pixels = page.evaluate("[...document.querySelector('.cells').getContext('2d').getImageData(0, 0, 2, 2).data]")
        assert [pixels[at : at + 3] for at in (0, 4, 8, 12)] == [[28, 34, 60], [255] * 3, [255] * 3, [28, 34, 60]]

    @pytest.mark.parametrize("view", ["heat", "lines"])
    def test_a_long_map_stays_quick(self, opened, view):
        words = [f"word{number}" for number in range(400)]
        weights = np.random.default_rng(0).dirichlet(np.full(400, 0.1), size=400).astype(np.float32)
        page = opened([[AttentionMap(weights, queries=words, keys=words)]])
        page.locator(f"input[name=view][value={view}]").check()
        session = page.context.new_cdp_session(page)
        session.send("Performance.enable", {"timeDomain": "threadTicks"})  # what else the machine does is not counted

        def seconds() -> float:
            metrics = session.send("Performance.getMetrics")["metrics"]
            return next(each["value"] for each in metrics if each["name"] == "TaskDuration")

        before = seconds()
        page.evaluate("""() => {
            for (const label of [...document.querySelectorAll(".label.query")].slice(0, 50)) {
                label.dispatchEvent(new PointerEvent("pointerenter"));
                document.body.getBoundingClientRect();
            }
        }""")
        assert page.locator(".label.lit").text_content() == "word49"
        took = seconds() - before
        assert took < 1

"""The page of maps is one file: small, with the figures of the maps, and nobody's markup but its own."""

import base64
import json
import re
import wave
from html.parser import HTMLParser
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from core.files import whole_file
from core.maps import AttentionMap, Picture, Sound
from core.maps.html import Step, Table, page, write_html
from core.maps.page import SHADES

DOCUMENTATION = Path(__file__).resolve().parent.parent / "docs" / "viewer.md"
HOSTILE = ["<img src=x onerror=alert(1)>", '" onmouseover="alert(1)', "'", "&", "</s>", "<unk>", "</script><b>", "<!--"]
HOSTILE += ["a\u2028b", "\x00", "\ud800", "", "{data}", "שלום", "مرحبا"]


class Page(HTMLParser):
    """Elements, attributes and the text of scripts, as a browser's parser takes them apart."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.scripts: list[str] = []
        self.comments: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag == "script":
            self.scripts.append("")

    def handle_data(self, data):
        if self.lasttag == "script" and self.cdata_elem == "script":
            self.scripts[-1] += data

    def handle_comment(self, data):
        self.comments.append(data)

    @property
    def data(self) -> dict:
        return json.loads(self.scripts[0])


def drawn(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.ones(shape[-1]), size=shape[:-1]).astype(np.float32)


def identity(labels: list[str], **more) -> AttentionMap:
    return AttentionMap(np.eye(len(labels)), queries=labels, keys=labels, **more)


def figures(packed: str) -> list[str]:
    codes = np.frombuffer(base64.b64decode(packed), dtype="<u2")
    return [f"{code >> 6}" for code in codes]


class TestFigures:
    def test_every_weight_is_shown_as_the_file_has_it(self, tmp_path):
        sixteenths = np.arange(1, 17, 2) / 64  # 1/64, 3/64 ... and their ties at the fourth figure, such as 0.0625
        rows = [drawn(16), drawn(16, seed=1) ** 4, np.full(16, 1 / 16), np.repeat(sixteenths, 2), np.zeros(16)]
        weights = np.stack([row / max(row.sum(), 1e-9) for row in rows])[None].repeat(3, axis=0)
        weights[2] = drawn(5, 16, seed=7)
        labels = {"queries": list("abcde"), "keys": [str(key) for key in range(16)]}
        path = AttentionMap(weights, **labels).save(tmp_path / "map.npz")
        kept = AttentionMap.load(path)
        planes = Page(page([[kept]], title="t")).data["examples"][0][0]["planes"]
        for plane, packed in zip([*kept.weights, kept.mean().weights[0]], planes, strict=True):
            assert figures(packed) == [f"{float(f'{weight:.3f}') * 1000:.0f}" for weight in plane.ravel()]

    def test_only_zero_is_nothing_and_shades_are_finer_than_figures(self):
        weights = np.array([[1e-9, 2e-5, 1 - 2e-5], [0, 0, 0]], dtype=np.float32)
        told = Page(page([[AttentionMap(weights, queries=list("qr"), keys=list("abc"))]], title="t")).data
        codes = np.frombuffer(base64.b64decode(told["examples"][0][0]["planes"][0]), dtype="<u2")
        assert codes.tolist() == [33, 33, 64030, 32, 32, 32]  # 64 (1000 - 0.02 + 0.5) = 64030.7
        assert abs((codes / 64 - 0.5) / 1000 - weights.ravel()).max() < 1 / 32_000

    def test_one_head_has_no_mean(self):
        told = Page(page([[identity(["a"]), AttentionMap(np.ones((2, 1, 1)), queries=["q"], keys=["k"])]], title="t"))
        assert [len(each["planes"]) for each in told.data["examples"][0]] == [1, 3]


class TestPage:
    def test_twenty_examples_are_small(self, tmp_path):
        words = [f"Wort{number}" for number in range(20)]
        maps = [
            AttentionMap(drawn(8, 20, 20, seed=layer), queries=words, keys=words, name=f"layers.{layer}")
            for layer in range(3)
        ]
        assert write_html([maps] * 20, tmp_path / "all.html", title="all").stat().st_size < 2_000_000

    def test_v01_labels_stay_text(self):
        hostile = identity(
            HOSTILE,
            name=HOSTILE[0],
            text={"source": HOSTILE[6], HOSTILE[1]: HOSTILE[0]},
            origin={"rows": HOSTILE[6], "run": HOSTILE[7]},
            scores={HOSTILE[0]: 0.5},
        )
        table = Table([HOSTILE[0]], [[HOSTILE[6]]])
        text = page([[hostile]], title=HOSTILE[6], timeline=[Step(HOSTILE[7], [[hostile]])], table=table)
        found, plain = Page(text), Page(page([[identity(["a"])]], title="plain"))
        assert found.tags == plain.tags and found.comments == [] and len(found.scripts) == 2
        assert not [name for name, _ in found.attributes if name.startswith("on")]
        assert found.scripts[1] == plain.scripts[1]
        told = found.data["examples"][0][0]
        assert [each if isinstance(each, str) else each[1] for each in told["keys"]] == HOSTILE
        assert "</" not in found.scripts[0] and "<!--" not in found.scripts[0]
        assert found.data["title"] == HOSTILE[6] and found.data["timeline"][0]["label"] == HOSTILE[7]

    def test_the_page_may_load_nothing(self):
        text = page([[identity(["a"])]], title="t")
        policy = next(value for name, value in Page(text).attributes if name == "content" and "default-src" in value)
        assert policy.startswith("default-src 'none'; script-src 'sha256-") and "unsafe" not in policy
        assert not re.search(r"https?:|//[a-z]+\.|@import|url\(", text)

    def test_nothing_is_shown_without_maps(self):
        with pytest.raises(ValueError, match="the page has no examples"):
            page([], title="t")
        with pytest.raises(ValueError, match="example 2 of the page has none"):
            page([[identity(["a"])], []], title="t")
        with pytest.raises(ValueError, match="step 'epoch 1' has no examples"):
            page([[identity(["a"])]], title="t", timeline=[Step("epoch 1", [])])
        with pytest.raises(ValueError, match="Row 1 of the table has 1 cells, its head 2"):
            page([[identity(["a"])]], title="t", table=Table(["a", "b"], [["1"]]))

    def test_time_table_and_scores_are_told(self):
        latest, early = identity(["a"], scores={"right": 0.92412, "none": float("nan")}), identity(["b"])
        told = Page(
            page(
                [[latest]],
                title="t",
                timeline=[Step("epoch 1", [[early]])],
                table=Table(["x"], [["1"], ["2"]]),
                together=True,
            )
        ).data
        assert told["version"] == 1 and told["together"] is True
        assert told["table"] == {"head": ["x"], "rows": [["1"], ["2"]]}
        assert [(step["label"], step["examples"][0][0]["keys"]) for step in told["timeline"]] == [("epoch 1", ["b"])]
        assert told["examples"][0][0]["scores"] == {"right": "0.9241", "none": "not defined"}

    def test_special_keys_and_what_cannot_be_seen(self):
        told = Page(page([[identity(["a", " ", "</s>"], special=[False, False, True])]], title="t")).data
        assert told["examples"][0][0]["special"] == [2]
        assert told["examples"][0][0]["keys"] == ["a", ["␣", " "], "</s>"]

    def test_colours_are_those_of_the_pictures(self):
        assert json.dumps(SHADES) in page([[identity(["a"])]], title="t")

    def test_an_error_leaves_the_file_as_it_was(self, tmp_path):
        with whole_file(tmp_path / "map.html") as file:
            file.write(b"before")
        with pytest.raises(ValueError, match="no map to show"):
            write_html([], tmp_path / "map.html", title="t")
        assert (tmp_path / "map.html").read_bytes() == b"before"


class TestShown:
    def test_a_picture_is_kept_to_the_pixel_and_once(self):
        pixels = np.random.default_rng(0).integers(0, 256, (5, 7, 3), dtype=np.uint8)
        shown = identity(list("abcd"), shown=Picture(pixels, (2, 2)))
        told = Page(page([[shown, shown]], title="t", timeline=[Step("1", [[shown]])])).data
        assert len(told["media"]) == 1 and told["media"][0]["grid"] == [2, 2]
        bytes_of = base64.b64decode(told["media"][0]["source"].removeprefix("data:image/png;base64,"))
        assert (np.asarray(Image.open(BytesIO(bytes_of))) == pixels).all()

    def test_a_large_picture_is_made_smaller(self):
        large = identity(["a"], shown=Picture(np.zeros((1700, 400, 3), dtype=np.uint8), (1, 1)))
        source = Page(page([[large]], title="t")).data["media"][0]["source"]
        header = base64.b64decode(source.split(",")[1])[16:24]
        assert (int.from_bytes(header[:4]), int.from_bytes(header[4:])) == (134, 567)  # every third pixel

    def test_a_sound_is_a_wav(self):
        samples = np.array([0, 0.5, -1, 1.5] * 2000, dtype=np.float32)
        heard = identity(["a", "b"], shown=Sound(samples, 8000, np.array([0, 0.25, 1])))
        medium = Page(page([[heard]], title="t")).data["media"][0]
        assert medium["seconds"] == 1 and medium["edges"] == [0, 0.25, 1]
        with wave.open(BytesIO(base64.b64decode(medium["source"].removeprefix("data:audio/wav;base64,")))) as file:
            assert (file.getframerate(), file.getnchannels(), file.getsampwidth()) == (8000, 1, 2)
            assert np.frombuffer(file.readframes(4), dtype="<i2").tolist() == [0, 16383, -32767, 32767]


class TestOfOneMap:
    def test_weights_of_anybody(self, tmp_path):
        path = AttentionMap(drawn(2, 3), queries=["a", "b"], keys=list("xyz")).html(tmp_path / "map.html")
        assert Page(path.read_text("utf-8")).data["title"] == "attention"

    def test_a_notebook_gets_a_frame_that_holds_the_page(self):
        each = identity(HOSTILE, name=HOSTILE[1])
        found = Page(each._repr_html_())
        assert found.tags == ["iframe"]
        attributes = dict(found.attributes)
        assert attributes["sandbox"] == "allow-scripts"
        assert attributes["srcdoc"] == page([[each]], title=HOSTILE[1])

    def test_the_examples_of_the_documentation(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        _, *blocks = re.findall("```python\n(.*?)```", DOCUMENTATION.read_text("utf-8"), re.DOTALL)  # a run comes first
        names: dict = {}
        for block in blocks:
            exec(block, names)
        assert Page(Path("map.html").read_text("utf-8")).data["examples"][0][0]["keys"] == ["ein", "Hund", "</s>"]
        foreign = Page(Path("maps.html").read_text("utf-8")).data["examples"][0]
        assert [(each["name"], len(each["planes"])) for each in foreign] == [("self_attn", 5)]

"""An attention map keeps its numbers and labels, and its picture puts each label beside its own cells."""

import json
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from matplotlib.text import Text

from core.maps import AttentionMap, Picture, Sound, fonts, png, save_all

ODD_LABELS = ["$5 or $6", "cost$^$", r"\$5", "_x_", "", "a\nb", "tab\there", "\x00", "\ud800"]
CHINESE = ["一", "只", "狗"]


def one_hot(keys: list[int], size: int) -> np.ndarray:
    return np.eye(size, dtype=np.float32)[keys]


def identity(labels: list[str], **more) -> AttentionMap:
    return AttentionMap(np.eye(len(labels)), queries=labels, keys=labels, **more)


def two_heads() -> AttentionMap:
    """Case A06: head 0 puts all on the first of three keys, head 1 on the last."""
    weights = np.array([[[1, 0, 0]], [[0, 0, 1]]], dtype=np.float32)
    return AttentionMap(weights, queries=["q"], keys=["a", "b", "c"], name="decoder.gaze")


class TestShown:
    def test_a_picture_and_a_sound_are_kept_with_the_map(self, tmp_path):
        pixels = np.arange(4 * 6 * 3, dtype=np.uint8).reshape(4, 6, 3)
        labels = {"queries": ["dog"], "keys": [f"{n}" for n in range(6)], "scores": {"pointing": 0.5}}
        seen = AttentionMap(np.full((1, 6), 1 / 6), **labels, shown=Picture(pixels, (2, 3)))
        loaded = AttentionMap.load(seen.save(tmp_path / "seen.npz"))
        assert loaded.shown.grid == (2, 3) and (loaded.shown.pixels == pixels).all() and loaded.scores == seen.scores
        sound = Sound(np.sin(np.arange(80)), 8000, np.linspace(0, 0.01, 7))
        loaded = AttentionMap.load(AttentionMap(np.full((1, 6), 1 / 6), **labels, shown=sound).save(tmp_path / "h.npz"))
        assert loaded.shown.rate == 8000 and (loaded.shown.samples == sound.samples).all()
        assert (loaded.shown.edges == sound.edges).all()

    def test_what_is_shown_has_a_place_for_each_key(self):
        picture = Picture(np.zeros((4, 4, 3), dtype=np.uint8), (2, 2))
        with pytest.raises(ValueError, match="4 places of the picture, but the weights have 3 columns"):
            AttentionMap(np.eye(3), queries=list("abc"), keys=list("abc"), shown=picture)

    @pytest.mark.parametrize("wrong", [np.zeros((2, 2)), np.zeros((2, 2, 3)), np.zeros((0, 2, 3), dtype=np.uint8)])
    def test_pixels_are_bytes(self, wrong):
        with pytest.raises(ValueError, match="array of bytes"):
            Picture(wrong, (1, 1))

    def test_edges_of_a_sound_rise(self):
        with pytest.raises(ValueError, match="K \\+ 1 rising times"):
            Sound(np.zeros(8), 8000, np.array([0.0, 0.2, 0.1]))


class TestAttentionMap:
    def test_a06_heads_are_kept_apart(self, tmp_path):
        loaded = AttentionMap.load(two_heads().save(tmp_path / "map.npz"))
        assert loaded.weights.shape == (2, 1, 3)
        assert loaded.weights.tolist() == [[[1, 0, 0]], [[0, 0, 1]]]

    def test_a06_a_mean_comes_on_request_and_says_so(self):
        mean = two_heads().mean()
        assert mean.weights.tolist() == [[[0.5, 0, 0.5]]]
        assert mean.name == "decoder.gaze (mean of 2 heads)"
        assert mean.mean() is mean

    def test_mean_leaves_out_heads_that_attend_to_nothing(self):
        weights = np.array([[[0, 1], [0, 0]], [[0, 0], [0, 0]]], dtype=np.float32)
        assert AttentionMap(weights, queries="q r".split(), keys="a b".split()).mean().weights.tolist() == [
            [[0, 1], [0, 0]]
        ]

    def test_a_table_is_one_head(self):
        assert identity(["a", "b"]).weights.shape == (1, 2, 2)

    def test_v04_special_keys_are_no_words(self):
        example = AttentionMap(
            np.array([[0.1, 0.2, 0.7]], dtype=float),
            queries=["x"],
            keys=["a", "b", "EOS"],
            special=[False, False, True],
        )
        assert example.keys == ("a", "b", "EOS")
        assert [example.keys[key] for key in example.most_attended()] == ["b"]
        assert [example.keys[key] for key in example.most_attended(special=True)] == ["EOS"]

    def test_v04_padding_is_no_key(self):
        padded = np.array([[0.1, 0.2, 0.7, 0, 0, 0]])
        with pytest.raises(ValueError, match=r"3 key labels, but the weights have 6 columns \(keys\).*padding is cut"):
            AttentionMap(padded, queries=["x"], keys=["a", "b", "EOS"])

    def test_most_attended_over_heads_ties_and_empty_rows(self):
        weights = np.array(
            [[[0.6, 0.4, 0], [0.5, 0.5, 0], [0, 0, 0], [0, 0, 1]], [[0, 1, 0], [0.5, 0.5, 0], [0, 0, 0], [0, 0, 1]]]
        )
        example = AttentionMap(weights, queries=list("qrst"), keys=list("abc"), special=[False, False, True])
        assert example.most_attended() == [1, 0, -1, -1]
        assert example.most_attended(special=True) == [1, 0, -1, 2]

    @pytest.mark.parametrize(
        ("weights", "queries", "keys", "says"),
        [
            (np.eye(3), ["a", "b"], ["a", "b", "c"], "2 query labels, but the weights have 3 rows"),
            (np.eye(3), ["a", "b", "c"], ["a"], "1 key labels, but the weights have 3 columns"),
            (np.ones((1, 1, 1, 1)), ["a"], ["a"], r"received shape \(1, 1, 1, 1\).*one example of a batch"),
            (np.ones((1, 0)), ["a"], [], r"received shape \(1, 0\)"),
            (np.array([[0.5, 0.25]]), ["a"], ["a", "b"], "row 0 of head 0 sums to 0.75"),
            (np.array([[2.0, -1]]), ["a"], ["a", "b"], "values from -1.0 to 2.0.*after the softmax"),
            (np.array([[np.nan, 1]]), ["a"], ["a", "b"], "finite"),
        ],
    )
    def test_misfits_are_named(self, weights, queries, keys, says):
        with pytest.raises(ValueError, match=says):
            AttentionMap(weights, queries=queries, keys=keys)

    def test_labels_and_marks_are_checked(self):
        with pytest.raises(ValueError, match="1 marks in `special`, but the weights have 2 columns"):
            identity(["a", "b"], special=[True])
        with pytest.raises(TypeError, match="`keys` takes one label for each position; received one string, 'ab'"):
            AttentionMap(np.eye(2), queries=["a", "b"], keys="ab")
        with pytest.raises(TypeError, match="queries"):
            AttentionMap(np.eye(1), queries=[7], keys=["a"])

    def test_weights_are_a_copy_that_cannot_be_changed(self):
        array = np.eye(2, dtype=np.float32)
        example = AttentionMap(array, queries=["a", "b"], keys=["a", "b"])
        array[:] = 7
        assert example.weights.tolist() == [[[1, 0], [0, 1]]]
        with pytest.raises(ValueError, match="read-only"):
            example.weights[0, 0, 0] = 7


class TestFiles:
    def test_everything_comes_back_exactly(self, tmp_path):
        labels = [*ODD_LABELS, "שלום", "狗", "🐕", "end\x00\x00", " ", "x" * 10_000]
        weights = np.random.default_rng(0).dirichlet(np.ones(len(labels)), size=(2, len(labels))).astype(np.float32)
        special = [label == "狗" for label in labels]
        text, origin = {"source": "a\x00", "prediction": ""}, {"task": "translation"}
        saved = AttentionMap(
            weights, queries=labels, keys=labels, name="größe", special=special, text=text, origin=origin
        )
        loaded = AttentionMap.load(saved.save(tmp_path / "map.npz"))
        assert (loaded.weights == weights).all() and loaded.weights.dtype == np.float32
        assert loaded.queries == loaded.keys == tuple(labels)
        assert (loaded.name, loaded.special, loaded.text, loaded.origin) == ("größe", tuple(special), text, origin)

    def test_numpy_alone_can_read_one(self, tmp_path):
        with np.load(two_heads().save(tmp_path / "map.npz"), allow_pickle=False) as file:
            assert file["weights"].shape == (2, 1, 3)
            assert json.loads(file["labels"].tobytes())["keys"] == ["a", "b", "c"]

    @pytest.mark.parametrize(
        "damage", ["empty", "text", "cut", "npy", "pickle", "other npz", "other labels", "bad labels"]
    )
    def test_damaged_and_foreign_files_are_named(self, tmp_path, damage):
        path = tmp_path / "map.npz"
        whole = two_heads().save(path).read_bytes()
        weights, labels = np.ones((1, 1, 1)), np.frombuffer(b'{"queries": ["a"], "keys": [1]}', np.uint8)
        with open(path, "wb") as file:
            match damage:
                case "text":
                    file.write(b"not a map")
                case "cut":
                    file.write(whole[: len(whole) // 2])
                case "npy":
                    np.save(file, weights)
                case "pickle":
                    np.savez(file, weights=weights, labels=np.array([{"queries": ["a"]}], dtype=object))
                case "other npz":
                    np.savez(file, array=weights)
                case "other labels":
                    np.savez(file, weights=weights, labels=np.frombuffer(b'{"name": "x"}', np.uint8))
                case "bad labels":
                    np.savez(file, weights=weights, labels=labels)
        with pytest.raises(ValueError, match=r"map\.npz is no attention map, or is damaged"):
            AttentionMap.load(path)

    def test_reading_runs_nothing(self, tmp_path):
        class Command:
            def __reduce__(self):
                return Path.touch, (tmp_path / "ran",)

        path = tmp_path / "map.npz"
        np.savez(path, weights=np.array([Command()], dtype=object), labels=np.zeros(0, np.uint8))
        with pytest.raises(ValueError, match="no attention map"):
            AttentionMap.load(path)
        assert not (tmp_path / "ran").exists()

    def test_a_missing_file_is_missing(self, tmp_path):
        with pytest.raises(FileNotFoundError, match="map.npz"):
            AttentionMap.load(tmp_path / "map.npz")

    def test_nothing_half_written_under_a_final_name(self, tmp_path, monkeypatch):
        path = two_heads().save(tmp_path / "map.npz")
        before = path.read_bytes()

        def fails(file, **arrays):
            file.write(b"half")
            raise OSError("disk full")

        monkeypatch.setattr(np, "savez_compressed", fails)
        with pytest.raises(OSError, match="disk full"):
            identity(["a"]).save(path)
        assert path.read_bytes() == before
        assert list(tmp_path.iterdir()) == [path]

    def test_save_all_links_texts_to_files(self, tmp_path):
        first = identity(["a", "b"], name="decoder.layers.0.gaze", text={"source": "a b"}, origin={"task": "x"})
        names = ["decoder/layers 0:gaze", "../../etc", "", "x" * 300]
        listed = save_all([[first, first], [], [identity(["c"], name=name) for name in names]], tmp_path / "maps")
        files = [entry["file"] for entry in listed]
        assert files[:2] == ["001-decoder-layers-0-gaze.npz", "001-decoder-layers-0-gaze-2.npz"]
        assert files[2:5] == ["003-decoder-layers-0-gaze.npz", "003-etc.npz", "003-map.npz"]
        assert len(files[5]) < 100
        assert sorted(path.name for path in (tmp_path / "maps").iterdir()) == sorted([*files, "maps.json"])
        assert json.loads((tmp_path / "maps" / "maps.json").read_text())["maps"] == listed
        assert listed[0]["text"] == {"source": "a b"} and listed[0]["example"] == 1 and listed[2]["example"] == 3
        assert AttentionMap.load(tmp_path / "maps" / files[1]).queries == ("a", "b")

    def test_the_manifest_comes_last(self, tmp_path, monkeypatch):
        save_all([[identity(["a"])]], tmp_path)
        monkeypatch.setattr(AttentionMap, "save", lambda self, path: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            save_all([[identity(["b"])]], tmp_path)
        assert not (tmp_path / "maps.json").exists()


def ticks(map: AttentionMap, panel: int = 0):
    """Positions and labels of the rows and of the columns of a panel."""
    axes = png.figure([map]).axes[panel]
    columns = list(axes.get_xticks()), [label.get_text() for label in axes.get_xticklabels()]
    return (list(axes.get_yticks()), [label.get_text() for label in axes.get_yticklabels()]), columns


class TestPictures:
    def test_v02_no_label_is_a_formula(self, tmp_path):
        labels = ODD_LABELS
        picture = png.figure([identity(labels, name="$a$ and $b$", origin={"rows": "$r$", "columns": "$c$"})])
        assert not [text for text in picture.findobj(Text) if text.get_text() and text.get_parse_math()]
        for number, label in enumerate(labels):
            path = png.draw(identity([label], name="$^$"), tmp_path / f"{number}.png", title="$_$")
            assert path.read_bytes().startswith(b"\x89PNG")

    def test_v02_what_cannot_be_seen_gets_a_mark(self):
        (_, shown), _ = ticks(identity(ODD_LABELS))
        assert shown == ["$5 or $6", "cost$^$", r"\$5", "_x_", "·", "a⏎b", "tab⇥here", "\ufffd", "\ufffd"]
        (_, shown), _ = ticks(identity([" ", "\n", "\u200b", "x" * 24, "y" * 25]))
        assert shown == ["␣", "⏎", "␣", "x" * 24, "y" * 23 + "…"]

    @pytest.mark.parametrize(("queries", "keys"), [(12, 12), (3, 50), (1, 1), (50, 3)])
    def test_v03_labels_stand_at_their_cells(self, queries, keys):
        rows, columns = [f"t{i}" for i in range(queries)], [f"w{i}" for i in range(keys)]
        example = AttentionMap(np.eye(queries, keys), queries=rows, keys=columns)
        assert ticks(example) == ((list(range(queries)), rows), (list(range(keys)), columns))

    def test_v03_rows_are_the_target_and_cells_are_in_place(self):
        axes = png.figure([AttentionMap(one_hot([2, 0], 3), queries=["q", "r"], keys=list("abc"))]).axes[0]
        assert (axes.get_ylabel(), axes.get_xlabel()) == ("target", "source")
        image = axes.images[0]
        assert image.get_array().tolist() == [[0, 0, 1], [1, 0, 0]]
        assert image.get_extent() == [-0.5, 2.5, 1.5, -0.5]  # row 0 on top, cell centres at whole numbers
        assert axes.collections[0].get_offsets().tolist() == [[2, 0], [0, 1]]  # the dots: (key, query)

    def test_v03_the_pixels_of_a_picture(self):
        picture = png.figure([AttentionMap(one_hot([2, 0], 3), queries=["q", "r"], keys=list("abc"))])
        picture.canvas.draw()
        pixels = np.asarray(picture.canvas.buffer_rgba())
        for query, key, dark in [(0, 2, True), (1, 0, True), (0, 0, False), (1, 2, False)]:
            x, y = picture.axes[0].transData.transform((key + 0.3, query + 0.3))
            assert (pixels[-1 - round(y), round(x), :3].mean() < 60) == dark

    def test_axes_can_be_named(self):
        axes = png.figure([identity(["a"], origin={"rows": "answer", "columns": "passage"})]).axes[0]
        assert (axes.get_ylabel(), axes.get_xlabel()) == ("answer", "passage")

    def test_v03_long_maps_say_what_they_leave_out(self):
        labels = [f"w{i}" for i in range(400)]
        picture = png.figure([identity(labels)])
        said = " ".join(text.get_text() for text in picture.texts)
        (rows, shown), _ = ticks(identity(labels))
        step = rows[1]
        assert step > 1 and rows == list(range(0, 400, step)) and shown == labels[::step]
        assert f"every {step}th label shown" in said
        assert max(picture.get_size_inches() * picture.dpi) < 2600

    def test_cells_below_a_pixel_are_said_to_be_averaged(self):
        picture = png.figure([AttentionMap(np.full((2, 5000), 1 / 5000), queries=["q", "r"], keys=["k"] * 5000)])
        said = " ".join(text.get_text() for text in picture.texts)
        assert "neighbouring cells averaged to fit" in said and "source label shown" in said
        assert max(picture.get_size_inches() * picture.dpi) < 2600

    def test_a_panel_a_head_and_one_scale(self):
        weights = np.stack([np.full((2, 2), 0.5), np.eye(2), np.eye(2), np.eye(2)])
        picture = png.figure([AttentionMap(weights, queries=["q", "r"], keys=["a", "b"])])
        assert len(picture.axes) == 5  # the last one is the legend's
        assert {axes.images[0].get_clim() for axes in picture.axes[:4]} == {(0, 1)}
        assert {"head 0", "head 3"} <= {text.get_text() for text in picture.texts}
        left_up, right_up, left_down, right_down = (axes.get_position() for axes in picture.axes[:4])
        assert left_up.x1 < right_up.x0 and left_up.y0 == right_up.y0
        assert left_up.y0 > left_down.y1 and left_up.x0 == left_down.x0 and right_up.x0 == right_down.x0

    def test_a_faint_map_says_where_its_colours_end(self):
        picture = png.figure([AttentionMap(np.full((1, 20), 0.05), queries=["q"], keys=["k"] * 20)])
        assert "colours end at 0.05" in [text.get_text() for text in picture.texts]

    def test_nothing_attended_is_not_the_same_as_zero(self):
        picture = png.figure(
            [AttentionMap(np.array([[1, 0], [0, 0]], dtype=float), queries=["q", "r"], keys=["a", "b"])]
        )
        assert picture.axes[0].images[0].get_array().mask.tolist() == [[False, False], [True, True]]
        assert any("grey: nothing attended" in text.get_text() for text in picture.texts)

    def test_a_tie_has_no_largest(self):
        axes = png.figure(
            [AttentionMap(np.array([[0.5, 0.5], [0.4, 0.6]], dtype=float), queries=["q", "r"], keys=["a", "b"])]
        ).axes[0]
        assert axes.collections[0].get_offsets().tolist() == [[1, 1]]

    def test_a06_a_title_does_not_hide_that_it_is_a_mean(self):
        picture = png.figure([two_heads().mean()], title="My sentence")
        title, notes = (text.get_text() for text in picture.texts[:2])
        assert title == "My sentence" and "decoder.gaze (mean of 2 heads)" in notes

    def test_special_keys_look_different(self):
        axes = png.figure([identity(["a", "(end)"], special=[False, True])]).axes[0]
        assert [label.get_style() for label in axes.get_xticklabels()] == ["normal", "italic"]

    def test_layers_are_rows_and_heads_columns(self, tmp_path):
        layers = [
            AttentionMap(np.stack([np.eye(2)] * heads), queries=["q", "r"], keys=["a", "b"], name=f"layers.{layer}")
            for layer, heads in enumerate([2, 3])
        ]
        picture = png.figure(layers)
        assert len(picture.axes) == 2 + 3 + 1
        assert {"2 layers × 3 heads", "layers.0", "layers.1"} <= {text.get_text() for text in picture.texts}
        assert png.draw_layers(layers, tmp_path / "layers.png").stat().st_size > 1000

    def test_layers_share_their_labels(self, tmp_path):
        with pytest.raises(ValueError, match=r"'x' \(shape \(1, 1, 1\)\) and 'y' \(shape \(1, 2, 2\)\) differ"):
            png.draw_layers([identity(["a"], name="x"), identity(["a", "b"], name="y")], tmp_path / "layers.png")
        with pytest.raises(ValueError, match="no map to draw"):
            png.draw_layers([], tmp_path / "layers.png")
        assert not list(tmp_path.iterdir())


def ink(label: str) -> np.ndarray:
    """The pixels of a row label, cut to what is dark."""
    picture = png.figure([AttentionMap(np.array([[1]], dtype=float), queries=[label], keys=["k"])])
    picture.canvas.draw()
    box = picture.axes[0].get_yticklabels()[0].get_window_extent()
    dark = 1 - np.asarray(picture.canvas.buffer_rgba())[..., :3].mean(axis=-1) / 255
    part = dark[len(dark) - round(box.y1) - 2 : len(dark) - round(box.y0) + 2, round(box.x0) - 2 : round(box.x1) + 2]
    return part[:, part.max(axis=0) > 0.1]


class TestScripts:
    @pytest.mark.parametrize("words", [["שלום", "עולם"], ["مرحبا", "بالعالم"]])
    def test_v05_labels_go_to_matplotlib_as_typed_and_in_order(self, words):
        assert ticks(identity(words)) == (([0, 1], words), ([0, 1], words))

    def test_v05_hebrew_starts_at_the_right(self):
        word, first, last = ink("שלום"), ink("ש"), ink("ם")

        def likeness(part: np.ndarray, letter: np.ndarray) -> float:
            profile = part[:, -letter.shape[1] :].sum(axis=0)
            return float(np.corrcoef(profile, letter.sum(axis=0))[0, 1])

        assert likeness(word, first) > 0.9 > likeness(word, last)

    def test_chinese_is_visible_where_a_font_for_it_is_installed(self, tmp_path):
        if not any(fonts.shown_by(each.fname, each.index, set("狗")) for each in fonts.installed("狗")):
            pytest.skip("no installed font has Chinese characters (Debian: apt install fonts-noto-cjk)")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            png.draw(identity(CHINESE), tmp_path / "map.png")
        assert (ink("狗").shape != ink("猫").shape) or (ink("狗") != ink("猫")).any()  # two boxes would be alike

    def test_one_notice_where_no_font_has_the_characters(self, tmp_path, monkeypatch):
        monkeypatch.setattr(fonts, "installed", lambda text: [])
        fonts.warn_of_boxes.cache_clear()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for number in range(2):
                assert png.draw(identity(CHINESE), tmp_path / f"{number}.png").stat().st_size > 1000
        fonts.warn_of_boxes.cache_clear()
        assert len(caught) == 1
        assert "has the CJK characters" in str(caught[0].message) and "Noto Sans CJK" in str(caught[0].message)

    def test_latin_greek_and_arabic_need_no_search(self, monkeypatch):
        monkeypatch.setattr(fonts, "installed", lambda text: 1 / 0)
        assert fonts.families_for("Größe łódź αβγ привет שלום مرحبا") == ["DejaVu Sans"]


DRAW = """
import numpy
from core.maps import AttentionMap, png
png.figure([AttentionMap(numpy.ones((1, 1)), queries=["a"], keys=["b"])])
"""


@pytest.mark.parametrize(
    ("code", "absent"),
    [
        ("import core.maps, core.maps.scores", ["matplotlib", "torch"]),
        ("from core.maps import bootstrap, evidence, monotonicity, pointing", ["matplotlib", "torch"]),
        (
            DRAW,
            [],
        ),
    ],
)
def test_what_an_import_brings(code, absent):
    absent = [*absent, "matplotlib.pyplot"]
    check = f"import sys\n{code}\nprint([name for name in {absent!r} if name in sys.modules])"
    assert (
        subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True).stdout.strip() == "[]"
    )

"""Maps over a picture and over a sound: what is bright stands where the query looked, beside its own label."""

import warnings

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from core.maps import AttentionMap, Picture, Sound, png
from core.maps.overlay import draw_overlay, lit, overlay_figure, resampled
from core.maps.spectrogram import draw_spectrogram, over_time, spectrogram, spectrogram_figure

ODD_LABELS = ["$5 or $6", "cost$^$", r"\$5", "_x_", "", "a\nb"]
SEEN = ["$5 or $6", "cost$^$", r"\$5", "_x_", "·", "a⏎b"]
RIGHT_TO_LEFT = [["שלום", "עולם"], ["مرحبا", "بالعالم"]]


def over_a_picture(keys: list[int], labels: list[str]) -> AttentionMap:
    """Each query looks at one cell of a grey picture of 2 x 3 cells; at none where its key is -1."""
    weights = np.vstack([np.eye(6), np.zeros(6)])[keys]
    pixels = np.full((120, 180, 3), 128, dtype=np.uint8)
    return AttentionMap(weights, queries=labels, keys=list("abcdef"), shown=Picture(pixels, (2, 3)))


def over_a_sound(keys: list[int], labels: list[str], edges: list) -> AttentionMap:
    """Each query listens to one stretch of a second of silence; to none where its key is -1."""
    size = len(edges) - 1
    weights = np.vstack([np.eye(size), np.zeros(size)])[keys]
    sound = Sound(np.zeros(8000), 8000, np.array(edges))
    return AttentionMap(weights, queries=labels, keys=[str(key) for key in range(size)], shown=sound)


def rendered(picture: Figure) -> np.ndarray:
    picture.canvas.draw()
    return np.asarray(picture.canvas.buffer_rgba())[..., :3].mean(axis=-1)


def panel(picture: Figure, number: int) -> np.ndarray:
    """The pixels of one of the axes, without its frame."""
    box, pixels = picture.axes[number].bbox, rendered(picture)
    rows = slice(len(pixels) - round(box.y1) + 3, len(pixels) - round(box.y0) - 3)
    return pixels[rows, round(box.x0) + 3 : round(box.x1) - 3]


def said(picture: Figure) -> list[str]:
    return [text.get_text() for text in picture.texts]


DRAWN = [
    (draw_overlay, overlay_figure, lambda labels: over_a_picture([0] * len(labels), labels)),
    (draw_spectrogram, spectrogram_figure, lambda labels: over_a_sound([0] * len(labels), labels, [0, 0.5, 1])),
]


@pytest.mark.parametrize(("draw", "figure", "example"), DRAWN)
class TestLabels:
    def test_v02_no_label_is_a_formula(self, draw, figure, example, tmp_path):
        picture = figure(example(ODD_LABELS), title="$_$")
        parsed = [text.get_text() for text in picture.findobj(Text) if text.get_parse_math()]
        assert not "".join(parsed).strip(".0123456789")  # but for the numbers on the axes
        assert draw(example(ODD_LABELS), tmp_path / "map.png", title="$^$").read_bytes().startswith(b"\x89PNG")

    @pytest.mark.parametrize(("labels", "seen"), [(ODD_LABELS, SEEN), *((each, each) for each in RIGHT_TO_LEFT)])
    def test_v02_v05_labels_are_shown_as_typed_and_in_order(self, draw, figure, example, labels, seen):
        picture = figure(example(labels))
        rows = [label.get_text() for label in picture.axes[1].get_yticklabels()]
        assert (rows or [text for text in said(picture) if text in seen]) == seen

    def test_fonts_are_sought_for_all_that_is_written(self, draw, figure, example, monkeypatch):
        asked = []
        monkeypatch.setattr("core.maps.page.families_for", lambda text: asked.append(text) or ["DejaVu Sans"])
        picture = figure(example(["größe"]), title="ж")
        written = {each for text in picture.findobj(Text) for each in text.get_text() if each.isalpha()}
        assert {"ж", "ß"} <= written and {each for each in written if each > "~"} <= set(asked[0])

    def test_nothing_half_written(self, draw, figure, example, tmp_path):
        plain = AttentionMap(np.eye(2), queries=["a", "b"], keys=["a", "b"], name="decoder.gaze")
        with pytest.raises(ValueError, match="'decoder.gaze' shows only labels; draw it with core.maps.png.draw"):
            draw(plain, tmp_path / "map.png")
        assert not list(tmp_path.iterdir())


def test_a_sound_is_no_picture_and_the_other_way():
    with pytest.raises(ValueError, match="shows a sound; draw it with draw_spectrogram"):
        overlay_figure(over_a_sound([0], ["a"], [0, 1]))
    with pytest.raises(ValueError, match="shows a picture; draw it with draw_overlay"):
        spectrogram_figure(over_a_picture([0], ["a"]))


def test_upright_names_of_low_panels_stay_apart():
    maps = [
        AttentionMap(np.eye(1, 6)[None], queries=["a"], keys=list("uvwxyz"), name=name) for name in (20 * "m", 20 * "n")
    ]
    picture = png.figure(maps, "two")
    rendered(picture)
    upright = [text for text in picture.findobj(Text) if text.get_rotation() == 90 and len(text.get_text()) == 20]
    upper, lower = (text.get_window_extent() for text in upright)
    assert upper.y0 > lower.y1 and upper.y1 < picture.bbox.y1


class TestOverlay:
    @pytest.mark.parametrize("key", range(6))
    def test_v03_the_bright_cell_is_in_its_place(self, key):
        pixels = panel(overlay_figure(over_a_picture([key], ["dog"])), 1)
        height, width = pixels.shape[0] / 2, pixels.shape[1] / 3
        cells = [[pixels[round((r + 0.5) * height), round((c + 0.5) * width)] for c in range(3)] for r in range(2)]
        assert int(np.argmax(cells)) == key
        assert np.sort(np.ravel(cells))[-2] < 70 < 150 < np.max(cells)

    def test_v03_a_panel_stands_over_its_own_word_and_weight(self):
        picture = overlay_figure(over_a_picture([0, 5, 2, -1], ["a", "dog", "runs", "on"]))
        assert len(picture.axes) == 5
        shown = [("a", "1.00"), ("dog", "1.00"), ("runs", "1.00"), ("on", "nothing attended")]
        for place, (word, weight) in enumerate(shown):
            box = picture.axes[place + 1].get_position()
            at = {text.get_position() for text in picture.texts if text.get_text() in (word, weight)}
            below = [(x, y) for x, y in at if abs(x - (box.x0 + box.x1) / 2) < 1e-3 and 0 < box.y0 - y < 0.15]
            assert len(below) == 2

    def test_panels_follow_in_reading_order_and_wrap(self):
        boxes = [axes.get_position() for axes in overlay_figure(over_a_picture([0] * 20, ["word"] * 20)).axes]
        corners = [(round(1 - box.y1, 6), round(box.x0, 6)) for box in boxes]
        assert corners == sorted(corners) and len({y for y, _ in corners}) > 1 < len({x for _, x in corners})

    def test_the_picture_comes_first_as_it_is(self):
        example = over_a_picture([0], ["a"])
        pixels = np.array(example.shown.pixels)
        pixels[:60, :60] = [255, 0, 0]
        shown = AttentionMap(example.weights, queries=["a"], keys=example.keys, shown=Picture(pixels, (2, 3)))
        image = overlay_figure(shown).axes[0].images[0].get_array()
        assert np.allclose(image[20, 20], [1, 0, 0]) and np.allclose(image[-20, -20], 128 / 255)

    def test_a_row_without_weight_is_dim_all_over(self):
        pixels = panel(overlay_figure(over_a_picture([-1], ["a"])), 1)
        assert pixels.max() - pixels.min() <= 2 and pixels.max() < 70

    def test_many_words_are_cut_with_a_notice(self):
        picture = overlay_figure(over_a_picture([0] * 80, [f"w{number}" for number in range(80)]))
        assert len(picture.axes) == 60 and "w58" in said(picture) and "w59" not in said(picture)
        assert any("the first 59 of 80 queries drawn" in text for text in said(picture))
        assert max(picture.get_size_inches() * picture.dpi) < 4200

    def test_the_scale_and_the_mean_are_said(self):
        example = over_a_picture([0], ["a"])
        two = AttentionMap(np.repeat(example.weights, 2, axis=0), queries=["a"], keys=example.keys, shown=example.shown)
        texts = " ".join(said(overlay_figure(two, title="mine")))
        assert "mean of 2 heads" in texts and "2 × 3 cells" in texts and "its own largest weight" in texts

    def test_captions_of_narrow_panels_stay_apart(self):
        weights = np.array([[1, 0], [0, 0]], dtype=float)
        narrow = Picture(np.zeros((90, 3, 3), dtype=np.uint8), (2, 1))
        picture = overlay_figure(AttentionMap(weights, queries=["a", "b"], keys=["k", "l"], shown=narrow))
        captions = [text for text in picture.texts if text.get_text() in ("the picture", "1.00", "nothing attended")]
        spans = sorted((text.get_window_extent().x0, text.get_window_extent().x1) for text in captions)
        assert len(spans) == 3 and spans[0][1] < spans[1][0] and spans[1][1] < spans[2][0]

    @pytest.mark.parametrize("shape", [(1, 1), (1, 200), (200, 1), (7, 3), (900, 1300)])
    def test_pictures_of_any_size(self, shape, tmp_path):
        pixels = np.zeros((*shape, 3), dtype=np.uint8)
        example = AttentionMap(np.eye(4)[:1], queries=["a"], keys=list("abcd"), shown=Picture(pixels, (2, 2)))
        assert draw_overlay(example, tmp_path / "map.png").stat().st_size > 1000


class TestPixels:
    def test_cells_keep_their_values_at_their_centres_and_edges_do_not_fade(self):
        larger = resampled(np.array([[0, 1, 0.25], [0.5, 0, 0]]), 10, 15)
        assert np.allclose(larger[2::5, 2::5], [[0, 1, 0.25], [0.5, 0, 0]])
        assert np.allclose(resampled(np.full((2, 2), 0.5), 9, 9), 0.5)
        assert larger[0, 7] >= 0.99 and larger.min() >= 0 and larger.max() <= 1

    def test_a_large_picture_is_averaged(self):
        chequered = np.indices((64, 64)).sum(axis=0) % 2
        assert np.allclose(resampled(chequered, 8, 8), 0.5)

    @pytest.mark.parametrize("colour", [(0, 0, 0), (1, 1, 1), (1, 0, 0), (0.2, 0.9, 0.4)])
    def test_brightness_rises_with_the_weight_on_any_colour(self, colour):
        photo = np.broadcast_to(np.array(colour, dtype=float), (1, 11, 3))
        brightness = lit(photo, np.linspace(0, 1, 11)[None]) @ [0.299, 0.587, 0.114]
        assert (np.diff(brightness[0]) > 0.01).all() and brightness.max() <= 1


class TestSound:
    def test_a_click_is_dark_at_its_time(self):
        samples = np.zeros(16_000, dtype=np.float32)
        samples[12_000] = 1.0  # at 1.5 seconds of 2
        decibels, hop = spectrogram(Sound(samples, 8000, np.array([0.0, 2.0])))
        assert decibels.mean(axis=0).argmax() * hop == pytest.approx(1.5, abs=0.011)
        assert decibels.max() == pytest.approx(0) and decibels[:, 0].max() <= -70

    def test_a_tone_is_dark_at_its_pitch_and_silence_is_not(self):
        tone = np.sin(2 * np.pi * 1000 * np.arange(8000) / 8000)
        decibels, _ = spectrogram(Sound(tone, 8000, np.array([0.0, 1.0])))
        assert decibels[:, 50].argmax() / (len(decibels) - 1) * 4000 == pytest.approx(1000, abs=40)
        assert spectrogram(Sound(np.zeros(10), 8000, np.array([0.0, 1.0])))[0].max() <= -70

    def test_a_click_and_the_row_that_hears_it_stand_at_the_same_pixels(self):
        samples = np.zeros(16_000, dtype=np.float32)
        samples[12_000] = 1.0
        edges = np.linspace(0, 2, 41)  # 0.05 seconds a key: the click is where key 30 begins
        weights = np.eye(40)[[29, 30]].mean(axis=0, keepdims=True)
        example = AttentionMap(weights, queries=["click"], keys=["k"] * 40, shown=Sound(samples, 8000, edges))
        picture = spectrogram_figure(example)
        centres = []
        for part in (panel(picture, 0), panel(picture, 1)):
            ink = (255 - part).mean(axis=0)
            centres.append(float(np.mean(np.flatnonzero(ink > ink.max() / 2))) / len(ink))
        assert centres == pytest.approx([0.75, 0.75], abs=0.01)

    def test_v03_rows_are_in_order_at_their_labels_and_share_the_axis_of_seconds(self):
        picture = spectrogram_figure(over_a_sound([2, 0], ["q", "r"], [0, 0.25, 0.5, 1]))
        above, below = picture.axes[:2]
        assert above.get_xlim() == below.get_xlim() == (0, 1)
        assert above.get_position().x0 == below.get_position().x0 and above.get_position().x1 == below.get_position().x1
        assert list(below.get_yticks()) == [0, 1] and below.get_xlabel() == "seconds"
        dark = panel(picture, 1) < 60
        height, width = dark.shape
        assert [dark[height // 4, int(width * at)] for at in (0.1, 0.4, 0.6, 0.9)] == [False, False, True, True]
        assert [dark[3 * height // 4, int(width * at)] for at in (0.1, 0.2, 0.3, 0.9)] == [True, True, False, False]

    def test_a_column_of_time_holds_the_mean_of_its_keys(self):
        weights, edges = np.array([[0.2, 0.8, 0.0]]), np.array([1.0, 2.0, 3.0, 5.0])
        columns = over_time(weights, edges, np.array([0.0, 1.0, 1.5, 2.5, 4.5, 5.5, 6.0]))
        expected = [[np.nan, 0.2, 0.5, 0.2, 0.0, np.nan]]  # (0.5·0.2 + 0.5·0.8) / 1; (0.5·0.8 + 1.5·0) / 2
        assert np.allclose(columns, expected, equal_nan=True)

    def test_no_key_is_lost_between_pixels(self):
        example = over_a_sound([2000], ["a"], list(np.linspace(0, 1, 5001)))
        picture = spectrogram_figure(example)
        cells = picture.axes[1].images[0].get_array()
        assert cells.max() > 0.1 and abs(cells.argmax() / cells.shape[-1] - 0.4) < 0.002
        assert any("neighbouring cells averaged to fit" in text for text in said(picture))

    def test_many_rows_are_labelled_with_a_notice(self):
        labels = [f"w{number}" for number in range(300)]
        picture = spectrogram_figure(over_a_sound([0] * 300, labels, [0, 1]))
        places = list(picture.axes[1].get_yticks())
        assert places[1] > 1 and [text.get_text() for text in picture.axes[1].get_yticklabels()] == labels[:: places[1]]
        assert any(f"every {places[1]}" in text and "label shown" in text for text in said(picture))

    def test_a_row_of_zeros_and_times_without_keys_are_grey(self):
        picture = spectrogram_figure(over_a_sound([0, -1], ["a", "b"], [0.5, 1]))
        cells = picture.axes[1].images[0].get_array()
        assert cells.mask[0, : cells.shape[1] // 2 - 1].all() and not cells.mask[0, -1] and cells.mask[1].all()
        assert any("grey: nothing attended" in text for text in said(picture))


@pytest.mark.parametrize(("draw", "figure", "example"), DRAWN)
def test_pictures_do_not_warn(draw, figure, example, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        draw(example(["a", "b"]), tmp_path / "map.png")
        png.draw(example(["a", "b"]), tmp_path / "map.png")

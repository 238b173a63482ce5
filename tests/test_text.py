import io
import pickle
from random import Random

import pytest
from sentencepiece import SentencePieceTrainer

from core.text import Pieces, Tokenizer, clean, cut, read_lines, read_parallel, word_of_piece, words

GERMAN = ["Der Hund schläft.", "Die Katze sieht den Mann, aber nicht heute!", "„Hallo“, sagt er: 12 Kinder spielen."]
ASIAN = ["你好，世界。", "猫が好きです。", "안녕하세요 세계"]
KINDS = ["bpe", "unigram", "word", "char"]
CAT, DOG = "\N{CAT FACE}", "\N{DOG FACE}"
TRICKY = [*"Derhundschläft.,!½ﬁ你好，猫が안녕    ", *"\u0308\u200b\u200d\ufeff\u2028\x85\f\x00\t\xa0\u3000\u2047\u0958"]
TRICKY += ["\u2581", "\u2585", "e\u0301", "a\u0323\u0302", "\u1112\u1161\u11ab", "\u09c7\u09be", "<unk>", "<0xF0>", CAT]


@pytest.fixture(scope="module", params=KINDS)
def tokenizer(request) -> Tokenizer:
    return Tokenizer.train(GERMAN + ASIAN, size=8000, kind=request.param)


@pytest.fixture(scope="module")
def german() -> Tokenizer:
    return Tokenizer.train(GERMAN, size=8000)


def tricky_texts(count: int) -> list[str]:
    draw = Random(7)
    return ["".join(draw.choices(TRICKY, k=draw.randrange(20))) for _ in range(count)]


def write(path, data: bytes):
    path.write_bytes(data)
    return path


# Lines


def test_T01_parallel_files_of_different_length(tmp_path):
    source, target = write(tmp_path / "a.de", b"1\n2\n3\n4\n5\n"), write(tmp_path / "a.en", b"1\n2\n3\n4\n")
    with pytest.raises(ValueError, match=r"a\.de has 5, .*a\.en has 4"):
        read_parallel(source, target)
    with pytest.raises(ValueError, match=r"a\.en has 4, .*a\.de has 5"):
        read_parallel(target, source)
    assert read_parallel(target, target)[3] == ("4", "4")


def test_T02_only_newlines_end_lines(tmp_path):
    lines = read_lines(write(tmp_path / "a", "a\u2028b\nc\u0085d\ne\ff\r\ng\n".encode()))
    assert lines == ["a\u2028b", "c\u0085d", "e\ff", "g"]
    assert [clean(line) for line in lines] == ["a b", "c d", "e f", "g"]


def test_T02_byte_order_mark_and_windows_line_ends(tmp_path):
    lines = read_lines(write(tmp_path / "a", b"\xef\xbb\xbfhello world\r\nzwei\r\n"))
    assert lines == ["hello world", "zwei"]
    pieces = Tokenizer.train(lines, size=100, kind="word").pieces("hello zwei")
    assert pieces.labels == ["hello", "zwei"] and pieces.unknown == []


@pytest.mark.parametrize(
    "data, lines", [(b"", []), (b"\n", [""]), (b"a", ["a"]), (b"a\n\nb\n", ["a", "", "b"]), (b"a\rb\n", ["a\rb"])]
)
def test_read_lines_at_the_edges(tmp_path, data, lines):
    assert read_lines(write(tmp_path / "a", data)) == lines


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_read_lines_says_where_a_file_is_not_utf8(tmp_path, mark):
    path = write(tmp_path / "latin.txt", mark + b"gut\nsch\xf6n\n")
    with pytest.raises(ValueError, match=rf"latin\.txt is not UTF-8 at byte {len(mark) + 7} \(0xf6\)"):
        read_lines(path)


@pytest.mark.parametrize(
    "line, shown",
    [
        ("  a \t b\u3000\xa0c\x00 ", "a b c"),
        ("\ufeffhello", "hello"),
        ("scha\u0308n", "schän"),
        ("½ ﬁ ，", "½ ﬁ ，"),
        ("\ud83d!", "\ufffd!"),
        (" \u200b\t", ""),
    ],
)
def test_clean(line, shown):
    assert clean(line) == shown
    assert clean(shown) == shown


# Training and files


def test_T05_size_larger_than_the_corpus_allows(tokenizer):
    distinct = [f"{a}{b}" for a in "abcde" for b in "vwxyz"]
    lines = [f"{distinct[n % 25]} {distinct[n * 7 % 25]}" for n in range(60)]
    small = Tokenizer.train(lines, size=8000, kind=tokenizer.kind)
    assert 10 < small.size < 100
    assert small.decode(small.encode(lines[3])) == lines[3]
    assert max(id for line in lines for id in small.encode(line)) < small.size


@pytest.mark.parametrize("kind, least", [("bpe", 15), ("unigram", 15), ("char", 15), ("word", 5)])
def test_T05_size_too_small_names_the_minimum(kind, least):
    lines = ["abcde vwxyz", "a b"]  # ten letters, the space, four specials
    with pytest.raises(ValueError, match=rf"{least - 1} is too small .* at least {least}"):
        Tokenizer.train(lines, size=least - 1, kind=kind)
    assert Tokenizer.train(lines, size=least, kind=kind).size == least
    if kind != "word":
        with pytest.raises(ValueError, match=f"{kind} vocabulary of 10 is too small"):
            Tokenizer.train(lines, size=10, kind=kind)


def test_training_is_quiet_and_repeatable(tokenizer, capfd):
    again = Tokenizer.train(iter(GERMAN + ASIAN), size=8000, kind=tokenizer.kind)
    assert again.digest == tokenizer.digest
    assert again.digest != Tokenizer.train(GERMAN, size=8000, kind=tokenizer.kind).digest
    assert capfd.readouterr() == ("", "")


def test_no_training_line_is_left_out():
    long = " ".join(["a"] * 5000) + " zebra"  # sentencepiece's own limit is 4192 bytes
    assert Tokenizer.train([long, "block \u2585 yak"], size=100).pieces("zebra yak").unknown == []


@pytest.mark.parametrize("lines", [[], ["", "  \t"]])
def test_nothing_to_learn_from(lines):
    with pytest.raises(ValueError, match="nothing to learn from"):
        Tokenizer.train(lines, size=100)


def test_training_input_of_the_wrong_type():
    with pytest.raises(TypeError, match="one string"):
        Tokenizer.train("Der Hund", size=100)
    with pytest.raises(TypeError, match="None"):
        Tokenizer.train(["Der Hund", None], size=100)
    with pytest.raises(ValueError, match="'wordpiece': choose from unigram, bpe, word, char"):
        Tokenizer.train(GERMAN, size=100, kind="wordpiece")


def test_save_and_load(tokenizer, tmp_path):
    path = tmp_path / "tokenizer.model"
    tokenizer.save(path)
    copy = Tokenizer.load(path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["tokenizer.model"]
    assert (copy.digest, copy.size, copy.kind) == (tokenizer.digest, tokenizer.size, tokenizer.kind)
    assert copy.pieces(GERMAN[1]) == pickle.loads(pickle.dumps(tokenizer)).pieces(GERMAN[1])


def test_save_leaves_nothing_half_written(german, tmp_path):
    (tmp_path / "tokenizer.model").mkdir()
    with pytest.raises(OSError):
        german.save(tmp_path / "tokenizer.model")
    assert [entry.name for entry in tmp_path.iterdir()] == ["tokenizer.model"]


def test_load_refuses_what_is_not_a_whole_tokenizer(german, tmp_path):
    path = tmp_path / "tokenizer.model"
    with pytest.raises(FileNotFoundError, match=r"no tokenizer at .*tokenizer\.model"):
        Tokenizer.load(path)
    german.save(path)
    whole = path.read_bytes()
    for data in [b"", b"not a model" * 9, *(whole[:length] for length in range(1, len(whole), 11)), whole[:-14]]:
        with pytest.raises(ValueError, match=r"tokenizer\.model: .* again"):
            Tokenizer.load(write(path, data))


@pytest.mark.parametrize("options", [{}, {"pad_id": 0, "unk_id": 1, "bos_id": 2, "eos_id": 3, "byte_fallback": True}])
def test_T06_load_refuses_a_model_with_other_ids_or_byte_pieces(options, tmp_path):
    model = io.BytesIO()
    options |= {"vocab_size": 600, "hard_vocab_limit": False, "minloglevel": 2}
    SentencePieceTrainer.train(sentence_iterator=iter(GERMAN), model_writer=model, **options)
    with pytest.raises(ValueError, match="a tokenizer from elsewhere"):
        Tokenizer.load(write(tmp_path / "foreign.model", model.getvalue()))


# Encoding


def test_special_ids(tokenizer):
    assert (Tokenizer.PAD, Tokenizer.UNKNOWN, Tokenizer.START, Tokenizer.END) == (0, 1, 2, 3)
    for text in GERMAN + ["<s> </s> <pad>"]:
        assert not {0, 2, 3} & set(tokenizer.encode(text))


def test_bpe_makes_every_word_of_a_small_corpus_one_piece():
    lines = ["Der Hund schläft.", "Die Katze, die Sicherheitsbestimmungen mag, schläft nicht!"]
    bpe = Tokenizer.train(lines, size=8000)
    assert bpe.pieces("Der Hund schläft.").labels == ["Der", "Hund", "schläft", "."]
    for line in lines:
        assert bpe.pieces(line).spans == words(line)


def test_word_pieces_end_at_spaces_only():
    word = Tokenizer.train(GERMAN, size=100, kind="word")
    assert word.pieces("Der Hund schläft.").labels == ["Der", "Hund", "schläft."]
    assert word.pieces("Der Vogel singt laut").labels == ["Der", "Vogel", "singt", "laut"]
    assert word.pieces("Der Vogel singt laut").unknown == ["Vogel", "singt", "laut"]


def test_T03_empty_lines(tokenizer):
    for text in ["", "   ", "\t\u200b"]:
        assert tokenizer.encode(text) == []
        assert tokenizer.pieces(text) == Pieces([], [], [], [])
    assert tokenizer.decode([]) == ""


def test_T04_a_long_text_is_cut_and_both_numbers_are_known(german):
    pieces = german.pieces("er " * 5000)
    kept = cut(pieces, 128)
    assert (len(pieces.ids), len(kept.ids), len(kept.labels), len(kept.spans)) == (5000, 128, 128, 128)
    assert kept.ids == pieces.ids[:128]
    assert cut(kept, 1000) == kept
    with pytest.raises(ValueError, match="-1 pieces"):
        cut(kept, -1)


def test_T06_labels_of_unknown_characters_are_their_surface():
    ascii_only = Tokenizer.train(["the cat sat on the mat"], size=8000)
    text = f"the {CAT} sat"
    pieces = ascii_only.pieces(text)
    assert [label for label in pieces.labels if label] == ["the", CAT, "sat"]
    assert len(pieces.labels) == len(pieces.ids) == len(ascii_only.encode(text))
    assert pieces.unknown == [CAT] and pieces.spans[pieces.labels.index(CAT)] == (4, 5)
    assert ascii_only.decode(pieces.ids) == "the sat"
    for limit in range(5):
        kept = cut(pieces, limit)
        assert "\ufffd" not in "".join(kept.labels) + ascii_only.decode(kept.ids)
        assert kept.unknown == [CAT] * (CAT in kept.labels)


@pytest.mark.parametrize(
    "text, labels, spans",
    [
        ("  Der   Hund ", ["Der", "Hund"], [(2, 5), (8, 12)]),
        (f"{CAT}Hund", ["", CAT, "Hund"], [(0, 0), (0, 1), (1, 5)]),
        ("schla\u0308ft .", ["schla\u0308ft", "", "."], [(0, 8), (9, 9), (9, 10)]),
        ("Der\u200bHund\u2028\ufeffDer", ["Der", "Hund", "Der"], [(0, 3), (4, 8), (10, 13)]),
        (f"Der ﬁ½{DOG}{CAT}.", ["Der", "", f"ﬁ½{DOG}{CAT}", "."], [(0, 3), (4, 4), (4, 8), (8, 9)]),
    ],
)
def test_spans_are_characters_of_the_text_as_typed(german, text, labels, spans):
    pieces = german.pieces(text)
    assert (pieces.labels, pieces.spans) == (labels, spans)


def test_labels_spans_and_ids_hold_together_for_any_text(tokenizer):
    for text in GERMAN + ASIAN + tricky_texts(150):
        pieces = tokenizer.pieces(text)
        assert pieces.ids == tokenizer.encode(text) == tokenizer.encode(clean(text)), ascii(text)
        assert [text[start:end] for start, end in pieces.spans] == pieces.labels, ascii(text)
        covered = [at for start, end in pieces.spans for at in range(start, end)]
        assert covered == sorted(set(covered)), ascii(text)
        assert {at for at, char in enumerate(text) if clean(char)} <= set(covered), ascii(text)
        assert all(clean(char) for label in pieces.labels for char in label), ascii(text)
        if not pieces.unknown:
            assert tokenizer.decode(pieces.ids) == clean(text), ascii(text)


def test_decoding_keeps_what_compatibility_forms_would_change():
    line = "½ Liter，ﬁnden！ ｶﾞ"
    tokenizer = Tokenizer.train([line], size=200)
    assert tokenizer.decode(tokenizer.encode(line)) == line


def test_no_spaces_are_needed_between_words():
    asian = Tokenizer.train(ASIAN, size=8000)
    pieces = asian.pieces("世界好，猫")
    assert "".join(pieces.labels) == "世界好，猫" and pieces.unknown == []
    assert asian.decode(pieces.ids) == "世界好，猫"


def test_decode_drops_specials_and_refuses_foreign_ids(german):
    ids = german.encode("Der Hund")
    assert german.decode([german.START, *ids, german.UNKNOWN, german.END, german.PAD, german.PAD]) == "Der Hund"
    for id in (german.size, -1):
        with pytest.raises(ValueError, match=f"has 0 to {german.size - 1}"):
            german.decode([*ids, id])


def test_spell_gives_each_id_its_place_in_the_decoded_text(german):
    ids = [german.START, *german.encode("„Hallo“, sagt die Katze."), german.UNKNOWN, german.END]
    text, pieces = german.spell(ids)
    assert text == german.decode(ids) == "„Hallo“, sagt die Katze."
    assert pieces.ids == ids and len(pieces.labels) == len(pieces.spans) == len(ids)
    assert [text[start:end] for start, end in pieces.spans] == pieces.labels
    assert "".join(pieces.labels) == text.replace(" ", "")
    assert pieces.labels[0] == pieces.labels[-1] == pieces.labels[-2] == ""
    assert german.spell([]) == ("", Pieces([], [], [], []))


# Words


@pytest.mark.parametrize(
    "text, expected",
    [
        ("Der Hund (3 Jahre) schläft.", ["Der", "Hund", "(", "3", "Jahre", ")", "schläft", "."]),
        ("don't T-Shirt", ["don", "'", "t", "T", "-", "Shirt"]),
        ("scha\u0308n nai\u0308ve", ["scha\u0308n", "nai\u0308ve"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("我爱 NLP2。", ["我", "爱", "NLP2", "。"]),
        ("ねこカメ\u3000々", ["ね", "こ", "カ", "メ", "々"]),
        ("ก็มี", ["ก็", "มี"]),
        ("안녕 세계", ["안녕", "세계"]),
        (f"a{CAT}{DOG}b", ["a", CAT, DOG, "b"]),
        ("a\ufeffb \x00", ["a", "b"]),
        ("", []),
    ],
)
def test_words(text, expected):
    assert [text[start:end] for start, end in words(text)] == expected


def test_words_cover_everything_visible():
    for text in tricky_texts(200):
        spans = words(text)
        covered = [at for start, end in spans for at in range(start, end)]
        assert covered == [at for at, char in enumerate(text) if clean(char)], ascii(text)


def test_word_of_piece():
    owners = word_of_piece([(0, 2), (2, 6), (6, 6), (3, 4), (4, 9), (20, 22)], [(0, 3), (4, 7), (7, 9)])
    assert owners == [0, 1, -1, -1, 1, -1]
    assert word_of_piece([(0, 4)], [(0, 2), (2, 4)]) == [0]
    assert word_of_piece([(0, 4)], []) == [-1]


def test_every_visible_piece_belongs_to_a_word(tokenizer):
    for text in GERMAN + ASIAN:
        pieces = tokenizer.pieces(text)
        owners = word_of_piece(pieces.spans, words(text))
        assert [owner >= 0 for owner in owners] == [bool(label) for label in pieces.labels]
        assert [owner for owner in owners if owner >= 0] == sorted(owner for owner in owners if owner >= 0)

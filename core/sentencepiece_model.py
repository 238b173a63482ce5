"""The file in which sentencepiece keeps a vocabulary: made in memory, opened, and refused unless whole and ours."""

import io
from collections.abc import Iterator
from typing import Any

import sentencepiece

LONGEST = 32  # characters in a piece, with the sign for the space before it
KINDS = {1: "unigram", 2: "bpe", 3: "word", 4: "char"}  # numbered as in the file
SPECIAL = (0, 1, 2, 3)  # the ids of padding, unknown, start and end


def train_model(corpus: list[str], size: int, kind: str) -> bytes:
    """Learn pieces from clean lines, on one thread so that the same lines give the same bytes."""
    model = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(corpus),
            model_writer=model,
            model_type=kind,
            vocab_size=size,
            hard_vocab_limit=False,
            character_coverage=1.0,
            normalization_rule_name="identity",  # `clean` has done it
            max_sentence_length=2**30,  # longer lines would be left out without a word
            max_sentencepiece_length=LONGEST,  # 16, the default, splits long German words
            num_threads=1,
            minloglevel=2,
            pad_id=SPECIAL[0],
            unk_id=SPECIAL[1],
            bos_id=SPECIAL[2],
            eos_id=SPECIAL[3],
        )
    except RuntimeError as error:
        raise ValueError(f"sentencepiece cannot learn {size} {kind} pieces from {len(corpus)} lines: {error}") from None
    return model.getvalue()


def open_model(model: bytes) -> sentencepiece.SentencePieceProcessor:
    """The processor for a model's bytes. ValueError if they are empty, damaged, or of a model made elsewhere."""
    if not model:
        raise ValueError("the tokenizer is empty (0 bytes): copy or train it again")
    processor = sentencepiece.SentencePieceProcessor()
    try:
        processor.LoadFromSerializedProto(model)
    except RuntimeError as error:
        raise ValueError(f"not a sentencepiece model, or a damaged one ({error}): copy or train it again") from None
    special = (processor.pad_id(), processor.unk_id(), processor.bos_id(), processor.eos_id())
    if special != SPECIAL or any(processor.is_byte(id) for id in range(processor.vocab_size())):
        raise ValueError(
            f"a tokenizer from elsewhere: padding, unknown, start and end are {special}, not {SPECIAL}, or it falls "
            "back to bytes. Train one with Tokenizer.train"
        )
    return processor


def kind_of(model: bytes) -> str:
    """How the model was trained: field 3 of its field 2, which sentencepiece offers no call for without protobuf.

    A file that was cut between two fields still opens; its last one, 3, is then not there.
    """
    try:
        fields = dict(_fields(model))
        trainer, _last = fields[2], fields[3]
        return KINDS[dict(_fields(trainer))[3]]
    except (KeyError, IndexError):
        raise ValueError("the tokenizer is damaged, its end is missing: copy or train it again") from None


def _fields(message: bytes) -> Iterator[tuple[int, Any]]:
    at = 0
    while at < len(message):
        tag, at = _number(message, at)
        if tag % 8 == 0:
            value, at = _number(message, at)
        else:
            length, at = _number(message, at) if tag % 8 == 2 else ({1: 8, 5: 4}[tag % 8], at)
            value, at = message[at : at + length], at + length
        yield tag // 8, value


def _number(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[at]
        value, shift, at = value | (byte & 127) << shift, shift + 7, at + 1
        if byte < 128:
            return value, at

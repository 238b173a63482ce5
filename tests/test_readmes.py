"""Every example in core/attention/README.md runs, and its table has every mechanism."""

import re
from pathlib import Path

import pytest
from attentions import NOT_MECHANISMS

import core.attention

README = Path(core.attention.__file__).with_name("README.md")
TEXT = README.read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```python\n(.*?)^```$", TEXT, flags=re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_example(number):
    exec(compile(EXAMPLES[number], f"{README.name}, example {number}", "exec"), {"__name__": "example"})


def test_there_are_examples():
    assert len(EXAMPLES) == TEXT.count("```") / 2 == 7


def test_every_mechanism_has_a_row():
    rows = set(re.findall(r"^\| `\w+` \| `(\w+)", TEXT, flags=re.MULTILINE))
    assert rows == set(core.attention.__all__) - NOT_MECHANISMS


def test_every_word_is_one_of_the_command_line():
    words = set(re.findall(r"^\| `(\w+)` \| `\w+", TEXT, flags=re.MULTILINE))
    assert words == {page.stem for page in (README.parents[2] / "configs" / "attention").glob("*.yaml")}

"""Which regular expressions of others are admitted: those that models have, and none that runs away."""

import pytest

from model.text.bounded_tokenizer import is_linear

LETTERS = r"[^\r\n\p{L}\p{N}]?\p{L}+"
ENDS = r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
SHORT = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
KNOWN = {
    "GPT-2": r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    "Llama 3": rf"{SHORT}|{LETTERS}|\p{{N}}{{1,3}}|{ENDS}",
    "Qwen 2": rf"{SHORT}|{LETTERS}|\p{{N}}|{ENDS}",
    "o200k": rf"[^\r\n\p{{L}}\p{{N}}]?{UPPER}*{LOWER}+{SHORT}?|[^\r\n\p{{L}}\p{{N}}]?{UPPER}+{LOWER}*{SHORT}?|{ENDS}",
    "DeepSeek": r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+|\s*[\r\n]+",
    "DeepSeek, Chinese": "[一-龥぀-ゟ゠-ヿ]+",
    "T5": " {2,}",
    "all in brackets": r"(?:\d{3}|\w+)",
}
HOSTILE = [
    *("(a+)+$", "(a|a)*b", "(a|ab)(c|bcd)(d*)*", "(.*)*x", "(?=(a+)+b)", "(?:(?:a+))+b"),  # repetitions in repetitions
    *("a*a*a*b", r"\s*\s*x", "a{0,100}a{0,100}a{0,100}b", "a?" * 40 + "a" * 40),  # one after the other
    *("(a?){50}a{50}", "(?:a{1,50}){1,50}b", "(a{0,9}){9}", "a**", "a{9}{9}", "(?:a|a|a)" * 8 + "b"),
    *(r"(a)\1*", r"\g<0>a", "(?~a)", "(a", "a)", "[[a]b]+c", "(?<n>a)"),  # what is not read
    *("a" * 5000, "(" * 900 + "a" + ")" * 900),  # long, or nested deeply
]


@pytest.mark.parametrize("name", KNOWN)
def test_the_patterns_of_models_are_accepted(name: str) -> None:
    assert is_linear(KNOWN[name])


@pytest.mark.parametrize("pattern", HOSTILE, ids=lambda pattern: pattern[:20])
def test_patterns_without_a_time_limit_are_refused(pattern: str) -> None:
    assert not is_linear(pattern)

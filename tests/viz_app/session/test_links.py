"""Links, and the codes for them: one code per place, and a bounded number of codes."""

import pytest

from viz_app.server.store import MEMORY, SqliteStore
from viz_app.session import links
from viz_app.session.classes import SIGNS
from viz_app.session.links import CODES, Codes, Place


def codes_of(most: int) -> Codes:
    store = SqliteStore(MEMORY)
    return Codes(most=most, seconds=100, store=lambda: store)


def test_a_code_leads_to_its_place_with_blanks_and_capitals_too() -> None:
    codes = codes_of(10)
    place, other = Place("steps", (("text", "A dog runs."), ("step", "3"))), Place("steps", ())
    code = codes.code_of(place)
    assert set(code) <= set(SIGNS)
    assert codes.place_of(f" {code.upper()} ") == place
    assert codes.code_of(place) == code
    assert codes.code_of(other) != code
    assert codes.place_of("nosuch") is None


def test_the_oldest_codes_are_forgotten_first() -> None:
    codes = codes_of(3)
    places = [Place("masks", (("layer", str(i)),)) for i in range(4)]
    first, second, *_ = [codes.code_of(place) for place in places[:3]]
    codes.code_of(places[0])  # used again
    codes.code_of(places[3])
    assert codes.place_of(first) == places[0]
    assert codes.place_of(second) is None


def test_two_places_never_share_a_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("viz_app.session.links.LENGTH", 1)  # so that many places meet
    codes = codes_of(100)
    places = [Place("masks", (("layer", str(i)),)) for i in range(20)]
    made = [codes.code_of(place) for place in places]
    assert [codes.place_of(code) for code in made] == places


def test_a_link_holds_the_choices_as_text() -> None:
    assert links.link("http://room:8501/steps?old=1", (("text", "a & b?"),)) == "http://room:8501/steps?text=a+%26+b%3F"
    assert CODES.kind.most <= 1_000

"""Written bytes become text that ends before the first stop string."""

from __future__ import annotations

from prefect_swarm.models.llama.slots import TextBuffer


def test_text_is_what_was_added() -> None:
    buffer = TextBuffer()
    assert not buffer.add(b"one ")
    assert not buffer.add(b"two")
    assert buffer.text == "one two"


def test_a_stop_string_split_over_pieces_ends_the_text_before_it() -> None:
    buffer = TextBuffer(("END",))
    assert not buffer.add(b"all of it E")
    assert not buffer.add(b"N")
    assert buffer.add(b"D and more")
    assert buffer.text == "all of it "


def test_the_earliest_of_several_stop_strings_counts() -> None:
    buffer = TextBuffer(("later", "now"))
    assert buffer.add(b"here now or later")
    assert buffer.text == "here "


def test_an_empty_stop_string_stops_nothing() -> None:
    buffer = TextBuffer(("",))
    assert not buffer.add(b"text")


def test_a_character_split_over_pieces_is_whole() -> None:
    buffer = TextBuffer()
    buffer.add("é".encode()[:1])
    assert buffer.text == ""
    buffer.add("é".encode()[1:])
    assert buffer.text == "é"


def test_what_may_become_a_stop_string_is_taken_only_at_the_end() -> None:
    buffer = TextBuffer(("END",))
    buffer.add(b"all E")
    assert buffer.take() == "all"
    buffer.add(b"N of it")
    assert buffer.take() == " EN of "
    assert buffer.take(ended=True) == "it"
    assert buffer.take(ended=True) == ""


def test_what_was_taken_is_never_cut_by_a_stop_string() -> None:
    buffer = TextBuffer(("END",))
    taken = ""
    for piece in (b"one ", b"E", b"N", b"D more"):
        buffer.add(piece)
        taken += buffer.take()
    assert taken + buffer.take(ended=True) == buffer.text == "one "


def test_half_a_character_is_not_taken() -> None:
    buffer = TextBuffer()
    buffer.add("é".encode()[:1])
    assert buffer.take() == ""
    buffer.add("é".encode()[1:])
    assert buffer.take() == "é"

"""Pictures as texts, and as models are shown them: upright, on white, small, and nothing else."""

from __future__ import annotations

import io
import re
import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from picture_files import encoded, picture_bytes, pixels
from PIL import Image
from PIL.PngImagePlugin import PngInfo
from prefect_swarm.errors import InputError
from prefect_swarm.host.bounded import ProcessBounds
from prefect_swarm.inputs.pictures import (
    MAX_SIDE,
    MediaType,
    Picture,
    bytes_of,
    made_picture,
    parts_of,
    picture_of,
    picture_text,
    pictures_in,
    read_data_uri,
    read_picture,
    reading_tokens,
    without_pictures,
)
from prefect_swarm.text import tokens_of

FORMS = ("PNG", "JPEG", "GIF", "WEBP")
SMALL = Picture("image/png", 40, 20, picture_bytes())


def read(data: bytes) -> Image.Image:
    return pixels(read_picture(data, "input a").data)


def problem(data: bytes, bounds: ProcessBounds | None = None) -> str:
    with pytest.raises(InputError) as caught:
        read_picture(data, "input a.png", *([bounds] if bounds else []))
    assert "input a.png" in caught.value.problem
    assert caught.value.fix
    return caught.value.problem


def test_a_picture_is_a_text_and_the_same_picture_again() -> None:
    assert picture_of(picture_text(SMALL)) == SMALL


@given(st.text())
def test_another_text_is_no_picture_and_stays_as_it_is(text: str) -> None:
    assert picture_of(text) is None
    assert parts_of(text) == [text]
    assert without_pictures(text) == text
    assert reading_tokens(text) == tokens_of(text)


@pytest.mark.parametrize(
    "text",
    [
        "data:image/png;base64,",
        "data:image/png;base64,AAAA",
        "data:image/png;base64,%%%%",
        "data:image/svg+xml;base64,PHN2Zz4=",
        f"{picture_text(SMALL)}\nand more",
        f"See {picture_text(SMALL)}",
    ],
)
def test_what_only_looks_like_a_picture_is_a_text(text: str) -> None:
    assert picture_of(text) is None
    assert pictures_in(text) == []


def test_a_page_of_a_pdf_may_be_a_picture_amid_texts() -> None:
    text = f"[page 1]\nHello\n\n[page 2]\n{picture_text(SMALL)}\n\n[page 3]\nBye"
    assert parts_of(text) == ["[page 1]\nHello\n\n[page 2]\n", SMALL, "\n\n[page 3]\nBye"]
    label = re.escape("[picture: PNG, 40 × 20 pixels, 0.1 KiB]")
    assert re.fullmatch(
        rf"\[page 1\]\nHello\n\n\[page 2\]\n{label}\n\n\[page 3\]\nBye", without_pictures(text)
    )
    words, pictures = bytes_of(text)
    assert words + pictures == len(text)
    assert pictures == len(picture_text(SMALL))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("size", [(1, 1), (300, 200), (17, 4000)])
def test_the_first_bytes_say_kind_and_sides(form: str, size: tuple[int, int]) -> None:
    made = made_picture(picture_bytes(form, size))
    assert made is not None
    assert (made.media_type, made.width, made.height) == (f"image/{form.lower()}", *size)


@given(st.binary(max_size=60), st.sampled_from(FORMS))
def test_any_bytes_are_a_picture_or_none(more: bytes, form: str) -> None:
    for data in (more, picture_bytes(form)[: len(more)] + more):
        made = made_picture(data)
        assert made is None or min(made.width, made.height) > 0


def test_tokens_are_the_most_that_a_provider_counts() -> None:
    def tokens(width: int, height: int) -> int:
        return Picture("image/png", width, height, b"").tokens

    assert tokens(10, 10) == 85 + 170
    assert tokens(1024, 1024) == max(1399, 765)
    assert tokens(1568, 1568) == 3279
    assert tokens(1568, 200) == 85 + 170 * 4


@pytest.mark.parametrize("form", FORMS)
def test_a_large_picture_is_scaled_and_a_small_one_is_not(form: str) -> None:
    large = read_picture(picture_bytes(form, (3000, 1000)), "input a")
    assert (large.width, large.height) == (MAX_SIDE, 523)
    small = read_picture(picture_bytes(form, (30, 10)), "input a")
    assert (small.width, small.height) == (30, 10)


def test_what_is_read_says_its_own_kind_and_sides() -> None:
    made = read_picture(picture_bytes("WEBP", (30, 10)), "input a")
    assert made_picture(made.data) == made


def test_a_photo_is_turned_as_its_camera_was_held() -> None:
    exif = Image.Exif()
    exif[0x112] = 6
    made = read_picture(picture_bytes("JPEG", (300, 100), exif=exif), "input a")
    assert (made.width, made.height) == (100, 300)


def test_what_a_camera_wrote_about_a_photo_is_left_out() -> None:
    exif = Image.Exif()
    exif[0x010E] = "taken at home"
    notes = PngInfo()
    notes.add_text("Author", "taken at home")
    files = (picture_bytes("JPEG", exif=exif), picture_bytes(pnginfo=notes))
    for data in files:
        assert b"taken at home" in data
        assert b"taken at home" not in read_picture(data, "input a").data


def test_damaged_notes_of_a_camera_cost_no_photo() -> None:
    data = picture_bytes("JPEG", (30, 10), exif=b"Exif\0\0II*\0\xff\xff\xff\xff")
    assert read(data).size == (30, 10)


def test_the_colours_of_print_are_those_of_a_screen() -> None:
    ink = Image.new("CMYK", (20, 20), (0, 255, 255, 0))
    red, green, blue = read(encoded(ink, "JPEG")).resize((1, 1)).tobytes()
    assert red > 200 > 60 > max(green, blue)


def test_grey_of_16_bits_stays_grey() -> None:
    grey = read(encoded(Image.new("I;16", (10, 10), 0x8000)))
    assert abs(grey.tobytes()[0] - 0x80) <= 1


@pytest.mark.parametrize("mode", ["RGBA", "LA"])
def test_what_is_transparent_is_white(mode: str) -> None:
    clear = Image.new(mode, (10, 10), 0)
    assert set(read(encoded(clear)).tobytes()) == {255}


def test_a_transparent_colour_of_a_palette_is_white() -> None:
    drawn = Image.new("P", (10, 10))
    drawn.putpalette([0, 0, 0, 255, 0, 0])
    assert set(read(encoded(drawn, "GIF", transparency=0)).tobytes()) == {255}


def test_two_colours_are_two_colours() -> None:
    assert set(read(encoded(Image.new("1", (10, 10), 1))).tobytes()) == {255}


@pytest.mark.parametrize("form", ["GIF", "WEBP", "PNG"])
def test_of_what_moves_the_first_frame_is_shown(form: str) -> None:
    frames = [Image.new("RGB", (20, 20), colour) for colour in ("red", "blue")]
    data = encoded(frames[0], form, save_all=True, append_images=frames[1:])
    red, _, blue = read(data).resize((1, 1)).tobytes()
    assert red > 200 > 60 > blue


def test_a_photo_of_noise_is_not_kept_in_millions_of_bytes() -> None:
    noise = Image.effect_noise((1500, 1500), 90).convert("RGB")
    made = read_picture(encoded(noise), "input a")
    assert made.media_type == "image/jpeg"
    assert len(made.data) < 2 << 20


@pytest.mark.attack("parsers")
@pytest.mark.parametrize("most", [2_000, 20_000, 200_000])
def test_a_picture_is_made_smaller_until_it_has_no_more_bytes(most: int) -> None:
    noise = encoded(Image.effect_noise((900, 300), 90))
    made = read_picture(noise, "input a", side=800, most_bytes=most)
    assert 0 < len(made.data) <= most
    assert made.width == 800 or len(made.data) > most / 8
    assert pixels(made.data).size == (made.width, made.height)


def test_a_picture_that_says_it_is_enormous_is_refused_before_it_is_unpacked() -> None:
    head = struct.pack(">IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0)
    chunk = b"IHDR" + head
    data = b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + chunk
    data += struct.pack(">I", zlib.crc32(chunk))
    assert "60,000 × 60,000 pixels" in problem(data)


@pytest.mark.attack("parsers")
def test_a_picture_that_takes_too_much_memory_is_refused() -> None:
    data = encoded(Image.new("RGB", (7000, 7000)))
    assert "memory" in problem(data, ProcessBounds(20.0, memory_bytes=200 << 20))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.attack("parsers")
def test_a_picture_that_is_cut_off_is_refused(form: str) -> None:
    data = encoded(Image.effect_noise((300, 300), 90).convert("RGB"), form)
    assert "can't be read as a picture" in problem(data[: len(data) // 2])


@pytest.mark.attack("parsers")
def test_what_only_begins_as_a_picture_is_refused() -> None:
    assert "can't be read as a picture" in problem(b"\x89PNG\r\n\x1a\n" + b"x" * 90)


@pytest.mark.parametrize("form", ["BMP", "TIFF", "ICO"])
@pytest.mark.attack("parsers")
def test_no_other_kind_is_unpacked_whatever_it_says(form: str) -> None:
    data = encoded(Image.new("RGB", (32, 32)), form)
    assert "neither a PNG nor" in problem(data)


def test_a_picture_that_is_given_as_text_is_read_like_a_file() -> None:
    large = Picture("image/png", 3000, 1000, picture_bytes(size=(3000, 1000)))
    made = picture_of(read_data_uri(picture_text(large), "input a"))
    assert made is not None
    assert made.width == MAX_SIDE
    assert read_data_uri(picture_text(SMALL), "input a") == picture_text(SMALL)


def test_a_wrong_media_type_is_put_right() -> None:
    media_type: MediaType = "image/jpeg"
    wrong = picture_text(Picture(media_type, 40, 20, picture_bytes()))
    made = picture_of(wrong)
    assert made is not None
    assert made.media_type == "image/png"


def test_text_in_place_of_a_pictures_data_is_an_error_that_names_it() -> None:
    with pytest.raises(InputError, match="input a begins as a picture"):
        read_data_uri("data:image/png;base64,not base 64!", "input a")


def test_what_is_written_is_a_file_that_others_read() -> None:
    made = read_picture(picture_bytes("GIF"), "input a")
    with Image.open(io.BytesIO(made.data)) as image:
        assert (image.format, image.size) == ("PNG", (40, 20))

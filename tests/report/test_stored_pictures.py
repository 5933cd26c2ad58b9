"""Pictures of a step are drawn anew, once each, within bounds; others say where they are."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import cast

from hypothesis import given
from hypothesis import strategies as st
from picture_files import encoded, picture_bytes, pixels
from PIL import Image, PngImagePlugin
from prefect_swarm.inputs.pictures import Picture
from prefect_swarm.report.html import report_html
from prefect_swarm.report.markdown import page_markdown
from prefect_swarm.report.page import StepPicture, masked
from prefect_swarm.report.run_html import pages_of
from prefect_swarm.report.stored_pictures import (
    IN_DOCUMENT,
    IN_NOTEBOOK,
    ON_PAGE,
    PictureBounds,
    PictureRoom,
    step_pictures,
)
from prefect_swarm.store.attempt import Attempt, ToolCall
from prefect_swarm.store.folder import RunFolder
from prefect_swarm.store.protocol import picture_stem
from prefect_swarm.store.step import StepState
from report_views import pictured_view, step, view_of_steps

RED, BLUE = picture_bytes(), picture_bytes("JPEG", colour="blue")


def state(*returned: str, tool: str = "look") -> StepState:
    call = ToolCall(ordinal=1, tool=tool, outcome="returned", pictures=returned)
    tried = Attempt(
        number=1, tier="worker", model="m", started_at=0, ended_at=1, calls=(call,) * bool(returned)
    )
    return StepState(id="S1", agent="Analyst", status="succeeded", attempts=(tried,))


def kept(run: RunFolder, data: bytes, ending: str = "png") -> str:
    run.write_picture(name := f"{picture_stem(data)}.{ending}", data)
    return name


def drawn(run: RunFolder, of: StepState, bounds: PictureBounds = ON_PAGE) -> list[StepPicture]:
    return [*step_pictures(run, of, PictureRoom(bounds))]


def test_what_code_left_and_what_calls_returned_is_drawn_with_names(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    run.write_artifacts("S1", "S1.1", {"plots/one.png": RED, "table.csv": b"a,b"})
    name = kept(run, BLUE, "jpg")
    left, returned = drawn(run, state(name))
    assert left.says == "plots/one.png, a file that it left, 40 × 20 pixels"
    assert returned.says == f"{name}, returned by look, 40 × 20 pixels"
    for picture, colour in ((left, (255, 0, 0)), (returned, (0, 0, 254))):
        assert picture.drawn is not None
        assert pixels(picture.drawn.data).getpixel((5, 5)) == colour


def test_a_picture_that_was_returned_and_left_is_there_once(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    run.write_artifacts("S1", "S1.1", {"one.png": RED})
    assert [each.name for each in drawn(run, state(kept(run, RED)))] == ["one.png"]


def test_nothing_but_pixels_is_drawn_of_what_somebody_made(tmp_path: Path) -> None:
    about = PngImagePlugin.PngInfo()
    about.add_text("Comment", "taken at home")
    data = encoded(Image.new("RGB", (30, 30)), pnginfo=about) + b"<script>more</script>"
    run = RunFolder(tmp_path)
    run.write_artifacts("S1", "S1.1", {"one.png": data})
    [picture] = drawn(run, state())
    assert picture.drawn is not None
    assert not any(word in picture.drawn.data for word in (b"taken at home", b"script"))


def test_files_that_are_no_pictures_are_not_drawn_whatever_they_are_called(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    svg = b'<svg xmlns="http://www.w3.org/2000/svg"/>'
    run.write_artifacts("S1", "S1.1", {"a.png": svg, "b.svg": svg, "c.jpg": b"", "d.txt": RED})
    assert [each.name for each in drawn(run, state())] == ["d.txt"]


def test_what_can_not_be_drawn_says_why_and_where_it_is(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    run.write_artifacts("S1", "S1.1", {"one.png": RED[:40]})
    broken, gone = drawn(run, state(name := "picture-0123456789abcdef.png"))
    assert broken.drawn is gone.drawn is None
    assert broken.says.startswith("one.png, a file that it left, is not drawn: the file can't be")
    assert broken.says.endswith(f" It is in {tmp_path}/artifacts/S1/1/one.png.")
    place = tmp_path / "calls" / "pictures" / name
    why = f"is not drawn: its file is gone. It is in {place}."
    assert gone.says == f"{name}, returned by look, {why}"


def test_a_forged_name_leads_out_of_no_folder(tmp_path: Path) -> None:
    (tmp_path / "secret.png").write_bytes(RED)
    (folder := tmp_path / "run").mkdir()
    [picture] = drawn(RunFolder(folder), state("../../../secret.png"))
    assert (picture.drawn, picture.why) == (None, "its file is gone")


def test_a_large_picture_is_drawn_smaller(tmp_path: Path) -> None:
    noise = Image.effect_noise((1600, 900), 90)
    run = RunFolder(tmp_path)
    run.write_artifacts("S1", "S1.1", {"noise.png": encoded(noise)})
    for bounds in (ON_PAGE, IN_NOTEBOOK):
        [picture] = drawn(run, state(), bounds)
        assert picture.drawn is not None
        assert len(picture.drawn.data) <= bounds.bytes_each
        assert max(pixels(picture.drawn.data).size) <= bounds.side


def test_without_room_names_and_places_are_known(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    run.write_artifacts("S1", "S1.1", {"one.png": RED})
    [picture] = step_pictures(run, state())
    assert picture.says == (
        f"one.png, a file that it left. It is in {tmp_path}/artifacts/S1/1/one.png."
    )


@given(
    st.lists(st.lists(st.integers(0, 400_000), max_size=12), max_size=30),
    st.sampled_from([ON_PAGE, IN_DOCUMENT, IN_NOTEBOOK]),
)
def test_however_many_pictures_there_are_they_stay_within_the_bounds(
    steps: list[list[int]], bounds: PictureBounds
) -> None:
    def draw(data: bytes, side: int, most_bytes: int) -> Picture:
        # It may have more than it was asked to: the bounds don't go by that.
        wanted = int(data)
        return Picture("image/png", side, side, bytes(wanted if wanted % 3 else most_bytes))

    room = PictureRoom(bounds, draw)
    found: list[StepPicture] = []
    for sizes in steps:
        readers = [cast("Callable[[], bytes]", str(size).encode) for size in sizes]
        shown = room.fill([(StepPicture("a", "b", "c"), read) for read in readers])
        assert len(shown) == len(sizes)
        assert sum(each.drawn is not None for each in shown) <= bounds.of_step
        assert all(bool(each.why) != bool(each.drawn) for each in shown)
        found += shown
    made = [each.drawn.data for each in found if each.drawn is not None]
    assert len(made) <= bounds.number
    assert sum(map(len, made)) <= bounds.bytes_of_all
    assert max(map(len, made), default=0) <= bounds.bytes_each


def test_pages_have_the_pictures_and_the_names_of_the_others() -> None:
    view = masked(pictured_view())
    page = next(page for page in pages_of(view) if page.name == "S1")
    text = page_markdown(page, lambda _: "")
    assert "## Pictures\n\n![plot.png](data:image/png;base64,iVBOR" in text
    assert "plot.png, a file that it left, 1,200 × 20 pixels" in text
    other = "gone.png, returned by look, is not drawn: its file is gone. It is in /runs/gone.png."
    assert other in text
    document = report_html(view, pages_of(view))
    assert '<img src="data:image/png;base64,iVBOR' in document
    assert other in document


def test_a_name_has_no_power_over_a_page() -> None:
    name = '](http://far.away) "><script>x</script>'
    picture = StepPicture(name, "returned by <b>", "here", Picture("image/png", 40, 20, RED))
    view = view_of_steps(step("S1", "Analyst", pictures=(picture,)))
    page = next(page for page in pages_of(view) if page.name == "S1")
    text = page_markdown(page, lambda _: "")
    assert r"![\](http\://far.away)" in text
    assert "<script" not in text
    assert "<script" not in report_html(view, [page])


def test_a_picture_takes_no_room_of_a_pages_text() -> None:
    large = Picture("image/png", 40, 20, bytes(90_000))
    pictures = tuple(StepPicture("a.png", "returned by look", "here", large) for _ in range(2))
    view = view_of_steps(step("S1", "Analyst", pictures=pictures, output="The end."))
    page = next(page for page in pages_of(view) if page.name == "S1")
    text = page_markdown(page, lambda _: "")
    assert text.count("](data:image/png;base64,") == 2
    assert "The page ends here" not in text


def test_the_file_of_a_picture_is_read_only_where_it_is_drawn() -> None:
    def read() -> bytes:
        raise AssertionError("it was read")

    bounds = PictureBounds(0, 1, side=10, bytes_each=10_000, bytes_of_all=10_000)
    [shown] = PictureRoom(bounds).fill([(StepPicture("a", "b", "c"), read)])
    assert shown.why == "there is no room for more pictures"


def test_the_first_frame_of_one_that_moves_is_drawn(tmp_path: Path) -> None:
    frames = [Image.new("RGB", (10, 10), colour) for colour in ("green", "red")]
    frames[0].save(written := io.BytesIO(), "GIF", save_all=True, append_images=frames[1:])
    run = RunFolder(tmp_path)
    [picture] = drawn(run, state(kept(run, written.getvalue(), "gif")))
    assert picture.drawn is not None
    assert pixels(picture.drawn.data).getpixel((5, 5)) == (0, 128, 0)

"""The check names what is wrong with a block, and the commands say it."""

from __future__ import annotations

from pathlib import Path

import pytest
from prefect_swarm.parl.data.__main__ import check_pattern, depth, main, width

from .conftest import ReadPattern

SAMPLE = Path(__file__).with_name("sample")


@pytest.mark.parametrize(
    ("needs", "deep", "wide"),
    [
        ([], 0, 0),
        ([()], 1, 1),
        ([(), (0,), (1,)], 3, 1),
        ([(), (), (), (0, 1, 2)], 2, 3),
        ([(), (0,), (0,), (1, 2), ()], 3, 2),
    ],
)
def test_a_plan_has_a_depth_and_a_width(needs: list[tuple[int, ...]], deep: int, wide: int) -> None:
    assert (depth(needs), width(needs)) == (deep, wide)


@pytest.mark.parametrize(
    ("block", "errors"),
    [
        ("with x = pets\nask See {x}\nstep a = Vet: See {x}", []),
        ("with x = pets\nask See it\nstep a = Vet: See {x}",
         ["the plan says {x}, which some ask leaves out"]),
        ("with x = pets\nask See <{x}|it>\nstep a = Vet: See {x}",
         ["the plan says {x}, which some ask leaves out"]),
        ("with v = See | Visit\nask Go\nstep a = Vet: {v} it", []),
        ("with k = 2..5 count\nask Do {k|n}\nstep a[k] = Vet: Do part {k}", []),
    ],
)  # fmt: skip
def test_a_plan_invents_nothing(pattern: ReadPattern, block: str, errors: list[str]) -> None:
    assert list(check_pattern(pattern(block)).errors) == errors


@pytest.mark.parametrize(
    ("block", "notes"),
    [
        ("step a = Vet: See it", ["only 1 asks"]),
        ("with x = pets\n" + "ask See {x}\n" * 5 + "step a = Vet: See it",
         ["an ask says {x}, which its plan leaves out"]),
    ],
)  # fmt: skip
def test_what_may_be_wrong_is_a_note(pattern: ReadPattern, block: str, notes: list[str]) -> None:
    finding = check_pattern(pattern(block))
    assert (finding.errors, list(finding.notes)) == ((), notes)


@pytest.mark.parametrize(("most", "is_error"), [(15, False), (100, True)])
def test_a_block_of_which_most_draws_fail_is_an_error(
    pattern: ReadPattern, most: int, is_error: bool
) -> None:
    finding = check_pattern(pattern(f"with k = 8..{most} count\nstep a[k] = Vet: See {{k}}"))
    messages = finding.errors if is_error else finding.notes
    assert any("of 30 draws don't fit, as" in message for message in messages)


def test_the_check_says_what_it_found(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--folder", str(SAMPLE)]) == 0
    *kinds, last = capsys.readouterr().out.splitlines()
    assert last.startswith("9 blocks, 0 errors")
    assert len(kinds) == 1 + 9


def test_the_check_fails_on_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "words").mkdir()
    (tmp_path / "patterns").mkdir()
    (tmp_path / "patterns" / "a.txt").write_text("kind a\nask {x}\n", "utf-8")
    assert main(["check", "--folder", str(tmp_path)]) == 1
    assert "patterns/a.txt:2: {x} has no `with` line before it." in capsys.readouterr().out
    assert main(["check", "--folder", str(tmp_path), "b.txt"]) == 0


def test_notes_are_shown_when_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    main(["check", "--notes", "--folder", str(SAMPLE)])
    assert "patterns/basic.txt:59: note: only 1 asks." in capsys.readouterr().out


def test_examples_are_shown_by_kind_and_seed(capsys: pytest.CaptureFixture[str]) -> None:
    shown: list[str] = []
    for seed in ("1", "1", "2"):
        main(["show", "--folder", str(SAMPLE), "--kind", "single", "-n", "3", "--seed", seed])
        shown.append(capsys.readouterr().out)
    assert shown[0] == shown[1] != shown[2]
    assert shown[0].count("--- single patterns/basic.txt:52") == 3


def test_a_missing_folder_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--folder", str(tmp_path)]) == 1
    assert "There is no folder" in capsys.readouterr().out


def test_a_file_that_is_no_text_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "words").mkdir()
    (tmp_path / "patterns").mkdir()
    (tmp_path / "words" / "a.txt").write_bytes(b"\xff\xfe")
    assert main(["check", "--folder", str(tmp_path)]) == 1
    assert "words/a.txt is not UTF-8 text." in capsys.readouterr().out

"""The toolset `documents`."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from pdf_files import pdf_of
from prefect_swarm.errors import InputError, ToolsetError
from prefect_swarm.memory.protocols import Vectors
from prefect_swarm.toolsets import document_library as library
from prefect_swarm.toolsets import document_reading as reading
from prefect_swarm.toolsets.catalogue import is_acting, is_idempotent
from prefect_swarm.toolsets.documents import DocumentsSource
from pydantic_ai.exceptions import ToolFailed
from quoted_texts import without_marks
from toolset_calls import calls_of, in_loop, use_in


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "papers"
    (folder / "rivers").mkdir(parents=True)
    (folder / "rivers" / "nile.md").write_text("# Nile\n\nThe river is 6650 km long.\n")
    (folder / "rivers" / "rhine.md").write_text("# Rhine\n\nIt flows through Basel.\n")
    (folder / "bill.txt").write_text("Invoice INV-20391\nPay 42 euros.\n")
    (folder / "cities.csv").write_text("city,people\nOslo,700000\nTurin,850000\n")
    (folder / "report.pdf").write_bytes(pdf_of("Turbines need a service each spring"))
    (folder / "photo.png").write_bytes(b"\x89PNG\0\0")
    return folder


@pytest.fixture
def source(folder: Path) -> DocumentsSource:
    return DocumentsSource((str(folder),))


@in_loop
async def test_all_tools_only_read(source: DocumentsSource, tmp_path: Path) -> None:
    async with calls_of(source, use_in(tmp_path)) as tools:
        assert set(tools.definitions) == {"search", "open", "list"}
        assert all(is_idempotent(tool) for tool in tools.definitions.values())
        assert not any(is_acting(tool) for tool in tools.definitions.values())


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("INV-20391", "[bill.txt, lines 1-2]\nInvoice INV-20391"),
        ("how long is the stream that Egypt lives by", "[rivers/nile.md, lines 1-3]"),
        ("700000", "[cities.csv, lines 1-3]"),
        ("maintenance of turbines", "[report.pdf, lines 1-2]\n[page 1]\nTurbines need"),
        ("rhine.md", "[rivers/rhine.md, lines 1-3]"),
    ],
)
@in_loop
async def test_search_finds_by_words_meaning_and_name(
    source: DocumentsSource, tmp_path: Path, query: str, found: str
) -> None:
    async with calls_of(source, use_in(tmp_path)) as tools:
        answer = await tools.call("search", query=query, limit=1)
        assert without_marks(answer).partition("]\n\n")[2].startswith(found)


@in_loop
async def test_search_says_what_it_could_not_read(source: DocumentsSource, tmp_path: Path) -> None:
    async with calls_of(source, use_in(tmp_path)) as tools:
        answer = await tools.call("search", query="river")
    assert answer.endswith("[1 file can't be read: The document photo.png is a binary file.]")


@in_loop
async def test_search_goes_through_all_passages_that_fit_page_by_page(tmp_path: Path) -> None:
    (folder := tmp_path / "papers").mkdir()
    for n in range(7):
        body = "\n\n".join(f"Harbour {n}.{k}: " + "the crane lifts. " * 40 for k in range(9 - n))
        (folder / f"p{n}.md").write_text(body)
    (folder / "soup.md").write_text("Peel the onions and fry them.")
    found: list[str] = []
    async with calls_of(DocumentsSource((str(folder),)), use_in(tmp_path)) as tools:
        first = await tools.call("search", query="harbour crane", limit=20)
        assert "of 42, in 7 documents. It goes on: offset=" in first
        assert (
            "[p0.md (9), p1.md (8), p2.md (7), p3.md (6), p4.md (5), p5.md (4), p6.md (3)]" in first
        )
        answer = first
        while True:
            assert len(answer) < 20_000
            found += re.findall(r"^\[(.*), lines (.*)\]$", answer, re.MULTILINE)
            if not (more := re.search(r"offset=(\d+)", answer)):
                break
            answer = await tools.call(
                "search", query="harbour crane", limit=20, offset=int(more[1])
            )
        beyond = await tools.call("search", query="harbour crane", offset=42)
    assert len(set(found)) == len(found) == 42
    assert {name for name, _ in found[:7]} == {f"p{n}.md" for n in range(7)}
    assert beyond == "[There are 42 passages; these are behind the last one.]"


@in_loop
async def test_patterns_say_which_documents_there_are(folder: Path, tmp_path: Path) -> None:
    source = DocumentsSource((f"{folder}/**/*.md", f"{folder}/bill.txt", "!rhine*"))
    async with calls_of(source, use_in(tmp_path)) as tools:
        assert await tools.call("list") == (
            "2 documents\nbill.txt (0.0 KiB)\nrivers/nile.md (0.0 KiB)"
        )
        assert "Basel" not in await tools.call("search", query="rhine Basel")
        for name in ("rivers/rhine.md", "cities.csv"):
            with pytest.raises(ToolFailed, match="names no document"):
                await tools.call("open", name=name)


@in_loop
async def test_search_sees_what_has_changed(
    source: DocumentsSource, folder: Path, tmp_path: Path
) -> None:
    async with calls_of(source, use_in(tmp_path)) as tools:
        await tools.call("search", query="zeppelin")
        (folder / "new.txt").write_text("A zeppelin flies.")
        (folder / "bill.txt").unlink()
        assert "A zeppelin flies." in await tools.call("search", query="zeppelin")
        assert "INV-20391" not in await tools.call("search", query="invoice INV")


@in_loop
async def test_search_in_an_empty_folder_finds_nothing(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    async with calls_of(DocumentsSource((str(tmp_path / "empty"),)), use_in(tmp_path)) as tools:
        assert await tools.call("search", query="x") == "Nothing was found for 'x'."
        assert await tools.call("list") == "No documents fit '*'."


@in_loop
async def test_open_shows_a_page_and_how_to_go_on(
    source: DocumentsSource, folder: Path, tmp_path: Path
) -> None:
    (folder / "long.txt").write_text("\n".join(f"line {n}" for n in range(1, 1001)))
    async with calls_of(source, use_in(tmp_path)) as tools:
        page = await tools.call("open", name="long.txt", start_line=3, lines=2)
        assert (
            without_marks(page)
            == "[long.txt, lines 3-4 of 1000]\nline 3\nline 4\n[It goes on: start_line=5.]"
        )
        last = await tools.call("open", name="./long.txt", start_line=1000)
        assert without_marks(last) == "[long.txt, lines 1000-1000 of 1000]\nline 1000"
        assert "behind its end" in await tools.call("open", name="long.txt", start_line=1001)


@in_loop
async def test_open_reads_all_of_a_single_long_line_page_by_page(
    source: DocumentsSource, folder: Path, tmp_path: Path
) -> None:
    (folder / "one.json").write_text('"' + "0123456789" * 5000 + '"')
    read, start = "", 1
    async with calls_of(source, use_in(tmp_path)) as tools:
        while start:
            page = await tools.call("open", name="one.json", start_line=start, lines=500)
            assert len(page) < 12_500
            head, *lines = without_marks(page).split("\n")
            rest = lines.pop() if "[It goes on" in page else ""
            read += "".join(lines)
            start = int(rest.partition("=")[2].rstrip(".]") or 0)
            assert head.startswith("[one.json")
    assert read == '"' + "0123456789" * 5000 + '"'


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("/etc/passwd", "leads out of the folders"),
        ("../outside.txt", "leads out of the folders"),
        ("Nile.MD", "Is it rivers/nile.md?"),
        ("nothing", "Use a name that list or search shows."),
        ("link.txt", "not a plain file"),
        ("rivers", "not a plain file"),
        ("photo.png", "is a binary file"),
        (".env", "names no document"),
    ],
)
@in_loop
async def test_open_says_why_it_cannot(
    source: DocumentsSource, folder: Path, tmp_path: Path, name: str, says: str
) -> None:
    (tmp_path / "outside.txt").write_text("secret")
    (folder / "link.txt").symlink_to(tmp_path / "outside.txt")
    (folder / ".env").write_text("KEY=secret")
    async with calls_of(source, use_in(tmp_path)) as tools:
        answer = await tools.failure("open", name=name)
    assert says in answer
    assert "secret" not in answer


@in_loop
async def test_list_shows_names_and_sizes(source: DocumentsSource, tmp_path: Path) -> None:
    async with calls_of(source, use_in(tmp_path)) as tools:
        listed = await tools.call("list")
        assert listed.splitlines()[:2] == ["6 documents", "bill.txt (0.0 KiB)"]
        inside = await tools.call("list", folder="rivers", pattern="N*")
        assert inside == "1 document\nrivers/nile.md (0.0 KiB)"
        assert "cities.csv" in await tools.call("list", pattern="*.CSV")
        assert "leads out" in await tools.failure("list", folder="../")


@in_loop
async def test_names_of_several_folders_begin_with_the_folders_own(
    source: DocumentsSource, folder: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "bill.txt").write_text("Another bill")
    both = DocumentsSource((str(folder), str(other)))
    assert both.about.endswith("in papers, other.")
    async with calls_of(both, use_in(tmp_path)) as tools:
        assert "other/bill.txt" in await tools.call("list", pattern="bill*")
        assert "Another bill" in await tools.call("open", name="other/bill.txt")
        assert "Names begin with papers/, other/." in await tools.failure("open", name="bill.txt")


@in_loop
async def test_a_long_list_is_cut_and_says_so(tmp_path: Path) -> None:
    for number in range(250):
        (tmp_path / f"{number:03}.txt").write_text("x")
    async with calls_of(DocumentsSource((str(tmp_path),)), use_in(tmp_path)) as tools:
        listed = (await tools.call("list")).splitlines()
    assert listed[0] == "250 documents"
    assert listed[-1] == "[50 more: narrow the pattern or name a folder.]"


@in_loop
async def test_more_documents_than_the_bounds_are_told_of(
    source: DocumentsSource, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "MAX_DOCUMENTS", 3)
    monkeypatch.setattr(library, "_MAX_CHARACTERS", 70)
    (folder / "a.txt").write_text("word " * 20)
    monkeypatch.setattr(library, "library_of", library.library_of.__wrapped__)
    monkeypatch.setattr("prefect_swarm.toolsets.documents.library_of", library.library_of)
    async with calls_of(source, use_in(tmp_path)) as tools:
        answer = await tools.call("search", query="invoice")
        assert "[bill.txt, lines 1-2]" in answer
        assert "[1 document more than fit into the index.]" in answer
        assert "[The folders have more documents than are searched.]" in answer
        assert "more documents than are looked through" in await tools.call("list")


def test_a_folder_that_is_not_there_is_an_error_at_once(tmp_path: Path) -> None:
    with pytest.raises(ToolsetError, match=r"missing can't be read: No such file"):
        DocumentsSource((str(tmp_path / "missing"),)).toolset(use_in(tmp_path))
    (tmp_path / "file").touch()
    DocumentsSource((str(tmp_path / "file"),)).check()
    with pytest.raises(ToolsetError, match=r"No document in .* fits \*\.md"):
        DocumentsSource((f"{tmp_path}/*.md",)).check()
    with pytest.raises(ToolsetError, match="no folders"):
        DocumentsSource(()).check()
    with pytest.raises(InputError, match="no embedder"):
        DocumentsSource((str(tmp_path),), "nonsense").check()


class CountingEmbedder:
    """Counts what it is asked for."""

    name, dimension = "counting", 4

    def __init__(self) -> None:
        self.embedded: list[str] = []

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.embedded += texts
        return np.full((len(texts), 4), 0.5, dtype=np.float32)


@in_loop
async def test_a_hundred_calls_of_several_attempts_read_each_document_once(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedder = CountingEmbedder()
    monkeypatch.setattr(library, "make_embedder", {"counting": embedder}.__getitem__)
    library.library_of.cache_clear()
    source = DocumentsSource((str(folder),), "counting")

    async def attempt(number: int) -> list[str]:
        async with calls_of(source, use_in(tmp_path, attempt=f"S1.{number}")) as tools:
            calls = [tools.call("search", query="INV-20391", limit=1) for _ in range(20)]
            return await asyncio.gather(*calls)

    answers = await asyncio.gather(*(attempt(number) for number in range(5)))
    library.library_of.cache_clear()
    assert {answer.split("\n")[3] for found in answers for answer in found} == {
        "[bill.txt, lines 1-2]"
    }
    texts = [text for text in embedder.embedded if text != "INV-20391"]
    assert len(texts) == len(set(texts)) == 5

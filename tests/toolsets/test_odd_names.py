"""A name, a value or an error that is not UTF-8 fails no call of Python, and the next goes on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from prefect_swarm.toolsets.python import LIMITS, PythonSource
from toolset_calls import calls_of, conversation, in_loop, use_in

CODES = {
    "a file": r"open(b'a\xff.txt', 'w').close()",
    "a folder": r"import os; os.mkdir(b'd\xff'); open(b'd\xff/x', 'w').close()",
    "many files": r"for n in range(40): open(b'a\xff%d' % n, 'w').close()",
    "half of a character in a name": r"open(b'a\xed\xa0\x80', 'w').close()",
    "a variable that is kept": r"globals()['\udcff'] = 1",
    "a variable that isn't kept": r"globals()['\udcff'] = (x for x in [])",
    "a value's own words": "class A:\n  def __repr__(self): return '\\udcff'\nA()",
    "an error": r"raise ValueError('\udcff')",
    "what is printed": r"print('\udcff')",
    "what is complained of": r"import sys; sys.stderr.write('\udcff')",
}


@pytest.mark.parametrize("code", CODES.values(), ids=CODES)
@pytest.mark.attack("parsers")
@in_loop
async def test_what_is_no_utf8_fails_no_call(tmp_path: Path, code: str) -> None:
    source = PythonSource(replace(LIMITS, cpu_s=20, memory_bytes=300 << 20, disk_bytes=64 << 20))
    async with calls_of(source, use_in(tmp_path)) as calls:
        answer = await calls.call("python", call_id="c1", messages=conversation(1), code=code)
    assert answer.encode()
    assert "[ended]" not in answer

"""Runs in a process of its own: pictures that others made are decoded, scaled and written anew.

It knows nothing of this package: bytes come in, and JSON goes out, with the data of pictures in
base 64. Its argument names the work: `picture PIXELS SIDE [BYTES]` reads a picture, `pages PAGES
PICTURES PIXELS SIDE` the pages of a PDF: their texts, and pictures of those that have none.
"""

from __future__ import annotations

import base64
import io
import json
import os
import runpy
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from PIL.Image import Image

__all__ = ["page_pictures", "read_picture"]


_FORMATS = ("PNG", "JPEG", "WEBP", "GIF")
_LOSSLESS = frozenset({"PNG", "GIF"})
_PNG_BYTES = 1 << 20
"""Of a picture whose kind loses nothing: what takes more is written as JPEG."""
_QUALITY, _PAGE_QUALITY = 90, 80
"""Of JPEG: pages come in dozens, and are read for their letters."""
_DOTS = 200 / 72
"""Pixels for a point of a page, at most: pages of a usual size are bounded by their side."""
_SHRINK, _LEAST_SIDE = 0.7, 16


def read_picture(data: bytes, most_pixels: int, side: int, most_bytes: int = 0) -> dict[str, Any]:
    """Return a picture with at most so many pixels a side, or what is wrong with it.

    The first frame counts, the way up that its camera says. What is transparent becomes white, and
    only pixels are kept: neither places nor names that a camera has written. With `most_bytes` it
    is made smaller until it has no more, or no more than 16 pixels a side.
    """
    import PIL.Image

    PIL.Image.MAX_IMAGE_PIXELS = most_pixels
    warnings.simplefilter("ignore")
    warnings.simplefilter("error", PIL.Image.DecompressionBombWarning)
    try:
        with PIL.Image.open(io.BytesIO(data), formats=_FORMATS) as image:
            kind = image.format or ""
            return _fitted(_plain(image, side), kind in _LOSSLESS, most_bytes)
    except MemoryError:
        os._exit(3)
    except (PIL.Image.DecompressionBombError, PIL.Image.DecompressionBombWarning):
        return {"pixels": most_pixels}
    except PIL.UnidentifiedImageError:
        return {"damaged": "it is neither a PNG nor a JPEG, WebP or GIF"}
    except Exception as error:  # noqa: BLE001 - what a damaged file leads to has many types
        return {"damaged": _words(error)}


def _plain(image: Image, side: int) -> Image:
    """Return an image in grey or in colours, upright and scaled."""
    import PIL.Image

    # A JPEG is decoded in a smaller size where that is enough.
    image.draft(None, (side, side))
    image = _upright(image)
    if image.mode.startswith("I"):
        # Grey of 16 bits: a plain conversion would make everything bright white.
        image = image.convert("I").point(lambda value: value / 257).convert("L")
    is_clear = "transparency" in image.info or image.mode in ("RGBA", "LA", "PA", "La", "RGBa")
    if is_clear:
        image = image.convert("RGBA")
    elif image.mode != "L":
        image = image.convert("L" if image.mode == "1" else "RGB")
    # What is transparent has a colour, too: scaled with the others it would shine through.
    if is_clear:
        ground = PIL.Image.new("RGB", image.size, "white")
        ground.paste(image, mask=image.getchannel("A"))
        image = ground
    image.thumbnail((side, side), PIL.Image.Resampling.LANCZOS)
    return image


def _upright(image: Image) -> Image:
    import PIL.ImageOps

    try:
        return PIL.ImageOps.exif_transpose(image)
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001 - what a camera wrote may be damaged where the picture isn't
        image.info.pop("exif", None)
        return image


def _fitted(image: Image, is_lossless: bool, most_bytes: int) -> dict[str, Any]:
    import PIL.Image

    most = min(most_bytes or _PNG_BYTES, _PNG_BYTES)
    while True:
        found = _written(image, is_lossless, most)
        is_small = max(image.size) <= _LEAST_SIDE or len(found["picture"][3]) * 3 // 4 <= most_bytes
        if is_small or not most_bytes:
            return found
        sides = (max(1, round(each * _SHRINK)) for each in image.size)
        image = image.resize((next(sides), next(sides)), PIL.Image.Resampling.LANCZOS)


def _written(
    image: Image, is_lossless: bool, most: int = _PNG_BYTES, quality: int = _QUALITY
) -> dict[str, Any]:
    image.info.clear()
    kind, data = "image/png", _bytes(image, "PNG") if is_lossless else b""
    if not 0 < len(data) <= most:
        kind, data = "image/jpeg", _bytes(image, "JPEG", quality=quality, optimize=True)
    width, height = image.size
    return {"picture": [kind, width, height, base64.b64encode(data).decode("ascii")]}


def _bytes(image: Image, form: str, **options: Any) -> bytes:
    written = io.BytesIO()
    image.save(written, form, **options)
    return written.getvalue()


def _words(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__


def page_pictures(
    data: bytes, most_pages: int, most_pictures: int, most_pixels: int, side: int
) -> dict[str, Any]:
    """Return the texts of a PDF's pages, or what is wrong; a page without text is a picture.

    A page that is all of one colour has nothing to be seen, and stays an empty text.
    """
    found = _texts()(data, most_pages)
    without = [n for n, text in enumerate(found.get("pages", ())) if not text]
    if not without:
        return found
    import PIL.Image
    import pypdfium2

    PIL.Image.MAX_IMAGE_PIXELS = most_pixels
    pages: list[Any] = [*found["pages"]]
    made = 0
    try:
        document = pypdfium2.PdfDocument(data)
        for number in without:
            if (picture := _page(document, number, side)) is None:
                continue
            if (made := made + 1) > most_pictures:
                return {"pictures": len(without)}
            pages[number] = picture
    except MemoryError:
        os._exit(3)
    except Exception as error:  # noqa: BLE001 - what a damaged file leads to has many types
        return {"damaged": _words(error)}
    return {"pages": pages}


def _page(document: Any, number: int, side: int) -> dict[str, Any] | None:
    page = document[number]
    try:
        # A page may say that it is miles wide.
        longest = max(1.0, *page.get_size())
        image: Image = page.render(scale=min(_DOTS, side / longest)).to_pil()
    finally:
        page.close()
    extremes: Any = image.getextrema()
    bands = extremes if isinstance(extremes[0], tuple) else (extremes,)
    if all(least == most for least, most in bands):
        return None
    return _written(image.convert("RGB"), True, _PNG_BYTES // 4, _PAGE_QUALITY)


def _texts() -> Callable[[bytes, int], dict[str, Any]]:
    """Return the function that takes the texts out: its script lies beside this one."""
    script = Path(__file__).with_name("bounded_work.py")
    read: Callable[[bytes, int], dict[str, Any]] = runpy.run_path(str(script))["pdf_pages"]
    return read


def _main(work: str) -> None:
    kind, *numbers = work.split()
    data, most = sys.stdin.buffer.read(), [int(number) for number in numbers]
    found = read_picture(data, *most) if kind == "picture" else page_pictures(data, *most)
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    _main(sys.argv[1])

"""Small pictures, in the forms that cameras and programs write them."""

from __future__ import annotations

import io
from typing import Any

from PIL import Image

__all__ = ["encoded", "picture_bytes", "pixels", "scanned_pdf"]


def encoded(image: Image.Image, form: str = "PNG", **options: Any) -> bytes:
    """Return an image as a file of that form."""
    written = io.BytesIO()
    image.save(written, form, **options)
    return written.getvalue()


def picture_bytes(
    form: str = "PNG", size: tuple[int, int] = (40, 20), colour: str = "red", **options: Any
) -> bytes:
    """Return a file with a picture of one colour."""
    return encoded(Image.new("RGB", size, colour), form, **options)


def pixels(data: bytes) -> Image.Image:
    """Return what a file shows, in colours."""
    with Image.open(io.BytesIO(data)) as image:
        return image.convert("RGB")


def scanned_pdf(*colours: str) -> bytes:
    """Return a PDF whose pages are pictures, half white and half of that colour."""
    pages: list[Image.Image] = []
    for colour in colours:
        page = Image.new("RGB", (600, 800), "white")
        page.paste(colour, (0, 0, 600, 400))
        pages.append(page)
    return encoded(pages[0], "PDF", save_all=True, append_images=pages[1:])

"""The user's message as a model gets it: its pictures, each behind a line that names it, and text.

Providers advise to show pictures before what is asked about them.
"""

from __future__ import annotations

import logging

from pydantic_ai.messages import BinaryContent, UserContent
from pydantic_ai.models import Model

from ...errors import RefusedError, StorageError
from ...models.resolve import takes_pictures
from ...store.runs import open_run
from ...toolsets.shown import stored_picture
from .request import SubagentRequest, pictures_of, prompt_of

__all__ = ["content_of"]


_logger = logging.getLogger("prefect_swarm.models")


def content_of(model: Model, request: SubagentRequest) -> str | list[UserContent]:
    """Return the text of a prompt, or with its pictures; these are in the run's folder by then.

    Transcripts and journals name a picture, and don't have its data.

    Raises:
        RefusedError: The model takes no pictures, and there are some.
    """
    prompt = prompt_of(request)
    if not (pictures := pictures_of(request)):
        return prompt
    if not takes_pictures(model):
        names = ", ".join(label.rstrip(":") for label, _ in pictures[:3])
        raise RefusedError(
            f"{model.model_name} takes no pictures, and {request.step} reads some: {names}.",
            "Name a model that does, or leave the pictures out.",
        )
    content: list[UserContent] = []
    for label, picture in pictures:
        shown = stored_picture(BinaryContent(picture.data, media_type=picture.media_type))
        try:
            open_run(request.run).write_picture(shown.identifier, shown.data)
        except StorageError as error:
            # It is among the inputs all the same; its conversation can't be gone on with.
            _logger.warning("A picture is not kept: %s", error)
        content += [label, shown]
    return [*content, prompt]

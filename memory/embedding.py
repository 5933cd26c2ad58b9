"""Embedders by name: wordllama's vectors, a model file, or a provider's model."""

from __future__ import annotations

import asyncio
import hashlib
import threading
from collections import defaultdict
from collections.abc import Sequence
from functools import lru_cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np

from ..errors import InputError, MemoryStoreError
from ..host.system import require_llama_cpp, sleeping_threads
from .episode import LogEntry
from .protocols import Embedder, EpisodeLog, Vectors

__all__ = [
    "LlamaCppEmbedder",
    "PromptVectors",
    "RemoteEmbedder",
    "WordLlama",
    "group_by_namespace",
    "make_embedder",
    "prompt_vectors",
    "unit_rows",
]


def unit_rows(rows: Any, dimension: int) -> Vectors:
    """Rows of length 1 as float32, shape (n, dimension); rows without a length become zeros."""
    array = np.asarray(rows, dtype=np.float32).reshape(-1, dimension)
    array = np.nan_to_num(array, nan=0.0, posinf=0.0, neginf=0.0)
    lengths = np.linalg.norm(array, axis=1, keepdims=True)
    return np.divide(array, lengths, out=np.zeros_like(array), where=lengths > 0)


_CONTEXT = 512
"""Tokens of a text that count; it is what most embedding models were trained with."""
_SAMPLE = 1 << 20


class LlamaCppEmbedder:
    """Embeds with a GGUF file: pooled as the file says, else by the mean of its token vectors."""

    def __init__(self, path: Path) -> None:
        """Take a model file; it loads at its first use.

        Raises:
            InputError: llama.cpp is not installed.
        """
        require_llama_cpp()
        self._path = path
        self._lock = threading.Lock()
        self._loaded: Any = None
        self._fingerprint = ""

    @property
    def name(self) -> str:
        """`llamacpp`, the file's name, a hash of its size and both ends, and the dimension.

        Raises:
            MemoryStoreError: The file can't be read.
        """
        self._fingerprint = self._fingerprint or _fingerprint(self._path)
        return f"llamacpp/{self._path.name}/{self._fingerprint}/{self.dimension}"

    @property
    def dimension(self) -> int:
        """The width of the model's hidden state."""
        with self._lock:
            return int(self._model().n_embd())

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Shape (n, dimension); an empty text gives a row of zeros.

        Raises:
            MemoryStoreError: The file can't be loaded, or llama.cpp refused.
        """
        with self._lock:
            model = self._model()
            width = int(model.n_embd())
            rows = np.zeros((len(texts), width), dtype=np.float32)
            for n, text in enumerate(texts):
                if text.strip():
                    rows[n] = self._embed_text(model, text).reshape(-1, width).mean(axis=0)
        return unit_rows(rows, width)

    def close(self) -> None:
        """Free the context; the next use loads it again."""
        with self._lock:
            if self._loaded is not None:
                self._loaded.close()
                self._loaded = None

    def _embed_text(self, model: Any, text: str) -> Vectors:
        try:
            # A NUL would end the text where C reads it.
            return np.asarray(model.embed(text.replace("\0", " ")), dtype=np.float32)
        except (RuntimeError, ValueError) as error:
            raise MemoryStoreError(
                f"llama.cpp could not embed a text with {self._path}: {error}.",
                "Use an embedding model's file.",
            ) from error

    def _model(self) -> Any:
        if self._loaded is None:
            if not self._path.is_file():
                raise MemoryStoreError(
                    f"The embedding model {self._path} doesn't exist.", "Check the path."
                )
            self._loaded = _load(self._path)
        return self._loaded


def _load(path: Path) -> Any:
    with sleeping_threads():
        from llama_cpp import Llama
    try:
        return Llama(
            str(path),
            embedding=True,
            n_ctx=_CONTEXT,
            n_batch=_CONTEXT,
            n_ubatch=_CONTEXT,
            n_threads=1,
            n_threads_batch=1,
            verbose=False,
        )
    except (ValueError, RuntimeError, AssertionError) as error:
        raise MemoryStoreError(
            f"The embedding model {path} can't be loaded: {error}.",
            "Check that it is a complete GGUF file that this llama.cpp knows.",
        ) from error


def _fingerprint(path: Path) -> str:
    """Hash the size, the first and the last bytes: telling files apart needs no more."""
    try:
        size = path.stat().st_size
        digest = hashlib.sha256(str(size).encode())
        with path.open("rb") as file:
            digest.update(file.read(_SAMPLE))
            file.seek(max(0, size - _SAMPLE))
            digest.update(file.read(_SAMPLE))
    except OSError as error:
        raise MemoryStoreError(
            f"The embedding model {path} can't be read: {error}.", "Check the path."
        ) from error
    return digest.hexdigest()[:16]


_BATCH = 96
"""Texts of one request; the strictest provider refuses more."""
_TIMEOUT_S = 60.0


class RemoteEmbedder:
    """Asks a provider. All calls run on one event loop in a thread of its own.

    So it can be called from any thread, also inside a running loop, and the provider's client stays
    on the loop that it was made on.
    """

    def __init__(self, model: Any) -> None:
        """Take a model; nothing is imported or requested yet.

        Args:
            model: `PROVIDER:MODEL`, or a `pydantic_ai.embeddings.EmbeddingModel`.
        """
        self._model = model
        self._lock = threading.Lock()
        self._embedder: Any = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._width: int | None = None

    @property
    def name(self) -> str:
        """`pydantic-ai`, the provider, the model and the dimension."""
        label = self._model if isinstance(self._model, str) else self._model.model_name
        return f"pydantic-ai/{label}/{self.dimension}"

    @property
    def dimension(self) -> int:
        """How wide its vectors are; asks the provider once.

        Raises:
            MemoryStoreError: The request failed.
        """
        if self._width is None:
            self._width = len(self._ask(["dimension"])[0])
        return self._width

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Shape (n, dimension); an empty text gives a row of zeros and is not sent.

        Raises:
            MemoryStoreError: The request failed, or the answer has the wrong shape.
        """
        width = self.dimension
        rows = np.zeros((len(texts), width), dtype=np.float32)
        wanted = [n for n, text in enumerate(texts) if text.strip()]
        for start in range(0, len(wanted), _BATCH):
            part = wanted[start : start + _BATCH]
            answer = self._ask([texts[n] for n in part])
            if any(len(row) != width for row in answer):
                raise MemoryStoreError(
                    f"{self._model} gave vectors of another width than {width}.",
                    "Name a model with a fixed dimension.",
                )
            rows[part] = answer
        return unit_rows(rows, width)

    def _ask(self, texts: list[str]) -> Sequence[Sequence[float]]:
        embedder, loop = self._connect()
        call = asyncio.run_coroutine_threadsafe(embedder.embed_documents(texts), loop)
        try:
            answer = call.result(_TIMEOUT_S).embeddings
        except Exception as error:
            call.cancel()
            raise MemoryStoreError(
                f"The embedding model {self._model} gave no answer: {error!r}.",
                "Check its name, its key and the network.",
            ) from error
        if len(answer) != len(texts):
            raise MemoryStoreError(
                f"{self._model} gave {len(answer)} vectors for {len(texts)} texts.",
                "Use another embedding model.",
            )
        return answer

    def _connect(self) -> tuple[Any, asyncio.AbstractEventLoop]:
        with self._lock:
            if self._embedder is None:
                self._embedder = _open(self._model)
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(
                    target=self._loop.run_forever, name="swarm-embedder", daemon=True
                ).start()
            return self._embedder, self._loop


def _open(model: Any) -> Any:
    from pydantic_ai.embeddings import Embedder, infer_embedding_model
    from pydantic_ai.exceptions import UserError

    try:
        return Embedder(infer_embedding_model(model))
    except (UserError, ValueError, ImportError) as error:
        raise InputError(
            f"The embedding model {model} can't be loaded: {error}.",
            "Check its name, its key, and that its provider's package is installed.",
        ) from error


_STORED_VECTORS_BATCH = 256


class PromptVectors(NamedTuple):
    """One row for each entry, shape (n, dimension), and how many texts had to be embedded."""

    rows: Vectors
    embedded: int


def prompt_vectors(
    log: EpisodeLog, embedder: Embedder, entries: Sequence[LogEntry]
) -> PromptVectors:
    """Return the vectors of the entries' prompts, in their order.

    Raises:
        MemoryStoreError: The log or the embedder fails.
    """
    name, width = embedder.name, embedder.dimension
    texts = {entry.episode.digest: entry.episode.prompt for entry in entries}
    stored = log.vectors(name, list(texts))
    # A vector of another width isn't this embedder's.
    known = {digest: row for digest, row in stored.items() if row.shape == (width,)}
    missing = [digest for digest in texts if digest not in known]
    for start in range(0, len(missing), _STORED_VECTORS_BATCH):
        part = missing[start : start + _STORED_VECTORS_BATCH]
        made = dict(zip(part, embedder.embed([texts[digest] for digest in part]), strict=True))
        log.keep_vectors(name, made)
        known.update(made)
    rows = np.empty((len(entries), width), dtype=np.float32)
    for n, entry in enumerate(entries):
        rows[n] = known[entry.episode.digest]
    return PromptVectors(rows, len(missing))


def group_by_namespace(entries: Sequence[LogEntry]) -> dict[str, list[int]]:
    """The indexes of the entries of each namespace."""
    found: dict[str, list[int]] = defaultdict(list)
    for n, entry in enumerate(entries):
        found[entry.episode.namespace].append(n)
    return found


_TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"
_WEIGHTS = "weights/l2_supercat_256.safetensors"


class WordLlama:
    """The mean of a text's token vectors, 256 wide, from weights inside the package wordllama.

    Only the package's data is used. Importing its code would set up the root logger, and it pads
    the texts of a batch to one length, which makes a vector depend on the other texts.
    """

    dimension = 256

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loaded: tuple[Any, Vectors] | None = None

    @property
    def name(self) -> str:
        """`wordllama`, the package's version and the dimension."""
        return f"wordllama/{version('wordllama')}/{self.dimension}"

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Shape (n, 256); a text without words gives a row of zeros.

        Raises:
            MemoryStoreError: The package's files can't be read.
        """
        tokenizer, table = self._load()
        rows = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for n, text in enumerate(texts):
            # Singly: a batch starts threads, which don't survive a fork.
            encoded: Any = tokenizer.encode(text if text.strip() else "", add_special_tokens=False)
            ids = np.asarray(encoded.ids, dtype=np.int64)
            if ids.size:
                rows[n] = table[np.minimum(ids, len(table) - 1)].mean(axis=0)
        return unit_rows(rows, self.dimension)

    def _load(self) -> tuple[Any, Vectors]:
        with self._lock:
            if self._loaded is None:
                self._loaded = _read_package()
            return self._loaded


def _read_package() -> tuple[Any, Vectors]:
    import safetensors.numpy
    from tokenizers import Tokenizer

    load_file: Any = cast("Any", safetensors.numpy).load_file
    spec = find_spec("wordllama")
    if spec is None or not spec.submodule_search_locations:
        raise MemoryStoreError("The package wordllama is not installed.", "pip install wordllama")
    folder = Path(spec.submodule_search_locations[0])
    try:
        tokenizer: Any = Tokenizer.from_file(str(folder / _TOKENIZER))
        table: Any = load_file(folder / _WEIGHTS)["embedding.weight"]
    except Exception as error:
        raise MemoryStoreError(
            f"The embedder's files in {folder} can't be read: {error}.", "Reinstall wordllama."
        ) from error
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer, np.ascontiguousarray(table, dtype=np.float32)


@lru_cache(maxsize=8)
def make_embedder(name: str = "wordllama") -> Embedder:
    """Return the embedder of that name; nothing is loaded before its first use.

    Each is made once in a process.

    Args:
        name: `wordllama`, `llamacpp:PATH` for a model file of llama.cpp, or a name that
            pydantic-ai knows an embedding model by, such as `openai:text-embedding-3-small`.

    Raises:
        InputError: The name is none of these, or it needs llama.cpp, which is not installed.
    """
    kind, colon, rest = name.partition(":")
    if name == "wordllama":
        return WordLlama()
    if kind == "llamacpp" and rest:
        return LlamaCppEmbedder(Path(rest).expanduser())
    if colon and kind and rest and kind not in ("wordllama", "llamacpp"):
        return RemoteEmbedder(name)
    raise InputError(
        f"There is no embedder {name!r}.",
        "Use wordllama, llamacpp:PATH or PROVIDER:MODEL.",
    )

"""Whether a text obeys a grammar, as llama.cpp reads both."""

from __future__ import annotations

import ctypes
from typing import Any, cast

import llama_cpp.llama_cpp as lib
from llama_cpp import Llama
from prefect_swarm.models.llama.gguf import demo_model_path


class GrammarReader:
    """llama.cpp's own reading of a grammar, over the embedded model's vocabulary."""

    def __init__(self) -> None:
        self._model = Llama(str(demo_model_path()), vocab_only=True, verbose=False)
        vocab = lib.llama_model_get_vocab(self._model.model)
        assert vocab is not None
        self._vocab = vocab

    def accepts(self, rules: str, text: str) -> bool:
        sampler = lib.llama_sampler_init_grammar(self._vocab, rules.encode(), b"root")
        tokens = self._model.tokenize(text.encode(), add_bos=False)
        try:
            return all(self._step(sampler, token) for token in [*tokens, self._model.token_eos()])
        finally:
            lib.llama_sampler_free(sampler)

    def _step(self, sampler: lib.llama_sampler_p, token: int) -> bool:
        candidate = (lib.llama_token_data * 1)(lib.llama_token_data(token, 0.0, 0.0))
        array = lib.llama_token_data_array(candidate, 1, -1, False)
        cast("Any", lib.llama_sampler_apply)(sampler, ctypes.byref(array))
        if allowed := candidate[0].logit == 0.0:
            lib.llama_sampler_accept(sampler, token)
        return allowed

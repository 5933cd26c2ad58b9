"""An adapter's file says whose it is and how it was made."""

from __future__ import annotations

from pathlib import Path

import gguf
import pytest
import torch
from prefect_swarm.errors import InputError
from prefect_swarm.models.llama.gguf import check_adapter, check_base
from prefect_swarm.parl.train import export
from prefect_swarm.parl.train.base import Adapter, load_base, new_adapter
from prefect_swarm.parl.train.checkpoints import save_adapter


@pytest.fixture
def adapter(tiny: Path) -> Adapter:
    return new_adapter(load_base(tiny), 4, 8.0, 0)


@pytest.fixture
def written(adapter: Adapter, tiny: Path, tmp_path: Path) -> Path:
    facts = {"base.name": "Tiny", "base.sha256": load_base(tiny).sha256, "steps": "7"}
    save_adapter(tmp_path / "adapter.pt", adapter, facts)
    return export(tmp_path / "adapter.pt", tmp_path / "new" / "adapter.gguf", name="Mine")


def test_the_file_names_itself_its_base_and_its_making(written: Path) -> None:
    reader = gguf.GGUFReader(written)
    fields = {key: field.contents() for key, field in reader.fields.items()}
    assert fields["general.name"] == "Mine"
    assert fields["swarm.base.name"] == "Tiny"
    assert fields["swarm.steps"] == "7"
    assert fields["adapter.lora.alpha"] == 8.0


def test_the_engine_takes_it_for_an_adapter_of_that_base(written: Path, tiny: Path) -> None:
    check_base(check_adapter(written), tiny)


def test_every_matrix_is_there_in_16_bits(written: Path, adapter: Adapter) -> None:
    tensors = {tensor.name: tensor for tensor in gguf.GGUFReader(written).tensors}
    assert len(tensors) == len(adapter.parameters())
    stored = torch.tensor(tensors["blk.1.ffn_down.weight.lora_a"].data)
    assert torch.equal(stored, adapter.a["blk.1.ffn_down"].detach().half())


def test_the_same_adapter_makes_the_same_file(written: Path, tmp_path: Path) -> None:
    again = export(tmp_path / "adapter.pt", tmp_path / "again.gguf", name="Mine")
    assert again.read_bytes() == written.read_bytes()


def test_a_number_without_a_16_bit_form_leaves_no_file(adapter: Adapter, tmp_path: Path) -> None:
    with torch.no_grad():
        adapter.b["blk.0.attn_q"][0, 0] = 1e6
    save_adapter(tmp_path / "adapter.pt", adapter, {})
    with pytest.raises(InputError, match=r"blk\.0\.attn_q"):
        export(tmp_path / "adapter.pt", tmp_path / "adapter.gguf")
    assert [path.name for path in tmp_path.iterdir()] == ["adapter.pt"]


def test_a_missing_adapter_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no trained adapter at"):
        export(tmp_path / "none.pt", tmp_path / "adapter.gguf")

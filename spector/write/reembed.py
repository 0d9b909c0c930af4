"""Vectors of another model for a whole store, and which model made those of a damaged one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from spector._types import Progress
from spector.errors import EmbeddingError, SpectorError
from spector.kernel.contract import lengths, normalize, quantize
from spector.layout import HEADER_BYTES, RECORD_DTYPE, Flag, vector_bytes
from spector.providers import Embedder, embedded, resolve
from spector.records import Loss
from spector.store.catalog import Row
from spector.store.core import Store
from spector.store.files import Bytes, DiskFiles
from spector.store.partitions import image_rows
from spector.store.rewriting import rewrite_all
from spector.store.words import spoken_words, stored_words
from spector.write.append import flags_of, reseal

if TYPE_CHECKING:
    from spector.store.repair import Identity, RecoveredCatalog


# Which model made the vectors of a store that is being repaired.
#
# The catalog names it; then only that model may embed words whose vector is lost. A catalog without
# its description does not. Then a model of the right dimension embeds words whose vector is left, and
# is taken for the original one if it makes the same vectors.

#: memories whose words are embedded to see whether a model makes their vectors
_TRIED: Final = 8
#: cosine of a vector of 8 bits a component with the one that it was made from, and some more
_SAME: Final = 0.95


@dataclass(frozen=True, slots=True)
class SourceModel:
    """The model that a store's vectors are taken to be of."""

    identity: Identity
    #: makes vectors like those in the store; None if it is not available
    model: Embedder | None
    notes: tuple[Loss, ...] = ()
    #: the caller has named the model, so its failure is an error
    named: bool = True

    def embed(self, texts: list[str]) -> NDArray[np.float32] | None:
        """Vectors like those in the store; None without a model that works.

        Raises:
            EmbeddingError: the model that the caller named does not work.
        """
        if self.model is None:
            return None
        try:
            return embedded(self.model, texts)
        except EmbeddingError:
            if self.named:
                raise
            return None


def source_model(
    files: DiskFiles, recovered: RecoveredCatalog, identity: Identity, given: Embedder | None
) -> SourceModel:
    """The model of the store's vectors: the catalog's, or else one that makes the same vectors.

    Args:
        given: the caller's model; None for the default one, where that may be it.
    """
    if identity.model_known:
        return _known(identity, given)
    model = given if given is not None else resolve("default")
    if model is None or model.dim != identity.dim:
        return _without(
            identity,
            f"nothing says which model made the vectors of {identity.dim} dimensions, and the new"
            " store names none; if there was one, repair again with it: embedder=, --embedder",
        )
    asked = given is not None
    try:
        tried, same = _try(model, files, recovered, identity)
    except EmbeddingError as error:
        return _without(
            identity,
            f"nothing says which model made the vectors of {identity.dim} dimensions, and"
            f" {model.model_id} cannot be tried: {error.message}",
        )
    if tried and not same:
        return _without(
            identity,
            f"nothing says which model made the vectors; {model.model_id} has their {identity.dim}"
            f" dimensions, but makes others of {tried} texts, so the new store names no model; if"
            " there was one, repair again with it: embedder=, --embedder",
        )
    if tried:
        why = f"it makes the same of {tried} texts whose vectors are whole"
    elif asked:
        why = "you named it, and no text with a vector is left to try it on"
    else:
        why = (
            f"it has their {identity.dim} dimensions, and no text with a vector is left to try it"
            " on; if it was another one, repair again with that: embedder=, --embedder"
        )
    found = replace(
        identity, model_id=model.model_id, fingerprint=model.fingerprint, model_known=True
    )
    note = f"the model of the vectors is taken to be {model.model_id}: {why}"
    return SourceModel(found, model, (Loss(reason=note),), named=asked)


def _known(identity: Identity, given: Embedder | None) -> SourceModel:
    if given is None:
        default = resolve("default") if identity.fingerprint else None
        usable = default is not None and default.fingerprint == identity.fingerprint
        return SourceModel(identity, default if usable else None, named=False)
    if (given.dim, given.fingerprint) == (identity.dim, identity.fingerprint):
        return SourceModel(identity, given)
    named = bool(identity.fingerprint)
    made = f"are of {identity.model_id}" if named else "were given by the store's users"
    return _without(
        identity,
        f"{given.model_id} is not used: the vectors {made}; spector reembed moves the new store to"
        " another model",
    )


def _without(identity: Identity, reason: str) -> SourceModel:
    return SourceModel(identity, None, (Loss(reason=reason),))


def _try(
    model: Embedder, files: DiskFiles, recovered: RecoveredCatalog, identity: Identity
) -> tuple[int, bool]:
    """How many texts the model was tried on, and whether it makes most of their vectors."""
    texts: list[tuple[str, str]] = []
    vectors: list[NDArray[np.float32]] = []
    for words, text, codes in _samples(files, recovered, identity):
        texts.append((words, text))
        vectors.append(codes.astype(np.float32))
        if len(texts) == _TRIED:
            break
    if not texts:
        return 0, False
    there = np.repeat(np.array(vectors), 2, axis=0)
    made = embedded(model, [each for pair in texts for each in pair])
    cosines = np.einsum("nd,nd->n", made, there) / (lengths(made) * lengths(there))
    same = cosines.reshape(-1, 2).max(axis=1) > _SAME
    return len(texts), bool(np.count_nonzero(same) * 4 >= 3 * len(texts))


def _samples(
    files: DiskFiles, recovered: RecoveredCatalog, identity: Identity
) -> Iterator[tuple[str, str, NDArray[np.int8]]]:
    """(words, text, (dim,) int8 codes) of memories that have both.

    The vector is of the words, without the speaker's name, or of the text.
    """
    from spector.store.repair import partitions_in, read_partition

    for name in partitions_in(files) if recovered.contents else ():
        try:
            found = read_partition(files, name, uuid=identity.uuid, dim=identity.dim, slots=None)
        except SpectorError:
            continue
        if found is None:
            continue
        images = found.images[found.sound & found.alive]
        codes = images[:, HEADER_BYTES : HEADER_BYTES + identity.dim].view(np.int8)
        for record_id, row in zip(images[:, 8:16].copy().view("<u8")[:, 0], codes, strict=True):
            content = recovered.contents.get(int(record_id), {})
            text = content.get("text")
            if isinstance(text, str) and text.strip() and row.any():
                yield stored_words(content), text, row


def reembed_store(store: Store, embedder: Embedder, progress: Progress | None = None) -> int:
    """Rewrite all partitions with vectors of ``embedder``; returns how many memories it embedded.

    One transaction switches every partition and the store's model together; killed before it, the
    store is as it was. The caller must close and open the store afterwards.
    """

    def transform(images: Bytes, rows: list[Row]) -> Bytes:
        vectors = np.zeros((len(rows), embedder.dim), np.float32)
        worded = [n for n, each in enumerate(rows) if not flags_of(each) & Flag.NO_TEXT]
        if worded:
            vectors[worded] = embedded(embedder, [spoken_words(rows[n]) for n in worded])
        return _with_vectors(images, vectors, embedder.dim, store.uuid)

    meta = {
        "dim": str(embedder.dim),
        "model_id": embedder.model_id,
        "fingerprint": embedder.fingerprint,
    }
    return rewrite_all(store, transform, meta, progress=progress)


def _with_vectors(images: Bytes, vectors: np.ndarray, dim: int, uuid: bytes) -> Bytes:
    given = vectors.any(axis=1)  # a memory without a text has none
    unit = np.zeros(vectors.shape, np.float32)
    unit[given] = normalize(vectors[given])
    codes, scales = quantize(unit)
    headers = images[:, :HEADER_BYTES].copy().view(RECORD_DTYPE)[:, 0]
    headers["scale"] = scales
    headers["centroid"] = 0  # the cluster was one of other vectors
    return reseal(image_rows(headers, codes, HEADER_BYTES + vector_bytes(dim)), uuid).images

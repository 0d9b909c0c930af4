"""Remember, recall, forget."""

import tempfile

import spector

with tempfile.TemporaryDirectory() as folder, spector.open(f"{folder}/mind") as memory:
    memory.remember("Ada prefers tea over coffee.", tags=["preference"])
    memory.remember("The build runs on Tuesdays.", tags=["build"])
    secret = memory.remember("The door code is 4711.", importance=0.9)

    hit = memory.recall("What does Ada like to drink?", k=1)[0]
    print(f"{hit.score:.2f}  {hit.text}")
    print(hit.explain())
    assert hit.text == "Ada prefers tea over coffee."

    memory.forget(secret.id)
    memory.compact()  # the text is now gone from every file
    assert not any("4711" in h.text for h in memory.recall("door code", k=10))
    assert memory.check().ok

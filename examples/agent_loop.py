"""A chat agent with a memory: recall before answering, remember afterwards, one mind per user.

``answer`` stands for a language model; replace it with a call to yours. What matters is the frame:
the scope ``user_id`` keeps users apart, and recalled memories travel in the prompt.
"""

from __future__ import annotations

import tempfile

import spector
from spector import HitList, Memory


def prompt_of(cue: str, hits: HitList) -> str:
    """What the model would be given."""
    lines = [f"- ({hit.event_time:%Y-%m-%d}) {hit.text}" for hit in hits]
    return "You remember:\n" + "\n".join(lines) + f"\n\nUser: {cue}\nAssistant:"


def answer(prompt: str) -> str:
    """A stand-in for a model: repeats the best memory it was given."""
    first = next((line for line in prompt.splitlines() if line.startswith("- ")), "- nothing yet")
    return f"As far as I remember: {first[2:]}"


def turn(memory: Memory, user_id: str, cue: str) -> str:
    """One exchange: recall, answer, remember both sides."""
    hits = memory.recall(cue, k=3, user_id=user_id)
    reply = answer(prompt_of(cue, hits))
    memory.remember({"role": "user", "content": cue}, user_id=user_id)
    memory.remember({"role": "assistant", "content": reply}, user_id=user_id, importance=0.2)
    if hits:
        memory.reinforce(hits[0].id)  # it was used, so it fades more slowly
    return reply


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, spector.open(f"{folder}/mind") as memory:
        turn(memory, "maya", "I am allergic to walnuts, please keep that in mind.")
        turn(memory, "maya", "My train to Gothenburg leaves at 6:26.")
        turn(memory, "oskar", "I write Rust at night and games by day.")

        reply = turn(memory, "maya", "Is there any food that I must avoid?")
        print(reply)
        assert "walnuts" in reply

        reply = turn(memory, "oskar", "Is there any food that I must avoid?")
        print(reply)
        assert "walnuts" not in reply, "what one user says never reaches another"


if __name__ == "__main__":
    main()

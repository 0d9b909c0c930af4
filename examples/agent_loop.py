"""A chat agent with a memory: recall before answering, remember afterwards, one mind per user.

``answer`` stands for a language model; replace it with a call to yours. What matters is the frame:
the scope ``user_id`` keeps users apart, and memories travel in the prompt as quotations, which
cannot pose as instructions, within a budget of tokens.
"""

from __future__ import annotations

import tempfile

import spector
from spector import Context, Memory


def prompt_of(cue: str, context: Context) -> str:
    """What the model would be given."""
    return f"{context}\nUser: {cue}\nAssistant:"


def answer(prompt: str) -> str:
    """A stand-in for a model: repeats the memories that it was given."""
    lines = [line for line in prompt.splitlines() if line.startswith("- ")]
    return f"As far as I remember: {' '.join(lines) or 'nothing yet'}"


def turn(memory: Memory, user_id: str, cue: str) -> str:
    """One exchange: recall, answer, remember both sides."""
    context = memory.context(cue, max_tokens=300, user_id=user_id)
    reply = answer(prompt_of(cue, context))
    memory.remember({"role": "user", "content": cue}, user_id=user_id)
    memory.remember({"role": "assistant", "content": reply}, user_id=user_id, importance=0.2)
    if context.hits:
        memory.reinforce(context.hits[0].id)  # it was used, so it fades more slowly
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

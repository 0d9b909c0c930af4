"""A chat agent with a memory: recall before answering, remember afterwards, one mind per user.

``answer`` stands for a language model; replace it with a call to yours. What matters is the frame:
the scope ``user_id`` keeps users apart, memories travel in the prompt as quotations, which cannot
pose as instructions, within a budget of tokens, and what is stored is what was said. A quotation in
an answer is a memory already: stored again, it would grow with every session and pass for news.
"""

from __future__ import annotations

import tempfile
from typing import NamedTuple

import spector
from spector import Context, Memory


class Reply(NamedTuple):
    """An answer: what the agent says itself, and the memories that it quotes beside it."""

    said: str
    quoted: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "\n".join((self.said, *self.quoted))


def prompt_of(cue: str, context: Context) -> str:
    """What the model would be given."""
    return f"{context}\nUser: {cue}\nAssistant:"


def answer(prompt: str) -> Reply:
    """A stand-in for a model: shows the memories that it was given."""
    lines = tuple(line for line in prompt.splitlines() if line.startswith("- "))
    return Reply("This is what I remember of it." if lines else "I know nothing of it yet.", lines)


def turn(memory: Memory, user_id: str, session_id: str, cue: str) -> Reply:
    """One exchange: recall, answer, remember what both sides said."""
    context = memory.context(cue, max_tokens=300, user_id=user_id)
    reply = answer(prompt_of(cue, context))
    memory.remember_many(
        [
            {"role": "user", "content": cue},
            {"role": "assistant", "content": reply.said, "importance": 0.2},
        ],
        user_id=user_id,
        session_id=session_id,
    )
    if context.hits:
        memory.reinforce(context.hits[0].id)  # it was used, so it fades more slowly
    return reply


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, spector.open(f"{folder}/mind") as memory:
        turn(memory, "maya", "monday", "I am allergic to walnuts, please keep that in mind.")
        turn(memory, "maya", "monday", "My train to Gothenburg leaves at 6:26.")
        turn(memory, "oskar", "tuesday", "I write Rust at night and games by day.")

        reply = turn(memory, "maya", "friday", "Is there any food that I must avoid?")
        print(reply)
        assert "walnuts" in str(reply)

        reply = turn(memory, "oskar", "friday", "Is there any food that I must avoid?")
        print(reply)
        assert "walnuts" not in str(reply), "what one user says never reaches another"

        stored = [record.text for record in memory.records(user_id="maya")]
        assert sum("walnuts" in text for text in stored) == 1, "a quotation is not stored again"


if __name__ == "__main__":
    main()

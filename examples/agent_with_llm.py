"""An agent with a chat model: what is said is observed, what matters is recalled in the prompt.

Runs with any server of OpenAI's kind: set OPENAI_API_KEY, and OPENAI_BASE_URL for another server.
Without a key it runs as ``agent_offline.py`` does, where rules take the place of the model.
"""

from __future__ import annotations

import os
import tempfile

import spector
from spector import LLM, Memory

TALK = (
    "Hi!",
    "I'm a nurse in Kars, and I'm allergic to walnuts.",
    "I usually take the bus at 6:26.",
    "I moved to Izmir last week.",
    "thanks, that helps",
)


def reply_of(model: LLM | None, memory: Memory, user: str, cue: str) -> str:
    """The answer of the model, with what the memory has for the cue."""
    context = memory.context(cue, user_id=user, max_tokens=300)
    if model is None:
        return str(context)
    system = f"You are a helpful agent. What you remember of the user:\n{context}"
    return model.complete(system, cue, max_tokens=200)


def talk(memory: Memory, model: LLM | None) -> None:
    with memory.session("morning", user_id="maya") as session:
        for message in TALK:
            result = session.observe({"role": "user", "content": message})
            print(f"> {message}\n{result}\n")
            if result.fallbacks:
                print(f"the model failed at {', '.join(result.fallbacks)}; rules took its place")
    question = "Where do I live now, and what must I not eat?"
    print(question, reply_of(model, memory, "maya", question), sep="\n")


def main() -> None:
    model = spector.OpenAILLM() if os.environ.get("OPENAI_API_KEY") else None
    with (
        tempfile.TemporaryDirectory() as folder,
        spector.open(f"{folder}/mind", llm=model) as memory,
    ):
        talk(memory, model)
        found = [hit.text for hit in memory.recall("where do I live?", user_id="maya", k=3)]
        assert any("Izmir" in each for each in found)


if __name__ == "__main__":
    main()

"""What a record and a hit print as: a line each, whatever they hold."""

from __future__ import annotations

from spector import Memory


def test_a_hit_and_a_record_print_as_one_short_line(memory: Memory) -> None:
    """Before: every field of the record, some 600 characters a hit."""
    text = "the river " * 40
    record = memory.remember(text, tags=["long"], metadata={"a": "b" * 200})
    (hit,) = hits = memory.recall("the river")
    for shown in (repr(record), repr(hit), str(hits)):
        assert str(record.id) in shown
        assert "'episodic'" in shown
        assert text[:60] in shown
        assert text[:61] not in shown
        assert len(shown) < 150
    assert f"{hit.score:.4f}" in repr(hit)


def test_a_short_text_prints_whole(memory: Memory) -> None:
    assert "text='x')" in repr(memory.remember("x"))


def test_a_text_is_cut_only_when_it_is_longer_than_what_is_shown(memory: Memory) -> None:
    """Or a text that is shown whole looks as if more of it followed."""
    whole, cut = "w" * 60, "c" * 61
    assert f"text={whole!r})" in repr(memory.remember(whole))
    assert f"text={'c' * 60 + '...'!r})" in repr(memory.remember(cut))


def test_a_memory_without_a_text_prints_how_large_its_attachment_is(memory: Memory) -> None:
    record = memory.remember(attachment={"lat": 1})
    for shown in (repr(record), repr(memory.get(record.id)), repr(next(memory.records()))):
        assert shown.endswith(f"(id={record.id}, tier='episodic', attachment_bytes=9)")

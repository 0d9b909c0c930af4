"""Breaks a copy of the product in one place after the other, and asks the tests each time.

mutmut and cosmic-ray were looked at: the first asks for a run of the whole suite to learn which
tests meet which function, both know none of the changes that matter most here (a sync left out, two
calls in the wrong order), and the second changes the tree that it is run in.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tests.mutation.mutator import Mutant, sample, source_of
from tests.mutation.triage import equivalents, triage

__all__ = ["REPO", "TESTS", "Hunt", "Tally"]

REPO: Final = Path(__file__).resolve().parents[2]
#: of processor time, for one mutant; a module's tests take a part of it
SECONDS: Final = 120
_LIFE: Final = "tests/model/test_model.py::test_a_short_life_is_as_the_model_says[native-strict]"
_REPLACED: Final = ("tests/store/test_scan_index_files.py::"
                    "test_compaction_replaces_the_index_and_an_empty_partition_takes_its_own_along")
_SMALL: Final = "tests/store/test_unnoticed.py"
_NIGHTS: Final = (
    "tests/sleep/test_nights.py", "tests/sleep/test_steps.py", "tests/sleep/test_learning.py",
    "tests/sleep/test_whole_nights.py", "tests/sleep/test_acceptance.py",
)
_CHECKS: Final = ("tests/store/test_invariants.py", "tests/store/test_damage.py",
                  "tests/store/test_check_sectors.py", "tests/store/test_check_beside.py",
                  "tests/store/test_hidden.py")
_COMMITS: Final = ("tests/store/test_replay.py", "tests/store/test_power.py",
                   "tests/store/test_moments.py", "tests/store/test_failing.py",
                   "tests/store/test_watched.py", "tests/store/test_lost_commits.py")
_COPIES: Final = ("tests/backup/test_backup.py", "tests/backup/test_lineage.py",
                  "tests/backup/test_copies.py", "tests/backup/test_untouched.py")
_PLACES: Final = ("tests/security/test_permissions.py", "tests/security/test_hostile_places.py",
                  "tests/store/test_ways_in.py", "tests/backup/test_untouched.py")
_REPAIRS: Final = ("tests/store/test_repair.py", "tests/store/test_log_salvage.py",
                   "tests/store/test_pages.py", "tests/store/test_salvage_walk.py",
                   "tests/store/test_bad_sectors.py")
_SEARCHES: Final = ("tests/security/test_erasure.py", "tests/security/test_search.py",
                    "tests/security/test_pieces.py", "tests/security/test_strangers.py",
                    "tests/security/test_erase_user.py")
_ERASURES: Final = ("tests/security/test_erasure_due.py", "tests/security/test_erasure.py",
                    "tests/sleep/test_compact.py")
_WORDS: Final = ("tests/store/test_words.py", "tests/store/test_word_files.py",
                 "tests/store/test_word_names.py", "tests/store/test_words_beside.py")
#: what becomes of a verb that is cut off, and of what a thread holds
_INTERRUPTS: Final = ("tests/interrupts/test_resources.py", "tests/interrupts/test_closing.py",
                      "tests/interrupts/test_sweep.py")
#: what is known, on its way through a file
_JOURNEYS: Final = ("tests/exchange/test_knowledge.py", "tests/exchange/test_damaged_lines.py")
#: what an export has and an import takes
_TRAVELS: Final = ("tests/api/test_exchange_models.py", "tests/cli/test_importers.py",
                   "tests/api/test_life.py", "tests/api/test_facts.py",
                   "tests/api/test_links_within.py", "tests/security/test_hostile_input.py")
#: whose memories a verb may name, and what is said of those that it may not
_SCOPES: Final = ("tests/api/test_scopes.py", "tests/api/test_links_within.py",
                  "tests/security/test_erase_user.py")
#: what users do with every verb, and what becomes of what they give it
_VERBS: Final = ("tests/api/test_verbs.py", "tests/api/test_bad_input.py")
#: the tables of knowledge and what is written to them
_KNOWLEDGE: Final = (
    "tests/store/payloads/test_tables.py", "tests/facets/test_facts.py",
    "tests/facets/test_graph.py",
)  # fmt: skip

#: what is kept under keys
_ATTACHED: Final = ("tests/api/test_attachments.py", "tests/api/test_wordless.py")
_KEYS: Final = ("tests/api/test_keys.py", "tests/store/payloads/test_tables.py")

#: what notices a change of a module, the quickest first; all that is named here is not slow
TESTS: Final[dict[str, tuple[str, ...]]] = {
    "spector/layout.py": ("tests/test_format.py", _LIFE),
    **dict.fromkeys(
        ("spector/records/hits.py", "spector/records/memory.py", "spector/records/reports.py"),
        ("tests/test_records.py", "tests/api/test_repr.py", _LIFE, "tests/cli/test_output.py",
         "tests/read/test_context.py", "tests/api/test_facts.py", "tests/api/test_life.py",
         "tests/api/test_verbs.py", "tests/api/test_scopes.py"),
    ),
    **dict.fromkeys(
        (f"spector/exchange/{name}.py" for name in
         ("checks", "drafts", "exchange", "exporting", "lines", "vectors")), _TRAVELS,
    ),
    "spector/store/integrity/agreement.py": ("tests/store/test_hidden.py", *_COPIES),
    "spector/store/backup/copy.py": _COPIES,
    "spector/store/backup/earlier.py": (*_COPIES, "tests/backup/test_unchanged.py"),
    "spector/store/backup/directories.py": _COPIES,
    "spector/store/catalog/catalog.py": (_LIFE, "tests/store/test_catalog.py",
                                 "tests/security/test_hostile_catalog.py",
                                 "tests/backup/test_formats.py", "tests/store/test_moments.py",
                                 "tests/api/test_facts.py", "tests/api/test_scopes.py", *_CHECKS),
    "spector/store/catalog/row_codec.py": (_LIFE, "tests/store/test_forged_rows.py",
                                 "tests/backup/test_formats.py", "tests/api/test_facts.py",
                                 "tests/store/test_far_segments.py", *_CHECKS),
    "spector/store/catalog/schema.py": (_LIFE, "tests/store/test_catalog.py",
                                 "tests/backup/test_formats.py", *_CHECKS),
    "spector/store/sqlite/database.py": (_LIFE, "tests/store/test_catalog.py",
                                 "tests/store/test_log.py", "tests/security/test_permissions.py",
                                 "tests/store/test_lock.py", "tests/store/test_moments.py",
                                 "tests/store/test_watched.py", "tests/store/test_sync.py"),
    "spector/store/sqlite/checkpoints.py": (_LIFE, "tests/store/test_log.py",
                                 "tests/store/test_moments.py", "tests/security/test_erasure.py",
                                 "tests/security/test_hostile_catalog.py"),
    "spector/store/integrity/check.py": (*_CHECKS, "tests/store/test_moments.py",
                               "tests/store/test_lost_commits.py"),
    "spector/store/integrity/check_catalog.py": _CHECKS,
    "spector/store/integrity/check_knowledge.py": ("tests/facets/test_check.py",),
    "spector/store/ops_log/ops_log.py": ("tests/store/test_ops_log.py",),
    "spector/store/ops_log/rolling.py": ("tests/store/test_ops_log.py",),
    "spector/store/payloads/described.py": (*_KEYS, "tests/facets/test_facts.py"),
    "spector/store/payloads/entries.py": _KEYS,
    **dict.fromkeys(
        ("spector/store/payloads/attachments.py", "spector/write/replacing/attaching.py",
         "spector/arguments/attachments.py"), _ATTACHED,
    ),
    "spector/write/drafts/texts.py": (
        "tests/importers/test_chat_messages.py", "tests/api/test_wordless.py",
    ),
    "spector/write/reembed.py": ("tests/write/test_reembed.py", "tests/api/test_wordless.py"),
    "spector/store/payloads/ends.py": ("tests/api/test_expiry.py",),
    "spector/store/catalog/queries/parents.py": ("tests/facets/test_graph.py",),
    "spector/write/replacing/moving.py": ("tests/api/test_expiry.py",),
    "spector/write/replacing/freeing.py": ("tests/api/test_expiry.py",),
    "spector/write/drafts/ends.py": ("tests/api/test_expiry.py",),
    "spector/store/payloads/moments.py": ("tests/exchange/test_threads.py",),
    "spector/store/payloads/rows.py": _KNOWLEDGE,
    "spector/store/payloads/rules.py": ("tests/facets/test_check.py",),
    "spector/store/payloads/sorts.py": ("tests/store/payloads/test_sorts.py",),
    "spector/store/payloads/tables.py": _KNOWLEDGE,
    "spector/store/payloads/words.py": ("tests/facets/test_erasure.py",),
    **dict.fromkeys(
        ("spector/write/replacing/keyed.py", "spector/write/replacing/ties.py",
         "spector/write/replacing/placing.py",
         "spector/write/drafts/work.py"), _KEYS,
    ),
    "spector/write/replacing/beside.py": ("tests/observe/test_switches.py",),
    "spector/write/knowledge/arrivals.py": _JOURNEYS,
    "spector/write/knowledge/commit.py": _KNOWLEDGE,
    "spector/write/knowledge/concepts.py": ("tests/facets/test_extraction.py",),
    "spector/write/knowledge/promotion.py": ("tests/facets/test_promotion.py",),
    "spector/write/knowledge/rows.py": _KNOWLEDGE,
    "spector/write/knowledge/series.py": ("tests/write/test_series.py",),
    "spector/write/knowledge/use.py": ("tests/facets/test_recall_knowledge.py",),
    "spector/store/integrity/check_records.py": (*_CHECKS, "tests/store/test_power.py",
                                       "tests/store/test_lost_commits.py"),
    "spector/store/rewriting/compaction.py": (_SMALL, _LIFE, "tests/sleep/test_compact.py",
                                 "tests/sleep/test_cluster.py", "tests/store/test_places.py",
                                 *_CHECKS),
    "spector/store/erasure/catalog.py": _ERASURES,
    "spector/store/files/os_errors.py": ("tests/store/test_failing.py",
                                         "tests/store/test_ways_in.py",
                                         "tests/interrupts/test_time_limit.py"),
    "spector/store/files/slabs.py": (_LIFE, "tests/store/test_unnoticed.py"),
    "spector/store/files/disk.py": (_SMALL, _LIFE, "tests/store/test_places.py",
                               "tests/store/test_shrunk.py", "tests/store/test_guarded_maps.py",
                               "tests/store/test_bad_sectors.py", "tests/store/test_sync.py",
                               "tests/store/test_failing.py", "tests/interrupts/test_time_limit.py",
                               *_PLACES),
    "spector/store/catalog/queries/filters.py": ("tests/store/test_filters.py", _LIFE,
        "tests/api/test_verbs.py",
                                 "tests/api/test_scopes.py", "tests/api/test_facts.py"),
    "spector/store/catalog/queries/filter_values.py": ("tests/store/test_filters.py", _LIFE,
        "tests/api/test_verbs.py",
                                 "tests/api/test_scopes.py", "tests/api/test_facts.py"),
    "spector/store/catalog/ways.py": (*_SCOPES, "tests/api/test_pages.py"),
    "spector/store/catalog/queries/counts.py": (*_SCOPES, "tests/api/test_verbs.py"),
    "spector/store/catalog/queries/places.py": ("tests/store/test_log.py", _LIFE,
                                "tests/tiers/test_rings.py", "tests/sleep/test_compact.py"),
    "spector/store/integrity/findings.py": _CHECKS,
    "spector/store/sqlite/fulltext.py": (_LIFE, "tests/store/test_full_text_damage.py",
                                  "tests/store/test_catalog_not_opened.py", *_ERASURES),
    "spector/store/files/guards.py": ("tests/security/test_hostile_catalog.py", *_PLACES),
    "spector/store/core/details.py": ("tests/verbs/test_details.py",),
    "spector/store/core/records.py": (_SMALL, _LIFE, "tests/store/test_walk.py",
                                 "tests/store/test_log.py", "tests/store/test_places.py", *_CHECKS),
    "spector/store/partitions/index_files.py": ("tests/store/test_scan_index_files.py",
                             "tests/store/test_check_sectors.py", "tests/store/test_strays.py"),
    "spector/store/partitions/scan_indexes.py": (_SMALL, "tests/store/test_scan_index_files.py"),
    "spector/store/core/retired.py": (_LIFE, "tests/sleep/test_compact.py",
        "tests/store/test_places.py",
                                 "tests/read/test_changes_beside.py", "tests/read/test_moving.py"),
    "spector/store/catalog/queries/supersession.py": ("tests/api/test_facts.py",
        "tests/store/test_invariants.py",
                               "tests/read/test_windows.py"),
    "spector/store/files/lock.py": ("tests/store/test_lock.py", "tests/store/test_own_lock.py",
                              "tests/store/test_lost_commits.py", "tests/store/test_ways_in.py"),
    "spector/store/catalog/wal.py": ("tests/store/test_log.py", _LIFE,
        "tests/store/test_lost_commits.py",
                             "tests/store/test_power.py"),
    "spector/store/rewriting/migrations.py": ("tests/backup/test_formats.py",
    "tests/store/test_ways_in.py"),
    "spector/store/sqlite/hardening.py": ("tests/security/test_hostile_catalog.py",
                                 "tests/store/test_forged_rows.py"),
    "spector/store/opening/reader.py": (_SMALL, _LIFE, *_COMMITS, "tests/store/test_places.py",
                                "tests/store/test_scan_index_files.py",
                                "tests/simulation/test_simulation.py"),
    "spector/store/integrity/reconciling.py": ("tests/store/test_power.py",
        "tests/store/test_replay.py",
                                   "tests/store/test_lost_commits.py"),
    "spector/store/opening/opening.py": (_SMALL, "tests/store/test_ways_in.py",
                                         "tests/store/test_lock.py",
                                         "tests/interrupts/test_resources.py"),
    "spector/store/opening/read_only.py": (_SMALL, *_COMMITS, "tests/store/test_ways_in.py"),
    "spector/process/cycles.py": ("tests/sharing/test_cycles.py",),
    "spector/store/opening/shared.py": ("tests/sharing/test_shared.py",
                                        "tests/sharing/test_processes.py",
                                        "tests/sharing/test_cut.py"),
    "spector/store/opening/stamp.py": (_SMALL, "tests/store/test_ways_in.py",
                                       "tests/backup/test_formats.py"),
    "spector/store/opening/attempt.py": (_SMALL, *_COMMITS, *_INTERRUPTS),
    "spector/store/opening/recovery.py": (_SMALL, _LIFE, "tests/store/test_ways_in.py",
                                 "tests/backup/test_formats.py", "tests/api/test_life.py",
                                 "tests/interrupts/test_resources.py", "tests/store/test_lock.py",
                                 "tests/store/test_log.py", *_COMMITS),
    "spector/store/integrity/redo.py": ("tests/store/test_redo_images.py",
        "tests/store/test_replay.py",
                              _LIFE, "tests/store/test_power.py", "tests/store/test_repair.py"),
    "spector/store/repair/repair.py": _REPAIRS,
    "spector/store/repair/identity.py": _REPAIRS,
    "spector/store/repair/pairing.py": _REPAIRS,
    "spector/store/repair/mending.py": _REPAIRS,
    "spector/store/repair/overlay.py": _REPAIRS,
    "spector/store/repair/salvage.py": _REPAIRS,
    "spector/store/integrity/strays.py": ("tests/store/test_strays.py",
        "tests/store/test_damage.py",
                                "tests/store/test_invariants.py"),
    "spector/store/files/watched.py": ("tests/store/test_watched.py", "tests/store/test_lock.py"),
    "spector/store/integrity/check_disk.py": ("tests/store/test_check_sectors.py",
                                    "tests/store/test_raw_files.py"),
    "spector/store/files/maps.py": ("tests/store/test_guarded_maps.py",
        "tests/store/test_shrunk.py",
                              "tests/store/test_bad_sectors.py"),
    "spector/store/sqlite/shared_descriptors.py": ("tests/store/test_raw_files.py",
                             "tests/interrupts/test_kept_traceback.py", "tests/store/test_lock.py"),
    "spector/store/files/syncing.py": ("tests/store/test_sync.py", "tests/store/test_failing.py"),
    "spector/store/erasure/search.py": (*_SEARCHES, "tests/security/test_erasure_due.py"),
    "spector/store/erasure/patterns.py": _SEARCHES,
    "spector/store/erasure/living.py": _SEARCHES,
    "spector/store/erasure/living_rows.py": ("tests/facets/test_erasure.py",),
    "spector/store/rewriting/rewriting.py": (_SMALL, "tests/write/test_reembed.py",
                                 "tests/backup/test_lineage.py", *_ERASURES),
    "spector/store/catalog/rows.py": (_LIFE, "tests/store/test_moments.py",
        "tests/api/test_facts.py",
                              *_CHECKS),
    "spector/store/sqlite/wal_frames.py": ("tests/store/test_frames.py",
        "tests/store/test_lost_commits.py",
                                "tests/store/test_log_salvage.py", "tests/store/test_log.py"),
    "spector/store/catalog/lineage.py": ("tests/backup/test_lineage.py",
        "tests/backup/test_formats.py",
                                 "tests/backup/test_unchanged.py", "tests/backup/test_copies.py"),
    "spector/store/integrity/lost_commits.py": ("tests/store/test_lost_commits.py",
        "tests/store/test_frames.py",
                              "tests/store/test_power.py", "tests/store/test_ways_in.py"),
    "spector/store/files/bad_sectors.py": ("tests/store/test_bad_sectors.py",
                                 "tests/store/test_check_sectors.py", "tests/store/test_pages.py",
                                 "tests/store/test_salvage_walk.py",
                                 "tests/store/test_check_beside.py"),
    "spector/store/words/checks.py": (_SMALL, *_WORDS),
    "spector/store/words/files.py": _WORDS,
    "spector/store/erasure/words.py": _SEARCHES,
    "spector/store/words/index.py": _WORDS,
    "spector/store/repair/history.py": _REPAIRS,
    "spector/store/repair/sqlite_pages.py": _REPAIRS,
    "spector/store/repair/remnants.py": (*_REPAIRS, "tests/store/test_check_sectors.py"),
    "spector/store/sqlite/tables.py": (*_REPAIRS, "tests/store/test_check_sectors.py"),
    "spector/store/partitions/images.py": ("tests/store/test_redo_images.py",
    "tests/store/test_invariants.py"),
    "spector/store/repair/inspect.py": ("tests/cli/test_commands.py",),
    "spector/store/repair/transplanting.py": _REPAIRS,
    "spector/store/repair/wal_merge.py": _REPAIRS,
    "spector/store/catalog/ownership.py": _REPAIRS,
    "spector/store/partitions/derived_files.py": ("tests/store/test_scan_index_files.py",
                                                  "tests/store/test_word_files.py"),
    "spector/store/partitions/index_state.py": ("tests/store/test_scan_index_files.py",),
    "spector/store/partitions/readable.py": ("tests/store/test_guarded_maps.py",),
    "spector/store/partitions/header.py": (_SMALL, "tests/test_format.py",
                                 "tests/store/test_lost_commits.py", *_CHECKS),
    "spector/store/partitions/segment.py": (_SMALL, _LIFE, "tests/test_format.py",
                                 "tests/store/test_shrunk.py", "tests/store/test_power.py",
                                 "tests/store/test_lost_commits.py",
                                 "tests/store/test_guarded_maps.py",
                                 "tests/store/test_unlocked_reads.py",
                                 "tests/write/test_open_files.py", *_CHECKS),
    "spector/store/backup/destination.py": (*_COPIES, "tests/store/test_ways_in.py",
        "tests/api/test_places.py",
                                "tests/api/test_export_place.py"),
    "spector/store/backup/staging.py": ("tests/store/test_repair.py", *_COPIES),
    "spector/store/sqlite/reads.py": ("tests/store/test_sql_errors.py", _LIFE,
        "tests/store/test_filters.py",
                             "tests/store/test_catalog_not_opened.py",
                             "tests/store/test_full_text_damage.py",
                             "tests/api/test_export_place.py", "tests/store/test_moments.py",
                             "tests/interrupts/test_resources.py",
                             "tests/interrupts/test_kept_traceback.py"),
    "spector/store/core/store.py": (_SMALL, _LIFE, *_COMMITS, "tests/store/test_forged_rows.py",
                               "tests/store/test_close_without_room.py", "tests/store/test_log.py",
                               "tests/store/test_unlocked_reads.py",
                               "tests/write/test_open_files.py", *_INTERRUPTS),
    "spector/store/core/snapshots.py": (_SMALL, _LIFE, *_COMMITS, "tests/store/test_moments.py",
                               "tests/store/test_unlocked_reads.py", "tests/read/test_moving.py"),
    "spector/store/core/status.py": (_LIFE, *_COMMITS, *_INTERRUPTS,
                               "tests/store/test_close_without_room.py"),
    "spector/store/core/partition_set.py": (_SMALL, _LIFE, *_COMMITS,
                               "tests/write/test_open_files.py", "tests/store/test_far_segments.py",
                               "tests/store/test_sync_ledger.py", "tests/sleep/test_compact.py"),
    "spector/store/catalog/journal.py": (_SMALL, _LIFE, *_COMMITS, "tests/store/test_replay.py"),
    "spector/store/core/transaction.py": (_SMALL, _LIFE, "tests/read/test_moving.py",
                                     "tests/write/test_open_files.py", _REPLACED, *_COMMITS,
                                     *_INTERRUPTS),
    "spector/store/integrity/walking.py": ("tests/store/test_walk.py", "tests/store/test_hidden.py",
                              "tests/store/test_lock.py", _LIFE),
    "spector/write/drafts/append.py": (_LIFE, "tests/write/test_bulk.py", "tests/api/test_facts.py",
                                *_VERBS),
    "spector/write/drafts/batch.py": (_LIFE, "tests/write/test_bulk.py", *_VERBS),
    "spector/write/drafts/draft.py": (*_VERBS, "tests/write/test_bulk.py",
                               "tests/security/test_hostile_input.py"),
    "spector/write/drafts/encode.py": (_LIFE, "tests/write/test_bulk.py",
                                "tests/api/test_metamorphic.py", *_VERBS),
    "spector/arguments/memories.py": (*_VERBS, "tests/api/test_ids.py", "tests/api/test_facts.py",
                                "tests/security/test_hostile_input.py"),
    "spector/write/supersede.py": (_LIFE, "tests/api/test_facts.py", *_SCOPES, *_VERBS),
    "spector/write/writer.py": (_LIFE, "tests/api/test_facts.py", "tests/write/test_bulk.py",
                                "tests/api/test_ids.py", *_VERBS),
    "spector/write/changing.py": (_LIFE, "tests/api/test_facts.py", "tests/api/test_metamorphic.py",
                                  *_SCOPES, *_VERBS),
    "spector/write/updating.py": (_LIFE, "tests/api/test_facts.py", "tests/write/test_speakers.py",
                                  "tests/write/test_aliases.py", *_SCOPES, *_VERBS),
    "spector/write/forgetting.py": (_LIFE, "tests/api/test_facts.py", "tests/store/test_hidden.py",
                                    "tests/security/test_erasure.py", *_SCOPES, *_VERBS),
    "spector/write/embedding.py": ("tests/write/test_bulk.py", "tests/api/test_facts.py", *_VERBS),
    "spector/write/context.py": ("tests/security/test_erasure_due.py", _LIFE),
    "spector/upkeep/keeper.py": (*_VERBS, "tests/sleep/test_compact.py", *_ERASURES),
    "spector/write/row_state.py": (_LIFE, "tests/api/test_facts.py", *_VERBS),
    "spector/tiers/finder.py": (_LIFE, "tests/api/test_ids.py", "tests/store/test_hidden.py",
                                "tests/api/test_links_within.py", *_SCOPES, *_VERBS),
    "spector/write/source_models.py": ("tests/store/test_source_model.py",
                                      "tests/store/test_repair.py"),
    "spector/write/speaker_updates.py": ("tests/write/test_speakers.py",),
    "spector/write/speakers.py": ("tests/write/test_speakers.py",),
    "spector/store/words/speakers.py": ("tests/write/test_speakers.py",
                                  "tests/store/test_source_model.py",
                                  "tests/write/test_reembed.py"),
    "spector/store/opening/non_stores.py": ("tests/api/test_places.py",
        "tests/store/test_ways_in.py",
                               "tests/store/test_lock.py"),
    "spector/store/sqlite/connections.py": ("tests/interrupts/test_kept_traceback.py",
    *_INTERRUPTS),
    "spector/store/files/descriptors.py": _INTERRUPTS,
    "spector/process/resources.py": (*_INTERRUPTS, "tests/interrupts/test_kept_traceback.py",
                                   "tests/interrupts/test_time_limit.py"),
    "spector/store/sqlite/journals.py": ("tests/store/test_stray_journal.py",
                                 "tests/store/test_catalog_not_opened.py",
                                 "tests/store/test_ways_in.py"),
    "spector/store/files/text_files.py": ("tests/store/test_textfile.py",
        "tests/api/test_export_place.py",
                                  "tests/api/test_life.py", "tests/security/test_permissions.py"),
    "spector/store/catalog/queries/scopes.py": _SCOPES,
    "spector/upkeep/counting.py": (*_SCOPES, "tests/api/test_verbs.py"),
    "spector/upkeep/ops_logs.py": ("tests/store/test_ops_log.py",),
    "spector/upkeep/ordering.py": ("tests/sleep/test_cluster.py", "tests/sleep/test_compact.py",
                                 "tests/sleep/test_damaged.py"),
    "spector/upkeep/compaction.py": ("tests/sleep/test_compact.py", "tests/sleep/test_damaged.py",
                                 "tests/security/test_erasure_due.py"),
    "spector/upkeep/erasure.py": (*_ERASURES, "tests/security/test_search.py"),
    "spector/sleep/sleeper.py": ("tests/sleep/test_daemon.py",
                                 "tests/security/test_erasure_due.py"),
    "spector/sleep/cycle.py": ("tests/sleep/test_damaged.py", "tests/sleep/test_compact.py",
                               "tests/sleep/test_cluster.py", "tests/api/test_life.py",
                               "tests/security/test_erasure_due.py"),
    "spector/sleep/night.py": _NIGHTS,
    "spector/sleep/protection.py": _NIGHTS,
    "spector/sleep/state.py": _NIGHTS,
    "spector/sleep/retelling.py": _NIGHTS,
    "spector/sleep/retiring.py": _NIGHTS,
    "spector/sleep/steps/compressing.py": _NIGHTS,
    "spector/sleep/steps/concepts.py": _NIGHTS,
    "spector/sleep/steps/runs.py": _NIGHTS,
    "spector/sleep/steps/gathering.py": _NIGHTS,
    "spector/sleep/steps/graph.py": _NIGHTS,
    "spector/sleep/steps/learning.py": _NIGHTS,
    "spector/sleep/steps/budget.py": ("tests/sleep/test_budget.py", *_NIGHTS),
    "spector/sleep/steps/forgetting.py": _NIGHTS,
    "spector/sleep/steps/redundancy.py": _NIGHTS,
    "spector/sleep/steps/summaries.py": _NIGHTS,
    "spector/sleep/steps/strengths.py": _NIGHTS,
    "spector/sleep/steps/tiers.py": _NIGHTS,
    "spector/sleep/undo.py": _NIGHTS,
    "spector/sleep/condensing.py": ("tests/config/test_knowing_asleep.py", *_NIGHTS),
    "spector/write/knowledge/journal.py": _NIGHTS,
    "spector/write/knowledge/units.py": _NIGHTS,
    "spector/sleep/maintenance.py": ("tests/sleep/test_damaged.py", "tests/sleep/test_compact.py"),
    "spector/store/core/strengths.py": _NIGHTS,
    "spector/sleep/worker.py": ("tests/facets/test_worker.py",),
    "spector/sleep/daemon.py": ("tests/sleep/test_daemon.py", "tests/sleep/test_damaged.py"),
    "spector/upkeep/sealing.py": ("tests/sleep/test_compact.py", "tests/sleep/test_cluster.py",
                                  "tests/sleep/test_daemon.py", "tests/api/test_life.py"),
}  # fmt: skip
#: what notices that a disk was not asked to keep something, wherever it was not asked
_ORDER: Final = ("tests/store/test_sync_order.py", "tests/store/test_sync_ledger.py",
                 "tests/crash/test_power_loss.py")


@dataclass
class Tally:
    """What became of the mutants."""

    killed: list[Mutant] = field(default_factory=list)
    survived: list[Mutant] = field(default_factory=list)
    #: hung, or took too long: no release would contain such a change
    stuck: list[Mutant] = field(default_factory=list)
    #: modules with tests that fail without any mutant, so that they cannot be asked
    unfit: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def percent(self) -> float:
        noticed = len(self.killed) + len(self.stuck)
        return round(100 * noticed / max(1, noticed + len(self.survived)), 1)


class Hunt:
    """Use as a context: a copy of the tree in ``folder``, and who runs its tests."""

    def __init__(self, folder: Path, tests: Mapping[str, tuple[str, ...]] = TESTS) -> None:
        self._tests = tests
        self._root = folder / "tree"
        self._out = folder / "out"
        for name in ("spector", "tests"):
            shutil.copytree(REPO / name, self._root / name, ignore=_left_out)
        shutil.copytree(REPO / "native", self._root / "native", ignore=_left_out)
        shutil.copy(REPO / "pyproject.toml", self._root)
        self._fit: dict[str, str] = {}

    def __enter__(self) -> Hunt:
        env = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST", "SPECTOR_"))}
        env |= {"PYTHONPATH": str(self._root), "PYTHONDONTWRITEBYTECODE": "1", "CI": "1"}
        subprocess.run(
            [sys.executable, "-m", "compileall", "-q", "spector", "tests"], cwd=self._root, env=env,
            check=True,
        )
        self._process = subprocess.Popen(
            [sys.executable, REPO / "tests/mutation/nursery.py"], cwd=self._root, env=env,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True, text=True,
        )
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.communicate()

    def ask(self, tests: Iterable[str]) -> dict[str, Any]:
        """Exit code and processor time of some tests of the copy as it is now."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        job = {"tests": list(tests), "seconds": SECONDS, "out": str(self._out)}
        print(json.dumps(job), file=self._process.stdin, flush=True)
        found: dict[str, Any] = json.loads(self._process.stdout.readline())
        return found

    def hunt(self, mutants: Iterable[Mutant]) -> Tally:
        """One mutant after the other; tests are asked without any first."""
        tally = Tally()
        for mutant in mutants:
            tests = self._tests[mutant.path] + (_ORDER if "sync" in mutant.kind else ())
            unfit = "".join(self._unfit(test, tally) for test in tests)
            if unfit:
                tally.unfit[mutant.path] = unfit
                continue
            answer = self.judge(mutant, tests)
            tally.seconds += answer["seconds"]
            code = answer["code"]
            where = tally.survived if code == 0 else tally.killed if code > 0 else tally.stuck
            where.append(mutant)
        return tally

    def _unfit(self, test: str, tally: Tally) -> str:
        """Why the product as it is fails a test; empty when it does not."""
        if test not in self._fit:
            found = self.ask([test])
            tally.seconds += found["seconds"]
            self._fit[test] = self._out.read_text()[-4000:] if found["code"] else ""
        return self._fit[test]

    def judge(self, mutant: Mutant, tests: Iterable[str]) -> dict[str, Any]:
        """What the tests say of one mutant; the copy is whole again afterwards."""
        path = self._root / mutant.path
        whole, compiled = path.read_text(), list(path.parent.glob(f"__pycache__/{path.stem}.*"))
        for file in compiled:  # may be taken for the mutant's: same second, same length
            file.rename(file.with_suffix(".kept"))
        path.write_text(source_of(REPO, mutant))
        try:
            return self.ask(tests)
        finally:
            path.write_text(whole)
            for file in compiled:
                file.with_suffix(".kept").unlink()

    def sampled(self, count: int, seed: int) -> Tally:
        """Draw ``count`` detectable mutants of all modules and kinds.

        Mutants that tests/proofs/T30.md lists as equivalent are not drawn, because no test can
        detect them.
        """
        left_out = equivalents(REPO, self._tests, triage())
        return self.hunt(sample(REPO, self._tests, count, seed, left_out))


def _left_out(folder: str, names: list[str]) -> list[str]:
    """What pytest compiles differently; other compiled files are as good as their sources."""
    return [name for name in names if name.endswith(".pyc") and "pytest" in name]

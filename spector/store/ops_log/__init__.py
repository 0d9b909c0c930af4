"""The operations log: one JSON object a line about what the engine did, rolled at 10 MB."""

from __future__ import annotations

from spector.store.ops_log.ops_log import OpsLog, ids_in, ops_log_at
from spector.store.ops_log.rolling import OPS_LOG_NAME, RollingLog, is_ops_log, scrub_ops_logs

__all__ = [
    "OPS_LOG_NAME",
    "OpsLog",
    "RollingLog",
    "ids_in",
    "is_ops_log",
    "ops_log_at",
    "scrub_ops_logs",
]

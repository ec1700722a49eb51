"""metrics.prom: a file for the textfile collector of the Prometheus node exporter."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from busbar_audit.findings import Outcome
from busbar_audit.queries import SEVERITIES
from busbar_audit.verdict import Verdict


def write_metrics(document: Mapping[str, Any], path: Path, verdict: str | None = None) -> None:
    """Write gauges of one result.json, atomically, from a registry of their own.

    What is not known is absent; no value stands for "unknown". The verdict is one gauge a word, 1 for the one
    that holds.
    """
    from prometheus_client import CollectorRegistry, Gauge, write_to_textfile

    registry = CollectorRegistry()
    location = document["store"]["location"]

    def gauge(name: str, about: str, *labels: str) -> Gauge:
        return Gauge(f"busbar_audit_{name}", about, ("store", *labels), registry=registry)

    started = datetime.fromisoformat(document["run"]["started"])
    gauge("last_run_timestamp_seconds", "When the audit began.").labels(location).set(started.timestamp())
    taken = datetime.fromisoformat(document["snapshot"]["taken_at"])
    gauge("snapshot_timestamp_seconds", "When the copy was taken.").labels(location).set(taken.timestamp())
    gauge("run_seconds", "How long the audit took.").labels(location).set(document["run"]["seconds"])
    held = gauge("verdict", "1 for the verdict that holds, 0 for the others.", "verdict")
    for word in Verdict:
        held.labels(location, str(word)).set(int(word == (verdict or document["verdict"])))
    found = gauge("findings", "Findings by severity.", "severity")
    for severity in SEVERITIES:
        found.labels(location, severity).set(sum(int(c["by_severity"].get(severity, 0)) for c in document["checks"]))
    ended = gauge("checks", "Selected checks by outcome.", "outcome")
    for outcome in Outcome:
        ended.labels(location, str(outcome)).set(sum(c["outcome"] == outcome for c in document["checks"]))
    rows = gauge("rows", "Rows of the store, examined and not.", "state")
    account = document["account"]
    rows.labels(location, "examined").set(sum(int(line["examined"]) for line in account))
    rows.labels(location, "not_examined").set(sum(int(n) for line in account for n in line["not_examined"].values()))
    records = gauge("chained_records", "Records in hash chains.", "population")
    chains = gauge("chains", "Hash chains by verdict.", "population", "verdict")
    for population, total in document["chains"]["totals"].items():
        records.labels(location, population).set(int(total["records"]))
        for word, count in total.items():
            if word not in ("chains", "records"):
                chains.labels(location, population, word).set(int(count))
    write_to_textfile(str(path), registry)

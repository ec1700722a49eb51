"""Faults in usage, metering, units and the money ledger."""

from __future__ import annotations

from busbar_audit.synth.fault import Fault, absent, by_statements
from busbar_audit.synth.planting import by_sql

_NEW, _ALL = (10, 11, 12), tuple(range(5, 13))
_METER = "INSERT INTO usage_metering (bucket, key_id, provider, model) VALUES ('{}', '{}', 'openai', 'gpt-x')"
# Bills one request, whatever it counts, so that nothing but the comparison of both sides can see it.
_METERED_DAY = (
    "UPDATE usage_metering SET requests = {0}, billable_requests = 1 WHERE key_id = 'vk_alice' AND bucket = "
    "(SELECT max(bucket) FROM usage_metering WHERE bucket < '1700200000')"
)
_TWO_TABLES = absent("requests and tokens stand in tables of their own there")
_BUDGET = "INSERT INTO usage_windows VALUES (1699920000, 'budget:eng', '', {}, {}, {}, 0, 0, 0)"

FAULTS: tuple[Fault, ...] = (
    by_sql(
        "metering_other", "metering of a day is thrice the window", _ALL, "U07", _METERED_DAY.format("requests * 3")
    ),
    by_sql("metering_short", "metering of a day was lost in part", _ALL, "U07", _METERED_DAY.format("requests / 2")),
    by_sql(
        "windows_unbilled",
        "requests from before billing",
        (5,),
        "U04",
        "UPDATE usage_windows SET billable_requests = 0 WHERE bucket_id = 'vk_alice' AND model = ''",
    ),
    by_sql(
        "overbilled_metering",
        "metering bills more than requested",
        _ALL,
        "U03",
        "UPDATE usage_metering SET billable_requests = requests + 1 WHERE key_id = 'vk_bob' AND model = 'gpt-x'",
    ),
    by_sql(
        "bucket_text",
        "a bucket that is no number",
        _ALL,
        "U06",
        _METER.format("2023-11-14", "vk_alice"),
        on_postgres=absent("the bucket is a bigint there"),
    ),
    by_sql(
        "model_requests",
        "requests on the row of a model",
        _ALL,
        "U02",
        "INSERT INTO usage_windows VALUES (1699920000, 'budget:eng', 'gpt-x', 3, 3, 0, 0, 0, 0)",
        on_postgres=_TWO_TABLES,
    ),
    by_sql(
        "metering_unit_orphan",
        "a unit row without its metering row",
        _NEW,
        "U08",
        "INSERT INTO usage_metering_units VALUES ('1699920000', 'vk_alice', 'nobody', 'gpt-x', 0, 'audio_seconds', 1)",
    ),
    by_sql(
        "metering_unit_reserved",
        "a reserved unit in the units of metering",
        _NEW,
        "U09",
        "UPDATE usage_metering_units SET unit = 'output'",
    ),
    by_sql("unit_negative", "a unit below zero", _NEW, "U05", "UPDATE usage_window_units SET count = -1"),
    by_sql(
        "rate_card",
        "a row priced by another card",
        _NEW,
        "U10",
        "UPDATE usage_metering SET priced_from_ms = 1700000000000 WHERE key_id = 'vk_bob'",
    ),
    by_sql(
        "never_refunded", "nothing is refunded", _NEW, "U11", "UPDATE usage_metering SET billable_requests = requests"
    ),
    by_sql(
        "slice_orphan",
        "slices of a slot without use",
        (11, 12),
        "U12",
        "DELETE FROM money_used WHERE slot = (SELECT min(slot) FROM money_used)",
        on_postgres=by_statements(
            "DELETE FROM money_slots WHERE slot = (SELECT min(slot) FROM money_slots)", short="U12", generations=(11,)
        ),
    ),
    by_sql(
        "tokens_without_requests",
        "tokens in a window without requests",
        _ALL,
        "U01",
        "INSERT INTO usage_windows VALUES (1699920000, 'budget:eng', 'gpt-x', 0, 0, 10, 5, 0, 0)",
    ),
    by_sql(
        "sentinel_tokens",
        "tokens on the row for requests",
        _ALL,
        "U02",
        _BUDGET.format(5, 5, 1),
        on_postgres=_TWO_TABLES,
    ),
    by_sql("overbilled", "more billed than requested", _ALL, "U03", _BUDGET.format(1, 2, 0)),
    by_sql("negative_counter", "a counter below zero", _ALL, "U05", _BUDGET.format(1, -1, 0)),
    by_sql(
        "bucket_not_a_day", "a bucket that is not a day's start", _ALL, "U06", _METER.format("1699920001", "vk_alice")
    ),
    by_sql(
        "unit_orphan",
        "a unit row without its window",
        _NEW,
        "U08",
        "INSERT INTO usage_window_units VALUES (1, 'budget:eng', 'gpt-x', 'audio_seconds', 1)",
    ),
    by_sql(
        "unit_reserved", "a reserved unit in a unit table", _NEW, "U09", "UPDATE usage_window_units SET unit = 'input'"
    ),
    by_sql(
        "journal_gap",
        "a journal stream with a gap",
        (11, 12),
        "U12",
        "DELETE FROM journal WHERE stream = 'node-1' AND seq = 3",
    ),
    by_sql("money_over", "more money used than the cap", (11, 12), "U12", "UPDATE money_used SET used = 2000000000"),
)

"""Golden vectors of every digest recipe, and the neutral bodies read back."""

import json
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from busbar_audit.chains import recipes

GOLDEN = Path(__file__).parent / "golden"


def vectors(name):
    return [pytest.param(v, id=v["name"]) for v in json.loads((GOLDEN / f"{name}.json").read_text("utf-8"))]


def agrees(vector, digest):
    return digest == vector["digest"] if "digest" in vector else digest.startswith(vector["digest_prefix"])


@pytest.mark.parametrize("vector", vectors("admin_audit"))
def test_admin_audit(vector):
    assert agrees(vector, recipes.admin_audit(**vector["fields"]))


@pytest.mark.parametrize("vector", vectors("call"))
def test_call(vector):
    fields = vector["fields"]
    assert agrees(vector, recipes.call(**fields))
    if "preimage_hex" in vector:
        assert recipes.call_preimage(**fields).hex() == vector["preimage_hex"]
        assert len(recipes.call_preimage(**fields)) == 139


@pytest.mark.parametrize("vector", vectors("call"))
def test_neutral_call_has_the_digest_of_the_typed_record(vector):
    fields = dict(vector["fields"])
    place = {name: fields.pop(name) for name in ("prev_hash", "principal", "seq")}
    content = recipes.neutral_call_content(**fields)
    assert agrees(vector, recipes.neutral_call_digest(**place, content=content))
    assert recipes.parse_neutral_call(content)._asdict() == fields


def test_neutral_call_content_of_the_first_vector():
    content = recipes.neutral_call_content(1700000000, "srv", "srv_tool", "dispatched", "", "abc123", 7)
    assert list(content[:15]) == [0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0, 101, 83, 241]


@pytest.mark.parametrize("vector", vectors("task_event"))
def test_task_event(vector):
    recipe = {1: recipes.event_v1, 2: recipes.event_v2}[vector["version"]]
    assert agrees(vector, recipe(**vector["fields"]))


def test_event_v2_frames_are_little_endian_and_integers_bare():
    preimage = recipes.event_v2_preimage("", "t", 1, 2, "k", "c", "p", "", "s")
    assert preimage.hex() == (
        b"busbar.a2a.taskchain.v2\0".hex()
        + "0000000000000000"
        + "010000000000000074"
        + "0100000000000000"
        + "0200000000000000"
        + "01000000000000006b"
        + "010000000000000063"
        + "010000000000000070"
        + "0000000000000000"
        + "010000000000000073"
    )


@pytest.mark.parametrize("vector", vectors("neutral_audit"))
def test_neutral_audit(vector):
    fields = dict(vector["fields"])
    prev_hash, seq = fields.pop("prev_hash"), fields.pop("seq")
    content = recipes.neutral_audit_content(vector["variant"], **fields)
    assert agrees(vector, recipes.neutral_audit_digest(prev_hash, seq, content))
    variant, parsed = recipes.parse_neutral_audit(content)
    assert (variant, parsed._asdict()) == (vector["variant"], fields)


def test_preimages_in_hex():
    assert recipes.admin_audit_preimage("p", 1, -2, "a", "r", "o", "n") == b"p|1|-2|a|r|o|n"
    assert recipes.event_v1_preimage("p", "t", 1, 2, "k", "c", "n", "a", "s") == b"p|t|1|2|k|c|n|a|s"
    assert recipes.neutral_audit_content("kernel", 5, "a", "", "o", "n").hex() == (
        "00" + "0000000000000008" + "0000000000000005" + "000000000000000161" + "0" * 16 + "00000000000000016f"
        "00000000000000016e"
    )
    core = recipes.neutral_audit_content("core", 5, "a", "", "o", "n")
    assert core[:8].hex() == "000000000000001a"
    assert core[8:34] == b"busbar.audit.adminchain.v2"
    assert recipes.neutral_audit_preimage("ab", 7, b"|x") == b"ab|7|x"


def test_a_negative_integer_is_the_u64_of_the_same_bits():
    assert recipes.call("", "p", 1, -1, "", "", "", "", "", 0) == recipes.call("", "p", 1, 2**64 - 1, *[""] * 5, 0)
    assert recipes.event_v2("", "t", -5, 0, *[""] * 5) == recipes.event_v2("", "t", 2**64 - 5, 0, *[""] * 5)


CALL = recipes.neutral_call_content(1, "s", "t", "o", "r", "d", 7)
CORE = recipes.neutral_audit_content("core", 1, "a", "r", "o", "p")
KERNEL = recipes.neutral_audit_content("kernel", 1, "a", "r", "o", "p")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        CALL + b"\0",
        CALL[:-1],
        CALL[:7],
        CALL[:-16],
        CALL.replace(b"\x01s", b"\x01\xff"),
        recipes.frame(b"\1") + CALL[16:],
        CALL[:-16] + recipes.frame(b"\1"),
        b"\xff" * 8 + CALL[8:],
    ],
)
def test_not_a_neutral_call(content):
    assert recipes.parse_neutral_call(content) is None


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\0",
        b"x|1|a|r|o|p",
        b"|1|a|r|o",
        b"|-1|a|r|o|p",
        b"||a|r|o|p",
        b"|18446744073709551616|a|r|o|p",
        "|١|a|r|o|p".encode(),
        b"|1|a|r|o|\xff",
        CORE + b"\0",
        CORE[:-1],
        CORE.replace(b"chain.v2", b"chain.v3"),
        KERNEL + b"\0",
        KERNEL[:-1],
        KERNEL.replace(b"\x01a", b"\x01\xff"),
        b"\0" + recipes.frame(b"1") + KERNEL[17:],
        CALL,
    ],
)
def test_not_a_neutral_audit(content):
    assert recipes.parse_neutral_audit(content) is None


def test_legacy_content_gives_spare_bars_to_the_resource():
    _, fields = recipes.parse_neutral_audit(b"|18446744073709551615|a|r|x|y|applied|p")
    assert fields == (2**64 - 1, "a", "r|x|y", "applied", "p")


def test_legacy_time_may_have_leading_zeros():
    _, fields = recipes.parse_neutral_audit(b"|" + b"0" * 5000 + b"7|a|r|o|p")
    assert fields.ts == 7


u64 = st.integers(0, 2**64 - 1)


@given(u64, st.text(), st.text(), st.text(), st.text(), st.text(), u64)
def test_call_content_reads_back(ts, server, tool, outcome, reason, digest, pin):
    fields = (ts, server, tool, outcome, reason, digest, pin)
    assert recipes.parse_neutral_call(recipes.neutral_call_content(*fields)) == fields


@given(st.sampled_from(["legacy", "core", "kernel"]), u64, *[st.text()] * 4)
def test_audit_content_reads_back(variant, ts, action, resource, outcome, principal):
    content = recipes.neutral_audit_content(variant, ts, action, resource, outcome, principal)
    found, fields = recipes.parse_neutral_audit(content)
    assert found == variant
    if variant != "legacy" or "|" not in action + outcome + principal:
        assert fields == (ts, action, resource, outcome, principal)
    assert recipes.neutral_audit_digest("", 1, content) == sha256(b"|1" + content).hexdigest()

"""A report over an A2A store full of secrets: every section of notebook 06 is there, and no secret is in any file or line."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pyarrow.parquet as pq
import pytest
from faults_a2a import CLEAN, P, T
from support_postgres import Server, running

from busbar_audit.cli import main
from busbar_audit.payloads.urls import describe
from busbar_audit.reporting import notebooks as books
from busbar_audit.synth import a2a_payloads as payload
from busbar_audit.synth.a2a import write_a2a

_SECRETS: list[str] = []


def secret(where: str) -> str:
    """A word that stands nowhere else; where it was put is in it, so that a leak says where it comes from."""
    _SECRETS.append(f"zqx{len(_SECRETS):02}{where}")
    return _SECRETS[-1]


def _urls() -> Iterator[str]:
    yield f"https://{secret('user')}:{secret('password')}@one.example.com/{secret('path')}"
    yield f"https://two.example.com/x?api_key={secret('query')}&q={secret('other')}#{secret('fragment')}"
    yield f"http://a:b@{secret('first')}@three.example.com/"
    yield f"https://four.example.com:{secret('port')}/x"
    yield f"{secret('scheme')}://five.example.com/x"
    yield f"call me, {secret('words')}"
    yield f"https://six.example.com\\{secret('backslash')}@inside/x"
    yield f"https://seven.example.com;{secret('semicolon')}=1/x?token={secret('token')}"
    yield f"https://[{secret('bracket')}]/x"
    yield f"http://169.254.169.254/{secret('metadata')}"
    yield f"https://ünï.example.com/{secret('wide')}é"


def _plant(con: psycopg.Connection[Any], s: str) -> None:
    for number, url in enumerate(_urls(), start=1):
        ((task, config),) = con.execute(
            f"SELECT task_id, config_id FROM {s}.{P} WHERE created_sequence = {number}".encode()
        ).fetchall()
        body = payload.config(task, config, url, token=secret("token"), scheme=secret("header"),
                              credentials=secret("credentials"), tenant=secret("tenant"))  # fmt: skip
        con.execute(
            f"UPDATE {s}.{P} SET url = %s, config_proto = %s WHERE created_sequence = {number}".encode(), (url, body)
        )
    for number, broken in (
        (12, b"\x0a\xff" + secret("broken").encode()),
        (13, payload.old_config("x", "y", f"https://{secret('old')}@h/")),
    ):
        url = f"https://{secret('column')}@column.example.com/x"
        con.execute(
            f"UPDATE {s}.{P} SET url = %s, config_proto = %s WHERE created_sequence = {number}".encode(), (url, broken)
        )
    ((task, context),) = con.execute(
        f"SELECT id, context_id FROM {s}.{T} WHERE created_sequence = 1".encode()
    ).fetchall()
    said = [payload.said(secret("message"), secret("prompt"), task_id=secret("stranger"))] * 2
    body = payload.task(task, context, 2, (1_700_000_000, 1), status_message=said[0], history=said,
                        artifacts=[payload.artifact(secret("artifact"), secret("answer"))] * 2,
                        metadata=[(secret("key"), secret("value"))])  # fmt: skip
    con.execute(f"UPDATE {s}.{T} SET task_proto = %s WHERE created_sequence = 1".encode(), (body,))
    con.execute(
        f"UPDATE {s}.{T} SET task_proto = %s WHERE created_sequence = 2".encode(),
        (b"\x0a\x7f" + secret("cut").encode(),),
    )
    con.execute(f"COMMENT ON FUNCTION {s}.{CLEAN}() IS '{secret('comment')}'".encode())
    body = f"BEGIN RAISE LOG '{secret('body')}'; RETURN OLD; END"
    con.execute(f"CREATE FUNCTION {s}.keep() RETURNS trigger LANGUAGE plpgsql AS $$ {body} $$".encode())
    con.execute(f"CREATE TRIGGER keep BEFORE DELETE ON {s}.{T} FOR EACH ROW EXECUTE FUNCTION {s}.keep()".encode())
    # Orphans with their secrets, and a legal shared one.
    con.execute(b"SET session_replication_role = replica")
    con.execute(f"DELETE FROM {s}.{T} WHERE id = (SELECT task_id FROM {s}.{P} WHERE created_sequence = 11)".encode())


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running() as up:
        up.new("secrets")
        with up.connect("postgres") as con:
            con.execute(f"CREATE ROLE auditor SUPERUSER LOGIN PASSWORD '{secret('login')}'".encode())
        write_a2a(up.uri("secrets"), "leaky", generation=14)
        with up.connect("secrets") as con:
            _plant(con, "leaky")
        yield up


def _texts(folder: Path) -> Iterator[tuple[str, str]]:
    for path in sorted(folder.rglob("*")):
        if path.suffix == ".parquet":
            yield path.name, json.dumps(pq.read_table(path).to_pylist(), default=str)
        elif path.is_file():
            yield path.name, path.read_bytes().decode("utf-8", "backslashreplace")


def _told(capfd: Any, *words: str) -> tuple[int, str, str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["busbar-audit", *words])
        with pytest.raises(SystemExit) as ended:
            main()
    said = capfd.readouterr()
    return int(str(ended.value.code)), said.out, said.err


def test_no_secret_is_in_any_output(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    password = next(word for word in _SECRETS if word.endswith("login"))
    monkeypatch.setenv("SECRET_DSN", server.uri("secrets", "auditor", password))
    out = tmp_path / "report"
    target = ("env:SECRET_DSN", "--schema", "leaky")
    code, *said = _told(
        capfd, "report", *target, "--out", str(out), "--notebook", "06", "--as-of", "2023-11-21T00:00:00Z"
    )
    assert code == 1
    for words in (("inspect", *target), ("audit", *target, "--json")):
        said += _told(capfd, *words)[1:]
    files = dict(_texts(out))
    assert {"result.json", "run.json", "findings.parquet", "junit.xml", "metrics.prom", "summary.md", "index.html",
            "06_push_configs.html", "06_push_configs.ipynb"} <= files.keys()  # fmt: skip
    assert len(_SECRETS) > 70
    files |= {f"stream {number}": text for number, text in enumerate(said)}
    leaks = {(name, word) for name, text in files.items() for word in _SECRETS if word in text}
    assert not leaks
    # The page says all that is to be said of them, and it is about them.
    page = files["06_push_configs.html"]
    for told in ("It would refuse the store: ", "Push configurations by provenance", "without their task, by likely cause",
                 "nothing of it is left to see", "Callbacks by scheme", "two.example.com", "Tasks by state",
                 "Interrupted tasks", "not looked at by the SDK"):  # fmt: skip
        assert told in page, told
    found = {check["code"] for check in json.loads(files["result.json"])["checks"] if check["outcome"] == "finding"}
    assert {"A2A-D01", "A2A-D06", "A2A-D20", "A2A-D21", "A2A-S01", "A2A-S02", "A2A-S03", "A2A-S04", "A2A-S05"} <= found
    assert "one.example.com" in files["result.json"]


def test_every_form_of_a_url_is_told_without_what_is_secret() -> None:
    before = len(_SECRETS)
    for url in _urls():
        told = str(describe(url))
        assert not [word for word in _SECRETS[before:] if word in told], url


def test_the_notebook_is_run_by_itself_for_these_stores_only() -> None:
    ours = books.find(None)
    for family, due in (("a2a", True), ("a2a-js", True), ("a2a-python", True), ("busbar", False), ("maka", False)):
        names = [path.stem for path in books.fitting(ours, family)]
        assert ("06_push_configs" in names) is due, family
        assert "00_store_overview" in names

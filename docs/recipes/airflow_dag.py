"""Airflow: the overview and the chains of a gateway each night. Needs apache-airflow-providers-papermill.

`busbar-audit` is installed beside the worker; its notebooks were copied once:
python -c 'from busbar_audit.notebooks import copy_notebooks as c; from pathlib import Path; c(Path("/opt/audit/notebooks"))'
"""

from datetime import UTC, datetime, timedelta

from airflow import DAG
from airflow.providers.papermill.operators.papermill import PapermillOperator

NOTEBOOKS = "/opt/audit/notebooks"
OUT = "/var/lib/audit/airflow"

with DAG(
    dag_id="busbar_audit",
    schedule="0 3 * * *",
    start_date=datetime(2026, 1, 1, tzinfo=UTC),
    catchup=False,
    max_active_runs=1,
    default_args={"execution_timeout": timedelta(hours=2), "retries": 0},
) as dag:
    for notebook in ("00_store_overview", "01_chain_integrity"):
        PapermillOperator(
            task_id=f"gateway_{notebook}",
            input_nb=f"{NOTEBOOKS}/{notebook}.ipynb",
            output_nb=f"{OUT}/{notebook}-{{{{ ds }}}}.ipynb",
            # A store on PostgreSQL: env:NAME or service=NAME. Parameters are kept in the notebook: never a password.
            parameters={
                "target": "/var/lib/busbar/busbar-governance.db",
                "out": f"{OUT}/{notebook}",
                # One task a witness at a time: a folder for each notebook.
                "witness": f"/mnt/elsewhere/witnesses/{notebook}",
                # Anything but clean fails the task; without it a task with findings is green.
                "raise_on": "inconclusive",
            },
        )

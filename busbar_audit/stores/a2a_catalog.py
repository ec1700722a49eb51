"""What a server's catalog says of an A2A store apart from its columns, read in the audit's own transaction.

Everything here needs no right on the tables. The helpers are never called: they take locks. Each reader gives rows of one
relation of schema ``source``; its columns stand in `RELATIONS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from busbar_audit.stores import a2a_bodies as bodies
from busbar_audit.stores.a2a_shapes import CONFIG_SEQUENCE, CONFIGS, TASK_SEQUENCE, TASKS

Rows = Callable[..., list[tuple[Any, ...]]]
Columns = tuple[tuple[str, str], ...]

_T, _N, _B = "VARCHAR", "BIGINT", "BOOLEAN"


def _columns(**kinds: str) -> Columns:
    return tuple(kinds.items())


RELATIONS: Mapping[str, Columns] = {
    "relations": _columns(
        name=_T, kind=_T, persistence=_T, partition=_B, inherits=_B, row_security=_B, forced=_B, owner=_T,
        rules=_N,
    ),
    "functions": _columns(
        name=_T, schema_name=_T, here=_B, intended=_B, arguments=_T, result=_T, language=_T, security_definer=_B,
        volatility=_T, settings=_T, owner=_T, owner_superuser=_B, comment=_T, public_execute=_B, owner_usage=_B,
        owner_select_tasks=_B, owner_select_configs=_B, owner_delete_configs=_B, owner_filtered=_B,
        marker=_N, digest=_T, called=_T, generations="BIGINT[]", lock_key=_T, foreign_schema=_T,
    ),
    "triggers": _columns(
        table_name=_T, name=_T, function_name=_T, function_here=_B, type=_N, enabled=_T, conditional=_B, arguments=_N
    ),
    "acl": _columns(
        object=_T, role=_T, privilege=_T, is_owner=_B, superuser=_B, can_login=_B, selects_tasks=_B
    ),
    "settings": _columns(level=_T, role=_T, name=_T, value=_T, concerned=_B),
    "defaults": _columns(table_name=_T, column_name=_T, sequence_name=_T, sequence_here=_B),
    "column_defaults": _columns(table_name=_T, column_name=_T, kind=_T, required=_B, said=_T),
    "key_constraints": _columns(name=_T, on_delete=_T, validated=_B),
    "publications": _columns(name=_T, tasks=_B, configs=_B),
    "indexes": _columns(table_name=_T, name=_T, definition=_T, valid=_B),
    "role_rights": _columns(role=_T, lacking=_T),
    "siblings": _columns(schema_name=_T, here=_B, product=_T),
}  # fmt: skip

_OIDS = """
WITH own AS (
    SELECT c.oid, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = %(schema)s
)
SELECT (SELECT oid FROM own WHERE relname = %(tasks)s), (SELECT oid FROM own WHERE relname = %(configs)s)
"""
_RELATIONS = """
SELECT c.relname, c.relkind::text, c.relpersistence::text, c.relispartition,
    EXISTS (SELECT FROM pg_inherits i WHERE c.oid IN (i.inhrelid, i.inhparent)),
    c.relrowsecurity, c.relforcerowsecurity, pg_get_userbyid(c.relowner),
    (SELECT count(*) FROM pg_rewrite r WHERE r.ev_class = c.oid AND r.ev_type <> '1' AND r.ev_enabled <> 'D')
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %(schema)s AND c.relname IN (%(tasks)s, %(configs)s) AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
ORDER BY 1
"""
_FUNCTIONS = """
WITH store AS (SELECT %(tasks_oid)s::oid AS tasks, %(configs_oid)s::oid AS configs)
SELECT p.proname, n.nspname, n.nspname = %(schema)s,
    p.proname <> ALL (%(helpers)s) OR (p.prokind = 'f'
        AND pg_get_function_identity_arguments(p.oid) ~ CASE p.proname WHEN %(push_lock)s THEN '^([^ ]+ )?text$' ELSE '^$' END),
    pg_get_function_identity_arguments(p.oid), coalesce(pg_get_function_result(p.oid), ''), l.lanname, p.prosecdef,
    p.provolatile::text, array_to_string(p.proconfig, '; '), pg_get_userbyid(p.proowner), o.rolsuper, d.description,
    EXISTS (SELECT FROM aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
        WHERE a.grantee = 0 AND a.privilege_type = 'EXECUTE'),
    has_schema_privilege(p.proowner, (SELECT oid FROM pg_namespace WHERE nspname = %(schema)s), 'USAGE'),
    has_table_privilege(p.proowner, s.tasks, 'SELECT'), has_table_privilege(p.proowner, s.configs, 'SELECT'),
    has_table_privilege(p.proowner, s.configs, 'DELETE'),
    coalesce(c.relrowsecurity AND NOT o.rolsuper AND NOT o.rolbypassrls
        AND NOT (c.relowner = p.proowner AND NOT c.relforcerowsecurity), false),
    p.prosrc
FROM store s CROSS JOIN pg_proc p
JOIN pg_namespace n ON n.oid = p.pronamespace
JOIN pg_language l ON l.oid = p.prolang
JOIN pg_roles o ON o.oid = p.proowner
LEFT JOIN pg_class c ON c.oid = s.configs
LEFT JOIN pg_description d ON d.objoid = p.oid AND d.classoid = 'pg_proc'::regclass AND d.objsubid = 0
WHERE (n.nspname = %(schema)s AND p.proname = ANY (%(helpers)s))
    OR p.oid IN (SELECT t.tgfoid FROM pg_trigger t
        WHERE t.tgrelid = s.tasks AND t.tgname = ANY (%(triggers)s) AND NOT t.tgisinternal)
ORDER BY 1, 2, 5
"""
_TRIGGERS = """
SELECT c.relname, t.tgname, p.proname, n.nspname = %(schema)s, t.tgtype::int, t.tgenabled::text,
    t.tgqual IS NOT NULL, t.tgnargs::int
FROM pg_trigger t
JOIN pg_class c ON c.oid = t.tgrelid
JOIN pg_proc p ON p.oid = t.tgfoid
JOIN pg_namespace n ON n.oid = p.pronamespace
WHERE NOT t.tgisinternal AND t.tgrelid IN (%(tasks_oid)s::oid, %(configs_oid)s::oid)
ORDER BY 1, 2
"""
_ACL = """
WITH store AS (SELECT %(tasks_oid)s::oid AS tasks), objects AS (
    SELECT c.relname::text AS name, c.relowner AS owner, coalesce(c.relacl, acldefault('r', c.relowner)) AS acl
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = %(schema)s AND c.relname IN (%(tasks)s, %(configs)s)
    UNION ALL
    SELECT p.proname, p.proowner, coalesce(p.proacl, acldefault('f', p.proowner))
    FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
    WHERE n.nspname = %(schema)s AND p.proname = ANY (%(helpers)s)
    UNION ALL
    -- Where the secrets are, a right on the column alone is one on them.
    SELECT c.relname, c.relowner, t.attacl
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute t ON t.attrelid = c.oid
    WHERE n.nspname = %(schema)s AND c.relname = %(configs)s AND t.attname IN ('url', 'config_proto') AND NOT t.attisdropped
    UNION ALL
    SELECT 'schema', nspowner, coalesce(nspacl, acldefault('n', nspowner)) FROM pg_namespace WHERE nspname = %(schema)s
)
SELECT DISTINCT o.name, coalesce(r.rolname, 'PUBLIC'), a.privilege_type, a.grantee = o.owner, coalesce(r.rolsuper, false),
    coalesce(r.rolcanlogin, false),
    CASE WHEN a.grantee <> 0 THEN has_table_privilege(a.grantee, s.tasks, 'SELECT')
        -- A group calls nothing: its members do, with what other groups give them.
        OR NOT r.rolcanlogin AND EXISTS (SELECT FROM pg_roles m WHERE m.rolcanlogin AND NOT m.rolsuper
            AND pg_has_role(m.oid, r.oid, 'USAGE') AND has_table_privilege(m.oid, s.tasks, 'SELECT'))
        ELSE EXISTS (SELECT FROM pg_class c, aclexplode(c.relacl) x
            WHERE c.oid = s.tasks AND x.grantee = 0 AND x.privilege_type = 'SELECT') END
FROM store s CROSS JOIN objects o CROSS JOIN aclexplode(o.acl) a LEFT JOIN pg_roles r ON r.oid = a.grantee
WHERE a.grantee = 0 OR r.oid IS NOT NULL
ORDER BY 1, 2, 3
"""
# What a role or database sets is told by pg_db_role_setting, what comes from elsewhere by pg_settings. Only what is in force:
# what is set nearer to a session wins, a role's own settings last of all, and those of a role that may not log in never hold.
_SETTINGS = """
WITH store AS (SELECT %(tasks_oid)s::oid AS tasks), said AS (
    SELECT 2 + (d.setdatabase <> 0)::int + 2 * (d.setrole <> 0)::int AS near, r.rolname, r.oid, r.rolcanlogin,
        split_part(u.setting, '=', 1) AS name, substr(u.setting, strpos(u.setting, '=') + 1) AS value
    FROM pg_db_role_setting d CROSS JOIN unnest(d.setconfig) AS u (setting) LEFT JOIN pg_roles r ON r.oid = d.setrole
    WHERE d.setdatabase IN (0, (SELECT oid FROM pg_database WHERE datname = current_database()))
    UNION ALL
    SELECT 1, NULL, NULL, NULL, name, setting FROM pg_settings
    WHERE source IN ('configuration file', 'command line', 'environment variable', 'global')
), named AS (
    SELECT * FROM said s WHERE NOT EXISTS (
        SELECT FROM said o WHERE o.name = s.name AND o.rolname IS NOT DISTINCT FROM s.rolname AND o.near > s.near)
)
SELECT (ARRAY['server', 'all roles', 'database', 'role', 'role in this database'])[near], rolname, name, lower(value),
    oid IS NULL OR (rolcanlogin AND (coalesce(has_table_privilege(oid, tasks, 'DELETE'), false)
        OR coalesce(has_table_privilege(oid, tasks, 'TRUNCATE'), false)
        OR EXISTS (SELECT FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname = %(schema)s
            AND p.proname = %(push_lock)s AND has_function_privilege(named.oid, p.oid, 'EXECUTE'))))
FROM named CROSS JOIN store
WHERE name IN ('default_transaction_isolation', 'session_replication_role', 'lock_timeout',
    'idle_in_transaction_session_timeout')
ORDER BY 1, 2, 3
"""
_DEFAULTS = """
SELECT c.relname, a.attname, s.relname, n.nspname = %(schema)s
FROM pg_attrdef f
JOIN pg_class c ON c.oid = f.adrelid
JOIN pg_attribute a ON a.attrelid = f.adrelid AND a.attnum = f.adnum
JOIN pg_depend d ON d.classid = 'pg_attrdef'::regclass AND d.objid = f.oid AND d.refclassid = 'pg_class'::regclass
JOIN pg_class s ON s.oid = d.refobjid AND s.relkind = 'S'
JOIN pg_namespace n ON n.oid = s.relnamespace
WHERE f.adrelid IN (%(tasks_oid)s::oid, %(configs_oid)s::oid)
ORDER BY 1, 2, 3
"""
_COLUMN_DEFAULTS = """
SELECT c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, pg_get_expr(d.adbin, d.adrelid)
FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
WHERE a.attrelid IN (%(tasks_oid)s::oid, %(configs_oid)s::oid) AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY 1, 2
"""
_REFERENCES = """
SELECT conname, CASE confdeltype WHEN 'c' THEN 'cascade' WHEN 'n' THEN 'set null' WHEN 'd' THEN 'set default'
    WHEN 'r' THEN 'restrict' ELSE 'no action' END, convalidated
FROM pg_constraint WHERE contype = 'f' AND conrelid = %(configs_oid)s::oid AND confrelid = %(tasks_oid)s::oid ORDER BY 1
"""
_PUBLICATIONS = """
SELECT pubname, bool_or(tablename = %(tasks)s), bool_or(tablename = %(configs)s) FROM pg_publication_tables
WHERE schemaname = %(schema)s AND tablename IN (%(tasks)s, %(configs)s) GROUP BY 1 ORDER BY 1
"""
_INDEXES = """
SELECT c.relname, x.relname, pg_get_indexdef(i.indexrelid), i.indisvalid
FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid JOIN pg_class x ON x.oid = i.indexrelid
WHERE i.indrelid IN (%(tasks_oid)s::oid, %(configs_oid)s::oid) ORDER BY 1, 2
"""
# What a service needs in total: fact sheet section 1.6.
_ROLE_RIGHTS = """
SELECT r.rolname, array_to_string(ARRAY(
    SELECT 'USAGE on the schema' WHERE NOT has_schema_privilege(r.oid, n.oid, 'USAGE')
    UNION ALL
    SELECT w.privilege || ' on ' || c.relname FROM (VALUES (%(tasks_oid)s::oid, 'SELECT'), (%(tasks_oid)s::oid, 'INSERT'),
        (%(tasks_oid)s::oid, 'UPDATE'), (%(configs_oid)s::oid, 'SELECT'), (%(configs_oid)s::oid, 'INSERT'),
        (%(configs_oid)s::oid, 'UPDATE'), (%(configs_oid)s::oid, 'DELETE')) AS w (oid, privilege)
    JOIN pg_class c ON c.oid = w.oid
    WHERE NOT has_table_privilege(r.oid, w.oid, w.privilege)
    UNION ALL
    SELECT 'USAGE on ' || s.relname FROM pg_class s
    WHERE s.relnamespace = n.oid AND s.relkind = 'S' AND s.relname = ANY (%(sequences)s)
        AND NOT has_sequence_privilege(r.oid, s.oid, 'USAGE')
    UNION ALL
    SELECT 'EXECUTE on ' || p.proname FROM pg_proc p
    WHERE p.pronamespace = n.oid AND p.proname = %(push_lock)s AND NOT has_function_privilege(r.oid, p.oid, 'EXECUTE')
), ', ')
FROM pg_roles r CROSS JOIN pg_namespace n WHERE n.nspname = %(schema)s AND r.rolname !~ '^pg_' ORDER BY 1
"""
_SIBLINGS = """
SELECT n.nspname, n.nspname = %(schema)s, CASE WHEN bool_or(a.attname = 'task_proto') OR NOT bool_or(a.attname = 'task_data')
    THEN 'a2a-cpp' ELSE 'a2a-java' END
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE c.relname IN (%(tasks)s, %(configs)s) AND c.relkind IN ('r', 'p')
    AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
GROUP BY 1, 2 ORDER BY 1
"""
_QUERIES = {
    "relations": _RELATIONS,
    "triggers": _TRIGGERS,
    "acl": _ACL,
    "settings": _SETTINGS,
    "defaults": _DEFAULTS,
    "column_defaults": _COLUMN_DEFAULTS,
    "key_constraints": _REFERENCES,
    "publications": _PUBLICATIONS,
    "indexes": _INDEXES,
    "role_rights": _ROLE_RIGHTS,
    "siblings": _SIBLINGS,
}


def read(rows: Rows, schema: str) -> dict[str, list[tuple[Any, ...]]]:
    """Read every relation of `RELATIONS` for the store in one schema."""
    named: dict[str, Any] = {
        "schema": schema,
        "tasks": TASKS,
        "configs": CONFIGS,
        "push_lock": bodies.PUSH_LOCK,
        "helpers": list(bodies.HELPERS),
        "sequences": [TASK_SEQUENCE, CONFIG_SEQUENCE],
        "triggers": list(bodies.TRIGGERS),
    }
    ((named["tasks_oid"], named["configs_oid"]),) = rows(_OIDS, named)
    found = {relation: rows(query, named) for relation, query in _QUERIES.items()}
    found["functions"] = [_function(row, schema) for row in rows(_FUNCTIONS, named)]
    return found


def _function(row: tuple[Any, ...], schema: str) -> tuple[Any, ...]:
    *told, source = row
    body = bodies.read_body(told[0], source or "", schema)
    foreign = next((name for name in body.schemas if name != schema), None)
    marker = bodies.marked(told[12])
    return (*told, marker, body.digest, body.called, list(body.generations), body.key, foreign)

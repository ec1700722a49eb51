-- The least that an audit of a store on PostgreSQL needs: to connect, to use the schema, to read its tables and sequences.
-- Run it once as the owner of the database, for example:
--
--     psql -v role=busbar_auditor -v schema=public -v ON_ERROR_STOP=1 -f docs/postgres-role.sql DATABASE
--
-- Then set a password (\password busbar_auditor) or another way to log in, and keep it in ~/.pgpass or a service file:
--
--     busbar-audit audit service=NAME
--
-- The role can write nothing; an audit asks for a READ ONLY transaction besides. Tables that a later upgrade adds are not
-- covered: run the script again after an upgrade. Until then, checks that need them are reported as not run.

SELECT format('CREATE ROLE %I LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION CONNECTION LIMIT 4', :'role')
WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = :'role') \gexec
ALTER ROLE :"role" SET default_transaction_read_only = on;
SELECT format('GRANT CONNECT ON DATABASE %I TO %I', pg_catalog.current_database(), :'role') \gexec
GRANT USAGE ON SCHEMA :"schema" TO :"role";
GRANT SELECT ON ALL TABLES IN SCHEMA :"schema" TO :"role";
-- The position of a sequence is a fact of its own for A2A stores (A2A-D14).
GRANT SELECT ON ALL SEQUENCES IN SCHEMA :"schema" TO :"role";

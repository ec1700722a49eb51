"""Where the tables of a store come from: a private copy of a SQLite file, or a transaction on a PostgreSQL server."""

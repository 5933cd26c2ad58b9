"""Notes of each write in a database of runs: in which order, and with which token of a lease.

`mark_statements` has a process name the token of each statement in a comment of it; a trigger that
`note_writes` makes reads it there, with the token that the run had at that moment.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import psycopg

__all__ = ["Written", "mark_statements", "note_writes", "writes_noted"]

_NOTES = """
CREATE TABLE public.written (
    number bigserial PRIMARY KEY, run_id text, name text, token bigint, held bigint, owner text
);
CREATE FUNCTION public.note() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE of_row record := CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END;
BEGIN
    INSERT INTO public.written (run_id, name, token, held, owner)
        SELECT run_id, of_row.name,
            substring(current_query() FROM '/[*] token ([0-9]+) [*]/')::bigint, token, owner
        FROM prefect_swarm_runs.runs WHERE run_id = of_row.run_id;
    RETURN NULL;
END $$;
CREATE TRIGGER note AFTER INSERT OR UPDATE OR DELETE ON prefect_swarm_runs.files
    FOR EACH ROW EXECUTE FUNCTION public.note();
CREATE TRIGGER note AFTER INSERT OR UPDATE OR DELETE ON prefect_swarm_runs.entries
    FOR EACH ROW EXECUTE FUNCTION public.note();
"""


@dataclass(frozen=True, slots=True)
class Written:
    """A write of a file or a line.

    Attributes:
        name: The file's.
        token: What the writer took for the run's token; None if it named none.
        held: What the run's token was.
        owner: Who had the run's lease; None: nobody.
    """

    name: str
    token: int | None
    held: int
    owner: str | None


def mark_statements() -> None:
    """Have this process name the token of each statement that has one, in a comment of it."""
    execute = psycopg.Cursor.execute

    def marked(cursor: Any, query: Any, params: Any = None, **more: Any) -> Any:
        if isinstance(params, Mapping) and params.get("token") is not None:
            query = bytes(query) + f" /* token {params['token']} */".encode()
        return execute(cursor, query, params, **more)

    psycopg.Cursor.execute = marked  # type: ignore[method-assign]


def note_writes(address: str) -> None:
    """Note each write of the runs in a database from now on; their tables have to be there."""
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(_NOTES)


def writes_noted(address: str, run_id: str) -> Sequence[Written]:
    """Return the writes of a run in their order: each holds the run's row until it is over."""
    query = "SELECT name, token, held, owner FROM public.written WHERE run_id = %s ORDER BY number"
    with psycopg.connect(address, autocommit=True) as connection:
        return [Written(*row) for row in connection.execute(query, (run_id,))]

-- SQLite compares bytes.
select 1;

-- SQLite counts in the index alone.
select 1;

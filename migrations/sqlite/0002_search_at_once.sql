-- Only Postgres has something to mend here; the numbers stay the same.
select 1;

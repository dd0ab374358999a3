-- A time is found by halving the log, since times never decrease along seq.
drop index events_ts;

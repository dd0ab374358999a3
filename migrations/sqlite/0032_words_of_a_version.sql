-- The version of the words by which rows are found (server/log/words.rs); another one has them made anew at a start.
alter table log add column words integer not null default 0;

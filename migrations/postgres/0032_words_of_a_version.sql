-- The version of the words by which events and rows are found (server/log/words.rs); another one has them made anew at a start.
alter table log add column words bigint not null default 0;

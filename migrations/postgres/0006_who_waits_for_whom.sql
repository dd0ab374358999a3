-- The thread that one waits for alone: who depends on a thread is found without reading all rows.
alter table threads add column awaits text collate "C";
update threads set awaits = standing::json -> 'waiting' ->> 'from' where status = 'waiting' and standing <> '';
create index threads_awaiting on threads (space, awaits, thread) where awaits is not null;

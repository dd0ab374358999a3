-- A count reads the index without the table where vacuum has been. New rows of a table that only
-- grows wait for that until it is a fifth larger; from now on at most 20,000 of them do.
alter table marks set (autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 20000);

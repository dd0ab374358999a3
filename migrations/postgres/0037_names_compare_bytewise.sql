-- Names of spaces compare byte by byte in every table, whatever the collation of the database.
alter table roots alter column space type text collate "C";
alter table requests alter column space type text collate "C";
alter table settings alter column space type text collate "C";
alter table pins alter column space type text collate "C";
-- Logical replication names the row that an update changes by its key.
alter table log add primary key (epoch);

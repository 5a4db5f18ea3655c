-- Written by mem0ai 2.2.1: three memories added without a model, one updated, one deleted.
CREATE TABLE history (
                        id           TEXT PRIMARY KEY,
                        memory_id    TEXT,
                        old_memory   TEXT,
                        new_memory   TEXT,
                        event        TEXT,
                        created_at   DATETIME,
                        updated_at   DATETIME,
                        is_deleted   INTEGER,
                        actor_id     TEXT,
                        role         TEXT
                    );
INSERT INTO "history" VALUES('99a70cab-24de-4e7e-8947-3933ce306baf','295418ff-4dde-4993-8e98-c215c92521ce',NULL,'Prefers dark mode in every editor','ADD','2026-11-23T19:05:48.696357+00:00','2026-11-23T19:05:48.696357+00:00',0,NULL,'user');
INSERT INTO "history" VALUES('c8e7c455-7f47-4fbf-b38e-5cb84a528ce3','f88bd849-ef6a-4ff7-8124-d74476071e6e',NULL,'The staging server is called mio','ADD','2026-11-23T19:05:48.700335+00:00','2026-11-23T19:05:48.700335+00:00',0,NULL,'user');
INSERT INTO "history" VALUES('badee48c-a20d-4903-a177-b77a921b1947','a64b9d42-8fa0-4655-b638-64bf2c5b00b5',NULL,'Lunch at noon','ADD','2026-11-23T19:05:48.702831+00:00','2026-11-23T19:05:48.702831+00:00',0,NULL,'user');
INSERT INTO "history" VALUES('ab0dd423-a449-4f6c-b2d5-17dd9d768078','f88bd849-ef6a-4ff7-8124-d74476071e6e','The staging server is called mio','The staging server is called mio and runs Debian 12','UPDATE','2026-11-23T19:05:48.700335+00:00','2026-11-23T19:05:48.705367+00:00',0,NULL,'user');
INSERT INTO "history" VALUES('6c7ea034-0ba0-46c5-9fc8-5b5b466ad821','a64b9d42-8fa0-4655-b638-64bf2c5b00b5','Lunch at noon',NULL,'DELETE','2026-11-23T19:05:48.702831+00:00','2026-11-23T19:05:48.708021+00:00',1,NULL,'user');
CREATE TABLE messages (
                        id TEXT PRIMARY KEY,
                        session_scope TEXT,
                        role TEXT,
                        content TEXT,
                        name TEXT,
                        created_at DATETIME
                    );

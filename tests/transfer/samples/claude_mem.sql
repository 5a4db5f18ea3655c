-- Written by claude-mem 13.25.3 (SessionStore: createSDKSession, storeObservation, storeSummary); its other tables are left out.
CREATE TABLE "observations" (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        memory_session_id TEXT NOT NULL,
        project TEXT NOT NULL,
        text TEXT,
        type TEXT NOT NULL,
        title TEXT,
        subtitle TEXT,
        facts TEXT,
        narrative TEXT,
        concepts TEXT,
        files_read TEXT,
        files_modified TEXT,
        prompt_number INTEGER,
        created_at TEXT NOT NULL,
        created_at_epoch INTEGER NOT NULL, discovery_tokens INTEGER DEFAULT 0, content_hash TEXT, generated_by_model TEXT, relevance_count INTEGER DEFAULT 0, merged_into_project TEXT, agent_type TEXT, agent_id TEXT, metadata TEXT, synced_at INTEGER, origin_device_id TEXT, origin_local_id TEXT, sync_rev TEXT NOT NULL DEFAULT '1',
        FOREIGN KEY(memory_session_id) REFERENCES sdk_sessions(memory_session_id) ON DELETE CASCADE ON UPDATE CASCADE
      );
INSERT INTO "observations" VALUES(1,'mem-1','shop',NULL,'bugfix','Login redirect lost the query string','The return URL is encoded once more','["auth/redirect.ts encodes the return URL","The tests missed it because they use no query"]','The login page dropped everything after the question mark.','["problem-solution","gotcha"]','["auth/redirect.ts"]','["auth/redirect.ts"]',1,'2026-03-14T09:30:00.000Z',1773480600000,120,'11344ebc380b75fe',NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'1');
INSERT INTO "observations" VALUES(2,'mem-1','shop',NULL,'decision','Sessions live in Redis',NULL,'[]','Cookies were too small.','[]','[]','[]',2,'2026-03-15T09:30:00.000Z',1773567000000,80,'0a49e3a392e6da46',NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'1');
CREATE TABLE sdk_sessions (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        content_session_id TEXT NOT NULL,
        memory_session_id TEXT UNIQUE,
        project TEXT NOT NULL,
        platform_source TEXT NOT NULL DEFAULT 'claude',
        user_prompt TEXT,
        started_at TEXT NOT NULL,
        started_at_epoch INTEGER NOT NULL,
        completed_at TEXT,
        completed_at_epoch INTEGER,
        status TEXT CHECK(status IN ('active', 'completed', 'failed')) NOT NULL DEFAULT 'active'
      , worker_port INTEGER, prompt_counter INTEGER DEFAULT 0, custom_title TEXT, observed_model TEXT, observed_billing TEXT);
INSERT INTO "sdk_sessions" VALUES(1,'content-1','mem-1','shop','claude','Fix the login redirect','2026-11-23T19:05:46.728Z',1795460746728,NULL,NULL,'active',NULL,0,NULL,NULL,NULL);
CREATE TABLE "session_summaries" (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        memory_session_id TEXT NOT NULL,
        project TEXT NOT NULL,
        request TEXT,
        investigated TEXT,
        learned TEXT,
        completed TEXT,
        next_steps TEXT,
        files_read TEXT,
        files_edited TEXT,
        notes TEXT,
        prompt_number INTEGER,
        created_at TEXT NOT NULL,
        created_at_epoch INTEGER NOT NULL, discovery_tokens INTEGER DEFAULT 0, merged_into_project TEXT, synced_at INTEGER, origin_device_id TEXT, origin_local_id TEXT, sync_rev TEXT NOT NULL DEFAULT '1',
        FOREIGN KEY(memory_session_id) REFERENCES sdk_sessions(memory_session_id) ON DELETE CASCADE ON UPDATE CASCADE
      );
INSERT INTO "session_summaries" VALUES(1,'mem-1','shop','Fix the login redirect','The redirect helper','URLs are encoded twice','Encoded once','Add a test','[]','[]',NULL,1,'2026-03-14T10:30:00.000Z',1773484200000,50,NULL,NULL,NULL,NULL,'1');

/** Deployments with their events, and the bytes that they take of an account. */
export const DEPLOYMENTS = /* sql */ `
  CREATE TABLE deployments (
    id TEXT PRIMARY KEY,
    account_id TEXT NOT NULL,
    asset_uuid TEXT NOT NULL,
    app TEXT NOT NULL,
    spec TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('Running', 'Success', 'Fail')),
    code TEXT,
    created_at_ms INTEGER NOT NULL,
    deadline_at_ms INTEGER NOT NULL,
    acknowledged_at_ms INTEGER,
    cancel_requested_at_ms INTEGER,
    finished_at_ms INTEGER,
    last_seq INTEGER NOT NULL DEFAULT 0,
    last_device_seq INTEGER NOT NULL DEFAULT 0,
    idempotency_key TEXT,
    request_hash BLOB,
    action TEXT NOT NULL DEFAULT 'deploy',
    options TEXT NOT NULL DEFAULT '{}',
    -- Whether credentials came with the request. They themselves are never stored.
    has_registry_auth INTEGER NOT NULL DEFAULT 0 CHECK (has_registry_auth IN (0, 1)),
    -- Rises by one with each change of the row.
    version INTEGER NOT NULL DEFAULT 1,
    -- The number of the latest session of the device that counts, and whether its loss was reported. 0: none.
    connection_epoch INTEGER NOT NULL DEFAULT 0,
    is_connection_lost INTEGER NOT NULL DEFAULT 0 CHECK (is_connection_lost IN (0, 1)),
    -- Why the device has to be asked what became of it before anything else is done about it.
    uncertainty TEXT CHECK (uncertainty IN ('asked', 'overdue', 'backup', 'restored')),
    -- Until when the device is waited for, where that is not "deadline_at_ms".
    uncertain_until_ms INTEGER,
    event_bytes INTEGER NOT NULL DEFAULT 0,
    omitted_events INTEGER NOT NULL DEFAULT 0,
    -- Waiting for a device. "sending_since_ms": since when the command was last to be sent; NULL: it has only waited so far.
    wait_until_ms INTEGER,
    is_waiting INTEGER NOT NULL DEFAULT 0 CHECK (is_waiting IN (0, 1)),
    sending_since_ms INTEGER,
    -- What the instance that holds the device's session delivers to it; NULL: nothing.
    delivery TEXT CHECK (delivery IN ('command', 'cancel')),
    -- When deadlines expire, in service time. "due_at_ms" is the earlier one.
    finish_due_ms INTEGER,
    reply_due_ms INTEGER,
    due_at_ms INTEGER
  ) STRICT;
  CREATE INDEX deployments_by_asset ON deployments (asset_uuid, created_at_ms);
  CREATE INDEX deployments_by_account ON deployments (account_id, created_at_ms, id);
  CREATE INDEX deployments_by_app ON deployments (account_id, app, created_at_ms, id);
  CREATE INDEX deployments_not_succeeded ON deployments (account_id, status, created_at_ms, id) WHERE status <> 'Success';
  CREATE INDEX deployments_by_change ON deployments (account_id, coalesce(finished_at_ms, created_at_ms), id);
  CREATE INDEX deployments_unfinished ON deployments (asset_uuid) WHERE status = 'Running';
  CREATE UNIQUE INDEX deployments_by_idempotency_key ON deployments (account_id, idempotency_key)
    WHERE idempotency_key IS NOT NULL;
  CREATE INDEX deployments_finished ON deployments (finished_at_ms) WHERE finished_at_ms IS NOT NULL;
  CREATE INDEX deployments_ended_uncertain ON deployments (asset_uuid)
    WHERE uncertainty IN ('asked', 'overdue') AND status <> 'Running';
  CREATE INDEX deployments_due ON deployments (due_at_ms) WHERE due_at_ms IS NOT NULL;
  CREATE INDEX deployments_undelivered ON deployments (asset_uuid) WHERE delivery IS NOT NULL;

  CREATE TABLE deployment_events (
    deployment_id TEXT NOT NULL REFERENCES deployments (id) ON DELETE CASCADE,
    seq INTEGER NOT NULL,
    event TEXT NOT NULL,
    PRIMARY KEY (deployment_id, seq)
  ) STRICT, WITHOUT ROWID;

  CREATE TRIGGER deployment_stored AFTER INSERT ON deployments BEGIN
    UPDATE accounts SET stored_bytes =
      stored_bytes + octet_length(new.spec) + octet_length(new.options) + new.event_bytes + 512 WHERE id = new.account_id;
  END;

  CREATE TRIGGER deployment_changed AFTER UPDATE OF spec, event_bytes ON deployments
    WHEN octet_length(new.spec) + new.event_bytes <> octet_length(old.spec) + old.event_bytes BEGIN
    UPDATE accounts SET stored_bytes =
      stored_bytes + octet_length(new.spec) + new.event_bytes - octet_length(old.spec) - old.event_bytes
      WHERE id = new.account_id;
  END;

  CREATE TRIGGER deployment_removed AFTER DELETE ON deployments BEGIN
    UPDATE accounts SET stored_bytes =
      stored_bytes - octet_length(old.spec) - octet_length(old.options) - old.event_bytes - 512 WHERE id = old.account_id;
  END;
`;

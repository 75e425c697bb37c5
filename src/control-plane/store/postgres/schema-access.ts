/** Which devices were accepted, who may replace a device with a code, and who answers for each key. */
export const ACCESS = /* sql */ `
  -- Whether new and replaced devices are accepted by themselves.
  ALTER TABLE accounts ADD COLUMN auto_accept SMALLINT NOT NULL DEFAULT 0 CHECK (auto_accept IN (0, 1));

  -- NULL: nothing of a fleet reaches the device until somebody accepts it. Devices from before are in service.
  ALTER TABLE asset_states ADD COLUMN accepted_at BIGINT;
  UPDATE asset_states SET accepted_at = (SELECT a.created_at FROM assets a WHERE a.uuid = asset_uuid);
  -- When another device took the place of the one before; NULL: never. What was requested earlier was meant for that one.
  ALTER TABLE asset_states ADD COLUMN replaced_at_ms BIGINT;

  -- Whether the code was made by somebody who may replace devices in service.
  ALTER TABLE enrolment_codes ADD COLUMN may_replace SMALLINT NOT NULL DEFAULT 0 CHECK (may_replace IN (0, 1));
  -- The same for the next token of a device, which such a code gave it.
  ALTER TABLE assets ADD COLUMN next_may_replace SMALLINT NOT NULL DEFAULT 1 CHECK (next_may_replace IN (0, 1));

  -- The user, or the key of nobody, that the line of makers of a key begins with; NULL: itself.
  ALTER TABLE api_keys ADD COLUMN origin_id TEXT COLLATE "C";
  -- Whether it falls with the person that is its origin.
  ALTER TABLE api_keys ADD COLUMN is_personal SMALLINT NOT NULL DEFAULT 0 CHECK (is_personal IN (0, 1));
  UPDATE api_keys SET origin_id = coalesce(login_user_id, created_by),
    is_personal = CASE WHEN login_user_id IS NULL THEN 0 ELSE 1 END;
  CREATE INDEX api_keys_by_origin ON api_keys (origin_id) WHERE origin_id IS NOT NULL;
  CREATE INDEX api_keys_by_maker ON api_keys (created_by) WHERE created_by IS NOT NULL;
`;

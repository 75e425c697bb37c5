/** Who answers for each key. */
export const ACCESS = /* sql */ `
  -- The user, or the key of nobody, that the line of makers of a key begins with; NULL: itself.
  ALTER TABLE api_keys ADD COLUMN origin_id TEXT;
  -- Whether it falls with the person that is its origin.
  ALTER TABLE api_keys ADD COLUMN is_personal INTEGER NOT NULL DEFAULT 0 CHECK (is_personal IN (0, 1));
  UPDATE api_keys SET origin_id = coalesce(login_user_id, created_by), is_personal = (login_user_id IS NOT NULL);
  CREATE INDEX api_keys_by_origin ON api_keys (origin_id) WHERE origin_id IS NOT NULL;
  CREATE INDEX api_keys_by_maker ON api_keys (created_by) WHERE created_by IS NOT NULL;
`;

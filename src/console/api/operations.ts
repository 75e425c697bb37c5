import type { z } from "zod";
import type {
  apiKeyListSchema,
  apiKeyCreationSchema,
  apiKeySchema,
  apiKeyUpdateSchema,
  createdApiKeySchema,
} from "../../protocol/api-keys.ts";
import type { overviewSchema } from "../../protocol/attention.ts";
import type { auditLogSchema } from "../../protocol/audit.ts";
import type { sessionSchema } from "../../protocol/principal.ts";
import type {
  invitationAcceptanceSchema,
  invitedUserSchema,
  passwordChangeSchema,
  passwordResetSchema,
  setUpRequestSchema,
  signInOptionsSchema,
  signInRequestSchema,
  userInvitationSchema,
  userListSchema,
  userSchema,
  userUpdateSchema,
} from "../../protocol/users.ts";
import type { Operations } from "./types.ts";

interface Operation<Response, Body = undefined, Query = undefined> {
  readonly query: Query;
  readonly body: Body;
  readonly response: Response;
}

interface Page {
  readonly limit?: string | undefined;
  readonly cursor?: string | undefined;
}

interface AuditQuery extends Page {
  readonly actor?: string | undefined;
  readonly action?: string | undefined;
  readonly asset?: string | undefined;
  readonly outcome?: string | undefined;
  readonly since?: string | undefined;
  readonly until?: string | undefined;
}

/** Operations that the OpenAPI document does not have yet, with the bodies of the protocol. */
interface ComingOperations {
  "GET /v1/sign-in": Operation<z.output<typeof signInOptionsSchema>>;
  "POST /v1/setup": Operation<unknown, z.input<typeof setUpRequestSchema>>;
  "POST /v1/invitations": Operation<unknown, z.input<typeof invitationAcceptanceSchema>>;
  "POST /v1/session": Operation<unknown, z.input<typeof signInRequestSchema>>;
  "GET /v1/session": Operation<z.output<typeof sessionSchema>>;
  "DELETE /v1/session": Operation<undefined>;
  "PUT /v1/session/password": Operation<undefined, z.input<typeof passwordChangeSchema>>;
  "GET /v1/users": Operation<z.output<typeof userListSchema>, undefined, Page>;
  "POST /v1/users": Operation<z.output<typeof invitedUserSchema>, z.input<typeof userInvitationSchema>>;
  "PATCH /v1/users/{user_id}": Operation<z.output<typeof userSchema>, z.input<typeof userUpdateSchema>>;
  "DELETE /v1/users/{user_id}": Operation<undefined>;
  "POST /v1/users/{user_id}/reset": Operation<z.output<typeof passwordResetSchema>>;
  "GET /v1/api-keys": Operation<z.output<typeof apiKeyListSchema>, undefined, Page>;
  "POST /v1/api-keys": Operation<z.output<typeof createdApiKeySchema>, z.input<typeof apiKeyCreationSchema>>;
  "PATCH /v1/api-keys/{key_id}": Operation<z.output<typeof apiKeySchema>, z.input<typeof apiKeyUpdateSchema>>;
  "DELETE /v1/api-keys/{key_id}": Operation<undefined>;
  "GET /v1/overview": Operation<z.output<typeof overviewSchema>>;
  "GET /v1/audit": Operation<z.output<typeof auditLogSchema>, undefined, AuditQuery>;
}

export type AllOperations = Operations & Omit<ComingOperations, keyof Operations>;
export type OperationName = keyof AllOperations;

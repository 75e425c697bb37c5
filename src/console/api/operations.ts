import type { z } from "zod";
import type { overviewSchema } from "../../protocol/attention.ts";
import type { auditLogSchema } from "../../protocol/audit.ts";
import type { Operations } from "./types.ts";

interface AuditQuery {
  readonly limit?: string | undefined;
  readonly cursor?: string | undefined;
  readonly actor?: string | undefined;
  readonly action?: string | undefined;
  readonly asset?: string | undefined;
  readonly outcome?: string | undefined;
  readonly since?: string | undefined;
  readonly until?: string | undefined;
}

/** Operations that the OpenAPI document does not have yet, with the bodies of the protocol. */
interface ComingOperations {
  "GET /v1/overview": { query: undefined; body: undefined; response: z.output<typeof overviewSchema> };
  "GET /v1/audit": { query: AuditQuery; body: undefined; response: z.output<typeof auditLogSchema> };
}

export type AllOperations = Operations & Omit<ComingOperations, keyof Operations>;
export type OperationName = keyof AllOperations;

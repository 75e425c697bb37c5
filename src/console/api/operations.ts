import type { z } from "zod";
import type { overviewSchema } from "../../protocol/attention.ts";
import type { Operations } from "./types.ts";

/** Operations that the OpenAPI document does not have yet, with the bodies of the protocol. */
interface ComingOperations {
  "GET /v1/overview": { query: undefined; body: undefined; response: z.output<typeof overviewSchema> };
}

export type AllOperations = Operations & Omit<ComingOperations, keyof Operations>;
export type OperationName = keyof AllOperations;

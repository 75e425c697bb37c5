import type { Operations } from "./types.ts";

/** Operations of the API by method and path, such as `GET /v1/assets`. */
export type AllOperations = Operations;
export type OperationName = keyof AllOperations;

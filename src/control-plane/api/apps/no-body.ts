import type { FastifyRequest } from "fastify";
import { invalidRequest } from "../../../protocol/request-error.ts";

/** Lets a request without a body pass whatever type it says its body has, as many clients do. */
export async function ignoreContentTypeOfEmptyBody({ headers }: FastifyRequest): Promise<void> {
  const isEmpty = headers["content-length"] === undefined || headers["content-length"] === "0";
  if (isEmpty && headers["transfer-encoding"] === undefined) delete headers["content-type"];
}

/** Refuses a body with something in it: whoever sends one expects it to mean something. */
export async function refuseBody({ body }: FastifyRequest): Promise<void> {
  if (body === undefined || body === null) return;
  if (typeof body === "object" && Object.keys(body).length === 0) return;
  throw invalidRequest([{ path: "", reason: "this request takes no body" }]);
}

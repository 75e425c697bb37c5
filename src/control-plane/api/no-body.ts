import type { FastifyRequest } from "fastify";
import { invalidRequest } from "../../protocol/request-error.ts";

/** Ignores the `Content-Type` of a request without a body, which many clients send. */
export async function ignoreContentTypeOfEmptyBody({ headers }: FastifyRequest): Promise<void> {
  const isEmpty = headers["content-length"] === undefined || headers["content-length"] === "0";
  if (isEmpty && headers["transfer-encoding"] === undefined) delete headers["content-type"];
}

/** Refuses a body that is not empty, instead of ignoring its content. Error: `InvalidRequest`. */
export async function refuseBody({ body }: FastifyRequest): Promise<void> {
  if (body === undefined || body === null) return;
  if (typeof body === "object" && Object.keys(body).length === 0) return;
  throw invalidRequest([{ path: "", reason: "this request takes no body" }]);
}

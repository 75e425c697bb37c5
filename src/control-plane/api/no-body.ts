import type { FastifyRequest } from "fastify";
import type { IncomingMessage } from "node:http";
import type { z } from "zod";
import { EdgeError } from "../../protocol/errors/errors.ts";
import { invalidRequest } from "../../protocol/errors/request-error.ts";
import { knownFields } from "../../protocol/values/known-fields.ts";

/** Whether the operation has a request body. */
export function takesBody({ routeOptions }: FastifyRequest): boolean {
  return routeOptions.schema?.body !== undefined;
}

/** Hook: ignores the `Content-Type` of an empty body, which many clients send, where the operation has no body. */
export async function ignoreContentTypeOfEmptyBody(request: FastifyRequest): Promise<void> {
  const { headers } = request;
  const isEmpty = headers["content-length"] === undefined || headers["content-length"] === "0";
  if (isEmpty && headers["transfer-encoding"] === undefined && !takesBody(request)) delete headers["content-type"];
}

/**
 * Parser for bodies that are not JSON. Refuses them unread, except that a proxy may send an empty body in chunks, whose length
 * is known at its end only. Error: `UnsupportedMediaType`.
 */
export async function requireEmptyBody(request: FastifyRequest, payload: IncomingMessage): Promise<undefined> {
  if (takesBody(request) || !(await isEmpty(payload))) throw new EdgeError("UnsupportedMediaType");
  return undefined;
}

/** Reads up to the first byte, and leaves the rest to the endpoint's handler. */
function isEmpty(payload: IncomingMessage): Promise<boolean> {
  return new Promise((resolve, reject) => {
    payload.once("data", () => {
      payload.pause();
      resolve(false);
    });
    payload.once("end", () => resolve(true));
    payload.once("error", reject);
  });
}

/** Hook: refuses a body where the operation has none, instead of ignoring its content. Error: `InvalidRequest`. */
export async function refuseBody(request: FastifyRequest): Promise<void> {
  const { body } = request;
  if (body === undefined || body === null || takesBody(request)) return;
  if (typeof body === "object" && Object.keys(body).length === 0) return;
  const { querystring } = (request.routeOptions.schema ?? {}) as { querystring?: z.ZodType };
  const inQuery = querystring ? knownFields(querystring, []).filter((name) => Object.hasOwn(body, name)) : [];
  const place = inQuery.length === 0 ? "" : `; ${inQuery.map((name) => `\`${name}\``).join(", ")} belongs in the query`;
  throw invalidRequest([{ path: "", reason: `this request takes no body${place}` }]);
}

import type { FastifyReply, FastifyRequest } from "fastify";
import { EdgeError } from "../../protocol/errors.ts";
import { keySubject } from "../access-watcher.ts";
import { keyOf } from "./auth.ts";
import type { ApiContext } from "./context.ts";

/** Aborts when the client leaves or the request's key is revoked: the end of a stream that has no end of its own yet. */
export function streamSignal(
  request: FastifyRequest,
  reply: FastifyReply,
  { access, store }: Pick<ApiContext, "access" | "store">,
): AbortSignal {
  const controller = new AbortController();
  const { id } = keyOf(request);
  const watching = access.watch(
    keySubject(id),
    async () => {
      const key = await store.keys.findKey(id);
      return key !== undefined && key.revokedAt === undefined;
    },
    () => controller.abort(new EdgeError("Unauthorized")),
  );
  const leave = (): void => {
    watching[Symbol.dispose]();
    controller.abort(new EdgeError("BadRequest", "The client is gone."));
  };
  if (reply.raw.closed) leave();
  else reply.raw.once("close", leave);
  return controller.signal;
}

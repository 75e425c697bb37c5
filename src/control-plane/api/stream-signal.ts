import type { FastifyReply, FastifyRequest } from "fastify";
import { EdgeError } from "../../protocol/errors.ts";
import { keySubject } from "../access-watcher.ts";
import { keyOf } from "./auth.ts";
import type { ApiContext } from "./context.ts";

/** A signal that aborts when the client disconnects or its key is revoked. */
export function streamSignal(
  request: FastifyRequest,
  reply: FastifyReply,
  { access, store }: Pick<ApiContext, "access" | "store">,
): AbortSignal {
  const controller = new AbortController();
  const { id } = keyOf(request);
  const watch = access.watch(
    keySubject(id),
    async () => {
      const key = await store.keys.findKey(id);
      return key !== undefined && key.revokedAt === undefined;
    },
    () => controller.abort(new EdgeError("Unauthorized")),
  );
  const onClose = (): void => {
    watch[Symbol.dispose]();
    controller.abort(new EdgeError("BadRequest", "The client disconnected."));
  };
  if (reply.raw.closed) onClose();
  else reply.raw.once("close", onClose);
  return controller.signal;
}

import { onAbort } from "../../lib/abort.ts";
import type { FastifyReply, FastifyRequest } from "fastify";
import { EdgeError } from "../../protocol/errors/errors.ts";
import { watchPrincipal } from "../accounts/watch-principal.ts";
import { principalOf } from "./auth.ts";
import type { ApiContext } from "./context.ts";

/** A signal that aborts when the client disconnects, and after the response. */
export function clientSignal(reply: FastifyReply): AbortSignal {
  const controller = new AbortController();
  const onClose = (): void => controller.abort(new EdgeError("BadRequest", "The client disconnected."));
  if (reply.raw.closed) onClose();
  else reply.raw.once("close", onClose);
  return controller.signal;
}

/** A feed of a device's answers to one client. */
interface Feed extends Disposable {
  end(error: EdgeError): void;
}

/** Ends a feed when the service stops, and when the client disconnects or its key or session ends. */
export function endWithClient(
  request: FastifyRequest,
  reply: FastifyReply,
  context: ApiContext<"accounts">,
  feed: Feed,
): void {
  const restarting = new EdgeError("ServiceUnavailable", "The service is restarting.");
  const stopping = onAbort(context.stopping, () => feed.end(restarting));
  onAbort(streamSignal(request, reply, context), () => {
    stopping[Symbol.dispose]();
    feed[Symbol.dispose]();
  });
}

/** A signal that aborts when the client disconnects or its key or session ends. */
export function streamSignal(
  request: FastifyRequest,
  reply: FastifyReply,
  { clock, accounts }: ApiContext<"accounts">,
): AbortSignal {
  const controller = new AbortController();
  const gone = clientSignal(reply);
  const end = (): void => controller.abort(new EdgeError("Unauthorized"));
  const watch = watchPrincipal({ ...accounts, clock }, principalOf(request), end);
  const onClose = (): void => {
    watch[Symbol.dispose]();
    controller.abort(gone.reason);
  };
  if (gone.aborted) onClose();
  else gone.addEventListener("abort", onClose, { once: true });
  return controller.signal;
}

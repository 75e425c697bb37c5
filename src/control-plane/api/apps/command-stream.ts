import type { FastifyReply, FastifyRequest } from "fastify";
import { type ErrorCode, errorEntry } from "../../../protocol/errors.ts";
import type { AppCommand } from "../../core/command.ts";
import { findAsset } from "../assets/find-asset.ts";
import type { ApiContext } from "../context.ts";
import { eventStream, streamErrors } from "../docs/stream.ts";
import { toPublicError, setRetryAfter, toErrorBody } from "../errors.ts";
import { sendEvents, sendFailure } from "../event-stream.ts";
import { parseIdempotencyKey } from "./idempotency.ts";

type AssetRequest = FastifyRequest<{ Params: { asset_id: string } }>;

/**
 * The part of the document that endpoints have in common which tell a device to do something to an app, and stream how it
 * goes.
 *
 * @param codes what this one may be refused with beside what all may
 */
export function commandSchema(...codes: readonly ErrorCode[]) {
  return {
    tags: ["Apps"],
    response: {
      200: eventStream("The deployment's events."),
      ...streamErrors(
        "AssetNotFound",
        "InvalidJson",
        "PayloadTooLarge",
        "UnsupportedMediaType",
        ...codes,
        "InvalidRequest",
        "IdempotencyKeyReused",
        "QuotaExceeded",
      ),
    },
  };
}

/** Said of each of them in the document. */
export const STREAM_DESCRIPTION =
  "The answer is a stream of events: `Running` any number of times, then `Success` or `Fail`. A request that does not " +
  "become a deployment is answered with one `Fail` event whose `deployment_id` is empty. With the header " +
  "`Idempotency-Key` a repeated request joins the first one's stream. A client that leaves stops nothing.";

/** The error handler of these endpoints: once the key is accepted, refusals are event streams, too. */
export function streamErrorHandler({ logger, clock }: ApiContext) {
  return (error: unknown, request: FastifyRequest, reply: FastifyReply): void => {
    const shown = toPublicError(error, request, logger);
    setRetryAfter(shown, reply);
    if (request.apiKey) sendFailure(reply, shown, clock.now());
    else void reply.code(errorEntry(shown.code).http).send(toErrorBody(shown));
  };
}

/** Has the device do it and answers with the events. */
export async function streamCommand(
  context: ApiContext,
  request: AssetRequest,
  reply: FastifyReply,
  command: AppCommand,
): Promise<FastifyReply> {
  const { store, deployments, streamLimiter } = context;
  // Before anything is asked for: a client that can be shown no events asks again later.
  streamLimiter.acquireForAccount(request, reply);
  const asset = await findAsset(store, request, request.params.asset_id);
  const idempotency = parseIdempotencyKey(request.headers["idempotency-key"], asset.uuid, command);
  const id = await deployments.request(asset, command, idempotency);
  void reply.header("Deployment-Id", id);
  return sendEvents(context, request, reply, { id, after: 0 });
}

import { createHash } from "node:crypto";
import type { FastifyReply, FastifyRequest } from "fastify";
import { EdgeError, type ErrorCode, errorEntry } from "../../../protocol/errors/errors.ts";
import type { AppCommand } from "../../core/command.ts";
import { originOf } from "../audit/audit-of.ts";
import { findAsset } from "../asset-resource.ts";
import type { Idempotency } from "../../store/deployments.ts";
import type { ApiBase, ApiContext } from "../context.ts";
import { uploadsOfCommand } from "../../core/named-uploads.ts";
import { idempotencyHeaders, idempotencyKeyOf } from "../idempotency-key.ts";
import { deploymentPath, deploymentSchema, toDeploymentResponse } from "../deployments/deployment-resource.ts";
import { json } from "../docs/responses.ts";
import { commandStream, DEPLOYMENT_ID_HEADER, streamErrors } from "../docs/stream.ts";
import { PREFER, prefersAsync, prefersJson } from "./response-form.ts";
import { errorStatus, setErrorHeaders, toErrorBody, toPublicError } from "../errors.ts";
import { sendEvents, sendFailure } from "../event-stream.ts";

const HEADERS = idempotencyHeaders(
  "A repeated request joins the stream of the first one's deployment, or begins another one if that has " +
    "failed for a reason that may pass (`x-retryable`). A key counts for all clients of the account, as long " +
    "as the deployment is kept, by default 90 days after its end; with another asset, app, command or body it " +
    "is refused with `IdempotencyKeyReused`.",
  PREFER,
);
const ACCEPTED_HEADERS = {
  Location: { type: "string", description: "Path of the deployment." },
  "Preference-Applied": { type: "string", description: "`respond-async`." },
  ...DEPLOYMENT_ID_HEADER,
} as const;

type AssetRequest = FastifyRequest<{ Params: { asset_id: string } }>;

/**
 * The common part of the OpenAPI schemas of endpoints that send a command for an app and stream the deployment.
 *
 * @param codes further refusals of this endpoint
 */
export function commandSchema(...codes: readonly ErrorCode[]) {
  return {
    tags: ["Apps"],
    headers: HEADERS,
    response: {
      200: commandStream("The deployment's events."),
      202: json("With `Prefer: respond-async`: the deployment as it begins.", deploymentSchema, ACCEPTED_HEADERS),
      ...streamErrors(
        "AssetNotFound",
        "InvalidJson",
        "PayloadTooLarge",
        "UnsupportedMediaType",
        ...codes,
        "IdempotencyKeyReused",
        "QuotaExceeded",
      ),
    },
  };
}

/** The common part of their descriptions; the tag "Apps" says the rest. */
export const STREAM_DESCRIPTION = "Streams events: see the tag Apps.";

/**
 * The error handler of these endpoints. After authentication, refusals are event streams too unless the client asks for JSON,
 * and so is the service's own failure before it: while the database does not respond, no key can be checked.
 */
export function streamErrorHandler({ logger, clock }: ApiBase) {
  return (error: unknown, request: FastifyRequest, reply: FastifyReply): void => {
    const shown = toPublicError(error, request, logger);
    setErrorHeaders(shown, reply);
    const isStream = (request.principal || shown.code === "ServiceUnavailable") && !prefersJson(request);
    if (isStream) sendFailure(reply, shown, clock.now());
    else void reply.code(errorStatus(shown.code)).send(toErrorBody(shown));
  };
}

/** What these endpoints use. */
export type CommandContext = ApiContext<"accounts" | "deployments" | "streams" | "uploads">;

/** Starts the deployment and responds with its events. */
export async function streamCommand(
  context: CommandContext,
  request: AssetRequest,
  reply: FastifyReply,
  given: AppCommand,
): Promise<FastifyReply> {
  const { store, deployments, streams, uploads } = context;
  const isAsync = prefersAsync(request);
  // First, so that a request whose events cannot be streamed starts no deployment.
  if (!isAsync) streams.limiter.acquireForAccount(request, reply);
  const asset = await findAsset(store, request, request.params.asset_id);
  // A dry run says what would be fetched.
  if (given.options.dry_run !== true) await uploads.use(asset.accountId, uploadsOfCommand(given.command));
  const idempotency = idempotencyOf(idempotencyKeyOf(request), asset.uuid, given);
  const id = await deployments.request(asset, given, originOf(request), idempotency);
  // Removed since it was found: the removal has ended the deployments that were stored before, and nothing ends a later one.
  const mayWait = given.waitForDeviceS !== undefined && given.waitForDeviceS > 0;
  if (mayWait && !(await store.assets.findAssetByUuid(asset.uuid))) await deployments.cancelAll(asset.uuid);
  void reply.header("Deployment-Id", id);
  if (!isAsync) return sendEvents(context, request, reply, { id, after: 0, hasIds: false });
  const deployment = await store.deployments.findDeployment(id);
  // Removed with its asset.
  if (!deployment) throw new EdgeError("AssetNotFound");
  return reply
    .code(202)
    .headers({ Location: deploymentPath(asset.uuid, id), "Preference-Applied": "respond-async" })
    .send(toDeploymentResponse(deployment));
}

/** The hash covers the parsed command without registry credentials, of which nothing is stored. */
function idempotencyOf(key: string | undefined, assetUuid: string, asked: AppCommand): Idempotency | undefined {
  if (key === undefined) return undefined;
  const { command, app, options, waitForDeviceS } = asked;
  const { registry_auth: _omitted, ...given } = options;
  const compared = { ...given, ...(waitForDeviceS !== undefined && { wait_for_device_s: waitForDeviceS }) };
  const requestHash = createHash("sha256")
    .update(JSON.stringify([assetUuid, command.action, app, command.spec, compared]))
    .digest();
  return { key, requestHash, isRetried: (code) => errorEntry(code).retryable };
}

import { renderTimings } from "../../lib/terminal/timings-table.ts";
import { withoutTimings } from "../../protocol/deployments/deployment-timings.ts";
import type { ApiClient } from "../api/client.ts";
import { type DeploymentRequest, eventsRequest, openEventStream, type StreamedEvent } from "../api/deployments.ts";
import type { Context } from "../context.ts";
import { EXIT, Failure } from "../failure.ts";
import { hintFor } from "../hints.ts";
import { createDeploymentView, type DeploymentView, SilentView } from "../views/deployment-view.ts";
import type { UploadSource } from "../documents/large-content.ts";
import { moveContents } from "../documents/move-contents.ts";
import { sendUploads } from "./send-uploads.ts";
import { type DeploymentEventSource, followDeployment } from "../deploy/follow.ts";

/** How to follow a deployment, as commander passes it. */
export interface FollowFlags {
  /** Return after the first event. */
  readonly detach?: boolean;
  /** How long to retry without a connection, in seconds. */
  readonly retryFor: number;
  /** Show how long the steps took. */
  readonly timings?: boolean;
}

/** The deployment to show: one that `start` requests, or an existing one. */
type RunOptions = FollowFlags & { readonly asset: string } & (
    | { readonly start: DeploymentEventSource["start"] }
    | { readonly deploymentId: string }
  );

/**
 * Sends a request that creates a deployment and shows the deployment until it ends. Retries reuse one
 * `Idempotency-Key`, so that the service joins them to the first request. Errors: as `runDeployment`.
 *
 * @param packed what was packed before, of which the request may name some
 */
export async function requestDeployment(
  context: Context,
  client: ApiClient,
  asset: string,
  request: DeploymentRequest,
  { detach = false, retryFor, timings = false }: FollowFlags,
  packed: ReadonlyMap<string, UploadSource> = new Map(),
): Promise<void> {
  const moved = withMovedContents(request, packed);
  if (request.query["dry_run"] === undefined) await sendUploads(context, client, moved.uploads);
  const start = starterOf(context, client, moved.request);
  await runDeployment(context, client, { asset, start, detach, retryFor, timings });
}

/**
 * Sends a request for a dry run, shows it until it ends, and returns its final event, which is not shown. With `--json`
 * nothing is shown. Errors: as `runDeployment`.
 */
export async function requestDryRun(
  context: Context,
  client: ApiClient,
  asset: string,
  request: DeploymentRequest,
  { retryFor }: FollowFlags,
): Promise<StreamedEvent> {
  const view = context.printer.json ? new SilentView() : createDeploymentView(context.io, context.printer);
  const { event } = await follow(
    context,
    client,
    { asset, start: starterOf(context, client, withMovedContents(request).request), retryFor },
    view,
  );
  return event;
}

/** Returns the request with uploads in place of contents that are too large for it. A dry run names them, and sends none. */
function withMovedContents(request: DeploymentRequest, packed?: ReadonlyMap<string, UploadSource>) {
  const { body } = request;
  if (typeof body !== "object" || body === null) return { request, uploads: new Map<string, UploadSource>() };
  const moved = moveContents(body as Readonly<Record<string, unknown>>, packed);
  return { request: { ...request, body: moved.body }, uploads: moved.uploads };
}

function starterOf({ io }: Context, client: ApiClient, request: DeploymentRequest): DeploymentEventSource["start"] {
  const keyed = { ...request, headers: { "Idempotency-Key": io.randomId() } };
  return () => openEventStream(client, keyed, io.clock, io.interrupted);
}

/** Shows a deployment until it ends. Errors: exit code 1 for `Fail`, 130 for Ctrl-C, otherwise the client's. */
export async function runDeployment(context: Context, client: ApiClient, options: RunOptions): Promise<void> {
  const view = createDeploymentView(context.io, context.printer);
  const { event, deploymentId } = await follow(context, client, options, view);
  if (event.status === "Success") {
    view.success(event);
    showTimings(context, options, event);
  } else if (!context.printer.json) context.printer.line(detachedText(options.asset, deploymentId));
}

/** The last event of a deployment that was followed. */
interface Followed {
  readonly event: StreamedEvent;
  readonly deploymentId: string | undefined;
}

async function follow(
  context: Context,
  client: ApiClient,
  options: RunOptions,
  shown: DeploymentView,
): Promise<Followed> {
  const { io } = context;
  const { asset, detach = false, retryFor } = options;
  let deploymentId = "deploymentId" in options ? options.deploymentId : undefined;
  using view = shown;
  const resume: DeploymentEventSource["resume"] = (id, after) =>
    openEventStream(client, eventsRequest(asset, id, after), io.clock, io.interrupted);
  let event: StreamedEvent;
  try {
    event = await followDeployment({
      source: { resume, start: "start" in options ? options.start : () => resume(options.deploymentId, 0) },
      listener: view,
      retry: { giveUpAfterMs: retryFor * 1000, random: io.random },
      clock: io.clock,
      signal: io.interrupted,
      onDeploymentId: (id) => (deploymentId = id),
      ...(deploymentId !== undefined && { deploymentId }),
      detach,
    });
  } catch (error) {
    view[Symbol.dispose]();
    throw withResumeHint(error, io.interrupted, asset, deploymentId);
  }
  view[Symbol.dispose]();
  if (event.status === "Fail") {
    showTimings(context, options, event);
    throw toDeploymentFailure(event);
  }
  return { event, deploymentId };
}

/** With JSON they are in the details of the event. */
function showTimings({ printer }: Context, { timings = false }: FollowFlags, event: StreamedEvent): void {
  if (timings && !printer.json) printer.line(renderTimings(event, printer));
}

function toDeploymentFailure(event: StreamedEvent): Failure {
  const { message, code, details } = event;
  const { next, ...facts } = withoutTimings(details ?? {});
  // The device knows more than the code says.
  if (typeof next === "string")
    return new Failure(message, { exitCode: EXIT.failed, code, details: facts, hint: next });
  return new Failure(message, { exitCode: EXIT.failed, code, details: details && facts, hint: hintFor(code) });
}

/** Adds the commands that watch or cancel the deployment, which continues after this command ends. */
function withResumeHint(error: unknown, interrupted: AbortSignal, asset: string, id: string | undefined): unknown {
  const hint = resumeHint(asset, id);
  if (interrupted.aborted) {
    const message =
      id === undefined ? "Interrupted; the deployment may have begun." : "Interrupted. The deployment goes on.";
    return new Failure(message, { exitCode: EXIT.interrupted, hint });
  }
  if (!(error instanceof Failure) || error.exitCode !== EXIT.unreachable || id === undefined) return error;
  return new Failure(`${error.message} The deployment goes on.`, { exitCode: error.exitCode, hint, cause: error });
}

function resumeHint(asset: string, id: string | undefined): string {
  const name = quote(asset);
  if (id === undefined) return `To see whether it has:\n  edgectl deployments list ${name}`;
  return [
    "To watch it:",
    `  edgectl deployments watch ${name} ${quote(id)}`,
    "To stop it and undo what it did:",
    `  edgectl deployments cancel ${name} ${quote(id)}`,
  ].join("\n");
}

function detachedText(asset: string, id: string | undefined): string {
  return `Accepted.\n${resumeHint(asset, id)}`;
}

/** Quotes a word for a shell, if necessary. */
function quote(word: string): string {
  return /^[\w.:@%+=,/-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

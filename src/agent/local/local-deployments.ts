import { randomUUID } from "node:crypto";
import { type DeployOptions, deployOptionsSchema, splitDeployRequest } from "../../protocol/apps/deploy-request.ts";
import { IN_WORDS } from "../../protocol/values/issue-words.ts";
import { listIssues } from "../../protocol/errors/request-error.ts";
import { appActionSchema } from "../../protocol/deployments/deployment-action.ts";
import { isFinal } from "../../protocol/deployments/deployment-event.ts";
import type { Clock } from "../../lib/clock.ts";
import type { DeviceDeployments } from "../steps/deployments.ts";
import type { NotifyingStore } from "../store/notifying-store.ts";
import { aborted } from "../../lib/abort.ts";
import { changeActivities } from "./activities.ts";
import { LocalError } from "./local-error.ts";
import type { LocalRequest, Routes } from "./routes.ts";

interface Services {
  readonly store: NotifyingStore;
  readonly clock: Clock;
  readonly deployments: Pick<DeviceDeployments, "deploy" | "change" | "apply">;
}

/** Routes that deploy and change apps without a control plane. A deployment continues if the client disconnects. */
export function localDeployments(services: Services): Routes {
  const { store, deployments } = services;
  const changes = appActionSchema.options.map((action) => [
    `POST /apps/:name/${action}`,
    {
      kind: "stream",
      access: "change",
      run: (request: LocalRequest, write: (value: unknown) => void) => {
        const app = request.params["name"] ?? "";
        if (!store.apps().some(({ name }) => name === app)) throw unknownApp(app);
        const { spec, options } = readRequest(request);
        const change = { action, app, spec, options };
        return follow(services, request.signal, write, (id) => deployments.change(id, change, "local"));
      },
    },
  ]);
  return {
    ...(Object.fromEntries(changes) as Routes),
    "POST /apply": {
      kind: "stream",
      access: "change",
      run: (request, write) => {
        const { spec, options } = readRequest(request);
        return follow(services, request.signal, write, (id) => deployments.apply(id, spec, options, "local"));
      },
    },
    "POST /deployments": {
      kind: "stream",
      access: "change",
      run: (request, write) => {
        const { spec, options } = readRequest(request);
        return follow(services, request.signal, write, (id) => deployments.deploy(id, spec, options, "local"));
      },
    },
  };
}

/** Splits a request into specification and options, as the service's API does. `dry_run` is in the query. */
function readRequest({ body, query }: LocalRequest): { readonly spec: unknown; readonly options: DeployOptions } {
  if (typeof body !== "object" || body === null) return { spec: body, options: {} };
  const { options, spec } = splitDeployRequest(body);
  const dryRun = query.get("dry_run") === "true" ? { dry_run: true } : {};
  const parsed = deployOptionsSchema.safeParse({ ...options, ...dryRun }, IN_WORDS);
  if (parsed.success) return { spec, options: parsed.data };
  const [issue] = listIssues(parsed.error, deployOptionsSchema);
  throw new LocalError(422, "InvalidRequest", `${issue?.path}: ${issue?.reason}`);
}

/** The error for an app that is not installed. */
export function unknownApp(name: string): LocalError {
  return new LocalError(404, "AppNotFound", `There is no app named ${name} on this device.`);
}

async function follow(
  { store, clock }: Services,
  signal: AbortSignal,
  write: (value: unknown) => void,
  begin: (id: string) => void,
): Promise<void> {
  const id = `local-${randomUUID()}`;
  const ended = Promise.withResolvers<void>();
  using _watching = store.onChange((change) => {
    const { deployment, events } = change;
    if (deployment?.id !== id && deployment?.group?.id !== id) return;
    for (const activity of changeActivities(change, clock.now())) write(activity);
    // The end of one of a group's apps is none of the group.
    if (deployment.id === id && events?.some(isFinal)) ended.resolve();
  });
  begin(id);
  await Promise.race([ended.promise, aborted(signal)]);
}

import { randomUUID } from "node:crypto";
import { type DeployOptions, deployOptionsSchema, splitDeployRequest } from "../../protocol/deploy-request.ts";
import { listIssues } from "../../protocol/request-error.ts";
import { appActionSchema } from "../../protocol/deployment-action.ts";
import { isFinal } from "../../protocol/deployment-event.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Deployments } from "../steps/deployments.ts";
import type { NotifyingStore } from "../store/notifying-store.ts";
import { aborted } from "./aborted.ts";
import { changeActivities } from "./activities.ts";
import { LocalError } from "./local-error.ts";
import type { LocalRequest, Routes } from "./routes.ts";

interface Services {
  readonly store: NotifyingStore;
  readonly clock: Clock;
  readonly deployments: Pick<Deployments, "deploy" | "change">;
}

/** Deploys and changes apps without a control plane. Whoever asked may leave: what was begun goes on. */
export function localDeployments(parts: Services): Routes {
  const { store, deployments } = parts;
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
        return follow(parts, request.signal, write, (id) => deployments.change(id, change, "local"));
      },
    },
  ]);
  return {
    ...(Object.fromEntries(changes) as Routes),
    "POST /deployments": {
      kind: "stream",
      access: "change",
      run: (request, write) => {
        const { spec, options } = readRequest(request);
        return follow(parts, request.signal, write, (id) => deployments.deploy(id, spec, options, "local"));
      },
    },
  };
}

/** Takes what the API takes: the options stand beside what the app is, and whether it is a dry run in the address. */
function readRequest({ body, query }: LocalRequest): { readonly spec: unknown; readonly options: DeployOptions } {
  if (typeof body !== "object" || body === null) return { spec: body, options: {} };
  const { options, spec } = splitDeployRequest(body);
  const dryRun = query.get("dry_run") === "true" ? { dry_run: true } : {};
  const parsed = deployOptionsSchema.safeParse({ ...options, ...dryRun });
  if (parsed.success) return { spec, options: parsed.data };
  const [issue] = listIssues(parsed.error);
  throw new LocalError(422, "InvalidRequest", `${issue?.path}: ${issue?.reason}`);
}

/** What is said of an app nobody knows. */
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
    if (change.deployment?.id !== id) return;
    for (const happening of changeActivities(change, clock.now())) write(happening);
    if (change.events?.some(isFinal)) ended.resolve();
  });
  begin(id);
  await Promise.race([ended.promise, aborted(signal)]);
}

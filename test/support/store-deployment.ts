import type { Deployment, DeploymentChange } from "../../src/control-plane/core/deployment.ts";
import { toTransition } from "../../src/control-plane/core/next.ts";
import type { AuditEntry } from "../../src/control-plane/store/audit.ts";
import type {
  CreateResult,
  CreationLimits,
  DeploymentStore,
  Idempotency,
} from "../../src/control-plane/store/deployments.ts";
import type { SessionFence } from "../../src/control-plane/store/sessions.ts";
import type { DeploymentEvent } from "../../src/protocol/deployments/deployment-event.ts";

type Decide = (deployment: Deployment) => DeploymentChange | undefined;
type Created = { readonly kind: "created"; readonly deployment: Deployment };

/** Stores a deployment with its first event, as it is after the change that `receive` returns for it. */
export async function createDeployment(
  store: Pick<DeploymentStore, "createDeployment" | "findHolder">,
  deployment: Deployment,
  first: DeploymentEvent,
  idempotency?: Idempotency,
  limits?: CreationLimits,
  receive?: Decide,
  audit?: AuditEntry,
): Promise<Created | Exclude<CreateResult, { kind: "created" | "holder_changed" }>> {
  const json = JSON.stringify(first);
  const specBytes = Buffer.byteLength(JSON.stringify(deployment.command.spec));
  let holder = await store.findHolder(deployment.assetUuid);
  for (;;) {
    const eventBytes = Buffer.byteLength(json);
    const received = { ...deployment, holder, lastSeq: first.seq, lastEvent: first, eventBytes };
    const change = receive?.(received);
    const step = change && toTransition(received, change);
    const after = step?.after ?? received;
    const events = [{ seq: first.seq, json }, ...(step?.events ?? [])];
    const result = await store.createDeployment({ after, events, idempotency, limits, specBytes, audit });
    if (result.kind === "created") return { ...result, deployment: after };
    if (result.kind !== "holder_changed") return result;
    holder = result.holder;
  }
}

/** Stores the change that `decide` returns for the stored deployment. Returns the deployment afterwards. */
export async function updateDeployment(
  store: Pick<DeploymentStore, "findDeployment" | "updateDeployment">,
  id: string,
  decide: Decide,
  fence?: SessionFence,
  audit?: AuditEntry,
): Promise<Deployment | undefined> {
  for (;;) {
    const before = await store.findDeployment(id, fence);
    const change = before && decide(before);
    if (!before || !change) return before;
    const { after, events } = toTransition(before, change);
    if (await store.updateDeployment({ before, after, events, fence, audit })) return after;
  }
}

/** Stores the changes that `decide` returns for these deployments, in one transaction. Returns those that were stored. */
export async function updateDeployments(
  store: Pick<DeploymentStore, "findDeployment" | "updateDeployments">,
  ids: readonly string[],
  decide: Decide,
): Promise<readonly Deployment[]> {
  const found = await Promise.all(ids.map((id) => store.findDeployment(id)));
  const steps = found.flatMap((before) => {
    const change = before && decide(before);
    return change ? [toTransition(before, change)] : [];
  });
  const stored = await store.updateDeployments(steps);
  return steps.flatMap(({ after }) => (stored.has(after.id) ? [after] : []));
}

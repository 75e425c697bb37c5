import { accountEventOf, isWaitingForDevice } from "../../core/account-event.ts";
import { bitsOfOutcome } from "../../core/attention.ts";
import type { Deployment } from "../../core/deployment.ts";

/** A deployment before and after what is stored; no `before` for a new one. */
interface Change {
  readonly before: Deployment | undefined;
  readonly after: Deployment;
}

/** What stored deployments mean for their assets and accounts, as parameters of `deploymentEffects`. */
export interface Effects {
  readonly effects: string;
  readonly events: string;
  readonly accounts: readonly string[];
}

export function effectsOf(changes: readonly Change[]): Effects {
  const effects: unknown[] = [];
  const events: unknown[] = [];
  const accounts = new Set<string>();
  for (const [order, { before, after }] of changes.entries()) {
    const { id, accountId, assetUuid: asset } = after;
    const waits = Number(isWaitingForDevice(after)) - Number(before !== undefined && isWaitingForDevice(before));
    const outcome = before === undefined || before.status === "Running" ? bitsOfOutcome(after) : undefined;
    if (waits !== 0 || outcome !== undefined) effects.push({ id, asset, waits, outcome, order });
    const event = accountEventOf(before, after);
    if (event) {
      events.push({ id, account: accountId, event: JSON.stringify(event) });
      accounts.add(accountId);
    }
  }
  return { effects: JSON.stringify(effects), events: JSON.stringify(events), accounts: [...accounts] };
}

import { assetEffectOf } from "../../core/account-event.ts";
import type { Deployment } from "../../core/deployment.ts";

/** A deployment before and after what is stored; no `before` for a new one. */
interface Change {
  readonly before: Deployment | undefined;
  readonly after: Deployment;
}

/** What stored deployments mean for their assets and accounts, as parameters of `assetEffects`. */
export interface AssetEffects {
  readonly effects: string;
  readonly events: string;
  readonly accounts: readonly string[];
}

export function assetEffectsOf(changes: readonly Change[]): AssetEffects {
  const effects: unknown[] = [];
  const events: unknown[] = [];
  const accounts = new Set<string>();
  for (const [order, { before, after }] of changes.entries()) {
    const { id, accountId: account, assetUuid: asset } = after;
    const { waits, outcome, events: ofChange, tellsAttention, at } = assetEffectOf(before, after);
    if (waits !== 0 || outcome !== undefined || tellsAttention) effects.push({ id, asset, waits, outcome, order });
    for (const event of ofChange) {
      const told = { id, asset, account, event: JSON.stringify(event), order: events.length };
      events.push(tellsAttention ? { ...told, at } : told);
      accounts.add(account);
    }
  }
  return { effects: JSON.stringify(effects), events: JSON.stringify(events), accounts: [...accounts] };
}

import type { Command } from "../core/command.ts";
import type { Deployment } from "../core/deployment.ts";
import type { SessionFence } from "../store/sessions.ts";

/** Maximum number of deployments that are remembered. */
const MAX_KNOWN = 1_000;

/** Larger specifications are not remembered, in characters, so that all together take at most 32 MiB. */
const MAX_SPEC_LENGTH = 16 * 1024;

/** Until when a deployment is remembered after it was read, in milliseconds: the size of its account may have changed. */
const MAX_AGE_MS = 5_000;

interface KnownDeployment {
  readonly deployment: Deployment;
  /** Number of the device's session that it was read for. */
  readonly epoch: number;
  /** When it was read, on the scale of `performance.now()`. */
  readonly readAt: number;
}

/**
 * What a process knows of deployments that it changes several times in succession, so that it need not read them before each
 * change. The facts of a session come one after another, and each begins with the record that the one before it has left here.
 * That record may be outdated: only a change that is stored by version and session shows that it was not. So the record is read
 * from the store when nothing was to be stored, and when the store has refused the change.
 */
export class KnownDeployments {
  readonly #byId = new Map<string, KnownDeployment>();

  /** Returns the deployment if its device is known to have this session. */
  find(id: string, { assetUuid, epoch }: SessionFence): Deployment | undefined {
    const known = this.#byId.get(id);
    if (known?.deployment.assetUuid !== assetUuid || known.epoch !== epoch) return undefined;
    return performance.now() - known.readAt < MAX_AGE_MS ? known.deployment : undefined;
  }

  /** Remembers a deployment that was read for this session, and has been changed since. */
  changed(before: Deployment, after: Deployment, { epoch }: SessionFence): void {
    const { id } = after;
    const known = this.#byId.get(id);
    const isContinued = known?.deployment === before;
    this.#byId.delete(id);
    const isLarge = !isContinued || after.command !== before.command ? isTooLarge(after.command) : false;
    if (isLarge) return;
    const accountStoredBytes = before.accountStoredBytes + after.eventBytes - before.eventBytes;
    const readAt = isContinued ? known.readAt : performance.now();
    this.#byId.set(id, { deployment: { ...after, accountStoredBytes }, epoch, readAt });
    const [oldest] = this.#byId.keys();
    if (this.#byId.size > MAX_KNOWN && oldest !== undefined) this.#byId.delete(oldest);
  }

  forget(id: string): void {
    this.#byId.delete(id);
  }
}

function isTooLarge({ spec }: Command): boolean {
  return JSON.stringify(spec).length > MAX_SPEC_LENGTH;
}

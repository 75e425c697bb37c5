import type { Deployment } from "../../core/deployment.ts";
import type { SessionFence } from "../sessions.ts";

/** Maximum number of deployments that are remembered. */
const MAX_KNOWN = 1_000;

/** Larger specifications are not remembered, in characters, so that all together take at most 32 MiB. */
const MAX_SPEC_LENGTH = 16 * 1024;

/** Until when a deployment is remembered after it was read, in milliseconds: the size of its account may have changed. */
const MAX_AGE_MS = 5_000;

/** A deployment as it was when this process last read or changed it. */
export interface KnownDeployment {
  readonly deployment: Deployment;
  /** Of the device's session. */
  readonly epoch: number | null;
  /** Characters of the specification. */
  readonly specLength: number;
  /** When it was read, on the scale of `performance.now()`. */
  readonly readAt: number;
}

/**
 * What a process knows of deployments that it changes several times in succession, so that it need not read them before each
 * change. It may be outdated: only a change that is stored by version and session shows that it was not.
 */
export class KnownDeployments {
  readonly #byId = new Map<string, KnownDeployment>();

  /** Returns the deployment if its device is known to have this session. */
  find(id: string, { assetUuid, epoch }: SessionFence): KnownDeployment | undefined {
    const known = this.#byId.get(id);
    if (known?.deployment.assetUuid !== assetUuid || known.epoch !== epoch) return undefined;
    return performance.now() - known.readAt < MAX_AGE_MS ? known : undefined;
  }

  /** Remembers a deployment after a change that is stored. */
  remember(id: string, known: KnownDeployment): void {
    this.#byId.delete(id);
    if (known.specLength > MAX_SPEC_LENGTH) return;
    this.#byId.set(id, known);
    const [oldest] = this.#byId.keys();
    if (this.#byId.size > MAX_KNOWN && oldest !== undefined) this.#byId.delete(oldest);
  }

  forget(id: string): void {
    this.#byId.delete(id);
  }
}

import type { ErrorCode } from "../../protocol/errors/errors.ts";
import type { CreateResult, DeploymentCreation } from "./deployments.ts";

/** What a new deployment depends on, read in the transaction that stores it. */
export interface CreationFacts {
  /** Size of the account's deployments. */
  readonly usedBytes: number;
  /** Number of unfinished deployments of the asset. */
  readonly running: number;
  /** The instance that holds the device's session. */
  readonly holder: string | undefined;
  /** The deployment that was created with the same idempotency key. A new one takes the key over. */
  readonly repeated: RepeatedDeployment | undefined;
}

interface RepeatedDeployment {
  readonly id: string;
  readonly requestHash: Uint8Array | null;
  /** Why it has failed; `null` if it has not. */
  readonly code: ErrorCode | null;
}

/** Returns why a new deployment is not stored; `undefined` if it is. */
export function findRefusal(creation: DeploymentCreation, facts: CreationFacts): CreateResult | undefined {
  const { after, idempotency, limits, specBytes } = creation;
  const { usedBytes, running, holder, repeated } = facts;
  if (idempotency && repeated) {
    const isSame = repeated.requestHash !== null && isEqual(repeated.requestHash, idempotency.requestHash);
    if (!isSame) return { kind: "conflict", id: repeated.id };
    const isRetried = repeated.code !== null && idempotency.isRetried?.(repeated.code) === true;
    if (!isRetried) return { kind: "repeated", id: repeated.id };
  }
  if (limits && usedBytes + specBytes > limits.maxAccountBytes) return { kind: "quota_exceeded", usedBytes };
  if (limits && running >= limits.maxRunningPerAsset) return { kind: "too_many_running" };
  return holder === after.holder ? undefined : { kind: "holder_changed", holder };
}

function isEqual(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0;
}

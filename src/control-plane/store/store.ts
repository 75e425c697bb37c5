import type { AccountStore, KeyStore } from "./accounts.ts";
import type { AssetStore } from "./assets.ts";
import type { DeploymentStore } from "./deployments.ts";
import type { DeviceStore } from "./devices.ts";
import type { EnrolmentStore } from "./enrolments.ts";
import type { NetworkGroupStore } from "./network-groups.ts";
import type { SimStore } from "./sims.ts";
import type { UsageStore } from "./usage.ts";

/** Everything edge-control keeps. What a method has answered is on disk. */
export interface Store extends AsyncDisposable {
  readonly accounts: AccountStore;
  readonly keys: KeyStore;
  readonly assets: AssetStore;
  readonly sims: SimStore;
  readonly networkGroups: NetworkGroupStore;
  readonly usage: UsageStore;
  readonly deployments: DeploymentStore;
  readonly devices: DeviceStore;
  readonly enrolments: EnrolmentStore;
  /** Throws when the store does not answer. */
  check(): Promise<void>;
  /** Removes from the log on disk what was written before. Answers whether it could, without waiting for anybody. */
  truncateWal(): Promise<boolean>;
  /** A number that differs from the last answer after another process has changed something. */
  dataVersion(): Promise<number>;
}

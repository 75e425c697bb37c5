import { accountEventsContract } from "./account-events-contract.ts";
import { accountsContract } from "./accounts-contract.ts";
import { operatorSimsContract } from "./operator-sims-contract.ts";
import { assetSettingsContract } from "./asset-settings-contract.ts";
import { assetsContract } from "./assets-contract.ts";
import { auditContract } from "./audit-contract.ts";
import { browsersContract } from "./browsers-contract.ts";
import { dataPlansContract } from "./data-plans-contract.ts";
import { deploymentsContract } from "./deployments-contract.ts";
import { devicesContract } from "./devices-contract.ts";
import { fleetsContract } from "./fleets-contract.ts";
import type { StoreHarness } from "./harness.ts";
import { portableContract } from "./portable-contract.ts";
import { instancesContract } from "./instances-contract.ts";
import { leasesContract } from "./leases-contract.ts";
import { loginRequestsContract } from "./login-requests-contract.ts";
import { rolloutsContract } from "./rollouts-contract.ts";
import { sealingKeysContract } from "./sealing-keys-contract.ts";
import { sessionsContract } from "./sessions-contract.ts";
import { statisticsContract } from "./statistics-contract.ts";
import { usageContract } from "./usage-contract.ts";
import { userSessionsContract } from "./user-sessions-contract.ts";
import { usersContract } from "./users-contract.ts";

/** Contract of every implementation of the control plane's store. */
export function storeContract(harness: StoreHarness): void {
  accountsContract(harness);
  assetsContract(harness);
  auditContract(harness);
  usageContract(harness);
  portableContract(harness);
  deploymentsContract(harness);
  devicesContract(harness);
  sessionsContract(harness);
  statisticsContract(harness);
  instancesContract(harness);
  leasesContract(harness);
  loginRequestsContract(harness);
  usersContract(harness);
  userSessionsContract(harness);
  accountEventsContract(harness);
  browsersContract(harness);
  assetSettingsContract(harness);
  operatorSimsContract(harness);
  dataPlansContract(harness);
  fleetsContract(harness);
  rolloutsContract(harness);
  sealingKeysContract(harness);
}

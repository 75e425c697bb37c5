import type { Clock } from "../../lib/clock.ts";
import { statusLine } from "../core/service/status-line.ts";
import type { Uplink } from "../link/uplink.ts";
import { pendingDeployments } from "../store/pending-deployments.ts";
import type { NotifyingStore } from "../store/notifying-store.ts";
import type { ServiceManager } from "./service-manager.ts";

/** Changes come in bursts; people read slowly. */
const SETTLE_MS = 500;

export interface StatusReportOptions {
  readonly manager: ServiceManager;
  readonly uplink: Pick<Uplink, "status" | "onStatus">;
  readonly store: Pick<NotifyingStore, "apps" | "deployments" | "history" | "onChange">;
  readonly clock: Clock;
}

/** Tells the service manager in words what the daemon is doing, now and whenever that changes, until disposed. */
export function reportStatus({ manager, uplink, store, clock }: StatusReportOptions): Disposable {
  using undo = new DisposableStack();
  let said = "";
  let pending: Disposable | undefined;
  const tell = (): void => {
    pending = undefined;
    const text = occupation(uplink, store);
    if (text === undefined || text === said) return;
    manager.status(text);
    said = text;
  };
  const changed = (): void => void (pending ??= clock.timer(SETTLE_MS, tell));
  undo.use(uplink.onStatus(changed));
  undo.use(store.onChange(changed));
  undo.defer(() => pending?.[Symbol.dispose]());
  tell();
  return undo.move();
}

function occupation(uplink: StatusReportOptions["uplink"], store: StatusReportOptions["store"]): string | undefined {
  const { state, asset, lastError } = uplink.status();
  const link = { online: state === "online", serialNumber: asset?.serial_number, reason: lastError?.reason };
  try {
    return statusLine({ link, apps: store.apps().length, deployments: pendingDeployments(store) });
  } catch {
    // A store that cannot be read is told about where it is needed, and no reason to end here.
    return undefined;
  }
}

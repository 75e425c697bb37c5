import type { Clock } from "../../lib/clock.ts";
import { statusLine } from "../core/service/status-line.ts";
import type { Uplink } from "../link/uplink.ts";
import { pendingDeployments } from "../store/pending-deployments.ts";
import type { NotifyingStore } from "../store/notifying-store.ts";
import type { ServiceManager } from "../../lib/service-manager.ts";

/** Changes come in bursts. Those within this time are reported together. */
const SETTLE_MS = 500;

export interface StatusReportOptions {
  readonly manager: ServiceManager;
  readonly uplink: Pick<Uplink, "status" | "onStatus">;
  readonly store: Pick<NotifyingStore, "apps" | "deployments" | "fileContent" | "history" | "onChange">;
  readonly clock: Clock;
}

/** Reports the daemon's status line to the service manager, now and after each change, until disposed. */
export function reportStatus({ manager, uplink, store, clock }: StatusReportOptions): Disposable {
  using stack = new DisposableStack();
  let reported = "";
  let pending: Disposable | undefined;
  const report = (): void => {
    pending = undefined;
    const text = describeActivity(uplink, store);
    if (text === undefined || text === reported) return;
    manager.status(text);
    reported = text;
  };
  const onChange = (): void => void (pending ??= clock.timer(SETTLE_MS, report));
  stack.use(uplink.onStatus(onChange));
  stack.use(store.onChange(onChange));
  stack.defer(() => pending?.[Symbol.dispose]());
  report();
  return stack.move();
}

function describeActivity(
  uplink: StatusReportOptions["uplink"],
  store: StatusReportOptions["store"],
): string | undefined {
  const { state, asset, lastError } = uplink.status();
  const link = { online: state === "online", serialNumber: asset?.serial_number, reason: lastError?.reason };
  try {
    return statusLine({ link, apps: store.apps().length, deployments: pendingDeployments(store) });
  } catch {
    // Errors of the store are reported where it is needed.
    return undefined;
  }
}

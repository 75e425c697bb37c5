import type { Logger } from "../../lib/logger.ts";
import type { NotifyingStore } from "../store/notifying-store.ts";
import type { PreviousLogs } from "../store/previous-logs.ts";

export interface RemovePreviousLogsOptions {
  readonly previousLogs: PreviousLogs;
  readonly store: Pick<NotifyingStore, "apps" | "onChange">;
  /** Whether the store may not know every app. Then all logs are left until the next start. */
  readonly isRebuilding: boolean;
  readonly logger: Logger;
}

/** Removes the kept logs of apps that are gone: now, and with each app that is removed until disposed. */
export function removePreviousLogs({
  previousLogs,
  store,
  isRebuilding,
  logger,
}: RemovePreviousLogsOptions): Disposable {
  const attempt = (work: () => void): void => {
    try {
      work();
    } catch (error) {
      logger.warn(
        { err: error },
        "a log kept of a removed app could not be removed; it is tried again at the next start",
      );
    }
  };
  if (!isRebuilding) attempt(() => previousLogs.removeOthers(store.apps().map(({ name }) => name)));
  return store.onChange(({ removedApp }) => {
    if (removedApp !== undefined) attempt(() => previousLogs.remove(removedApp));
  });
}

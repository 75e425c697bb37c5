import type { EventContent } from "../../protocol/deployment-event.ts";

/** A download that is about to begin. */
export interface AdmissionRequest {
  /** Compressed bytes still to be fetched; 0 where that is not known. */
  readonly bytes: number;
  /** Goes ahead outside hours and budgets. */
  readonly isUrgent: boolean;
  /** Stores an event and sends it: a wait is told of, with the time it lasts until. */
  readonly emit: (event: EventContent) => void;
  readonly signal: AbortSignal;
}

/** When downloads may go over the network the device has right now, and how fast. */
export interface PullGate {
  /**
   * Resolves when the download may begin. Rejects with an `EdgeError` `DataBudgetExceeded` where it never may, and with
   * the signal's reason when aborted. Ask again after a restart of the agent.
   */
  admit(request: AdmissionRequest): Promise<void>;
  /** Bytes per second that all downloads together may take now; `undefined` for as many as come. Ask again every few seconds. */
  rate(): number | undefined;
}

/** Where the configuration sets no bounds. */
export const OPEN_GATE: PullGate = {
  admit: async ({ signal }) => signal.throwIfAborted(),
  rate: () => undefined,
};

import type { EventContent } from "../../protocol/deployments/deployment-event.ts";

/** A download that is about to begin. */
export interface AdmissionRequest {
  /** Compressed bytes still to be downloaded; 0 when unknown. */
  readonly bytes: number;
  /** Ignores hours and budgets. */
  readonly isUrgent: boolean;
  /** Stores an event and sends it. Called for each wait, with the time it lasts until. */
  readonly emit: (event: EventContent) => void;
  readonly signal: AbortSignal;
}

/** Decides when downloads may use the current network, and how fast. */
export interface PullGate {
  /**
   * Resolves when the download may begin. Rejects with an `EdgeError` `DataBudgetExceeded` when it never may, and with
   * the signal's reason when aborted. An admission is not stored: call it again after a restart of the agent.
   */
  admit(request: AdmissionRequest): Promise<void>;
  /** Current limit in bytes per second for all downloads together; `undefined` for none. Poll it every few seconds. */
  rate(): number | undefined;
}

/** A gate without limits. */
export const OPEN_GATE: PullGate = {
  admit: async ({ signal }) => signal.throwIfAborted(),
  rate: () => undefined,
};

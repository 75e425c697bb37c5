import { formatUtcMinute } from "../core/text.ts";
import { EdgeError } from "../../protocol/errors/errors.ts";
import type { Clock } from "../../lib/clock.ts";
import type { ProgressDetails } from "../../protocol/deployments/deployment-event.ts";
import { runningEvent } from "../core/deployment/step-events.ts";
import { type DownloadDecision, decideDownload, type DataPolicy } from "../core/traffic/data-budget.ts";
import { meteredUsage } from "../core/traffic/data-usage.ts";
import { monthOf } from "../core/traffic/day.ts";
import type { TrafficLedger } from "./traffic-ledger.ts";
import type { NetworkWatch } from "./network-watch.ts";
import type { AdmissionRequest, PullGate } from "./pull-gate.ts";

/** Interval at which a waiting download checks for another network, in milliseconds. */
const NETWORK_CHECK_INTERVAL_MS = 60_000;

type Wait = Extract<DownloadDecision, { kind: "wait" }>;

const REASONS: Readonly<Record<Wait["reason"], string>> = {
  hours: "downloads are allowed on this network at certain hours only",
  daily_budget: "the data budget of the day is used up",
  monthly_budget: "the data budget of the month is used up",
  clock: "the device's clock is not set, so hours and budgets cannot be judged",
};

export interface BudgetGateOptions {
  readonly policy: DataPolicy;
  readonly ledger: Pick<TrafficLedger, "read" | "today">;
  readonly watch: NetworkWatch;
  readonly clock: Clock;
}

/** Enforces the hours, the data budgets and the rate that the configuration sets for metered networks. */
export class BudgetGate implements PullGate {
  readonly #options: BudgetGateOptions;

  constructor(options: BudgetGateOptions) {
    this.#options = options;
  }

  async admit({ bytes, isUrgent, emit, signal }: AdmissionRequest): Promise<void> {
    const { clock } = this.#options;
    let announced: number | "never" | undefined;
    for (;;) {
      signal.throwIfAborted();
      const admission = isUrgent ? ({ kind: "admit" } as const) : this.#decide(bytes);
      if (admission.kind === "admit") return;
      if (admission.kind === "never") throw tooLarge(bytes, admission);
      const until = admission.untilMs ?? "never";
      if (until !== announced) emit(budgetWaitEvent(admission, clock.now()));
      announced = until;
      const remainingMs = (admission.untilMs ?? Infinity) - clock.now();
      await clock.sleep(Math.max(1, Math.min(remainingMs, NETWORK_CHECK_INTERVAL_MS)), signal);
    }
  }

  rate(): number | undefined {
    const { policy, watch } = this.#options;
    return policy.metered.includes(watch.current().kind) ? policy.bytesPerSecond : undefined;
  }

  #decide(bytes: number): DownloadDecision {
    const { policy, ledger, watch, clock } = this.#options;
    const today = ledger.today();
    const { traffic } = today === undefined ? { traffic: [] } : ledger.read(monthOf(today), today);
    const usage = meteredUsage(traffic, policy.metered, today);
    return decideDownload(policy, watch.current().kind, bytes, usage, clock.now());
  }
}

function budgetWaitEvent({ untilMs, reason }: Wait, nowMs: number) {
  const until = untilMs === undefined ? "it is" : `${formatUtcMinute(untilMs)} UTC`;
  const details =
    untilMs === undefined
      ? { waiting_for: reason }
      : {
          waiting_for: reason,
          waiting_until: Math.ceil(untilMs / 1000),
          // A duration, because the control plane's clock may differ from the device's.
          ...({ waiting_s: Math.max(0, Math.ceil((untilMs - nowMs) / 1000)) } satisfies ProgressDetails),
        };
  return { ...runningEvent("pulling", `Waiting until ${until} with the download: ${REASONS[reason]}.`), details };
}

function tooLarge(bytes: number, { reason, limit }: Extract<DownloadDecision, { kind: "never" }>): EdgeError {
  const period = reason === "daily_budget" ? "a day" : "a month";
  return new EdgeError(
    "DataBudgetExceeded",
    `The download of ${bytes} bytes is larger than the ${limit} bytes the device's configuration allows for ${period}.`,
    { download_bytes: bytes, limit_bytes: limit, limit: reason },
  );
}

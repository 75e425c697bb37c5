import { formatMegabytes } from "../core/text.ts";
import { runningEvent } from "../core/deployment/step-events.ts";
import type { PullProgress } from "../engine/engine.ts";
import type { StepContext } from "./context.ts";
import type { PullSlot } from "./pull-slot.ts";

const PROGRESS_INTERVAL_MS = 1_000;

/**
 * Turns the engine's progress into at most one event a second, since the link is metered, and counts what came as far as
 * the engine tells.
 */
export function progressReporter(context: StepContext, turn: PullSlot): (progress: PullProgress) => void {
  const { clock, emit, ledger, record } = context;
  let lastSeen = 0;
  let lastAt = Number.NEGATIVE_INFINITY;
  let lastDone = -1;
  let lastPercent = 0;
  return ({ done, total }) => {
    if (done > lastSeen) {
      turn.renew();
      const bytes = done - lastSeen;
      ledger.count({ purpose: "pulls", direction: "received", bytes, app: record.app, deployment: record.id });
    }
    lastSeen = Math.max(lastSeen, done);
    if (total === 0 || done === lastDone || clock.monotonic() - lastAt < PROGRESS_INTERVAL_MS) return;
    // Totals grow while manifests are read; a bar that goes back would be worse than one that waits.
    const percent = Math.max(lastPercent, Math.min(100, Math.floor((done / total) * 100)));
    lastAt = clock.monotonic();
    lastDone = done;
    lastPercent = percent;
    emit({
      ...runningEvent(
        "pulling",
        `Pulling image: ${percent}% (${formatMegabytes(done)} of ${formatMegabytes(total)} MB).`,
      ),
      progress: percent,
      bytes: { done, total },
    });
  };
}

import { formatPart } from "../core/text.ts";
import { runningEvent } from "../core/deployment/step-events.ts";
import type { PullProgress } from "../engine/engine.ts";
import type { ImageRequest, ImageServices } from "./ports.ts";
import type { PullSlot } from "./pull-slot.ts";

const PROGRESS_INTERVAL_MS = 1_000;

/**
 * Turns the engine's progress into at most one event a second, since the link is metered, and counts the bytes the
 * engine reports.
 */
export function progressReporter(
  services: ImageServices,
  request: ImageRequest,
  slot: PullSlot,
): (progress: PullProgress) => void {
  const { clock, ledger } = services;
  let lastSeen = 0;
  let lastAt = Number.NEGATIVE_INFINITY;
  let lastDone = -1;
  let lastPercent = 0;
  return ({ done, total }) => {
    if (done > lastSeen) {
      slot.renew();
      ledger.count({ purpose: "pulls", direction: "received", bytes: done - lastSeen, ...request.owner });
    }
    lastSeen = Math.max(lastSeen, done);
    if (total === 0 || done === lastDone || clock.monotonic() - lastAt < PROGRESS_INTERVAL_MS) return;
    // Totals grow while manifests are read. Progress must not go back.
    const percent = Math.max(lastPercent, Math.min(100, Math.floor((done / total) * 100)));
    lastAt = clock.monotonic();
    lastDone = done;
    lastPercent = percent;
    request.emit({
      ...runningEvent("pulling", `Pulling image: ${percent}% (${formatPart(done, total)}).`),
      progress: percent,
      bytes: { done, total },
    });
  };
}

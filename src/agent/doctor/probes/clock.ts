import { formatUtcMinute } from "../../core/text.ts";
import { isClockSet } from "../../core/traffic/day.ts";
import { bad, good, type Probe } from "../probe.ts";

const MAX_TIME_MS = Date.UTC(2100, 0, 1);

/** The clock shows a plausible time. */
export const probeClock: Probe = async ({ clock }) => {
  const now = clock.timeOfDay();
  const text = `It is ${formatUtcMinute(now)} UTC by this device's clock`;
  if (isClockSet(now) && now < MAX_TIME_MS) return good(`${text}.`);
  return bad(
    `${text}, which cannot be.`,
    "Set it: timedatectl set-time, or see that time synchronisation runs. With a wrong clock no certificate is valid.",
  );
};

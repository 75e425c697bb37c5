import { formatDuration, formatTime } from "../../lib/terminal/time.ts";
import type { AppList } from "../api/apps.ts";
import type { Io } from "../io.ts";
import type { Printer } from "../printer.ts";

/** A current report may be this old by rounding and by the time of the request, in seconds. */
const MAX_CURRENT_AGE_S = 5;

/** Prints a result that comes from the device, and a note if it is not current. */
export function printDeviceResult(
  { io, printer }: { readonly io: Pick<Io, "clock">; readonly printer: Printer },
  result: Pick<AppList, "reported_at" | "reachable"> & Partial<Pick<AppList, "age_s">>,
  render: () => string,
): void {
  printer.result(result, render);
  const { reported_at: at, reachable, age_s: ageS } = result;
  if (printer.json) return;
  if (reachable) {
    if ((ageS ?? 0) <= MAX_CURRENT_AGE_S) return;
    const age = formatDuration(ageS ?? 0);
    return printer.note(`The device has not reported its latest changes yet. This may be out of date for ${age}.`);
  }
  if (at === null) return printer.note("The device is not reachable, and has never reported.");
  const age = formatDuration(io.clock.now() / 1000 - at);
  printer.note(`The device is not reachable. This is what it reported ${age} ago, at ${formatTime(at)} UTC.`);
}

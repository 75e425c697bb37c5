import { formatDuration, formatTime } from "../../lib/terminal/time.ts";
import type { AppList } from "../api/apps.ts";
import type { Context } from "../context.ts";

/** Prints a result that comes from the device, and a note if it is not current. */
export function printDeviceResult(
  { io, printer }: Context,
  result: Pick<AppList, "reported_at" | "reachable">,
  render: () => string,
): void {
  printer.result(result, render);
  const { reported_at: at, reachable } = result;
  if (reachable || printer.json) return;
  if (at === null) return printer.note("The device is not reachable, and has never reported.");
  const age = formatDuration(io.clock.now() / 1000 - at);
  printer.note(`The device is not reachable. This is what it reported ${age} ago, at ${formatTime(at)} UTC.`);
}

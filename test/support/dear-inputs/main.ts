import { ENTRY_POINTS } from "./entry-points.ts";
import { calibrate, measure } from "./measure.ts";

/** Prints a line of JSON for each entry point, or for those named. */
const names = process.argv.slice(2);
const unitMs = calibrate();
for (const entryPoint of ENTRY_POINTS) {
  if (names.length > 0 && !names.includes(entryPoint.name)) continue;
  process.stdout.write(`${JSON.stringify(await measure(entryPoint, unitMs))}\n`);
}

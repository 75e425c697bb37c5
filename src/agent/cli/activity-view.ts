import { sanitizeLine } from "../../lib/terminal/sanitize.ts";
import { formatTime } from "../../lib/terminal/time.ts";
import { padEnd } from "../../lib/terminal/width.ts";
import { withoutTimings } from "../../protocol/deployments/deployment-timings.ts";
import type { Activity } from "../local/api.ts";
import type { AgentPrinter } from "./printer.ts";

const STEP_WIDTH = 9;
const DATE_AND_TIME = 19;

/** Column of the text, after date, time and step. */
const TEXT_AT = DATE_AND_TIME + 2 + STEP_WIDTH + 2;

/** Prints one activity, with the details of a failure below it. */
export function printActivity(printer: AgentPrinter, activity: Activity): void {
  const { theme } = printer;
  const time = activity.at === null ? padEnd("?", DATE_AND_TIME) : formatTime(activity.at);
  const head = (word: string, paint: (text: string) => string): string =>
    `${theme.dim(time)}  ${paint(padEnd(sanitizeLine(word), STEP_WIDTH))}  `;
  const app = activity.app === "" ? "" : `${activity.app}: `;
  switch (activity.kind) {
    case "repair": {
      const paint = activity.error === undefined ? theme.yellow : theme.red;
      const end = activity.error === undefined ? "It was put right." : `That failed: ${activity.error}`;
      return printer.paragraph(head("repair", paint), TEXT_AT, `${app}${activity.reason}. ${end}`);
    }
    case "event":
      return printEvent(printer, activity, head, app);
  }
}

function printEvent(
  printer: AgentPrinter,
  event: Extract<Activity, { kind: "event" }>,
  head: (word: string, paint: (text: string) => string) => string,
  app: string,
): void {
  const { theme } = printer;
  const paint = event.status === "Fail" ? theme.red : event.status === "Success" ? theme.green : plain;
  const percent = event.progress === undefined ? "" : ` (${event.progress} %)`;
  const code = event.code === undefined ? "" : ` (${event.code})`;
  const word = event.status === "Running" ? event.step : event.status;
  printer.paragraph(head(word, paint), TEXT_AT, `${app}${event.message}${percent}${code}`);
  for (const line of detailLines(withoutTimings(event.details ?? {}))) {
    printer.paragraph(" ".repeat(TEXT_AT), TEXT_AT, line, theme.dim);
  }
}

function plain(text: string): string {
  return text;
}

function detailLines(details: Readonly<Record<string, unknown>>): string[] {
  return Object.entries(details).flatMap(([name, value]) => {
    if (Array.isArray(value)) return [`${name}:`].concat(value.map((item) => `  ${textOf(item)}`));
    return [`${name}: ${textOf(value)}`];
  });
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

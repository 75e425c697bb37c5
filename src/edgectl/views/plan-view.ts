import { sanitizeLine } from "../../lib/terminal/sanitize.ts";
import type { Theme } from "../../lib/terminal/theme.ts";
import { displayWidth, padEnd } from "../../lib/terminal/width.ts";
import type { FieldChange } from "../apply/diff.ts";
import type { AppPlan } from "../apply/plan.ts";
import { fieldText } from "./field-text.ts";

const TITLES: Readonly<Record<AppPlan["change"], string>> = {
  create: "new",
  update: "changes",
  none: "nothing to change",
};

const SIGNS: Readonly<Record<FieldChange["change"], string>> = { add: "+", change: "~", remove: "-", check: "?" };

/** Renders what applying does: one title per app, below it one line per field. */
export function renderPlan(plans: readonly AppPlan[], theme: Theme): string {
  return plans.flatMap((plan) => renderApp(plan, theme)).join("\n");
}

function renderApp({ app, change, fields }: AppPlan, theme: Theme): string[] {
  const width = Math.max(0, ...fields.map(({ field }) => displayWidth(sanitizeLine(field))));
  const lines = fields.map((each) => {
    const text = [padEnd(sanitizeLine(each.field), width), valuesText(each)].filter((part) => part !== "").join("  ");
    return `  ${paint(`${SIGNS[each.change]} ${text}`.trimEnd(), each.change, theme)}`;
  });
  return [`${theme.bold(sanitizeLine(app))}: ${TITLES[change]}`, ...lines];
}

function valuesText(change: FieldChange): string {
  const list = change.field.split(".")[0] ?? "";
  const values = [change.old, change.new].filter((value) => value !== undefined).map((value) => fieldText(list, value));
  return [values.join(" -> "), change.note === undefined ? "" : `(${change.note})`].filter(Boolean).join(" ");
}

function paint(text: string, change: FieldChange["change"], theme: Theme): string {
  if (change === "add") return theme.green(text);
  return change === "remove" ? theme.red(text) : theme.yellow(text);
}
